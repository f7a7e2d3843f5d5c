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

# Verdicts from worst to best, in the order of the ICPC format. The contest system has another order.
_WORST_FIRST = (Verdict.CE, Verdict.RE, Verdict.MLE, Verdict.TLE, Verdict.OLE, Verdict.WA, Verdict.AC)
# Names of verdicts in the ICPC format, in which exceeding the memory or output limit is a run-time error.
# When names are read, a name means the last verdict that has it.
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

    verdict: Verdict  # AC if the group or test is accepted, even with 0 points
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
        self.question = question
        super().__init__(
            "the custom grader has not graded this group; only batched jobs can call it", phase="grading"
        )


def compute_grade(
    group: Grading, results: Mapping[str, TestResult], grader_answers: GraderAnswers = NO_GRADER_ANSWERS
) -> Grade:
    """Return a group's grade. Parts after the part that stopped the judging are ignored."""
    part_grades = list[Grade]()
    for part in group.parts:
        part_grades.append(
            compute_grade(part, results, grader_answers)
            if isinstance(part, Grading)
            else _grade_test(group, results[part])
        )
        if group.stops and not part_grades[-1].accepted:
            break
    if group.flags is None or not part_grades:
        return _combine_grades(group, part_grades)
    question = GraderQuestion(
        group.flags,
        "".join(f"{_ICPC_NAMES[part_grade.verdict]} {part_grade.points!r}\n" for part_grade in part_grades),
    )
    if question not in grader_answers:
        raise GraderAnswerMissing(question)
    grader_answer = grader_answers[question]
    if group.points is Points.ACCEPTED:
        return Grade(grader_answer.verdict, float(grader_answer.accepted))
    return Grade(
        grader_answer.verdict, grader_answer.points if group.rejected_earns or grader_answer.accepted else 0.0
    )


def list_grader_questions(
    group: Grading, results: Mapping[str, TestResult], grader_answers: GraderAnswers
) -> Iterator[GraderQuestion]:
    """Yield the next necessary calls of the custom grader, or nothing if `grader_answers` has all answers."""
    for part in group.parts:
        if isinstance(part, Grading):
            yield from list_grader_questions(part, results, grader_answers)
    try:
        compute_grade(group, results, grader_answers)
    except GraderAnswerMissing as ungraded:
        yield ungraded.question


def parse_grader_answer(output: str) -> Grade | None:
    """Return the verdict and the points in a custom grader's output, or None if it has another form."""
    answer_match = re.fullmatch(r"\s*([A-Z]+)\s+([0-9]+(?:\.[0-9]*)?|\.[0-9]+)\s*", output, re.ASCII)
    verdicts_by_name = {name: verdict for verdict, name in _ICPC_NAMES.items()}
    if answer_match is None or answer_match[1] not in verdicts_by_name:
        return None
    return Grade(verdicts_by_name[answer_match[1]], float(answer_match[2]))


def _combine_grades(group: Grading, part_grades: Sequence[Grade]) -> Grade:
    """Return a group's grade from the grades of the parts that were judged."""
    if group.last_counts:
        part_grades = part_grades[-1:]
    if not part_grades:
        return Grade(Verdict.AC, 0.0)
    verdict = _combine_verdicts(group, [part_grade.verdict for part_grade in part_grades])
    if group.points is Points.ACCEPTED:
        return Grade(verdict, (1.0 if group.worth is None else group.worth) * (verdict is Verdict.AC))
    points = _COMBINE_POINTS[group.points]([part_grade.points for part_grade in part_grades])
    earns_points = group.rejected_earns or verdict is Verdict.AC
    return Grade(verdict, points if earns_points else 0.0)


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


class PointBounds(NamedTuple):
    """The points that a group can still earn if it is accepted, and if it is rejected.

    None means that the group cannot get this verdict any more.
    """

    accepted: Range | None = None
    rejected: Range | None = None

    @property
    def points(self) -> Range:
        """Return the minimum and maximum points of the group, accepted or rejected."""
        ranges = [range_ for range_ in self if range_ is not None]
        return min(lowest for lowest, _ in ranges), max(highest for _, highest in ranges)

    @property
    def is_final(self) -> bool:
        """Return True if neither the verdict nor the points can change."""
        return None in self and self.points[0] == self.points[1]


_NO_RESULTS: Mapping[str, TestResult] = MappingProxyType({})


def compute_point_bounds(
    group: Grading, results: Mapping[str, TestResult] = _NO_RESULTS, *, allows_partial_points: bool = True
) -> PointBounds:
    """Return the points that a group can still earn over all outcomes of the tests without a result.

    For a group with a custom grader, only the maximum can be computed. More accepted tests do not always mean
    more points: see `may_wrong_answer_earn_more`.

    `allows_partial_points`: an accepted test may earn less than its points.
    """
    if group.flags is not None:
        max_points = 1.0 if group.points is Points.ACCEPTED else group.full
        return PointBounds((0.0, max_points), (0.0, max_points))
    part_bounds = [
        compute_point_bounds(part, results, allows_partial_points=allows_partial_points)
        if isinstance(part, Grading)
        else _compute_test_bounds(group, results.get(part), allows_partial_points)
        for part in group.parts
    ]
    range_by_verdict: dict[bool, Range] = {}
    for outcomes in _list_extreme_part_outcomes(group, part_bounds):
        lowest_grade = _combine_grades(
            group, [Grade(verdict, point_range[0]) for verdict, point_range in outcomes]
        )
        highest_grade = _combine_grades(
            group, [Grade(verdict, point_range[1]) for verdict, point_range in outcomes]
        )
        previous_range = range_by_verdict.get(
            lowest_grade.accepted, (lowest_grade.points, highest_grade.points)
        )
        range_by_verdict[lowest_grade.accepted] = (
            min(previous_range[0], lowest_grade.points),
            max(previous_range[1], highest_grade.points),
        )
    return PointBounds(range_by_verdict.get(True), range_by_verdict.get(False))


def _compute_test_bounds(
    group: Grading, result: TestResult | None, allows_partial_points: bool
) -> PointBounds:
    """Return the points that a test can earn in its group; exact if it has a result."""
    if result is None or result.status is Verdict.SKIPPED:
        accepted_points = group.accept_score
        min_points = 0.0 if allows_partial_points and not group.whole_only else accepted_points
        return PointBounds((min_points, accepted_points), (group.reject_score, group.reject_score))
    grade = _grade_test(group, result)
    point_range = grade.points, grade.points
    return PointBounds(point_range, None) if grade.accepted else PointBounds(None, point_range)


def _list_extreme_part_outcomes(
    group: Grading, part_bounds: Sequence[PointBounds]
) -> Iterator[list[tuple[Verdict, Range]]]:
    """Yield combinations of outcomes of a group's parts.

    They include the combinations with the minimum and the maximum points of the accepted group, and of the
    rejected group.
    """
    accepted_outcomes = [
        None if bounds.accepted is None else (Verdict.AC, bounds.accepted) for bounds in part_bounds
    ]
    rejected_outcomes = [
        None if bounds.rejected is None else (Verdict.WA, bounds.rejected) for bounds in part_bounds
    ]
    candidates: list[list[tuple[Verdict, Range] | None]]
    if group.stops:
        # Judging stops at the first rejected part, so a combination has at most one rejected part. In a
        # sequence of equal parts, the points rise or fall monotonically with the position of the rejected
        # part, so only the first and the last part are tried. The group's second part is tried as well.
        change_indexes = [
            index
            for index, (part_before, part_after) in enumerate(pairwise(part_bounds))
            if part_before != part_after
        ]
        last_index = next(
            (index for index, candidate in enumerate(accepted_outcomes) if candidate is None),
            len(part_bounds) - 1,
        )
        run_ends = {0, 1, len(part_bounds) - 1, *change_indexes, *(index + 1 for index in change_indexes)}
        candidates = [
            accepted_outcomes,
            *(
                [*accepted_outcomes[:index], rejected_outcomes[index]]
                for index in sorted(run_ends)
                if index <= last_index
            ),
        ]
    else:
        outcome_pairs = list(zip(accepted_outcomes, rejected_outcomes, strict=True))
        worst_outcomes = [
            min(
                (part_outcome for part_outcome in outcome_pair if part_outcome),
                key=lambda part_outcome: part_outcome[1][0],
            )
            for outcome_pair in outcome_pairs
        ]
        best_outcomes = [
            max(
                (part_outcome for part_outcome in outcome_pair if part_outcome),
                key=lambda part_outcome: part_outcome[1][1],
            )
            for outcome_pair in outcome_pairs
        ]
        candidates = [[*worst_outcomes], [*best_outcomes]]
        if group.acceptance is not Acceptance.ALWAYS:
            candidates += [accepted_outcomes, rejected_outcomes]
            index_by_bounds = {bounds: index for index, bounds in reversed(list(enumerate(part_bounds)))}
            for index in {*index_by_bounds.values(), len(part_bounds) - 1}:
                for others_outcomes in (worst_outcomes, best_outcomes):
                    candidates += [
                        [*others_outcomes[:index], part_outcome, *others_outcomes[index + 1 :]]
                        for part_outcome in outcome_pairs[index]
                    ]
    for candidate in candidates:
        outcomes = [part_outcome for part_outcome in candidate if part_outcome is not None]
        if len(outcomes) == len(candidate):
            yield outcomes


def compute_max_group_points(group: Grading) -> float:
    """Return the maximum points that a group can earn."""
    return compute_point_bounds(group).points[1]


def list_undecided_tests(group: Grading, results: Mapping[str, TestResult]) -> Iterator[str]:
    """Yield the tests without a result that can still change a group's points.

    If the group has a custom grader, these are all tests without a result, because the grader reads every
    result.
    """
    if has_grader(group):
        yield from (name for name in list_tests(group) if name not in results)
    elif not is_earned_fraction_settled(group, results):
        yield from _list_tests_that_change_grade(group, results)


def _list_tests_that_change_grade(group: Grading, results: Mapping[str, TestResult]) -> Iterator[str]:
    """Yield the tests without a result that may still change the group's grade."""
    for part in group.parts:
        if not isinstance(part, Grading):
            part_bounds = _compute_test_bounds(group, results.get(part), allows_partial_points=True)
            if part not in results:
                yield part
        else:
            part_bounds = compute_point_bounds(part, results)
            if not part_bounds.is_final:
                yield from _list_tests_that_change_grade(part, results)
        if group.stops and part_bounds.accepted is None:
            return


def is_earned_fraction_settled(group: Grading, results: Mapping[str, TestResult]) -> bool:
    """Return True if no test without a result can change the fraction of its points that a group earns."""
    group_bounds = compute_point_bounds(group, results)
    return (
        None in group_bounds
        if compute_max_group_points(group) <= 0
        else group_bounds.points[0] == group_bounds.points[1]
    )


def has_grader(group: Grading) -> bool:
    """Return True if the problem's custom grader grades the group or a group inside it."""
    return group.flags is not None or any(
        has_grader(part) for part in group.parts if isinstance(part, Grading)
    )


def compute_points_fraction(
    group: Grading, results: Mapping[str, TestResult], grader_answers: GraderAnswers = NO_GRADER_ANSWERS
) -> float:
    """Return the share of its points that a group earns, in [0, 1].

    A group without points earns 1 if it is accepted. A test may be SKIPPED if its outcome cannot change the
    share. Otherwise JudgeFailure is raised.
    """
    group_bounds = compute_point_bounds(group, results)
    has_skipped_tests = any(result.status is Verdict.SKIPPED for result in results.values())
    if has_skipped_tests and not has_grader(group) and is_earned_fraction_settled(group, results):
        grade = Grade(Verdict.WA if group_bounds.accepted is None else Verdict.AC, group_bounds.points[1])
    else:
        grade = compute_grade(group, results, grader_answers)
    max_points = compute_max_group_points(group)
    if max_points <= 0:
        return float(grade.accepted)
    if grade.points > max_points * (1 + _TOLERANCE):
        reason = f"the groups earned {grade.points:g} points, but the maximum is {max_points:g}"
        raise JudgeFailure(reason, phase="grading")
    share_earned = grade.points / max_points
    return 1.0 if math.isclose(share_earned, 1.0, rel_tol=_TOLERANCE) else share_earned


def make_sum_grading(
    points_by_test: Mapping[str, float], required_tests: Sequence[str], *, requires_full_scores: bool = False
) -> Grading:
    """Return a tree that awards each test's points, but only if all tests in `required_tests` pass.

    Args:
        points_by_test: points of each test by name.
        required_tests: names of the tests that must pass first.
        requires_full_scores: a test in `required_tests` passes only with its full score.
    """
    graded_tests = Grading(
        parts=tuple(Grading(parts=(name,), accept_score=points) for name, points in points_by_test.items()),
        acceptance=Acceptance.ALWAYS,
        stops=False,
    )
    required_grading = Grading(
        parts=tuple(dict.fromkeys(required_tests)), accept_score=0.0, whole_only=requires_full_scores
    )
    return Grading(parts=(required_grading, graded_tests)) if required_tests else graded_tests


def make_minimum_grading(tests: Sequence[str], max_points: float, required_tests: Sequence[str]) -> Grading:
    """Return a tree that awards the minimum of `tests`, scaled to `max_points`, if required tests pass."""
    graded_tests = Grading(
        parts=tuple(tests), accept_score=max_points, points=Points.LEAST, rejected_earns=False
    )
    required_grading = Grading(parts=tuple(dict.fromkeys(required_tests)), accept_score=0.0)
    return Grading(parts=(required_grading, graded_tests)) if required_tests else graded_tests


def list_tests(group: Grading) -> Iterable[str]:
    """Yield the names of all tests in a tree in the order of judging."""
    for part in group.parts:
        if isinstance(part, Grading):
            yield from list_tests(part)
        else:
            yield part


# --- groups that have a simpler equivalent, which can stop early or be shown in parts ------------------
# These functions return False if they are not sure, because grading by the tree of groups is always right.


def is_sum_of_part_points(group: Grading, *, counts_if_rejected: bool) -> bool:
    """Return True if a group's points are the sum of its parts' points in all cases.

    A rejected part then must not reduce the points of other parts. `counts_if_rejected`: the groups that
    contain this group count its points even if it is rejected.
    """
    if group.points is not Points.SUM or group.last_counts or group.flags is not None:
        return False
    if not _never_stops_early(group):
        return False
    always_accepted = group.acceptance is Acceptance.ALWAYS
    return (
        counts_if_rejected or always_accepted or (group.any_accepted and _all_rejected_parts_earn_zero(group))
    )


def _never_stops_early(group: Grading) -> bool:
    """Return True if no part can stop the judging of the parts after it."""
    bounds_of_parts = (compute_point_bounds(part) for part in group.parts[:-1] if isinstance(part, Grading))
    has_tests = any(isinstance(part, str) for part in group.parts[:-1])
    return not group.stops or (not has_tests and all(part.rejected is None for part in bounds_of_parts))


def _all_rejected_parts_earn_zero(group: Grading) -> bool:
    """Return True if every rejected part earns 0 points."""
    rejected_ranges = (
        compute_point_bounds(part).rejected for part in group.parts if isinstance(part, Grading)
    )
    has_tests = any(isinstance(part, str) for part in group.parts)
    return not (has_tests and group.reject_score) and all(
        point_range is None or point_range[1] == 0 for point_range in rejected_ranges
    )


def is_scored_by_worst_test(group: Grading, *, has_partial_scores: bool) -> bool:
    """Return True if a group's score is its worst test's score.

    `has_partial_scores`: the score of a test may be between 0 and 1.
    """
    test_points = _find_test_points_of_minimum_group(group)
    if has_partial_scores or test_points is not None:
        return test_points is not None and (len(test_points) == 1 or not has_partial_scores)
    if has_grader(group):
        return False
    possible_bounds = list(_list_bounds_for_rejected_test(group))
    return all(case_bounds.points[1] == 0 for case_bounds in possible_bounds) and (
        compute_max_group_points(group) > 0
        or all(case_bounds.accepted is None for case_bounds in possible_bounds)
    )


def is_rejected_by_any_failure(group: Grading) -> bool:
    """Return True if a group is rejected whenever any of its tests is rejected."""
    return not has_grader(group) and all(
        case_bounds.accepted is None for case_bounds in _list_bounds_for_rejected_test(group)
    )


def _list_bounds_for_rejected_test(group: Grading) -> Iterator[PointBounds]:
    """Yield the group's bounds if a single test is rejected, for each of `_list_representative_tests`."""
    for name in _list_representative_tests(group):
        wrong_result = TestResult(test_name=name, score=0.0, status=Verdict.WA)
        yield compute_point_bounds(group, {name: wrong_result}, allows_partial_points=False)


def _list_representative_tests(group: Grading) -> Iterator[str]:
    """Yield the first two tests and the last test of each sequence of adjacent tests.

    All tests between the second and the last test have the same effect on the group.
    """
    for is_test, parts_of_run in groupby(group.parts, key=lambda part: isinstance(part, str)):
        run_parts = list(parts_of_run)
        if is_test:
            yield from dict.fromkeys(
                member for member in (*run_parts[:2], run_parts[-1]) if isinstance(member, str)
            )
        else:
            for member in run_parts:
                if isinstance(member, Grading):
                    yield from _list_representative_tests(member)


def _find_test_points_of_minimum_group(group: Grading) -> set[float] | None:
    """Return the different points of a group's tests if the group earns their minimum, else None."""
    is_minimum = group.points is Points.LEAST or len(group.parts) == 1
    if group.flags is not None or not is_minimum or group.reject_score or group.last_counts:
        return None
    test_points = {group.accept_score} if any(isinstance(part, str) for part in group.parts) else set[float]()
    for part in group.parts:
        if isinstance(part, Grading):
            part_points = _find_test_points_of_minimum_group(part)
            if part_points is None:
                return None
            test_points |= part_points
    return test_points


def is_mean_of_tests(group: Grading) -> bool:
    """Return True if a group contains only tests and its score is their mean."""
    is_sum = group.points in (Points.SUM, Points.AVERAGE) or len(group.parts) == 1
    always_accepted = group.acceptance is Acceptance.ALWAYS
    keeps_points = group.rejected_earns or always_accepted or group.any_accepted or len(group.parts) == 1
    has_only_tests = all(isinstance(part, str) for part in group.parts)
    return (
        group.flags is None
        and has_only_tests
        and is_sum
        and keeps_points
        and not group.reject_score
        and _never_stops_early(group)
    )


def may_wrong_answer_earn_more(group: Grading) -> bool:
    """Return True if an early wrong answer may earn more than a right answer.

    This happens because tests that were not judged count neither in an average nor in a minimum.
    """
    if not group.stops or group.points not in (Points.AVERAGE, Points.LEAST):
        return False
    points_of_parts = {
        compute_max_group_points(part) if isinstance(part, Grading) else group.accept_score
        for part in group.parts
    }
    return len(points_of_parts) > 1 and not (
        group.points is Points.LEAST and _all_rejected_parts_earn_zero(group)
    )
