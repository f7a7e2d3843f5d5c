"""The engine for Ray: orders for nodes that come and go, each answered once."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from types import TracebackType
from typing import Any, Self

import msgspec

from ioi_eval.engines.contract import (
    Answers,
    Batch,
    Built,
    Condition,
    OnServer,
    Profile,
    Recipe,
    Rejected,
    Servers,
    ignore,
)
from ioi_eval.engines.pool import Endpoint, Pool, differing
from ioi_eval.engines.ray import cluster
from ioi_eval.engines.ray.cluster import Call, NodeLost, order_call
from ioi_eval.engines.ray.members import NodeMembers, NodePatience, RayNode, Wanted, merged
from ioi_eval.engines.ray.parcels import SMALL, Answer, Far, Lacking, NodeCall, NodeError, pack
from ioi_eval.model.errors import EngineError, EngineUnavailable, JudgeFailure
from ioi_eval.model.values import Blob
from ioi_eval.store.memory import Bounded, Shared

_TRIES = 8
_FAULTS = 2  # of nodes that say themselves that they failed
_STORED = 2 << 30  # bytes of contents that are kept in the object store
_NOTHING = Blob.of(b"")


class RayEngine:
    """Builds and judges on the nodes of a Ray cluster, with the embedded engine on each.

        async with RayEngine("ray://head:10001") as engine:
            ...

    An order whose node is lost goes to another one; whatever the lost one had found out counts no more.
    Processes of one Ray job share a node's actor, which lives as long as the process that started it.
    """

    def __init__(
        self,
        address: str = "",
        *,
        slots: int | None = None,
        cpus_per_slot: float = 1.0,
        same_compiler: bool = False,
        allow_unconfined: bool = False,
        patience: NodePatience | None = None,
    ) -> None:
        """`address`: empty for the cluster that this process belongs to, or RAY_ADDRESS, or one made here."""
        if slots is not None and slots < 1:
            raise ValueError(f"slots must be at least 1, not {slots}")
        if cpus_per_slot <= 0:
            raise ValueError(f"cpus_per_slot must be more than 0, not {cpus_per_slot}")
        self._address, self._patience = address, patience or NodePatience()
        self._wanted = Wanted(
            slots=slots,
            cpus_per_slot=cpus_per_slot,
            same_compiler=same_compiler,
            allow_unconfined=allow_unconfined,
        )
        self._held = AsyncExitStack()
        self._running: tuple[Pool[RayNode], NodeMembers, _Stored] | None = None
        self.tell: OnServer = ignore
        """Hears of nodes that are lost, left out, back or new, and when no node is left."""

    @property
    def slots(self) -> int:
        """As of now: nodes come and go."""
        return self._running[0].slots if self._running is not None else 1

    @property
    def nodes(self) -> Mapping[str, int]:
        """The nodes in use by name, and the slots of each."""
        return {node.url: node.slots for node in self._entered()[1].nodes.values()}

    @property
    def endpoints(self) -> Sequence[Endpoint]:
        """All nodes that ever got work, as they are now."""
        return tuple(self._entered()[0].known.values())

    @property
    def left_out(self) -> Mapping[str, str]:
        """Nodes that get no jobs now, and why."""
        return dict(self._entered()[1].left_out)

    @property
    def differences(self) -> tuple[Condition, ...]:
        """Tools that are not the same on all nodes, for the doctor."""
        members = self._entered()[1]
        nodes = sorted(members.nodes.values(), key=lambda node: node.url)
        tools = differing([node.profile.toolchains for node in nodes])
        return tuple(
            Condition(
                name=tool,
                ok=None,
                detail="; ".join(f"{node.url} {_version(node, tool)}" for node in nodes),
                remedy="Install one version everywhere, or use same_compiler=True",
            )
            for tool in tools
        )

    def servers(self) -> Servers:
        return Servers(
            found=len(self.nodes) + len(self.left_out),
            slots=self.slots,
            used=dict.fromkeys(self.nodes, ()),
            left_out=self.left_out,
            differences=self.differences,
            standings=tuple(endpoint.standing for endpoint in self.endpoints),
        )

    async def conditions(self) -> Mapping[str, list[Condition]]:
        """Return the doctor's findings by node."""
        nodes = list(self._entered()[1].nodes.values())
        calls = [Call(node.actor, "conditions").answer() for node in nodes]
        return dict(zip((node.url for node in nodes), await asyncio.gather(*calls), strict=True))

    async def profile(self) -> Profile:
        members = self._entered()[1]
        assert members.first is not None, "an engine is entered with a node"
        return merged(members.nodes, members.first)

    async def build(self, recipe: Recipe) -> Built | Rejected:
        bare = msgspec.structs.replace(recipe, proctor=None)  # nodes confine builds themselves
        rest, needed = pack(bare)
        order = NodeCall(rest=rest, needed=tuple(needed))
        call = await self._answered("build", order, needed, (recipe.tool,))
        outcome: Built | Rejected = call.answer
        if isinstance(outcome, Rejected) or outcome.artifact.data is not None:
            return outcome
        made = outcome.artifact
        far = Far(
            sha256=made.sha256,
            size=made.size,
            reference=call.references[1],
            fetch=cluster.fetch,
            made_on=call.node,
            recipe=recipe,
        )
        return msgspec.structs.replace(outcome, artifact=far)

    async def judge(self, batch: Batch) -> Answers:
        problem, _ = pack(batch.problem)
        while True:
            program = msgspec.structs.replace(batch.program, proctor=_NOTHING)  # nodes have their own
            parts = {
                "program": program,
                "tests": batch.tests,
                "options": batch.options,
                "alone": batch.alone,
            }
            rest, needed = pack(parts)
            order = NodeCall(problem=problem, rest=rest, needed=tuple(needed))
            try:
                answers: Answers = (await self._answered("judge", order, needed, _tools(batch))).answer
            except _Lost as lost:
                batch = await self._rebuilt(batch, lost.artifacts)
            else:
                return answers

    async def _rebuilt(self, batch: Batch, lost: Iterable[Far]) -> Batch:
        """The batch with artifacts in the place of those that were lost with the node that had made them."""
        for far in lost:
            built = await self.build(far.recipe)
            if isinstance(built, Rejected):
                raise JudgeFailure("what was built once is refused by another node", phase="compiling")
            files = tuple(
                msgspec.structs.replace(file, content=built.artifact)
                if file.content.sha256 == far.sha256
                else file
                for file in batch.program.files
            )
            batch = msgspec.structs.replace(
                batch, program=msgspec.structs.replace(batch.program, files=files)
            )
        return batch

    # --- one order -----------------------------------------------------------------------------------

    async def _answered(
        self, kind: str, order: NodeCall, needed: Mapping[str, Blob], tools: Iterable[str]
    ) -> _Called:
        pool, members, stored = self._entered()
        avoid, faults, last = list[RayNode](), 0, ""
        for _ in range(_TRIES):
            async with self._slot(pool, avoid, tools, needed) as node:
                _check_makers(node, needed)
                given = await stored.given(node, order, needed)
                try:
                    called = await _called(node, kind, given)
                except NodeLost as error:
                    members.lose(node, error)
                    avoid.append(node)
                    last = f"{node.url}: {error}"
                    continue
            answer = called.answer
            if isinstance(answer, Lacking):
                node.holds.difference_update(answer.names)
                _check_lost(answer.names, given, needed)
                stored.forget(answer.names)
                last = f"{node.url} lacks contents that it was sent"
                continue
            if not isinstance(answer, NodeError):
                if isinstance(answer, Built):
                    node.holds.add(answer.artifact.sha256)
                return called
            faults, last = faults + 1, f"{node.url}: {answer.error}"
            avoid.append(node)
            if faults >= _FAULTS:
                raise _as_failure(answer.error)
        raise JudgeFailure(f"{_TRIES} nodes could not judge it; the last was {last}", phase="on Ray")

    @asynccontextmanager
    async def _slot(
        self, pool: Pool[RayNode], avoid: list[RayNode], tools: Iterable[str], needed: Mapping[str, Blob]
    ) -> AsyncIterator[RayNode]:
        """Take a slot of a node that has the tools, if possible a free one that has the artifacts."""
        unfit = [node for node in pool.usable if not all(tool in node.profile.toolchains for tool in tools)]
        if unfit and len(unfit) == len(pool.usable):
            raise JudgeFailure(f"no node has {' and '.join(tools)} now", phase="on Ray")
        artifacts = {name for name, content in needed.items() if isinstance(content, Far)}
        try:
            node = await pool.take([*avoid, *unfit], lambda node: artifacts <= node.holds)
        except EngineUnavailable as error:
            raise JudgeFailure(str(error), phase="on Ray") from error
        try:
            yield node
        finally:
            pool.give_back(node)

    # --- coming and going ----------------------------------------------------------------------------

    def _entered(self) -> tuple[Pool[RayNode], NodeMembers, _Stored]:
        if self._running is None:
            raise EngineUnavailable("the Ray engine works inside `async with` only")
        return self._running

    async def __aenter__(self) -> Self:
        if self._running is not None:
            raise EngineUnavailable("the Ray engine is in use already")
        await cluster.wait_for_answer(self._address, self._patience.answer)
        async with AsyncExitStack() as opening:
            if cluster.connect(self._address):  # not in a thread: Ray sets handlers of signals
                opening.push_async_callback(asyncio.to_thread, cluster.disconnect)
            pool = Pool[RayNode](
                total=self._wanted.slots,
                patience=self._patience.drought,
                tell=lambda event: self.tell(event),
            )
            members = NodeMembers(pool, self._wanted, self._patience)
            opening.push_async_callback(members.close)
            await members.begin()
            opening.callback(pool.close)
            self._running = pool, members, _Stored()
            self._held = opening.pop_all()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._running = None
        await self._held.aclose()


def _version(node: RayNode, tool: str) -> str:
    found = node.profile.toolchains.get(tool)
    return "none" if found is None else found.version


class _Called(msgspec.Struct, frozen=True):
    node: RayNode
    answer: Any
    references: list[Any]


async def _called(node: RayNode, kind: str, order: NodeCall) -> _Called:
    call = order_call(node.actor, kind, order)
    try:
        answer: Answer = await call.answer()
    except asyncio.CancelledError:
        with contextlib.suppress(EngineError):
            call.cancel()
        raise
    return _Called(node, answer, call.references)


class _Lost(EngineError):
    def __init__(self, artifacts: list[Far]) -> None:
        self.artifacts = artifacts
        super().__init__("artifacts were lost with their node")


def _check_makers(node: RayNode, needed: Mapping[str, Blob]) -> None:
    """Raise _Lost for artifacts of nodes that are gone: Ray itself would look for them for half a minute."""
    artifacts = [content for content in needed.values() if isinstance(content, Far)]
    lost = [far for far in artifacts if not far.made_on.usable and far.sha256 not in node.holds]
    if lost:
        raise _Lost(lost)


def _check_lost(names: Iterable[str], given: NodeCall, needed: Mapping[str, Blob]) -> None:
    """Raise _Lost for artifacts whose references the node had, and could not fetch."""
    contents = [needed[name] for name in names if name in given.large]
    lost = [content for content in contents if isinstance(content, Far)]
    if lost:
        raise _Lost(lost)


def _tools(batch: Batch) -> tuple[str, ...]:
    """The interpreters that a batch's programs are started with."""
    program, files = batch.program, {file.name for file in batch.program.files}
    argvs = [each.argv for each in (program.submission, program.checker, program.manager) if each is not None]
    return tuple(sorted({argv[0] for argv in argvs if argv and argv[0] not in files}))


def _as_failure(error: Exception) -> Exception:
    if isinstance(error, EngineError):
        return JudgeFailure(f"{type(error).__name__}: {error}", phase="on Ray")
    return error


class _Stored:
    """Contents in the object store, each put there once for all nodes. The oldest go first."""

    def __init__(self) -> None:
        self._references = Bounded[Any](_STORED)
        self._putting: Shared[Any] = Shared()

    async def given(self, node: RayNode, order: NodeCall, needed: Mapping[str, Blob]) -> NodeCall:
        """The order for a node, with what it was not given yet."""
        new = {name: content for name, content in needed.items() if name not in node.holds}
        small = {name: content for name, content in new.items() if content.size <= SMALL}
        large = {name: await self._reference(content) for name, content in new.items() if name not in small}
        read = await asyncio.to_thread(lambda: {name: content.read() for name, content in small.items()})
        read = {name: data for name, data in read.items() if name not in node.holds}
        large = {name: reference for name, reference in large.items() if name not in node.holds}
        node.holds.update(read, large)
        return msgspec.structs.replace(order, small=read, large=large)

    def forget(self, names: Iterable[str]) -> None:
        self._references.forget(names)

    async def _reference(self, content: Blob) -> Any:
        if isinstance(content, Far):
            return content.reference
        found = self._references.get(content.sha256)
        if found is not None:
            return found
        return await self._putting.call(content.sha256, lambda: self._put(content))

    async def _put(self, content: Blob) -> Any:
        reference = await asyncio.to_thread(lambda: cluster.put(content.read()))
        self._references.keep(content.sha256, reference, content.size)
        return reference
