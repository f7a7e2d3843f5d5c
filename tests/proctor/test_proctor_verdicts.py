"""Every way in which a submission can terminate, with every combination of layers."""

from __future__ import annotations

import os
import secrets
import time
from concurrent.futures import ThreadPoolExecutor
from signal import SIGCONT, SIGKILL, SIGSTOP, SIGTERM

import pytest
from built_programs import by_word
from checker_plans import CMS, ECHO
from cpu_load import single_processor
from harness import LIMITS, SLEEPER, SPINNER, Bench
from leftovers import named
from support.proctor_protocol import PlanGroup, PlanLimits, PlanManager, PlanSubmission

# What becomes of a program does not hang on which layers confine it; the long run tries every mixture.
pytestmark = pytest.mark.nightly(unless="everything")

SUM = '#include <cstdio>\nint main(){int a,b; scanf("%d %d",&a,&b); printf("%d\\n",a+b);}'
SUM_PYTHON = "a, b = map(int, input().split())\nprint(a + b)\n"


def test_right_and_wrong_outputs_are_scored(bench: Bench) -> None:
    result = bench.judge(SUM, [("1 2\n", "3\n"), ("1 2\n", "4\n"), ("1 2\n", "  3 \n\n")])
    assert [result.tests[i].score for i in range(3)] == [1, 0, 1]
    assert [result.tests[i].end for i in range(3)] == ["ok"] * 3
    assert result.tests[1].feedback == "Output isn't correct"
    assert result.tests[0].memory > 0 and result.tests[0].wall_us > 0 and result.tests[0].cpu_us > 0


def test_python_runs_with_the_interpreter_of_the_system(bench: Bench) -> None:
    assert bench.one(SUM_PYTHON, "20 22\n", "42\n", language="python").score == 1


BAD_ENDS: dict[str, tuple[str, PlanLimits, str, int, int]] = {
    "spins": ("for (;;);", SPINNER, "cpu", 0, 9),
    "sleeps": ("for (;;) sleep(1);", SLEEPER, "wall", 0, 9),
    "touches memory": ("memset(block = (char*)malloc(200 << 20), 1, 200 << 20);", LIMITS, "memory", 0, 9),
    "writes": ("for (;;) fwrite(many, 1, sizeof many, stdout);", LIMITS, "output", 0, 25),
    "writes errors": ("for (;;) fwrite(many, 1, sizeof many, stderr);", LIMITS, "output", 0, 25),
    "exits": ("return 7;", LIMITS, "exit", 7, 0),
    "aborts": ("abort();", LIMITS, "signal", 0, 6),
    "null": ("volatile int* p = nullptr; return *p;", LIMITS, "signal", 0, 11),
    "divides": ("volatile int zero = 0; return 5 / zero;", LIMITS, "signal", 0, 8),
    "kills itself": ("raise(SIGKILL);", LIMITS, "signal", 0, 31),
    "kills its first thread": ("syscall(SYS_tkill, getpid(), SIGKILL);", LIMITS, "signal", 0, 31),
    "limits its CPU time": (
        "rlimit low = {1, 1}; if (setrlimit(RLIMIT_CPU, &low)) return 7;"
        "if (syscall(SYS_prlimit64, 0, RLIMIT_CPU, &low, nullptr)) return 8;"
        "return !getrlimit(RLIMIT_CPU, &low) && low.rlim_cur > 1 ? 5 : 9;",
        LIMITS,
        "exit",
        5,
        0,
    ),
    "pretends to be out of time": ("raise(SIGXCPU);", LIMITS, "signal", 0, 24),
    "writes far away": (
        "lseek(1, 1 << 30, SEEK_SET); return write(1, many, 1) != 1;",
        LIMITS,
        "output",
        0,
        25,
    ),
    "writes far away at once": ("return pwrite(2, many, 1, 1 << 30) != 1;", LIMITS, "output", 0, 25),
    "extends the file": ("return ftruncate(1, 1 << 30);", LIMITS, "output", 0, 25),
    "pretends to write too much": ("raise(SIGXFSZ);", LIMITS, "output", 0, 25),
}
ENDING = by_word(
    """#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>
char* volatile block;
char many[5000];""",
    {name: source for name, (source, *_) in BAD_ENDS.items()},
)


@pytest.mark.parametrize("name", BAD_ENDS)
def test_crashed_program_reports_its_ending_and_signal(bench: Bench, name: str) -> None:
    _, limits, *expected = BAD_ENDS[name]
    line = bench.one(
        ENDING, limits=limits, submission=PlanSubmission(argv=("submission", name), address_space=True)
    )
    assert [line.end, line.code, line.signal, line.score] == [*expected, 0]


STAYS = """#include <cstdio>
#include <sys/prctl.h>
#include <unistd.h>
int main() {
  char word[99] = "";
  if (std::scanf("%98s", word) != 1) return 1;
  if (word[0] == 's' && prctl(PR_SET_NAME, word) == 0) for (;;) pause();
  std::puts(word);
}
"""
PASSES_ON = """#include <cstdio>
int main(int, char** names) {
  char token[99] = "";
  std::FILE *from = std::fopen(names[1], "r"), *to = std::fopen(names[2], "w");
  if (std::scanf("%98s", token) != 1) return 1;
  std::fprintf(to, "%s\\n", token);
  std::fflush(to);
  std::puts(std::fscanf(from, "%98s", token) == 1 ? "1" : "0");
}
"""


@pytest.mark.parametrize("task_type", ["Batch", "Communication"])
@pytest.mark.parametrize(
    ("watcher", "program", "words"),
    [
        (0, SIGKILL, "the program was killed from outside, not by a limit"),
        (SIGTERM, 0, "the program was killed from outside, not by a limit"),
        (SIGTERM, SIGTERM, "the program was killed from outside, not by a limit"),
        (SIGKILL, 0, "the supervisor died"),
    ],
)
def test_program_killed_from_outside_gets_no_verdict(
    bench: Bench, task_type: str, watcher: int, program: int, words: str
) -> None:
    """The kernel kills processes when memory is short. The test gets no verdict, and other tests are judged."""
    mark = f"s{secrets.token_hex(6)}"
    more = {"manager_source": PASSES_ON, "manager": PlanManager(argv=("manager",), limits=LIMITS)}
    with ThreadPoolExecutor(1) as executor:
        tests = [(f"{mark}\n", f"{mark}\n"), ("goes\n", "goes\n")]
        manager_plan = more if task_type == "Communication" else {}
        judging = executor.submit(bench.judge, STAYS, tests, task_type=task_type, **manager_plan)
        while not (folders := named(mark)) and not judging.done():
            time.sleep(0.01)
        above = int((folders[0] / "status").read_text().split("PPid:")[1].split()[0])
        os.kill(above, SIGSTOP)  # so that both come to it at once
        os.kill(int(folders[0].name), program)
        os.kill(above, watcher)
        if watcher != SIGKILL:
            os.kill(above, SIGCONT)
        reports = judging.result().tests
    assert (reports[0].outside, reports[0].end, reports[0].failure) == (True, None, words)
    assert (reports[1].end, reports[1].score, reports[1].outside) == ("ok", 1, False)


def test_allocated_but_untouched_memory_is_not_counted(bench: Bench) -> None:
    line = bench.one(
        "#include <cstdlib>\nint main(){char* p=(char*)malloc(2000ull<<20); p[5]=1; return p[5]-1;}"
    )
    assert line.end == "ok"
    assert line.memory < 16 << 20


def test_missing_memory_limit_means_no_address_limit(bench: Bench) -> None:
    names = """#include <sys/mman.h>
int main() {
  const int how = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
  return mmap(nullptr, 6ul << 30, PROT_READ, how, -1, 0) == MAP_FAILED;
}"""
    assert bench.one(names, limits=PlanLimits(cpu_ms=1000, wall_ms=60_000)).end == "ok"


def test_stack_is_limited_by_memory_limit(bench: Bench) -> None:
    deep = "int f(int n){volatile char pad[1000]; pad[0]=n; return n?f(n-1)+pad[0]:0;} int main(){f(40000);}"
    assert bench.one(deep).end == "ok"
    endless = (
        "int f(int n){volatile char pad[1000]; pad[0]=n; return f(n+1)+pad[0];} int main(){return f(0);}"
    )
    assert bench.one(endless).end == "memory"


def test_output_of_exactly_the_limit_is_accepted(bench: Bench) -> None:
    size = 1 << 20
    code = "#include <cstdio>\nint main(){for(int i=0;i<%d;i++) putchar('x');}"
    assert bench.one(code % size, answer="x" * size).score == 1
    assert bench.one(code % (size + 1), answer="x" * size).end == "output"


def test_program_reads_and_writes_named_files(bench: Bench) -> None:
    source = '#include <cstdio>\nint main(){int a,b; fscanf(fopen("sum.in","r"),"%d %d",&a,&b); fprintf(fopen("sum.out","w"),"%d",a+b);}'
    result = bench.judge(source, [("1 2", "3"), ("5 6", "11")], input_file="sum.in", output_file="sum.out")
    assert [result.tests[i].score for i in range(2)] == [1, 1]
    assert bench.one("int main(){}", "1 2", "3", input_file="sum.in", output_file="sum.out").score == 0


def test_missing_output_file_scores_0_even_if_the_answer_is_empty(bench: Bench) -> None:
    files = {"input_file": "sum.in", "output_file": "sum.out"}
    missing = bench.one("int main(){}", "", "", **files)
    assert (missing.end, missing.score, missing.feedback) == ("ok", 0, "The program wrote no file sum.out")
    assert bench.one('open("sum.out", "w").close()', "", "", language="python", **files).score == 1


def test_endless_output_exceeds_output_limit_not_memory_limit(bench: Bench) -> None:
    """The output file is in memory, so on a slow machine the memory limit could be noticed first."""
    slowly = """#include <cstdlib>
#include <fcntl.h>
#include <unistd.h>
char wave[1 << 18];
int main(int, char** argv) {
    int fd = open("sum.out", O_WRONLY);
    while (write(fd, wave, sizeof wave) > 0) usleep(atoi(argv[1]));
}"""
    limits = PlanLimits(cpu_ms=1000, wall_ms=60_000, hard_ms=600_000, memory=16 << 20, output=16 << 20)
    for wait in ("0", "20000"):
        waiting = PlanSubmission(argv=("submission", wait), address_space=True)
        ended = bench.one(
            slowly, submission=waiting, input_file="sum.in", output_file="sum.out", limits=limits
        )
        assert ended.end == "output", (wait, ended)


def test_last_line_of_error_stream_is_the_feedback(bench: Bench) -> None:
    line = bench.one("raise ValueError('no\\x1b[31m luck')", language="python")
    assert (line.end, line.code) == ("exit", 1)
    assert line.feedback == "ValueError: no [31m luck"


WORDS = {
    "java": (
        'Exception in thread "main" java.lang.IllegalStateException: no luck\n\tat Main.main(add.java:1)\n',
        'Exception in thread "main" java.lang.IllegalStateException: no luck',
    ),
    "java, deep": (
        "java.lang.StackOverflowError\n" + "\tat Main.f(add.java:1)\n" * 300,
        "java.lang.StackOverflowError",
    ),
    "java, by another": (
        "Caused by: java.io.IOException: x\n\tat Main.f(a.java:1)\n\t... 1 more\n",
        "Caused by: java.io.IOException: x",
    ),
    "node": (
        "/box/a.js:1\nthrow x\n^\n\nError: no luck\n    at f (a.js:1)\n\nNode.js v20.20.2\n",
        "Error: no luck",
    ),
    "node, an error with properties": (
        "/box/a.js:1\n^\n\nError: ENOENT: no such file, open '/nope'\n    at Object.openSync (node:fs:573:18)\n"
        "    at node:internal/main/run_main_module:28:49 {\n  errno: -2,\n  [cause]: Error: x\n      at f {\n"
        "    code: 1\n  }\n}\n\nNode.js v20.20.2\n",
        "Error: ENOENT: no such file, open '/nope'",
    ),
    "node, a module": (
        "Error: Cannot find module 'lodash'\nRequire stack:\n- /box/a.js\n    at f (a.js:1) {\n  code: 'x'\n}\n",
        "Error: Cannot find module 'lodash'",
    ),
    "node, no error": (
        "/box/a.js:1\nthrow 'no luck'\n^\nno luck\n(Use `node --trace-uncaught ...` to show where the exception was"
        " thrown)\n\nNode.js v20.20.2\n",
        "no luck",
    ),
    "haskell": (
        "submission: no luck\nCallStack (from HasCallStack):\n  error, called at a.hs:1:24 in main:Main\n",
        "submission: no luck",
    ),
    "pascal": (
        "An unhandled exception occurred at $00000000004010C6:\nEDivByZero: Division by zero\n  $00000000004010C6\n\n",
        "EDivByZero: Division by zero",
    ),
    "c#, by another": (
        "[ERROR] FATAL UNHANDLED EXCEPTION: System.Exception: outer ---> System.FormatException: no luck\n"
        "  at P.F () [0x0001] in <12b4>:0 \n   --- End of inner exception stack trace ---\n  at P.Main () [0x0001] in <12b4>:0 \n",
        "[ERROR] FATAL UNHANDLED EXCEPTION: System.Exception: outer ---> System.FormatException: no luck",
    ),
    "c++, its library": (
        'Error: out of bounds.\n\nObjects involved in the operation:\n    sequence "this" @ 0x7ff {\n    }\n',
        "Error: out of bounds.",
    ),
    "rust": (
        "thread 'main' panicked at 'no luck', a.rs:1:5\nnote: run with `RUST_BACKTRACE=1` environment variable\n",
        "thread 'main' panicked at 'no luck', a.rs:1:5",
    ),
    "go": ("panic: no luck\n\ngoroutine 1 [running]:\nmain.main()\n\t/box/a.go:4 +0x18\n", "panic: no luck"),
    "python": ("  File 'a'\n    at = 1\nValueError: no luck\r\n", "ValueError: no luck"),
    "nothing else": ("\tat Main.main\n\tat Main.f\n\n", "at Main.f"),
    "a long line": ("y" * 300 + "x" * 500, "x" * 500),
    "two lines": ("first\n  what():  second\n\n\n", "  what():  second"),
}


@pytest.mark.parametrize("name", WORDS)
def test_feedback_omits_source_file_locations(bench: Bench, name: str) -> None:
    written, feedback = WORDS[name]
    code = f"import os, sys\nsys.stderr.write({written!r})\nsys.stderr.flush()\nos._exit(1)"
    assert bench.one(code, language="python").feedback.strip() == feedback.strip()


def test_tests_of_decided_groups_are_skipped(bench: Bench) -> None:
    result = bench.judge(
        SUM,
        [("1 2", "4"), ("1 2", "3"), ("1 2", "3"), ("1 2", "3")],
        groups=[PlanGroup(rule="zero"), PlanGroup(rule="never")],
        members=[[0], [0], [0, 1], [1]],
    )
    assert [result.tests[i].skipped for i in range(4)] == [False, True, False, False]


def test_threshold_group_skips_tests_after_score_of_zero_or_above_threshold(bench: Bench) -> None:
    """Each group has two tests, of which the second scores 0.5."""
    prints_output = """#include <cstdio>
int main(int, char** v) { FILE* output = fopen(v[3], "r"); for (int c; (c = getc(output)) != EOF;) putchar(c); }"""
    result = bench.judge(
        ECHO,
        [(score, "") for first in ("0.5", "0.75", "0") for score in (first, "0.5")],
        checker=CMS,
        checker_source=prints_output,
        groups=[PlanGroup(rule="threshold", threshold=0.5)] * 3,
        members=[[0], [0], [1], [1], [2], [2]],
    )
    assert [result.tests[i].skipped for i in range(6)] == [False, False, False, True, False, True], result


def test_program_that_ignores_sigterm_is_killed(bench: Bench) -> None:
    source = "#include <csignal>\nint main(){for(int i=1;i<64;i++) signal(i,SIG_IGN); for(;;);}"
    assert bench.one(source, limits=SPINNER).end == "cpu"


@pytest.mark.nightly(unless="everything-100$")
@pytest.mark.parametrize("number", [100, 500])
def test_job_runs_hundreds_of_tests(bench: Bench, number: int, request: pytest.FixtureRequest) -> None:
    if request.config.getoption("--sanitize"):
        number = 100  # starting a program is five times as slow
    result = bench.judge(SUM, [(f"{i} 1", str(i + 1)) for i in range(number)])
    assert sum(line.score for line in result.tests.values()) == number


def test_proctor_reports_fatal_error_for_invalid_plan(bench: Bench) -> None:
    result = bench.judge(SUM, [("1 2", "3")], input_file="../x")
    assert result.lines == []  # no nonce was read
    assert '"fatal":"input_file: a file name expected"' in result.boxed.stdout


def test_wrong_output_is_reported_if_plan_requests_it(bench: Bench) -> None:
    says = '#include <cstdio>\nint main() { std::printf("one\\n\\ttwo \\x1b[31m \\xff%0999d", 3); }'
    assert bench.one(says, answer="1").output == ""
    echo = bench.one(says, answer="1", echo=20).output
    assert echo == "one\n\ttwo  [31m \ufffd0000"
    right = bench.judge(says.replace("%0999d", "%d"), [("", b"one\n\ttwo \x1b[31m \xff3")], echo=20)
    assert (right.tests[0].score, right.tests[0].output) == (1, "")


def test_partly_right_output_is_reported_if_plan_requests_it(bench: Bench) -> None:
    half = '#include <cstdio>\nint main() { std::puts("0.5"); }'
    line = bench.one(ECHO, "nearly", "x", checker=CMS, checker_source=half, echo=20)
    assert (line.score, line.output) == (0.5, "nearly")


def test_waiting_for_a_processor_is_not_counted_as_run_time(bench: Bench) -> None:
    """Four programs share a processor. Together they need longer than their wall-time limit."""
    busy = "#include <ctime>\nint main() { while (clock() < 0.1 * CLOCKS_PER_SEC); }"
    limits = PlanLimits(cpu_ms=10_000, wall_ms=150)
    bench.compiled(busy)
    with single_processor(), ThreadPoolExecutor(4) as pool:
        lines = list(pool.map(lambda _: bench.one(busy, limits=limits), range(4)))
    assert [line.end for line in lines] == ["ok"] * 4
    assert max(line.waited_us for line in lines) > limits.wall_ms * 1000
