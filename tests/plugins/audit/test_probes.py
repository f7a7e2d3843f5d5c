"""Probes of an audit: their number, failed probes, and stored results."""

from __future__ import annotations

import ast
import dataclasses
import importlib
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from ioi_eval import JudgeFailure, Problem, Submission, SubmissionResult, TestResult, Verdict
from ioi_eval.models import Blob, Checker, CheckerKind, Solution
from ioi_eval.plugins import audit
from ioi_eval.plugins.audit.comparisons import list_looser_checkers, make_loosest_checker
from ioi_eval.plugins.audit.diagnosis import Diagnoser, JudgedProblem, judge_skipped_tests
from ioi_eval.plugins.audit.evidence import AuditOrigin, ReproductionCommands
from ioi_eval.plugins.audit.probes import ProbeRunner
from ioi_eval.plugins.audit.records import Diagnosis, Flaw, MutantCounts


class FakeScorer:
    """Returns scripted results, one per scored problem. Raises a JudgeFailure if none is left."""

    slots = 1

    def __init__(self, *results: TestResult) -> None:
        self.results = list(results)
        self.problems = list[Problem]()

    async def score(self, problem: Problem, submission: Submission) -> SubmissionResult:
        if not self.results:
            raise JudgeFailure("the machine is on fire")
        self.problems.append(problem)
        tests = tuple(replace(self.results.pop(0), test_name=test.name) for test in problem.tests)
        return SubmissionResult(key=submission.key, problem_id="one", compiles=True, tests=tests)


def failed(status: Verdict, output: str = "") -> TestResult:
    return TestResult(test_name="1", score=0.0, status=status, output=output)


def judged_problem(*failures: TestResult) -> JudgedProblem:
    """Return a problem whose right solutions have these results on its only test."""
    solutions = tuple(
        Solution(name=f"{number}.py", language="python", code=f"# {number}", expected="correct")
        for number in range(len(failures))
    )
    problem = Problem.of([("1", "1")], id="one", solutions=solutions)
    results = {
        f"one/correct/{number}.py": SubmissionResult(
            key=f"one/correct/{number}.py", problem_id="one", compiles=True, tests=(failure,)
        )
        for number, failure in enumerate(failures)
    }
    origin = AuditOrigin(source="packages", benchmark="", references=3)
    return JudgedProblem(
        label="one",
        problem=problem,
        results=results,
        unjudged={},
        commands=ReproductionCommands(origin, "one"),
    )


async def diagnosed(folder: Path, problem: JudgedProblem, scorer: FakeScorer) -> Diagnosis:
    """Return the only diagnosis of a problem."""
    runner: Any = scorer
    probes = ProbeRunner(runner, folder / "probes.jsonl", discard_earlier_results=False)
    (diagnosis,) = (await Diagnoser(problem, probes).audit(MutantCounts(), ())).diagnoses
    return diagnosis


async def test_failed_probe_makes_the_diagnosis_unclear(tmp_path: Path) -> None:
    diagnosis = await diagnosed(tmp_path, judged_problem(*[failed(Verdict.WA, "2")] * 2), FakeScorer())
    assert diagnosis.fault is Flaw.UNCLEAR and "the machine is on fire" in diagnosis.sentence
    assert diagnosis.rows == ("one/correct/0.py", "one/correct/1.py")


async def test_only_one_of_several_slow_solutions_runs_under_raised_limits(tmp_path: Path) -> None:
    scorer = FakeScorer(TestResult(test_name="1", score=1.0, status=Verdict.AC, cpu_time=6.0))
    diagnosis = await diagnosed(tmp_path, judged_problem(*[failed(Verdict.TLE)] * 3), scorer)
    assert diagnosis.fault is Flaw.LIMITS and len(diagnosis.rows) == 3
    assert "3 of 3 right solutions exceed the limits (python); 0.py needs up to 4 times the time" in (
        diagnosis.sentence
    )
    (raised,) = scorer.problems
    assert (raised.limits.cpu_time, raised.limits.memory) == (16.0, 8 * (256 << 20))


async def test_slow_solution_that_is_also_wrong_is_diagnosed_separately(tmp_path: Path) -> None:
    scorer = FakeScorer(failed(Verdict.RE), TestResult(test_name="1", score=1.0, status=Verdict.AC, memory=1))
    runner: Any = scorer
    probes = ProbeRunner(runner, tmp_path / "probes.jsonl", discard_earlier_results=False)
    audited = await Diagnoser(judged_problem(*[failed(Verdict.TLE)] * 2), probes).audit(MutantCounts(), ())
    assert [(diagnosis.fault, diagnosis.rows) for diagnosis in audited.diagnoses] == [
        (Flaw.LIMITS, ("one/correct/1.py",)),
        (Flaw.UNCLEAR, ("one/correct/0.py",)),
    ]


async def all_diagnoses(folder: Path, problem: JudgedProblem, scorer: FakeScorer) -> list[Diagnosis]:
    runner: Any = scorer
    probes = ProbeRunner(runner, folder / "probes.jsonl", discard_earlier_results=False)
    return list((await Diagnoser(problem, probes).audit(MutantCounts(), ())).diagnoses)


async def test_slow_solution_and_wrong_solution_of_one_test_get_separate_diagnoses(tmp_path: Path) -> None:
    scorer = FakeScorer(TestResult(test_name="1", score=1.0, status=Verdict.AC, cpu_time=6.0))
    problem = judged_problem(failed(Verdict.TLE), failed(Verdict.WA, "1 7"))
    diagnoses = await all_diagnoses(tmp_path, problem, scorer)
    assert [(diagnosis.fault, diagnosis.rows) for diagnosis in diagnoses] == [
        (Flaw.LIMITS, ("one/correct/0.py",)),
        (Flaw.UNCLEAR, ("one/correct/1.py",)),
    ]


async def test_truncated_output_is_not_reported_as_missing_a_word(tmp_path: Path) -> None:
    numbers = [str(number) for number in range(1000, 1400)]
    answer = " ".join(numbers)
    failures = failed(Verdict.WA, answer[:400]), failed(Verdict.WA, " ".join(["7", *numbers[1:60]]))
    problem = judged_problem(*failures)
    test = replace(problem.problem.tests[0], answer=Blob.of(answer))
    problem = dataclasses.replace(problem, problem=replace(problem.problem, tests=(test,)))
    runner: Any = FakeScorer()
    diagnoser = Diagnoser(
        problem, ProbeRunner(runner, tmp_path / "probes.jsonl", discard_earlier_results=False)
    )
    report = await diagnoser.audit(MutantCounts(), ())
    assert [rejection.difference for rejection in report.rejections] == [
        "No difference in the texts shown",
        "Word 1 is '7', expected '1000'",
    ]


async def test_command_for_exceeded_memory_has_no_time_factor(tmp_path: Path) -> None:
    result = TestResult(test_name="1", score=1.0, status=Verdict.AC, cpu_time=0.1, memory=300 << 20)
    diagnosis = await diagnosed(tmp_path, judged_problem(failed(Verdict.MLE)), FakeScorer(result))
    assert "needs up to 2 times the memory" in diagnosis.sentence
    assert "--time-factor" not in diagnosis.command


async def test_too_long_output_is_not_explained_by_a_looser_comparison(tmp_path: Path) -> None:
    accepted = TestResult(test_name="1", score=1.0, status=Verdict.AC)
    problem = judged_problem(failed(Verdict.WA, "1.0"), failed(Verdict.OLE))
    diagnoses = await all_diagnoses(tmp_path, problem, FakeScorer(*[accepted] * 20))
    assert [(diagnosis.fault, diagnosis.rows) for diagnosis in diagnoses] == [
        (Flaw.STRICT, ("one/correct/0.py",)),
        (Flaw.UNCLEAR, ("one/correct/1.py",)),
    ]


async def test_solution_that_cannot_run_on_its_skipped_tests_is_unjudged(tmp_path: Path) -> None:
    problem = judged_problem(failed(Verdict.SKIPPED))
    runner: Any = FakeScorer()
    probes = ProbeRunner(runner, tmp_path / "probes.jsonl", discard_earlier_results=False)
    completed = await judge_skipped_tests(problem, probes)
    assert completed.results == {} and completed.right == {}
    assert "the machine is on fire" in completed.unusable["one/correct/0.py"]


async def test_output_with_different_word_count_is_diagnosed_as_broken_test(tmp_path: Path) -> None:
    diagnosis = await diagnosed(tmp_path, judged_problem(*[failed(Verdict.WA, "1 7")] * 2), FakeScorer())
    assert diagnosis.fault is Flaw.BROKEN


async def test_stored_probe_result_is_reused_unless_fresh(tmp_path: Path) -> None:
    path, (right, other) = tmp_path / "probes.jsonl", [failed(Verdict.WA, "å\n"), failed(Verdict.RE)]
    problem = judged_problem(right).problem
    submission = Submission(key="a", problem_id="one", code="x", language="c++")

    async def probed(*results: TestResult, fresh: bool = False, code: str = "x") -> tuple[TestResult, ...]:
        runner: Any = FakeScorer(*results)
        probes = ProbeRunner(runner, path, discard_earlier_results=fresh)
        return (await probes.score(problem, replace(submission, code=code))).tests

    assert await probed(right) == (right,)
    assert await probed() == (right,), "the stored result of the first call"
    assert await probed(other, code="y") == (other,)
    path.write_bytes(path.read_bytes()[:-5])  # the process was killed while it wrote the second result
    assert await probed() == (right,)
    assert await probed(other, code="y") == (other,)
    assert await probed(code="y") == (other,)
    assert await probed(other, fresh=True) == (other,)


def test_evidence_command_has_dataset_file_and_multiplied_time_factor() -> None:
    origin = AuditOrigin(source="rows.jsonl", benchmark="code_contests", references=5, time_factor=2.0)
    command = ReproductionCommands(origin, "a b").make_validate_command(["s 1"], factor=4)
    assert command == (
        "ioi-eval validate code_contests --set dataset=rows.jsonl --set references=5 --problem 'a b'"
        " --only 's 1' --time-factor 8"
    )


def test_validate_command_omits_dump_solutions_next_to_source_solutions() -> None:
    origin = AuditOrigin(
        source="packages", benchmark="", references=5, dump="d.jsonl", dump_names=frozenset({"row"})
    )
    commands = ReproductionCommands(origin, "one")
    assert (
        commands.make_validate_command(["row", "a.py"])
        == "ioi-eval validate packages --problem one --only a.py"
    )
    assert commands.make_validate_command(["row"]).startswith("ioi-eval validate d.jsonl --problems packages")


def test_looser_checkers_keep_tolerances_of_the_original_checker() -> None:
    strict_checker = Checker(kind=CheckerKind.TOKENS, case_sensitive=False, absolute=1e-5)
    assert [name for name, _ in list_looser_checkers(strict_checker)] == ["tokens with tolerance 0.0001"]
    assert (
        make_loosest_checker(strict_checker).absolute == 1e-4
        and not make_loosest_checker(strict_checker).case_sensitive
    )
    assert list(list_looser_checkers(Checker(kind=CheckerKind.APPS))) == []


def test_audit_plugin_imports_only_public_names() -> None:
    public = {"", "engines", "errors", "models", "runs", "scoring", "sources"}
    for path in Path(audit.__file__).parent.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if not isinstance(node, ast.ImportFrom) or not (node.module or "").startswith("ioi_eval"):
                continue
            module = str(node.module).removeprefix("ioi_eval").removeprefix(".")
            assert module in public or module.startswith("plugins.audit."), f"{path.name}: {module}"
            offered = importlib.import_module(str(node.module))
            names = {alias.name for alias in node.names}
            assert module not in public or names <= set(offered.__all__), f"{path.name}: {names}"
