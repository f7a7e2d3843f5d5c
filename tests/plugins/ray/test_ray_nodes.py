"""Jobs and contents that the Ray engine sends to nodes, tested without Ray."""

from __future__ import annotations

import pytest

from ioi_eval.engines.contract import SUBMISSION, BuildSpec
from ioi_eval.engines.jobs.http_delivery import HttpJobDelivery
from ioi_eval.errors import InputError, JobRejected, JudgeFailure
from ioi_eval.model.job import Toolchain
from ioi_eval.models import Blob, BuildLimits, Capabilities, Job, JobFile, JobResult, NamedBlob
from ioi_eval.plugins.ray.cluster import RunningNode
from ioi_eval.plugins.ray.node import LIBRARY, PROCTOR
from ioi_eval.plugins.ray.wire import _make_node_file


def test_file_cached_on_ray_node_is_sent_without_content() -> None:
    file = JobFile(name="t/0.in", content=Blob.of("1 2\n" * 1000), executable=True)
    node_file = _make_node_file(file, {file.content.sha256: file})
    assert (node_file.content.data, node_file.content.sha256, node_file.executable) == (
        None,
        file.content.sha256,
        True,
    )
    assert _make_node_file(file, {}).content.data == file.content.data


def test_ray_node_slots_are_free_cpus_or_declared_resource() -> None:
    free = {"CPU": 7.0, "ioi_eval": 3.0, "GPU": 8.0}
    node = RunningNode(id="1", name="one", free_resources=free, has_slot_resource=False)
    assert [node.count_slots(cpu_count) for cpu_count in (1.0, 2.0, 0.5, 8.0)] == [7, 3, 14, 0]
    assert RunningNode(id="1", name="one", free_resources=free, has_slot_resource=True).count_slots(1.0) == 3
    assert RunningNode(id="1", name="one", free_resources={}, has_slot_resource=True).count_slots(1.0) == 0


def test_invalid_ray_address_is_refused_without_ray_installed() -> None:
    from ioi_eval.engines.registry import find_engine

    with pytest.raises(InputError, match="is not the address of a Ray cluster"):
        find_engine("ray:somewhere")


class Seeing:
    """Records a job and refuses it."""

    def __init__(self) -> None:
        self.stays = list[str]()

    async def execute(self, job: Job, check: object = None) -> JobResult:
        self.stays.append(*(job.keep or ("",)))
        raise JobRejected("noted")


async def test_python_artifact_is_fetched_from_ray_nodes_with_fork_server() -> None:
    """Its sources name the modules to preload. Other programs stay on the node that built them."""
    tools = {
        name: Toolchain(command=name, path=f"/usr/bin/{name}", version="1", identity=name)
        for name in ("python3", "g++")
    }
    profile = Capabilities(
        name="ray", architecture="x86_64", confines=True, runtimes=("ioi_eval",), toolchains=tools,
        proctor=PROCTOR, waiting=LIBRARY,
    )  # fmt: skip
    seeing = Seeing()
    source = NamedBlob(name="a", content=Blob.of("import math\n"))
    for tool in tools:
        recipe = BuildSpec(
            kind=SUBMISSION, output="made", command=(tool, "a"), sources=(source,), control=source,
            limits=BuildLimits(),
        )  # fmt: skip
        with pytest.raises(JudgeFailure, match="noted"):
            await HttpJobDelivery(seeing).build(recipe, None, profile, may_leave_artifact_on_worker=True)  # type: ignore[arg-type]
    assert seeing.stays == ["", "made"]
