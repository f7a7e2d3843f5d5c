#!/usr/bin/env python3
"""Do official solutions get from this judge what their authors say? As `ioi-eval validate`, with the library.

    scripts/validate_official.py PACKAGES
    scripts/validate_official.py SOLUTIONS.jsonl --problems PACKAGES [--expected-column NAME]
    scripts/validate_official.py --table [--generate] PACKAGES...

The last one prints a table in Markdown with a line for each package of some folders, also of those that
cannot be used, and what they come to together. `--generate`: the packages' own programs make tests that lack.

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
        return await table(arguments.solutions, generates=arguments.generate)
    (solutions,) = arguments.solutions
    with tempfile.TemporaryDirectory(prefix="ioi-eval-validate-") as out:
        found = await validate(solutions, arguments.problems, column=arguments.expected_column, out=out)
    return report(found)


def report(found: ValidatedSolutions) -> int:
    for solution in found.validation.solutions:
        parts = " ".join(f"{part.subtask}:{part.status}" for part in solution.subtasks)
        points = f"{solution.points:g} of {solution.max_points:g} points"
        print(f"{solution.key}: got {solution.status}, {points}  {parts}")
    for word, statuses in found.validation.confusion.items():
        print(f"expected {word}: got", ", ".join(f"{status} {n} times" for status, n in statuses.items()))
    for sentence, evidence in found.differences():
        print("DIFFERENCE:", sentence, *evidence, sep="\n    ")
    for missing in found.validation.unjudged:
        print(f"not judged: {missing.key}: {missing.reason}")
    print(found.conclusion)
    return 1 if found.validation.differences else 3 if found.validation.unjudged else 0


class PackageRow(NamedTuple):
    """One package of the table."""

    package: str
    format: str = ""
    usable: bool = False
    solutions: int = 0
    compared: int = 0
    differences: int = 0
    unjudged: int = 0
    why: str = ""  # it cannot be used, or some solutions were not judged

    @property
    def cells(self) -> tuple[object, ...]:
        agreed = f"{self.compared - self.differences} of {self.compared}"
        usable = "yes" if self.usable else "no"
        said = self.why.replace("|", "\\|").replace("\n", " ")
        return self.package, self.format, usable, self.solutions, agreed, self.unjudged, said


async def table(sources: list[str], *, generates: bool) -> int:
    store, lines = Store.usual(), list[PackageRow]()
    print("| package | format | usable | solutions | expectations agreed | not judged | why |")
    print("|---|---|---|--:|--:|--:|---|")
    with ExitStack() as kept:
        for package in packages(sources, store, kept, generates=generates):
            lines.append(await judged(package, store))
            print(f"| {' | '.join(map(str, lines[-1].cells))} |", flush=True)
    together = PackageRow(
        package=f"{sum(line.usable for line in lines)} of {len(lines)} packages can be used",
        usable=bool(lines) and all(line.usable for line in lines),
        solutions=sum(line.solutions for line in lines),
        compared=sum(line.compared for line in lines),
        differences=sum(line.differences for line in lines),
        unjudged=sum(line.unjudged for line in lines),
    )
    print(f"| {' | '.join(map(str, together.cells))} |")
    return 1 if together.differences else 3 if together.unjudged or not together.usable else 0


def packages(
    sources: Iterable[str | Path], store: Store, kept: ExitStack, *, generates: bool
) -> Iterator[Package]:
    """Packages, also those that cannot be used. What the programs of some make is there until `kept` ends."""
    for source in sources:
        try:
            for package in check_problems(Path(source), cache=store.root / "packages"):
                yield generated(package, store, kept) if generates and package.problem is None else package
        except InputError as error:
            yield Package(where=str(source), errors=(error,))


def generated(package: Package, store: Store, kept: ExitStack) -> Package:
    """Return the package with the tests that its programs make; as it is, if it lacks more than these."""
    folder = kept.enter_context(tempfile.TemporaryDirectory(prefix="ioi-eval-generate-"))
    command = (sys.executable, "-m", "ioi_eval", "problems", package.where, "--generate", folder)
    if subprocess.run(command, capture_output=True, check=False).returncode != 0:
        return package
    (whole,) = check_problems(Path(folder), cache=store.root / "packages")
    return msgspec.structs.replace(whole, where=package.where)


async def judged(package: Package, store: Store) -> PackageRow:
    if package.problem is None:
        more = f"; and {len(package.errors) - 1} more" if len(package.errors) > 1 else ""
        return PackageRow(package.where, package.format, why=f"{package.errors[0]}{more}")
    name, solutions = package.problem.id, len(package.problem.solutions)
    if not solutions:
        return PackageRow(name, package.format, usable=True, why="it brings no solutions")
    try:
        with tempfile.TemporaryDirectory(prefix="ioi-eval-validate-") as out:
            found = (await validate(Problems([package.problem]), out=out, store=store)).validation
    except InputError as error:  # a checker that does not compile
        return PackageRow(name, package.format, solutions=solutions, unjudged=solutions, why=str(error))
    reasons = "; ".join(dict.fromkeys(one.reason for one in found.unjudged))
    counts = (solutions, found.expectations, found.differences, len(found.unjudged))
    return PackageRow(name, package.format, True, *counts, why=reasons)


if __name__ == "__main__":
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=raw)
    parser.add_argument("solutions", metavar="SOLUTIONS", nargs="+")
    parser.add_argument("--problems", metavar="PACKAGES")
    parser.add_argument("--expected-column", metavar="NAME")
    parser.add_argument("--table", action="store_true")
    parser.add_argument("--generate", action="store_true")
    given = parser.parse_args()
    if len(given.solutions) > 1 and not given.table:
        parser.error("several sources are for --table")
    try:
        sys.exit(asyncio.run(main(given)))
    except InputError as error:
        parser.exit(2, f"error: {error}\n")
