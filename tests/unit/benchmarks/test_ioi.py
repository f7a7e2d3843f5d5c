"""open-r1/ioi and its tests, in parquet files with the hub's layout, built from example problems."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from benchmark_tables import EXAMPLES, IOI_ROWS, ioi_rows, ioi_tests, write_ioi, write_table
from dump_rows import write_jsonl
from support.datasets import (
    BenchmarkOptions,
    LeftOut,
    LoadedProblems,
    find_benchmark,
    load,
    open_dump,
)

from ioi_eval import load_problems
from ioi_eval.errors import InputError
from ioi_eval.models import CheckerKind, TaskType
from ioi_eval.problems import compute_problem_hashes

Row = dict[str, Any]


def loaded(folder: Path, **options: Any) -> LoadedProblems:
    choice = BenchmarkOptions(data_dir=str(folder), **options)
    return load(find_benchmark("ioi"), choice, cache=folder / "cache")


@pytest.fixture(scope="module")
def hub(tmp_path_factory: pytest.TempPathFactory) -> Path:
    years = {"garland": 2023, "lanterns": 2024, "relay": 2024, "cairn": 2024}
    return write_ioi(tmp_path_factory.mktemp("ioi"), years)


@pytest.mark.parametrize("name", ["garland", "lanterns", "relay", "cairn"])
def test_ioi_rows_rebuild_their_problem(hub: Path, tmp_path: Path, name: str) -> None:
    rebuilt, package = loaded(hub)[name], load_problems(EXAMPLES / name, cache=tmp_path)[name]
    assert rebuilt.task_type is package.task_type and rebuilt.options == package.options
    assert rebuilt.limits == package.limits
    assert [(test.name, test.input.read()) for test in rebuilt.tests] == [
        (test.name, test.input.read()) for test in package.tests
    ]
    assert [test.answer and test.answer.sha256 for test in rebuilt.tests] == [
        test.answer and test.answer.sha256 for test in package.tests
    ]
    assert [subtask for subtask in rebuilt.subtasks if subtask.points] == [
        subtask for subtask in package.subtasks if subtask.points
    ]
    assert [file.name for file in rebuilt.grader_files] == [file.name for file in package.grader_files]
    assert (rebuilt.manager is None) == (package.manager is None)


def test_ioi_samples_are_a_subtask_of_0_points(hub: Path) -> None:
    first = loaded(hub)["garland"].subtasks[0]
    assert (first.name, first.points, first.tests) == ("00-samples", 0, ("0-01",))


def test_ioi_rows_give_standard_checker_and_statement(hub: Path) -> None:
    problems = loaded(hub)
    assert (problems["garland"].cpp_standard, problems["lanterns"].cpp_standard) == ("gnu++17", "gnu++20")
    relay = problems["relay"]
    assert relay.checker.kind is CheckerKind.CMS, "the dataset's checkers have CMS's interface"
    assert [file.name for file in relay.checker.sources] == ["checker/checker.cpp"]
    assert relay.statement is not None and relay.statement.read() == b"Solve Relay."
    assert relay.starter_code == "int main() {}\n"
    assert problems["cairn"].task_type is TaskType.COMMUNICATION


def test_ioi_problems_are_selected_by_year_split_and_name(hub: Path) -> None:
    assert set(loaded(hub, years=frozenset({2023}))) == {"garland"}
    assert set(loaded(hub, split="test")) == {"lanterns", "relay", "cairn"}
    assert set(loaded(hub, problems=frozenset({"relay", "garland"}))) == {"relay", "garland"}
    with pytest.raises(InputError, match=r"no problem 'relai'. Did you mean 'relay'"):
        loaded(hub, problems=frozenset({"relai"}))


def test_ioi_tests_of_unneeded_years_are_not_opened(tmp_path: Path) -> None:
    folder = write_ioi(tmp_path, {"garland": 2023, "lanterns": 2024})
    for path in (folder / "ioi-test-cases" / "2024").iterdir():
        path.write_bytes(b"broken")
    options = BenchmarkOptions(data_dir=str(folder))
    assert set(load(find_benchmark("ioi"), options, cache=tmp_path / "c", only={"garland"})) == {"garland"}
    with pytest.raises(InputError, match=r"cannot be loaded .*Is the file damaged"):
        load(find_benchmark("ioi"), options, cache=tmp_path / "c", only={"lanterns"})


def test_ioi_problem_name_in_two_years_needs_year(tmp_path: Path) -> None:
    rows = [row for year in (2023, 2024) for row in ioi_rows(EXAMPLES / "garland", year)]
    write_table(tmp_path / "ioi" / "all.parquet", rows, IOI_ROWS)
    for year in (2023, 2024):
        tests = ioi_tests(EXAMPLES / "garland", year)
        write_table(tmp_path / "ioi-test-cases" / str(year) / "train.parquet", tests)
    problems = loaded(tmp_path)
    assert set(problems) == {"garland@2023", "garland@2024"}
    assert problems.find("garland", 2023).cpp_standard == "gnu++17"
    with pytest.raises(InputError, match="without a year"):
        problems.find("garland")
    chosen = loaded(tmp_path, years=frozenset({2024}))
    assert chosen.find("garland").year == 2024
    with pytest.raises(LeftOut, match="not selected"):
        chosen.find("garland", 2023)


def test_dump_rows_find_ioi_subtask(hub: Path, tmp_path: Path) -> None:
    rows = [
        {"problem_id": "garland", "year": 2023, "subtask": "02-medium", "code": "1"},
        {"problem_id": "lanterns", "subtask": "pairs", "code": "2"},
    ]
    dump = open_dump([write_jsonl(tmp_path / "d.jsonl", rows)], problems=loaded(hub))
    assert [(submission.year, submission.target_subtask) for submission in dump] == [
        (2023, "02-medium"),
        (2024, "02-pairs"),
    ]


# --- stored on disk ----------------------------------------------------------------------------------


def test_large_ioi_tests_are_stored_once_on_disk_by_hash(tmp_path: Path) -> None:
    rows = ioi_rows(EXAMPLES / "garland", 2024)
    tests = ioi_tests(EXAMPLES / "garland", 2024)
    large = "7" * 5000
    tests[0]["test_input"] = tests[1]["test_output"] = large
    write_table(tmp_path / "ioi" / "test.parquet", rows, IOI_ROWS)
    write_table(tmp_path / "ioi-test-cases" / "2024" / "train.parquet", tests)
    first = loaded(tmp_path)["garland"].tests
    assert first[0].input.path == (first[1].answer and first[1].answer.path) is not None
    assert Path(str(first[0].input.path)).name == first[0].input.sha256
    assert first[0].input.read() == large.encode()
    assert first[2].input.data is not None, "small tests get no file"

    stored_file = Path(str(first[0].input.path))
    stamp = stored_file.stat().st_mtime_ns
    assert loaded(tmp_path)["garland"].tests == first
    assert stored_file.stat().st_mtime_ns == stamp
    tests[0]["test_input"] = large + "8"
    write_table(tmp_path / "ioi-test-cases" / "2024" / "train.parquet", tests)
    assert loaded(tmp_path)["garland"].tests[0].input.size == 5001


def test_ioi_fingerprint_ignores_cache_location(hub: Path, tmp_path: Path) -> None:
    reloaded = load(find_benchmark("ioi"), BenchmarkOptions(data_dir=str(hub)), cache=tmp_path)
    assert compute_problem_hashes(reloaded) == compute_problem_hashes(loaded(hub))


# --- broken rows -------------------------------------------------------------------------------------


def rows_without(field: str) -> Callable[[Row], None]:
    return lambda row: row.update({field: None})


def with_file(name: str, content: str | None) -> Callable[[Row], None]:
    def change(row: Row) -> None:
        row["grader_files"] = [file for file in row["grader_files"] if file[0] != name] + [[name, content]]

    return change


@pytest.mark.parametrize(
    ("change", "field", "message"),
    [
        (rows_without("id"), "id", "None is not a string or a whole number"),
        (rows_without("year"), "year", "None is not a number"),
        (rows_without("time_limit"), "time_limit", "not a number above 0"),
        (lambda row: row.update(time_limit=-1.0), "time_limit", "-1.0 is not a number above 0"),
        (rows_without("score"), "score", "None is not a number"),
        (rows_without("test_names"), "test_names", "the subtask has no tests"),
        (lambda row: row.update(test_names=["0-01", "0-1"]), "test_names", "the test '0-1'"),
        (lambda row: row.update(grader_files=[["a"]]), "grader_files", "not a pair"),
        (with_file("graders/grader_config.json", "{"), "grader_files", "not a JSON object"),
        (lambda row: row.update(task_type="Batsch"), "task_type", "Batch"),
        (lambda row: row.update(task_type="Communication"), "", "graders/manager.cpp"),
        (with_file("checker/notes.txt", "x"), "checker", "missing file checker/checker.cpp"),
    ],
)
def test_ioi_row_with_invalid_column_is_input_error(
    tmp_path: Path, change: Callable[[Row], None], field: str, message: str
) -> None:
    rows = ioi_rows(EXAMPLES / "garland", 2024)
    change(rows[0])
    write_table(tmp_path / "ioi" / "test.parquet", rows, IOI_ROWS)
    tests = ioi_tests(EXAMPLES / "garland", 2024)
    write_table(tmp_path / "ioi-test-cases" / "2024" / "train.parquet", tests)
    with pytest.raises(InputError) as caught:
        loaded(tmp_path)
    assert message in str(caught.value)
    assert field in caught.value.field
    assert caught.value.row == 1 or "row 1" in caught.value.where


def test_missing_ioi_tests_are_input_error(tmp_path: Path) -> None:
    write_table(tmp_path / "ioi" / "test.parquet", ioi_rows(EXAMPLES / "garland", 2024), IOI_ROWS)
    with pytest.raises(InputError, match="the folder has no subfolder 'ioi-test-cases', only ioi"):
        loaded(tmp_path)
    tests = [{**test, "test_output": None} for test in ioi_tests(EXAMPLES / "garland", 2024)]
    path = tmp_path / "ioi-test-cases" / "2024" / "train.parquet"
    write_table(path, [{**tests[0], "test_output": "x"}, *tests[1:]])
    with pytest.raises(InputError, match="no expected output") as caught:
        loaded(tmp_path)
    assert (caught.value.row, caught.value.field) == (2, "test_output")
    write_table(path, [{**test, "test_output": "x", "test_name": "0-01"} for test in tests])
    with pytest.raises(InputError, match="have the same name"):
        loaded(tmp_path)


def test_duplicate_ioi_row_is_input_error(tmp_path: Path) -> None:
    rows = ioi_rows(EXAMPLES / "garland", 2024)
    write_table(tmp_path / "ioi" / "test.parquet", [*rows, rows[0]], IOI_ROWS)
    write_table(tmp_path / "ioi-test-cases" / "2024" / "train.parquet", ioi_tests(EXAMPLES / "garland", 2024))
    with pytest.raises(InputError, match="subtask '00-samples' occurs twice") as caught:
        loaded(tmp_path)
    assert caught.value.row == 5
