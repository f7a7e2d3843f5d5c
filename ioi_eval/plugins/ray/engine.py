"""The engine for Ray: nodes that come and go, an actor on each, and orders that are answered once."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import secrets
from collections.abc import Iterable, Mapping
from contextlib import AsyncExitStack
from typing import Any

import msgspec

from ioi_eval.engines.cluster import (
    ClusterEngine,
    Endpoint,
    MemberLeftOut,
    Members,
    Waits,
    differing,
    offers_of,
)
from ioi_eval.engines.contract import (
    Answers,
    ArtifactsLost,
    Batch,
    Built,
    Change,
    Condition,
    OnServer,
    Profile,
    Recipe,
    Rejected,
    Servers,
)
from ioi_eval.model.errors import EngineError, EngineUnavailable, IoiEvalError, JudgeFailure
from ioi_eval.model.retry import CONTENTS, LOST_PROGRAM, NODE, RAY_ADDRESS, SERVER
from ioi_eval.model.values import Blob, Value
from ioi_eval.plugins.ray import cluster
from ioi_eval.plugins.ray.cluster import Call, NodeLost, Seen, order_call
from ioi_eval.plugins.ray.node import (
    SMALL,
    VERSION,
    About,
    Answer,
    InStore,
    Lacking,
    NodeCall,
    NodeError,
    pack,
)
from ioi_eval.store.memory import Bounded, Shared

# --- the nodes that take part: found, started, joined by an actor each, sent orders, and let go ----------


_log = logging.getLogger(__name__)
_STORED = 2 << 30  # bytes of contents that are kept in the object store


class NodePatience(Waits):
    """Seconds. The defaults are for clusters; tests have less time."""

    answer: float = RAY_ADDRESS.max_seconds  # until something answers at the cluster's address
    look: float = 2.0  # between two looks at the cluster
    opening: float = 300.0  # until the first node is there
    others: float = 30.0  # after that, until those that were seen with it are
    closing: float = 10.0


class Wanted(Value):
    """The use of nodes that the user wants."""

    slots: int | None = None  # on all nodes together
    cpus_per_slot: float = 1.0
    same_compiler: bool = False
    allow_unconfined: bool = False


class RayNode(Endpoint):
    """A node with its actor."""

    def __init__(self, seen: Seen, actor: Any, about: About, own: bool) -> None:
        super().__init__(seen.name, about.slots)
        self.id, self.actor, self.tools, self.own = seen.id, actor, about.profile.toolchains, own


class NodeOrder(Value):
    """A build or a batch for whichever node has its tools."""

    kind: str
    call: NodeCall
    needed: Mapping[str, Blob]
    made_for: tuple[str, ...]
    faults: list[str] = msgspec.field(default_factory=list)  # of nodes that said themselves that they failed


class NodeAnswer(Value):
    """A node's answer, with Ray's references to all that came with it."""

    node: RayNode
    answer: Any
    references: list[Any]


class NodeMembers(Members[RayNode]):
    """The nodes of the cluster, each with an actor. Closing ends the actors that it started."""

    anew = True

    def __init__(self, wanted: Wanted, patience: NodePatience, tell: OnServer) -> None:
        super().__init__(patience, attempts=SERVER.max_attempts, total=wanted.slots, tell=tell)
        self._wanted, self._patience = wanted, patience
        self._token = secrets.token_hex(8)
        self._seen = dict[str, Seen]()  # by name
        self._reserved = dict[str, int]()  # slots of those that are being inspected
        self._stored = ObjectStore()
        self._first: Profile | None = None

    async def begin(self) -> None:
        """Raises EngineUnavailable where no node can be used."""
        waited, since_first = 0.0, 0.0
        watching = self.spawn(self.keep_up(self._patience.look, at_once=True))
        while not (self.endpoints and (not self._joining or since_first > self._patience.others)):
            if watching.done():
                await watching
            if waited > self._patience.opening and not self.endpoints:
                reasons = "; ".join(f"{name}: {why}" for name, why in sorted(self.left_out.items()))
                raise EngineUnavailable(
                    f"no node of the Ray cluster could be used for {self._patience.opening:g} s:"
                    f" {reasons or 'none has a free CPU. Stop what has reserved them, or use fewer'}"
                )
            await asyncio.sleep(0.05)
            waited += 0.05
            since_first += 0.05 if self.endpoints else 0.0
        self.begun = True

    async def close(self) -> None:
        try:
            await super().close()
        finally:
            own = [node for node in self.endpoints.values() if node.own]
            closing = [asyncio.create_task(_closed(node)) for node in own]
            late = (await asyncio.wait(closing, timeout=self._patience.closing))[1] if own else ()
            for each in late:
                each.cancel()
            await asyncio.gather(*late, return_exceptions=True)
            for node in own:
                await asyncio.to_thread(cluster.kill, node.actor)
            self.endpoints.clear()

    # --- found and joined ----------------------------------------------------------------------------

    async def find(self) -> frozenset[str]:
        self._seen = {seen.name: seen for seen in await asyncio.to_thread(cluster.survey)}
        for node in [*self.endpoints.values()]:
            if node.url not in self._seen or self._seen[node.url].id != node.id:
                self.failed(node, NodeLost("it left the cluster"))
        return frozenset(self._seen)

    def let_go(self, endpoint: RayNode, change: Change, reason: str = "") -> None:
        self.left_out[endpoint.url] = reason
        super().let_go(endpoint, change, reason)

    async def inspect(self, name: str) -> RayNode | None:
        seen = self._seen[name]
        slots = seen.slots(self._wanted.cpus_per_slot)
        if self._wanted.slots is not None:
            taken = sum(each.slots for each in self.endpoints.values()) + sum(self._reserved.values())
            slots = max(0, min(slots, self._wanted.slots - taken))
        self._reserved[name] = slots
        try:
            return await self._started(seen, slots)
        except (IoiEvalError, OSError) as error:
            raise MemberLeftOut(str(error)) from error
        finally:
            del self._reserved[name]

    async def _started(self, seen: Seen, slots: int) -> RayNode | None:
        """None where the node has no room for us now."""
        how = self._wanted
        name = f"ioi_eval {VERSION} {seen.id} {how.cpus_per_slot:g} {how.allow_unconfined:d}"
        actor = await asyncio.to_thread(cluster.existing, name)
        if actor is None:
            if not slots:
                return None
            given = (self._token, slots, how.allow_unconfined)
            actor = await asyncio.to_thread(cluster.start, seen, name, slots, how.cpus_per_slot, *given)
        about: About | NodeError = await Call(actor, "about").answer()
        if isinstance(about, NodeError):
            raise about.error
        self._check(about)
        self._first = self._first or about.profile
        return RayNode(seen, actor, about, own=about.made_by == self._token)

    def _check(self, about: About) -> None:
        """Raise EngineUnavailable for a node that may not judge with the others."""
        if about.version != VERSION:
            raise EngineUnavailable(
                f"it has ioi_eval {about.version}, this is {VERSION}: install the same version"
            )
        if self._first is None:
            return
        if about.profile.architecture != self._first.architecture:
            raise EngineUnavailable(
                f"its architecture is {about.profile.architecture}, not {self._first.architecture}"
            )
        others = differing([self._first.toolchains, about.profile.toolchains])
        if self._wanted.same_compiler and others:
            raise EngineUnavailable(f"it has another {', '.join(others)}")

    def offer(self) -> None:
        """The first node's profile with the tools of all nodes: a job goes to a node that has them."""
        assert self._first is not None, "a node was inspected"
        offers = offers_of([self._first.toolchains, *(node.tools for node in self.endpoints.values())])
        tools = {command: found[0] for command, found in offers.items()}
        self.profile = msgspec.structs.replace(self._first, name="ray", toolchains=tools, offers=offers)

    # --- orders --------------------------------------------------------------------------------------

    def fits(self, endpoint: RayNode, job: NodeOrder) -> bool:
        return all(tool in endpoint.tools for tool in job.made_for)

    def could_replace(self, endpoint: RayNode, job: NodeOrder) -> bool:
        return False  # an order names no builds of its tools

    async def send(self, endpoint: RayNode, job: NodeOrder) -> NodeAnswer:
        """Raises ArtifactsLost, and JudgeFailure where nodes fail one after the other."""
        for _ in range(CONTENTS.max_attempts):
            _check_makers(endpoint, job.needed)
            given = await self._stored.given(endpoint, job.call, job.needed)
            called = await _called(endpoint, job.kind, given)
            answer = called.answer
            if isinstance(answer, Lacking):
                endpoint.holds.difference_update(answer.names)
                _check_lost(answer.names, given, job.needed)
                self._stored.forget(answer.names)
                CONTENTS.log(_log, f"{endpoint.url} lacks {len(answer.names)} files")
                continue
            if isinstance(answer, NodeError):
                job.faults.append(str(answer.error))
                if NODE.is_last(len(job.faults)):
                    raise _as_failure(answer.error)
                NODE.log(_log, answer.error)
                raise EngineUnavailable(f"{endpoint.url}: {answer.error}")
            if isinstance(answer, Built):
                endpoint.holds.add(answer.artifact.sha256)
            return called
        used_up = CONTENTS.used_up(CONTENTS.max_attempts)
        raise EngineUnavailable(f"{endpoint.url} lacks contents that it was sent {used_up}")


async def _closed(node: RayNode) -> None:
    with contextlib.suppress(EngineError):
        await Call(node.actor, "close").answer()


async def _called(node: RayNode, kind: str, order: NodeCall) -> NodeAnswer:
    call = order_call(node.actor, kind, order)
    try:
        answer: Answer = await call.answer()
    except asyncio.CancelledError:
        with contextlib.suppress(EngineError):
            call.cancel()
        raise
    return NodeAnswer(node=node, answer=answer, references=call.references)


def _as_failure(error: Exception) -> Exception:
    if isinstance(error, EngineError):
        used_up = NODE.used_up(NODE.max_attempts)
        return JudgeFailure(f"{type(error).__name__}: {error}, {used_up}", phase="on Ray")
    return error


def _check_makers(node: RayNode, needed: Mapping[str, Blob]) -> None:
    """Raise ArtifactsLost where nodes are gone: Ray itself would look for them for half a minute."""
    artifacts = [content for content in needed.values() if isinstance(content, InStore)]
    lost = [far for far in artifacts if not far.made_on.usable and far.sha256 not in node.holds]
    if lost:
        raise ArtifactsLost(lost)


def _check_lost(names: Iterable[str], given: NodeCall, needed: Mapping[str, Blob]) -> None:
    """Raise ArtifactsLost for artifacts whose references the node had, and could not fetch."""
    contents = [needed[name] for name in names if name in given.large]
    lost = [content for content in contents if isinstance(content, InStore)]
    if lost:
        raise ArtifactsLost(lost)


class ObjectStore:
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
        if isinstance(content, InStore):
            return content.reference
        found = self._references.get(content.sha256)
        if found is not None:
            return found
        return await self._putting.call(content.sha256, lambda: self._put(content))

    async def _put(self, content: Blob) -> Any:
        reference = await asyncio.to_thread(lambda: cluster.put(content.read()))
        self._references.keep(content.sha256, reference, content.size)
        return reference


# --- the engine on them ------------------------------------------------------------------------------


_NOTHING = Blob.of(b"")


class RayEngine(ClusterEngine[NodeMembers]):
    """Builds and judges on the nodes of a Ray cluster, with the embedded engine on each.

        async with RayEngine("ray://head:10001") as engine:
            ...

    An order whose node is lost goes to another one; whatever the lost one had found out counts no more.
    Processes of one Ray job share a node's actor, which lives as long as the process that started it.
    """

    _kind = "Ray"

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
        super().__init__()
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

    @property
    def nodes(self) -> Mapping[str, int]:
        """The nodes in use by name, and the slots of each."""
        return {node.url: node.slots for node in self._entered().endpoints.values()}

    @property
    def differences(self) -> tuple[Condition, ...]:
        """Tools that are not the same on all nodes, for the doctor."""
        nodes = sorted(self._entered().endpoints.values(), key=lambda node: node.url)
        tools = differing([node.tools for node in nodes])
        return tuple(
            Condition(
                name=tool,
                ok=None,
                detail="; ".join(
                    f"{node.url} {node.tools[tool].version if tool in node.tools else 'none'}"
                    for node in nodes
                ),
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
        nodes = list(self._entered().endpoints.values())
        calls = [Call(node.actor, "conditions").answer() for node in nodes]
        return dict(zip((node.url for node in nodes), await asyncio.gather(*calls), strict=True))

    async def build(self, recipe: Recipe) -> Built | Rejected:
        bare = msgspec.structs.replace(recipe, proctor=None)  # nodes confine builds themselves
        rest, needed = pack(bare)
        order = NodeCall(rest=rest, needed=tuple(needed))
        call = await self._answered("build", order, needed, (recipe.tool,))
        outcome: Built | Rejected = call.answer
        if isinstance(outcome, Rejected) or outcome.artifact.data is not None:
            return outcome
        artifact = outcome.artifact
        far = InStore(
            sha256=artifact.sha256,
            size=artifact.size,
            reference=call.references[1],
            fetch=cluster.fetch,
            made_on=call.node,
            recipe=recipe,
            toolchain=outcome.toolchain,
        )
        return msgspec.structs.replace(outcome, artifact=far)

    async def judge(self, batch: Batch) -> Answers:
        problem, _ = pack(batch.problem)
        for attempt in range(1, LOST_PROGRAM.max_attempts + 1):
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
            except ArtifactsLost as lost:
                if LOST_PROGRAM.is_last(attempt):
                    used_up = LOST_PROGRAM.used_up(attempt)
                    raise JudgeFailure(
                        f"a program was lost with its node {used_up}", phase="on Ray"
                    ) from lost
                LOST_PROGRAM.log(_log, lost)
                batch = await batch.rebuilt(lost.artifacts, self.build)
            else:
                return answers
        raise AssertionError("the last attempt returns or raises")

    async def _answered(
        self, kind: str, order: NodeCall, needed: Mapping[str, Blob], tools: tuple[str, ...]
    ) -> NodeAnswer:
        """Return the answer of a node that has the tools, if possible of the one that made the artifact."""
        makers = (content.made_on.url for content in needed.values() if isinstance(content, InStore))
        job = NodeOrder(kind=kind, call=order, needed=needed, made_for=tools)
        try:
            running = self._entered()
            maker = running.endpoints.get(next(makers, ""))
            called: NodeAnswer = await running.execute(job, maker)
        except ArtifactsLost:
            raise
        except EngineError as error:
            raise JudgeFailure(str(error), phase="on Ray") from error
        return called

    async def _open(self, opening: AsyncExitStack) -> NodeMembers:
        await cluster.wait_for_answer(self._address, self._patience.answer)
        if cluster.connect(self._address):  # not in a thread: Ray sets handlers of signals
            opening.push_async_callback(asyncio.to_thread, cluster.disconnect)
        return NodeMembers(self._wanted, self._patience, lambda event: self.tell(event))


def _tools(batch: Batch) -> tuple[str, ...]:
    """The interpreters that a batch's programs are started with."""
    program, files = batch.program, {file.name for file in batch.program.files}
    argvs = [each.argv for each in (program.submission, program.checker, program.manager) if each is not None]
    return tuple(sorted({argv[0] for argv in argvs if argv and argv[0] not in files}))
