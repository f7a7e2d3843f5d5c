"""Slots: who gets which, and that none is ever lost."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Iterator

import pytest
from support.clocks import Ahead
from support.waits import settle

from ioi_eval.engines.cluster import Endpoint, Pool, PoolChanged, State, Tries, Waits
from ioi_eval.errors import EngineOverloaded, EngineUnavailable
from ioi_eval.model.errors import AttemptsUsedUp, ServerReplaced

pytestmark = pytest.mark.once


def pool_with(*slots: int, total: int | None = None, patience: float = 60.0) -> tuple[Pool, list[Endpoint]]:
    pool = Pool(total=total, patience=patience)
    endpoints = [Endpoint(f"http://host-{index}", each) for index, each in enumerate(slots)]
    for endpoint in endpoints:
        pool.update(endpoint, State.HEALTHY)
    return pool, endpoints


async def test_the_least_loaded_comes_first() -> None:
    pool, (a, b, c) = pool_with(3, 3, 3)
    first = [await pool.take() for _ in range(3)]
    assert first == [a, b, c]
    pool.give_back(b)
    assert await pool.take() is b
    pool.give_back(c)
    pool.give_back(a)
    assert [await pool.take() for _ in range(2)] == [c, a]
    assert [endpoint.busy for endpoint in (a, b, c)] == [1, 1, 1]


async def test_never_more_than_there_are_and_in_order_of_asking() -> None:
    pool, [a, b] = pool_with(1, 1)
    assert pool.slots == 2
    await pool.take(), await pool.take()
    waiting = [asyncio.create_task(pool.take()) for _ in range(3)]
    await settle()
    assert pool.busy == 2 and not any(task.done() for task in waiting)
    pool.give_back(b)
    assert await waiting[0] is b
    pool.give_back(a)
    assert await waiting[1] is a and not waiting[2].done()
    waiting[2].cancel()
    await settle()
    pool.give_back(a)
    assert pool.busy == 1 and await pool.take() is a


async def test_a_total_bounds_them_all() -> None:
    pool, _ = pool_with(4, 4, total=3)
    assert pool.slots == 3
    taken = [await pool.take() for _ in range(3)]
    last = asyncio.create_task(pool.take())
    await settle()
    assert not last.done() and pool.busy == 3
    pool.give_back(taken[0])
    await last
    assert pool.busy == 3


async def test_another_one_while_there_is_one() -> None:
    pool, [a, b] = pool_with(2, 2)
    assert [await pool.take([a]) for _ in range(2)] == [b, b]
    patient = asyncio.create_task(pool.take([a]))
    await settle()
    assert not patient.done() and a.busy == 0
    assert await pool.take() is a  # others pass who waits for b
    pool.update(b, State.DOWN)
    assert await patient is a  # nothing else is left


async def test_preferred_endpoint_with_a_free_slot_is_taken() -> None:
    pool, [a, b] = pool_with(2, 2)
    assert await pool.take() is a
    assert await pool.take(prefer=a) is a, "though the other one has fewer jobs"
    assert await pool.take(prefer=a) is b, "it has no slot now: nobody waits for it"


async def test_job_whose_preferred_endpoint_is_busy_keeps_its_turn() -> None:
    pool, [a, b] = pool_with(1, 1)
    assert {await pool.take(), await pool.take()} == {a, b}
    first, second = asyncio.create_task(pool.take(prefer=a)), asyncio.create_task(pool.take())
    await settle()
    pool.give_back(b)
    assert await first is b and not second.done()
    pool.give_back(b)
    assert await second is b


async def test_preferred_endpoint_that_does_not_fit_or_is_avoided_is_not_taken() -> None:
    pool, [a, b] = pool_with(1, 1)
    assert await pool.take([a], prefer=a) is b
    waiting = asyncio.create_task(pool.take(prefer=a, fits=lambda each: each is b))
    await settle()
    assert not waiting.done()
    pool.give_back(b)
    assert await waiting is b


# --- endpoints that do not fit -----------------------------------------------------------------------


async def test_endpoint_that_does_not_fit_is_never_taken() -> None:
    pool, [a, b] = pool_with(1, 1)
    only_b = lambda each: each is b  # noqa: E731
    assert await pool.take([b], fits=only_b) is b, "nothing else fits"
    waiting = asyncio.create_task(pool.take(fits=only_b))
    await settle()
    assert not waiting.done() and pool.spare(fits=only_b) is None
    assert await pool.take() is a, "others pass"
    pool.give_back(a)
    pool.give_back(b)
    assert await waiting is b


async def test_job_that_no_working_endpoint_fits_is_given_up_after_the_patience() -> None:
    """Others work meanwhile, and their jobs go on."""
    clock, told = Ahead(), list[object]()
    pool = Pool[Endpoint](total=None, patience=300.0, tell=told.append)
    a, b = Endpoint("http://a", 1), Endpoint("http://b", 1)
    pool.update(a, State.HEALTHY)
    pool.update(b, State.HEALTHY)
    b.why = "HTTP 500"
    pool.update(b, State.DOWN)
    waiting = [asyncio.create_task(pool.take(fits=lambda each: each is b)) for _ in range(2)]
    await clock.turn(290.0)
    assert not any(task.done() for task in waiting) and len(told) == 1
    assert await pool.take() is a
    patient = asyncio.create_task(pool.take())
    await clock.turn(11.0)
    for task in waiting:
        with pytest.raises(
            EngineUnavailable, match=r"that can do this job .* 300 s; gone: http://b \(HTTP 500"
        ):
            await task
    later = asyncio.create_task(pool.take(fits=lambda each: each is b))
    await clock.turn(0.1)
    assert isinstance(later.exception(), EngineUnavailable), "one drought is waited for once"
    assert not patient.done()
    pool.give_back(a)
    assert await patient is a


async def test_endpoint_that_comes_back_unfit_lets_the_job_look_again() -> None:
    pool, [a] = pool_with(1)
    pool.update(a, State.DOWN)
    waiting = asyncio.create_task(pool.take(fits=lambda each: False))
    other = asyncio.create_task(pool.take())
    await settle()
    pool.update(a, State.HEALTHY)
    with pytest.raises(PoolChanged):
        await waiting
    assert await other is a


async def test_nothing_else_than_what_is_avoided() -> None:
    pool, [a, b] = pool_with(1, 1)
    assert {await pool.take([a, b]), await pool.take([a, b])} == {a, b}


async def test_one_on_trial_has_one_job() -> None:
    pool, [a] = pool_with(3)
    pool.update(a, State.TRIAL)
    assert await pool.take() is a
    rest = [asyncio.create_task(pool.take()) for _ in range(2)]
    await settle()
    assert a.busy == 1
    pool.update(a, State.HEALTHY)
    assert [await task for task in rest] == [a, a]


async def test_what_is_down_or_gone_gets_nothing_and_ends_its_jobs() -> None:
    pool, [a, b] = pool_with(2, 2)
    assert await pool.take() is a
    pool.update(a, State.GONE)
    assert [await pool.take(), await pool.take()] == [b, b]
    pool.give_back(a)
    waiting = asyncio.create_task(pool.take())
    await settle()
    assert not waiting.done() and (a.busy, pool.busy) == (0, 2)
    pool.give_back(b)
    assert await waiting is b


async def test_an_endpoint_that_joins_serves_who_waits() -> None:
    pool, _ = pool_with()
    waiting = [asyncio.create_task(pool.take()) for _ in range(3)]
    await settle()
    new = Endpoint("http://new", 2)
    pool.update(new, State.HEALTHY)
    assert [await waiting[0], await waiting[1]] == [new, new]
    pool.give_back(new)
    assert await waiting[2] is new


async def test_nobody_waits_for_ever_where_nothing_is_usable() -> None:
    pool, [a] = pool_with(1, patience=0.01)
    await pool.take()
    waiting = asyncio.create_task(pool.take())
    await settle()
    pool.update(a, State.DOWN)
    with pytest.raises(EngineUnavailable, match=r"no server has been usable for 0\.01 s; gone: http://"):
        await waiting
    with pytest.raises(EngineUnavailable):
        await pool.take()
    pool.update(a, State.HEALTHY)
    pool.give_back(a)
    assert await pool.take() is a


async def test_one_drought_is_waited_for_once() -> None:
    """Those that came late fail with the first, those that come then at once, until a server is back."""
    pool, [a] = pool_with(1, patience=0.05)
    pool.update(a, State.DOWN)
    first = asyncio.create_task(pool.take())
    await asyncio.sleep(0.03)
    others = [asyncio.create_task(pool.take()) for _ in range(20)]
    with pytest.raises(EngineUnavailable):
        await first
    await settle()
    assert all(isinstance(one.exception(), EngineUnavailable) for one in others)
    late = asyncio.create_task(pool.take())
    await settle()
    assert isinstance(late.exception(), EngineUnavailable)
    pool.update(a, State.TRIAL)
    assert await pool.take() is a


async def test_a_server_that_comes_back_in_time_is_used() -> None:
    pool, [a] = pool_with(1, patience=60.0)
    pool.update(a, State.DOWN)
    waiting = asyncio.create_task(pool.take())
    await settle()
    pool.update(a, State.HEALTHY)
    assert await waiting is a


async def test_who_waits_for_a_busy_one_is_patient() -> None:
    pool, [a] = pool_with(1, patience=0.0)
    await pool.take()
    waiting = asyncio.create_task(pool.take())
    await asyncio.sleep(0.01)
    assert not waiting.done()
    pool.give_back(a)
    assert await waiting is a


# --- droughts ----------------------------------------------------------------------------------------


async def on_trial(pool: Pool, endpoint: Endpoint) -> None:
    """It answers, gets a job and fails it."""
    pool.update(endpoint, State.TRIAL)
    await settle()
    assert endpoint.busy == 1
    endpoint.trials += 1
    pool.update(endpoint, State.DOWN)
    pool.give_back(endpoint)


async def test_servers_that_answer_and_fail_every_job_end_a_drought() -> None:
    """It is told once, and trials that come to nothing do not begin it anew."""
    clock, told = Ahead(), list[str]()
    pool = Pool[Endpoint](total=None, patience=300.0, tell=lambda event: told.append("drought"))
    endpoint = Endpoint("http://host", 4)
    pool.update(endpoint, State.HEALTHY)
    pool.update(endpoint, State.DOWN)
    endpoint.why = "HTTP 500"
    waiting = [asyncio.create_task(pool.take()) for _ in range(20)]
    await settle()
    for _ in range(9):
        await clock.turn(30.0)
        await on_trial(pool, endpoint)
    assert sum(not task.done() for task in waiting) == 11 and told == ["drought"]
    await clock.turn(31.0)
    failed = [task.exception() for task in waiting if task.done() and task.exception()]
    assert len(failed) == 11 and "300 s; gone: http://host (HTTP 500)" in str(failed[0]), failed
    pool.update(endpoint, State.TRIAL)
    pool.update(endpoint, State.HEALTHY)
    pool.update(endpoint, State.DOWN)
    later = asyncio.create_task(pool.take())
    await settle()
    await clock.turn(290.0)
    assert not later.done() and told == ["drought"] * 2
    await clock.turn(11.0)
    assert isinstance(later.exception(), EngineUnavailable)


async def test_no_clock_runs_while_a_healthy_server_has_a_job_nor_on_a_first_trial() -> None:
    clock = Ahead()
    pool, [a] = pool_with(1, patience=300.0)
    await pool.take()
    waiting = asyncio.create_task(pool.take())
    await clock.turn(10_000.0)
    assert not waiting.done()
    pool.update(a, State.DOWN)
    pool.give_back(a)
    await clock.turn(290.0)
    pool.update(a, State.TRIAL)
    assert await waiting is a
    other = asyncio.create_task(pool.take())
    await clock.turn(10_000.0)
    assert not other.done()
    a.trials += 1
    pool.update(a, State.DOWN)
    await clock.turn(11.0)
    assert isinstance(other.exception(), EngineUnavailable)


async def test_closed_under_somebody_who_waits() -> None:
    pool, _ = pool_with()
    waiting = asyncio.create_task(pool.take())
    await settle()
    pool.close()
    for asking in (waiting, pool.take()):
        with pytest.raises(EngineUnavailable, match="closed"):
            await asking


async def test_a_slot_that_comes_with_the_cancellation_is_not_lost() -> None:
    pool, [a] = pool_with(1)
    await pool.take()
    first, second = (asyncio.create_task(pool.take()) for _ in range(2))
    await settle()
    pool.give_back(a)  # handed to the first, who has not woken up yet
    first.cancel()
    await asyncio.wait({first})
    assert first.cancelled()
    assert await asyncio.wait_for(second, 60) is a and pool.busy == 1


async def test_a_failure_that_comes_with_the_cancellation() -> None:
    pool, _ = pool_with()
    waiting = asyncio.create_task(pool.take())
    await settle()
    pool.close()
    waiting.cancel()
    await asyncio.wait({waiting})
    assert waiting.cancelled() and pool.busy == 0


def doings(seed: int) -> Iterator[tuple[str, int]]:
    choice = random.Random(seed)
    for _ in range(400):
        yield (
            choice.choice(("take", "take", "give", "give", "cancel", "down", "up")),
            choice.randrange(1 << 16),
        )


@pytest.mark.parametrize("seed", range(20))
async def test_whatever_happens_no_slot_is_lost_or_taken_twice(seed: int) -> None:
    pool, endpoints = pool_with(1, 2, 3, total=5)
    asking: list[asyncio.Task[Endpoint]] = []
    held: list[Endpoint] = []
    for doing, number in doings(seed):
        some = endpoints[number % 3]
        if doing == "take":
            asking.append(asyncio.create_task(pool.take([some] if number % 5 == 0 else [])))
        elif doing == "give" and held:
            pool.give_back(held.pop(number % len(held)))
        elif doing == "cancel" and asking:
            asking[number % len(asking)].cancel()
        elif doing in ("down", "up"):
            pool.update(some, State.DOWN if doing == "down" else State.HEALTHY)
        if number % 2:
            await asyncio.sleep(0)
        held += [task.result() for task in asking if task.done() and not task.cancelled()]
        asking = [task for task in asking if not task.done()]
        assert pool.busy == sum(endpoint.busy for endpoint in endpoints) <= 5
        assert all(endpoint.busy <= endpoint.slots for endpoint in endpoints)
    for task in asking:
        task.cancel()
    await asyncio.gather(*asking, return_exceptions=True)
    for endpoint in (*held, *(task.result() for task in asking if not task.cancelled())):
        pool.give_back(endpoint)
    assert pool.busy == 0
    for endpoint in endpoints:
        pool.update(endpoint, State.HEALTHY)
    assert [await pool.take() for _ in range(5)] and pool.busy == 5


# --- the tries of a job ------------------------------------------------------------------------------


async def test_a_job_is_turned_away_for_no_longer_than_a_drought() -> None:
    clock, tries = Ahead(), Tries[Endpoint](1, Waits(drought=300.0))
    full, endpoint = EngineOverloaded("no room"), Endpoint("http://a", 1)
    for _ in range(4):
        tries.failed(endpoint, full)
        tries.check(full)
        await clock.turn(90.0)
    tries.failed(endpoint, full)
    with pytest.raises(
        AttemptsUsedUp, match=r"5 attempts failed \(retry rule `server`\), on http://a, the last one: no room"
    ):
        tries.check(full)


async def test_a_server_may_be_replaced_under_a_job_once() -> None:
    tries, endpoint = Tries[Endpoint](1, Waits()), Endpoint("http://a", 1)
    replaced = ServerReplaced(endpoint.url)
    tries.failed(endpoint, replaced)
    tries.check(replaced)
    tries.failed(endpoint, replaced)
    with pytest.raises(AttemptsUsedUp, match="2 attempts failed"):
        tries.check(replaced)
