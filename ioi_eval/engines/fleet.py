"""A fleet: the servers or nodes of an engine, their states, one queue for their slots, and their jobs.

`Fleet` alone changes an endpoint. Subclasses say how endpoints are found, inspected and sent jobs; nothing in
this module uses a network.
"""

from __future__ import annotations

import asyncio
import logging
import math
import random
import time
from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Callable, Collection, Coroutine, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import partial
from typing import Any, Generic, TypeVar

from ioi_eval.engines.contract import Change, Check, JobsWait, OnServer, ServerChanged
from ioi_eval.model.doing import at, log_step
from ioi_eval.model.errors import (
    AttemptsUsedUp,
    BrokenReply,
    EngineError,
    EngineOverloaded,
    EngineUnavailable,
    InputError,
    JobRejected,
    MachineAtFault,
    ServerReplaced,
    ToolchainGone,
)
from ioi_eval.model.job import Job
from ioi_eval.model.retry import DISCOVERY, LATE_JOB, RECOVERY, SERVER
from ioi_eval.model.values import ServerState, Value

_log = logging.getLogger(__name__)

# --- states ------------------------------------------------------------------------------------------


class State(StrEnum):
    """The state of an endpoint."""

    NEW = "new"  # found, and inspected until it answers; no jobs yet
    HEALTHY = "healthy"
    TRIAL = "on trial"  # it answers again; one job at a time
    DOWN = "down"  # no jobs until it answers an inspection
    LEFT_OUT = "left out"  # it answers, and gets no jobs for what it is
    GONE = "gone"  # not found any more; its jobs may end


class Cause(StrEnum):
    """The reason why the state of an endpoint changes."""

    FOUND = "found again"
    FIT = "inspection: fit"
    UNFIT = "inspection: unfit"
    FAILED = "failed jobs, or no answer"
    ANSWERED = "a job was answered"
    NOT_FOUND = "not found"


TRANSITIONS: Mapping[tuple[State, Cause], State] = {
    (State.NEW, Cause.FIT): State.HEALTHY,
    (State.NEW, Cause.UNFIT): State.LEFT_OUT,
    (State.NEW, Cause.NOT_FOUND): State.GONE,
    (State.HEALTHY, Cause.FAILED): State.DOWN,
    (State.HEALTHY, Cause.NOT_FOUND): State.GONE,
    (State.DOWN, Cause.FIT): State.TRIAL,
    (State.DOWN, Cause.UNFIT): State.LEFT_OUT,
    (State.DOWN, Cause.NOT_FOUND): State.GONE,
    (State.TRIAL, Cause.ANSWERED): State.HEALTHY,
    (State.TRIAL, Cause.FAILED): State.DOWN,
    (State.TRIAL, Cause.NOT_FOUND): State.GONE,
    (State.LEFT_OUT, Cause.FIT): State.TRIAL,
    (State.LEFT_OUT, Cause.NOT_FOUND): State.GONE,
    (State.GONE, Cause.FOUND): State.NEW,
}
"""The state that follows. No other changes are possible."""


def state_diagram() -> str:
    """Return the transitions as a diagram in the language Mermaid, for docs/architecture.md."""
    lines = [f"    {before.name} --> {after.name}: {cause}" for (before, cause), after in TRANSITIONS.items()]
    return "\n".join(["stateDiagram-v2", f"    [*] --> {State.NEW.name}: found", *lines])


R = TypeVar("R")
"""The type of what an inspection reports about an endpoint."""

_RATE_S = 60.0  # seconds over which an endpoint's rate of jobs is averaged
_FAULTS = 3  # failed jobs in a row after which an endpoint rests
_FAILED_TRIALS = 2  # failed trials in a row after which a further trial does not stop the clock of a drought


class Endpoint(Generic[R]):
    """A server or node. Its fleet alone writes these fields."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.state, self.since = State.NEW, time.time()
        self.report: R | None = None  # of the last inspection that found it fit
        self.slots = 0
        self.busy = 0  # its jobs now
        self.errors = 0  # jobs that it has failed
        self.why = ""  # the last of these errors, or why it gets no jobs
        self.faults = 0  # jobs that it failed in a row
        self.useless = (
            0  # plus 2 for each refusal or answer that its check refused, minus 1 for each other one
        )
        self.rests = 0  # inspections since it was last healthy
        self.is_full = False  # its last trouble: it had no capacity, so it is the same server still
        self.trials = 0  # failed trials since it was last healthy
        self.heard = 0.0  # when it last answered, or began to have jobs
        self.news = ""  # what the last inspection found changed
        self._recent = 0.0  # jobs answered lately, older ones count less
        self._counted = self._began = time.monotonic()

    @property
    def usable(self) -> bool:
        return self.state in (State.HEALTHY, State.TRIAL)

    @property
    def is_in(self) -> bool:
        """True if it has jobs, or may have jobs again when it answers."""
        return self.usable or self.state is State.DOWN

    @property
    def had_jobs(self) -> bool:
        """True if it was ever fit for jobs."""
        return self.report is not None

    @property
    def free_slots(self) -> int:
        if self.state is State.TRIAL:
            return 1 - self.busy
        return self.slots - self.busy if self.state is State.HEALTHY else 0

    @property
    def standing(self) -> ServerState:
        """The state of the server now, for people."""
        return ServerState(
            url=self.url,
            state=self.state,
            slots=self.slots,
            busy=self.busy,
            errors=self.errors,
            why=self.why,
            since=self.since,
            rate=self.rate,
        )

    @property
    def rate(self) -> float:
        """Answered jobs per second, about over the last minute."""
        now_s = time.monotonic()
        seconds = _RATE_S * (1 - math.exp(-max(1.0, now_s - self._began) / _RATE_S))
        return round(self._recent * math.exp((self._counted - now_s) / _RATE_S) / seconds, 2)

    def count_answer(self) -> None:
        now_s = time.monotonic()
        self._recent = self._recent * math.exp((self._counted - now_s) / _RATE_S) + 1
        self._counted = now_s

    def __repr__(self) -> str:
        return f"Endpoint({self.url}, {self.state.value}, {self.busy}/{self.slots})"


# --- errors and times --------------------------------------------------------------------------------


SERVERS_FAULT = (EngineUnavailable, EngineOverloaded, BrokenReply, ServerReplaced)
_CLOSED = "the engine was closed"
_NAMED = 4  # servers that a message names


class NoAnswer(EngineUnavailable):
    """The server cannot be reached, or does not answer in time."""


class LateAnswer(NoAnswer):
    """The server did not answer in time, and may be alive."""


class EndpointUnfit(EngineError):
    """The server answers, and gets no jobs for what it is."""


class AnswerRefused(Exception):
    """The check of an answer refused it."""

    def __init__(self, error: EngineError) -> None:
        self.error = error


class FitChanged(Exception):
    """An endpoint became usable that does not fit a job which no usable endpoint fits."""


class Waits(Value):
    """Times in seconds. The defaults are for clusters; tests use shorter ones."""

    drought: float = SERVER.max_seconds  # without any usable endpoint, before a job is given up
    first_wait: float = SERVER.first_wait
    longest_wait: float = SERVER.longest_wait
    first_rest: float = RECOVERY.first_wait  # of an endpoint that failed
    longest_rest: float = RECOVERY.longest_wait
    silence: float = LATE_JOB.max_seconds  # of an endpoint that has jobs, until it is asked

    def wait_before(self, attempt: int) -> float:
        """Return a random wait up to a bound that doubles: jobs that failed together come back apart."""
        return random.uniform(0, min(self.longest_wait, self.first_wait * 2 ** min(attempt, 16)))

    def rest_after(self, failures: int) -> float:
        longest = min(self.longest_rest, self.first_rest * 2 ** min(failures, 16))
        return random.uniform(longest / 2, longest)


def now() -> float:
    return asyncio.get_running_loop().time()


def _trouble(error: EngineError) -> Change:
    if isinstance(error, EngineOverloaded):
        return Change.FULL
    if isinstance(error, ServerReplaced):
        return Change.REPLACED
    return Change.SLOW if isinstance(error, LateAnswer) else Change.LOST


def _first_of(names: Iterable[str]) -> str:
    """Return the first of the names, and the number of the others."""
    listed = [*names]
    more = f" and {len(listed) - _NAMED} more" if len(listed) > _NAMED else ""
    return ", ".join(listed[:_NAMED]) + more


# --- one job -----------------------------------------------------------------------------------------


E = Endpoint[Any]
Fits = Callable[[E], bool]


def _any(endpoint: E) -> bool:
    return True


@dataclass(frozen=True)
class _Wish:
    """What a job that waits for a slot asks for."""

    avoid: Collection[E] = ()  # endpoints that get it only if no other usable one fits
    prefer: E | None = None  # the endpoint that gets it if that has a free slot now
    fits: Fits = _any  # False for an endpoint that must not get it


@dataclass
class JobAttempts:
    """The attempts of one job, and whether they are enough."""

    left: int
    waits: Waits
    tried: list[E] = field(default_factory=list)
    turned_away: float | None = None  # when a server first had no capacity for it
    last: EngineError | None = None

    def failed(self, endpoint: E, error: EngineError) -> None:
        """Note a failed attempt. A refusal for lack of capacity and a first replacement do not count."""
        self.last, again = error, endpoint in self.tried
        self.tried.append(endpoint)
        if isinstance(error, EngineOverloaded):
            self.turned_away = self.turned_away or now()
        elif again or not isinstance(error, ServerReplaced):
            self.left -= 1

    def check(self, error: EngineError) -> None:
        """Raise AttemptsUsedUp after too many attempts, or after being turned away for too long."""
        away = now() - self.turned_away if self.turned_away is not None else 0.0
        if self.left <= 0 or (isinstance(error, EngineOverloaded) and away > self.waits.drought):
            where = f"(retry rule `{SERVER.name}`), on {self._names()}"
            raise AttemptsUsedUp(f"{len(self.tried)} attempts failed {where}{self.last_words()}") from error

    def named(self, error: EngineError) -> EngineError:
        """Return the error of a job that servers executed and failed, with the names of the servers."""
        if isinstance(error, MachineAtFault):
            return MachineAtFault(error.reason, error.answer, self._names())
        if len(self.tried) == 1:
            return error
        return AttemptsUsedUp(f"{len(self.tried)} attempts failed, on {self._names()}{self.last_words()}")

    def _names(self) -> str:
        return _first_of(dict.fromkeys(endpoint.url for endpoint in self.tried))

    def to_avoid(self, fitting: Collection[E]) -> list[E]:
        """Return all tried endpoints if there are others, else the last one, unless it is the only one."""
        if any(endpoint not in self.tried for endpoint in fitting):
            return self.tried
        return self.tried[-1:] if len(fitting) > 1 else []

    def last_words(self) -> str:
        return f", the last one: {self.last}" if self.last is not None else ""


@dataclass(eq=False)
class _Sending:
    """A job on an endpoint, and on a second endpoint if the first one is late."""

    endpoint: E
    job: Job
    attempts: JobAttempts
    check: Check | None
    began: float = field(default_factory=now)
    alone: asyncio.Timeout = field(default_factory=partial(asyncio.timeout, None))  # until the other answers
    beside: asyncio.Task[None] | None = None
    answer: Any = None
    given_up: str = ""  # why nobody waits for an answer any more


# --- the fleet ---------------------------------------------------------------------------------------


class Fleet(ABC, Generic[R]):
    """Endpoints, their states, and one queue for their slots.

    A job that fails by an endpoint's fault is tried on another endpoint. An endpoint that fails rests, is
    inspected, and then gets one job on trial.

    A free slot goes to the first waiting job that it suits, so no task wakes up in vain. If no endpoint that
    fits a job has worked for `waits.drought` seconds, all such jobs get EngineUnavailable together, and each
    later one at once, until an endpoint is usable again. The clock stands still while a fitting endpoint
    works, and begins anew with the next healthy endpoint, not with one on trial.
    """

    def __init__(self, waits: Waits, *, attempts: int, total: int | None, tell: OnServer) -> None:
        self._waits, self._attempts, self._total, self._tell = waits, attempts, total, tell
        self.endpoints = dict[str, Endpoint[R]]()  # all that were found, by address
        self.usable: dict[Endpoint[R], None] = {}
        self.found: frozenset[str] = frozenset()
        self.begun = False  # from then on joining endpoints are events
        self.busy = 0  # jobs on all endpoints
        self._with_room: list[dict[E, None]] = [{}]  # by the number of jobs there; longest idle first
        self._is_full = True
        self._waiting: OrderedDict[asyncio.Future[E], _Wish] = OrderedDict()
        self._working: dict[E, None] = {}  # healthy endpoints, and those with a job on a first trial
        self._stranded = set[asyncio.Future[E]]()  # waiting jobs that no working endpoint fits
        self._dry: asyncio.TimerHandle | None = None
        self._dry_since = self._dry_for = 0.0  # since when the clock runs, and the seconds before that
        self._refusal = ""  # why no job can have a slot
        self._sendings = dict[_Sending, None]()
        self._inspected = set[E]()  # endpoints that are inspected until they are fit
        self._tasks = set[asyncio.Task[None]]()

    # --- what the kind of cluster decides ----------------------------------------------------------------

    @abstractmethod
    async def find(self) -> frozenset[str]:
        """Return the addresses of all endpoints that there are now. Raises EngineError or InputError."""

    @abstractmethod
    async def inspect(self, address: str) -> R:
        """Return a report about an endpoint that can have jobs. Raises NoAnswer or EndpointUnfit."""

    @abstractmethod
    async def ask(self, endpoint: Endpoint[R]) -> None:
        """Return if an endpoint is still there and the same. Raises EngineError if not."""

    @abstractmethod
    async def send(self, endpoint: Endpoint[R], job: Job) -> Any:
        """Have an endpoint execute a job once. Raises EngineError."""

    @abstractmethod
    def slots_of(self, report: R) -> int:
        """Return the number of jobs that an endpoint gets at a time."""

    @abstractmethod
    def fits(self, endpoint: Endpoint[R], job: Job, *, exactly: bool = True) -> bool:
        """Return True if an endpoint can execute a job.

        `exactly`: by the builds of tools that the job was made for, else by any builds of these tools.
        """

    def offer(self) -> None:
        """Update what jobs may count on. Called after endpoints came, went or changed."""

    def news_of(self, before: R, after: R) -> str:
        """Return the difference between two reports about an endpoint that its users should know."""
        return ""

    def time_of(self, endpoint: Endpoint[R], job: Job) -> float:
        """Return the seconds that a job may take on an endpoint."""
        return math.inf

    # --- states ------------------------------------------------------------------------------------------

    @property
    def left_out(self) -> dict[str, str]:
        """The endpoints that answer and get no jobs, by address, and why."""
        return {url: each.why for url, each in self.endpoints.items() if each.state is State.LEFT_OUT}

    @property
    def members(self) -> list[Endpoint[R]]:
        """The endpoints that have jobs, or may have jobs again."""
        return [endpoint for endpoint in self.endpoints.values() if endpoint.is_in]

    @property
    def slots(self) -> int:
        found = sum(endpoint.slots for endpoint in self.usable)
        return max(1, found if self._total is None else min(found, self._total))

    def move(self, endpoint: Endpoint[R], cause: Cause, change: Change | None, reason: str = "") -> None:
        """Change the state of an endpoint: one log line, and one event if `change` is given."""
        before, after = endpoint.state, TRANSITIONS[endpoint.state, cause]
        endpoint.state, endpoint.since = after, time.time()
        if reason and after is not State.HEALTHY:
            endpoint.why = reason
        words = f": {reason}" if reason else ""
        _log.debug("%s is %s, it was %s (%s)%s", endpoint.url, after, before, cause, words)
        if endpoint.usable:
            self.usable[endpoint] = None
            if self._refusal != _CLOSED:
                self._refusal = ""
        else:
            self.usable.pop(endpoint, None)
        if self.begun and cause in (Cause.FIT, Cause.UNFIT, Cause.NOT_FOUND):
            self.offer()
        self._place(endpoint)
        self._serve()
        if endpoint.usable:
            unfit = [each for each in self._stranded if not self._waiting[each].fits(endpoint)]
            self._fail(unfit, FitChanged())
        if after is State.HEALTHY:
            endpoint.trials, self._dry_for = 0, 0.0
        if after is State.GONE and not endpoint.had_jobs:
            del self.endpoints[endpoint.url]
        if change is not None:
            self._event(endpoint.url, change, reason)

    def _event(self, url: str, change: Change, reason: str) -> None:
        slots = sum(each.slots for each in self.usable)
        self._tell(ServerChanged(url=url, change=change, reason=reason, usable=len(self.usable), slots=slots))

    # --- the queue ---------------------------------------------------------------------------------------

    async def take(
        self, avoid: Collection[E] = (), prefer: E | None = None, fits: Fits = _any
    ) -> Endpoint[R]:
        """Return an endpoint with a slot, which the caller gives back.

        Args:
            avoid: endpoints that are taken only if no other usable one fits.
            prefer: the endpoint that is taken if it has a free slot now.
            fits: returns False for an endpoint that is never taken.

        Raises:
            EngineUnavailable: no endpoint that fits has worked for the time of a drought.
            FitChanged: no endpoint that fits works, and another one became usable meanwhile.
        """
        if self._refusal:
            raise EngineUnavailable(self._refusal)
        if (endpoint := self.spare(avoid, prefer, fits)) is not None:
            return endpoint
        answer: asyncio.Future[E] = asyncio.get_running_loop().create_future()
        wish = self._waiting[answer] = _Wish(avoid, prefer, fits)
        if self._is_stranded(wish):
            self._stranded.add(answer)
        self._serve()
        try:
            return await answer
        except asyncio.CancelledError:
            if answer.done() and not answer.cancelled() and not answer.exception():
                self.give_back(answer.result())  # it came in the moment of the cancellation
            raise
        finally:
            self._forget(answer)
            self._watch_for_drought()

    def spare(
        self, avoid: Collection[E] = (), prefer: E | None = None, fits: Fits = _any
    ) -> Endpoint[R] | None:
        """Return an endpoint with a slot that no job waits for, or None. The caller gives it back."""
        endpoint = None if self._waiting else self._choose(_Wish(avoid, prefer, fits))
        if endpoint is not None:
            self._place(endpoint, +1)
        return endpoint

    def give_back(self, endpoint: E) -> None:
        self._place(endpoint, -1)
        self._serve()

    def _choose(self, wish: _Wish) -> E | None:
        """Return the endpoint for a job: the preferred one, else the one with the fewest jobs, longest idle.

        This is the only place that assigns jobs to endpoints.
        """
        if self._is_full:
            return None
        avoid, prefer, fits = wish.avoid, wish.prefer, wish.fits
        has_room = prefer is not None and prefer in self._with_room[prefer.busy]
        if prefer is not None and has_room and prefer not in avoid and fits(prefer):
            return prefer
        free = (endpoint for level in self._with_room for endpoint in level if fits(endpoint))
        if not avoid or all(each in avoid for each in self.usable if fits(each)):
            return next(free, None)
        return next((endpoint for endpoint in free if endpoint not in avoid), None)

    def _serve(self) -> None:
        """Hand out free slots, first come, first served. Others pass a job that no free slot suits."""
        while not self._is_full and (served := next(self._servable(), None)) is not None:
            answer, endpoint = served
            self._forget(answer)
            self._place(endpoint, +1)
            answer.set_result(endpoint)
        self._watch_for_drought()

    def _servable(self) -> Iterator[tuple[asyncio.Future[E], E]]:
        """Yield each waiting job that can have a slot now, with its endpoint, in order."""
        for answer, wish in self._waiting.items():
            if not answer.done() and (chosen := self._choose(wish)) is not None:
                yield answer, chosen

    def _place(self, endpoint: E, jobs: int = 0) -> None:
        """Count so many jobs more, and update the tables by which `_choose` finds free slots."""
        if jobs:
            self._with_room[endpoint.busy].pop(endpoint, None)
        endpoint.busy += jobs
        self.busy += jobs
        while len(self._with_room) <= endpoint.busy:
            self._with_room.append({})
        if endpoint.free_slots > 0:
            self._with_room[endpoint.busy][endpoint] = None
        else:
            self._with_room[endpoint.busy].pop(endpoint, None)
        on_trial = endpoint.state is State.TRIAL and endpoint.busy > 0
        works = endpoint.state is State.HEALTHY or (on_trial and endpoint.trials < _FAILED_TRIALS)
        if works != (endpoint in self._working):
            if works:
                self._working[endpoint] = None
            else:
                del self._working[endpoint]
            self._stranded = {each for each, wish in self._waiting.items() if self._is_stranded(wish)}
        all_taken = self._total is not None and self.busy >= self._total
        self._is_full = all_taken or not any(self._with_room)

    def _forget(self, answer: asyncio.Future[E]) -> None:
        self._waiting.pop(answer, None)
        self._stranded.discard(answer)

    def _is_stranded(self, wish: _Wish) -> bool:
        return not any(map(wish.fits, self._working))

    def _watch_for_drought(self) -> None:
        """Start or stop the clock: also for jobs on endpoints that are down."""
        is_dry = bool(self._stranded) or bool(self.busy and not self._working and not self._refusal)
        if is_dry == (self._dry is not None):
            return
        loop, most = asyncio.get_running_loop(), self._waits.drought
        if is_dry:
            if not self._dry_for:
                self._tell(JobsWait(seconds=most))
            self._dry_since = loop.time()
            self._dry = loop.call_later(max(0.0, most - self._dry_for), self._end_drought)
        elif self._dry is not None:
            self._dry.cancel()
            self._dry, self._dry_for = None, self._dry_for + loop.time() - self._dry_since

    def _end_drought(self) -> None:
        """Give up the jobs that no working endpoint fits, also those on endpoints that are down."""
        self._dry, self._dry_for = None, self._waits.drought
        known = [each for _, each in sorted(self.endpoints.items()) if each.had_jobs]
        out = [each for each in known if each.state is not State.HEALTHY]
        gone = _first_of(f"{each.url}{f' ({each.why})' if each.why else ''}" for each in out) or "all"
        which = "server that can do this job" if self._working else "server"
        reason = f"no {which} has been usable for {self._waits.drought:g} s; gone: {gone}"
        if not self._working:
            self._refusal = reason  # later jobs need not wait
        self._fail([*self._stranded], EngineUnavailable(reason))
        for sending in self._sendings:
            others = any(self.fits(each, sending.job) for each in self.usable)
            if not sending.endpoint.usable and sending.beside is None and not others:
                sending.given_up = reason
                sending.alone.reschedule(now())

    def _fail(self, waiting: Iterable[asyncio.Future[E]], error: Exception) -> None:
        for answer in waiting:
            if not answer.done():
                answer.set_exception(error)
            self._forget(answer)
        self._watch_for_drought()

    # --- jobs --------------------------------------------------------------------------------------------

    async def execute(self, job: Job, prefer: str = "", check: Check | None = None) -> Any:
        """Return the answer of a good endpoint, if possible of the preferred address.

        `check` returns what an answer means. An endpoint whose answer it refuses has failed the job; if all
        have, the error of `check` is raised.

        Raises:
            AttemptsUsedUp: no further attempt helps.
            ToolchainGone: no endpoint has the tools that the job was made for.
            JobRejected: an endpoint refused the job.
        """
        attempts = JobAttempts(self._attempts, self._waits)
        fits = partial(self._fits, job)
        while True:
            if not any(map(fits, self.usable)) and self._is_outdated(job):
                raise ToolchainGone(
                    f"no server has the {', '.join(job.accepted_toolchains)} that a job was made for"
                )
            try:
                avoid = attempts.to_avoid([*filter(fits, self.usable)]) if attempts.tried else ()
                log_step(_log, "queued")
                endpoint = await self.take(avoid, self.endpoints.get(prefer), fits)
            except FitChanged:
                continue
            except EngineUnavailable as error:
                out = "".join(f"; {name} is left out: {why}" for name, why in self.left_out.items())
                raise AttemptsUsedUp(f"{error}{out}{attempts.last_words()}") from error
            try:
                with at(endpoint.url, _log):
                    return await self._first_answer(_Sending(endpoint, job, attempts, check))
            except AnswerRefused as refused:
                attempts.failed(endpoint, refused.error)
                others = any(each not in attempts.tried for each in filter(fits, self.usable))
                if attempts.left <= 0 or not others:
                    raise attempts.named(refused.error) from refused.error
            except SERVERS_FAULT as error:
                attempts.failed(endpoint, error)
                attempts.check(error)
                SERVER.log(_log, error)
            finally:
                self.give_back(endpoint)
            await asyncio.sleep(self._waits.wait_before(len(attempts.tried)))

    def _fits(self, job: Job, endpoint: E) -> bool:
        return self.fits(endpoint, job)

    def _is_outdated(self, job: Job) -> bool:
        """Return True if a job that no usable endpoint fits has to be made again.

        It has to if a usable endpoint has other builds of its tools, or if no endpoint that may come back
        fits.
        """
        if not self.usable:
            return False
        if any(self.fits(endpoint, job, exactly=False) for endpoint in self.usable):
            return True
        return not any(self.fits(endpoint, job) for endpoint in self.members)

    async def _first_answer(self, sending: _Sending) -> Any:
        """Return the first good answer: of the endpoint, or of one that was asked next to it."""
        endpoint = sending.endpoint
        self._sendings[sending] = None
        try:
            try:
                async with sending.alone:
                    return await self._answer(endpoint, sending)
            finally:
                del self._sendings[sending]
        except TimeoutError:
            if sending.given_up:
                raise NoAnswer(f"{endpoint.url} gave no answer; {sending.given_up}") from None
            if endpoint.usable:
                late = f"{endpoint.url} gave no answer to a job that another server did meanwhile"
                self.failed(endpoint, LateAnswer(late))
            assert sending.answer is not None, "only an answer ends it before its time"
            return sending.answer
        except (*SERVERS_FAULT, AnswerRefused):
            if sending.beside is not None:
                await asyncio.wait([sending.beside])
            if sending.answer is not None:
                return sending.answer
            raise
        finally:
            if sending.beside is not None and not sending.beside.done():
                sending.beside.cancel()
                await asyncio.wait([sending.beside])

    async def _answer(self, endpoint: Endpoint[R], sending: _Sending) -> Any:
        """Send a job once. The endpoint's state follows from the result before its slot is free again."""
        result: Any = None
        refusal: JobRejected | None = None
        if endpoint.busy == 1:
            endpoint.heard = now()
        try:
            result = await self.send(endpoint, sending.job)
        except JobRejected as error:
            refusal = error  # it answered, and the job is at fault
            if error.by_server:
                self._count_useless(endpoint, error)
        except EngineError as error:
            self.failed(endpoint, error)
            raise
        if sending.check is not None and refusal is None:
            try:
                result = await sending.check(result)
            except EngineError as error:
                self._count_useless(endpoint, error)
                raise AnswerRefused(error) from error
            endpoint.useless = max(0, endpoint.useless - 1)
        endpoint.faults, endpoint.heard = 0, now()
        endpoint.count_answer()
        if endpoint.state is State.TRIAL:
            endpoint.rests = endpoint.rests if endpoint.useless else 0
            self.move(endpoint, Cause.ANSWERED, Change.BACK, endpoint.news)
            endpoint.news = ""
        if refusal is not None:
            raise refusal
        return result

    def _count_useless(self, endpoint: Endpoint[R], error: EngineError) -> None:
        """Count an answer or a refusal that is useless.

        A job that all endpoints fail shows nothing about this endpoint, so it rests only if another endpoint
        gives good answers.
        """
        endpoint.useless += 2
        others = (each for each in self.usable if each is not endpoint)
        self.failed(endpoint, error, alone=any(not each.useless for each in others))

    def failed(self, endpoint: Endpoint[R], error: EngineError, *, alone: bool | None = None) -> None:
        """Count a failed job, and let the endpoint rest if it failed too many.

        `alone`: for an answer that its check refused, True if other endpoints give good answers.
        """
        endpoint.faults += 1
        endpoint.errors += 1
        endpoint.trials += endpoint.state is State.TRIAL
        endpoint.why = str(error)
        certain = endpoint.state is State.TRIAL or isinstance(error, NoAnswer | ServerReplaced)
        many = endpoint.faults >= _FAULTS if alone is None else alone and endpoint.useless >= 2 * _FAULTS
        if endpoint.usable and (certain or many):
            self.let_rest(endpoint, _trouble(error), str(error))

    def let_rest(self, endpoint: Endpoint[R], trouble: Change, reason: str) -> None:
        endpoint.is_full = trouble is Change.FULL
        self.move(endpoint, Cause.FAILED, trouble, reason)
        self._begin_inspection(endpoint)

    # --- late jobs ---------------------------------------------------------------------------------------

    async def watch(self) -> None:
        """Ask endpoints that have jobs and are silent whether they are there, and send late jobs twice."""
        while True:
            await asyncio.sleep(self._waits.silence / 2)
            silent = now() - self._waits.silence
            quiet = [each for each in self.usable if each.busy and each.heard < silent]
            await asyncio.gather(*map(self._ask, quiet))
            for sending in [each for each in self._sendings if self._is_late(each)]:
                other = self.spare(fits=partial(self._may_also_get, sending))
                if other is not None:
                    LATE_JOB.log(_log, f"{sending.endpoint.url} has not answered, {other.url} is free")
                    sending.beside = self.spawn(self._beside(sending, other))

    async def _ask(self, endpoint: Endpoint[R]) -> None:
        try:
            await self.ask(endpoint)
        except EngineError as error:
            if endpoint.usable:
                self.let_rest(endpoint, _trouble(error), str(error))
        else:
            endpoint.heard = now()

    def _is_late(self, sending: _Sending) -> bool:
        """Return True for a job alone on an endpoint that is down, or that exceeds all limits of the job."""
        longest = self.time_of(sending.endpoint, sending.job) + self._waits.silence
        late = not sending.endpoint.usable or now() - sending.began > longest
        return sending.beside is None and late

    def _may_also_get(self, sending: _Sending, endpoint: E) -> bool:
        had_it = endpoint is sending.endpoint or endpoint in sending.attempts.tried
        return not had_it and self.fits(endpoint, sending.job)

    async def _beside(self, sending: _Sending, other: Endpoint[R]) -> None:
        try:
            sending.answer = await self._answer(other, sending)
        except (EngineError, AnswerRefused) as error:
            sending.attempts.failed(other, error.error if isinstance(error, AnswerRefused) else error)
            sending.beside = None  # another endpoint may be asked
        else:
            if sending in self._sendings:
                sending.alone.reschedule(now())
        finally:
            self.give_back(other)

    # --- endpoints that come, go and change ----------------------------------------------------------------

    async def keep_up(self, every: float) -> None:
        """Look for endpoints for ever."""
        while True:
            await asyncio.sleep(every)
            # Workers outlive a scheduler or a name server that is away for a minute.
            try:
                self.compare(await self.find())
            except (EngineError, InputError) as error:
                DISCOVERY.log(_log, error)

    def compare(self, found: frozenset[str]) -> None:
        """Let endpoints go that are not found any more, and inspect new ones until they join."""
        for address in sorted(self.found - found):
            endpoint = self.endpoints.get(address)
            if endpoint is not None and endpoint.state is not State.GONE:
                self.move(endpoint, Cause.NOT_FOUND, Change.GONE if endpoint.had_jobs else None)
        self.found = found
        for address in sorted(found):
            endpoint = self.endpoints.get(address)
            if endpoint is None or endpoint.state is State.GONE:
                self._begin_inspection(self.add(address))

    def add(self, address: str) -> Endpoint[R]:
        """Return the endpoint of an address that was found."""
        endpoint = self.endpoints.setdefault(address, Endpoint[R](address))
        if endpoint.state is State.GONE:
            endpoint.rests = 0
            self.move(endpoint, Cause.FOUND, None)
        return endpoint

    def _begin_inspection(self, endpoint: Endpoint[R]) -> None:
        if endpoint not in self._inspected:
            self._inspected.add(endpoint)
            self.spawn(self._inspect_until_fit(endpoint))

    def let_in(self, endpoint: Endpoint[R], report: R) -> None:
        """Give an endpoint jobs from now on."""
        self._learn(endpoint, report)
        endpoint.faults = endpoint.useless = endpoint.rests = 0
        endpoint.news, endpoint.is_full = "", False
        self.move(endpoint, Cause.FIT, Change.JOINED if self.begun else None)

    def leave_out(self, endpoint: Endpoint[R], reason: str) -> None:
        self.move(endpoint, Cause.UNFIT, Change.LEFT_OUT if self.begun else None, reason)

    def _learn(self, endpoint: Endpoint[R], report: R) -> None:
        """Note the report of an inspection. At this address there may be another server now."""
        if endpoint.report is not None:
            endpoint.news = self.news_of(endpoint.report, report)
        endpoint.report, endpoint.slots = report, self.slots_of(report)

    async def _inspect_until_fit(self, endpoint: Endpoint[R]) -> None:
        """Inspect a new endpoint until it answers, and a failed one after rests until it can have jobs."""
        try:
            while endpoint.state in (State.NEW, State.DOWN) or (
                endpoint.state is State.LEFT_OUT and endpoint.had_jobs
            ):
                is_new, rests = endpoint.state is State.NEW, endpoint.rests
                endpoint.rests += 1
                if rests or not is_new:
                    RECOVERY.log(_log, endpoint.why)
                    await asyncio.sleep(self._waits.rest_after(max(0, rests - is_new)))
                await self._inspect(endpoint)
        finally:
            self._inspected.discard(endpoint)

    async def _inspect(self, endpoint: Endpoint[R]) -> None:
        try:
            if endpoint.is_full and endpoint.report is not None:
                await self.ask(endpoint)
                report = endpoint.report
            else:
                report = await self.inspect(endpoint.url)
        except EndpointUnfit as error:
            if endpoint.state in (State.NEW, State.DOWN):
                self.leave_out(endpoint, str(error))
        except EngineError as error:
            endpoint.is_full = False
            if endpoint.state is State.NEW:
                endpoint.why = str(error)
        else:
            if endpoint.state is State.NEW:
                self.let_in(endpoint, report)
            elif endpoint.state in (State.DOWN, State.LEFT_OUT):
                self._learn(endpoint, report)
                self.move(endpoint, Cause.FIT, Change.TRIAL)

    # --- tasks in the background ---------------------------------------------------------------------------

    def spawn(self, work: Coroutine[None, None, None]) -> asyncio.Task[None]:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._forget_task)
        return task

    def _forget_task(self, task: asyncio.Task[None]) -> None:
        """Forget a task that ended well. An error is a bug, which `close` raises."""
        if task.cancelled() or task.exception() is None:
            self._tasks.discard(task)

    async def close(self) -> None:
        self._refusal = _CLOSED
        self._fail([*self._waiting], EngineUnavailable(_CLOSED))
        tasks = tuple(self._tasks)
        for task in tasks:
            task.cancel()
        for end in await asyncio.gather(*tasks, return_exceptions=True):
            if isinstance(end, Exception):
                raise end
