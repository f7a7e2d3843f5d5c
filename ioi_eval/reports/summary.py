"""A run's numbers, in one pass over its rows. Memory grows with models, problems and the number of
submissions that may be handed in, not with all that there are.

A submission that could not be judged is counted as unscored and is in no other number. No number depends
on the order of the rows.
"""

from __future__ import annotations

import contextlib
import gc
import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import msgspec

from ioi_eval.model.errors import InputError
from ioi_eval.model.values import SubmissionResult, Verdict
from ioi_eval.reports.document import counted
from ioi_eval.reports.medals import award, known_contests, problems_of
from ioi_eval.reports.records import (
    BudgetAward,
    Ends,
    Failures,
    Group,
    ModelSummary,
    ProblemSummary,
    ReportOptions,
    Step,
    Summary,
)
from ioi_eval.reports.scoreboard import Entrant, Scores
from ioi_eval.reports.standing import standing
from ioi_eval.reports.tally import (
    Facts,
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
from ioi_eval.rules.selection import Attempt, Budget, SubmissionPool
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
        tallies.setdefault(label, Tally(SubmissionPool(options.submissions))).add(candidate)
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


def summary(folder: Path, options: ReportOptions | None = None, *more: Each) -> Summary:
    """Reads a run's folder, also one that a process still writes. `more` see each row on the way."""
    reading = Pass(folder, options or ReportOptions())
    reading.go(*more)
    return reading.summary()


class PassCounts(msgspec.Struct):
    """The counts of a pass over a run's rows, which another one may go on from."""

    tallies: dict[tuple[str, str], Tally] = {}  # by model and problem
    traits: dict[str, Traits] = {}
    facts: Facts = msgspec.field(default_factory=Facts)
    ends: dict[str, Ends] = {}  # by model
    repeated: int = 0
    again: int = 0
    saved: int = 0


class Pass:
    """A pass over a run's rows, and its numbers."""

    def __init__(self, folder: Path, options: ReportOptions, before: PassCounts | None = None) -> None:
        """`before`: of the rows before those that `go` counts."""
        self._folder = folder
        self._reading = _Reading(read_failures(folder), options, read_tasks(folder), before or PassCounts())
        self._info = check_run(folder)
        self._scores, self._doubtful = Scores(self._info), False

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
    def kept(self) -> PassCounts | None:
        """Return the state to go on from; None where later rows depend on the rows themselves."""
        return None if self._doubtful or self._scores.is_contest else self._reading.counts

    def summary(self) -> Summary:
        """Return the numbers. Those that are kept count no submission that could not be judged."""
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
        self,
        failures: dict[str, dict[str, Any]],
        options: ReportOptions,
        tasks: Mapping[str, Task],
        counts: PassCounts,
    ) -> None:
        """`counts`: of the rows before."""
        self._options, self._tasks, self.counts = options, tasks, counts
        self.failures = failures  # what is left after the pass has no row

    def _new_tally(self) -> Tally:
        return Tally(SubmissionPool(self._options.submissions))

    def add(self, row: Mapping[str, Any], result: SubmissionResult) -> None:
        self.failures.pop(row["key"], None)
        counts, model, problem = self.counts, model_of(row), result.problem_id
        counts.traits[problem] = counts.traits.get(problem, Traits()).joined(traits_of(row))
        tally = counts.tallies.setdefault((model, problem), self._new_tally())
        tally.add(candidate_of(row, result))
        if (task := self._tasks.get(problem)) is not None:
            tally.uses.update(uses_of(result, task))
        counts.facts.add(result)
        counts.ends.setdefault(model, Ends()).add(result)
        counts.repeated += bool(result.repeats)
        again = [test for test in result.tests if test.cpu_times]
        counts.again += len(again)
        counts.saved += sum(test.status is not Verdict.TLE for test in again)

    def summary(self, info: RunInfo) -> Summary:
        counts = self.counts
        tallies, traits = dict(counts.tallies), dict(counts.traits)
        for row in self.failures.values():
            problem = str(row.get("problem_id", ""))
            traits[problem] = traits.get(problem, Traits()).joined(traits_of(row))
            tally = tallies.get((model_of(row), problem)) or self._new_tally()
            tallies[model_of(row), problem] = msgspec.structs.replace(tally, unscored=tally.unscored + 1)
        models = self._models(tallies, traits, str(info.settings.get("problems", "")))
        return Summary(
            mode=self._options.mode,
            submission_limit=self._options.submissions,
            submissions=sum(model.submissions for model in models),
            scored=sum(model.scored for model in models),
            unscored=len(self.failures),
            problems=len({problem for _, problem in tallies}),
            verdicts=worst_first(model.verdicts for model in models),
            models=models,
            failures=_failures(self.failures.values()),
            repeated=counts.repeated,
            measured_again=counts.again,
            saved=counts.saved,
            suspicious=tuple(
                suspicion
                for model, ends in sorted(counts.ends.items())
                for suspicion in ends.suspicions(model)
            ),
            settings=counts.facts.settings(info),
        )

    def _models(
        self, tallies: Mapping[tuple[str, str], Tally], traits: Mapping[str, Traits], source: str
    ) -> tuple[ModelSummary, ...]:
        # Points of every problem with subtasks of which any model's submission has a result.
        parts = ((problem, best_subtasks(tally)) for (_, problem), tally in tallies.items())
        worths = {problem: math.fsum(best.points for best in bests) for problem, bests in parts if bests}
        # Over all problems of the run, so that models are compared over the same ones.
        problems = {problem for _, problem in tallies}
        models = list[ModelSummary]()
        for model in {model for model, _ in tallies}:
            own = {name: tallies.get((model, name)) or self._new_tally() for name in problems}
            models.append(Account(model, own, self._options, source).summary(worths, traits))
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
