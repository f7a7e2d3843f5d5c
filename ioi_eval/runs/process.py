"""A process that judges for another one, on servers of its own: their messages, and its side.

The other process has the rows and the journal, finds servers, and decides which of equal programs is judged.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Generic, TypeVar

import msgspec

from ioi_eval.engines.contract import JobsWait, Profile, ServerChanged
from ioi_eval.engines.registry import EngineChoice, Opening, open_engine
from ioi_eval.judge import Judge
from ioi_eval.judge.sharing import Sharing, Turn
from ioi_eval.model import errors
from ioi_eval.model.doing import Doing, doing
from ioi_eval.model.errors import IoiEvalError
from ioi_eval.model.languages import find
from ioi_eval.model.options import JudgeOptions
from ioi_eval.model.secret import Secret
from ioi_eval.model.values import Problem, Submission, SubmissionResult, Value
from ioi_eval.runs.engine import servers_found, stop, telling_of_servers, watch
from ioi_eval.runs.events import Event, ServersFound, ServersNow
from ioi_eval.runs.scorer import Scorer
from ioi_eval.store import Store

_TELLING = 1.0  # seconds between two words on slots and steps
_LOOK = 1.0  # seconds between two looks at which servers are ours
_LENGTH = 4  # bytes in front of each message


# --- what is told ------------------------------------------------------------------------------------


class ToProcess(Value, tag=True):
    """A message to the process that judges. `call` numbers what is answered."""


class Open(ToProcess):
    choice: EngineChoice
    servers: tuple[str, ...]
    store: tuple[str, int | None]
    how: JudgeOptions
    packages: tuple[str, ...]


class UseServers(ToProcess):
    servers: tuple[str, ...]


class Learn(ToProcess):
    """A problem, which later messages name."""

    name: str
    problem: Problem


class Try(ToProcess):
    call: int
    problem: str
    submission: Submission
    code: bytes | None  # of the submission, which may hold halves of surrogate pairs
    trusted: bool
    shares: bool  # `Ready` asks before its program is judged


class GoOn(ToProcess):
    call: int
    found: SubmissionResult | None  # of an equal program; None: this one is to be judged


class Prepare(ToProcess):
    call: int
    problem: str


class Promise(ToProcess):
    call: int
    packages: tuple[str, ...]
    languages: tuple[str, ...]


class Lack(ToProcess):
    call: int
    problem: str
    language: str | None


class Drop(ToProcess):
    call: int


class FromProcess(Value, tag=True):
    """A message of the process that judges."""


class IsOpen(FromProcess):
    found: ServersFound
    profile: Profile
    unreachable: tuple[str, ...] = ()  # why other processes could not begin


class Ready(FromProcess):
    """A program is built, and is this one."""

    call: int
    identity: str


class Again(FromProcess):
    """A submission is built anew."""

    call: int


class Answered(FromProcess):
    call: int
    result: SubmissionResult | None


class Raised(FromProcess):
    """An error of ours. `call` is None where the process cannot begin."""

    call: int | None
    kind: str
    args: tuple[str, ...]
    told: Mapping[str, Any]

    @classmethod
    def of(cls, call: int | None, error: IoiEvalError) -> Raised:
        of_ours = next(kind for kind in type(error).__mro__ if getattr(errors, kind.__name__, None) is kind)
        return cls(call=call, kind=of_ours.__name__, args=tuple(map(str, error.args)), told=vars(error))

    def error(self) -> IoiEvalError:
        kind: type[IoiEvalError] = getattr(errors, self.kind)
        error = kind.__new__(kind, *self.args)
        vars(error).update(self.told)
        return error


class Now(FromProcess):
    slots: int
    steps: Mapping[int, tuple[str, str]]  # by call: kind and place


class Told(FromProcess):
    """News of servers: one of these fields is set."""

    changed: ServerChanged | None = None
    waits: JobsWait | None = None
    now: ServersNow | None = None


_Said = TypeVar("_Said")


def _encoded(value: Any) -> str:
    if isinstance(value, Secret):
        return str(value)
    raise NotImplementedError(f"{type(value).__name__} does not travel")


class Channel(Generic[_Said]):
    """Messages over a socket. They come in the order in which they were sent."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, hears: Any) -> None:
        """`hears`: the kinds of messages that come."""
        self._reader, self._writer = reader, writer
        self._encoder = msgspec.msgpack.Encoder(enc_hook=_encoded)
        self._decoder = msgspec.msgpack.Decoder(hears, dec_hook=lambda kind, value: kind(value))

    def send(self, message: ToProcess | FromProcess) -> None:
        """Send without waiting: what is under way is bounded by slots."""
        body = self._encoder.encode(message)
        self._writer.write(len(body).to_bytes(_LENGTH, "big") + body)

    async def receive(self) -> _Said | None:
        """Return None when the other side is gone."""
        try:
            size = int.from_bytes(await self._reader.readexactly(_LENGTH), "big")
            message: _Said = self._decoder.decode(await self._reader.readexactly(size))
        except (asyncio.IncompleteReadError, ConnectionError):
            return None
        return message

    async def close(self) -> None:
        self._writer.close()
        with contextlib.suppress(ConnectionError):
            await self._writer.wait_closed()


def to_process(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> Channel[FromProcess]:
    return Channel(reader, writer, IsOpen | Ready | Again | Answered | Raised | Now | Told)


def from_process(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> Channel[ToProcess]:
    return Channel(reader, writer, Open | UseServers | Learn | Try | GoOn | Prepare | Promise | Lack | Drop)


# --- the process that judges -------------------------------------------------------------------------


class Named:
    """The servers that the other process names."""

    every: float | None = _LOOK

    def __init__(self, urls: tuple[str, ...]) -> None:
        self.urls = frozenset(urls)

    def __str__(self) -> str:
        return ",".join(sorted(self.urls))

    async def find(self) -> frozenset[str]:
        return self.urls


Openers = Callable[[Open, Named], Opening]


def on_servers(asked: Open, servers: Named) -> Opening:
    """Make the engine of these servers, and the one here for what we trust."""
    store = Store(Path(asked.store[0]), asked.store[1])
    return open_engine(asked.choice, store, asked.packages, servers=servers)


async def serve(channel: Channel[ToProcess], opener: Openers = on_servers) -> None:
    """Judge until the other side is gone."""
    inbox = asyncio.Queue[ToProcess]()

    async def read() -> None:
        while (message := await channel.receive()) is not None:
            inbox.put_nowait(message)

    reading, working = asyncio.create_task(read()), asyncio.create_task(_work(channel, inbox, opener))
    try:
        await asyncio.wait((reading, working), return_when=asyncio.FIRST_COMPLETED)
    finally:
        await stop(reading, working)
        await channel.close()


async def _work(channel: Channel[ToProcess], inbox: asyncio.Queue[ToProcess], opener: Openers) -> None:
    asked = await inbox.get()
    assert isinstance(asked, Open), "nothing comes before"
    servers = Named(asked.servers)
    engine, trusted = opener(asked, servers)

    def tell(event: Event) -> None:
        match event:
            case ServerChanged():
                channel.send(Told(changed=event))
            case JobsWait():
                channel.send(Told(waits=event))
            case ServersNow():
                channel.send(Told(now=event))

    watch(engine, tell)
    store = Store(Path(asked.store[0]), asked.store[1])
    async with contextlib.AsyncExitStack() as opened:
        try:
            scorer = await opened.enter_async_context(
                Scorer(engine, store=store, options=asked.how, trusted=trusted)
            )
            found = servers_found(engine)
        except IoiEvalError as error:
            channel.send(Raised.of(None, error))
            await asyncio.Event().wait()  # until it is read
        assert found is not None, "it has servers"
        channel.send(IsOpen(found=found, profile=await engine.profile()))
        await opened.enter_async_context(telling_of_servers(engine, tell))
        async with asyncio.TaskGroup() as group:
            await _Calls(channel, scorer.judge, servers, group).take(inbox)


class _Calls:
    """The calls of the other process."""

    def __init__(
        self, channel: Channel[ToProcess], judge: Judge, servers: Named, group: asyncio.TaskGroup
    ) -> None:
        self._channel, self._judge, self._servers, self._group = channel, judge, servers, group
        self._problems = dict[str, Problem]()
        self._tasks = dict[int, asyncio.Task[None]]()
        self._asking = dict[int, asyncio.Future[SubmissionResult | None]]()
        self._doing = dict[int, Doing]()

    async def take(self, inbox: asyncio.Queue[ToProcess]) -> None:
        self._group.create_task(self._tell_of_now())
        while True:
            match await inbox.get():
                case UseServers(servers=urls):
                    self._servers.urls = frozenset(urls)
                case Learn(name=name, problem=problem):
                    self._problems[name] = problem
                case Try() as asked:
                    self._begin(asked.call, self._tried(asked))
                case Prepare(call=call, problem=name):
                    self._begin(call, self._judge.prepare(self._problems[name]))
                case Promise(call=call, packages=packages, languages=languages):
                    self._begin(call, self._judge.keep_promises(packages, languages))
                case Lack() as asked:
                    self._begin(asked.call, self._lacking(asked))
                case GoOn(call=call, found=found) if (asking := self._asking.get(call)) is not None:
                    asking.set_result(found)
                case Drop(call=call) if (task := self._tasks.get(call)) is not None:
                    task.cancel()

    def _begin(self, call: int, work: Any) -> None:
        self._tasks[call] = self._group.create_task(self._answered(call, work))

    async def _answered(self, call: int, work: Any) -> None:
        try:
            self._channel.send(Answered(call=call, result=await work))
        except IoiEvalError as error:
            self._channel.send(Raised.of(call, error))
        finally:
            del self._tasks[call]

    async def _tried(self, asked: Try) -> SubmissionResult:
        problem, submission = (
            self._problems[asked.problem],
            msgspec.structs.replace(
                asked.submission,
                code=None if asked.code is None else asked.code.decode(errors="surrogatepass"),
            ),
        )
        judge = self._judge.but(trusts=True) if asked.trusted else self._judge
        sharing = _Asking(asked.call, self._channel, self._asking) if asked.shares else None
        with doing("", problem.id) as now:
            self._doing[asked.call] = now
            try:
                return await judge.but(sharing=sharing).judge(problem, submission)
            finally:
                del self._doing[asked.call]

    async def _lacking(self, asked: Lack) -> None:
        language = None if asked.language is None else find(asked.language)
        for error in await self._judge.lacks(self._problems[asked.problem], language):
            raise error

    async def _tell_of_now(self) -> None:
        while True:
            await asyncio.sleep(_TELLING)
            steps = {call: now.step for call, now in self._doing.items()}
            places = {call: (step.kind, step.where) for call, step in steps.items()}
            self._channel.send(Now(slots=self._judge.slots, steps=places))


class _Asking(Sharing):
    """A submission's place in the line that the other process keeps."""

    def __init__(
        self,
        call: int,
        channel: Channel[ToProcess],
        asking: dict[int, asyncio.Future[SubmissionResult | None]],
    ) -> None:
        super().__init__()
        self._call, self._channel, self._asking, self._begun = call, channel, asking, False

    @contextlib.contextmanager
    def turn(self, problem: str) -> Iterator[Turn]:
        if self._begun:
            self._channel.send(Again(call=self._call))
        self._begun = True
        yield Turn(problem)

    async def once(self, turn: Turn, identity: str, judge: Any) -> SubmissionResult:
        self._asking[self._call] = asyncio.get_running_loop().create_future()
        try:
            self._channel.send(Ready(call=self._call, identity=identity))
            found = await self._asking[self._call]
        finally:
            del self._asking[self._call]
        return await judge() if found is None else found


def main(descriptor: str) -> None:
    """Judge for the process at the other end of a socket."""

    async def judge() -> None:
        streams = await asyncio.open_unix_connection(sock=socket.socket(fileno=int(descriptor)))
        await serve(from_process(*streams))

    asyncio.run(judge())
