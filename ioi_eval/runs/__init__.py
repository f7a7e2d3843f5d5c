"""Use cases: score_dump, validate, run, calibrate, report. Only this package writes the folders of runs.

Values in, typed results out, events on the way. Nothing here prints, parses a command line, takes a signal or
reads the environment. Each use case is an async function; its twin for programs without an event loop has
the same name and `_sync`. The exported names are public. Names are loaded when they are first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ioi_eval.model.lazy import make_lazy_accessors

if TYPE_CHECKING:
    from ioi_eval.benchmarks import BenchmarkOptions, DumpOptions, Selection
    from ioi_eval.engines.contract import JobsWait, ServerChanged
    from ioi_eval.engines.registry import EngineChoice
    from ioi_eval.generate import AgentOptions, BudgetOptions, ModelOptions, Sampling
    from ioi_eval.reports import ReportOptions
    from ioi_eval.rules.extraction import CodeRepairs, Extraction
    from ioi_eval.rules.shards import Shard
    from ioi_eval.runs.authors import Asking, GeneratedRun, run, run_sync
    from ioi_eval.runs.events import (
        DistanceMeasured,
        EngineStarting,
        EngineStopped,
        Event,
        JudgedAgain,
        LimitMeasured,
        Overloaded,
        ReferencesStarted,
        ReportFinished,
        ReportProgress,
        ReportStarted,
        ResultChange,
        RowsRead,
        RowsUnderstood,
        RunFinished,
        RunReported,
        RunStarted,
        RunSummary,
        ServersFound,
        ServersNow,
        SubmissionFailed,
        SubmissionJudged,
        SubmissionsNow,
        progress,
    )
    from ioi_eval.runs.folders import WrittenReports, report, report_sync
    from ioi_eval.runs.references import ReferenceOptions
    from ioi_eval.runs.score import Forecast, ScoredDump, forecast_dump, score_dump, score_dump_sync
    from ioi_eval.runs.solutions import ValidatedSolutions, calibrate, calibrate_sync, validate, validate_sync
    from ioi_eval.runs.work import RunOptions, Timing
else:
    __getattr__, __dir__ = make_lazy_accessors(
        __name__,
        {
            "benchmarks": "BenchmarkOptions DumpOptions Selection",
            "engines.contract": "JobsWait ServerChanged",
            "engines.registry": "EngineChoice",
            "generate": "AgentOptions BudgetOptions ModelOptions Sampling",
            "reports": "ReportOptions",
            "rules.extraction": "CodeRepairs Extraction",
            "rules.shards": "Shard",
            "runs.authors": "Asking GeneratedRun run run_sync",
            "runs.events": "ResultChange DistanceMeasured EngineStarting EngineStopped Event JudgedAgain "
            "LimitMeasured Overloaded ReferencesStarted ReportFinished ReportProgress ReportStarted RowsRead "
            "RowsUnderstood RunFinished RunReported RunStarted RunSummary ServersFound ServersNow "
            "SubmissionFailed SubmissionJudged SubmissionsNow progress",
            "runs.folders": "WrittenReports report report_sync",
            "runs.references": "ReferenceOptions",
            "runs.score": "Forecast ScoredDump forecast_dump score_dump score_dump_sync",
            "runs.solutions": "ValidatedSolutions calibrate calibrate_sync validate validate_sync",
            "runs.work": "RunOptions Timing",
        },
    )

__all__ = [
    "AgentOptions",
    "Asking",
    "BenchmarkOptions",
    "BudgetOptions",
    "CodeRepairs",
    "DistanceMeasured",
    "DumpOptions",
    "EngineChoice",
    "EngineStarting",
    "EngineStopped",
    "Event",
    "Extraction",
    "Forecast",
    "GeneratedRun",
    "JobsWait",
    "JudgedAgain",
    "LimitMeasured",
    "ModelOptions",
    "Overloaded",
    "ReferenceOptions",
    "ReferencesStarted",
    "ReportFinished",
    "ReportOptions",
    "ReportProgress",
    "ReportStarted",
    "ResultChange",
    "RowsRead",
    "RowsUnderstood",
    "RunFinished",
    "RunOptions",
    "RunReported",
    "RunStarted",
    "RunSummary",
    "Sampling",
    "ScoredDump",
    "Selection",
    "ServerChanged",
    "ServersFound",
    "ServersNow",
    "Shard",
    "SubmissionFailed",
    "SubmissionJudged",
    "SubmissionsNow",
    "Timing",
    "ValidatedSolutions",
    "WrittenReports",
    "calibrate",
    "calibrate_sync",
    "forecast_dump",
    "progress",
    "report",
    "report_sync",
    "run",
    "run_sync",
    "score_dump",
    "score_dump_sync",
    "validate",
    "validate_sync",
]
