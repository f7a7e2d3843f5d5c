"""Selection: the submissions of a model that a contestant would have handed in. Pure.

Nothing here knows what a submission scores before it is handed in, but for what a contestant can find out
alone: whether it compiles, and what it gets on the samples.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import StrEnum
from functools import partial
from itertools import islice

import msgspec

from ioi_eval.model.values import SubmissionResult, SubtaskResult, Value

SUBMISSIONS = 50  # as at the contests of 2024 and 2025
_WHOLE = ""


class Budget(StrEnum):
    """The number of submissions that a model may hand in for a problem."""

    UNLIMITED = "unlimited"
    LIMITED = "limited"
    SINGLE = "single"


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
    def order(self) -> tuple[float, str, tuple[tuple[str, int], ...]]:
        """Return the order of handing in, as far as rows tell: they are written in order of judging."""
        number = math.inf if self.number is None else self.number
        # Keys that end in numbers are in the order of the numbers.
        parts = re.findall(r"(\D*)(\d{0,18})", self.result.key)
        return number, self.time, tuple((text, int(digits or 0)) for text, digits in parts)


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
    """The whole problem first, then its subtasks from the last to the first."""
    return [None, *(part.subtask for part in reversed(subtasks) if part.points)]


def aim(candidate: Attempt) -> str | None:
    """The subtask that it aims at, if the problem has that one."""
    names = {part.subtask for part in candidate.result.subtasks}
    return candidate.target if candidate.target in names else None


def rank(candidate: Attempt) -> tuple[float, int, tuple[float, str, tuple[tuple[str, int], ...]]]:
    """Lowest first: most on the samples, then longest, then first come."""
    return -candidate.samples, -candidate.length, candidate.order


def _is_solved(target: str | None, some: Attempt, solved: set[str]) -> bool:
    if target is not None:
        return target in solved
    parts = [part.subtask for part in some.result.subtasks if part.points]
    return solved.issuperset(parts or [_WHOLE])


# --- one of them -------------------------------------------------------------------------------------


def single(candidates: Iterable[Attempt]) -> Attempt | None:
    """The first solution of those that aim highest: at the whole problem, else at its last subtask.

    Whatever it is worth, also if it does not compile.
    """

    def rank(candidate: Attempt) -> tuple[int, tuple[float, str, tuple[tuple[str, int], ...]]]:
        order, target = _targets(candidate.result.subtasks), aim(candidate)
        return (order.index(target) if target in order else len(order)), candidate.order

    return min(candidates, key=rank, default=None)


# --- one by one --------------------------------------------------------------------------------------


class SubmissionPool:
    """A model's submissions for one problem, gone through one by one; keeps only what a selection may need.

    However many there are, at most twice the limit is held for each subtask.
    """

    def __init__(self, submissions: int = SUBMISSIONS) -> None:
        self._submissions = submissions
        self._queues: dict[str | None, list[Attempt]] = {}
        self._leaders: dict[str, Attempt] = {}
        self._single: Attempt | None = None

    def add(self, candidate: Attempt) -> None:
        candidate = msgspec.structs.replace(candidate, result=bare(candidate.result))
        # The few that decide in every mode of scoring: the best of each kind, and the last.
        self._keep("best", candidate, _best)
        if candidate.tokened:
            self._keep("tokened", candidate, _best)
        last = self._leaders.get("last", candidate)
        self._leaders["last"] = max(last, candidate, key=lambda one: one.order)
        for place in range(len(candidate.result.subtasks)):
            self._keep(f"subtask {place}", candidate, partial(_best_part, place))
        self._single = single([candidate] if self._single is None else [self._single, candidate])
        if candidate.result.compiles:
            queue = self._queues.setdefault(aim(candidate), [])
            queue.append(candidate)
            if len(queue) >= 2 * self._submissions:
                queue.sort(key=rank)
                del queue[self._submissions :]

    def _keep(self, name: str, new: Attempt, rank: Callable[[Attempt], tuple[float | str, ...]]) -> None:
        self._leaders[name] = min(self._leaders.get(name, new), new, key=rank)

    def chosen(self, budget: Budget) -> list[Attempt]:
        """Return the submissions to hand in, in order; of an unlimited number only those that can decide."""
        match budget:
            case Budget.UNLIMITED:
                distinct = {one.result.key: one for one in self._leaders.values()}
                return sorted(distinct.values(), key=lambda one: one.order)
            case Budget.LIMITED:
                return limited([one for queue in self._queues.values() for one in queue], self._submissions)
            case Budget.SINGLE:
                return [self._single] if self._single else []


def _best(candidate: Attempt) -> tuple[float | str, ...]:
    return -candidate.result.points, candidate.result.key


def _best_part(place: int, candidate: Attempt) -> tuple[float | str, ...]:
    part = candidate.result.subtasks[place]
    return -part.weighted_score, -part.exact_score, candidate.result.key
