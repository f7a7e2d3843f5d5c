"""The classic contract: one test per job, for clusters and sandboxes that know nothing else."""

from __future__ import annotations

from ioi_eval.judge.classic import classic_job, run_classic

__all__ = [
    "classic_job",
    "run_classic",
]
