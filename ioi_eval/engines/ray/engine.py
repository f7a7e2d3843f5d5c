"""The engine for Ray: orders for nodes that come and go, each answered once."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import AsyncExitStack

import msgspec

from ioi_eval.engines.cluster import ClusterEngine, differing
from ioi_eval.engines.contract import (
    Answers,
    ArtifactsLost,
    Batch,
    Built,
    Condition,
    Recipe,
    Rejected,
    Servers,
)
from ioi_eval.engines.ray import cluster
from ioi_eval.engines.ray.cluster import Call
from ioi_eval.engines.ray.members import (
    NodeAnswer,
    NodeMembers,
    NodeOrder,
    NodePatience,
    RayNode,
    Wanted,
)
from ioi_eval.engines.ray.parcels import InStore, NodeCall, pack
from ioi_eval.model.errors import EngineError, JudgeFailure
from ioi_eval.model.values import Blob

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
            except ArtifactsLost as lost:
                batch = await batch.rebuilt(lost.artifacts, self.build)
            else:
                return answers

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


def _version(node: RayNode, tool: str) -> str:
    found = node.tools.get(tool)
    return "none" if found is None else found.version


def _tools(batch: Batch) -> tuple[str, ...]:
    """The interpreters that a batch's programs are started with."""
    program, files = batch.program, {file.name for file in batch.program.files}
    argvs = [each.argv for each in (program.submission, program.checker, program.manager) if each is not None]
    return tuple(sorted({argv[0] for argv in argvs if argv and argv[0] not in files}))
