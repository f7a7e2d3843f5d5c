"""A cluster of servers or nodes: endpoints, their slots, and who is let in, tried, and let go. No network."""

from __future__ import annotations

import asyncio
import logging
import random
import time
from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Callable, Collection, Coroutine, Iterable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from enum import StrEnum
from functools import partial
from types import TracebackType
from typing import Any, Generic, Self, TypeVar

from ioi_eval.engines.contract import Change, Check, JobsWait, OnServer, Profile, ServerChanged, ignore
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
from ioi_eval.model.job import Toolchain
from ioi_eval.model.retry import DISCOVERY, RECOVERY, SERVER
from ioi_eval.model.values import ServerState, Value

_log = logging.getLogger(__name__)

# --- endpoints ---------------------------------------------------------------------------------------

_FAILED_TRIALS = 2  # after so many in a row, being on trial again is no hope


class State(StrEnum):
    HEALTHY = "healthy"
    TRIAL = "trial"  # it answers again; one job will tell
    DOWN = "down"  # no jobs until it answers
    GONE = "gone"  # not found any more: what runs there may end, nothing more begins


class Endpoint:
    """A server or node, and its state. Its engine alone changes it."""

    def __init__(self, url: str, slots: int) -> None:
        self.url, self.slots = url, slots
        self.state = State.HEALTHY
        self.busy = 0  # jobs of ours under way
        self.faults = 0  # in a row
        self.useless = 0  # two for each job that its machine failed lately, less one for each that it did
        self.rests = 0  # since it was last well
        self.trials = 0  # that it failed since then
        self.errors = 0  # in all
        self.why = ""  # the last of these
        self.since = time.time()  # when it got into its state
        self.holds = set[str]()  # hashes of contents that it keeps, as far as we know
        self.tools: Mapping[str, Toolchain] = {}  # by command; none while it is left out
        self.heard = 0.0  # when it last answered, or began to have jobs
        self.trouble: Change | None = None  # that was told
        self.news = ""  # what differs since it last had jobs, if it was away

    @property
    def usable(self) -> bool:
        return self.state in (State.HEALTHY, State.TRIAL)

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
        )

    @property
    def room(self) -> int:
        """The number of jobs that it may have at a time."""
        if self.state is State.TRIAL:
            return 1
        return self.slots if self.state is State.HEALTHY else 0

    def __repr__(self) -> str:
        return f"Endpoint({self.url}, {self.state.value}, {self.busy}/{self.slots})"


# --- slots: least loaded first, in the order of asking -----------------------------------------------


_CLOSED = "the engine was closed"
_NAMED = 4  # servers that a message names

E = TypeVar("E", bound=Endpoint)
Fits = Callable[[E], bool]


class PoolChanged(Exception):
    """An endpoint became usable, and a job that no endpoint which works fits does not fit it either."""


def _any(endpoint: Endpoint) -> bool:
    return True


@dataclass(frozen=True)
class _Wish(Generic[E]):
    """The requirements of a job for its endpoint."""

    avoid: Collection[E] = ()  # endpoints that get it only if no other usable one fits
    prefer: E | None = None  # the endpoint that gets it if that has a free slot
    fits: Fits[E] = _any  # False for an endpoint that must not get it


class Pool(Generic[E]):
    """The slots of all endpoints.

    A slot is handed over by whoever gives one back, so nobody is woken in vain, however many wait. When a job
    has waited for `patience` seconds and no endpoint that fits it worked, all such jobs get EngineUnavailable
    together, and so does at once each later one, until an endpoint is usable again: one drought is waited for
    once. It also ends the jobs on endpoints that are out. Its clock stands still while a fitting endpoint
    works. It begins anew with the next healthy endpoint: one on trial, which answers and may fail every job,
    changes nothing.
    """

    def __init__(self, *, total: int | None, patience: float, tell: OnServer = ignore) -> None:
        """`tell`: hears when a drought begins, and what `changed` says."""
        self._total, self._patience, self._tell = total, patience, tell
        self.usable: dict[E, None] = {}
        self._with_room: list[dict[E, None]] = [{}]  # by the number of jobs there; longest idle first
        self._is_full = True
        self._waiting: OrderedDict[asyncio.Future[E], _Wish[E]] = OrderedDict()
        self._working: dict[E, None] = {}  # while there is hope: healthy, or with a job on a first trial
        self._stranded = set[asyncio.Future[E]]()  # those who wait, and none that works fits
        self._dry: asyncio.TimerHandle | None = None
        self._dry_since = self._dry_for = 0.0  # since when the clock runs, and the seconds before that
        self._refusal = ""  # what everybody is told who asks
        self.on_drought: Callable[[str], None] = lambda reason: None
        """Hears why a drought ended, after those who waited: jobs on endpoints that are out end, too."""
        self.known = dict[str, E]()  # all that ever were here, by their addresses
        self.busy = 0

    @property
    def slots(self) -> int:
        found = sum(endpoint.slots for endpoint in self.usable)
        return max(1, found if self._total is None else min(found, self._total))

    def changed(self, url: str, change: Change, reason: str = "") -> None:
        """Tell of an endpoint, and how many are usable now."""
        slots = sum(endpoint.slots for endpoint in self.usable)
        event = ServerChanged(url=url, change=change, reason=reason, usable=len(self.usable), slots=slots)
        self._tell(event)

    # --- taking and giving back ----------------------------------------------------------------------

    async def take(self, avoid: Collection[E] = (), prefer: E | None = None, fits: Fits[E] = _any) -> E:
        """Return an endpoint with a slot, which the caller gives back.

        Args:
            avoid: endpoints that are taken only if no other usable one fits.
            prefer: the endpoint that has what others would be sent first; taken if it has a free slot now.
            fits: returns False for an endpoint that is never taken.

        Raises:
            EngineUnavailable: no endpoint that fits has worked for the pool's patience.
            PoolChanged: no endpoint that fits works, and another one became usable meanwhile.
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

    def spare(self, avoid: Collection[E] = (), prefer: E | None = None, fits: Fits[E] = _any) -> E | None:
        """Return an endpoint with a slot that nobody waits for, or None. The caller gives it back."""
        endpoint = None if self._waiting else self._choose(_Wish(avoid, prefer, fits))
        if endpoint is not None:
            self._place(endpoint, +1)
        return endpoint

    def give_back(self, endpoint: E) -> None:
        self._place(endpoint, -1)
        self._serve()

    def _forget(self, answer: asyncio.Future[E]) -> None:
        self._waiting.pop(answer, None)
        self._stranded.discard(answer)

    def _place(self, endpoint: E, jobs: int = 0) -> None:
        """Count so many jobs more, and note what an endpoint of that state and number of jobs is good for."""
        if jobs:
            self._with_room[endpoint.busy].pop(endpoint, None)
        endpoint.busy += jobs
        self.busy += jobs
        while len(self._with_room) <= endpoint.busy:
            self._with_room.append({})
        if endpoint.busy < endpoint.room:
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

    def _choose(self, wish: _Wish[E]) -> E | None:
        """Return an endpoint with room: the preferred one, or the one with the fewest jobs, longest idle."""
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
        """Hand out what is free: first come, first served. A job that no free slot suits lets others pass."""
        while not self._is_full and (served := next(self._servable(), None)) is not None:
            answer, endpoint = served
            self._forget(answer)
            self._place(endpoint, +1)
            answer.set_result(endpoint)
        self._watch_for_drought()

    def _servable(self) -> Iterator[tuple[asyncio.Future[E], E]]:
        """Yield those who wait and can have a slot now, with the endpoint that has it, in their order."""
        for answer, wish in self._waiting.items():
            if not answer.done() and (chosen := self._choose(wish)) is not None:
                yield answer, chosen

    # --- endpoints that come, go and change ----------------------------------------------------------

    def update(self, endpoint: E, state: State) -> None:
        """Also how an endpoint enters and leaves the pool."""
        if endpoint.state is not state:
            endpoint.since = time.time()
        endpoint.state = state
        self.known[endpoint.url] = endpoint
        if endpoint.usable:
            self.usable[endpoint] = None
            if self._refusal != _CLOSED:
                self._refusal = ""
        else:
            self.usable.pop(endpoint, None)
        self._place(endpoint)
        self._serve()
        if endpoint.usable:
            unfit = [each for each in self._stranded if not self._waiting[each].fits(endpoint)]
            self._fail(unfit, PoolChanged())
        if state is State.HEALTHY:
            endpoint.trials, self._dry_for = 0, 0.0

    def _is_stranded(self, wish: _Wish[E]) -> bool:
        return not any(map(wish.fits, self._working))

    def _watch_for_drought(self) -> None:
        """Let the clock run or stand still, as it should now: also for jobs on endpoints that are out."""
        is_dry = bool(self._stranded) or bool(self.busy and not self._working and not self._refusal)
        if is_dry == (self._dry is not None):
            return
        loop = asyncio.get_running_loop()
        if is_dry:
            if not self._dry_for:
                self._tell(JobsWait(seconds=self._patience))
            self._dry_since = loop.time()
            self._dry = loop.call_later(max(0.0, self._patience - self._dry_for), self._out_of_patience)
        elif self._dry is not None:
            self._dry.cancel()
            self._dry, self._dry_for = None, self._dry_for + loop.time() - self._dry_since

    def _out_of_patience(self) -> None:
        self._dry, self._dry_for = None, self._patience
        out = [each for _, each in sorted(self.known.items()) if each.state is not State.HEALTHY]
        gone = _some(f"{each.url}{f' ({each.why})' if each.why else ''}" for each in out) or "all"
        which = "server that can do this job" if self._working else "server"
        reason = f"no {which} has been usable for {self._patience:g} s; gone: {gone}"
        if not self._working:
            self._refusal = reason  # whoever asks while nothing works need not wait
        self._fail([*self._stranded], EngineUnavailable(reason))
        self.on_drought(reason)

    def _fail(self, waiting: Iterable[asyncio.Future[E]], error: Exception) -> None:
        for answer in waiting:
            if not answer.done():
                answer.set_exception(error)
            self._forget(answer)
        self._watch_for_drought()

    def close(self) -> None:
        self._refusal = _CLOSED
        self._fail([*self._waiting], EngineUnavailable(_CLOSED))


def _some(names: Iterable[str]) -> str:
    """Return the first of the names, and how many more there are."""
    listed = [*names]
    more = f" and {len(listed) - _NAMED} more" if len(listed) > _NAMED else ""
    return ", ".join(listed[:_NAMED]) + more


# --- tools of many machines --------------------------------------------------------------------------


def offers_of(there: Iterable[Mapping[str, Toolchain]]) -> dict[str, tuple[Toolchain, ...]]:
    """Return the toolchains of all machines by command, each once."""
    found = dict[str, dict[str, Toolchain]]()
    for tools in there:
        for command, tool in tools.items():
            found.setdefault(command, {})[tool.identity] = tool
    return {command: tuple(tools.values()) for command, tools in found.items()}


def differing(there: Sequence[Mapping[str, Toolchain]]) -> list[str]:
    """Return the commands that are not the same tool on all machines."""
    offers = offers_of(there)
    return sorted(
        command
        for command, tools in offers.items()
        if len(tools) > 1 or not all(command in each for each in there)
    )


# --- members: found, let in, tried, let go -----------------------------------------------------------

_FAULTS = 3  # in a row; one that does not answer at all has had its chance with the first
SERVERS_FAULT = (EngineUnavailable, EngineOverloaded, BrokenReply, ServerReplaced)


class NoAnswer(EngineUnavailable):
    """No server is there, or it does not answer in time."""


class LateAnswer(NoAnswer):
    """No answer came in time; the server may be alive."""


class AnswerRefused(Exception):
    """The check of an answer refused it."""

    def __init__(self, error: EngineError) -> None:
        self.error = error


class MemberLeftOut(EngineError):
    """An endpoint can be reached, and gets no jobs for what it is."""


class Waits(Value):
    """Seconds. The defaults are for clusters; tests have less time."""

    drought: float = SERVER.max_seconds  # without any usable endpoint, before a job is given up
    first_wait: float = SERVER.first_wait
    longest_wait: float = SERVER.longest_wait
    first_rest: float = RECOVERY.first_wait  # of an endpoint that was found wanting
    longest_rest: float = RECOVERY.longest_wait

    def wait_before(self, attempt: int) -> float:
        """Return a random wait up to a bound that doubles: jobs that failed together come back apart."""
        return random.uniform(0, min(self.longest_wait, self.first_wait * 2 ** min(attempt, 16)))

    def rest_after(self, failures: int) -> float:
        longest = min(self.longest_rest, self.first_rest * 2 ** min(failures, 16))
        return random.uniform(longest / 2, longest)


def now() -> float:
    return asyncio.get_running_loop().time()


class Members(ABC, Generic[E]):
    """The endpoints of a cluster, found and inspected as the kind of cluster does it, and their jobs.

    A job that fails by an endpoint's fault is tried on another one. An endpoint that fails rests, is
    inspected, and has one job to show for it. Where endpoints are started `anew`, it is let go instead, and
    joins again as a new one.
    """

    anew = False

    def __init__(self, waits: Waits, *, attempts: int, total: int | None, tell: OnServer) -> None:
        self._waits, self._attempts = waits, attempts
        self.pool = Pool[E](total=total, patience=waits.drought, tell=tell)
        self.endpoints: dict[str, E] = {}
        self.left_out: dict[str, str] = {}  # and why
        self.begun = False  # from then on it tells who is left out
        self.profile = Profile(name="", architecture="")  # what jobs may count on, from the first endpoint on
        self.found: frozenset[str] = frozenset()
        self._joining = set[str]()
        self._tasks = set[asyncio.Task[None]]()

    @abstractmethod
    async def begin(self) -> None:
        """Let the first ones in. Raises EngineUnavailable where none can be used."""

    @abstractmethod
    async def find(self) -> frozenset[str]:
        """Return the names of all that are there now. Raises EngineError or InputError."""

    @abstractmethod
    async def inspect(self, name: str) -> E | None:
        """Return an endpoint as it is now, the same one where it is in; None where it is not to join yet.

        Raises NoAnswer, and MemberLeftOut where it gets no jobs.
        """

    @abstractmethod
    async def send(self, endpoint: E, job: Any) -> Any:
        """Have an endpoint do a job, once. Raises EngineError."""

    @abstractmethod
    def fits(self, endpoint: E, job: Any) -> bool:
        """Return True if an endpoint has all that a job needs and was made for."""

    @abstractmethod
    def could_replace(self, endpoint: E, job: Any) -> bool:
        """Return True if an endpoint that does not fit a job fits one that is made for it instead."""

    @abstractmethod
    def offer(self) -> None:
        """Bring the profile up to date with the endpoints that are in."""

    # --- jobs ----------------------------------------------------------------------------------------

    async def execute(self, job: Any, prefer: E | None = None, check: Check | None = None) -> Any:
        """Return the answer of a good endpoint, if possible of the preferred one. Raises AttemptsUsedUp.

        `check` returns what an answer means. An endpoint whose answer it refuses has failed the job; if all
        have, the error of `check` is raised.
        """
        tries = Tries[E](self._attempts, self._waits)
        fits = partial(self._fits, job)
        while True:
            if not any(map(fits, self.pool.usable)) and self._is_outdated(job):
                raise ToolchainGone(f"no server has the {', '.join(job.made_for)} that a job was made for")
            try:
                avoid = tries.to_avoid([*filter(fits, self.pool.usable)]) if tries.tried else ()
                log_step(_log, "queued")
                endpoint = await self.pool.take(avoid, prefer, fits)
            except PoolChanged:
                continue
            except EngineUnavailable as error:
                out = "".join(f"; {name} is left out: {why}" for name, why in self.left_out.items())
                raise AttemptsUsedUp(f"{error}{out}{tries.last_words()}") from error
            try:
                with at(endpoint.url, _log):
                    return await self.answer(endpoint, job, tries, check)
            except AnswerRefused as refused:
                tries.failed(endpoint, refused.error)
                others = any(each not in tries.tried for each in filter(fits, self.pool.usable))
                if tries.left <= 0 or not others:
                    raise tries.named(refused.error) from refused.error
            except SERVERS_FAULT as error:
                tries.failed(endpoint, error)
                tries.check(error)
                SERVER.log(_log, error)
            finally:
                self.pool.give_back(endpoint)
            await asyncio.sleep(self._waits.wait_before(len(tries.tried)))

    def _fits(self, job: Any, endpoint: E) -> bool:
        return self.fits(endpoint, job)

    def _is_outdated(self, job: Any) -> bool:
        """Return True if a job that no usable endpoint fits has to be made again.

        It has to if a usable endpoint fits one that is made for it, or if none fits that may come back.
        """
        if not self.pool.usable:
            return False
        if any(self.could_replace(endpoint, job) for endpoint in self.pool.usable):
            return True
        return not any(self.fits(endpoint, job) for endpoint in self.endpoints.values())

    async def answer(self, endpoint: E, job: Any, tries: Tries[E], check: Check | None = None) -> Any:
        """Send once. How it went is noted before the slot is anybody else's."""
        result: Any = None
        refusal: JobRejected | None = None
        try:
            result = await self.send(endpoint, job)
        except JobRejected as error:
            refusal = error  # it answered, and with reason
        except EngineError as error:
            self.failed(endpoint, error)
            raise
        if check is not None and refusal is None:
            try:
                result = await check(result)
            except EngineError as error:
                # A job that fails everywhere tells nothing about this one.
                endpoint.useless += 2
                others = (each for each in self.pool.usable if each is not endpoint)
                self.failed(endpoint, error, alone=any(not each.useless for each in others))
                raise AnswerRefused(error) from error
            endpoint.useless = max(0, endpoint.useless - 1)
        endpoint.faults, endpoint.heard = 0, now()
        if endpoint.state is State.TRIAL:
            endpoint.rests = endpoint.rests if endpoint.useless else 0
            self.pool.update(endpoint, State.HEALTHY)
            endpoint.trouble = None
            self.pool.changed(endpoint.url, Change.BACK, endpoint.news)
            endpoint.news = ""
        if refusal is not None:
            raise refusal
        return result

    def failed(self, endpoint: E, error: EngineError, *, alone: bool | None = None) -> None:
        """Note a failed job, after some of which an endpoint rests.

        `alone`: for one whose answer was of no use, whether others give answers of use.
        """
        endpoint.faults += 1
        endpoint.errors += 1
        endpoint.trials += endpoint.state is State.TRIAL
        endpoint.why = str(error)
        certain = endpoint.state is State.TRIAL or isinstance(error, NoAnswer | ServerReplaced)
        many = endpoint.faults >= _FAULTS if alone is None else alone and endpoint.useless >= 2 * _FAULTS
        many = many and not self.anew
        if endpoint.usable and (certain or many):
            self.let_rest(endpoint, _trouble(error), str(error))

    def let_rest(self, endpoint: E, trouble: Change, reason: str) -> None:
        if self.anew:
            self.let_go(endpoint, trouble, reason)
            return
        self.pool.update(endpoint, State.DOWN)
        self.spawn(self._recover(endpoint, trouble))
        if endpoint.trouble is None:
            endpoint.trouble = trouble
            self.pool.changed(endpoint.url, trouble, reason)

    async def _recover(self, endpoint: E, trouble: Change) -> None:
        """Wait until an endpoint may have jobs again. One that was away is inspected: it may be another."""
        while endpoint.state is State.DOWN:
            rest = self._waits.rest_after(endpoint.rests)
            endpoint.rests += 1
            RECOVERY.log(_log, endpoint.why)
            await asyncio.sleep(rest)
            is_well = await self.is_well(endpoint, trouble)
            if is_well and endpoint.state is State.DOWN:
                self.pool.update(endpoint, State.TRIAL)
            elif trouble is Change.FULL:
                trouble = Change.LOST

    async def is_well(self, endpoint: E, trouble: Change) -> bool:
        try:
            return await self._inspected(endpoint.url) is endpoint
        except EngineError:
            return False

    # --- coming and going ----------------------------------------------------------------------------

    def compare(self, found: frozenset[str]) -> None:
        """Let those go that are found no more, and have those join that are new."""
        for name in sorted(self.found - found):
            if not self.anew:
                self.left_out.pop(name, None)
            if name in self.endpoints:
                self.let_go(self.endpoints[name], Change.GONE)
        self.found = found
        away = self._joining.union(self.endpoints, () if self.anew else self.left_out)
        for name in sorted(found - away):
            self._joining.add(name)
            self.spawn(self._join(name))

    async def keep_up(self, every: float, *, at_once: bool = False) -> None:
        """Look for endpoints for ever."""
        if not at_once:
            await asyncio.sleep(every)
        while True:
            # Workers outlive a scheduler or a name server that is away for a minute.
            try:
                self.compare(await self.find())
            except (EngineError, InputError) as error:
                DISCOVERY.log(_log, error)
            await asyncio.sleep(every)

    async def _join(self, name: str) -> None:
        """Let one in as soon as it answers: it may still be starting."""
        rests = 0
        try:
            while name in self.found and (self.anew or name not in self.left_out):
                try:
                    endpoint = await self._inspected(name)
                except EngineError as error:
                    RECOVERY.log(_log, error)
                    await asyncio.sleep(self._waits.rest_after(rests))
                    rests += 1
                    continue
                if endpoint is not None and name in self.found:
                    was_here = self.anew and name in self.pool.known
                    self.let_in(endpoint)
                    if self.begun:
                        self.pool.changed(name, Change.BACK if was_here else Change.JOINED)
                return
        finally:
            self._joining.discard(name)

    async def _inspected(self, name: str) -> E | None:
        try:
            endpoint = await self.inspect(name)
        except MemberLeftOut as error:
            before, self.left_out[name] = self.left_out.get(name), str(error)
            if name in self.endpoints:
                self.endpoints[name].tools = {}
                self.offer()
            if self.begun and before != str(error):
                self.pool.changed(name, Change.LEFT_OUT, str(error))
            raise
        self.left_out.pop(name, None)
        return endpoint

    def let_in(self, endpoint: E) -> None:
        """Give an endpoint jobs from now on."""
        self.endpoints[endpoint.url] = endpoint
        self.offer()
        self.pool.update(endpoint, State.HEALTHY)

    def let_go(self, endpoint: E, change: Change, reason: str = "") -> None:
        """Give an endpoint no more jobs."""
        del self.endpoints[endpoint.url]
        self.offer()
        self.pool.update(endpoint, State.GONE)
        self.pool.changed(endpoint.url, change, reason)

    # --- what goes on in the background --------------------------------------------------------------

    def spawn(self, work: Coroutine[None, None, None]) -> asyncio.Task[None]:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._over)
        return task

    def _over(self, task: asyncio.Task[None]) -> None:
        """Forget a task that ended well. An error is a bug, which leaving the engine raises."""
        if task.cancelled() or task.exception() is None:
            self._tasks.discard(task)

    async def close(self) -> None:
        self.pool.close()
        tasks = tuple(self._tasks)
        for task in tasks:
            task.cancel()
        for end in await asyncio.gather(*tasks, return_exceptions=True):
            if isinstance(end, Exception):
                raise end


M = TypeVar("M", bound=Members[Any])


class ClusterEngine(ABC, Generic[M]):
    """The part that engines of many machines share: their members, from entering to leaving them."""

    _kind = ""
    _least_slots = 1

    def __init__(self) -> None:
        self._running: M | None = None
        self._held = AsyncExitStack()
        self.tell: OnServer = ignore
        """Hears of endpoints that are lost, slow, full, left out, back or new, and when none is left."""

    @property
    def slots(self) -> int:
        """As of now: endpoints come and go. Before the engine is entered, what is certain."""
        return self._running.pool.slots if self._running is not None else self._least_slots

    @property
    def endpoints(self) -> Sequence[Endpoint]:
        """All that ever got jobs, as they are now."""
        return tuple(self._entered().pool.known.values())

    @property
    def left_out(self) -> Mapping[str, str]:
        """Endpoints that can be reached and get no jobs now, and why."""
        return dict(self._entered().left_out)

    async def profile(self) -> Profile:
        return self._entered().profile

    def _entered(self) -> M:
        if self._running is None:
            raise EngineUnavailable(f"the {self._kind} engine works inside `async with` only")
        return self._running

    @abstractmethod
    async def _open(self, opening: AsyncExitStack) -> M:
        """Return the members before they begin. What they need is given back when they are closed."""

    async def __aenter__(self) -> Self:
        if self._running is not None:
            raise EngineUnavailable(f"the {self._kind} engine is in use already")
        async with AsyncExitStack() as opening:
            running = await self._open(opening)
            opening.push_async_callback(running.close)
            await running.begin()
            self._running, self._held = running, opening.pop_all()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._running = None
        await self._held.aclose()


def _trouble(error: EngineError) -> Change:
    if isinstance(error, EngineOverloaded):
        return Change.FULL
    if isinstance(error, ServerReplaced):
        return Change.REPLACED
    return Change.SLOW if isinstance(error, LateAnswer) else Change.LOST


@dataclass
class Tries(Generic[E]):
    """The tries of one job: where, how often, for how long, and whether that is enough."""

    left: int
    waits: Waits
    tried: list[E] = field(default_factory=list)
    turned_away: float | None = None  # since when nobody had room
    last: EngineError | None = None

    def failed(self, endpoint: E, error: EngineError) -> None:
        """Note a failed attempt. Being turned away is none, and a server's being replaced is none once."""
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
            where = (
                f"(retry rule `{SERVER.name}`), on {_some(dict.fromkeys(each.url for each in self.tried))}"
            )
            raise AttemptsUsedUp(f"{len(self.tried)} attempts failed {where}{self.last_words()}") from error

    def named(self, error: EngineError) -> EngineError:
        """Return the error of a job that servers executed and failed, with their names."""
        where = _some(dict.fromkeys(endpoint.url for endpoint in self.tried))
        if isinstance(error, MachineAtFault):
            return MachineAtFault(error.reason, error.answer, where)
        if len(self.tried) == 1:
            return error
        return AttemptsUsedUp(f"{len(self.tried)} attempts failed, on {where}{self.last_words()}")

    def to_avoid(self, fitting: Collection[E]) -> list[E]:
        """Return all that were tried, while there are others; then the last, unless it is the only one."""
        if any(endpoint not in self.tried for endpoint in fitting):
            return self.tried
        return self.tried[-1:] if len(fitting) > 1 else []

    def last_words(self) -> str:
        return f", the last one: {self.last}" if self.last is not None else ""
