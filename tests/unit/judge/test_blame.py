"""A right solution instead of the submission shows whether a failed judging program is to blame."""

from __future__ import annotations

from typing import Any

import pytest
from judge_samples import problem, submission

from ioi_eval import EmbeddedEngine, JudgeOptions, Scorer, Store
from ioi_eval.errors import JudgeFailure
from ioi_eval.models import (
    Blob,
    Checker,
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

# Both checkers fail on a number below 0.
MANAGER = """#include <cstdio>
int main(int, char** argv) {
  int number, reply;
  scanf("%d", &number);
  FILE *in = fopen(argv[1], "r"), *out = fopen(argv[2], "w");
  fprintf(out, "%d\\n", number); fflush(out);
  if (fscanf(in, "%d", &reply) != 1) reply = 0;
  BREAKS
  puts(reply == 2 * number ? "1" : "0");
}
"""
INTERACTOR = """import sys
number = int(open(sys.argv[1]).read())
print(number, flush=True)
reply = int(input())
if reply < 0:
    raise ValueError(reply)
sys.exit(0 if reply == 2 * number else 1)
"""
CRASHES = "if (reply < 0) __builtin_trap();"
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


# Checker of a problem whose answer files contain the best value and no output.
CHECKER = """#include <cstdio>
int main(int, char** argv) {
  int best, brace, reply;
  if (fscanf(fopen(argv[3], "r"), "%d", &best) != 1) return 4;
  FILE* output = fopen(argv[2], "r");
  if ((brace = getc(output)) != '{') return fprintf(stderr, "FAIL Expected char '{', found '%c'", brace), 3;
  return fscanf(output, "%d", &reply) == 1 && reply == best ? 0 : 1;
}
"""
ANSWERS = '#include <cstdio>\nint main() { int x; scanf("%d", &x); printf("{%d}\\n", 2 * x); }\n'
UNREADABLE = ANSWERS.replace("{%d}", "value %d")


def checked(**changes: Any) -> Problem:
    source = (NamedBlob(name="checker.cpp", content=Blob.of(CHECKER)),)
    tests = tuple(Test(name=f"t{n}", input=Blob.of(f"{n}\n"), answer=Blob.of(f"{2 * n}\n")) for n in (1, 2))
    checker = Checker(kind=CheckerKind.TESTLIB, sources=source)
    return problem(tests=tests, subtasks=(), checker=checker, **changes)


def _managed(manager: Manager, kind: TaskType, **changes: Any) -> Problem:
    tests = tuple(Test(name=f"t{n}", input=Blob.of(f"{n}\n"), answer=Blob.of("")) for n in (1, 2))
    limits = Limits(cpu_time=1.0, wall_time=60.0, memory=64 << 20)
    return problem(task_type=kind, manager=manager, tests=tests, subtasks=(), limits=limits, **changes)


def solution(code: str, expected: str = "correct", **changes: Any) -> Solution:
    return Solution(name="own.cpp", language="c++", code=code, expected=expected, **changes)


@pytest.mark.parametrize("make", [communication, interactive])
async def test_submission_that_breaks_the_manager_scores_0(scorer: Scorer, make: Any) -> None:
    honest = make(solutions=(solution(NONSENSE, "incorrect"), solution(RIGHT)))
    result = await scorer.score(honest, submission(NONSENSE))
    assert [(test.score, test.status) for test in result.tests] == [(0.0, Verdict.WA)] * 2
    assert result.tests[0].feedback.endswith("but not with the package's own right solution"), result
    assert (await scorer.score(honest, submission(RIGHT))).points == 1.0


@pytest.mark.nightly(unless="none|wrong|exceptions|compile|nothing")
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
async def test_broken_manager_without_a_right_solution_is_a_judge_failure(
    scorer: Scorer, solutions: tuple[Solution, ...]
) -> None:
    with pytest.raises(JudgeFailure, match="the manager"):
        await scorer.score(communication(solutions=solutions), submission(NONSENSE))


async def test_manager_that_fails_right_solution_is_judge_failure(scorer: Scorer) -> None:
    with pytest.raises(JudgeFailure, match="the manager"):
        await scorer.score(
            communication("__builtin_trap();", solutions=(solution(RIGHT),)), submission(NONSENSE)
        )


async def test_manager_fail_report_is_wa_if_right_solution_passes(scorer: Scorer) -> None:
    reports = 'if (reply < 0) { fprintf(stderr, "FAIL no such thing\\n"); return 3; }'
    result = await scorer.score(communication(reports, solutions=(solution(RIGHT),)), submission(NONSENSE))
    assert [test.status for test in result.tests] == [Verdict.WA] * 2
    assert "FAIL no such thing" in result.tests[0].feedback


async def test_checker_fail_report_is_wa_if_right_solution_passes(scorer: Scorer) -> None:
    own_problem = checked(solutions=(solution(UNREADABLE, "incorrect"), solution(ANSWERS)))
    result = await scorer.score(own_problem, submission(UNREADABLE))
    assert [(test.score, test.status) for test in result.tests] == [(0.0, Verdict.WA)] * 2
    feedback = "the checker reports a failure of its own: FAIL Expected char '{', found 'v'"
    assert result.tests[0].feedback == (
        f"Output isn't correct: {feedback}, but not with the package's own right solution"
    )
    assert (await scorer.score(own_problem, submission(ANSWERS))).points == 1.0
    wrong = await scorer.score(own_problem, submission(ANSWERS.replace("2 * x", "x")))
    assert [test.status for test in wrong.tests] == [Verdict.WA] * 2


@pytest.mark.parametrize("solutions", [(), (solution(UNREADABLE),)], ids=["none", "fails as well"])
async def test_checker_failing_right_solution_is_judge_failure(
    scorer: Scorer, solutions: tuple[Solution, ...]
) -> None:
    with pytest.raises(JudgeFailure, match="FAIL Expected char"):
        await scorer.score(checked(solutions=solutions), submission(UNREADABLE))


@pytest.mark.nightly
async def test_manager_out_of_cpu_time_is_wa_if_right_solution_passes(store: Store) -> None:
    for_ever = communication('while (reply < 0) asm("");', solutions=(solution(RIGHT),))
    limits = ManagerLimits(cpu_time=0.3, more_time=0.1)
    async with Scorer(
        EmbeddedEngine(store=store, slots=1), store=store, options=JudgeOptions(manager=limits)
    ) as scorer:
        result = await scorer.score(for_ever, submission(NONSENSE))
    assert result.tests[0].status is Verdict.WA
    assert "ran out of CPU time" in result.tests[0].feedback
