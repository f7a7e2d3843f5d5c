"""Endpoints and their slots: which server gets the next job, and which get none for a while. No network."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Coroutine, Iterator, Set
from enum import StrEnum
from typing import Protocol

from ioi_eval.engines.piston.sending import NoAnswer, Patience, ServerTimes, rest_after
from ioi_eval.model.errors import EngineError, EngineUnavailable

# --- endpoints ---------------------------------------------------------------------------------------


class Discovery(Protocol):
    """Finds the servers. A look that fails raises an error of ours; what was known then stands."""

    @property
    def every(self) -> float | None:
        """Seconds between two looks. None: what is found first is all there will be."""
        ...

    async def find(self) -> frozenset[str]:
        """The base URLs of all servers: `http://host:2000`."""
        ...


class State(StrEnum):
    HEALTHY = "healthy"
    TRIAL = "trial"  # it answers again; one job will tell
    DOWN = "down"  # no jobs until it answers
    GONE = "gone"  # not found any more: what runs there may end, nothing more begins


class Endpoint:
    """One server and what goes on there. Its engine alone changes it."""

    def __init__(self, url: str, slots: int, times: ServerTimes | None = None) -> None:
        self.url, self.slots = url, slots
        self.times = times or ServerTimes()
        self.state = State.HEALTHY
        self.busy = 0  # jobs of ours under way
        self.faults = 0  # in a row
        self.rests = 0  # since it was last well

    @property
    def usable(self) -> bool:
        return self.state in (State.HEALTHY, State.TRIAL)

    @property
    def room(self) -> int:
        """How many jobs it may have at a time."""
        if self.state is State.TRIAL:
            return 1
        return self.slots if self.usable else 0

    def __repr__(self) -> str:
        return f"Endpoint({self.url}, {self.state.value}, {self.busy}/{self.slots})"


# --- slots: least loaded first, in the order of asking -----------------------------------------------


_CLOSED = "the engine was closed"
_NAMED = 3  # servers that a message names


class _Waiting:
    """Somebody who wants a slot."""

    def __init__(self, avoid: Collection[Endpoint]) -> None:
        self.avoid = avoid
        self.answer: asyncio.Future[Endpoint] = asyncio.get_running_loop().create_future()


class Pool:
    """The slots of all endpoints.

    A slot is handed over by whoever gives one back, so nobody is woken in vain, however many wait. When no
    endpoint has been usable for `patience` seconds, all who wait get EngineUnavailable together, and so does
    at once whoever asks then, until an endpoint is usable again: one drought is waited for once.
    """

    def __init__(self, *, total: int | None, patience: float) -> None:
        self._total, self._patience = total, patience
        self._usable: dict[Endpoint, None] = {}
        self._with_room: list[dict[Endpoint, None]] = [{}]  # by the number of jobs there
        self._waiting: dict[_Waiting, None] = {}
        self._dry: asyncio.TimerHandle | None = None
        self._dried_up: EngineUnavailable | None = None
        self._gone = dict[str, None]()  # that were usable once, and may be again
        self._closed = False
        self.busy = 0

    @property
    def slots(self) -> int:
        found = sum(endpoint.slots for endpoint in self._usable)
        return max(1, found if self._total is None else min(found, self._total))

    @property
    def usable(self) -> Set[Endpoint]:
        return self._usable.keys()

    # --- taking and giving back ----------------------------------------------------------------------

    async def take(self, avoid: Collection[Endpoint] = ()) -> Endpoint:
        """A slot, which the caller gives back. One of `avoid` only where nothing else is usable."""
        if self._closed:
            raise EngineUnavailable(_CLOSED)
        if self._dried_up is not None:
            raise EngineUnavailable(str(self._dried_up))
        if not self._waiting and (endpoint := self._choose(avoid)) is not None:
            self._occupy(endpoint)
            return endpoint
        waiting = _Waiting(avoid)
        self._waiting[waiting] = None
        self._watch_for_drought()
        self._serve()
        try:
            return await waiting.answer
        except asyncio.CancelledError:
            if waiting.answer.done() and not waiting.answer.cancelled() and not waiting.answer.exception():
                self.give_back(waiting.answer.result())  # it came in the moment of the cancellation
            raise
        finally:
            self._waiting.pop(waiting, None)

    def give_back(self, endpoint: Endpoint) -> None:
        self._move(endpoint, -1)
        self._serve()

    def _occupy(self, endpoint: Endpoint) -> None:
        self._move(endpoint, +1)

    def _move(self, endpoint: Endpoint, jobs: int) -> None:
        self._with_room[endpoint.busy].pop(endpoint, None)
        endpoint.busy += jobs
        self.busy += jobs
        self._place(endpoint)

    def _place(self, endpoint: Endpoint) -> None:
        while len(self._with_room) <= endpoint.busy:
            self._with_room.append({})
        if endpoint.busy < endpoint.room:
            self._with_room[endpoint.busy][endpoint] = None
        else:
            self._with_room[endpoint.busy].pop(endpoint, None)

    def _choose(self, avoid: Collection[Endpoint]) -> Endpoint | None:
        if self._total is not None and self.busy >= self._total:
            return None
        free = self._free()
        if not avoid:
            return next(free, None)
        if (other := next((endpoint for endpoint in free if endpoint not in avoid), None)) is not None:
            return other
        return next(self._free(), None) if self._avoids_all(avoid) else None

    def _free(self) -> Iterator[Endpoint]:
        """Endpoints with room, those with the fewest jobs first, and of these the longest idle."""
        return (endpoint for level in self._with_room for endpoint in level)

    def _avoids_all(self, avoid: Collection[Endpoint]) -> bool:
        return len(self._usable) <= len(avoid) and all(endpoint in avoid for endpoint in self._usable)

    def _serve(self) -> None:
        """Hands out what is free, first come, first served; who avoids what is free lets others pass."""
        while self._could_serve() and (pair := self._next_pair()) is not None:
            waiting, endpoint = pair
            del self._waiting[waiting]
            self._occupy(endpoint)
            waiting.answer.set_result(endpoint)

    def _next_pair(self) -> tuple[_Waiting, Endpoint] | None:
        for waiting in self._waiting:
            if waiting.answer.done():  # cancelled, and not yet gone
                continue
            if (endpoint := self._choose(waiting.avoid)) is not None:
                return waiting, endpoint
        return None

    def _could_serve(self) -> bool:
        if not self._waiting or (self._total is not None and self.busy >= self._total):
            return False
        return any(self._with_room)

    # --- endpoints that come, go and change ----------------------------------------------------------

    def update(self, endpoint: Endpoint, state: State) -> None:
        """Also how an endpoint enters and leaves the pool."""
        endpoint.state = state
        if endpoint.usable:
            self._usable[endpoint] = None
            self._gone.pop(endpoint.url, None)
            self._dried_up = None
        else:
            self._usable.pop(endpoint, None)
            self._gone[endpoint.url] = None
        self._place(endpoint)
        self._watch_for_drought()
        self._serve()

    def _watch_for_drought(self) -> None:
        if self._usable or not self._waiting:
            if self._dry is not None:
                self._dry.cancel()
                self._dry = None
        elif self._dry is None:
            self._dry = asyncio.get_running_loop().call_later(self._patience, self._out_of_patience)

    def _out_of_patience(self) -> None:
        self._dry, gone = None, sorted(self._gone)
        names = ", ".join(gone[:_NAMED]) + (f" and {len(gone) - _NAMED} more" if len(gone) > _NAMED else "")
        self._dried_up = EngineUnavailable(
            f"no server has been usable for {self._patience:g} s; gone: {names or 'all'}"
        )
        self._refuse_all(str(self._dried_up))

    def _refuse_all(self, reason: str) -> None:
        for waiting in self._waiting:
            if not waiting.answer.done():
                waiting.answer.set_exception(EngineUnavailable(reason))
        self._waiting.clear()

    def close(self) -> None:
        """Whoever still waits is told, and whoever comes."""
        self._closed = True
        if self._dry is not None:
            self._dry.cancel()
            self._dry = None
        self._refuse_all(_CLOSED)


# --- one that fails rests, is asked by itself, and then has one job to show for it -------------------


_FAULTS = 3  # in a row; one that does not answer at all has had its chance with the first


class Health:
    """Told of every answer. `ask` says whether one endpoint answers; `spawn` starts a task."""

    def __init__(
        self,
        pool: Pool,
        patience: Patience,
        ask: Callable[[Endpoint], Awaitable[bool]],
        spawn: Callable[[Coroutine[None, None, None]], None],
    ) -> None:
        self._pool, self._patience, self._ask, self._spawn = pool, patience, ask, spawn

    def succeeded(self, endpoint: Endpoint) -> None:
        endpoint.faults = 0
        if endpoint.state is State.TRIAL:
            endpoint.rests = 0
            self._pool.update(endpoint, State.HEALTHY)

    def failed(self, endpoint: Endpoint, error: EngineError) -> None:
        endpoint.faults += 1
        tried = endpoint.state is State.TRIAL
        if endpoint.usable and (tried or isinstance(error, NoAnswer) or endpoint.faults >= _FAULTS):
            self._pool.update(endpoint, State.DOWN)
            self._spawn(self._recover(endpoint))

    async def _recover(self, endpoint: Endpoint) -> None:
        while endpoint.state is State.DOWN:
            rest = rest_after(endpoint.rests, self._patience)
            endpoint.rests += 1
            await asyncio.sleep(rest)
            if await self._ask(endpoint) and endpoint.state is State.DOWN:
                self._pool.update(endpoint, State.TRIAL)
