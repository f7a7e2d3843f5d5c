"""Generate programs with models, which are asked over HTTP, or with agents, which are commands.

This package makes prompts, sends requests and writes dumps. `benchmarks` reads dumps and `judge` judges them.
`generate.chat`, which asks models, is not imported here because its import is slow.
"""

from __future__ import annotations

from ioi_eval.generate.agents import SOLUTIONS, Agent, AgentOptions, read_command_name
from ioi_eval.generate.generations import FailedRequestEvent, Generations, RequestRunner, StoredReplyEvent
from ioi_eval.generate.model_requests import (
    Author,
    BudgetOptions,
    BudgetTracker,
    ModelOptions,
    ModelRequest,
    Prompts,
    Sampling,
    fingerprint,
    make_requests,
    sample_key,
)

__all__ = [
    "SOLUTIONS",
    "Agent",
    "AgentOptions",
    "Author",
    "BudgetOptions",
    "BudgetTracker",
    "FailedRequestEvent",
    "Generations",
    "ModelOptions",
    "ModelRequest",
    "Prompts",
    "RequestRunner",
    "Sampling",
    "StoredReplyEvent",
    "fingerprint",
    "make_requests",
    "read_command_name",
    "sample_key",
]
