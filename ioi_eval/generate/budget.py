"""What may be spent on a dump, in tokens or in money, in as many calls as it takes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ioi_eval.generate.asking import OutOfBudget
from ioi_eval.models import Value

_MILLION = 1_000_000


class BudgetOptions(Value):
    """None: no limit. Prices are for a million tokens, in any currency."""

    tokens: int | None = None
    money: float | None = None
    input_price: float | None = None
    output_price: float | None = None


class Budget:
    """Counts. What is under way when it is used up is still paid for: it may be exceeded by that much."""

    def __init__(self, options: BudgetOptions | None = None) -> None:
        self._options = options or BudgetOptions()
        self.tokens, self.money = 0, 0.0

    def check(self) -> None:
        """Before a request. Raises OutOfBudget."""
        limit = self._options
        if limit.tokens is not None and self.tokens >= limit.tokens:
            raise OutOfBudget(f"the budget of {limit.tokens} tokens is used up ({self.tokens})")
        if limit.money is not None and self.money >= limit.money:
            raise OutOfBudget(f"the budget of {limit.money:g} is used up ({self.money:.4g})")

    def spend(self, usage: Mapping[str, Any]) -> float | None:
        """What a reply used; its cost, where prices are known."""
        given, written = _count(usage, "prompt_tokens"), _count(usage, "completion_tokens")
        cost = self.cost(usage)
        self.tokens += given + written
        self.money += cost or 0.0
        return cost

    def cost(self, usage: Mapping[str, Any]) -> float | None:
        prices = self._options.input_price, self._options.output_price
        if prices == (None, None):
            return None
        given, written = _count(usage, "prompt_tokens"), _count(usage, "completion_tokens")
        return (given * (prices[0] or 0) + written * (prices[1] or 0)) / _MILLION


def _count(usage: Mapping[str, Any], name: str) -> int:
    value = usage.get(name)
    return value if isinstance(value, int) else 0
