"""What checkers say, and what becomes of one that says nothing useful."""

from __future__ import annotations

import msgspec
import pytest
from checker_plans import CMS, ECHO, LIMITS, SPINNING, TESTLIB
from harness import Bench
from support.plans import PlanChecker, PlanLimits

# How an answer is read does not hang on the layers; what a checker needs from its box does.
pytestmark = [pytest.mark.alike, pytest.mark.sample("everything")]

SLEEPER = PlanLimits(cpu_ms=500, wall_ms=500)
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
    ("source", "limits", "reason"),
    [
        ("int main(){return 1;}", LIMITS, "exited with code 1"),
        ("int main(){for(;;);}", SPINNING, "out of CPU time"),
        ("#include <unistd.h>\nint main(){pause();}", SLEEPER, "out of time"),
        ("#include <cstdlib>\nint main(){abort();}", LIMITS, "killed by signal 6"),
        (
            "#include <vector>\nint main(){std::vector<char> v(900<<20,1); return v[3];}",
            LIMITS,
            "out of memory",
        ),
    ],
    ids=["exits", "spins", "sleeps", "aborts", "touches memory"],
)
def test_a_checker_that_breaks_is_no_verdict(
    bench: Bench, source: str, limits: PlanLimits, reason: str
) -> None:
    checker = PlanChecker(kind="cms", argv=("checker",), limits=limits)
    line = bench.one(ECHO, "x", "x", checker=checker, checker_source=source)
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


@pytest.mark.sample("")
def test_testlib_checkers_get_the_files_in_testlibs_order(bench: Bench) -> None:
    source = """#include <fstream>
#include <string>
int main(int, char** argv) {
  std::string output, answer;
  std::ifstream(argv[2]) >> output;
  std::ifstream(argv[3]) >> answer;
  return !(output == "mine" && answer == "theirs");
}
"""
    assert bench.one(ECHO, "mine", "theirs", checker=TESTLIB, checker_source=source).score == 1


VALIDATOR = """#include <fstream>
#include <iostream>
#include <string>
int main(int argc, char** argv) {
  std::string input, answer, output, folder = argv[3];
  std::ifstream(argv[1]) >> input;
  std::ifstream(argv[2]) >> answer;
  std::cin >> output;
  std::ofstream(folder + "judgemessage.txt") << "saw " << output;
  if (argc == 5) std::ofstream(folder + "score.txt") << argv[4];
  return output == answer ? 42 : output == "crash" ? 1 : 43;
}
"""


def test_icpc_validators(bench: Bench) -> None:
    icpc = PlanChecker(kind="icpc", argv=("checker",), limits=LIMITS)
    judged = bench.judge(
        ECHO, [("x", "x"), ("x", "y"), ("crash", "y"), ("x", "x")], checker=icpc, checker_source=VALIDATOR
    )
    assert [judged.tests[i].score for i in range(4)] == [1, 0, 0, 1]
    assert judged.tests[0].feedback == "saw x"
    assert "exited with code 1" in judged.tests[2].feedback
    assert "it accepts the reference answer" in judged.tests[2].feedback


def test_icpc_scores(bench: Bench) -> None:
    icpc = PlanChecker(kind="icpc", argv=("checker", "15"), limits=LIMITS, full=60)
    assert bench.one(ECHO, "x", "x", checker=icpc, checker_source=VALIDATOR).score == 0.25
    over = PlanChecker(kind="icpc", argv=("checker", "61"), limits=LIMITS, full=60)
    assert bench.one(ECHO, "x", "x", checker=over, checker_source=VALIDATOR).failure is not None


@pytest.mark.sample("")
@pytest.mark.parametrize(
    ("writes", "score"),
    [({"score.txt": "30"}, 0.5), ({"score_multiplier.txt": "0.25"}, 0.25), ({}, 1)],
)
def test_scores_in_points_or_as_a_part(bench: Bench, writes: dict[str, str], score: float) -> None:
    lines = "".join(f'std::ofstream(folder + "{name}") << "{text}";' for name, text in writes.items())
    source = (
        f"#include <fstream>\nint main(int, char** v) {{ std::string folder = v[3]; {lines} return 42; }}"
    )
    icpc = PlanChecker(kind="icpc", argv=("checker",), limits=LIMITS, full=60)
    assert bench.one(ECHO, "x", "x", checker=icpc, checker_source=source).score == score


@pytest.mark.sample("")
@pytest.mark.parametrize(
    ("writes", "words"),
    [
        ({"score.txt": "30", "score_multiplier.txt": "1"}, "wrote score.txt and score_multiplier.txt"),
        ({"score_multiplier.txt": "2"}, "printed no score between 0 and 1"),
        ({"score.txt": ""}, "printed no score between 0 and 60"),
        ({"score_multiplier.txt": ""}, "printed no score between 0 and 1"),
    ],
)
def test_scores_that_say_nothing(bench: Bench, writes: dict[str, str], words: str) -> None:
    lines = "".join(f'std::ofstream(folder + "{name}") << "{text}";' for name, text in writes.items())
    source = (
        f"#include <fstream>\nint main(int, char** v) {{ std::string folder = v[3]; {lines} return 42; }}"
    )
    icpc = PlanChecker(kind="icpc", argv=("checker",), limits=LIMITS, full=60)
    assert words in (bench.one(ECHO, "x", "x", checker=icpc, checker_source=source).failure or "")


# Counts its passes in a file of its own; the output is what it does next: code, whether there is a next pass, and its input.
PASSES = """#include <fstream>
#include <string>
int main(int, char** argv) {
  std::string folder = argv[3], seen, given, code, next;
  std::ifstream(folder + "seen") >> seen;
  std::ifstream input(argv[1]), output("/dev/stdin");
  input >> given;
  output >> code >> next;
  if (seen + "1" != given) return 9;
  std::ofstream(folder + "seen") << given;
  std::ofstream(folder + "judgemessage.txt", std::ios::app) << "pass " << given << "; ";
  if (!next.empty()) std::ofstream(folder + "nextpass.in") << next;
  return std::stoi(code);
}
"""
# Goes on until it has read as many digits as it was told by its first word's last one.
AGAIN = """#include <iostream>
#include <string>
int main() {
  std::string given;
  std::cin >> given;
  if (given.size() < 3) std::cout << "42 " << given << "1";
  else std::cout << "42";
}
"""


def test_several_passes(bench: Bench) -> None:
    three = PlanChecker(kind="icpc", argv=("checker",), limits=LIMITS, passes=3)
    judged = bench.judge(AGAIN, [("1", ""), ("1", "")], checker=three, checker_source=PASSES)
    for index in range(2):  # nothing of a test is left for the next one
        assert (judged.tests[index].score, judged.tests[index].failure) == (1, None), judged
        assert judged.tests[index].feedback == "pass 1; pass 11; pass 111;"
    two = msgspec.structs.replace(three, passes=2)
    failure = bench.one(AGAIN, "1", checker=two, checker_source=PASSES).failure
    assert failure == "the checker asked for more than 2 passes"


def test_a_test_of_several_passes_tells_the_most_that_one_of_them_used(bench: Bench) -> None:
    source = AGAIN.replace("int main() {", "int main() {\n  std::string kept;")
    source = source.replace("  if (", '  if (given == "1") kept.assign(40 << 20, given[0]);\n  if (')
    checker = PlanChecker(kind="icpc", argv=("checker",), limits=LIMITS, passes=3)
    line = bench.one(source, "1", checker=checker, checker_source=PASSES)
    assert (line.end, line.score) == ("ok", 1) and line.memory > 40 << 20


@pytest.mark.parametrize(
    ("says", "end", "score", "failure"),
    [
        ("42", "ok", 1, ""),
        ("43", "ok", 0, ""),
        ("43 11", "", 0, "the checker asks for another pass, and rejects this one"),
        ("9 11", "", 0, "the checker asks for another pass, and rejects this one"),
        ("9", "", 0, "the checker exited with code 9"),
    ],
)
def test_the_end_of_a_pass(bench: Bench, says: str, end: str, score: float, failure: str) -> None:
    source = f'#include <cstdio>\nint main() {{ std::puts("{says}"); }}'
    checker = PlanChecker(kind="icpc", argv=("checker",), limits=LIMITS, passes=4)
    line = bench.one(source, "1", checker=checker, checker_source=PASSES)
    assert (line.end or "", line.score) == (end, score)
    assert (line.failure or "").startswith(failure)


@pytest.mark.sample("")
def test_arguments_of_single_tests(bench: Bench) -> None:
    icpc = PlanChecker(kind="icpc", argv=("checker",), limits=LIMITS, full=60)
    tests, own = [("x", "x")] * 3, {0: ["15"], 2: ["60"]}
    judged = bench.judge(ECHO, tests, checker=icpc, checker_source=VALIDATOR, arguments=own)
    assert [judged.tests[i].score for i in range(3)] == [0.25, 1, 1]
    words = PlanChecker(kind="tokens", case_sensitive=False)
    tests = [("a 1.4", "A 1.5"), ("a 1.4", "A 1.5"), ("a 1.5", "A 1.5"), ("a  1.5", "A 1.5")]
    tests += [("100", "110"), ("0.1", "0")]
    own = {
        0: ["float_tolerance", "0.2"],
        1: ["float_absolute_tolerance", "0.05", "float_relative_tolerance", "1e-9"],
        2: ["case_sensitive"],
        3: ["space_change_sensitive"],
        4: ["float_absolute_tolerance", "0.2"],
        5: ["float_relative_tolerance", "0.2"],
    }
    judged = bench.judge(ECHO, tests, checker=words, arguments=own)
    assert [judged.tests[i].score for i in range(6)] == [1, 0, 0, 0, 0, 0]


@pytest.mark.sample("")
@pytest.mark.parametrize(
    ("code", "said", "score"),
    [
        (150, "partially correct (150) not the best", 0.75),
        (0, "partially correct (0) nothing of it", 0),  # the exit code alone would be that of right ones
        (3, "partially correct (3) little", 0.015),
        (80, "partially correct (30) of another base", 0.15),
        (200, "partially correct (200) all of it", 1),
        (0, "ok partially correct (20)", 1),
        (1, "partially correct (20) but its code is another", 0),
    ],
)
def test_partly_right_in_testlibs_words(bench: Bench, code: int, said: str, score: float) -> None:
    source = f'#include <cstdio>\nint main() {{ std::fputs("{said}", stderr); return {code}; }}'
    line = bench.one(ECHO, "x", "y", checker=TESTLIB, checker_source=source)
    assert (line.end, line.score, line.feedback) == ("ok", score, said)


@pytest.mark.parametrize(
    ("said", "score"),
    [
        ("points 10 most of it", 0.25),
        ("points 40.0 all", 1),
        ("points 41 too many", None),
        ("partial 3/4", 0.75),
        ("partial 4/4", 1),
        ("partial 5/4", None),
    ],
)
def test_points_of_testlib_count_as_they_are(bench: Bench, said: str, score: float | None) -> None:
    source = f'#include <cstdio>\nint main() {{ std::fputs("{said}", stderr); return 7; }}'
    checker = PlanChecker(kind="testlib", argv=("checker",), limits=LIMITS, full=40)
    line = bench.one(ECHO, "x", "y", checker=checker, checker_source=source)
    assert (None if line.failure else line.score) == score
    assert (score is None) == ("no score between 0 and 40" in (line.failure or ""))


@pytest.mark.parametrize(("code", "score"), [(0, 1), (1, 0), (2, None)])
def test_exit_codes_alone(bench: Bench, code: int, score: float | None) -> None:
    checker = PlanChecker(kind="exit-code", argv=("checker",), limits=LIMITS)
    line = bench.one(ECHO, "x", "y", checker=checker, checker_source=f"int main() {{ return {code}; }}")
    assert (None if line.failure else line.score) == score


@pytest.mark.sample("")
@pytest.mark.parametrize(("said", "score"), [("1", 1), ("100", 1), ("0", 0), ("0.5", 0)])
def test_codeforces_checkers_are_scripts(bench: Bench, said: str, score: float) -> None:
    script = f"import sys\nassert [open(name).read() for name in sys.argv[1:]] == ['x', 'y', 'x']\nprint('{said}')\n"
    checker = PlanChecker(kind="codeforces", argv=("/usr/bin/python3", "checker.py"), limits=LIMITS)
    judged = bench.judge(ECHO, [("x", "y")], checker=checker, extra={"checker.py": script.encode()})
    assert (judged.tests[0].end, judged.tests[0].score) == ("ok", score), judged
    broken = bench.judge(ECHO, [("x", "z")], checker=checker, extra={"checker.py": script.encode()})
    assert broken.tests[0].failure == "the checker exited with code 1: AssertionError"
