"""Counters that results run through one by one, in any order, and what a row says, read defensively."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction
from typing import Any, get_args, get_origin

import msgspec

from ioi_eval.model.nesting import shallow
from ioi_eval.model.values import SubmissionResult, Value, Verdict
from ioi_eval.reports.records import Settings, Use
from ioi_eval.rules.metrics import Trials
from ioi_eval.rules.scoring import ending, pass_rate, submission_status
from ioi_eval.rules.selection import Attempt, SubmissionPool, aim
from ioi_eval.rules.verdicts import ENDINGS
from ioi_eval.store.folder import RunInfo
from ioi_eval.store.rows import as_number
from ioi_eval.store.tasks import Task

_TOKENS = ("output_tokens", "completion_tokens")  # in a row's metadata.usage
_TEXTS = ("reasoning", "reasoning_content", "generation")  # the first that there is
_TRUE = frozenset({"true", "yes", "1"})


def candidate_of(row: Mapping[str, Any], result: SubmissionResult) -> Attempt:
    target, metadata = row.get("target_subtask"), _mapping(row.get("metadata"))
    time, usage = metadata.get("timestamp"), _mapping(metadata.get("usage"))
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


def structured(value: Any) -> Any:
    """Return a structured column, also where a table made JSON of it; None where that is broken."""
    try:
        return msgspec.json.decode(shallow(value)) if isinstance(value, str) else value
    except msgspec.DecodeError:
        return None


def _mapping(value: Any) -> Mapping[str, Any]:
    found = structured(value)
    return found if isinstance(found, Mapping) else {}


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


class Tally(msgspec.Struct):
    """The outcomes of one model's submissions for one problem."""

    pool: SubmissionPool
    scored: int = 0
    unscored: int = 0
    compiled: int = 0
    solved: int = 0
    verdicts: Counter[str] = msgspec.field(default_factory=Counter)
    best_pass_rate: float | None = None
    uses: Counter[tuple[str, int]] = msgspec.field(default_factory=Counter)
    points: Fraction = Fraction()  # exact, so that the order of adding does not show
    asked: Counter[str | None] = msgspec.field(default_factory=Counter)  # by what was asked for
    passed: Counter[str | None] = msgspec.field(default_factory=Counter)

    def add(self, candidate: Attempt) -> None:
        result = candidate.result
        status = submission_status(result)
        self.scored += 1
        self.compiled += result.compiles
        self.solved += status is Verdict.AC
        self.verdicts[ending(result)] += 1
        self.best_pass_rate = max(self.best_pass_rate or 0.0, pass_rate(result).pass_rate)
        self.points += Fraction(result.points)
        # Full marks on what was asked for: the whole problem, or one of its subtasks.
        target = aim(candidate)
        asked = (part.exact_score >= 1 for part in result.subtasks if part.subtask == target)
        self.asked[target] += 1
        self.passed[target] += status is Verdict.AC if target is None else any(asked)
        self.pool.add(candidate)

    @property
    def mean_points(self) -> float | None:
        return float(self.points / self.scored) if self.scored else None

    def trials(self, problem: str) -> list[Trials]:
        """Return each thing that was asked for: the whole problem, or one of its subtasks."""
        asked = sorted(self.asked, key=lambda target: target or "")
        return [Trials(problem=problem, scored=self.asked[name], passed=self.passed[name]) for name in asked]


def to_plain(value: object) -> Any:
    """Return what msgspec can write in the place of a pool or a fraction."""
    return value.packed() if isinstance(value, SubmissionPool) else str(value)


def from_plain(kind: Any, value: Any) -> Any:
    """Return the pool, the fraction or the counter that msgspec has read as something plain."""
    if get_origin(kind) is Counter:
        return Counter(msgspec.convert(value, dict[get_args(kind)[0], int]))  # type: ignore[misc]
    return SubmissionPool.unpacked(value) if kind is SubmissionPool else Fraction(value)


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


class Facts(msgspec.Struct):
    """The settings that the rows name."""

    compilers: Counter[str] = msgspec.field(default_factory=Counter)
    repairs: Counter[str] = msgspec.field(default_factory=Counter)
    checkers: dict[str, set[str]] = {}  # by problem
    confinements: set[bytes] = set()  # but for their uids: boxes differ by these, which says nothing

    def add(self, result: SubmissionResult) -> None:
        self.compilers[result.compiler] += 1
        self.repairs.update(set(result.repairs))
        self.checkers.setdefault(result.problem_id, set()).add(result.checker)
        if result.confinement:
            same = {name: value for name, value in result.confinement.items() if name != "uid"}
            self.confinements.add(msgspec.json.encode(same, order="sorted"))

    def settings(self, info: RunInfo) -> Settings:
        """Return them, beside what the run says itself."""
        return Settings(
            dump=info.fingerprint.dump,
            problems=info.fingerprint.problems,
            options=info.fingerprint.options,
            versions=info.fingerprint.versions,
            given=info.settings,
            compilers=_by_number(self.compilers),
            checkers={name: tuple(sorted(found - {""})) for name, found in sorted(self.checkers.items())},
            confinements=tuple(map(msgspec.json.decode, sorted(self.confinements)[:_MAX_DISTINCT])),
            repairs=_by_number(self.repairs),
        )


def _by_number(counter: Counter[str]) -> dict[str, int]:
    ranked = sorted(counter.items(), key=lambda pair: (-pair[1], pair[0]))
    return {name: number for name, number in ranked if name}


def worst_first(counters: Iterable[Mapping[str, int]]) -> dict[str, int]:
    total: Counter[str] = Counter()
    for counter in counters:
        total.update(counter)
    return {word: total[word] for word in ENDINGS if total[word]}
