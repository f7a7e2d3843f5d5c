"""What may be spent on a dump, in tokens or in money, in as many calls as it takes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ioi_eval.generate.asking import OutOfBudget
from ioi_eval.models import Value

_MILLION = 1_000_000
_CHARACTERS = 3  # of a token, at least, where a server does not say how many there were
_GIVEN, _WRITTEN = "prompt_tokens", "completion_tokens"


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

    def usage(self, said: Mapping[str, Any], *, given: int, written: int) -> Mapping[str, Any]:
        """What a server says of a reply. Under a limit, what it does not say is estimated, and marked."""
        limited = (self._options.tokens, self._options.money) != (None, None)
        if not limited or _count(said, _GIVEN) + _count(said, _WRITTEN):
            return said
        tokens = {_GIVEN: -(-given // _CHARACTERS), _WRITTEN: -(-written // _CHARACTERS)}
        return {**said, **tokens, "estimated": True}

    def spend(self, usage: Mapping[str, Any]) -> float | None:
        """Counts it; returns its cost, where prices are known."""
        given, written = _count(usage, _GIVEN), _count(usage, _WRITTEN)
        self.tokens += given + written
        prices = self._options.input_price, self._options.output_price
        if prices == (None, None):
            return None
        cost = (given * (prices[0] or 0) + written * (prices[1] or 0)) / _MILLION
        self.money += cost
        return cost


def _count(usage: Mapping[str, Any], name: str) -> int:
    value = usage.get(name)
    return max(value, 0) if isinstance(value, int) else 0
