"""Internal names that tests of model requests import."""

from __future__ import annotations

from ioi_eval.generate import BudgetTracker, Generations, ModelOptions
from ioi_eval.generate.chat import ChatModel
from ioi_eval.generate.model_requests import GeneratedReply, GenerationFailed, ModelRequest, OutOfBudget

__all__ = [
    "BudgetTracker",
    "ChatModel",
    "GeneratedReply",
    "GenerationFailed",
    "Generations",
    "ModelOptions",
    "ModelRequest",
    "OutOfBudget",
]
