"""A request to a server: the time that it may take, and its answer or a typed error."""

from __future__ import annotations

import ipaddress
import socket
import zlib
from collections.abc import Collection, Mapping
from http import HTTPStatus
from types import TracebackType
from typing import TYPE_CHECKING, Self
from urllib.parse import urlsplit

import msgspec

from ioi_eval.engines.cluster import Endpoint, LateAnswer, NoAnswer, Waits
from ioi_eval.engines.jobs.piston_api import MINIMAL, ForeignReply, decode_reply, encode_request, words_of
from ioi_eval.engines.piston.discovery import endpoint_url
from ioi_eval.engines.piston.identity import HEADER
from ioi_eval.engines.piston.reports import WORKER, EndpointReport
from ioi_eval.engines.threads import to_its_end
from ioi_eval.model.errors import (
    BrokenReply,
    EngineError,
    EngineUnavailable,
    InputError,
    JobRejected,
    ServerReplaced,
)
from ioi_eval.model.job import Job, JobResult
from ioi_eval.model.secret import Secret
from ioi_eval.model.values import Value
from ioi_eval.rules.limits import asked, hard_stop

if TYPE_CHECKING:
    import aiohttp

# --- how long an answer may take, and how long to wait before the next try ---------------------------


_SHELLS = frozenset({"ioi_eval", "bash"})
_SLOWEST = 1 << 20  # bytes of a body that get through in a second at the least


class Patience(Waits):
    """Seconds. The defaults are for clusters; tests have less time."""

    margin: float = 60.0  # beyond what a job may take: for its turn there, and for the reply
    connect: float = 10.0
    health: float = 10.0  # for the answer to a question of health
    silence: float = 30.0  # of one that has jobs, until it is asked


class ServerTimes(Value):
    """A server's limits for stages of jobs that set none; ms."""

    compile: int = 60_000
    run: int = 60_000
    strict: bool = False  # its wall clock runs on while programs wait for a processor; ours does not


class HttpEndpoint(Endpoint):
    """An endpoint that jobs are sent to by HTTP."""

    def __init__(self, url: str) -> None:
        super().__init__(url, slots=1)
        self.report, self.times, self.contents = EndpointReport(url=url), ServerTimes(), 0

    def learn(self, report: EndpointReport, *, slots: int, times: ServerTimes) -> None:
        """Take over what a probe found, also after another server was started in its place."""
        before, self.tools = self.report.toolchains, report.toolchains
        new = [t for name, t in self.tools.items() if before.get(name, t).identity != t.identity]
        others = ", ".join(f"{tool.command}: {tool.version}" for tool in new)
        self.news = f"it has another {others}" if new else ""
        self.report, self.slots, self.times = report, slots, times
        self.contents = report.contents  # bytes that it keeps of what jobs bring; 0: nothing

    def fits(self, job: Job) -> bool:
        """Return True if the server has the toolchains that the job was made for."""
        return all(
            command not in self.report.toolchains or self.report.toolchains[command].identity in identities
            for command, identities in job.made_for.items()
        )


def at_its_pace(job: Job, times: ServerTimes) -> Job:
    """The job as a server is to be asked for it: for time that passes where it counts that, not idling."""
    if not times.strict:
        return job
    compiling, running = job.compile_timeout, job.run_timeout
    return msgspec.structs.replace(
        job,
        compile_timeout=compiling and asked(compiling, times.compile),
        run_timeout=running and asked(running, times.run),
    )


def stages(job: Job, times: ServerTimes) -> int:
    """Return the ms that a job's compile and run may take together, as the server was asked for it."""
    # The packages that start our scripts compile only where there is one for it.
    compiles = job.runtime not in _SHELLS or any(file.name == "compile" for file in job.files)
    return (job.compile_timeout or times.compile) * compiles + (job.run_timeout or times.run)


def time_for(job: Job, body: int, times: ServerTimes, patience: Patience) -> float:
    """Seconds: compile, run, the way there and back, and a margin.

    `job` is as the server was asked for it. A client that gives up earlier than the server sends the job
    again while the first still runs.
    """
    longest = stages(job, times)
    return (longest if times.strict else hard_stop(longest)) / 1000 + body / _SLOWEST + patience.margin


# --- which request brings a token ---------------------------------------------------------------------


_FORMS = "Write TOKEN, for workers alone, or ADDRESS TOKEN for each other server: http://judge:2000 TOKEN"


class Tokens:
    """The token for workers of ours, and those for servers that the user named, which reach no others.

    `text`: TOKEN, or ADDRESS TOKEN, or several of these with white space between them.
    """

    def __init__(self, text: str = "") -> None:
        self._of_workers = Secret()
        self._named: dict[str, Secret] = {}
        self._workers: dict[str, bool] = {}  # by address, as they said themselves
        words = text.split()
        while words:
            word = words.pop(0)
            if "://" not in word:
                self._refuse(bool(self._of_workers), "it holds two tokens for workers")
                self._of_workers = Secret(word)
                continue
            self._refuse(not words or "://" in words[0], "an address in it has no token")
            self._named[endpoint_url(word)] = Secret(words.pop(0))

    def _refuse(self, wrong: bool, problem: str) -> None:
        if wrong:
            raise InputError(problem, where="the token for servers", remedy=_FORMS)

    def must_ask(self, url: str) -> bool:
        """Return True if a server must say who it is before it may get a token."""
        return bool(self._of_workers) and url not in self._named and url not in self._workers

    def told(self, url: str, hello: bytes) -> None:
        """Note what a server answered at `/`, where workers want no token."""
        self._workers[url] = WORKER in words_of(hello)

    def forget(self, url: str) -> None:
        """Note that there may be another server at that address now."""
        self._workers.pop(url, None)

    def of(self, url: str) -> Secret:
        """Return the token for a server; empty: it gets none."""
        if url in self._named:
            return self._named[url]
        return self._of_workers if self._workers.get(url) else Secret()

    def out_of(self, text: str) -> str:
        """Return a message without any of them."""
        for token in (self._of_workers, *self._named.values()):
            text = token.out_of(text)
        return text

    def out_of_reply(self, body: bytes) -> bytes:
        """Return what a server sent without any of them."""
        for token in (self._of_workers, *self._named.values()):
            body = token.out_of_reply(body)
        return body


# --- over the wire -----------------------------------------------------------------------------------


API = "/api/v2"
# Node closes a connection that was idle for five seconds: ours are closed before, not while one is sending.
_IDLE_SECONDS = 4.0
# Silence until the other end is asked whether it is there, time between questions, and how many of them.
_KEEP_ALIVE: Mapping[str, int] = {"TCP_KEEPIDLE": 30, "TCP_KEEPINTVL": 10, "TCP_KEEPCNT": 3}
_WORTH_A_THREAD = 1 << 16  # bytes of files or of a reply
_WORTH_COMPRESSING = 1 << 15  # bytes of a body that leaves this machine
_SAMPLE = 1 << 16
# To this part of its size at most, or it is not worth a core's time. What was packed before shrinks to 0.76.
_SHRINKS = 0.7
_LARGEST_REPLY = 512 << 20
_PIECE = 1 << 18
_NONE: Mapping[str, str] = {}
_LONGEST_IDENTITY = 100  # characters of a header


def _socket(address: aiohttp.AddrInfoType) -> socket.socket:
    """Make a socket that notices within a minute that the other machine is gone."""
    family, kind, protocol, _, _ = address
    opened = socket.socket(family, kind, protocol)
    opened.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in _KEEP_ALIVE.items():
        if (option := getattr(socket, name, None)) is not None:
            opened.setsockopt(socket.IPPROTO_TCP, option, value)
    return opened


LATE = "gave no answer"


class Answer(Value):
    status: int
    body: bytes
    worker: str = ""  # what a worker of ours says that it is


class Request(Value):
    body: bytes
    packed: bool = False  # by gzip
    is_json: bool = True
    minimal: bool = False  # of a reply only what is read here; for workers of ours


class Wire:
    """The connections of one engine."""

    def __init__(self, *, token: str | None = None, connect: float = 10.0) -> None:
        """`token`: for workers of ours; behind an address, for the server there. See `Tokens`."""
        self._tokens = Tokens(token or "")
        self._connect = connect
        self._session: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> Self:
        import aiohttp  # only who sends loads it: the engine is a public name

        # The pool bounds what is under way; limits of the connector would only hide where jobs wait.
        connector = aiohttp.TCPConnector(limit=0, keepalive_timeout=_IDLE_SECONDS, socket_factory=_socket)
        self._session = aiohttp.ClientSession(
            connector=connector,
            headers={"Accept-Encoding": "identity"},
            cookie_jar=aiohttp.DummyCookieJar(),
            auto_decompress=False,
            read_bufsize=_PIECE,
        )
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        session, self._session = self._session, None
        if session is not None:
            await session.close()

    async def execute(self, url: str, request: Request, time: float, worker: str = "") -> JobResult:
        """Send a job. `time`: seconds until the answer must be there. `worker`: the identity expected of it.

        Errors are those of the engine's contract.
        """
        request = msgspec.structs.replace(request, minimal=bool(worker))
        answer = await self.post(url, "/execute", request, time)
        if worker and answer.worker != worker and answer.status < HTTPStatus.INTERNAL_SERVER_ERROR:
            self._tokens.forget(url)
            raise ServerReplaced(url)  # also where it refuses: another one may have other limits
        if len(answer.body) < _WORTH_A_THREAD:
            return decode_reply(answer.status, answer.body, endpoint=url)
        return await to_its_end(lambda: decode_reply(answer.status, answer.body, endpoint=url))

    async def get(self, url: str, path: str, time: float) -> Answer:
        return await self._ask(url, "GET", path, time)

    async def post(self, url: str, path: str, request: Request, time: float) -> Answer:
        return await self._ask(url, "POST", API + path, time, request)

    async def head(self, url: str, path: str, time: float) -> Answer:
        return await self._ask(url, "HEAD", API + path, time)

    async def put(self, url: str, path: str, request: Request, time: float) -> Answer:
        return await self._ask(url, "PUT", API + path, time, request)

    async def _ask(
        self, url: str, method: str, path: str, time: float, request: Request | None = None
    ) -> Answer:
        """Send a request, with a token if the server may have one: a worker says before that it is one."""
        if self._tokens.must_ask(url):
            self._tokens.told(url, (await self._answer(url, "GET", "/", time)).body)
        token = self._tokens.of(url)
        headers = {"Authorization": token.bearer} if token else {}
        try:
            return await self._answer(url, method, path, time, request, headers)
        except EngineError:
            self._tokens.forget(url)
            raise

    async def _answer(
        self,
        url: str,
        method: str,
        path: str,
        time: float,
        request: Request | None = None,
        headers: Mapping[str, str] = _NONE,
    ) -> Answer:
        import aiohttp

        if self._session is None:
            raise EngineUnavailable("the engine was closed")
        address, timeout = url + path, aiohttp.ClientTimeout(total=time, sock_connect=self._connect)
        sent = None
        if request is not None:
            kind = "application/json" if request.is_json else "application/octet-stream"
            packed = {"Content-Encoding": "gzip"} if request.packed else {}
            minimal = MINIMAL if request.minimal else {}
            sent, headers = request.body, {**headers, "Content-Type": kind, **packed, **minimal}
        try:
            async with self._session.request(
                method, address, data=sent, headers=headers, timeout=timeout, allow_redirects=False
            ) as response:
                body = await _read(response)
                return Answer(
                    status=response.status,
                    body=self._tokens.out_of_reply(body),
                    worker=response.headers.get(HEADER, "")[:_LONGEST_IDENTITY],
                )
        except aiohttp.ClientConnectorCertificateError as error:
            reason = f"its certificate is not trusted here ({error.certificate_error})"
            remedy = "Name the file of its authority in SSL_CERT_FILE"
            raise NoAnswer(f"{_server(address)} cannot be reached: {reason}. {remedy}") from error
        except aiohttp.ClientConnectorError as error:
            raise NoAnswer(f"{_server(address)} cannot be reached: {error.os_error or error}") from error
        except TimeoutError as error:
            raise LateAnswer(f"{_server(address)} {LATE} in {time:.3g} s") from error
        except aiohttp.ClientResponseError:
            raise ForeignReply(f"{_server(address)} does not speak HTTP") from None
        except (aiohttp.ClientError, OSError, ValueError) as error:
            reason = self._tokens.out_of(f"{type(error).__name__}: {error}")
            raise BrokenReply(
                f"{_server(address)} broke off: {reason}"
            ) from None  # what it said may be the token


async def _read(response: aiohttp.ClientResponse) -> bytes:
    pieces, size = [], 0
    async for piece in response.content.iter_any():
        pieces.append(piece)
        size += len(piece)
        if size > _LARGEST_REPLY:
            raise BrokenReply(f"a reply of more than {_LARGEST_REPLY} bytes")
    return b"".join(pieces)


def _server(address: str) -> str:
    parts = urlsplit(address)
    return f"{parts.scheme}://{parts.netloc}"


# --- bodies ------------------------------------------------------------------------------------------


async def request_of(job: Job, url: str, named: Collection[str] = (), keep: tuple[str, ...] = ()) -> Request:
    """Return the body of a job's request, made in a thread where that takes long or reads from disk.

    `named`: hashes of contents that are there already. `keep`: files that the server is to keep.
    """
    sent = [file for file in job.files if (file.origin or file).content.sha256 not in named]
    size = sum(file.content.size for file in sent)
    if size < _WORTH_A_THREAD and all(file.content.data is not None for file in sent):
        return Request(body=encode_request(job, named=named, keep=keep))
    return await to_its_end(lambda: _encoded(job, url, named, keep))


def _encoded(job: Job, url: str, named: Collection[str], keep: tuple[str, ...]) -> Request:
    try:
        body = encode_request(job, named=named, keep=keep)
    except OSError as error:
        raise JobRejected(f"a file of the job cannot be read: {error}") from error
    if len(body) < _WORTH_COMPRESSING or is_loopback(urlsplit(url).hostname or "") or not _compresses(body):
        return Request(body=body)
    return compressed(body)


def compressed(body: bytes) -> Request:
    """At the fastest level: the network is to be relieved, not this machine's cores used up."""
    packer = zlib.compressobj(level=1, wbits=31)
    packed = packer.compress(body) + packer.flush()
    return Request(body=packed, packed=True)


def _compresses(body: bytes) -> bool:
    middle = max(0, (len(body) - _SAMPLE) // 2)
    sample = body[middle : middle + _SAMPLE]
    return len(zlib.compress(sample, 1)) < _SHRINKS * len(sample)


def is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
