"""Token and money budgets."""

from __future__ import annotations

import pytest
from support.model_requests import OutOfBudget

from ioi_eval.generate import BudgetOptions, BudgetTracker

USAGE = {"prompt_tokens": 1000, "completion_tokens": 500}


def test_budget_without_limits_is_never_exceeded() -> None:
    budget = BudgetTracker()
    assert budget.add_usage_and_get_cost({"prompt_tokens": 10**12}) is None
    budget.check_budget()
    assert budget.used_tokens == 10**12


def test_token_budget_is_enforced() -> None:
    budget = BudgetTracker(BudgetOptions(tokens=1500))
    budget.check_budget()
    budget.add_usage_and_get_cost({**USAGE, "completion_tokens": 499})
    budget.check_budget()
    budget.add_usage_and_get_cost({"completion_tokens": 1})
    with pytest.raises(OutOfBudget, match="1500 tokens"):
        budget.check_budget()


def test_money_budget_is_enforced() -> None:
    budget = BudgetTracker(BudgetOptions(money=0.004, input_price=1.0, output_price=2.0))
    assert budget.add_usage_and_get_cost(USAGE) == pytest.approx(0.002)
    budget.check_budget()
    budget.add_usage_and_get_cost(USAGE)
    with pytest.raises(OutOfBudget, match=r"0\.004"):
        budget.check_budget()


def test_float_token_counts_are_accepted() -> None:
    usage = {"prompt_tokens": 1000.0, "completion_tokens": 500.0}
    budget = BudgetTracker(BudgetOptions(tokens=1500, output_price=2.0))
    assert budget.add_missing_usage(usage, prompt_characters=30, reply_characters=3) == usage
    assert budget.add_usage_and_get_cost(usage) == pytest.approx(0.001) and budget.used_tokens == 1500


def test_output_price_alone_gives_cost() -> None:
    assert BudgetTracker(BudgetOptions(output_price=2.0)).add_usage_and_get_cost(USAGE) == pytest.approx(
        0.001
    )


@pytest.mark.parametrize(
    "usage",
    [
        {},
        {"prompt_tokens": None},
        {"prompt_tokens": "7"},
        {"prompt_tokens": -5},
        {"prompt_tokens": float("nan")},
    ],
)
def test_malformed_usage_counts_no_tokens(usage: dict[str, object]) -> None:
    budget = BudgetTracker(BudgetOptions(tokens=1))
    budget.add_usage_and_get_cost(usage)
    assert budget.used_tokens == 0


def test_missing_usage_is_estimated_under_token_budget() -> None:
    assert BudgetTracker().add_missing_usage({}, prompt_characters=30, reply_characters=3) == {}
    limited = BudgetTracker(BudgetOptions(tokens=1))
    assert limited.add_missing_usage(USAGE, prompt_characters=30, reply_characters=3) == USAGE
    usage = limited.add_missing_usage({"cached": 1}, prompt_characters=31, reply_characters=3)
    assert usage == {"cached": 1, "prompt_tokens": 11, "completion_tokens": 1, "estimated": True}
    half = limited.add_missing_usage({"prompt_tokens": 7}, prompt_characters=31, reply_characters=3)
    assert half == {"prompt_tokens": 7, "completion_tokens": 1, "estimated": True}
    empty = {"prompt_tokens": 7, "completion_tokens": 0}
    assert limited.add_missing_usage(empty, prompt_characters=31, reply_characters=0) == empty


def test_missing_usage_is_estimated_if_prices_are_set() -> None:
    priced = BudgetTracker(BudgetOptions(input_price=1.0, output_price=2.0))
    usage = priced.add_missing_usage({}, prompt_characters=30, reply_characters=3)
    assert usage["estimated"] and priced.add_usage_and_get_cost(usage) == pytest.approx(12e-6)
