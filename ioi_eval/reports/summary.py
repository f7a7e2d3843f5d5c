"""A run's numbers, in one pass over its rows. Memory grows with models, problems and the number of
submissions that may be handed in, not with all that there are.

A submission that could not be judged is counted as unscored and is in no other number. No number depends
on the order of the rows.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from ioi_eval.errors import InputError
from ioi_eval.journal import RunInfo, read_failures, read_info, read_rows
from ioi_eval.journal.files import replace
from ioi_eval.models import SubmissionResult
from ioi_eval.reports.accounts import Account, best_subtasks
from ioi_eval.reports.candidates import Traits, candidate_of, traits_of
from ioi_eval.reports.options import ReportOptions
from ioi_eval.reports.tally import Facts, Tally, worst_first
from ioi_eval.reports.values import Failures, ModelSummary, Settings, Summary
from ioi_eval.rows import model_of, result_of

SUMMARY = "summary.json"
_MAX_REASONS, _MAX_EXAMPLES = 100, 5


def write_summary(folder: Path, of: Summary) -> Path:
    replace(folder / SUMMARY, [msgspec.json.format(msgspec.json.encode(of)), b"\n"])
    return folder / SUMMARY


def summary(folder: Path, options: ReportOptions | None = None) -> Summary:
    """Reads a run's folder, also one that a process still writes."""
    reading = _Reading(read_failures(folder), options or ReportOptions())
    info = check_run(folder)
    for row in read_rows(folder):
        reading.add(row)
    return reading.summary(info)


def check_run(folder: Path) -> RunInfo:
    """What the run was made of, if there is one that can be reported."""
    info = read_info(folder)
    if info is None:
        raise InputError("there is no run in this folder", where=str(folder), remedy="Name a run's folder")
    if info.replacing:
        problem = "a new run is taking the place of the old one"
        raise InputError(problem, where=str(folder), remedy="Run `ioi-eval score` again")
    return info


class _Reading:
    """The one pass: rows go through it one by one, and leave their counts and what selections need."""

    def __init__(self, failures: dict[str, dict[str, Any]], options: ReportOptions) -> None:
        self._failures = failures  # what is left after the pass has no row
        self._options = options
        self._tallies: dict[tuple[str, str], Tally] = {}
        self._traits: dict[str, Traits] = {}
        self._facts = Facts()

    def add(self, row: Mapping[str, Any]) -> None:
        self._failures.pop(row["key"], None)
        result = result_of_row(row)
        self._know(result.problem_id, row)
        self._tally(model_of(row), result.problem_id).add(candidate_of(row, result))
        self._facts.add(result)

    def _know(self, problem: str, row: Mapping[str, Any]) -> None:
        self._traits[problem] = self._traits.get(problem, Traits()).joined(traits_of(row))

    def _tally(self, model: str, problem: str) -> Tally:
        return self._tallies.setdefault((model, problem), Tally(self._options.submissions))

    def summary(self, info: RunInfo) -> Summary:
        for row in self._failures.values():
            problem = str(row.get("problem_id", ""))
            self._know(problem, row)
            self._tally(model_of(row), problem).unscored += 1
        models = self._models()
        return Summary(
            mode=self._options.mode,
            submission_limit=self._options.submissions,
            submissions=sum(model.submissions for model in models),
            scored=sum(model.scored for model in models),
            unscored=len(self._failures),
            problems=len({problem for _, problem in self._tallies}),
            verdicts=worst_first(model.verdicts for model in models),
            models=models,
            failures=_failures(self._failures.values()),
            settings=self._settings(info),
        )

    def _models(self) -> tuple[ModelSummary, ...]:
        worths = self._worths()
        names = sorted({model for model, _ in self._tallies})
        models = [self._account(name).summary(worths, self._traits) for name in names]
        return tuple(sorted(models, key=lambda model: (-model.points, -model.problems_solved, model.model)))

    def _account(self, model: str) -> Account:
        """Over all problems of the run, so that models are compared over the same ones."""
        problems = {problem for _, problem in self._tallies}
        tallies = {
            name: self._tallies.get((model, name), Tally(self._options.submissions)) for name in problems
        }
        return Account(model, tallies, self._options)

    def _worths(self) -> dict[str, float]:
        """Points of every problem with subtasks of which any model's submission has a result."""
        parts = ((problem, best_subtasks(tally)) for (_, problem), tally in self._tallies.items())
        return {problem: math.fsum(best.points for best in bests) for problem, bests in parts if bests}

    def _settings(self, info: RunInfo) -> Settings:
        return Settings(
            dump=info.fingerprint.dump,
            problems=info.fingerprint.problems,
            options=info.fingerprint.options,
            versions=info.fingerprint.versions,
            given=info.settings,
            compilers=self._facts.compilers_by_name(),
            checkers=self._facts.checkers_by_problem(),
            confinements=self._facts.confinements(),
            repairs=self._facts.repairs_by_name(),
        )


def result_of_row(row: Mapping[str, Any]) -> SubmissionResult:
    try:
        return result_of(row)
    except (KeyError, ValueError, msgspec.ValidationError) as error:
        problem = f"the row of {row['key']!r} is not a result of this version: {error}"
        raise InputError(problem, remedy="Score the dump again with --fresh") from error


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
