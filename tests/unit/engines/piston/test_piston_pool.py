"""The slots of a fleet: which job gets which slot, and that no slot is lost."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Iterator

import pytest
from still_fleets import StillFleet
from support.clocks import FastForwardClock
from support.waiting import settle

from ioi_eval.engines.fleet import Endpoint, JobAttempts, NoFittingEndpoint, State, WaitTimes
from ioi_eval.errors import EngineOverloaded, EngineUnavailable
from ioi_eval.model.errors import AttemptsUsedUp, ServerReplaced


def fleet_with(
    *slots: int, total: int | None = None, patience: float = 60.0
) -> tuple[StillFleet, list[Endpoint[int]]]:
    fleet = StillFleet(WaitTimes(max_outage=patience), total=total)
    return fleet, [fleet.join(f"http://host-{index}", slot_count) for index, slot_count in enumerate(slots)]


async def test_least_loaded_endpoint_is_used_first() -> None:
    fleet, (a, b, c) = fleet_with(3, 3, 3)
    first = [await fleet.take_slot() for _ in range(3)]
    assert first == [a, b, c]
    fleet.release_slot(b)
    assert await fleet.take_slot() is b
    fleet.release_slot(c)
    fleet.release_slot(a)
    assert [await fleet.take_slot() for _ in range(2)] == [c, a]
    assert [endpoint.busy for endpoint in (a, b, c)] == [1, 1, 1]


async def test_slots_are_granted_in_order_of_request() -> None:
    fleet, [a, b] = fleet_with(1, 1)
    assert fleet.slots == 2
    await fleet.take_slot(), await fleet.take_slot()
    waiting = [asyncio.create_task(fleet.take_slot()) for _ in range(3)]
    await settle()
    assert fleet.busy == 2 and not any(task.done() for task in waiting)
    fleet.release_slot(b)
    assert await waiting[0] is b
    fleet.release_slot(a)
    assert await waiting[1] is a and not waiting[2].done()
    waiting[2].cancel()
    await settle()
    fleet.release_slot(a)
    assert fleet.busy == 1 and await fleet.take_slot() is a


async def test_total_option_limits_slots_of_all_endpoints_together() -> None:
    fleet, _ = fleet_with(4, 4, total=3)
    assert fleet.slots == 3
    slots = [await fleet.take_slot() for _ in range(3)]
    last = asyncio.create_task(fleet.take_slot())
    await settle()
    assert not last.done() and fleet.busy == 3
    fleet.release_slot(slots[0])
    await last
    assert fleet.busy == 3


async def test_avoided_endpoint_is_used_only_without_alternative() -> None:
    fleet, [a, b] = fleet_with(2, 2)
    assert [await fleet.take_slot([a]) for _ in range(2)] == [b, b]
    patient = asyncio.create_task(fleet.take_slot([a]))
    await settle()
    assert not patient.done() and a.busy == 0
    assert await fleet.take_slot() is a  # jobs for other servers overtake the job that waits for b
    fleet.put(b, State.DOWN)
    assert await patient is a  # no other server is left


async def test_preferred_endpoint_with_a_free_slot_is_used() -> None:
    fleet, [a, b] = fleet_with(2, 2)
    assert await fleet.take_slot() is a
    assert await fleet.take_slot(preferred_endpoint=a) is a, "although b has fewer jobs"
    assert await fleet.take_slot(preferred_endpoint=a) is b, "a is full, and the job does not wait for it"


async def test_job_with_busy_preferred_endpoint_keeps_its_queue_position() -> None:
    fleet, [a, b] = fleet_with(1, 1)
    assert {await fleet.take_slot(), await fleet.take_slot()} == {a, b}
    first, second = (
        asyncio.create_task(fleet.take_slot(preferred_endpoint=a)),
        asyncio.create_task(fleet.take_slot()),
    )
    await settle()
    fleet.release_slot(b)
    assert await first is b and not second.done()
    fleet.release_slot(b)
    assert await second is b


async def test_preferred_endpoint_that_does_not_fit_or_is_avoided_is_not_used() -> None:
    fleet, [a, b] = fleet_with(1, 1)
    assert await fleet.take_slot([a], preferred_endpoint=a) is b
    waiting = asyncio.create_task(fleet.take_slot(preferred_endpoint=a, is_suitable=lambda each: each is b))
    await settle()
    assert not waiting.done()
    fleet.release_slot(b)
    assert await waiting is b


# --- endpoints that do not fit -----------------------------------------------------------------------


async def test_endpoint_that_does_not_fit_is_never_used() -> None:
    fleet, [a, b] = fleet_with(1, 1)
    only_b = lambda each: each is b  # noqa: E731
    assert await fleet.take_slot([b], is_suitable=only_b) is b, "only the avoided server fits"
    waiting = asyncio.create_task(fleet.take_slot(is_suitable=only_b))
    await settle()
    assert not waiting.done() and fleet.take_free_slot(is_suitable=only_b) is None
    assert await fleet.take_slot() is a, "later jobs overtake the waiting job"
    fleet.release_slot(a)
    fleet.release_slot(b)
    assert await waiting is b


async def test_job_without_fitting_endpoint_fails_after_the_maximum_wait() -> None:
    """Jobs of other endpoints continue."""
    clock, events = FastForwardClock(), list[object]()
    fleet = StillFleet(WaitTimes(max_outage=300.0), tell=events.append)
    a, b = fleet.join("http://a", 1), fleet.join("http://b", 1)
    b.reason = "HTTP 500"
    fleet.put(b, State.DOWN)
    waiting = [asyncio.create_task(fleet.take_slot(is_suitable=lambda each: each is b)) for _ in range(2)]
    await clock.advance(290.0)
    assert not any(task.done() for task in waiting) and len(events) == 1
    assert await fleet.take_slot() is a
    patient = asyncio.create_task(fleet.take_slot())
    await clock.advance(11.0)
    for task in waiting:
        with pytest.raises(
            EngineUnavailable, match=r"that can do this job .* 300 s; gone: http://b \(HTTP 500"
        ):
            await task
    later = asyncio.create_task(fleet.take_slot(is_suitable=lambda each: each is b))
    await clock.advance(0.1)
    assert isinstance(later.exception(), EngineUnavailable), "the maximum wait counts once per outage"
    assert not patient.done()
    fleet.release_slot(a)
    assert await patient is a


async def test_waiting_job_fails_if_recovered_endpoint_does_not_fit() -> None:
    fleet, [a] = fleet_with(1)
    fleet.put(a, State.DOWN)
    waiting = asyncio.create_task(fleet.take_slot(is_suitable=lambda each: False))
    other = asyncio.create_task(fleet.take_slot())
    await settle()
    fleet.put(a, State.HEALTHY)
    with pytest.raises(NoFittingEndpoint):
        await waiting
    assert await other is a


async def test_avoided_endpoints_are_used_if_all_are_avoided() -> None:
    fleet, [a, b] = fleet_with(1, 1)
    assert {await fleet.take_slot([a, b]), await fleet.take_slot([a, b])} == {a, b}


async def test_endpoint_on_trial_gets_one_job() -> None:
    fleet, [a] = fleet_with(3)
    fleet.put(a, State.TRIAL)
    assert await fleet.take_slot() is a
    waiting = [asyncio.create_task(fleet.take_slot()) for _ in range(2)]
    await settle()
    assert a.busy == 1
    fleet.put(a, State.HEALTHY)
    assert [await task for task in waiting] == [a, a]


async def test_endpoint_down_or_gone_gets_no_new_job() -> None:
    fleet, [a, b] = fleet_with(2, 2)
    assert await fleet.take_slot() is a
    fleet.put(a, State.GONE)
    assert [await fleet.take_slot(), await fleet.take_slot()] == [b, b]
    fleet.release_slot(a)
    waiting = asyncio.create_task(fleet.take_slot())
    await settle()
    assert not waiting.done() and (a.busy, fleet.busy) == (0, 2)
    fleet.release_slot(b)
    assert await waiting is b


async def test_joining_endpoint_serves_waiting_jobs() -> None:
    fleet, _ = fleet_with()
    waiting = [asyncio.create_task(fleet.take_slot()) for _ in range(3)]
    await settle()
    joined = fleet.join("http://new", 2)
    assert [await waiting[0], await waiting[1]] == [joined, joined]
    fleet.release_slot(joined)
    assert await waiting[2] is joined


async def test_waiting_job_fails_if_no_endpoint_is_usable() -> None:
    fleet, [a] = fleet_with(1, patience=0.01)
    await fleet.take_slot()
    waiting = asyncio.create_task(fleet.take_slot())
    await settle()
    fleet.put(a, State.DOWN)
    with pytest.raises(EngineUnavailable, match=r"no server has been usable for 0\.01 s; gone: http://"):
        await waiting
    with pytest.raises(EngineUnavailable):
        await fleet.take_slot()
    fleet.put(a, State.HEALTHY)
    fleet.release_slot(a)
    assert await fleet.take_slot() is a


async def test_jobs_waiting_without_healthy_endpoint_fail_at_the_same_time() -> None:
    """Later jobs fail together with the first job, and new jobs fail at once, until a server recovers."""
    fleet, [a] = fleet_with(1, patience=0.05)
    fleet.put(a, State.DOWN)
    first = asyncio.create_task(fleet.take_slot())
    await asyncio.sleep(0.03)
    waiting = [asyncio.create_task(fleet.take_slot()) for _ in range(20)]
    with pytest.raises(EngineUnavailable):
        await first
    await settle()
    assert all(isinstance(waiter.exception(), EngineUnavailable) for waiter in waiting)
    late = asyncio.create_task(fleet.take_slot())
    await settle()
    assert isinstance(late.exception(), EngineUnavailable)
    fleet.put(a, State.TRIAL)
    assert await fleet.take_slot() is a


async def test_waiting_job_uses_endpoint_that_recovers_in_time() -> None:
    fleet, [a] = fleet_with(1, patience=60.0)
    fleet.put(a, State.DOWN)
    waiting = asyncio.create_task(fleet.take_slot())
    await settle()
    fleet.put(a, State.HEALTHY)
    assert await waiting is a


async def test_job_waiting_for_busy_endpoint_has_no_timeout() -> None:
    fleet, [a] = fleet_with(1, patience=0.0)
    await fleet.take_slot()
    waiting = asyncio.create_task(fleet.take_slot())
    await asyncio.sleep(0.01)
    assert not waiting.done()
    fleet.release_slot(a)
    assert await waiting is a


# --- outages ----------------------------------------------------------------------------------------


async def on_trial(fleet: StillFleet, endpoint: Endpoint[int]) -> None:
    """Let an endpoint on trial get a job, fail it and go down."""
    fleet.put(endpoint, State.TRIAL)
    await settle()
    assert endpoint.busy == 1
    endpoint.failed_trials += 1
    fleet.put(endpoint, State.DOWN)
    fleet.release_slot(endpoint)


async def test_failed_endpoint_trials_do_not_restart_the_maximum_wait() -> None:
    """The wait is reported only once."""
    clock, events = FastForwardClock(), list[str]()
    fleet = StillFleet(WaitTimes(max_outage=300.0), tell=lambda event: events.append("outage"))
    endpoint = fleet.join("http://host", 4)
    fleet.put(endpoint, State.DOWN)
    endpoint.reason = "HTTP 500"
    waiting = [asyncio.create_task(fleet.take_slot()) for _ in range(20)]
    await settle()
    for _ in range(9):
        await clock.advance(30.0)
        await on_trial(fleet, endpoint)
    assert sum(not task.done() for task in waiting) == 11 and events == ["outage"]
    await clock.advance(31.0)
    failed = [task.exception() for task in waiting if task.done() and task.exception()]
    assert len(failed) == 11 and "300 s; gone: http://host (HTTP 500)" in str(failed[0]), failed
    fleet.put(endpoint, State.TRIAL)
    fleet.put(endpoint, State.HEALTHY)
    fleet.put(endpoint, State.DOWN)
    later = asyncio.create_task(fleet.take_slot())
    await settle()
    await clock.advance(290.0)
    assert not later.done() and events == ["outage"] * 2
    await clock.advance(11.0)
    assert isinstance(later.exception(), EngineUnavailable)


async def test_wait_for_endpoints_has_no_timeout_while_a_healthy_one_is_busy() -> None:
    clock = FastForwardClock()
    fleet, [a] = fleet_with(1, patience=300.0)
    await fleet.take_slot()
    waiting = asyncio.create_task(fleet.take_slot())
    await clock.advance(10_000.0)
    assert not waiting.done()
    fleet.put(a, State.DOWN)
    fleet.release_slot(a)
    await clock.advance(290.0)
    fleet.put(a, State.TRIAL)
    assert await waiting is a
    other = asyncio.create_task(fleet.take_slot())
    await clock.advance(10_000.0)
    assert not other.done()
    a.failed_trials += 1
    fleet.put(a, State.DOWN)
    await clock.advance(11.0)
    assert isinstance(other.exception(), EngineUnavailable)


async def test_closed_pool_fails_waiting_jobs() -> None:
    fleet, _ = fleet_with()
    waiting = asyncio.create_task(fleet.take_slot())
    await settle()
    await fleet.close()
    for asking in (waiting, fleet.take_slot()):
        with pytest.raises(EngineUnavailable, match="closed"):
            await asking


async def test_slot_of_cancelled_job_is_given_to_the_next_job() -> None:
    fleet, [a] = fleet_with(1)
    await fleet.take_slot()
    first, second = (asyncio.create_task(fleet.take_slot()) for _ in range(2))
    await settle()
    fleet.release_slot(a)  # assigned to the first job, whose task has not woken up yet
    first.cancel()
    await asyncio.wait({first})
    assert first.cancelled()
    assert await asyncio.wait_for(second, 60) is a and fleet.busy == 1


async def test_job_cancelled_when_pool_closes_counts_as_cancelled() -> None:
    fleet, _ = fleet_with()
    waiting = asyncio.create_task(fleet.take_slot())
    await settle()
    await fleet.close()
    waiting.cancel()
    await asyncio.wait({waiting})
    assert waiting.cancelled() and fleet.busy == 0


def doings(seed: int) -> Iterator[tuple[str, int]]:
    choice = random.Random(seed)
    for _ in range(400):
        yield (
            choice.choice(("take", "take", "give", "give", "cancel", "down", "up")),
            choice.randrange(1 << 16),
        )


@pytest.mark.parametrize("seed", range(20))
async def test_random_pool_operations_lose_or_duplicate_no_slot(seed: int) -> None:
    fleet, endpoints = fleet_with(1, 2, 3, total=5)
    asking: list[asyncio.Task[Endpoint[int]]] = []
    taken_slots: list[Endpoint[int]] = []
    for doing, number in doings(seed):
        some = endpoints[number % 3]
        if doing == "take":
            asking.append(asyncio.create_task(fleet.take_slot([some] if number % 5 == 0 else [])))
        elif doing == "give" and taken_slots:
            fleet.release_slot(taken_slots.pop(number % len(taken_slots)))
        elif doing == "cancel" and asking:
            asking[number % len(asking)].cancel()
        elif doing in ("down", "up"):
            fleet.put(some, State.DOWN if doing == "down" else State.HEALTHY)
        if number % 2:
            await asyncio.sleep(0)
        taken_slots += [task.result() for task in asking if task.done() and not task.cancelled()]
        asking = [task for task in asking if not task.done()]
        assert fleet.busy == sum(endpoint.busy for endpoint in endpoints) <= 5
        assert all(endpoint.busy <= endpoint.slots for endpoint in endpoints)
    for task in asking:
        task.cancel()
    await asyncio.gather(*asking, return_exceptions=True)
    for endpoint in (*taken_slots, *(task.result() for task in asking if not task.cancelled())):
        fleet.release_slot(endpoint)
    assert fleet.busy == 0
    for endpoint in endpoints:
        fleet.put(endpoint, State.HEALTHY)
    assert [await fleet.take_slot() for _ in range(5)] and fleet.busy == 5


# --- the tries of a job ------------------------------------------------------------------------------


async def test_overloaded_replies_end_a_job_after_the_maximum_wait() -> None:
    clock, attempts = FastForwardClock(), JobAttempts(1, WaitTimes(max_outage=300.0))
    full, endpoint = EngineOverloaded("no room"), Endpoint("http://a")
    for _ in range(4):
        attempts.add_failure(endpoint, full)
        attempts.raise_if_exhausted(full)
        await clock.advance(90.0)
    attempts.add_failure(endpoint, full)
    with pytest.raises(
        AttemptsUsedUp, match=r"5 attempts failed \(retry rule `server`\), on http://a, the last one: no room"
    ):
        attempts.raise_if_exhausted(full)


async def test_second_server_replacement_counts_as_an_attempt() -> None:
    attempts, endpoint = JobAttempts(1, WaitTimes()), Endpoint("http://a")
    replaced = ServerReplaced(endpoint.url)
    attempts.add_failure(endpoint, replaced)
    attempts.raise_if_exhausted(replaced)
    attempts.add_failure(endpoint, replaced)
    with pytest.raises(AttemptsUsedUp, match="2 attempts failed"):
        attempts.raise_if_exhausted(replaced)
