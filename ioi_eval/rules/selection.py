"""Selection: the submissions of a model that a contestant would have handed in. Pure.

Nothing here knows what a submission scores before it is handed in, but for what a contestant can find out
alone: whether it compiles, and what it gets on the samples.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum
from functools import lru_cache
from itertools import islice
from operator import itemgetter
from typing import Any

import msgspec

from ioi_eval.model.values import SubmissionResult, SubtaskResult, Value

SUBMISSIONS = 50  # as at the contests of 2024 and 2025
_WHOLE = ""


class Budget(StrEnum):
    """The number of submissions that a model may hand in for a problem."""

    UNLIMITED = "unlimited"
    LIMITED = "limited"
    SINGLE = "single"


_Order = tuple[float, str, tuple[tuple[str, int], ...], str]  # the key itself is last: `s1` is not `s01`


class Attempt(Value):
    """A scored submission and what is known about it before it is handed in."""

    result: SubmissionResult
    target: str | None = None  # the subtask that it aims at; None: the whole problem
    number: float | None = None  # which of its model's solutions it is
    time: str = ""
    length: int = 0  # of the reasoning, or of all that was generated
    tokened: bool = False

    @property
    def samples(self) -> float:
        """The score on the samples: the subtask that is worth nothing. 0 where there is none."""
        return next((part.exact_score for part in self.result.subtasks if not part.points), 0.0)

    @property
    def order(self) -> _Order:
        """Return the order of handing in, as far as rows tell: they are written in order of judging."""
        number = math.inf if self.number is None else self.number
        return number, self.time, _parts(self.result.key), self.result.key


@lru_cache(1 << 12)  # one is compared with many
def _parts(key: str) -> tuple[tuple[str, int], ...]:
    """Return what keys that end in numbers are ordered by: the numbers."""
    return tuple((text, int(digits or 0)) for text, digits in re.findall(r"(\D*)(\d{0,18})", key))


def bare(result: SubmissionResult) -> SubmissionResult:
    """A result without its tests: many are held at a time."""
    parts = tuple(msgspec.structs.replace(part, test_results=()) for part in result.subtasks)
    return msgspec.structs.replace(result, subtasks=parts, tests=(), compile_output="", confinement={})


# --- so many of them ---------------------------------------------------------------------------------


def limited(candidates: Iterable[Attempt], submissions: int = SUBMISSIONS) -> list[Attempt]:
    """The first so many of the rounds."""
    return list(islice(in_rounds(candidates), submissions))


def in_rounds(candidates: Iterable[Attempt]) -> Iterator[Attempt]:
    """All that would be handed in, in order: round the subtasks from the last to the first, one for each.

    A subtask that was solved is left out from then on, so it uses up nothing more. Of those that aim at the
    same subtask the first is the one with the most on the samples, then the longest. What does not compile
    is not handed in, nor what aims at a subtask of no points.
    """
    groups: dict[str | None, list[Attempt]] = {}
    for candidate in candidates:
        if candidate.result.compiles:
            groups.setdefault(aim(candidate), []).append(candidate)
    some = next(iter(groups.values()), [])
    order = _targets(some[0].result.subtasks) if some else []
    # In the order of a round; the next one of each is the last of its list.
    queues = {target: sorted(groups[target], key=rank, reverse=True) for target in order if target in groups}
    solved: set[str] = set()
    while queues:
        for target in list(queues):
            if _is_solved(target, queues[target][-1], solved):
                del queues[target]
                continue
            chosen = queues[target].pop()
            if not queues[target]:
                del queues[target]
            # Those with full marks; without subtasks the problem itself is one, of no name.
            parts = chosen.result.subtasks
            solved.update(part.subtask for part in parts if part.exact_score >= 1)
            if not parts and chosen.result.points >= 1:
                solved.add(_WHOLE)
            yield chosen


def _targets(subtasks: Sequence[SubtaskResult]) -> list[str | None]:
    """Return the targets: the whole problem, then its subtasks from the last to the first."""
    return [None, *(part.subtask for part in reversed(subtasks) if part.points)]


def aim(candidate: Attempt) -> str | None:
    """The subtask that it aims at, if the problem has that one."""
    names = {part.subtask for part in candidate.result.subtasks}
    return candidate.target if candidate.target in names else None


def rank(candidate: Attempt) -> tuple[float, int, _Order]:
    """Lowest first: most on the samples, then longest, then first come."""
    return -candidate.samples, -candidate.length, candidate.order


def _is_solved(target: str | None, some: Attempt, solved: set[str]) -> bool:
    if target is not None:
        return target in solved
    parts = [part.subtask for part in some.result.subtasks if part.points]
    return solved.issuperset(parts or [_WHOLE])


# --- one of them -------------------------------------------------------------------------------------


def single(candidates: Iterable[Attempt]) -> Attempt | None:
    """The first solution of those that aim highest: at the whole problem, else at the last subtask of any.

    Whatever it is worth, also if it does not compile.
    """

    return min(candidates, key=_height, default=None)


def _height(candidate: Attempt) -> tuple[int, _Order]:
    """Lowest first: what aims highest, then first come."""
    order, target = _targets(candidate.result.subtasks), aim(candidate)
    return (order.index(target) if target in order else len(order)), candidate.order


# --- one by one --------------------------------------------------------------------------------------


_Ranked = tuple[tuple[Any, ...], Attempt]  # lowest first


# As bytes: the number, keys by target, keys by kind, those of the last and the single one, and all by key.
_PackedPool = tuple[
    int, dict[str | None, list[str]], dict[str, str], tuple[str | None, str | None], dict[str, Attempt]
]


def _merit(kind: str, result: SubmissionResult) -> tuple[Any, ...]:
    """Lowest first: most points, or most of a subtask."""
    what, _, place = kind.partition(" ")
    if what != "subtask":
        return -result.points, result.key
    part = result.subtasks[int(place)]
    return -part.weighted_score, -part.exact_score, result.key


class SubmissionPool:
    """A model's submissions for one problem, gone through one by one; keeps only what a selection may need.

    However many there are, at most twice the limit is held for each subtask.
    """

    def __init__(self, submissions: int = SUBMISSIONS) -> None:
        self._submissions = submissions
        self._queues: dict[str | None, list[_Ranked]] = {}
        self._best: dict[str, _Ranked] = {}  # of each kind, the lowest
        self._last: _Ranked | None = None
        self._single: _Ranked | None = None

    def add(self, candidate: Attempt) -> None:
        candidate = msgspec.structs.replace(candidate, result=bare(candidate.result))
        result, order, height = candidate.result, candidate.order, _height(candidate)
        # The few that decide in every mode of scoring: the best of each kind, and the last.
        kinds = [f"subtask {place}" for place in range(len(result.subtasks))]
        for kind in ("points", *(["tokened"] if candidate.tokened else []), *kinds):
            ranked = _merit(kind, result), candidate
            if kind not in self._best or ranked[0] < self._best[kind][0]:
                self._best[kind] = ranked
        if self._last is None or order > self._last[0]:
            self._last = order, candidate
        if self._single is None or height < self._single[0]:
            self._single = height, candidate
        if result.compiles:
            queue = self._queues.setdefault(aim(candidate), [])
            queue.append((rank(candidate), candidate))
            if len(queue) >= 2 * self._submissions:
                queue.sort(key=itemgetter(0))
                del queue[self._submissions :]

    def packed(self) -> bytes:
        """Return the pool as bytes, for `unpacked`."""
        kept = dict[str, Attempt]()

        def key(ranked: _Ranked) -> str:
            return kept.setdefault(ranked[1].result.key, ranked[1]).result.key

        queues = {target: list(map(key, queue)) for target, queue in self._queues.items()}
        best = {kind: key(entry) for kind, entry in self._best.items()}
        ends = (self._last and key(self._last), self._single and key(self._single))
        return msgspec.msgpack.encode((self._submissions, queues, best, ends, kept))

    @classmethod
    def unpacked(cls, data: bytes) -> SubmissionPool:
        """Return the pool that was packed, ready for more. Raises msgspec.MsgspecError for other bytes."""
        number, queues, best, (last, single), kept = msgspec.msgpack.decode(data, type=_PackedPool)
        pool = cls(number)
        pool._queues = {
            target: [(rank(kept[key]), kept[key]) for key in keys] for target, keys in queues.items()
        }
        pool._best = {kind: (_merit(kind, kept[key].result), kept[key]) for kind, key in best.items()}
        pool._last = None if last is None else (kept[last].order, kept[last])
        pool._single = None if single is None else (_height(kept[single]), kept[single])
        return pool

    def chosen(self, budget: Budget) -> list[Attempt]:
        """Return the submissions to hand in, in order; of an unlimited number only those that can decide."""
        match budget:
            case Budget.UNLIMITED:
                deciding = [*self._best.values(), *([self._last] if self._last else [])]
                distinct = {attempt.result.key: attempt for _, attempt in deciding}
                return sorted(distinct.values(), key=lambda attempt: attempt.order)
            case Budget.LIMITED:
                queued = [attempt for queue in self._queues.values() for _, attempt in queue]
                return limited(queued, self._submissions)
            case Budget.SINGLE:
                return [self._single[1]] if self._single else []
