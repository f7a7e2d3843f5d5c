"""Programs from models: asked for over HTTP, or left by agents that are programs themselves."""

from __future__ import annotations

from ioi_eval.generate.agents import SOLUTIONS, Agent, AgentOptions, name_of
from ioi_eval.generate.asking import Ask, Author, asks_of, fingerprint, key_of
from ioi_eval.generate.budget import Budget, BudgetOptions
from ioi_eval.generate.chat import ChatModel, ModelOptions, Sampling, check_model
from ioi_eval.generate.keeping import Generations
from ioi_eval.generate.producing import Failed, Producing, Written
from ioi_eval.generate.prompts import Prompts

__all__ = [
    "SOLUTIONS",
    "Agent",
    "AgentOptions",
    "Ask",
    "Author",
    "Budget",
    "BudgetOptions",
    "ChatModel",
    "Failed",
    "Generations",
    "ModelOptions",
    "Producing",
    "Prompts",
    "Sampling",
    "Written",
    "asks_of",
    "check_model",
    "fingerprint",
    "key_of",
    "name_of",
]
