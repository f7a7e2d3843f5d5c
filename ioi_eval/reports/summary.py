"""A run's numbers, in one pass over its rows. Memory grows with models, problems and the number of
submissions that may be handed in, not with all that there are.

A submission that could not be judged is counted as unscored and is in no other number. No number depends
on the order of the rows.
"""

from __future__ import annotations

import contextlib
import gc
import math
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import msgspec

from ioi_eval.model.errors import InputError
from ioi_eval.model.quoting import as_json
from ioi_eval.model.values import SubmissionResult, Value, Verdict
from ioi_eval.reports.document import counted
from ioi_eval.reports.medals import award, known_contests, problems_of
from ioi_eval.reports.records import (
    BudgetAward,
    Ends,
    Failures,
    Group,
    ModelSummary,
    PackedEnds,
    ProblemSummary,
    ReportOptions,
    Settings,
    Step,
    Summary,
)
from ioi_eval.reports.scoreboard import Entrant, Scores
from ioi_eval.reports.standing import standing
from ioi_eval.reports.tally import (
    Facts,
    PackedFacts,
    PackedTally,
    Tally,
    Traits,
    candidate_of,
    traits_of,
    uses,
    uses_of,
    worst_first,
)
from ioi_eval.rules import scoring
from ioi_eval.rules.metrics import Trials, interval, mean, pass_at
from ioi_eval.rules.scoring import BestSubtask, Mode
from ioi_eval.rules.selection import Attempt, Budget
from ioi_eval.store.files import replace
from ioi_eval.store.folder import (
    RunInfo,
    is_doubtful,
    placed,
    read_failures,
    read_info,
    refuse_twice,
    wrongly_shared,
)
from ioi_eval.store.people import read_people
from ioi_eval.store.rows import model_of, result_of
from ioi_eval.store.tasks import Task, read_tasks

# How many submissions curves are drawn at, and k of pass@k.
_STEPS = (1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 25, 30, 40, 50, 75, 100, 150, 200, 300, 500)
_ALLOCATED = 100_000  # objects between two searches for cycles
_Names = Callable[[ProblemSummary], Sequence[str]]  # of the groups that a problem is in
# A row, but for its tests, its result, and where it is in results.jsonl.
Each = Callable[[Mapping[str, Any], SubmissionResult, int], object]


class Account:
    """A model's tallies, by problem."""

    def __init__(
        self, model: str, tallies: Mapping[str, Tally], options: ReportOptions, source: str = ""
    ) -> None:
        """`source`: where the problems come from."""
        self._model, self._tallies, self._options, self._source = model, tallies, options, source

    def summary(self, worths: Mapping[str, float], traits: Mapping[str, Traits]) -> ModelSummary:
        """`worths` are the points of all problems of the run that have subtasks."""
        problems = tuple(
            self._problem(name, tally, worths.get(name), traits.get(name, Traits()))
            for name, tally in sorted(self._tallies.items())
        )
        budgets = _budgets(problems)
        ks, trials = self._options.ks, self._trials(problems)
        fewest = min((trial.scored for trial in trials), default=0)  # beyond it there is no number
        passes = pass_at(trials, {*ks, *(step for step in _STEPS if step <= fewest)})
        low, high = _sure(problems)
        return ModelSummary(
            model=self._model,
            points=math.fsum(problem.points or 0 for problem in problems),
            max_points=math.fsum(problem.max_points or 0 for problem in problems),
            problems_solved=self._solved(problems),
            submissions=sum(problem.submissions for problem in problems),
            scored=sum(problem.scored for problem in problems),
            unscored=sum(problem.unscored for problem in problems),
            compiled=sum(problem.compiled for problem in problems),
            solved=sum(problem.solved for problem in problems),
            verdicts=worst_first(problem.verdicts for problem in problems),
            problems=problems,
            budgets=budgets,
            mean_score=_mean_score(problems),
            pass_at=tuple(found for found in passes if found.k in ks),
            groups=tuple(self._groups(problems)),
            awards=tuple(self._awards(problems)) if budgets else (),
            steps=tuple(self._steps(worths)),
            uses=uses(self._tallies.values()),
            pass_curve=tuple(found for found in passes if found.value is not None),
            share_low=low,
            share_high=high,
        )

    def _steps(self, worths: Mapping[str, float]) -> Iterator[Step]:
        own = [tally.pool for name, tally in self._tallies.items() if name in worths]
        pools = [pool.chosen(Budget.LIMITED) for pool in own]
        limit = self._options.submissions

        @cache
        def worth(place: int, number: int) -> float:
            return self._worth(pools[place][:number])

        for number in sorted({*(step for step in _STEPS if step < limit), limit} if own else ()):
            parts = (worth(place, min(number, len(chosen))) for place, chosen in enumerate(pools))
            yield Step(submissions=number, points=math.fsum(parts))

    # --- a problem ---

    def _problem(self, name: str, tally: Tally, worth: float | None, traits: Traits) -> ProblemSummary:
        points = (
            {budget: self._worth(tally.pool.chosen(budget)) for budget in Budget} if worth is not None else {}
        )
        return ProblemSummary(
            problem_id=name,
            points=points.get(Budget.UNLIMITED),
            max_points=worth,
            submissions=tally.scored + tally.unscored,
            scored=tally.scored,
            unscored=tally.unscored,
            compiled=tally.compiled,
            solved=tally.solved,
            mean_points=tally.mean_points,
            best_pass_rate=None if worth is not None else tally.best_pass_rate,
            verdicts=worst_first([tally.verdicts]),
            subtasks=best_subtasks(tally),
            difficulty=traits.difficulty,
            tags=traits.tags,
            year=traits.year,
            budgets=points,
            handed_in=len(tally.pool.chosen(Budget.LIMITED)) if points else 0,
            pass_at=pass_at(tally.trials(name), self._options.ks),
        )

    def _worth(self, chosen: Sequence[Attempt]) -> float:
        tokened = {run.result.key for run in chosen if run.tokened}
        return scoring.points(self._options.mode, results(chosen), tokened)

    def _trials(self, problems: Iterable[ProblemSummary]) -> list[Trials]:
        names = [problem.problem_id for problem in problems]
        return [trials for name in names for trials in self._tallies[name].trials(name)]

    def _solved(self, problems: Iterable[ProblemSummary]) -> int:
        return sum(_is_solved(problem, self._options.mode) for problem in problems)

    # --- groups of problems ---

    def _groups(self, problems: Sequence[ProblemSummary]) -> Iterator[Group]:
        for kind, names in _KINDS.items():
            members: dict[str, list[ProblemSummary]] = {}
            for problem in problems:
                for name in names(problem) or [""]:
                    members.setdefault(name, []).append(problem)
            # Problems of which nobody says it come at the end.
            if members.keys() > {""} or (members and "" not in members):
                yield from (
                    self._group(kind, name, members[name])
                    for name in sorted(members, key=lambda name: (not name, name))
                )

    def _group(self, kind: str, name: str, problems: Sequence[ProblemSummary]) -> Group:
        return Group(
            kind=kind,
            name=name,
            problems=len(problems),
            problems_solved=self._solved(problems),
            submissions=sum(problem.submissions for problem in problems),
            scored=sum(problem.scored for problem in problems),
            unscored=sum(problem.unscored for problem in problems),
            points=math.fsum(problem.points or 0 for problem in problems),
            max_points=math.fsum(problem.max_points or 0 for problem in problems),
            mean_score=_mean_score(problems),
            pass_at=pass_at(self._trials(problems), self._options.ks),
        )

    def _awards(self, problems: Sequence[ProblemSummary]) -> Iterator[BudgetAward]:
        """For every year of which there is a problem and a cut-off."""
        contests = known_contests() if self._options.contests is None else self._options.contests
        years = {problem.year for problem in problems if problem.year is not None}
        for year in sorted(years & contests.keys()):
            of_year = [problem.problem_id for problem in problems if problem.year == year]
            names = problems_of(contests[year], of_year, self._source)
            own = [problem for problem in problems if problem.problem_id in names]
            worths = {problem.problem_id: problem.max_points for problem in own}
            for budget, points in _budgets(own).items():
                yield BudgetAward(budget=budget, award=award(year, contests[year], worths, points))


_KINDS: Mapping[str, _Names] = {
    "difficulty": lambda problem: [problem.difficulty] if problem.difficulty else [],
    "tag": lambda problem: problem.tags,
    "year": lambda problem: [] if problem.year is None else [str(problem.year)],
}


def results(chosen: Iterable[Attempt]) -> list[SubmissionResult]:
    return [run.result for run in chosen]


def summarise(submissions: Iterable[tuple[str, Attempt]], options: ReportOptions) -> ModelSummary:
    """Return what reports say of one model's scored submissions, each with its problem's label."""
    tallies: dict[str, Tally] = {}
    for label, candidate in submissions:
        tallies.setdefault(label, Tally(options.submissions)).add(candidate)
    bests = {label: best_subtasks(tally) for label, tally in tallies.items()}
    worths = {label: math.fsum(part.points for part in parts) for label, parts in bests.items() if parts}
    return Account("", tallies, options).summary(worths, {})


def best_subtasks(tally: Tally) -> tuple[BestSubtask, ...]:
    bests = scoring.best_of_subtasks(results(tally.pool.chosen(Budget.UNLIMITED)))
    return next((best.subtasks for best in bests.values()), ())


def _budgets(problems: Iterable[ProblemSummary]) -> dict[Budget, float]:
    """Points in total by budget; empty where no problem has subtasks."""
    columns = [problem.budgets for problem in problems if problem.budgets]
    return {budget: math.fsum(column[budget] for column in columns) for budget in Budget if columns}


def _mean_score(problems: Iterable[ProblemSummary]) -> float | None:
    return mean([score for problem in problems if (score := problem.mean_score) is not None])


def _sure(problems: Sequence[ProblemSummary]) -> tuple[float, float] | tuple[None, None]:
    """The interval of a model's share, over the problems that are in it."""
    worth = [
        (problem.points, problem.max_points)
        for problem in problems
        if problem.points is not None and problem.max_points
    ]
    if worth:
        return interval([part / whole for part, whole in worth], weights=[whole for _, whole in worth])
    return interval([score for problem in problems if (score := problem.mean_score) is not None])


def _is_solved(problem: ProblemSummary, mode: Mode) -> bool:
    """As points count: by subtasks several submissions may share the work."""
    if problem.max_points is None:
        return problem.solved > 0
    if mode is Mode.MAX_SUBTASK:
        counting = scoring.worth_points(problem.subtasks)
        return bool(counting) and all(best.exact_score >= 1 for best in counting)
    return problem.points is not None and problem.points >= problem.max_points - 1e-9


SUMMARY = "summary.json"
_MAX_REASONS, _MAX_EXAMPLES = 100, 5


def write_summary(folder: Path, of: Summary) -> Path:
    replace(folder / SUMMARY, [as_json(of, indented=True), b"\n"])
    return folder / SUMMARY


def summary(folder: Path, options: ReportOptions | None = None, *more: Each) -> Summary:
    """Reads a run's folder, also one that a process still writes. `more` see each row on the way."""
    reading = Pass(folder, options or ReportOptions())
    reading.go(*more)
    return reading.summary()


class KeptPass(Value):
    """The counts of a pass over a run's first rows, for one that goes on from there."""

    tallies: tuple[tuple[str, str, PackedTally], ...]
    traits: Mapping[str, Traits]
    facts: PackedFacts
    ends: Mapping[str, PackedEnds]
    repeated: int
    again: int
    saved: int


class Pass:
    """A pass over a run's rows, and its numbers."""

    def __init__(self, folder: Path, options: ReportOptions, before: KeptPass | None = None) -> None:
        """`before`: of the rows before those that `go` counts."""
        self._folder = folder
        self._reading = _Reading(read_failures(folder), options, read_tasks(folder))
        self._info = check_run(folder)
        self._scores, self._doubtful = Scores(self._info), False
        if before is not None:
            self._reading.go_on(before)

    def go(
        self,
        *more: Each,
        begin: int = 0,
        counted_from: int = 0,
        end: int | None = None,
        known: Callable[[Collection[str]], Collection[str]] = lambda keys: (),
    ) -> None:
        """Go through the rows from `begin` to `end`. `more` see them all, the numbers those `counted_from`.

        `known`: which of some keys have rows before these.
        """
        seen = set[str]()
        with seldom_collected():
            for place, row in placed(self._folder, begin):
                if end is not None and place >= end:
                    break
                result = result_of_row(row)
                if place >= counted_from:
                    if row["key"] in seen:
                        refuse_twice(self._folder, row["key"])
                    seen.add(row["key"])
                    self._doubtful = self._doubtful or is_doubtful(row)
                    self._reading.add(row, result)
                    self._scores.add(row, result)
                for add in more:
                    add(row, result, place)
        earlier = known({*seen, *self._reading.failures}) if counted_from else ()
        for key in earlier:
            if key in seen:
                refuse_twice(self._folder, key)
            self._reading.failures.pop(key, None)

    @property
    def kept(self) -> KeptPass | None:
        """Return the state to go on from; None where later rows depend on the rows themselves."""
        return None if self._doubtful or self._scores.is_contest else self._reading.kept

    def summary(self) -> Summary:
        """Return the numbers, once. What was kept before has no submission that could not be judged."""
        found = self._reading.summary(self._info)
        if (people := read_people(self._folder)) is not None:
            models = (
                msgspec.structs.replace(model, standing=standing(people, model.problems))
                for model in found.models
            )
            found = msgspec.structs.replace(found, models=tuple(models))
        warnings = (*map(str, found.suspicious), *(_warnings(self._folder) if self._doubtful else ()))
        contest = tuple(_beside(self._scores, found.models))
        return msgspec.structs.replace(found, warnings=warnings, contest=contest)


def _beside(scores: Scores, models: Sequence[ModelSummary]) -> Iterator[Entrant]:
    """Yield a contest's participants, with their points by the report's rule beside the contest's own."""
    by_name = {model.model: model for model in models}
    for entrant in scores.entrants():
        model = by_name.get(entrant.participant)
        whole = model is not None and all(problem.budgets for problem in model.problems)
        limited = model.budgets.get(Budget.LIMITED) if model is not None and whole else None
        yield msgspec.structs.replace(entrant, limited=limited)


@contextlib.contextmanager
def seldom_collected() -> Iterator[None]:
    """Look for cycles of objects less often: rows leave none, and looking is a fifth of the pass."""
    before = gc.get_threshold()
    if before[0]:  # else somebody has switched it off
        gc.set_threshold(max(before[0], _ALLOCATED), *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)


def _warnings(folder: Path) -> Iterator[str]:
    if keys := wrongly_shared(folder):
        yield (
            f"{counted(len(keys), 'row')} of this run may have the verdict of a different Python program: an"
            " older version took the two for equal. The command that made the run judges them again:"
            f" {', '.join(keys)}."
        )


def check_run(folder: Path) -> RunInfo:
    """Return the run's facts, if it can be reported."""
    info = read_info(folder)
    if info is None:
        raise InputError("there is no run in this folder", where=str(folder), remedy="Name a run's folder")
    if info.replacing:
        problem = "a new run is taking the place of the old one"
        raise InputError(problem, where=str(folder), remedy="Run `ioi-eval score` again")
    return info


class _Reading:
    """The one pass: rows go through it one by one, and leave their counts and what selections need."""

    def __init__(
        self, failures: dict[str, dict[str, Any]], options: ReportOptions, tasks: Mapping[str, Task]
    ) -> None:
        self._tasks = tasks
        self.failures = failures  # what is left after the pass has no row
        self._options = options
        self._tallies: dict[tuple[str, str], Tally] = {}
        self._traits: dict[str, Traits] = {}
        self._facts = Facts()
        self._ends = defaultdict[str, Ends](Ends)  # by model
        self._repeated = self._again = self._saved = 0

    @property
    def kept(self) -> KeptPass:
        return KeptPass(
            tallies=tuple((*whose, tally.packed) for whose, tally in self._tallies.items()),
            traits=self._traits,
            facts=self._facts.packed,
            ends={model: ends.packed for model, ends in self._ends.items()},
            repeated=self._repeated,
            again=self._again,
            saved=self._saved,
        )

    def go_on(self, kept: KeptPass) -> None:
        self._tallies = {(model, problem): Tally.unpacked(tally) for model, problem, tally in kept.tallies}
        self._traits, self._facts = dict(kept.traits), Facts.unpacked(kept.facts)
        self._ends.update({model: Ends.unpacked(ends) for model, ends in kept.ends.items()})
        self._repeated, self._again, self._saved = kept.repeated, kept.again, kept.saved

    def add(self, row: Mapping[str, Any], result: SubmissionResult) -> None:
        self.failures.pop(row["key"], None)
        self._know(result.problem_id, row)
        tally = self._tally(model_of(row), result.problem_id)
        tally.add(candidate_of(row, result))
        if (task := self._tasks.get(result.problem_id)) is not None:
            tally.uses.update(uses_of(result, task))
        self._facts.add(result)
        self._ends[model_of(row)].add(result)
        self._repeated += bool(result.repeats)
        again = [test for test in result.tests if test.cpu_times]
        self._again += len(again)
        self._saved += sum(test.status is not Verdict.TLE for test in again)

    def _know(self, problem: str, row: Mapping[str, Any]) -> None:
        self._traits[problem] = self._traits.get(problem, Traits()).joined(traits_of(row))

    def _tally(self, model: str, problem: str) -> Tally:
        return self._tallies.setdefault((model, problem), Tally(self._options.submissions))

    def summary(self, info: RunInfo) -> Summary:
        for row in self.failures.values():
            problem = str(row.get("problem_id", ""))
            self._know(problem, row)
            self._tally(model_of(row), problem).unscored += 1
        models = self._models(str(info.settings.get("problems", "")))
        return Summary(
            mode=self._options.mode,
            submission_limit=self._options.submissions,
            submissions=sum(model.submissions for model in models),
            scored=sum(model.scored for model in models),
            unscored=len(self.failures),
            problems=len({problem for _, problem in self._tallies}),
            verdicts=worst_first(model.verdicts for model in models),
            models=models,
            failures=_failures(self.failures.values()),
            repeated=self._repeated,
            measured_again=self._again,
            saved=self._saved,
            suspicious=tuple(
                suspicion
                for model, ends in sorted(self._ends.items())
                for suspicion in ends.suspicions(model)
            ),
            settings=Settings(
                dump=info.fingerprint.dump,
                problems=info.fingerprint.problems,
                options=info.fingerprint.options,
                versions=info.fingerprint.versions,
                given=info.settings,
                compilers=self._facts.compilers_by_name(),
                checkers=self._facts.checkers_by_problem(),
                confinements=self._facts.confinements(),
                repairs=self._facts.repairs_by_name(),
            ),
        )

    def _models(self, source: str) -> tuple[ModelSummary, ...]:
        # Points of every problem with subtasks of which any model's submission has a result.
        parts = ((problem, best_subtasks(tally)) for (_, problem), tally in self._tallies.items())
        worths = {problem: math.fsum(best.points for best in bests) for problem, bests in parts if bests}
        # Over all problems of the run, so that models are compared over the same ones.
        problems = {problem for _, problem in self._tallies}
        models = list[ModelSummary]()
        for model in {model for model, _ in self._tallies}:
            tallies = {
                name: self._tallies.get((model, name), Tally(self._options.submissions)) for name in problems
            }
            models.append(Account(model, tallies, self._options, source).summary(worths, self._traits))
        return tuple(sorted(models, key=lambda model: (-model.points, -model.problems_solved, model.model)))


def result_of_row(row: Mapping[str, Any]) -> SubmissionResult:
    try:
        return result_of(row)
    except (KeyError, ValueError, msgspec.ValidationError) as error:
        problem = f"the row of {row['key']!r} is not a result of this version: {error}"
        raise InputError(problem, remedy="Score the dump again with fresh=True") from error


def _failures(rows: Iterable[Mapping[str, Any]]) -> tuple[Failures, ...]:
    groups: dict[tuple[str, str, str, bool], list[Mapping[str, Any]]] = {}
    for row in rows:
        reason, phase, remedy = (str(row.get(name, "")) for name in ("reason", "phase", "remedy"))
        groups.setdefault((reason, phase, remedy, row.get("final") is True), []).append(row)
    ranked = sorted(groups.items(), key=lambda group: (-len(group[1]), group[0]))
    return tuple(
        Failures(
            reason=reason,
            phase=phase,
            remedy=remedy,
            submissions=len(members),
            problems=tuple(sorted({str(row.get("problem_id", "")) for row in members})),
            examples=tuple(sorted(str(row["key"]) for row in members)[:_MAX_EXAMPLES]),
            final=final,
        )
        for (reason, phase, remedy, final), members in ranked[:_MAX_REASONS]
    )
