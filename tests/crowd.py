"""Busy processes that a test's own have to share the processors with."""

from __future__ import annotations

import contextlib
import os
import subprocess
from collections.abc import Iterator

# Whatever ends the tests ends them.
_BUSY = ("setpriv", "--pdeathsig", "KILL", "/bin/sh", "-c", "while :; do :; done")


@contextlib.contextmanager
def crowd(count: int) -> Iterator[None]:
    """Each in a session of its own: to the kernel forty in one are no load."""
    busy = [subprocess.Popen(_BUSY, start_new_session=True) for _ in range(count)]
    try:
        yield
    finally:
        for process in busy:
            process.kill()
        for process in busy:
            process.wait()


@contextlib.contextmanager
def one_processor() -> Iterator[None]:
    """For this process and all that it starts in the meantime."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(before)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)
