#!/usr/bin/env python3
"""Score a dump of generations and write a report, like `ioi-eval score`, with the library.

    scripts/score_generations.py DUMP... --problems PACKAGES [--out DIR] [--limit N]
    scripts/score_generations.py DUMP... --problems ioi|codeforces|apps|livecodebench|code_contests
    scripts/score_generations.py DUMP... --problems PACKAGES --engine http://a:2000,http://b:2000

Jobs run on the servers of --engine or PISTON_ENDPOINTS, or else on this machine.

Called again, it judges only submissions without a result. Exit code 0: all submissions are scored; 2: bad
input; 3: some submissions could not be judged, and are excluded from all numbers.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
from pathlib import Path

from ioi_eval import InputError, Results, score_dump
from ioi_eval.errors import EngineUnavailable
from ioi_eval.runs import BenchmarkOptions, EngineChoice, Event, Selection, SubmissionFailed, SubmissionJudged
from ioi_eval.sources import read_packages


async def main(arguments: argparse.Namespace) -> int:
    engine = EngineChoice.from_variables(arguments.engine, os.environ, per_endpoint=arguments.per_endpoint)
    print(f"The engine that judges: {engine.text}")

    # Load problems, judge the dump, and report. Each result is written at once, so a run that was killed can
    # be continued.
    dump_score = await score_dump(
        arguments.dumps,
        arguments.problems,
        out=arguments.out,
        choice=BenchmarkOptions(data_dir=arguments.data_dir, packages=arguments.packages),
        selection=Selection(limit=arguments.limit),
        engine=engine,
        on_event=print_event,
    )

    # Aggregate results as data frames. A mean ignores submissions that could not be judged, so count these as
    # well.
    results = Results.open(arguments.out)
    results_frame, subtasks_frame = results.to_frame(), results.subtasks_frame()
    print(
        results_frame.groupby(["model", "problem_id"])["points"]
        .agg(["size", "count", "mean", "max"])
        .round(2)
    )
    if len(subtasks_frame):
        best_scores = subtasks_frame.groupby(["model", "problem_id", "subtask"])["weighted_score"].max()
        print(
            "\nSum of the best scores of each subtask:\n",
            best_scores.groupby("model").sum().round(2).to_string(),
            sep="",
        )

    summary = dump_score.summary
    for model in summary.models:
        pass_rates = ", ".join(
            f"pass@{rate.k} {rate.value:.1%}" for rate in model.pass_at if rate.value is not None
        )
        print(
            f"\n{model.model or '(no name)'}: {model.points:g} of {model.max_points:g} points; {pass_rates}"
        )
    print(f"{summary.scored} scored, {summary.unscored} unscored. Report: {arguments.out / 'report.html'}")
    return 3 if summary.unscored else 0


def print_event(event: Event) -> None:
    if isinstance(event, SubmissionJudged):
        print(f"{event.key}: {event.problem_id} {event.status}, {event.points:g} points")
    elif isinstance(event, SubmissionFailed):
        print(f"{event.key}: {event.problem_id} not judged: {event.reason}")


if __name__ == "__main__":
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=raw)
    parser.add_argument("dumps", nargs="+", metavar="DUMP")
    parser.add_argument("--problems", required=True, metavar="SOURCE")
    parser.add_argument(
        "--packages",
        type=read_packages,
        metavar="NAMES",
        help="Python packages that programs may import, or none",
    )
    parser.add_argument(
        "--data-dir", default="", metavar="DIR", help="folder with local copies of a benchmark's datasets"
    )
    parser.add_argument("--out", type=Path, default=Path("runs/generations"), metavar="DIR")
    parser.add_argument(
        "--engine",
        metavar="ENGINE",
        help="URLs of servers, or embedded; default: the environment variable PISTON_ENDPOINTS",
    )
    parser.add_argument(
        "--per-endpoint", type=int, metavar="N", help="maximum number of jobs at the same time on each server"
    )
    parser.add_argument("--limit", type=int, metavar="N", help="judge only the first N submissions")
    try:
        sys.exit(asyncio.run(main(parser.parse_args())))
    except (InputError, EngineUnavailable) as error:
        parser.exit(2, f"error: {error}\n")
