"""SandboxFusion's API on top of jobs: /run_code, and /submit for tests that the request contains.

One job builds a program, the build is cached, and further jobs run it, in the slot of their request. A build
continues if its client disconnects. Expected outputs are never copied into a sandbox.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import shlex
import signal
from collections import deque
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from ioi_eval.engines.contract import artifact_key
from ioi_eval.engines.embedded.job import remove_kept_files
from ioi_eval.engines.jobs.piston_api import RefusedRequest
from ioi_eval.model.job import Ending, Job, JobFile, JobResult, StageStatus
from ioi_eval.model.languages import Language, find_language
from ioi_eval.model.nesting import shallow
from ioi_eval.model.values import Blob
from ioi_eval.rules.extraction import extract
from ioi_eval.server.jobs import JobFailed
from ioi_eval.server.prepared import CachedBuild
from ioi_eval.server.queue import MAX_ABSENCE_S, QueueEntry, ResultPending
from ioi_eval.server.routes import Answer, WorkerParts
from ioi_eval.store.memory import LruCache
from ioi_eval.store.resources import graders_folder

_SCRIPTS = ("python", "bash")
# SandboxFusion's names of the languages that are supported here.
_FUSION_LANGUAGES = (
    *_SCRIPTS,
    "cpp",
    "java",
    "go",
    "rust",
    "nodejs",
    "csharp",
)
_LANGUAGES = (*_FUSION_LANGUAGES, "pascal", "haskell", "kotlin")
_SANDBOX_ERROR = "SandboxError"
_RUNTIME, _STDIN = "ioi_eval", ".ioi-eval-stdin"
_NO_LIMIT = 1 << 24  # a memory limit in MB that no machine reaches
_MAX_FETCHED_BYTES = 64 << 20  # maximum bytes of all files in a reply
PATIENCE = 8.0  # seconds that clients wait in addition to both timeouts; verl waits 10 seconds
# Relative tolerance for a number that is alone in its line, and minimum divisor of a difference.
_TOLERANCE, _TINY = 1e-5, 1e-10

T = TypeVar("T")


# --- requests and replies ----------------------------------------------------------------------------


class RunCode(msgspec.Struct):
    """Times are in seconds. `args` is ignored: only languages that are not supported here use it."""

    code: str
    language: str
    compile_timeout: float = 10
    run_timeout: float = 10
    memory_limit_MB: int = -1
    stdin: str | None = None
    files: dict[str, str | None] = {}
    fetch_files: list[str] = []
    args: list[str] = []


class SubmitOptions(msgspec.Struct):
    language: str | None = None
    compile_timeout: float | None = None
    run_timeout: float | None = None
    dataset_type: str | None = None
    provided_data: dict[str, Any] | list[dict[str, Any]] | None = None
    extra: dict[str, Any] = {}


class Submit(msgspec.Struct):
    dataset: str
    id: int | str
    completion: str
    config: SubmitOptions


class StdioTest(msgspec.Struct):
    input: dict[str, str]
    output: dict[str, str]


class CommandResult(msgspec.Struct):
    status: str  # how the command ended: Finished, TimeLimitExceeded or Error
    execution_time: float | None = None
    return_code: int | None = None
    stdout: str | None = None
    stderr: str | None = None


class RunCodeReply(msgspec.Struct):
    status: str = "Success"  # Failed, SandboxError
    message: str = ""
    compile_result: CommandResult | None = None
    run_result: CommandResult | None = None
    executor_pod_name: str | None = None
    files: dict[str, str] = {}


class TestReply(msgspec.Struct):
    passed: bool
    exec_info: RunCodeReply
    test_info: StdioTest


class SubmitReply(msgspec.Struct):
    id: int | str
    accepted: bool
    extracted_code: str
    tests: list[TestReply]
    full_code: str | None = None
    test_code: str | None = None
    extracted_type: str | None = None
    extra: dict[str, Any] | None = None


# --- requests whose work lasts longer than the client waits ------------------------------------------


_MAX_ANSWER_BYTES = 64 << 20  # maximum bytes of all stored answers to disconnected clients


@dataclass(eq=False)
class _RequestWork:
    task: asyncio.Task[bytes]
    entry: QueueEntry  # entry of the request in the queue, with its slot
    # Timer that cancels the work if the client does not repeat the request in time.
    away: asyncio.TimerHandle | None = None


class UnansweredRequests:
    """Continues the work of a request whose client was asked to repeat it, and answers the repeated request.

    So a client that sends a request three times and waits 28 s each time waits 84 s at the same position of
    the queue, and work that started late is not lost.
    """

    def __init__(self) -> None:
        # Work whose client is disconnected, by key of the request. The oldest work is the first.
        self._abandoned: dict[str, deque[_RequestWork]] = {}
        self._tasks = set[asyncio.Task[bytes]]()
        self._answers: LruCache[tuple[str, _RequestWork]] = LruCache(
            _MAX_ANSWER_BYTES, lambda left: self._forget_answer(*left)
        )

    async def answer(
        self, key: str, work: Callable[[], Coroutine[Any, Any, bytes]], entry: QueueEntry, seconds: float
    ) -> bytes:
        """Return the result of the work, or of work under the same key whose client has disconnected.

        Raises ResultPending if the result is not ready after `seconds`.
        """
        if key in self._abandoned:
            request_work = self._abandoned[key][0]
            self._forget_answer(key, request_work)
        else:
            request_work = self._start_work(key, work, entry)
        try:
            await asyncio.wait({request_work.task}, timeout=seconds)
        except asyncio.CancelledError:
            request_work.task.cancel()
            raise
        if not request_work.task.done():
            request_work.entry.release_place()
            self._abandoned.setdefault(key, deque()).append(request_work)
            request_work.away = asyncio.get_running_loop().call_later(
                MAX_ABSENCE_S, self._cancel_abandoned, key, request_work
            )
            raise ResultPending
        return request_work.task.result()

    async def close(self) -> None:
        """Cancel all work."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _start_work(
        self, key: str, work: Callable[[], Coroutine[Any, Any, bytes]], entry: QueueEntry
    ) -> _RequestWork:
        async def work_in_queue() -> bytes:
            with entry.hold():
                return await work()

        request_work = _RequestWork(asyncio.create_task(work_in_queue()), entry)
        self._tasks.add(request_work.task)
        request_work.task.add_done_callback(lambda _: self._store_answer(key, request_work))
        return request_work

    def _store_answer(self, key: str, work: _RequestWork) -> None:
        """Store the answer of disconnected work for the repeated request. Older answers may be dropped."""
        self._tasks.discard(work.task)
        if not work.task.cancelled() and work.task.exception() is None and work.away is not None:
            self._answers.keep(str(id(work)), (key, work), len(work.task.result()))

    def _cancel_abandoned(self, key: str, work: _RequestWork) -> None:
        self._forget_answer(key, work)
        work.task.cancel()

    def _forget_answer(self, key: str, work: _RequestWork) -> None:
        if work.away is None:
            return
        work.away.cancel()
        work.away = None
        self._answers.forget([str(id(work))])
        self._abandoned[key].remove(work)
        if not self._abandoned[key]:
            del self._abandoned[key]


# --- programs ----------------------------------------------------------------------------------------


class SandboxFusion:
    """SandboxFusion's API on a worker."""

    patience = PATIENCE

    def __init__(self, worker: WorkerParts) -> None:
        self._engine, self._jobs, self._builds = worker
        self._unanswered = UnansweredRequests()

    @property
    def posts(self) -> Mapping[str, Answer]:
        return {"/run_code": self.run_code, "/submit": self.submit}

    async def close(self) -> None:
        """Cancel the work of disconnected clients."""
        await self._unanswered.close()

    async def run_code(self, body: bytes, entry: QueueEntry) -> bytes:
        """Run a program.

        Raises ResultPending just before the client would give up, so that it tries again.
        """
        request = _decode_request(body, RunCode)
        patience = PATIENCE - entry.entrance_s
        patience += _to_milliseconds("compile_timeout", request.compile_timeout) / 1000
        patience += _to_milliseconds("run_timeout", request.run_timeout) / 1000
        key = f"{hashlib.sha256(body).hexdigest()} {entry.token_name}"
        return await self._unanswered.answer(key, partial(self._run_code, request, entry), entry, patience)

    async def _run_code(self, request: RunCode, entry: QueueEntry) -> bytes:
        try:
            (reply,) = await self._run(request, [request.stdin or ""], entry)
        except JobFailed as error:
            reply = RunCodeReply(status=_SANDBOX_ERROR, message=str(error))
        return msgspec.json.encode(reply)

    async def submit(self, body: bytes, entry: QueueEntry) -> bytes:
        """Judge a program on tests until a test fails, or on all tests with `extra.run_all_cases`."""
        submission = _decode_request(body, Submit)
        options, cases = submission.config, _read_tests(submission)
        language = options.language or ""
        try:
            code = extract(submission.completion, _find_language(language)) or ""
        except JobFailed as error:
            raise _invalid_request(str(error)) from error
        expected = [case.output.get("stdout", "") for case in cases]
        request = RunCode(
            code=code,
            language=language,
            compile_timeout=options.compile_timeout or 10,
            run_timeout=options.run_timeout or (20 if language in _SCRIPTS else 10),
        )
        try:
            inputs = [case.input.get("stdin", "") for case in cases] if code else []
            run_all = bool(options.extra.get("run_all_cases"))
            replies = await self._run(request, inputs, entry, None if run_all else expected)
        except JobFailed as error:
            raise _sandbox_error(str(error)) from error
        for failed in (reply for reply in replies if reply.status == _SANDBOX_ERROR):
            raise _sandbox_error(failed.message)
        passed = list(map(_is_right, replies, expected))
        tests = list(map(TestReply, passed, replies, cases))
        return msgspec.json.encode(
            SubmitReply(
                id=submission.id, accepted=bool(tests) and all(passed), extracted_code=code, tests=tests
            )
        )

    async def _run(
        self,
        request: RunCode,
        inputs: Sequence[str],
        entry: QueueEntry,
        expected: Sequence[str] | None = None,
    ) -> list[RunCodeReply]:
        """Return a reply for each input.

        With `expected`, stop after the first wrong reply. Raises JobFailed.
        """
        language = _find_language(request.language)
        builder = runner = "/bin/bash"
        if request.language != "bash":
            toolchains = (await self._engine.capabilities()).toolchains
            for command in language.tools:
                if command not in toolchains:
                    raise JobFailed(f"{command} is not installed on this machine: {language.remedy}")
            builder, runner = toolchains[language.tools[0]].path, toolchains[language.tools[-1]].path
        program = _Program(request, language, builder, runner)
        built = await self._build_program(program, entry)
        replies: list[RunCodeReply] = []
        for number, stdin in enumerate(inputs):
            replies.append(await self._run_input(program, built, stdin, entry))
            if expected is not None and not _is_right(replies[-1], expected[number]):
                break
        return replies

    async def _build_program(self, program: _Program, entry: QueueEntry) -> CachedBuild | None:
        """Return the build of the program, from the cache if possible. None for languages without a build."""
        if program.build_job is None:
            return None
        job, capabilities = self._jobs.add_limits(program.build_job), await self._engine.capabilities()
        tool = capabilities.toolchains[program.language.tools[0]]
        limits = (job.compile_timeout, job.compile_cpu_time, job.compile_memory_limit)
        key = artifact_key("run-code", capabilities.architecture, tool, map(str, limits), job.files)
        # If an equal build is already running, the request needs its slot only after that build.
        if not self._builds.is_running(key):
            await entry.acquire_slot()
        return await self._builds.get_build(key, partial(self._jobs.run_job, job, entry))

    async def _run_input(
        self, program: _Program, built: CachedBuild | None, stdin: str, entry: QueueEntry
    ) -> RunCodeReply:
        compiled = None if built is None else _make_command_result(built.stage)
        if built is not None and built.stage.code != 0:
            return _with_status(RunCodeReply(compile_result=compiled))
        # For example, a unit in Pascal compiles, but leads to no program.
        if built is not None and not built.files:
            return RunCodeReply("Failed", "the compiler wrote no program", compiled)
        job = program.run_job(stdin, () if built is None else built.files)
        result = await self._jobs.run_job(self._jobs.add_limits(job), entry)
        try:
            files = await asyncio.to_thread(_read_fetched_files, result)
        finally:
            await asyncio.to_thread(remove_kept_files, result)
        reply = _with_status(
            RunCodeReply(
                compile_result=compiled, run_result=_make_command_result(result.run), files=files or {}
            )
        )
        if files is None and reply.status == "Success":
            reply.status = "Failed"
            reply.message = f"the files to fetch have more than {_MAX_FETCHED_BYTES} bytes"
        return reply


class _Program:
    """The jobs that build and run the program of a request."""

    def __init__(self, request: RunCode, language: Language, builder: str, runner: str) -> None:
        self._request, self.language, self._builder, self._runner = request, language, builder, runner
        self._main = f"main{language.suffixes[0]}" if request.language != "bash" else "main.sh"
        self._is_script = request.language in _SCRIPTS
        self._memory = request.memory_limit_MB << 20 if 0 < request.memory_limit_MB < _NO_LIMIT else None

    @property
    def build_job(self) -> Job | None:
        """Return the build job, or None for interpreted languages."""
        if self._is_script:
            return None
        name = self.language.artifact_name
        command = self.language.build_command((self._main,), name, tool=self._builder)
        return Job(
            files=(
                *self._program_files(),
                _make_text_file("compile", f"exec {shlex.join(command)} < /dev/null\n"),
            ),
            runtime=_RUNTIME,
            compile_timeout=_to_milliseconds("compile_timeout", self._request.compile_timeout),
            compile_cpu_time=_to_milliseconds("compile_timeout", self._request.compile_timeout),
            keep=(name,),
        )

    def run_job(self, stdin: str, program: tuple[JobFile, ...]) -> Job:
        command: tuple[str, ...] = (self._runner, self._main)
        if not self._is_script:
            command = self.language.run_command(self._runner, self._memory)
        started = command[0] if command[0].startswith("/") else f"./{command[0]}"
        line = f"exec {shlex.join((started, *command[1:]))} < {_STDIN}\n"
        return Job(
            files=(
                *self._program_files(),
                *program,
                _make_text_file(_STDIN, stdin),
                _make_text_file("run", line),
            ),
            runtime=_RUNTIME,
            run_timeout=_to_milliseconds("run_timeout", self._request.run_timeout),
            run_cpu_time=_to_milliseconds("run_timeout", self._request.run_timeout),
            run_memory_limit=self._memory,
            keep=tuple(self._request.fetch_files),
        )

    def _program_files(self) -> Iterator[JobFile]:
        for name, content in self._request.files.items():
            if content is None:
                continue
            try:
                yield JobFile(name=name, content=Blob.of(base64.b64decode(content, validate=True)))
            except ValueError as error:
                raise _invalid_request(f"files[{name!r}] is not base64: {error}") from error
        helper = self.language.helper
        if helper and not self._is_script:
            yield _make_text_file(helper, (graders_folder() / helper).read_text())
        yield _make_text_file(self._main, self._request.code)


def _find_language(name: str) -> Language:
    if name not in _LANGUAGES:
        raise JobFailed(f"the language {name!r} is not supported: the languages are {', '.join(_LANGUAGES)}")
    # A shell script is handled like a Python script.
    return find_language("python" if name == "bash" else name)


def _make_text_file(name: str, text: str) -> JobFile:
    return JobFile(name=name, content=Blob.of(text), text=True)


def _to_milliseconds(name: str, seconds: float) -> int:
    if not 0 < seconds < 1e6:
        raise _invalid_request(f"{name} must be a number of seconds above 0 and below 1000000")
    return max(1, round(seconds * 1000))


def _read_fetched_files(result: JobResult) -> dict[str, str] | None:
    """Return the files to fetch, or None if they are too large. The program may write files of any size."""
    if sum(Path(path).stat().st_size for path in result.kept.values()) > _MAX_FETCHED_BYTES:
        return None
    return {name: base64.b64encode(Path(path).read_bytes()).decode() for name, path in result.kept.items()}


# --- replies -----------------------------------------------------------------------------------------


def _make_command_result(stage: Ending) -> CommandResult:
    seconds = None if stage.wall_time is None else stage.wall_time / 1000
    if stage.status is StageStatus.XX:
        return CommandResult(status="Error", stderr=stage.message)
    if stage.status is StageStatus.TO:
        return CommandResult(
            status="TimeLimitExceeded", execution_time=seconds, stdout=stage.stdout, stderr=stage.stderr
        )
    is_known = stage.signal in signal.Signals.__members__
    killer = signal.Signals[stage.signal or ""] if is_known else signal.SIGKILL
    return CommandResult(
        status="Finished",
        execution_time=seconds,
        return_code=-killer if stage.code is None else stage.code,
        stdout=stage.stdout,
        stderr=stage.stderr,
    )


def _with_status(reply: RunCodeReply) -> RunCodeReply:
    """Return the reply with the status that its commands imply."""
    for result in (stage for stage in (reply.compile_result, reply.run_result) if stage is not None):
        if result.status == "Error":
            reply.status, reply.message = _SANDBOX_ERROR, result.stderr or ""
            break
        if result.status == "TimeLimitExceeded" or result.return_code != 0:
            reply.status = "Failed"
    return reply


def _is_right(reply: RunCodeReply, expected: str) -> bool:
    """Return True if all lines match, ignoring case and outer white space.

    A number that is alone in its line may differ a little.
    """
    if reply.status != "Success" or reply.run_result is None:
        return False
    ours = (reply.run_result.stdout or "").strip().lower().split("\n")
    theirs = expected.strip().lower().split("\n")
    return len(ours) == len(theirs) and all(map(_lines_match, ours, theirs))


def _lines_match(ours: str, theirs: str) -> bool:
    if ours.strip() == theirs.strip():
        return True
    try:
        our_number, their_number = float(ours), float(theirs)
    except ValueError:
        return False
    return abs(our_number - their_number) / max(abs(their_number), _TINY) < _TOLERANCE


def _decode_request(body: bytes, kind: type[T]) -> T:
    try:
        # With strict=False, the string "5" is accepted as a number.
        return msgspec.json.decode(shallow(body), type=kind, strict=False)
    except (msgspec.MsgspecError, ValueError) as error:
        raise _invalid_request(str(error)) from error


def _read_tests(submission: Submit) -> list[StdioTest]:
    """Return the tests of the row in the request. The worker has no datasets."""
    options = submission.config
    if options.dataset_type not in (None, "CommonOJDataset"):
        raise _invalid_request(f"this server judges only rows of CommonOJDataset, not {options.dataset_type}")
    if options.language is None:
        raise _invalid_request("config.language must name the language")
    provided = options.provided_data
    rows = [provided] if isinstance(provided, dict) else provided or []
    row = rows[0] if len(rows) == 1 else next((row for row in rows if row.get("id") == submission.id), None)
    if row is None:
        raise _invalid_request(
            "config.provided_data must contain the dataset's row: this server has no datasets"
        )
    tests = row.get("test")
    try:
        decoded = msgspec.json.decode(shallow(tests)) if isinstance(tests, str) else tests
        cases = msgspec.convert(decoded, list[StdioTest])
    except (msgspec.MsgspecError, ValueError) as error:
        raise _invalid_request(f"config.provided_data.test: {error}") from error
    if not cases:
        raise _invalid_request("config.provided_data.test has no tests")
    return cases


def _sandbox_error(reason: str) -> RefusedRequest:
    """Return the reply to a fault of the worker, which must not become a score."""
    return RefusedRequest(reason, status=500, body={"detail": reason})


def _invalid_request(reason: str) -> RefusedRequest:
    return RefusedRequest(reason, status=422, body={"detail": reason})
