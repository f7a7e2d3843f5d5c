"""Checkers that crash, and outputs that make them."""

from __future__ import annotations

import pytest
from checker_plans import CMS, ECHO, LIMITS, SPINNING, TESTLIB
from harness import Bench
from support.plans import PlanChecker

# How an answer is read does not hang on the layers; what a checker needs from its box does.
pytestmark = [pytest.mark.alike, pytest.mark.sample("everything")]

PYTHON = ("/usr/bin/python3", "checker.py")
CALLS = "Traceback (most recent call last):\n  File 'checker.py', line 1\n    1 / 0\n"


@pytest.mark.parametrize(
    ("source", "error"),
    [
        ("1 / 0", "ZeroDivisionError: division by zero"),
        ("raise ValueError('one line\\nand another')", "ValueError: one line"),
        ("try: 1 / 0\nexcept ZeroDivisionError as error: raise KeyError(3) from error", "KeyError: 3"),
        (
            "import sys; print('a word before', file=sys.stderr); int('x')",
            "ValueError: invalid literal for int() with base 10: 'x'",
        ),
        ("this is no Python", "SyntaxError: invalid syntax"),
        ("import sys; sys.exit('no calls\\nat all')", "no calls"),
        ("import sys; sys.exit('  indented')", "indented"),
        (f"import sys; sys.stderr.write({CALLS!r}); sys.exit(1)", CALLS.partition("\n")[0]),
    ],
)
@pytest.mark.parametrize("kind", ["cms", "codeforces", "icpc"])
def test_what_broke_a_checker_in_python_is_named(bench: Bench, kind: str, source: str, error: str) -> None:
    checker = PlanChecker(kind=kind, argv=PYTHON, limits=LIMITS)
    judged = bench.judge(ECHO, [("x", "x")], checker=checker, extra={"checker.py": source.encode()})
    assert judged.tests[0].failure == f"the checker exited with code 1: {error}"


def test_a_crash_in_python_is_no_verdict_of_testlib(bench: Bench) -> None:
    """Both end with code 1."""
    checker = PlanChecker(kind="testlib", argv=PYTHON, limits=LIMITS)
    judged = bench.judge(ECHO, [("x", "x")], checker=checker, extra={"checker.py": b"1 / 0"})
    assert judged.tests[0].failure == "the checker exited with code 1: ZeroDivisionError: division by zero"


# A checker in C++ that was never tried on words; it takes "5".
FRAGILE = """#include <fstream>
#include <iostream>
#include <string>
static std::string first(const char* path) { std::string word; std::ifstream(path) >> word; return word; }
int main(int, char** argv) {
  std::cerr << "looked at " << first(argv[3]) << std::endl;
  if (first(argv[3]) != first(argv[2])) { FAILS }
  std::cout << 1 << std::endl;
}
"""


@pytest.mark.parametrize(
    ("failing", "reason"),
    [
        ("return 1;", "exited with code 1"),
        ("for (volatile int i = 0;; i = i + 1) {}", "ran out of CPU time"),
        ("__builtin_trap();", "was killed by signal 4"),
        ('std::cout << "nan"; return 0;', "printed no score"),
        ("std::string all; for (;;) all += std::string(1 << 20, 'x');", "ran out of memory"),
    ],
)
def test_an_output_that_breaks_a_checker_is_to_blame(bench: Bench, failing: str, reason: str) -> None:
    """Otherwise a program that is not sure could choose not to be scored."""
    checker = PlanChecker(kind="cms", argv=("checker",), limits=SPINNING)
    line = bench.one(ECHO, "x", "5", checker=checker, checker_source=FRAGILE.replace("FAILS", failing))
    assert (line.end, line.score, line.failure) == ("ok", 0, None)
    assert line.feedback.startswith("Output isn't correct: the checker")
    assert reason in line.feedback and line.feedback.endswith("but it accepts the reference answer")


@pytest.mark.parametrize(
    ("kind", "failing"),
    [
        (TESTLIB, "return 3;"),
        (CMS, 'std::cerr.flush(); fputs("FAIL participant has the better answer", stderr); return 3;'),
        (CMS, "raise(SIGKILL);"),
    ],
    ids=["testlib", "testlib's words", "killed from elsewhere"],
)
def test_what_is_not_the_outputs_fault_stays_a_failure(bench: Bench, kind: PlanChecker, failing: str) -> None:
    source = FRAGILE.replace("#include <string>", "#include <string>\n#include <csignal>\n#include <cstdio>")
    source = source.replace('std::cerr << "looked', 'if (false) std::cerr << "looked').replace(
        "FAILS", failing
    )
    line = bench.one(ECHO, "x", "5", checker=kind, checker_source=source)
    assert line.failure is not None and "the checker" in line.failure


def test_a_checker_that_does_not_take_the_answer_has_failed(bench: Bench) -> None:
    source = FRAGILE.replace("std::cout << 1", "std::cout << 0").replace("FAILS", "return 1;")
    line = bench.one(ECHO, "x", "5", checker=CMS, checker_source=source)
    assert line.failure == "the checker exited with code 1: looked at x"


def test_what_a_validator_left_when_it_broke_is_gone_at_its_trial(bench: Bench) -> None:
    source = """#include <fstream>
#include <iostream>
#include <string>
int main(int, char** argv) {
  std::string output;
  std::cin >> output;
  if (output == "5") return 42;
  std::ofstream(argv[3] + std::string("score.txt")) << "half";
  return 1;
}
"""
    checker = PlanChecker(kind="icpc", argv=("checker",), limits=LIMITS)
    line = bench.one(ECHO, "x", "5", checker=checker, checker_source=source)
    assert (line.end, line.score, line.failure) == ("ok", 0, None), line


def test_a_checker_is_tried_on_each_test_that_has_no_answer(bench: Bench) -> None:
    """The checker's word on an empty output depends on the input."""
    source = """#include <fstream>
#include <iostream>
int main(int, char** argv) {
  if (std::ifstream(argv[3]).peek() != EOF || std::ifstream(argv[1]).peek() != '0') return 1;
  std::cout << 1 << std::endl;
}
"""
    judged = bench.judge(ECHO, [("0", None), ("1", None), ("0", None)], checker=CMS, checker_source=source)
    assert [judged.tests[i].failure is None for i in range(3)] == [True, False, True], judged


def test_a_checker_in_python_that_takes_numbers_only(bench: Bench) -> None:
    script = "import sys\nprint(int(int(open(sys.argv[3]).read()) == int(open(sys.argv[2]).read())))"
    checker = PlanChecker(kind="codeforces", argv=PYTHON, limits=LIMITS)
    tests = [(given, "5") for given in ("5", "4", "x", "", "five")]
    judged = bench.judge(ECHO, tests, checker=checker, extra={"checker.py": script.encode()})
    assert [judged.tests[i].score for i in range(5)] == [1, 0, 0, 0, 0], judged
    assert "ValueError: invalid literal" in judged.tests[2].feedback
