"""Scoring in the ICPC format's younger versions: a most for each group, and groups that others require.

A group is worth its `max_score` if all its tests are passed, or the sum or the least of what its tests earn.
It earns nothing unless the groups that it requires are passed.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

from ioi_eval.model.values import Acceptance, Grading, Points, ScoreType, Subtask
from ioi_eval.problems.fields import nearest, shown
from ioi_eval.problems.kattis_files import SAMPLE, SECRET, Group, groups_of
from ioi_eval.problems.kattis_scoring import Scoring
from ioi_eval.rules.grading import each_behind, most

_MODES = ("pass-fail", "sum", "min")
_PASS_FAIL, _SUM, _LEAST = _MODES
_WORTH = 100.0  # of all, where nothing else is said
_STATIC = "static_validation_score"


def read_max_scores(root: Group, *, by_validator: bool) -> Scoring:
    """What the groups of a scoring problem are worth. `by_validator`: tests may be worth a part of theirs."""
    groups = {group.name: group for group in root.inner}
    if SECRET not in groups:
        return Scoring()  # noted: there are no tests
    reader = _Reader(groups[SECRET], _tests(groups[SAMPLE]) if SAMPLE in groups else ())
    scoring = reader.scoring()
    if not by_validator:
        return Scoring(subtasks=scoring.subtasks, secret=scoring.secret)
    if not reader.alike:
        words = "its tests are worth different numbers, of which a validator may give a part"
        groups[SECRET].fields.fault("max_score", words, "Give all tests of sums and of minima the same")
    return scoring


def _tree(group: Subtask) -> Grading:
    """What a group earns, also where others are around it."""
    if group.grading is not None:
        return group.grading
    if group.score_type is ScoreType.SUM:
        return each_behind(dict.fromkeys(group.tests, group.points / len(group.tests)), ())
    return Grading(parts=group.tests, accept_score=group.points, points=Points.LEAST, rejected_earns=False)


def _tests(group: Group) -> tuple[str, ...]:
    return tuple(test.name for inner in groups_of(group) for test in inner.tests)


class _Reader:
    def __init__(self, secret: Group, sample: tuple[str, ...]) -> None:
        self._secret, self._sample = secret, sample
        self._full: dict[str, float] = {}  # what each test is worth by its validator's score

    def scoring(self) -> Scoring:
        subtasks = tuple(self._subtasks())
        if self._sample:
            sample = Subtask(name=SAMPLE, points=0.0, tests=self._sample, score_type=ScoreType.SUM)
            subtasks = (sample, *subtasks)
        names = tuple(subtask.name for subtask in subtasks if subtask.name != SAMPLE)
        return Scoring(subtasks=subtasks, secret=names, full=max(self._full.values(), default=1.0))

    @property
    def alike(self) -> bool:
        """Whether what a validator counts is of the same number in all tests."""
        most = max(self._full.values(), default=0.0)
        return all(math.isclose(worth, most) for worth in self._full.values())

    def _subtasks(self) -> Iterator[Subtask]:
        secret, mode = self._secret, self._mode(self._secret, _SUM)
        worth, before = self._worth(secret, _WORTH), self._required(secret, {})
        if not secret.inner or mode == _PASS_FAIL:
            yield self._subtask(secret, mode, worth, before)
            return
        earlier: dict[str, Group] = {}
        found = list[Subtask]()
        for group in secret.inner:
            needed = (*before, *self._required(group, earlier))
            found.append(
                self._subtask(group, self._mode(group, _PASS_FAIL), self._worth(group, None), needed)
            )
            earlier[group.name] = group
        if mode == _LEAST:
            yield self._least(found)
            return
        total = math.fsum(subtask.points for subtask in found)
        if total > worth:
            words = f"its groups are worth {total:g} together"
            secret.fields.fault("max_score", words, f"Set it to that; it is {worth:g}")
        yield from found

    def _subtask(self, group: Group, mode: str, worth: float, before: Sequence[str]) -> Subtask:
        own, name = _tests(group), group.name.removeprefix(f"{SECRET}/")
        names = tuple(dict.fromkeys((*before, *own)))
        if mode != _PASS_FAIL:
            self._full |= dict.fromkeys(own, worth / len(own) if mode == _SUM else worth)
        if mode != _SUM:
            return Subtask(name=name, points=worth, tests=names)
        worths = {test: worth / len(own) for test in own}
        tree = each_behind(worths, before) if before else None
        return Subtask(name=name, points=worth, tests=names, score_type=ScoreType.SUM, grading=tree)

    def _least(self, groups: Sequence[Subtask]) -> Subtask:
        """All groups as one: what the worst of them earns."""
        every = dict.fromkeys(test for group in groups for test in group.tests)
        tree = Grading(
            parts=tuple(map(_tree, groups)),
            points=Points.LEAST,
            acceptance=Acceptance.ALWAYS,
            stops=False,
        )
        return Subtask(
            name=SECRET, points=most(tree), tests=tuple(every), score_type=ScoreType.SUM, grading=tree
        )

    # --- one group's settings, which are not those of the group around it ---------------------------------

    def _mode(self, group: Group, usual: str) -> str:
        if _STATIC in group.own:
            group.fields.fault(_STATIC, "static validators are not run", "Remove it")
        if "score_aggregation" not in group.own:
            return usual
        return group.fields.choice("score_aggregation", _MODES)

    def _worth(self, group: Group, usual: float | None) -> float:
        said = group.fields.values.get("max_score") if "max_score" in group.own else usual
        if isinstance(said, int | float) and not isinstance(said, bool) and 0 <= said < math.inf:
            return float(said)
        words = "missing" if said is None else f"{shown(said)} is not judged"
        group.fields.fault("max_score", words, "Give it a number from 0, such as `max_score: 20`")
        return 1.0

    def _required(self, group: Group, earlier: Mapping[str, Group]) -> tuple[str, ...]:
        """The tests of the groups that are to be passed before."""
        said = group.fields.values.get("require_pass") if "require_pass" in group.own else ()
        found = list[str]()
        for name in [said] if isinstance(said, str) else said if isinstance(said, list) else ():
            if name == SAMPLE:
                found += self._sample
            elif name in earlier and self._mode(earlier[name], _PASS_FAIL) == _PASS_FAIL:
                found += _tests(earlier[name])
            else:
                words = f"{shown(name)} is not an earlier group that is passed or failed"
                group.fields.fault("require_pass", words, nearest(str(name), (SAMPLE, *earlier)))
        return tuple(found)
