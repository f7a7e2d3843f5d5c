"""One stage: starts `proctor box`, reads what comes out as it comes, and ends it when it says too much."""

from __future__ import annotations

import errno
import fcntl
import io
import os
import selectors
import subprocess
import time
from collections.abc import Iterable
from contextlib import ExitStack
from pathlib import Path
from threading import Lock

import msgspec

from ioi_eval.engines.embedded.leash import Leash
from ioi_eval.engines.embedded.spec import BoxSpec, decode_report, encode_spec
from ioi_eval.engines.embedded.statuses import stage_of
from ioi_eval.model.errors import BrokenReply, EngineOverloaded, EngineUnavailable
from ioi_eval.model.values import Stage
from ioi_eval.rules.limits import GRACE, patience

_PIECE = 1 << 18
_REPORT_BYTES = 1 << 20
_LAST_WORDS = 2000  # bytes of what a broken proctor said
_SEALS = fcntl.F_SEAL_WRITE | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_SEAL
_NO_ROOM = {errno.EAGAIN, errno.ENOMEM, errno.EMFILE, errno.ENFILE, errno.ENOSPC}


class Caps(msgspec.Struct, frozen=True):
    """How many bytes of a stage's output are taken."""

    stdout: int
    stderr: int


class _Pipe:
    """A stream of the box and what has come through it, up to a limit."""

    def __init__(self, name: str, cap: int) -> None:
        self.name, self._room = name, cap
        self.end, self.box_end = os.pipe()
        self.overflows = False
        self._taken = io.BytesIO()

    def read(self) -> bool:
        """Takes what is there; False at the end. What is over the limit is read and dropped."""
        piece = os.read(self.end, _PIECE)
        self.overflows = self.overflows or len(piece) > self._room
        if taken := piece[: self._room]:
            self._taken.write(taken)
            self._room -= len(taken)
        return bool(piece)

    def content(self) -> bytes:
        return self._taken.getvalue()

    def close_box_end(self) -> None:
        if self.box_end >= 0:
            os.close(self.box_end)
            self.box_end = -1

    def close(self) -> None:
        self.close_box_end()
        os.close(self.end)


def run_stage(proctor: Path, spec: BoxSpec, stdin: bytes, caps: Caps, leash: Leash, starting: Lock) -> Stage:
    """Runs a stage to its end. Output over a limit cuts the leash; so may whoever wants no more of it."""
    with ExitStack() as held:
        try:
            streams = _streams(held, caps)
            with starting:
                process = _start(held, proctor, spec, stdin, streams, leash)
        except OSError as error:
            raise _not_started(error) from error
        _read_all(streams, leash, _patience(spec))
        code = process.wait(GRACE)
    return _outcome(streams, code, leash)


def _streams(held: ExitStack, caps: Caps) -> tuple[_Pipe, _Pipe, _Pipe]:
    report = _pipe(held, "report", _REPORT_BYTES)
    return _pipe(held, "stdout", caps.stdout), _pipe(held, "stderr", caps.stderr), report


def _pipe(held: ExitStack, name: str, cap: int) -> _Pipe:
    pipe = _Pipe(name, cap)
    held.callback(pipe.close)
    return pipe


def _start(
    held: ExitStack,
    proctor: Path,
    spec: BoxSpec,
    stdin: bytes,
    streams: tuple[_Pipe, _Pipe, _Pipe],
    leash: Leash,
) -> subprocess.Popen[bytes]:
    stdout, stderr, report = streams
    text = encode_spec(msgspec.structs.replace(spec, report_fd=report.box_end, leash_fd=leash.end))
    plan = _sealed(held, text)
    process = subprocess.Popen(
        [proctor, "box", f"/proc/self/fd/{plan}"],
        stdin=_sealed(held, stdin),
        stdout=stdout.box_end,
        stderr=stderr.box_end,
        pass_fds=(plan, report.box_end, leash.end),
        env={},
        cwd="/",
        umask=0o022,
        start_new_session=True,  # an interrupt from the terminal is ours to handle
    )
    held.callback(_end, process)
    for pipe in streams:
        pipe.close_box_end()
    return process


def _sealed(held: ExitStack, content: bytes) -> int:
    """A descriptor to read `content` from, which nobody can change or let grow: no memory hides behind it."""
    handle = os.memfd_create("ioi-eval", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    held.callback(os.close, handle)
    with open(handle, "wb", closefd=False) as stream:
        stream.write(content)
    os.lseek(handle, 0, os.SEEK_SET)
    fcntl.fcntl(handle, fcntl.F_ADD_SEALS, _SEALS)
    return handle


def _end(process: subprocess.Popen[bytes]) -> None:
    """Nothing of ours outlives a stage, whatever went wrong in between."""
    if process.poll() is None:
        process.kill()
        process.wait()


def _patience(spec: BoxSpec) -> float | None:
    """Seconds after which a proctor is broken: it has to end the stage at the hard stop by itself."""
    return None if spec.limits.wall_ms is None else patience(spec.limits.wall_ms)


def _read_all(streams: Iterable[_Pipe], leash: Leash, patience: float | None) -> None:
    """Until every stream is at its end. One that says too much cuts the leash, and then patience is short."""
    deadline = None if patience is None else time.monotonic() + patience
    with selectors.PollSelector() as waiting:
        for pipe in streams:
            waiting.register(pipe.end, selectors.EVENT_READ, pipe)
        waiting.register(leash.end, selectors.EVENT_READ, None)
        while any(key.data for key in waiting.get_map().values()):
            events = waiting.select(None if deadline is None else max(0.0, deadline - time.monotonic()))
            if not events and deadline is not None and time.monotonic() >= deadline:
                raise BrokenReply("the proctor neither ended its box nor itself")
            for key, _ in events:
                if key.data is None or key.data.name == "report":
                    deadline = time.monotonic() + GRACE
                if key.data is None or not key.data.read():
                    waiting.unregister(key.fd)
                elif key.data.overflows:
                    leash.cut()


def _outcome(streams: tuple[_Pipe, _Pipe, _Pipe], code: int, leash: Leash) -> Stage:
    stdout, stderr, report = streams
    overflow = next((pipe.name for pipe in (stdout, stderr) if pipe.overflows), "")
    if leash.is_cut and not overflow:
        raise EngineUnavailable("the job was ended before it was done")
    if not report.content():
        words = stderr.content()[-_LAST_WORDS:].decode(errors="replace").strip()
        raise BrokenReply(
            f"the proctor ended with code {code} and without a report: {words or 'it said nothing'}"
        )
    return stage_of(decode_report(report.content()), stdout.content(), stderr.content(), overflow=overflow)


def _not_started(error: OSError) -> EngineOverloaded | EngineUnavailable:
    if error.errno in _NO_ROOM:
        return EngineOverloaded(f"no box can be started now: {error.strerror}")
    return EngineUnavailable(f"the proctor cannot be started: {error}")
