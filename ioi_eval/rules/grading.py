"""Grade a tree of test groups as in the ICPC package format.

A group combines the verdicts and the points of its parts.
"""

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

_TOLERANCE = 1e-9  # relative tolerance for rounding errors in sums of binary fractions

# Verdicts from worst to best as the ICPC format orders them; the contest system's order differs.
_WORST_FIRST = (Verdict.CE, Verdict.RE, Verdict.MLE, Verdict.TLE, Verdict.OLE, Verdict.WA, Verdict.AC)
# Names of verdicts in the ICPC format, which reports memory and output limits as run-time errors. A name that
# is read means the last verdict with this name.
_ICPC_NAMES: Mapping[Verdict, str] = MappingProxyType(
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
    """The verdict and points of a group or test."""

    verdict: Verdict  # verdict of the group; AC means that it is accepted, whatever its points are
    points: float

    @property
    def accepted(self) -> bool:
        return self.verdict is Verdict.AC


class GraderQuestion(NamedTuple):
    """A call of the problem's custom grader: its arguments, and an input line for each part of the group."""

    flags: tuple[str, ...]
    lines: str


GraderAnswers = Mapping[GraderQuestion, Grade]  # answers of the problem's custom grader, by question
NO_GRADER_ANSWERS: GraderAnswers = MappingProxyType({})


class GraderAnswerMissing(JudgeFailure):
    """Raised when a group needs the custom grader's answer and that answer is missing."""

    def __init__(self, question: GraderQuestion) -> None:
        self.ask = question
        super().__init__(
            "the custom grader has not graded this group; only batched jobs can call it", phase="grading"
        )


def compute_grade(
    group: Grading, results: Mapping[str, TestResult], graded: GraderAnswers = NO_GRADER_ANSWERS
) -> Grade:
    """Return a group's grade. Parts after the part that stopped the judging are ignored."""
    part_grades = list[Grade]()
    for member in group.parts:
        part_grades.append(
            compute_grade(member, results, graded)
            if isinstance(member, Grading)
            else _grade_test(group, results[member])
        )
        if group.stops and not part_grades[-1].accepted:
            break
    if group.flags is None or not part_grades:
        return _combine_grades(group, part_grades)
    question = GraderQuestion(
        group.flags, "".join(f"{_ICPC_NAMES[result.verdict]} {result.points!r}\n" for result in part_grades)
    )
    if question not in graded:
        raise GraderAnswerMissing(question)
    grader_answer = graded[question]
    if group.points is Points.ACCEPTED:
        return Grade(grader_answer.verdict, float(grader_answer.accepted))
    return Grade(
        grader_answer.verdict, grader_answer.points if group.rejected_earns or grader_answer.accepted else 0.0
    )


def list_grader_questions(
    group: Grading, results: Mapping[str, TestResult], graded: GraderAnswers
) -> Iterator[GraderQuestion]:
    """Yield the next necessary calls of the custom grader, or nothing if `graded` has all answers."""
    for member in group.parts:
        if isinstance(member, Grading):
            yield from list_grader_questions(member, results, graded)
    try:
        compute_grade(group, results, graded)
    except GraderAnswerMissing as ungraded:
        yield ungraded.ask


def parse_grader_answer(output: str) -> Grade | None:
    """Return the verdict and the points in a custom grader's output, or None if it has another form."""
    match = re.fullmatch(r"\s*([A-Z]+)\s+([0-9]+(?:\.[0-9]*)?|\.[0-9]+)\s*", output, re.ASCII)
    verdicts = {name: verdict for verdict, name in _ICPC_NAMES.items()}
    if match is None or match[1] not in verdicts:
        return None
    return Grade(verdicts[match[1]], float(match[2]))


def _combine_grades(group: Grading, part_grades: Sequence[Grade]) -> Grade:
    """Return a group's grade from the grades of the parts that were judged."""
    if group.last_counts:
        part_grades = part_grades[-1:]
    if not part_grades:
        return Grade(Verdict.AC, 0.0)
    verdict = _combine_verdicts(group, [result.verdict for result in part_grades])
    if group.points is Points.ACCEPTED:
        return Grade(verdict, (1.0 if group.worth is None else group.worth) * (verdict is Verdict.AC))
    points = _COMBINE_POINTS[group.points]([result.points for result in part_grades])
    earns = group.rejected_earns or verdict is Verdict.AC
    return Grade(verdict, points if earns else 0.0)


def _grade_test(group: Grading, result: TestResult) -> Grade:
    """Return a test's grade. If the group requires full scores, a partial score is rejected."""
    if result.status is Verdict.SKIPPED:
        reason = "no result, but the points of its group depend on it"
        raise JudgeFailure(reason, phase="grading", test=result.test_name)
    status = result.status
    if status is Verdict.PA:
        status = Verdict.WA if group.whole_only else Verdict.AC
    if status is Verdict.AC:
        points = group.accept_score * result.score
        return Grade(status, points if result.points is None else result.points)
    return Grade(status, group.reject_score)


def _combine_verdicts(group: Grading, verdicts: Sequence[Verdict]) -> Verdict:
    """Return a group's verdict from the verdicts of its parts."""
    if group.any_accepted and Verdict.AC in verdicts:
        return Verdict.AC
    match group.acceptance:
        case Acceptance.ALWAYS:
            return Verdict.AC
        case Acceptance.FIRST_ERROR:
            return next((verdict for verdict in verdicts if verdict is not Verdict.AC), Verdict.AC)
        case Acceptance.WORST_ERROR:
            return min(verdicts, key=_WORST_FIRST.index)


_COMBINE_POINTS: Mapping[Points, Callable[[Sequence[float]], float]] = MappingProxyType(
    {Points.SUM: math.fsum, Points.AVERAGE: statistics.fmean, Points.LEAST: min, Points.MOST: max}
)


Range = tuple[float, float]  # minimum and maximum of a group's points


class Bounds(NamedTuple):
    """The points that a group can still earn, for each verdict. None means that the verdict is impossible."""

    accepted: Range | None = None
    rejected: Range | None = None

    @property
    def points(self) -> Range:
        """Return the minimum and maximum points over both verdicts."""
        ranges = [range_ for range_ in self if range_ is not None]
        return min(low for low, _ in ranges), max(highest for _, highest in ranges)

    @property
    def settled(self) -> bool:
        """Return True if neither the verdict nor the points can change."""
        return None in self and self.points[0] == self.points[1]


_NO_RESULTS: Mapping[str, TestResult] = MappingProxyType({})


def compute_bounds(
    group: Grading, results: Mapping[str, TestResult] = _NO_RESULTS, *, partial: bool = True
) -> Bounds:
    """Return the points that a group can still earn over all outcomes of the tests without a result.

    `partial`: an accepted test may earn less than its points. For a group with a custom grader, only the
    maximum can be computed. A fast wrong answer may earn more than a right answer.
    """
    if group.flags is not None:
        max_points = 1.0 if group.points is Points.ACCEPTED else group.full
        return Bounds((0.0, max_points), (0.0, max_points))
    member_bounds = [
        compute_bounds(member, results, partial=partial)
        if isinstance(member, Grading)
        else _bound_test(group, results.get(member), partial)
        for member in group.parts
    ]
    range_by_verdict: dict[bool, Range] = {}
    for outcomes in _extreme_outcomes(group, member_bounds):
        lowest_grade = _combine_grades(group, [Grade(verdict, ends[0]) for verdict, ends in outcomes])
        highest_grade = _combine_grades(group, [Grade(verdict, ends[1]) for verdict, ends in outcomes])
        old_range = range_by_verdict.get(lowest_grade.accepted, (lowest_grade.points, highest_grade.points))
        range_by_verdict[lowest_grade.accepted] = (
            min(old_range[0], lowest_grade.points),
            max(old_range[1], highest_grade.points),
        )
    return Bounds(range_by_verdict.get(True), range_by_verdict.get(False))


def _bound_test(group: Grading, result: TestResult | None, partial: bool) -> Bounds:
    """Return the points that a test can earn in its group; exact if it has a result."""
    if result is None or result.status is Verdict.SKIPPED:
        accepted_points = group.accept_score
        fewest = 0.0 if partial and not group.whole_only else accepted_points
        return Bounds((fewest, accepted_points), (group.reject_score, group.reject_score))
    earned = _grade_test(group, result)
    point_range = earned.points, earned.points
    return Bounds(point_range, None) if earned.accepted else Bounds(None, point_range)


def _extreme_outcomes(group: Grading, parts: Sequence[Bounds]) -> Iterator[list[tuple[Verdict, Range]]]:
    """Yield outcomes of the parts. They include the minimum and maximum of points for each verdict."""
    accepted = [None if bounds.accepted is None else (Verdict.AC, bounds.accepted) for bounds in parts]
    rejected = [None if bounds.rejected is None else (Verdict.WA, bounds.rejected) for bounds in parts]
    candidates: list[list[tuple[Verdict, Range] | None]]
    if group.stops:
        # In a run of equal parts, the points rise or fall monotonically, so the first and the last part of
        # the run are enough. For the first run, its first two parts and its last part are tried; for a later
        # run also the part before it. After a rejected part, nothing is judged.
        changes = [
            index
            for index, (part_before, part_after) in enumerate(pairwise(parts))
            if part_before != part_after
        ]
        last = next((index for index, outcome in enumerate(accepted) if outcome is None), len(parts) - 1)
        run_ends = {0, 1, len(parts) - 1, *changes, *(index + 1 for index in changes)}
        candidates = [
            accepted,
            *([*accepted[:index], rejected[index]] for index in sorted(run_ends) if index <= last),
        ]
    else:
        pairs = list(zip(accepted, rejected, strict=True))
        worst = [
            min((choice for choice in pair if choice), key=lambda choice: choice[1][0]) for pair in pairs
        ]
        best = [max((choice for choice in pair if choice), key=lambda choice: choice[1][1]) for pair in pairs]
        candidates = [[*worst], [*best]]
        if group.acceptance is not Acceptance.ALWAYS:
            candidates += [accepted, rejected]
            kinds = {bounds: index for index, bounds in reversed(list(enumerate(parts)))}
            for index in {*kinds.values(), len(parts) - 1}:
                for others_outcomes in (worst, best):
                    candidates += [
                        [*others_outcomes[:index], choice, *others_outcomes[index + 1 :]]
                        for choice in pairs[index]
                    ]
    for outcome in candidates:
        outcomes = [choice for choice in outcome if choice is not None]
        if len(outcomes) == len(outcome):
            yield outcomes


def max_group_points(group: Grading) -> float:
    """Return the maximum points that a group can earn."""
    return compute_bounds(group).points[1]


def list_undecided_tests(group: Grading, results: Mapping[str, TestResult]) -> Iterator[str]:
    """Yield the tests without a result that can still change a group's points.

    If the group has a custom grader, these are all tests without a result, because the grader reads every
    result.
    """
    if has_grader(group):
        yield from (name for name in list_tests(group) if name not in results)
    elif not is_share_settled(group, results):
        yield from _list_unsettled_tests(group, results)


def _list_unsettled_tests(group: Grading, results: Mapping[str, TestResult]) -> Iterator[str]:
    """Yield the tests without a result that may still change the group's grade."""
    for member in group.parts:
        if not isinstance(member, Grading):
            part_bounds = _bound_test(group, results.get(member), partial=True)
            if member not in results:
                yield member
        else:
            part_bounds = compute_bounds(member, results)
            if not part_bounds.settled:
                yield from _list_unsettled_tests(member, results)
        if group.stops and part_bounds.accepted is None:
            return


def is_share_settled(group: Grading, results: Mapping[str, TestResult]) -> bool:
    """Return True if no test without a result can change the share of its points that a group earns."""
    group_bounds = compute_bounds(group, results)
    return (
        None in group_bounds
        if max_group_points(group) <= 0
        else group_bounds.points[0] == group_bounds.points[1]
    )


def has_grader(group: Grading) -> bool:
    """Return True if the problem's custom grader grades the group or a group inside it."""
    return group.flags is not None or any(
        has_grader(member) for member in group.parts if isinstance(member, Grading)
    )


def compute_share(
    group: Grading, results: Mapping[str, TestResult], graded: GraderAnswers = NO_GRADER_ANSWERS
) -> float:
    """Return the share of its points that a group earns, in [0, 1].

    A group without points earns 1 if it is accepted. A test may be SKIPPED if its outcome cannot change the
    share. Otherwise JudgeFailure is raised.
    """
    group_bounds = compute_bounds(group, results)
    skipped = any(result.status is Verdict.SKIPPED for result in results.values())
    if skipped and not has_grader(group) and is_share_settled(group, results):
        earned = Grade(Verdict.WA if group_bounds.accepted is None else Verdict.AC, group_bounds.points[1])
    else:
        earned = compute_grade(group, results, graded)
    max_points = max_group_points(group)
    if max_points <= 0:
        return float(earned.accepted)
    if earned.points > max_points * (1 + _TOLERANCE):
        reason = f"the groups earned {earned.points:g} points, but the maximum is {max_points:g}"
        raise JudgeFailure(reason, phase="grading")
    share_earned = earned.points / max_points
    return 1.0 if math.isclose(share_earned, 1.0, rel_tol=_TOLERANCE) else share_earned


def award_each_if_passed(
    points_by_test: Mapping[str, float], required_tests: Sequence[str], *, whole_only: bool = False
) -> Grading:
    """Return a tree that awards each test's points, but only if all tests in `required_tests` pass.

    Args:
        points_by_test: points of each test by name.
        required_tests: names of the tests that must pass first.
        whole_only: a test in `required_tests` passes only with its full score.
    """
    graded_tests = Grading(
        parts=tuple(Grading(parts=(name,), accept_score=worth) for name, worth in points_by_test.items()),
        acceptance=Acceptance.ALWAYS,
        stops=False,
    )
    gate = Grading(parts=tuple(dict.fromkeys(required_tests)), accept_score=0.0, whole_only=whole_only)
    return Grading(parts=(gate, graded_tests)) if required_tests else graded_tests


def award_minimum_if_passed(
    tests: Sequence[str], max_points: float, required_tests: Sequence[str]
) -> Grading:
    """Return a tree that awards the minimum of `tests`, scaled to `max_points`, if required tests pass."""
    graded_tests = Grading(
        parts=tuple(tests), accept_score=max_points, points=Points.LEAST, rejected_earns=False
    )
    gate = Grading(parts=tuple(dict.fromkeys(required_tests)), accept_score=0.0)
    return Grading(parts=(gate, graded_tests)) if required_tests else graded_tests


def list_tests(group: Grading) -> Iterable[str]:
    """Yield the names of all tests in a tree in the order of judging."""
    for member in group.parts:
        if isinstance(member, Grading):
            yield from list_tests(member)
        else:
            yield member


# --- trees that are equivalent to something simpler, which can stop early or be shown in parts ---------
# These functions return False if they are not sure, because judging by the tree is always right.


def is_sum_of_parts(group: Grading, *, earns: bool) -> bool:
    """Return True if a group's points are the sum of its parts' points. `earns`: even if it is rejected."""
    if group.points is not Points.SUM or group.last_counts or group.flags is not None:
        return False
    if not _judges_all_tests(group):
        return False
    always_accepted = group.acceptance is Acceptance.ALWAYS
    return earns or always_accepted or (group.any_accepted and _rejected_parts_earn_nothing(group))


def _judges_all_tests(group: Grading) -> bool:
    """Return True if no part can stop the judging of the parts after it."""
    group_bounds = (compute_bounds(member) for member in group.parts[:-1] if isinstance(member, Grading))
    has_tests = any(isinstance(member, str) for member in group.parts[:-1])
    return not group.stops or (not has_tests and all(member.rejected is None for member in group_bounds))


def _rejected_parts_earn_nothing(group: Grading) -> bool:
    """Return True if every rejected part earns 0 points."""
    rejected_ranges = (
        compute_bounds(member).rejected for member in group.parts if isinstance(member, Grading)
    )
    has_tests = any(isinstance(member, str) for member in group.parts)
    return not (has_tests and group.reject_score) and all(
        point_range is None or point_range[1] == 0 for point_range in rejected_ranges
    )


def is_worst_test(group: Grading, *, graded_tests: bool) -> bool:
    """Return True if a group's score is its worst test's score. `graded_tests`: tests have partial scores."""
    test_points = _points_of_minimum(group)
    if graded_tests or test_points is not None:
        return test_points is not None and (len(test_points) == 1 or not graded_tests)
    if has_grader(group):
        return False
    bounds_with_one_wrong = list(_bounds_with_one_wrong(group))
    return all(case_bounds.points[1] == 0 for case_bounds in bounds_with_one_wrong) and (
        max_group_points(group) > 0
        or all(case_bounds.accepted is None for case_bounds in bounds_with_one_wrong)
    )


def rejects_any_failure(group: Grading) -> bool:
    """Return True if a group is rejected whenever any of its tests is rejected."""
    return not has_grader(group) and all(
        case_bounds.accepted is None for case_bounds in _bounds_with_one_wrong(group)
    )


def _bounds_with_one_wrong(group: Grading) -> Iterator[Bounds]:
    """Yield the group's possible points if only this test is rejected, for each representative test."""
    for name in _representative_tests(group):
        wrong_result = TestResult(test_name=name, score=0.0, status=Verdict.WA)
        yield compute_bounds(group, {name: wrong_result}, partial=False)


def _representative_tests(group: Grading) -> Iterator[str]:
    """Yield the first two tests and the last test of each run.

    All tests between them have the same effect.
    """
    for is_test, run in groupby(group.parts, key=lambda part: isinstance(part, str)):
        run_members = list(run)
        if is_test:
            yield from dict.fromkeys(
                member for member in (*run_members[:2], run_members[-1]) if isinstance(member, str)
            )
        else:
            for member in run_members:
                if isinstance(member, Grading):
                    yield from _representative_tests(member)


def _points_of_minimum(group: Grading) -> set[float] | None:
    """Return the points of the tests if the group earns their minimum, else None."""
    is_minimum = group.points is Points.LEAST or len(group.parts) == 1
    if group.flags is not None or not is_minimum or group.reject_score or group.last_counts:
        return None
    test_points = (
        {group.accept_score} if any(isinstance(member, str) for member in group.parts) else set[float]()
    )
    for member in group.parts:
        if isinstance(member, Grading):
            inner_points = _points_of_minimum(member)
            if inner_points is None:
                return None
            test_points |= inner_points
    return test_points


def is_mean(group: Grading) -> bool:
    """Return True if a group contains only tests and its score is their mean."""
    is_sum = group.points in (Points.SUM, Points.AVERAGE) or len(group.parts) == 1
    always_accepted = group.acceptance is Acceptance.ALWAYS
    keeps_points = group.rejected_earns or always_accepted or group.any_accepted or len(group.parts) == 1
    tests_only = all(isinstance(member, str) for member in group.parts)
    return (
        group.flags is None
        and tests_only
        and is_sum
        and keeps_points
        and not group.reject_score
        and _judges_all_tests(group)
    )


def may_wrong_answer_earn_more(group: Grading) -> bool:
    """Return True if an early wrong answer may earn more than a right answer.

    This happens because tests that were not judged count neither in an average nor in a minimum.
    """
    if not group.stops or group.points not in (Points.AVERAGE, Points.LEAST):
        return False
    part_points = {
        max_group_points(member) if isinstance(member, Grading) else group.accept_score
        for member in group.parts
    }
    return len(part_points) > 1 and not (group.points is Points.LEAST and _rejected_parts_earn_nothing(group))
