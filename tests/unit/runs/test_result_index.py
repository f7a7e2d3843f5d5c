"""The saved index of a run's rows: the next call reads the rows after it, or all rows if it is invalid."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from journal_rows import MADE_OF, failure, keys, row

from ioi_eval.errors import InputError
from ioi_eval.store import result_log as result_log_module
from ioi_eval.store.folder import Fingerprint, ResultHead, decode_lines
from ioi_eval.store.result_log import INDEX, ResultLog


@pytest.fixture(autouse=True)
def read(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Record the keys of rows that are read from results.jsonl."""
    keys_read = list[str]()

    def reading(path: Path, kind: Any, *more: Any) -> Iterable[tuple[int, Any]]:
        for position, head in decode_lines(path, kind, *more):
            if path.name == "results.jsonl" and kind is ResultHead:
                keys_read.append(head.key)
            yield position, head

    monkeypatch.setattr(result_log_module, "decode_lines", reading)
    return keys_read


def of(key: str, **columns: Any) -> dict[str, Any]:
    """Return a row. The row "a1" is so large that the index of its run is saved."""
    program = {"program_sha256": f"2:{key}", "problem_id": "sum", "compiler": "g++ 12"}
    large_text = {"text": "x" * (1 << 20)} if key == "a1" else {}
    return row(key, **program, **large_text | columns)


def write(folder: Path, *names: str, made_of: Fingerprint = MADE_OF) -> None:
    with ResultLog.open(folder, made_of) as journal:
        for name in names:
            journal.record_result(of(name))


def check(folder: Path, *names: str) -> None:
    """Check that a result log agrees with the file."""
    with ResultLog.open(folder, MADE_OF) as journal:
        assert [*journal.done] == [*names] == keys(folder)
        assert journal.problems == ({"sum"} if names else set())
        for name in names:
            expected = of(name)
            assert journal.read_row(name)["key"] == name and journal.find_problem_of_row(name) == "sum"
            by_text = journal.find_result(expected["submission_sha256"], "sum")
            by_program = journal.find_program(f"2:{name}")
            assert by_text is not None and by_text["key"] == name
            assert by_program is not None and by_program["key"] == name


def test_indexed_rows_are_not_read_again(folder: Path, read: list[str]) -> None:
    write(folder, "a1", "a2", "a3")
    check(folder, "a1", "a2", "a3")
    assert read == []
    write(folder, "a4")
    check(folder, "a1", "a2", "a3", "a4")
    assert read == []


def test_compiler_of_indexed_rows_must_not_change(folder: Path) -> None:
    write(folder, "a1")
    with (
        ResultLog.open(folder, MADE_OF) as journal,
        pytest.raises(InputError, match=r"now built by g\+\+ 13"),
    ):
        journal.record_result({**of("a2"), "compiler": "g++ 13"})


def killed_with(folder: Path, index: bytes, *names: str) -> None:
    """Return the rows of a writer that was killed after it wrote the index."""
    write(folder, *names)
    (folder / INDEX).write_bytes(index)


def test_rows_after_the_index_are_read(folder: Path, read: list[str]) -> None:
    write(folder, "a1", "a2")
    killed_with(folder, (folder / INDEX).read_bytes(), "a3", "a4")
    check(folder, "a1", "a2", "a3", "a4")
    assert read == ["a3", "a4"]
    with (folder / "results.jsonl").open("ab") as stream:
        stream.write(json.dumps(of("a5")).encode()[:-4])  # torn
    read.clear()
    check(folder, "a1", "a2", "a3", "a4")
    assert read == ["a3", "a4"]
    write(folder, "a5")
    check(folder, "a1", "a2", "a3", "a4", "a5")


def test_key_stored_in_index_and_appended_row_is_a_duplicate_error(folder: Path) -> None:
    write(folder, "a1", "a2")
    with (folder / "results.jsonl").open("ab") as stream:
        stream.write(msgspec.json.encode(of("a1")) + b"\n")
    with pytest.raises(InputError, match="duplicate key 'a1'"):
        ResultLog.open(folder, MADE_OF)


def test_run_continues_if_no_index_can_be_written(folder: Path, read: list[str]) -> None:
    write(folder, "a1")
    (folder / INDEX).unlink()
    (folder / INDEX).mkdir()
    write(folder, "a2", "a3")
    read.clear()
    check(folder, "a1", "a2", "a3")
    assert read == ["a1", "a2", "a3"]


NAMES = ("a1", "a2", "a3")


@pytest.mark.parametrize(
    "change", ["moved", "shorter", "another byte", "gone", "torn", "another problem", "code"]
)
def test_outdated_index_is_not_used(
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
            monkeypatch.setattr(result_log_module, "compute_code_digest", lambda: "of another checkout")
    results.write_bytes(b"".join(lines))
    if change in ("another byte", "another problem"):
        with ResultLog.open(folder, MADE_OF) as journal:
            assert "a1" not in journal.done
    else:
        check(folder, *names)
    assert read == (["a9", "a2", "a3"] if change == "another byte" else names)


def test_index_with_any_changed_byte_is_ignored(folder: Path, read: list[str]) -> None:
    write(folder, *NAMES)
    index = folder / INDEX
    whole = index.read_bytes()

    @given(st.integers(0, len(whole) - 1), st.integers(0, 255))
    def holds(offset: int, change: int) -> None:
        content = bytearray(whole)
        if change:
            content[offset] ^= change
        else:
            del content[offset:]
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
        st.tuples(st.just("kill"), st.integers(0, 3)),  # the index is from some calls before
        st.tuples(st.just("tear"), st.integers(1, 300)),
        st.tuples(st.just("drop a line"), st.integers(1, 12)),  # without "a1" no index would be saved
        st.tuples(st.just("edit"), st.integers(0, 1)),
    ),
    max_size=14,
)
PROBLEMS = [{"sum": "b" * 64}, {"sum": "d" * 64}]


@given(STEPS)
def test_result_log_reads_the_same_with_and_without_its_index(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, int]]
) -> None:
    folder = tmp_path_factory.mktemp("history") / "run"
    results, index = folder / "results.jsonl", folder / INDEX
    problems, olds = 0, list[bytes]()

    def made_of() -> Fingerprint:
        return msgspec.structs.replace(MADE_OF, problems=PROBLEMS[problems])

    def seen() -> Any:
        with ResultLog.open(folder, made_of()) as journal:
            found_rows = [
                journal.find_result(of(f"k{number}")["submission_sha256"], "sum") for number in range(13)
            ]
            return (
                [*journal.done],
                journal.edited,
                [reused_row and reused_row["key"] for reused_row in found_rows],
            )

    journal = ResultLog.open(folder, made_of())
    journal.record_result(of("a1"))
    for action, number in steps:
        if action == "record":
            if f"k{number}" not in journal.done:
                journal.record_result(of(f"k{number}"))
            continue
        journal.close()
        olds.append(index.read_bytes())
        if action == "kill":
            index.write_bytes(olds[-1 - number % len(olds)])
        elif action == "tear" and len(keys(folder)) > 1:
            results.write_bytes(results.read_bytes()[:-number])
        elif action == "drop a line":
            lines = results.read_bytes().splitlines(keepends=True)
            results.write_bytes(b"".join(lines[:number] + lines[number + 1 :]))
        elif action == "edit":
            problems = number
        state = seen()
        index_content = index.read_bytes()
        index.unlink()
        assert state == seen()
        index.write_bytes(index_content)
        journal = ResultLog.open(folder, made_of())
    journal.close()


def test_superseded_result_is_readable_and_its_key_can_be_recorded_again(folder: Path) -> None:
    write(folder, "a1", "b")
    with ResultLog.open(folder, MADE_OF) as journal:
        journal.mark_superseded("a1")
        assert (journal.done, journal.superseded, journal.read_row("a1")["key"]) == ({"b"}, {"a1"}, "a1")
        reused_row = journal.find_result(of("a1")["submission_sha256"], "sum")
        assert reused_row is not None and reused_row["key"] == "a1", (
            "an equal submission may reuse the result"
        )
        journal.start_run()
        assert (journal.done, journal.superseded) == ({"b"}, set())
        journal.record_result(of("a1") | {"problem_id": "tree"})
        assert ([*journal.done], journal.find_problem_of_row("a1"), journal.problems) == (
            ["b", "a1"],
            "tree",
            {"sum", "tree"},
        )
    assert keys(folder) == ["b", "a1"]


def test_saved_index_excludes_rows_reused_from_other_runs(folder: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    write(other, "b1")
    write(folder, "a2")
    with (folder / "results.jsonl").open("ab") as stream:
        stream.write(msgspec.json.encode(of("a1", text="x" * (16 << 20))) + b"\n")
    with ResultLog.open(folder, MADE_OF, reused_folders=[other]) as journal:
        assert not (folder / INDEX).exists()
        journal.record_result(of("a3"))
        assert (folder / INDEX).exists(), "a call saves it before its end"
        assert journal.find_result(of("b1")["submission_sha256"], "sum") is not None
    with ResultLog.open(folder, MADE_OF) as journal:
        assert journal.find_result(of("b1")["submission_sha256"], "sum") is None


def test_deleted_failure_is_not_restored_from_index(folder: Path) -> None:
    with ResultLog.open(folder, MADE_OF) as journal:
        journal.record_failure(failure("a2"))
        journal.record_result(of("a1"))
    assert (folder / INDEX).exists()
    (folder / "failures.jsonl").write_bytes(b"")
    with ResultLog.open(folder, MADE_OF) as journal:
        assert journal.failed == set() and journal.done == {"a1"}
