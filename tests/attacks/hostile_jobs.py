"""Runs hostile jobs in turn on an engine, then a normal submission, which must be judged as before."""

from __future__ import annotations

import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import cycle, islice

from attack import Attack
from attack_environment import AttackEnvironment
from attack_rounds import programs
from catalogue import PROGRAMS

from ioi_eval import Scorer
from ioi_eval.models import Blob, Limits, Problem, Submission, Test

# Slow attacks, which would only test patience.
_SLOW = {"ignoring-every-signal", "all-files-by-python", "folders-around"}
QUICK = [attack for attack in PROGRAMS if "TLE" not in attack.verdicts and attack.name not in _SLOW]

_NORMAL = """#include <cstdio>
#include <vector>
int main() {
  long n, sum = 0;
  if (scanf("%ld", &n) != 1) return 1;
  std::vector<long> all(200000);
  for (int turn = 0; turn < 20; turn++) for (long& x : all) x += n, sum += x;
  printf("%ld\\n", n + n);
}
"""


@dataclass(frozen=True)
class Normal:
    """The result of a normal submission, and the median time of judging it, in seconds."""

    points: float
    wall: float
    cpu: float  # of the submission itself


async def normal(scorer: Scorer, times: int) -> Normal:
    tests = tuple(Test(name=str(n), input=Blob.of(f"{n}\n"), answer=Blob.of(f"{2 * n}\n")) for n in range(20))
    problem = Problem(id="normal", tests=tests, limits=Limits.contest(5.0, 256 << 20))
    submission = Submission(key="1", problem_id="normal", code=_NORMAL, language="c++")
    walls, cpus, points = [], [], 0.0
    for _ in range(times):
        start = time.monotonic()
        result = await scorer.score(problem, submission)
        walls.append(time.monotonic() - start)
        cpus.append(sum(test.cpu_time or 0 for test in result.tests))
        points = sum(test.score for test in result.tests) / len(tests)
    return Normal(points, statistics.median(walls), statistics.median(cpus))


async def hostile(
    scorer: Scorer, ground: AttackEnvironment, jobs: int, attacks: Sequence[Attack] = QUICK
) -> list[str]:
    """Run a number of jobs with an attack each. Return the unexpected results."""
    wrong = []
    for attack in islice(cycle(attacks), jobs):
        outcomes = await programs(scorer, ground, [attack])
        wrong += [f"{name}: {result.fault}" for name, result in outcomes.items() if result.fault]
    return wrong
