"""Compute a run's numbers while reading its rows once. Memory grows with the models, the problems and the
submission limit, not with the number of rows.

A submission that could not be judged is counted as unscored and is in no other number. No number depends
on the order of the rows.
"""

from __future__ import annotations

import contextlib
import gc
import math
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, date, datetime
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any, get_args, get_origin

import msgspec

from ioi_eval.model.errors import InputError
from ioi_eval.model.nesting import require_shallow
from ioi_eval.model.paths import missing_path_error
from ioi_eval.model.text import format_count
from ioi_eval.model.values import SubmissionResult, Value, Verdict
from ioi_eval.reports.headline import make_headline, sort_models
from ioi_eval.reports.medals import award_medal, find_contest_problems, load_bundled_contest_years
from ioi_eval.reports.parts import (
    add_report_part_values,
    collect_report_part_values,
    collect_report_part_warnings,
)
from ioi_eval.reports.records import (
    BudgetAward,
    EndingCounts,
    FailureCauses,
    Failures,
    Headline,
    LanguageSummary,
    LimitUsage,
    ModelSummary,
    ProblemSummary,
    ReportOptions,
    Settings,
    Step,
    Summary,
    TrustSummary,
    choose_author_noun,
    find_author_remedy,
    has_feedback,
    make_no_program_warning,
)
from ioi_eval.reports.trust import TRUST, Trust
from ioi_eval.rules import scoring
from ioi_eval.rules.json_tests import parse_list
from ioi_eval.rules.metrics import Trials, compute_bootstrap_interval, estimate_pass_at_each_k, mean
from ioi_eval.rules.scoring import BestSubtask, ScoreMode, find_verdict_or_no_program, pass_rate
from ioi_eval.rules.selection import Attempt, Budget, SubmissionPool, find_target_subtask
from ioi_eval.rules.verdicts import ENDINGS
from ioi_eval.store.files import has_incomplete_line, read_value
from ioi_eval.store.folder import (
    RESULTS,
    Progress,
    RunInfo,
    add_line_to_errors,
    is_being_written,
    raise_duplicate_key_error,
    read_failures,
    read_info,
    read_progress,
    read_results,
)
from ioi_eval.store.rows import as_number, convert_to_label, read_model_name
from ioi_eval.store.tasks import Task, read_tasks

# Numbers of submissions, and values of k, for which curves have a point.
_STEPS = (1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 25, 30, 40, 50, 75, 100, 150, 200, 300, 500)
_GC_THRESHOLD = 100_000  # number of allocated objects after which the garbage collector runs
# A function of a row without its tests, the row's result, and the row's offset in results.jsonl.
RowCallback = Callable[[Mapping[str, Any], SubmissionResult, int], object]


# --- values of a row, which may have wrong types; and counters, to which results are added in any order

_TOKENS = ("output_tokens", "completion_tokens")  # keys in a row's metadata.usage for the number of tokens
_AGENTS = "agents"  # folder of a run with the folders of its agents
# Names of columns with a reply's text, the most important first.
_TEXTS = ("reasoning", "reasoning_content", "generation")
_TRUE = frozenset({"true", "yes", "1"})


def make_attempt(row: Mapping[str, Any], result: SubmissionResult) -> Attempt:
    """Return a row as an attempt, for score modes that choose some of the attempts."""
    target_subtask, metadata = row.get("target_subtask"), _parse_mapping(row.get("metadata"))
    usage = _parse_mapping(metadata.get("usage"))
    token_counts = (number for name in _TOKENS if (number := as_number(usage.get(name))) is not None)
    replies = (reply for name in _TEXTS if isinstance(reply := row.get(name), str) and reply)
    return Attempt(
        result=result,
        target=target_subtask if isinstance(target_subtask, str) else None,
        number=as_number(row.get("solution_number")),
        time=_make_sortable_time(metadata.get("timestamp")),
        # Length in tokens if the row has their number, otherwise in characters.
        length=int(next(token_counts, len(next(replies, "")))),
        tokened=str(row.get("tokened", "")).lower() in _TRUE,
    )


def parse_column_value(value: Any) -> Any:
    """Return a column's list or mapping. A string is parsed; the result is None if this fails."""
    try:
        return msgspec.json.decode(require_shallow(value)) if isinstance(value, str) else value
    except msgspec.DecodeError:
        return parse_list(value)


def _parse_mapping(value: Any) -> Mapping[str, Any]:
    parsed = parse_column_value(value)
    return parsed if isinstance(parsed, Mapping) else {}


def _make_sortable_time(value: Any) -> str:
    """Return a string that sorts as times do, whatever their time zones; numbers sort by size."""
    if not isinstance(value, str):
        number = as_number(value)
        return "" if number is None else f"{number:030.6f}"
    try:
        timestamp = datetime.fromisoformat(value)
        return value if timestamp.tzinfo is None else timestamp.astimezone(UTC).isoformat()
    except (ValueError, OverflowError):
        return value


def _make_similar_name_warnings(models: Iterable[str]) -> Iterator[str]:
    """Yield a warning if names of models differ only in case or white space, which tables do not show."""
    names_by_key: dict[str, list[str]] = {}
    for model in models:
        names_by_key.setdefault(" ".join(model.casefold().split()), []).append(model)
    for similar_names in names_by_key.values():
        if len(similar_names) > 1:
            quoted_names = ", ".join(map(repr, sorted(similar_names)))
            yield (
                "Models whose names differ only in case or white space are counted separately:"
                f" {quoted_names}."
            )


# --- properties of a problem --------------------------------------------------------------------------


class ProblemTraits(Value):
    """The properties by which reports group problems."""

    difficulty: str = ""
    tags: tuple[str, ...] = ()
    year: int | None = None
    date: str = ""  # such as 2024-05-31

    def merge(self, other_traits: ProblemTraits) -> ProblemTraits:
        """Return the merged properties of a problem's rows. The order of the rows does not matter."""
        years = {year for year in (self.year, other_traits.year) if year is not None}
        return ProblemTraits(
            difficulty=min(filter(None, (self.difficulty, other_traits.difficulty)), default=""),
            tags=tuple(sorted({*self.tags, *other_traits.tags})),
            year=min(years, default=None),
            date=min(filter(None, (self.date, other_traits.date)), default=""),
        )


def _parse_tags(tags_text: str) -> Any:
    """Return the tags in a string: a list in JSON, Python or NumPy syntax, or comma-separated names."""
    if (tags := parse_list(tags_text)) is not None:
        return tags
    return [tag.strip() for tag in tags_text.split(",")]


def read_problem_traits(row: Mapping[str, Any]) -> ProblemTraits:
    """Return the properties of the row's problem."""
    difficulty, year, tags = row.get("difficulty"), as_number(row.get("year")), row.get("tags")
    if isinstance(tags, str):
        tags = _parse_tags(tags)
    tag_list = tags if isinstance(tags, list | tuple) else ()
    return ProblemTraits(
        difficulty=convert_to_label(difficulty) if isinstance(difficulty, str | int | float) else "",
        tags=tuple(sorted({tag for tag in tag_list if isinstance(tag, str) and tag})),
        year=int(year) if year is not None else None,
        date=_parse_date_or_empty(row.get("contest_date")),
    )


def _parse_date_or_empty(value: Any) -> str:
    """Return the date at the start of an ISO 8601 string, or "" if the string starts with something else."""
    try:
        return date.fromisoformat(value[:10]).isoformat() if isinstance(value, str) else ""
    except ValueError:
        return ""


_MAX_CONFINEMENTS = 20  # maximum number of distinct confinement reports in the settings


class LanguageTally(msgspec.Struct):
    """Counts of a model's submissions for a problem in a language."""

    scored: int = 0
    # Number of submissions by target, the subtask for which they were requested; None is the whole problem.
    asked: Counter[str | None] = msgspec.field(default_factory=Counter)
    # Number of submissions with full points on their target, by target.
    passed: Counter[str | None] = msgspec.field(default_factory=Counter)
    causes: Counter[str] = msgspec.field(default_factory=Counter)
    best: float = 0.0  # points of the best submission in this language
    best_parts: dict[str, float] = {}  # points of the best submission, by subtask

    def add(self, attempt: Attempt, failure_cause: str) -> None:
        result = attempt.result
        # A submission passes if it has full points on its target, which is the whole problem or a subtask.
        target = find_target_subtask(attempt)
        has_full_marks = (
            subtask.exact_score >= 1 for subtask in result.subtasks if subtask.subtask == target
        )
        self.scored += 1
        self.asked[target] += 1
        self.passed[target] += result.verdict is Verdict.AC if target is None else any(has_full_marks)
        self.causes[failure_cause] += bool(failure_cause)
        self.best = max(self.best, result.points)
        for subtask in result.subtasks:
            self.best_parts[subtask.subtask] = max(
                self.best_parts.get(subtask.subtask, 0.0), subtask.weighted_score
            )

    def compute_points(self, mode: ScoreMode) -> float | None:
        """Return the points of these submissions alone, or None if they are undefined in this mode."""
        if not self.best_parts or mode is ScoreMode.MAX_TOKENED_LAST:
            return None
        return math.fsum(self.best_parts.values()) if mode is ScoreMode.MAX_SUBTASK else self.best


class SubmissionsTally(msgspec.Struct):
    """Counts of a model's submissions for a problem."""

    pool: SubmissionPool
    scored: int = 0
    unscored: int = 0
    compiled: int = 0
    solved: int = 0
    verdicts: Counter[str] = msgspec.field(default_factory=Counter)
    best_pass_rate: float | None = None
    uses: Counter[tuple[str, int]] = msgspec.field(default_factory=Counter)
    points: Fraction = Fraction()  # exact sum of points, so that the order of rows does not change the result
    languages: dict[str, LanguageTally] = {}

    def add(self, attempt: Attempt, language: str = "", failure_cause: str = "") -> None:
        result = attempt.result
        status = result.verdict
        self.scored += 1
        self.compiled += result.compiles
        self.solved += status is Verdict.AC
        self.verdicts[find_verdict_or_no_program(result)] += 1
        self.best_pass_rate = max(self.best_pass_rate or 0.0, pass_rate(result).pass_rate)
        self.points += Fraction(result.points)
        self.languages.setdefault(language, LanguageTally()).add(attempt, failure_cause)
        self.pool.add(attempt)

    @property
    def mean_points(self) -> float | None:
        return float(self.points / self.scored) if self.scored else None

    def list_trials_per_target(self, problem: str) -> list[Trials]:
        return count_trials_per_target(problem, *self.languages.values())


def count_trials_per_target(problem: str, *language_tallies: LanguageTally) -> list[Trials]:
    """Return the numbers of scored and passed submissions for each target: a subtask or the whole problem."""
    trial_counts, passed_counts = Counter[str | None](), Counter[str | None]()
    for language in language_tallies:
        trial_counts.update(language.asked)
        passed_counts.update(language.passed)
    targets = sorted(trial_counts, key=lambda target: target or "")
    return [
        Trials(problem=problem, scored=trial_counts[name], passed=passed_counts[name]) for name in targets
    ]


def convert_to_msgpack_value(value: object) -> Any:
    """Return a pool of submissions or a fraction as a value that msgspec can write."""
    return value.serialize() if isinstance(value, SubmissionPool) else str(value)


def convert_from_msgpack_value(target_type: Any, value: Any) -> Any:
    """Return the SubmissionPool, Fraction or Counter that was written as `value`."""
    if get_origin(target_type) is Counter:
        return Counter(msgspec.convert(value, dict[get_args(target_type)[0], int]))  # type: ignore[misc]
    return SubmissionPool.deserialize(value) if target_type is SubmissionPool else Fraction(value)


# Maximum counted share of a limit, in steps of `LimitUsage.STEP`; larger shares count as this maximum.
_MAX_STEPS = 31


def compute_limit_usage_steps(result: SubmissionResult, task: Task) -> Iterator[tuple[str, int]]:
    """Yield the used shares of the time and memory limits, in steps of `LimitUsage.STEP`, by resource."""
    cpu_times_s = [test.cpu_time for test in result.tests if test.cpu_time is not None]
    memory_sizes_bytes = [test.memory for test in result.tests if test.memory is not None]
    if cpu_times_s and task.cpu_time:
        yield "time", _convert_usage_to_steps(max(cpu_times_s) / task.cpu_time)
    if memory_sizes_bytes and task.memory:
        yield "memory", _convert_usage_to_steps(max(memory_sizes_bytes) / task.memory)


def _convert_usage_to_steps(usage_fraction: float) -> int:
    """Return a used share of a limit, as a number of steps of `LimitUsage.STEP`, rounded up."""
    # A row that was edited may contain a negative value.
    return max(0, min(_MAX_STEPS, math.ceil(usage_fraction / LimitUsage.STEP)))


def summarize_limit_usage(tallies: Iterable[SubmissionsTally]) -> tuple[LimitUsage, ...]:
    totals = Counter[tuple[str, int]]()
    for tally in tallies:
        totals.update(tally.uses)
    resources = [resource for resource in ("time", "memory") if any(kind == resource for kind, _ in totals)]
    return tuple(
        LimitUsage(what=resource, counts=tuple(totals[resource, steps] for steps in range(_MAX_STEPS + 1)))
        for resource in resources
    )


class RowSettingsCollector(msgspec.Struct):
    """The settings that rows contain."""

    compilers: Counter[str] = msgspec.field(default_factory=Counter)
    repairs: Counter[str] = msgspec.field(default_factory=Counter)
    checkers: dict[str, set[str]] = {}  # by problem
    confinements: set[bytes] = set()  # reports of confinement as JSON, without the user ids of sandboxes

    def add(self, result: SubmissionResult) -> None:
        self.compilers[result.compiler] += 1
        self.repairs.update(set(result.repairs))
        self.checkers.setdefault(result.problem_id, set()).add(result.checker)
        if result.confinement:
            comparable_report = {name: value for name, value in result.confinement.items() if name != "uid"}
            self.confinements.add(msgspec.json.encode(comparable_report, order="sorted"))

    def make_settings(self, info: RunInfo) -> Settings:
        """Return the settings of the run's info and of its rows."""
        return Settings(
            dump=info.fingerprint.dump,
            problems=info.fingerprint.problems,
            options=info.fingerprint.options,
            versions=info.fingerprint.versions,
            given=info.settings,
            compilers=_sort_by_count(self.compilers),
            checkers={
                name: tuple(sorted(checker_names - {""}))
                for name, checker_names in sorted(self.checkers.items())
            },
            confinements=tuple(map(msgspec.json.decode, sorted(self.confinements)[:_MAX_CONFINEMENTS])),
            repairs=_sort_by_count(self.repairs),
        )


def _sort_by_count(counter: Counter[str]) -> dict[str, int]:
    sorted_counts = sorted(counter.items(), key=lambda pair: (-pair[1], pair[0]))
    return {name: count for name, count in sorted_counts if name}


def count_verdicts(counters: Iterable[Mapping[str, int]]) -> dict[str, int]:
    totals: Counter[str] = Counter()
    for counter in counters:
        totals.update(counter)
    return {name: totals[name] for name in ENDINGS if totals[name]}


# --- figures of a model ------------------------------------------------------------------------------


class ModelSummarizer:
    """Computes a model's summary from its counts by problem."""

    def __init__(
        self,
        model: str,
        tallies: Mapping[str, SubmissionsTally],
        options: ReportOptions,
        source: str = "",
        *,
        has_feedback: bool = False,
    ) -> None:
        """Store a model's counts.

        Args:
            model: The model's name.
            tallies: Counts by problem.
            options: Options of the report.
            source: The source of the problems, as the run names it.
            has_feedback: True if the model saw verdicts on earlier programs: means and pass@k are undefined.
        """
        self._model, self._tallies, self._source = model, tallies, source
        self._has_feedback = has_feedback
        self._options = msgspec.structs.replace(options, ks=()) if has_feedback else options

    def make_summary(
        self, max_points: Mapping[str, float], traits: Mapping[str, ProblemTraits]
    ) -> ModelSummary:
        """Return the model's summary.

        Args:
            max_points: Maximum points of all problems of the run that have subtasks.
            traits: Properties of problems.
        """
        problems = tuple(
            self._summarize_problem(name, tally, max_points.get(name), traits.get(name, ProblemTraits()))
            for name, tally in sorted(self._tallies.items())
        )
        points_by_budget = _sum_points_by_budget(problems)
        ks, trials = self._options.ks, self._list_trials(problems)
        # Largest k for which each problem has enough submissions for an estimate.
        min_scored = min((trial.scored for trial in trials), default=0)
        steps = () if self._has_feedback else (step for step in _STEPS if step <= min_scored)
        estimates = estimate_pass_at_each_k([] if self._has_feedback else trials, {1, *ks, *steps})
        low, high = _compute_points_share_interval(problems, uses_mean_scores=not self._has_feedback)
        return ModelSummary(
            model=self._model,
            points=math.fsum(problem.points or 0 for problem in problems),
            max_points=math.fsum(problem.max_points or 0 for problem in problems),
            problems_solved=self._count_solved(problems),
            submissions=sum(problem.submissions for problem in problems),
            scored=sum(problem.scored for problem in problems),
            unscored=sum(problem.unscored for problem in problems),
            compiled=sum(problem.compiled for problem in problems),
            solved=sum(problem.solved for problem in problems),
            verdicts=count_verdicts(problem.verdicts for problem in problems),
            problems=problems,
            budgets=points_by_budget,
            mean_score=None if self._has_feedback else _compute_mean_score(problems),
            pass_at=tuple(estimate for estimate in estimates if estimate.k in ks),
            awards=tuple(self._find_medals_by_budget(problems)) if points_by_budget else (),
            steps=tuple(self._make_score_curve_steps(max_points)),
            uses=summarize_limit_usage(self._tallies.values()),
            pass_curve=tuple(estimate for estimate in estimates if estimate.value is not None),
            share_low=low,
            share_high=high,
            pass_at_1=next(
                (
                    pass_estimate
                    for pass_estimate in estimates
                    if pass_estimate.k == 1 and pass_estimate.value is not None
                ),
                None,
            ),
        )

    def _make_score_curve_steps(self, max_points: Mapping[str, float]) -> Iterator[Step]:
        """Yield the total points for several maximum numbers of submissions per problem."""
        all_pools = [tally.pool for name, tally in self._tallies.items() if name in max_points]
        pools = [pool.select_attempts(Budget.LIMITED) for pool in all_pools]
        limit = self._options.submissions

        @cache
        def worth(index: int, number: int) -> float:
            return self._compute_points(pools[index][:number])

        for number in sorted({*(step for step in _STEPS if step < limit), limit} if all_pools else ()):
            problem_points = (
                worth(index, min(number, len(selected_attempts)))
                for index, selected_attempts in enumerate(pools)
            )
            yield Step(submissions=number, points=math.fsum(problem_points))

    # --- a problem ---

    def _summarize_problem(
        self, name: str, tally: SubmissionsTally, max_points: float | None, traits: ProblemTraits
    ) -> ProblemSummary:
        trials = [] if self._has_feedback else tally.list_trials_per_target(name)
        [pass_at_1] = estimate_pass_at_each_k(trials, [1])
        points = (
            {budget: self._compute_points(tally.pool.select_attempts(budget)) for budget in Budget}
            if max_points is not None
            else {}
        )
        return ProblemSummary(
            problem_id=name,
            points=points.get(Budget.UNLIMITED),
            max_points=max_points,
            submissions=tally.scored + tally.unscored,
            scored=tally.scored,
            unscored=tally.unscored,
            compiled=tally.compiled,
            solved=tally.solved,
            mean_points=None if self._has_feedback else tally.mean_points,
            best_pass_rate=None if max_points is not None else tally.best_pass_rate,
            verdicts=count_verdicts([tally.verdicts]),
            subtasks=select_best_subtask_results(tally),
            difficulty=traits.difficulty,
            tags=traits.tags,
            year=traits.year,
            date=traits.date,
            languages={
                language: self._summarize_language(name, language_tally, max_points)
                for language, language_tally in sorted(tally.languages.items())
            },
            budgets=points,
            handed_in=len(tally.pool.select_attempts(Budget.LIMITED)) if points else 0,
            pass_at=estimate_pass_at_each_k(tally.list_trials_per_target(name), self._options.ks),
            pass_at_1=pass_at_1.value,
        )

    def _summarize_language(
        self, name: str, tally: LanguageTally, max_points: float | None
    ) -> LanguageSummary:
        trials = [] if self._has_feedback else count_trials_per_target(name, tally)
        [pass_at_1] = estimate_pass_at_each_k(trials, [1])
        return LanguageSummary(
            scored=tally.scored,
            pass_at_1=pass_at_1.value,
            points=None if max_points is None else tally.compute_points(self._options.mode),
            causes={cause: count for cause, count in sorted(tally.causes.items()) if cause},
        )

    def _compute_points(self, attempts: Sequence[Attempt]) -> float:
        tokened_keys = {attempt.result.key for attempt in attempts if attempt.tokened}
        return scoring.compute_problem_points(self._options.mode, collect_results(attempts), tokened_keys)

    def _list_trials(self, problems: Iterable[ProblemSummary]) -> list[Trials]:
        """Return the numbers of scored and passed submissions of each problem and target."""
        problem_names = [problem.problem_id for problem in problems]
        return [
            trials for name in problem_names for trials in self._tallies[name].list_trials_per_target(name)
        ]

    def _count_solved(self, problems: Iterable[ProblemSummary]) -> int:
        return sum(problem.is_solved(self._options.mode) for problem in problems)

    def _find_medals_by_budget(self, problems: Sequence[ProblemSummary]) -> Iterator[BudgetAward]:
        """Yield the medals of each year that has problems in the run and cut-offs in the contests' table."""
        contests = load_bundled_contest_years() if self._options.contests is None else self._options.contests
        years = {problem.year for problem in problems if problem.year is not None}
        for year in sorted(years & contests.keys()):
            problems_of_year = [problem.problem_id for problem in problems if problem.year == year]
            problem_names = find_contest_problems(contests[year], problems_of_year, self._source)
            contest_problems = [problem for problem in problems if problem.problem_id in problem_names]
            max_points = {problem.problem_id: problem.max_points for problem in contest_problems}
            for budget, points in _sum_points_by_budget(contest_problems).items():
                yield BudgetAward(budget=budget, award=award_medal(year, contests[year], max_points, points))


def collect_results(attempts: Iterable[Attempt]) -> list[SubmissionResult]:
    return [attempt.result for attempt in attempts]


def summarise(submissions: Iterable[tuple[str, Attempt]], options: ReportOptions) -> ModelSummary:
    """Return the summary of a model's scored submissions: pairs of a problem's name and an attempt."""
    tallies: dict[str, SubmissionsTally] = {}
    for label, attempt in submissions:
        tallies.setdefault(label, SubmissionsTally(SubmissionPool(options.submissions))).add(attempt)
    best_by_label = {label: select_best_subtask_results(tally) for label, tally in tallies.items()}
    max_points = {
        label: math.fsum(subtask.points for subtask in subtasks)
        for label, subtasks in best_by_label.items()
        if subtasks
    }
    return ModelSummarizer("", tallies, options).make_summary(max_points, {})


def select_best_subtask_results(tally: SubmissionsTally) -> tuple[BestSubtask, ...]:
    """Return the best result of each subtask over all submissions to a problem."""
    bests = scoring.collect_best_subtasks(collect_results(tally.pool.select_attempts(Budget.UNLIMITED)))
    return next((best.subtasks for best in bests.values()), ())


def _sum_points_by_budget(problems: Iterable[ProblemSummary]) -> dict[Budget, float]:
    """Return the total points by budget, or {} if no problem has subtasks."""
    points_by_budget = [problem.budgets for problem in problems if problem.budgets]
    return {
        budget: math.fsum(column[budget] for column in points_by_budget)
        for budget in Budget
        if points_by_budget
    }


def _compute_mean_score(problems: Iterable[ProblemSummary]) -> float | None:
    return mean([score for problem in problems if (score := problem.mean_score) is not None])


def _compute_points_share_interval(
    problems: Sequence[ProblemSummary], *, uses_mean_scores: bool
) -> tuple[float, float] | tuple[None, None]:
    """Return the 95 % interval of a model's share of the points, over problems.

    If no problem has points, return the interval of the mean score, or `(None, None)` if `uses_mean_scores`
    is False.
    """
    points_of_problems = [
        (problem.points, problem.max_points)
        for problem in problems
        if problem.points is not None and problem.max_points
    ]
    if points_of_problems:
        return compute_bootstrap_interval(
            [points / max_points for points, max_points in points_of_problems],
            weights=[max_points for _, max_points in points_of_problems],
        )
    scores = [score for problem in problems if (score := problem.mean_score) is not None]
    return compute_bootstrap_interval(scores) if uses_mean_scores else (None, None)


# --- the pass ----------------------------------------------------------------------------------------


SUMMARY = "summary.json"
INCOMPLETE = "This run is incomplete"  # start of the warnings about an incomplete run
_MAX_REASONS, _MAX_EXAMPLES = 100, 5
_MAX_SHARDS = 10  # maximum number of missing shards that a warning lists


def summarize_run(folder: Path, options: ReportOptions | None = None, *row_callbacks: RowCallback) -> Summary:
    """Return the numbers of a run's folder, which a process may still be writing.

    Args:
        folder: The run's folder.
        options: Options of the report.
        row_callbacks: Functions that are called with each row.
    """
    summary_builder = RunSummaryBuilder(folder, options or ReportOptions())
    summary_builder.read_rows(*row_callbacks)
    return summary_builder.make_summary()


class RowCounts(msgspec.Struct):
    """The counts after reading a run's rows. The next report can continue from them."""

    tallies: dict[tuple[str, str], SubmissionsTally] = {}  # counts of submissions, by model and problem
    traits: dict[str, ProblemTraits] = {}
    facts: RowSettingsCollector = msgspec.field(default_factory=RowSettingsCollector)
    ends: dict[str, EndingCounts] = {}  # by model
    # Subtasks and their points, by problem.
    points_of_subtasks: dict[str, tuple[tuple[str, float], ...]] = {}
    causes: FailureCauses = msgspec.field(default_factory=FailureCauses)
    repeated: int = 0
    repeated_tests: int = 0
    saved: int = 0


class RunSummaryBuilder:
    """Reads and counts a run's rows, and stores the submissions that a score mode may choose from."""

    def __init__(self, folder: Path, options: ReportOptions, counts: RowCounts | None = None) -> None:
        """`counts`: counts of the rows that `read_rows` skips."""
        self._folder, self._options, self._row_counts = folder, options, counts or RowCounts()
        # Failures of the folder; `read_rows` removes the submissions that have a row.
        self._failures = read_failures(folder)
        self._tasks, self._info = read_tasks(folder), read_valid_run_info(folder)
        self._has_feedback = has_feedback(self._info.fingerprint.options)

    def read_rows(
        self,
        *row_callbacks: RowCallback,
        begin_offset: int = 0,
        count_start_offset: int = 0,
        end_offset: int | None = None,
        find_counted_keys: Callable[[Collection[str]], Collection[str]] = lambda keys: (),
    ) -> None:
        """Read the rows between two offsets.

        Args:
            row_callbacks: Functions that are called with each row.
            begin_offset: Offset in results.jsonl of the first row that the callbacks get.
            count_start_offset: Offset of the first row that is also counted.
            end_offset: Offset after the last row. None means that all later rows are read.
            find_counted_keys: Returns which of some keys occur in rows before `count_start_offset`.
        """
        new_keys = set[str]()
        with reduce_garbage_collection():
            for offset, row, result in read_results(self._folder, begin_offset, end_offset):
                if offset >= count_start_offset:
                    if row["key"] in new_keys:
                        raise_duplicate_key_error(self._folder, row["key"])
                    new_keys.add(row["key"])
                    self._refuse_different_subtasks(result, offset)
                    self._count_row(row, result)
                for callback in row_callbacks:
                    callback(row, result, offset)
        already_counted_keys = find_counted_keys({*new_keys, *self._failures}) if count_start_offset else ()
        for key in already_counted_keys:
            if key in new_keys:
                raise_duplicate_key_error(self._folder, key)
            self._failures.pop(key, None)

    def _refuse_different_subtasks(self, result: SubmissionResult, row_offset: int) -> None:
        """Raise InputError if a problem's rows have different subtasks or points: they cannot be added up."""
        points_of_subtasks = tuple((subtask.subtask, subtask.points) for subtask in result.subtasks)
        if (
            self._row_counts.points_of_subtasks.setdefault(result.problem_id, points_of_subtasks)
            != points_of_subtasks
        ):
            with add_line_to_errors(self._folder / RESULTS, row_offset):
                raise InputError(
                    f"problem {result.problem_id!r} has other subtasks or points here than in earlier lines",
                    remedy="Delete the lines of one version and run again: they are judged again",
                )

    def _count_row(self, row: Mapping[str, Any], result: SubmissionResult) -> None:
        self._failures.pop(row["key"], None)
        counts, model, problem = self._row_counts, read_model_name(row), result.problem_id
        counts.traits[problem] = counts.traits.get(problem, ProblemTraits()).merge(read_problem_traits(row))
        tally = counts.tallies.setdefault((model, problem), self._create_tally())
        tally.add(
            make_attempt(row, result),
            convert_to_label(row.get("language") or ""),
            counts.causes.add_and_return_cause(result),
        )
        if (task := self._tasks.get(problem)) is not None:
            tally.uses.update(compute_limit_usage_steps(result, task))
        counts.facts.add(result)
        counts.ends.setdefault(model, EndingCounts()).add(result)
        counts.repeated += bool(result.repeats)
        repeated_tests = [test for test in result.tests if test.cpu_times]
        counts.repeated_tests += len(repeated_tests)
        counts.saved += sum(test.status is not Verdict.TLE for test in repeated_tests)

    def _create_tally(self) -> SubmissionsTally:
        return SubmissionsTally(SubmissionPool(self._options.submissions))

    @property
    def counts_for_next_report(self) -> RowCounts | None:
        """Return the counts from which a later report can continue, or None if it must read all rows."""
        return None if self._has_feedback else self._row_counts

    def make_summary(self) -> Summary:
        """Return the numbers, including unjudged submissions, which `counts_for_next_report` omits."""
        counts = self._row_counts
        tallies, traits = dict(counts.tallies), dict(counts.traits)
        for row in self._failures.values():
            problem = str(row.get("problem_id", ""))
            traits[problem] = traits.get(problem, ProblemTraits()).merge(read_problem_traits(row))
            tally = tallies.get((read_model_name(row), problem)) or self._create_tally()
            tallies[read_model_name(row), problem] = msgspec.structs.replace(
                tally, unscored=tally.unscored + 1
            )
        models = self._summarize_models(tallies, traits)
        models = add_report_part_values(models, self._folder)
        has_agents = (self._folder / _AGENTS).is_dir()
        author_remedy = find_author_remedy(self._info.settings, has_agents=has_agents)
        suspicious = [
            suspicion
            for model, ends in sorted(counts.ends.items())
            for suspicion in ends.find_suspicions(model, author_remedy)
        ]
        submissions, expected = sum(model.submissions for model in models), self._info.expected
        is_complete = not self._info.unread and submissions >= (expected or 0)
        warnings = [] if is_complete else [self._make_incomplete_warning(submissions)]
        if missing_shards := _make_missing_shards_warning(self._info.shard):
            is_complete = False
            warnings.append(missing_shards)
        warnings.extend(map(str, suspicious))
        warnings.extend(filter(None, [make_no_program_warning(counts.ends)]))
        warnings.extend(_make_similar_name_warnings(model.model for model in models))
        if has_incomplete_line(self._folder / RESULTS):
            warnings.append(
                f"The last line of {RESULTS} is incomplete and in no number here. Repeat the command that"
                " made the run, which judges that submission again. If only the newline is missing, add it."
            )
        warnings.extend(collect_report_part_warnings(self._folder))
        return Summary(
            mode=self._options.mode,
            submission_limit=self._options.submissions,
            submissions=submissions,
            complete=is_complete,
            judged=submissions,
            of=expected,
            scored=sum(model.scored for model in models),
            unscored=len(self._failures),
            problems=len(self._list_all_problems(tallies)),
            verdicts=count_verdicts(model.verdicts for model in models),
            models=models,
            headline=self._make_headline(models),
            trust=self._make_trusted_problems_headline(tallies, traits),
            failures=_group_failures(self._failures.values()),
            causes=counts.causes.count_causes(models),
            date=_format_progress_date(read_progress(self._folder)),
            warnings=tuple(warnings),
            repeated=counts.repeated,
            measured_again=counts.repeated_tests,
            saved=counts.saved,
            suspicious=tuple(suspicious),
            more=collect_report_part_values(models, self._folder),
            settings=counts.facts.make_settings(self._info),
        )

    def _make_trusted_problems_headline(
        self, tallies: Mapping[tuple[str, str], SubmissionsTally], traits: dict[str, ProblemTraits]
    ) -> TrustSummary | None:
        """Return the headline over the problems that the run's audit trusts, or None if no audit is set."""
        trust = read_value(self._folder / TRUST, Trust, "is not a run's", "Repeat the command of the run")
        if trust is None:
            return None
        trusted_tallies = {key: tally for key, tally in tallies.items() if key[1] not in trust.problems}
        models = self._summarize_models(trusted_tallies, traits)
        return TrustSummary(
            audit=trust.audit,
            sha256=trust.sha256,
            problems={name: trust.problems[name] for _, name in sorted(tallies) if name in trust.problems},
            headline=self._make_headline(models),
        )

    def _make_headline(self, models: Sequence[ModelSummary]) -> Headline:
        author = choose_author_noun(self._info.fingerprint.options)
        return make_headline(models, self._options.mode, self._options.submissions, author)

    def _make_incomplete_warning(self, judged_count: int) -> str:
        """Return the warning about a run in which submissions lack a result."""
        expected = self._info.expected
        progress = (
            f"{format_count(judged_count, 'submission')} judged, and its dump is not read to the end"
            if expected is None
            else f"{judged_count:,} of {format_count(expected, 'submission')} judged"
        )
        if is_being_written(self._folder):
            next_step = "A process is judging this run now: make the report again when it has ended."
        elif self._info.merged:
            next_step = "Repeat the command of each shard that is not complete, and this report after them."
        else:
            next_step = "Repeat the command that made the run: it goes on."
        return (
            f"{INCOMPLETE}: {progress}. No number here counts submissions without a result, and a"
            f" model may be missing. {next_step}"
        )

    def _list_all_problems(self, tallies: Iterable[tuple[str, str]]) -> set[str]:
        """Return all problems of the run, so that models are compared over the same problems.

        If authors got feedback, they chose the problems to try: problems without a submission score 0 points.
        """
        problems_with_submissions = {problem for _, problem in tallies}
        return (
            problems_with_submissions | self._tasks.keys()
            if self._has_feedback
            else problems_with_submissions
        )

    def _summarize_models(
        self, tallies: Mapping[tuple[str, str], SubmissionsTally], traits: dict[str, ProblemTraits]
    ) -> tuple[ModelSummary, ...]:
        # Find the maximum points of each problem with subtasks that has any scored submission.
        best_parts = (
            (problem, select_best_subtask_results(tally)) for (_, problem), tally in tallies.items()
        )
        max_points = {
            problem: math.fsum(best.points for best in bests) for problem, bests in best_parts if bests
        }
        problems = self._list_all_problems(tallies)
        for name in problems - {problem for _, problem in tallies}:
            task = self._tasks[name]
            if task.subtasks:
                max_points[name] = math.fsum(subtask.points for subtask in task.subtasks)
            traits[name] = ProblemTraits(difficulty=task.difficulty, tags=task.tags, year=task.year)
        models, source = list[ModelSummary](), str(self._info.settings.get("problems", ""))
        for model in {model for model, _ in tallies}:
            tallies_of_model = {name: tallies.get((model, name)) or self._create_tally() for name in problems}
            account = ModelSummarizer(
                model, tallies_of_model, self._options, source, has_feedback=self._has_feedback
            )
            models.append(account.make_summary(max_points, traits))
        return sort_models(models)


def _format_progress_date(progress: Progress | None) -> str:
    """Return the last day on which the run was judging, in UTC, or "" if it is unknown."""
    timestamp = None if progress is None else progress.at
    return "" if timestamp is None else datetime.fromtimestamp(timestamp, UTC).date().isoformat()


def _make_missing_shards_warning(shard: str) -> str:
    """Return the warning about a run that has only some shards, such as `1,3/4`, or "" if it has all."""
    present_shards, _, last_shard = shard.partition("/")
    shard_count = int(last_shard or 0)
    missing_indexes = [
        str(index) for index in range(1, shard_count + 1) if str(index) not in present_shards.split(",")
    ]
    if not missing_indexes:
        return ""
    if len(missing_indexes) > _MAX_SHARDS:
        subject = f"{len(missing_indexes):,} of {shard_count:,} shards are"
    elif len(missing_indexes) == 1:
        subject = f"shard {missing_indexes[0]} of {shard_count} is"
    else:
        subject = f"shards {', '.join(missing_indexes)} of {shard_count} are"
    return (
        f"{INCOMPLETE}: {subject} missing. No number here counts their rows."
        f" `ioi-eval report DIR DIR ...` with the folders of all {shard_count:,} shards"
        " makes one run of them."
    )


@contextlib.contextmanager
def reduce_garbage_collection() -> Iterator[None]:
    """Context manager that runs the garbage collector less often. Rows contain no cycles."""
    old_thresholds = gc.get_threshold()
    if old_thresholds[0]:  # 0 means that the garbage collector is switched off
        gc.set_threshold(max(old_thresholds[0], _GC_THRESHOLD), *old_thresholds[1:])
    try:
        yield
    finally:
        gc.set_threshold(*old_thresholds)


def read_valid_run_info(folder: Path) -> RunInfo:
    """Return the info of a run's folder. Raise InputError if the folder is not a run's."""
    info = read_info(folder)
    if info is None:
        remedy = "Name the folder of a run"
        if not folder.exists():
            raise missing_path_error(folder, remedy)
        raise InputError("there is no run in this folder", where=str(folder), remedy=remedy)
    if info.replacing:
        raise InputError(
            "a new run is replacing the old run",
            where=str(folder),
            remedy="Run `ioi-eval score` again",
        )
    return info


def _group_failures(rows: Iterable[Mapping[str, Any]]) -> tuple[Failures, ...]:
    groups: dict[tuple[str, str, str, bool], list[Mapping[str, Any]]] = {}
    for row in rows:
        reason, phase, remedy = (str(row.get(name, "")) for name in ("reason", "phase", "remedy"))
        groups.setdefault((reason, phase, remedy, row.get("final") is True), []).append(row)
    largest_groups = sorted(groups.items(), key=lambda group: (-len(group[1]), group[0]))
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
        for (reason, phase, remedy, final), members in largest_groups[:_MAX_REASONS]
    )
