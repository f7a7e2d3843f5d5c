"""What a tree of groups is worth, as the ICPC's format has it: verdicts and points go up together. Pure."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from ioi_eval.errors import JudgeFailure
from ioi_eval.models import Acceptance, Grading, Points, TestResult, Verdict

_TOLERANCE = 1e-9  # what adding binary fractions leaves

# Worst first, as the format has it: another order than that of the contest system.
_WORST = (Verdict.CE, Verdict.RE, Verdict.MLE, Verdict.TLE, Verdict.OLE, Verdict.WA, Verdict.AC)


class Grade(NamedTuple):
    verdict: Verdict  # AC with however many points
    points: float

    @property
    def accepted(self) -> bool:
        return self.verdict is Verdict.AC


def grade(group: Grading, results: Mapping[str, TestResult]) -> Grade:
    """Of one group. Parts behind one that stopped the judging count as if they had not been judged."""
    judged = list(_judged(group, results))
    if group.last_counts:
        judged = judged[-1:]
    if not judged:
        return Grade(Verdict.AC, 0.0)
    verdict = _verdict(group, [one.verdict for one in judged])
    if group.points is Points.ACCEPTED:
        return Grade(verdict, float(verdict is Verdict.AC))
    points = _TOGETHER[group.points]([one.points for one in judged])
    earns = group.rejected_earns or verdict is Verdict.AC
    return Grade(verdict, points if earns else 0.0)


def _judged(group: Grading, results: Mapping[str, TestResult]) -> Iterator[Grade]:
    for part in group.parts:
        one = grade(part, results) if isinstance(part, Grading) else _of_test(group, results[part])
        yield one
        if group.stops and not one.accepted:
            return


def _of_test(group: Grading, result: TestResult) -> Grade:
    """A part of the points is an acceptance too; a validator that accepts for no points at all rejects."""
    if result.status is Verdict.SKIPPED:
        reason = "no result, and what its group is worth depends on it"
        raise JudgeFailure(reason, phase="grading", test=result.test_name)
    if result.status in (Verdict.AC, Verdict.PA):
        return Grade(Verdict.AC, group.accept_score * result.score)
    return Grade(result.status, group.reject_score)


def _verdict(group: Grading, verdicts: Sequence[Verdict]) -> Verdict:
    if group.any_accepted and Verdict.AC in verdicts:
        return Verdict.AC
    match group.acceptance:
        case Acceptance.ALWAYS:
            return Verdict.AC
        case Acceptance.FIRST_ERROR:
            return next((one for one in verdicts if one is not Verdict.AC), Verdict.AC)
        case Acceptance.WORST_ERROR:
            return min(verdicts, key=_WORST.index)


def _average(points: Sequence[float]) -> float:
    return math.fsum(points) / len(points)


_TOGETHER: Mapping[Points, Callable[[Sequence[float]], float]] = MappingProxyType(
    {Points.SUM: math.fsum, Points.AVERAGE: _average, Points.LEAST: min, Points.MOST: max}
)


def most(group: Grading) -> float:
    """What a group is worth where everything in it is right."""
    if group.points is Points.ACCEPTED:
        return 1.0
    test = max(group.accept_score, group.reject_score)
    parts = [most(part) if isinstance(part, Grading) else test for part in group.parts]
    if group.last_counts:
        parts = parts[-1:]
    return _TOGETHER[group.points](parts) if parts else 0.0


def share(group: Grading, results: Mapping[str, TestResult]) -> float:
    """The part of its points that a group earns, in [0, 1]. One of no points is right or wrong."""
    earned, worth = grade(group, results), most(group)
    if worth <= 0:
        return float(earned.accepted)
    if earned.points > worth * (1 + _TOLERANCE):
        reason = f"groups earned {earned.points:g} points together, of {worth:g} that there are"
        raise JudgeFailure(reason, phase="grading")
    part = earned.points / worth
    return 1.0 if math.isclose(part, 1.0, rel_tol=_TOLERANCE) else part


def tests_of(group: Grading) -> Iterable[str]:
    """The names of all tests in a tree, in the order of judging."""
    for part in group.parts:
        if isinstance(part, Grading):
            yield from tests_of(part)
        else:
            yield part
