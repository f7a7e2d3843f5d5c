"""The tokens of a worker's clients, and its jobs: from a request's body to a result."""

from __future__ import annotations

import asyncio
import hmac
import re
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Protocol, TypeVar

import msgspec

from ioi_eval.engines.contract import Capabilities, check_file_names
from ioi_eval.engines.embedded.packages import LanguagePackage, find_package
from ioi_eval.engines.jobs import piston_api as piston
from ioi_eval.model.errors import EngineError, EngineOverloaded, InputError, JobRejected
from ioi_eval.model.job import Job, JobResult
from ioi_eval.model.secret import Secret
from ioi_eval.server.log import EmitEvent, Event, Metrics, RepeatFilter, ignore_event
from ioi_eval.server.options import ServerOptions
from ioi_eval.server.queue import QueueEntry

# --- tokens: a single token, or a file with several tokens and their names ---------------------------


_CHECK_INTERVAL_S = 1.0  # minimum seconds between two checks whether the file of tokens has changed
_EXPECTED = "Expected one token, or lines of NAME TOKEN, with names of letters and digits"
_NAME = re.compile(r"[\w.-]+")


class NamedTokens:
    """The valid tokens, with their names. A token file is read again after it changes."""

    def __init__(self, options: ServerOptions, emit: EmitEvent = ignore_event) -> None:
        """Read the tokens. Raises InputError if the token file is invalid."""
        self._file, self._emit = options.token_file, emit
        self._tokens: Mapping[str, Secret] = {"": options.token} if options.token else {}
        self._read_stamp, self._checked_at = self._read_file_identity(), time.monotonic()
        if self._file is not None:
            self._tokens = read_tokens(self._file)

    def find_name(self, token: str) -> str | None:
        """Return the name of a token, which may be empty, or `None` if the token is invalid."""
        if self._file is not None and time.monotonic() - self._checked_at > _CHECK_INTERVAL_S:
            self.reload_if_changed(self._file)
        # This encoding is needed because a header can contain any bytes.
        encoded_token = token.encode(errors="surrogateescape")
        matching_names = [
            name
            for name, valid_token in self._tokens.items()
            if hmac.compare_digest(encoded_token, valid_token.encode())
        ]
        return matching_names[0] if matching_names else None

    def reload_if_changed(self, file: Path) -> None:
        """Read the file again if it has changed. If it is invalid, the earlier tokens stay valid."""
        self._checked_at, stamp = time.monotonic(), self._read_file_identity()
        if stamp == self._read_stamp:
            return
        self._read_stamp = stamp
        try:
            self._tokens = read_tokens(file)
        except InputError as error:
            self._emit(Event(name="tokens", message=f"The earlier tokens stay valid: {error}"))
        else:
            names = ", ".join(filter(None, self._tokens))
            message = f"The tokens were read again{f': {names}' if names else ''}"
            self._emit(Event(name="tokens", message=message))

    def _read_file_identity(self) -> tuple[int, int, int] | None:
        try:
            status = None if self._file is None else self._file.stat()
        except OSError:
            return None
        return None if status is None else (status.st_ino, status.st_mtime_ns, status.st_size)


def read_tokens(path: Path) -> Mapping[str, Secret]:
    """Return the tokens of a file by name. Raises InputError, with the line, if the file is invalid."""
    try:
        content = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError("the file cannot be read as text", where=str(path), remedy=_EXPECTED) from error
    if len(content.split()) == 1:  # a single token in the file has no name
        return {"": Secret(content.strip())}
    tokens = dict[str, Secret]()
    for line_number, line in enumerate(content.splitlines(), 1):
        fields = line.split()
        if not fields or line.lstrip().startswith("#"):
            continue
        if len(fields) != 2 or not _NAME.fullmatch(fields[0]):
            raise InputError("a line must be NAME TOKEN", where=str(path), row=line_number, remedy=_EXPECTED)
        name, token = fields
        if name in tokens or token in tokens.values():
            problem = "a line repeats a name or a token"
            raise InputError(problem, where=str(path), row=line_number, remedy=_EXPECTED)
        tokens[name] = Secret(token)
    if not tokens:
        raise InputError("the file contains no token", where=str(path), remedy=_EXPECTED)
    return tokens


# --- jobs --------------------------------------------------------------------------------------------


# Maximum bytes of JSON for each byte of output. A line break needs two bytes; a NUL would need six.
_JSON_BYTES = 2
_MAX_MESSAGE_LENGTH = 1000  # maximum characters of a message in the log
_MIN_THREAD_BYTES = 1 << 20  # minimum bytes of JSON that is encoded or decoded in a thread

_T = TypeVar("_T")


class LanguagePackageEngine(Protocol):
    """An engine with a list of the languages that its jobs can use."""

    @property
    def slots(self) -> int: ...

    @property
    def packages(self) -> tuple[LanguagePackage, ...]: ...

    async def capabilities(self) -> Capabilities: ...

    async def execute(self, job: Job) -> JobResult: ...


class JobFailed(EngineError):
    """The server could not run a job. As with Piston, the reply is status 500 without a reason."""


class Jobs:
    """Decodes requests into jobs and runs them within the server's limits."""

    def __init__(
        self,
        engine: LanguagePackageEngine,
        options: ServerOptions,
        metrics: Metrics,
        emit: EmitEvent,
    ) -> None:
        self._engine, self._metrics, self._emit = engine, metrics, emit
        self._limits, self._max_json_bytes = options.get_limits(), _JSON_BYTES * options.max_output
        self._logs_jobs, self._logged_refusals = options.log_jobs, RepeatFilter()

    async def read_job(self, body: bytes, *, by_hash: bool) -> Job:
        """Return the job that a request's body describes.

        If `by_hash` is true, the body may name files by hash; their contents are still missing in the job.
        """
        try:
            job = await _run_in_thread_if_large(
                len(body), partial(piston.decode_request, body, accepts_hashes=by_hash)
            )
            return self.add_limits(job)
        except (piston.RefusedRequest, JobFailed) as error:
            if not self._logged_refusals.is_repeated(str(error)):
                self._log("refused", f"a request was refused: {error}")
            raise

    def _log(self, name: str, message: str, **facts: Any) -> None:
        """Log a message that may quote a client: shortened, and without control characters."""
        short_message = message[:_MAX_MESSAGE_LENGTH]
        self._emit(
            Event(
                name=name,
                message=short_message if short_message.isprintable() else ascii(short_message),
                facts=facts,
            )
        )

    async def run_job(self, job: Job, entry: QueueEntry) -> JobResult:
        """Wait for a slot, run a job, and return its result.

        Output that is too long as JSON is treated as exceeding the output limit.
        """
        await entry.acquire_slot()
        start_s = time.monotonic()
        waited_s, entry.unreported_s = entry.unreported_s, 0.0
        self._metrics.wait_time.add_value(waited_s)
        outcome = "cancelled"
        try:
            result = await self._engine.execute(job)
            outcome = result.run.status or "ok"
        except JobRejected as error:
            outcome = "refused"
            self._log("refused", f"a job in {job.runtime} was refused: {error}", runtime=job.runtime)
            raise piston.RefusedRequest(str(error)) from error
        except EngineOverloaded:
            outcome = "overloaded"
            raise
        except EngineError as error:
            outcome = "failed"
            self._log("failed", f"a job in {job.runtime} failed: {error}", runtime=job.runtime)
            raise JobFailed(str(error)) from error
        finally:
            run_s = time.monotonic() - start_s
            self._metrics.count_job(outcome, run_s)
            if self._logs_jobs:
                message = f"a job in {job.runtime} waited {waited_s:.3f} s and took {run_s:.3f} s: {outcome}"
                facts = {"outcome": outcome, "seconds": round(run_s, 3), "waited": round(waited_s, 3)}
                self._log("job", message, runtime=job.runtime, **facts)
        output_bytes = sum(
            len(stage.stdout) + len(stage.stderr) for stage in (result.run, result.compile) if stage
        )
        return await _run_in_thread_if_large(output_bytes, partial(self.shorten_output, result))

    def shorten_output(self, result: JobResult) -> JobResult:
        """Return the result with output that fits the limit of a reply."""
        max_bytes = self._max_json_bytes
        compile_stage = piston.limit_output(result.compile, max_bytes) if result.compile else None
        return msgspec.structs.replace(
            result, run=piston.limit_output(result.run, max_bytes), compile=compile_stage
        )

    def add_limits(self, job: Job) -> Job:
        """Return the job with the server's limits as defaults for limits that the request does not set.

        Raises:
            RefusedRequest: if the language is unknown, or a limit is above the server's.
            JobFailed: if the name of a file is invalid.
        """
        package = find_package(self._engine.packages, job.runtime, job.version)
        if package is None:
            raise piston.RefusedRequest(f"{job.runtime}-{job.version} runtime is unknown")
        limits = {
            **self._limits,
            **{name: value for name, value in package.limits.items() if name in piston.LIMITS},
        }
        piston.check_limits(job, limits)
        missing_limits = {
            name: value for name, value in limits.items() if value > 0 and getattr(job, name) is None
        }
        # If several files have the same name, the last file is used.
        files = tuple({file.name: file for file in job.files}.values())
        try:
            check_file_names(file.name for file in files)
        except JobRejected as error:
            raise JobFailed(str(error)) from error
        return msgspec.structs.replace(job, files=files, **missing_limits)


async def _run_in_thread_if_large(size_bytes: int, function: Callable[[], _T]) -> _T:
    """Return the function's result. For large data it runs in a thread, so that the server still answers."""
    return function() if size_bytes < _MIN_THREAD_BYTES else await asyncio.to_thread(function)
