"""The difference of two models. Its interval follows the sign-flip test, so that both agree."""

from __future__ import annotations

import itertools
import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ioi_eval.rules.paired import MIN_PROBLEMS, Ranking, compute_mean_difference

SHARES = st.integers(-20, 20).map(lambda twentieth: twentieth / 20)


def chance(values: list[float], shift: float = 0.0) -> float:
    """Return the share of all sign choices whose sum is as large or larger, by brute force."""
    moved = [value - shift for value in values]
    signs = itertools.product((1, -1), repeat=len(moved))
    sums = [abs(math.fsum(a * b for a, b in zip(moved, chosen, strict=True))) for chosen in signs]
    return sum(signed_sum >= abs(math.fsum(moved)) - 1e-9 for signed_sum in sums) / len(sums)


@given(st.lists(SHARES, min_size=MIN_PROBLEMS, max_size=9))
def test_interval_of_few_problems_excludes_zero_if_difference_is_significant(
    values: list[float],
) -> None:
    difference = compute_mean_difference(values)
    assert difference.low is not None and difference.high is not None
    assert (difference.sign == 0) == (chance(values) > 0.05)
    assert difference.sign in (0, math.copysign(1, sum(values)))


@given(st.lists(SHARES, min_size=MIN_PROBLEMS, max_size=9))
def test_values_outside_interval_are_rejected_by_permutation_test(values: list[float]) -> None:
    difference = compute_mean_difference(values)
    assert difference.low is not None and difference.high is not None
    assert chance(values, difference.low) > 0.05 and chance(values, difference.high) > 0.05
    assert chance(values, difference.low - 1e-6) <= 0.05 and chance(values, difference.high + 1e-6) <= 0.05


@given(st.lists(SHARES, max_size=60))
def test_difference_is_antisymmetric(values: list[float]) -> None:
    forward, other = compute_mean_difference(values), compute_mean_difference([-value for value in values])
    assert forward.sign == -other.sign
    if forward.low is not None and forward.high is not None and forward.mean is not None:
        assert forward.low <= forward.mean <= forward.high
        assert (other.low, other.high) == (pytest.approx(-forward.high), pytest.approx(-forward.low))


@pytest.mark.parametrize("number", [0, 1, 5])
def test_fewer_than_six_problems_have_no_interval(number: int) -> None:
    difference = compute_mean_difference([1.0] * number)
    assert (difference.low, difference.high, difference.sign) == (None, None, 0)
    assert difference.mean == (1.0 if number else None)


def test_six_differences_of_one_sign_are_significant() -> None:
    difference = compute_mean_difference([0.1, 0.2, 0.3, 0.4, 0.5, 0.6])
    assert (difference.low, difference.high, difference.sign) == (0.1, pytest.approx(0.6), 1)


@pytest.mark.parametrize("number", [12, 13, 40])
def test_difference_rounded_to_zero_is_not_significant(number: int) -> None:
    assert compute_mean_difference([0.0004] * number).sign == 0
    assert compute_mean_difference([0.0006] * number).sign == 1


@pytest.mark.parametrize("alike", [8, 30])
def test_interval_of_equal_models_contains_zero_in_95_percent(alike: int) -> None:
    """Each model has 5 submissions per problem. With few problems equal sums raise the share."""
    dice, zero_count = random.Random(3), 0
    for _ in range(300):
        values = []
        for _ in range(alike):
            chance_of_both = dice.random()
            a, b = (sum(dice.random() < chance_of_both for _ in range(5)) / 5 for _ in range(2))
            values.append(a - b)
        zero_count += compute_mean_difference(values).sign == 0
    assert 0.92 <= zero_count / 300 <= 0.985


MODELS = st.integers(1, 14).flatmap(
    lambda problems: st.lists(
        st.lists(
            st.one_of(st.none(), st.integers(0, 4).map(lambda part: part / 4)),
            min_size=problems,
            max_size=problems,
        ),
        max_size=4,
    )
)


@given(MODELS)
def test_rank_counts_significantly_better_models(
    models: list[list[float | None]],
) -> None:
    def beats(a: list[float | None], b: list[float | None]) -> bool:
        both = [(x, y) for x, y in zip(a, b, strict=True) if x is not None and y is not None]
        return compute_mean_difference([x - y for x, y in both]).sign > 0

    expected = [1 + sum(beats(other, model) for other in models) for model in models]
    assert Ranking(models).ranks() == expected
