"""Several processes judge for one run: rows as of one process, and what becomes of one that goes."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any, Self

import msgspec
import pytest
from support.waits import settle, until

from ioi_eval import InputError, Store, load_problems, score_dump
from ioi_eval.engines.contract import Change, JobsWait, OnServer, ServerChanged, Servers, ignore
from ioi_eval.engines.registry import Opening
from ioi_eval.model.errors import EngineUnavailable
from ioi_eval.model.job import Job, JobResult
from ioi_eval.model.values import ServerState
from ioi_eval.runs import EngineChoice, Event, RunOptions, ServersFound, ServersNow
from ioi_eval.runs import processes as module
from ioi_eval.runs.process import (
    Answered,
    Channel,
    FromProcess,
    Lack,
    Learn,
    Named,
    Open,
    from_process,
    serve,
    to_process,
)
from ioi_eval.runs.processes import Judges, Process, share_out
from ioi_eval.store.resources import examples
from ioi_eval.testing import Broken, FakeEngine

pytestmark = pytest.mark.once

TWO = EngineChoice(text="http://a:2000,http://b:2000")


def outcome(test: Any) -> Any:
    if "broken" in test.source:
        return Broken(reason="the checker fell over")
    return {"w": 0.0, "h": 0.5, "s": "signal"}.get(test.source[:1], 1.0)


class Fake(FakeEngine):
    """An engine that judges by programs' texts, on the servers that it is given."""

    tell: OnServer = staticmethod(ignore)

    def __init__(self, named: Named | None = None) -> None:
        super().__init__(
            outcome,
            compile_errors=lambda source: "refused" if "refused" in source else None,
            slots=len(named.urls) if named is not None else 2,
        )
        self.named, self.refuses = named, False

    async def execute(self, job: Job) -> JobResult:
        """Managers break on what a submission says."""
        result = await super().execute(job)
        said = result.run.stdout.replace('"failure"', '"provoked":true,"failure"')
        return msgspec.structs.replace(result, run=msgspec.structs.replace(result.run, stdout=said))

    async def __aenter__(self) -> Self:
        if self.refuses:
            raise EngineUnavailable("no server answers")
        return self

    def servers(self) -> Servers:
        urls = sorted(self.named.urls) if self.named is not None else []
        states = tuple(ServerState(url=url, state="healthy", slots=1) for url in urls)
        return Servers(found=len(urls), slots=len(urls), used=dict.fromkeys(urls, ()), standings=states)


class Processes:
    """Stands for the processes: each is a task here, with a socket between as if it were one."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.engines, self.tasks = list[Fake](), list[asyncio.Task[None]]()
        self.asked = list[Open]()
        self.opened: Callable[[Fake], object] = lambda engine: None
        monkeypatch.setattr(module, "spawned", self.spawned)

    def servers(self, number: int) -> int:
        named = self.engines[number].named
        return 0 if named is None else len(named.urls)

    @contextlib.asynccontextmanager
    async def spawned(self) -> AsyncIterator[Channel[FromProcess]]:
        def opener(asked: Open, named: Named) -> Opening:
            self.asked.append(asked)
            self.engines.append(engine := Fake(named))
            self.opened(engine)
            return Opening(engine)

        ours, theirs = socket.socketpair()
        there = from_process(*await asyncio.open_unix_connection(sock=theirs))
        task = asyncio.create_task(serve(there, opener))
        self.tasks.append(task)
        channel = to_process(*await asyncio.open_unix_connection(sock=ours))
        try:
            yield channel
        finally:
            await channel.close()
            await asyncio.wait([task])


@pytest.fixture
def spawned(monkeypatch: pytest.MonkeyPatch) -> Processes:
    return Processes(monkeypatch)


def dump(folder: Path) -> Path:
    """Equal submissions, equal programs by different texts, all verdicts, failures and halves of pairs."""
    codes = ["right", "wrong", "half", "signal", "refused", "broken", "right", "\ud83d right", None, "wrong"]
    rows = [
        {"id": f"{name}-{turn}-{number}", "problem_id": name, "code": code, "model": "m", "turn": turn}
        for turn in range(2)
        for name in ("lanterns", "garland")
        for number, code in enumerate([*codes, f"right {turn}"])
    ]
    (folder / "dump.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / "problems").mkdir(exist_ok=True)
    for name in ("lanterns", "garland"):
        if not (folder / "problems" / name).exists():
            (folder / "problems" / name).symlink_to(examples() / "problems" / name)
    return folder / "dump.jsonl"


async def scored(folder: Path, name: str, engine: Any, number: int = 1, **told: Any) -> tuple[Any, list[Any]]:
    call = await score_dump(
        dump(folder),
        folder / "problems",
        out=folder / name,
        engine=engine,
        options=RunOptions(client_processes=number),
        store=Store(folder / "store"),
        **told,
    )
    rows = map(json.loads, (folder / name / "results.jsonl").read_text().splitlines())
    return call, sorted(rows, key=lambda row: str(row["key"]))


async def test_rows_are_those_of_one_process(tmp_path: Path, spawned: Processes) -> None:
    alone, rows = await scored(tmp_path, "alone", Fake())
    events = list[Event]()
    together, same = await scored(tmp_path, "together", TWO, 2, on_event=events.append)
    assert rows == same and len(rows) > 30
    assert together.call == alone.call and together.failures == alone.failures and len(alone.failures) == 4
    assert together.summary.models == alone.summary.models
    assert [len(engine.runs) > 0 for engine in spawned.engines] == [True, True]
    [found] = [event for event in events if isinstance(event, ServersFound)]
    assert (found.servers, found.used, found.slots) == (2, 2, 2)
    last = [event for event in events if isinstance(event, ServersNow)][-1]
    assert [one.url for one in last.servers] == ["http://a:2000", "http://b:2000"]
    assert all(task.done() for task in spawned.tasks)


async def test_a_right_solution_tells_who_breaks_a_manager(tmp_path: Path, spawned: Processes) -> None:
    (tmp_path / "dump.jsonl").write_text('{"id": "0", "problem_id": "cairn", "code": "broken"}\n')
    for name, engine, number in (("alone", Fake(), 1), ("together", TWO, 2)):
        call = await score_dump(
            tmp_path / "dump.jsonl",
            examples() / "problems",
            out=tmp_path / name,
            engine=engine,
            options=RunOptions(client_processes=number),
            store=Store(tmp_path / "store"),
        )
        assert call.failures == {} and (call.call.judged, call.call.failed) == (1, 0), name


async def test_jobs_at_a_time_are_shared_out_and_none_is_lost(tmp_path: Path, spawned: Processes) -> None:
    await scored(tmp_path, "run", msgspec.structs.replace(TWO, slots=3), 2)
    assert {asked.choice.slots for asked in spawned.asked} == {1, 2}


async def test_equal_programs_are_judged_once_whoever_built_them(tmp_path: Path, spawned: Processes) -> None:
    """Comments make other submissions and the same program, here by the rule of the fake engine: its text."""
    _, rows = await scored(tmp_path, "together", TWO, 2)
    ran = sum(len(engine.runs) for engine in spawned.engines)
    judged = [row for row in rows if row["program_sha256"] and not row["repeats"]]
    assert ran == len(judged) + 4  # those that failed, each tried for itself


async def test_a_process_that_dies_fails_what_it_had_in_hand(tmp_path: Path, spawned: Processes) -> None:
    """None can take its place here."""

    def dies(engine: Fake) -> None:
        engine.refuses = len(spawned.engines) > 2
        if engine is spawned.engines[0]:
            run = engine.execute

            async def execute(job: Any) -> Any:
                if engine.runs:
                    spawned.tasks[0].cancel()
                    await asyncio.sleep(60)
                return await run(job)

            engine.execute = execute  # type: ignore[method-assign]

    spawned.opened = dies
    call, rows = await scored(tmp_path, "run", TWO, 2)
    ended = [why for why in call.failures.values() if "ended" in why]
    assert 1 <= len(ended) <= 4 and len(rows) + len(call.failures) == 44
    assert spawned.servers(1) == 2
    spawned.opened = lambda engine: None
    again, rows = await scored(tmp_path, "run", TWO, 2)
    assert len(again.failures) == 4
    _, same = await scored(tmp_path, "alone", Fake())
    for row in (*rows, *same):
        del row["repeats"]  # the others were judged first
    assert rows == same


def replaced(log: pytest.LogCaptureFixture) -> int:
    return log.text.count("another one took its place")


async def test_another_process_takes_the_place_of_one_that_dies(
    tmp_path: Path, spawned: Processes, caplog: pytest.LogCaptureFixture
) -> None:
    """The third one judges, with a server of its own; rows that the first had in hand have failed.

    Until the third can judge, the second may get all that is at hand, and keeps that.
    """
    shares = list[tuple[int, int]]()

    def dies(engine: Fake) -> None:
        number, run = len(spawned.engines) - 1, engine.execute

        async def execute(job: Any) -> Any:
            if number == 0 and engine.runs:
                spawned.tasks[0].cancel()
                await asyncio.sleep(60)
            if number == 1 and len(engine.runs) > 2:
                await until(lambda: replaced(caplog))
            result = await run(job)
            if number == 2:
                await settle(100)
                shares.append((spawned.servers(1), spawned.servers(2)))
            return result

        engine.execute = execute  # type: ignore[method-assign]

    spawned.opened = dies
    async with asyncio.timeout(60):
        call, rows = await scored(tmp_path, "run", TWO, 2)
    assert shares[0] == (1, 1)
    ended = [why for why in call.failures.values() if "ended" in why]
    assert 1 <= len(ended) <= 4 and len(rows) + len(call.failures) == 44
    assert all(task.done() for task in spawned.tasks)


async def test_a_process_is_replaced_as_often_as_there_are_processes(
    tmp_path: Path, spawned: Processes, caplog: pytest.LogCaptureFixture
) -> None:
    """The second one goes on; the first, third and fourth die with their first job."""
    died = set[int]()

    def dies(engine: Fake) -> None:
        number, run = len(spawned.engines) - 1, engine.execute

        async def execute(job: Any) -> Any:
            if number != 1:
                died.add(number)
                spawned.tasks[number].cancel()
                await asyncio.sleep(60)
            await until(lambda: died and replaced(caplog) == min(len(died), 2))  # the next job is another's
            return await run(job)

        engine.execute = execute  # type: ignore[method-assign]

    spawned.opened = dies
    async with asyncio.timeout(60):
        call, rows = await scored(tmp_path, "run", TWO, 2)
    assert len(spawned.engines) == 4 and len(rows) + len(call.failures) == 44
    assert died == {0, 2, 3} and spawned.servers(1) == 2


async def test_submissions_go_where_a_server_works(tmp_path: Path, spawned: Processes) -> None:
    """The first process loses its server with a job in hand, and tells that jobs wait."""
    lost, events = asyncio.Event(), list[Event]()

    def loses(engine: Fake) -> None:
        if engine is spawned.engines[0]:
            run = engine.execute

            async def execute(job: Any) -> Any:
                if engine.runs and not lost.is_set():
                    lost.set()
                    change = {"url": "http://a:2000", "change": Change.LOST, "usable": 0, "slots": 0}
                    engine.tell(ServerChanged(**change))
                    engine.tell(JobsWait(seconds=300))
                    await asyncio.sleep(60)
                return await run(job)

            engine.execute = execute  # type: ignore[method-assign]

    spawned.opened = loses
    async with asyncio.timeout(30):
        call, rows = await scored(tmp_path, "run", TWO, 2, on_event=events.append)
    assert lost.is_set() and len(call.failures) == 4 and len(rows) == 40
    [change] = [event for event in events if isinstance(event, ServerChanged)]
    assert (change.usable, change.slots) == (1, 1)
    assert not any(isinstance(event, JobsWait) for event in events)


async def test_a_call_that_is_cancelled_leaves_whole_rows_and_no_process(
    tmp_path: Path, spawned: Processes
) -> None:
    hanging = asyncio.Event()

    def hangs(engine: Fake) -> None:
        run = engine.execute

        async def execute(job: Any) -> Any:
            if len(engine.runs) > 2:
                hanging.set()
                await asyncio.sleep(60)
            return await run(job)

        engine.execute = execute  # type: ignore[method-assign]

    spawned.opened = hangs
    call = asyncio.create_task(scored(tmp_path, "run", TWO, 2))
    await hanging.wait()
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    assert all(task.done() for task in spawned.tasks)
    spawned.opened = lambda engine: None
    _, rows = await scored(tmp_path, "run", TWO, 2)
    assert rows == (await scored(tmp_path, "alone", Fake()))[1]


@pytest.mark.parametrize("engine", [EngineChoice(), EngineChoice(text="ray"), FakeEngine()])
async def test_engines_without_servers_have_one_process(tmp_path: Path, engine: Any) -> None:
    with pytest.raises(InputError) as caught:
        await scored(tmp_path, "run", engine, 2)
    assert caught.value.field == "client_processes" and caught.value.remedy
    assert not (tmp_path / "run").exists()


def test_servers_are_shared_out_and_few_move() -> None:
    parts = [set[str](), set[str](), set[str]()]
    share_out("abcdefg", parts)
    assert sorted(map(len, parts)) == [2, 2, 3] and set().union(*parts) == set("abcdefg")
    before = [set(part) for part in parts]
    share_out("abcdefgh", parts)
    assert all(old <= part for old, part in zip(before, parts, strict=True))
    gone = set("abcdefgh") - parts[0]
    share_out(gone, parts)
    assert sorted(map(len, parts)) == [1, 2, 2] and set().union(*parts) == gone
    share_out("a", parts)
    assert sorted(map(len, parts)) == [0, 0, 1]


class Silent:
    """A channel to a process that answers nothing by itself."""

    def __init__(self) -> None:
        self.sent = list[Any]()

    def send(self, message: Any) -> None:
        self.sent.append(message)

    async def receive(self) -> None:
        await asyncio.Event().wait()

    async def close(self) -> None: ...


async def test_what_is_lacking_is_asked_of_another_process_where_one_has_no_server() -> None:
    channels = [Silent(), Silent()]
    first, second = processes = [Process(channel, lambda *_: None) for channel in channels]  # type: ignore[arg-type]
    first.usable = second.usable = 1
    problem = load_problems(examples() / "problems" / "lanterns")["lanterns"]
    asking = asyncio.create_task(Judges(processes).lacks(problem, None))
    await asyncio.sleep(0)
    assert isinstance(channels[0].sent[-1], Lack)
    first.usable = 0
    first.withdraw()
    await settle()
    asked = channels[1].sent[-1]
    assert isinstance(asked, Lack)
    second._hear(Answered(call=asked.call, result=None))
    assert await asking == ()
    for process in processes:
        await process.close()


async def test_a_process_is_told_the_solution_that_stands_in_where_a_manager_breaks() -> None:
    """Without it, what one process blames on a submission would be unscored by several."""
    process = Process(channel := Silent(), lambda *_: None)  # type: ignore[arg-type]
    for name, told in (("cairn", 1), ("lanterns", 0)):
        problem = load_problems(examples() / "problems" / name)[name]
        with process.call(problem):
            (learn,) = [message for message in channel.sent if isinstance(message, Learn)][-1:]
        assert len(learn.problem.solutions) == told
        assert all(solution.expected == "correct" for solution in learn.problem.solutions)
    await process.close()
