"""Servers that execute jobs and fail them, because of a full disk or a missing tool."""

from __future__ import annotations

from typing import Any

import pytest
from aiohttp import web
from piston_loopback import QUICK, Loopback, always, endpoints_of, engine_on, fine, in_turn, job, told
from support.servers import Patience
from support.waiting import until

from ioi_eval.engines.contract import Change, ServerChanged, ServerEvent
from ioi_eval.engines.fleet import State
from ioi_eval.engines.jobs.run import execute
from ioi_eval.errors import AttemptsUsedUp, BrokenReply, JobRejected
from ioi_eval.model.errors import MachineAtFault
from ioi_eval.models import Ending, Job, JobResult

LONG_PAUSE = Patience(
    **{name: getattr(QUICK, name) for name in QUICK.__struct_fields__}
    | {"first_pause": 60.0, "longest_pause": 60.0}
)


async def full_disk(server: Loopback, request: web.Request, received_job: Job) -> web.StreamResponse:
    return told(JobResult(run=Ending(stderr="No space left on device", code=92)))


async def check(result: JobResult) -> JobResult:
    if result.run.code:
        raise MachineAtFault(result.run.stderr, result)
    return result


async def test_job_failed_by_full_disk_is_retried_on_another_server() -> None:
    async with Loopback(full_disk) as full, Loopback() as good:
        heard: list[ServerEvent] = []
        async with engine_on(full, good, patience=LONG_PAUSE) as engine:
            engine.on_event = heard.append
            for number in range(12):
                assert (await engine.execute(job(str(number)), check)).run.stdout == str(number)
            assert len(full.executed) == 3 and endpoints_of(engine)[full.url].state is State.DOWN
            [event] = heard
            assert isinstance(event, ServerChanged) and event.change is Change.LOST
            assert (event.url, event.reason) == (full.url, "No space left on device")


async def test_server_that_fails_every_second_job_gets_no_jobs_for_a_while() -> None:
    """Builds fail on the server, but small jobs do not."""
    answers = [fine if number % 2 else full_disk for number in range(30)]
    async with (
        Loopback(in_turn(*answers)) as full,
        Loopback() as good,
        engine_on(full, good, patience=LONG_PAUSE) as engine,
    ):
        for number in range(30):
            assert (await engine.execute(job(str(number)), check)).run.stdout == str(number)
        assert endpoints_of(engine)[full.url].state is State.DOWN and len(full.executed) < 12


async def test_server_that_fails_every_fourth_job_keeps_getting_jobs() -> None:
    answers = [full_disk if number % 4 == 0 else fine for number in range(40)]
    async with (
        Loopback(in_turn(*answers)) as failing,
        Loopback() as good,
        engine_on(failing, good, patience=LONG_PAUSE) as engine,
    ):
        for number in range(40):
            await engine.execute(job(str(number)), check)
        assert endpoints_of(engine)[failing.url].state is State.HEALTHY


async def test_job_failed_by_all_servers_is_tried_once_on_each() -> None:
    """The failure is no evidence against the servers, whose other jobs continue. The error names them."""
    async with (
        Loopback(full_disk) as a,
        Loopback(full_disk) as b,
        engine_on(a, b, patience=LONG_PAUSE) as engine,
    ):
        for _ in range(5):
            with pytest.raises(
                MachineAtFault, match=r"^No space left on device \(on http:.*, http:.*\)$"
            ) as raised:
                await engine.execute(job(), check)
            assert raised.value.answer.run.code == 92
        assert len(a.executed) == len(b.executed) == 5
        assert {endpoint.state for endpoint in engine.endpoints} == {State.HEALTHY}
        with pytest.raises(MachineAtFault) as failed:
            await execute(engine, job(), attempts=4, phase="judging", check=check)
        assert failed.value.answer.run.code == 92, "the error contains the reply"


async def test_truncated_reply_is_retried_on_another_server() -> None:
    async def whole(result: JobResult) -> JobResult:
        if result.run.code:
            raise BrokenReply("a build job sent no complete program")
        return result

    async with (
        Loopback(full_disk) as full,
        Loopback() as good,
        engine_on(full, good) as engine,
    ):
        assert (await engine.execute(job("1"), whole)).run.stdout == "1"
        assert (await engine.execute(job("2"), whole)).run.stdout == "2"
        good.answer = full_disk
        with pytest.raises(
            AttemptsUsedUp, match=r"2 attempts failed, on http.*, the last one: .* no complete program"
        ):
            await engine.execute(job("3"), whole)


async def test_server_on_trial_is_paused_again_after_one_useless_reply() -> None:
    async with Loopback(full_disk) as full, Loopback() as good, engine_on(full, good) as engine:
        for number in range(6):
            await engine.execute(job(str(number)), check)
        endpoint: Any = endpoints_of(engine)[full.url]
        await until(lambda: endpoint.state is State.TRIAL)
        count_before, inspections_before = len(full.executed), endpoint.inspections
        while len(full.executed) == count_before:
            await engine.execute(job(), check)
        assert endpoint.inspections == inspections_before + 1, "the server was suspended for a short time"
        full.answer = fine
        await until(lambda: endpoint.state is State.TRIAL)
        while endpoint.state is not State.HEALTHY:
            await engine.execute(job(), check)


async def test_server_that_alone_refuses_jobs_gets_no_jobs_for_a_while() -> None:
    refusing = always(400, b'{"message": "files is required as an array"}')
    refusals = 0
    async with (
        Loopback(refusing) as bad,
        Loopback() as good,
        engine_on(bad, good, patience=LONG_PAUSE) as engine,
    ):
        for number in range(12):
            try:
                await engine.execute(job(str(number)))
            except JobRejected:
                refusals += 1
        assert refusals == len(bad.executed) == 3
        assert endpoints_of(engine)[bad.url].state is State.DOWN
