"""Which trees of groups are worth the same as something simpler, that can stop early or be shown in parts.

All of these say no where they are not sure: a tree is right for every group.
"""

from __future__ import annotations

from ioi_eval.model.values import Acceptance, Grading, Points
from ioi_eval.rules.grading import most


def adds_up(group: Grading, *, earns: bool) -> bool:
    """Whether a group's points are those of its parts, added up. `earns`: also where it is rejected."""
    if group.points is not Points.SUM or group.last_counts or not _judges_all(group):
        return False
    accepted = group.acceptance is Acceptance.ALWAYS
    some = group.any_accepted and all(_nothing_unless_accepted(group, part) for part in group.parts)
    return earns or accepted or some


def _judges_all(group: Grading) -> bool:
    return not group.stops or all(_never_rejected(part) for part in group.parts[:-1])


def _never_rejected(part: str | Grading) -> bool:
    return isinstance(part, Grading) and part.acceptance is Acceptance.ALWAYS


def _nothing_unless_accepted(group: Grading, part: str | Grading) -> bool:
    """Whether a part that is rejected has no points."""
    if not isinstance(part, Grading):
        return group.reject_score == 0
    inner = all(_nothing_unless_accepted(part, one) for one in part.parts)
    if _never_rejected(part):
        return True
    return inner and (part.points is Points.LEAST or part.any_accepted or len(part.parts) == 1)


def all_or_nothing(group: Grading, *, graded_tests: bool) -> bool:
    """Whether a group is worth what its worst test is. `graded_tests`: tests may earn a part of theirs."""
    if graded_tests:
        return _is_least(group) and len(_worths(group)) == 1
    return _is_least(group) or (not group.rejected_earns and _is_strict(group) and _no_consolation(group))


def _is_least(group: Grading) -> bool:
    """The least of its parts, so that one test that is rejected leaves nothing, whatever the verdicts."""
    inner = (part for part in group.parts if isinstance(part, Grading))
    least = group.points is Points.LEAST or len(group.parts) == 1
    return least and group.reject_score == 0 and not group.last_counts and all(map(_is_least, inner))


def _worths(group: Grading) -> set[float]:
    own = {group.accept_score} if any(isinstance(part, str) for part in group.parts) else set[float]()
    return own.union(*(_worths(part) for part in group.parts if isinstance(part, Grading)))


def _is_strict(group: Grading) -> bool:
    """Rejected with any of its tests."""
    strict = group.acceptance is not Acceptance.ALWAYS and not group.any_accepted and not group.last_counts
    return strict and all(_is_strict(part) for part in group.parts if isinstance(part, Grading))


def _no_consolation(group: Grading) -> bool:
    """Nothing earns more by being rejected than by being accepted."""
    inner = (part for part in group.parts if isinstance(part, Grading))
    return group.reject_score <= group.accept_score and all(map(_no_consolation, inner))


def is_sum(group: Grading) -> bool:
    """Whether a group without others in it is simply the mean of its tests."""
    tests_only = all(isinstance(part, str) for part in group.parts)
    adds = group.points in (Points.SUM, Points.AVERAGE) or len(group.parts) == 1
    earns = group.rejected_earns or _never_rejected(group) or group.any_accepted or len(group.parts) == 1
    return tests_only and adds and earns and group.reject_score == 0 and _judges_all(group)


def may_exceed(group: Grading) -> bool:
    """Whether being wrong early may be worth more than being right: what was not judged is in no average."""
    if not group.stops or group.points not in (Points.AVERAGE, Points.LEAST):
        return False
    alike = (
        len({most(part) if isinstance(part, Grading) else group.accept_score for part in group.parts}) == 1
    )
    nothing = all(_nothing_unless_accepted(group, part) for part in group.parts)
    return not alike and not (group.points is Points.LEAST and nothing)


def is_plain(group: Grading) -> bool:
    """Whether all tests must be passed, and nothing else counts."""
    return _is_strict(group)
