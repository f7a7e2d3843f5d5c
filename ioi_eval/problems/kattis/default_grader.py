"""Score legacy packages: groups are graded by flags of the format's default grader."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import NamedTuple

from msgspec.structs import replace

from ioi_eval.model.fields import Faults, format_value, suggest_names
from ioi_eval.model.text import format_count
from ioi_eval.model.values import RAW_POINTS, Acceptance, Grading, Points, ScoreType, Subtask
from ioi_eval.problems.kattis.groups import DataGroup, uses_custom_grader
from ioi_eval.problems.kattis.keys import CUSTOM, DOMJUDGE, NUMBER, SAMPLE, SECRET, LegacyGroupKeys
from ioi_eval.problems.kattis.scoring import Scoring
from ioi_eval.problems.keys import is_misspelt
from ioi_eval.rules.grading import (
    compute_max_group_points,
    is_mean_of_tests,
    is_rejected_by_any_failure,
    is_scored_by_worst_test,
    is_sum_of_part_points,
    list_tests,
    may_wrong_answer_earn_more,
)

_POINTS = {mode.value: mode for mode in (Points.SUM, Points.AVERAGE, Points.LEAST, Points.MOST)}
_ACCEPTANCES = {word.value: word for word in Acceptance} | {"no_errors": Acceptance.WORST_ERROR}
_IGNORE_SAMPLE, _ANY_ACCEPTED = "ignore_sample", "accept_if_any_accepted"
_FLAGS = {*_POINTS, *_ACCEPTANCES, _IGNORE_SAMPLE, _ANY_ACCEPTED}
# True if judging stops after a part that is not accepted, by the value of the setting `on_reject`.
_STOPS_BY_ACTION = {
    "break": True,
    "continue": False,
    # Values of `grading.on_reject` in problem.yaml.
    "first_error": True,
    "worst_error": False,
    "grade": False,
}
_WHOLE_PROBLEM = "all"  # name of the only subtask of a problem that is graded as a whole


class _GradedGroup(NamedTuple):
    """A group with its grading rules and its subgroups."""

    name: str
    grading: Grading
    subgroups: tuple[_GradedGroup, ...]


def read_scoring(
    root: DataGroup, faults: Faults, *, validator_awards_points: bool, has_domjudge_file: bool = False
) -> Scoring:
    """Return the scoring of a legacy problem with points.

    Args:
        root: The group of data/ itself.
        faults: Receives faults and notes.
        validator_awards_points: The validator awards the points.
        has_domjudge_file: The package has DOMjudge's settings file.
    """
    rule_reader = _GradingRuleReader(
        faults,
        has_points=True,
        validator_awards_points=validator_awards_points,
        has_domjudge_file=has_domjudge_file,
    )
    root_node = rule_reader.read_graded_group(root)
    if not root_node.subgroups:  # the package has no tests, which is reported elsewhere
        return Scoring()
    full_scores = rule_reader.full_scores.values()
    full_score = max(full_scores, default=1.0) if all(full_scores) else RAW_POINTS
    subtasks = tuple(_list_problem_subtasks(root_node, validator_awards_points))
    different_full_scores = {
        name: score for name, score in rule_reader.full_scores.items() if not math.isclose(score, full_score)
    }
    secret_names = tuple(subtask.name for subtask in subtasks if subtask.name not in (SAMPLE, _WHOLE_PROBLEM))
    return Scoring(subtasks=subtasks, secret=secret_names, full=full_score, own_full=different_full_scores)


def read_pass_fail_scoring(root: DataGroup, faults: Faults) -> Scoring:
    """Return the scoring of a problem without points: one subtask, or none if all tests must pass."""
    root_node = _GradingRuleReader(faults, has_points=False, validator_awards_points=False).read_graded_group(
        root
    )
    if not root_node.subgroups or is_rejected_by_any_failure(root_node.grading):
        return Scoring()
    tree = replace(root_node.grading, points=Points.ACCEPTED)
    return Scoring(subtasks=(_make_subtask(_WHOLE_PROBLEM, tree, is_scored_by_tree=True),))


# --- rules -------------------------------------------------------------------------------------------


class _GradingRuleReader:
    """Reads the grading rules of groups, and reports each fault once."""

    def __init__(
        self,
        faults: Faults,
        *,
        has_points: bool,
        validator_awards_points: bool,
        has_domjudge_file: bool = False,
    ) -> None:
        self._faults, self._has_points, self._validator_awards_points = (
            faults,
            has_points,
            validator_awards_points,
        )
        self._has_domjudge_file = has_domjudge_file
        self._ignores_sample = False
        self.full_scores: dict[str, float] = {}  # the validator's score for full points, by test name

    def read_graded_group(self, group: DataGroup, in_custom_group: bool = False) -> _GradedGroup:
        """Return a group with its rules. `in_custom_group`: the package's grader grades a group around it."""
        self._check_group_settings(group)
        has_custom_grader = uses_custom_grader(group)
        if not group.name:
            self._ignores_sample = not has_custom_grader and _IGNORE_SAMPLE in group.grader_flags
        subgroup_nodes = {
            subgroup_or_test.name: self.read_graded_group(
                subgroup_or_test, in_custom_group or has_custom_grader
            )
            for subgroup_or_test in group.subgroups
        }
        gradings = (
            subgroup_nodes[subgroup_or_test.name].grading
            if subgroup_or_test.name in subgroup_nodes
            else subgroup_or_test.name
            for subgroup_or_test in group.sorted_parts
        )
        # If several flags exclude each other, the last flag is used.
        flags = () if has_custom_grader else group.grader_flags[::-1]
        points = next((_POINTS[flag] for flag in flags if flag in _POINTS), Points.SUM)
        acceptance_flags = (_ACCEPTANCES[flag] for flag in flags if flag in _ACCEPTANCES)
        acceptance = next(acceptance_flags, Acceptance.WORST_ERROR)
        has_accept_score = self._has_points and bool(group.tests)
        by_grader = has_custom_grader or in_custom_group
        accept_score = (
            self._read_accept_score(group, points, is_scored_by_grader=by_grader) if has_accept_score else 1.0
        )
        if has_accept_score and not has_custom_grader and not self._validator_awards_points:
            self._check_accept_score(group, points, accept_score)
        grading = Grading(
            parts=tuple(gradings),
            points=points,
            acceptance=acceptance,
            any_accepted=_ANY_ACCEPTED in flags,
            last_counts=not group.name and self._ignores_sample,
            stops=_stops_after_rejection(group),
            accept_score=accept_score,
            reject_score=LegacyGroupKeys.reject_score.read(group.fields) if has_accept_score else 0.0,
            flags=group.grader_flags if has_custom_grader else None,
            full=self._read_max_points(group)
            if has_custom_grader and self._has_points and not in_custom_group
            else 0.0,
        )
        if self._has_points and may_wrong_answer_earn_more(grading):
            problem = f"{points.value} of unequal parts, but judging stops at the first rejected part"
            group.fields.report_fault("on_reject", problem, "Set it to continue, so that all parts count")
        return _GradedGroup(group.name.removeprefix(f"{SECRET}/"), grading, tuple(subgroup_nodes.values()))

    def _check_group_settings(self, group: DataGroup) -> None:
        """Report unknown values of `grading`, unknown keys and unknown grader flags."""
        grading = group.fields.values.get("grading") or "default"
        if grading not in ("default", CUSTOM) and (not group.name or "grading" in group.own_keys):
            group.fields.report_fault(
                "grading", f"{format_value(grading)} is not supported", "Expected default or custom"
            )
        LegacyGroupKeys.from_fields(group.fields).check_keys(sorted(group.own_keys))
        if uses_custom_grader(group):  # the package's own grader interprets the flags
            return
        for flag in dict.fromkeys(group.grader_flags):
            if flag in _FLAGS or "grader_flags" not in group.own_keys:
                continue
            if is_misspelt(flag, _FLAGS):
                group.fields.report_fault(
                    "grader_flags", f"unknown flag {flag!r}", suggest_names(flag, sorted(_FLAGS))
                )
            else:
                self._faults.add_note(
                    f"{flag!r} is not a flag of the default grader, so it is ignored", group.fields.file
                )

    def _read_accept_score(self, group: DataGroup, points: Points, *, is_scored_by_grader: bool) -> float:
        """Return the points of each test in the group.

        `is_scored_by_grader`: the package's grader turns the validator's scores into points in any way.
        """
        if not self._validator_awards_points:
            return LegacyGroupKeys.accept_score.read(group.fields)
        if (
            is_scored_by_grader
        ):  # the range limits the points of the package's grader, not the scores of tests
            full_score = RAW_POINTS
        elif self._ignores_sample and group.name.split("/")[0] == SAMPLE and "range" not in group.own_keys:
            full_score = 0.0  # an ignored sample earns no points
        else:
            full_score = self._read_max_points(group) / (len(group.tests) if points is Points.SUM else 1)
        self.full_scores |= dict.fromkeys((test.name for test in group.tests), full_score)
        return full_score

    def _check_accept_score(self, group: DataGroup, points: Points, score: float) -> None:
        """Report an accept_score that seems to be the points of the whole group instead of a single test.

        In the format, each test earns the accept_score. In DOMjudge, the group earns it once.
        """
        if (
            len(group.tests) < 2
            or "accept_score" not in group.own_keys
            or not score
            or points is Points.LEAST
        ):
            return
        range_end = _read_range_end(group)
        total_score, remedy = score * len(group.tests), "Add `grader_flags: min` if the group earns it once"
        if self._has_domjudge_file:
            problem = f"DOMjudge gives it to the group, the format to each test, and there is {DOMJUDGE}"
            group.fields.report_fault("accept_score", problem, f"{remedy}, else remove {DOMJUDGE}")
        elif (
            points is Points.SUM
            and "range" in group.own_keys
            and range_end is not None
            and range_end < total_score * (1 - 1e-9)
        ):
            problem = (
                f"{score:g} points for each of"
                f" {format_count(len(group.tests), 'test')} exceed the range, {range_end:g}"
            )
            group.fields.report_fault("accept_score", problem, f"{remedy}, else correct the range")

    def _read_max_points(self, group: DataGroup) -> float:
        """Return the group's maximum points, which are the end of its range. A missing range is a fault."""
        max_points = _read_range_end(group)
        if max_points is None or max_points < 0:
            remedy = "Add a range to this group, such as `range: 0 20`"
            group.fields.report_fault("range", "the group's maximum points are missing", remedy)
            return 0.0
        return max_points


def _stops_after_rejection(group: DataGroup) -> bool:
    """Return True if judging stops at the group's first part that is not accepted."""
    action = group.fields.values.get("on_reject") or "break"
    if (not isinstance(action, str) or action not in _STOPS_BY_ACTION) and (
        not group.name or "on_reject" in group.own_keys
    ):
        group.fields.report_fault(
            "on_reject", f"{format_value(action)} is not supported", "Expected break or continue"
        )
    return _STOPS_BY_ACTION.get(action, True) if isinstance(action, str) else True


def _read_range_end(group: DataGroup) -> float | None:
    """Return the end of the group's range, or None if the group sets no valid range.

    Only secret/ without subgroups inherits the range of data/.
    """
    is_only_group = group.name == SECRET and not group.subgroups
    if "range" not in group.own_keys and group.name and not is_only_group:
        return None
    range_text = group.fields.values.get("range")
    range_pattern = rf"\s*{NUMBER}\s+({NUMBER})\s*"
    range_match = re.fullmatch(range_pattern, range_text, re.ASCII) if isinstance(range_text, str) else None
    range_end = float(range_match[1]) if range_match else math.nan
    return range_end if math.isfinite(range_end) else None


# --- subtasks ----------------------------------------------------------------------------------------


def _list_problem_subtasks(root: _GradedGroup, validator_awards_points: bool) -> Iterator[Subtask]:
    """Yield the problem's subtasks. The sum of their points is the points of the root group.

    If the groups cannot be scored separately, the whole problem is a single subtask. Ignored samples have 0
    points.
    """
    rules, *sample_nodes, secret_node = root.grading, *root.subgroups
    if not rules.last_counts or (sample_nodes and rules.stops):
        yield from _list_subtasks(
            root._replace(name=_WHOLE_PROBLEM), validator_awards_points, counts_if_rejected=False
        )
        return
    for sample_node in sample_nodes:
        tests = tuple(list_tests(sample_node.grading))
        yield Subtask(name=sample_node.name, points=0.0, tests=tests, score_type=ScoreType.SUM)
    yield from _list_subtasks(
        secret_node, validator_awards_points, counts_if_rejected=rules.acceptance is Acceptance.ALWAYS
    )


def _list_subtasks(
    group: _GradedGroup, validator_awards_points: bool, *, counts_if_rejected: bool
) -> Iterator[Subtask]:
    """Yield the group's subtasks. `counts_if_rejected`: a rejected group keeps its points."""
    if group.subgroups and is_sum_of_part_points(group.grading, counts_if_rejected=counts_if_rejected):
        if tests := tuple(test_name for test_name in group.grading.parts if isinstance(test_name, str)):
            direct_tests = _GradedGroup(group.name, replace(group.grading, parts=tests), ())
            yield from _list_subtasks(direct_tests, validator_awards_points, counts_if_rejected=True)
        for subgroup in group.subgroups:
            yield from _list_subtasks(subgroup, validator_awards_points, counts_if_rejected=True)
        return
    tree = replace(group.grading, rejected_earns=counts_if_rejected)
    if is_scored_by_worst_test(tree, has_partial_scores=validator_awards_points):
        yield _make_subtask(group.name, tree, ScoreType.GROUP_MIN)
    else:
        yield _make_subtask(group.name, tree, is_scored_by_tree=not is_mean_of_tests(tree))


def _make_subtask(
    name: str, tree: Grading, score_type: ScoreType = ScoreType.SUM, *, is_scored_by_tree: bool = False
) -> Subtask:
    """Return a subtask with the tests and the maximum points of a group.

    `is_scored_by_tree`: the subtask is scored by the rules in `tree` instead of the score type.
    """
    return Subtask(
        name=name,
        points=compute_max_group_points(tree),
        tests=tuple(list_tests(tree)),
        score_type=score_type,
        grading=tree if is_scored_by_tree else None,
    )
