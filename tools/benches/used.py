"""Read the CPU time of processes, for benchmarks."""

from __future__ import annotations

import os
import resource
from pathlib import Path

_TICKS = os.sysconf("SC_CLK_TCK")
# Indexes of the fields utime, stime, cutime and cstime in /proc/PID/stat, counted after the name.
_USED = slice(11, 15)


def read_cpu_seconds() -> float:
    """Return the CPU time of this process and all its descendants, running or exited."""
    usages = (resource.getrusage(whose) for whose in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in usages) + _read_children_cpu_seconds(os.getpid())


def read_process_tree_cpu_seconds(pid: int) -> float:
    """Return the CPU time of a process and all its descendants, running or exited."""
    process = Path(f"/proc/{pid}")
    try:
        fields = (process / "stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return 0.0  # the process has just exited
    return sum(map(int, fields[_USED])) / _TICKS + _read_children_cpu_seconds(pid)


def _read_children_cpu_seconds(pid: int) -> float:
    child_pids = list[int]()
    try:
        for children_file in Path(f"/proc/{pid}/task").glob("*/children"):
            child_pids += map(int, children_file.read_text().split())
    except (FileNotFoundError, ProcessLookupError):
        pass  # the process or one of its threads has just exited
    return sum(map(read_process_tree_cpu_seconds, child_pids))
