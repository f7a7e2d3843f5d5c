"""The tests that an audit executes: a solution stops at a failure, unless its other tests are needed."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

from ioi_eval import JudgeOptions, Problem, Scorer, Store
from ioi_eval.models import Solution, Subtask
from ioi_eval.plugins.audit.audit import audit
from ioi_eval.plugins.audit.diagnosis import add_subtask_of_all_tests
from ioi_eval.plugins.audit.records import ProblemAudit
from ioi_eval.plugins.audit.solutions import add_dump_solutions
from ioi_eval.sources import Problems
from ioi_eval.testing import FakeEngine, FakeTest

TESTS = 6  # number of tests of the problem


async def audit_problem(
    folder: Path,
    right: Sequence[str],
    wrong: Sequence[str],
    outcome: Callable[[str, int], float | str],
) -> tuple[ProblemAudit, Counter[str]]:
    """Return the audit of a problem, and how many tests each solution executed.

    `outcome` returns the outcome of a solution on the test with a number.
    """
    row = {
        "name": "problem",
        "description": "A problem.",
        "public_tests": {
            "input": [f"{number}\n" for number in range(TESTS)],
            "output": [f"{number}\n" for number in range(TESTS)],
        },
        "private_tests": {"input": [], "output": []},
        "solutions": {"language": [3] * len(right), "solution": list(right)},
        "incorrect_solutions": {"language": [3] * len(wrong), "solution": list(wrong)},
        "time_limit": {"seconds": 1, "nanos": 0},
        "memory_limit_bytes": 256 << 20,
    }
    source, executed = folder / "rows.jsonl", Counter[str]()
    source.write_text(json.dumps(row) + "\n")

    def execute(test: FakeTest) -> float | str:
        executed[test.source] += 1
        return outcome(test.source, int(test.input))

    store = Store(folder / "store")
    async with Scorer(FakeEngine(execute), store=store, options=JudgeOptions(echo=1 << 16)) as scorer:
        report = await audit(str(source), scorer, out=folder / "audit", store=store)
    return report.problems[0], executed


async def test_wrong_solution_stops_at_its_first_failed_test(tmp_path: Path) -> None:
    report, executed = await audit_problem(
        tmp_path, ["right"], ["wrong"], lambda source, test: float(source == "right" or test < 2)
    )
    assert executed == {"right": TESTS, "wrong": 3}
    assert report.wrong.number == 1 and report.undecided == ("0", "1", "3", "4", "5")


async def test_rejected_right_solution_runs_on_each_test_once(tmp_path: Path) -> None:
    report, executed = await audit_problem(
        tmp_path, ["a", "b"], [], lambda source, test: "signal" if source == "a" and test in (1, 4) else 1.0
    )
    assert executed == {"a": TESTS, "b": TESTS}
    (rejection,) = report.rejections
    assert rejection.tests == ("1", "4") and report.diagnoses[0].tests == ("1", "4")


async def test_only_one_slow_right_solution_runs_after_its_first_exceeded_limit(tmp_path: Path) -> None:
    report, executed = await audit_problem(tmp_path, ["a", "b"], [], lambda source, test: "cpu")
    # The second test of `a`, and a test under raised limits.
    assert executed.total() == 4
    (diagnosis,) = report.diagnoses
    assert diagnosis.fault == "limits" and len(diagnosis.rows) == 2


async def test_right_solutions_that_are_slow_on_one_test_run_on_all_tests(tmp_path: Path) -> None:
    report, executed = await audit_problem(
        tmp_path, ["a", "b"], [], lambda source, test: {1: "cpu", 2: "signal", 4: "signal"}.get(test, 1.0)
    )
    assert min(executed.values()) == TESTS
    assert [(item.fault.value, item.tests) for item in report.diagnoses] == [
        ("broken test", ("2", "4")),
        ("limits", ("1",)),
    ]


def test_solution_that_may_be_right_or_wrong_is_not_judged() -> None:
    solutions = tuple(
        Solution(name=name, language="python", code="", expected=expected)
        for name, expected in (("right", "correct"), ("unknown", ""), ("wrong", "incorrect"))
    )
    problem = Problem.of([("1", "1")], id="one", solutions=solutions)
    (problem_judged,) = add_dump_solutions(Problems([problem]), []).values()
    assert [solution.name for solution in problem_judged.solutions] == ["right", "wrong"]


def test_problem_with_subtasks_keeps_its_own_rules() -> None:
    plain = Problem.of([("1", "1"), ("2", "2")], id="one")
    (group,) = add_subtask_of_all_tests(plain).subtasks
    assert group.tests == ("1", "2")
    subtask_problem = Problem.of(
        [("1", "1")], id="one", subtasks=(Subtask(name="sum", points=5.0, tests=("1",)),)
    )
    assert add_subtask_of_all_tests(subtask_problem) is subtask_problem
