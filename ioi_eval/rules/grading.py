"""What a tree of groups is worth, as the ICPC's format has it: verdicts and points go up together. Pure."""

from __future__ import annotations

import math
import re
import statistics
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from types import MappingProxyType
from typing import NamedTuple

from ioi_eval.model.errors import JudgeFailure
from ioi_eval.model.values import Acceptance, Grading, Points, TestResult, Verdict

_TOLERANCE = 1e-9  # what adding binary fractions leaves

# Worst first, as the format has it: another order than that of the contest system.
_WORST = (Verdict.CE, Verdict.RE, Verdict.MLE, Verdict.TLE, Verdict.OLE, Verdict.WA, Verdict.AC)
# The format's words; those for memory and output are its run-time errors. The last of a word is read back.
_WORDS: Mapping[Verdict, str] = MappingProxyType(
    {
        Verdict.AC: "AC",
        Verdict.WA: "WA",
        Verdict.TLE: "TLE",
        Verdict.MLE: "RTE",
        Verdict.OLE: "RTE",
        Verdict.RE: "RTE",
    }
)


class Grade(NamedTuple):
    verdict: Verdict  # AC with however many points
    points: float

    @property
    def accepted(self) -> bool:
        return self.verdict is Verdict.AC


class Ask(NamedTuple):
    """What a problem's own grader is asked: its arguments, and a line for each part of a group."""

    flags: tuple[str, ...]
    lines: str


Graded = Mapping[Ask, Grade]  # what the problem's own grader has answered
NOTHING_GRADED: Graded = MappingProxyType({})


class Ungraded(JudgeFailure):
    """A group that only the problem's own grader can grade, which was not asked."""

    def __init__(self, ask: Ask) -> None:
        self.ask = ask
        super().__init__("the problem's own grader was not asked, which batched jobs can", phase="grading")


def grade(group: Grading, results: Mapping[str, TestResult], graded: Graded = NOTHING_GRADED) -> Grade:
    """Of one group. Parts behind one that stopped the judging count as if they had not been judged."""
    judged = list(_judged(group, results, graded))
    if group.flags is None or not judged:
        return _together(group, judged)
    ask = Ask(group.flags, "".join(f"{_WORDS[one.verdict]} {one.points!r}\n" for one in judged))
    if ask not in graded:
        raise Ungraded(ask)
    answer = graded[ask]
    worth = float(answer.accepted) if group.points is Points.ACCEPTED else answer.points
    return Grade(answer.verdict, worth)


def asks(group: Grading, results: Mapping[str, TestResult], graded: Graded) -> Iterator[Ask]:
    """What the problem's own grader is to be asked next; nothing once a group's grade is known."""
    for part in group.parts:
        if isinstance(part, Grading):
            yield from asks(part, results, graded)
    try:
        grade(group, results, graded)
    except Ungraded as ungraded:
        yield ungraded.ask


def answered(text: str) -> Grade | None:
    """What a grader says in what it wrote: a verdict and points. None where it says nothing of the kind."""
    found = re.fullmatch(r"\s*([A-Z]+)\s+([0-9]+(?:\.[0-9]*)?|\.[0-9]+)\s*", text, re.ASCII)
    verdicts = {word: verdict for verdict, word in _WORDS.items()}
    if found is None or found[1] not in verdicts:
        return None
    return Grade(verdicts[found[1]], float(found[2]))


def _together(group: Grading, judged: Sequence[Grade]) -> Grade:
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


def _judged(group: Grading, results: Mapping[str, TestResult], graded: Graded) -> Iterator[Grade]:
    for part in group.parts:
        one = grade(part, results, graded) if isinstance(part, Grading) else _of_test(group, results[part])
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


_TOGETHER: Mapping[Points, Callable[[Sequence[float]], float]] = MappingProxyType(
    {Points.SUM: math.fsum, Points.AVERAGE: statistics.fmean, Points.LEAST: min, Points.MOST: max}
)


def most(group: Grading) -> float:
    """The most points that a group may earn. Being wrong in time may be worth more than being right."""
    return max(_best(group))


class _Best(NamedTuple):
    """The most points of a part by its verdict. -inf: it cannot have that verdict."""

    accepted: float
    rejected: float


def _best(group: Grading) -> _Best:
    if group.flags is not None:
        full = 1.0 if group.points is Points.ACCEPTED else group.full
        return _Best(full, full)
    test = _Best(group.accept_score, group.reject_score)
    parts = [_best(part) if isinstance(part, Grading) else test for part in group.parts]
    best = {True: -math.inf, False: -math.inf}
    for judged in _extremes(group, parts):
        if all(one.points >= 0 for one in judged):
            worth = _together(group, judged)
            best[worth.accepted] = max(best[worth.accepted], worth.points)
    return _Best(best[True], best[False])


def _extremes(group: Grading, parts: Sequence[_Best]) -> Iterator[list[Grade]]:
    """Outcomes of the parts among which are the best for either verdict of the group.

    Along a run of equal parts points rise or fall steadily, so that its two ends are enough; and so is the
    second part of all, the first with another one before it, which may be accepted.
    """
    accepted = [Grade(Verdict.AC, part.accepted) for part in parts]
    rejected = [Grade(Verdict.WA, part.rejected) for part in parts]
    better = [max(pair, key=lambda one: one.points) for pair in zip(accepted, rejected, strict=True)]
    yield accepted
    if not group.stops:
        yield rejected
    for place in _telling_places(parts):
        if group.stops:
            yield [*accepted[:place], rejected[place]]
        else:
            for forced in (accepted, rejected):
                yield [*better[:place], forced[place], *better[place + 1 :]]


def _telling_places(parts: Sequence[_Best]) -> set[int]:
    """The ends of all runs of equal parts, and the second place."""
    changes = [place for place, (one, next_one) in enumerate(pairwise(parts)) if one != next_one]
    ends = {0, *changes, *(place + 1 for place in changes), len(parts) - 1}
    return {place for place in ends | {1} if 0 <= place < len(parts)}


def share(group: Grading, results: Mapping[str, TestResult], graded: Graded = NOTHING_GRADED) -> float:
    """The part of its points that a group earns, in [0, 1]. One of no points is right or wrong."""
    earned, worth = grade(group, results, graded), most(group)
    if worth <= 0:
        return float(earned.accepted)
    if earned.points > worth * (1 + _TOLERANCE):
        reason = f"groups earned {earned.points:g} points together, of {worth:g} that there are"
        raise JudgeFailure(reason, phase="grading")
    part = earned.points / worth
    return 1.0 if math.isclose(part, 1.0, rel_tol=_TOLERANCE) else part


def each_behind(worths: Mapping[str, float], before: Sequence[str]) -> Grading:
    """A tree where each test has its own points, behind tests that are all to be passed for any of them."""
    own = Grading(
        parts=tuple(Grading(parts=(name,), accept_score=worth) for name, worth in worths.items()),
        acceptance=Acceptance.ALWAYS,
        stops=False,
    )
    gate = Grading(parts=tuple(dict.fromkeys(before)), accept_score=0.0)
    return Grading(parts=(gate, own)) if before else own


def tests_of(group: Grading) -> Iterable[str]:
    """The names of all tests in a tree, in the order of judging."""
    for part in group.parts:
        if isinstance(part, Grading):
            yield from tests_of(part)
        else:
            yield part
