"""Run an agent and kill all its processes afterwards. Usage: `python keeper.py BYTES COMMAND`.

The keeper is the subreaper of all processes that the agent starts. It kills them when the agent exits, or
when the keeper's standard input is closed. So they also die with the process that started the keeper.
The first BYTES bytes of the agent's output go to standard output. The keeper imports only few modules of the
standard library, because it is started for each program that an agent writes.
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

_TERM_GRACE_S = 0.5  # seconds between the signals SIGTERM and SIGKILL
_KILL_TIMEOUT_S = 5.0  # maximum seconds to wait for killed processes, which may still be in a system call
_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36
_STDOUT = 1  # file descriptor


class Keeper:
    """Runs a command, forwards at most `max_output_bytes` of its output, and kills all its processes."""

    def __init__(self, max_output_bytes: int, command: str) -> None:
        self._remaining_bytes, self._dropped_bytes = max_output_bytes, 0
        self._exit_code: int | None = None  # exit code of the agent; None while it runs
        self._output, write = os.pipe()
        os.set_blocking(self._output, False)
        self._wakeup, wake = os.pipe()
        for end in (self._wakeup, wake):
            os.set_blocking(end, False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(wake)
        libc = ctypes.CDLL(None)
        libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        # Keep a reference: if this Popen object were garbage-collected, it would reap the agent.
        self._process = subprocess.Popen(
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
        """Wait until the agent exits or standard input closes, kill all processes, return the exit code."""
        while self._exit_code is None and not self._wait_for_events(None, descriptors=[0]):
            self._reap_children()
        self._end_descendants()
        self._forward_output()
        if self._dropped_bytes:
            os.write(_STDOUT, f"\n[{self._dropped_bytes} more bytes are omitted]\n".encode())
        return 0 if self._exit_code is None else self._exit_code

    def _wait_for_events(self, seconds: float | None, descriptors: list[int]) -> bool:
        """Wait for output, a signal or one of the descriptors. Return True if standard input was closed."""
        ready = select.select(
            [self._wakeup, *([self._output] if self._output >= 0 else []), *descriptors], [], [], seconds
        )[0]
        if self._wakeup in ready:
            os.read(self._wakeup, 4096)
        if self._output in ready:
            self._forward_output()
        return 0 in ready and not os.read(0, 4096)

    def _forward_output(self) -> None:
        """Forward the available output. Drop output over the limit, so that the agent never blocks."""
        if self._output < 0:
            return
        with contextlib.suppress(BlockingIOError):
            for _ in range(64):
                piece = os.read(self._output, 1 << 16)
                if not piece:
                    os.close(self._output)
                    self._output = -1
                    return
                forwarded = piece[: self._remaining_bytes]
                self._remaining_bytes -= len(forwarded)
                self._dropped_bytes += len(piece) - len(forwarded)
                _write_output(forwarded)

    def _reap_children(self) -> bool:
        """Reap processes that have exited. Return True if no process is left."""
        try:
            while True:
                number, status = os.waitpid(-1, os.WNOHANG)
                if number == 0:
                    return False
                if number == self._agent:
                    code = os.waitstatus_to_exitcode(status)
                    self._exit_code = code if code >= 0 else 128 - code
        except ChildProcessError:
            return True

    def _end_descendants(self) -> None:
        """End all descendants: first by SIGTERM, then by SIGKILL until none is left."""
        started = time.monotonic()
        self._send_signal(signal.SIGTERM)
        while not self._reap_children() and time.monotonic() < started + _TERM_GRACE_S:
            self._wait_for_events(0.05, descriptors=[])
        while not self._reap_children() and time.monotonic() < started + _KILL_TIMEOUT_S:
            self._send_signal(signal.SIGKILL)
            self._wait_for_events(0.01, descriptors=[])

    def _send_signal(self, number: int) -> None:
        """Send a signal to the agent's process group and to all children."""
        if self._exit_code is None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._agent, number)
        for child in _find_children():
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(child, number)


def _write_output(piece: bytes) -> None:
    """Write the bytes to standard output, or drop them if that fails."""
    while piece:
        try:
            piece = piece[os.write(_STDOUT, piece) :]
        except OSError:  # if the disk is full, discard the output, so that the agent is not blocked
            return


def _find_children() -> list[int]:
    """Return the ids of this process's children, which include orphans of other descendants."""
    children = []
    for name in os.listdir("/proc"):  # noqa: PTH208 - pathlib is slow to import
        if name.isdigit():
            with contextlib.suppress(OSError), open(f"/proc/{name}/stat", "rb") as stat:  # noqa: PTH123
                if int(stat.read().rpartition(b")")[2].split()[1]) == os.getpid():
                    children.append(int(name))
    return children


if __name__ == "__main__":
    for stop in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        # Only the end of standard input stops the keeper. Agents do not inherit this handler.
        signal.signal(stop, lambda *_: None)
    sys.exit(Keeper(int(sys.argv[1]), sys.argv[2]).run())
