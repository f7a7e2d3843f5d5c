"""Results of checkers, and invalid checker output."""

from __future__ import annotations

import msgspec
import pytest
from built_programs import by_word
from checker_plans import CMS, ECHO, LIMITS, SPINNING, TESTLIB, saying
from harness import Bench
from support.proctor_protocol import PlanChecker, PlanLimits, PlanManager, PlanSubmission, TestReport

# Layers do not change how a checker's answer is read. The nightly run tries whether checkers run with other layers.
pytestmark = pytest.mark.nightly(unless="everything")

SLEEPER = PlanLimits(cpu_ms=500, wall_ms=500)
# Reads the three files named by its arguments, which shows that they are readable.
SAYS = """#include <cstdio>
#include <cstring>
static char* line(const char* path, char* text) {
  *text = 0;
  fgets(text, 99, fopen(path, "r"));
  text[strcspn(text, "\\n")] = 0;
  return text;
}
int main(int argc, char** argv) {
  char input[99], answer[99], output[99];
  if (argc != 4 || strcmp(line(argv[1], input), line(argv[3], output)) != 0) return 9;
  puts(line(argv[2], answer));
  fputs("translate:partial\\n", stderr);
}
"""


@pytest.mark.parametrize(
    ("answer", "score"),
    [("1", 1), ("0.5", 0.5), (" 1e-1 ", 0.1), ("0", 0), ("+.25", 0.25), ("1.0000000000000002", 1)],
)
def test_cms_checker_score_is_parsed(bench: Bench, answer: str, score: float) -> None:
    line = bench.one(ECHO, "hello", answer, checker=CMS, checker_source=SAYS)
    assert (line.end, line.score, line.feedback) == ("ok", score, "Output is partially correct")


@pytest.mark.parametrize(
    "answer", ["nan", "inf", "-0.1", "1.01", "", "0x1", "0.5 points", "1_0", "1e400", "yes"]
)
def test_checker_output_that_is_not_a_score_is_a_failure(bench: Bench, answer: str) -> None:
    line = bench.one(ECHO, "hello", answer, checker=CMS, checker_source=SAYS)
    assert line.failure is not None and "no score between 0 and 1" in line.failure


BREAKS = {
    "exits": ("return 1;", LIMITS, "exited with code 1"),
    "spins": ("for (;;);", SPINNING, "out of CPU time"),
    "sleeps": ("pause();", SLEEPER, "out of time"),
    "aborts": ("abort();", LIMITS, "killed by signal 6"),
    "touches memory": ("memset(block = (char*)malloc(900 << 20), 1, 900 << 20);", LIMITS, "out of memory"),
}
BREAKING = by_word(
    "#include <cstdlib>\n#include <unistd.h>\nchar* volatile block;",
    {name: body for name, (body, *_) in BREAKS.items()},
    argument=4,
)


@pytest.mark.parametrize("name", BREAKS)
def test_broken_checker_gives_no_verdict(bench: Bench, name: str) -> None:
    _, limits, reason = BREAKS[name]
    checker = PlanChecker(kind="cms", argv=("checker", name), limits=limits)
    line = bench.one(ECHO, "x", "x", checker=checker, checker_source=BREAKING)
    assert line.end is None
    assert line.failure is not None and "the checker" in line.failure and reason in line.failure


BETWEEN_LOOKS = """#include <cstdio>
#include <ctime>
int main() { while (clock() < CLOCKS_PER_SEC / 200); puts("1"); }
"""
BRIEF = PlanLimits(cpu_ms=2, wall_ms=30_000)


def test_checker_over_its_cpu_limit_between_supervisor_polls_is_a_failure(bench: Bench) -> None:
    checker = PlanChecker(kind="cms", argv=("checker",), limits=BRIEF)
    line = bench.one(ECHO, "x", "x", checker=checker, checker_source=BETWEEN_LOOKS)
    assert line.failure is not None and "the checker ran out of CPU time" in line.failure


@pytest.mark.parametrize("is_checked", [False, True])
def test_manager_over_its_cpu_limit_between_supervisor_polls_is_a_failure(
    bench: Bench, is_checked: bool
) -> None:
    checked = {"checker": CMS, "checker_source": 'int main() { return __builtin_puts("1") < 0; }'}
    line = bench.one(
        "int main() {}", "x", "x", task_type="Communication", **(checked if is_checked else {}),
        manager=PlanManager(argv=("manager",), limits=BRIEF), manager_source=BETWEEN_LOOKS,
    )  # fmt: skip
    assert line.failure is not None and "the manager ran out of CPU time" in line.failure


@pytest.mark.parametrize(
    ("code", "said", "score"),
    [
        *((code, "said so", score) for code, score in {0: 1, 1: 0, 2: 0, 4: 0, 8: 0}.items()),
        (7, "points 0.75 nearly", 0.75),
        (150, "partially correct (150) not the best", 0.75),
        (
            0,
            "partially correct (0) nothing of it",
            0,
        ),  # without the message, the exit code would mean an accepted output
        (3, "partially correct (3) little", 0.015),
        (80, "partially correct (30) of another base", 0.15),
        (200, "partially correct (200) all of it", 1),
        (0, "ok partially correct (20)", 1),
        (1, "partially correct (20) but its code is another", 0),
    ],
)
def test_testlib_exit_codes_and_messages_give_scores(
    bench: Bench, code: int, said: str, score: float
) -> None:
    line = bench.one(ECHO, "x", "y", **saying("testlib", code, said))
    assert (line.end, line.score, line.feedback) == ("ok", score, said)


@pytest.mark.parametrize("code", [3, 5, 7, 42])
def test_unknown_testlib_exit_code_is_a_checker_failure(bench: Bench, code: int) -> None:
    line = bench.one(ECHO, "x", "x", **saying("testlib", code))
    assert line.failure is not None and "the checker" in line.failure


def test_checker_is_not_run_if_the_submission_crashed(bench: Bench) -> None:
    line = bench.one("int main(){return 1;}", "x", "x", **saying("cms", 1))
    assert (line.end, line.failure) == ("exit", None)


def test_feedback_is_printable_and_bounded(bench: Bench) -> None:
    source = (
        '#include <cstdio>\nint main(){puts("1"); fputs("a\\x1b[31mb\\xff\\xe2\\x80\\xae" "c\\0d",stderr);'
        'for(int i=0;i<9000;i++) fputs("\\xc3\\xa9",stderr);}'
    )
    line = bench.one(ECHO, "x", "x", checker=CMS, checker_source=source)
    assert line.feedback.startswith("a [31mb\ufffd\ufffdc")
    assert len(line.feedback.encode()) <= 4096


def test_missing_answer_is_an_empty_file(bench: Bench) -> None:
    assert bench.one(ECHO, "", None).score == 1
    assert bench.one(ECHO, "x", None).score == 0


def test_stripped_comparison_compares_inner_bytes_exactly(bench: Bench) -> None:
    result = bench.judge(
        ECHO,
        [(" a  b\n\n", "a  b"), ("a b", "a  b"), ("a\nb", "a\r\nb"), ("", " \n")],
        checker=PlanChecker(kind="stripped"),
    )
    assert [result.tests[i].score for i in range(4)] == [1, 0, 0, 1]


def test_white_diff_comparison_compares_lines_of_ten_megabytes(bench: Bench) -> None:
    line = b"1 " * (5 << 20)
    result = bench.judge(
        "", [("", line[:-1]), ("", line + b"2")], task_type="OutputOnly", submission=PlanSubmission(),
        outputs={0: line, 1: line}, limits=PlanLimits(output=64 << 20),
    )  # fmt: skip
    assert [result.tests[i].score for i in range(2)] == [1, 0]


@pytest.mark.nightly(unless="")
def test_testlib_checkers_get_the_files_in_testlibs_order(bench: Bench) -> None:
    source = """#include <cstdio>
#include <cstring>
int main(int, char** argv) {
  char output[9], answer[9];
  fscanf(fopen(argv[2], "r"), "%8s", output);
  fscanf(fopen(argv[3], "r"), "%8s", answer);
  return strcmp(output, "mine") || strcmp(answer, "theirs");
}
"""
    assert bench.one(ECHO, "mine", "theirs", checker=TESTLIB, checker_source=source).score == 1


VALIDATOR = """#include <cstdio>
#include <cstring>
// What it is told ends with a slash.
static FILE* in(const char* folder, const char* name) {
  char path[4096];
  snprintf(path, sizeof path, "%s%s", folder, name);
  return fopen(path, "w");
}
int main(int argc, char** argv) {
  char answer[99] = "", output[99] = "";
  fscanf(fopen(argv[2], "r"), "%98s", answer);
  scanf("%98s", output);
  fprintf(in(argv[3], "judgemessage.txt"), "saw %s", output);
  if (argc == 5) fputs(argv[4], in(argv[3], "score.txt"));
  return !strcmp(output, answer) ? 42 : !strcmp(output, "crash") ? 1 : 43;
}
"""
# Its arguments are names of files and their contents.
WRITING = """#include <cstdio>
#include <unistd.h>
int main(int argc, char** argv) {
  chdir(argv[3]);
  for (int i = 4; i + 1 < argc; i += 2) fputs(argv[i + 1], fopen(argv[i], "w"));
  return 42;
}
"""


def test_icpc_validator_exit_codes_give_scores_and_failures(bench: Bench) -> None:
    icpc = PlanChecker(kind="icpc", argv=("checker",), limits=LIMITS)
    result = bench.judge(
        ECHO, [("x", "x"), ("x", "y"), ("crash", "y"), ("x", "x")], checker=icpc, checker_source=VALIDATOR
    )
    assert [result.tests[i].score for i in range(4)] == [1, 0, 0, 1]
    assert result.tests[0].feedback == "saw x"
    assert "exited with code 1" in result.tests[2].feedback
    assert "it accepts the reference answer" in result.tests[2].feedback


def test_icpc_validator_points_are_divided_by_full_points(bench: Bench) -> None:
    icpc = PlanChecker(kind="icpc", argv=("checker", "15"), limits=LIMITS, full=60)
    assert bench.one(ECHO, "x", "x", checker=icpc, checker_source=VALIDATOR).score == 0.25
    over = PlanChecker(kind="icpc", argv=("checker", "61"), limits=LIMITS, full=60)
    assert bench.one(ECHO, "x", "x", checker=over, checker_source=VALIDATOR).failure is not None


def judge_with_files(bench: Bench, writes: dict[str, str]) -> TestReport:
    arguments = [argument for pair in writes.items() for argument in pair]
    icpc = PlanChecker(kind="icpc", argv=("checker", *arguments), limits=LIMITS, full=60)
    return bench.one(ECHO, "x", "x", checker=icpc, checker_source=WRITING)


@pytest.mark.nightly(unless="everything|writes0")
@pytest.mark.parametrize(
    ("writes", "score"),
    [({"score.txt": "30"}, 0.5), ({"score_multiplier.txt": "0.25"}, 0.25), ({}, 1)],
)
def test_icpc_score_files_give_points_or_a_fraction(
    bench: Bench, writes: dict[str, str], score: float
) -> None:
    line = judge_with_files(bench, writes)
    assert (line.score, line.part) == (score, "score_multiplier.txt" in writes)


@pytest.mark.parametrize(
    ("writes", "words"),
    [
        ({"score.txt": "30", "score_multiplier.txt": "1"}, "wrote score.txt and score_multiplier.txt"),
        ({"score_multiplier.txt": "2"}, "printed no score between 0 and 1"),
        ({"score.txt": ""}, "printed no score between 0 and 60"),
        ({"score_multiplier.txt": ""}, "printed no score between 0 and 1"),
    ],
)
def test_invalid_icpc_score_files_are_failures(bench: Bench, writes: dict[str, str], words: str) -> None:
    assert words in (judge_with_files(bench, writes).failure or "")


# Counts its passes in a file. The output says what to do: the exit code, whether to run another pass, and its input.
PASSES = """#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <unistd.h>
int main(int argc, char** argv) {
  char seen[99] = "", given[99] = "", code[99] = "", next[99] = "";
  fscanf(fopen(argv[1], "r"), "%98s", given);
  fscanf(fopen("/dev/stdin", "r"), "%98s %98s", code, next);
  chdir(argv[3]);
  if (FILE* before = fopen("seen", "r")) fscanf(before, "%90s", seen);
  if (strcmp(strcat(seen, "1"), given) != 0) return 9;
  fputs(given, fopen("seen", "w"));
  fprintf(fopen("judgemessage.txt", "a"), "pass %s; ", given);
  if (*next) fputs(next, fopen("nextpass.in", "w"));
  return atoi(code);
}
"""
# Asks for passes until it has read three digits. Its first pass uses much memory.
AGAIN = """#include <cstdio>
#include <cstring>
static char block[40 << 20];
int main() {
  char given[99];
  scanf("%98s", given);
  if (!strcmp(given, "1")) memset(block, *given, sizeof block);
  if (strlen(given) < 3) printf("42 %s1", given);
  else printf("42");
}
"""


def test_submission_runs_in_several_passes(bench: Bench) -> None:
    three = PlanChecker(kind="icpc", argv=("checker",), limits=LIMITS, passes=3)
    result = bench.judge(AGAIN, [("1", ""), ("1", "")], checker=three, checker_source=PASSES)
    for index in range(2):  # a test does not influence the next test
        assert (result.tests[index].score, result.tests[index].failure) == (1, None), result
        assert result.tests[index].feedback == "pass 1; pass 11; pass 111;"
    two = msgspec.structs.replace(three, passes=2)
    failure = bench.one(AGAIN, "1", checker=two, checker_source=PASSES).failure
    assert failure == "the checker asked for more than 2 passes"


def test_several_passes_report_largest_usage_of_a_pass(bench: Bench) -> None:
    checker = PlanChecker(kind="icpc", argv=("checker",), limits=LIMITS, passes=3)
    line = bench.one(AGAIN, "1", checker=checker, checker_source=PASSES)
    assert (line.end, line.score) == ("ok", 1) and line.memory > 40 << 20


@pytest.mark.parametrize(
    ("says", "end", "score", "failure"),
    [
        ("42", "ok", 1, ""),
        ("43", "ok", 0, ""),
        ("43 11", "", 0, "the checker asks for another pass but rejects this one"),
        ("9 11", "", 0, "the checker asks for another pass but rejects this one"),
        ("9", "", 0, "the checker exited with code 9"),
    ],
)
def test_last_pass_of_multi_pass_problem_determines_the_result(
    bench: Bench, says: str, end: str, score: float, failure: str
) -> None:
    source = "#include <cstdio>\nint main(int, char** argv) { puts(argv[1]); }"
    submission = PlanSubmission(argv=("submission", says))
    checker = PlanChecker(kind="icpc", argv=("checker",), limits=LIMITS, passes=4)
    line = bench.one(source, "1", submission=submission, checker=checker, checker_source=PASSES)
    assert (line.end or "", line.score) == (end, score)
    assert (line.failure or "").startswith(failure)


@pytest.mark.nightly(unless="")
def test_checker_gets_arguments_of_the_test(bench: Bench) -> None:
    icpc = PlanChecker(kind="icpc", argv=("checker",), limits=LIMITS, full=60)
    tests, test_arguments = [("x", "x")] * 3, {0: ["15"], 2: ["60"]}
    result = bench.judge(ECHO, tests, checker=icpc, checker_source=VALIDATOR, arguments=test_arguments)
    assert [result.tests[i].score for i in range(3)] == [0.25, 1, 1]
    tokens = PlanChecker(kind="tokens", case_sensitive=False)
    tests = [("a 1.4", "A 1.5"), ("a 1.4", "A 1.5"), ("a 1.5", "A 1.5"), ("a  1.5", "A 1.5")]
    tests += [("100", "110"), ("0.1", "0"), ("0.000001", "0")]
    test_arguments = {
        0: ["float_tolerance", "0.2"],
        1: ["float_absolute_tolerance", "0.05", "float_relative_tolerance", "1e-9"],
        2: ["case_sensitive"],
        3: ["space_change_sensitive"],
        4: ["float_absolute_tolerance", "0.2"],
        5: ["float_relative_tolerance", "0.2"],
        6: ["float_absolute_tolerance", "1e-6"],
    }
    result = bench.judge(ECHO, tests, checker=tokens, arguments=test_arguments)
    assert [result.tests[i].score for i in range(7)] == [1, 0, 0, 0, 0, 0, 1]


@pytest.mark.parametrize(
    ("said", "score"),
    [
        ("points 10 most of it", 0.25),
        ("points 40.0 all", 1),
        ("points 40.00000001", 1),
        ("points 41 too many", None),
        ("partial 3/4", 0.75),
        ("partial 4/4", 1),
        ("partial 5/4", None),
    ],
)
def test_testlib_points_are_absolute(bench: Bench, said: str, score: float | None) -> None:
    line = bench.one(ECHO, "x", "y", **saying("testlib", 7, said, full=40))
    assert (None if line.failure else line.score) == score
    assert line.part == (said.startswith("partial") and score is not None)
    assert (score is None) == ("no score between 0 and 40" in (line.failure or ""))


@pytest.mark.parametrize(("code", "score"), [(0, 1), (1, 0), (2, None)])
def test_exit_code_checker_scores_by_exit_code(bench: Bench, code: int, score: float | None) -> None:
    line = bench.one(ECHO, "x", "y", **saying("exit-code", code))
    assert (None if line.failure else line.score) == score


@pytest.mark.nightly(unless="everything|0.5")
@pytest.mark.parametrize(("said", "score"), [("1", 1), ("100", 1), ("0", 0), ("0.5", 0)])
def test_codeforces_checker_script_gives_scores(bench: Bench, said: str, score: float) -> None:
    script = f"import sys\nassert [open(name).read() for name in sys.argv[1:]] == ['x', 'y', 'x']\nprint('{said}')\n"
    checker = PlanChecker(kind="codeforces", argv=("/usr/bin/python3", "checker.py"), limits=LIMITS)
    result = bench.judge(ECHO, [("x", "y")], checker=checker, extra={"checker.py": script.encode()})
    assert (result.tests[0].end, result.tests[0].score) == ("ok", score), result
    broken = bench.judge(ECHO, [("x", "z")], checker=checker, extra={"checker.py": script.encode()})
    assert broken.tests[0].failure == "the checker exited with code 1: AssertionError"
