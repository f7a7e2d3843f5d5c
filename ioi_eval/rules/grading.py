"""The worth of a tree of groups, as the ICPC's format has it: verdicts and points go up together."""

from __future__ import annotations

import math
import re
import statistics
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby, pairwise
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


class GraderQuestion(NamedTuple):
    """A question to a problem's own grader: its arguments, and a line for each part of a group."""

    flags: tuple[str, ...]
    lines: str


Graded = Mapping[GraderQuestion, Grade]  # what the problem's own grader has answered
NOTHING_GRADED: Graded = MappingProxyType({})


class Ungraded(JudgeFailure):
    """A group that only the problem's own grader can grade, which was not asked."""

    def __init__(self, ask: GraderQuestion) -> None:
        self.ask = ask
        super().__init__("the problem's own grader was not asked, which batched jobs can", phase="grading")


def grade(group: Grading, results: Mapping[str, TestResult], graded: Graded = NOTHING_GRADED) -> Grade:
    """Return a group's grade. Parts behind one that stopped the judging are as if they were not there."""
    judged = list[Grade]()
    for part in group.parts:
        judged.append(
            grade(part, results, graded) if isinstance(part, Grading) else _of_test(group, results[part])
        )
        if group.stops and not judged[-1].accepted:
            break
    if group.flags is None or not judged:
        return _together(group, judged)
    ask = GraderQuestion(
        group.flags, "".join(f"{_WORDS[result.verdict]} {result.points!r}\n" for result in judged)
    )
    if ask not in graded:
        raise Ungraded(ask)
    answer = graded[ask]
    if group.points is Points.ACCEPTED:
        return Grade(answer.verdict, float(answer.accepted))
    return Grade(answer.verdict, answer.points if group.rejected_earns or answer.accepted else 0.0)


def asks(group: Grading, results: Mapping[str, TestResult], graded: Graded) -> Iterator[GraderQuestion]:
    """Yield the next questions to the problem's own grader; none once a group's grade is known."""
    for part in group.parts:
        if isinstance(part, Grading):
            yield from asks(part, results, graded)
    try:
        grade(group, results, graded)
    except Ungraded as ungraded:
        yield ungraded.ask


def answered(text: str) -> Grade | None:
    """Return the verdict and the points that a grader wrote; None where it wrote anything else."""
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
    verdict = _verdict(group, [result.verdict for result in judged])
    if group.points is Points.ACCEPTED:
        return Grade(verdict, (1.0 if group.worth is None else group.worth) * (verdict is Verdict.AC))
    points = _TOGETHER[group.points]([result.points for result in judged])
    earns = group.rejected_earns or verdict is Verdict.AC
    return Grade(verdict, points if earns else 0.0)


def _of_test(group: Grading, result: TestResult) -> Grade:
    """Return a test's grade. For none of its points it is rejected, for a part if the group says so."""
    if result.status is Verdict.SKIPPED:
        reason = "no result, and what its group is worth depends on it"
        raise JudgeFailure(reason, phase="grading", test=result.test_name)
    status = result.status
    if status is Verdict.PA:
        status = Verdict.WA if group.whole_only else Verdict.AC
    if status is Verdict.AC:
        worth = group.accept_score * result.score
        return Grade(status, worth if result.points is None else result.points)
    return Grade(status, group.reject_score)


def _verdict(group: Grading, verdicts: Sequence[Verdict]) -> Verdict:
    if group.any_accepted and Verdict.AC in verdicts:
        return Verdict.AC
    match group.acceptance:
        case Acceptance.ALWAYS:
            return Verdict.AC
        case Acceptance.FIRST_ERROR:
            return next((verdict for verdict in verdicts if verdict is not Verdict.AC), Verdict.AC)
        case Acceptance.WORST_ERROR:
            return min(verdicts, key=_WORST.index)


_TOGETHER: Mapping[Points, Callable[[Sequence[float]], float]] = MappingProxyType(
    {Points.SUM: math.fsum, Points.AVERAGE: statistics.fmean, Points.LEAST: min, Points.MOST: max}
)


Range = tuple[float, float]  # the least and the most points


class Bounds(NamedTuple):
    """The points that a group may still earn, by its verdict. None: it cannot have that verdict any more."""

    accepted: Range | None = None
    rejected: Range | None = None

    @property
    def points(self) -> Range:
        """The least and the most, whatever the verdict."""
        found = [ends for ends in self if ends is not None]
        return min(least for least, _ in found), max(most for _, most in found)

    @property
    def settled(self) -> bool:
        """True where neither the verdict nor the points can change."""
        return None in self and self.points[0] == self.points[1]


_NO_RESULTS: Mapping[str, TestResult] = MappingProxyType({})


def bounds(
    group: Grading, results: Mapping[str, TestResult] = _NO_RESULTS, *, partial: bool = True
) -> Bounds:
    """Return what a group may earn, whatever happens in the tests that have no result yet.

    `partial`: an accepted test may earn less than its points. Of groups that the problem's own grader grades
    no more is known than their most. Being wrong in time may be worth more than being right.
    """
    if group.flags is not None:
        full = 1.0 if group.points is Points.ACCEPTED else group.full
        return Bounds((0.0, full), (0.0, full))
    parts = [
        bounds(part, results, partial=partial)
        if isinstance(part, Grading)
        else _of_one(group, results.get(part), partial)
        for part in group.parts
    ]
    found: dict[bool, Range] = {}
    for judged in _extremes(group, parts):
        least = _together(group, [Grade(verdict, ends[0]) for verdict, ends in judged])
        most = _together(group, [Grade(verdict, ends[1]) for verdict, ends in judged])
        old = found.get(least.accepted, (least.points, most.points))
        found[least.accepted] = min(old[0], least.points), max(old[1], most.points)
    return Bounds(found.get(True), found.get(False))


def _of_one(group: Grading, result: TestResult | None, partial: bool) -> Bounds:
    if result is None or result.status is Verdict.SKIPPED:
        worth = group.accept_score
        least = 0.0 if partial and not group.whole_only else worth
        return Bounds((least, worth), (group.reject_score, group.reject_score))
    earned = _of_test(group, result)
    ends = earned.points, earned.points
    return Bounds(ends, None) if earned.accepted else Bounds(None, ends)


def _extremes(group: Grading, parts: Sequence[Bounds]) -> Iterator[list[tuple[Verdict, Range]]]:
    """Yield outcomes of the parts among which are the worst and the best for either verdict."""
    accepted = [None if part.accepted is None else (Verdict.AC, part.accepted) for part in parts]
    rejected = [None if part.rejected is None else (Verdict.WA, part.rejected) for part in parts]
    chosen: list[list[tuple[Verdict, Range] | None]]
    if group.stops:
        # Along a run of equal parts points rise or fall steadily: its two ends are enough, with the second
        # part of all, the first with another one before it. Behind one that is rejected nothing is judged.
        changes = [place for place, (one, next_one) in enumerate(pairwise(parts)) if one != next_one]
        last = next((place for place, outcome in enumerate(accepted) if outcome is None), len(parts) - 1)
        ends = {0, 1, len(parts) - 1, *changes, *(place + 1 for place in changes)}
        chosen = [
            accepted,
            *([*accepted[:place], rejected[place]] for place in sorted(ends) if place <= last),
        ]
    else:
        pairs = list(zip(accepted, rejected, strict=True))
        worst = [
            min((choice for choice in pair if choice), key=lambda choice: choice[1][0]) for pair in pairs
        ]
        best = [max((choice for choice in pair if choice), key=lambda choice: choice[1][1]) for pair in pairs]
        chosen = [[*worst], [*best]]
        if group.acceptance is not Acceptance.ALWAYS:
            chosen += [accepted, rejected]
            kinds = {part: place for place, part in reversed(list(enumerate(parts)))}
            for place in {*kinds.values(), len(parts) - 1}:
                for rest in (worst, best):
                    chosen += [[*rest[:place], choice, *rest[place + 1 :]] for choice in pairs[place]]
    for outcome in chosen:
        judged = [choice for choice in outcome if choice is not None]
        if len(judged) == len(outcome):
            yield judged


def most(group: Grading) -> float:
    """Return the most points that a group may earn."""
    return bounds(group).points[1]


def needed(group: Grading, results: Mapping[str, TestResult]) -> Iterator[str]:
    """Yield the tests without a result that may still change what a group earns.

    All of them where the problem's own grader is to be asked: it is told of every test.
    """
    if has_grader(group):
        yield from (name for name in tests_of(group) if name not in results)
    elif not settled_share(group, results):
        yield from _unsettled(group, results)


def _unsettled(group: Grading, results: Mapping[str, TestResult]) -> Iterator[str]:
    for part in group.parts:
        if not isinstance(part, Grading):
            ends = _of_one(group, results.get(part), partial=True)
            if part not in results:
                yield part
        else:
            ends = bounds(part, results)
            if not ends.settled:
                yield from _unsettled(part, results)
        if group.stops and ends.accepted is None:
            return


def settled_share(group: Grading, results: Mapping[str, TestResult]) -> bool:
    """Return True where no test without a result can change the part of its points that a group earns."""
    ends = bounds(group, results)
    return None in ends if most(group) <= 0 else ends.points[0] == ends.points[1]


def has_grader(group: Grading) -> bool:
    """Return True where the problem's own grader grades the group, or one in it."""
    return group.flags is not None or any(
        has_grader(part) for part in group.parts if isinstance(part, Grading)
    )


def share(group: Grading, results: Mapping[str, TestResult], graded: Graded = NOTHING_GRADED) -> float:
    """Return the part of its points that a group earns, in [0, 1]. One of no points is right or wrong.

    A test may be SKIPPED where its outcome could not change that; elsewhere it is a JudgeFailure.
    """
    ends = bounds(group, results)
    skipped = any(result.status is Verdict.SKIPPED for result in results.values())
    if skipped and not has_grader(group) and settled_share(group, results):
        earned = Grade(Verdict.WA if ends.accepted is None else Verdict.AC, ends.points[1])
    else:
        earned = grade(group, results, graded)
    worth = most(group)
    if worth <= 0:
        return float(earned.accepted)
    if earned.points > worth * (1 + _TOLERANCE):
        reason = f"groups earned {earned.points:g} points together, of {worth:g} that there are"
        raise JudgeFailure(reason, phase="grading")
    part = earned.points / worth
    return 1.0 if math.isclose(part, 1.0, rel_tol=_TOLERANCE) else part


def each_behind(worths: Mapping[str, float], before: Sequence[str], *, whole_only: bool = False) -> Grading:
    """Return a tree where each test has its own points, behind tests that must all be passed first.

    `whole_only`: these are passed with all of their points only.
    """
    own = Grading(
        parts=tuple(Grading(parts=(name,), accept_score=worth) for name, worth in worths.items()),
        acceptance=Acceptance.ALWAYS,
        stops=False,
    )
    gate = Grading(parts=tuple(dict.fromkeys(before)), accept_score=0.0, whole_only=whole_only)
    return Grading(parts=(gate, own)) if before else own


def least_behind(tests: Sequence[str], worth: float, before: Sequence[str]) -> Grading:
    """Return a tree that earns the least part of its worth that one of its tests has, behind others."""
    own = Grading(parts=tuple(tests), accept_score=worth, points=Points.LEAST, rejected_earns=False)
    gate = Grading(parts=tuple(dict.fromkeys(before)), accept_score=0.0)
    return Grading(parts=(gate, own)) if before else own


def tests_of(group: Grading) -> Iterable[str]:
    """Yield the names of all tests in a tree, in the order of judging."""
    for part in group.parts:
        if isinstance(part, Grading):
            yield from tests_of(part)
        else:
            yield part


# --- trees that are worth the same as something simpler, which can stop early or be shown in parts ---
# All of these say no where they are not sure: a tree is right for every group.


def adds_up(group: Grading, *, earns: bool) -> bool:
    """Return True where a group's points are those of its parts, added up. `earns`: also if rejected."""
    if group.points is not Points.SUM or group.last_counts or group.flags is not None:
        return False
    if not _judges_all(group):
        return False
    accepted = group.acceptance is Acceptance.ALWAYS
    return earns or accepted or (group.any_accepted and _nothing_unless_accepted(group))


def _judges_all(group: Grading) -> bool:
    """Return True where no part can end the judging of those behind it."""
    inner = (bounds(part) for part in group.parts[:-1] if isinstance(part, Grading))
    tests = any(isinstance(part, str) for part in group.parts[:-1])
    return not group.stops or (not tests and all(part.rejected is None for part in inner))


def _nothing_unless_accepted(group: Grading) -> bool:
    """Return True where a part that is rejected has no points."""
    inner = (bounds(part).rejected for part in group.parts if isinstance(part, Grading))
    tests = any(isinstance(part, str) for part in group.parts)
    return not (tests and group.reject_score) and all(part is None or part[1] == 0 for part in inner)


def all_or_nothing(group: Grading, *, graded_tests: bool) -> bool:
    """Return True where a group is worth what its worst test is. `graded_tests`: tests may earn a part."""
    worths = _least_of(group)
    if graded_tests or worths is not None:
        return worths is not None and (len(worths) == 1 or not graded_tests)
    if has_grader(group):
        return False
    wrong = list(_with_one_wrong(group))
    return all(case.points[1] == 0 for case in wrong) and (
        most(group) > 0 or all(case.accepted is None for case in wrong)
    )


def is_strict(group: Grading) -> bool:
    """Return True where a group is rejected with any of its tests."""
    return not has_grader(group) and all(case.accepted is None for case in _with_one_wrong(group))


def _with_one_wrong(group: Grading) -> Iterator[Bounds]:
    """Yield what a group may earn with one test rejected, for each that tells."""
    for name in _telling_tests(group):
        wrong = TestResult(test_name=name, score=0.0, status=Verdict.WA)
        yield bounds(group, {name: wrong}, partial=False)


def _telling_tests(group: Grading) -> Iterator[str]:
    """Yield the ends of all runs of tests: what holds for both ends of a run holds between them."""
    for is_test, run in groupby(group.parts, key=lambda part: isinstance(part, str)):
        parts = list(run)
        if is_test:
            yield from dict.fromkeys(part for part in (*parts[:2], parts[-1]) if isinstance(part, str))
        else:
            for part in parts:
                if isinstance(part, Grading):
                    yield from _telling_tests(part)


def _least_of(group: Grading) -> set[float] | None:
    """Return what the tests are worth of which a group is the least, or None where it is another thing."""
    least = group.points is Points.LEAST or len(group.parts) == 1
    if group.flags is not None or not least or group.reject_score or group.last_counts:
        return None
    worths = {group.accept_score} if any(isinstance(part, str) for part in group.parts) else set[float]()
    for part in group.parts:
        if isinstance(part, Grading):
            inner = _least_of(part)
            if inner is None:
                return None
            worths |= inner
    return worths


def is_mean(group: Grading) -> bool:
    """Return True where a group without others in it is simply the mean of its tests."""
    adds = group.points in (Points.SUM, Points.AVERAGE) or len(group.parts) == 1
    always = group.acceptance is Acceptance.ALWAYS
    earns = group.rejected_earns or always or group.any_accepted or len(group.parts) == 1
    tests_only = all(isinstance(part, str) for part in group.parts)
    return (
        group.flags is None
        and tests_only
        and adds
        and earns
        and not group.reject_score
        and _judges_all(group)
    )


def may_exceed(group: Grading) -> bool:
    """Return True where being wrong early may be worth more than being right.

    What was not judged is in no average, and in no least.
    """
    if not group.stops or group.points not in (Points.AVERAGE, Points.LEAST):
        return False
    worths = {most(part) if isinstance(part, Grading) else group.accept_score for part in group.parts}
    return len(worths) > 1 and not (group.points is Points.LEAST and _nothing_unless_accepted(group))
