"""Checkers as the proctor is told of them."""

from __future__ import annotations

from typing import Any

from support.plans import PlanChecker, PlanLimits

ECHO = "#include <cstdio>\nint main(){int c; while((c=getchar())!=EOF) putchar(c);}"
# A checker that is none runs up to one of them: the time that this takes is the test's, too.
LIMITS = PlanLimits(cpu_ms=2000, wall_ms=30_000, memory=48 << 20)
# Of one that spins, on the output and on the answer.
SPINNING = PlanLimits(cpu_ms=150, wall_ms=30_000, memory=48 << 20)
CMS = PlanChecker(kind="cms", argv=("checker",), limits=LIMITS)
TESTLIB = PlanChecker(kind="testlib", argv=("checker",), limits=LIMITS)
# A checker that ends with the code and says the words that stand behind its files.
SAYING = (
    "#include <cstdio>\n#include <cstdlib>\nint main(int, char** v){fputs(v[5],stderr); return atoi(v[4]);}"
)


def saying(kind: str, code: int, words: str = "said so", full: float = 1.0) -> dict[str, Any]:
    """Return what a plan needs for a checker that says no more than that."""
    checker = PlanChecker(kind=kind, argv=("checker", str(code), words), limits=LIMITS, full=full)
    return {"checker": checker, "checker_source": SAYING}
