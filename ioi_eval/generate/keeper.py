"""Runs one agent and leaves nothing of it. A program of its own: `python keeper.py BYTES COMMAND`.

It adopts whatever the agent's children leave behind, and ends all of them when the agent has ended or when
its own standard input has, which is how whoever started it says so, alive or killed. What they print goes to
its standard output, so many bytes of it. Only the standard library, and little of that: it is started for
every program that is asked for.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import select
import signal
import subprocess
import sys
import time

_GRACE = 0.5  # seconds between asking to end and ending it
_PERSISTENCE = 5.0  # seconds for what does not die of SIGKILL at once: it is in the kernel
_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36
_LOG = 1  # our standard output


class Keeper:
    def __init__(self, most: int, command: str) -> None:
        self._room, self._lost = most, 0
        self._ended: int | None = None  # the agent's exit code
        self._output, write = os.pipe()
        os.set_blocking(self._output, False)
        self._alarm, wake = os.pipe()
        for end in (self._alarm, wake):
            os.set_blocking(end, False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(wake)
        libc = ctypes.CDLL(None)
        libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        self._process = subprocess.Popen(  # to be kept: thrown away it would bury the agent itself
            ["/bin/sh", "-c", command],
            stdin=subprocess.DEVNULL,
            stdout=write,
            stderr=write,
            start_new_session=True,
            preexec_fn=lambda: libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0),
        )
        self._agent = self._process.pid
        os.close(write)

    def run(self) -> int:
        while self._ended is None and not self._wait(None, also=[0]):
            self._reap()
        self._end()
        self._read()
        if self._lost:
            os.write(_LOG, f"\n[{self._lost} more bytes are left out]\n".encode())
        return 0 if self._ended is None else self._ended

    def _wait(self, seconds: float | None, also: list[int]) -> bool:
        """Until there is news. Whether it is that we are to end."""
        ready = select.select(
            [self._alarm, *([self._output] if self._output >= 0 else []), *also], [], [], seconds
        )[0]
        if self._alarm in ready:
            os.read(self._alarm, 4096)
        if self._output in ready:
            self._read()
        return 0 in ready and not os.read(0, 4096)

    def _read(self) -> None:
        """Read what is there, also where there is no room for it: nobody shall wait for us."""
        if self._output < 0:
            return
        with contextlib.suppress(BlockingIOError):
            for _ in range(64):
                piece = os.read(self._output, 1 << 16)
                if not piece:
                    os.close(self._output)
                    self._output = -1
                    return
                kept = piece[: self._room]
                self._room -= len(kept)
                self._lost += len(piece) - len(kept)
                _write(kept)

    def _reap(self) -> bool:
        """Buries who has ended. Whether nobody is left."""
        try:
            while True:
                number, status = os.waitpid(-1, os.WNOHANG)
                if number == 0:
                    return False
                if number == self._agent:
                    code = os.waitstatus_to_exitcode(status)
                    self._ended = code if code >= 0 else 128 - code
        except ChildProcessError:
            return True

    def _end(self) -> None:
        """All who descend from us: asked first, then killed, until nobody is left."""
        begin = time.monotonic()
        self._signal(signal.SIGTERM)
        while not self._reap() and time.monotonic() < begin + _GRACE:
            self._wait(0.05, also=[])
        while not self._reap() and time.monotonic() < begin + _PERSISTENCE:
            self._signal(signal.SIGKILL)
            self._wait(0.01, also=[])

    def _signal(self, number: int) -> None:
        if self._ended is None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._agent, number)
        for child in _children():
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(child, number)


def _write(piece: bytes) -> None:
    while piece:
        try:
            piece = piece[os.write(_LOG, piece) :]
        except OSError:  # a full disk is no reason to let the agent wait
            return


def _children() -> list[int]:
    """The children of one that dies become ours, so the next look finds them."""
    found = []
    for name in os.listdir("/proc"):  # noqa: PTH208 - pathlib is slow to import
        if name.isdigit():
            with contextlib.suppress(OSError), open(f"/proc/{name}/stat", "rb") as stat:  # noqa: PTH123
                if int(stat.read().rpartition(b")")[2].split()[1]) == os.getpid():
                    found.append(int(name))
    return found


if __name__ == "__main__":
    for stop in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(
            stop, lambda *_: None
        )  # our standard input says when to end; agents do not inherit this
    sys.exit(Keeper(int(sys.argv[1]), sys.argv[2]).run())
