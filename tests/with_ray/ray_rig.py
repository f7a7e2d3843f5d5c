"""A Ray cluster on this machine, and the submissions that are judged on it."""

from __future__ import annotations

import asyncio
import json
import os
import random
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest

ray = pytest.importorskip("ray", reason="Ray is not installed")

from ray._private.services import wait_for_node  # noqa: E402
from ray.cluster_utils import Cluster  # noqa: E402
from slow_ray_start import SlowClock  # noqa: E402

from ioi_eval import EmbeddedEngine, Scorer, Store, load_problems  # noqa: E402
from ioi_eval.models import Problem, Submission, SubmissionResult  # noqa: E402
from ioi_eval.plugins.ray.wire import NodePatience  # noqa: E402

EXAMPLES = Path(__file__).parents[2] / "examples"
PATIENT = NodePatience(look=0.3, first_look=240.0, start=120.0, health=240.0, max_outage=240.0)
_LONGEST = 900.0  # maximum seconds of an operation on a busy machine
ROOM = 100 << 20  # bytes of each node's object store
# Ray's settings. A killed node refuses connections, so it is dead after five health checks, here after 2 s
# instead of 15 s. A busy node has 10 s for each answer, as usual.
_RAY_SETTINGS = {
    "RAY_health_check_initial_delay_ms": "500",
    "RAY_health_check_period_ms": "400",
    "RAY_agent_register_timeout_ms": "600000",
    "RAY_raylet_start_wait_time_s": "600",
    "RAY_worker_register_timeout_seconds": "600",
    "RAY_CLIENT_INITIAL_CONNECTION_TIMEOUT_S": "600",
    "RAY_CLIENT_MAX_CONNECTION_TIMEOUT_S": "600",
    "RAY_CLIENT_SERVER_CHECK_CHANNEL_TIMEOUT_S": "300",
}
PATIENTLY = (sys.executable, str(Path(__file__).with_name("slow_ray_start.py")))
# A grader that is compiled in, a checker that is compiled, files instead of streams, and scores in parts.
NAMES = ("lanterns", "pumpkins", "tide", "relay")


class Rig(NamedTuple):
    cluster: Cluster
    port: int  # of clients

    def node(self, cpus: int = 2, **resources: float) -> Any:
        resources_of_node = {"num_cpus": cpus, "object_store_memory": ROOM, "resources": resources}
        for attempt in range(3):
            try:
                node = self.cluster.add_node(
                    wait=False, **resources_of_node
                )  # which would wait for half a minute at most
                break
            except Exception as error:  # Ray's error if a process of it died at its start
                if type(error) is not Exception or attempt == 2:
                    raise
        wait_for_node(node.gcs_address, node.plasma_store_socket_name, _LONGEST)
        return node

    def kill(self, node: Any) -> None:
        self.cluster.remove_node(node, allow_graceful=False)

    def clear(self) -> None:
        """Remove all nodes except the head."""
        for node in list(self.cluster.worker_nodes):
            self.cluster.remove_node(node)  # a node that ends by itself leaves the cluster at once
        ends = time.monotonic() + _LONGEST
        while sum(ray_node["Alive"] for ray_node in ray.nodes()) > 1:
            assert time.monotonic() < ends, "removed nodes are still in the cluster"
            time.sleep(0.05)

    @property
    def outside(self) -> str:
        """Return the cluster's address for clients."""
        return f"ray://127.0.0.1:{self.port}"

    def free(self) -> Mapping[str, float]:
        return ray.available_resources()


@pytest.fixture(scope="session")
def patient_ray() -> Iterator[None]:
    """Raise Ray's timeouts, which are too short for a busy machine, and shorten its pauses."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in _RAY_SETTINGS.items():
            if name not in os.environ:
                patch.setenv(name, value)
        patch.setattr("ray._private.node.time", SlowClock())
        yield


def free_port() -> int:
    """Return a port outside of the ephemeral ports and of Ray's own ports."""
    while True:
        with socket.socket() as probe:
            port = random.randrange(25_000, 32_000)
            if probe.connect_ex(("127.0.0.1", port)) != 0:
                return port


def new_rig() -> Rig:
    """Start a head without CPUs, as in real clusters. Tests add nodes."""
    port = free_port()
    head = {"num_cpus": 0, "object_store_memory": ROOM, "include_dashboard": False}
    return Rig(Cluster(initialize_head=True, head_node_args={**head, "ray_client_server_port": port}), port)


@pytest.fixture(scope="session")
def shared_rig(patient_ray: None) -> Iterator[Rig]:
    created_rig = new_rig()
    try:
        ray.init(address=created_rig.cluster.address, log_to_driver=False, logging_level="error")
        yield created_rig
    finally:
        ray.shutdown()
        created_rig.cluster.shutdown()


@pytest.fixture
def rig(shared_rig: Rig) -> Iterator[Rig]:
    """Return the head that all tests share. Nodes that a test adds are removed after it."""
    yield shared_rig
    shared_rig.clear()


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "store")


@pytest.fixture(scope="session")
def problems(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Problem]:
    return load_problems(EXAMPLES / "problems", cache=tmp_path_factory.mktemp("problems"), only=set(NAMES))


@pytest.fixture(scope="session")
def submissions() -> list[Submission]:
    lines = (EXAMPLES / "generations.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [row for row in map(json.loads, lines) if row["problem_id"] in NAMES and row["code"]]
    return [
        Submission(key=row["uuid"], problem_id=row["problem_id"], code=row["code"], language=row["language"])
        for row in rows
    ]


Told = tuple[Any, ...]


def told(result: SubmissionResult) -> Told:
    """Return the part of a result that does not depend on time."""
    tests = [(test.test_name, test.status, test.score) for test in result.tests]
    subtasks = [(subtask.subtask, subtask.status, subtask.exact_score) for subtask in result.subtasks]
    return result.key, result.compiles, result.compile_output, result.points, subtasks, tests


async def judged(
    scorer: Scorer, problems: Mapping[str, Problem], submissions: Sequence[Submission]
) -> list[Told]:
    work = (scorer.score(problems[sent.problem_id], sent) for sent in submissions)
    return [told(result) for result in await asyncio.gather(*work)]


Expected = Callable[[Sequence[Submission]], list[Told]]


@pytest.fixture(scope="session")
def expected(
    problems: Mapping[str, Problem], submissions: list[Submission], tmp_path_factory: pytest.TempPathFactory
) -> Expected:
    """Return the rows of the embedded engine."""

    async def here() -> list[Told]:
        store = Store(tmp_path_factory.mktemp("here"))
        async with Scorer(EmbeddedEngine(store=store), store=store) as scorer:
            return await judged(scorer, problems, submissions)

    rows = {row[0]: row for row in asyncio.run(here())}
    return lambda some: [rows[each.key] for each in some]


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(_LONGEST):
        while not holds():  # noqa: ASYNC110 (Ray has no event for it)
            await asyncio.sleep(0.05)


def command(*arguments: str, engine: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*PATIENTLY, *arguments, "--engine", engine],
        capture_output=True,
        text=True,
        check=False,
        timeout=_LONGEST,
    )
