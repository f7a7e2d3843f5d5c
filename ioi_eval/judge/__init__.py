"""What a submission is worth: jobs planned, executed, read and scored."""

from __future__ import annotations

from ioi_eval.judge.classic import classic_job, run_classic
from ioi_eval.judge.judge import Judge, Scorer, score_sync
from ioi_eval.model.options import CheckerLimits, JudgeOptions, ManagerLimits

__all__ = [
    "CheckerLimits",
    "Judge",
    "JudgeOptions",
    "ManagerLimits",
    "Scorer",
    "classic_job",
    "run_classic",
    "score_sync",
]
