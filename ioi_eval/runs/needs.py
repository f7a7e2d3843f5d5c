"""Check before a run whether an engine supports all problems of a source."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import PurePath

import msgspec

from ioi_eval.benchmarks import BenchmarkOptions
from ioi_eval.engines.contract import HealthCheck
from ioi_eval.engines.registry import EngineChoice, open_engine
from ioi_eval.judge import Judge
from ioi_eval.model.errors import InputError, JudgeFailure
from ioi_eval.model.languages import find_language
from ioi_eval.model.options import JudgeOptions
from ioi_eval.model.text import format_count
from ioi_eval.model.values import Problem, TaskType, Value
from ioi_eval.rules.languages import choose_language, list_allowed_languages
from ioi_eval.runs.scorer import Scorer
from ioi_eval.runs.sources import check_source_problems, find_promised_packages, language_of
from ioi_eval.runs.work import make_synchronous
from ioi_eval.store import Store

_MAX_NAMED = 3  # maximum number of problems that a message names


class JudgingNeed(Value):
    """Something that a problem needs and that the engine lacks."""

    problem: str
    # False if the problem cannot be judged, and the user can change that. None if no remedy is known, or if
    # only some submissions cannot be judged.
    ok: bool | None
    detail: str
    remedy: str = ""
    of_solution: bool = False  # True if only a solution of the package needs the missing part


async def check_problem_needs(
    source: str, benchmark_options: BenchmarkOptions, engine: EngineChoice, *, store: Store
) -> tuple[HealthCheck, ...]:
    """Return health checks about needs of a source's problems that the engine or a package does not meet.

    The first check has the number of problems that can be judged in the default language. Programs of
    problems are not built.

    Args:
        source: Path of packages, a benchmark's name, or a file of its rows.
        benchmark_options: Selection of the problems, and the Python packages that programs may import.
        engine: Engine whose capabilities are checked. It is started and closed.
        store: The cache.

    Raises:
        InputError: The source is empty, or it is a benchmark with an error.
    """
    packages, default_language = check_source_problems(source, benchmark_options, store), language_of(source)
    failed_package_checks = [
        HealthCheck(name=PurePath(package.where).name, ok=False, detail=error.problem, remedy=error.remedy)
        for package in packages
        for error in package.errors
    ]
    problems = [package.problem for package in packages if package.problem is not None]
    opened_engine, trusted_engine = open_engine(
        engine, store, find_promised_packages(source, benchmark_options)
    )
    judge_options = JudgeOptions(job=engine.job, allow_unconfined=engine.allow_unconfined)
    async with Scorer(opened_engine, store=store, options=judge_options, trusted=trusted_engine) as scorer:
        unmet_needs = [
            need
            for problem in problems
            for need in await _find_unmet_needs(problem, default_language, scorer.judge)
        ]
        promised_package_checks = await _check_promised_packages(source, benchmark_options, scorer.judge)
    unfit_problems = {need.problem for need in unmet_needs if not need.of_solution}
    problem_count = sum(bool(package.problem or package.errors) for package in packages)
    fit_count = len(problems) - len(unfit_problems)
    overall_check = HealthCheck(
        name="problems",
        ok=bool(fit_count)
        and not failed_package_checks
        and all(need.ok is not False for need in unmet_needs),
        detail=f"{fit_count} of {format_count(problem_count, 'problem')} of {source} can be judged",
    )
    return (
        overall_check,
        *promised_package_checks,
        *failed_package_checks,
        *_make_health_checks(unmet_needs),
    )


check_problem_needs_sync = make_synchronous(check_problem_needs)


async def _check_promised_packages(source: str, choice: BenchmarkOptions, judge: Judge) -> list[HealthCheck]:
    """Return a health check of the Python packages that the source promises, or nothing if there are none."""
    promised_packages = find_promised_packages(source, choice)
    if not promised_packages:
        return []
    try:
        await judge.check_packages(promised_packages, ["python"])
    except InputError as error:
        return [HealthCheck(name="packages", ok=False, detail=error.problem, remedy=error.remedy)]
    return [
        HealthCheck(name="packages", ok=True, detail=f"submissions may import {', '.join(promised_packages)}")
    ]


async def _find_unmet_needs(problem: Problem, default_language: str, judge: Judge) -> list[JudgingNeed]:
    """Return the unmet needs of a problem and of its solutions."""
    language = find_language(choose_language(problem, default=default_language).language)
    errors = await judge.find_unmet_needs(
        problem, None if problem.task_type is TaskType.OUTPUT_ONLY else language
    )
    needs = [_make_need_from_error(problem, error) for error in errors]
    if not problem.unusable and any(_is_final_failure(error) for error in errors):
        other_languages = [
            allowed_language.name
            for allowed_language in list_allowed_languages(problem)
            if not await judge.find_unmet_needs(problem, allowed_language)
        ]
        needs = [need for need, error in zip(needs, errors, strict=True) if not _is_final_failure(error)]
        detail = (
            f"not in {language.name}: only in {' or '.join(other_languages) or 'no language that is here'}"
        )
        needs.append(JudgingNeed(problem=problem.id, ok=None if other_languages else False, detail=detail))
    known_errors = {str(error) for error in errors}
    for solution in problem.solutions:
        if solution.program is not None:
            try:
                solution_language = find_language(solution.language)
            except InputError as error:
                needs.append(
                    JudgingNeed(
                        problem=problem.id, ok=None, detail=f"a solution: {error.problem}", of_solution=True
                    )
                )
                continue
            solution_errors = await judge.find_unmet_needs(
                problem, solution_language, "" if solution.files else solution.code
            )
            for need in (
                _make_need_from_error(problem, error)
                for error in solution_errors
                if str(error) not in known_errors
            ):
                detail = f"a solution: {need.detail}"
                needs.append(msgspec.structs.replace(need, ok=None, detail=detail, of_solution=True))
    return needs


def _is_final_failure(error: JudgeFailure | InputError) -> bool:
    return isinstance(error, JudgeFailure) and error.final


def _make_need_from_error(problem: Problem, error: JudgeFailure | InputError) -> JudgingNeed:
    return JudgingNeed(
        problem=problem.id,
        ok=None if _is_final_failure(error) else False,
        detail=error.problem if isinstance(error, InputError) else error.reason,
        remedy=error.remedy,
    )


def _make_health_checks(needs: Iterable[JudgingNeed]) -> Iterator[HealthCheck]:
    """Yield a health check for each distinct need, with the names of the problems that have it."""
    problems_by_need = dict[tuple[bool | None, str, str], dict[str, None]]()
    for need in needs:
        detail = need.detail.replace(f"problem {need.problem} ", "the problem ")
        problems_by_need.setdefault((need.ok, detail, need.remedy), {})[need.problem] = None
    for (ok, detail, remedy), names in problems_by_need.items():
        first_names, more_count = list(names)[:_MAX_NAMED], len(names) - _MAX_NAMED
        yield HealthCheck(
            name=", ".join(first_names) + (f" and {more_count} more" if more_count > 0 else ""),
            ok=ok,
            detail=detail,
            remedy=remedy,
        )
