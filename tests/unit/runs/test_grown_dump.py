"""A run continues with a dump to which rows were appended: only the new rows are read."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ioi_eval.benchmarks import dump_reader, dumps
from ioi_eval.benchmarks.dumps import INDEX
from ioi_eval.model.errors import BadRows
from ioi_eval.runs import RunSummary, score_dump_sync
from ioi_eval.store.folder import read_rows
from ioi_eval.store.resources import PACKAGE, compute_code_digest
from ioi_eval.testing import FakeEngine


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return the lines that are read. All dumps count as large."""
    lines, read_rows_or_errors = list[int](), dump_reader.read_rows_or_errors

    def reading(path: Path, *start: Any) -> Iterator[Any]:
        for entry in read_rows_or_errors(path, *start):
            if start:  # otherwise only columns are detected
                lines.append(entry.line)
            yield entry

    monkeypatch.setattr(dump_reader, "read_rows_or_errors", reading)
    monkeypatch.setattr(dumps, "LARGE_DUMP_BYTES", 1)
    monkeypatch.setattr(dumps, "MIN_INDEXED_BYTES", 1)
    return lines


def package(folder: Path, answer: str = "1\n") -> Path:
    package_folder = folder / "p0"
    for subfolder in ("tests", "subtasks"):
        (package_folder / subfolder).mkdir(parents=True, exist_ok=True)
    parameters = {
        "task_type_parameters_Batch_compilation": "alone",
        "task_type_parameters_Batch_output_eval": "diff",
    }
    header: dict[str, Any] = {"code": "p0", "time_limit": 1.0, "memory_limit": 1 << 28, "score_precision": 2}
    header |= {"task_type": "Batch", "task_type_params": json.dumps(parameters)}
    (package_folder / "problem.json").write_text(json.dumps(header))
    (package_folder / "tests" / "1.in").write_text("1\n")
    (package_folder / "tests" / "1.out").write_text(answer)
    (package_folder / "subtasks" / "0.json").write_text(json.dumps({"score": 100, "testcases": ["1"]}))
    return folder


def row(number: int, *, named: bool = True, code: str = "") -> dict[str, Any]:
    id_column = {"id": f"r{number}"} if named else {}
    return {**id_column, "problem_id": "p0", "code": code or f"int main() {{ return {number % 7}; }}\n"}


def write(dump: Path, rows: list[dict[str, Any]]) -> None:
    dump.write_text("".join(json.dumps(entry) + "\n" for entry in rows))


def checkout(folder: Path, more: str = "") -> Path:
    """Copy the package's Python sources, and append `more` to the reader of rows."""
    for path in PACKAGE.rglob("*.py"):
        copy = folder / path.relative_to(PACKAGE)
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_bytes(path.read_bytes())
    with (folder / "benchmarks" / "dump_reader.py").open("a") as stream:
        stream.write(more)
    return folder


def call(folder: Path) -> RunSummary:
    return score_dump_sync(
        folder / "dump.jsonl", folder / "problems", out=folder / "run", engine=FakeEngine()
    ).call


@pytest.mark.parametrize("has_ids", [True, False])
def test_only_new_rows_are_read(tmp_path: Path, read: list[int], has_ids: bool) -> None:
    package(tmp_path / "problems")
    rows = [row(number, named=has_ids) for number in range(12)]
    write(tmp_path / "dump.jsonl", rows[:9])
    assert call(tmp_path).judged == 9
    for size in (11, 12):
        write(tmp_path / "dump.jsonl", rows[:size])
        rows_before = size - 2 if size == 11 else 11
        read.clear()
        summary = call(tmp_path)
        assert (summary.skipped, summary.judged) == (rows_before, size - rows_before)
        assert set(read) == set(range(rows_before + 1, size + 1))
    codes = {entry["key"]: entry["code"] for entry in read_rows(tmp_path / "run")}
    assert len(codes) == 12 and sorted(codes.values()) == sorted(entry["code"] for entry in rows)
    read.clear()
    assert call(tmp_path).skipped == 12  # the dump is unchanged
    assert not read


@pytest.mark.parametrize("shape", ["", "without ids", "blank line", "two answers", "a copy"])
def test_interrupted_run_reads_dump_from_first_unjudged_row(
    tmp_path: Path, read: list[int], shape: str
) -> None:
    package(tmp_path / "problems")
    rows = [
        row(number, named=shape != "without ids", code=f"int main() {{ return {number}; }}")
        for number in range(9)
    ]
    if shape == "two answers":
        rows[2]["code"] = [rows[2]["code"], "int main() { return 99; }"]
    rows[7] = rows[1] if shape == "a copy" else rows[7]
    write(tmp_path / "dump.jsonl", rows)
    if shape in (
        "blank line",
        "two answers",
    ):  # with two answers, the blank line offsets the extra submission
        dump_text = (tmp_path / "dump.jsonl").read_text().replace("\n", "\n\n", 1)
        (tmp_path / "dump.jsonl").write_text(dump_text)
    assert call(tmp_path).judged == 9 + (shape == "two answers") - (shape == "a copy")
    results = tmp_path / "run" / "results.jsonl"
    lines = {json.loads(line)["key"]: line for line in results.read_text().splitlines()}
    whole, open_ones = {key: json.loads(line)["code"] for key, line in lines.items()}, [*lines][4:6]
    results.write_text("".join(f"{line}\n" for key, line in lines.items() if key not in open_ones))
    read.clear()
    assert call(tmp_path).judged == 2
    assert {entry["key"]: entry["code"] for entry in read_rows(tmp_path / "run")} == whole
    assert min(read) == (1 if shape in ("without ids", "blank line", "a copy") else 5), shape


def test_duplicate_line_does_not_hide_unjudged_row(tmp_path: Path, read: list[int]) -> None:
    """Six lines and six submissions; the fifth line repeats the first unjudged line."""
    package(tmp_path / "problems")
    rows = [row(number, code=f"int main() {{ return {number}; }}") for number in range(4)]
    for row_codes in rows[:2]:
        row_codes["code"] = [row_codes["code"], f"{row_codes['code']} // again"]
    write(tmp_path / "dump.jsonl", [*rows, rows[2]])
    with (tmp_path / "dump.jsonl").open("a") as stream:
        stream.write("\n")
    assert call(tmp_path).judged == 6
    results = tmp_path / "run" / "results.jsonl"
    kept_lines = [
        line for line in results.read_text().splitlines(keepends=True) if "/" in json.loads(line)["key"]
    ]
    results.write_text("".join(kept_lines))
    assert call(tmp_path).judged == 2
    assert {row_codes["key"] for row_codes in read_rows(tmp_path / "run")} >= {"r2", "r3"}


@pytest.mark.parametrize("change", ["row", "problem", "option", "index", "code", "other dump between"])
def test_dump_is_read_again_if_file_or_options_may_have_changed(
    tmp_path: Path, read: list[int], change: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    package(tmp_path / "problems")
    dump, rows = tmp_path / "dump.jsonl", [row(number) for number in range(9)]
    write(dump, rows[:8])
    assert call(tmp_path).judged == 8
    index = tmp_path / "run" / INDEX
    judged_count = 1
    match change:
        case "row":
            rows[3] = row(3, code="int main() { return 99; }\n")
            judged_count = 2
        case "problem":
            package(tmp_path / "problems", "2\n")
            judged_count = 9
        case "index":
            index.write_bytes(index.read_bytes()[:-3])
        case "code":  # another checkout of the same version
            (tmp_path / "there").mkdir()
            (tmp_path / "there" / "dump_reader.py").write_text("# reads rows differently\n")
            monkeypatch.setattr(dumps, "PACKAGE", tmp_path / "there")
        case "other dump between":
            index_content = index.read_bytes()
            write(dump, [*rows[:7], row(7, code="int main() { return 98; }\n")])
            assert call(tmp_path).judged == 1
            index.write_bytes(index_content)
            judged_count = 2
    write(dump, rows)
    read.clear()
    options = {"id_column": "id"} if change == "option" else {}
    summary = score_dump_sync(
        dump,
        tmp_path / "problems",
        out=tmp_path / "run",
        reading=dump_reader.DumpOptions(**options),
        engine=FakeEngine(),
    ).call
    assert summary.judged == judged_count
    assert set(read) == set(range(1, 10))
    assert {entry["key"]: entry["code"] for entry in read_rows(tmp_path / "run")} == {
        entry["id"]: entry["code"] for entry in rows
    }


def test_dump_index_depends_on_code_version(tmp_path: Path) -> None:
    assert compute_code_digest(checkout(tmp_path / "equal")) == compute_code_digest(PACKAGE)
    assert compute_code_digest(checkout(tmp_path / "other", "# comment\n")) != compute_code_digest(PACKAGE)


def test_appended_row_with_duplicate_id_is_refused(tmp_path: Path, read: list[int]) -> None:
    package(tmp_path / "problems")
    write(tmp_path / "dump.jsonl", [row(number) for number in range(5)])
    call(tmp_path)
    read.clear()
    with (tmp_path / "dump.jsonl").open("a") as stream:
        stream.write(json.dumps(row(2, code="int main() { return 9; }\n")) + "\n")
    with pytest.raises(BadRows, match=r"dump\.jsonl, line 6.*duplicate id 'r2'"):
        call(tmp_path)
    assert read == [6]
