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
from ioi_eval.rules.grading import compute_max_group_points, make_minimum_grading, make_sum_grading

_MODES = ("pass-fail", "sum", "min")
_PASS_FAIL, _SUM, _MIN = _MODES
_DEFAULT_MAX_SCORE = 100.0  # points of a problem that does not set its maximum score
# Keys that only secret/ and its direct subgroups may set.
_SCORE_KEYS = (
    "max_score",
    "score_aggregation",
    "require_pass",
)
# Keys for static validation, which is not supported. The first key exists only in drafts.
_STATIC_KEYS = frozenset({"static_validation", "static_validation_score"})


def check_score_settings(root: DataGroup, faults: Faults, *, has_points: bool) -> None:
    """Report settings that should change the score but cannot have an effect."""
    unknown_policy = UnknownKeyPolicy.REFUSED if has_points else UnknownKeyPolicy.NOTED
    for group in list_groups(root):
        path_parts = group.name.split("/")
        can_have_score = has_points and path_parts[0] == SECRET and len(path_parts) < 3
        if has_points and group.name == SECRET and group.subgroups and group.tests:
            faults.report("tests next to groups", f"data/{SECRET}", remedy="Put them into a group")
        for key in sorted(group.own_keys):
            if key in _STATIC_KEYS:
                group.fields.report_fault(key, "static validators are not supported", "Remove it")
            elif key in _SCORE_KEYS and not can_have_score:
                remedy = "Use it only in scoring problems, in secret/ and its direct groups"
                group.fields.report_fault(key, "it has no effect here", remedy)
        GroupKeys.from_fields(group.fields).check_keys(sorted(group.own_keys - _STATIC_KEYS), unknown_policy)


def read_max_score_scoring(root: DataGroup, *, validator_awards_points: bool) -> Scoring:
    """Return the scoring of a problem in a newer version of the format."""
    groups_by_name = {group.name: group for group in root.subgroups}
    if SECRET not in groups_by_name:
        return Scoring()  # the package has no tests, which is reported elsewhere
    sample_tests = _list_test_names(groups_by_name[SAMPLE]) if SAMPLE in groups_by_name else ()
    reader = _SecretSubtaskBuilder(
        groups_by_name[SECRET], sample_tests, validator_awards_points=validator_awards_points
    )
    subtasks = tuple(reader.list_subtasks())
    subtask_names = tuple(subtask.name for subtask in subtasks if subtask.name != SAMPLE)
    if sample_tests:
        sample_subtask = Subtask(name=SAMPLE, points=0.0, tests=sample_tests, score_type=ScoreType.SUM)
        subtasks = (sample_subtask, *subtasks)
    if not validator_awards_points:
        return Scoring(subtasks=subtasks, secret=subtask_names)
    # The validator's scores for samples and pass-fail groups do not count, so 0 means full points there.
    different_full_scores = {**dict.fromkeys(_list_test_names(root), 0.0), **reader.full_scores}
    return Scoring(subtasks=subtasks, secret=subtask_names, full=RAW_POINTS, own_full=different_full_scores)


def _make_subtask_grading(subtask: Subtask) -> Grading:
    """Return the subtask's grading rules, as a part of the rules of a larger group."""
    if subtask.grading is not None:
        return subtask.grading
    if subtask.score_type is ScoreType.SUM:
        return make_sum_grading(dict.fromkeys(subtask.tests, subtask.points / len(subtask.tests)), ())
    return make_minimum_grading(subtask.tests, subtask.points, ())


def _list_test_names(group: DataGroup) -> tuple[str, ...]:
    return tuple(test.name for test in group.all_tests)


class _SecretSubtaskBuilder:
    """Builds the subtasks of secret/ from `max_score`, `score_aggregation` and `require_pass`."""

    def __init__(
        self, secret_group: DataGroup, sample_tests: tuple[str, ...], *, validator_awards_points: bool
    ) -> None:
        self._secret, self._sample, self._validator_awards_points = (
            secret_group,
            sample_tests,
            validator_awards_points,
        )
        self.full_scores: dict[str, float] = {}  # the validator's score for full points, by test name

    def list_subtasks(self) -> Iterator[Subtask]:
        """Yield the subtasks of secret/."""
        secret_group, score_mode = self._secret, self._read_score_mode(self._secret, _SUM)
        max_score, required_tests = (
            self._read_max_score(secret_group, _DEFAULT_MAX_SCORE),
            self._read_required_tests(secret_group, {}),
        )
        if not secret_group.subgroups or score_mode == _PASS_FAIL:
            for group in secret_group.subgroups:
                if self._read_score_mode(group, _PASS_FAIL) != _PASS_FAIL:
                    problem = "secret/ is passed or failed as a whole"
                    group.fields.report_fault("score_aggregation", problem, "Remove one of the two settings")
            yield self._make_subtask(secret_group, score_mode, max_score, required_tests)
            return
        earlier_groups: dict[str, tuple[DataGroup, tuple[str, ...]]] = {}
        subtasks = list[Subtask]()
        for group in secret_group.subgroups:
            required_by_group = tuple(
                dict.fromkeys((*required_tests, *self._read_required_tests(group, earlier_groups)))
            )
            subtasks.append(
                self._make_subtask(
                    group,
                    self._read_score_mode(group, _PASS_FAIL),
                    self._read_max_score(group, None),
                    required_by_group,
                )
            )
            earlier_groups[group.name] = group, (*required_by_group, *_list_test_names(group))
        # In the mode `min`, all groups are a single subtask, which earns the points of the worst group.
        if score_mode == _MIN:
            grading = Grading(
                parts=tuple(map(_make_subtask_grading, subtasks)),
                points=Points.LEAST,
                acceptance=Acceptance.ALWAYS,
                stops=False,
            )
            tests = tuple(dict.fromkeys(test for subtask in subtasks for test in subtask.tests))
            score_type = ScoreType.SUM
            yield Subtask(
                name=SECRET,
                points=compute_max_group_points(grading),
                tests=tests,
                score_type=score_type,
                grading=grading,
            )
            return
        total_points = math.fsum(subtask.points for subtask in subtasks)
        if total_points > max_score:
            problem = f"{max_score:g} is less than the sum of its groups, {total_points:g}"
            secret_group.fields.report_fault("max_score", problem, f"Set it to {total_points:g}")
        yield from subtasks

    def _make_subtask(
        self, group: DataGroup, score_mode: str, max_score: float, required_tests: Sequence[str]
    ) -> Subtask:
        """Return the subtask of a group. It earns points only if the tests `required_tests` pass."""
        group_tests, subtask_name = _list_test_names(group), group.name.removeprefix(f"{SECRET}/")
        all_tests = tuple(dict.fromkeys((*required_tests, *group_tests)))
        if score_mode != _PASS_FAIL:
            self.full_scores |= dict.fromkeys(
                group_tests, max_score / len(group_tests) if score_mode == _SUM else max_score
            )
        grading: Grading | None = None
        if score_mode == _SUM:
            grading = (
                make_sum_grading({test: max_score / len(group_tests) for test in group_tests}, required_tests)
                if required_tests
                else None
            )
        elif not self._validator_awards_points or (score_mode == _MIN and not required_tests):
            return Subtask(name=subtask_name, points=max_score, tests=all_tests)
        elif score_mode == _MIN:
            grading = make_minimum_grading(group_tests, max_score, required_tests)
        else:  # in the mode pass-fail, only verdicts count
            grading = Grading(parts=all_tests, points=Points.ACCEPTED, worth=max_score)
        return Subtask(
            name=subtask_name, points=max_score, tests=all_tests, score_type=ScoreType.SUM, grading=grading
        )

    # --- settings that a group does not inherit -------------------------------------------------------------

    def _read_score_mode(self, group: DataGroup, default: str) -> str:
        """Return how the group's score is computed from its tests: a mode in `_MODES`."""
        if "score_aggregation" not in group.own_keys:
            return default
        return group.fields.read_choice("score_aggregation", _MODES)

    def _read_max_score(self, group: DataGroup, default: float | None) -> float:
        """Return the group's maximum score. A missing score without a default is a fault."""
        max_score = group.fields.values.get("max_score") if "max_score" in group.own_keys else default
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
        self, group: DataGroup, earlier_groups: Mapping[str, tuple[DataGroup, tuple[str, ...]]]
    ) -> tuple[str, ...]:
        """Return the tests that must pass before this group counts.

        They are the tests of the groups in `require_pass`, and the tests that must pass before those groups
        count. `earlier_groups` maps the name of each earlier group to the group and the tests that must pass
        for it.
        """
        pass_fail_groups = [
            group_name
            for group_name, (earlier_group, _) in earlier_groups.items()
            if self._read_score_mode(earlier_group, _PASS_FAIL) == _PASS_FAIL
        ]
        required_groups = group.fields.values.get("require_pass") if "require_pass" in group.own_keys else ()
        required_tests = list[str]()
        for name in (
            [required_groups]
            if isinstance(required_groups, str)
            else required_groups
            if isinstance(required_groups, list)
            else ()
        ):
            if name == SAMPLE:
                required_tests += self._sample
            elif name in pass_fail_groups:
                required_tests += earlier_groups[name][1]
            else:
                problem = f"{format_value(name)} is not an earlier pass-fail group"
                group.fields.report_fault(
                    "require_pass", problem, suggest_names(str(name), (SAMPLE, *pass_fail_groups))
                )
        return tuple(required_tests)
