"""The way from a client to its servers: the protocol `Wire`, and the wire that uses HTTP."""

from __future__ import annotations

from collections.abc import Callable, Collection
from http import HTTPStatus
from secrets import token_hex
from types import TracebackType
from typing import Protocol, Self

from ioi_eval.engines.contract import Capabilities
from ioi_eval.engines.jobs.piston_api import GzipBlob, find_first_script, make_refusal_error
from ioi_eval.engines.open_files import raise_open_files
from ioi_eval.engines.piston.discovery import Discovery
from ioi_eval.engines.piston.probe import Prober, identify
from ioi_eval.engines.piston.reports import EndpointReport
from ioi_eval.engines.piston.sending import API, HttpClient, Request, request_of
from ioi_eval.engines.threads import run_to_end
from ioi_eval.model.errors import EngineError, InputError
from ioi_eval.model.job import Job, JobResult
from ioi_eval.model.values import Blob

TimeOf = Callable[[int], float]
"""Returns the maximum seconds until the answer, from the bytes of the request."""


class Wire(Protocol):
    """The protocol of a connection to servers or nodes. It stores no states of servers and does not retry.

    Methods raise EngineError: NoAnswer if a server does not answer, and the errors of `Engine.execute` if it
    answers with an error.
    """

    every: float | None
    """Seconds between two searches for servers. `None` means a single search."""
    is_elastic: bool
    """True for a cluster whose machines join at any time: a run waits for the first machine, and excludes
    machines that differ from it."""

    @property
    def no_servers_message(self) -> str:
        """The user's message for a search without servers."""

    async def find(self) -> frozenset[str]:
        """Return the addresses of all servers. Raises EngineError or InputError."""

    async def inspect(self, address: str, runtimes: Collection[str]) -> EndpointReport:
        """Return a full report about a server. For an unreachable server the report has the reason.

        `runtimes`: the runtimes that jobs use. An empty collection means all runtimes.
        """

    async def identify(self, address: str) -> EndpointReport:
        """Return a short report: whether a server answers, and its identity."""

    def check_capacity(self, jobs: int, servers: int) -> InputError | None:
        """Return an error if this process cannot open connections for `jobs` jobs on `servers` servers."""

    def completed(self, capabilities: Capabilities) -> Capabilities:
        """Return the servers' capabilities, with changes that apply to all servers of this wire."""

    async def execute(
        self,
        report: EndpointReport,
        job: Job,
        named: Collection[str],
        keep: tuple[str, ...],
        time: TimeOf,
    ) -> JobResult:
        """Execute a job once.

        Args:
            report: the report of the server's last inspection. Another server's answer is an error.
            job: the job. Contents that are not `named` can be read here.
            named: hashes of contents that the server stores.
            keep: files that the server should store.
            time: returns the maximum time until the answer.
        """

    async def has(self, address: str, name: str) -> bool:
        """Return True if a server stores a content."""

    async def put(self, address: str, content: Blob) -> bool:
        """Store a content on a server under its hash. Return False if the server stores no contents."""

    async def get(self, address: str, name: str) -> bytes | None:
        """Return a content that a server stores, or `None` if the server does not have it."""

    async def __aenter__(self) -> Self: ...

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


# --- HTTP --------------------------------------------------------------------------------------------


_OTHER_FILES = 128  # number of this process's open files in addition to connections to servers
_MIN_BYTES_PER_S = 1 << 18  # minimum speed at which a content is sent, in bytes per second
_NO_SUCH_API = (HTTPStatus.NOT_FOUND, HTTPStatus.METHOD_NOT_ALLOWED, HTTPStatus.NOT_IMPLEMENTED)


class HttpWire:
    """HTTP to Piston servers and workers."""

    is_elastic = False

    def __init__(
        self,
        discovery: Discovery,
        *,
        token: str,
        connect: float,
        health: float,
        margin: float,
        is_known: bool = False,
    ) -> None:
        """Args:
        token: tokens for servers, in the form of `Tokens`.
        connect: maximum time until there is a connection, in seconds.
        health: maximum time until a server answers an inspection, in seconds.
        margin: maximum time until a server answers a request about a content, in seconds.
        is_known: the caller has passed the servers' capabilities, so the servers are not probed.
        """
        self._discovery, self._health, self._margin, self._is_known = discovery, health, margin, is_known
        self._http = HttpClient(token=token, connect=connect)
        self._prober = Prober(self._http)
        self.every = discovery.every

    def __str__(self) -> str:
        return str(self._discovery)

    @property
    def no_servers_message(self) -> str:
        return f"no server was found by {self._discovery}"

    async def __aenter__(self) -> Self:
        await self._http.__aenter__()
        raise_open_files()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._http.__aexit__(kind, error, trace)

    async def find(self) -> frozenset[str]:
        return await self._discovery.find()

    async def inspect(self, address: str, runtimes: Collection[str]) -> EndpointReport:
        if self._is_known:
            return await self.identify(address)
        return await self._prober.probe(address, runtimes)

    async def identify(self, address: str) -> EndpointReport:
        return await identify(self._http, address, self._health)

    def check_capacity(self, jobs: int, servers: int) -> InputError | None:
        needed_files, max_files = _OTHER_FILES + jobs + servers, raise_open_files()
        if needed_files <= max_files:
            return None
        return InputError(
            f"{jobs} jobs at a time on {servers} servers take {needed_files} open files, and this process"
            f" may have {max_files}",
            remedy=f"Raise the hard limit: ulimit -Hn {needed_files} as root, LimitNOFILE={needed_files} of a"
            f" service, nofile={needed_files} of a container. Or name fewer servers",
        )

    def completed(self, capabilities: Capabilities) -> Capabilities:
        return capabilities

    async def execute(
        self,
        report: EndpointReport,
        job: Job,
        named: Collection[str],
        keep: tuple[str, ...],
        time: TimeOf,
    ) -> JobResult:
        identity = report.identity
        # A worker repeats the request's mark in a header, so its script needs none.
        mark = "" if identity.worker else token_hex(8)
        script = find_first_script(job)
        request = await request_of(job, report.url, named, keep, identity.lines_before(script, mark))
        result = await self._http.execute(
            report.url, request, time(len(request.body)), worker=identity.worker
        )
        return identity.check_result(script, result, mark)

    async def has(self, address: str, name: str) -> bool:
        answer = await self._http.ask("HEAD", address, _content_path(name), self._margin)
        return answer.status == HTTPStatus.OK

    async def put(self, address: str, content: Blob) -> bool:
        gzip = content.gzip if isinstance(content, GzipBlob) else b""
        body = gzip or await run_to_end(content.read)
        request = Request(body=body, packed=bool(gzip), is_json=False)
        time = self._margin + len(body) / _MIN_BYTES_PER_S
        answer = await self._http.ask("PUT", address, _content_path(content.sha256), time, request)
        if answer.status == HTTPStatus.CREATED:
            return True
        if answer.status in _NO_SUCH_API:
            return False
        raise make_refusal_error(answer.status, answer.body, address)

    async def get(self, address: str, name: str) -> bytes | None:
        try:
            answer = await self._http.ask("GET", address, _content_path(name), self._margin)
        except EngineError:
            return None
        return answer.body if answer.status == HTTPStatus.OK else None


def _content_path(name: str) -> str:
    return f"{API}/contents/{name}"
