"""The classic path: one test per job, scripts of the classic contract, scores on standard output."""

from __future__ import annotations

from ioi_eval.judge.classic.job import classic_job, run_classic

__all__ = ["classic_job", "run_classic"]
