"""The part of `ioi-eval run` by which a model or an agent submits several programs for a problem."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any

from ioi_eval.generate import AgentOptions, ModelOptions
from ioi_eval.generate.turns import Feedback, Turns
from ioi_eval.plugins.contest.hosting import ContestOutcome, compete
from ioi_eval.plugins.contest.rules import Rules


def in_turns(
    author: ModelOptions | AgentOptions, turns: Turns, feedback: Feedback
) -> Callable[..., Coroutine[Any, Any, ContestOutcome]]:
    """Return a function that calls `compete` with the rules and turns of a model or an agent.

    A model writes a program in each turn. An agent submits programs over MCP.
    """
    if not isinstance(author, AgentOptions):
        rules = Rules(feedback=feedback, submissions=None)
        return partial(compete, author=author, turns=turns, rules=rules)
    from ioi_eval.plugins.contest import mcp  # imported here, because the package `mcp` may be missing

    rules = Rules(feedback=feedback, submissions=turns.number)
    return partial(compete, author=author, turns=turns, rules=rules, serving=mcp.serving)
