from __future__ import annotations

import itertools
import math
import random
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ioi_eval.errors import InputError
from ioi_eval.rules.metrics import (
    RESAMPLES,
    PassAtK,
    Trials,
    compute_bootstrap_interval,
    estimate_pass_at_each_k,
    pass_at_k,
)

COUNTS = st.integers(0, 8).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n)))


def trials(*counts: tuple[int, int]) -> list[Trials]:
    return [
        Trials(problem=f"p{n}", scored=scored, passed=passed) for n, (scored, passed) in enumerate(counts)
    ]


def single_estimate(estimates: tuple[PassAtK, ...]) -> PassAtK:
    (estimate,) = estimates
    return estimate


# --- a single problem --------------------------------------------------------------------------------


@given(COUNTS, st.integers(1, 8))
def test_pass_at_k_equals_share_of_draws_with_pass(counts: tuple[int, int], k: int) -> None:
    scored, passed = counts
    draws = list(itertools.combinations([True] * passed + [False] * (scored - passed), k))
    expected = Fraction(sum(map(any, draws)), len(draws)) if draws else None
    estimated = pass_at_k(scored, passed, k)
    assert estimated is None if expected is None else estimated == pytest.approx(float(expected), abs=1e-12)


@given(st.integers(1, 300), st.data())
def test_pass_at_k_equals_product_formula(scored: int, data: st.DataObject) -> None:
    passed, k = data.draw(st.integers(0, scored)), data.draw(st.integers(1, scored))
    fails = (
        math.prod(1 - k / i for i in range(scored - passed + 1, scored + 1)) if scored - passed >= k else 0
    )
    assert pass_at_k(scored, passed, k) == pytest.approx(1 - fails, abs=1e-9)


@given(st.integers(1, 60), st.data())
def test_pass_at_k_rises_with_passes_and_with_k(scored: int, data: st.DataObject) -> None:
    passed, k = data.draw(st.integers(0, scored)), data.draw(st.integers(1, scored))
    value = pass_at_k(scored, passed, k)
    assert value is not None and 0 <= value <= 1
    if passed < scored:
        assert value <= (pass_at_k(scored, passed + 1, k) or 0)
    if k < scored:
        assert value <= (pass_at_k(scored, passed, k + 1) or 0) + 1e-15


def test_pass_at_k_is_unbiased() -> None:
    """The mean over all samples of submissions is exact, unlike with the common shortcut."""
    many = [True] * 3 + [False] * 7
    truth = pass_at_k(10, 3, 2)
    pass_counts = [sum(some) for some in itertools.combinations(many, 4)]
    assert math.fsum(pass_at_k(4, passed, 2) or 0 for passed in pass_counts) / len(
        pass_counts
    ) == pytest.approx(truth)
    plugged = math.fsum(1 - (1 - passed / 4) ** 2 for passed in pass_counts) / len(pass_counts)
    assert plugged != pytest.approx(truth, abs=0.01)


def test_pass_at_1_is_share_that_passes() -> None:
    assert pass_at_k(8, 2, 1) == 0.25


@pytest.mark.parametrize("counts", [(1, 2), (1, -1)])
def test_pass_at_k_with_impossible_counts_raises_value_error(counts: tuple[int, int]) -> None:
    with pytest.raises(ValueError, match="cannot have passed"):
        pass_at_k(*counts, 1)


# --- several problems --------------------------------------------------------------------------------


def test_problems_weigh_the_same_regardless_of_submission_count() -> None:
    assert single_estimate(estimate_pass_at_each_k(trials((100, 100), (2, 0)), [1])).value == 0.5


def test_pass_at_k_is_none_if_problem_has_fewer_submissions() -> None:
    estimates = estimate_pass_at_each_k(trials((4, 4), (1, 0), (0, 0)), [5, 1, 2, 2])
    assert [(estimate.k, estimate.value, estimate.problems, estimate.lacking) for estimate in estimates] == [
        (1, 0.5, 2, 0),
        (2, None, 0, 1),
        (5, None, 0, 2),
    ]
    assert (estimates[2].low, estimates[2].high) == (None, None)


def test_subtask_targets_of_a_problem_count_as_one_problem_in_pass_at_k() -> None:
    subtask_trials = [Trials(problem="p", scored=2, passed=passed) for passed in (2, 0)]
    estimate = single_estimate(
        estimate_pass_at_each_k([*subtask_trials, Trials(problem="q", scored=1, passed=1)], [1])
    )
    assert (estimate.value, estimate.problems) == (0.75, 2)


@pytest.mark.parametrize("k", [0, -1])
def test_pass_at_k_with_invalid_k_is_input_error(k: int) -> None:
    with pytest.raises(InputError, match="does not exist"):
        estimate_pass_at_each_k(trials((1, 1)), [k])


# --- intervals ---------------------------------------------------------------------------------------


@given(st.lists(COUNTS, min_size=2, max_size=6), st.randoms(use_true_random=False))
def test_pass_at_k_does_not_depend_on_problem_order(
    counts: list[tuple[int, int]], dice: random.Random
) -> None:
    all_trials = trials(*counts)
    assert estimate_pass_at_each_k(
        dice.sample(all_trials, len(all_trials)), [1, 2]
    ) == estimate_pass_at_each_k(all_trials, [1, 2])


@given(st.lists(st.floats(0, 1), min_size=2, max_size=6))
def test_bootstrap_interval_is_within_values(values: list[float]) -> None:
    low, high = compute_bootstrap_interval(values, resamples=50)
    assert (low is None) == (high is None) == (len(set(values)) == 1)
    if low is None or high is None:
        return
    assert min(values) - 1e-12 <= low <= high <= max(values) + 1e-12


def test_bootstrap_interval_agrees_with_all_samples() -> None:
    """For three values all 27 samples are enumerated."""
    values = [0.0, 0.4, 1.0]
    means = sorted(math.fsum(some) / 3 for some in itertools.product(values, repeat=3))
    low, high = compute_bootstrap_interval(values, level=0.8)
    # The shares of samples below and above are as requested, within the precision of 27 samples.
    assert low is not None and high is not None
    assert (
        sum(mean < low - 1e-9 for mean in means) / 27
        <= 0.1
        <= sum(mean <= low + 1e-9 for mean in means) / 27 + 0.04
    )
    assert (
        sum(mean > high + 1e-9 for mean in means) / 27
        <= 0.1
        <= sum(mean >= high - 1e-9 for mean in means) / 27 + 0.04
    )


def test_equal_values_have_no_bootstrap_interval() -> None:
    assert (
        compute_bootstrap_interval([0.5] * 9)
        == compute_bootstrap_interval([1.0, 1.0], weights=[1, 2])
        == (None, None)
    )
    assert compute_bootstrap_interval([0.5]) == compute_bootstrap_interval([]) == (None, None)
    assert RESAMPLES >= 1000


def test_interval_of_many_problems_agrees_with_normal_approximation() -> None:
    """Ten thousand problems, of which 30 % are passed."""
    values = [1.0] * 3000 + [0.0] * 7000
    low, high = compute_bootstrap_interval(values)
    assert low is not None and high is not None
    spread = 1.96 * math.sqrt(0.3 * 0.7 / 10_000)
    assert (low, high) == (pytest.approx(0.3 - spread, abs=0.002), pytest.approx(0.3 + spread, abs=0.002))


def test_bootstrap_interval_narrows_with_more_problems() -> None:
    few, many = compute_bootstrap_interval([0.0, 1.0] * 3), compute_bootstrap_interval([0.0, 1.0] * 100)
    assert few[0] is not None and many[0] is not None and few[1] is not None and many[1] is not None
    assert many[1] - many[0] < few[1] - few[0]
    # The normal approximation is valid for a hundred pairs.
    assert many[1] - many[0] == pytest.approx(2 * 1.96 * 0.5 / math.sqrt(200), rel=0.15)


def test_weighted_value_widens_interval() -> None:
    values = [0.0, 1.0, 1.0, 1.0]
    assert compute_bootstrap_interval(values, weights=[5.0] * 4) == compute_bootstrap_interval(values)
    low, high = compute_bootstrap_interval(values, weights=[9.0, 1.0, 1.0, 1.0])
    assert low is not None and low < (compute_bootstrap_interval(values)[0] or 0) and high == 1.0
