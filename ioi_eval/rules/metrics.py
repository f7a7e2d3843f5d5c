"""Unbiased pass@k estimates with confidence intervals. The same numbers always give the same result.

Submissions that could not be judged are not part of the estimate. Callers report their number separately.
"""

from __future__ import annotations

import functools
import math
import random
import statistics
from collections.abc import Callable, Iterable, Iterator, Sequence
from operator import itemgetter

from ioi_eval.model.errors import InputError
from ioi_eval.model.values import Value

CONFIDENCE_LEVEL = 0.95  # confidence level of the intervals
RESAMPLES = 1000
# Minimum number of resamples, and maximum number of values in all of them. For many problems, fewer
# resamples are enough.
_MIN_RESAMPLES, _MAX_DRAWN_VALUES = 200, 300_000
_SEED = 20240901  # seed of random samples; it is fixed, so that a report always has the same intervals


class Trials(Value):
    """The numbers of a model's submissions for one question: scored, and passed.

    A question is a problem, or a subtask if only that subtask was asked for.
    """

    problem: str
    scored: int
    passed: int


class PassAtK(Value):
    """The estimated probability that at least one of k submissions passes, as a mean over problems."""

    k: int
    # Mean of the estimates. None if there are no questions, or a question has fewer than k scored
    # submissions.
    value: float | None
    # Lower bound of the interval; None for a single problem, or if all problems have the same value.
    low: float | None
    high: float | None
    problems: int  # number of problems over which the mean is computed
    lacking: int  # number of questions with fewer than k scored submissions


def pass_at_k(scored: int, passed: int, k: int) -> float | None:
    """Return the fraction of the k-subsets of scored submissions that contain a passing submission.

    This estimate is unbiased, unlike 1 - (1 - passed / scored) ** k. Returns None if there are fewer than k.
    """
    if not 0 <= passed <= scored:
        raise ValueError(f"{passed} of {scored} submissions cannot have passed")
    if scored < k:
        return None
    return 1 - math.comb(scored - passed, k) / math.comb(scored, k)


def estimate_pass_at_each_k(trials: Iterable[Trials], ks: Iterable[int]) -> tuple[PassAtK, ...]:
    """Return an estimate for each k, in increasing order, over all questions with a scored submission.

    If a question has fewer than k scored submissions, there is no estimate for k: a mean over the remaining
    questions would cover easier or harder questions and could fall as k rises. Every problem has the same
    weight; a problem with several questions counts with their mean.
    """
    trials_by_problem: dict[str, list[Trials]] = {}
    for trial in trials:
        if trial.scored:
            trials_by_problem.setdefault(trial.problem, []).append(trial)
    estimates = list[PassAtK]()
    for k in sorted(set(ks)):
        if k < 1:
            remedy = "Give whole numbers from 1 on"
            raise InputError(f"pass@{k} does not exist", field="k", remedy=remedy)
        estimates_by_problem = [
            [
                pass_at_k(trials_of_question.scored, trials_of_question.passed, k)
                for trials_of_question in trials_of_problem
            ]
            for trials_of_problem in trials_by_problem.values()
        ]
        lacking_questions = sum(
            estimate is None for problem_estimates in estimates_by_problem for estimate in problem_estimates
        )
        problem_means = (
            ()
            if lacking_questions
            else (
                mean([estimate or 0.0 for estimate in problem_estimates])
                for problem_estimates in estimates_by_problem
            )
        )
        # The means are sorted, so that the order of the problems does not change the random samples.
        sorted_means = sorted(value for value in problem_means if value is not None)
        low, high = compute_bootstrap_interval(sorted_means)
        estimates.append(
            PassAtK(
                k=k,
                value=mean(sorted_means),
                low=low,
                high=high,
                problems=len(sorted_means),
                lacking=lacking_questions,
            )
        )
    return tuple(estimates)


def mean(values: Sequence[float]) -> float | None:
    """Return the mean of values, or None if there are no values."""
    return math.fsum(values) / len(values) if values else None


def compute_bootstrap_interval(
    values: Sequence[float],
    *,
    weights: Sequence[float] = (),
    level: float = CONFIDENCE_LEVEL,
    resamples: int | None = None,
) -> tuple[float, float] | tuple[None, None]:
    """Return a bootstrap interval of the mean: quantiles of the means of samples drawn with replacement.

    If all values are equal, there is no interval. All samples would have the same mean, which does not show
    how different further values could be.

    Args:
        values: the values whose mean is estimated.
        weights: weight of each value, all above 0; empty if all are equal.
        level: confidence level.
        resamples: number of samples; `None` chooses it by the number of values.
    """
    value_count = len(values)
    if value_count < 2 or min(values) == max(values):
        return None, None
    if resamples is None:
        resamples = max(_MIN_RESAMPLES, min(RESAMPLES, _MAX_DRAWN_VALUES // value_count))
    if len(set(weights)) >= 2:
        weighted_values = [value * weight for value, weight in zip(values, weights, strict=True)]
        sample_means = sorted(
            math.fsum(draw_sample(weighted_values)) / math.fsum(draw_sample(weights))
            for draw_sample in _make_resamplers(value_count, resamples)
        )
    elif value_count * resamples <= _MAX_DRAWN_VALUES:
        sample_means = sorted(
            math.fsum(draw_sample(values)) / value_count
            for draw_sample in _list_cached_resamplers(value_count, resamples)
        )
    else:
        random_source = random.Random(_SEED)
        sample_means = sorted(
            math.fsum(random_source.choices(values, k=value_count)) / value_count for _ in range(resamples)
        )
    # The method `inclusive` interpolates linearly between the two nearest means.
    low, *_, high = statistics.quantiles(sample_means, n=round(2 / (1 - level)), method="inclusive")
    return low, high


def _make_resamplers(
    value_count: int, resamples: int
) -> Iterator[Callable[[Sequence[float]], Sequence[float]]]:
    """Yield functions that select a random sample from a sequence of `value_count` values.

    The samples are the same for all sequences of that length.
    """
    random_source = random.Random(_SEED)
    for _ in range(resamples):
        yield itemgetter(*random_source.choices(range(value_count), k=value_count))


# The functions for a single `value_count` take up to 3 MB. A report needs few different counts.
@functools.lru_cache(maxsize=8)
def _list_cached_resamplers(
    value_count: int, resamples: int
) -> list[Callable[[Sequence[float]], Sequence[float]]]:
    return list(_make_resamplers(value_count, resamples))
