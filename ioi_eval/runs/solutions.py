"""Validate: judge solutions with expected verdicts or scores on all tests, and compare the results.

And calibrate: the same solutions under raised limits, to see how far they are from their limits here.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec

from ioi_eval.benchmarks import (
    BenchmarkOptions,
    DumpOptions,
    LoadedProblems,
    Selection,
    find_dumps,
    open_dump,
    open_dump_paths,
    read_reference_scores,
)
from ioi_eval.benchmarks.row_files import is_dump
from ioi_eval.engines.registry import EngineChoice
from ioi_eval.model.errors import InputError, JudgeFailure
from ioi_eval.model.fields import suggest_names
from ioi_eval.model.languages import find_language
from ioi_eval.model.values import CheckerKind, Problem, Solution, Submission, Value, Verdict
from ioi_eval.problems import Problems
from ioi_eval.problems.package import ARCHIVES
from ioi_eval.reports import write_reports
from ioi_eval.reports.records import VALIDATION, Validation, write_json
from ioi_eval.reports.validation import describe_conclusion, describe_failed_expectations, make_validation
from ioi_eval.rules.calibration import (
    Calibration,
    TimeRatio,
    find_expected_speed,
    measure_time_ratio_or_explain,
    propose_time_factor,
    with_time_factor,
)
from ioi_eval.rules.expectations import KeyedExpectation, collect_package_solutions, compute_max_points
from ioi_eval.runs.engine import AnyEngine
from ioi_eval.runs.events import DistanceMeasured, OnEvent, RunSummary, ignore_event
from ioi_eval.runs.references import MAX_SOLUTIONS, with_references
from ioi_eval.runs.runner import SubmissionJudge
from ioi_eval.runs.score import DumpRows, make_skipped_row_notes, read_dump, run_name
from ioi_eval.runs.sources import Source, open_problem_source, source_name
from ioi_eval.runs.work import (
    RunOptions,
    RunSetup,
    Work,
    judge_work,
    make_fingerprint,
    make_synchronous,
    open_judge,
)
from ioi_eval.store import Store
from ioi_eval.store.folder import read_limits_by_problem_label, read_rows, write_rejected_rows
from ioi_eval.store.rows import read_result


class ValidatedSolutions(Value):
    """The results of solutions, compared with the expected results."""

    out: str  # path of the run's folder
    call: RunSummary
    validation: Validation
    note: str = ""  # note about how the column of expected results was read, and which rows were excluded
    rejected: int = 0  # number of rows in the file that cannot be used

    def as_json(self) -> dict[str, Any]:
        """Return the content of the command's JSON output."""
        return {
            "out": self.out,
            "report": f"{self.out}/report.md",
            "this_call": self.call,
            "note": self.note,
            "rejected": self.rejected,
            **msgspec.to_builtins(self.validation),
        }

    @property
    def conclusion(self) -> str:
        """Return a sentence that summarises the comparison with the expected results."""
        return describe_conclusion(self.validation)

    def differences(self) -> list[tuple[str, list[str]]]:
        """Return a sentence for each difference, with lines that show the evidence."""
        return list(describe_failed_expectations(self.validation))


class _ValidationPlan(Value):
    """The solutions to judge and their expected results."""

    work: Work
    cases: tuple[KeyedExpectation, ...]
    unjudgeable: Mapping[str, str] = {}  # reasons why solutions cannot be judged, by key of the solution
    note: str = ""
    rejected: Sequence[InputError] = ()  # errors in rows of the file


async def validate(
    solutions: str | Path | Problems,
    problems: Source | None = None,
    *,
    out: str | Path | None = None,
    choice: BenchmarkOptions | None = None,
    most: int = MAX_SOLUTIONS,
    column: str | None = None,
    scale: str | None = None,
    reading: DumpOptions | None = None,
    selection: Selection | None = None,
    all_tests: bool = True,
    engine: AnyEngine | None = None,
    options: RunOptions | None = None,
    store: Store | None = None,
    on_event: OnEvent = ignore_event,
) -> ValidatedSolutions:
    """Judge solutions on all tests, and compare their results with the expected results.

        result = await validate("packages")
        print(result.validation.differences)

    Args:
        solutions: Packages or a benchmark with solutions, or a file of solutions.
        problems: The problems, if `solutions` is a file.
        out: The folder of the run.
        choice: The selection of problems.
        most: Maximum number of solutions of each kind, if the source is a benchmark.
        column: The file's column with expected scores or verdicts.
        scale: The scale of scores in this column.
        reading: How the rows of the file are read.
        selection: Which solutions are judged.
        all_tests: False skips tests that can no longer change a score. A solution may then seem to differ
            from an expected verdict of a skipped test.
        engine: Executes the programs.
        options: Options for judging.
        store: The cache.
        on_event: Receives events.

    Raises:
        InputError: The input is unusable. Nothing has been written.
    """
    _check_source_kind(solutions, problems)
    if problems is None:
        _refuse_options_of_files(column, scale, reading or DumpOptions())
    folder = out or Path("runs") / f"validate-{run_name(source_name(solutions))}"
    options = msgspec.structs.replace(options or RunOptions(), all_tests=all_tests)
    setup = RunSetup.create(folder, engine, options, store, on_event)
    if problems is None:
        plan_context = _plan_validation_of_packages(solutions, choice, most, selection, setup)
    else:
        rows = DumpRows.create([str(solutions)], reading, selection, problems, setup)
        plan_context = _plan_validation_of_file(rows, problems, choice, column, scale, setup)
    with plan_context as plan:
        call_summary = await judge_work(plan.work, setup)
        keys, judged_problems = {case.key for case in plan.cases}, plan.work.problems
        results = {row["key"]: read_result(row) for row in read_rows(setup.folder) if row["key"] in keys}
        failures = {**plan.unjudgeable, **setup.read_failures(keys - results.keys())}
        limits = read_limits_by_problem_label(setup.folder, judged_problems)
        result = make_validation(plan.cases, judged_problems, results, failures, limits)
        write_rejected_rows(setup.folder, plan.rejected)
    write_json(setup.folder / VALIDATION, result)
    write_reports(setup.folder)
    return ValidatedSolutions(
        out=str(setup.folder),
        call=call_summary,
        validation=result,
        note=plan.note,
        rejected=len(plan.rejected),
    )


validate_sync = make_synchronous(validate)


def _check_source_kind(solutions: Source, problems: Source | None) -> None:
    """Raise InputError if a file of solutions lacks problems, or if packages are combined with problems."""
    name = source_name(solutions)
    suffix = "" if isinstance(solutions, Problems) else Path(solutions).suffix.lower()
    if problems is None and is_dump(Path(name)):
        remedy = "Name the problem packages with problems=SOURCE"
        raise InputError("a file of solutions does not contain problems", where=str(solutions), remedy=remedy)
    if problems is not None and (suffix in ARCHIVES or isinstance(solutions, Problems)):
        remedy = "Leave problems=... out, or name a file of solutions"
        raise InputError(
            "a source of problems is only for a file of solutions, not for packages",
            where=name,
            remedy=remedy,
        )


def _refuse_options_of_files(
    score_column: str | None, score_scale: str | None, dump_options: DumpOptions
) -> None:
    """Raise an InputError for options that need a file of solutions."""
    default_options = DumpOptions()
    changed_options = {
        name: getattr(dump_options, name) != getattr(default_options, name)
        for name in dump_options.__struct_fields__
    }
    given_options = {"column": score_column is not None, "scale": score_scale is not None, **changed_options}
    if unused_option := next((name for name in given_options if given_options[name]), ""):
        remedy = "Leave out the option, or name a file of solutions and problems=..."
        raise InputError("the option is only for a file of solutions", field=unused_option, remedy=remedy)


# --- a file of solutions -----------------------------------------------------------------------------


@contextmanager
def _plan_validation_of_file(
    rows: DumpRows,
    problems: Source,
    benchmark_options: BenchmarkOptions | None,
    score_column: str | None,
    score_scale: str | None,
    setup: RunSetup,
) -> Iterator[_ValidationPlan]:
    """Yield the plan for validating the solutions in a file."""
    with open_problem_source(
        problems, benchmark_options, setup.store, rows.list_named_problem_ids
    ) as loaded_problems:
        dump = read_dump(rows, loaded_problems, setup)
        reference_scores = read_reference_scores(
            dump, loaded_problems, column=score_column, scale=score_scale
        )
        report_settings = {
            "solutions": rows.paths[0],
            "problems": source_name(problems),
            "expected": reference_scores.column,
            **(benchmark_options.report_settings if benchmark_options is not None else {}),
        }
        yield _ValidationPlan(
            work=msgspec.structs.replace(
                rows.make_judging_work(dump, loaded_problems, setup.result_settings, report_settings),
                trusted=True,
            ),
            cases=reference_scores.cases,
            note=". ".join(
                [
                    f"Column {reference_scores.column} has the expected {reference_scores.kind}",
                    *make_skipped_row_notes(dump.info),
                ]
            ),
            rejected=dump.rejected,
        )


def read_solutions(
    dump: str | Path, problems: Problems, *, column: str | None = None
) -> list[tuple[str, Solution]]:
    """Return the programs of a dump with their problems' labels and the expected results in a column.

    Without `column`, the column is detected as by `validate`. Raises BadRows for unusable rows.
    """
    with open_dump_paths(str(dump)) as files:
        rows = open_dump(find_dumps(files), problems=problems, options=DumpOptions(), selection=Selection())
        cases = {case.key: case for case in read_reference_scores(rows, problems, column=column).cases}
        return [
            (submission.problem_id, _make_solution(submission, cases[submission.key], problems))
            for submission in rows
            if submission.code is not None
        ]


def _make_solution(submission: Submission, expectation: KeyedExpectation, problems: Problems) -> Solution:
    score = expectation.score
    points = (
        compute_max_points(problems[submission.problem_id]) if score is not None and score.fraction else 1.0
    )
    return Solution(
        name=submission.key,
        language=submission.language,
        code=submission.code or "",
        expected=expectation.words[0].word if expectation.words else "",
        score=None if score is None else (score.value * points, score.value * points),
    )


# --- solutions of problem packages -------------------------------------------------------------------


@contextmanager
def _plan_validation_of_packages(
    source: Source,
    benchmark_options: BenchmarkOptions | None,
    max_solutions: int,
    selection: Selection | None,
    setup: RunSetup,
) -> Iterator[_ValidationPlan]:
    """Yield the plan for validating the solutions of packages or of a benchmark."""
    where, selected_keys = source_name(source), selection.keys if selection else frozenset()
    with open_problem_source(source, benchmark_options, setup.store) as loaded_problems:
        if max_solutions != MAX_SOLUTIONS and not isinstance(loaded_problems, LoadedProblems):
            problem = "only a benchmark's solutions are counted: all of a package are judged"
            raise InputError(problem, field="most", remedy="Leave out the option")
        problems, excluded_counts = with_references(loaded_problems, max_solutions)
        submissions, cases_of_all = collect_package_solutions(problems)
        if not cases_of_all:
            raise InputError("the source has no solutions", where=where, remedy="Is it the right source?")
        cases = _select_expectations(cases_of_all, selected_keys, where)
        keys = {case.key for case in cases}
        unjudgeable = {
            submission.key: language_error
            for submission in submissions
            if submission.key in keys and (language_error := _describe_language_error(submission))
        }
        judgeable_submissions = [
            submission
            for submission in submissions
            if submission.key in keys and submission.key not in unjudgeable
        ]
        work = Work(
            trusted=True,
            problems=problems,
            submissions=judgeable_submissions,
            keys=tuple(submission.key for submission in judgeable_submissions),
            others=frozenset(case.key for case in cases_of_all) - keys,
            fingerprint=make_fingerprint(_hash_submissions(submissions), problems, setup.result_settings),
            settings={
                "solutions": where,
                **(benchmark_options.report_settings if benchmark_options is not None else {}),
            },
        )
        note = "; ".join(f"{reason}: {number}" for reason, number in sorted(excluded_counts.items()))
        yield _ValidationPlan(
            work=work, cases=cases, unjudgeable=unjudgeable, note=f"Left out: {note}" if note else ""
        )


def _select_expectations(
    expectations: Iterable[KeyedExpectation], selected_keys: Collection[str], where: str
) -> tuple[KeyedExpectation, ...]:
    """Return the cases with these keys or names of solutions, or all cases if `selected_keys` is empty."""
    expectations, selected_names = tuple(expectations), set(selected_keys)
    if not selected_names:
        return expectations
    selected_cases = tuple(case for case in expectations if selected_names & {case.key, case.solution})
    if missing_names := sorted(
        selected_names - {name for case in selected_cases for name in (case.key, case.solution)}
    ):
        # Suggest keys if the unknown name looks like a key, otherwise names of files.
        known_names = dict.fromkeys(
            case.key if "/" in missing_names[0] else case.solution for case in expectations
        )
        raise InputError(
            f"the source has no solution {', '.join(map(repr, missing_names))}",
            where=where,
            field="selection.keys",
            remedy=suggest_names(missing_names[0], tuple(known_names)),
        )
    return selected_cases


def _describe_language_error(submission: Submission) -> str:
    """Return an error message if the submission's language is not supported, or an empty string."""
    if not submission.code:  # the submission has only output files
        return ""
    try:
        find_language(submission.language)
    except InputError as error:
        return str(error)
    return ""


def _hash_submissions(submissions: Iterable[Submission]) -> str:
    """Return a hash of the submissions' programs and files."""
    digest = hashlib.sha256()
    for submission in submissions:
        files = [(file.name, file.content.sha256) for file in (*submission.outputs, *submission.files)]
        digest.update(msgspec.json.encode([submission.key, submission.language, submission.code, files]))
    return digest.hexdigest()


# --- other comparisons -------------------------------------------------------------------------------


# Kinds of comparisons of outputs. They exclude comparisons of functions' results, which are always compared
# as JSON.
KINDS = tuple(kind for kind in CheckerKind if not kind.is_program and not kind.value.startswith("json"))


class CheckerDifference(Value):
    """How often a comparison and the benchmark's comparison disagree about a problem's solutions."""

    problem: str
    checker: str
    accepts: int  # number of solutions that this comparison accepts and the benchmark's comparison rejects
    rejects: int  # number of solutions that this comparison rejects and the benchmark's comparison accepts


async def compare_checkers(
    solutions: str | Path, problems: str | Path | None = None, *, out: str | Path, **arguments: Any
) -> tuple[ValidatedSolutions, tuple[CheckerDifference, ...]]:
    """Validate with the benchmark's own comparison and with each of `KINDS`, and return the differences.

    Only solutions that were judged in both runs are compared.

    Args:
        solutions: As for `validate`.
        problems: As for `validate`.
        out: The folder that gets a folder for each comparison.
        arguments: Further arguments of `validate`.

    Raises:
        InputError: `choice` selects a comparison.
    """
    choice = arguments.pop("choice", None) or BenchmarkOptions()
    if choice.checker:
        raise InputError(
            "this command already tries every comparison",
            field="choice.checker",
            remedy="Leave out the option",
        )
    own_outcome = await validate(solutions, problems, out=Path(out) / "own", choice=choice, **arguments)
    differences: list[CheckerDifference] = []
    for kind in KINDS:
        kind_choice = msgspec.structs.replace(choice, checker=kind.value)
        other_outcome = await validate(
            solutions, problems, out=Path(out) / kind.value, choice=kind_choice, **arguments
        )
        own_results, other_results = (
            _find_problem_and_acceptance_by_key(own_outcome),
            _find_problem_and_acceptance_by_key(other_outcome),
        )
        # For each problem, a value for each solution that is judged differently: True if only the new
        # comparison accepts it.
        changed_decisions = dict[str, list[bool]]()
        for key, (problem_id, is_accepted) in own_results.items():
            if key in other_results and other_results[key][1] != is_accepted:
                changed_decisions.setdefault(problem_id, []).append(not is_accepted)
        differences += [
            CheckerDifference(
                problem=name,
                checker=kind.value,
                accepts=sum(newly_accepted),
                rejects=len(newly_accepted) - sum(newly_accepted),
            )
            for name, newly_accepted in sorted(changed_decisions.items())
        ]
    return own_outcome, tuple(differences)


def _find_problem_and_acceptance_by_key(outcome: ValidatedSolutions) -> dict[str, tuple[str, bool]]:
    """Return pairs of a solution's problem and True if the solution was accepted, by the solution's key."""
    solution_checks = outcome.validation.solutions
    return {check.key: (check.problem, check.status is Verdict.AC) for check in solution_checks}


# --- the distance of solutions from their time limits ------------------------------------------------


REACH = 5.0  # multiple of the time limit after which a solution is stopped


async def calibrate(
    problems: Source,
    *,
    choice: BenchmarkOptions | None = None,
    reach: float = REACH,
    at_once: int = 1,
    engine: AnyEngine | None = None,
    store: Store | None = None,
    on_event: OnEvent = ignore_event,
) -> Calibration:
    """Measure solutions, and return a factor that adapts time limits to this machine.

        result = await calibrate("packages")
        print(result.factor)

    Right solutions and solutions that should be too slow are measured. If the judge fails for a solution,
    that solution is reported as unclear.

    Args:
        problems: Packages or a benchmark.
        choice: The selection of problems.
        reach: Multiple of the time limit after which a solution is stopped.
        at_once: Number of solutions that run at a time. Other values than 1 disturb the measurement.
        engine: Executes the programs.
        store: The cache.
        on_event: Receives events.
    """
    setup = RunSetup(Path(), engine or EngineChoice(), RunOptions(), store or Store.private(), on_event)
    with open_problem_source(problems, choice, setup.store) as loaded_problems:
        async with open_judge(setup) as (judge, _):
            return await _measure_solutions(
                loaded_problems,
                judge.with_options(trusts_submissions=True),
                reach,
                asyncio.Semaphore(at_once),
                on_event,
            )


calibrate_sync = make_synchronous(calibrate)


async def _measure_solutions(
    problems: Problems,
    judge: SubmissionJudge,
    max_time_factor: float,
    semaphore: asyncio.Semaphore,
    on_event: OnEvent,
) -> Calibration:
    """Judge all solutions with extended time limits, and return the calibration."""
    submissions, _ = collect_package_solutions(problems)

    async def measure_solution(
        problem: Problem, number: int, submission: Submission
    ) -> TimeRatio | str | None:
        solution = problem.solutions[number]
        if (kind := find_expected_speed(problem, solution)) is None:
            return None
        async with semaphore:
            try:
                result = await judge.judge(with_time_factor(problem, max_time_factor), submission)
            except JudgeFailure as failure:
                return f"{submission.key}: {failure}"
        outcome = measure_time_ratio_or_explain(problem, solution, kind, result)
        if not isinstance(outcome, TimeRatio):
            return f"{submission.key}: {outcome}"
        on_event(DistanceMeasured(distance=outcome))
        return outcome

    solution_numbers = [number for problem in problems.values() for number in range(len(problem.solutions))]
    async with asyncio.TaskGroup() as task_group:
        tasks = [
            task_group.create_task(measure_solution(problems[submission.problem_id], number, submission))
            for number, submission in zip(solution_numbers, submissions, strict=True)
        ]
    outcomes = [task.result() for task in tasks]
    time_ratios = [outcome for outcome in outcomes if isinstance(outcome, TimeRatio)]
    return propose_time_factor(time_ratios, [outcome for outcome in outcomes if isinstance(outcome, str)])
