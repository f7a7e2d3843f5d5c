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
from collections.abc import Iterable

from ioi_eval import (
    EmbeddedEngine,
    EngineError,
    JudgeFailure,
    JudgeOptions,
    Problem,
    Scorer,
    Store,
    Submission,
    SubmissionResult,
    load_problems,
    private_folder,
)
from ioi_eval.benchmarks import open_dump, read_official
from ioi_eval.problems import Problems
from ioi_eval.reports.records import Validation
from ioi_eval.reports.validation import conclusion, differences, validation
from ioi_eval.rules.expectations import Case, of_packages
from ioi_eval.runs.time_limits import TimeLimits


async def main(arguments: argparse.Namespace) -> int:
    store = Store(private_folder(), limit=4 << 30)
    problems = load_problems(arguments.problems or arguments.solutions, cache=store.root / "packages")
    submissions, cases = solutions(arguments, problems)

    engine = EmbeddedEngine(store=store)
    # All tests: one that was left out could be taken for one that went wrong.
    async with Scorer(engine, store=store, options=JudgeOptions(all_tests=True)) as scorer:
        results, failures = await judged(scorer, problems, submissions)
    return report(validation(cases, problems, results, failures))


def solutions(
    arguments: argparse.Namespace, problems: Problems
) -> tuple[Iterable[Submission], Iterable[Case]]:
    """What to judge and what is expected of it: from the packages themselves, or from a file."""
    if arguments.problems is None:
        return of_packages(problems)
    dump = open_dump([arguments.solutions], problems=problems)
    return dump, read_official(dump, problems, column=arguments.expected_column).cases


async def judged(
    scorer: Scorer, problems: Problems, submissions: Iterable[Submission]
) -> tuple[dict[str, SubmissionResult], dict[str, str]]:
    """Results by key, and the reasons where there are none. The engine bounds how many run at a time."""
    results: dict[str, SubmissionResult] = {}
    failures: dict[str, str] = {}
    limits = TimeLimits(scorer.judge)

    async def one(problem: Problem, submission: Submission) -> None:
        try:
            results[submission.key] = await scorer.score(await limits.limited(problem), submission)
        except (JudgeFailure, EngineError) as failure:
            failures[submission.key] = str(failure)

    async with asyncio.TaskGroup() as group:
        for submission in submissions:
            group.create_task(one(problems[submission.problem_id], submission))
    return results, failures


def report(found: Validation) -> int:
    for solution in found.solutions:
        parts = " ".join(f"{part.subtask}:{part.status}" for part in solution.subtasks)
        points = f"{solution.points:g} of {solution.max_points:g} points"
        print(f"{solution.key}: got {solution.status}, {points}  {parts}")
    for word, statuses in found.confusion.items():
        print(f"expected {word}: got", ", ".join(f"{status} {n} times" for status, n in statuses.items()))
    for sentence, evidence in differences(found):
        print("DIFFERENCE:", sentence, *evidence, sep="\n    ")
    for missing in found.unjudged:
        print(f"not judged: {missing.key}: {missing.reason}")
    print(conclusion(found))
    return 1 if found.differences else 3 if found.unjudged else 0


if __name__ == "__main__":
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=raw)
    parser.add_argument("solutions", metavar="SOLUTIONS")
    parser.add_argument("--problems", metavar="PACKAGES")
    parser.add_argument("--expected-column", metavar="NAME")
    sys.exit(asyncio.run(main(parser.parse_args())))
