"""The embedded engine of one node, as an actor, and the parcels between it and those who call it.

A parcel is a value that is pickled with each blob as its hash; its contents go to a node once. Small ones
travel in the call, others through Ray's object store.
"""

from __future__ import annotations

import asyncio
import io
import pickle
import shutil
import tempfile
from collections.abc import Callable, Coroutine, Mapping
from contextlib import AsyncExitStack
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

import msgspec

from ioi_eval.engines.cluster import Endpoint
from ioi_eval.engines.conditions import conditions
from ioi_eval.engines.contract import Answers, Batch, Built, Condition, Far, Profile, Recipe, Rejected
from ioi_eval.engines.embedded import EmbeddedEngine
from ioi_eval.engines.embedded.boxes import Boxes
from ioi_eval.engines.jobs.engine import JobEngine
from ioi_eval.model.errors import EngineUnavailable, IoiEvalError
from ioi_eval.model.values import Blob, Value
from ioi_eval.store import Store
from ioi_eval.store.contents import BESIDE, Depot

# --- parcels -----------------------------------------------------------------------------------------


VERSION = version("ioi-eval")
SMALL = 1 << 16  # bytes of a content that travels in the call


class _Packer(pickle.Pickler):
    def __init__(self, stream: io.BytesIO) -> None:
        super().__init__(stream, protocol=pickle.HIGHEST_PROTOCOL)
        self.contents = dict[str, Blob]()

    def persistent_id(self, given: Any) -> tuple[str, int] | None:
        if not isinstance(given, Blob):
            return None
        self.contents[given.sha256] = given
        return given.sha256, given.size


class _Unpacker(pickle.Unpickler):
    def __init__(self, packed: bytes, found: Callable[[str, int], Blob]) -> None:
        super().__init__(io.BytesIO(packed))
        self._found = found

    def persistent_load(self, identity: tuple[str, int]) -> Blob:
        return self._found(*identity)


def pack(value: object) -> tuple[bytes, dict[str, Blob]]:
    """Return the value without its contents, and these by their hashes."""
    stream = io.BytesIO()
    packer = _Packer(stream)
    packer.dump(value)
    return stream.getvalue(), packer.contents


def unpack(packed: bytes, found: Callable[[str, int], Blob]) -> Any:
    return _Unpacker(packed, found).load()


class NodeCall(Value):
    """A call to a node."""

    rest: (
        bytes  # packed: a recipe; or what of a batch tells apart whose contents are needed and whose are not
    )
    problem: bytes = b""  # packed, and without contents: those of a batch's tests are in the rest
    needed: tuple[str, ...] = ()
    small: Mapping[str, bytes] = {}  # contents that this node was not given yet
    large: Mapping[str, Any] = {}  # the same, as Ray's references


class Lacking(Value):
    """An answer: contents that the node was not given, has no more, or cannot fetch."""

    names: tuple[str, ...]


class NodeError(Value):
    """An answer: the error that the node's engine raised."""

    error: IoiEvalError


Answer = Answers | Built | Rejected | Lacking | NodeError


class About(Value):
    """The description of a node."""

    made_by: str  # the engine that started the actor
    version: str  # of this package
    slots: int
    profile: Profile


class InStore(Far, kw_only=True):
    """An artifact in the object store, most likely on the node that made it; freed with this value."""

    reference: Any
    fetch: Callable[[Any], bytes]
    made_on: Endpoint

    def read(self) -> bytes:
        """Raises EngineUnavailable where the node that had it is gone."""
        return self.fetch(self.reference)


# --- the actor ---------------------------------------------------------------------------------------


_ROOM = 8 << 30  # bytes: of contents, and of what was built
_SHARE = 4  # of the free disk, contents get this part at most


class Node:
    """Builds and judges what its callers order. Nothing that a job does ends it.

    Its folders are its own, on its own machine; those of one that was killed go when the next starts there.
    """

    def __init__(self, made_by: str, slots: int, allow_unconfined: bool) -> None:
        self._made_by, self._slots, self._allow_unconfined = made_by, slots, allow_unconfined
        self._opening, self._held = asyncio.Lock(), AsyncExitStack()
        self._coming = dict[str, asyncio.Future[None]]()  # contents on their way
        self._open: tuple[JobEngine, Depot] | None = None
        self._meters = _Meters()

    async def about(self) -> About | NodeError:
        """Open the engine, if that was not done yet."""
        try:
            engine, _ = await self._opened()
        except (IoiEvalError, OSError) as error:
            return _failed(error)
        return About(
            made_by=self._made_by,
            version=VERSION,
            slots=self._slots,
            profile=await engine.profile(),
        )

    async def conditions(self) -> list[Condition]:
        """Return the findings of `ioi-eval doctor` on this node."""
        return await conditions(self._store())

    async def build(self, order: NodeCall) -> tuple[Answer, bytes]:
        """Return how it went, and apart from that the artifact, if it is large."""
        answer = await self._measured("build", order, self._build)
        if not isinstance(answer, Built):
            return answer, b""
        data = await asyncio.to_thread(answer.artifact.read)
        bare = Blob(sha256=answer.artifact.sha256, size=len(data), data=data if len(data) <= SMALL else None)
        return msgspec.structs.replace(answer, artifact=bare), data if bare.data is None else b""

    async def judge(self, order: NodeCall) -> Answer:
        return await self._measured("judge", order, self._judge)

    async def close(self) -> None:
        """Kill what runs, and remove the folders."""
        async with self._opening:
            self._open = None
            await self._held.aclose()

    # --- the engine ----------------------------------------------------------------------------------

    async def _opened(self) -> tuple[JobEngine, Depot]:
        async with self._opening:
            if self._open is None:
                boxes = Boxes(Path(tempfile.gettempdir()), entered=False)
                self._held.callback(boxes.close)
                await asyncio.to_thread(boxes.open)
                free = shutil.disk_usage(boxes.folder).free
                depot = Depot(boxes.folder / "kept", min(_ROOM, free // _SHARE), beside=BESIDE)
                store = self._store()
                here = EmbeddedEngine(store=store, slots=self._slots, allow_unconfined=self._allow_unconfined)
                engine = await self._held.enter_async_context(JobEngine(here, store))
                self._open = engine, depot
            return self._open

    def _store(self) -> Store:
        return Store.usual(limit=_ROOM)

    async def _build(self, engine: JobEngine, depot: Depot, order: NodeCall) -> Answer:
        recipe: Recipe = unpack(order.rest, lambda name, _: depot.blob(name))
        built = await engine.build(recipe)
        if isinstance(built, Built):
            await asyncio.to_thread(depot.add, built.artifact)
        return built

    async def _judge(self, engine: JobEngine, depot: Depot, order: NodeCall) -> Answer:
        parts: dict[str, Any] = unpack(order.rest, lambda name, _: depot.blob(name))
        problem = unpack(order.problem, lambda name, size: Blob(sha256=name, size=size))
        proctor = (await engine.profile()).proctor
        program = msgspec.structs.replace(parts.pop("program"), proctor=proctor)
        return await engine.judge(Batch(problem=problem, program=program, **parts))

    # --- an order ------------------------------------------------------------------------------------

    async def _measured(self, kind: str, order: NodeCall, work: Any) -> Answer:
        self._meters.begin()
        answer: Answer | None = None
        try:
            answer = await self._answered(order, work)
        finally:
            self._meters.end(kind, "cancelled" if answer is None else type(answer).__name__.lower())
        return answer

    async def _answered(self, order: NodeCall, work: Any) -> Answer:
        try:
            engine, depot = await self._opened()
            with depot.hold(order.needed):
                await self._arrival(order, depot)
                lacking = depot.lacks(order.needed)
                return Lacking(names=lacking) if lacking else await work(engine, depot, order)
        except (IoiEvalError, OSError) as error:
            return _failed(error)

    async def _arrival(self, order: NodeCall, depot: Depot) -> None:
        """Wait for what this order or an earlier one brings."""
        if order.small:
            self._expect(order.small, asyncio.to_thread(_add_all, depot, order.small))
        for name, reference in order.large.items():
            if name not in self._coming:
                self._expect((name,), _fetched(depot, name, reference))
        waited = {self._coming[name] for name in order.needed if name in self._coming}
        if waited:
            await asyncio.wait(waited)

    def _expect(self, names: Any, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.ensure_future(work)
        for name in names:
            self._coming[name] = task
        task.add_done_callback(partial(self._arrived, tuple(names)))

    def _arrived(self, names: tuple[str, ...], task: asyncio.Future[None]) -> None:
        for name in names:
            if self._coming.get(name) is task:
                del self._coming[name]
        if not task.cancelled():
            task.exception()  # what did not come is lacking, and the caller is told so


def _add_all(depot: Depot, contents: Mapping[str, bytes]) -> None:
    for name, data in contents.items():
        depot.add(Blob(sha256=name, size=len(data), data=data))


async def _fetched(depot: Depot, name: str, reference: Any) -> None:
    data = await reference
    await asyncio.to_thread(_add_all, depot, {name: data})


def _failed(error: IoiEvalError | OSError) -> NodeError:
    if isinstance(error, IoiEvalError):
        return NodeError(error=error)
    return NodeError(error=EngineUnavailable(f"the node cannot work: {error}"))


class _Meters:
    """The metrics of a node in Ray's dashboard and its Prometheus endpoint."""

    def __init__(self) -> None:
        from ray.util.metrics import Counter, Gauge

        self._orders = Counter(
            "ioi_eval_orders", "Builds and batches by how they ended", tag_keys=("kind", "outcome")
        )
        self._running = Gauge("ioi_eval_orders_running", "Builds and batches under way")
        self._number = 0

    def begin(self) -> None:
        self._count(+1)

    def end(self, kind: str, outcome: str) -> None:
        self._count(-1)
        self._orders.inc(1, {"kind": kind, "outcome": outcome})

    def _count(self, step: int) -> None:
        self._number += step
        self._running.set(self._number)
