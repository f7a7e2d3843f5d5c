"""Score packages of the newer versions: groups have maximum scores and may require other groups."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

from ioi_eval.model.fields import Faults, format_value, suggest_names
from ioi_eval.model.values import RAW_POINTS, Acceptance, Grading, Points, ScoreType, Subtask
from ioi_eval.problems.kattis.groups import DataGroup, list_groups
from ioi_eval.problems.kattis.keys import SAMPLE, SECRET, GroupKeys
from ioi_eval.problems.kattis.scoring import Scoring
from ioi_eval.problems.keys import UnknownKeyPolicy
from ioi_eval.rules.grading import award_each_if_passed, award_minimum_if_passed, max_group_points

_MODES = ("pass-fail", "sum", "min")
_PASS_FAIL, _SUM, _MIN = _MODES
_DEFAULT_MAX_SCORE = 100.0  # default of the points of the whole problem
# Keys in the settings of secret/ and of its direct subgroups.
_SCORE_KEYS = (
    "max_score",
    "score_aggregation",
    "require_pass",
)
# Keys for static validation; the first key exists only in drafts.
_STATIC_KEYS = frozenset({"static_validation", "static_validation_score"})


def check_settings(root: DataGroup, faults: Faults, *, scoring: bool) -> None:
    """Report settings that should change the score but cannot have an effect."""
    unknown = UnknownKeyPolicy.REFUSED if scoring else UnknownKeyPolicy.NOTED
    for group in list_groups(root):
        path_parts = group.name.split("/")
        can_have_score = scoring and path_parts[0] == SECRET and len(path_parts) < 3
        if scoring and group.name == SECRET and group.inner and group.tests:
            faults.report("tests next to groups", f"data/{SECRET}", remedy="Put them into a group")
        for key in sorted(group.own):
            if key in _STATIC_KEYS:
                group.fields.report_fault(key, "static validators are not supported", "Remove it")
            elif key in _SCORE_KEYS and not can_have_score:
                remedy = "Use it only in scoring problems, in secret/ and its direct groups"
                group.fields.report_fault(key, "it has no effect here", remedy)
        GroupKeys.from_fields(group.fields).check_keys(sorted(group.own - _STATIC_KEYS), unknown)


def read_max_scores(root: DataGroup, *, by_validator: bool) -> Scoring:
    """Return the scoring of a newer version's problem. `by_validator`: the validator awards points."""
    groups = {group.name: group for group in root.inner}
    if SECRET not in groups:
        return Scoring()  # the package has no tests, which is reported elsewhere
    sample_tests = _list_test_names(groups[SAMPLE]) if SAMPLE in groups else ()
    reader = _MaxScores(groups[SECRET], sample_tests, by_validator=by_validator)
    subtasks = tuple(reader.list_subtasks())
    subtask_names = tuple(subtask.name for subtask in subtasks if subtask.name != SAMPLE)
    if sample_tests:
        sample_subtask = Subtask(name=SAMPLE, points=0.0, tests=sample_tests, score_type=ScoreType.SUM)
        subtasks = (sample_subtask, *subtasks)
    if not by_validator:
        return Scoring(subtasks=subtasks, secret=subtask_names)
    # Scores in samples and in pass-fail groups never count, so 0 is their score for full points.
    own_full = {**dict.fromkeys(_list_test_names(root), 0.0), **reader.full}
    return Scoring(subtasks=subtasks, secret=subtask_names, full=RAW_POINTS, own_full=own_full)


def _make_grading(group: Subtask) -> Grading:
    """Return the subtask's grading rules, as a part of the rules of a larger group."""
    if group.grading is not None:
        return group.grading
    if group.score_type is ScoreType.SUM:
        return award_each_if_passed(dict.fromkeys(group.tests, group.points / len(group.tests)), ())
    return award_minimum_if_passed(group.tests, group.points, ())


def _list_test_names(group: DataGroup) -> tuple[str, ...]:
    return tuple(test.name for test in group.all_tests)


class _MaxScores:
    """Builds the subtasks of secret/ from `max_score`, `score_aggregation` and `require_pass`."""

    def __init__(self, secret: DataGroup, sample: tuple[str, ...], *, by_validator: bool) -> None:
        self._secret, self._sample, self._by_validator = secret, sample, by_validator
        self.full: dict[str, float] = {}  # score of the validator that means full points, by test

    def list_subtasks(self) -> Iterator[Subtask]:
        """Yield the subtasks of secret/."""
        secret, mode = self._secret, self._read_mode(self._secret, _SUM)
        max_score, required = (
            self._read_max_score(secret, _DEFAULT_MAX_SCORE),
            self._read_required_tests(secret, {}),
        )
        if not secret.inner or mode == _PASS_FAIL:
            for group in secret.inner:
                if self._read_mode(group, _PASS_FAIL) != _PASS_FAIL:
                    problem = "secret/ is passed or failed as a whole"
                    group.fields.report_fault("score_aggregation", problem, "Remove one of the two settings")
            yield self._make_subtask(secret, mode, max_score, required)
            return
        earlier: dict[str, tuple[DataGroup, tuple[str, ...]]] = {}
        subtasks = list[Subtask]()
        for group in secret.inner:
            required_by_group = tuple(dict.fromkeys((*required, *self._read_required_tests(group, earlier))))
            subtasks.append(
                self._make_subtask(
                    group,
                    self._read_mode(group, _PASS_FAIL),
                    self._read_max_score(group, None),
                    required_by_group,
                )
            )
            earlier[group.name] = group, (*required_by_group, *_list_test_names(group))
        # In this mode, all groups are a single subtask, which earns the points of the worst group.
        if mode == _MIN:
            tree = Grading(
                parts=tuple(map(_make_grading, subtasks)),
                points=Points.LEAST,
                acceptance=Acceptance.ALWAYS,
                stops=False,
            )
            tests = tuple(dict.fromkeys(test for subtask in subtasks for test in subtask.tests))
            kind = ScoreType.SUM
            yield Subtask(
                name=SECRET, points=max_group_points(tree), tests=tests, score_type=kind, grading=tree
            )
            return
        total = math.fsum(subtask.points for subtask in subtasks)
        if total > max_score:
            problem = f"{max_score:g} is less than the sum of its groups, {total:g}"
            secret.fields.report_fault("max_score", problem, f"Set it to {total:g}")
        yield from subtasks

    def _make_subtask(
        self, group: DataGroup, mode: str, max_score: float, required: Sequence[str]
    ) -> Subtask:
        """Return the subtask of a group. It earns points only if the tests `required` pass."""
        group_tests, name = _list_test_names(group), group.name.removeprefix(f"{SECRET}/")
        all_tests = tuple(dict.fromkeys((*required, *group_tests)))
        if mode != _PASS_FAIL:
            self.full |= dict.fromkeys(
                group_tests, max_score / len(group_tests) if mode == _SUM else max_score
            )
        tree: Grading | None = None
        if mode == _SUM:
            tree = (
                award_each_if_passed({test: max_score / len(group_tests) for test in group_tests}, required)
                if required
                else None
            )
        elif not self._by_validator or (mode == _MIN and not required):
            return Subtask(name=name, points=max_score, tests=all_tests)
        elif mode == _MIN:
            tree = award_minimum_if_passed(group_tests, max_score, required)
        else:  # pass-fail: scores of the validator do not count, neither in this group nor in required groups
            tree = Grading(parts=all_tests, points=Points.ACCEPTED, worth=max_score)
        return Subtask(name=name, points=max_score, tests=all_tests, score_type=ScoreType.SUM, grading=tree)

    # --- settings that a group does not inherit -------------------------------------------------------------

    def _read_mode(self, group: DataGroup, default: str) -> str:
        """Return how the group's score is made from its tests: one of `_MODES`."""
        if "score_aggregation" not in group.own:
            return default
        return group.fields.read_choice("score_aggregation", _MODES)

    def _read_max_score(self, group: DataGroup, default: float | None) -> float:
        """Return the group's maximum score. A missing score without a default is a fault."""
        max_score = group.fields.values.get("max_score") if "max_score" in group.own else default
        if (
            isinstance(max_score, int | float)
            and not isinstance(max_score, bool)
            and 0 <= max_score < math.inf
        ):
            return float(max_score)
        problem = "missing" if max_score is None else f"{format_value(max_score)} is not supported"
        group.fields.report_fault("max_score", problem, "Set a number of at least 0, such as `max_score: 20`")
        return 1.0

    def _read_required_tests(
        self, group: DataGroup, earlier: Mapping[str, tuple[DataGroup, tuple[str, ...]]]
    ) -> tuple[str, ...]:
        """Return the tests that must pass before this group counts.

        They are the tests of required groups and of the groups that these require. `earlier` maps the name
        of each earlier group to the group and the tests that must pass for it.
        """
        pass_fail_groups = [
            group_name
            for group_name, (other, _) in earlier.items()
            if self._read_mode(other, _PASS_FAIL) == _PASS_FAIL
        ]
        required = group.fields.values.get("require_pass") if "require_pass" in group.own else ()
        tests = list[str]()
        for name in (
            [required] if isinstance(required, str) else required if isinstance(required, list) else ()
        ):
            if name == SAMPLE:
                tests += self._sample
            elif name in pass_fail_groups:
                tests += earlier[name][1]
            else:
                problem = f"{format_value(name)} is not an earlier pass-fail group"
                group.fields.report_fault(
                    "require_pass", problem, suggest_names(str(name), (SAMPLE, *pass_fail_groups))
                )
        return tuple(tests)
