"""The examples are complete: packages that load, solutions for every verdict, and a varied dump."""

from __future__ import annotations

import json
import tarfile
import zipfile
from collections import Counter
from pathlib import Path
from typing import Any

import msgspec
import pytest
from support.datasets import Problems, check_problems, extract, open_dump
from support.engines import find_language
from support.runs import read_failures, read_rows

from ioi_eval import load_problems
from ioi_eval.models import CheckerKind, Problem, ScoreType, TaskType, Verdict
from ioi_eval.store.tasks import read_tasks

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
# Plain batch tasks, for which the dump has generations.
BATCH = ("carousel", "garland", "lanterns", "pumpkins", "relay", "threes", "tide")
KATTIS = ("compass", "kettle", "parcels", "shelves")
TPS = ("ferry",)
OTHERS = (
    *("banners", "cairn", "calm", "carrier", "drums", "flock", "frame", "kegs", "postman", "scales", "verse"),
    *(*KATTIS, *TPS),
)
PARTIAL = {"cairn", "drums", "kegs", "postman", "pumpkins", "relay", "scales", "shelves"}
# Keywords of packages for each verdict.
WORDS = {
    Verdict.AC: {"model_solution", "correct", "accepted", "AC"},
    Verdict.PA: {"partially_correct", "partially_accepted"},
    Verdict.WA: {"incorrect", "wrong_answer", "WA", "WRONG-ANSWER, TIMELIMIT"},
    Verdict.TLE: {"time_limit", "time_limit_exceeded", "TLE"},
    Verdict.MLE: {"memory_limit", "memory_limit_exceeded"},
    Verdict.OLE: {"output_limit", "output_limit_exceeded", "failed"},
    Verdict.RE: {"runtime_error", "run_time_error", "RTE"},
    Verdict.CE: {"compile_error", "compiler_error"},
}
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


def test_example_problems_are_listed(problems: Problems) -> None:
    assert sorted(problem.id for problem in problems.values()) == sorted(BATCH + OTHERS)


def test_example_packages_load_without_notes(tmp_path: Path) -> None:
    packages = check_problems(EXAMPLES / "problems", cache=tmp_path)
    formats = {package.problem.id: package.format for package in packages if package.problem}
    assert formats == {
        name: "Kattis" if name in KATTIS else "TPS" if name in TPS else "ioi_eval/CMS"
        for name in BATCH + OTHERS
    }
    assert [note for package in packages for note in package.notes] == []


@pytest.mark.parametrize("name", BATCH)
class TestBatchExamples:
    def test_batch_example_has_points_tests_and_answers(self, problems: Problems, name: str) -> None:
        problem = problems.find(name)
        assert 8 <= len(problem.tests) <= 25
        assert 2 <= len(problem.subtasks) <= 5
        assert sum(subtask.points for subtask in problem.subtasks) == 100
        listed = {test for subtask in problem.subtasks for test in subtask.tests}
        assert listed == {test.name for test in problem.tests}
        assert all(test.answer and test.answer.size for test in problem.tests)

    def test_subtasks_of_batch_example_share_tests(self, problems: Problems, name: str) -> None:
        uses = Counter(test for subtask in problems.find(name).subtasks for test in subtask.tests)
        assert max(uses.values()) > 1

    def test_batch_example_has_solutions_for_every_verdict(self, problems: Problems, name: str) -> None:
        solutions = problems.find(name).solutions
        partial = {"partially_correct"} if name in PARTIAL else set()
        assert {solution.expected for solution in solutions} == EVERYWHERE | partial
        models = [solution for solution in solutions if solution.expected == "model_solution"]
        assert len(models) == 1
        assert all(solution.code.strip() for solution in solutions)


@pytest.mark.parametrize("name", OTHERS)
class TestOtherExamples:
    def test_other_example_has_points_and_tests(self, problems: Problems, name: str) -> None:
        problem = problems.find(name)
        assert 4 <= len(problem.tests) <= 10
        if problem.subtasks:
            assert sum(subtask.points for subtask in problem.subtasks) == 100
            listed = {test for subtask in problem.subtasks for test in subtask.tests}
            assert listed == {test.name for test in problem.tests}
        else:
            assert name in KATTIS

    def test_example_limits_are_small(self, problems: Problems, name: str) -> None:
        limits = problems.find(name).limits
        assert (limits.cpu_time, limits.memory) == ((None, None) if name == "postman" else (1.0, 64 << 20))

    def test_example_solutions_cover_possible_verdicts(self, problems: Problems, name: str) -> None:
        solutions = problems.find(name).solutions
        expected_keywords = {solution.expected for solution in solutions} - {""}
        expected_keywords |= {keyword for solution in solutions for keyword in solution.exceptions.values()}
        possible = {Verdict.AC, Verdict.WA} if name == "postman" else set(WORDS) - {Verdict.PA}
        partial = {Verdict.PA} if name in PARTIAL else set()
        assert {_verdict(keyword) for keyword in expected_keywords} == possible | partial
        assert all(solution.code.strip() or solution.outputs for solution in solutions)


def _verdict(keyword: str) -> Verdict:
    [verdict_of_keyword] = [verdict for verdict, keywords in WORDS.items() if keyword in keywords]
    return verdict_of_keyword


@pytest.mark.parametrize("name", BATCH + OTHERS)
def test_example_statement_has_title(name: str) -> None:
    assert _statement(name).startswith("# ")


def _statement(name: str) -> str:
    folder = EXAMPLES / "problems" / name
    if name in KATTIS:
        return (folder / "problem_statement" / "problem.en.md").read_text()
    if name in TPS:
        return (folder / "statement" / "index.md").read_text()
    if folder.is_dir():
        return (folder / "statement.md").read_text()
    with zipfile.ZipFile(folder.with_suffix(".zip")) as archive:
        return archive.read(f"{name}/statement.md").decode()


def test_batch_examples_show_intended_features(problems: Problems) -> None:
    by_id = {name: problems.find(name) for name in BATCH}
    assert by_id["lanterns"].options.with_grader
    assert by_id["garland"].checker.kind is CheckerKind.WHITE_DIFF
    assert by_id["threes"].checker.kind is CheckerKind.CMS
    assert {subtask.score_type for subtask in by_id["pumpkins"].subtasks} == set(ScoreType)
    assert (by_id["tide"].options.input_file, by_id["tide"].options.output_file) == ("tide.in", "tide.out")
    assert by_id["relay"].checker.kind is CheckerKind.TESTLIB
    assert max(test.input.size for test in by_id["carousel"].tests) >= 10_000_000


def test_examples_cover_task_types_checkers_and_managers(problems: Problems) -> None:
    all_of_them = [problems.find(name) for name in BATCH + OTHERS]
    assert {problem.task_type for problem in all_of_them} == set(TaskType)
    of_datasets = {CheckerKind.LINES, CheckerKind.FLOAT_LINES, CheckerKind.APPS, CheckerKind.JSON_WRAPPED}
    of_rewards = {CheckerKind.STRIPPED_LINES, CheckerKind.PRIME_CODE}
    of_dmoj = {CheckerKind.WORD_LINES, CheckerKind.EXIT_CODE}  # tests/packages has examples of these
    assert {problem.checker.kind for problem in all_of_them} == set(
        CheckerKind
    ) - of_datasets - of_dmoj - of_rewards
    managers = {problem.id: problem.manager.kind for problem in all_of_them if problem.manager}
    cms = CheckerKind.CMS
    assert managers == {"cairn": cms, "drums": cms, "kegs": cms, "compass": CheckerKind.ICPC}


def test_communication_examples_differ_in_processes_and_input(problems: Problems) -> None:
    cairn, drums, kegs = (problems.find(name) for name in ("cairn", "drums", "kegs"))
    assert (cairn.options.processes, cairn.options.user_io, cairn.options.with_grader) == (1, "std_io", True)
    assert (drums.options.processes, drums.options.user_io, drums.options.with_grader) == (2, "fifo_io", True)
    assert (kegs.options.processes, kegs.options.user_io, kegs.options.with_grader) == (1, "std_io", False)
    assert kegs.options.manager_args == ("--most", "300")
    assert [bool(problem.checker.sources) for problem in (cairn, drums, kegs)] == [False, False, True]


def test_solutions_of_output_only_examples_contain_outputs(problems: Problems) -> None:
    postman, scales = problems.find("postman"), problems.find("scales")
    assert all(solution.outputs and not solution.code for solution in postman.solutions)
    assert scales.options.output_tests == ("2-01", "2-02")
    both = [solution for solution in scales.solutions if solution.code and solution.outputs]
    assert len(both) == len(scales.solutions) - 1  # one solution lacks the files


def test_examples_of_other_formats_show_intended_features(problems: Problems) -> None:
    ferry, kettle, shelves = (problems.find(name) for name in ("ferry", "kettle", "shelves"))
    assert ferry.options.with_grader
    assert all(solution.each_subtask for solution in ferry.solutions)
    assert sum(bool(solution.exceptions) for solution in ferry.solutions) >= 5
    assert (kettle.checker.absolute, kettle.checker.relative) == (1e-6, 1e-6)
    assert not kettle.checker.case_sensitive
    assert {test.full for test in shelves.tests} == {0, 50}, "a sample has 0 points"
    assert shelves.checker.arguments == ("--almost", "20")
    assert [subtask.points for subtask in shelves.subtasks] == [0, 50, 50]
    parcels = problems.find("parcels")
    assert [(subtask.points, subtask.grading is None) for subtask in parcels.subtasks] == [
        (0, True),
        (20, True),
        (30, False),
        (50, True),
    ]
    several = {solution.name: len(solution.files) for solution in parcels.solutions if solution.files}
    assert several == {"table": 2, "counted": 1, "every_pair": 1, "no_header": 1}
    assert problems.find("calm").options.function == "longest_calm"
    assert problems.find("banners").checker.language == "python"


@pytest.mark.nightly
def test_example_tests_equal_output_of_script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "tools" / "examples"))
    import make_tasks

    make_tasks.main([], tmp_path)
    written_files = [path.relative_to(tmp_path) for path in tmp_path.rglob("*") if path.is_file()]
    assert {path.parts[0] for path in written_files} == set(OTHERS)
    for path in written_files:
        assert (tmp_path / path).read_bytes() == (EXAMPLES / "problems" / path).read_bytes(), path


def test_examples_stay_below_3_mb(problems: Problems) -> None:
    assert sum(path.stat().st_size for path in EXAMPLES.rglob("*") if path.is_file()) < 3_000_000


# --- the dump ----------------------------------------------------------------------------------------


def test_example_rows_have_expected_columns(rows: list[dict[str, Any]]) -> None:
    assert len(rows) >= 60
    assert all(row.keys() - {"year"} == COLUMNS for row in rows)
    assert len({row["uuid"] for row in rows}) == len(rows)
    assert Counter(row["model"] for row in rows).keys() == {"heron-7b", "otter-32b"}
    assert {row.get("year", "missing") for row in rows} == {2025, None, "missing"}
    assert {row["language"] for row in rows} == {"cpp", "python"}


def test_example_rows_target_existing_subtasks(rows: list[dict[str, Any]], problems: Problems) -> None:
    for row in rows:
        problem: Problem = problems.find(row["problem_id"])
        assert row["subtask"] in [subtask.name for subtask in problem.subtasks]
    assert {row["problem_id"] for row in rows} == set(BATCH)


def test_example_replies_cover_many_reply_formats(rows: list[dict[str, Any]]) -> None:
    replies = [row["generation"] for row in rows]
    assert len(set(replies)) == len(replies)
    assert any("~~~" in reply for reply in replies)
    assert any("\r\n" in reply for reply in replies)
    assert any("</think>" in reply and "<think>" not in reply for reply in replies)
    assert any("<think>" in reply and "</think>" not in reply for reply in replies)
    assert any(row["code"] for row in rows)
    assert sum(row["code"] is None for row in rows) > len(rows) / 2
    assert sum(row["metadata"]["stop_reason"] == "length" for row in rows) >= 3


def test_extraction_finds_code_of_example_rows(rows: list[dict[str, Any]]) -> None:
    filled = [row for row in rows if row["code"]]
    for row in filled:
        assert extract(row["generation"], find_language(row["language"])) == row["code"], row["uuid"]


def test_example_dump_is_read_completely(rows: list[dict[str, Any]], problems: Problems) -> None:
    submissions = list(open_dump([EXAMPLES / "generations.jsonl"], problems=problems))
    assert len(submissions) == len(rows)
    without = [submission for submission in submissions if submission.code is None]
    assert 2 <= len(without) <= 5
    codes = Counter(submission.code for submission in submissions if submission.code is not None)
    assert sum(count > 1 for count in codes.values()) >= 3  # the same program by both models


def test_example_rows_have_expected_status(rows: list[dict[str, Any]]) -> None:
    expected = _expected()
    assert list(expected) == [row["uuid"] for row in rows]
    assert {entry["status"] for entry in expected.values()} == STATUSES
    repaired = [entry for entry in expected.values() if entry["status"] != entry["repaired_status"]]
    assert [entry["repaired_status"] for entry in repaired] == ["AC", "AC"]
    for row in rows:
        points = expected[row["uuid"]]["points"]
        assert points == "-" or 0 <= float(points) <= 100


def test_example_dump_equals_output_of_script(
    rows: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "tools" / "examples"))
    import make_generations

    assert msgspec.to_builtins(list(make_generations.make_rows())) == rows


# --- the recorded run --------------------------------------------------------------------------------


def test_recorded_example_run_equals_the_output_of_its_script(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "tools" / "examples"))
    import make_recorded

    with tarfile.open(make_recorded.PACKED) as archive:
        archive.extractall(tmp_path)
    dealt = list(make_recorded.make_rows())
    recorded = {row["key"]: row for row in read_rows(tmp_path)}
    assert len(dealt) == len(recorded) == 2000 and not read_failures(tmp_path)
    assert all(row["model"].startswith("invented-") for row in dealt)
    for row in dealt:
        assert {name: recorded[row["uuid"]][name] for name in row} == row
    assert not any(b"/work" in path.read_bytes() for path in tmp_path.iterdir())
    assert read_tasks(tmp_path).keys() == make_recorded.PROBLEMS.keys()
