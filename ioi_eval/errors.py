"""The exceptions of the package. All are subclasses of `IoiEvalError`."""

from __future__ import annotations

from ioi_eval.model.errors import (
    AttemptsUsedUp,
    BadRows,
    BrokenReply,
    CheckerBroken,
    EngineError,
    EngineOverloaded,
    EngineUnavailable,
    ExtraMissing,
    FailedRequest,
    InputError,
    InterpreterRefused,
    IoiEvalError,
    JobRejected,
    JobTooLarge,
    JudgeFailure,
    ManagerBroken,
    MissingColumn,
    ModuleMissing,
    ProgramBroken,
    ServerReplaced,
    ToolchainGone,
)
from ioi_eval.rules.json_tests import CasesError

__all__ = [
    "AttemptsUsedUp",
    "BadRows",
    "BrokenReply",
    "CasesError",
    "CheckerBroken",
    "EngineError",
    "EngineOverloaded",
    "EngineUnavailable",
    "ExtraMissing",
    "FailedRequest",
    "InputError",
    "InterpreterRefused",
    "IoiEvalError",
    "JobRejected",
    "JobTooLarge",
    "JudgeFailure",
    "ManagerBroken",
    "MissingColumn",
    "ModuleMissing",
    "ProgramBroken",
    "ServerReplaced",
    "ToolchainGone",
]
