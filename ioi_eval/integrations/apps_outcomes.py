"""Outcomes of an APPS program, as results and details of eval-protocol's evaluator.

A result is true, false, -1 for a program that did not end well or -2 for one that could not be loaded; the
first that is not true is the last. Where a program ended its own process or exceeded a limit, all are -1.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

import msgspec

from ioi_eval.models import Problem, Submission, SubmissionResult, TestResult, Value, Verdict
from ioi_eval.scoring import Case

_ERROR, _NOT_COMPILED = -1, -2
_LONGEST_INPUT, _LONGEST_OUTPUT = 300, 200  # characters of what a failed test is shown with
_MARK = "ioi_eval apps: "  # as graders/python/apps.py has it
_KILLED = "Global timeout or process killed prematurely"


class AppsTask(Value):
    problem: Problem
    submission: Submission
    cases: tuple[Case, ...]  # those that are judged
    total: int  # of all tests, readable or not

    @property
    def called(self) -> bool:
        return bool(self.problem.options.function)


class AppsOutcome(NamedTuple):
    """A result for each test up to the first that failed, and what is told of that one."""

    results: Sequence[int]
    details: Sequence[Mapping[str, Any]]


def outcome(task: AppsTask, result: SubmissionResult) -> AppsOutcome:
    if not result.compiles:
        lines = result.compile_output.strip().splitlines() or ["it does not compile"]
        return _ended(_NOT_COMPILED, 0, lines[-1].strip(), result.compile_output)
    for number, test in enumerate(_in_turn(task, result)):
        if test.status is not Verdict.AC:
            return _failed(task, number, test)
    if len(task.cases) < task.total:
        return _broken(task)
    return AppsOutcome([True] * task.total, [{}])


def _in_turn(task: AppsTask, result: SubmissionResult) -> list[TestResult]:
    found = {test.test_name: test for test in result.tests}
    return [found[test.name] for test in task.problem.tests]


def _failed(task: AppsTask, number: int, test: TestResult) -> AppsOutcome:
    told = None
    if test.status is Verdict.RE and task.called:
        return _ended(_ERROR, number, test.feedback, "")
    if test.status in (Verdict.WA, Verdict.PA):
        told = _told(test.output.partition(_MARK)[2]) if test.output.startswith(_MARK) else None
        if told is None:
            return _wrong(task, number, test)
    if told is None:
        return _killed(task, test)
    if told.code is None:
        return _broken(task)
    return _ended(told.code, number, told.error, told.traceback)


class _Told(Value):
    """The harness' words for a program that it could not run to its end."""

    code: Literal[-1, -2] | None  # None: not even that
    error: str = ""
    traceback: str = ""


def _told(text: str) -> _Told | None:
    try:
        return msgspec.json.decode(text, type=_Told)
    except msgspec.MsgspecError:
        return None


def _wrong(task: AppsTask, number: int, test: TestResult) -> AppsOutcome:
    case = task.cases[number]
    shown = {
        "output": _short(test.output.rstrip(), _LONGEST_OUTPUT),
        "expected": _short(case.output, _LONGEST_OUTPUT),
        "inputs": _short(case.input, _LONGEST_INPUT),
        "error_message": "Wrong Answer",
    }
    return AppsOutcome([True] * number + [False], [shown])


def _ended(code: int, passed: int, error: str, traceback: str) -> AppsOutcome:
    return AppsOutcome([True] * passed + [code], [{"error": error, "traceback": traceback}])


def _broken(task: AppsTask) -> AppsOutcome:
    """A test that is no test, met after those before it passed."""
    told = {
        "error": "Exception in _temp_run/run_test",
        "traceback": "an input or output is missing or no text",
    }
    return AppsOutcome([_ERROR] * max(task.total, 1), [told])


def _killed(task: AppsTask, test: TestResult) -> AppsOutcome:
    """Return the outcome of a killed program: nothing is known of any test."""
    if not task.total:
        return AppsOutcome([_ERROR], [{"error": "Global timeout"}])
    limit = test.status in (Verdict.MLE, Verdict.OLE)
    details = test.feedback if limit else "No results returned from subprocess."
    told = {"error": _KILLED, "details": details}
    return AppsOutcome([_ERROR] * task.total, [told] * task.total)


def _short(text: str, most: int) -> str:
    """The beginning and the end of what is too long."""
    return text if len(text) <= most else f"{text[: most // 2]}...(truncated) ...{text[-most // 2 :]}"
