"""From what was tallied to a model's numbers: per problem, per group of problems, and in total."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from ioi_eval import scoring
from ioi_eval.metrics import Trials, mean, pass_at
from ioi_eval.models import SubmissionResult
from ioi_eval.reports.candidates import Traits
from ioi_eval.reports.medals import award, known_contests
from ioi_eval.reports.options import ReportOptions
from ioi_eval.reports.tally import Tally, worst_first
from ioi_eval.reports.values import BudgetAward, Group, ModelSummary, ProblemSummary
from ioi_eval.scoring import BestSubtask, Mode
from ioi_eval.selection import Budget, Candidate

_Names = Callable[[ProblemSummary], Sequence[str]]  # of the groups that a problem is in


class Account:
    """One model's tallies, by problem."""

    def __init__(self, model: str, tallies: Mapping[str, Tally], options: ReportOptions) -> None:
        self._model, self._tallies, self._options = model, tallies, options

    def summary(self, worths: Mapping[str, float], traits: Mapping[str, Traits]) -> ModelSummary:
        """`worths` are the points of all problems of the run that have subtasks."""
        problems = tuple(
            self._problem(name, tally, worths.get(name), traits.get(name, Traits()))
            for name, tally in sorted(self._tallies.items())
        )
        budgets = _budgets(problems)
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
            pass_at=pass_at(self._trials(problems), self._options.ks),
            groups=tuple(self._groups(problems)),
            awards=tuple(self._awards(problems)) if budgets else (),
        )

    # --- a problem ---

    def _problem(self, name: str, tally: Tally, worth: float | None, traits: Traits) -> ProblemSummary:
        points = {budget: self._points(tally, budget) for budget in Budget} if worth is not None else {}
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

    def _points(self, tally: Tally, budget: Budget) -> float:
        chosen = tally.pool.chosen(budget)
        tokened = {one.result.key for one in chosen if one.tokened}
        return scoring.points(self._options.mode, results(chosen), tokened)

    def _trials(self, problems: Iterable[ProblemSummary]) -> list[Trials]:
        names = [problem.problem_id for problem in problems]
        return [one for name in names for one in self._tallies[name].trials(name)]

    def _solved(self, problems: Iterable[ProblemSummary]) -> int:
        return sum(_is_solved(problem, self._options.mode) for problem in problems)

    # --- groups of problems ---

    def _groups(self, problems: Sequence[ProblemSummary]) -> Iterator[Group]:
        for kind, names in _KINDS.items():
            members: dict[str, list[ProblemSummary]] = {}
            for problem in problems:
                for name in names(problem) or [""]:
                    members.setdefault(name, []).append(problem)
            if members.keys() > {""} or (members and "" not in members):
                yield from (self._group(kind, name, members[name]) for name in sorted(members, key=_last))

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
            own = [problem for problem in problems if problem.year == year]
            worths = {problem.problem_id: problem.max_points for problem in own}
            for budget, points in _budgets(own).items():
                yield BudgetAward(budget=budget, award=award(year, contests[year], worths, points))


_KINDS: Mapping[str, _Names] = {
    "difficulty": lambda problem: [problem.difficulty] if problem.difficulty else [],
    "tag": lambda problem: problem.tags,
    "year": lambda problem: [] if problem.year is None else [str(problem.year)],
}


def _last(name: str) -> tuple[bool, str]:
    """Problems of which nobody says it come at the end."""
    return not name, name


def results(chosen: Iterable[Candidate]) -> list[SubmissionResult]:
    return [one.result for one in chosen]


def best_subtasks(tally: Tally) -> tuple[BestSubtask, ...]:
    bests = scoring.best_of_subtasks(results(tally.pool.chosen(Budget.UNLIMITED)))
    return next((best.subtasks for best in bests.values()), ())


def _budgets(problems: Iterable[ProblemSummary]) -> dict[Budget, float]:
    """Points in total by budget; empty where no problem has subtasks."""
    columns = [problem.budgets for problem in problems if problem.budgets]
    return {budget: math.fsum(column[budget] for column in columns) for budget in Budget if columns}


def _mean_score(problems: Iterable[ProblemSummary]) -> float | None:
    return mean([score for problem in problems if (score := problem.mean_score) is not None])


def _is_solved(problem: ProblemSummary, mode: Mode) -> bool:
    """As points count: by subtasks several submissions may share the work."""
    if problem.max_points is None:
        return problem.solved > 0
    if mode is Mode.MAX_SUBTASK:
        return bool(problem.subtasks) and all(best.exact_score >= 1 for best in problem.subtasks)
    return problem.points is not None and problem.points >= problem.max_points - 1e-9
