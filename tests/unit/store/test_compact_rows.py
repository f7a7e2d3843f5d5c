"""results.jsonl stores each test once, and readers get the original rows, even of old runs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from run_samples import SUM, judged, problem, result, submission, write_run
from support.runs import Fingerprint, ResultLog, read_rows, result_row, summarize_run

from ioi_eval import Results
from ioi_eval.errors import InputError
from ioi_eval.model.quoting import encode_terminal_safe_json
from ioi_eval.models import Problem, Submission, SubmissionResult, Verdict
from ioi_eval.reports import write_reports
from ioi_eval.runs.folders import convert_rows_to_run
from ioi_eval.store.rows import (
    compact_row_and_confinement,
    make_compact_row,
    merge_equal_values,
    restore_compact_row,
)

PLAIN = problem("plain", subtasks=False)
CONFINED = {"v": 1, "landlock": 7, "seccomp": True}


def row(key: str, statuses: dict[str, Verdict] | None = None, of: Problem = SUM) -> dict[str, Any]:
    sent = submission(key, problem_id=of.id, row={"model": "m"})
    return result_row(sent, of, result(sent, statuses, problem=of, confinement={**CONFINED, "uid": ord(key)}))


def as_it_was(folder: Path) -> Path:
    """Rewrite the folder in the format of the previous version."""
    rows = list(read_rows(folder))
    (folder / "results.jsonl").write_bytes(b"".join(msgspec.json.encode(row) + b"\n" for row in rows))
    info = json.loads((folder / "run.json").read_text())
    del info["confinements"]
    (folder / "run.json").write_text(json.dumps({**info, "version": 1}))
    return folder


@given(judged())
def test_compact_row_expands_to_the_original_row(case: tuple[Submission, Problem, SubmissionResult]) -> None:
    first = result_row(*case)
    short, confinements = compact_row_and_confinement(first)
    expanded = restore_compact_row(msgspec.json.decode(msgspec.json.encode(short)), confinements)
    confinement = {name: value for name, value in first["confinement"].items() if name != "uid"}
    assert expanded == {**first, "confinement": confinement}
    assert len(msgspec.json.encode(short)) < len(msgspec.json.encode(first))
    assert restore_compact_row(dict(first), {}) == first, "a full row is read unchanged"
    assert compact_row_and_confinement(expanded)[0] == short
    straight, same = compact_row_and_confinement(make_compact_row(*case))
    assert (encode_terminal_safe_json(straight), same) == (encode_terminal_safe_json(short), confinements), (
        "equal to the byte"
    )


def test_rows_with_repeated_tests_and_other_judges_expand() -> None:
    first = row("a")
    repeated_test = first["all_subtasks_results"][2]["test_results"][3]
    repeated_test["cpu_times"] = [1.0, 1.1]
    first["all_subtasks_results"][0]["test_results"][0]["status"] = (
        "WA"  # differs from the same test in another subtask
    )
    short, confinements = compact_row_and_confinement(first)
    assert short["test_columns"]["cpu_times"] == [[], [], [], [], [1.0, 1.1]]
    assert short["test_columns"]["test_name"] == ["1-a", "1-a", "2-a", "2-b", "3-a"]
    assert restore_compact_row(short, confinements)["all_subtasks_results"] == first["all_subtasks_results"]
    repeated_test["of another judge"] = True
    assert compact_row_and_confinement(first)[0]["all_subtasks_results"] == first["all_subtasks_results"], (
        "a row with unknown columns is not changed"
    )


def test_compact_row_keeps_points_of_single_tests() -> None:
    first = row("a")
    first["all_subtasks_results"][2]["test_results"][3]["points"] = 0.0
    short, confinements = compact_row_and_confinement(first)
    assert short["test_columns"]["points"] == [None, None, None, 0.0]
    assert restore_compact_row(short, confinements)["all_subtasks_results"] == first["all_subtasks_results"]


def test_process_counts_are_in_tests_table(tmp_path: Path) -> None:
    started = row("a")
    for name, number in (("2-a", 3), ("3-a", 5)):
        for subtask in started["all_subtasks_results"]:
            for test in subtask["test_results"]:
                if test["test_name"] == name:
                    test["processes"] = number
    run = write_run(tmp_path / "run", [started, row("b")])
    write_reports(run)
    test_rows = pq.read_table(run / "tests.parquet").to_pylist()
    assert {
        (entry["key"], entry["test_name"]): entry["processes"] for entry in test_rows if entry["processes"]
    } == {
        ("a", "2-a"): 3,
        ("a", "3-a"): 5,
    }


def test_equal_confinements_are_in_run_json_once(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", [row("a"), row("b", {"3-a": Verdict.TLE})])
    lines = [json.loads(line) for line in (run / "results.jsonl").read_text().splitlines()]
    (name, confinement), *more = json.loads((run / "run.json").read_text())["confinements"].items()
    assert (confinement, more, {line["confinement"] for line in lines}) == (CONFINED, [], {name})
    assert lines[0]["test_columns"]["status"] == "AC"
    assert lines[1]["test_columns"]["status"] == ["AC", "AC", "AC", "TLE"]
    assert [result_read.confinement for result_read in Results.open(run)] == [CONFINED, CONFINED]


def test_confinement_is_written_before_row_that_names_it(tmp_path: Path) -> None:
    with ResultLog.open(tmp_path / "run", Fingerprint(dump="d")) as journal:
        journal.record_result(row("a"))
        reader = read_rows(tmp_path / "run")
        assert next(reader)["confinement"] == CONFINED
        other = {**row("b"), "confinement": {"v": 2}}
        journal.record_result(other)  # while a reader has it open
        assert next(reader)["confinement"] == {"v": 2}
        assert journal.read_row("b") == other


def test_run_of_older_version_is_read_and_continued(tmp_path: Path) -> None:
    rows = [row("a", {"2-a": Verdict.WA}), row("b", of=PLAIN)]
    newer_run, older_run = write_run(tmp_path / "new", rows), as_it_was(write_run(tmp_path / "old", rows))
    assert list(read_rows(newer_run)) == list(read_rows(older_run))
    assert summarize_run(newer_run) == summarize_run(older_run)
    assert Results.open(newer_run).tests_frame().equals(Results.open(older_run).tests_frame())
    with ResultLog.open(older_run, Fingerprint(dump="d" * 64)) as journal:
        assert journal.read_row("a") == next(read_rows(newer_run))
        journal.record_result(row("c"))
    assert [stored_row["key"] for stored_row in read_rows(older_run)] == ["a", "b", "c"]
    assert json.loads((older_run / "run.json").read_text())["version"] == 2
    assert list(read_rows(older_run))[2]["confinement"] == CONFINED


@pytest.mark.parametrize("older", [False, True])
def test_reused_results_keep_their_confinement(tmp_path: Path, older: bool) -> None:
    other = write_run(tmp_path / "other", [row("a")])
    if older:
        as_it_was(other)
    with ResultLog.open(tmp_path / "mine", Fingerprint(dump="x"), reused_folders=[other]) as journal:
        reused_row = journal.find_result(row("a")["submission_sha256"], "sum")
        assert reused_row == next(read_rows(other))
        journal.record_result(reused_row, is_earlier=True)
    assert list(read_rows(tmp_path / "mine")) == [reused_row]


def test_superseded_result_is_found_with_its_confinement(tmp_path: Path) -> None:
    folder, fingerprint_before = tmp_path / "run", Fingerprint(dump="d", problems={"sum": "one"})
    write_run(folder, [row("a")], made_of=fingerprint_before)
    for problems in ({"sum": "two"}, {"sum": "one"}):
        with ResultLog.open(folder, Fingerprint(dump="d", problems=problems)) as journal:
            journal.start_run()
            superseded_row = journal.find_result(row("a")["submission_sha256"], "sum")
    assert superseded_row is not None and superseded_row["confinement"] == CONFINED
    assert "problem_sha256" in json.loads((folder / "earlier.jsonl").read_text())


def test_results_file_alone_gives_same_report(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", [row("a", {"3-a": Verdict.PA}), row("b", of=PLAIN)])
    lent = convert_rows_to_run(run / "results.jsonl", tmp_path / "reports")
    assert [entry.points for entry in Results.open(lent)] == [entry.points for entry in Results.open(run)]
    assert Results.open(lent).tests_frame().equals(Results.open(run).tests_frame())


def test_tests_of_a_run_are_exported_as_a_table(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", [row("a", {"3-a": Verdict.PA}), row("b", of=PLAIN)])
    write_reports(run)
    tests_table = pq.read_table(run / "tests.parquet").to_pandas().rename(columns={"status": "verdict"})
    frame = Results.open(run).tests_frame()
    assert tests_table[list(frame.columns)].to_json(orient="records") == frame.to_json(orient="records")
    assert list(tests_table["subtasks"][0]) == ["01-small", "02-middle", "03-all"]
    assert list(tests_table["subtasks"][1]) == ["02-middle", "03-all"]
    assert [list(subtask_names) for subtask_names in tests_table["subtasks"]][4:] == [[]] * 4
    assert not list(run.glob(".*.tmp"))


def test_tests_table_is_rebuilt_if_it_is_missing_or_rows_are_new(tmp_path: Path) -> None:
    run, path = write_run(tmp_path / "run", []), tmp_path / "run" / "tests.parquet"
    write_reports(run)
    assert pq.read_table(path).num_rows == 0
    with ResultLog.open(run, Fingerprint(dump="d" * 64)) as journal:
        journal.record_result(row("a"))
    write_reports(run)
    first = path.read_bytes()
    assert pq.read_table(path).num_rows == 4
    path.unlink()
    write_reports(run)
    assert path.read_bytes() == first
    write_reports(run, target_folder=tmp_path)
    assert not (tmp_path / "tests.parquet").exists()


def test_row_with_columns_of_different_lengths_is_input_error(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", [row("a")])
    line = json.loads((run / "results.jsonl").read_text())
    line["test_columns"]["status"] = ["AC"]
    (run / "results.jsonl").write_text(json.dumps(line) + "\n")
    with pytest.raises(
        InputError, match=r"line 1, field 'test_columns': the row of 'a' .* different lengths"
    ):
        list(read_rows(run))


@pytest.mark.parametrize("values", [[1, 1.0], [True, 1], [0.0, False], [[1], [1]], ["a", "b"]])
def test_only_equal_values_of_one_type_are_stored_once(values: list[Any]) -> None:
    assert merge_equal_values(values) is values
    assert merge_equal_values([1.5, 1.5]) == 1.5
