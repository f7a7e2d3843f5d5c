"""A manager or an interactor that breaks on nonsense: a right solution in the submission's place decides."""

from __future__ import annotations

from typing import Any

import pytest
from judge_samples import problem, submission

from ioi_eval import EmbeddedEngine, JudgeOptions, Scorer, Store
from ioi_eval.errors import JudgeFailure
from ioi_eval.models import (
    Blob,
    CheckerKind,
    Limits,
    Manager,
    ManagerLimits,
    NamedBlob,
    Problem,
    Solution,
    TaskOptions,
    TaskType,
    Test,
    Verdict,
)

pytestmark = pytest.mark.alike

# Both were never tried on a number below 0.
MANAGER = """#include <cstdio>
int main(int, char** argv) {
  int given, said;
  scanf("%d", &given);
  FILE *in = fopen(argv[1], "r"), *out = fopen(argv[2], "w");
  fprintf(out, "%d\\n", given); fflush(out);
  if (fscanf(in, "%d", &said) != 1) said = 0;
  BREAKS
  puts(said == 2 * given ? "1" : "0");
}
"""
INTERACTOR = """import sys
given = int(open(sys.argv[1]).read())
print(given, flush=True)
said = int(input())
if said < 0:
    raise ValueError(said)
sys.exit(0 if said == 2 * given else 1)
"""
CRASHES = "if (said < 0) __builtin_trap();"
RIGHT = '#include <cstdio>\nint main() { int x; scanf("%d", &x); printf("%d\\n", 2 * x); }\n'
NONSENSE = RIGHT.replace("2 * x", "-1")


def communication(breaks: str = CRASHES, **changes: Any) -> Problem:
    source = (NamedBlob(name="manager.cpp", content=Blob.of(MANAGER.replace("BREAKS", breaks))),)
    options = TaskOptions(processes=1, user_io="std_io")
    return _managed(Manager(sources=source), TaskType.COMMUNICATION, options=options, **changes)


def interactive(**changes: Any) -> Problem:
    source = (NamedBlob(name="interactor.py", content=Blob.of(INTERACTOR)),)
    manager = Manager(sources=source, language="python", kind=CheckerKind.TESTLIB)
    return _managed(manager, TaskType.INTERACTIVE, **changes)


def _managed(manager: Manager, kind: TaskType, **changes: Any) -> Problem:
    tests = tuple(Test(name=f"t{n}", input=Blob.of(f"{n}\n"), answer=Blob.of("")) for n in (1, 2))
    limits = Limits(cpu_time=1.0, wall_time=60.0, memory=64 << 20)
    return problem(task_type=kind, manager=manager, tests=tests, subtasks=(), limits=limits, **changes)


def solution(code: str, expected: str = "correct", **changes: Any) -> Solution:
    return Solution(name="own.cpp", language="c++", code=code, expected=expected, **changes)


@pytest.mark.parametrize("make", [communication, interactive])
async def test_who_breaks_it_earns_nothing(scorer: Scorer, make: Any) -> None:
    honest = make(solutions=(solution(NONSENSE, "incorrect"), solution(RIGHT)))
    result = await scorer.score(honest, submission(NONSENSE))
    assert [(test.score, test.status) for test in result.tests] == [(0.0, Verdict.WA)] * 2
    assert result.tests[0].feedback.endswith("but not with the package's own right solution"), result
    assert (await scorer.score(honest, submission(RIGHT))).points == 1.0


@pytest.mark.parametrize(
    "solutions",
    [
        (),
        (solution(RIGHT, "incorrect"),),
        (solution(RIGHT, ""),),
        (solution(RIGHT, exceptions={"large": "time_limit"}),),
        (solution("no program"),),
        (solution(NONSENSE),),
        (solution(RIGHT.replace("2 * x", "x")),),
    ],
    ids=[
        "none",
        "a wrong one",
        "of no word",
        "with exceptions",
        "does not compile",
        "breaks it",
        "earns nothing",
    ],
)
async def test_without_an_honest_program_nobody_can_say(
    scorer: Scorer, solutions: tuple[Solution, ...]
) -> None:
    with pytest.raises(JudgeFailure, match="the manager"):
        await scorer.score(communication(solutions=solutions), submission(NONSENSE))


@pytest.mark.parametrize(
    "breaks",
    [
        'if (said < 0) { fprintf(stderr, "FAIL no such thing\\n"); return 3; }',
        "__builtin_trap();",
    ],
    ids=["calls it its own failure", "breaks on everything"],
)
async def test_a_failure_of_its_own_stays_ours(scorer: Scorer, breaks: str) -> None:
    with pytest.raises(JudgeFailure, match="the manager"):
        await scorer.score(communication(breaks, solutions=(solution(RIGHT),)), submission(NONSENSE))


@pytest.mark.long
async def test_a_manager_that_computes_for_ever_is_tried_too(store: Store) -> None:
    for_ever = communication('while (said < 0) asm("");', solutions=(solution(RIGHT),))
    limits = ManagerLimits(cpu_time=0.3, more_time=0.1)
    async with Scorer(
        EmbeddedEngine(store=store, slots=1), store=store, options=JudgeOptions(manager=limits)
    ) as scorer:
        result = await scorer.score(for_ever, submission(NONSENSE))
    assert result.tests[0].status is Verdict.WA
    assert "ran out of CPU time" in result.tests[0].feedback
