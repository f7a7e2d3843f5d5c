"""Clients of servers: the interface `ServerClient`, and `HttpServerClient`, which uses HTTP."""

from __future__ import annotations

from collections.abc import Callable, Collection
from http import HTTPStatus
from secrets import token_hex
from types import TracebackType
from typing import Protocol, Self

from ioi_eval.engines.contract import Capabilities
from ioi_eval.engines.jobs.piston_api import GzipBlob, find_first_script, make_refusal_error
from ioi_eval.engines.open_files import raise_open_file_limit
from ioi_eval.engines.piston.discovery import Discovery
from ioi_eval.engines.piston.probe import Prober, identify_server
from ioi_eval.engines.piston.reports import EndpointReport
from ioi_eval.engines.piston.sending import API, HttpClient, Request, encode_job_request
from ioi_eval.engines.threads import run_in_thread_to_end
from ioi_eval.model.errors import EngineError, InputError
from ioi_eval.model.job import Job, JobResult
from ioi_eval.model.values import Blob

GetMaxSeconds = Callable[[int], float]
"""A function that returns the maximum seconds until the answer to a request of a number of bytes."""


class ServerClient(Protocol):
    """The interface of clients of servers or nodes, for instance over HTTP.

    The fleet, and not the client, stores the states of servers and retries jobs.

    Methods raise EngineError: NoAnswer if a server does not answer, and the errors of `Engine.execute` if it
    answers with an error.
    """

    search_interval_s: float | None
    """Seconds between two searches for servers. `None` means a single search."""
    is_elastic: bool
    """True for a cluster whose machines join at any time: a run waits for the first machine, and excludes
    machines that differ from it."""

    @property
    def no_servers_error_message(self) -> str:
        """The error message if a search finds no server."""

    async def find_server_addresses(self) -> frozenset[str]:
        """Return the addresses of all servers. Raises EngineError or InputError."""

    async def inspect(self, address: str, runtimes: Collection[str]) -> EndpointReport:
        """Return a full report about a server. For an unreachable server the report has the reason.

        `runtimes`: the runtimes that jobs use. An empty collection means all runtimes.
        """

    async def identify_server(self, address: str) -> EndpointReport:
        """Return a short report: whether a server answers, and its identity."""

    def check_connection_capacity(self, job_count: int, server_count: int) -> InputError | None:
        """Return an error if this process cannot open connections for so many jobs and servers."""

    def complete_capabilities(self, capabilities: Capabilities) -> Capabilities:
        """Return the servers' capabilities, with changes that apply to all servers of this client."""

    async def execute(
        self,
        report: EndpointReport,
        job: Job,
        stored_hashes: Collection[str],
        files_to_keep: tuple[str, ...],
        get_max_seconds: GetMaxSeconds,
    ) -> JobResult:
        """Execute a job once.

        Args:
            report: the report of the server's last inspection. Another server's answer is an error.
            job: the job. Contents that the server does not store can be read here.
            stored_hashes: hashes of contents that the server stores.
            files_to_keep: names of files that the server should store.
            get_max_seconds: returns the maximum seconds until the answer to a request of a size.
        """

    async def has_content(self, address: str, content_hash: str) -> bool:
        """Return True if a server stores the file content with this hash."""

    async def put_content(self, address: str, content: Blob) -> bool:
        """Store a content on a server under its hash. Return False if the server stores no contents."""

    async def get_content(self, address: str, content_hash: str) -> bytes | None:
        """Return a content that a server stores, or `None` if the server does not have it."""

    async def __aenter__(self) -> Self: ...

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


# --- HTTP --------------------------------------------------------------------------------------------


_OTHER_FILES = 128  # number of this process's open files in addition to connections to servers
_MIN_BYTES_PER_S = 1 << 18  # minimum speed at which a content is sent, in bytes per second
_NO_SUCH_API = (HTTPStatus.NOT_FOUND, HTTPStatus.METHOD_NOT_ALLOWED, HTTPStatus.NOT_IMPLEMENTED)


class HttpServerClient:
    """The HTTP client of Piston servers and workers."""

    is_elastic = False

    def __init__(
        self,
        discovery: Discovery,
        *,
        token: str,
        max_connect_s: float,
        max_inspection_s: float,
        max_content_s: float,
        has_known_capabilities: bool = False,
    ) -> None:
        """Args:
        token: tokens for servers, in the form of `ServerTokens`.
        max_connect_s: maximum time until there is a connection, in seconds.
        max_inspection_s: maximum time until a server answers a request for its state, in seconds.
        max_content_s: maximum time until a server answers a request about a stored file, in seconds.
        has_known_capabilities: the caller has passed the servers' capabilities, so no server is probed.
        """
        self._discovery, self._max_inspection_s, self._max_content_s, self._has_known_capabilities = (
            discovery,
            max_inspection_s,
            max_content_s,
            has_known_capabilities,
        )
        self._http = HttpClient(token=token, max_connect_s=max_connect_s)
        self._prober = Prober(self._http)
        self.search_interval_s = discovery.search_interval_s

    def __str__(self) -> str:
        return str(self._discovery)

    @property
    def no_servers_error_message(self) -> str:
        return f"no server was found by {self._discovery}"

    async def __aenter__(self) -> Self:
        await self._http.__aenter__()
        raise_open_file_limit()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._http.__aexit__(kind, error, trace)

    async def find_server_addresses(self) -> frozenset[str]:
        return await self._discovery.find()

    async def inspect(self, address: str, runtimes: Collection[str]) -> EndpointReport:
        if self._has_known_capabilities:
            return await self.identify_server(address)
        return await self._prober.probe(address, runtimes)

    async def identify_server(self, address: str) -> EndpointReport:
        return await identify_server(self._http, address, self._max_inspection_s)

    def check_connection_capacity(self, job_count: int, server_count: int) -> InputError | None:
        needed_files, max_files = _OTHER_FILES + job_count + server_count, raise_open_file_limit()
        if needed_files <= max_files:
            return None
        return InputError(
            f"{job_count} jobs at a time on {server_count} servers take {needed_files} open files, and this"
            f" process may have {max_files}",
            remedy=f"Raise the hard limit: ulimit -Hn {needed_files} as root, LimitNOFILE={needed_files} of a"
            f" service, nofile={needed_files} of a container. Or name fewer servers",
        )

    def complete_capabilities(self, capabilities: Capabilities) -> Capabilities:
        return capabilities

    async def execute(
        self,
        report: EndpointReport,
        job: Job,
        stored_hashes: Collection[str],
        files_to_keep: tuple[str, ...],
        get_max_seconds: GetMaxSeconds,
    ) -> JobResult:
        identity = report.identity
        # A worker repeats the request's mark in a header, so its script need not print a mark.
        request_mark = "" if identity.worker else token_hex(8)
        script_name = find_first_script(job)
        request = await encode_job_request(
            job,
            report.url,
            stored_hashes,
            files_to_keep,
            identity.make_identity_shell_lines(script_name, request_mark),
        )
        result = await self._http.execute(
            report.url, request, get_max_seconds(len(request.body)), worker_identity=identity.worker
        )
        return identity.check_and_remove_identity(script_name, result, request_mark)

    async def has_content(self, address: str, content_hash: str) -> bool:
        answer = await self._http.ask("HEAD", address, _make_content_path(content_hash), self._max_content_s)
        return answer.status == HTTPStatus.OK

    async def put_content(self, address: str, content: Blob) -> bool:
        gzip_form = content.gzip if isinstance(content, GzipBlob) else b""
        body = gzip_form or await run_in_thread_to_end(content.read)
        request = Request(body=body, packed=bool(gzip_form), is_json=False)
        max_s = self._max_content_s + len(body) / _MIN_BYTES_PER_S
        answer = await self._http.ask("PUT", address, _make_content_path(content.sha256), max_s, request)
        if answer.status == HTTPStatus.CREATED:
            return True
        if answer.status in _NO_SUCH_API:
            return False
        raise make_refusal_error(answer.status, answer.body, address)

    async def get_content(self, address: str, content_hash: str) -> bytes | None:
        try:
            answer = await self._http.ask(
                "GET", address, _make_content_path(content_hash), self._max_content_s
            )
        except EngineError:
            return None
        return answer.body if answer.status == HTTPStatus.OK else None


def _make_content_path(content_hash: str) -> str:
    return f"{API}/contents/{content_hash}"
