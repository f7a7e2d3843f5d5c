"""Submissions that are after a failure of the judge: whose result is a JudgeFailure is in no average. All get a verdict."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest
from harness import EVERYTHING, LANDLOCK_ALONE, LIMITS, NAMESPACES_ALONE, Bench
from support.proctor_protocol import PlanChecker, PlanLimits, PlanManager

JSON = PlanChecker(kind="json")
ROOMY = msgspec.structs.replace(LIMITS, output=32 << 20, cpu_ms=5000, wall_ms=20000)
PRINTER = """#include <cstdio>
static char text[BYTES + 1];
int main() { for (size_t i = 0; i < BYTES; i++) text[i] = i % 2 ? '0' : ','; text[0] = '['; text[BYTES] = ']'; fwrite(text, 1, sizeof text, stdout); }
"""


@pytest.fixture
def bench(workshop: Path, proctor: Path, compiled: Callable[[str], Path]) -> Bench:
    return Bench(workshop=workshop, proctor=proctor, compiled=compiled, layers=EVERYTHING)


def test_huge_json_list_does_not_fill_proctor_memory(bench: Bench) -> None:
    result = bench.judge(PRINTER.replace("BYTES", str(8 << 20)), [("", "[1, 2]")], checker=JSON, limits=ROOMY)
    assert result.tests[0].score == 0 and result.lines[-1].done
    assert result.boxed.report["memory"] < 128 << 20


def test_json_comparison_of_400_digit_integers_is_exact(bench: Bench) -> None:
    digits = "1" + "0" * 400
    result = bench.judge(
        f'#include <cstdio>\nint main() {{ puts("[{digits}]"); }}',
        [("", f"[ {digits}]"), ("", f"[ {digits[:-1]}1]"), ("", "[ 1e308]")],
        checker=JSON,
    )
    assert [result.tests[index].score for index in range(3)] == [1, 0, 0]


@pytest.mark.parametrize(
    "loader", ["/nowhere", "/usr/bin/ldd", "/", "/lib/ld-musl-x86_64.so.1", "a" * 5000, ""], ids=len
)
def test_invalid_program_file_is_a_runtime_error(bench: Bench, loader: str) -> None:
    """The file names an unusual loader, which is not checked before the program starts."""
    source = (
        f"""asm(".section .interp,\\"a\\",@progbits\\n.string \\"{loader}\\"\\n.text");\nint main() {{}}"""
    )
    assert bench.one(source).end == "exit"


FLOOD = """#include <csignal>
#include <cstring>
#include <unistd.h>
int main() { signal(SIGPIPE, SIG_IGN); static char b[65536]; memset(b, ' ', sizeof b); while (write(1, b, sizeof b) > 0) {} }
"""
# PATIENT reads white space forever, and GREEDY reads forever without a line break: each reaches a different limit.
PATIENT = """#include <cstdio>
int main(int argc, char** argv) { FILE* from = argc == 3 ? fopen(argv[1], "r") : stdin; int x; puts(fscanf(from, "%d", &x) == 1 ? "1" : "0"); }
"""
GREEDY = """#include <cstdio>
int main(int argc, char** argv) { FILE* from = argc == 3 ? fopen(argv[1], "r") : stdin; char* line = nullptr; size_t size = 0; puts(getline(&line, &size, from) < 0 ? "1" : "0"); }
"""
TIRELESS = "int main() { for (;;) {} }"


@pytest.mark.nightly(unless="namespaces[+]landlock")
@pytest.mark.parametrize("layers", [EVERYTHING, LANDLOCK_ALONE, NAMESPACES_ALONE], ids="+".join)
@pytest.mark.parametrize(
    ("manager", "task_type"),
    [(PATIENT, "Communication"), (GREEDY, "Communication"), (PATIENT, "Interactive")],
    ids=["patient", "greedy", "interactive"],
)
def test_submission_that_floods_the_judge_exceeds_output_limit(
    bench: Bench, manager: str, task_type: str, layers: tuple[str, ...]
) -> None:
    bench = replace(bench, layers=layers)
    kind = "cms" if task_type == "Communication" else "testlib"
    limits = msgspec.structs.replace(LIMITS, cpu_ms=10000, wall_ms=30000)
    flooded = PlanManager(argv=("manager",), kind=kind, limits=PlanLimits(cpu_ms=100, memory=64 << 20))
    line = bench.one(FLOOD, task_type=task_type, manager_source=manager, manager=flooded, limits=limits)
    assert (line.end, line.failure) == ("output", None)


@pytest.mark.parametrize("task_type", ["Communication", "Interactive"])
def test_slow_manager_without_excessive_input_is_a_judge_failure(bench: Bench, task_type: str) -> None:
    slow_manager = PlanManager(argv=("manager",), limits=PlanLimits(cpu_ms=100))
    line = bench.one("int main() {}", task_type=task_type, manager_source=TIRELESS, manager=slow_manager)
    assert line.failure == "the manager ran out of CPU time"
