"""A run's numbers, in one pass over its rows. Memory grows with models and problems, not with submissions.

A submission that could not be judged is counted as unscored and is in no other number. No number depends
on the order of the rows.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from ioi_eval.errors import InputError
from ioi_eval.journal import RunInfo, read_failures, read_info, read_rows
from ioi_eval.journal.files import replace
from ioi_eval.models import SubmissionResult, Value, Verdict
from ioi_eval.reports.tally import Facts, Tally, worst_first
from ioi_eval.rows import model_of, result_of
from ioi_eval.scoring import BestOfSubtasks, BestSubtask, best_of_subtasks

SUMMARY = "summary.json"
_VERSION = 1
_MAX_REASONS, _MAX_EXAMPLES = 100, 5


class ProblemSummary(Value):
    """One model's submissions for one problem. Points are those of the best of subtasks."""

    problem_id: str
    points: float | None  # None: no subtasks, so `solved` and `best_pass_rate` say what there is to say
    max_points: float | None  # None also where no submission for the problem was ever scored
    submissions: int  # scored and unscored
    scored: int
    unscored: int
    compiled: int
    solved: int  # scored submissions with full marks
    mean_points: float | None  # of a scored submission; without subtasks the mean share of the tests
    best_pass_rate: float | None  # without subtasks
    verdicts: Mapping[Verdict, int]  # of scored submissions; worst first
    subtasks: tuple[BestSubtask, ...]


class ModelSummary(Value):
    """One model over all problems of the run, also those that it has no submission for."""

    model: str  # empty where the dump names none
    points: float
    max_points: float
    problems_solved: int  # full marks, or a submission that passes everything where there are no subtasks
    submissions: int
    scored: int
    unscored: int
    compiled: int
    solved: int
    verdicts: Mapping[Verdict, int]
    problems: tuple[ProblemSummary, ...]


class Failures(Value):
    """Submissions that could not be judged, for one reason."""

    reason: str
    phase: str
    remedy: str
    submissions: int
    problems: tuple[str, ...]
    examples: tuple[str, ...]  # some of the keys


class Settings(Value):
    """What the run was made with: as the run says (`given`), and as the rows say."""

    dump: str = ""
    options: Mapping[str, Any] = {}
    versions: Mapping[str, str] = {}
    given: Mapping[str, Any] = {}
    compilers: Mapping[str, int] = {}  # by how many submissions
    checkers: Mapping[str, tuple[str, ...]] = {}  # by problem
    confinements: tuple[Mapping[str, Any], ...] = ()
    repairs: Mapping[str, int] = {}


class Summary(Value, kw_only=True):
    version: int = _VERSION
    submissions: int
    scored: int
    unscored: int
    problems: int
    verdicts: Mapping[Verdict, int]
    models: tuple[ModelSummary, ...]  # most points first
    failures: tuple[Failures, ...]  # most frequent first, at most a hundred reasons
    settings: Settings


def write_summary(folder: Path, of: Summary) -> Path:
    replace(folder / SUMMARY, [msgspec.json.format(msgspec.json.encode(of)), b"\n"])
    return folder / SUMMARY


def summary(folder: Path) -> Summary:
    """Reads a run's folder, also one that a process still writes."""
    info = read_info(folder)
    if info is None:
        raise InputError("there is no run in this folder", where=str(folder), remedy="Name a run's folder")
    if info.replacing:
        problem = "a new run is taking the place of the old one"
        raise InputError(problem, where=str(folder), remedy="Run `ioi-eval score` again")
    reading = _Reading(read_failures(folder))
    bests = best_of_subtasks(reading.through(read_rows(folder)))
    return reading.summary(info, bests)


class _Reading:
    """The one pass: rows go through it to the best of subtasks, and leave their counts here."""

    def __init__(self, failures: dict[str, dict[str, Any]]) -> None:
        self._failures = failures  # what is left after the pass has no row
        self._tallies: dict[tuple[str, str], Tally] = {}
        self._facts = Facts()

    def through(self, rows: Iterable[dict[str, Any]]) -> Iterator[SubmissionResult]:
        """Results under a name for model and problem, because the best is taken within both."""
        for row in rows:
            self._failures.pop(row["key"], None)
            result = _result(row)
            model = model_of(row)
            self._tally(model, result.problem_id).add(result)
            self._facts.add(result)
            yield msgspec.structs.replace(result, problem_id=_joint(model, result.problem_id))

    def _tally(self, model: str, problem: str) -> Tally:
        return self._tallies.setdefault((model, problem), Tally())

    def summary(self, info: RunInfo, bests: Mapping[str, BestOfSubtasks]) -> Summary:
        for row in self._failures.values():
            self._tally(model_of(row), str(row.get("problem_id", ""))).unscored += 1
        models = self._models(bests)
        return Summary(
            submissions=sum(model.submissions for model in models),
            scored=sum(model.scored for model in models),
            unscored=len(self._failures),
            problems=len({problem for _, problem in self._tallies}),
            verdicts=worst_first(model.verdicts for model in models),
            models=models,
            failures=_failures(self._failures.values()),
            settings=self._settings(info),
        )

    def _models(self, bests: Mapping[str, BestOfSubtasks]) -> tuple[ModelSummary, ...]:
        possible = self._possible(bests)
        problems = sorted({problem for _, problem in self._tallies})
        models = [
            _model(model, [self._problem(model, problem, bests, possible) for problem in problems])
            for model in sorted({model for model, _ in self._tallies})
        ]
        return tuple(sorted(models, key=lambda model: (-model.points, -model.problems_solved, model.model)))

    def _possible(self, bests: Mapping[str, BestOfSubtasks]) -> dict[str, float]:
        """Points of every problem with subtasks of which any model's submission has a result."""
        pairs = ((problem, bests.get(_joint(model, problem))) for model, problem in self._tallies)
        return {problem: best.max_points for problem, best in pairs if best is not None and best.subtasks}

    def _problem(
        self, model: str, problem: str, bests: Mapping[str, BestOfSubtasks], possible: Mapping[str, float]
    ) -> ProblemSummary:
        tally = self._tallies.get((model, problem), Tally())
        best = bests.get(_joint(model, problem))
        return ProblemSummary(
            problem_id=problem,
            points=(best.points if best else 0.0) if problem in possible else None,
            max_points=possible.get(problem),
            submissions=tally.scored + tally.unscored,
            scored=tally.scored,
            unscored=tally.unscored,
            compiled=tally.compiled,
            solved=tally.solved,
            mean_points=tally.mean_points,
            best_pass_rate=None if problem in possible else tally.best_pass_rate,
            verdicts=worst_first([tally.verdicts]),
            subtasks=best.subtasks if best else (),
        )

    def _settings(self, info: RunInfo) -> Settings:
        return Settings(
            dump=info.fingerprint.dump,
            options=info.fingerprint.options,
            versions=info.fingerprint.versions,
            given=info.settings,
            compilers=self._facts.compilers_by_name(),
            checkers=self._facts.checkers_by_problem(),
            confinements=self._facts.confinements(),
            repairs=self._facts.repairs_by_name(),
        )


def _joint(model: str, problem: str) -> str:
    return msgspec.json.encode([model, problem]).decode()


def _result(row: Mapping[str, Any]) -> SubmissionResult:
    try:
        return result_of(row)
    except (KeyError, ValueError, msgspec.ValidationError) as error:
        problem = f"the row of {row['key']!r} is not a result of this version: {error}"
        raise InputError(problem, remedy="Score the dump again with --fresh") from error


def _model(model: str, problems: list[ProblemSummary]) -> ModelSummary:
    return ModelSummary(
        model=model,
        points=math.fsum(problem.points or 0 for problem in problems),
        max_points=math.fsum(problem.max_points or 0 for problem in problems),
        problems_solved=sum(_is_solved(problem) for problem in problems),
        submissions=sum(problem.submissions for problem in problems),
        scored=sum(problem.scored for problem in problems),
        unscored=sum(problem.unscored for problem in problems),
        compiled=sum(problem.compiled for problem in problems),
        solved=sum(problem.solved for problem in problems),
        verdicts=worst_first(problem.verdicts for problem in problems),
        problems=tuple(problems),
    )


def _is_solved(problem: ProblemSummary) -> bool:
    """Subtask by subtask, as points count; several submissions may share the work."""
    if problem.max_points is None:
        return problem.solved > 0
    return bool(problem.subtasks) and all(best.exact_score >= 1 for best in problem.subtasks)


def _failures(rows: Iterable[Mapping[str, Any]]) -> tuple[Failures, ...]:
    groups: dict[tuple[str, str, str], list[Mapping[str, Any]]] = {}
    for row in rows:
        reason, phase, remedy = (str(row.get(name, "")) for name in ("reason", "phase", "remedy"))
        groups.setdefault((reason, phase, remedy), []).append(row)
    ranked = sorted(groups.items(), key=lambda group: (-len(group[1]), group[0]))
    return tuple(_reason(*why, members) for why, members in ranked[:_MAX_REASONS])


def _reason(reason: str, phase: str, remedy: str, members: list[Mapping[str, Any]]) -> Failures:
    return Failures(
        reason=reason,
        phase=phase,
        remedy=remedy,
        submissions=len(members),
        problems=tuple(sorted({str(row.get("problem_id", "")) for row in members})),
        examples=tuple(sorted(str(row["key"]) for row in members)[:_MAX_EXAMPLES]),
    )
