"""Clients with the method `send_execute`, as existing pipelines have them, for engines and other sandboxes.

`send_execute` has the JSON of Piston's /execute as argument and result, as dictionaries. If a job cannot be
executed, it raises JudgeFailure.
"""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import Awaitable, Callable, Mapping
from types import TracebackType
from typing import Any, Protocol, Self
from weakref import WeakKeyDictionary

import msgspec

from ioi_eval import Engine
from ioi_eval.classic import (
    OWN_RUNTIME,
    classic_scripts,
    decode_reply,
    decode_request,
    encode_result,
    execute,
    needs_scripts_in_job,
)
from ioi_eval.errors import BrokenReply, JobRejected, JudgeFailure
from ioi_eval.models import Blob, Capabilities, Job, JobFile, JobResult, StageStatus

CMS = "cms_ioi"  # name of the language of jobs for IOI problems
_PREFIX = "cf_"  # prefix of languages that other packages than `codeforces` also provide
_JUDGE_FAILED = 3  # exit code with which the scripts of this package report that they cannot judge
_CUT_OFF = frozenset({StageStatus.OL, StageStatus.EL})  # statuses of stages whose output was cut off
_PHASE = "judging"
# Milliseconds that the contracts for jobs of the IOI and of Codeforces add to a problem's time limit.
_SPARE_CMS_MS, _SPARE_MS = 3000, 10_000


class ClassicClient(Protocol):
    """A client for `run_submission` and other functions, such as the client of an existing pipeline."""

    async def send_execute(self, data: dict[str, Any], language: str = CMS) -> dict[str, Any]:
        """Execute a job and return the result. `language` is passed only for jobs other than the IOI's."""
        ...


def decode_client_reply(reply: object) -> JobResult:
    """Return the result in a client's reply.

    Raises:
        JudgeFailure: The reply says nothing about the submission.
    """
    if not isinstance(reply, Mapping):
        raise JudgeFailure(f"the client returned no reply: {reply!r:.200}", phase=_PHASE)
    if "run" not in reply and "compile" not in reply:
        raise JudgeFailure(f"the job was refused: {reply.get('message', reply)!s:.500}", phase=_PHASE)
    try:
        result = decode_reply(200, msgspec.json.encode(reply))
    except (BrokenReply, TypeError) as error:
        raise JudgeFailure(str(error), phase=_PHASE) from error
    for stage in (result.compile, result.run):
        if stage is None:
            continue
        if stage.status is StageStatus.XX:
            raise JudgeFailure(stage.message or "the sandbox failed", phase=_PHASE)
        if stage.status in _CUT_OFF:
            remedy = "Raise PISTON_OUTPUT_MAX_SIZE on the server"
            raise JudgeFailure("the server cut the job's output off", phase=_PHASE, remedy=remedy)
        if stage.code == _JUDGE_FAILED and (stage is result.compile or not stage.stdout):
            raise JudgeFailure(stage.stderr.strip()[-500:] or "the scripts could not judge", phase=_PHASE)
    return result


# --- over engines ------------------------------------------------------------------------------------


class EngineClient:
    """A client for an open engine.

    async with EmbeddedEngine(store=store) as engine:
        score, feedback = await run_submission(EngineClient(engine), problem, test_input, code, test_output)
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def send_execute(
        self, data: dict[str, Any], language: str = CMS, max_retries: int | None = None
    ) -> dict[str, Any]:
        """Execute a job and return the result. Raise JudgeFailure if the engine cannot execute it."""
        capabilities = await self._engine.capabilities()
        try:
            job = decode_request(msgspec.json.encode({**data, "language": language, "version": "*"}))
        except (JobRejected, TypeError, UnicodeEncodeError) as error:
            raise JudgeFailure(f"the job cannot be sent: {error}", phase=_PHASE) from error
        job = _add_missing_scripts_and_cpu_time(capabilities, job)
        attempts = None if max_retries is None else max(1, max_retries)
        result = await execute(self._engine, job, phase=_PHASE, attempts=attempts)
        reply: dict[str, Any] = msgspec.json.decode(encode_result(result))
        return reply


class ClusterClient:
    """A client for an engine that is opened at the first use, once for each event loop.

    `async with` closes the engine. Otherwise it stays open as long as its event loop.
    """

    def __init__(self, create_engine: Callable[[], Engine]) -> None:
        self._create_engine = create_engine
        self._engine_tasks: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Task[Engine]] = (
            WeakKeyDictionary()
        )

    async def send_execute(
        self, data: dict[str, Any], language: str = CMS, max_retries: int | None = None
    ) -> dict[str, Any]:
        """Execute a job and return the result. Raise JudgeFailure if no server can execute it."""
        return await EngineClient(await self._engine()).send_execute(data, language, max_retries)

    async def _engine(self) -> Engine:
        """Return the engine of the current event loop. Open it if necessary."""
        loop = asyncio.get_running_loop()
        engine_task = self._engine_tasks.get(loop)
        if engine_task is None or (
            engine_task.done() and (engine_task.cancelled() or engine_task.exception() is not None)
        ):
            engine_task = self._engine_tasks[loop] = loop.create_task(self._open_engine())
        return await asyncio.shield(engine_task)

    async def _open_engine(self) -> Engine:
        """Return a new open engine."""
        engine = self._create_engine()
        await engine.__aenter__()
        return engine

    async def __aenter__(self) -> Self:
        await self._engine()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        engine_task = self._engine_tasks.pop(asyncio.get_running_loop(), None)
        if engine_task is not None:
            await (await engine_task).__aexit__(kind, error, trace)


def _add_missing_scripts_and_cpu_time(capabilities: Capabilities, job: Job) -> Job:
    """Return the job with its CPU time and, if the engine has no scripts for the job, with scripts.

    Raises:
        JudgeFailure: The server allows less CPU time than the problem needs.
    """
    if needs_scripts_in_job(capabilities, job.runtime):
        existing_names = {file.name for file in job.files}
        missing_scripts = {
            name: script for name, script in scripts(job.runtime).items() if name not in existing_names
        }
        files = (JobFile(name=name, content=Blob.of(script)) for name, script in missing_scripts.items())
        job = msgspec.structs.replace(job, files=(*job.files, *files), runtime=OWN_RUNTIME)
    if job.run_timeout is None or job.run_cpu_time is not None:
        return job
    max_ms, needed_ms = (
        capabilities.max_run_cpu_time,
        job.run_timeout - (_SPARE_CMS_MS if job.runtime == CMS else _SPARE_MS),
    )
    if max_ms is not None and max_ms < needed_ms:
        raise JudgeFailure(
            f"the server gives a job {max_ms / 1000:g} s of CPU time, but"
            f" the problem needs {needed_ms / 1000:g} s",
            phase=_PHASE,
            remedy="Raise PISTON_RUN_CPU_TIME on the server",
        )
    return msgspec.structs.replace(
        job, run_cpu_time=job.run_timeout if max_ms is None else min(job.run_timeout, max_ms)
    )


def scripts(language: str = CMS) -> dict[str, str]:
    """Return the scripts `compile` and `run` of the classic contracts for jobs in this language."""
    export_line = f"export PISTON_LANGUAGE={shlex.quote(language.removeprefix(_PREFIX))}\n"
    return {name: export_line + script for name, script in classic_scripts().items()}


# --- jobs in the sandboxes of other software ---------------------------------------------------------


class SandboxJob(msgspec.Struct, frozen=True, kw_only=True):
    """A request to a sandbox: `bash compile`, and if that exits with 0, `bash run`, in one folder."""

    files: Mapping[str, str]  # contents of the job's files, by path, including `compile` and `run`
    run_timeout: float  # wall-clock limit for `run`, in seconds
    memory_limit: int | None  # memory limit for the submission in bytes, which `run` enforces


Sandbox = Callable[[SandboxJob], Awaitable[dict[str, Any]]]
"""Executes a job and returns Piston's result: {"compile": STAGE, "run": STAGE}.

A STAGE has stdout, stderr, code and signal. If the sandbox killed it, `code` is None and `signal` "SIGKILL".
If `compile` failed, there is no `run`. Errors that it raises reach the caller of `run_submission`.
"""


class SandboxClient:
    """A client for a function that executes jobs in your own sandbox."""

    def __init__(self, sandbox: Sandbox) -> None:
        self._sandbox = sandbox

    async def send_execute(self, data: dict[str, Any], language: str = CMS) -> dict[str, Any]:
        """Execute a job in the sandbox and return the result."""
        files = {file["name"]: file["content"] for file in data["files"]}
        job = SandboxJob(
            files={**scripts(language), **files},
            run_timeout=data["run_timeout"] / 1000,
            memory_limit=data.get("run_memory_limit"),
        )
        return await self._sandbox(job)
