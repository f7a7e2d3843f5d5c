"""A cluster of Ray on this machine, for tests, and what is judged on it."""

from __future__ import annotations

import asyncio
import json
import os
import random
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest

ray = pytest.importorskip("ray", reason="Ray is not installed")

from patient import SlowClock  # noqa: E402
from ray.cluster_utils import Cluster  # noqa: E402

from ioi_eval import EmbeddedEngine, Scorer, Store, load_problems  # noqa: E402
from ioi_eval.engines.ray.members import Patience  # noqa: E402
from ioi_eval.models import Problem, Submission, SubmissionResult  # noqa: E402

EXAMPLES = Path(__file__).parents[2] / "examples"
PATIENT = Patience(look=0.3, opening=240.0, others=120.0, drought=240.0)
_LONGEST = 900.0  # seconds that anything takes on a busy machine
ROOM = 100 << 20  # bytes of each node's object store
_PATIENCE = {
    "RAY_agent_register_timeout_ms": 600,
    "RAY_raylet_start_wait_time_s": 600,
    "RAY_worker_register_timeout_seconds": 600,
    "RAY_CLIENT_INITIAL_CONNECTION_TIMEOUT_S": 600,
    "RAY_CLIENT_MAX_CONNECTION_TIMEOUT_S": 600,
    "RAY_CLIENT_SERVER_CHECK_CHANNEL_TIMEOUT_S": 300,
}
PATIENTLY = (sys.executable, str(Path(__file__).with_name("patient.py")))
# A grader that is compiled in, a checker that is compiled, files instead of streams, and scores in parts.
NAMES = ("lanterns", "pumpkins", "tide", "relay")


class Rig(NamedTuple):
    cluster: Cluster
    port: int  # of clients

    def node(self, cpus: int = 2, **resources: float) -> Any:
        return self.cluster.add_node(num_cpus=cpus, object_store_memory=ROOM, resources=resources)

    def kill(self, node: Any) -> None:
        self.cluster.remove_node(node, allow_graceful=False)

    @property
    def outside(self) -> str:
        """The address for those who are no part of the cluster."""
        return f"ray://127.0.0.1:{self.port}"

    def free(self) -> Mapping[str, float]:
        return ray.available_resources()


@pytest.fixture(scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Nodes compile into it, once for all tests."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
def patient_ray(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its processes wait for each other too little for a busy machine, and end where they waited."""
    for name, seconds in _PATIENCE.items():
        if name not in os.environ:
            monkeypatch.setenv(name, f"{seconds}000" if name.endswith("ms") else f"{seconds}")
    monkeypatch.setattr("ray._private.node.time", SlowClock())


def free_port() -> int:
    """None of those that the system gives away, nor of Ray's own."""
    while True:
        with socket.socket() as one:
            port = random.randrange(25_000, 32_000)
            if one.connect_ex(("127.0.0.1", port)) != 0:
                return port


@pytest.fixture
def rig(cache: Path, patient_ray: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[Rig]:
    """A head without CPUs, as clusters have them; tests add what they need."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache))
    port = free_port()
    head = {"num_cpus": 0, "object_store_memory": ROOM, "include_dashboard": False}
    made = Cluster(initialize_head=True, head_node_args={**head, "ray_client_server_port": port})
    try:
        ray.init(address=made.address, log_to_driver=False, logging_level="error")
        yield Rig(made, port)
    finally:
        ray.shutdown()
        made.shutdown()


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "store")


@pytest.fixture(scope="module")
def problems(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Problem]:
    return load_problems(EXAMPLES / "problems", cache=tmp_path_factory.mktemp("problems"), only=set(NAMES))


@pytest.fixture(scope="module")
def submissions() -> list[Submission]:
    lines = (EXAMPLES / "generations.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [row for row in map(json.loads, lines) if row["problem_id"] in NAMES and row["code"]]
    return [
        Submission(key=row["uuid"], problem_id=row["problem_id"], code=row["code"], language=row["language"])
        for row in rows
    ]


Told = tuple[Any, ...]


def told(result: SubmissionResult) -> Told:
    """All that does not depend on the clock."""
    tests = [(test.test_name, test.status, test.score) for test in result.tests]
    subtasks = [(subtask.subtask, subtask.status, subtask.exact_score) for subtask in result.subtasks]
    return result.key, result.compiles, result.compile_output, result.points, subtasks, tests


async def judged(
    scorer: Scorer, problems: Mapping[str, Problem], submissions: Sequence[Submission]
) -> list[Told]:
    work = (scorer.score(problems[each.problem_id], each) for each in submissions)
    return [told(result) for result in await asyncio.gather(*work)]


async def here(
    store: Store, problems: Mapping[str, Problem], submissions: Sequence[Submission]
) -> list[Told]:
    async with Scorer(EmbeddedEngine(store=store), store=store) as scorer:
        return await judged(scorer, problems, submissions)


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(_LONGEST):
        while not holds():  # noqa: ASYNC110 (Ray tells nobody)
            await asyncio.sleep(0.05)


def command(*words: str, engine: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*PATIENTLY, *words, "--engine", engine],
        capture_output=True,
        text=True,
        check=False,
        timeout=_LONGEST,
    )
