"""Encodes and decodes requests and replies of Piston's HTTP API v2, for clients and servers. No I/O."""

from __future__ import annotations

import base64
import binascii
import math
import re
import shlex
from bisect import bisect_right
from collections.abc import Collection, Iterable, Iterator, Mapping
from http import HTTPStatus
from typing import Annotated, Any

import msgspec

from ioi_eval.engines.contract import BASH, OWN, check_names
from ioi_eval.model.errors import (
    BrokenReply,
    EngineError,
    EngineOverloaded,
    EngineUnavailable,
    JobRejected,
    JobTooLarge,
)
from ioi_eval.model.job import Ending, Job, JobFile, JobResult, StageStatus
from ioi_eval.model.nesting import shallow
from ioi_eval.model.text import format_count
from ioi_eval.model.values import Blob, Value

# --- refusals: a status and a message ----------------------------------------------------------------


_ABOVE = re.compile(r"(\w+) cannot exceed the configured limit of (\d+)")


class RefusedRequest(JobRejected):
    """A server's refusal of a request. `body` is the reply's body."""

    def __init__(self, message: str, *, status: int = 400, body: Mapping[str, Any] | None = None) -> None:
        self.status = status
        self.body = msgspec.json.encode({"message": message} if body is None else body)
        super().__init__(message)


class ForeignReply(BrokenReply):
    """A reply that is not from a Piston server. The message describes it."""


class ServerFailed(EngineUnavailable):
    """A server failed, or its gateway cannot reach it (5xx). It may work soon."""


class LacksContents(EngineError):
    """A server lacks contents that a job names. `names` are their hashes."""

    def __init__(self, names: frozenset[str]) -> None:
        self.names = names
        super().__init__(f"the server lacks {format_count(len(names), 'content')} that the job names by hash")


def lacks_contents(names: Iterable[str]) -> RefusedRequest:
    missing = sorted(set(names))
    message = (
        f"{format_count(len(missing), 'missing content')}: PUT"
        " each to /api/v2/contents/SHA256, and send the job again"
    )
    return RefusedRequest(message, status=HTTPStatus.CONFLICT, body={"message": message, "missing": missing})


def broken_json(detail: str) -> RefusedRequest:
    """Return the refusal of invalid JSON. Piston sends a stack trace, of which this has the first line."""
    return RefusedRequest(f"not JSON: {detail}", body={"stack": f"SyntaxError: {detail}"})


def too_large(limit: int) -> RefusedRequest:
    """Return the refusal of a body over the limit. A compressed body counts uncompressed."""
    stack = f"PayloadTooLargeError: request entity too large (the limit is {limit} bytes)"
    return RefusedRequest(f"a request's body may have {limit} bytes", body={"stack": stack})


def make_limit_refusal(name: str, limit: int) -> RefusedRequest:
    return RefusedRequest(f"{name} cannot exceed the configured limit of {limit}")


def check_content_type(header: str | None) -> None:
    """Check the content type of a request with a body."""
    if not (header or "").startswith("application/json"):
        raise RefusedRequest("requests must be of type application/json", status=415)


# --- reading refusals ------------------------------------------------------------------


# Pattern for the title of a gateway's error page.
_PAGE = re.compile(rb"<(?:title|h1)\b[^>]*>\s*([^<]+)", re.IGNORECASE)
_MAX_PAGE_BYTES = 4096  # maximum bytes of a gateway's page that are searched


def read_refusal_message(body: bytes) -> str:
    """Return the message of a refusal: `message`, the first line of `stack`, a page's title, or the body."""
    reply = _decode_json(body)
    if reply is None:
        page = _PAGE.search(body, 0, _MAX_PAGE_BYTES)
        reply = (page[1] if page else body[:200]).decode(errors="replace")
    if isinstance(reply, dict):
        reply = reply.get("message") or reply.get("stack") or ""
    return str(reply).partition("\n")[0].strip()[:500]


def _decode_json(body: bytes) -> Any:
    """Return the JSON of a refusal, or None if it is not JSON."""
    try:
        return msgspec.json.decode(shallow(body))
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None


def _is_from_piston(body: bytes) -> bool:
    """Return True for a refusal of Piston itself, and not of a gateway."""
    reply = _decode_json(body)
    return isinstance(reply, dict) and not reply.keys().isdisjoint({"message", "stack"})


_PISTON_STATUSES = frozenset({200, 400, 404, 415, 500})


def is_gateway_reply(status: int, body: bytes) -> bool:
    """Return True for a reply of a gateway, such as a request for a password."""
    return status not in _PISTON_STATUSES or (400 <= status < 500 and not _is_from_piston(body))


def find_limit_in_message(message: str) -> tuple[str, int] | None:
    """Return the name and value of the limit that a request exceeded, if the server names them."""
    match = _ABOVE.search(message)
    return (match[1], int(match[2])) if match else None


# --- results -----------------------------------------------------------------------------------------


_FACTS = ("code", "signal", "message", "status", "cpu_time", "wall_time", "memory")
_LONGEST_ESCAPE = 6  # maximum bytes of a single character in JSON
_STATUSES = {status.value: status for status in StageStatus}
_BUSY = {HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.TOO_EARLY, HTTPStatus.TOO_MANY_REQUESTS, 503}
_NOT_THE_JOBS = {HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN, HTTPStatus.NOT_FOUND, 405, 407}
_TOO_LARGE = "PayloadTooLargeError"
_GAVE_UP = (
    "; a proxy gave up before the server answered: its timeout must exceed the longest job"
    " (proxy_read_timeout of nginx, timeout server of HAProxy)"
)
BODY = "body"
"""Value of `JobTooLarge.limit` if the request is too large. Other values are names of `LIMITS`."""


class _Stage(msgspec.Struct, frozen=True):
    """A stage of a reply. Older servers omit the last fields."""

    stdout: str = ""
    stderr: str = ""
    code: int | None = None
    signal: str | None = None
    message: str | None = None
    status: str | None = None
    cpu_time: float | None = None
    wall_time: float | None = None
    memory: float | None = None


class _Kept(msgspec.Struct, frozen=True):
    """A file that a worker stores as a content."""

    sha256: Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{64}$")]
    size: Annotated[int, msgspec.Meta(ge=0)]


class _Reply(msgspec.Struct, frozen=True):
    run: _Stage | None = None
    compile: _Stage | None = None
    language: str = ""
    version: str = ""
    kept: Mapping[str, _Kept] = {}


_REPLY = msgspec.json.Decoder(_Reply)


def decode_reply(status: int, body: bytes, *, endpoint: str = "") -> JobResult:
    """Return the result in a reply, or raise the error that the reply describes."""
    if status != HTTPStatus.OK:
        raise make_refusal_error(status, body, endpoint)
    try:
        reply = _REPLY.decode(shallow(body))
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        where = f" from {endpoint}" if endpoint else ""
        raise BrokenReply(f"a reply of {len(body)} bytes{where} is not a reply of Piston: {error}") from error
    compiled = _decode_stage(reply.compile) if reply.compile is not None else None
    run = _decode_stage(reply.run) if reply.run is not None else compiled
    if run is None or (reply.run is None and run.code == 0):
        raise BrokenReply(f"a reply without the field `run` {endpoint}".rstrip())
    return JobResult(
        run=run,
        compile=compiled,
        language=reply.language,
        version=reply.version,
        endpoint=endpoint,
        stayed={
            name: Blob(sha256=stored_file.sha256, size=stored_file.size)
            for name, stored_file in reply.kept.items()
        },
    )


def _decode_stage(stage: _Stage) -> Ending:
    cpu_time, wall_time, memory = (
        None if number is None else round(number)
        for number in (stage.cpu_time, stage.wall_time, stage.memory)
    )
    return Ending(
        stdout=stage.stdout,
        stderr=stage.stderr,
        code=stage.code,
        signal=stage.signal,
        message=stage.message,
        status=_STATUSES.get(stage.status or ""),
        cpu_time=cpu_time,
        wall_time=wall_time,
        memory=memory,
    )


def make_refusal_error(status: int, body: bytes, endpoint: str = "") -> EngineError:
    """Return the error for a status other than 200. Its type shows if the server or the job is at fault."""
    message = read_refusal_message(body).removeprefix(f"{status} ")
    description = (
        f"{endpoint}: " * bool(endpoint)
        + f"HTTP {status}"
        + (f": {message}" if message else " with an empty body" if not body else "")
        + _GAVE_UP * (status == HTTPStatus.GATEWAY_TIMEOUT)
    )
    if status == HTTPStatus.REQUEST_ENTITY_TOO_LARGE or (
        status == HTTPStatus.BAD_REQUEST and _TOO_LARGE in message
    ):
        return JobTooLarge(f"the request is larger than the server accepts ({description})", limit=BODY)
    if status in _BUSY:
        return EngineOverloaded(description)
    if status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        return ServerFailed(description)
    if status in _NOT_THE_JOBS or not 400 <= status < 500 or not _is_from_piston(body):
        return EngineUnavailable(description)
    if status == HTTPStatus.CONFLICT and (names := _read_missing(body)):
        return LacksContents(names)
    if (over := find_limit_in_message(message)) is not None:
        return JobTooLarge(message, limit=over[0])
    return JobRejected(message or description, by_server=True)


class _MissingContents(msgspec.Struct):
    missing: frozenset[str] = frozenset()


def _read_missing(body: bytes) -> frozenset[str]:
    try:
        return msgspec.json.decode(shallow(body), type=_MissingContents).missing
    except (msgspec.DecodeError, UnicodeDecodeError):
        return frozenset()


# --- encoding of a reply, by the server --------------------------------------------------------------

_PIECE_CHARS = 1 << 18  # number of characters that are encoded at a time


def encode_result(result: JobResult) -> bytes:
    """Return the reply with a result, in the form of the current server."""
    return b"".join(encode_result_pieces(result))


MINIMAL = {"Prefer": "return=minimal"}
"""Header of requests to workers, which then omit the field `output`."""


def encode_result_pieces(result: JobResult, *, minimal: bool = False) -> Iterator[bytes]:
    """Yield the pieces of a reply, which may be many times as large as the result.

    JSON has six bytes for a NUL, and the field `output` repeats both streams. If `minimal`, it is omitted.
    """
    language, version = _ENCODER.encode(result.language), _ENCODER.encode(result.version)
    yield b'{"language":%b,"version":%b' % (language, version)
    if result.compile is not None:
        yield b',"compile":'
        yield from _encode_stage(result.compile, minimal=minimal)
    yield b',"run":'
    yield from _encode_stage(result.run, minimal=minimal)
    if result.stayed:
        stored_files = {name: _Kept(blob.sha256, blob.size) for name, blob in result.stayed.items()}
        yield b',"kept":%b' % _ENCODER.encode(stored_files)
    yield b"}"


def _encode_stage(stage: Ending, *, minimal: bool) -> Iterator[bytes]:
    yield _ENCODER.encode({name: getattr(stage, name) for name in _FACTS}).removesuffix(b"}")
    streams: dict[str, tuple[str, ...]] = {"stdout": (stage.stdout,), "stderr": (stage.stderr,)}
    if not minimal:
        streams["output"] = (stage.stdout, stage.stderr)
    for name, strings in streams.items():
        yield b',"%b":"' % name.encode()
        for piece in (piece for string in strings for piece in _split_text(string)):
            yield _encode_text(piece)
        yield b'"'
    yield b"}"


def _split_text(text: str) -> Iterator[str]:
    return (text[start : start + _PIECE_CHARS] for start in range(0, len(text), _PIECE_CHARS))


def _encode_text(text: str) -> bytes:
    return _ENCODER.encode(text)[1:-1]


def bounded(stage: Ending, max_bytes: int) -> Ending:
    """Return a stage with streams of at most `max_bytes` of JSON each.

    A stage with a longer stream counts as stopped by the output limit. Its stream is cut to half of
    `max_bytes`.
    """
    for name, status in (("stdout", StageStatus.OL), ("stderr", StageStatus.EL)):
        stream: str = getattr(stage, name)
        if _count_fitting(stream, max_bytes) < len(stream):
            prefix = stream[: _count_fitting(stream, max_bytes // 2)]
            stage = msgspec.structs.replace(stage, **{name: prefix}, code=None, signal="SIGKILL")
            stage = msgspec.structs.replace(stage, status=status, message=f"{name} length exceeded")
    return stage


def _count_fitting(text: str, max_bytes: int) -> int:
    """Return how many characters of a string fit into `max_bytes` of JSON."""
    if len(text) * _LONGEST_ESCAPE <= max_bytes:
        return len(text)
    fitting = 0
    for piece in _split_text(text):
        size = len(_encode_text(piece))
        if size > max_bytes:
            lengths = range(len(piece))
            return (
                fitting
                + bisect_right(lengths, max_bytes, key=lambda length: len(_encode_text(piece[:length])))
                - 1
            )
        fitting, max_bytes = fitting + len(piece), max_bytes - size
    return fitting


_TEXT, _BASE64, _HEX = "utf8", "base64", "hex"
LACKS_CONTENT = "content is required as a string"
"""Refusal of a file without content by servers that store no contents."""
LIMITS = tuple(
    f"{stage}_{what}" for what in ("memory_limit", "timeout", "cpu_time") for stage in ("compile", "run")
)
"""Fields of a request that a server limits, in the order in which Piston checks them."""


class _File(msgspec.Struct, frozen=True, omit_defaults=True):
    name: str
    content: str | bytes  # content of the file; bytes become base64 in the JSON
    encoding: str = _TEXT


class _StoredFile(msgspec.Struct, frozen=True, omit_defaults=True):
    """A file whose content the server stores. `encoding` is `utf8` for text."""

    name: str
    sha256: str
    executable: bool = False
    encoding: str = ""


class _Request(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    language: str
    version: str
    files: tuple[_File | _StoredFile, ...]
    args: tuple[str, ...] = ()
    stdin: str = ""
    compile_timeout: int | None = None
    run_timeout: int | None = None
    compile_cpu_time: int | None = None
    run_cpu_time: int | None = None
    compile_memory_limit: int | None = None
    run_memory_limit: int | None = None
    keep: tuple[str, ...] = ()
    exclusive: bool = False
    without_proc: bool = False


_ENCODER = msgspec.json.Encoder()
_GZIP_SUFFIX = ".gz"
_UNPACK = """if ! gzip -d -- {}; then
    echo 'The files of the job cannot be unpacked' >&2
    exit 92
fi
"""


class GzipBlob(Blob, kw_only=True):
    """A content with its gzip form. Requests contain that form, which the job's script unpacks."""

    gzip: bytes


def first_script(job: Job) -> str:
    """Return the name of the script that a server starts first, or an empty string for other runtimes."""
    if job.runtime == OWN:
        return "compile" if any(file.name == "compile" for file in job.files) else "run"
    return job.files[0].name if job.runtime == BASH else ""


def encode_request(
    job: Job, *, named: Collection[str] = (), keep: tuple[str, ...] = (), lines: str = ""
) -> bytes:
    """Return the body of a job's request.

    Raises JobRejected for names that leave the sandbox: a server would answer HTTP 500 without a reason.

    Args:
        named: hashes of contents that the server stores, which replace the contents.
        keep: files that the server should store.
        lines: shell commands that are put before the job's first script.
    """
    script = first_script(job)
    stored = {file.name for file in job.files if file.content.sha256 in named} - {script}
    packed = {
        file.name: file.content.gzip
        for file in job.files
        if script not in ("", file.name) and file.name not in stored and isinstance(file.content, GzipBlob)
    }
    if packed:
        lines += _UNPACK.format(shlex.join(f"{name}{_GZIP_SUFFIX}" for name in packed))
    files = list[_File | _StoredFile]()
    for file in job.files:
        if file.name in stored:
            # Only packages with bundled scripts read the names of the job's text files, so only they need the
            # encoding.
            encoding = "" if script else _inline_file(file).encoding
            files.append(_StoredFile(file.name, file.content.sha256, file.executable, encoding))
        elif file.name in packed:
            files.append(_File(f"{file.name}{_GZIP_SUFFIX}", packed[file.name], _BASE64))
        else:
            files.append(_inline_file(file, lines if file.name == script else ""))
    check_names(file.name for file in files)
    if not any(file.encoding == _TEXT for file in files):
        raise JobRejected("files must include at least one utf8 encoded file")
    limits = {name: getattr(job, name) for name in LIMITS}
    return _ENCODER.encode(
        _Request(
            language=job.runtime,
            version=job.version,
            files=tuple(files),
            args=job.args,
            stdin=job.stdin,
            keep=keep,
            exclusive=job.exclusive,
            without_proc=job.without_proc,
            **limits,
        )
    )


def _inline_file(file: JobFile, lines: str = "") -> _File:
    data = lines.encode() + file.content.read()
    if file.text is not False:
        try:
            return _File(file.name, data.decode())
        except UnicodeDecodeError:
            if file.text:
                raise JobRejected(f"{file.name!r} must be sent as text, but is not UTF-8") from None
    return _File(file.name, data, _BASE64)


# --- decoding of a request, by the server ------------------------------------------------------------


HASH = re.compile("[0-9a-f]{64}")


def decode_request(body: bytes, *, by_hash: bool = False) -> Job:
    """Return the job of a request, or raise RefusedRequest. `check_limits` checks a server's limits.

    If `by_hash`, a file may name its content by `sha256`, so the content has neither data nor path, and the
    job may ask the server to store files.
    """
    request = _decode_object(body)
    language, version = _require_string(request, "language"), _require_string(request, "version")
    file_list = request.get("files")
    if not isinstance(file_list, list):
        raise RefusedRequest("files is required as an array")
    for index, file in enumerate(file_list):
        is_complete = isinstance(file, dict) and (
            isinstance(file.get("content"), str) or (by_hash and _is_named(file))
        )
        if not is_complete:
            raise RefusedRequest(f"files[{index}].{LACKS_CONTENT}")
    files = tuple(_decode_file(index, file) for index, file in enumerate(file_list))
    if not any(file.text for file in files):
        raise RefusedRequest("files must include at least one utf8 encoded file")
    limits: dict[str, Any] = {name: _decode_limit(name, request.get(name)) for name in LIMITS}
    args, stdin = request.get("args"), request.get("stdin")
    if args is not None and not isinstance(args, list):
        raise RefusedRequest("args must be an array")
    if stdin is not None and not isinstance(stdin, str):
        raise RefusedRequest("stdin must be a string")
    arguments = (
        argument if isinstance(argument, str) else _ENCODER.encode(argument).decode()
        for argument in args or ()
    )
    keep = request.get("keep") if by_hash else None
    if keep is not None and not (isinstance(keep, list) and all(isinstance(name, str) for name in keep)):
        raise RefusedRequest("keep must be an array of strings")
    exclusive = request.get("exclusive", False)
    if not isinstance(exclusive, bool):
        raise RefusedRequest("exclusive must be a boolean")
    without_proc = request.get("without_proc") or False
    if not isinstance(without_proc, bool):
        raise RefusedRequest("without_proc must be true or false")
    return Job(
        files=files,
        runtime=language,
        version=version,
        args=tuple(arguments),
        stdin=stdin or "",
        keep=tuple(keep or ()),
        exclusive=exclusive,
        without_proc=without_proc,
        **limits,
    )


def _is_named(file: Mapping[str, Any]) -> bool:
    sha256 = file.get("sha256")
    return isinstance(sha256, str) and HASH.fullmatch(sha256) is not None


def _require_string(request: Mapping[str, Any], name: str) -> str:
    value = request.get(name)
    if not isinstance(value, str) or not value:
        raise RefusedRequest(f"{name} is required as a string")
    return value


def check_limits(job: Job, limits: Mapping[str, int]) -> None:
    """Raise RefusedRequest if a job exceeds `limits`. A limit of 0 or less means no limit."""
    for name in LIMITS:
        value, limit = getattr(job, name), limits.get(name, 0)
        if value is not None and 0 < limit < value:
            raise make_limit_refusal(name, limit)


def _decode_object(body: bytes) -> dict[str, Any]:
    try:
        request = msgspec.json.decode(shallow(body)) if body.strip() else {}
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise broken_json(str(error)) from error
    if isinstance(request, dict):
        return request
    if isinstance(request, list):
        return {}  # Piston's parser accepts a list, and finds no field in it
    raise broken_json("the body is neither an object nor a list")


def _decode_file(index: int, file: Mapping[str, Any]) -> JobFile:
    encoding, content, name = file.get("encoding"), file.get("content"), file.get("name")
    name = name if isinstance(name, str) and name else f"file{index}.code"
    if not isinstance(content, str):
        content_blob, is_text = Blob(sha256=file["sha256"], size=0), encoding == _TEXT
        return JobFile(
            name=name, content=content_blob, executable=file.get("executable") is True, text=is_text
        )
    data = (
        _decode_bytes(content, encoding) if encoding in (_BASE64, _HEX) else content.encode(errors="replace")
    )
    return JobFile(name=name, content=Blob.of(data), text=encoding not in (_BASE64, _HEX))


def _decode_bytes(content: str, encoding: str) -> bytes:
    """Decode base64 as Node does: both alphabets, with or without padding, up to the first error."""
    if encoding == _HEX:
        digits = len(content) - len(content.lstrip("0123456789abcdefABCDEF"))
        return bytes.fromhex(content[: digits & ~1])
    encoded = content.encode(errors="replace").translate(bytes.maketrans(b"-_", b"+/"))
    try:
        return base64.b64decode(encoded)
    except binascii.Error:
        letters = b"".join(encoded.split(b"=", 1)[0].split())
        return base64.b64decode(letters[: len(letters) - (len(letters) % 4 == 1)] + b"==")


def _decode_limit(name: str, value: Any) -> int | None:
    """Return a limit of a request, or None. 0 means that the request has no limit, and -1 no memory limit."""
    if not value:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise RefusedRequest(f"If specified, {name} must be a number")
    if value == -1 and name.endswith("memory_limit"):
        return None
    if value < 0:
        raise RefusedRequest(f"{name} must be non-negative")
    return math.ceil(value)


# --- GET /runtimes and /packages: installed and available language packages -----------------


class ServerRuntime(Value):
    language: str
    version: str
    aliases: tuple[str, ...] = ()
    runtime: str = ""  # name of the package if it provides several languages

    @property
    def names(self) -> tuple[str, ...]:
        """All names by which a job may call it."""
        return (self.language, *self.aliases)


_RUNTIMES = msgspec.json.Decoder(tuple[ServerRuntime, ...])


# HTTP statuses with which servers refuse a path that they do not have. Other statuses may come from a
# gateway.
_FOREIGN = frozenset({400, 404, 405, 410, 501})


def decode_runtimes(status: int, body: bytes) -> tuple[ServerRuntime, ...]:
    """Raise ForeignReply for a reply that is not from a Piston server."""
    if 300 <= status < 400 or status in _FOREIGN:
        raise ForeignReply(f"GET /api/v2/runtimes: the server replied with HTTP {status}")
    if status != 200:
        raise make_refusal_error(status, body)
    try:
        return _RUNTIMES.decode(shallow(body))
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ForeignReply("GET /api/v2/runtimes: the reply is not a list of runtimes") from error


def encode_runtimes(runtimes: Iterable[ServerRuntime]) -> bytes:
    values = (msgspec.structs.asdict(runtime) for runtime in runtimes)
    return _ENCODER.encode(
        [{name: value for name, value in fields.items() if value or name != "runtime"} for fields in values]
    )


def encode_packages(installed: Iterable[tuple[str, str]]) -> bytes:
    """Encode the runtimes, each by its language and version."""
    return _ENCODER.encode(
        [
            {"language": language, "language_version": version, "installed": True}
            for language, version in installed
        ]
    )


def decode_package(body: bytes) -> tuple[str, str]:
    """Return language and version of a request to install or remove a package, or raise RefusedRequest."""
    request = _decode_object(body)
    return _require_string(request, "language"), _require_string(request, "version")
