"""The persistent proctor: it executes the plans of many jobs in turn, in the same sandbox.

It saves the time that other jobs need before their first test: for two sandboxes, a shell, and the start of
Python. Its fork servers are started once for many jobs, and never read data of a submission.

No error here is a verdict: the job runs without the persistent proctor, and the next job gets a new proctor.
"""

from __future__ import annotations

import logging
import os
import select
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from threading import Lock

import msgspec

from ioi_eval.engines.embedded.sandbox import KillSwitch, OutputLimits, SandboxSpec, Streams, start_proctor
from ioi_eval.engines.embedded.sandboxes import Sandboxes, remove_tree
from ioi_eval.model.errors import EngineError, EngineUnavailable
from ioi_eval.model.job import Ending, Job, JobFile
from ioi_eval.model.protocol import Message, PlanChecker, PlanManager, PlanSubmission
from ioi_eval.model.retry import LEFT_FOLDER, PERSISTENT_PROCTOR
from ioi_eval.model.values import Blob, TaskType
from ioi_eval.rules.limits import GRACE, compute_max_stage_wait_s

_log = logging.getLogger(__name__)
_PIECE_BYTES = 1 << 18
# Number of jobs that run without a persistent proctor after it has failed too often. After so many jobs, the
# cause of the failures, such as a full disk, may be gone.
_MAX_JOBS_WITHOUT_PROCTOR = 1000
_END_S = 1.0  # maximum seconds until a proctor exits after its last job
# End of the last line of a job. No other line contains it, because quotes in a program's output are escaped.
_LAST_LINE_END = b',"done":true}\n'


PROCTOR = "./proctor"  # command of the program that runs a job's plan in sandboxes
_BUNDLE = "bundle"
_MAX_BUNDLE_BYTES = 1 << 20  # maximum bytes of a job's files that are copied; files of larger jobs are linked
_ALONE = frozenset({TaskType.BATCH.value, TaskType.FUNCTION.value})


class _PlanHead(Message):
    """The part of a plan that decides whether the persistent proctor judges it."""

    task_type: str
    submission: PlanSubmission
    checker: PlanChecker
    manager: PlanManager | None = None
    layers: tuple[str, ...] | None = None
    allow_unconfined: bool = False
    alone: bool = False


_PLAN_HEAD = msgspec.json.Decoder(_PlanHead)


class ProctorConfig(msgspec.Struct, frozen=True):
    """The values with which the persistent proctor of a slot is started."""

    sandboxes: Sandboxes
    proctor: Path
    output_limits: OutputLimits
    start_lock: Lock
    uid: int | None
    spec: SandboxSpec  # spec of the proctor's sandbox, without the folder


class ProctorJob(msgspec.Struct, frozen=True):
    """A job for the persistent proctor."""

    files: Sequence[JobFile]  # files that the proctor did not get at its start; the first file is the plan
    max_s: float | None  # seconds after which the proctor is considered broken


def make_proctor_job(job: Job, shared_files: Mapping[str, Blob]) -> ProctorJob | None:
    """Return the job in the form for the persistent proctor, or None if that proctor cannot execute it.

    The persistent proctor executes only small jobs with a plan, whose submission a fork server can start.
    The plan must have no checker program, no manager and no special confinement.

    Args:
        job: a job with a plan.
        shared_files: the files with which persistent proctors are started, by name.
    """
    own_files = [file for file in job.files if file.name not in shared_files]
    has_other_files = any(
        file.name in shared_files and file.content.sha256 != shared_files[file.name].sha256
        for file in job.files
    )
    if has_other_files or sum(file.content.size for file in own_files) > _MAX_BUNDLE_BYTES:
        return None
    own_files.sort(key=lambda file: file.name != job.plan)
    plan_head = _PLAN_HEAD.decode(_read_content(own_files[0].content))
    needs_sandbox = (
        plan_head.checker.argv
        or plan_head.manager
        or plan_head.layers
        or plan_head.allow_unconfined
        or plan_head.alone
    )
    if plan_head.submission.warm is None or plan_head.task_type not in _ALONE or needs_sandbox:
        return None
    return ProctorJob(
        own_files, None if job.run_timeout is None else compute_max_stage_wait_s(job.run_timeout)
    )


def _read_content(content: Blob) -> bytes:
    """Return the bytes of a content, without checking whether its file was edited, which the judge checks."""
    if content.data is not None:
        return content.data
    with open(content.path or "", "rb", buffering=0) as stream:  # noqa: PTH123 - of each test of each job
        return stream.read()


class PersistentProctor:
    """The persistent proctor of a slot, started when it is first needed. It is not thread-safe."""

    def __init__(self, config: ProctorConfig) -> None:
        self._config, self._exit_stack = config, ExitStack()
        self._kill_switch: KillSwitch | None = None  # kill switch of the proctor's sandbox, while it runs
        self._streams: Streams | None = None
        self._sandbox, self._plan_pipe = Path(), -1
        self._failures_in_a_row = 0
        # Number of jobs that ran without the proctor since the proctor's last failure.
        self._jobs_without_proctor = 0

    def execute(self, job: ProctorJob, kill_switch: KillSwitch) -> Ending | None:
        """Return the job's ending, or `None` if the job has to run without this proctor.

        Raises EngineUnavailable if the job's kill switch was triggered.
        """
        if (
            PERSISTENT_PROCTOR.is_last(self._failures_in_a_row)
            and self._jobs_without_proctor < _MAX_JOBS_WITHOUT_PROCTOR
        ):
            self._jobs_without_proctor += 1
            return None
        output = None
        try:
            output = self._execute(job, kill_switch)
        except (OSError, EngineError):
            pass  # the job runs without this proctor, and fails again if the job itself causes the failure
        finally:
            if output is None:
                self.close(seconds=0)
        if kill_switch.is_triggered:
            raise EngineUnavailable("the job was stopped before it was finished")
        if output is None:
            PERSISTENT_PROCTOR.log(_log, "it did not answer; this job runs without it")
        self._failures_in_a_row, self._jobs_without_proctor = (
            self._failures_in_a_row + 1 if output is None else 0,
            0,
        )
        return None if output is None else Ending(stdout=output.decode(errors="replace"), code=0)

    def close(self, *, seconds: float = _END_S) -> None:
        """Stop the proctor, which has `seconds` to exit, and its programs. Repeated calls are allowed."""
        kill_switch, self._kill_switch = self._kill_switch, None
        plan_pipe, self._plan_pipe = self._plan_pipe, -1
        streams, self._streams = self._streams, None
        if plan_pipe >= 0:
            os.close(plan_pipe)
        if kill_switch is not None and streams is not None:
            report_end = streams[-1].read_end
            # A process's resource usage is counted only if the process exits by itself.
            select.select([report_end], [], [], seconds)
            kill_switch.trigger()
            select.select([report_end], [], [], GRACE)
        self._exit_stack.close()

    def close_in_forked_child(self) -> None:
        """Close the copy of the proctor's kill switch in a forked child of the proctor's engine."""
        if self._kill_switch is not None:
            self._kill_switch.trigger()

    def _execute(self, job: ProctorJob, kill_switch: KillSwitch) -> bytes | None:
        if self._kill_switch is None:
            self._start()
        contents = [_read_content(file.content) for file in job.files]
        header_entries = (
            f"{len(content)} {file.name}\0" for file, content in zip(job.files, contents, strict=True)
        )
        with (self._sandbox / _BUNDLE).open("xb") as stream:
            os.fchmod(stream.fileno(), 0o644)
            stream.write(b"".join(("".join(header_entries).encode(), b"\0", *contents)))
        os.write(self._plan_pipe, f"{_BUNDLE}\n".encode())
        return self._read_lines(kill_switch, job.max_s)

    def _start(self) -> None:
        config, exit_stack = self._config, self._exit_stack
        self._kill_switch = KillSwitch()
        exit_stack.callback(self._kill_switch.close)
        self._sandbox = config.sandboxes.create_sandbox(config.uid)
        exit_stack.callback(self._remove_sandbox)
        read_end, self._plan_pipe = os.pipe()
        try:
            spec = msgspec.structs.replace(config.spec, dir=os.fspath(self._sandbox))
            started = start_proctor(
                exit_stack,
                config.proctor,
                spec,
                read_end,
                config.output_limits,
                self._kill_switch,
                config.start_lock,
            )
            _, self._streams = started
        finally:
            os.close(read_end)

    def _remove_sandbox(self) -> None:
        try:
            remove_tree(self._sandbox)
        except OSError as error:
            LEFT_FOLDER.log(_log, error)

    def _read_lines(self, kill_switch: KillSwitch, max_s: float | None) -> bytes | None:
        """Return the verdict lines up to the last line, or None if the last line does not arrive."""
        assert self._streams is not None, "it was started"
        stdout_pipe, stderr_pipe, report_pipe = self._streams
        output, deadline_s = bytearray(), None if max_s is None else time.monotonic() + max_s
        poller = select.poll()
        for descriptor in (
            stdout_pipe.read_end,
            stderr_pipe.read_end,
            report_pipe.read_end,
            kill_switch.read_end,
        ):
            poller.register(descriptor, select.POLLIN)
        while not output.endswith(_LAST_LINE_END):
            remaining_ms = None if deadline_s is None else 1000 * (deadline_s - time.monotonic())
            events = poller.poll(remaining_ms) if remaining_ms is None or remaining_ms > 0 else []
            if not events or any(descriptor != stdout_pipe.read_end.fileno() for descriptor, _ in events):
                return None
            piece = stdout_pipe.read_end.read(_PIECE_BYTES)
            output += piece
            if not piece or len(output) > self._config.output_limits.stdout:
                return None
        return bytes(output)
