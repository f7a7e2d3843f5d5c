"""The rules of a cluster of servers or nodes: endpoints, their slots, and tools that differ. No network."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence, Set
from enum import StrEnum
from typing import Generic, TypeVar

from ioi_eval.engines.contract import Change, JobsWait, OnServer, ServerChanged, ignore
from ioi_eval.model.errors import EngineUnavailable
from ioi_eval.model.job import Toolchain
from ioi_eval.model.values import ServerState

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
        self.rests = 0  # since it was last well
        self.trials = 0  # that it failed since then
        self.errors = 0  # in all
        self.why = ""  # the last of these
        self.since = time.time()  # when it got into its state
        self.holds = set[str]()  # hashes of contents that it keeps, as far as we know

    @property
    def usable(self) -> bool:
        return self.state in (State.HEALTHY, State.TRIAL)

    @property
    def works(self) -> bool:
        """True while there is hope: it is healthy, or has a job on one of its first trials."""
        on_trial = self.state is State.TRIAL and self.busy > 0 and self.trials < _FAILED_TRIALS
        return self.state is State.HEALTHY or on_trial

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
        return self.slots if self.usable else 0

    def __repr__(self) -> str:
        return f"Endpoint({self.url}, {self.state.value}, {self.busy}/{self.slots})"


# --- slots: least loaded first, in the order of asking -----------------------------------------------


_CLOSED = "the engine was closed"
_NAMED = 3  # servers that a message names

E = TypeVar("E", bound=Endpoint)


class Pool(Generic[E]):
    """The slots of all endpoints.

    A slot is handed over by whoever gives one back, so nobody is woken in vain, however many wait. When jobs
    have waited for `patience` seconds and no endpoint worked, all who wait get EngineUnavailable together,
    and so does at once whoever asks then, until an endpoint is usable again: one drought is waited for once.
    Its clock stands still while an endpoint works. It begins anew with the next healthy endpoint: one on
    trial, which answers and may fail every job, changes nothing.
    """

    def __init__(self, *, total: int | None, patience: float, tell: OnServer = ignore) -> None:
        """`tell`: hears when a drought begins, and what `changed` says."""
        self._total, self._patience, self._tell = total, patience, tell
        self._usable: dict[E, None] = {}
        self._with_room: list[dict[E, None]] = [{}]  # by the number of jobs there
        self._waiting: dict[asyncio.Future[E], Collection[E]] = {}  # and whom each avoids
        self._working: dict[E, None] = {}
        self._dry: asyncio.TimerHandle | None = None
        self._dry_since = self._dry_for = 0.0  # since when the clock runs, and the seconds before that
        self._refusal = ""  # what everybody is told who asks
        self.known = dict[str, E]()  # all that ever were here, by their addresses
        self.busy = 0

    @property
    def slots(self) -> int:
        found = sum(endpoint.slots for endpoint in self._usable)
        return max(1, found if self._total is None else min(found, self._total))

    @property
    def usable(self) -> Set[E]:
        return self._usable.keys()

    def changed(self, url: str, change: Change, reason: str = "") -> None:
        """Tell of an endpoint, and how many are usable now."""
        slots = sum(endpoint.slots for endpoint in self._usable)
        event = ServerChanged(url=url, change=change, reason=reason, usable=len(self._usable), slots=slots)
        self._tell(event)

    # --- taking and giving back ----------------------------------------------------------------------

    async def take(self, avoid: Collection[E] = (), prefer: Callable[[E], bool] | None = None) -> E:
        """A slot, which the caller gives back. One of `avoid` only where nothing else is usable.

        `prefer`: of those that are free now, one of these if there is any.
        """
        if self._refusal:
            raise EngineUnavailable(self._refusal)
        if (endpoint := self.spare(avoid, prefer)) is not None:
            return endpoint
        answer: asyncio.Future[E] = asyncio.get_running_loop().create_future()
        self._waiting[answer] = avoid
        self._serve()
        self._watch_for_drought()
        try:
            return await answer
        except asyncio.CancelledError:
            if answer.done() and not answer.cancelled() and not answer.exception():
                self.give_back(answer.result())  # it came in the moment of the cancellation
            raise
        finally:
            self._waiting.pop(answer, None)
            self._watch_for_drought()

    def spare(self, avoid: Collection[E] = (), prefer: Callable[[E], bool] | None = None) -> E | None:
        """Return a slot that nobody waits for, or None. The caller gives it back."""
        endpoint = None if self._waiting else self._choose(avoid, prefer)
        if endpoint is not None:
            self._move(endpoint, +1)
        return endpoint

    def give_back(self, endpoint: E) -> None:
        self._move(endpoint, -1)
        self._serve()
        self._watch_for_drought()

    def _move(self, endpoint: E, jobs: int) -> None:
        self._with_room[endpoint.busy].pop(endpoint, None)
        endpoint.busy += jobs
        self.busy += jobs
        self._place(endpoint)

    def _place(self, endpoint: E) -> None:
        while len(self._with_room) <= endpoint.busy:
            self._with_room.append({})
        if endpoint.busy < endpoint.room:
            self._with_room[endpoint.busy][endpoint] = None
        else:
            self._with_room[endpoint.busy].pop(endpoint, None)
        if endpoint.works:
            self._working[endpoint] = None
        else:
            self._working.pop(endpoint, None)

    def _is_full(self) -> bool:
        return (self._total is not None and self.busy >= self._total) or not any(self._with_room)

    def _choose(self, avoid: Collection[E], prefer: Callable[[E], bool] | None = None) -> E | None:
        """Of those with room one with the fewest jobs, and of these the longest idle."""
        if self._is_full():
            return None
        if prefer is not None:
            free = (endpoint for level in self._with_room for endpoint in level)
            preferred = next((each for each in free if each not in avoid and prefer(each)), None)
            if preferred is not None:
                return preferred
        free = (endpoint for level in self._with_room for endpoint in level)
        if not avoid or (len(self._usable) <= len(avoid) and all(each in avoid for each in self._usable)):
            return next(free, None)
        return next((endpoint for endpoint in free if endpoint not in avoid), None)

    def _serve(self) -> None:
        """Hands out what is free, first come, first served; who avoids what is free lets others pass."""
        while not self._is_full():
            waiting = ((answer, avoid) for answer, avoid in self._waiting.items() if not answer.done())
            pairs = ((answer, self._choose(avoid)) for answer, avoid in waiting)
            answer, endpoint = next((pair for pair in pairs if pair[1] is not None), (None, None))
            if answer is None or endpoint is None:
                return
            del self._waiting[answer]
            self._move(endpoint, +1)
            answer.set_result(endpoint)

    # --- endpoints that come, go and change ----------------------------------------------------------

    def update(self, endpoint: E, state: State) -> None:
        """Also how an endpoint enters and leaves the pool."""
        if endpoint.state is not state:
            endpoint.since = time.time()
        endpoint.state = state
        self.known[endpoint.url] = endpoint
        if endpoint.usable:
            self._usable[endpoint] = None
            if self._refusal != _CLOSED:
                self._refusal = ""
        else:
            self._usable.pop(endpoint, None)
        self._place(endpoint)
        self._serve()
        self._watch_for_drought()
        if state is State.HEALTHY:
            endpoint.trials, self._dry_for = 0, 0.0

    def _watch_for_drought(self) -> None:
        """Let the clock run or stand still, as it should now."""
        is_dry = bool(self._waiting) and not self._working
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
        names = [f"{each.url}{f' ({each.why})' if each.why else ''}" for each in out[:_NAMED]]
        more = f" and {len(out) - _NAMED} more" if len(out) > _NAMED else ""
        gone = ", ".join(names) + more if names else "all"
        self._refuse(f"no server has been usable for {self._patience:g} s; gone: {gone}")

    def _refuse(self, reason: str) -> None:
        """Refuse all who wait, and all who come."""
        self._refusal = reason
        for answer in self._waiting:
            if not answer.done():
                answer.set_exception(EngineUnavailable(reason))
        self._waiting.clear()
        self._watch_for_drought()

    def close(self) -> None:
        self._refuse(_CLOSED)


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
