#!/usr/bin/env python3
"""Runs every solution of the examples' batch tasks with plain g++, and compares it with its folder's name.

    tools/examples/verify.py [PROBLEM...]

A solution must have its folder's verdict on some test, and this verdict or AC on all tests. Solutions that
are not intended to be slow must stay below a fifth of the time limit.
"""

from __future__ import annotations

import json
import sys
import tempfile
import zipfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from toolbox import PROBLEMS, CompileError, Judge, Outcome, Package, build, run_once, status_of

EXPECTED = {
    "model_solution": "AC",
    "correct": "AC",
    "partially_correct": "PA",
    "incorrect": "WA",
    "time_limit": "TLE",
    "memory_limit": "MLE",
    "runtime_error": "RE",
    "output_limit": "OLE",
    "compile_error": "CE",
}


def main(names: list[str]) -> int:
    bad_count = 0
    with tempfile.TemporaryDirectory() as scratch:
        for folder in find_packages(Path(scratch, "zips")):
            if not names or folder.name in names:
                bad_count += verify(Package(folder), Path(scratch))
    print(
        f"{bad_count} solutions do not behave as they are named"
        if bad_count
        else "all solutions behave as they are named"
    )
    return 1 if bad_count else 0


def find_packages(scratch: Path) -> Iterator[Path]:
    for path in sorted(PROBLEMS.iterdir()):
        if path.suffix == ".zip":
            zipfile.ZipFile(path).extractall(scratch)
            yield scratch / path.stem
        elif path.is_dir() and is_batch(path):
            yield path


def is_batch(folder: Path) -> bool:
    """Return whether it is a plain batch task. Others need more than a program and its input."""
    header = folder / "problem.json"
    return header.exists() and json.loads(header.read_text()).get("task_type") == "Batch"


def verify(package: Package, scratch: Path) -> int:
    bad_count = 0
    for source in sorted((package.folder / "solutions").glob("*/*")):
        with tempfile.TemporaryDirectory(dir=scratch) as work:
            results = judge_solution(package, source, Path(work))
        mismatch = describe_mismatch(package, EXPECTED[source.parent.name], results)
        bad_count += bool(mismatch)
        counts = " ".join(f"{status}:{n}" for status, n in Counter(status for status, _ in results).items())
        max_cpu = max((outcome.cpu for _, outcome in results), default=0.0)
        name = f"{package.folder.name}/{source.parent.name}/{source.name}"
        print(f"{'BAD ' if mismatch else 'ok  '}{name:58} {counts:16} {max_cpu:6.3f} s  {mismatch}", flush=True)
    return bad_count


def judge_solution(package: Package, source: Path, work: Path) -> list[tuple[str, Outcome]]:
    """Return a status and a measurement per test."""
    try:
        argv = build(package, source, work)
    except CompileError:
        return [("CE", Outcome("ok"))]
    judge = Judge(package, work)
    return [judge_test(package, judge, test, argv, work) for test in package.tests]


def judge_test(
    package: Package, judge: Judge, test: str, argv: list[str], work: Path
) -> tuple[str, Outcome]:
    test_input = (package.folder / "tests" / f"{test}.in").read_text()
    outcome = run_once(package, argv, test_input, work)
    if outcome.end != "ok":
        return outcome.end, outcome
    return status_of(judge.score(test, outcome.output)), outcome


def describe_mismatch(package: Package, expected: str, results: list[tuple[str, Outcome]]) -> str:
    statuses = {status for status, _ in results}
    if expected not in statuses or not statuses <= {"AC", expected}:
        return f"expected {expected}"
    slow = max(outcome.cpu for status, outcome in results if status != "TLE") if statuses != {"TLE"} else 0
    if expected in ("AC", "OLE", "MLE") and slow > package.time_limit / 5:
        return f"too close to the time limit: {slow:.2f} s"
    return ""


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
