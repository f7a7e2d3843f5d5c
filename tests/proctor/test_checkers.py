"""What checkers say, and what becomes of one that says nothing useful."""

from __future__ import annotations

import pytest
from harness import Bench

from ioi_eval.protocol.proctor import PlanChecker, PlanLimits

ECHO = "#include <cstdio>\nint main(){int c; while((c=getchar())!=EOF) putchar(c);}"
LIMITS = PlanLimits(cpu_ms=500, wall_ms=1500, memory=256 << 20)
CMS = PlanChecker(kind="cms", argv=("checker",), limits=LIMITS)
TESTLIB = PlanChecker(kind="testlib", argv=("checker",), limits=LIMITS)

# Reads the three files by the names it is given, so that it also shows that it can.
SAYS = """#include <fstream>
#include <iostream>
#include <string>
int main(int argc, char** argv) {
  std::string input, answer, output;
  std::getline(std::ifstream(argv[1]) , input);
  std::getline(std::ifstream(argv[2]) , answer);
  std::getline(std::ifstream(argv[3]) , output);
  if (argc != 4 || input != output) return 9;
  std::cout << answer << std::endl;
  std::cerr << "translate:partial" << std::endl;
}
"""


@pytest.mark.parametrize(
    ("answer", "score"), [("1", 1), ("0.5", 0.5), (" 1e-1 ", 0.1), ("0", 0), ("+.25", 0.25)]
)
def test_scores(bench: Bench, answer: str, score: float) -> None:
    line = bench.one(ECHO, "hello", answer, checker=CMS, checker_source=SAYS)
    assert (line.end, line.score, line.feedback) == ("ok", score, "Output is partially correct")


@pytest.mark.parametrize(
    "answer", ["nan", "inf", "-0.1", "1.01", "", "0x1", "0.5 points", "1_0", "1e400", "yes"]
)
def test_not_a_score(bench: Bench, answer: str) -> None:
    line = bench.one(ECHO, "hello", answer, checker=CMS, checker_source=SAYS)
    assert line.failure is not None and "no score between 0 and 1" in line.failure


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("int main(){return 1;}", "exited with code 1"),
        ("int main(){for(;;);}", "out of CPU time"),
        ("#include <unistd.h>\nint main(){pause();}", "out of time"),
        ("#include <cstdlib>\nint main(){abort();}", "killed by signal 6"),
        ("#include <vector>\nint main(){std::vector<char> v(900<<20,1); return v[3];}", "out of memory"),
    ],
)
def test_a_checker_that_breaks_is_no_verdict(bench: Bench, source: str, reason: str) -> None:
    line = bench.one(ECHO, "x", "x", checker=CMS, checker_source=source)
    assert line.end is None
    assert line.failure is not None and "the checker" in line.failure and reason in line.failure


@pytest.mark.parametrize(("code", "score"), [(0, 1), (1, 0), (2, 0), (4, 0), (8, 0)])
def test_exit_codes(bench: Bench, code: int, score: float) -> None:
    source = f'#include <cstdio>\nint main(){{fputs("said so",stderr); return {code};}}'
    line = bench.one(ECHO, "x", "x", checker=TESTLIB, checker_source=source)
    assert (line.score, line.feedback) == (score, "said so")


def test_points(bench: Bench) -> None:
    source = '#include <cstdio>\nint main(){fputs("points 0.75 nearly",stderr); return 7;}'
    line = bench.one(ECHO, "x", "x", checker=TESTLIB, checker_source=source)
    assert (line.score, line.feedback) == (0.75, "points 0.75 nearly")


@pytest.mark.parametrize("code", [3, 5, 7, 42])
def test_exit_codes_that_are_failures(bench: Bench, code: int) -> None:
    line = bench.one(ECHO, "x", "x", checker=TESTLIB, checker_source=f"int main(){{return {code};}}")
    assert line.failure is not None and "the checker" in line.failure


def test_a_checker_never_looks_at_a_submission_that_failed(bench: Bench) -> None:
    line = bench.one("int main(){return 1;}", "x", "x", checker=CMS, checker_source="int main(){return 1;}")
    assert (line.end, line.failure) == ("exit", None)


def test_feedback_is_made_printable_and_short(bench: Bench) -> None:
    source = (
        '#include <cstdio>\nint main(){puts("1"); fputs("a\\x1b[31mb\\xff\\xe2\\x80\\xae" "c\\0d",stderr);'
        'for(int i=0;i<9000;i++) fputs("\\xc3\\xa9",stderr);}'
    )
    line = bench.one(ECHO, "x", "x", checker=CMS, checker_source=source)
    assert line.feedback.startswith("a [31mb\ufffd\ufffdc")
    assert len(line.feedback.encode()) <= 4096


def test_no_answer_is_an_empty_file(bench: Bench) -> None:
    assert bench.one(ECHO, "", None).score == 1
    assert bench.one(ECHO, "x", None).score == 0


def test_stripped_compares_the_inside_byte_for_byte(bench: Bench) -> None:
    judged = bench.judge(
        ECHO,
        [(" a  b\n\n", "a  b"), ("a b", "a  b"), ("a\nb", "a\r\nb"), ("", " \n")],
        checker=PlanChecker(kind="stripped"),
    )
    assert [judged.tests[i].score for i in range(4)] == [1, 0, 0, 1]


def test_white_diff_on_a_line_of_ten_megabytes(bench: Bench) -> None:
    line = "1 " * (5 << 20)
    limits = PlanLimits(cpu_ms=5000, wall_ms=20000, output=64 << 20)
    assert bench.one(ECHO, line, line.strip(), limits=limits).score == 1
    assert bench.one(ECHO, line, line + "2", limits=limits).score == 0
