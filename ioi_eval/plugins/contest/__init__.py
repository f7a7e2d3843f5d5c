"""Contests for programs: problems with rules, and a session for each participant.

Participants read statements, run programs on their inputs and on the samples, submit programs, and get the
feedback that the rules allow. `open_contest` stores a contest in a run's folder. `Contest` itself opens no
file.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ioi_eval.model.lazy import make_lazy_accessors

if TYPE_CHECKING:
    from ioi_eval.generate.turns import Feedback, Turns
    from ioi_eval.plugins.contest.contest import MAX_PART_LENGTH, Contest, Record, Session
    from ioi_eval.plugins.contest.hosting import ContestOutcome, compete, open_contest
    from ioi_eval.plugins.contest.rules import (
        CallInProgress,
        CutText,
        ProblemList,
        ProblemState,
        RefusedCall,
        Rules,
        RunReply,
        Sample,
        SampleResult,
        SamplesReply,
        ScoreboardRow,
        Standing,
        Statement,
        SubmissionReply,
        SubtaskFeedback,
        TextPart,
        UnjudgedCall,
        as_markdown,
    )
else:
    # These names are imported when they are first used: a task of inspect_ai imports this package and may
    # never run.
    __getattr__, __dir__ = make_lazy_accessors(
        __name__,
        {
            "generate.turns": "Feedback Turns",
            "plugins.contest.contest": "MAX_PART_LENGTH Contest Record Session",
            "plugins.contest.hosting": "ContestOutcome compete open_contest",
            "plugins.contest.rules": "CallInProgress CutText ProblemList ProblemState RefusedCall Rules"
            " RunReply Sample SampleResult SamplesReply ScoreboardRow Standing Statement SubmissionReply"
            " SubtaskFeedback TextPart UnjudgedCall as_markdown",
        },
    )

__all__ = [
    "MAX_PART_LENGTH",
    "CallInProgress",
    "Contest",
    "ContestOutcome",
    "CutText",
    "Feedback",
    "ProblemList",
    "ProblemState",
    "Record",
    "RefusedCall",
    "Rules",
    "RunReply",
    "Sample",
    "SampleResult",
    "SamplesReply",
    "ScoreboardRow",
    "Session",
    "Standing",
    "Statement",
    "SubmissionReply",
    "SubtaskFeedback",
    "TextPart",
    "Turns",
    "UnjudgedCall",
    "as_markdown",
    "compete",
    "open_contest",
]
