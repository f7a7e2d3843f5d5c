"""A run that a test kills:

python interrupted_run.py FOLDER NUMBER. It prints `begun` and opens the result log.
"""

from __future__ import annotations

import asyncio
import os
import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from run_samples import RAN, SUM, TESTS, result, submission
from support.runs import Fingerprint, ResultLog, judge_all

from ioi_eval.errors import JudgeFailure
from ioi_eval.models import Problem, Submission, SubmissionResult

FINGERPRINT = Fingerprint(
    dump="d1", problems={"sum": "p1"}, options={"all_tests": False}, versions={"c++": "12"}
)


def start(folder: Path, number: int) -> subprocess.Popen[str]:
    """Start this script as a process."""
    root = Path(__file__).parents[3]
    paths = [
        str(root),
        str(root / "tests"),
        str(root / "tests/unit"),
        *filter(None, [os.environ.get("PYTHONPATH")]),
    ]
    return subprocess.Popen(
        [sys.executable, __file__, str(folder), str(number)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
    )


def submissions(number: int) -> Iterator[Submission]:
    """Return submissions. A third of them equal an earlier submission."""
    for n in range(number):
        code, columns = f"// {n - 7 if n % 3 == 0 else n}", {"model": "m", "text": "é" * (n % 50)}
        yield submission(f"row-{n:05}", code=code, row=columns)


class FakeJudge:
    """A judge with the same result for the same code. Every twentieth time it fails."""

    async def judge(self, problem: Problem, submission: Submission) -> SubmissionResult:
        await asyncio.sleep(random.random() * 0.004)
        if random.random() < 0.05:
            raise JudgeFailure("no answer", phase="engine", remedy="Try again")
        dice = random.Random(submission.code)
        return result(submission, {test: dice.choice(RAN) for test in TESTS}, feedback="x" * 300)


def main(folder: Path, number: int) -> None:
    with ResultLog.open(folder, FINGERPRINT) as journal:
        problems = {SUM.id: SUM}
        asyncio.run(judge_all(FakeJudge(), problems, submissions(number), journal, workers=4))


if __name__ == "__main__":
    sys.stdout.write("begun\n")
    sys.stdout.flush()
    main(Path(sys.argv[1]), int(sys.argv[2]))
