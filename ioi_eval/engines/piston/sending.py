"""Sends requests to servers: identities, tokens, and typed errors."""

from __future__ import annotations

import hashlib
import ipaddress
import logging
import socket
import zlib
from collections.abc import AsyncIterator, Callable, Collection, Mapping
from functools import partial
from http import HTTPStatus
from itertools import chain
from secrets import token_hex
from types import TracebackType
from typing import TYPE_CHECKING, Self
from urllib.parse import urlsplit

import msgspec

from ioi_eval.engines.fleet import LateAnswer, NoAnswer
from ioi_eval.engines.jobs.piston_api import (
    MINIMAL,
    ForeignReply,
    GzipBlob,
    decode_reply,
    encode_request,
    find_first_script,
    is_gateway_reply,
    read_refusal_message,
)
from ioi_eval.engines.piston.discovery import normalize_address
from ioi_eval.engines.threads import run_in_thread_to_end
from ioi_eval.model.doing import log_step
from ioi_eval.model.errors import (
    BrokenReply,
    EngineError,
    EngineUnavailable,
    InputError,
    JobRejected,
    ServerReplaced,
)
from ioi_eval.model.job import Ending, Job, JobResult
from ioi_eval.model.secret import Login, Secret
from ioi_eval.model.values import Blob, Value

if TYPE_CHECKING:
    import aiohttp

_log = logging.getLogger(__name__)

# --- the identity of servers ---------------------------------------------------------------------------
# Another server may get the address of a server between two requests. So each script of a job first prints
# which compilers and interpreters it finds, and its limits. These lines are the server's identity. A reply is
# discarded if its lines differ from the lines of the server that was probed. In addition, a worker sends a
# digest of its configuration in a header.


WORKER = "ioi-eval worker"  # name of a worker, as in server/routes.py
HEADER = "IOI-Eval-Identity"
"""A worker's header in every reply: a digest of its toolchains, packages, proctor, limits and version."""
REQUEST = "IOI-Eval-Request"
"""Header with a random mark of a job's request. A worker repeats the mark in the reply."""

_IDENTITY_START, _IDENTITY_END, _ANSWER_MARK = "ioi-eval tells", "ioi-eval told", "ioi-eval answers"
# This script starts only one process, `stat`, because the builtin `hash` looks up commands. For missing
# commands it prints nothing.
IDENTITY_SCRIPT = rf"""echo "{_IDENTITY_START} $HOSTTYPE"; ulimit -f; ulimit -n
hash g++ gcc python3 pypy3 rustc go java javac fpc ghc node kotlinc mcs mono 2> /dev/null
stat -L -c '%n %i %s %Y' -- "${{BASH_CMDS[@]}}" /usr/lib*/gcc/*/*/{{cc1plus,libstdc++.a}} \
  /usr/lib*/libc.a "/usr/lib/$HOSTTYPE-linux-gnu/libc.a" 2> /dev/null
echo "{_IDENTITY_END}"
"""


class ServerIdentity(Value):
    """The identity that a server's replies must have. An empty field is unknown and not checked."""

    tools: str = ""  # hash of the identity script's output
    worker: str = ""  # a worker's header

    @property
    def identity_script(self) -> str:
        """Return the shell script that prints the server's identity: its compilers and limits.

        A worker's limits are in its header. Without namespaces, its limit of processes changes with the
        number of processes on the machine, so it is not part of the output.
        """
        return IDENTITY_SCRIPT if self.worker else IDENTITY_SCRIPT.replace("; ", "; ulimit -u; ", 1)

    def make_identity_shell_lines(self, script_name: str, request_mark: str = "") -> str:
        """Return the shell commands that print the identity. They are put before a job's first script.

        The string is empty for a job without a script. The commands also print `request_mark`, a random
        string of the request, so that the client detects a reply to another request.
        """
        if not (script_name and self.tools):
            return ""
        return self.identity_script + f'echo "{_ANSWER_MARK} {request_mark}"\n' * bool(request_mark)

    def check_and_remove_identity(
        self, script_name: str, result: JobResult, request_mark: str = ""
    ) -> JobResult:
        """Return the result without the identity in its output.

        `request_mark` is the random string that the job must have printed. Raises ServerReplaced if another
        server executed the job.
        """
        if not (script_name and self.tools):
            return result
        # If the job contains no script `compile`, the package's own script runs in that stage, which does not
        # print the identity.
        stage = "compile" if script_name == "compile" and result.compile is not None else "run"
        ending: Ending = getattr(result, stage)
        tools_digest, other_output = split_off_identity_hash(ending.stdout)
        if not tools_digest:
            raise BrokenReply(f"{result.endpoint} does not report the compilers that it used for a job")
        if tools_digest != self.tools:
            raise ServerReplaced(result.endpoint)
        mark_line = f"{_ANSWER_MARK} {request_mark}\n" * bool(request_mark)
        if not other_output.startswith(mark_line):
            raise _make_wrong_reply_error(result.endpoint)
        other_output = other_output.removeprefix(mark_line)
        return msgspec.structs.replace(
            result, **{stage: msgspec.structs.replace(ending, stdout=other_output)}
        )


def split_off_identity_hash(stdout: str) -> tuple[str, str]:
    """Return a hash of the identity lines at the start of a script's output, and the lines after them.

    The hash is an empty string if the output does not start with identity lines.
    """
    identity, end_mark, other_output = stdout.partition(f"\n{_IDENTITY_END}\n")
    if not end_mark or not identity.startswith(_IDENTITY_START):
        return "", stdout
    return hashlib.sha256(identity.encode()).hexdigest()[:16], other_output


def _make_wrong_reply_error(server_url: str) -> BrokenReply:
    """Return the error for a reply that a gateway repeated or mixed up."""
    return BrokenReply(f"{server_url} sent the reply to another request")


# --- tokens ---------------------------------------------------------------------


_TOKEN_FORMS = (
    "Write TOKEN, for workers alone, or ADDRESS TOKEN or ADDRESS USER:PASSWORD for each other server:"
    " http://judge:2000 TOKEN"
)


class ServerTokens:
    """The token for workers, and tokens for named servers. No token is sent to other servers.

    `token_list` has TOKEN, ADDRESS TOKEN, ADDRESS USER:PASSWORD, or several of these with white space between
    them.
    """

    def __init__(self, token_list: str = "") -> None:
        self._worker_token = Secret()
        self._tokens_by_url: dict[str, Secret] = {}
        # Tokens by address, of servers that have identified themselves.
        self._learned_tokens: dict[str, Secret] = {}
        words = token_list.split()
        while words:
            word = words.pop(0)
            if "://" not in word:
                self._raise_token_error_if(bool(self._worker_token), "it holds two tokens for workers")
                self._worker_token = Secret(word)
                continue
            self._raise_token_error_if(
                not words or "://" in words[0], "the token file contains an address without a token"
            )
            secret = words.pop(0)
            self._tokens_by_url[normalize_address(word)] = Login(secret) if ":" in secret else Secret(secret)
        named_tokens = (
            token.strings_to_hide if isinstance(token, Login) else (token,)
            for token in self._tokens_by_url.values()
        )
        self._all_tokens = tuple(filter(None, (self._worker_token, *chain(*named_tokens))))

    def _raise_token_error_if(self, is_wrong: bool, problem: str) -> None:
        if is_wrong:
            raise InputError(problem, where="the token for servers", remedy=_TOKEN_FORMS)

    def find_token(self, url: str) -> Secret | None:
        """Return the token for a server, or None if the server must identify itself first."""
        default_token = None if self._worker_token else Secret()
        return self._tokens_by_url.get(url, self._learned_tokens.get(url, default_token))

    def choose_token(self, url: str, root_reply: bytes) -> Secret:
        """Return the token for a server whose reply to `/`, which needs no token, is `root_reply`."""
        self._learned_tokens[url] = (
            self._worker_token if WORKER in read_refusal_message(root_reply) else Secret()
        )
        return self._learned_tokens[url]

    def forget_token(self, url: str) -> None:
        """Forget the token of a server, because another server may have its address now."""
        self._learned_tokens.pop(url, None)

    def redact_tokens(self, text: str) -> str:
        """Return a message without any token."""
        for token in self._all_tokens:
            text = token.remove_from(text)
        return text

    def redact_tokens_in_reply(self, body: bytes) -> bytes:
        """Return a reply without any token."""
        for token in self._all_tokens:
            body = token.remove_from_reply(body)
        return body


# --- HTTP -----------------------------------------------------------------------------------


API = "/api/v2"
# Seconds after which the client closes an idle connection. Node closes it after five seconds, so that a
# request on it would fail.
_IDLE_SECONDS = 4.0
# TCP keep-alive: seconds of silence until the first probe, seconds between two probes, and number of probes.
_KEEP_ALIVE: Mapping[str, int] = {"TCP_KEEPIDLE": 30, "TCP_KEEPINTVL": 10, "TCP_KEEPCNT": 3}
_MIN_THREAD_BYTES = (
    1 << 16
)  # minimum bytes of files or of a reply for encoding or decoding in a separate thread
_MIN_COMPRESSED_BYTES = 1 << 15  # minimum size in bytes of a body that is sent compressed to another machine
_SAMPLE_BYTES = 1 << 16
# Maximum ratio of a body's compressed size to its size; other bodies are sent uncompressed. A body with
# compressed files has a ratio of 0.76.
_MAX_COMPRESSED_PART = 0.7
_MAX_REPLY_BYTES = 512 << 20
_PIECE_BYTES = 1 << 18
_NONE: Mapping[str, str] = {}
_MAX_IDENTITY_CHARS, _MAX_LOCATION_CHARS = 100, 300  # of headers
_OUT_OF_DATE = "Give the server a valid certificate, or correct this machine's clock"
_OTHER_NAME = "Address the server by a name that is in it"
UNKNOWN_HOST, NO_TLS, NO_HTTP = "no address is known for", "it serves no https", "does not speak HTTP"
"""Reasons why a server cannot be asked."""
# OpenSSL's names of the errors that occur if a server answers in plain text instead of TLS.
_NOT_TLS = ("WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE")
# Remedies for invalid certificates, by OpenSSL's error number.
_REMEDIES = {9: _OUT_OF_DATE, 10: _OUT_OF_DATE, 62: _OTHER_NAME, 64: _OTHER_NAME}


def _open_socket(address: aiohttp.AddrInfoType) -> socket.socket:
    """Return a socket that detects within a minute that the server's machine is gone."""
    family, socket_type, protocol, _, _ = address
    new_socket = socket.socket(family, socket_type, protocol)
    new_socket.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for option_name, option_value in _KEEP_ALIVE.items():
        if (option_number := getattr(socket, option_name, None)) is not None:
            new_socket.setsockopt(socket.IPPROTO_TCP, option_number, option_value)
    return new_socket


LATE = "did not answer"


class Answer(Value):
    status: int
    body: bytes
    worker: str = ""  # a worker's identity
    request: str = ""  # mark of the request that the worker answers
    moved: str = ""  # address to which the server redirects


class Request(Value):
    body: bytes
    packed: bool = False  # by gzip
    is_json: bool = True
    minimal: bool = False  # True if a worker should omit fields that this client does not read
    request_mark: str = ""  # random mark of the request, which a worker repeats in its answer


class HttpClient:
    """The HTTP connections of an engine."""

    def __init__(
        self,
        *,
        token: str | None = None,
        max_connect_s: float = 10.0,
        max_reply_bytes: int = _MAX_REPLY_BYTES,
    ) -> None:
        """Create the client; it connects when its context is entered.

        Args:
            token: Token for workers, or addresses of servers with their tokens; see `ServerTokens`.
            max_connect_s: Maximum seconds until there is a connection.
            max_reply_bytes: Maximum size of a server's reply, which is read into memory.
        """
        self._tokens = ServerTokens(token or "")
        self._max_connect_s, self._max_reply_bytes = max_connect_s, max_reply_bytes
        self._session: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> Self:
        import aiohttp  # imported here, because the engine is a public name and loading aiohttp takes long

        # The fleet limits the number of simultaneous requests, so the connector need not limit them.
        connector = aiohttp.TCPConnector(
            limit=0, keepalive_timeout=_IDLE_SECONDS, socket_factory=_open_socket
        )
        self._session = aiohttp.ClientSession(
            connector=connector,
            headers={"Accept-Encoding": "identity"},
            cookie_jar=aiohttp.DummyCookieJar(),
            auto_decompress=False,
            read_bufsize=_PIECE_BYTES,
        )
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        session, self._session = self._session, None
        if session is not None:
            await session.close()

    async def execute(self, url: str, request: Request, max_s: float, worker_identity: str = "") -> JobResult:
        """Send a job, and return its result.

        Args:
            url: Address of the server.
            request: The encoded job. Its `minimal` and `request_mark` are replaced.
            max_s: Maximum seconds from the start of the request to the end of the answer.
            worker_identity: Identity that the answer of a worker must have. An empty string means that the
                server is not a worker, and that the identity is not checked.

        Raises:
            ServerReplaced: Another server than the worker with this identity answered.
            EngineError: The job could not be executed. The subtypes are the same as for `Engine.execute`.
        """
        request_mark = token_hex(8) if worker_identity else ""
        request = msgspec.structs.replace(request, minimal=bool(worker_identity), request_mark=request_mark)
        log_step(_log, "request %s to %s: %d bytes", request_mark or "(no number)", url, len(request.body))
        answer = await self.ask("POST", url, f"{API}/execute", max_s, request)
        log_step(_log, "answered with HTTP %d: %d bytes", answer.status, len(answer.body))
        is_other_server = (
            answer.worker != worker_identity and answer.status < HTTPStatus.INTERNAL_SERVER_ERROR
        )
        if worker_identity and is_other_server:
            self._tokens.forget_token(url)
            if answer.worker or not is_gateway_reply(answer.status, answer.body):
                # The new server counts as replaced even if it refuses the job, because its limits may differ.
                raise ServerReplaced(url)
        if request_mark and answer.request not in ("", request_mark):
            raise _make_wrong_reply_error(_make_server_url(url))
        if len(answer.body) < _MIN_THREAD_BYTES:
            return decode_reply(answer.status, answer.body, endpoint=url)
        return await run_in_thread_to_end(lambda: decode_reply(answer.status, answer.body, endpoint=url))

    async def ask(
        self, method: str, url: str, path: str, max_s: float, request: Request | None = None
    ) -> Answer:
        """Send a request, with the token for the server, if any. A worker identifies itself first.

        Args:
            method: HTTP method, such as POST.
            url: Address of the server, without a path.
            path: Path on the server, which begins with a slash.
            max_s: Maximum seconds from the start of a request to the end of its answer. The identification
                is a separate request with the same maximum.
            request: Body of the request and its format; None means no body.
        """
        token = self._tokens.find_token(url)
        if token is None:
            token = self._tokens.choose_token(url, (await self._request("GET", url, "/", max_s)).body)
        headers = {"Authorization": token.as_authorization_header} if token else {}
        try:
            return await self._request(method, url, path, max_s, request, headers)
        except EngineError:
            self._tokens.forget_token(url)
            raise

    async def accepts_body(self, url: str, body_bytes: int, max_s: float) -> bool | None:
        """Return True if requests of `body_bytes` reach a server, and False if a gateway refuses them.

        Return None if neither is certain. Only headers are sent: `Expect: 100-continue` asks for permission
        to send the body.
        """
        import aiohttp

        if self._session is None:
            raise EngineUnavailable("the engine was closed")
        token, is_wanted = self._tokens.find_token(url), False

        async def body() -> AsyncIterator[bytes]:
            nonlocal is_wanted
            is_wanted = True
            raise ConnectionAbortedError
            yield b""

        headers = {
            "Content-Type": "application/json",
            "Content-Length": str(body_bytes),
            "Expect": "100-continue",
        }
        if token:
            headers["Authorization"] = token.as_authorization_header
        timeout = aiohttp.ClientTimeout(total=max_s, sock_connect=self._max_connect_s)
        try:
            async with self._session.post(
                f"{url}{API}/execute", data=body(), headers=headers, timeout=timeout, allow_redirects=False
            ) as response:
                return False if response.status == HTTPStatus.REQUEST_ENTITY_TOO_LARGE else None
        except (aiohttp.ClientError, OSError):
            return True if is_wanted else None

    async def _request(
        self,
        method: str,
        url: str,
        path: str,
        max_s: float,
        request: Request | None = None,
        headers: Mapping[str, str] = _NONE,
    ) -> Answer:
        import aiohttp

        if self._session is None:
            raise EngineUnavailable("the engine was closed")
        address, timeout = url + path, aiohttp.ClientTimeout(total=max_s, sock_connect=self._max_connect_s)
        body = None
        if request is not None:
            content_type = "application/json" if request.is_json else "application/octet-stream"
            encoding_header = {"Content-Encoding": "gzip"} if request.packed else {}
            minimal_header = MINIMAL if request.minimal else {}
            mark_header = {REQUEST: request.request_mark} if request.request_mark else {}
            body, headers = (
                request.body,
                {**headers, "Content-Type": content_type, **encoding_header, **minimal_header, **mark_header},
            )
        try:
            async with self._session.request(
                method, address, data=body, headers=headers, timeout=timeout, allow_redirects=False
            ) as response:
                pieces, reply_bytes = list[bytes](), 0
                async for piece in response.content.iter_any():
                    pieces.append(piece)
                    reply_bytes += len(piece)
                    if reply_bytes > self._max_reply_bytes:
                        raise BrokenReply(f"the server's reply has more than {self._max_reply_bytes} bytes")
                return Answer(
                    status=response.status,
                    body=self._tokens.redact_tokens_in_reply(b"".join(pieces)),
                    worker=response.headers.get(HEADER, "")[:_MAX_IDENTITY_CHARS],
                    request=response.headers.get(REQUEST, ""),
                    moved=self._tokens.redact_tokens(
                        response.headers.get("Location", "")[:_MAX_LOCATION_CHARS]
                    ),
                )
        except aiohttp.ClientConnectorCertificateError as error:
            reason = f"its certificate is not trusted here ({error.certificate_error})"
            verify_code = getattr(error.certificate_error, "verify_code", 0)
            remedy = _REMEDIES.get(verify_code, "Name the file of its authority in SSL_CERT_FILE")
            raise NoAnswer(f"{_make_server_url(address)} cannot be reached: {reason}. {remedy}") from error
        except aiohttp.ClientConnectorDNSError as error:
            raise NoAnswer(
                f"{_make_server_url(address)} cannot be reached: {UNKNOWN_HOST} {error.host!r}"
            ) from error
        except aiohttp.ClientConnectorSSLError as error:
            ssl_reason = getattr(error.os_error, "reason", None) or str(error.os_error)
            reason = (
                f"{NO_TLS} ({ssl_reason})"
                if ssl_reason in _NOT_TLS
                else f"{ssl_reason}. Write http:// if it serves no https"
            )
            raise NoAnswer(f"{_make_server_url(address)} cannot be reached: {reason}") from error
        except aiohttp.ClientConnectorError as error:
            raise NoAnswer(
                f"{_make_server_url(address)} cannot be reached: {error.os_error or error}"
            ) from error
        except aiohttp.ConnectionTimeoutError as error:
            max_wait_s = min(self._max_connect_s, max_s)
            reason = f"no connection within {max_wait_s:.3g} s"
            raise NoAnswer(f"{_make_server_url(address)} cannot be reached: {reason}") from error
        except TimeoutError as error:
            raise LateAnswer(f"{_make_server_url(address)} {LATE} in {max_s:.3g} s") from error
        except aiohttp.ClientResponseError:
            raise ForeignReply(f"{_make_server_url(address)} {NO_HTTP}") from None
        except (aiohttp.ClientError, OSError, ValueError) as error:
            reason = self._tokens.redact_tokens(f"{type(error).__name__}: {error}")
            # The original error is hidden, because its text may contain the token.
            raise BrokenReply(f"{_make_server_url(address)} closed the connection early: {reason}") from None


def _make_server_url(address: str) -> str:
    url = urlsplit(address)
    return f"{url.scheme}://{url.netloc}"


# --- bodies ------------------------------------------------------------------------------------------


async def encode_job_request(
    job: Job,
    url: str,
    stored_hashes: Collection[str] = (),
    files_to_keep: tuple[str, ...] = (),
    leading_shell_lines: str = "",
) -> Request:
    """Return the request of a job to a server. A thread encodes large files and files on disk.

    Args:
        job: The job as the server should execute it.
        url: Address of the server. Requests to this machine are not compressed.
        stored_hashes: SHA-256 hashes of contents that the server stores, which replace the contents.
        files_to_keep: Names of files that the server should store.
        leading_shell_lines: Shell commands that are put before the job's first script.

    Raises:
        JobRejected: A file cannot be read, or `encode_request` refuses the job.
    """
    encode_body = partial(
        encode_request,
        job,
        stored_hashes=stored_hashes,
        files_to_keep=files_to_keep,
        leading_shell_lines=leading_shell_lines,
    )
    # For a job without a shell script, encoding also reads the contents that the request names by hash: it
    # marks which of them are text.
    is_shell_job = bool(find_first_script(job))
    sent_contents = [
        file.content for file in job.files if not is_shell_job or file.content.sha256 not in stored_hashes
    ]
    is_in_memory = all(content.data is not None or isinstance(content, GzipBlob) for content in sent_contents)
    if is_in_memory and sum(map(count_sent_bytes, sent_contents)) < _MIN_THREAD_BYTES:
        return Request(body=encode_body())
    return await run_in_thread_to_end(lambda: _encode_job(encode_body, url))


def count_sent_bytes(content: Blob) -> int:
    """Return the size of a content in the form in which it is sent, in bytes."""
    return len(content.gzip) if isinstance(content, GzipBlob) else content.size


def _encode_job(encode_body: Callable[[], bytes], url: str) -> Request:
    try:
        body = encode_body()
    except OSError as error:
        raise JobRejected(f"a file of the job cannot be read: {error}") from error
    if (
        len(body) < _MIN_COMPRESSED_BYTES
        or is_loopback(urlsplit(url).hostname or "")
        or not _is_compressible(body)
    ):
        return Request(body=body)
    return make_compressed_request(body)


def make_compressed_request(body: bytes) -> Request:
    """Return a request with a compressed body, at the fastest level to use little CPU time."""
    compressor = zlib.compressobj(level=1, wbits=31)
    compressed_body = compressor.compress(body) + compressor.flush()
    return Request(body=compressed_body, packed=True)


def _is_compressible(body: bytes) -> bool:
    sample_start = max(0, (len(body) - _SAMPLE_BYTES) // 2)
    sample = body[sample_start : sample_start + _SAMPLE_BYTES]
    return len(zlib.compress(sample, 1)) < _MAX_COMPRESSED_PART * len(sample)


def is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
