"""Counters that results run through one by one, in any order, and what a row says, read defensively."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction
from typing import Any

import msgspec

from ioi_eval.model.nesting import shallow
from ioi_eval.model.values import SubmissionResult, Value, Verdict
from ioi_eval.reports.records import Use
from ioi_eval.rules.metrics import Trials
from ioi_eval.rules.scoring import ending, pass_rate, submission_status
from ioi_eval.rules.selection import SUBMISSIONS, Attempt, SubmissionPool, aim
from ioi_eval.rules.verdicts import ENDINGS
from ioi_eval.store.rows import as_number
from ioi_eval.store.tasks import Task

_TOKENS = ("output_tokens", "completion_tokens")  # in a row's metadata.usage
_TEXTS = ("reasoning", "reasoning_content", "generation")  # the first that there is
_TRUE = frozenset({"true", "yes", "1"})


def candidate_of(row: Mapping[str, Any], result: SubmissionResult) -> Attempt:
    target, metadata = row.get("target_subtask"), _part(row, "metadata")
    time, usage = metadata.get("timestamp"), _part(metadata, "usage")
    counted = (number for name in _TOKENS if (number := as_number(usage.get(name))) is not None)
    texts = (text for name in _TEXTS if isinstance(text := row.get(name), str) and text)
    return Attempt(
        result=result,
        target=target if isinstance(target, str) else None,
        number=as_number(row.get("solution_number")),
        time=time if isinstance(time, str) else "",
        # Tokens where the row counts them, else characters.
        length=int(next(counted, len(next(texts, "")))),
        tokened=str(row.get("tokened", "")).lower() in _TRUE,
    )


def _part(row: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """A structured column, also where a table made JSON of it."""
    value = row.get(name)
    if isinstance(value, str):
        try:
            value = msgspec.json.decode(shallow(value))
        except msgspec.DecodeError:
            return {}
    return value if isinstance(value, Mapping) else {}


# --- what a problem is like --------------------------------------------------------------------------


class Traits(Value):
    """The labels by which reports group problems."""

    difficulty: str = ""
    tags: tuple[str, ...] = ()
    year: int | None = None

    def joined(self, other: Traits) -> Traits:
        """Merge the labels of a problem's rows, in whatever order they come."""
        years = {year for year in (self.year, other.year) if year is not None}
        return Traits(
            difficulty=min(filter(None, (self.difficulty, other.difficulty)), default=""),
            tags=tuple(sorted({*self.tags, *other.tags})),
            year=min(years, default=None),
        )


def traits_of(row: Mapping[str, Any]) -> Traits:
    difficulty, year, tags = row.get("difficulty"), as_number(row.get("year")), row.get("tags")
    if isinstance(tags, str):
        tags = [tag.strip() for tag in tags.split(",")]
    listed = tags if isinstance(tags, list | tuple) else ()
    return Traits(
        difficulty=str(difficulty) if isinstance(difficulty, str | int | float) else "",
        tags=tuple(sorted({tag for tag in listed if isinstance(tag, str) and tag})),
        year=int(year) if year is not None else None,
    )


_MAX_DISTINCT = 20  # machines and repairs that a report names


class PackedTally(Value):
    """The counts of a tally, but for submissions that could not be judged."""

    scored: int
    compiled: int
    solved: int
    verdicts: Mapping[str, int]
    best_pass_rate: float | None
    uses: tuple[tuple[str, int, int], ...]
    pool: bytes
    points: tuple[str, str]  # numerator and denominator
    asked: tuple[tuple[str | None, int, int], ...]  # and how many passed


class Tally:
    """The outcomes of one model's submissions for one problem."""

    def __init__(self, submissions: int = SUBMISSIONS) -> None:
        self.scored = self.unscored = self.compiled = self.solved = 0
        self.verdicts: Counter[str] = Counter()
        self.best_pass_rate: float | None = None
        self.uses: Counter[tuple[str, int]] = Counter()
        self.pool = SubmissionPool(submissions)
        self._points = Fraction()  # exact, so that the order of adding does not show
        self._asked: Counter[str | None] = Counter()  # by what was asked for
        self._passed: Counter[str | None] = Counter()

    @property
    def packed(self) -> PackedTally:
        return PackedTally(
            scored=self.scored,
            compiled=self.compiled,
            solved=self.solved,
            verdicts=self.verdicts,
            best_pass_rate=self.best_pass_rate,
            uses=tuple((*use, number) for use, number in self.uses.items()),
            pool=self.pool.packed(),
            points=(str(self._points.numerator), str(self._points.denominator)),
            asked=tuple((target, asked, self._passed[target]) for target, asked in self._asked.items()),
        )

    @classmethod
    def unpacked(cls, packed: PackedTally) -> Tally:
        tally = cls()
        tally.scored, tally.compiled, tally.solved = packed.scored, packed.compiled, packed.solved
        tally.verdicts, tally.best_pass_rate = Counter(packed.verdicts), packed.best_pass_rate
        tally.uses = Counter({(what, steps): number for what, steps, number in packed.uses})
        tally.pool = SubmissionPool.unpacked(packed.pool)
        tally._points = Fraction(*map(int, packed.points))
        tally._asked = Counter({target: asked for target, asked, _ in packed.asked})
        tally._passed = Counter({target: passed for target, _, passed in packed.asked})
        return tally

    def add(self, candidate: Attempt) -> None:
        result = candidate.result
        status = submission_status(result)
        self.scored += 1
        self.compiled += result.compiles
        self.solved += status is Verdict.AC
        self.verdicts[ending(result)] += 1
        self.best_pass_rate = max(self.best_pass_rate or 0.0, pass_rate(result).pass_rate)
        self._points += Fraction(result.points)
        # Full marks on what was asked for: the whole problem, or one of its subtasks.
        target = aim(candidate)
        asked = (part.exact_score >= 1 for part in result.subtasks if part.subtask == target)
        self._asked[target] += 1
        self._passed[target] += status is Verdict.AC if target is None else any(asked)
        self.pool.add(candidate)

    @property
    def mean_points(self) -> float | None:
        return float(self._points / self.scored) if self.scored else None

    def trials(self, problem: str) -> list[Trials]:
        """Return each thing that was asked for: the whole problem, or one of its subtasks."""
        asked = sorted(self._asked, key=lambda target: target or "")
        return [
            Trials(problem=problem, scored=self._asked[name], passed=self._passed[name]) for name in asked
        ]


_MOST = 31  # steps of a use that are counted apart


def uses_of(result: SubmissionResult, task: Task) -> Iterator[tuple[str, int]]:
    """Return the steps of its limits of time and memory that a submission took, where they are known."""
    times = [test.cpu_time for test in result.tests if test.cpu_time is not None]
    sizes = [test.memory for test in result.tests if test.memory is not None]
    if times and task.cpu_time:
        yield "time", min(_MOST, math.ceil(max(times) / task.cpu_time / Use.STEP))
    if sizes and task.memory:
        yield "memory", min(_MOST, math.ceil(max(sizes) / task.memory / Use.STEP))


def uses(tallies: Iterable[Tally]) -> tuple[Use, ...]:
    total = Counter[tuple[str, int]]()
    for tally in tallies:
        total.update(tally.uses)
    kinds = [what for what in ("time", "memory") if any(kind == what for kind, _ in total)]
    return tuple(
        Use(what=what, counts=tuple(total[what, steps] for steps in range(_MOST + 1))) for what in kinds
    )


class PackedFacts(Value):
    """The findings of `Facts`."""

    compilers: Mapping[str, int]
    repairs: Mapping[str, int]
    checkers: Mapping[str, frozenset[str]]
    confinements: frozenset[bytes]


class Facts:
    """The settings that the rows name."""

    def __init__(self) -> None:
        self._compilers: Counter[str] = Counter()
        self._repairs: Counter[str] = Counter()
        self._checkers: dict[str, set[str]] = {}
        self._confinements: set[bytes] = set()

    @property
    def packed(self) -> PackedFacts:
        checkers = {problem: frozenset(found) for problem, found in self._checkers.items()}
        return PackedFacts(
            compilers=self._compilers,
            repairs=self._repairs,
            checkers=checkers,
            confinements=frozenset(self._confinements),
        )

    @classmethod
    def unpacked(cls, packed: PackedFacts) -> Facts:
        facts = cls()
        facts._compilers, facts._repairs = Counter(packed.compilers), Counter(packed.repairs)
        facts._checkers = {problem: set(found) for problem, found in packed.checkers.items()}
        facts._confinements = set(packed.confinements)
        return facts

    def add(self, result: SubmissionResult) -> None:
        self._compilers[result.compiler] += 1
        self._repairs.update(set(result.repairs))
        self._checkers.setdefault(result.problem_id, set()).add(result.checker)
        if result.confinement:
            same = {name: value for name, value in result.confinement.items() if name != "uid"}
            self._confinements.add(msgspec.json.encode(same, order="sorted"))

    def compilers_by_name(self) -> dict[str, int]:
        return _by_number(self._compilers)

    def repairs_by_name(self) -> dict[str, int]:
        return _by_number(self._repairs)

    def checkers_by_problem(self) -> dict[str, tuple[str, ...]]:
        return {problem: tuple(sorted(found - {""})) for problem, found in sorted(self._checkers.items())}

    def confinements(self) -> tuple[Mapping[str, Any], ...]:
        """Distinct ones; boxes differ by their uid only, which says nothing."""
        return tuple(
            msgspec.json.decode(confinement) for confinement in sorted(self._confinements)[:_MAX_DISTINCT]
        )


def _by_number(counter: Counter[str]) -> dict[str, int]:
    ranked = sorted(counter.items(), key=lambda pair: (-pair[1], pair[0]))
    return {name: number for name, number in ranked if name}


def worst_first(counters: Iterable[Mapping[str, int]]) -> dict[str, int]:
    total: Counter[str] = Counter()
    for counter in counters:
        total.update(counter)
    return {word: total[word] for word in ENDINGS if total[word]}
