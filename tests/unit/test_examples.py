"""The examples are whole: packages that load, solutions for every verdict, a dump of many kinds of texts."""

from __future__ import annotations

import json
import zipfile
from collections import Counter
from pathlib import Path
from typing import Any

import msgspec
import pytest

from ioi_eval.benchmarks import read_dump
from ioi_eval.extraction import extract
from ioi_eval.languages import find
from ioi_eval.models import CheckerKind, Problem, ScoreType, Submission
from ioi_eval.problems import Problems, load_problems

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
# The plain batch tasks, which the dump is about.
IDS = ("carousel", "garland", "lanterns", "pumpkins", "relay", "threes", "tide")
EVERYWHERE = {
    "model_solution",
    "correct",
    "incorrect",
    "time_limit",
    "memory_limit",
    "runtime_error",
    "compile_error",
    "output_limit",
}
COLUMNS = {
    "uuid",
    "model",
    "problem_id",
    "subtask",
    "prompt",
    "generation",
    "code",
    "language",
    "solution_number",
    "model_kwargs",
    "metadata",
}
STATUSES = {"AC", "PA", "WA", "OLE", "TLE", "MLE", "RE", "CE"}


@pytest.fixture(scope="module")
def problems(tmp_path_factory: pytest.TempPathFactory) -> Problems:
    return load_problems(EXAMPLES / "problems", cache=tmp_path_factory.mktemp("cache"))


@pytest.fixture(scope="module")
def rows() -> list[dict[str, Any]]:
    lines = (EXAMPLES / "generations.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def _expected() -> dict[str, dict[str, str]]:
    head, *lines = (EXAMPLES / "generations.expected.tsv").read_text().splitlines()
    table = [dict(zip(head.split("\t"), line.split("\t"), strict=True)) for line in lines]
    return {entry["uuid"]: entry for entry in table}


# --- problems ----------------------------------------------------------------------------------------


def test_there_are_these_problems(problems: Problems) -> None:
    assert {problem.id for problem in problems.values()} >= set(IDS)


@pytest.mark.parametrize("name", IDS)
class TestProblem:
    def test_points_and_tests(self, problems: Problems, name: str) -> None:
        problem = problems.find(name)
        assert 8 <= len(problem.tests) <= 25
        assert 2 <= len(problem.subtasks) <= 5
        assert sum(subtask.points for subtask in problem.subtasks) == 100
        listed = {test for subtask in problem.subtasks for test in subtask.tests}
        assert listed == {test.name for test in problem.tests}
        assert all(test.answer and test.answer.size for test in problem.tests)

    def test_tests_are_shared_by_subtasks(self, problems: Problems, name: str) -> None:
        uses = Counter(test for subtask in problems.find(name).subtasks for test in subtask.tests)
        assert max(uses.values()) > 1

    def test_solutions_for_every_verdict(self, problems: Problems, name: str) -> None:
        solutions = problems.find(name).solutions
        partial = {"partially_correct"} if name in ("pumpkins", "relay") else set()
        assert {solution.expected for solution in solutions} == EVERYWHERE | partial
        models = [solution for solution in solutions if solution.expected == "model_solution"]
        assert len(models) == 1
        assert all(solution.code.strip() for solution in solutions)

    def test_statement(self, name: str) -> None:
        assert _statement(name).startswith("# ")


def _statement(name: str) -> str:
    folder = EXAMPLES / "problems" / name
    if folder.is_dir():
        return (folder / "statement.md").read_text()
    with zipfile.ZipFile(folder.with_suffix(".zip")) as archive:
        return archive.read(f"{name}/statement.md").decode()


def test_what_each_problem_shows(problems: Problems) -> None:
    by_id = {name: problems.find(name) for name in IDS}
    assert by_id["lanterns"].options.with_grader
    assert by_id["garland"].checker.kind is CheckerKind.WHITE_DIFF
    assert by_id["threes"].checker.kind is CheckerKind.CMS
    assert {subtask.score_type for subtask in by_id["pumpkins"].subtasks} == set(ScoreType)
    assert (by_id["tide"].options.input_file, by_id["tide"].options.output_file) == ("tide.in", "tide.out")
    assert by_id["relay"].checker.kind is CheckerKind.TESTLIB
    assert max(test.input.size for test in by_id["carousel"].tests) >= 10_000_000


def test_they_stay_small(problems: Problems) -> None:
    assert sum(path.stat().st_size for path in EXAMPLES.rglob("*") if path.is_file()) < 3_000_000


# --- the dump ----------------------------------------------------------------------------------------


def test_columns(rows: list[dict[str, Any]]) -> None:
    assert len(rows) >= 60
    assert all(row.keys() - {"year"} == COLUMNS for row in rows)
    assert len({row["uuid"] for row in rows}) == len(rows)
    assert Counter(row["model"] for row in rows).keys() == {"heron-7b", "otter-32b"}
    assert {row.get("year", "missing") for row in rows} == {2025, None, "missing"}
    assert {row["language"] for row in rows} == {"cpp", "python"}


def test_rows_aim_at_subtasks_that_are_there(rows: list[dict[str, Any]], problems: Problems) -> None:
    for row in rows:
        problem: Problem = problems.find(row["problem_id"])
        assert row["subtask"] in [subtask.name for subtask in problem.subtasks]
    assert {row["problem_id"] for row in rows} == set(IDS)


def test_texts_are_of_many_kinds(rows: list[dict[str, Any]]) -> None:
    texts = [row["generation"] for row in rows]
    assert len(set(texts)) == len(texts)
    assert any("~~~" in text for text in texts)
    assert any("\r\n" in text for text in texts)
    assert any("</think>" in text and "<think>" not in text for text in texts)
    assert any("<think>" in text and "</think>" not in text for text in texts)
    assert any(row["code"] for row in rows)
    assert sum(row["code"] is None for row in rows) > len(rows) / 2
    assert sum(row["metadata"]["stop_reason"] == "length" for row in rows) >= 3


def test_extraction_finds_the_codes_that_are_filled_in(rows: list[dict[str, Any]]) -> None:
    filled = [row for row in rows if row["code"]]
    for row in filled:
        assert extract(row["generation"], find(row["language"])) == row["code"], row["uuid"]


def _submissions(problems: Problems) -> list[Submission]:
    return list(read_dump([EXAMPLES / "generations.jsonl"], problems=problems))


def test_the_dump_is_read_whole(rows: list[dict[str, Any]], problems: Problems) -> None:
    submissions = _submissions(problems)
    assert len(submissions) == len(rows)
    without = [submission for submission in submissions if submission.code is None]
    assert 2 <= len(without) <= 5
    codes = Counter(submission.code for submission in submissions if submission.code is not None)
    assert sum(count > 1 for count in codes.values()) >= 3  # the same program by both models


def test_every_row_has_an_expected_status(rows: list[dict[str, Any]]) -> None:
    expected = _expected()
    assert list(expected) == [row["uuid"] for row in rows]
    assert {entry["status"] for entry in expected.values()} == STATUSES
    repaired = [entry for entry in expected.values() if entry["status"] != entry["repaired_status"]]
    assert [entry["repaired_status"] for entry in repaired] == ["AC", "AC"]
    for row in rows:
        points = expected[row["uuid"]]["points"]
        assert points == "-" or 0 <= float(points) <= 100


def test_the_dump_is_what_its_script_makes(
    rows: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "scripts" / "examples"))
    import make_generations

    assert msgspec.to_builtins(list(make_generations.rows())) == rows
