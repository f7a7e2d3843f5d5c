"""A proctor that stays: it judges the plans of many jobs, one after the other, in one box.

What it saves is what every job pays before its first test: two boxes, a shell, and the start of Python, whose
interpreters wait from one job to the next. Nothing of a submission is ever read in these.

Whatever goes wrong here is nobody's verdict: the job runs as any other does, and the next one gets a new
proctor.
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
_REST = 1000  # jobs until it is tried again: what was wrong, as a full disk, may be over
_FAREWELL = 1.0  # seconds for a proctor without further orders
_LAST = b',"done":true}\n'  # no other line ends so: within a text of a program's, quotes are escaped


PROCTOR = "./proctor"  # the file of a job with a plan, which is started in its folder
_MOST_BYTES = 1 << 20  # of a job's files, which are copied: links take no time
_PLAN = msgspec.json.Decoder(Plan)
_ALONE = frozenset({TaskType.BATCH.value, TaskType.FUNCTION.value})


def suits(job: Job) -> bool:
    """Return True for a job in which the submission alone runs, by an interpreter that may wait for it."""
    plan = _PLAN.decode(next(file.content.read() for file in job.files if file.name == job.plan))
    others = plan.checker.argv or plan.manager or plan.layers or plan.allow_unconfined or plan.alone
    if plan.submission.warm is None or others or plan.task_type not in _ALONE:
        return False
    tests = {name for test in plan.tests for name in (test.input, test.answer, test.output)}
    return sum(file.content.size for file in job.files if file.name in tests) <= _MOST_BYTES


class ProctorConfig(msgspec.Struct, frozen=True):
    """The values with which a slot's proctor is started."""

    boxes: Sandboxes
    proctor: Path
    caps: OutputCaps
    starting: Lock
    uid: int | None


class ProctorJob(msgspec.Struct, frozen=True):
    """A job as the proctor gets it: all files are in its box when it is told the plan's name."""

    plan: str
    files: tuple[JobFile, ...]
    kept: tuple[str, ...]  # of them those that all jobs share; the proctor has them opened already
    spec: SandboxSpec  # of the proctor's box, all but its folder and its files
    seconds: float | None  # after which it is broken


class PersistentProctor:
    """The proctor of one slot, started when it is first needed. One thread at a time uses it."""

    def __init__(self, ward: ProctorConfig) -> None:
        self._ward, self._held = ward, ExitStack()
        self._leash: KillSwitch | None = None  # its box's, while there is one
        self._streams: Streams | None = None
        self._box, self._orders = Path(), -1
        self._spec: SandboxSpec | None = None
        self._failures = 0  # without a success between them
        self._rested = 0  # jobs since the last of as many as are enough

    def judge(self, order: ProctorJob, leash: KillSwitch) -> Ending | None:
        """Return the answers; None: nobody knows. Raises EngineUnavailable when the job's leash is cut."""
        if PERSISTENT_PROCTOR.is_last(self._failures) and self._rested < _REST:
            self._rested += 1
            return None
        answers = None
        try:
            answers = self._said(order, leash)
        except (OSError, EngineError):
            pass  # the job runs as any other does, and meets what is wrong with it there
        finally:
            if answers is None:
                self.close(seconds=0)
        if leash.is_cut:
            raise EngineUnavailable("the job was ended before it was done")
        if answers is None:
            PERSISTENT_PROCTOR.log(_log, "it did not answer; this job runs without it")
        self._failures, self._rested = self._failures + 1 if answers is None else 0, 0
        return None if answers is None else Ending(stdout=answers.decode(errors="replace"), code=0)

    def close(self, *, seconds: float = _FAREWELL) -> None:
        """Ends the proctor and all that it started, and lets it go by itself first. May be called again."""
        leash, self._leash = self._leash, None
        orders, self._orders = self._orders, -1
        streams, self._streams = self._streams, None
        if orders >= 0:
            os.close(orders)
        if leash is not None and streams is not None:
            report = streams[-1].end
            select.select([report], [], [], seconds)  # what it has used is counted if it goes by itself
            leash.cut()
            select.select([report], [], [], GRACE)
        self._held.close()

    def let_go(self) -> None:
        """In a child that was forked meanwhile."""
        if self._leash is not None:
            self._leash.cut()

    def _said(self, order: ProctorJob, leash: KillSwitch) -> bytes | None:
        kept = (file for file in order.files if file.name in order.kept)
        opened = tuple(SandboxFile(name=file.name, path=file.content.path or "") for file in kept)
        spec = msgspec.structs.replace(order.spec, files=opened)
        if self._leash is not None and spec != self._spec:
            self.close()
        if self._leash is None:
            self._start(spec)
        files = (file for file in order.files if file.name not in order.kept)
        with room_for_files(self._box):
            fill(self._box, files, self._ward.uid, self._ward.starting, copies=True)
        os.write(self._orders, f"{order.plan}\n".encode())
        return self._read(leash, order.seconds)

    def _start(self, spec: SandboxSpec) -> None:
        ward, held = self._ward, self._held
        self._spec, self._leash = spec, KillSwitch()
        held.callback(self._leash.close)
        self._box = ward.boxes.make(ward.uid)
        held.callback(self._remove)
        reading, self._orders = os.pipe()
        try:
            spec = msgspec.structs.replace(spec, dir=os.fspath(self._box))
            started = start(held, ward.proctor, spec, reading, ward.caps, self._leash, ward.starting)
            _, self._streams = started
        finally:
            os.close(reading)

    def _remove(self) -> None:
        try:
            remove_tree(self._box)
        except OSError as error:
            LEFT_FOLDER.log(_log, error)

    def _read(self, leash: KillSwitch, seconds: float | None) -> bytes | None:
        """Verdict lines up to the last one; None where that does not come."""
        assert self._streams is not None, "it was started"
        stdout, stderr, report = self._streams
        answers, deadline = bytearray(), None if seconds is None else time.monotonic() + seconds
        with selectors.PollSelector() as waiting:
            for end in (stdout.end, stderr.end, report.end, leash.end):
                waiting.register(end, selectors.EVENT_READ)
            while not answers.endswith(_LAST):
                left = None if deadline is None else deadline - time.monotonic()
                events = waiting.select(left) if left is None or left > 0 else []
                if not events or any(key.fileobj is not stdout.end for key, _ in events):
                    return None
                piece = stdout.end.read(_PIECE)
                answers += piece
                if not piece or len(answers) > self._ward.caps.stdout:
                    return None
        return bytes(answers)
