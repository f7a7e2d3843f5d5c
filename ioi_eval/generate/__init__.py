"""Programs from models: asked for over HTTP, or left by agents that are programs themselves.

Here: prompts, whoever is asked, and the dump that is written. Not here: reading a dump (`benchmarks`),
judging (`judge`), what the command line says of either (`cli`). `generate.chat` asks models; it is not
loaded here, for it takes as long to load as all the rest.
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
