"""Asking models: a question, an answer, a budget."""

from __future__ import annotations

from ioi_eval.generate import Generations, ModelOptions, Spending
from ioi_eval.generate.asks import Ask, GenerationFailed, OutOfBudget, Text
from ioi_eval.generate.chat import ChatModel

__all__ = [
    "Ask",
    "ChatModel",
    "GenerationFailed",
    "Generations",
    "ModelOptions",
    "OutOfBudget",
    "Spending",
    "Text",
]
