"""Busy processes that a test's own have to share the processors with."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path

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


@contextlib.contextmanager
def stopped_meanwhile(program: str, *, after: float, seconds: float) -> Iterator[list[str]]:
    """When `program` runs, all that this process has started stands still for a while; its names."""
    stopped: list[str] = []
    over = threading.Event()
    pausing = threading.Thread(target=_pause, args=(program, after, seconds, stopped, over))
    pausing.start()
    try:
        yield stopped
    finally:
        over.set()
        pausing.join()


def _pause(program: str, after: float, seconds: float, stopped: list[str], over: threading.Event) -> None:
    while program not in map(_name, _below(os.getpid())):
        if over.wait(0.005):
            return
    time.sleep(after)
    found = _below(os.getpid())
    stopped += map(_name, found)
    _send(signal.SIGSTOP, found)
    time.sleep(seconds)
    _send(signal.SIGCONT, found)


def _send(number: signal.Signals, pids: list[int]) -> None:
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):  # it has ended meanwhile
            os.kill(pid, number)


def _below(pid: int) -> list[int]:
    """Its descendants, each after its parent."""
    found = []
    with contextlib.suppress(OSError):  # it may end meanwhile
        for task in Path(f"/proc/{pid}/task").iterdir():
            for child in map(int, (task / "children").read_text().split()):
                found += [child, *_below(child)]
    return found


def _name(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")[0].decode()
    except OSError:
        return ""
