"""Use cases: score a dump, validate solutions, calibrate; the runner, and the journal's one writer.

Values in, typed results out, events on the way. Nothing here prints, parses a command line, takes a signal or
reads the environment. Each use case is an async function; its twin for programs without an event loop has
the same name and `_sync`.
"""

from __future__ import annotations

from ioi_eval.runs.engine import EngineChoice
from ioi_eval.runs.events import (
    EngineStarting,
    EngineStopped,
    Event,
    LimitMeasured,
    Overloaded,
    ReferencesStarted,
    RunFinished,
    RunStarted,
    RunSummary,
    ServersFound,
    SubmissionFailed,
    SubmissionJudged,
)
from ioi_eval.runs.score import ScoredDump, score_dump, score_dump_sync
from ioi_eval.runs.validate import ValidatedSolutions, validate, validate_sync

__all__ = [
    "EngineChoice",
    "EngineStarting",
    "EngineStopped",
    "Event",
    "LimitMeasured",
    "Overloaded",
    "ReferencesStarted",
    "RunFinished",
    "RunStarted",
    "RunSummary",
    "ScoredDump",
    "ServersFound",
    "SubmissionFailed",
    "SubmissionJudged",
    "ValidatedSolutions",
    "score_dump",
    "score_dump_sync",
    "validate",
    "validate_sync",
]
