#!/usr/bin/env python3
"""Do official solutions get from this judge what their authors say? As `ioi-eval validate`, with the library.

    scripts/validate_official.py PACKAGES
    scripts/validate_official.py SOLUTIONS.jsonl --problems PACKAGES [--expected-column NAME]

Exit code 0: no difference; 1: a difference; 3: some solutions could not be judged.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile

from ioi_eval import InputError, validate
from ioi_eval.runs import ValidatedSolutions


async def main(arguments: argparse.Namespace) -> int:
    with tempfile.TemporaryDirectory(prefix="ioi-eval-validate-") as out:
        found = await validate(
            arguments.solutions, arguments.problems, column=arguments.expected_column, out=out
        )
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


if __name__ == "__main__":
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=raw)
    parser.add_argument("solutions", metavar="SOLUTIONS")
    parser.add_argument("--problems", metavar="PACKAGES")
    parser.add_argument("--expected-column", metavar="NAME")
    try:
        sys.exit(asyncio.run(main(parser.parse_args())))
    except InputError as error:
        parser.exit(2, f"error: {error}\n")
