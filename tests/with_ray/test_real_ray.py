"""A real Ray cluster with several nodes on this machine:

rows equal the embedded engine's rows. It runs if Ray is installed; tools/peers creates such an
environment.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

ray = pytest.importorskip("ray", reason="Ray is not installed")

from ray_rig import PATIENT, Expected, Rig, judged, until  # noqa: E402

from ioi_eval import Scorer, Store  # noqa: E402
from ioi_eval.engines.contract import WorkerArtifact  # noqa: E402
from ioi_eval.integrations.verl import compute_score  # noqa: E402
from ioi_eval.models import Blob, Checker, CheckerKind, Limits, Problem, Submission, Test  # noqa: E402
from ioi_eval.plugins.ray import RayEngine, cluster, wire  # noqa: E402
from ioi_eval.plugins.ray.wire import NodePatience  # noqa: E402

pytest_plugins = ["ray_rig"]

# --- nodes that come and go --------------------------------------------------------------------------


async def test_rows_are_equal_while_ray_nodes_leave_and_join(
    rig: Rig,
    store: Store,
    problems: Mapping[str, Problem],
    submissions: list[Submission],
    expected: Expected,
) -> None:
    first, second = rig.node(), rig.node()
    on_ray = RayEngine(patience=PATIENT)
    half = len(submissions) // 2
    async with Scorer(on_ray, store=store) as scorer:
        assert list(on_ray.nodes.values()) == [2, 2]
        running = asyncio.create_task(judged(scorer, problems, submissions[:half]))
        await until(lambda: all(node.busy for node in on_ray.fleet.usable_endpoints))
        await asyncio.to_thread(rig.kill, first)  # in the middle of its jobs
        rows = await running
        assert len(on_ray.nodes) == 1
        third = rig.node()
        await until(lambda: len(on_ray.nodes) == 2)
        await asyncio.to_thread(rig.kill, second)  # the rest is judged on the node that joined
        rows += await judged(scorer, problems, submissions[half:])
        assert [name.endswith(f":{third._ray_params.node_manager_port}") for name in on_ray.nodes] == [True]
        # A killed node is down at once, and gone when the cluster has missed its heartbeats.
        await until(lambda: _states(on_ray) == {"healthy": 1, "gone": 2})
    assert [row[0] for row in rows] == [submitted.key for submitted in submissions], "each row once, in order"
    assert rows == expected(submissions)


def _states(engine: RayEngine) -> Counter[str]:
    return Counter(standing.state for standing in engine.servers().standings)


class _Losing(RayEngine):
    """Kills the node that built a program before the program is run."""

    lose: Callable[[str], None]

    async def execute(self, job: Any, check: Any = None) -> Any:
        node_addresses = [file.content.at for file in job.files if isinstance(file.content, WorkerArtifact)]
        if node_addresses:
            lose, self.lose = self.lose, lambda _: None
            await asyncio.to_thread(lose, node_addresses[0])
        return await super().execute(job, check)


async def test_programs_built_on_a_lost_ray_node_are_rebuilt(
    rig: Rig,
    store: Store,
    problems: Mapping[str, Problem],
    submissions: list[Submission],
    expected: Expected,
) -> None:
    nodes = {node._ray_params.node_manager_port: node for node in (rig.node(), rig.node())}
    one_submission = [next(candidate for candidate in submissions if candidate.problem_id == "pumpkins")]
    losing = _Losing(patience=PATIENT)
    losing.lose = lambda name: rig.kill(nodes[int(name.rpartition(":")[2])])
    async with Scorer(losing, store=store) as scorer:
        rows = await judged(scorer, problems, one_submission)
        assert len(losing.nodes) <= 1
    assert rows == expected(one_submission)


async def test_killed_ray_actor_is_restarted_on_its_node(
    rig: Rig,
    store: Store,
    problems: Mapping[str, Problem],
    submissions: list[Submission],
    expected: Expected,
) -> None:
    rig.node()
    on_ray = RayEngine(patience=PATIENT)
    async with Scorer(on_ray, store=store) as scorer:
        [node], [actor_name] = on_ray.fleet.usable_endpoints, ray.util.list_named_actors()
        killed_actor = ray.get_actor(actor_name)
        running = asyncio.create_task(judged(scorer, problems, submissions[:4]))
        await until(lambda: node.busy > 0)
        ray.kill(killed_actor)
        rows = await running
        assert ray.get_actor(actor_name) != killed_actor
    assert rows == expected(submissions[:4])


# --- contents ----------------------------------------------------------------------------------------


async def test_content_is_sent_to_a_ray_node_once(
    rig: Rig, store: Store, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    rig.node(), rig.node()
    put, sent = Counter[int](), Counter[tuple[str, str]]()
    real_put = cluster.store_object

    def count_put(data: bytes) -> Any:
        put[len(data)] += 1
        return real_put(data)

    class CountedCall(cluster.RayCall):
        def __init__(self, actor: Any, method: str, *arguments: Any) -> None:
            if method == "store_content":
                sent[actor._actor_id.hex(), arguments[0]] += 1
            if method == "execute":
                assert sum(file.content.size for file in arguments[0].files if file.content.data) < 1 << 20
            super().__init__(actor, method, *arguments)

    monkeypatch.setattr(cluster, "store_object", count_put)
    monkeypatch.setattr(wire, "RayCall", CountedCall)
    big = tmp_path / "big"
    big.write_bytes(b"7\n" * (1 << 20))
    problem = Problem(
        id="big",
        source="here",
        limits=Limits.contest(10.0, 256 << 20),
        checker=Checker(kind=CheckerKind.TOKENS),
        tests=(Test(name="1", input=Blob.of_file(big), answer=Blob.of("7\n")),),
    )
    codes = (f"n = {number}\nprint(int(input()))" for number in range(12))
    many = [
        Submission(key=str(number), problem_id="big", code=code, language="python")
        for number, code in enumerate(codes)
    ]
    async with Scorer(RayEngine(patience=PATIENT), store=store) as scorer:
        rows = await judged(scorer, {"big": problem}, many)
    assert [row[3] for row in rows] == [1.0] * 12
    assert put == {big.stat().st_size: 1}
    assert set(sent.values()) == {1} and len({name for _, name in sent}) == 1


# --- resources of Ray --------------------------------------------------------------------------------


async def test_ray_engine_reserves_only_the_requested_cpus(rig: Rig) -> None:
    rig.node(cpus=4), rig.node(cpus=4)
    await until(lambda: rig.free().get("CPU") == 8)
    for engine_options, slots, free_cpus in (
        ({"slots": 3}, 3, 5),
        ({"cpus_per_slot": 2.0}, 4, None),
        ({}, 8, None),
    ):
        async with RayEngine(patience=PATIENT, **engine_options) as on_ray:
            assert (on_ray.slots, sum(on_ray.nodes.values())) == (slots, slots)
            await until(lambda left=free_cpus: rig.free().get("CPU") == left)
        await until(lambda: rig.free().get("CPU") == 8)


async def test_only_ray_nodes_with_the_ioi_eval_resource_are_used(rig: Rig) -> None:
    rig.node(cpus=4), rig.node(cpus=4, ioi_eval=3)
    await until(lambda: rig.free().get("CPU") == 8)
    async with RayEngine(patience=PATIENT) as on_ray:
        assert list(on_ray.nodes.values()) == [3]
        await until(lambda: rig.free().get("CPU") == 5)
        assert "ioi_eval" not in rig.free()


async def test_ray_engine_without_free_cpus_is_unavailable_and_leaves_actors_alone(rig: Rig) -> None:
    rig.node(cpus=2)

    @ray.remote(num_cpus=2)
    class Training:
        def step(self) -> int:
            return 1

    training = Training.remote()
    assert await training.step.remote() == 1
    await until(lambda: "CPU" not in rig.free())
    with pytest.raises(cluster.EngineUnavailable, match="had a free CPU"):
        async with RayEngine(patience=NodePatience(look=0.1, first_look=2.0)):
            pass
    assert await training.step.remote() == 1


# --- callers -----------------------------------------------------------------------------------------


def test_rewards_in_ray_tasks_are_judged_on_the_cluster(rig: Rig) -> None:
    """verl calls rewards in Ray tasks like these."""
    rig.node(cpus=2)
    truth = {"inputs": ["1 2\n"], "outputs": ["3\n"]}

    @ray.remote(num_cpus=0)
    def worth(program: str) -> float:
        return compute_score("apps", f"```python\n{program}\n```", truth, engine="ray", mode="pass_fail")

    right, wrong = "print(sum(map(int, input().split())))", "print(4)"
    assert ray.get([worth.remote(right), worth.remote(wrong)]) == [1.0, 0.0]
