"""The proctor without system calls newer than Linux 4.19. docs/kernels.md lists tests on real old kernels."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from harness import EVERYTHING, Bench, Judged
from support.proctor_protocol import PlanLimits, PlanManager

OLD_KERNEL = (Path(__file__).parent / "old_kernel.cpp").read_text()
SCRIPT = "chmod +x old_kernel; exec ./old_kernel ./proctor run plan.json"
# The process waits only for the end of its input, so no other process may have the pipe open.
CLOSING_MANAGER = """#include <cstdio>
#include <cstdlib>
#include <cstring>
int number(const char* path) { return atoi(strrchr(path, '/') + 1); }
int main(int argc, char** argv) {
  int right = 1;
  for (int i = 1; i < argc; i += 2) {
    FILE *in = fdopen(number(argv[i]), "r"), *out = fdopen(number(argv[i + 1]), "w");
    int answer = -1;
    fputs("20 1", out); fclose(out);
    right &= fscanf(in, "%d", &answer) == 1 && answer == 21;
  }
  printf("%d\\n", right);
}
"""
SUM = '#include <cstdio>\nint main(){int x,sum=0; while(scanf("%d",&x)==1) sum+=x; printf("%d\\n",sum);}'
LOOKING = """#include <cstdio>
#include <dirent.h>
#include <fcntl.h>
int main(){int open=0; for(int fd=3;fd<4096;fd++) open+=fcntl(fd,F_GETFD)>=0; printf("%d\\n",open);}"""


@pytest.fixture
def old(workshop: Path, proctor: Path, compiled: Callable[[str], Path]) -> Callable[..., Judged]:
    bench = Bench(workshop=workshop, proctor=proctor, compiled=compiled, layers=EVERYTHING)
    extra = {"old_kernel": compiled(OLD_KERNEL).read_bytes()}
    return lambda *given, **more: bench.judge(*given, extra=extra, script=SCRIPT, **more)


def test_kernel_without_landlock_reports_the_missing_layer_and_judges(old: Callable[..., Judged]) -> None:
    result = old(LOOKING, [("", "0\n"), ("", "1\n")])
    start = result.lines[0].start
    assert start is not None
    assert start.confinement["landlock"] == 0
    assert start.confinement["missing"] == ["landlock: this kernel has none"]
    assert [result.tests[index].score for index in (0, 1)] == [1, 0], result


def test_communication_pipe_is_open_in_its_two_processes_only(old: Callable[..., Judged]) -> None:
    limits = PlanLimits(cpu_ms=5000, wall_ms=20000, memory=1 << 30)
    manager = PlanManager(argv=("manager",), limits=limits)
    result = old(
        SUM,
        [("", None)],
        task_type="Communication",
        manager_source=CLOSING_MANAGER,
        manager=manager,
        processes=3,
    )
    assert result.tests[0].score == 1, result
