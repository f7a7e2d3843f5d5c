"""Context managers that load, pin or suspend processes while a test runs."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path

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


@contextlib.contextmanager
def suspended_descendants(program: str, *, after: float, seconds: float) -> Iterator[list[str]]:
    """Suspend all descendants of this process for some seconds, once `program` runs.

    Yields the list of the suspended programs' names, which is filled when they are suspended.
    """
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
    descendants = _below(os.getpid())
    stopped += map(_name, descendants)
    _send(signal.SIGSTOP, descendants)
    time.sleep(seconds)
    _send(signal.SIGCONT, descendants)


def _send(number: signal.Signals, pids: list[int]) -> None:
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):  # the process has exited
            os.kill(pid, number)


def _below(pid: int) -> list[int]:
    """Return the descendants of a process, each after its parent."""
    descendants = []
    with contextlib.suppress(OSError):  # the process may exit during the search
        for task in Path(f"/proc/{pid}/task").iterdir():
            for child in map(int, (task / "children").read_text().split()):
                descendants += [child, *_below(child)]
    return descendants


def _name(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")[0].decode()
    except OSError:
        return ""
