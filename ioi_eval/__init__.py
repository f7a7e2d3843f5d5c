"""ioi_eval scores programs that language models wrote for olympiad problems.

    from ioi_eval import Scorer, Submission, load_problems

    problem = load_problems("examples/problems")["lanterns"]
    async with Scorer() as scorer:
        submission = Submission(key="1", problem_id=problem.id, code=source, language="c++")
        result = await scorer.score(problem, submission)

What this module exports is public, and so are `ioi_eval.models`, `ioi_eval.errors`, `ioi_eval.runs`,
`ioi_eval.scoring`, `ioi_eval.sources`, `ioi_eval.engines`, `ioi_eval.testing`, `ioi_eval.classic` and
`ioi_eval.integrations`; everything else may change.
Names are loaded when they are first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ioi_eval.engines import Engine
    from ioi_eval.engines.embedded import EmbeddedEngine
    from ioi_eval.engines.piston import PistonEngine
    from ioi_eval.engines.piston.discovery import discovery
    from ioi_eval.model.errors import EngineError, InputError, IoiEvalError, JudgeFailure
    from ioi_eval.model.options import JudgeOptions
    from ioi_eval.model.values import (
        Limits,
        Problem,
        Submission,
        SubmissionResult,
        SubtaskResult,
        Test,
        TestResult,
        Verdict,
    )
    from ioi_eval.reports import Results
    from ioi_eval.runs import (
        report,
        report_sync,
        run,
        run_sync,
        score_dump,
        score_dump_sync,
        validate,
        validate_sync,
    )
    from ioi_eval.runs.scorer import Scorer, score_sync
    from ioi_eval.runs.sources import load_problems
    from ioi_eval.store import Store, private_folder

__all__ = [
    "EmbeddedEngine",
    "Engine",
    "EngineError",
    "InputError",
    "IoiEvalError",
    "JudgeFailure",
    "JudgeOptions",
    "Limits",
    "PistonEngine",
    "Problem",
    "Results",
    "Scorer",
    "Store",
    "Submission",
    "SubmissionResult",
    "SubtaskResult",
    "Test",
    "TestResult",
    "Verdict",
    "discovery",
    "load_problems",
    "private_folder",
    "report",
    "report_sync",
    "run",
    "run_sync",
    "score_dump",
    "score_dump_sync",
    "score_sync",
    "validate",
    "validate_sync",
]

_PLACES = {
    "EmbeddedEngine": "engines.embedded",
    "Engine": "engines",
    "EngineError": "model.errors",
    "InputError": "model.errors",
    "IoiEvalError": "model.errors",
    "JudgeFailure": "model.errors",
    "JudgeOptions": "model.options",
    "Limits": "model.values",
    "PistonEngine": "engines.piston",
    "Problem": "model.values",
    "Results": "reports",
    "Scorer": "runs.scorer",
    "Store": "store",
    "Submission": "model.values",
    "SubmissionResult": "model.values",
    "SubtaskResult": "model.values",
    "Test": "model.values",
    "TestResult": "model.values",
    "Verdict": "model.values",
    "discovery": "engines.piston.discovery",
    "load_problems": "runs.sources",
    "private_folder": "store",
    "report": "runs",
    "report_sync": "runs",
    "run": "runs",
    "run_sync": "runs",
    "score_dump": "runs",
    "score_dump_sync": "runs",
    "score_sync": "runs.scorer",
    "validate": "runs",
    "validate_sync": "runs",
}


def __getattr__(name: str) -> Any:
    """Load a public name from the module that has it."""
    if name not in _PLACES:
        raise AttributeError(f"module 'ioi_eval' has no attribute {name!r}")
    return getattr(import_module(f"ioi_eval.{_PLACES[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
