"""Judges the example set again and again, several times at once, and compares every verdict of every test."""

from __future__ import annotations

import argparse
import collections
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from ioi_eval import Results

EXAMPLES = Path(__file__).parents[2] / "examples" / "problems"
Verdicts = dict[tuple[str, str], str]


def judge(out: Path) -> Verdicts:
    """All verdicts of one run, by solution and test."""
    command = [sys.executable, "-m", "ioi_eval", "validate", str(EXAMPLES), "--out", str(out), "--quiet"]
    subprocess.run(command, check=True)
    return {(one.key, test.test_name): test.status for one in Results.open(out) for test in one.tests}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=10)
    parser.add_argument("--at-once", type=int, default=5)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="ioi-eval-repeat-") as folder:
        places = [Path(folder) / str(number) for number in range(given.times)]
        with ThreadPoolExecutor(given.at_once) as pool:
            runs = list(pool.map(judge, places))
    seen: dict[tuple[str, str], collections.Counter[str]] = collections.defaultdict(collections.Counter)
    for run in runs:
        for test, status in run.items():
            seen[test][status] += 1
    differing = {test: counts for test, counts in seen.items() if len(counts) > 1}
    for (solution, test), counts in sorted(differing.items()):
        print(f"{solution}, test {test}: {dict(counts)}")
    print(f"{given.times} runs: {len(seen)} verdicts each, {len(differing)} differ")
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main())
