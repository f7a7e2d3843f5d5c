"""Rewritten programs of CMS's functional tests get the results that CMS expects."""

from __future__ import annotations

import pytest
from built_programs import by_word
from harness import Bench
from support.proctor_protocol import PlanLimits, PlanSubmission

# What becomes of a program does not hang on which layers confine it; the long run tries every mixture.
pytestmark = pytest.mark.nightly(unless="everything")

HEAD = """
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <csignal>
#include <fcntl.h>
#include <sys/select.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
int ask(FILE* from) { int n = -1; return from && fscanf(from, "%d", &n) == 1 ? n : -1; }
void answer(FILE* to, int n) { if (to) fprintf(to, "correct %d\\n", n), fclose(to); }
"""
TESTS = [("0", "correct 0"), ("1", "correct 1")]
LIMITS = PlanLimits(cpu_ms=150, wall_ms=500, hard_ms=60_000, memory=64 << 20, output=16 << 20)
FILES = {"input_file": "input.txt", "output_file": "output.txt"}
IN, OUT = 'fopen("input.txt", "r")', 'fopen("output.txt", "w")'
READ = f"const int n = ask({IN});"
STREAMS = "const int n = ask(stdin);"

BY_FILES = {
    "correct-fileio": (f"{READ} answer({OUT}, n);", 2),
    "correct-freopen": (
        'freopen("input.txt", "r", stdin); freopen("output.txt", "w", stdout); answer(stdout, ask(stdin));',
        2,
    ),
    "incorrect-fileio": (f"answer({OUT}, 7);", 0),
    "half-correct-fileio": (f"{READ} answer({OUT}, n ? 7 : 0);", 1),
    "incorrect-fileio-nooutput": (f"{READ}", 0),
    "incorrect-fileio-emptyoutput": (f"{READ} fclose({OUT});", 0),
    "incorrect-fileio-with-stdio": ("answer(stdout, ask(stdin));", 0),
    "nonzero-return-fileio": (f"{READ} answer({OUT}, n); return 1;", 0),
    "write-forbidden-fileio": (
        f'{READ} if (FILE* other = fopen("other.txt", "w")) answer(other, n), answer({OUT}, n);',
        0,
    ),
    "executing-output": (
        f"""{READ} FILE* self = fopen("output.txt", "w"); fputs("#!/bin/sh\\necho ran\\n", self); fclose(self);
        chmod("output.txt", 0777); char* none[] = {{nullptr}}; execve("output.txt", none, none); answer({OUT}, n);""",
        2,
    ),
    "rewrite-input": (
        f'if (FILE* own = fopen("input.txt", "w")) {{ fputs("5", own); fclose(own); {READ} answer({OUT}, n - 5); }}',
        0,
    ),
    "delete-write-input": (
        f"""if (unlink("input.txt") == 0) if (FILE* own = fopen("input.txt", "w"))
        {{ fputs("5", own); fclose(own); {READ} answer({OUT}, n - 5); }}""",
        0,
    ),
    "write-big-fileio": (
        f"""{READ} FILE* to = {OUT}; fprintf(to, "correct %d\\n", n); static char part[1 << 20];
        memset(part, 32, sizeof part); for (int i = 0; i < 64; ++i) fwrite(part, 1, sizeof part, to); fclose(to);""",
        0,
    ),
}
BY_STREAMS = {
    "correct-stdio": (f"{STREAMS} answer(stdout, n);", 2, "ok"),
    "incorrect-stdio": ("answer(stdout, 7);", 0, "ok"),
    "half-correct-stdio": (f"{STREAMS} answer(stdout, n ? 7 : 0);", 1, "ok"),
    "nonzero-return-stdio": (f"{STREAMS} answer(stdout, n); return 1;", 0, "exit"),
    "timeout-cputime": ("for (volatile int i = 0;; i = i + 1) {}", 0, "cpu"),
    "timeout-pause": ("pause();", 0, "wall"),
    "timeout-sleep": ("sleep(1000);", 0, "wall"),
    "timeout-sigstop": ("raise(SIGSTOP);", 0, "wall"),
    "timeout-select": ("select(0, nullptr, nullptr, nullptr, nullptr);", 0, "wall"),
    "oom-heap": (
        f"{STREAMS} auto at = (volatile char*)malloc(300 << 20); for (int i = 0; i < 300 << 20; i += 4096) at[i] = 1; answer(stdout, n);",
        0,
        "memory",
    ),
    "oom-static": (
        f"{STREAMS} static volatile char at[300 << 20]; for (int i = 0; i < 300 << 20; i += 4096) at[i] = 1; answer(stdout, n);",
        0,
        "memory",
    ),
    "write-forbidden-stdio": (
        f'{STREAMS} if (FILE* other = fopen("other.txt", "w")) answer(other, n), answer(stdout, n);',
        0,
        "ok",
    ),
    # CMS removed this test when it permitted processes. Here only a package's runner file may fork.
    "fork": (f"{STREAMS} if (fork() == 0) answer(stdout, n);", 0, "ok"),
}


# Excluded: with its static memory, the shared program would be too large for the other tests.
PROGRAM = by_word(
    HEAD,
    {name: body for name, (body, *_) in [*BY_FILES.items(), *BY_STREAMS.items()] if name != "oom-static"},
)


@pytest.mark.parametrize("name", BY_FILES)
def test_cms_programs_run_with_files(bench: Bench, name: str) -> None:
    _, right = BY_FILES[name]
    submission = PlanSubmission(argv=("submission", name), address_space=True)
    result = bench.judge(PROGRAM, TESTS, submission=submission, limits=LIMITS, **FILES)
    assert sum(line.score for line in result.tests.values()) == right, result


@pytest.mark.parametrize("name", BY_STREAMS)
def test_cms_programs_run_with_standard_streams(bench: Bench, name: str) -> None:
    body, right, end = BY_STREAMS[name]
    program = f"{HEAD}int main() {{ {body} }}" if name == "oom-static" else PROGRAM
    submission = PlanSubmission(argv=("submission", name), address_space=True)
    tests = TESTS[:1] if end in ("cpu", "memory") else TESTS
    result = bench.judge(program, tests, submission=submission, limits=LIMITS)
    assert sum(line.score for line in result.tests.values()) == right, result
    assert result.tests[0].end == end
