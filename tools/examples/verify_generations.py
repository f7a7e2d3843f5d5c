#!/usr/bin/env python3
"""Judges the replies of the example dump with plain g++, and writes examples/generations.expected.tsv.

    tools/examples/verify_generations.py [PROBLEM...]

Columns: uuid, status of the row's subtask, points over all subtasks; then both for code with missing parts
added (`#include <bits/stdc++.h>`, `using namespace std;`, the problem's header). Points are `-` if a test ran
for a time close to the limit, which another machine may judge differently.
"""

from __future__ import annotations

import math
import sys
import tempfile
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from make_generations import DUMP, Text, extract_code, make_rows, read_texts
from toolbox import CompileError, Judge, Outcome, Package, build, run_once, status_of
from verify import find_packages

EXPECTED = DUMP.with_suffix(".expected.tsv")
WORST_FIRST = ("CE", "RE", "WA", "OLE", "MLE", "TLE", "PA", "AC")
MARGIN = 2.5  # a test over the limit must still be over it at this multiple


class Judged(NamedTuple):
    status: str
    points: str


HEAD = "uuid\tstatus\tpoints\trepaired_status\trepaired_points"


def main(names: list[str]) -> int:
    plain_results = {line.split("\t")[0]: line for line in EXPECTED.read_text().splitlines()} if names else {}
    lines, bad = [HEAD], 0
    with tempfile.TemporaryDirectory() as scratch:
        folders = {folder.name: Package(folder) for folder in find_packages(Path(scratch, "zips"))}
        tester = Tester(folders, Path(scratch))
        for row, reply_text in zip(make_rows(), read_texts(), strict=True):
            if names and reply_text.problem not in names:
                lines.append(plain_results[row["uuid"]])
                continue
            plain = tester.judge_text(reply_text, extract_code(reply_text))
            broken = plain.status == "CE"  # code that compiles lacks nothing
            repaired = tester.judge_text(reply_text, _repair_code(reply_text, folders)) if broken else plain
            lines.append("\t".join([row["uuid"], *plain, *repaired]))
            bad += print_mismatch(reply_text, plain, repaired)
    EXPECTED.write_text("\n".join(lines) + "\n")
    print(f"{bad} replies contradict their labels" if bad else "all replies agree with their labels")
    return 1 if bad else 0


def print_mismatch(text: Text, plain: Judged, repaired: Judged) -> bool:
    expected = text.words["expect"], text.words.get("repaired", text.words["expect"])
    wrong = (plain.status, repaired.status) != expected
    label = f"{text.model} {text.problem} {text.subtask}"
    actual = f"{plain.status} {plain.points}, repaired {repaired.status} {repaired.points}"
    print(f"{'BAD ' if wrong else 'ok  '}{label:42} {expected[0]:4} found {actual}", flush=True)
    return wrong


def _repair_code(text: Text, folders: dict[str, Package]) -> str | None:
    code = extract_code(text)
    if code is None or text.language != "cpp":
        return code
    lines = [] if "bits/stdc++.h" in code else ["#include <bits/stdc++.h>"]
    if folders[text.problem].with_grader and f'"{text.problem}.h"' not in code:
        lines.append(f'#include "{text.problem}.h"')
    if "std::" not in code and "using namespace std" not in code:
        lines.append("using namespace std;")
    return "\n".join([*lines, code])


class Tester:
    def __init__(self, packages_: dict[str, Package], scratch: Path) -> None:
        self._packages, self._scratch = packages_, scratch
        self._results = cache(self._run_tests)

    def judge_text(self, text: Text, code: str | None) -> Judged:
        results = self._results(text.problem, text.language, code)
        if results is None:
            return Judged("CE", "0")
        subtasks = self._packages[text.problem].subtasks
        status = status_of_subtask(subtasks[text.subtask], results)
        min_points, max_points = sum_points(subtasks, results, 0.0), sum_points(subtasks, results, 1.0)
        return Judged(status, f"{min_points:.4f}".rstrip("0").rstrip(".") if min_points == max_points else "-")

    def _run_tests(self, problem: str, language: str, code: str | None) -> dict[str, tuple[Outcome, float]] | None:
        if code is None:
            return None
        package = self._packages[problem]
        with tempfile.TemporaryDirectory(dir=self._scratch) as work:
            source = Path(work, "solution.py" if language == "python" else "solution.cpp")
            source.write_text(code)
            try:
                argv = build(package, source, Path(work))
            except CompileError:
                return None
            judge = Judge(package, Path(work))
            return {test: self._run_test(package, judge, test, argv, Path(work)) for test in package.tests}

    def _run_test(
        self, package: Package, judge: Judge, test: str, argv: list[str], work: Path
    ) -> tuple[Outcome, float]:
        test_input = (package.folder / "tests" / f"{test}.in").read_text()
        outcome = run_once(package, argv, test_input, work, patience=MARGIN)
        if package.time_limit * 0.4 < outcome.cpu < package.time_limit * MARGIN:
            outcome.detail = "close"
        return outcome, judge.score(test, outcome.output) if outcome.end == "ok" else 0.0


def sum_points(
    subtasks: dict[str, dict[str, Any]], results: dict[str, tuple[Outcome, float]], close: float
) -> float:
    """Return the points if all tests close to the time limit score `close`."""
    scores = {
        test: close if outcome.detail == "close" else score for test, (outcome, score) in results.items()
    }
    return sum(subtask_points(subtask, scores) for subtask in subtasks.values())


def status_of_subtask(subtask: dict[str, Any], results: dict[str, tuple[Outcome, float]]) -> str:
    """Return the worst status of its tests; a test with a threshold is AC if it reaches it."""
    meets_threshold = subtask.get("score_type") == "GroupThreshold" and all(
        0 < results[test][1] <= subtask["threshold"] for test in subtask["testcases"]
    )
    statuses = {status_of_test(*results[test]) for test in subtask["testcases"]}
    return "AC" if meets_threshold else min(statuses, key=WORST_FIRST.index)


def status_of_test(outcome: Outcome, score: float) -> str:
    return status_of(score) if outcome.end == "ok" else outcome.end


def subtask_points(subtask: dict[str, Any], results: dict[str, float]) -> float:
    scores = [results[test] for test in subtask["testcases"]]
    match subtask.get("score_type", "GroupMin"):
        case "Sum":
            share = sum(scores) / len(scores)
        case "GroupMul":
            share = math.prod(scores)
        case "GroupThreshold":
            share = float(all(0 < score <= subtask["threshold"] for score in scores))
        case _:
            share = min(scores)
    return share * float(subtask["score"])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
