"""Jobs of a worker: callers, the queue of their requests, and a job from a request's body to its result."""

from __future__ import annotations

import asyncio
import hmac
import math
import re
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from contextvars import ContextVar, Token
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol, TypeVar

import msgspec

from ioi_eval.engines.contract import Profile, check_names
from ioi_eval.engines.embedded.packages import LanguagePackage, find_package
from ioi_eval.engines.jobs import piston_api as piston
from ioi_eval.model.errors import EngineError, EngineOverloaded, InputError, JobRejected
from ioi_eval.model.job import Job, JobResult
from ioi_eval.model.secret import Secret
from ioi_eval.model.values import Value
from ioi_eval.server.log import Event, Metrics, Repeats, Tell, family, silent
from ioi_eval.server.options import ServerOptions

# --- callers: one token for all, or several with names and shares in a file --------------------------


_LOOKED_EVERY = 1.0  # seconds between two looks whether the file has changed
_EXPECTED = (
    "Expected one token, or lines of NAME TOKEN [SHARE]: a name of letters and digits, a share above 0"
)
_NAME = re.compile(r"[\w.-]+")


class Caller(Value):
    """A token's owner. Names are for `/metrics`."""

    name: str = ""
    token: Secret = Secret()
    part: float = 1.0  # of the worker, while others want it, too


NOBODY = Caller()


class Callers:
    """The tokens that requests may bring. A file is read again when it has changed."""

    def __init__(self, options: ServerOptions, tell: Tell = silent) -> None:
        """Raises InputError for a file that says no tokens."""
        self._file, self._tell = options.token_file, tell
        self._every: tuple[Caller, ...] = (Caller(token=options.token),) if options.token else ()
        self._stamp, self._looked = self._now(), time.monotonic()
        if self._file is not None:
            self._every = read_callers(self._file)

    def of(self, token: str) -> Caller | None:
        """Return the owner of a token; None: nobody's."""
        if self._file is not None and time.monotonic() - self._looked > _LOOKED_EVERY:
            self.look(self._file)
        given = token.encode(errors="surrogateescape")  # a header may hold any bytes
        found = [caller for caller in self._every if hmac.compare_digest(given, caller.token.encode())]
        return found[0] if found else None

    def look(self, file: Path) -> None:
        """Read the file if it has changed. The tokens stay as they were where it cannot be read."""
        self._looked, stamp = time.monotonic(), self._now()
        if stamp == self._stamp:
            return
        self._stamp = stamp
        try:
            self._every = read_callers(file)
        except InputError as error:
            self._tell(Event(name="tokens", words=f"The tokens stay as they were: {error}"))
        else:
            names = ", ".join(caller.name for caller in self._every if caller.name)
            self._tell(Event(name="tokens", words=f"Tokens are read again{f': {names}' if names else ''}"))

    def _now(self) -> tuple[int, int, int] | None:
        try:
            found = None if self._file is None else self._file.stat()
        except OSError:
            return None
        return None if found is None else (found.st_ino, found.st_mtime_ns, found.st_size)


def read_callers(path: Path) -> tuple[Caller, ...]:
    """Return what a file of tokens says. Raises InputError with the line of a fault."""
    try:
        text = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError("cannot be read as text", where=str(path), remedy=_EXPECTED) from error
    if len(text.split()) == 1:  # a token that stands alone has no name
        return (Caller(token=Secret(text.strip())),)
    named: list[tuple[str, str, float]] = []
    for number, line in enumerate(text.splitlines(), 1):
        words = line.split()
        if not words or line.lstrip().startswith("#"):
            continue
        try:
            name, token, share = words[0], words[1], float(words[2]) if len(words) > 2 else 1.0
        except (IndexError, ValueError):
            share = 0.0
        if not (len(words) <= 3 and share > 0 and math.isfinite(share) and _NAME.fullmatch(words[0])):
            raise InputError("a line that says no token", where=str(path), row=number, remedy=_EXPECTED)
        named.append((name, token, share))
    names, tokens = {name for name, _, _ in named}, {token for _, token, _ in named}
    if not named or len(names) < len(named) or len(tokens) < len(named):
        problem = "a name or a token is there twice" if named else "the file is empty"
        raise InputError(problem, where=str(path), remedy=_EXPECTED)
    whole = math.fsum(share for _, _, share in named)
    return tuple(Caller(name=name, token=Secret(token), part=share / whole) for name, token, share in named)


# --- admission: all is decided at once, between two awaits -------------------------------------------


AWAY = 10.0  # seconds that a client may stay away from what goes on for it; verl's comes after 1 and 2


class Draining(EngineOverloaded):
    """The server takes no more jobs: it ends when those that run are done."""

    def __init__(self) -> None:
        super().__init__("this server drains: it ends after the jobs that run, and takes no more")


class FairSlots:
    """Slots, of which each goes to the caller who has the least for its part; to equals, first come."""

    def __init__(self, slots: int) -> None:
        self._free = slots
        self.taken = Counter[str]()  # by caller
        self._waiting: dict[str, deque[tuple[Caller, asyncio.Future[None]]]] = {}

    async def acquire(self, caller: Caller) -> None:
        place = caller, asyncio.get_running_loop().create_future()
        self._waiting.setdefault(caller.name, deque()).append(place)
        self.hand_out()
        try:
            await place[1]
        except BaseException:
            if place[1].done() and not place[1].cancelled() and place[1].exception() is None:
                self.release(caller)  # it came too late
            else:
                self._leave(place)
            raise

    def release(self, caller: Caller) -> None:
        self.taken[caller.name] -= 1
        self._free += 1
        self.hand_out()

    @property
    def waiting(self) -> int:
        return sum(map(len, self._waiting.values()))

    def turn_away(self, error: Exception) -> None:
        """Raise an error where somebody waits."""
        for place in [place for line in self._waiting.values() for place in line]:
            self._leave(place)
            if not place[1].done():
                place[1].set_exception(error)

    def hand_out(self) -> None:
        while self._waiting and self._free > 0:
            caller, turn = min(
                (line[0] for line in self._waiting.values()),
                key=lambda first: self.taken[first[0].name] / first[0].part,
            )
            self._leave((caller, turn))
            if turn.cancelled():
                continue
            self.taken[caller.name] += 1
            self._free -= 1
            turn.set_result(None)

    def _leave(self, place: tuple[Caller, asyncio.Future[None]]) -> None:
        line = self._waiting.get(place[0].name, deque())
        if place in line:
            line.remove(place)
        if not line:
            self._waiting.pop(place[0].name, None)


class Admission:
    """A bounded queue in front of a number of slots. `room`: bytes that all visits together may bring.

    A `Visit` is counted from the moment it comes: what it brings takes memory long before it runs. Of slots
    and queue a caller may have its part; where its part is less than all slots, as many as these.
    """

    def __init__(self, slots: int, queue: int, room: int) -> None:
        self._slots, self._queue, self.room = slots, queue, room
        self.running = self.visits = self._expected = 0
        self.brought = 0  # bytes
        self.draining = False
        self.free = FairSlots(slots)
        self.inside, self.served, self.refused = Counter[str](), Counter[str](), Counter[str]()  # by caller
        self._doors: dict[str, asyncio.Lock] = {}  # by caller; whoever holds one is the next
        self._departed, self._empty = asyncio.Event(), asyncio.Event()
        self._empty.set()

    @property
    def queued(self) -> int:
        return self.visits - self.running

    def visit(self, caller: Caller = NOBODY) -> Visit:
        """Raises EngineOverloaded where nobody else may come in."""
        if self.draining:
            raise Draining
        if lack := self._lack(caller):
            self.refused[caller.name] += 1
            raise EngineOverloaded(lack)
        return Visit(self, caller)

    async def entrance(self, caller: Caller, seconds: float) -> Visit:
        """Return a visit; where nobody else may come in, wait at the door: first come, first in.

        A request is not read there. Raises EngineOverloaded after so many seconds.
        """
        came = asyncio.get_running_loop().time()
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds), self._doors.setdefault(caller.name, asyncio.Lock()):
                while self._lack(caller) and not self.draining:
                    self._departed.clear()
                    await self._departed.wait()
                visit = self.visit(caller)
                visit.waited = asyncio.get_running_loop().time() - came
                return visit
        return self.visit(caller)

    def _lack(self, caller: Caller) -> str:
        """Return what a caller lacks to come in."""
        room = self._slots + self._queue
        if self.visits - self._expected >= room:
            return f"all {self._slots} slots are taken and {self._queue} requests wait"
        if self.inside[caller.name] >= max(self._slots, int(room * caller.part)):
            return f"{caller.name} has {self.inside[caller.name]} requests here, its part of {room}"
        return ""

    def count(self, visits: int, caller: Caller) -> None:
        """For visits: one comes, or one leaves."""
        self.visits += visits
        self.inside[caller.name] += visits
        if visits < 0:
            self._departed.set()
        if self.visits:
            self._empty.clear()
        else:
            self._empty.set()

    def expect(self, visits: int, caller: Caller) -> None:
        """For visits inside whose requests come again: they count as left meanwhile."""
        self._expected += visits
        self.inside[caller.name] -= visits
        self._departed.set()

    def drain(self) -> None:
        """Lets nobody in from now on, and sends away who waits: another server may have room."""
        self.draining = True
        self._departed.set()
        self.free.turn_away(Draining())

    def by_caller(self) -> Iterator[Iterator[str]]:
        """Yield what is counted of each token that has a name."""
        for name, kind, words, counts in (
            ("caller_jobs_total", "counter", "Requests that got a slot, by the token's name.", self.served),
            ("caller_refusals_total", "counter", "Requests that found no room.", self.refused),
            ("caller_requests", "gauge", "Requests that run or wait.", self.inside),
            ("caller_slots", "gauge", "Slots that they have.", self.free.taken),
        ):
            samples = (("", {"caller": who}, number) for who, number in sorted(counts.items()) if who)
            yield family(name, kind, words, samples)

    async def until_empty(self) -> None:
        await self._empty.wait()


class Visit:
    """A request's place: `with` it is inside, after `slot` it has one, for as long as somebody holds it."""

    def __init__(self, admission: Admission, caller: Caller) -> None:
        self.caller, self._admission = caller, admission
        self._has_slot, self._brought = False, 0
        self.waited = 0.0  # seconds at the door
        self.untold = 0.0  # seconds for a slot, until the first job in it tells them
        self._holders, self._counts = 0, True
        self._outside: Token[Visit]

    def bring(self, size: int) -> None:
        """Counts bytes of the request. One that is alone may bring what it likes."""
        here = self._admission
        if here.brought > self._brought and here.brought + size > here.room:
            raise EngineOverloaded(
                f"requests that run or wait hold {here.brought} bytes, and {here.room} are all they may"
            )
        here.brought += size
        self._brought += size

    async def slot(self) -> None:
        """Waits for its turn; of one caller, first come, first served. A holder of a slot keeps it."""
        if self._has_slot:
            return
        came = time.monotonic()
        await self._admission.free.acquire(self.caller)
        if self._admission.draining:
            self._admission.free.release(self.caller)
            raise Draining
        self._has_slot, self.untold = True, time.monotonic() - came
        self._admission.served[self.caller.name] += 1
        self._admission.running += 1

    @contextmanager
    def held(self) -> Iterator[None]:
        """Keep the place for work that goes on without the request."""
        self._hold()
        try:
            yield
        finally:
            self._let_go()

    def expect_again(self) -> None:
        """Let the request in when it comes again, as if this place, which is held for it, were free."""
        if self._counts:
            self._counts = False
            self._admission.expect(+1, self.caller)

    def __enter__(self) -> Visit:
        self._hold()
        self._outside = _inside.set(self)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        _inside.reset(self._outside)
        self._let_go()

    def _hold(self) -> None:
        self._holders += 1
        if self._holders == 1:
            self._admission.count(+1, self.caller)

    def _let_go(self) -> None:
        self._holders -= 1
        if self._holders:
            return
        if self._has_slot:
            self._admission.running -= 1
            self._admission.free.release(self.caller)
        self._admission.brought -= self._brought
        if not self._counts:
            self._admission.expect(-1, self.caller)
        self._admission.count(-1, self.caller)


_inside: ContextVar[Visit] = ContextVar("visit")


def staying() -> AbstractContextManager[None]:
    """Hold the place of the request that this work is for, if it is for one."""
    visit = _inside.get(None)
    return visit.held() if visit else nullcontext()


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

    async def profile(self) -> Profile: ...

    async def execute(self, job: Job) -> JobResult: ...


class FailedInside(EngineError):
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
        self._verbose, self._refusals = options.log_jobs, Repeats()

    async def read(self, body: bytes, *, by_hash: bool) -> Job:
        """The job that a request asks for, as it will run but for contents that it names `by_hash`."""
        try:
            return self.ready(await _beside(len(body), partial(piston.decode_request, body, by_hash=by_hash)))
        except (piston.RefusedRequest, FailedInside) as error:
            if not self._refusals.is_one(str(error)):
                self._say("refused", f"a request was refused: {error}")
            raise

    def _say(self, name: str, words: str, **facts: Any) -> None:
        """Log words that may hold a client's: without control characters, and bounded."""
        short = words[:_LONGEST_WORDS]
        self._tell(Event(name=name, words=short if short.isprintable() else ascii(short), facts=facts))

    async def run(self, job: Job, visit: Visit) -> JobResult:
        """Run a job. A stream that is too long as JSON counts as one that printed too much."""
        await visit.slot()
        started = time.monotonic()
        waited, visit.untold = visit.untold, 0.0
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
            raise FailedInside(str(error)) from error
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
            raise FailedInside(str(error)) from error
        return msgspec.structs.replace(job, files=files, **missing)


async def _beside(size: int, work: Callable[[], _T]) -> _T:
    """Large work in a thread, so that the server goes on answering."""
    return work() if size < _IN_THREAD else await asyncio.to_thread(work)
