#!/usr/bin/env python3
"""Compare the verdicts of official solutions with their authors' expectations, like `ioi-eval validate`.

    scripts/validate_official.py PACKAGES
    scripts/validate_official.py SOLUTIONS.jsonl --problems PACKAGES [--expected-column NAME]
    scripts/validate_official.py --table [--generate] PACKAGES...

The last form prints a Markdown table with a line for each package, including unusable packages, and the
totals.
`--generate`: the packages' own programs generate missing tests.

Exit code 0: no difference; 1: a difference; 3: some solutions could not be judged.
"""

from __future__ import annotations

import argparse
import asyncio
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

import msgspec

from ioi_eval import InputError, Store, validate
from ioi_eval.runs import ValidatedSolutions
from ioi_eval.sources import Package, Problems, check_problems


async def main(arguments: argparse.Namespace) -> int:
    if arguments.table:
        return await print_table(arguments.solutions, generates_tests=arguments.generate)
    (solutions,) = arguments.solutions
    with tempfile.TemporaryDirectory(prefix="ioi-eval-validate-") as folder:
        result = await validate(solutions, arguments.problems, column=arguments.expected_column, out=folder)
    return print_report(result)


def print_report(result: ValidatedSolutions) -> int:
    for solution in result.validation.solutions:
        subtask_texts = " ".join(f"{subtask.subtask}:{subtask.status}" for subtask in solution.subtasks)
        points = f"{solution.points:g} of {solution.max_points:g} points"
        print(f"{solution.key}: verdict {solution.status}, {points}  {subtask_texts}")
    for expectation, statuses in result.validation.confusion.items():
        print(
            f"solutions with the expectation {expectation} got the verdicts",
            ", ".join(f"{status} {count} times" for status, count in statuses.items()),
        )
    for sentence, evidence in result.differences():
        print("DIFFERENCE:", sentence, *evidence, sep="\n    ")
    for unjudged_solution in result.validation.unjudged:
        print(f"not judged: {unjudged_solution.key}: {unjudged_solution.reason}")
    print(result.conclusion)
    return 1 if result.validation.differences else 3 if result.validation.unjudged else 0


class PackageRow(NamedTuple):
    """A row of the table: a package, or the totals."""

    package: str
    format: str = ""
    usable: bool = False
    solutions: int = 0
    compared: int = 0
    differences: int = 0
    unjudged: int = 0
    reason: str = ""  # reason why the package cannot be used, or why some solutions were not judged

    @property
    def cells(self) -> tuple[object, ...]:
        agreement = f"{self.compared - self.differences} of {self.compared}"
        usable_text = "yes" if self.usable else "no"
        reason = self.reason.replace("|", "\\|").replace("\n", " ")
        return self.package, self.format, usable_text, self.solutions, agreement, self.unjudged, reason


async def print_table(sources: list[str], *, generates_tests: bool) -> int:
    store, package_rows = Store.usual(), list[PackageRow]()
    print("| package | format | usable | solutions | expectations agreed | not judged | reason |")
    print("|---|---|---|--:|--:|--:|---|")
    with ExitStack() as folders:
        for package in find_packages(sources, store, folders, generates_tests=generates_tests):
            package_rows.append(await validate_package(package, store))
            print(f"| {' | '.join(map(str, package_rows[-1].cells))} |", flush=True)
    totals = PackageRow(
        package=f"{sum(row.usable for row in package_rows)} of {len(package_rows)} packages can be used",
        usable=bool(package_rows) and all(row.usable for row in package_rows),
        solutions=sum(row.solutions for row in package_rows),
        compared=sum(row.compared for row in package_rows),
        differences=sum(row.differences for row in package_rows),
        unjudged=sum(row.unjudged for row in package_rows),
    )
    print(f"| {' | '.join(map(str, totals.cells))} |")
    return 1 if totals.differences else 3 if totals.unjudged or not totals.usable else 0


def find_packages(
    sources: Iterable[str | Path], store: Store, folders: ExitStack, *, generates_tests: bool
) -> Iterator[Package]:
    """Yield all packages, including unusable packages. Generated tests exist until `folders` is closed."""
    for source in sources:
        try:
            for package in check_problems(Path(source), cache=store.root / "packages"):
                yield (
                    generate_tests(package, store, folders)
                    if generates_tests and package.problem is None
                    else package
                )
        except InputError as error:
            yield Package(where=str(source), errors=(error,))


def generate_tests(package: Package, store: Store, folders: ExitStack) -> Package:
    """Return the package with generated tests, or unchanged if its tests cannot be generated."""
    folder = folders.enter_context(tempfile.TemporaryDirectory(prefix="ioi-eval-generate-"))
    command = (sys.executable, "-m", "ioi_eval", "problems", package.where, "--generate", folder)
    if subprocess.run(command, capture_output=True, check=False).returncode != 0:
        return package
    (complete_package,) = check_problems(Path(folder), cache=store.root / "packages")
    return msgspec.structs.replace(complete_package, where=package.where)


async def validate_package(package: Package, store: Store) -> PackageRow:
    if package.problem is None:
        more_errors = f"; and {len(package.errors) - 1} more" if len(package.errors) > 1 else ""
        return PackageRow(package.where, package.format, reason=f"{package.errors[0]}{more_errors}")
    problem_id, solution_count = package.problem.id, len(package.problem.solutions)
    if not solution_count:
        return PackageRow(problem_id, package.format, usable=True, reason="it has no solutions")
    try:
        with tempfile.TemporaryDirectory(prefix="ioi-eval-validate-") as folder:
            validation = (await validate(Problems([package.problem]), out=folder, store=store)).validation
    except InputError as error:  # for example a checker that does not compile
        return PackageRow(
            problem_id, package.format, solutions=solution_count, unjudged=solution_count, reason=str(error)
        )
    reasons = "; ".join(dict.fromkeys(unjudged_solution.reason for unjudged_solution in validation.unjudged))
    solution_counts = (
        solution_count,
        validation.expectations,
        validation.differences,
        len(validation.unjudged),
    )
    return PackageRow(problem_id, package.format, True, *solution_counts, reason=reasons)


if __name__ == "__main__":
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=raw)
    parser.add_argument("solutions", metavar="SOLUTIONS", nargs="+")
    parser.add_argument("--problems", metavar="PACKAGES")
    parser.add_argument("--expected-column", metavar="NAME")
    parser.add_argument("--table", action="store_true")
    parser.add_argument("--generate", action="store_true")
    arguments = parser.parse_args()
    if len(arguments.solutions) > 1 and not arguments.table:
        parser.error("to validate several sources, give --table")
    try:
        sys.exit(asyncio.run(main(arguments)))
    except InputError as error:
        parser.exit(2, f"error: {error}\n")
