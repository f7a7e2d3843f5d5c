"""The queue of a worker: a bounded number of requests, whose tokens get slots in turn."""

from __future__ import annotations

import asyncio
import time
from collections import Counter, deque
from collections.abc import AsyncIterator, Iterator
from contextlib import AbstractContextManager, asynccontextmanager, contextmanager, nullcontext, suppress
from contextvars import ContextVar

from ioi_eval.model.errors import EngineOverloaded
from ioi_eval.server.log import format_metric

MAX_ABSENCE_S = (
    10.0  # Maximum seconds between two requests of a client for the same work; verl waits 1 and 2 seconds.
)


class ServerDraining(EngineOverloaded):
    """The server refuses new jobs, and stops after the running jobs."""

    def __init__(self) -> None:
        super().__init__("this server drains: it stops after the running jobs and refuses new jobs")


class ResultPending(EngineOverloaded):
    """The work of a request continues, but its client would time out and is asked to repeat the request."""

    def __init__(self) -> None:
        super().__init__(f"no answer yet: ask again within {MAX_ABSENCE_S:g} s; this request keeps its place")


class RequestQueue:
    """The requests of a worker: requests with a slot, and a limited number of waiting requests.

    A request counts from its first byte, because its body occupies memory long before its job has a slot.
    Free slots go to the clients' tokens in turn, and for each token to its first waiting request.

    Methods that change the queue contain no `await`, so that a cancelled request can leave the queue at any
    time.
    """

    def __init__(self, slots: int, max_waiting: int, max_bytes: int) -> None:
        """`max_waiting`: requests without a slot. `max_bytes`: all bodies together."""
        self._slot_count, self._max_waiting, self._max_bytes = slots, max_waiting, max_bytes
        self._entries, self._running_entries = set[QueueEntry](), set[QueueEntry]()
        # Waiting requests by token; the first token gets the next free slot.
        self._waiting_by_token: dict[str, deque[QueueEntry]] = {}
        # Locks by token; the request that holds the lock is the next to enter the queue.
        self._entry_locks: dict[str, asyncio.Lock] = {}
        self._change_event = asyncio.Event()
        self._served_counts, self._refused_counts = Counter[str](), Counter[str]()  # by token
        self.draining = False

    @property
    def running_count(self) -> int:
        """The number of requests that have a slot."""
        return len(self._running_entries)

    @property
    def waiting_count(self) -> int:
        """The number of requests without a slot."""
        return len(self._entries) - len(self._running_entries)

    @property
    def total_body_bytes(self) -> int:
        """The number of bytes of all bodies."""
        return sum(entry.body_bytes for entry in self._entries)

    @contextmanager
    def enter(self, token_name: str = "") -> Iterator[QueueEntry]:
        """Context manager: add a request to the queue, and remove it when the context is left.

        Raises EngineOverloaded if the queue is full.
        """
        if self.draining:
            raise ServerDraining
        if self._is_full():
            self._refused_counts[token_name] += 1
            raise EngineOverloaded(
                f"all {self._slot_count} slots are busy and {self._max_waiting} requests are waiting"
            )
        entry = QueueEntry(self, token_name)
        with entry.keep_in_queue():
            context_token = _current.set(entry)
            try:
                yield entry
            finally:
                _current.reset(context_token)

    @asynccontextmanager
    async def enter_within(self, seconds: float, token_name: str = "") -> AsyncIterator[QueueEntry]:
        """Add a request as `enter` does, but wait up to `seconds` if the queue is full.

        Tokens enter in turn, and requests of the same token in the order of their arrival.
        """
        start_s = asyncio.get_running_loop().time()
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds), self._entry_locks.setdefault(token_name, asyncio.Lock()):
                while self._is_full() and not self.draining:
                    await self._wait_for_change()
        with self.enter(token_name) as entry:
            entry.entrance_s = asyncio.get_running_loop().time() - start_s
            yield entry

    def drain(self) -> None:
        """Refuse all requests without a slot, and all later requests."""
        self.draining = True
        for waiting_entries in self._waiting_by_token.values():
            for entry in waiting_entries:
                entry.slot_decided.set()
        self._waiting_by_token.clear()
        self.wake_entering_requests()

    async def wait_until_empty(self) -> None:
        while self._entries:
            await self._wait_for_change()

    def format_caller_metrics(self) -> Iterator[Iterator[str]]:
        """Yield the counts of each token that has a name."""
        requests = Counter(entry.token_name for entry in self._entries)
        slots = Counter(entry.token_name for entry in self._running_entries)
        token_names = sorted({*self._served_counts, *self._refused_counts, *requests} - {""})
        for name, kind, help_text, counts in (
            (
                "caller_jobs_total",
                "counter",
                "Requests that got a slot, by the token's name.",
                self._served_counts,
            ),
            (
                "caller_refusals_total",
                "counter",
                "Requests that were refused because the queue was full.",
                self._refused_counts,
            ),
            ("caller_requests", "gauge", "Requests that run or wait.", requests),
            ("caller_slots", "gauge", "Slots that they have.", slots),
        ):
            yield format_metric(
                name,
                kind,
                help_text,
                [("", {"caller": token_name}, counts[token_name]) for token_name in token_names],
            )

    # --- methods for entries; each of these leaves the queue consistent ----------------------------------

    def add(self, entry: QueueEntry) -> None:
        self._entries.add(entry)

    def remove(self, entry: QueueEntry) -> None:
        """Remove an entry from the queue, and free its slot."""
        self._entries.discard(entry)
        self._running_entries.discard(entry)
        self.wake_entering_requests()
        self._assign_slots()

    def add_to_waiting(self, entry: QueueEntry) -> None:
        """Give an entry a free slot, or add it to the entries that wait for a slot. Raises ServerDraining."""
        if self.draining:
            raise ServerDraining
        self._waiting_by_token.setdefault(entry.token_name, deque()).append(entry)
        self._assign_slots()

    def remove_from_waiting(self, entry: QueueEntry) -> None:
        waiting_entries = self._waiting_by_token.get(entry.token_name, deque())
        if entry in waiting_entries:
            waiting_entries.remove(entry)
            if not waiting_entries:
                del self._waiting_by_token[entry.token_name]

    def wake_entering_requests(self) -> None:
        """Wake up the requests that wait to enter the queue, which then check again if it is full."""
        self._change_event.set()

    def has_slot(self, entry: QueueEntry) -> bool:
        return entry in self._running_entries

    def check_body_size(self, entry: QueueEntry, more_bytes: int) -> None:
        """Raise EngineOverloaded if the bodies exceed their bound with `more_bytes` bytes for this entry.

        A single body may always exceed it.
        """
        total_bytes = self.total_body_bytes
        if total_bytes > entry.body_bytes and total_bytes + more_bytes > self._max_bytes:
            raise EngineOverloaded(
                f"running and waiting requests have {total_bytes} bytes; their maximum is {self._max_bytes}"
            )

    def _assign_slots(self) -> None:
        """Give free slots to entries that wait."""
        while self._waiting_by_token and len(self._running_entries) < self._slot_count:
            token_name = next(iter(self._waiting_by_token))
            waiting_entries = self._waiting_by_token.pop(token_name)
            entry = waiting_entries.popleft()
            if waiting_entries:
                # Move the token behind all other tokens, so that their requests get the next slots.
                self._waiting_by_token[token_name] = waiting_entries
            self._running_entries.add(entry)
            self._served_counts[token_name] += 1
            entry.slot_decided.set()

    def _is_full(self) -> bool:
        entry_count = sum(not entry.is_away for entry in self._entries)
        return entry_count >= self._slot_count + self._max_waiting

    async def _wait_for_change(self) -> None:
        self._change_event.clear()
        await self._change_event.wait()


class QueueEntry:
    """A request in the queue. It has its place and its slot until the last holder releases it."""

    def __init__(self, queue: RequestQueue, token_name: str) -> None:
        self._queue, self.token_name = queue, token_name
        self.body_bytes = 0  # size of the body of the request
        # True while the client is asked to repeat the request. Then only the repeated request counts.
        self.is_away = False
        self.entrance_s = 0.0  # seconds for which the request waited to enter the queue
        # Seconds for which the request waited for its slot, until a job reports this time.
        self.unreported_s = 0.0
        self.slot_decided = asyncio.Event()  # set when the request has a slot, or will never get a slot
        self._holder_count = 0

    def count_bytes(self, more_bytes: int) -> None:
        """Count bytes of the request's body. Raises EngineOverloaded if all bodies together are too large."""
        self._queue.check_body_size(self, more_bytes)
        self.body_bytes += more_bytes

    async def acquire_slot(self) -> None:
        """Wait for a slot, unless the entry has one. Raises ServerDraining."""
        if self._queue.has_slot(self):
            return
        start_s = time.monotonic()
        self._queue.add_to_waiting(self)
        try:
            await self.slot_decided.wait()
        finally:
            self._queue.remove_from_waiting(self)
        if not self._queue.has_slot(self):
            raise ServerDraining
        self.unreported_s = time.monotonic() - start_s

    def release_place(self) -> None:
        """Stop counting this request as a request in the queue, because its client will repeat it."""
        self.is_away = True
        self._queue.wake_entering_requests()

    @contextmanager
    def keep_in_queue(self) -> Iterator[None]:
        """Keep the request's place and slot during work that may outlast the request."""
        if not self._holder_count:
            self._queue.add(self)
        self._holder_count += 1
        try:
            yield
        finally:
            self._holder_count -= 1
            if not self._holder_count:
                self._queue.remove(self)


_current: ContextVar[QueueEntry] = ContextVar("entry")


def keep_current_request_in_queue() -> AbstractContextManager[None]:
    """Return a context in which the current request, if any, keeps its place and slot in the queue."""
    entry = _current.get(None)
    return entry.keep_in_queue() if entry else nullcontext()
