"""Generate programs with models, which are asked over HTTP, or with agents, which are commands.

This package makes prompts, sends requests and writes dumps. `benchmarks` reads dumps and `judge` judges them.
`generate.chat`, which asks models, is not imported here because its import is slow.
"""

from __future__ import annotations

from ioi_eval.generate.agents import SOLUTIONS, Agent, AgentOptions, name_of
from ioi_eval.generate.asks import (
    Ask,
    Author,
    BudgetOptions,
    ModelOptions,
    Prompts,
    Sampling,
    Spending,
    asks_of,
    fingerprint,
    key_of,
)
from ioi_eval.generate.generations import Failed, Generations, Producing, Written

__all__ = [
    "SOLUTIONS",
    "Agent",
    "AgentOptions",
    "Ask",
    "Author",
    "BudgetOptions",
    "Failed",
    "Generations",
    "ModelOptions",
    "Producing",
    "Prompts",
    "Sampling",
    "Spending",
    "Written",
    "asks_of",
    "fingerprint",
    "key_of",
    "name_of",
]
