"""Run an agent and kill all its processes afterwards. Usage: `python agent_supervisor.py BYTES COMMAND`.

The supervisor is the subreaper of all processes that the agent starts. It kills them when the agent exits,
or when the supervisor's standard input is closed. So they also die with the process that started the
supervisor. The first BYTES bytes of the agent's output go to standard output. The supervisor imports only
few modules of the standard library, because it is started for each program that an agent writes.
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


class AgentSupervisor:
    """Runs a command, forwards at most `max_output_bytes` of its output, and kills all its processes."""

    def __init__(self, max_output_bytes: int, command: str) -> None:
        self._remaining_bytes, self._dropped_bytes = max_output_bytes, 0
        self._exit_code: int | None = None  # exit code of the agent; None while it runs
        self._output_reader, output_writer = os.pipe()
        os.set_blocking(self._output_reader, False)
        self._wakeup_reader, wakeup_writer = os.pipe()
        for descriptor in (self._wakeup_reader, wakeup_writer):
            os.set_blocking(descriptor, False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(wakeup_writer)
        libc = ctypes.CDLL(None)
        libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        # Keep a reference: if this Popen object were garbage-collected, it would reap the agent.
        self._process = subprocess.Popen(
            ["/bin/sh", "-c", command],
            stdin=subprocess.DEVNULL,
            stdout=output_writer,
            stderr=output_writer,
            start_new_session=True,
            preexec_fn=lambda: libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0),
        )
        self._agent_pid = self._process.pid
        os.close(output_writer)

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
        ready_descriptors = select.select(
            [self._wakeup_reader, *([self._output_reader] if self._output_reader >= 0 else []), *descriptors],
            [],
            [],
            seconds,
        )[0]
        if self._wakeup_reader in ready_descriptors:
            os.read(self._wakeup_reader, 4096)
        if self._output_reader in ready_descriptors:
            self._forward_output()
        return 0 in ready_descriptors and not os.read(0, 4096)

    def _forward_output(self) -> None:
        """Forward the available output. Drop output over the limit, so that the agent never blocks."""
        if self._output_reader < 0:
            return
        with contextlib.suppress(BlockingIOError):
            for _ in range(64):
                piece = os.read(self._output_reader, 1 << 16)
                if not piece:
                    os.close(self._output_reader)
                    self._output_reader = -1
                    return
                forwarded_bytes = piece[: self._remaining_bytes]
                self._remaining_bytes -= len(forwarded_bytes)
                self._dropped_bytes += len(piece) - len(forwarded_bytes)
                _write_output(forwarded_bytes)

    def _reap_children(self) -> bool:
        """Reap processes that have exited. Return True if no process is left."""
        try:
            while True:
                pid, status = os.waitpid(-1, os.WNOHANG)
                if pid == 0:
                    return False
                if pid == self._agent_pid:
                    exit_code = os.waitstatus_to_exitcode(status)
                    self._exit_code = exit_code if exit_code >= 0 else 128 - exit_code
        except ChildProcessError:
            return True

    def _end_descendants(self) -> None:
        """End all descendants: first by SIGTERM, then by SIGKILL until none is left."""
        start_time = time.monotonic()
        self._send_signal(signal.SIGTERM)
        while not self._reap_children() and time.monotonic() < start_time + _TERM_GRACE_S:
            self._wait_for_events(0.05, descriptors=[])
        while not self._reap_children() and time.monotonic() < start_time + _KILL_TIMEOUT_S:
            self._send_signal(signal.SIGKILL)
            self._wait_for_events(0.01, descriptors=[])

    def _send_signal(self, signal_number: int) -> None:
        """Send a signal to the agent's process group and to all children."""
        if self._exit_code is None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._agent_pid, signal_number)
        for child_pid in _find_children():
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(child_pid, signal_number)


def _write_output(piece: bytes) -> None:
    """Write the bytes to standard output, or drop them if that fails."""
    while piece:
        try:
            piece = piece[os.write(_STDOUT, piece) :]
        except OSError:  # if the disk is full, discard the output, so that the agent is not blocked
            return


def _find_children() -> list[int]:
    """Return the ids of this process's children, which include orphans of other descendants."""
    child_pids = []
    for name in os.listdir("/proc"):  # noqa: PTH208 - pathlib is slow to import
        if name.isdigit():
            with contextlib.suppress(OSError), open(f"/proc/{name}/stat", "rb") as stat_file:  # noqa: PTH123
                if int(stat_file.read().rpartition(b")")[2].split()[1]) == os.getpid():
                    child_pids.append(int(name))
    return child_pids


if __name__ == "__main__":
    for stop in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        # Only the end of standard input stops the supervisor. Agents do not inherit this handler.
        signal.signal(stop, lambda *_: None)
    sys.exit(AgentSupervisor(int(sys.argv[1]), sys.argv[2]).run())
