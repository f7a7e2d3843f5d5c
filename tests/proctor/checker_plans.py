"""Checkers as the proctor is told of them."""

from __future__ import annotations

from support.plans import PlanChecker, PlanLimits

ECHO = "#include <cstdio>\nint main(){int c; while((c=getchar())!=EOF) putchar(c);}"
# A checker that is none runs up to one of them: the time that this takes is the test's, too.
LIMITS = PlanLimits(cpu_ms=2000, wall_ms=30_000, memory=48 << 20)
# Of one that spins.
SPINNING = PlanLimits(cpu_ms=300, wall_ms=30_000, memory=48 << 20)
CMS = PlanChecker(kind="cms", argv=("checker",), limits=LIMITS)
TESTLIB = PlanChecker(kind="testlib", argv=("checker",), limits=LIMITS)
