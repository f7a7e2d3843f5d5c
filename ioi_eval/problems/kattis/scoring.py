"""The result of reading how a problem is scored."""

from __future__ import annotations

from collections.abc import Mapping

from ioi_eval.model.values import Subtask, Value


class Scoring(Value):
    """A problem's subtasks, and the scores that its validator writes for full points."""

    subtasks: tuple[Subtask, ...] = ()
    secret: tuple[str, ...] = ()  # names of the subtasks that do not consist of samples
    # Score in score.txt that means full points. RAW_POINTS means that each score is a number of points.
    full: float = 1.0
    # Scores that mean full points, by test, for tests whose score differs from `full`.
    own_full: Mapping[str, float] = {}
