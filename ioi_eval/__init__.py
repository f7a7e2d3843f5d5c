"""ioi_eval scores programs that models wrote for olympiad problems: exactly, and never with a guess.

    from ioi_eval import EmbeddedEngine, Scorer, Store, Submission, load_problems, private_folder

    store = Store(private_folder(), limit=4 << 30)
    problem = load_problems("examples/problems", cache=store.root)["lanterns"]
    submission = Submission(key="1", problem_id=problem.id, code=source)
    async with Scorer(EmbeddedEngine(store=store), store=store) as scorer:
        result = await scorer.score(problem, submission)

What this module exports is public; everything else may change. Names are loaded when they are first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ioi_eval.artifacts import BuildLimits, BuildOptions, CheckerBroken, ManagerBroken, ProgramBroken
    from ioi_eval.engines import Engine
    from ioi_eval.engines.embedded import EmbeddedEngine
    from ioi_eval.engines.fake import Broken, FakeEngine, FakeTest, Fatal, Killed
    from ioi_eval.engines.piston import PistonEngine
    from ioi_eval.engines.piston.discovery import discovery
    from ioi_eval.errors import (
        AttemptsUsedUp,
        BrokenReply,
        EngineError,
        EngineOverloaded,
        EngineUnavailable,
        InputError,
        IoiEvalError,
        JobRejected,
        JobTooLarge,
        JudgeFailure,
    )
    from ioi_eval.judge import (
        CheckerLimits,
        Judge,
        JudgeOptions,
        ManagerLimits,
        Scorer,
        classic_job,
        run_classic,
        score_sync,
    )
    from ioi_eval.models import (
        Blob,
        Checker,
        CheckerKind,
        Job,
        JobFile,
        JobResult,
        Limits,
        Manager,
        NamedBlob,
        Problem,
        Profile,
        ScoreType,
        Solution,
        Stage,
        StageStatus,
        Submission,
        SubmissionResult,
        Subtask,
        SubtaskResult,
        TaskOptions,
        TaskType,
        Test,
        TestResult,
        Toolchain,
        Verdict,
    )
    from ioi_eval.problems import load_problems
    from ioi_eval.reports import Results
    from ioi_eval.store import Store, private_folder

__all__ = [
    "AttemptsUsedUp",
    "Blob",
    "Broken",
    "BrokenReply",
    "BuildLimits",
    "BuildOptions",
    "Checker",
    "CheckerBroken",
    "CheckerKind",
    "CheckerLimits",
    "EmbeddedEngine",
    "Engine",
    "EngineError",
    "EngineOverloaded",
    "EngineUnavailable",
    "FakeEngine",
    "FakeTest",
    "Fatal",
    "InputError",
    "IoiEvalError",
    "Job",
    "JobFile",
    "JobRejected",
    "JobResult",
    "JobTooLarge",
    "Judge",
    "JudgeFailure",
    "JudgeOptions",
    "Killed",
    "Limits",
    "Manager",
    "ManagerBroken",
    "ManagerLimits",
    "NamedBlob",
    "PistonEngine",
    "Problem",
    "Profile",
    "ProgramBroken",
    "Results",
    "ScoreType",
    "Scorer",
    "Solution",
    "Stage",
    "StageStatus",
    "Store",
    "Submission",
    "SubmissionResult",
    "Subtask",
    "SubtaskResult",
    "TaskOptions",
    "TaskType",
    "Test",
    "TestResult",
    "Toolchain",
    "Verdict",
    "classic_job",
    "discovery",
    "load_problems",
    "private_folder",
    "run_classic",
    "score_sync",
]


def __getattr__(name: str) -> Any:
    """Loads what `__all__` names from the module that has it."""
    if name not in __all__:
        raise AttributeError(f"module 'ioi_eval' has no attribute {name!r}")
    for module in _MODULES:
        found = getattr(import_module(f"ioi_eval.{module}"), name, None)
        if found is not None:
            return found
    raise AssertionError(f"{name} is public and in no module")


def __dir__() -> list[str]:
    return sorted(__all__)


# In this order: what is cheap to load first.
_MODULES = (
    "errors",
    "models",
    "store",
    "engines",
    "engines.fake",
    "artifacts",
    "judge",
    "problems",
    "engines.embedded",
    "reports",
    "engines.piston.discovery",
    "engines.piston",
)
