"""The command `problems`: list the problems of a source and their errors."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from ioi_eval.cli import console
from ioi_eval.cli.groups import command, within
from ioi_eval.cli.options import Json, ProblemOptions, Source, open_store
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
_MAX_ERRORS = 3  # in a package's line
_TEXTS = ("problem", "format", "type", "checker")
_NUMBERS = ("tests", "subtasks", "points", "time", "memory")
_SPARE = ("subtasks", "checker", "format")  # removed in a narrow terminal


@command(_EXAMPLES)
def problems(
    source: Source,
    choice: ProblemOptions,
    generate: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Write copies of packages into DIR, and generate their missing tests in sandboxes.",
        ),
    ] = None,
    generate_seconds: Annotated[
        float,
        typer.Option(
            metavar="S",
            min=1.0,
            callback=within(),
            help="CPU time limit for each file that a program of a package generates or checks.",
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
        console.show_json([_described(package) for package in packages])
    else:
        _show(packages)
    usable = any(package.problem is not None and not package.problem.unusable for package in packages)
    errors = [error for package in packages for error in package.errors]
    for error in errors:
        console.complain(console.as_called(str(error)))
    if errors or not usable:
        raise typer.Exit(console.BAD_INPUT)


def _show(packages: tuple[Package, ...]) -> None:
    rows = [_cells(package.format, package.problem) for package in packages if package.problem is not None]
    if rows:
        console.show_table(_TEXTS + _NUMBERS, rows, right=_NUMBERS, spare=_SPARE)
    for note in (note for package in packages for note in package.notes):
        console.show_wrapped(f"note: {console.as_called(note)}", later="  ")
    for package in packages:
        if package.errors and package.format:
            read_as = f"{package.where} is read as {package.format}"
            console.show_wrapped(f"{read_as}, and cannot be used: {_missing(package)}", later="  ")
    problems = [package.problem for package in packages if package.problem is not None]
    good = sum(not problem.unusable for problem in problems)
    count = len(problems) + sum(bool(package.errors) for package in packages)  # notes alone are no package
    console.show(f"{good} of {count} packages can be used")


def _missing(package: Package) -> str:
    """Return a summary of a package's errors, which are also listed one by one."""
    problems = [
        f"{error.field}: {error.problem}" if error.field else error.problem for error in package.errors
    ]
    files = [error.where.removeprefix(package.where).lstrip("/") for error in package.errors]
    parts = [f"{file}: {problem}" if file else problem for file, problem in zip(files, problems, strict=True)]
    more = f"; and {len(parts) - _MAX_ERRORS} more" if len(parts) > _MAX_ERRORS else ""
    return console.as_called("; ".join(parts[:_MAX_ERRORS])) + more


def _cells(package_format: str, problem: Problem) -> tuple[str, ...]:
    points = f"{sum(subtask.points for subtask in problem.subtasks):g}" if problem.subtasks else "none"
    several = f" of {problem.options.processes}" if problem.options.processes > 1 else ""
    factor = problem.time_from_solutions
    time = "none" if factor is None else f"{factor:g} x slowest"
    if problem.limits.cpu_time is not None:
        time = f"{problem.limits.cpu_time:g} s"
    return (
        problem.id if problem.year is None else f"{problem.id} ({problem.year})",
        package_format,
        problem.task_type + several + (", grader" if problem.options.with_grader else ""),
        _judged_by(problem),
        str(len(problem.tests)),
        str(len(problem.subtasks)),
        points,
        time,
        "none" if problem.limits.memory is None else f"{problem.limits.memory / (1 << 20):g} MiB",
    )


def _judged_by(problem: Problem) -> str:
    """Return what judges an output: a comparison, or a manager or an interactor and its checker."""
    checker = problem.checker
    if problem.manager is None:
        return checker.kind.value
    role = "manager" if problem.task_type is TaskType.COMMUNICATION else "interactor"
    return f"{role} {problem.manager.kind}" + (f", {checker.kind}" if checker.sources else "")


def _described(package: Package) -> dict[str, Any]:
    errors = [console.as_called(str(error)) for error in package.errors]
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
        "judged_by": _judged_by(problem),
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
        "notes": [*map(console.as_called, package.notes)],
        "errors": errors,
    }
