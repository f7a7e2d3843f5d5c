"""The result of reading how a problem is scored."""

from __future__ import annotations

from collections.abc import Mapping

from ioi_eval.model.values import Subtask, Value


class Scoring(Value):
    """A problem's subtasks, and the scores that its validator writes for full points."""

    subtasks: tuple[Subtask, ...] = ()
    secret: tuple[str, ...] = ()  # names of the subtasks of secret tests
    # The validator's score for full points. RAW_POINTS means that its scores are points.
    full: float = 1.0
    # The validator's scores for full points, by name of test, if they differ from `full`.
    own_full: Mapping[str, float] = {}
