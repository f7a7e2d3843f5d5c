"""The command `problems`: list the problems of a source and their errors."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from ioi_eval.cli import console
from ioi_eval.cli.groups import command, make_bounds_check
from ioi_eval.cli.options import Json, ProblemOptions, Source, open_store
from ioi_eval.model.text import format_count
from ioi_eval.model.values import Problem, TaskType
from ioi_eval.problems import Package
from ioi_eval.runs.generating import PROGRAM_SECONDS, generate_sync
from ioi_eval.runs.sources import check_source_problems

_EXAMPLES = """
  ioi-eval problems examples/problems
  ioi-eval problems packages/aplusb.zip --json
  ioi-eval problems ioi --year 2024
  ioi-eval problems polygon/halves --generate made
  ioi-eval problems codeforces --data-dir copies --difficulty 1900
"""
_TEXTS = ("problem", "format", "type", "checker")
_NUMBERS = ("tests", "subtasks", "points", "time", "memory")
_SPARE = ("subtasks", "checker", "format")  # columns of the table that a narrow terminal does not show


@command(_EXAMPLES)
def problems(
    source: Source,
    choice: ProblemOptions,
    generate: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Copy packages to DIR, and generate their missing tests there in sandboxes.",
        ),
    ] = None,
    generate_seconds: Annotated[
        float,
        typer.Option(
            metavar="S",
            min=1.0,
            callback=make_bounds_check(),
            help="CPU time limit for each test file that a package's programs generate or check, in seconds.",
            hidden=True,
        ),
    ] = PROGRAM_SECONDS,
    as_json: Json = False,
) -> None:
    """List the problems of SOURCE with their tests, subtasks and limits, and check them.

    Exit code 0: all problems can be used; 2: some have errors, which are listed.
    """
    if generate is not None:
        generate_sync(source, generate, store=open_store(), seconds=generate_seconds)
        source = str(generate)
    packages = check_source_problems(source, choice, open_store())
    if as_json:
        console.print_json([_build_json_package(package) for package in packages])
    else:
        _print_packages(packages)
    has_usable_problem = any(
        package.problem is not None and not package.problem.unusable for package in packages
    )
    errors = [error for package in packages for error in package.errors]
    for error in errors:
        console.print_error(console.replace_arguments_by_options(str(error)))
    if errors or not has_usable_problem:
        raise typer.Exit(console.BAD_INPUT)


def _print_packages(packages: tuple[Package, ...]) -> None:
    rows = [
        _format_row(package.format, package.problem) for package in packages if package.problem is not None
    ]
    if rows:
        console.print_table(_TEXTS + _NUMBERS, rows, right_aligned_heads=_NUMBERS, droppable_heads=_SPARE)
    for note in (note for package in packages for note in package.notes):
        console.print_wrapped(f"note: {console.replace_arguments_by_options(note)}", later_indent="  ")
    for package in packages:
        if package.errors and package.format:
            errors_text = "the error below" if len(package.errors) == 1 else "the errors below"
            message = f"{package.where} is read as {package.format}, and cannot be used: see {errors_text}"
            console.print_wrapped(message, later_indent="  ")
    problems = [package.problem for package in packages if package.problem is not None]
    usable_count = sum(not problem.unusable for problem in problems)
    # An entry with only notes is not a problem package.
    package_count = len(problems) + sum(bool(package.errors) for package in packages)
    console.print_line(f"{usable_count} of {format_count(package_count, 'package')} can be used")


def _format_row(package_format: str, problem: Problem) -> tuple[str, ...]:
    points_text = f"{sum(subtask.points for subtask in problem.subtasks):g}" if problem.subtasks else "none"
    process_text = f" of {problem.options.processes}" if problem.options.processes > 1 else ""
    time_factor = problem.time_from_solutions
    time_limit_text = "none" if time_factor is None else f"{time_factor:g} x slowest"
    if problem.limits.cpu_time is not None:
        time_limit_text = f"{problem.limits.cpu_time:g} s"
    return (
        problem.id if problem.year is None else f"{problem.id} ({problem.year})",
        package_format,
        problem.task_type + process_text + (", grader" if problem.options.with_grader else ""),
        _describe_judging(problem),
        str(len(problem.tests)),
        str(len(problem.subtasks)),
        points_text,
        time_limit_text,
        "none" if problem.limits.memory is None else f"{problem.limits.memory / (1 << 20):g} MiB",
    )


def _describe_judging(problem: Problem) -> str:
    """Return how outputs are judged: by a comparison, or by a manager or an interactor and its checker."""
    checker = problem.checker
    if problem.manager is None:
        return checker.kind.value
    role = "manager" if problem.task_type is TaskType.COMMUNICATION else "interactor"
    return f"{role} {problem.manager.kind}" + (f", {checker.kind}" if checker.sources else "")


def _build_json_package(package: Package) -> dict[str, Any]:
    errors = [console.replace_arguments_by_options(str(error)) for error in package.errors]
    if (problem := package.problem) is None:
        return {"where": package.where, "format": package.format, "errors": errors}
    return {
        "where": package.where,
        "format": package.format,
        "id": problem.id,
        "name": problem.name,
        "year": problem.year,
        "task_type": problem.task_type,
        "with_grader": problem.options.with_grader,
        "processes": problem.options.processes,
        "options": problem.options,
        "checker": problem.checker.kind,
        "judged_by": _describe_judging(problem),
        "tests": len(problem.tests),
        "subtasks": [
            {
                "name": subtask.name,
                "points": subtask.points,
                "tests": len(subtask.tests),
                "score_type": subtask.score_type,
            }
            for subtask in problem.subtasks
        ],
        "limits": problem.limits,
        "time_from_solutions": problem.time_from_solutions,
        "solutions": [
            {
                "name": solution.name,
                "language": solution.language,
                "expected": solution.expected,
                "exceptions": dict(solution.exceptions),
            }
            for solution in problem.solutions
        ],
        "notes": [*map(console.replace_arguments_by_options, package.notes)],
        "errors": errors,
    }
