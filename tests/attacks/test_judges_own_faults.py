"""Submissions that are after a failure of the judge: whose result is a JudgeFailure is in no average. All get a verdict."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from harness import EVERYTHING, LIMITS, Bench

from ioi_eval.protocol.proctor import PlanChecker

JSON = PlanChecker(kind="json")
ROOMY = msgspec.structs.replace(LIMITS, output=32 << 20, cpu_ms=5000, wall_ms=20000)
PRINTER = """#include <cstdio>
#include <string>
int main() { std::string text(BYTES, ','); for (size_t i = 1; i < text.size(); i += 2) text[i] = '0'; text[0] = '['; text += ']'; fwrite(text.data(), 1, text.size(), stdout); }
"""


@pytest.fixture
def bench(workshop: Path, proctor: Path, compiled: Callable[[str], Path]) -> Bench:
    return Bench(workshop=workshop, proctor=proctor, compiled=compiled, layers=EVERYTHING)


def test_a_list_of_millions_does_not_fill_the_proctors_memory(bench: Bench) -> None:
    judged = bench.judge(PRINTER.replace("BYTES", str(8 << 20)), [("", "[1, 2]")], checker=JSON, limits=ROOMY)
    assert judged.tests[0].score == 0 and judged.lines[-1].done
    assert judged.boxed.report["memory"] < 128 << 20


def test_whole_numbers_of_any_length_are_numbers(bench: Bench) -> None:
    digits = "1" + "0" * 400
    judged = bench.judge(
        f'#include <cstdio>\nint main() {{ puts("[{digits}]"); }}',
        [("", f"[ {digits}]"), ("", f"[ {digits[:-1]}1]"), ("", "[ 1e308]")],
        checker=JSON,
    )
    assert [judged.tests[index].score for index in range(3)] == [1, 0, 0]


@pytest.mark.parametrize(
    "loader", ["/nowhere", "/usr/bin/ldd", "/", "/lib/ld-musl-x86_64.so.1", "a" * 5000, ""], ids=len
)
def test_a_program_that_nobody_can_start_has_failed(bench: Bench, loader: str) -> None:
    """It names a loader of its own, of which nobody hears before it is to be started."""
    source = (
        f"""asm(".section .interp,\\"a\\",@progbits\\n.string \\"{loader}\\"\\n.text");\nint main() {{}}"""
    )
    assert bench.one(source).end == "exit"
