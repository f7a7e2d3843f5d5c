"""The difference of two models, A minus B, over the problems that both have scored: how large, and how sure.

The test is the sign-flip test: if A and B are equally good, each problem's difference could as well have the
other sign. The interval holds every difference that the test does not reject at 5 %, so the two always agree.
Its ends are means of subsets of the differences (Hartigan 1969): all subsets of up to 12 problems, 4,000 or
1,000 drawn ones of more. `reports/report.js` has the same rules, draws and sentences.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import compress, product

from ioi_eval.model.values import Value

FEWEST = 6  # problems: of fewer, chance alone gives all differences one sign in more than 5 % of cases
_ALL = 12  # problems of which every subset is taken
_MANY = 300  # problems of which fewer subsets are drawn
_DRAWN, _DRAWN_OF_MANY = 4000, 1000  # subsets, an even number: each with the problems that it leaves out
_REJECTED = 0.025  # of all subsets, at each end
_BITS = bytes.maketrans(b"01", b"\0\1")
_SHOWN = 0.0005 + 1e-9  # a twentieth of a point of 100, which tables show as none


class Difference(Value):
    """The mean of differences with its 95 % interval. `None`: fewer than 6 differences have no interval."""

    mean: float | None  # None: there is no difference at all
    low: float | None
    high: float | None
    number: int
    is_zero: bool = False  # each of the differences is 0

    @property
    def sign(self) -> int:
        """Return 1 or -1 if the difference is real, so that 0 lies outside of the interval as shown."""
        if self.low is None or self.high is None:
            return 0
        return (self.low > _SHOWN) - (self.high < -_SHOWN)


def difference(values: Sequence[float]) -> Difference:
    """Return the mean of differences, of one problem each, and its interval."""
    number = len(values)
    if not number:
        return Difference(mean=None, low=None, high=None, number=0)
    middle, low, high = math.fsum(values) / number, None, None
    if number >= FEWEST:
        means = sorted(subset_means(values))
        place = int(_REJECTED * (len(means) + 1))
        low, high = min(means[place - 1], middle), max(means[-place], middle)
    return Difference(mean=middle, low=low, high=high, number=number, is_zero=not any(values))


def subset_means(values: Sequence[float]) -> list[float]:
    """Return the means of the subsets that an interval is made of."""
    number, total, means = len(values), math.fsum(values), list[float]()
    for subset, size in _subsets(number):
        part = sum(compress(values, subset))
        means.append(part / size)
        if size < number:
            means.append((total - part) / (number - size))
    return means


@lru_cache(maxsize=2)
def _subsets(number: int) -> list[tuple[Sequence[int], int]]:
    """Return subsets of so many problems, with their sizes; the problems that one leaves out are another."""
    if number <= _ALL:
        every: Iterable[Sequence[int]] = ((1, *rest) for rest in product((0, 1), repeat=number - 1))
    else:
        every = _drawn(number)
    return [(subset, size) for subset in every if (size := sum(subset))]


def _drawn(number: int) -> Iterator[bytes]:
    words, words_of_each = _random_words(), -(-number // 32)
    for _ in range((_DRAWN if number <= _MANY else _DRAWN_OF_MANY) // 2):
        digits = "".join(f"{next(words):032b}" for _ in range(words_of_each))
        yield digits[:number].encode().translate(_BITS)


def _random_words() -> Iterator[int]:
    """Yield random numbers of 32 bits, the same ones as in report.js (mulberry32)."""
    seed, mask = 1, 0xFFFFFFFF
    while True:
        seed = (seed + 0x6D2B79F5) & mask
        word = (seed ^ (seed >> 15)) * (1 | seed) & mask
        word = (word + ((word ^ (word >> 7)) * (61 | word) & mask) & mask) ^ word
        yield word ^ (word >> 14)


class Ranking:
    """Ranks of models: 1, and 1 for each model that is really better over the problems that both have."""

    def __init__(self, models: Sequence[Sequence[float | None]]) -> None:
        """`models`: of each model its values by problem; `None`: nothing was scored."""
        self._models = models
        self._means: dict[tuple[int, tuple[int, ...]], list[float]] = {}

    def ranks(self) -> list[int]:
        """Return the rank of each model, in the order that they were given in."""
        ranks = [1] * len(self._models)
        for a in range(len(self._models)):
            for b in range(a):
                sign = self._sign(a, b)
                ranks[b] += sign > 0
                ranks[a] += sign < 0
        return ranks

    def _sign(self, a: int, b: int) -> int:
        """Return what `Difference.sign` is of the two models, from means that all pairs share."""
        pairs = enumerate(zip(self._models[a], self._models[b], strict=True))
        both = tuple(place for place, values in pairs if None not in values)
        if len(both) < FEWEST:
            return 0
        means = [mine - other for mine, other in zip(self._of(a, both), self._of(b, both), strict=True)]
        place = int(_REJECTED * (len(means) + 1))
        is_better = sum(mean <= _SHOWN for mean in means) < place
        is_worse = sum(mean >= -_SHOWN for mean in means) < place
        return is_better - is_worse

    def _of(self, model: int, both: tuple[int, ...]) -> list[float]:
        if (model, both) not in self._means:
            self._means[model, both] = subset_means([self._models[model][place] or 0.0 for place in both])
        return self._means[model, both]
