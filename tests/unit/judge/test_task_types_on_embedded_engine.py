"""Every task type and every kind of checker on the embedded engine."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from judge_samples import problem, submission
from support.builds import named

from ioi_eval import EmbeddedEngine, JudgeOptions, Scorer, Store
from ioi_eval.errors import JudgeFailure, ManagerBroken
from ioi_eval.models import (
    Blob,
    Checker,
    CheckerKind,
    Limits,
    Manager,
    NamedBlob,
    Problem,
    SubmissionResult,
    TaskOptions,
    TaskType,
    Test,
    TestResult,
)
from ioi_eval.models import Verdict as V

LIMITS = Limits.contest(0.3, 64 << 20)
PATIENT = msgspec.structs.replace(LIMITS, wall_time=60.0)  # long enough for a busy machine


def cases(*pairs: tuple[str, str]) -> tuple[Test, ...]:
    return tuple(
        Test(name=f"t{index}", input=Blob.of(test_input), answer=Blob.of(answer))
        for index, (test_input, answer) in enumerate(pairs)
    )


def task(kind: TaskType, *pairs: tuple[str, str], **changes: Any) -> Problem:
    values = {"task_type": kind, "limits": LIMITS, "tests": cases(*pairs), "subtasks": ()}
    return problem(**(values | changes))


def program(kind: CheckerKind, *sources: NamedBlob, language: str = "c++", **changes: Any) -> Checker:
    return Checker(kind=kind, sources=sources, language=language, **changes)


async def result_of(scorer: Scorer, problem: Problem, code: str | None, **changes: Any) -> SubmissionResult:
    return await scorer.score(problem, submission(code, **changes))


async def first(scorer: Scorer, problem: Problem, code: str, **changes: Any) -> TestResult:
    return (await result_of(scorer, problem, code, **changes)).tests[0]


# --- Communication -----------------------------------------------------------------------------------

ADDING = """#include <csignal>
#include <cstdio>
int main(int argc, char** argv) {
  signal(SIGPIPE, SIG_IGN);
  int number, sum = 0, n = 2;
  scanf("%d", &number);
  for (int i = 0; i < n; i++) {
    FILE *in = fopen(argv[1 + 2 * i], "r"), *out = fopen(argv[2 + 2 * i], "w");
    int answer = 0;
    fprintf(out, "%d\\n", number); fflush(out);
    if (fscanf(in, "%d", &answer) != 1) { puts("0"); return 0; }
    sum += answer == 2 * number;
  }
  printf("%g\\n", sum / 2.0);
  fprintf(stderr, "%s\\n", argc == 6 ? argv[5] : "translate:partial");
}
"""
STUB = """#include "sum.h"
#include <cstdio>
#include <cstdlib>
int main(int argc, char** argv) {
  FILE *in = fopen(argv[1], "r"), *out = fopen(argv[2], "w");
  int x;
  if (fscanf(in, "%d", &x) == 1) fprintf(out, "%d\\n", twice(x, atoi(argv[3])));
}
"""
HALVING = """#include <cstdio>
int main(int argc, char** argv) {
  double printed;
  if (fscanf(fopen(argv[3], "r"), "%lf", &printed) == 1) printf("%g\\n", printed / 2);
}
"""


def communication(manager: str = ADDING, *arguments: str, **changes: Any) -> Problem:
    header = named("graders/sum.h", "int twice(int x, int process);\n")
    files = (named("graders/manager.cpp", manager), named("graders/stub.cpp", STUB), header)
    options = TaskOptions(with_grader=True, processes=2, user_io="fifo_io", manager_args=arguments)
    values = {"options": options, "grader_files": files, "manager": Manager(sources=files)}
    return task(TaskType.COMMUNICATION, ("21\n", ""), **(values | changes))


@pytest.mark.nightly(unless="^(?!return (2 [*] )?x;)")
@pytest.mark.parametrize(
    ("body", "score", "status"),
    [
        ("return 2 * x;", 1.0, V.AC),
        ("return (2 + process) * x;", 0.5, V.PA),
        ("return x;", 0.0, V.WA),
        ("__builtin_trap();", 0.0, V.RE),
        pytest.param("while (clock() < 0.1 * CLOCKS_PER_SEC); return 2 * x;", 0.0, V.TLE),
        ("sleep(60); return 2 * x;", 0.0, V.TLE),
        ("static char c[80 << 20]; memset(c, 1, sizeof c); return c[x];", 0.0, V.MLE),
    ],
)
async def test_communication_submission_gets_expected_verdict(
    scorer: Scorer, body: str, score: float, status: V
) -> None:
    includes = '#include "sum.h"\n#include <cstring>\n#include <ctime>\n#include <unistd.h>\n'
    limits = LIMITS if "sleep" in body else PATIENT
    if "0.1" in body:  # each process is below the limit, and their sum above
        limits = msgspec.structs.replace(PATIENT, cpu_time=0.15)
    result = await first(
        scorer,
        communication(limits=limits),
        includes + f"int twice(int x, int process) {{ {body} return 0; }}\n",
    )
    assert (result.score, result.status) == (score, status), result
    if "0.1" in body:
        assert result.feedback.startswith("Time limit exceeded (CPU time of 2 processes 0."), result


RIGHT = "int twice(int x, int process) { return 2 * x; }\n"


async def test_communication_manager_gets_arguments_and_checker_scores(scorer: Scorer) -> None:
    assert (await first(scorer, communication(ADDING, "loud"), RIGHT)).feedback == "loud"
    checker = program(CheckerKind.CMS, named("checker/checker.cpp", HALVING))
    assert (await first(scorer, communication(checker=checker), RIGHT)).score == 0.5


async def test_broken_manager_is_judge_failure(scorer: Scorer) -> None:
    with pytest.raises(JudgeFailure, match="the manager exited with code 3"):
        await first(scorer, communication("int main() { return 3; }\n"), RIGHT)
    with pytest.raises(ManagerBroken, match=r"graders/manager\.cpp does not compile"):
        await scorer.prepare(communication("int main() { return x; }\n"))


ASKING = """import sys
import reporting
with open(sys.argv[1]) as answers, open(sys.argv[2], "w") as questions:
    print(input(), file=questions, flush=True)
    answers.read(1)  # until there is an answer, or no process that could write it
    for number in range(1 << 16):
        print(number, file=questions)
reporting.good()
"""
ASKED = (
    named("graders/manager.py", ASKING),
    named("graders/reporting.py", "def good(): print(1)\n"),
)


async def test_python_manager_runs_communication(scorer: Scorer) -> None:
    manager = Manager(sources=ASKED, language="python")
    options = TaskOptions(processes=1, user_io="std_io")
    asking = task(TaskType.COMMUNICATION, ("21\n", ""), options=options, manager=manager)
    patient = "import sys\nprint(input(), flush=True)\nfor line in sys.stdin: pass"
    assert (await first(scorer, asking, patient, language="python")).status is V.AC
    early_exit = await first(scorer, asking, "pass", language="python")
    assert (early_exit.status, early_exit.feedback) == (V.WA, "The submission ended too early")
    broken = msgspec.structs.replace(manager, sources=(named("graders/manager.py", "1 / 0"),))
    with pytest.raises(JudgeFailure, match="the manager exited with code 1: ZeroDivisionError: "):
        silent = "import sys\nsys.stdin.read()"
        await first(scorer, msgspec.structs.replace(asking, manager=broken), silent, language="python")


# --- Interactive -------------------------------------------------------------------------------------

GUESSING = """import sys
import reporting
secret = int(open(sys.argv[1]).read())
for line in sys.stdin:
    guess = int(line)
    print("more" if guess < secret else "less" if guess > secret else "right", flush=True)
    if guess == secret:
        reporting.end(42)
reporting.end(43)
"""
REPORTING = """import sys
def end(code):
    open(sys.argv[3] + "/judgemessage.txt", "w").write("so be it")
    sys.exit(code)
"""
SEARCH = """low, high = 1, 100
while True:
    middle = (low + high) // 2
    print(middle, flush=True)
    reply = input()
    if reply == "right": break
    low, high = (middle + 1, high) if reply == "more" else (low, middle - 1)
"""


async def test_python_interactor_runs_interactive_problem(scorer: Scorer) -> None:
    sources = (named("v/interact.py", GUESSING), named("v/reporting.py", REPORTING))
    manager = Manager(sources=sources, kind=CheckerKind.ICPC, language="python")
    guessing = task(TaskType.INTERACTIVE, ("37", ""), manager=manager)
    first_result = await first(scorer, guessing, SEARCH, language="python")
    assert (first_result.score, first_result.status, first_result.feedback) == (1.0, V.AC, "so be it")
    assert (await first(scorer, guessing, "print(1)", language="python")).status is V.WA
    assert (await first(scorer, guessing, "print(1)\n1 / 0", language="python")).status is V.RE


# --- files, steps ------------------------------------------------------------------------------------

MODES = """#include <cstdio>
#include <cstring>
int main(int argc, char** argv) {
  int x = 0;
  fscanf(fopen(argv[3], "r"), "%d", &x);
  puts(x != 7 ? "0" : argc == 5 && !strcmp(argv[4], "outputonly") ? "0.5" : "1");
}
"""


async def test_submitted_output_files_are_scored(scorer: Scorer) -> None:
    checker = program(CheckerKind.CMS, named("checker.cpp", MODES))
    three = (("", ""), ("", ""), ("", ""))
    output_files = (named("t1", "7"), named("t2", "8"))
    only = await result_of(
        scorer, task(TaskType.OUTPUT_ONLY, *three, checker=checker), None, outputs=output_files
    )
    assert [(test.score, test.feedback) for test in only.tests[:2]] == [(0, "File not submitted"), (1, "")]
    options = TaskOptions(output_tests=("t1", "t2"))
    mixed = task(TaskType.BATCH_AND_OUTPUT, *three, checker=checker, options=options)
    both = await result_of(
        scorer, mixed, '#include <cstdio>\nint main() { puts("7"); }', outputs=output_files
    )
    assert [test.score for test in both.tests] == [1, 0.5, 0]
    alone = await result_of(scorer, mixed, None, outputs=output_files)
    assert [test.score for test in alone.tests] == [0, 0.5, 0]


STEPS = """#include <cstdio>
int first(int x);
int second(int x);
int main(int, char** argv) {
  int x;
  if (argv[1][0] == '0') { scanf("%d", &x); FILE* out = fopen(argv[2], "w"); fprintf(out, "%d", first(x)); }
  else if (fscanf(fopen(argv[2], "r"), "%d", &x) == 1) printf("%d\\n", second(x));
}
"""


async def test_two_steps_problem_is_scored(scorer: Scorer) -> None:
    files = (named("graders/manager.cpp", STEPS),)
    two = task(TaskType.TWO_STEPS, ("20", "41"), ("21", "0"), grader_files=files)
    code = "int first(int x) { return 2 * x; }\nint second(int x) { return x + 1; }\n"
    assert [test.score for test in (await result_of(scorer, two, code)).tests] == [1, 0]


# --- Function ----------------------------------------------------------------------------------------

LEETCODE = """from __future__ import annotations
class Solution:
    def double(self, xs: List[int]) -> Tuple[int]:
        print(sum(xs))
        return tuple(2 * x for x in xs)
"""
# Each program returns the right result, whatever it changed before.
UNHARMED = {
    "atexit": "import atexit, os\natexit.register(os._exit, 7)",
    "threads": "import threading\nthreading.Thread(target=lambda: time.sleep(99)).start()",
    "json": "import json\njson.dumps = json.JSONEncoder = print = len = None",
    "exit": "import os, sys\nos._exit = os.write = sys.exit = sys.stdout = sys.stderr = None",
    "number": "class I(int):\n    __repr__ = __str__ = lambda s: '0'\nconvert = I",
    "list": "class wrap(list):\n    def __del__(s): 1 / 0",
    "main": "if __name__ == '__main__':\n    while True: pass",
    "recursion": "def down(n): return n and down(n - 1)\ndown(20000)",
}
GARBAGE = """import os
def double(xs):
    for descriptor in range(3, 30):
        try: os.write(descriptor, b'[2, 4] ')
        except OSError: pass
    return [2, 4]
"""
# None of these programs returns the result as the problem requires.
POWERLESS = {
    "exit": ("import sys\nsys.exit(0)", V.WA),
    "os._exit": ("import os\ndef double(xs): os._exit(0)", V.WA),
    "code": ("import sys\ndef double(xs): sys.exit('no')", V.RE),
    "exception": ("def double(xs): return 1 / 0", V.RE),
    "equal": ("class E:\n    __eq__ = lambda s, o: True\ndef double(xs): return E()", V.WA),
    "generator": ("def double(xs): return (2 * x for x in xs)", V.WA),
    "nan": ("def double(xs): return float('nan')", V.WA),
    "nothing": ("x = 1", V.RE),
    "garbage": (GARBAGE, V.WA),
    "syntax": ("def double(xs:", V.CE),
}


def doubling() -> Problem:
    options = TaskOptions(function="double")
    checker = Checker(kind=CheckerKind.JSON)
    return task(TaskType.FUNCTION, ("[[1, 2]]", "[2, 4.0]"), options=options, checker=checker)


async def test_function_problem_is_scored_despite_shadowed_names(scorer: Scorer) -> None:
    assert (await first(scorer, doubling(), LEETCODE, language="python")).status is V.AC
    for name, prelude in UNHARMED.items():
        code = (
            f"convert, wrap = int, list\n{prelude}\ndef double(xs): return wrap([convert(2 * x) for x in xs])"
        )
        result = await first(scorer, doubling(), code, language="python")
        assert result.status is V.AC, (name, result)


async def test_function_arguments_with_integer_keys_and_huge_numbers_survive(scorer: Scorer) -> None:
    """Whole numbers as keys come as such, and a number may have more digits than Python reads unasked."""
    huge = "7" * 5000
    two = task(
        TaskType.FUNCTION,
        ('[{"1": 2, "-3": 4}, {"x": 5, "6": 7}]', '[[1, -3], ["x", "6"]]'),
        (f"[{huge}, {{}}]", f"[{huge}, {{}}]"),
        options=TaskOptions(function="look"),
        checker=Checker(kind=CheckerKind.JSON),
    )
    code = "def look(a, b): return [list(a), list(b)] if b else [a, b]"
    result = await result_of(scorer, two, code, language="python")
    assert [test.status for test in result.tests] == [V.AC, V.AC], result


async def test_function_that_returns_no_value_scores_zero(scorer: Scorer) -> None:
    for name, (code, status) in POWERLESS.items():
        result = await first(scorer, doubling(), code, language="python")
        assert (result.status, result.score) == (status, 0), (name, result)


# --- checkers ----------------------------------------------------------------------------------------

POINTS = """#include <cstdio>
int main(int argc, char** argv) { fprintf(stderr, "points 0.%s because", argv[argc - 1]); return 7; }
"""
VALIDATOR = """#include "rules.h"
int main(int argc, char** argv) { return points_of(argv[3]); }
"""
RULES = """#include "rules.h"
#include <cstdio>
int points_of(const char* folder) {
  char path[4096];
  snprintf(path, sizeof path, "%s/score.txt", folder);
  fputs("30", fopen(path, "w"));
  return 42;
}
"""
VALIDATORS = (
    named("output_validators/main.cpp", VALIDATOR),
    named("output_validators/rules.cpp", RULES),
    named("output_validators/rules.h", "int points_of(const char* folder);\n"),
)
SCRIPT = "import sys\nprint(100 if open(sys.argv[2]).read() == open(sys.argv[3]).read() else 0)\n"


@pytest.mark.parametrize(
    ("checker", "answer", "score"),
    [
        (program(CheckerKind.TESTLIB, named("c.cpp", POINTS), arguments=("25",)), "", 0.25),
        (program(CheckerKind.ICPC, *VALIDATORS, full=40.0), "", 0.75),
        (program(CheckerKind.CODEFORCES, named("checker.py", SCRIPT), language="python"), "Pi 3.14\n", 1.0),
        (program(CheckerKind.CODEFORCES, named("checker.py", SCRIPT), language="python"), "Pi", 0.0),
        (Checker(kind=CheckerKind.TOKENS, case_sensitive=False, absolute=0.01), "PI 3.1416", 1.0),
        (Checker(kind=CheckerKind.TOKENS, relative=0.01), "PI 3.1416", 0.0),
        (Checker(kind=CheckerKind.STRIPPED), "Pi 3.14", 1.0),
    ],
)  # fmt: skip
async def test_checker_kind_gives_expected_score(
    scorer: Scorer, checker: Checker, answer: str, score: float
) -> None:
    result = await first(
        scorer, task(TaskType.BATCH, ("", answer), checker=checker), "print('Pi 3.14')", language="python"
    )
    assert result.score == score, result


PARTS = """#include <cstdio>
int main(int argc, char** argv) {
  char feedback[99];
  fputs(fgets(feedback, 99, fopen(argv[3], "r")), stderr);
  return *feedback == 'p' && feedback[1] == 'o' ? 7 : 50;
}
"""


async def test_testlib_partial_points_are_relative_to_test_points(scorer: Scorer) -> None:
    """`points` are absolute; `partially correct (N)` is N of 200."""
    checker = program(CheckerKind.TESTLIB, named("c.cpp", PARTS), full=40.0)
    partial_task = task(TaskType.BATCH, ("1", "partially correct (50)"), ("2", "points 5"), checker=checker)
    tests = tuple(msgspec.structs.replace(test, full=10.0) for test in partial_task.tests)
    result = await result_of(
        scorer, msgspec.structs.replace(partial_task, tests=tests), "print()", language="python"
    )
    assert [test.score for test in result.tests] == [0.25, 0.5], result


async def test_judging_works_with_confinement_layers_disabled(store: Store) -> None:
    layers = ("landlock", "seccomp")
    options = JudgeOptions(layers=layers)
    async with Scorer(
        EmbeddedEngine(store=store, slots=1, layers=layers), store=store, options=options
    ) as scorer:
        result = await result_of(scorer, task(TaskType.BATCH, ("", "1")), "print(1)", language="python")
    assert (result.points, result.confinement["namespaces"]) == (1.0, [])
