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
_MAX_USUAL_PROBLEMS = 300  # maximum number of problems for which `_RANDOM_SUBSETS` subsets are tried
# Numbers of random subsets for few problems and for many problems. They are even, because each subset is
# paired with its complement.
_RANDOM_SUBSETS, _RANDOM_SUBSETS_OF_MANY = 4000, 1000
_REJECTED_FRACTION = 0.025  # fraction of all subsets that is excluded on each side
_BITS = bytes.maketrans(b"01", b"\0\1")
_MAX_SHOWN_AS_ZERO = 0.0005 + 1e-9  # maximum difference that tables show as 0, as a fraction of all points


class MeanDifference(Value):
    """The mean of differences with its 95 % interval, which is `None` for fewer than 6 differences."""

    mean: float | None  # mean of the differences; None without differences
    low: float | None
    high: float | None
    number: int
    is_zero: bool = False  # True if every difference is 0

    @property
    def sign(self) -> int:
        """Return the sign of the mean, 1 or -1, if it is significant. Otherwise return 0.

        The mean is significant if the interval excludes 0 after rounding to the precision of tables.
        """
        if self.low is None or self.high is None:
            return 0
        return (self.low > _MAX_SHOWN_AS_ZERO) - (self.high < -_MAX_SHOWN_AS_ZERO)


def compute_mean_difference(differences: Sequence[float]) -> MeanDifference:
    """Return the mean of per-problem differences and its interval."""
    difference_count = len(differences)
    if not difference_count:
        return MeanDifference(mean=None, low=None, high=None, number=0)
    mean_value, low, high = math.fsum(differences) / difference_count, None, None
    if difference_count >= MIN_PROBLEMS:
        subset_means = sorted(compute_subset_means(differences))
        bound_rank = int(_REJECTED_FRACTION * (len(subset_means) + 1))
        low, high = min(subset_means[bound_rank - 1], mean_value), max(subset_means[-bound_rank], mean_value)
    return MeanDifference(
        mean=mean_value, low=low, high=high, number=difference_count, is_zero=not any(differences)
    )


def compute_subset_means(values: Sequence[float]) -> list[float]:
    """Return the means of the subsets from which the interval is computed, including complements."""
    value_count, value_sum, subset_means = len(values), math.fsum(values), list[float]()
    for subset, subset_size in _list_problem_subsets_with_sizes(value_count):
        subset_sum = sum(compress(values, subset))
        subset_means.append(subset_sum / subset_size)
        if subset_size < value_count:
            subset_means.append((value_sum - subset_sum) / (value_count - subset_size))
    return subset_means


@lru_cache(maxsize=2)
def _list_problem_subsets_with_sizes(problem_count: int) -> list[tuple[Sequence[int], int]]:
    """Return subsets of `problem_count` problems, each with its number of problems.

    A subset has the item 1 for each problem in it and the item 0 for other problems. Callers also use the
    complement of each subset.
    """
    if problem_count <= _MAX_EXHAUSTIVE_PROBLEMS:
        subsets: Iterable[Sequence[int]] = (
            (1, *other_choices) for other_choices in product((0, 1), repeat=problem_count - 1)
        )
    else:
        subsets = _draw_problem_subsets(problem_count)
    return [(subset, subset_size) for subset in subsets if (subset_size := sum(subset))]


def _draw_problem_subsets(problem_count: int) -> Iterator[bytes]:
    """Yield random subsets of `problem_count` problems, with the byte 1 for each problem in the subset."""
    random_words, words_per_subset = _generate_random_numbers(), -(-problem_count // 32)
    for _ in range(
        (_RANDOM_SUBSETS if problem_count <= _MAX_USUAL_PROBLEMS else _RANDOM_SUBSETS_OF_MANY) // 2
    ):
        binary_digits = "".join(f"{next(random_words):032b}" for _ in range(words_per_subset))
        yield binary_digits[:problem_count].encode().translate(_BITS)


def _generate_random_numbers() -> Iterator[int]:
    """Yield random 32-bit numbers, the same as in report.js (mulberry32)."""
    state, mask = 1, 0xFFFFFFFF
    while True:
        state = (state + 0x6D2B79F5) & mask
        mixed_value = (state ^ (state >> 15)) * (1 | state) & mask
        mixed_value = (
            mixed_value + ((mixed_value ^ (mixed_value >> 7)) * (61 | mixed_value) & mask) & mask
        ) ^ mixed_value
        yield mixed_value ^ (mixed_value >> 14)


class Ranking:
    """The ranks of models: 1 plus the number of models that are significantly better."""

    def __init__(self, values_by_model: Sequence[Sequence[float | None]]) -> None:
        """`values_by_model` has, for each model, a value for each problem; `None` if nothing was scored."""
        self._values_by_model = values_by_model
        self._cached_means: dict[tuple[int, tuple[int, ...]], list[float]] = {}

    def ranks(self) -> list[int]:
        """Return the rank of each model, in the order of the models."""
        ranks = [1] * len(self._values_by_model)
        for first_model in range(len(self._values_by_model)):
            for second_model in range(first_model):
                sign = self._compare_models(first_model, second_model)
                ranks[second_model] += sign > 0
                ranks[first_model] += sign < 0
        return ranks

    def _compare_models(self, first_model: int, second_model: int) -> int:
        """Return the sign of the difference of two models, as `MeanDifference.sign` does."""
        value_pairs = enumerate(
            zip(self._values_by_model[first_model], self._values_by_model[second_model], strict=True)
        )
        common_problems = tuple(bound_index for bound_index, values in value_pairs if None not in values)
        if len(common_problems) < MIN_PROBLEMS:
            return 0
        mean_differences = [
            first_mean - second_mean
            for first_mean, second_mean in zip(
                self._compute_model_means(first_model, common_problems),
                self._compute_model_means(second_model, common_problems),
                strict=True,
            )
        ]
        bound_index = int(_REJECTED_FRACTION * (len(mean_differences) + 1))
        is_better = (
            sum(mean_difference <= _MAX_SHOWN_AS_ZERO for mean_difference in mean_differences) < bound_index
        )
        is_worse = (
            sum(mean_difference >= -_MAX_SHOWN_AS_ZERO for mean_difference in mean_differences) < bound_index
        )
        return is_better - is_worse

    def _compute_model_means(self, model_index: int, common_problems: tuple[int, ...]) -> list[float]:
        """Return a model's means over subsets of the common problems, from a cache."""
        if (model_index, common_problems) not in self._cached_means:
            self._cached_means[model_index, common_problems] = compute_subset_means(
                [self._values_by_model[model_index][index] or 0.0 for index in common_problems]
            )
        return self._cached_means[model_index, common_problems]
