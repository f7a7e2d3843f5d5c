"""The persistent proctor: it executes the plans of many jobs, one after the other, in one sandbox.

It saves the time that other jobs need before their first test: two sandboxes, a shell, and the start of
Python, because its fork servers stay from one job to the next. They never read anything of a submission.

No error here is a verdict: the job runs without the persistent proctor, and the next job gets a new proctor.
"""

from __future__ import annotations

import logging
import os
import select
import selectors
import time
from contextlib import ExitStack
from pathlib import Path
from threading import Lock

import msgspec

from ioi_eval.engines.embedded.sandbox import (
    KillSwitch,
    OutputCaps,
    SandboxFile,
    SandboxSpec,
    Streams,
    fill,
    room_for_files,
    start,
)
from ioi_eval.engines.embedded.sandboxes import Sandboxes, remove_tree
from ioi_eval.model.errors import EngineError, EngineUnavailable
from ioi_eval.model.job import Ending, Job, JobFile
from ioi_eval.model.protocol import Plan
from ioi_eval.model.retry import LEFT_FOLDER, PERSISTENT_PROCTOR
from ioi_eval.model.values import TaskType
from ioi_eval.rules.limits import GRACE

_log = logging.getLogger(__name__)
_PIECE = 1 << 18
# Jobs that run without it after too many failures. The cause, such as a full disk, may be gone by then
_JOBS_WITHOUT = 1000
_END_S = 1.0  # time in which a proctor without further jobs ends
# End of the last line. No other line ends in this way: quotes in a program's output are escaped
_LAST_LINE_END = b',"done":true}\n'


PROCTOR = "./proctor"  # the program that starts a job with a plan
_MAX_TEST_BYTES = 1 << 20  # total size of a job's tests. They are copied; other jobs link them
_PLAN = msgspec.json.Decoder(Plan)
_ALONE = frozenset({TaskType.BATCH.value, TaskType.FUNCTION.value})


def suits(job: Job) -> bool:
    """Return True if a job is small and only runs a submission that a fork server can start."""
    plan = _PLAN.decode(next(file.content.read() for file in job.files if file.name == job.plan))
    needs_sandbox = plan.checker.argv or plan.manager or plan.layers or plan.allow_unconfined or plan.alone
    if plan.submission.warm is None or needs_sandbox or plan.task_type not in _ALONE:
        return False
    tests = {name for test in plan.tests for name in (test.input, test.answer, test.output)}
    return sum(file.content.size for file in job.files if file.name in tests) <= _MAX_TEST_BYTES


class ProctorConfig(msgspec.Struct, frozen=True):
    """The values with which the persistent proctor of a slot is started."""

    sandboxes: Sandboxes
    proctor: Path
    caps: OutputCaps
    starting: Lock
    uid: int | None


class ProctorJob(msgspec.Struct, frozen=True):
    """A job for the persistent proctor. All files are in its sandbox before it receives the plan's name."""

    plan: str
    files: tuple[JobFile, ...]
    shared: tuple[str, ...]  # names of the files that all jobs have; the proctor has opened them already
    spec: SandboxSpec  # of the proctor's sandbox, without its folder and its files
    max_s: float | None  # time after which the proctor is considered broken


class PersistentProctor:
    """The persistent proctor of one slot, started when it is first needed. One thread at a time uses it."""

    def __init__(self, config: ProctorConfig) -> None:
        self._config, self._held = config, ExitStack()
        self._leash: KillSwitch | None = None  # of its sandbox, while it runs
        self._streams: Streams | None = None
        self._box, self._plan_pipe = Path(), -1
        self._spec: SandboxSpec | None = None
        self._failures = 0  # in a row
        self._jobs_without = 0  # since the last failure of too many

    def execute(self, job: ProctorJob, kill_switch: KillSwitch) -> Ending | None:
        """Return the job's ending, or None if the job has to run without this proctor.

        Raises EngineUnavailable if the job's kill switch is cut.
        """
        if PERSISTENT_PROCTOR.is_last(self._failures) and self._jobs_without < _JOBS_WITHOUT:
            self._jobs_without += 1
            return None
        output = None
        try:
            output = self._execute(job, kill_switch)
        except (OSError, EngineError):
            pass  # the job runs without this proctor, and fails again if the job is at fault
        finally:
            if output is None:
                self.close(seconds=0)
        if kill_switch.is_cut:
            raise EngineUnavailable("the job was ended before it was done")
        if output is None:
            PERSISTENT_PROCTOR.log(_log, "it did not answer; this job runs without it")
        self._failures, self._jobs_without = self._failures + 1 if output is None else 0, 0
        return None if output is None else Ending(stdout=output.decode(errors="replace"), code=0)

    def close(self, *, seconds: float = _END_S) -> None:
        """End the proctor and its programs. It has `seconds` to end by itself. May be called again."""
        kill_switch, self._leash = self._leash, None
        plan_pipe, self._plan_pipe = self._plan_pipe, -1
        streams, self._streams = self._streams, None
        if plan_pipe >= 0:
            os.close(plan_pipe)
        if kill_switch is not None and streams is not None:
            report = streams[-1].end
            select.select([report], [], [], seconds)  # its usage is counted if it ends by itself
            kill_switch.cut()
            select.select([report], [], [], GRACE)
        self._held.close()

    def let_go(self) -> None:
        """Let the proctor of the parent process go, in a forked child."""
        if self._leash is not None:
            self._leash.cut()

    def _execute(self, job: ProctorJob, kill_switch: KillSwitch) -> bytes | None:
        shared = (file for file in job.files if file.name in job.shared)
        opened = tuple(SandboxFile(name=file.name, path=file.content.path or "") for file in shared)
        spec = msgspec.structs.replace(job.spec, files=opened)
        if self._leash is not None and spec != self._spec:
            self.close()
        if self._leash is None:
            self._start(spec)
        files = (file for file in job.files if file.name not in job.shared)
        with room_for_files(self._box):
            fill(self._box, files, self._config.uid, self._config.starting, copies=True)
        os.write(self._plan_pipe, f"{job.plan}\n".encode())
        return self._read(kill_switch, job.max_s)

    def _start(self, spec: SandboxSpec) -> None:
        config, held = self._config, self._held
        self._spec, self._leash = spec, KillSwitch()
        held.callback(self._leash.close)
        self._box = config.sandboxes.make(config.uid)
        held.callback(self._remove)
        reading, self._plan_pipe = os.pipe()
        try:
            spec = msgspec.structs.replace(spec, dir=os.fspath(self._box))
            started = start(held, config.proctor, spec, reading, config.caps, self._leash, config.starting)
            _, self._streams = started
        finally:
            os.close(reading)

    def _remove(self) -> None:
        try:
            remove_tree(self._box)
        except OSError as error:
            LEFT_FOLDER.log(_log, error)

    def _read(self, kill_switch: KillSwitch, seconds: float | None) -> bytes | None:
        """Return the verdict lines up to the last line, or None if the last line does not arrive."""
        assert self._streams is not None, "it was started"
        stdout, stderr, report = self._streams
        output, deadline = bytearray(), None if seconds is None else time.monotonic() + seconds
        with selectors.PollSelector() as waiting:
            for end in (stdout.end, stderr.end, report.end, kill_switch.end):
                waiting.register(end, selectors.EVENT_READ)
            while not output.endswith(_LAST_LINE_END):
                left = None if deadline is None else deadline - time.monotonic()
                events = waiting.select(left) if left is None or left > 0 else []
                if not events or any(key.fileobj is not stdout.end for key, _ in events):
                    return None
                piece = stdout.end.read(_PIECE)
                output += piece
                if not piece or len(output) > self._config.caps.stdout:
                    return None
        return bytes(output)
