"""Context managers that load or pin processes while a test runs."""

from __future__ import annotations

import contextlib
import os
import subprocess
from collections.abc import Iterator

# A busy loop, which the kernel kills when the test process exits.
_BUSY = ("setpriv", "--pdeathsig", "KILL", "/bin/sh", "-c", "while :; do :; done")


@contextlib.contextmanager
def busy_processes(count: int) -> Iterator[None]:
    """Run busy loops in the background, in separate sessions, because the kernel schedules by session."""
    busy = [subprocess.Popen(_BUSY, start_new_session=True) for _ in range(count)]
    try:
        yield
    finally:
        for process in busy:
            process.kill()
        for process in busy:
            process.wait()


@contextlib.contextmanager
def single_processor() -> Iterator[None]:
    """Pin this process and its new children to a single processor."""
    allowed_processors = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(allowed_processors)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, allowed_processors)
