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


# Sort key of an attempt. The last item is the submission's key, because the other items are equal for the
# keys `s1` and `s01`.
_Order = tuple[float, str, tuple[tuple[str, int], ...], str]


class Attempt(Value):
    """A scored submission, with the facts about it that are available before it is submitted."""

    result: SubmissionResult
    target: str | None = None  # subtask for which the program was written; None for the whole problem
    number: float | None = None  # position of the solution among the model's solutions for the problem
    time: str = ""
    length: int = 0  # length of the reasoning or, without reasoning, of the whole generation
    tokened: bool = False

    @property
    def sample_score(self) -> float:
        """Return the score on the samples, which are the subtask without points, or 0 without samples."""
        return next((subtask.exact_score for subtask in self.result.subtasks if not subtask.points), 0.0)

    @property
    def sort_key(self) -> _Order:
        """Return the sort key for the order of submission: by the solution's number, time and key.

        The order of rows is not used, because rows are written in the order of judging.
        """
        solution_number = math.inf if self.number is None else self.number
        return solution_number, self.time, _split_key_for_sorting(self.result.key), self.result.key


@lru_cache(1 << 12)  # cached because each key is compared with many other keys
def _split_key_for_sorting(key: str) -> tuple[tuple[str, int], ...]:
    """Return the text and number parts of a key, so that keys sort by the numbers in them."""
    return tuple((prefix, int(digits or 0)) for prefix, digits in re.findall(r"(\D*)(\d{0,18})", key))


def remove_test_results(result: SubmissionResult) -> SubmissionResult:
    """Return a result without its tests, to save memory."""
    subtasks = tuple(msgspec.structs.replace(subtask, test_results=()) for subtask in result.subtasks)
    return msgspec.structs.replace(result, subtasks=subtasks, tests=(), compile_output="", confinement={})


# --- a limited number of submissions -----------------------------------------------------------------


def select_first_attempts(candidates: Iterable[Attempt], max_submissions: int = SUBMISSIONS) -> list[Attempt]:
    """Return the first `max_submissions` attempts of `order_attempts_by_rounds`."""
    return list(islice(order_attempts_by_rounds(candidates), max_submissions))


def order_attempts_by_rounds(candidates: Iterable[Attempt]) -> Iterator[Attempt]:
    """Yield the attempts in the order of submission.

    Each round goes over the subtasks from last to first and submits an attempt for each subtask.
    A solved subtask is skipped from then on and uses no more submissions. Attempts for the same subtask are
    ordered by `compute_rank_within_target_subtask`. Attempts that do not compile, or whose target is worth 0
    points, are not submitted.
    """
    attempts_by_target: dict[str | None, list[Attempt]] = {}
    for candidate in candidates:
        if candidate.result.compiles:
            attempts_by_target.setdefault(find_target_subtask(candidate), []).append(candidate)
    any_attempts = next(iter(attempts_by_target.values()), [])
    round_targets = _list_target_subtasks_in_order(any_attempts[0].result.subtasks) if any_attempts else []
    # Attempts of each target. The next attempt of a target is the last item.
    queues = {
        target: sorted(attempts_by_target[target], key=compute_rank_within_target_subtask, reverse=True)
        for target in round_targets
        if target in attempts_by_target
    }
    solved_subtasks: set[str] = set()
    while queues:
        for target in list(queues):
            if _is_target_solved(target, queues[target][-1], solved_subtasks):
                del queues[target]
                continue
            next_attempt = queues[target].pop()
            if not queues[target]:
                del queues[target]
            # Add the subtasks that the attempt solves. A problem without subtasks is a subtask without a
            # name.
            subtasks = next_attempt.result.subtasks
            solved_subtasks.update(subtask.subtask for subtask in subtasks if subtask.exact_score >= 1)
            if not subtasks and next_attempt.result.points >= 1:
                solved_subtasks.add(_WHOLE_PROBLEM)
            yield next_attempt


def _list_target_subtasks_in_order(subtasks: Sequence[SubtaskResult]) -> list[str | None]:
    """Return the targets of attempts: the whole problem (None), then the subtasks from last to first.

    This is the order in which each round of submissions goes over the targets.
    """
    return [None, *(subtask.subtask for subtask in reversed(subtasks) if subtask.points)]


def find_target_subtask(attempt: Attempt) -> str | None:
    """Return the subtask for which an attempt is written.

    None means that the attempt is written for the whole problem or for an unknown subtask.
    """
    subtask_names = {subtask.subtask for subtask in attempt.result.subtasks}
    return attempt.target if attempt.target in subtask_names else None


def compute_rank_within_target_subtask(attempt: Attempt) -> tuple[float, int, _Order]:
    """Return the sort key among attempts for the same target.

    The attempt with the best score on the samples comes first, then the attempt with the longest reasoning,
    then the attempt that was submitted first.
    """
    return -attempt.sample_score, -attempt.length, attempt.sort_key


def _is_target_solved(target_subtask: str | None, attempt: Attempt, solved_subtasks: set[str]) -> bool:
    """Return True if a target, a subtask or the whole problem, is solved."""
    if target_subtask is not None:
        return target_subtask in solved_subtasks
    counting_subtasks = [subtask.subtask for subtask in attempt.result.subtasks if subtask.points]
    return solved_subtasks.issuperset(counting_subtasks or [_WHOLE_PROBLEM])


# --- a single submission -----------------------------------------------------------------------------


def select_single_attempt(candidates: Iterable[Attempt]) -> Attempt | None:
    """Return the attempt that a model with a single submission submits.

    It is the first attempt for the whole problem. Without such an attempt, it is the first attempt for the
    last subtask that has attempts. The attempt's score and its compilation do not matter.
    """

    return min(candidates, key=_compute_single_submission_rank, default=None)


def _compute_single_submission_rank(attempt: Attempt) -> tuple[int, _Order]:
    """Return the sort key of `select_single_attempt`.

    It is the position of the target, then the order of submission.
    """
    round_targets, target = (
        _list_target_subtasks_in_order(attempt.result.subtasks),
        find_target_subtask(attempt),
    )
    return (round_targets.index(target) if target in round_targets else len(round_targets)), attempt.sort_key


# --- pools of attempts that may still decide a score -------------------------------------------------


# Pair of a sort key and an attempt. The attempt with the lowest key is selected.
_RankedAttempt = tuple[tuple[Any, ...], Attempt]


# Content of a pool that is encoded as bytes: the maximum number of submissions, the keys of attempts by
# target, the key of the best attempt by kind of rank, the keys of the last attempt and of the attempt of
# `select_single_attempt`, and the attempts by key.
_PackedPool = tuple[
    int, dict[str | None, list[str]], dict[str, str], tuple[str | None, str | None], dict[str, Attempt]
]


def _compute_result_rank(rank_kind: str, result: SubmissionResult) -> tuple[Any, ...]:
    """Return a sort key for results: by decreasing points or, for `subtask N`, by that subtask's points."""
    kind_name, _, index = rank_kind.partition(" ")
    if kind_name != "subtask":
        return -result.points, result.key
    subtask = result.subtasks[int(index)]
    return -subtask.weighted_score, -subtask.exact_score, result.key


class SubmissionPool:
    """A model's submissions for a problem, added one by one.

    The pool stores only submissions that a selection may need: for each subtask, fewer than twice
    `max_submissions`, and the submissions that are best or last.
    """

    def __init__(self, max_submissions: int = SUBMISSIONS) -> None:
        self._max_submissions = max_submissions
        self._queues_by_target: dict[str | None, list[_RankedAttempt]] = {}
        # Attempt with the lowest sort key for each kind of rank: points, tokened or `subtask N`.
        self._best_by_kind: dict[str, _RankedAttempt] = {}
        self._last_attempt: _RankedAttempt | None = None
        self._single_attempt: _RankedAttempt | None = None

    def add(self, candidate: Attempt) -> None:
        """Add a submission, if a selection may need it."""
        candidate = msgspec.structs.replace(candidate, result=remove_test_results(candidate.result))
        result, sort_key, single_rank = (
            candidate.result,
            candidate.sort_key,
            _compute_single_submission_rank(candidate),
        )
        # Only submissions that can decide a score in some mode are stored: the best of each kind, and the
        # last.
        subtask_kinds = [f"subtask {index}" for index in range(len(result.subtasks))]
        for rank_kind in ("points", *(["tokened"] if candidate.tokened else []), *subtask_kinds):
            ranked_attempt = _compute_result_rank(rank_kind, result), candidate
            if rank_kind not in self._best_by_kind or ranked_attempt[0] < self._best_by_kind[rank_kind][0]:
                self._best_by_kind[rank_kind] = ranked_attempt
        if self._last_attempt is None or sort_key > self._last_attempt[0]:
            self._last_attempt = sort_key, candidate
        if self._single_attempt is None or single_rank < self._single_attempt[0]:
            self._single_attempt = single_rank, candidate
        if result.compiles:
            queue = self._queues_by_target.setdefault(find_target_subtask(candidate), [])
            queue.append((compute_rank_within_target_subtask(candidate), candidate))
            if len(queue) >= 2 * self._max_submissions:
                queue.sort(key=itemgetter(0))
                del queue[self._max_submissions :]

    def serialize(self) -> bytes:
        """Return the pool as bytes that `deserialize` reads."""
        attempts = dict[str, Attempt]()

        def add_attempt(ranked: _RankedAttempt) -> str:
            return attempts.setdefault(ranked[1].result.key, ranked[1]).result.key

        queued_keys = {
            target: list(map(add_attempt, queue)) for target, queue in self._queues_by_target.items()
        }
        best_keys = {kind: add_attempt(ranked_attempt) for kind, ranked_attempt in self._best_by_kind.items()}
        last_and_single_keys = (
            self._last_attempt and add_attempt(self._last_attempt),
            self._single_attempt and add_attempt(self._single_attempt),
        )
        return msgspec.msgpack.encode(
            (self._max_submissions, queued_keys, best_keys, last_and_single_keys, attempts)
        )

    @classmethod
    def deserialize(cls, data: bytes) -> SubmissionPool:
        """Return a pool from bytes that `serialize` returned. Raises msgspec.MsgspecError for other bytes."""
        max_submissions, queued_keys, best_keys, (last_key, single_key), attempts = msgspec.msgpack.decode(
            data, type=_PackedPool
        )
        pool = cls(max_submissions)
        pool._queues_by_target = {
            target: [(compute_rank_within_target_subtask(attempts[key]), attempts[key]) for key in keys]
            for target, keys in queued_keys.items()
        }
        pool._best_by_kind = {
            kind: (_compute_result_rank(kind, attempts[key].result), attempts[key])
            for kind, key in best_keys.items()
        }
        pool._last_attempt = None if last_key is None else (attempts[last_key].sort_key, attempts[last_key])
        pool._single_attempt = (
            None
            if single_key is None
            else (_compute_single_submission_rank(attempts[single_key]), attempts[single_key])
        )
        return pool

    def select_attempts(self, budget: Budget) -> list[Attempt]:
        """Return the selected submissions, in order.

        For an unlimited budget, return only the submissions that can decide a score.
        """
        match budget:
            case Budget.UNLIMITED:
                deciding_attempts = [
                    *self._best_by_kind.values(),
                    *([self._last_attempt] if self._last_attempt else []),
                ]
                attempts_by_key = {attempt.result.key: attempt for _, attempt in deciding_attempts}
                return sorted(attempts_by_key.values(), key=lambda attempt: attempt.sort_key)
            case Budget.LIMITED:
                queued_attempts = [
                    attempt for queue in self._queues_by_target.values() for _, attempt in queue
                ]
                return select_first_attempts(queued_attempts, self._max_submissions)
            case Budget.SINGLE:
                return [self._single_attempt[1]] if self._single_attempt else []
