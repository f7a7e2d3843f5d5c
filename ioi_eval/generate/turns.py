"""Options of programs that a model writes in several turns, with feedback in between."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

from ioi_eval.model.options import CliOption, Count
from ioi_eval.model.values import Value


class Feedback(StrEnum):
    """The part of a result that participants learn before the end."""

    FULL = "full"  # the points of each subtask, and the verdict of its first failing test
    POINTS = "points"  # the submission's points
    VERDICT = "verdict"  # its verdict
    NONE = "none"  # that it compiles


FeedbackChoice = Annotated[Feedback, CliOption(help="The part of a result that its participant is told.")]


class TurnRules(Value):
    """The rules of the contest that the turns of a run are."""

    feedback: FeedbackChoice = Feedback.FULL


class Turns(Value):
    """The number of programs that a model may submit for a problem, and the words between them."""

    number: Annotated[
        Count,
        CliOption(
            name="turns",
            metavar="N",
            help="Programs that a model or an agent may submit for a problem, with feedback in between.",
        ),
    ] = 10
    template: Annotated[
        str,  # a file in Jinja; empty: ours
        CliOption(
            name="feedback_prompt",
            metavar="PATH",
            help="The template of the message after a submission.",
            unset="ours",
        ),
    ] = ""
