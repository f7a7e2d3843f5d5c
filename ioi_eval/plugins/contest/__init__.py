"""A contest that programs take part in: problems under rules, a session for each participant.

Participants read statements, run programs on inputs of their own, try the samples, submit, and learn what
the rules tell them. `open_contest` keeps everything in a run's folder; `Contest` itself opens no file.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ioi_eval.model.lazy import shown_in

if TYPE_CHECKING:
    from ioi_eval.generate.turns import Feedback, Turns
    from ioi_eval.plugins.contest.contest import PIECE, Contest, Record, Session
    from ioi_eval.plugins.contest.hosting import Competed, compete, open_contest
    from ioi_eval.plugins.contest.rules import (
        CutText,
        InProgress,
        NotJudged,
        Part,
        Piece,
        Place,
        ProblemList,
        ProblemState,
        Ran,
        Refused,
        Rules,
        Sample,
        Standing,
        Statement,
        Submitted,
        Tested,
        TestedSample,
        as_markdown,
    )
else:
    # Loaded when they are first used: a task of inspect_ai imports this package and may never run.
    __getattr__, __dir__ = shown_in(
        __name__,
        {
            "generate.turns": "Feedback Turns",
            "plugins.contest.contest": "PIECE Contest Record Session",
            "plugins.contest.hosting": "Competed compete open_contest",
            "plugins.contest.rules": "CutText InProgress NotJudged Part Piece Place ProblemList ProblemState"
            " Ran Refused Rules Sample Standing Statement Submitted Tested TestedSample as_markdown",
        },
    )

__all__ = [
    "PIECE",
    "Competed",
    "Contest",
    "CutText",
    "Feedback",
    "InProgress",
    "NotJudged",
    "Part",
    "Piece",
    "Place",
    "ProblemList",
    "ProblemState",
    "Ran",
    "Record",
    "Refused",
    "Rules",
    "Sample",
    "Session",
    "Standing",
    "Statement",
    "Submitted",
    "Tested",
    "TestedSample",
    "Turns",
    "as_markdown",
    "compete",
    "open_contest",
]
