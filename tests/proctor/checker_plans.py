"""Plans and programs of checkers."""

from __future__ import annotations

from typing import Any

from support.proctor_protocol import PlanChecker, PlanLimits

ECHO = "#include <cstdio>\nint main(){int c; while((c=getchar())!=EOF) putchar(c);}"
# A program that is not a checker runs until it reaches a limit, and the test waits for it.
LIMITS = PlanLimits(cpu_ms=2000, wall_ms=30_000, memory=48 << 20)
# For a checker that loops forever, on the output and on the answer.
SPINNING = PlanLimits(cpu_ms=100, wall_ms=30_000, memory=48 << 20)
CMS = PlanChecker(kind="cms", argv=("checker",), limits=LIMITS)
TESTLIB = PlanChecker(kind="testlib", argv=("checker",), limits=LIMITS)
# A checker that prints the message and exits with the code that follow its files.
SAYING = (
    "#include <cstdio>\n#include <cstdlib>\nint main(int, char** v){fputs(v[5],stderr); return atoi(v[4]);}"
)


def saying(kind: str, code: int, words: str = "said so", full: float = 1.0) -> dict[str, Any]:
    """Return the parts of a plan for such a checker."""
    checker = PlanChecker(kind=kind, argv=("checker", str(code), words), limits=LIMITS, full=full)
    return {"checker": checker, "checker_source": SAYING}
