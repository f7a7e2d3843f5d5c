"""pass@k without bias, and how sure it is. Pure: numbers in, numbers out, the same ones every time.

What could not be judged is not in here: callers count it and show it beside the estimate.
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

LEVEL = 0.95  # of an interval
RESAMPLES = 1000
_LEAST, _DRAWS = 200, 300_000  # of many problems fewer samples do: their interval is narrow anyway
_SEED = 20240901  # any number: intervals are to be the same in every report of the same rows


class Trials(Value):
    """A model's scored submissions for one question: a problem, or one subtask where only that was asked."""

    problem: str
    scored: int
    passed: int


class PassAtK(Value):
    """The chance that one of k submissions passes, as a mean over problems."""

    k: int
    value: float | None  # None: some question has fewer than k scored submissions, or there is none at all
    low: float | None  # None: one problem says nothing about others
    high: float | None
    problems: int  # in the mean
    lacking: int  # questions with fewer than k scored submissions


def pass_at_k(scored: int, passed: int, k: int) -> float | None:
    """The share of all ways to take k of the scored submissions that hold one that passes.

    Unbiased, as 1 - (1 - passed / scored) ** k is not. None where there are fewer than k.
    """
    if not 0 <= passed <= scored:
        raise ValueError(f"{passed} of {scored} cannot have passed")
    if scored < k:
        return None
    return 1 - math.comb(scored - passed, k) / math.comb(scored, k)


def pass_at(trials: Iterable[Trials], ks: Iterable[int]) -> tuple[PassAtK, ...]:
    """Return an estimate for each k, in rising order, each over all questions that have a scored submission.

    Where one of them has fewer than k, there is no number: a mean over the others is one over easier or
    harder questions, and may fall as k rises. Every problem weighs the same; of several questions of one
    problem it is their mean.
    """
    of_problems: dict[str, list[Trials]] = {}
    for trial in trials:
        if trial.scored:
            of_problems.setdefault(trial.problem, []).append(trial)
    estimates = list[PassAtK]()
    for k in sorted(set(ks)):
        if k < 1:
            remedy = "Give whole numbers from 1 on"
            raise InputError(f"pass@{k} does not exist", field="k", remedy=remedy)
        shares = [
            [pass_at_k(question.scored, question.passed, k) for question in questions]
            for questions in of_problems.values()
        ]
        lacking = sum(share is None for several in shares for share in several)
        means = () if lacking else (mean([share or 0.0 for share in several]) for several in shares)
        # Sorted, because the order in which problems came must not show in what is drawn.
        values = sorted(value for value in means if value is not None)
        low, high = interval(values)
        estimates.append(
            PassAtK(k=k, value=mean(values), low=low, high=high, problems=len(values), lacking=lacking)
        )
    return tuple(estimates)


def mean(values: Sequence[float]) -> float | None:
    return math.fsum(values) / len(values) if values else None


def interval(
    values: Sequence[float],
    *,
    weights: Sequence[float] = (),
    level: float = LEVEL,
    resamples: int | None = None,
) -> tuple[float, float] | tuple[None, None]:
    """Return a bootstrap interval of the mean: the middle of the means of samples drawn with replacement.

    `weights`, all above 0: what each value counts, where that is not the same for all.
    """
    number = len(values)
    if number < 2:
        return None, None
    if min(values) == max(values):
        return values[0], values[0]
    if resamples is None:
        resamples = max(_LEAST, min(RESAMPLES, _DRAWS // number))
    if len(set(weights)) >= 2:
        parts = [value * weight for value, weight in zip(values, weights, strict=True)]
        means = sorted(
            math.fsum(sample(parts)) / math.fsum(sample(weights)) for sample in _samples(number, resamples)
        )
    elif number * resamples <= _DRAWS:
        means = sorted(math.fsum(sample(values)) / number for sample in _kept_samples(number, resamples))
    else:
        dice = random.Random(_SEED)
        means = sorted(math.fsum(dice.choices(values, k=number)) / number for _ in range(resamples))
    # Between the two nearest means, in proportion.
    low, *_, high = statistics.quantiles(means, n=round(2 / (1 - level)), method="inclusive")
    return low, high


def _samples(number: int, resamples: int) -> Iterator[Callable[[Sequence[float]], Sequence[float]]]:
    """Yield what takes each sample of as many values: the same ones for all lists of that length."""
    dice = random.Random(_SEED)
    for _ in range(resamples):
        yield itemgetter(*dice.choices(range(number), k=number))


@functools.lru_cache(maxsize=8)  # of at most 3 MB; a report asks for hundreds of intervals of a few lengths
def _kept_samples(number: int, resamples: int) -> list[Callable[[Sequence[float]], Sequence[float]]]:
    return list(_samples(number, resamples))
