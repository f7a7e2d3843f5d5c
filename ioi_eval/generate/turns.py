"""Options for models that submit several programs for a problem, with feedback after each."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

from ioi_eval.model.options import CliOption, Count
from ioi_eval.model.values import Value


class Feedback(StrEnum):
    """The part of a result that a participant receives during the contest."""

    FULL = "full"  # show the points of each subtask, and the verdict of its first failing test
    POINTS = "points"  # show the points of the submission
    VERDICT = "verdict"  # show the verdict of the submission
    NONE = "none"  # show only whether the submission compiles


FeedbackChoice = Annotated[
    Feedback, CliOption(help="Part of each result that the participant receives as feedback.")
]


class TurnRules(Value):
    """The rules for the submissions of a run with several attempts."""

    feedback: FeedbackChoice = Feedback.FULL


class Turns(Value):
    """The number of programs that a model may submit for a problem, and the messages between them."""

    number: Annotated[
        Count,
        CliOption(
            name="turns",
            metavar="N",
            help="Maximum number of programs that a model or an agent may"
            " submit to a problem, with feedback after each.",
        ),
    ] = 10
    template: Annotated[
        str,  # path of a file with a Jinja template; empty means the built-in template
        CliOption(
            name="feedback_prompt",
            metavar="PATH",
            help="Template of the message that a model receives after a submission.",
            unset="the built-in template",
            key_only=True,
        ),
    ] = ""
