"""What goes to a node of Ray, as far as it takes no Ray: packing, and which contents stay there."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from ioi_eval.engines.cluster import Endpoint, Pool, State
from ioi_eval.errors import EngineUnavailable, InputError, JudgeFailure
from ioi_eval.models import Blob, Test
from ioi_eval.plugins.ray.cluster import Seen
from ioi_eval.plugins.ray.node import NodeError, pack, unpack
from ioi_eval.store.contents import Depot

pytestmark = pytest.mark.alike


@pytest.fixture
def depot(tmp_path: Path) -> Depot:
    return Depot(tmp_path, limit=100)


def of(number: int, size: int = 40) -> Blob:
    return Blob.of(f"{number}" * size)


def test_a_value_travels_without_its_contents(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in a file" * 1000)
    held, in_file = Blob.of("held" * 1000), Blob.of_file(tmp_path / "file")
    packed, contents = pack({"tests": (Test(name="1", input=held, answer=in_file),), "again": held})
    assert len(packed) < 1000
    assert contents == {held.sha256: held, in_file.sha256: in_file}
    there = unpack(packed, lambda sha256, size: Blob(sha256=sha256, size=size, path="/there"))
    assert there["again"] == Blob(sha256=held.sha256, size=4000, path="/there")
    assert there["tests"][0].answer.size == in_file.size


def test_errors_of_a_node_arrive_whole() -> None:
    for error in (JudgeFailure("why", phase="judging", test="3"), EngineUnavailable("gone")):
        packed, _ = pack(NodeError(error=error))
        came = unpack(packed, lambda *_: pytest.fail("no contents")).error
        assert (type(came), str(came), vars(came)) == (type(error), str(error), vars(error))


def test_contents_used_longest_ago_go_first(depot: Depot) -> None:
    for number in (1, 2):
        depot.add(of(number))
    assert depot.lacks([of(1).sha256]) == ()
    depot.add(of(3))
    assert depot.lacks([of(number).sha256 for number in (1, 2, 3)]) == (of(2).sha256,)
    assert depot.blob(of(1).sha256).read() == of(1).data
    assert depot.used == 80


def test_what_is_held_stays_and_goes_when_nobody_holds_it(depot: Depot, tmp_path: Path) -> None:
    names = [of(number).sha256 for number in (1, 2, 3)]
    with depot.hold(names):
        for number in (1, 2, 3):
            depot.add(of(number))
        assert depot.lacks(names) == ()
        assert not depot.reserve(1)
    assert depot.lacks(names) == (names[0],)
    assert len(list(tmp_path.iterdir())) == 2


def test_the_same_content_counts_once(depot: Depot) -> None:
    depot.add(of(1))
    depot.add(of(1))
    assert (depot.used, depot.reserve(60), depot.reserve(101)) == (40, True, False)


def test_a_content_in_a_file_outlives_that_file(depot: Depot, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("text")
    blob = Blob.of_file(tmp_path / "file")
    depot.add(blob)
    (tmp_path / "file").unlink()
    assert depot.blob(blob.sha256).read() == b"text"


def test_slots_are_what_is_free_and_what_is_declared() -> None:
    free = {"CPU": 7.0, "ioi_eval": 3.0, "GPU": 8.0}
    node = Seen(id="1", name="one", free=free, declares=False)
    assert [node.slots(each) for each in (1.0, 2.0, 0.5, 8.0)] == [7, 3, 14, 0]
    assert Seen(id="1", name="one", free=free, declares=True).slots(1.0) == 3
    assert Seen(id="1", name="one", free={}, declares=True).slots(1.0) == 0


async def test_of_free_endpoints_a_preferred_one_is_taken() -> None:
    pool = Pool[Endpoint](total=None, patience=1.0)
    one, two = Endpoint("one", 1), Endpoint("two", 1)
    for each in (one, two):
        pool.update(each, State.HEALTHY)
    assert await pool.take(prefer=two) is two
    assert await pool.take(prefer=two) is one
    pool.give_back(two)
    waiting = asyncio.create_task(pool.take([two], prefer=two))
    await asyncio.sleep(0)
    assert not waiting.done(), "the other one is usable, only busy"
    pool.give_back(one)
    assert await waiting is one


def test_where_ray_is_missing_its_address_is_refused_all_the_same() -> None:
    from ioi_eval.engines.registry import find_engine

    with pytest.raises(InputError, match="not a Ray cluster"):
        find_engine("ray:somewhere")
