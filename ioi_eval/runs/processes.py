"""Several processes that judge for this one, which has the rows, the journal and what is shared.

Each has servers of its own. One that has none that works gives its submissions to others.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterator, Sequence
from itertools import count
from pathlib import Path
from typing import Any

import msgspec

from ioi_eval.engines.cluster import differing
from ioi_eval.engines.contract import Change, Condition
from ioi_eval.engines.piston.discovery import Discovery
from ioi_eval.engines.registry import EngineChoice
from ioi_eval.judge.programs import runs_code
from ioi_eval.judge.sharing import Sharing
from ioi_eval.model.digests import problem_digest
from ioi_eval.model.doing import under_way
from ioi_eval.model.errors import EngineError, EngineUnavailable, InputError, JudgeFailure
from ioi_eval.model.languages import Language
from ioi_eval.model.options import JudgeOptions
from ioi_eval.model.values import Problem, ServerState, Submission, SubmissionResult
from ioi_eval.rules.expectations import right_solution
from ioi_eval.runs.engine import stop
from ioi_eval.runs.events import OnEvent, ServersFound, ServersNow
from ioi_eval.runs.process import (
    Again,
    Answered,
    Channel,
    Drop,
    FromProcess,
    GoOn,
    IsOpen,
    Lack,
    Learn,
    Now,
    Open,
    Prepare,
    Promise,
    Raised,
    Ready,
    Told,
    ToProcess,
    Try,
    UseServers,
    to_process,
)
from ioi_eval.store import Store

_ENDING = 30.0  # seconds that a process may take to clean up
_BEGIN = "import sys; sys.path.append(sys.argv[1]); from ioi_eval.runs.process import main; main(sys.argv[2])"
_LOG = logging.getLogger(__name__)


def share_out(found: Collection[str], parts: Sequence[set[str]]) -> None:
    """Have each server in one part, none of which has two more than another. As few as can be move."""
    for part in parts:
        part.intersection_update(found)
    for url in sorted(set(found).difference(*parts)):
        min(parts, key=len).add(url)
    while len(most := max(parts, key=len)) > len(least := min(parts, key=len)) + 1:
        least.add(moved := max(most))
        most.discard(moved)


# --- one of them -------------------------------------------------------------------------------------


class _Elsewhere(Exception):
    """Raised at a submission that another process is to judge."""


class _Anew(Exception):
    """Raised at a submission that is built anew."""


class _Call:
    """A question to a process, until it is answered."""

    def __init__(self) -> None:
        self.doing = under_way()
        self.said = asyncio.Queue[FromProcess | Exception]()

    async def next(self) -> FromProcess:
        message = await self.said.get()
        if isinstance(message, Raised):
            raise message.error()
        if isinstance(message, Exception):
            raise message
        return message


class Process:
    """A process that judges, as this one sees it."""

    def __init__(self, channel: Channel[FromProcess], tell: Callable[[Process, Told], None]) -> None:
        self._channel, self._tell, self._numbers = channel, tell, count(1)
        self._calls = dict[int, _Call]()
        self._known = set[str]()
        self._opened: asyncio.Future[IsOpen] = asyncio.get_running_loop().create_future()
        self.asked: Open | None = None
        self.servers = set[str]()
        self.states: tuple[ServerState, ...] = ()
        self.slots, self.usable, self.alive = 1, 0, True
        self._listening = asyncio.create_task(self._listen())

    @property
    def load(self) -> float:
        return len(self._calls) / max(1, self.slots)

    async def open(self, asked: Open) -> IsOpen:
        self.asked = asked
        self.send(asked)
        opened = await self._opened
        self.slots, self.usable = opened.found.slots, opened.found.used
        return opened

    def send(self, message: ToProcess) -> None:
        if self.alive:
            self._channel.send(message)

    async def _listen(self) -> None:
        try:
            while (message := await self._channel.receive()) is not None:
                self._hear(message)
        finally:
            self.give_up()

    def _hear(self, message: FromProcess) -> None:
        match message:
            case IsOpen():
                self._opened.set_result(message)
            case Raised(call=None):
                self._opened.set_exception(message.error())
            case Now(slots=slots, steps=steps):
                self.slots = slots
                for number, (kind, where) in steps.items():
                    if (call := self._calls.get(number)) is not None and call.doing is not None:
                        call.doing.note(kind, where)
            case Told():
                self._tell(self, message)
            case Ready(call=number) | Again(call=number) | Answered(call=number) | Raised(call=int(number)):
                if (call := self._calls.get(number)) is not None:
                    call.said.put_nowait(message)

    def give_up(self) -> None:
        """Judge without it: it ended, or none of its servers answers."""
        if not self.alive:
            return
        self.alive, self.usable, gone = False, 0, "the process that judged it ended"
        if not self._opened.done():
            self._opened.set_exception(EngineUnavailable(gone))
        for call in self._calls.values():
            call.said.put_nowait(JudgeFailure(gone, phase="judging"))
        self._tell(self, Told())

    def withdraw(self) -> None:
        """Have other processes judge what this one has in hand."""
        for call in self._calls.values():
            call.said.put_nowait(_Elsewhere())

    @contextlib.contextmanager
    def call(self, problem: Problem | None = None) -> Iterator[tuple[int, str, _Call]]:
        """Begin a question: its number, and the name of its problem there."""
        number, call, name = next(self._numbers), _Call(), ""
        if problem is not None and (name := f"{problem_digest(problem)} {problem.source}") not in self._known:
            self._known.add(name)
            # If a manager or a checker fails, a right solution shows who is to blame.
            judges = problem.manager is not None or problem.checker.kind.is_program
            right = right_solution(problem) if judges else None
            told = () if right is None else (right,)
            bare = msgspec.structs.replace(problem, solutions=told, statement=None, document="")
            self.send(Learn(name=name, problem=bare))
        if not self.alive:
            raise _Elsewhere
        self._calls[number] = call
        try:
            yield number, name, call
        except BaseException:
            self.send(Drop(call=number))
            raise
        finally:
            del self._calls[number]

    async def close(self) -> None:
        await self._channel.close()
        await stop(self._listening)
        if self._opened.done() and not self._opened.cancelled():
            self._opened.exception()  # who asked has it already


# --- the judge that they are together ----------------------------------------------------------------


class Judges:
    """The processes as one judge. Results are those of one process, whichever judges."""

    def __init__(
        self, processes: Sequence[Process], sharing: Sharing | None = None, *, trusts: bool = False
    ) -> None:
        self._processes, self._sharing, self._trusts = processes, sharing, trusts

    def but(self, **changes: Any) -> Judges:
        """Return a judge by the same processes that differs in `sharing` or `trusts`, as of `Judge`."""
        return Judges(self._processes, **{"sharing": self._sharing, "trusts": self._trusts, **changes})

    @property
    def slots(self) -> int:
        return max(1, sum(each.slots for each in self._processes if each.usable))

    def _free(self) -> Process:
        alive = [each for each in self._processes if each.alive]
        if not alive:
            raise JudgeFailure("no process that judges is left", phase="judging")
        return min([each for each in alive if each.usable] or alive, key=lambda each: each.load)

    async def keep_promises(self, packages: Collection[str], languages: Collection[str]) -> None:
        """Raise InputError where submissions in these languages may count on packages that are missing."""
        asked = {"packages": tuple(packages), "languages": tuple(languages)}
        for process in [each for each in self._processes if each.alive]:
            with contextlib.suppress(_Elsewhere), process.call() as (number, _, call):
                process.send(Promise(call=number, **asked))
                await call.next()

    async def prepare(self, problem: Problem) -> None:
        """Build what all submissions need. Raises for a problem that cannot be judged."""
        while True:
            process = self._free()
            with contextlib.suppress(_Elsewhere), process.call(problem) as (number, name, call):
                process.send(Prepare(call=number, problem=name))
                await call.next()
                return

    async def lacks(
        self, problem: Problem, language: Language | None
    ) -> tuple[JudgeFailure | InputError, ...]:
        """Return the first reason why no program in a language can be judged on a problem here."""
        spoken = None if language is None else language.name
        while True:
            process = self._free()
            with contextlib.suppress(_Elsewhere), process.call(problem) as (number, name, call):
                process.send(Lack(call=number, problem=name, language=spoken))
                try:
                    await call.next()
                except (JudgeFailure, InputError) as error:
                    return (error,)
                return ()

    async def judge(self, problem: Problem, submission: Submission) -> SubmissionResult:
        """Return what the submission is worth. JudgeFailure where that cannot be said."""
        while True:
            process = self._free()
            with contextlib.suppress(_Elsewhere), process.call(problem) as (number, name, call):
                result = await self._judged(process, number, name, call, problem, submission)
                return msgspec.structs.replace(result, key=submission.key)

    async def _judged(
        self, process: Process, number: int, name: str, call: _Call, problem: Problem, submission: Submission
    ) -> SubmissionResult:
        sharing = self._sharing if runs_code(problem, submission) else None
        code = None if submission.code is None else submission.code.encode(errors="surrogatepass")
        bare = msgspec.structs.replace(submission, key="", code=None, row={})
        with contextlib.ExitStack() as turns:
            turn = turns.enter_context(sharing.turn(problem.id)) if sharing is not None else None
            process.send(
                Try(
                    call=number,
                    problem=name,
                    submission=bare,
                    code=code,
                    trusted=self._trusts,
                    shares=sharing is not None,
                )
            )

            async def judged() -> SubmissionResult:
                process.send(GoOn(call=number, found=None))
                return _done(await call.next())

            while True:
                message = await call.next()
                if sharing is not None and turn is not None and isinstance(message, Ready):
                    with contextlib.suppress(_Anew):
                        result = await sharing.once(turn, message.identity, judged)
                        if not result.repeats:
                            return result
                        process.send(GoOn(call=number, found=result))
                        return _done(await call.next())
                elif not isinstance(message, Again):
                    return _done(message)
                if sharing is not None:
                    turns.close()
                    turn = turns.enter_context(sharing.turn(problem.id))


def _done(message: FromProcess) -> SubmissionResult:
    if isinstance(message, Again):
        raise _Anew
    assert isinstance(message, Answered) and message.result is not None, "that is the answer"
    return message.result


# --- all of them -------------------------------------------------------------------------------------


@contextlib.asynccontextmanager
async def spawned() -> AsyncIterator[Channel[FromProcess]]:
    """Start a process, which ends with this one, however that ends. Keys of a terminal do not reach it."""
    ours, theirs = socket.socketpair()
    with theirs:
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            *("-P", "-c", _BEGIN, str(Path(__file__).parents[2]), str(theirs.fileno())),
            pass_fds=(theirs.fileno(),),
            stdin=asyncio.subprocess.DEVNULL,
            start_new_session=True,
        )
    channel = to_process(*await asyncio.open_unix_connection(sock=ours))
    try:
        yield channel
    finally:
        await channel.close()
        try:
            async with asyncio.timeout(_ENDING):
                await process.wait()
        except TimeoutError:
            process.kill()
            await process.wait()


class Crew:
    """The processes of a run while it goes on, and what is told of their servers."""

    def __init__(self, tell: OnEvent) -> None:
        self.tell, self.processes = tell, list[Process]()
        self._ended = asyncio.Queue[Process]()

    def hear(self, process: Process, news: Told) -> None:
        """Pass on what a process tells, as if all servers were of one engine."""
        if process not in self.processes:  # it is only being opened
            return
        if (changed := news.changed) is not None:
            process.usable, process.slots = changed.usable, max(1, changed.slots)
            moved = changed.change is Change.GONE and any(changed.url in each.servers for each in self.alive)
            if not moved:
                usable = [each for each in self.processes if each.usable]
                sums = {
                    "usable": sum(each.usable for each in usable),
                    "slots": sum(each.slots for each in usable),
                }
                self.tell(msgspec.structs.replace(changed, **sums))
        if news.now is not None:
            process.states = news.now.servers
            self.tell(ServersNow(servers=self._states()))
        if not process.alive:
            self._ended.put_nowait(process)
            self.share_out(set().union(*(each.servers for each in self.processes)))
        if any(each.usable for each in self.processes):
            for each in self.processes:
                if not each.usable:
                    each.withdraw()
        elif news.waits is not None:
            self.tell(news.waits)

    @property
    def alive(self) -> list[Process]:
        return [each for each in self.processes if each.alive]

    def _states(self) -> tuple[ServerState, ...]:
        states = dict[str, ServerState]()
        for process in self.processes:
            for state in process.states:
                if state.url in process.servers or state.url not in states:
                    states[state.url] = state
        return tuple(states[url] for url in sorted(states))

    def share_out(self, found: Collection[str]) -> None:
        """Give each process its servers: those that it has, as far as can be."""
        alive = self.alive
        before = [frozenset(each.servers) for each in alive]
        for process in self.processes:
            if not process.alive:
                process.servers.clear()
        if alive:
            share_out(found, [each.servers for each in alive])
        for process, had in zip(alive, before, strict=True):
            if process.servers != had:
                process.send(UseServers(servers=tuple(sorted(process.servers))))

    async def replace(self, begin: Callable[[Process], Awaitable[Process]]) -> None:
        """Have new processes judge in the place of those that end, as often as there are processes."""
        ended = self._ended = asyncio.Queue()  # without those that could not begin
        for _ in range(len(self.processes)):
            gone = await ended.get()
            try:
                process = await begin(gone)
            except (EngineError, InputError, OSError) as error:
                _LOG.warning("a process that judged ended, and none could take its place: %s", error)
                continue
            _LOG.warning("a process that judged ended: another one took its place")
            self.processes.append(process)
            self.share_out(set().union(*(each.servers for each in self.alive)))

    async def keep_up(self, discovery: Discovery) -> None:
        """Look for servers for ever. What was known stands where a look fails."""
        while discovery.every is not None:
            await asyncio.sleep(discovery.every)
            with contextlib.suppress(EngineError, InputError):
                self.share_out(await discovery.find())


@contextlib.asynccontextmanager
async def judges(
    choice: EngineChoice,
    number: int,
    how: JudgeOptions,
    store: Store,
    packages: Collection[str],
    tell: OnEvent,
) -> AsyncIterator[Judges]:
    """Open so many processes, each on its share of the servers; at most one for each server."""
    discovery = choice.discovery()
    if not (found := await discovery.find()):
        raise EngineUnavailable(f"no server was found by {discovery}")
    size = min(number, len(found), choice.slots or number)
    if size < number:
        _LOG.info("%d processes judge: there are no more servers, or jobs at a time", size)
    crew, parts = Crew(tell), [set[str]() for _ in range(size)]
    share_out(found, parts)
    async with contextlib.AsyncExitStack() as open_processes:

        async def begun(part: set[str]) -> Process:
            process = Process(await open_processes.enter_async_context(spawned()), crew.hear)
            open_processes.push_async_callback(process.close)
            process.servers = part
            return process

        async def in_place_of(ended: Process) -> Process:
            parts = [*(set(each.servers) for each in crew.alive), set[str]()]
            share_out(await discovery.find(), parts)
            if ended.asked is None or not parts[-1]:
                raise EngineUnavailable("no server is left for it")
            process = await begun(set())  # the others have these servers until it is open
            asked = msgspec.structs.replace(ended.asked, servers=tuple(sorted(parts[-1])))
            together([*opened, await process.open(asked)], choice)
            return process

        for part in parts:
            crew.processes.append(await begun(part))
        launch = msgspec.structs.replace(choice.launch, neighbours=choice.launch.neighbours * size)
        asked = [
            Open(
                choice=msgspec.structs.replace(
                    choice,
                    slots=None if choice.slots is None else (choice.slots + number_of) // size,
                    launch=launch,
                ),
                servers=tuple(sorted(part)),
                store=(str(store.root), store.limit),
                how=how,
                packages=tuple(packages),
            )
            for number_of, part in enumerate(parts)
        ]
        opened = await _opened(crew, asked)
        tell(together(opened, choice))
        meanwhile = [
            asyncio.create_task(crew.keep_up(discovery)),
            asyncio.create_task(crew.replace(in_place_of)),
        ]
        try:
            yield Judges(crew.processes)
        finally:
            await stop(*meanwhile)


async def _opened(crew: Crew, asked: Sequence[Open]) -> list[IsOpen]:
    """Return what those say that could be opened. The others' servers are tried again by these."""
    answers = await asyncio.gather(
        *(process.open(each) for process, each in zip(crew.processes, asked, strict=True)),
        return_exceptions=True,
    )
    errors = [answer for answer in answers if isinstance(answer, BaseException)]
    for error in errors:
        if len(errors) == len(answers) or not isinstance(error, EngineUnavailable):
            raise error
    for process, answer in zip(crew.processes, answers, strict=True):
        if isinstance(answer, BaseException):
            process.give_up()
    opened = [answer for answer in answers if isinstance(answer, IsOpen)]
    why = tuple(map(str, errors))
    return [msgspec.structs.replace(opened[0], unreachable=why), *opened[1:]] if why else opened


def together(opened: Sequence[IsOpen], choice: EngineChoice) -> ServersFound:
    """Return what one engine would say of all servers. InputError where results would not be the same."""
    profiles = [each.profile for each in opened]
    unlike = differing([each.toolchains for each in profiles])
    lacking = [name for name in unlike if not all(name in each.toolchains for each in profiles)]
    same = {(each.architecture, each.runtimes, each.confines, each.strict) for each in profiles}
    if lacking or len(same) > 1 or (unlike and choice.same_compiler):
        what = f"in {', '.join(unlike)}" if unlike else "in architecture or runtimes"
        raise InputError(
            f"the servers differ {what}",
            where=choice.text,
            remedy="Give all of them the same image, or leave client_processes=... out",
        )
    found = [each.found for each in opened]
    differences = {line.name: line for each in found for line in each.differences}
    for name in unlike:
        versions = ", ".join(sorted({each.toolchains[name].version for each in profiles}))
        line = Condition(name=f"{name} differs", ok=None, detail=versions)
        differences.setdefault(line.name, line)
    return ServersFound(
        servers=sum(each.servers for each in found),
        used=sum(each.used for each in found),
        slots=sum(each.slots for each in found),
        unreachable=tuple(
            reason for each in opened for reason in (*each.unreachable, *each.found.unreachable)
        ),
        left_out={url: why for each in found for url, why in each.left_out.items()},
        differences=tuple(differences.values()),
    )
