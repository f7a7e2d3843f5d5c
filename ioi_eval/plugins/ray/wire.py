"""Calls to the nodes of a Ray cluster. Each node has an actor, which executes jobs."""

from __future__ import annotations

import asyncio
import contextlib
import secrets
from collections.abc import Collection, Mapping
from types import TracebackType
from typing import Any, Self

import msgspec

from ioi_eval.engines.contract import CLASSIC, OWN, Capabilities, Change, HealthCheck
from ioi_eval.engines.jobs.piston_api import MissingContentsError
from ioi_eval.engines.piston.engine import Patience
from ioi_eval.engines.piston.reports import EndpointReport
from ioi_eval.engines.piston.sending import LATE, WORKER, ServerIdentity
from ioi_eval.engines.piston.wire import GetMaxSeconds
from ioi_eval.model.errors import EngineError, EngineUnavailable, InputError
from ioi_eval.model.job import Job, JobFile, JobResult
from ioi_eval.model.retry import RAY_ADDRESS
from ioi_eval.model.values import Blob, Value
from ioi_eval.plugins.ray import cluster
from ioi_eval.plugins.ray.cluster import NodeLost, RayCall, RunningNode
from ioi_eval.plugins.ray.node import LIBRARY, PROCTOR, VERSION, MissingContents, NodeCapabilities, NodeError
from ioi_eval.store.memory import LruCache, SharedCalls

# Maximum bytes of a content in a call; larger contents are sent through Ray's object store.
_MAX_CALL_BYTES = 1 << 16
_MAX_STORED_BYTES = 2 << 30  # maximum total bytes of contents in Ray's object store


class NodePatience(Patience):
    """Times in seconds. The defaults are for clusters; tests use shorter times."""

    health: float = 60.0
    first_look: float = 300.0
    answer: float = (
        RAY_ADDRESS.max_total_seconds
    )  # maximum wait for the first answer from the cluster's address
    look: float = 2.0  # time between two searches for nodes
    start: float = 30.0  # maximum wait for a node's engine to open; then jobs start on other nodes
    closing: float = 10.0


class NodeUsage(Value):
    """The user's settings for the use of nodes."""

    slots: int | None = None  # number of slots on all nodes together; None means no limit
    cpus_per_slot: float = 1.0
    allow_unconfined: bool = False


class RayNode:
    """A node of the cluster with the Ray actor that executes its jobs."""

    def __init__(self, seen_node: RunningNode, slots: int, actor: Any) -> None:
        self.id, self.slots, self.actor = seen_node.id, slots, actor
        self.description: NodeCapabilities | None = None


class RayServerClient:
    """Calls to the actors of the nodes. Closing stops the actors that this object started."""

    is_elastic = True

    def __init__(self, address: str, usage: NodeUsage, patience: NodePatience) -> None:
        self._address, self._usage, self._patience = address, usage, patience
        self.search_interval_s: float | None = patience.look
        self._owner_token = secrets.token_hex(8)
        self._seen_nodes = dict[str, RunningNode]()  # running nodes, by name
        self._nodes = dict[str, RayNode]()  # nodes with an actor, by name of the node
        self._references = LruCache[Any](_MAX_STORED_BYTES)  # references to contents in Ray's object store
        self._running_puts: SharedCalls[Any] = SharedCalls()
        self._exit_stack = contextlib.AsyncExitStack()

    def __str__(self) -> str:
        return f"the Ray cluster {self._address}".strip()

    async def __aenter__(self) -> Self:
        await cluster.wait_for_answer(self._address, self._patience.answer)
        if cluster.connect(self._address):  # not called in a thread, because Ray sets handlers of signals
            self._exit_stack.push_async_callback(asyncio.to_thread, cluster.disconnect)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        async with self._exit_stack:
            nodes = self._nodes.values()
            own_nodes = [
                node
                for node in nodes
                if node.description is not None and node.description.made_by == self._owner_token
            ]
            closing_tasks = [asyncio.create_task(_close_node(node)) for node in own_nodes]
            late_tasks = (
                (await asyncio.wait(closing_tasks, timeout=self._patience.closing))[1] if own_nodes else ()
            )
            for task in late_tasks:
                task.cancel()
            await asyncio.gather(*late_tasks, return_exceptions=True)
            for node in own_nodes:
                await asyncio.to_thread(cluster.kill_actor, node.actor)
            self._nodes.clear()

    # --- nodes -------------------------------------------------------------------------------------------

    @property
    def no_servers_error_message(self) -> str:
        return (
            f"no node of the Ray cluster had a free CPU for {self._patience.first_look:g} s."
            " Stop programs that reserve CPUs, or use fewer slots"
        )

    async def find_server_addresses(self) -> frozenset[str]:
        """Return the names of the nodes that have an actor, or a CPU for an actor."""
        self._seen_nodes = {
            seen_node.name: seen_node for seen_node in await asyncio.to_thread(cluster.list_nodes)
        }
        for name, node in [*self._nodes.items()]:
            if name not in self._seen_nodes or self._seen_nodes[name].id != node.id:
                del self._nodes[name]
        new_nodes = [seen_node for name, seen_node in self._seen_nodes.items() if name not in self._nodes]
        free_names = {seen_node.name for seen_node in new_nodes if self._count_slots(seen_node)}
        full_nodes = [seen_node for seen_node in new_nodes if seen_node.name not in free_names]
        shared_names = await asyncio.to_thread(
            lambda: {seen_node.name for seen_node in full_nodes if self._find_actor(seen_node)}
        )
        return frozenset({*self._nodes, *free_names, *shared_names})

    def _count_slots(self, seen_node: RunningNode) -> int:
        slots = seen_node.count_slots(self._usage.cpus_per_slot)
        if self._usage.slots is None:
            return slots
        return max(0, min(slots, self._usage.slots - sum(node.slots for node in self._nodes.values())))

    def _find_actor(self, seen_node: RunningNode) -> Any | None:
        return cluster.find_actor(self._make_actor_name(seen_node))

    def _make_actor_name(self, seen_node: RunningNode) -> str:
        usage = self._usage
        return f"ioi_eval {VERSION} {seen_node.id} {usage.cpus_per_slot:g} {usage.allow_unconfined:d}"

    async def inspect(self, address: str, runtimes: Collection[str] = ()) -> EndpointReport:
        try:
            async with asyncio.timeout(self._patience.start):
                return _make_node_report(address, await self._describe_node(address))
        except TimeoutError:
            reason = f"{address} has not started in {self._patience.start:g} s"
            return EndpointReport(url=address, reachable=False, reason=reason, temporary_state=Change.SLOW)
        except (EngineError, OSError) as error:
            reason = f"{address}: {error}"
            return EndpointReport(url=address, reachable=False, reason=reason, temporary_state=Change.LOST)

    async def identify_server(self, address: str) -> EndpointReport:
        try:
            async with asyncio.timeout(self._patience.health):
                return _make_node_report(address, await _describe_node(self._find_node(address)))
        except TimeoutError:
            reason = f"{address} {LATE} in {self._patience.health:g} s"
        except (EngineError, OSError) as error:
            reason = f"{address}: {error}"
        return EndpointReport(url=address, reachable=False, reason=reason)

    async def _describe_node(self, address: str) -> NodeCapabilities:
        """Return the description of a node. Starts the node's actor if there is none."""
        if address not in self._seen_nodes:
            raise NodeLost("the node left the Ray cluster")
        if address not in self._nodes:
            seen_node, usage = self._seen_nodes[address], self._usage
            slots = self._count_slots(seen_node)
            # Reserve the node's slots before its actor starts.
            node = self._nodes[address] = RayNode(seen_node, slots, None)
            try:
                node.actor = await asyncio.to_thread(self._find_actor, seen_node)
                if node.actor is None:
                    if not slots:
                        raise EngineUnavailable("the node has no free CPU")
                    arguments = (self._owner_token, slots, usage.allow_unconfined)
                    actor_name = self._make_actor_name(seen_node)
                    node.actor = await asyncio.to_thread(
                        cluster.start_actor, seen_node, actor_name, slots, usage.cpus_per_slot, *arguments
                    )
            finally:
                if node.actor is None:
                    self._nodes.pop(address, None)
        if address not in self._nodes:
            raise NodeLost("the node left the Ray cluster while its actor was started")
        node = self._nodes[address]
        try:
            node.description = await _describe_node(node)
        except NodeLost:
            self._forget_actor(address, node)
            raise
        if node.description.version == VERSION:
            node.slots = node.description.slots
        return node.description

    def _find_node(self, address: str) -> RayNode:
        node = self._nodes.get(address)
        if node is None or node.actor is None:
            raise NodeLost("the node left the Ray cluster")
        return node

    def _forget_actor(self, address: str, node: RayNode) -> None:
        """Forget an actor that has died. The next inspection starts a new actor."""
        if self._nodes.get(address) is node:
            del self._nodes[address]

    async def check_health(self) -> Mapping[str, list[HealthCheck]]:
        """Return the health checks of each node."""
        nodes = {name: node for name, node in self._nodes.items() if node.description is not None}
        calls = [RayCall(node.actor, "check_health").answer() for node in nodes.values()]
        return dict(zip(nodes, await asyncio.gather(*calls), strict=True))

    # --- capabilities of all nodes -----------------------------------------------------------------------

    def check_connection_capacity(self, job_count: int, server_count: int) -> InputError | None:
        return None  # Ray itself manages the connections

    def complete_capabilities(self, capabilities: Capabilities) -> Capabilities:
        """Return the cluster's capabilities, with placeholders for files that each node has."""
        descriptions = [node.description for node in self._nodes.values() if node.description is not None]
        python_toolchain = capabilities.toolchains.get("python3")
        has_fork_server = (
            python_toolchain is not None
            and "/" in python_toolchain.path
            and all(description.has_library for description in descriptions)
        )
        return msgspec.structs.replace(
            capabilities,
            name="ray",
            bare=CLASSIC,
            executes_plans=True,
            proctor=PROCTOR,
            waiting=LIBRARY if has_fork_server else None,
        )

    # --- jobs --------------------------------------------------------------------------------------------

    async def execute(
        self,
        report: EndpointReport,
        job: Job,
        stored_hashes: Collection[str],
        files_to_keep: tuple[str, ...],
        get_max_seconds: GetMaxSeconds,
    ) -> JobResult:
        node_files = await asyncio.to_thread(
            lambda: [_make_node_file(file, stored_hashes) for file in job.files]
        )
        node_job = msgspec.structs.replace(job, files=tuple(node_files), keep=files_to_keep)
        result: JobResult = await self._call_node(report.url, "execute", node_job)
        return msgspec.structs.replace(result, endpoint=report.url)

    async def has_content(self, address: str, content_hash: str) -> bool:
        has_content: bool = await self._call_node(address, "has_content", content_hash)
        return has_content

    async def put_content(self, address: str, content: Blob) -> bool:
        await self._call_node(address, "store_content", content.sha256, await self._store_content(content))
        return True

    async def get_content(self, address: str, content_hash: str) -> bytes | None:
        with contextlib.suppress(EngineError):
            data: bytes | None = await self._call_node(address, "read_program", content_hash)
            return data
        return None

    async def _store_content(self, content: Blob) -> Any:
        """Return a small content, or the reference of a content that is stored once for all nodes."""
        if content.size <= _MAX_CALL_BYTES:
            return await asyncio.to_thread(content.read)
        reference = self._references.get(content.sha256)
        return (
            reference
            if reference is not None
            else await self._running_puts.call(content.sha256, lambda: self._put_object(content))
        )

    async def _put_object(self, content: Blob) -> Any:
        reference = await asyncio.to_thread(lambda: cluster.store_object(content.read()))
        self._references.put(content.sha256, reference, content.size)
        return reference

    async def _call_node(self, address: str, method: str, *arguments: Any) -> Any:
        node = self._find_node(address)
        call = RayCall(node.actor, method, *arguments)
        try:
            answer = await call.answer()
        except asyncio.CancelledError:
            with contextlib.suppress(EngineError):
                call.cancel()
            raise
        except NodeLost as error:
            self._forget_actor(address, node)
            raise NodeLost(f"{address}: {error}") from error
        if isinstance(answer, NodeError):
            raise answer.error
        if isinstance(answer, MissingContents):
            raise MissingContentsError(frozenset(answer.names))
        return answer


def _make_node_file(file: JobFile, stored_hashes: Collection[str]) -> JobFile:
    """Return a file with its data, or without data if the content is stored on the node."""
    content = file.content
    data = None if content.sha256 in stored_hashes else content.read()
    node_content = Blob(sha256=content.sha256, size=content.size, data=data)
    return msgspec.structs.replace(file, content=node_content)


async def _describe_node(node: RayNode) -> NodeCapabilities:
    description: NodeCapabilities | NodeError = await RayCall(node.actor, "describe").answer()
    if isinstance(description, NodeError):
        raise description.error
    return description


def _make_node_report(address: str, node_capabilities: NodeCapabilities) -> EndpointReport:
    is_other_version = node_capabilities.version != VERSION
    return EndpointReport(
        url=address,
        server=f"Ray ({WORKER})",
        runtimes=node_capabilities.capabilities.runtimes,
        runtime=OWN,
        slots=node_capabilities.slots,
        contents=node_capabilities.space,
        keeps_programs=True,
        exclusive=node_capabilities.capabilities.exclusive,
        identity=ServerIdentity(worker=node_capabilities.actor),
        architecture=node_capabilities.capabilities.architecture,
        toolchains=node_capabilities.capabilities.toolchains,
        max_output=node_capabilities.capabilities.max_output,
        unfit=f"it has ioi_eval {node_capabilities.version}, this is {VERSION}: install the same version"
        * is_other_version,
    )


async def _close_node(node: RayNode) -> None:
    with contextlib.suppress(EngineError):
        await RayCall(node.actor, "close").answer()
