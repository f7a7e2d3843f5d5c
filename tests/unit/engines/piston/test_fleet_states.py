"""The states of a fleet's endpoints:

one transition table, shown in the docs, and a log line and an event for each change.
"""

from __future__ import annotations

import logging
import random
from collections.abc import Callable

import pytest
from still_fleets import StillFleet, path
from support.waiting import until

from ioi_eval.engines.contract import Change, ServerChanged, ServerEvent
from ioi_eval.engines.fleet import Cause, EndpointUnfit, State, WaitTimes
from ioi_eval.errors import AttemptsUsedUp, BrokenReply, EngineOverloaded, EngineUnavailable
from ioi_eval.model.retry import RECOVERY, SERVER
from ioi_eval.models import Blob, Job, JobFile

JOB = Job(files=(JobFile(name="run", content=Blob.of("true")),))


def test_every_endpoint_state_is_reachable_from_every_state() -> None:
    for start in State:
        for end in State:
            path(start, end)


@pytest.mark.parametrize(
    ("state", "cause"), [(State.GONE, Cause.FIT), (State.HEALTHY, Cause.FIT), (State.DOWN, Cause.ANSWERED)]
)
async def test_state_change_outside_table_raises_key_error(state: State, cause: Cause) -> None:
    fleet = StillFleet()
    endpoint = fleet.join("http://a", 1)
    fleet.put(endpoint, state)
    with pytest.raises(KeyError):
        fleet.change_endpoint_state(endpoint, cause, None)
    await fleet.close()


class Failing(StillFleet):
    """Endpoints whose jobs fail while `error` is set."""

    error: Exception | None = None

    async def inspect(self, address: str) -> int:
        return 1

    async def send(self, endpoint: object, job: Job) -> Job:
        if self.error is not None:
            raise self.error
        return job


def log_messages(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [
        record.getMessage()
        for record in caplog.records
        if " is " in record.getMessage() and "it was" in record.getMessage()
    ]


async def test_each_change_of_state_is_one_log_line_and_one_event(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, logger="ioi_eval.engines.fleet")
    heard = list[ServerEvent]()
    wait_times = WaitTimes(first_wait=0.001, longest_wait=0.001, first_pause=0.001, longest_pause=0.001)
    fleet = Failing(wait_times, tell=heard.append)
    fleet.has_begun = True
    fleet.join("http://a", 1)
    fleet.error = EngineUnavailable("HTTP 500")
    with pytest.raises(AttemptsUsedUp):
        await fleet.execute(JOB)
    fleet.error = None
    assert await fleet.execute(JOB) is JOB
    fleet.found_addresses = frozenset({"http://a"})
    fleet.update_endpoints(frozenset())
    changes = [event.change for event in heard if isinstance(event, ServerChanged)]
    assert changes == [Change.JOINED, Change.LOST, Change.TRIAL, Change.BACK, Change.GONE]
    assert log_messages(caplog) == [
        "http://a is healthy, it was new (inspection: fit)",
        "http://a is down, it was healthy (failed jobs, or no answer): HTTP 500",
        "http://a is on trial, it was down (inspection: fit)",
        "http://a is healthy, it was on trial (a job was answered)",
        "http://a is gone, it was healthy (not found)",
    ]
    await fleet.close()


@pytest.mark.parametrize(
    "error", [EngineUnavailable("HTTP 500"), BrokenReply("half a reply"), EngineOverloaded("HTTP 503")]
)
async def test_endpoint_gets_no_jobs_after_three_failures_of_any_kind(error: Exception) -> None:
    fleet = Failing(WaitTimes(first_wait=0.001, longest_wait=0.001, first_pause=600.0, longest_pause=600.0))
    fleet.error = error
    bad, good = fleet.join("http://bad", 1), fleet.join("http://good", 1)
    fleet.put(good, State.DOWN)
    for _ in range(3):
        fleet.count_failure(bad, error)  # type: ignore[arg-type]
    assert (bad.state, bad.errors, bad.reason) == (State.DOWN, 3, str(error))
    await fleet.close()


async def test_endpoint_that_is_unfit_after_a_failure_is_left_out_and_inspected_until_it_is_fit() -> None:
    class Changed(Failing):
        unfit = True

        async def inspect(self, address: str) -> int:
            if self.unfit:
                raise EndpointUnfit("it has another compiler")
            return 1

    heard = list[ServerEvent]()
    fleet = Changed(WaitTimes(first_pause=0.001, longest_pause=0.001), tell=heard.append)
    fleet.has_begun = True
    endpoint = fleet.join("http://a", 1)
    fleet.suspend_endpoint(endpoint, Change.LOST, "HTTP 500")
    await until(lambda: endpoint.state is State.LEFT_OUT, every=0.001)
    assert fleet.exclusion_reasons == {"http://a": "it has another compiler"}
    fleet.unfit = False
    await until(lambda: endpoint.state is State.TRIAL, every=0.001)
    changes = [event.change for event in heard if isinstance(event, ServerChanged)]
    assert changes == [Change.JOINED, Change.LOST, Change.LEFT_OUT, Change.TRIAL]
    await fleet.close()


@pytest.mark.parametrize("attempt", [1, 2, 6, 7, 10_000])
def test_waits_of_fleet_follow_retry_rules(attempt: int) -> None:
    def seeded_wait(wait: Callable[[int], float], number: int) -> float:
        random.seed(1)
        return wait(number)

    wait_times = WaitTimes()
    assert seeded_wait(wait_times.choose_wait_s, attempt) == seeded_wait(SERVER.delay_s_after, attempt)
    assert seeded_wait(wait_times.choose_pause_s, attempt - 1) == seeded_wait(RECOVERY.delay_s_after, attempt)


async def test_endpoint_rate_counts_answered_jobs() -> None:
    fleet = StillFleet()
    endpoint = fleet.join("http://a", 1)
    assert endpoint.server_state.rate == 0
    for _ in range(5):
        await fleet.execute(JOB)
    assert endpoint.server_state.rate > 0
    await fleet.close()
