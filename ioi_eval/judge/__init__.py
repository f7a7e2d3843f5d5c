"""Judges submissions: plans and executes jobs, reads their results and scores them."""

from __future__ import annotations

from ioi_eval.judge.classic import classic_job
from ioi_eval.judge.judge import Judge
from ioi_eval.model.options import CheckerLimits, JudgeOptions, ManagerLimits

__all__ = [
    "CheckerLimits",
    "Judge",
    "JudgeOptions",
    "ManagerLimits",
    "classic_job",
]
