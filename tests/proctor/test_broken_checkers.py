"""Checkers that crash, and outputs that crash checkers."""

from __future__ import annotations

import pytest
from built_programs import by_word
from checker_plans import CMS, ECHO, LIMITS, SPINNING
from harness import Bench
from support.proctor_protocol import PlanChecker, PlanLimits, TestReport

# Layers do not change how a checker's answer is read. The nightly run tries whether checkers run with other layers.
pytestmark = pytest.mark.nightly(unless="everything")

PYTHON = ("/usr/bin/python3", "checker.py")
CALLS = "Traceback (most recent call last):\n  File 'checker.py', line 1\n    1 / 0\n"


BROKEN = {
    "1 / 0": "ZeroDivisionError: division by zero",
    "raise ValueError('a line\\nand a second')": "ValueError: a line",
    "try: 1 / 0\nexcept ZeroDivisionError as error: raise KeyError(3) from error": "KeyError: 3",
    "print('an earlier message', file=sys.stderr); int('x')": (
        "ValueError: invalid literal for int() with base 10: 'x'"
    ),
    "sys.exit('no calls\\nat all')": "no calls",
    "sys.exit('  indented')": "indented",
    f"sys.stderr.write({CALLS!r}); sys.exit(1)": CALLS.partition("\n")[0],
}


# All kinds read the message in the same way. A further test is about testlib, where code 1 is also a verdict.
@pytest.mark.nightly(unless="everything-codeforces")
@pytest.mark.parametrize("kind", ["cms", "codeforces", "icpc"])
def test_python_checker_failure_names_the_exception(bench: Bench, kind: str) -> None:
    checker = PlanChecker(kind=kind, argv=PYTHON, limits=LIMITS)
    code = f"import sys\neach = {list(BROKEN)}\nexec(each[int(open(sys.argv[1]).read())])"
    no_python = "not a program"  # a syntax error has no traceback
    for source, errors in ((code, [*BROKEN.values()]), (no_python, ["SyntaxError: invalid syntax"])):
        tests = [(str(number), "x") for number in range(len(errors))]
        result = bench.judge(ECHO, tests, checker=checker, extra={"checker.py": source.encode()})
        failures = [result.tests[number].failure for number in range(len(errors))]
        assert failures == [f"the checker exited with code 1: {error}" for error in errors]


def test_python_crash_is_not_a_testlib_verdict(bench: Bench) -> None:
    """Both exit with code 1."""
    checker = PlanChecker(kind="testlib", argv=PYTHON, limits=LIMITS)
    result = bench.judge(ECHO, [("x", "x")], checker=checker, extra={"checker.py": b"1 / 0"})
    assert result.tests[0].failure == "the checker exited with code 1: ZeroDivisionError: division by zero"


# A checker in C++ that was never tried on strings. It accepts "5", and its argument selects how it fails otherwise.
HEAD = """#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <sys/resource.h>
char* volatile block;
const char* first(const char* path, char* word) {
  *word = 0;
  fscanf(fopen(path, "r"), "%98s", word);
  return word;
}
bool same(char** argv) {
  char one[99], other[99];
  return !strcmp(first(argv[2], one), first(argv[3], other));
}
void look(char** argv) {
  char output[99];
  fprintf(stderr, "looked at %s\\n", first(argv[3], output));
}
"""
TO_BLAME = {
    "exits": ("look(argv); return 1;", LIMITS, "exited with code 1"),
    "spins": ("look(argv); for (;;);", SPINNING, "ran out of CPU time"),
    "traps": ("look(argv); __builtin_trap();", LIMITS, "was killed by signal 4"),
    "no score": ('look(argv); puts("nan");', LIMITS, "printed no score"),
    "FAIL": (
        "fputs(\"FAIL Expected char '{', found 'x'\", stderr); return 3;",
        LIMITS,
        "FAIL Expected char '{', found 'x'",
    ),
    "memory": (
        "look(argv); for (;;) memset(block = (char*)malloc(1 << 20), 1, 1 << 20);",
        LIMITS,
        "ran out of memory",
    ),
}
OWN_FAULTS = {
    "killed from elsewhere": ("cms", "raise(SIGKILL);"),
    "more than full marks": ("cms", 'puts("1.25");'),
    "more than full points": ("testlib", 'fputs("points 1.25", stderr); return 7;'),
}
FAILS = {name: body for name, (body, *_) in TO_BLAME.items()} | {
    name: body for name, (_, body) in OWN_FAULTS.items()
}
FRAGILE = by_word(
    HEAD,
    {name: f'if (same(argv)) puts("1"); else {{ {fails} }}' for name, fails in FAILS.items()}
    | {
        "rejects everything": 'if (same(argv)) puts("0"); else { look(argv); return 1; }',
        # The second run has a higher limit of CPU time, by which the checker detects it.
        "fails once": """
  rlimit time;
  getrlimit(RLIMIT_CPU, &time);
  if (!same(argv) && time.rlim_cur == 4) return fputs("FAIL for once", stderr), 3;
  puts(same(argv) ? "1" : "0.5");""",
        "fails once and is killed": """
  rlimit time;
  getrlimit(RLIMIT_CPU, &time);
  if (!same(argv) && time.rlim_cur == 4) return fputs("FAIL for once", stderr), 3;
  if (!same(argv)) raise(SIGKILL);
  puts("1");""",
        "is slow": """
  const bool right = same(argv);
  while (!right && clock() < 0.13 * CLOCKS_PER_SEC);
  puts(right ? "1" : "0.5");""",
    },
    argument=4,
)


# Reports testlib's `_fail` if it cannot parse the output, as checkers of optimization problems do.
TESTLIB = """#include <cstdio>
int main(int, char** argv) {
  int read = getc(fopen(argv[2], "r"));
  if (read != '{') return fprintf(stderr, "FAIL Expected char '{', found '%c'\\n", read), 3;
  return fputs("ok", stderr), 0;
}
"""


def fragile(bench: Bench, name: str, kind: str = "cms", limits: PlanLimits = LIMITS) -> TestReport:
    checker = PlanChecker(kind=kind, argv=("checker", name), limits=limits)
    return bench.one(ECHO, "x", "5", checker=checker, checker_source=FRAGILE)


@pytest.mark.parametrize("name", TO_BLAME)
def test_output_that_crashes_a_checker_is_wrong(bench: Bench, name: str) -> None:
    """Otherwise a program could choose not to be scored when its answer may be wrong."""
    _, limits, reason = TO_BLAME[name]
    line = fragile(bench, name, limits=limits)
    assert (line.end, line.score, line.failure) == ("ok", 0, None)
    assert line.feedback.startswith("Output isn't correct: the checker")
    assert reason in line.feedback and line.feedback.endswith("but it accepts the reference answer")


@pytest.mark.parametrize("name", OWN_FAULTS)
def test_checker_failure_not_caused_by_the_output_is_a_judge_failure(bench: Bench, name: str) -> None:
    line = fragile(bench, name, OWN_FAULTS[name][0])
    assert line.failure is not None and "the checker" in line.failure


def test_checker_that_rejects_the_reference_answer_is_a_failure(bench: Bench) -> None:
    line = fragile(bench, "rejects everything")
    assert line.failure == "the checker exited with code 1: looked at x"
    assert line.provoked, "judging a correct solution of the package may show whether the checker is at fault"


@pytest.mark.parametrize(
    ("answer", "is_blamed"),
    [("{}", True), ("30512 31000", False), ("", False), (None, False)],
    ids=["an output", "a score to compare with", "empty", "none"],
)
def test_testlib_fail_makes_output_wrong_only_if_the_reference_answer_passes(
    bench: Bench, answer: str | None, is_blamed: bool
) -> None:
    checker = PlanChecker(kind="testlib", argv=("checker",), limits=LIMITS)
    tests = [("x", answer), ("{", answer)]
    result = bench.judge(ECHO, tests, checker=checker, checker_source=TESTLIB)
    line, right = result.tests[0], result.tests[1]
    assert (right.score, right.failure) == (1, None), right
    failure = "the checker reports a failure of its own: FAIL Expected char '{', found 'x'"
    if is_blamed:
        assert (line.end, line.score, line.failure) == ("ok", 0, None)
        assert line.feedback == f"Output isn't correct: {failure}, but it accepts the reference answer"
    else:
        assert (line.failure, line.provoked) == (failure, True)


def test_checker_result_of_second_run_counts_after_a_failed_run(bench: Bench) -> None:
    line = fragile(bench, "fails once")
    assert (line.end, line.score, line.failure) == ("ok", 0.5, None), line
    line = fragile(bench, "fails once and is killed")
    assert line.failure is not None and "killed by signal 9" in line.failure and not line.provoked, line


def test_slow_checker_does_not_make_the_output_wrong(bench: Bench) -> None:
    """On a busy machine the same work uses up to 1.6 times as much CPU time."""
    line = fragile(bench, "is slow", limits=SPINNING)
    assert (line.end, line.score, line.failure) == ("ok", 0.5, None), line


def test_feedback_files_of_failed_validator_are_removed_before_its_rerun(bench: Bench) -> None:
    source = """#include <cstdio>
#include <unistd.h>
int main(int, char** argv) {
  if (getchar() == '5') return 42;
  chdir(argv[3]);
  fputs("half", fopen("score.txt", "w"));
  return 1;
}
"""
    checker = PlanChecker(kind="icpc", argv=("checker",), limits=LIMITS)
    line = bench.one(ECHO, "x", "5", checker=checker, checker_source=source)
    assert (line.end, line.score, line.failure) == ("ok", 0, None), line


def test_failing_checker_is_tried_on_empty_output_for_each_test(bench: Bench) -> None:
    """The checker accepts empty output for some inputs only."""
    source = """#include <cstdio>
int main(int, char** argv) {
  if (getc(fopen(argv[3], "r")) != EOF || getc(fopen(argv[1], "r")) != '0') return 1;
  puts("1");
}
"""
    result = bench.judge(ECHO, [("0", None), ("1", None), ("0", None)], checker=CMS, checker_source=source)
    assert [result.tests[i].failure is None for i in range(3)] == [True, False, True], result


def test_output_without_numbers_is_wrong_for_python_checker_that_parses_numbers(bench: Bench) -> None:
    script = "import sys\nprint(int(int(open(sys.argv[3]).read()) == int(open(sys.argv[2]).read())))"
    checker = PlanChecker(kind="codeforces", argv=PYTHON, limits=LIMITS)
    tests = [(content, "5") for content in ("5", "4", "x", "", "five")]
    result = bench.judge(ECHO, tests, checker=checker, extra={"checker.py": script.encode()})
    assert [result.tests[i].score for i in range(5)] == [1, 0, 0, 0, 0], result
    assert "ValueError: invalid literal" in result.tests[2].feedback
