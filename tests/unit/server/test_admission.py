"""Slots and places come back on every path, and nobody runs who should not."""

from __future__ import annotations

import asyncio
import contextlib
import random

import pytest
from support.waits import settle

from ioi_eval.errors import EngineOverloaded
from ioi_eval.server.jobs import NOBODY, Admission, Caller, Draining, staying

pytestmark = pytest.mark.once


async def stay(admission: Admission, leave: asyncio.Event) -> str:
    with admission.visit() as visit:
        await visit.slot()
        await leave.wait()
        return "done"


async def test_slots_then_queue_then_nobody() -> None:
    admission, leave = Admission(slots=2, queue=1, room=100), asyncio.Event()
    stays = [asyncio.create_task(stay(admission, leave)) for _ in range(3)]
    await settle()
    assert (admission.running, admission.queued) == (2, 1)
    with pytest.raises(EngineOverloaded, match="all 2 slots are taken and 1 requests wait"):
        admission.visit()
    leave.set()
    assert await asyncio.gather(*stays) == ["done"] * 3
    assert (admission.running, admission.queued) == (0, 0)


async def test_a_small_part_is_no_less_than_all_slots() -> None:
    """While nobody else wants them."""
    admission, few = Admission(slots=2, queue=6, room=100), Caller(name="few", part=0.01)
    with contextlib.ExitStack() as stays:
        for _ in range(2):
            stays.enter_context(admission.visit(few))
        with pytest.raises(EngineOverloaded, match="few has 2 requests here, its part of 8"):
            admission.visit(few)


async def test_work_that_goes_on_keeps_the_place_of_its_request() -> None:
    admission, leave = Admission(slots=1, queue=0, room=100), asyncio.Event()

    async def work() -> None:
        with staying():
            await leave.wait()

    with admission.visit() as visit:
        visit.bring(70)
        await visit.slot()
        working = asyncio.create_task(work())
        await settle()
    assert (admission.running, admission.brought, admission.visits) == (1, 70, 1)
    with pytest.raises(EngineOverloaded):
        admission.visit()
    leave.set()
    await working
    assert (admission.running, admission.brought, admission.visits) == (0, 0, 0)
    with staying():  # for nobody
        assert admission.visits == 0


async def test_who_is_told_to_come_again_is_let_in_beside_its_place() -> None:
    admission = Admission(slots=1, queue=0, room=100)
    visit, again = admission.visit(), admission.visit()
    with visit.held():
        visit.expect_again()
        visit.expect_again()
        with again, pytest.raises(EngineOverloaded):
            admission.visit()
        assert (admission.visits, admission.inside) == (1, {"": 0})
    with admission.visit():
        assert (admission.visits, admission.inside) == (1, {"": 1})
        with pytest.raises(EngineOverloaded):
            admission.visit()


async def test_the_first_at_the_door_is_the_first_inside() -> None:
    admission, order, leave = Admission(slots=1, queue=0, room=100), list[str](), asyncio.Semaphore(0)

    async def come(name: str, caller: Caller = NOBODY) -> None:
        with await admission.entrance(caller, 60.0):
            order.append(name)
            await leave.acquire()

    stays = [asyncio.create_task(come(name)) for name in "abc"]
    await settle()
    stays[1].cancel()
    stays.append(asyncio.create_task(come("d")))
    await settle()
    assert order == ["a"] and admission.visits == 1
    for inside in ("ac", "acd"):
        leave.release()
        await settle()
        assert (order, admission.visits) == ([*inside], 1)
    late = asyncio.create_task(come("late"))
    await settle()
    admission.drain()
    with pytest.raises(Draining):
        await late
    leave.release()
    await asyncio.gather(*stays, return_exceptions=True)
    assert admission.visits == 0 and not +admission.refused


async def test_a_caller_at_the_door_is_in_no_others_way() -> None:
    admission = Admission(slots=1, queue=3, room=100)
    many, other = Caller(name="many", part=0.5), Caller(name="other", part=0.5)
    with admission.visit(many), admission.visit(many):
        waiting = asyncio.create_task(admission.entrance(many, 60.0))
        await settle()
        with await admission.entrance(other, 60.0) as visit:
            assert visit.waited < 60.0 and not waiting.done()
        waiting.cancel()


async def test_a_slot_goes_to_the_caller_with_the_least_for_its_part() -> None:
    """One who came first with many requests does not keep another from its part."""
    admission, order, leave = Admission(slots=4, queue=40, room=100), list[str](), asyncio.Semaphore(0)

    async def visit(caller: Caller) -> None:
        with admission.visit(caller) as stay:
            await stay.slot()
            order.append(caller.name)
            await leave.acquire()

    callers = [Caller(name="many", part=0.25)] * 9 + [Caller(name="few", part=0.75)] * 7
    stays = [asyncio.create_task(visit(one)) for one in callers]
    await settle()
    assert order == ["many"] * 4
    for _ in callers:
        leave.release()
        await settle()
    await asyncio.gather(*stays)
    # Of four slots three are those of the one with three quarters, as soon as that many came free.
    assert order[4:7] == ["few"] * 3
    assert admission.served == {"many": 9, "few": 7} and not +admission.free.taken
    assert (admission.running, admission.queued) == (0, 0)


def test_a_caller_fills_its_part_of_the_queue_only() -> None:
    admission, caller = Admission(slots=2, queue=6, room=100), Caller(name="a", part=0.5)
    with contextlib.ExitStack() as stays:
        for _ in range(4):
            stays.enter_context(admission.visit(caller))
        with pytest.raises(EngineOverloaded, match="a has 4 requests here, its part of 8"):
            admission.visit(caller)
        stays.enter_context(admission.visit(Caller(name="b", part=0.5)))
    assert admission.refused == {"a": 1} and not +admission.inside


def test_all_that_visits_bring_is_bounded_together() -> None:
    admission = Admission(slots=1, queue=64, room=100)
    with admission.visit() as first, admission.visit() as second:
        first.bring(60)
        second.bring(40)
        for visit in (first, second):
            with pytest.raises(EngineOverloaded, match="hold 100 bytes, and 100 are all they may"):
                visit.bring(1)
        assert admission.brought == 100
    assert admission.brought == 0


def test_one_that_is_alone_may_bring_more_than_there_is_room() -> None:
    admission = Admission(slots=1, queue=64, room=100)
    with admission.visit() as alone, admission.visit() as other:
        alone.bring(150)
        alone.bring(150)
        with pytest.raises(EngineOverloaded):
            other.bring(1)
    assert admission.brought == 0


async def test_the_first_that_waits_is_the_first_that_runs() -> None:
    admission, order = Admission(slots=1, queue=9, room=100), []

    async def visit(number: int) -> None:
        with admission.visit() as stay:
            await stay.slot()
            order.append(number)
            await asyncio.sleep(0)

    await asyncio.gather(*(visit(number) for number in range(6)))
    assert order == list(range(6))


async def test_draining_lets_those_who_run_finish_and_nobody_else() -> None:
    admission, leave = Admission(slots=1, queue=5, room=100), asyncio.Event()
    stays = [asyncio.create_task(stay(admission, leave)) for _ in range(3)]
    await settle()
    admission.drain()
    with pytest.raises(Draining):
        admission.visit()
    emptying = asyncio.create_task(admission.until_empty())
    await settle()
    assert not emptying.done()
    leave.set()
    results = await asyncio.gather(*stays, return_exceptions=True)
    assert [type(result) for result in results] == [str, Draining, Draining]
    await emptying
    assert (admission.running, admission.queued) == (0, 0)


async def test_who_is_still_sending_when_it_drains_gets_no_slot() -> None:
    admission = Admission(slots=1, queue=5, room=100)
    with admission.visit() as visit:
        admission.drain()
        with pytest.raises(Draining):
            await visit.slot()
    await admission.until_empty()
    assert admission.running == 0


async def test_one_who_is_cancelled_just_as_its_turn_comes_hands_the_slot_on() -> None:
    admission, first, second = Admission(slots=1, queue=5, room=100), asyncio.Event(), asyncio.Event()
    stays = [asyncio.create_task(stay(admission, event)) for event in (first, second, second)]
    await settle()
    first.set()
    await asyncio.sleep(0)  # the slot is handed over, and who gets it has not run yet
    await asyncio.sleep(0)
    stays[1].cancel()
    second.set()
    results = await asyncio.gather(*stays, return_exceptions=True)
    assert results[0] == results[2] == "done"
    assert (admission.running, admission.queued) == (0, 0)


@pytest.mark.parametrize("seed", range(20))
async def test_whatever_is_cancelled_when_nothing_is_lost(seed: int) -> None:
    chance = random.Random(seed)
    admission = Admission(slots=2, queue=20, room=100)
    most = 0

    async def visit() -> None:
        nonlocal most
        with admission.visit() as stay:
            await stay.slot()
            most = max(most, admission.running)
            for _ in range(chance.randrange(4)):
                await asyncio.sleep(0)

    tasks = [asyncio.create_task(visit()) for _ in range(20)]
    while not all(task.done() for task in tasks):
        chance.choice(tasks).cancel()
        for _ in range(chance.randrange(3)):
            await asyncio.sleep(0)
    await asyncio.gather(*tasks, return_exceptions=True)
    assert (admission.running, admission.queued, most) == (0, 0, most)
    assert most <= 2
    with admission.visit() as stay:
        await asyncio.wait_for(stay.slot(), 5)
