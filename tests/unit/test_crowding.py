"""A run reports once that programs wait longer than they compute."""

from __future__ import annotations

from ioi_eval.cli.progress import describe_overload
from ioi_eval.models import SubmissionResult, TestResult, Verdict
from ioi_eval.runs import Overloaded
from ioi_eval.runs.runner import OverloadDetector


def result(computed: float | None, waited: float | None) -> SubmissionResult:
    test = TestResult(test_name="1", score=1.0, status=Verdict.AC, cpu_time=computed, waited_time=waited)
    return SubmissionResult(key="a", problem_id="p", compiles=True, tests=(test,))


def test_overload_is_reported_once_with_totals() -> None:
    crowding = OverloadDetector()
    assert crowding.add(result(1.0, 3.0)) is None  # too short to count
    assert crowding.add(result(3.0, 4.0)) == Overloaded(waited=7.0, computed=4.0)
    assert crowding.add(result(1.0, 30.0)) is None


def test_overload_is_reported_if_short_programs_wait_long() -> None:
    crowding = OverloadDetector()
    assert [crowding.add(result(0.1, 4.0)), crowding.add(result(0.1, 4.0))] == [None, None]
    overload = crowding.add(result(0.1, 4.0))
    assert overload is not None and overload.waited == 12.0


def test_idle_machine_reports_no_overload() -> None:
    crowding = OverloadDetector()
    assert [crowding.add(result(3.0, 0.1)), crowding.add(result(None, None))] == [None, None]


def test_overload_message_states_that_verdicts_are_unaffected() -> None:
    message = describe_overload(Overloaded(waited=61.4, computed=12.0))
    assert "programs ran 12 s and waited 61 s" in message and "Verdicts are unaffected" in message
