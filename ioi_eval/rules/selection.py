"""Select the submissions of a model that a contestant would have submitted.

A selection uses only facts that a contestant has before submitting: whether the program compiles, and its
score on the samples.
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

SUBMISSIONS = 50  # maximum number of submissions per problem, as at the IOI 2024 and 2025
_WHOLE_PROBLEM = ""


class Budget(StrEnum):
    """The number of submissions that a model may submit for a problem."""

    UNLIMITED = "unlimited"
    LIMITED = "limited"
    SINGLE = "single"


# Sort key of an attempt. It ends with the submission's key, because the other parts are equal for `s1` and
# `s01`.
_Order = tuple[float, str, tuple[tuple[str, int], ...], str]


class Attempt(Value):
    """A scored submission, with the facts about it that are available before it is submitted."""

    result: SubmissionResult
    target: str | None = None  # subtask for which the program was written; None for the whole problem
    number: float | None = None  # number of the solution among the model's solutions for the problem
    time: str = ""
    length: int = 0  # length of the reasoning, or else of the whole generation
    tokened: bool = False

    @property
    def sample_score(self) -> float:
        """Return the score on the samples, which are the subtask without points, or 0 without samples."""
        return next((subtask.exact_score for subtask in self.result.subtasks if not subtask.points), 0.0)

    @property
    def sort_key(self) -> _Order:
        """Return the sort key for the order of submission. Rows are in the order of judging."""
        number = math.inf if self.number is None else self.number
        return number, self.time, _split_key(self.result.key), self.result.key


@lru_cache(1 << 12)  # cached because each key is compared with many other keys
def _split_key(key: str) -> tuple[tuple[str, int], ...]:
    """Return the text and number parts of a key, so that keys sort by the numbers in them."""
    return tuple((prefix, int(digits or 0)) for prefix, digits in re.findall(r"(\D*)(\d{0,18})", key))


def without_tests(result: SubmissionResult) -> SubmissionResult:
    """Return a result without its tests, to save memory."""
    subtasks = tuple(msgspec.structs.replace(subtask, test_results=()) for subtask in result.subtasks)
    return msgspec.structs.replace(result, subtasks=subtasks, tests=(), compile_output="", confinement={})


# --- a limited number of submissions -----------------------------------------------------------------


def select_limited(candidates: Iterable[Attempt], submissions: int = SUBMISSIONS) -> list[Attempt]:
    """Return the first `submissions` attempts of `order_by_rounds`."""
    return list(islice(order_by_rounds(candidates), submissions))


def order_by_rounds(candidates: Iterable[Attempt]) -> Iterator[Attempt]:
    """Yield the attempts in the order of submission.

    Each round goes over the subtasks from last to first and submits an attempt for each subtask.
    A solved subtask is skipped from then on and uses no more submissions. Attempts for the same subtask are
    ordered by `target_rank`. Attempts that do not compile, or whose target is worth 0 points, are not
    submitted.
    """
    groups: dict[str | None, list[Attempt]] = {}
    for candidate in candidates:
        if candidate.result.compiles:
            groups.setdefault(find_known_target(candidate), []).append(candidate)
    any_group = next(iter(groups.values()), [])
    order = _round_targets(any_group[0].result.subtasks) if any_group else []
    # The queues are sorted by decreasing rank, so the next attempt of a queue is its last element.
    queues = {
        target: sorted(groups[target], key=target_rank, reverse=True) for target in order if target in groups
    }
    solved: set[str] = set()
    while queues:
        for target in list(queues):
            if _is_solved(target, queues[target][-1], solved):
                del queues[target]
                continue
            next_attempt = queues[target].pop()
            if not queues[target]:
                del queues[target]
            # Record the subtasks with full points. A problem without subtasks counts as a nameless subtask.
            subtasks = next_attempt.result.subtasks
            solved.update(subtask.subtask for subtask in subtasks if subtask.exact_score >= 1)
            if not subtasks and next_attempt.result.points >= 1:
                solved.add(_WHOLE_PROBLEM)
            yield next_attempt


def _round_targets(subtasks: Sequence[SubtaskResult]) -> list[str | None]:
    """Return the targets in the order of a round: the whole problem, then its subtasks from last to first."""
    return [None, *(subtask.subtask for subtask in reversed(subtasks) if subtask.points)]


def find_known_target(candidate: Attempt) -> str | None:
    """Return the subtask for which an attempt is written. None means the whole problem, or is unknown."""
    names = {subtask.subtask for subtask in candidate.result.subtasks}
    return candidate.target if candidate.target in names else None


def target_rank(candidate: Attempt) -> tuple[float, int, _Order]:
    """Return the sort key among attempts for a target: best on the samples, then longest, then first."""
    return -candidate.sample_score, -candidate.length, candidate.sort_key


def _is_solved(target: str | None, attempt: Attempt, solved: set[str]) -> bool:
    """Return True if a target, a subtask or the whole problem, is solved."""
    if target is not None:
        return target in solved
    counting_subtasks = [subtask.subtask for subtask in attempt.result.subtasks if subtask.points]
    return solved.issuperset(counting_subtasks or [_WHOLE_PROBLEM])


# --- a single submission -----------------------------------------------------------------------------


def select_single(candidates: Iterable[Attempt]) -> Attempt | None:
    """Return the first attempt for the whole problem, else the first for the last subtask that any aims at.

    Neither its score nor whether it compiles matters.
    """

    return min(candidates, key=_single_rank, default=None)


def _single_rank(candidate: Attempt) -> tuple[int, _Order]:
    """Return the sort key of `select_single`: the target in the order of a round, then by submission."""
    order, target = _round_targets(candidate.result.subtasks), find_known_target(candidate)
    return (order.index(target) if target in order else len(order)), candidate.sort_key


# --- pools of attempts that may still decide a score -------------------------------------------------


# Sort key of an attempt and the attempt; the attempt with the lowest key is chosen.
_RankedAttempt = tuple[tuple[Any, ...], Attempt]


# A pool that is encoded as bytes: the limit, keys by target, best key by kind, keys of the last and the
# single attempt, attempts by key.
_PackedPool = tuple[
    int, dict[str | None, list[str]], dict[str, str], tuple[str | None, str | None], dict[str, Attempt]
]


def _result_rank(kind: str, result: SubmissionResult) -> tuple[Any, ...]:
    """Return a sort key for results: by decreasing points or, for `subtask N`, by that subtask's points."""
    kind_name, _, index = kind.partition(" ")
    if kind_name != "subtask":
        return -result.points, result.key
    subtask = result.subtasks[int(index)]
    return -subtask.weighted_score, -subtask.exact_score, result.key


class SubmissionPool:
    """A model's submissions for a problem, added one by one.

    The pool holds only submissions that a selection may need: for each subtask up to twice the limit.
    """

    def __init__(self, submissions: int = SUBMISSIONS) -> None:
        self._submissions = submissions
        self._queues: dict[str | None, list[_RankedAttempt]] = {}
        self._best: dict[str, _RankedAttempt] = {}  # attempt with the lowest sort key, by kind
        self._last: _RankedAttempt | None = None
        self._single: _RankedAttempt | None = None

    def add(self, candidate: Attempt) -> None:
        """Add a submission, if a selection may need it."""
        candidate = msgspec.structs.replace(candidate, result=without_tests(candidate.result))
        result, order, single_rank = candidate.result, candidate.sort_key, _single_rank(candidate)
        # Keep only the submissions that can decide in any mode of scoring: the best of each kind, and the
        # last.
        subtask_kinds = [f"subtask {index}" for index in range(len(result.subtasks))]
        for kind in ("points", *(["tokened"] if candidate.tokened else []), *subtask_kinds):
            ranked = _result_rank(kind, result), candidate
            if kind not in self._best or ranked[0] < self._best[kind][0]:
                self._best[kind] = ranked
        if self._last is None or order > self._last[0]:
            self._last = order, candidate
        if self._single is None or single_rank < self._single[0]:
            self._single = single_rank, candidate
        if result.compiles:
            queue = self._queues.setdefault(find_known_target(candidate), [])
            queue.append((target_rank(candidate), candidate))
            if len(queue) >= 2 * self._submissions:
                queue.sort(key=itemgetter(0))
                del queue[self._submissions :]

    def pack(self) -> bytes:
        """Return the pool as bytes that `unpacked` reads."""
        attempts = dict[str, Attempt]()

        def add_attempt(ranked: _RankedAttempt) -> str:
            return attempts.setdefault(ranked[1].result.key, ranked[1]).result.key

        queues = {target: list(map(add_attempt, queue)) for target, queue in self._queues.items()}
        best = {kind: add_attempt(entry) for kind, entry in self._best.items()}
        last_and_single = (self._last and add_attempt(self._last), self._single and add_attempt(self._single))
        return msgspec.msgpack.encode((self._submissions, queues, best, last_and_single, attempts))

    @classmethod
    def unpack(cls, data: bytes) -> SubmissionPool:
        """Return a pool from bytes that `packed` returned. Raises msgspec.MsgspecError for other bytes."""
        submissions, queues, best, (last, single), attempts = msgspec.msgpack.decode(data, type=_PackedPool)
        pool = cls(submissions)
        pool._queues = {
            target: [(target_rank(attempts[key]), attempts[key]) for key in keys]
            for target, keys in queues.items()
        }
        pool._best = {
            kind: (_result_rank(kind, attempts[key].result), attempts[key]) for kind, key in best.items()
        }
        pool._last = None if last is None else (attempts[last].sort_key, attempts[last])
        pool._single = None if single is None else (_single_rank(attempts[single]), attempts[single])
        return pool

    def select(self, budget: Budget) -> list[Attempt]:
        """Return the selected submissions, in order.

        For an unlimited budget, return only the submissions that can decide a score.
        """
        match budget:
            case Budget.UNLIMITED:
                deciding = [*self._best.values(), *([self._last] if self._last else [])]
                distinct = {attempt.result.key: attempt for _, attempt in deciding}
                return sorted(distinct.values(), key=lambda attempt: attempt.sort_key)
            case Budget.LIMITED:
                queued = [attempt for queue in self._queues.values() for _, attempt in queue]
                return select_limited(queued, self._submissions)
            case Budget.SINGLE:
                return [self._single[1]] if self._single else []
