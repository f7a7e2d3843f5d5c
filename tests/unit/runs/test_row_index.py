"""The index of a run's rows: the next call reads only rows behind it, where it is proven for the others."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from journal_rows import MADE_OF, keys, row

from ioi_eval.errors import InputError
from ioi_eval.runs import journal as journal_module
from ioi_eval.runs import row_index
from ioi_eval.runs.journal import Journal
from ioi_eval.runs.row_index import ROWS_INDEX, RowIndex
from ioi_eval.store.folder import Fingerprint, ResultHead, decoded


@pytest.fixture(autouse=True)
def read(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The keys of rows of results.jsonl whose heads are read, of runs that all count as large."""
    found = list[str]()

    def reading(path: Path, kind: Any, *more: Any) -> Iterable[tuple[int, Any]]:
        for place, head in decoded(path, kind, *more):
            if path.name == "results.jsonl" and kind is ResultHead:
                found.append(head.key)
            yield place, head

    monkeypatch.setattr(journal_module, "decoded", reading)
    monkeypatch.setattr(row_index, "_LEAST_BYTES", 1)
    monkeypatch.setattr(row_index, "_STEP_BYTES", 1)
    monkeypatch.setattr(row_index, "_GROWTH", 1)
    return found


def of(key: str, **columns: Any) -> dict[str, Any]:
    program = {"program_sha256": f"2:{key}", "problem_id": "sum", "compiler": "g++ 12"}
    return row(key, **program, **columns)


def write(folder: Path, *names: str, made_of: Fingerprint = MADE_OF) -> None:
    with Journal.open(folder, made_of) as journal:
        for name in names:
            journal.record(of(name))


def check(folder: Path, *names: str) -> None:
    """All that a journal says of rows is what is in the file."""
    with Journal.open(folder, MADE_OF) as journal:
        assert [*journal.done] == [*names] == keys(folder)
        assert journal.problems == ({"sum"} if names else set())
        for name in names:
            expected = of(name)
            assert journal.row(name)["key"] == name and journal.problem(name) == "sum"
            by_text = journal.find(expected["submission_sha256"], "sum")
            by_program = journal.find_program(f"2:{name}")
            assert by_text is not None and by_text["key"] == name
            assert by_program is not None and by_program["key"] == name


def test_known_rows_are_not_read_again(folder: Path, read: list[str]) -> None:
    write(folder, "a1", "a2", "a3")
    check(folder, "a1", "a2", "a3")
    assert read == []
    write(folder, "a4")
    check(folder, "a1", "a2", "a3", "a4")
    assert read == []


def test_a_compiler_of_known_rows_is_the_run_s(folder: Path) -> None:
    write(folder, "a1")
    with Journal.open(folder, MADE_OF) as journal, pytest.raises(InputError, match=r"g\+\+ 13 now"):
        journal.record({**of("a2"), "compiler": "g++ 13"})


def killed_with(folder: Path, index: bytes, *names: str) -> None:
    """Rows of a writer that was killed after it wrote the index."""
    write(folder, *names)
    (folder / ROWS_INDEX).write_bytes(index)


def test_rows_behind_the_index_are_read(folder: Path, read: list[str]) -> None:
    write(folder, "a1", "a2")
    killed_with(folder, (folder / ROWS_INDEX).read_bytes(), "a3", "a4")
    check(folder, "a1", "a2", "a3", "a4")
    assert read == ["a3", "a4"]
    with (folder / "results.jsonl").open("ab") as stream:
        stream.write(json.dumps(of("a5")).encode()[:-4])  # torn
    read.clear()
    check(folder, "a1", "a2", "a3", "a4")
    assert read == ["a3", "a4"]
    write(folder, "a5")
    check(folder, "a1", "a2", "a3", "a4", "a5")


def test_a_key_behind_the_index_that_is_in_it_is_there_twice(folder: Path) -> None:
    write(folder, "a1", "a2")
    with (folder / "results.jsonl").open("ab") as stream:
        stream.write(msgspec.json.encode(of("a1")) + b"\n")
    with pytest.raises(InputError, match="duplicate key 'a1'"):
        Journal.open(folder, MADE_OF)


def test_a_run_goes_on_where_no_index_can_be_written(folder: Path, read: list[str]) -> None:
    write(folder, "a1")
    (folder / ROWS_INDEX).unlink()
    (folder / ROWS_INDEX).mkdir()
    write(folder, "a2", "a3")
    read.clear()
    check(folder, "a1", "a2", "a3")
    assert read == ["a1", "a2", "a3"]


NAMES = ("a1", "a2", "a3")


@pytest.mark.parametrize(
    "change", ["moved", "shorter", "another byte", "gone", "torn", "another problem", "code"]
)
def test_what_the_index_does_not_hold_for_is_read(
    folder: Path, read: list[str], change: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(folder, *NAMES)
    results, names = folder / "results.jsonl", list(NAMES)
    lines = results.read_bytes().splitlines(keepends=True)
    match change:
        case "moved":
            lines, names = [lines[1], lines[0], lines[2]], ["a2", "a1", "a3"]
        case "shorter":
            del lines[2], names[2]
        case "gone":
            del lines[0], names[0]
        case "torn":
            lines[2] = lines[2][:-1]
            del names[2]
        case "another byte":
            lines[0] = lines[0].replace(b'"a1"', b'"a9"')
        case "another problem":
            info = json.loads((folder / "run.json").read_text())
            info["fingerprint"]["problems"]["sum"] = "e" * 64
            (folder / "run.json").write_text(json.dumps(info))
        case "code":
            monkeypatch.setattr(row_index, "code_digest", lambda: "of another checkout")
    results.write_bytes(b"".join(lines))
    if change in ("another byte", "another problem"):
        with Journal.open(folder, MADE_OF) as journal:
            assert "a1" not in journal.done
    else:
        check(folder, *names)
    assert read == (["a9", "a2", "a3"] if change == "another byte" else names)


@pytest.mark.once
def test_an_index_with_any_other_byte_is_none(folder: Path, read: list[str]) -> None:
    write(folder, *NAMES)
    index = folder / ROWS_INDEX
    whole = index.read_bytes()

    @given(st.integers(0, len(whole) - 1), st.integers(0, 255))
    def holds(place: int, change: int) -> None:
        content = bytearray(whole)
        if change:
            content[place] ^= change
        else:
            del content[place:]
        index.write_bytes(content)
        read.clear()
        check(folder, *NAMES)
        assert read == [*NAMES]

    holds()


# --- against a journal without an index ---------------------------------------------------------------

STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("record"), st.integers(0, 12)),
        st.tuples(st.just("reopen"), st.just(0)),
        st.tuples(st.just("kill"), st.integers(0, 3)),  # the index is some calls old
        st.tuples(st.just("tear"), st.integers(1, 300)),
        st.tuples(st.just("drop a line"), st.integers(0, 12)),
        st.tuples(st.just("edit"), st.integers(0, 1)),
    ),
    max_size=14,
)
PROBLEMS = [{"sum": "b" * 64}, {"sum": "d" * 64}]


@pytest.mark.once
@given(STEPS)
def test_any_history_reads_as_one_without_an_index(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, int]]
) -> None:
    folder = tmp_path_factory.mktemp("history") / "run"
    results, index = folder / "results.jsonl", folder / ROWS_INDEX
    problems, olds = 0, list[bytes]()

    def made_of() -> Fingerprint:
        return msgspec.structs.replace(MADE_OF, problems=PROBLEMS[problems])

    def seen() -> Any:
        with Journal.open(folder, made_of()) as journal:
            found = [journal.find(of(f"k{number}")["submission_sha256"], "sum") for number in range(13)]
            return [*journal.done], journal.edited, [one and one["key"] for one in found]

    journal = Journal.open(folder, made_of())
    for what, number in steps:
        if what == "record":
            if f"k{number}" not in journal.done:
                journal.record(of(f"k{number}"))
            continue
        journal.close()
        if index.exists():
            olds.append(index.read_bytes())
        if what == "kill" and olds:
            index.write_bytes(olds[-1 - number % len(olds)])
        elif what == "tear" and results.exists():
            results.write_bytes(results.read_bytes()[:-number])
        elif what == "drop a line" and results.exists():
            lines = results.read_bytes().splitlines(keepends=True)
            results.write_bytes(b"".join(lines[:number] + lines[number + 1 :]))
        elif what == "edit":
            problems = number
        if folder.exists():
            there = seen()
            held = index.read_bytes() if index.exists() else None
            index.unlink(missing_ok=True)
            assert there == seen()
            if held is not None:
                index.write_bytes(held)
        journal = Journal.open(folder, made_of())
    journal.close()


def test_a_row_that_was_dropped_may_count_again(folder: Path) -> None:
    rows = RowIndex(folder / "results.jsonl")
    for offset, key in enumerate("ab"):
        rows.add(offset, ResultHead(key=key, problem_id="p", submission_sha256=key), "")
    assert (rows.drop("a"), len(rows), "a" in rows, [*rows]) == (0, 1, False, ["b"])
    assert rows.find("a", "") == 0, "what was judged stays known"
    assert rows.add(9, ResultHead(key="a", problem_id="q"), "")
    assert (len(rows), rows.offset("a"), rows.problem("a"), [*rows]) == (2, 9, "q", ["b", "a"])
    assert (rows.keys_of({"q"}), rows.problems) == (["a"], {"p", "q"})


def test_a_key_that_is_there_twice_is_added_once(folder: Path) -> None:
    rows = RowIndex(folder / "results.jsonl")
    assert rows.add(0, ResultHead(key="\ud800", problem_id="p"), "")
    assert not rows.add(5, ResultHead(key="\ud800", problem_id="q"), "")
    assert ([*rows], rows.offset("\ud800"), rows.problems) == (["\ud800"], 0, {"p"})
