"""Kernel memory that a program can allocate in addition to the memory that it touches."""

from __future__ import annotations

import resource

import pytest
from harness import EVERYTHING, Bench
from support.proctor_protocol import PlanLimits, PlanSubmission

READER = """#include <sys/mman.h>
#include <unistd.h>
int main() {
  volatile char* p = (volatile char*)mmap(nullptr, 1l << 38, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  long sum = 0;
  for (long i = 0; i < 60000; i++) sum += p[i << 21];
  for (;;) pause();
  return (int)sum;
}
"""
WRITER = """#include <cstdio>
#include <unistd.h>
int main() {
  char b;
  for (int fd = 1; fd < 3; fd++) if (write(fd, "x", 1) != 1 || pread(fd, &b, 1, 0) == 1) return 1;
}
"""
CORE = """#include <cstdio>
#include <sys/resource.h>
int main() { rlimit l; getrlimit(RLIMIT_CORE, &l); printf("%lu %lu", (long)l.rlim_cur, (long)l.rlim_max); }
"""


# These tests do not depend on layers.
whole = pytest.mark.parametrize("bench", [EVERYTHING], ids=["everything"], indirect=True)


@whole
def test_page_tables_count_as_memory(bench: Bench) -> None:
    """A page that is only read uses no memory itself, but its page table does."""
    limits = PlanLimits(cpu_ms=10_000, wall_ms=30_000, memory=64 << 20)
    line = bench.one(READER, limits=limits, submission=PlanSubmission(argv=("submission",)))
    assert line.end == "memory", line


@whole
def test_crash_writes_and_pipes_no_core_dump(bench: Bench) -> None:
    """Even with a limit of 0 the kernel would start a core dump handler."""
    if resource.getrlimit(resource.RLIMIT_CORE)[1] == 0:
        pytest.skip("the parent process forbids core dumps")
    line = bench.one(CORE, answer="1 1")
    assert (line.end, line.score) == ("ok", 1), line


def test_program_cannot_read_its_output_file(bench: Bench) -> None:
    """Otherwise files in memory would be uncounted memory."""
    line = bench.one(WRITER, answer="x")
    assert (line.end, line.score) == ("ok", 1), line
