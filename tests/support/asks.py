"""Asking models: a question, an answer, a budget."""

from __future__ import annotations

from ioi_eval.generate import Budget, ChatModel, Generations, ModelOptions
from ioi_eval.generate.asks import Ask, GenerationFailed, OutOfBudget, Text

__all__ = [
    "Ask",
    "Budget",
    "ChatModel",
    "GenerationFailed",
    "Generations",
    "ModelOptions",
    "OutOfBudget",
    "Text",
]
