"""ioi_eval scores programs that models wrote for olympiad and contest problems.

    async with Scorer(engine) as scorer:
        result = await scorer.score(problem, submission)

Everything here is public; whatever else a module defines may change.
"""

from __future__ import annotations

from ioi_eval.engines import Engine
from ioi_eval.engines.embedded import EmbeddedEngine
from ioi_eval.engines.fake import FakeEngine
from ioi_eval.errors import EngineError, InputError, IoiEvalError, JudgeFailure
from ioi_eval.judge import JudgeOptions, Scorer, score_sync
from ioi_eval.models import (
    Problem,
    Submission,
    SubmissionResult,
    SubtaskResult,
    TestResult,
    Verdict,
)
from ioi_eval.problems import Problems, load_problems
from ioi_eval.store import Store

__all__ = [
    "EmbeddedEngine",
    "Engine",
    "EngineError",
    "FakeEngine",
    "InputError",
    "IoiEvalError",
    "JudgeFailure",
    "JudgeOptions",
    "Problem",
    "Problems",
    "Scorer",
    "Store",
    "Submission",
    "SubmissionResult",
    "SubtaskResult",
    "TestResult",
    "Verdict",
    "load_problems",
    "score_sync",
]
