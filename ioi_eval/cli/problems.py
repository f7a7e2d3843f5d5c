"""`ioi-eval problems SOURCE`: the problems of a source, and what is wrong with them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from ioi_eval.cli import console
from ioi_eval.cli.environment import cache_folder
from ioi_eval.models import Limits, Problem
from ioi_eval.problems import Package, check_problems


def problems(
    source: Annotated[Path, typer.Argument(metavar="SOURCE", help="A folder or a zip of problem packages.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """List the problems of SOURCE with their tests, subtasks and limits, and check them.

    Exit code 0: all can be used; 2: something is wrong, and a line says where and what.

    \b
    Examples:
      ioi-eval problems examples/problems
      ioi-eval problems packages/aplusb.zip --json
    """
    packages = check_problems(source, cache=cache_folder())
    if as_json:
        console.show_json([_described(package) for package in packages])
    else:
        _show(packages)
    errors = [error for package in packages for error in package.errors]
    for error in errors:
        console.complain(str(error))
    if errors:
        raise typer.Exit(console.BAD_INPUT)


def _show(packages: tuple[Package, ...]) -> None:
    numbers = frozenset({"tests", "subtasks", "points", "time", "memory"})
    table = console.plain_table(
        *("problem", "type", "checker", "tests", "subtasks", "points", "time", "memory"), right=numbers
    )
    for problem in (package.problem for package in packages if package.problem is not None):
        table.add_row(*_cells(problem))
    if table.row_count:
        console.show_table(table)
    good = sum(package.problem is not None for package in packages)
    console.show(f"{good} of {len(packages)} packages can be used")


def _cells(problem: Problem) -> tuple[str, ...]:
    points = sum(subtask.points for subtask in problem.subtasks)
    return (
        problem.id if problem.year is None else f"{problem.id} ({problem.year})",
        problem.task_type + (", grader" if problem.options.with_grader else ""),
        problem.checker.kind,
        str(len(problem.tests)),
        str(len(problem.subtasks)),
        f"{points:g}",
        _time(problem.limits),
        _memory(problem.limits),
    )


def _time(limits: Limits) -> str:
    return "no limit" if limits.cpu_time is None else f"{limits.cpu_time:g} s"


def _memory(limits: Limits) -> str:
    return "no limit" if limits.memory is None else f"{limits.memory / (1 << 20):g} MiB"


def _described(package: Package) -> dict[str, Any]:
    errors = [str(error) for error in package.errors]
    if (problem := package.problem) is None:
        return {"where": package.where, "errors": errors}
    return {
        "where": package.where,
        "id": problem.id,
        "name": problem.name,
        "year": problem.year,
        "task_type": problem.task_type,
        "with_grader": problem.options.with_grader,
        "checker": problem.checker.kind,
        "tests": len(problem.tests),
        "subtasks": [
            {"name": subtask.name, "points": subtask.points, "tests": len(subtask.tests)}
            for subtask in problem.subtasks
        ],
        "limits": problem.limits,
        "errors": errors,
    }
