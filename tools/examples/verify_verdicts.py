#!/usr/bin/env python3
"""Checks a validation of the examples more strictly than `ioi-eval validate`.

    ioi-eval validate examples/problems --out runs/examples
    tools/examples/verify_verdicts.py runs/examples

For `validate`, a solution that must fail may fail in any way, because machines differ. The examples must fail
as labelled: the worst verdict is the label of the folder, the tag or the expectation. A test that is not TLE
stays below two thirds of the time limit.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ioi_eval import Results

EXPECTED = {
    "AC": ("model_solution", "correct", "accepted", "ac"),
    "PA": ("partially_correct", "partially_accepted"),
    "WA": ("incorrect", "wrong_answer", "wa", "wrong-answer, timelimit"),
    "TLE": ("time_limit", "time_limit_exceeded", "tle"),
    "MLE": ("memory_limit", "memory_limit_exceeded"),
    "OLE": ("output_limit", "output_limit_exceeded", "failed"),
    "RE": ("runtime_error", "run_time_error", "rte"),
    "CE": ("compile_error", "compiler_error"),
}
STATUS = {word: status for status, words in EXPECTED.items() for word in words}
LIMIT = 1.0  # in seconds, of all examples except one with a higher limit


def main(run: Path) -> int:
    validation = json.loads((run / "validation.json").read_text())
    complaints = [*unmet(validation), *slow(run)]
    for complaint in complaints:
        print(complaint)
    print(f"{len(validation['solutions'])} solutions, {len(complaints)} complaints")
    return 1 if complaints or validation["unjudged"] or validation["differences"] else 0


def unmet(validation: dict[str, Any]) -> Iterator[str]:
    for solution in validation["solutions"]:
        for check in solution["checks"]:
            if check["expected"] == "AC" and check["agrees"]:
                continue  # a group may be accepted despite a failed test
            if STATUS[check["expected"].lower()] != check["status"]:
                location = f"{solution['key']} {check['subtask']}".strip()
                yield f"{location}: expected {check['expected']}, got {check['status']}"


def slow(run: Path) -> Iterator[str]:
    for result in Results.open(run):
        tests = {test.test_name: test for test in result.tests}
        times = {name: test.cpu_time or 0.0 for name, test in tests.items() if test.status != "TLE"}
        if max(times.values(), default=0.0) > 2 / 3 * LIMIT:
            name, seconds = max(times.items(), key=lambda item: item[1])
            yield f"{result.key}, test {name}: {tests[name].status} after {seconds:.2f} s"


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
