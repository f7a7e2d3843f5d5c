"""Events and errors of the Ray engine when nodes come and go, with a fake cluster."""

from __future__ import annotations

import asyncio
import contextlib
import sys
from collections.abc import AsyncIterator
from types import SimpleNamespace
from typing import Any

import pytest
from support.clocks import FastForwardClock
from support.waiting import until

from ioi_eval.engines.contract import Capabilities, Change, JobsWait, ServerChanged, ServerEvent
from ioi_eval.errors import EngineUnavailable
from ioi_eval.models import Blob, Ending, Job, JobFile, JobResult
from ioi_eval.plugins.ray import RayEngine, cluster
from ioi_eval.plugins.ray.cluster import NodeLost, RunningNode
from ioi_eval.plugins.ray.node import VERSION, MissingContents, NodeCapabilities
from ioi_eval.plugins.ray.wire import NodePatience

PROFILE = Capabilities(name="embedded", architecture="x86_64", runtimes=("ioi_eval",), exclusive=True)


class FakeCluster:
    """Nodes by name, which a test adds and removes. Each actor is named like its node."""

    def __init__(self) -> None:
        self.nodes = list[str]()
        self.versions = dict[str, str]()
        self.started, self.dead = list[str](), set[str]()
        self.kept, self.sent = set[str](), list[str]()  # hashes of contents
        self.tls = False
        self.found: str | None = None  # the address that Ray finds in variables and files

    def list_nodes(self) -> list[RunningNode]:
        return [
            RunningNode(id=name, name=name, free_resources={"CPU": 2.0}, has_slot_resource=False)
            for name in self.nodes
        ]

    def start(self, seen: RunningNode, *given: Any) -> str:
        self.started.append(seen.name)
        return seen.name

    def call(self, actor: str, method: str, *given: Any) -> Any:
        async def answer() -> Any:
            if actor in self.dead:
                raise NodeLost("the actor died")
            return await getattr(self, method)(actor, *given)

        return SimpleNamespace(answer=answer, cancel=lambda: None)

    async def describe(self, actor: str) -> NodeCapabilities:
        return NodeCapabilities(
            version=self.versions.get(actor, VERSION), capabilities=PROFILE, slots=2, made_by="nobody",
            actor=actor, space=1 << 30, has_library=False,
        )  # fmt: skip

    async def execute(self, actor: str, job: Job) -> Any:
        names = {file.content.sha256 for file in job.files if file.content.data is None}
        if lacking := names - self.kept:
            return MissingContents(names=tuple(lacking))
        return JobResult(run=Ending(code=0))

    async def has_content(self, actor: str, name: str) -> bool:
        return name in self.kept

    async def store_content(self, actor: str, name: str, data: Any) -> None:
        self.kept.add(name)
        self.sent.append(name)


@pytest.fixture
def ray(monkeypatch: pytest.MonkeyPatch) -> FakeCluster:
    fake = FakeCluster()
    monkeypatch.setitem(sys.modules, "ray", SimpleNamespace(is_initialized=lambda: False))
    services_module = SimpleNamespace(get_ray_address_from_environment=lambda address, folder: fake.found)
    monkeypatch.setitem(sys.modules, "ray._private", SimpleNamespace())
    monkeypatch.setitem(sys.modules, "ray._private.services", services_module)
    constants_module = SimpleNamespace(
        env_bool=lambda name, default: fake.tls if name == "RAY_USE_TLS" else default
    )
    monkeypatch.setitem(sys.modules, "ray._private.ray_constants", constants_module)
    for name, does in (
        ("list_nodes", fake.list_nodes),
        ("start_actor", fake.start),
        ("find_actor", lambda name: None),
    ):
        monkeypatch.setattr(cluster, name, does)
    monkeypatch.setattr(cluster, "connect", lambda address: False)
    monkeypatch.setattr(cluster, "kill_actor", lambda actor: None)
    monkeypatch.setattr(cluster, "store_object", lambda data: data)
    monkeypatch.setattr("ioi_eval.plugins.ray.wire.RayCall", fake.call)
    return fake


@pytest.fixture
async def told(ray: FakeCluster) -> AsyncIterator[list[ServerEvent]]:
    """Return the events of an engine with a single node."""
    ray.nodes, server_events = ["a:1"], list[ServerEvent]()
    async with RayEngine(patience=NodePatience(look=0.05, max_outage=300.0)) as engine:
        engine.on_event = server_events.append
        ray.engine = engine  # type: ignore[attr-defined]
        yield server_events


async def until_told(events: list[ServerEvent], *changes: tuple[str, Change]) -> None:
    def heard() -> list[tuple[str, Change]]:
        return [(event.url, event.change) for event in events if isinstance(event, ServerChanged)]

    await until(lambda: heard() == list(changes), every=0.001)


async def test_joining_and_leaving_ray_nodes_emit_events(ray: FakeCluster, told: list[ServerEvent]) -> None:
    ray.versions["c:1"] = "0.0.1"
    ray.nodes = ["a:1", "b:1"]
    await until_told(told, ("b:1", Change.JOINED))
    ray.nodes = ["b:1"]
    await until_told(told, ("b:1", Change.JOINED), ("a:1", Change.GONE))
    assert told[-1] == ServerChanged(url="a:1", change=Change.GONE, usable=1, slots=2)
    ray.nodes = ["a:1", "b:1", "c:1"]
    await until(lambda: len(told) >= 4, every=0.001)
    changes = {(event.url, event.change) for event in told[2:] if isinstance(event, ServerChanged)}
    assert changes == {("a:1", Change.JOINED), ("c:1", Change.LEFT_OUT)}


async def test_loss_of_all_ray_nodes_is_reported_before_jobs_fail(
    ray: FakeCluster, told: list[ServerEvent]
) -> None:
    ray.nodes = []
    await until_told(told, ("a:1", Change.GONE))
    fleet = ray.engine.fleet  # type: ignore[attr-defined]
    clock, job = FastForwardClock(), asyncio.create_task(fleet.take_slot())
    await clock.advance(290.0)
    assert told[-1] == JobsWait(seconds=300.0) and not job.done()
    await clock.advance(11.0)
    with pytest.raises(EngineUnavailable, match="300 s; gone: a:1"):
        await job


def job_with(content: str) -> Job:
    big = JobFile(name="t/0.in", content=Blob.of(content))
    return Job(files=(JobFile(name="run", content=Blob.of("true")), big))


async def test_cached_content_is_sent_again_only_after_the_ray_node_lost_it(
    ray: FakeCluster, told: list[ServerEvent]
) -> None:
    engine: RayEngine = ray.engine  # type: ignore[attr-defined]
    job = job_with("1 2\n" * 50_000)
    for _ in range(2):
        await engine.execute(job)
    assert ray.sent == [job.files[1].content.sha256]
    ray.kept.clear()
    await engine.execute(job)
    assert ray.sent == [job.files[1].content.sha256] * 2


async def test_dead_ray_actor_is_replaced_and_its_job_is_retried(
    ray: FakeCluster, told: list[ServerEvent]
) -> None:
    engine: RayEngine = ray.engine  # type: ignore[attr-defined]
    ray.dead.add("a:1")
    job = asyncio.create_task(engine.execute(job_with("1")))
    await until_told(told, ("a:1", Change.LOST))
    ray.dead.clear()
    assert (await job).run.code == 0
    assert ray.started == ["a:1"] * 2
    await until_told(told, ("a:1", Change.LOST), ("a:1", Change.TRIAL), ("a:1", Change.BACK))


@pytest.mark.parametrize("is_given", [True, False])
async def test_unreachable_ray_address_is_reported_with_remedy(
    ray: FakeCluster, unused_tcp_port: int, is_given: bool
) -> None:
    """After 15 s, although Ray would wait for minutes. Often a file names a cluster that no longer exists."""
    address = f"127.0.0.1:{unused_tcp_port}"
    ray.found = address
    clock = FastForwardClock()
    entering = asyncio.create_task(RayEngine(f"ray://{address}" if is_given else "").__aenter__())
    await clock.advance(10.0)
    await asyncio.sleep(0.05)
    assert not entering.done()
    await clock.advance(6.0)
    with pytest.raises(EngineUnavailable, match=rf"{address}.* for 15 s.*RAY_ADDRESS.*ray_current_cluster"):
        await entering


def server(answer: bytes | None) -> Any:
    """Start a server that replies to a greeting with these bytes, or never if they are None."""

    async def meet(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(EOFError):
            await reader.readexactly(24)
        if answer is None:
            await reader.read()  # until the client is gone
        else:
            writer.write(answer)
        writer.close()

    return asyncio.start_server(meet, "127.0.0.1", 0)


@pytest.mark.parametrize(
    ("answer", "fault"),
    [
        (None, "no answer"),
        (b"", "0 bytes read"),
        (b"HTTP/1.1 400 Bad Request", "the server at this address is not a Ray server"),
    ],
)
async def test_port_of_another_server_is_not_accepted_as_ray_cluster(
    ray: FakeCluster, answer: bytes | None, fault: str
) -> None:
    """A hanging cluster is refused too, although the kernel accepts connections for it."""
    async with await server(answer) as listener:
        ray.found = f"127.0.0.1:{listener.sockets[0].getsockname()[1]}"
        clock = FastForwardClock()
        entering = asyncio.create_task(RayEngine().__aenter__())
        while not entering.done():
            await clock.advance(4.0)
            await asyncio.sleep(0.05)
        with pytest.raises(
            EngineUnavailable, match=f"no Ray server answered at {ray.found}.* for 15 s.*{fault}"
        ):
            await entering


@pytest.mark.parametrize("tls", [False, True])
async def test_answering_ray_address_is_accepted(ray: FakeCluster, tls: bool) -> None:
    settings = bytes((0, 0, 6, 4, 0, 0, 0, 0, 0)) + bytes(6)
    ray.tls = tls
    async with await server(None if tls else settings) as listener:
        port = listener.sockets[0].getsockname()[1]
        await cluster.wait_for_answer(f"ray://127.0.0.1:{port}", 15.0)


@pytest.mark.parametrize(("failures", "starts"), [(2, True), (3, False)])
def test_start_of_local_ray_cluster_is_retried(
    monkeypatch: pytest.MonkeyPatch, failures: int, starts: bool
) -> None:
    calls = list[str]()

    def init(**options: Any) -> None:
        calls.append("init")
        if calls.count("init") <= failures:
            raise Exception("The current node timed out during startup")

    ray = SimpleNamespace(init=init, shutdown=lambda: calls.append("shutdown"), is_initialized=lambda: False)
    monkeypatch.setitem(sys.modules, "ray", ray)
    if starts:
        assert cluster.connect("") and calls == ["init", "shutdown"] * failures + ["init"]
    else:
        with pytest.raises(EngineUnavailable, match="timed out during startup"):
            cluster.connect("")
