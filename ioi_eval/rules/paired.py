"""Compare two models, A minus B, over the problems that both have scored: the difference and its interval.

The test is the sign-flip test: if A and B are equally good, the sign of each problem's difference is random.
The interval contains every difference that the test does not reject at 5 %, so test and interval always
agree. Its bounds are means of subsets of the differences (Hartigan 1969): all subsets for up to 12 problems,
otherwise 4,000 or 1,000 random subsets. `reports/report.js` has the same rules, random numbers and sentences.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import compress, product

from ioi_eval.model.values import Value

# Minimum number of problems for an interval. With fewer problems, all differences have the same sign by
# chance in over 5 % of cases.
MIN_PROBLEMS = 6
_MAX_EXHAUSTIVE_PROBLEMS = 12  # maximum number of problems for which every subset is tried
_MAX_USUAL_PROBLEMS = 300  # maximum number of problems for which the usual number of random subsets is tried
# Number of random subsets, for few and for many problems. It is even, because each subset is paired with its
# complement.
_RANDOM_SUBSETS, _RANDOM_SUBSETS_OF_MANY = 4000, 1000
_REJECTED_FRACTION = 0.025  # fraction of all subsets that is excluded on each side
_BITS = bytes.maketrans(b"01", b"\0\1")
_MAX_SHOWN_AS_ZERO = 0.0005 + 1e-9  # maximum difference that tables show as 0: a twentieth of a point in 100


class MeanDifference(Value):
    """The mean of differences with its 95 % interval, which is `None` for fewer than 6 differences."""

    mean: float | None  # mean of the differences; None if there are none
    low: float | None
    high: float | None
    number: int
    is_zero: bool = False  # True if every difference is 0

    @property
    def sign(self) -> int:
        """Return 1 or -1 if the interval, rounded as in tables, excludes 0. Otherwise return 0."""
        if self.low is None or self.high is None:
            return 0
        return (self.low > _MAX_SHOWN_AS_ZERO) - (self.high < -_MAX_SHOWN_AS_ZERO)


def compute_mean_difference(values: Sequence[float]) -> MeanDifference:
    """Return the mean of per-problem differences and its interval."""
    number = len(values)
    if not number:
        return MeanDifference(mean=None, low=None, high=None, number=0)
    mean_value, low, high = math.fsum(values) / number, None, None
    if number >= MIN_PROBLEMS:
        means = sorted(subset_means(values))
        rank = int(_REJECTED_FRACTION * (len(means) + 1))
        low, high = min(means[rank - 1], mean_value), max(means[-rank], mean_value)
    return MeanDifference(mean=mean_value, low=low, high=high, number=number, is_zero=not any(values))


def subset_means(values: Sequence[float]) -> list[float]:
    """Return the means of the subsets from which the interval is computed, including complements."""
    number, total, means = len(values), math.fsum(values), list[float]()
    for subset, size in _list_subsets(number):
        subset_sum = sum(compress(values, subset))
        means.append(subset_sum / size)
        if size < number:
            means.append((total - subset_sum) / (number - size))
    return means


@lru_cache(maxsize=2)
def _list_subsets(problem_count: int) -> list[tuple[Sequence[int], int]]:
    """Return subsets of `problem_count` problems, with sizes. Callers use each subset and its complement."""
    if problem_count <= _MAX_EXHAUSTIVE_PROBLEMS:
        subsets: Iterable[Sequence[int]] = (
            (1, *other_choices) for other_choices in product((0, 1), repeat=problem_count - 1)
        )
    else:
        subsets = _draw_subsets(problem_count)
    return [(subset, size) for subset in subsets if (size := sum(subset))]


def _draw_subsets(problem_count: int) -> Iterator[bytes]:
    """Yield random subsets of `problem_count` problems."""
    random_words, words_per_subset = _random_numbers(), -(-problem_count // 32)
    for _ in range(
        (_RANDOM_SUBSETS if problem_count <= _MAX_USUAL_PROBLEMS else _RANDOM_SUBSETS_OF_MANY) // 2
    ):
        digits = "".join(f"{next(random_words):032b}" for _ in range(words_per_subset))
        yield digits[:problem_count].encode().translate(_BITS)


def _random_numbers() -> Iterator[int]:
    """Yield random 32-bit numbers, the same as in report.js (mulberry32)."""
    seed, mask = 1, 0xFFFFFFFF
    while True:
        seed = (seed + 0x6D2B79F5) & mask
        value = (seed ^ (seed >> 15)) * (1 | seed) & mask
        value = (value + ((value ^ (value >> 7)) * (61 | value) & mask) & mask) ^ value
        yield value ^ (value >> 14)


class Ranking:
    """The ranks of models: 1 plus the number of models that are significantly better."""

    def __init__(self, models: Sequence[Sequence[float | None]]) -> None:
        """`models` has, for each model, a value for each problem; `None` if nothing was scored."""
        self._models = models
        self._means: dict[tuple[int, tuple[int, ...]], list[float]] = {}

    def ranks(self) -> list[int]:
        """Return the rank of each model, in the order of the models."""
        ranks = [1] * len(self._models)
        for a in range(len(self._models)):
            for b in range(a):
                sign = self._compare_models(a, b)
                ranks[b] += sign > 0
                ranks[a] += sign < 0
        return ranks

    def _compare_models(self, a: int, b: int) -> int:
        """Return `Difference.sign` of two models. Pairs with the same common problems share their means."""
        value_pairs = enumerate(zip(self._models[a], self._models[b], strict=True))
        common = tuple(index for index, values in value_pairs if None not in values)
        if len(common) < MIN_PROBLEMS:
            return 0
        means = [
            first - second
            for first, second in zip(
                self._subset_means_of(a, common), self._subset_means_of(b, common), strict=True
            )
        ]
        index = int(_REJECTED_FRACTION * (len(means) + 1))
        is_better = sum(mean <= _MAX_SHOWN_AS_ZERO for mean in means) < index
        is_worse = sum(mean >= -_MAX_SHOWN_AS_ZERO for mean in means) < index
        return is_better - is_worse

    def _subset_means_of(self, model: int, common_problems: tuple[int, ...]) -> list[float]:
        """Return a model's means over subsets of the common problems, from a cache."""
        if (model, common_problems) not in self._means:
            self._means[model, common_problems] = subset_means(
                [self._models[model][index] or 0.0 for index in common_problems]
            )
        return self._means[model, common_problems]
