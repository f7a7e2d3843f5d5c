"""Piston clients as pipelines have them: objects with `send_execute`, over engines and other sandboxes.

It takes and gives the JSON of Piston's /execute as dictionaries. What cannot be executed is a JudgeFailure.
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
    brings_scripts,
    classic_scripts,
    decode_reply,
    decode_request,
    encode_result,
    execute,
)
from ioi_eval.errors import BrokenReply, JobRejected, JudgeFailure
from ioi_eval.models import Blob, Capabilities, Job, JobFile, JobResult, StageStatus

CMS = "cms_ioi"
_OTHER_NAME = "cf_"  # of languages that packages other than `codeforces` have too
_JUDGE_AT_FAULT = 3  # exit code of our scripts where they could not say; the contract has no word for it
_OVERFLOW = frozenset({StageStatus.OL, StageStatus.EL})
_PHASE = "judging"
_SPARE_CMS, _SPARE = 3000, 10_000  # ms that the contracts give a job beyond the problem's limit


class ClassicClient(Protocol):
    """The client that `run_submission` and the others need; a pipeline's own is one.

    `language` is only given for jobs that are not the IOI's.
    """

    async def send_execute(self, data: dict[str, Any], language: str = CMS) -> dict[str, Any]: ...


def result_of(reply: object) -> JobResult:
    """Check a client's reply. JudgeFailure where it says nothing about the submission: never a score of 0."""
    if not isinstance(reply, Mapping):
        raise JudgeFailure(f"the client gave no reply: {reply!r:.200}", phase=_PHASE)
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
            raise JudgeFailure(stage.message or "the box failed", phase=_PHASE)
        if stage.status in _OVERFLOW:
            remedy = "Raise PISTON_OUTPUT_MAX_SIZE on it"
            raise JudgeFailure("the server cut the job's output off", phase=_PHASE, remedy=remedy)
        if stage.code == _JUDGE_AT_FAULT and (stage is result.compile or not stage.stdout):
            raise JudgeFailure(stage.stderr.strip()[-500:] or "the scripts could not judge", phase=_PHASE)
    return result


# --- over engines ------------------------------------------------------------------------------------


class EngineClient:
    """Over an engine that is open.

    async with EmbeddedEngine(store=store) as engine:
        score, feedback = await run_submission(EngineClient(engine), problem, given, code, expected)
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def send_execute(
        self, data: dict[str, Any], language: str = CMS, max_retries: int | None = None
    ) -> dict[str, Any]:
        """Raises JudgeFailure where no engine could execute it."""
        profile = await self._engine.capabilities()
        try:
            job = decode_request(msgspec.json.encode({**data, "language": language, "version": "*"}))
        except (JobRejected, TypeError, UnicodeEncodeError) as error:
            raise JudgeFailure(f"the job cannot be sent: {error}", phase=_PHASE) from error
        job = _job_on(profile, job)
        attempts = None if max_retries is None else max(1, max_retries)
        result = await execute(self._engine, job, phase=_PHASE, attempts=attempts)
        reply: dict[str, Any] = msgspec.json.decode(encode_result(result))
        return reply


class ClusterClient:
    """Over an engine that is opened when it is first used, once for each event loop.

    `async with` closes it. Without that it stays open as long as its loop runs.
    """

    def __init__(self, make: Callable[[], Engine]) -> None:
        self._make = make
        self._open: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Task[Engine]] = WeakKeyDictionary()

    async def send_execute(
        self, data: dict[str, Any], language: str = CMS, max_retries: int | None = None
    ) -> dict[str, Any]:
        """Raises JudgeFailure where no server could execute it."""
        return await EngineClient(await self._engine()).send_execute(data, language, max_retries)

    async def _engine(self) -> Engine:
        loop = asyncio.get_running_loop()
        opening = self._open.get(loop)
        if opening is None or (opening.done() and (opening.cancelled() or opening.exception() is not None)):
            opening = self._open[loop] = loop.create_task(self._opened())
        return await asyncio.shield(opening)

    async def _opened(self) -> Engine:
        engine = self._make()
        await engine.__aenter__()
        return engine

    async def __aenter__(self) -> Self:
        await self._engine()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        opening = self._open.pop(asyncio.get_running_loop(), None)
        if opening is not None:
            await (await opening).__aexit__(kind, error, trace)


def _job_on(profile: Capabilities, job: Job) -> Job:
    """With scripts of ours where the engine has none, and with the CPU time that servers give who asks."""
    if brings_scripts(profile, job.runtime):
        there = {file.name for file in job.files}
        missing = {name: text for name, text in scripts(job.runtime).items() if name not in there}
        ours = (JobFile(name=name, content=Blob.of(text)) for name, text in missing.items())
        job = msgspec.structs.replace(job, files=(*job.files, *ours), runtime=OWN_RUNTIME)
    if job.run_timeout is None or job.run_cpu_time is not None:
        return job
    most, needed = profile.max_run_cpu_time, job.run_timeout - (_SPARE_CMS if job.runtime == CMS else _SPARE)
    if most is not None and most < needed:
        raise JudgeFailure(
            f"the server gives a job {most / 1000:g} s of CPU time, the problem {needed / 1000:g} s",
            phase=_PHASE,
            remedy="Raise PISTON_RUN_CPU_TIME on it",
        )
    return msgspec.structs.replace(
        job, run_cpu_time=job.run_timeout if most is None else min(job.run_timeout, most)
    )


def scripts(language: str = CMS) -> dict[str, str]:
    """The `compile` and `run` of the classic contracts; `language` as jobs ask for it."""
    line = f"export PISTON_LANGUAGE={shlex.quote(language.removeprefix(_OTHER_NAME))}\n"
    return {name: line + text for name, text in classic_scripts().items()}


# --- over other sandboxes ----------------------------------------------------------------------------


class SandboxJob(msgspec.Struct, frozen=True, kw_only=True):
    """A request to a sandbox: `bash compile`, and if that exits with 0, `bash run`, in one folder."""

    files: Mapping[str, str]  # by their names below that folder; `compile` and `run` among them
    run_timeout: float  # seconds on the wall clock, for `run` alone
    memory_limit: int | None  # bytes, for the submission; `run` sees to it


Sandbox = Callable[[SandboxJob], Awaitable[dict[str, Any]]]
"""Gives what Piston would: {"compile": STAGE, "run": STAGE}, each with stdout, stderr, code and signal.

`code` is None and `signal` "SIGKILL" where the sandbox killed it. Where `compile` failed there is no `run`.
What it raises is what the caller of `run_submission` gets.
"""


class SandboxClient:
    """Over a function that runs files in a sandbox of your own."""

    def __init__(self, sandbox: Sandbox) -> None:
        self._sandbox = sandbox

    async def send_execute(self, data: dict[str, Any], language: str = CMS) -> dict[str, Any]:
        """Return the sandbox' result; raise its error."""
        files = {file["name"]: file["content"] for file in data["files"]}
        job = SandboxJob(
            files={**scripts(language), **files},
            run_timeout=data["run_timeout"] / 1000,
            memory_limit=data.get("run_memory_limit"),
        )
        return await self._sandbox(job)
