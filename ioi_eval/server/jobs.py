"""Jobs of a worker: the tokens of its clients, and a job from a request's body to its result."""

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

from ioi_eval.engines.contract import Capabilities, check_names
from ioi_eval.engines.embedded.packages import LanguagePackage, find_package
from ioi_eval.engines.jobs import piston_api as piston
from ioi_eval.model.errors import EngineError, EngineOverloaded, InputError, JobRejected
from ioi_eval.model.job import Job, JobResult
from ioi_eval.model.secret import Secret
from ioi_eval.server.log import Event, Metrics, RepeatFilter, Tell, silent
from ioi_eval.server.options import ServerOptions
from ioi_eval.server.queue import QueueEntry

# --- tokens: one for all requests, or several with names in a file -----------------------------------


_CHECK_INTERVAL = 1.0  # Minimum time between two looks whether the file has changed, in seconds
_EXPECTED = "Expected one token, or lines of NAME TOKEN, with names of letters and digits"
_NAME = re.compile(r"[\w.-]+")


class NamedTokens:
    """The tokens that requests may have, with their names. A file is read again after it has changed."""

    def __init__(self, options: ServerOptions, tell: Tell = silent) -> None:
        """Raises InputError if the file has a fault."""
        self._file, self._tell = options.token_file, tell
        self._tokens: Mapping[str, Secret] = {"": options.token} if options.token else {}
        self._stamp, self._checked = self._file_stamp(), time.monotonic()
        if self._file is not None:
            self._tokens = read_tokens(self._file)

    def name_of(self, token: str) -> str | None:
        """Return the name of a token, empty if it has none; None if it is not a token of this worker."""
        if self._file is not None and time.monotonic() - self._checked > _CHECK_INTERVAL:
            self.check(self._file)
        given = token.encode(errors="surrogateescape")  # a header may hold any bytes
        matches = [name for name, each in self._tokens.items() if hmac.compare_digest(given, each.encode())]
        return matches[0] if matches else None

    def check(self, file: Path) -> None:
        """Read the file if it has changed. If it has a fault, the tokens stay as they were."""
        self._checked, stamp = time.monotonic(), self._file_stamp()
        if stamp == self._stamp:
            return
        self._stamp = stamp
        try:
            self._tokens = read_tokens(file)
        except InputError as error:
            self._tell(Event(name="tokens", words=f"The tokens stay as they were: {error}"))
        else:
            names = ", ".join(filter(None, self._tokens))
            self._tell(Event(name="tokens", words=f"Tokens are read again{f': {names}' if names else ''}"))

    def _file_stamp(self) -> tuple[int, int, int] | None:
        try:
            found = None if self._file is None else self._file.stat()
        except OSError:
            return None
        return None if found is None else (found.st_ino, found.st_mtime_ns, found.st_size)


def read_tokens(path: Path) -> Mapping[str, Secret]:
    """Return the tokens of a file by their names. Raises InputError with the line of a fault."""
    try:
        text = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError("cannot be read as text", where=str(path), remedy=_EXPECTED) from error
    if len(text.split()) == 1:  # a token that stands alone has no name
        return {"": Secret(text.strip())}
    tokens = dict[str, Secret]()
    for number, line in enumerate(text.splitlines(), 1):
        words = line.split()
        if not words or line.lstrip().startswith("#"):
            continue
        if len(words) != 2 or not _NAME.fullmatch(words[0]):
            raise InputError("a line must be NAME TOKEN", where=str(path), row=number, remedy=_EXPECTED)
        if words[0] in tokens or words[1] in tokens.values():
            problem = "a line repeats a name or a token"
            raise InputError(problem, where=str(path), row=number, remedy=_EXPECTED)
        tokens[words[0]] = Secret(words[1])
    if not tokens:
        raise InputError("the file has no token", where=str(path), remedy=_EXPECTED)
    return tokens


# --- jobs --------------------------------------------------------------------------------------------


_ESCAPES = 2  # bytes of JSON for each that may be printed: a line break takes two, a NUL would take six
_LONGEST_WORDS = 1000  # characters of a line of the log
_IN_THREAD = 1 << 20  # bytes, from which on JSON is read and written beside the event loop

_T = TypeVar("_T")


class PackagedEngine(Protocol):
    """An engine that knows which languages its jobs can be in."""

    @property
    def slots(self) -> int: ...

    @property
    def packages(self) -> tuple[LanguagePackage, ...]: ...

    async def capabilities(self) -> Capabilities: ...

    async def execute(self, job: Job) -> JobResult: ...


class JobFailed(EngineError):
    """A job that the server could not run. Piston tells its client nothing but that."""


class Jobs:
    """Runs what requests ask for, within the server's limits."""

    def __init__(
        self,
        engine: PackagedEngine,
        options: ServerOptions,
        metrics: Metrics,
        tell: Tell,
    ) -> None:
        self._engine, self._metrics, self._tell = engine, metrics, tell
        self._limits, self._most = options.limits(), _ESCAPES * options.max_output
        self._verbose, self._refusals = options.log_jobs, RepeatFilter()

    async def read(self, body: bytes, *, by_hash: bool) -> Job:
        """The job that a request asks for, as it will run but for contents that it names `by_hash`."""
        try:
            return self.ready(await _beside(len(body), partial(piston.decode_request, body, by_hash=by_hash)))
        except (piston.RefusedRequest, JobFailed) as error:
            if not self._refusals.is_one(str(error)):
                self._say("refused", f"a request was refused: {error}")
            raise

    def _say(self, name: str, words: str, **facts: Any) -> None:
        """Log words that may hold a client's: without control characters, and bounded."""
        short = words[:_LONGEST_WORDS]
        self._tell(Event(name=name, words=short if short.isprintable() else ascii(short), facts=facts))

    async def run(self, job: Job, entry: QueueEntry) -> JobResult:
        """Run a job. A stream that is too long as JSON counts as one that printed too much."""
        await entry.slot()
        started = time.monotonic()
        waited, entry.unreported_s = entry.unreported_s, 0.0
        self._metrics.waiting.observe(waited)
        outcome = "cancelled"
        try:
            result = await self._engine.execute(job)
            outcome = result.run.status or "ok"
        except JobRejected as error:
            outcome = "refused"
            self._say("refused", f"a job in {job.runtime} was refused: {error}", runtime=job.runtime)
            raise piston.RefusedRequest(str(error)) from error
        except EngineOverloaded:
            outcome = "overloaded"
            raise
        except EngineError as error:
            outcome = "failed"
            self._say("failed", f"a job in {job.runtime} failed: {error}", runtime=job.runtime)
            raise JobFailed(str(error)) from error
        finally:
            seconds = time.monotonic() - started
            self._metrics.ended(outcome, seconds)
            if self._verbose:
                words = f"a job in {job.runtime} waited {waited:.3f} s and took {seconds:.3f} s: {outcome}"
                facts = {"outcome": outcome, "seconds": round(seconds, 3), "waited": round(waited, 3)}
                self._say("job", words, runtime=job.runtime, **facts)
        size = sum(len(stage.stdout) + len(stage.stderr) for stage in (result.run, result.compile) if stage)
        return await _beside(size, partial(self._bounded, result))

    def _bounded(self, result: JobResult) -> JobResult:
        compiled = piston.bounded(result.compile, self._most) if result.compile else None
        return msgspec.structs.replace(result, run=piston.bounded(result.run, self._most), compile=compiled)

    def ready(self, job: Job) -> Job:
        """The job with every limit that it is to have."""
        package = find_package(self._engine.packages, job.runtime, job.version)
        if package is None:
            raise piston.RefusedRequest(f"{job.runtime}-{job.version} runtime is unknown")
        limits = {
            **self._limits,
            **{name: value for name, value in package.limits.items() if name in piston.LIMITS},
        }
        piston.check_limits(job, limits)
        missing = {name: value for name, value in limits.items() if value > 0 and getattr(job, name) is None}
        files = tuple({file.name: file for file in job.files}.values())  # of two under one name the last
        try:
            check_names(file.name for file in files)
        except JobRejected as error:
            raise JobFailed(str(error)) from error
        return msgspec.structs.replace(job, files=files, **missing)


async def _beside(size: int, work: Callable[[], _T]) -> _T:
    """Large work in a thread, so that the server goes on answering."""
    return work() if size < _IN_THREAD else await asyncio.to_thread(work)
