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

from ioi_eval.engines.contract import make_artifact_key
from ioi_eval.engines.embedded.job import remove_kept_files
from ioi_eval.engines.jobs.piston_api import RefusedRequest
from ioi_eval.model.job import Ending, Job, JobFile, JobResult, StageStatus
from ioi_eval.model.languages import Language, find_language
from ioi_eval.model.nesting import require_shallow
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
    """A request to run a program. Times are in seconds. `args` is ignored.

    Only languages that are not supported here use `args`.
    """

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
    status: str = "Success"  # status of the request: Success, Failed or SandboxError
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
    expiry: asyncio.TimerHandle | None = None


class UnansweredRequests:
    """Continues the work of a request whose client was asked to repeat it, and answers the repeated request.

    So a client that sends a request three times, and waits 28 s each time, keeps its position in the queue
    for 84 s, and work that started late is not lost.
    """

    def __init__(self) -> None:
        # Work whose client is disconnected, by key of the request. The oldest work is the first.
        self._disconnected_work: dict[str, deque[_RequestWork]] = {}
        self._tasks = set[asyncio.Task[bytes]]()
        self._answers: LruCache[tuple[str, _RequestWork]] = LruCache(
            _MAX_ANSWER_BYTES, lambda dropped: self._forget_answer(*dropped)
        )

    async def wait_for_reply(
        self,
        key: str,
        compute_reply: Callable[[], Coroutine[Any, Any, bytes]],
        entry: QueueEntry,
        max_wait_s: float,
    ) -> bytes:
        """Return the result of the work, or of work under the same key whose client has disconnected.

        Args:
            key: Text that is equal for a request and its repetitions.
            compute_reply: Does the work and returns the body of the reply. It is not called if there is such
                work of a disconnected client.
            entry: Entry of the request in the queue. New work holds it until the work ends.
            max_wait_s: Maximum seconds to wait for the result.

        Raises:
            ResultPending: The result is not ready after `max_wait_s`. The work continues, but is
                cancelled if the request is not repeated within `MAX_ABSENCE_S`.
        """
        if key in self._disconnected_work:
            request_work = self._disconnected_work[key][0]
            self._forget_answer(key, request_work)
        else:
            request_work = self._start_work(key, compute_reply, entry)
        try:
            await asyncio.wait({request_work.task}, timeout=max_wait_s)
        except asyncio.CancelledError:
            request_work.task.cancel()
            raise
        if not request_work.task.done():
            request_work.entry.release_place()
            self._disconnected_work.setdefault(key, deque()).append(request_work)
            request_work.expiry = asyncio.get_running_loop().call_later(
                MAX_ABSENCE_S, self._cancel_abandoned_request, key, request_work
            )
            raise ResultPending
        return request_work.task.result()

    async def close(self) -> None:
        """Cancel all work."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _start_work(
        self, key: str, compute_reply: Callable[[], Coroutine[Any, Any, bytes]], entry: QueueEntry
    ) -> _RequestWork:
        async def work_in_queue() -> bytes:
            with entry.keep_in_queue():
                return await compute_reply()

        request_work = _RequestWork(asyncio.create_task(work_in_queue()), entry)
        self._tasks.add(request_work.task)
        request_work.task.add_done_callback(lambda _: self._store_answer(key, request_work))
        return request_work

    def _store_answer(self, key: str, work: _RequestWork) -> None:
        """Store the answer of disconnected work for the repeated request. Older answers may be dropped."""
        self._tasks.discard(work.task)
        if not work.task.cancelled() and work.task.exception() is None and work.expiry is not None:
            self._answers.put(str(id(work)), (key, work), len(work.task.result()))

    def _cancel_abandoned_request(self, key: str, work: _RequestWork) -> None:
        self._forget_answer(key, work)
        work.task.cancel()

    def _forget_answer(self, key: str, work: _RequestWork) -> None:
        if work.expiry is None:
            return
        work.expiry.cancel()
        work.expiry = None
        self._answers.forget([str(id(work))])
        self._disconnected_work[key].remove(work)
        if not self._disconnected_work[key]:
            del self._disconnected_work[key]


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

        Raises ResultPending just before the client would give up. The client then repeats the request.
        """
        request = _decode_request(body, RunCode)
        patience_s = PATIENCE - entry.entrance_s
        patience_s += _to_milliseconds("compile_timeout", request.compile_timeout) / 1000
        patience_s += _to_milliseconds("run_timeout", request.run_timeout) / 1000
        key = f"{hashlib.sha256(body).hexdigest()} {entry.token_name}"
        return await self._unanswered.wait_for_reply(
            key, partial(self._run_code, request, entry), entry, patience_s
        )

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
            raise _make_request_error(str(error)) from error
        expected_outputs = [case.output.get("stdout", "") for case in cases]
        request = RunCode(
            code=code,
            language=language,
            compile_timeout=options.compile_timeout or 10,
            run_timeout=options.run_timeout or (20 if language in _SCRIPTS else 10),
        )
        try:
            inputs = [case.input.get("stdin", "") for case in cases] if code else []
            runs_all_cases = bool(options.extra.get("run_all_cases"))
            replies = await self._run(request, inputs, entry, None if runs_all_cases else expected_outputs)
        except JobFailed as error:
            raise _make_sandbox_error(str(error)) from error
        for failed_reply in (reply for reply in replies if reply.status == _SANDBOX_ERROR):
            raise _make_sandbox_error(failed_reply.message)
        passed_flags = list(map(_is_right, replies, expected_outputs))
        test_replies = list(map(TestReply, passed_flags, replies, cases))
        return msgspec.json.encode(
            SubmitReply(
                id=submission.id,
                accepted=bool(test_replies) and all(passed_flags),
                extracted_code=code,
                tests=test_replies,
            )
        )

    async def _run(
        self,
        request: RunCode,
        inputs: Sequence[str],
        entry: QueueEntry,
        expected_outputs: Sequence[str] | None = None,
    ) -> list[RunCodeReply]:
        """Return a reply for each input.

        With `expected_outputs`, stop after the first wrong reply. Raises JobFailed.
        """
        language = _find_language(request.language)
        compiler_path = interpreter_path = "/bin/bash"
        if request.language != "bash":
            toolchains = (await self._engine.capabilities()).toolchains
            for command in language.tools:
                if command not in toolchains:
                    raise JobFailed(f"{command} is not installed on this machine: {language.remedy}")
            compiler_path, interpreter_path = (
                toolchains[language.tools[0]].path,
                toolchains[language.tools[-1]].path,
            )
        program = _Program(request, language, compiler_path, interpreter_path)
        cached_build = await self._build_program(program, entry)
        replies: list[RunCodeReply] = []
        for number, stdin in enumerate(inputs):
            replies.append(await self._run_input(program, cached_build, stdin, entry))
            if expected_outputs is not None and not _is_right(replies[-1], expected_outputs[number]):
                break
        return replies

    async def _build_program(self, program: _Program, entry: QueueEntry) -> CachedBuild | None:
        """Return the build of the program, from the cache if possible. None for languages without a build."""
        if program.build_job is None:
            return None
        job, capabilities = self._jobs.add_limits(program.build_job), await self._engine.capabilities()
        tool = capabilities.toolchains[program.language.tools[0]]
        limits = (job.compile_timeout, job.compile_cpu_time, job.compile_memory_limit)
        key = make_artifact_key("run-code", capabilities.architecture, tool, map(str, limits), job.files)
        # If an equal build is already running, the request needs its slot only after that build.
        if not self._builds.is_running(key):
            await entry.acquire_slot()
        return await self._builds.get_build(key, partial(self._jobs.run_job, job, entry))

    async def _run_input(
        self, program: _Program, cached_build: CachedBuild | None, stdin: str, entry: QueueEntry
    ) -> RunCodeReply:
        compile_result = None if cached_build is None else _make_command_result(cached_build.stage)
        if cached_build is not None and cached_build.stage.code != 0:
            return _set_reply_status(RunCodeReply(compile_result=compile_result))
        # For example, a unit in Pascal compiles, but leads to no program.
        if cached_build is not None and not cached_build.files:
            return RunCodeReply("Failed", "the compiler wrote no program", compile_result)
        job = program.make_run_job(stdin, () if cached_build is None else cached_build.files)
        result = await self._jobs.run_job(self._jobs.add_limits(job), entry)
        try:
            files = await asyncio.to_thread(_read_fetched_files, result)
        finally:
            await asyncio.to_thread(remove_kept_files, result)
        reply = _set_reply_status(
            RunCodeReply(
                compile_result=compile_result, run_result=_make_command_result(result.run), files=files or {}
            )
        )
        if files is None and reply.status == "Success":
            reply.status = "Failed"
            reply.message = f"the files to fetch have more than {_MAX_FETCHED_BYTES} bytes"
        return reply


class _Program:
    """The jobs that build and run the program of a request."""

    def __init__(
        self, request: RunCode, language: Language, compiler_path: str, interpreter_path: str
    ) -> None:
        self._request, self.language, self._compiler_path, self._interpreter_path = (
            request,
            language,
            compiler_path,
            interpreter_path,
        )
        self._source_name = f"main{language.suffixes[0]}" if request.language != "bash" else "main.sh"
        self._is_script = request.language in _SCRIPTS
        self._memory_bytes = (
            request.memory_limit_MB << 20 if 0 < request.memory_limit_MB < _NO_LIMIT else None
        )

    @property
    def build_job(self) -> Job | None:
        """Return the build job, or None for interpreted languages."""
        if self._is_script:
            return None
        artifact_name = self.language.artifact_name
        command = self.language.build_command((self._source_name,), artifact_name, tool=self._compiler_path)
        return Job(
            files=(
                *self._list_files(),
                _make_text_file("compile", f"exec {shlex.join(command)} < /dev/null\n"),
            ),
            runtime=_RUNTIME,
            compile_timeout=_to_milliseconds("compile_timeout", self._request.compile_timeout),
            compile_cpu_time=_to_milliseconds("compile_timeout", self._request.compile_timeout),
            keep=(artifact_name,),
        )

    def make_run_job(self, stdin: str, build_files: tuple[JobFile, ...]) -> Job:
        command: tuple[str, ...] = (self._interpreter_path, self._source_name)
        if not self._is_script:
            command = self.language.run_command(self._interpreter_path, self._memory_bytes)
        program_path = command[0] if command[0].startswith("/") else f"./{command[0]}"
        shell_line = f"exec {shlex.join((program_path, *command[1:]))} < {_STDIN}\n"
        return Job(
            files=(
                *self._list_files(),
                *build_files,
                _make_text_file(_STDIN, stdin),
                _make_text_file("run", shell_line),
            ),
            runtime=_RUNTIME,
            run_timeout=_to_milliseconds("run_timeout", self._request.run_timeout),
            run_cpu_time=_to_milliseconds("run_timeout", self._request.run_timeout),
            run_memory_limit=self._memory_bytes,
            keep=tuple(self._request.fetch_files),
        )

    def _list_files(self) -> Iterator[JobFile]:
        for name, content in self._request.files.items():
            if content is None:
                continue
            try:
                yield JobFile(name=name, content=Blob.of(base64.b64decode(content, validate=True)))
            except ValueError as error:
                raise _make_request_error(f"files[{name!r}] is not base64: {error}") from error
        helper = self.language.helper
        if helper and not self._is_script:
            yield _make_text_file(helper, (graders_folder() / helper).read_text())
        yield _make_text_file(self._source_name, self._request.code)


def _find_language(name: str) -> Language:
    if name not in _LANGUAGES:
        raise JobFailed(f"the language {name!r} is not supported: the languages are {', '.join(_LANGUAGES)}")
    # A shell script is built like a Python script: its source file is the program.
    return find_language("python" if name == "bash" else name)


def _make_text_file(name: str, text: str) -> JobFile:
    return JobFile(name=name, content=Blob.of(text), text=True)


def _to_milliseconds(field_name: str, seconds: float) -> int:
    if not 0 < seconds < 1e6:
        raise _make_request_error(f"{field_name} must be a number of seconds above 0 and below 1000000")
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
    kill_signal = signal.Signals[stage.signal or ""] if is_known else signal.SIGKILL
    return CommandResult(
        status="Finished",
        execution_time=seconds,
        return_code=-kill_signal if stage.code is None else stage.code,
        stdout=stage.stdout,
        stderr=stage.stderr,
    )


def _set_reply_status(reply: RunCodeReply) -> RunCodeReply:
    """Set the reply's status from the results of its commands, and return the reply."""
    for result in (stage for stage in (reply.compile_result, reply.run_result) if stage is not None):
        if result.status == "Error":
            reply.status, reply.message = _SANDBOX_ERROR, result.stderr or ""
            break
        if result.status == "TimeLimitExceeded" or result.return_code != 0:
            reply.status = "Failed"
    return reply


def _is_right(reply: RunCodeReply, expected_output: str) -> bool:
    """Return True if all lines match, ignoring case and outer white space.

    A number that is alone in its line may differ a little.
    """
    if reply.status != "Success" or reply.run_result is None:
        return False
    output_lines = (reply.run_result.stdout or "").strip().lower().split("\n")
    expected_lines = expected_output.strip().lower().split("\n")
    return len(output_lines) == len(expected_lines) and all(map(_lines_match, output_lines, expected_lines))


def _lines_match(output_line: str, expected_line: str) -> bool:
    if output_line.strip() == expected_line.strip():
        return True
    try:
        output_number, expected_number = float(output_line), float(expected_line)
    except ValueError:
        return False
    return abs(output_number - expected_number) / max(abs(expected_number), _TINY) < _TOLERANCE


def _decode_request(body: bytes, request_type: type[T]) -> T:
    try:
        # With strict=False, the string "5" is accepted as a number.
        return msgspec.json.decode(require_shallow(body), type=request_type, strict=False)
    except (msgspec.MsgspecError, ValueError) as error:
        raise _make_request_error(str(error)) from error


def _read_tests(submission: Submit) -> list[StdioTest]:
    """Return the tests of the row in the request. The worker has no datasets."""
    options = submission.config
    if options.dataset_type not in (None, "CommonOJDataset"):
        raise _make_request_error(
            f"this server judges only rows of CommonOJDataset, not {options.dataset_type}"
        )
    if options.language is None:
        raise _make_request_error("config.language must name the language")
    provided_data = options.provided_data
    rows = [provided_data] if isinstance(provided_data, dict) else provided_data or []
    row = rows[0] if len(rows) == 1 else next((row for row in rows if row.get("id") == submission.id), None)
    if row is None:
        raise _make_request_error(
            "config.provided_data must contain the dataset's row: this server has no datasets"
        )
    tests = row.get("test")
    try:
        decoded_tests = msgspec.json.decode(require_shallow(tests)) if isinstance(tests, str) else tests
        cases = msgspec.convert(decoded_tests, list[StdioTest])
    except (msgspec.MsgspecError, ValueError) as error:
        raise _make_request_error(f"config.provided_data.test: {error}") from error
    if not cases:
        raise _make_request_error("config.provided_data.test has no tests")
    return cases


def _make_sandbox_error(reason: str) -> RefusedRequest:
    """Return the reply to a fault of the worker, which must not become a score."""
    return RefusedRequest(reason, status=500, body={"detail": reason})


def _make_request_error(reason: str) -> RefusedRequest:
    return RefusedRequest(reason, status=422, body={"detail": reason})
