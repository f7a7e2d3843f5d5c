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

from ioi_eval.engines.contract import BASH, OWN, check_file_names
from ioi_eval.model.errors import (
    BrokenReply,
    EngineError,
    EngineOverloaded,
    EngineUnavailable,
    JobRejected,
    JobTooLarge,
)
from ioi_eval.model.job import Ending, Job, JobFile, JobResult, StageStatus
from ioi_eval.model.nesting import require_shallow
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


class MissingContentsError(EngineError):
    """A server lacks contents that a job names. `missing_hashes` are their hashes."""

    def __init__(self, missing_hashes: frozenset[str]) -> None:
        self.missing_hashes = missing_hashes
        super().__init__(
            f"the server lacks {format_count(len(missing_hashes), 'content')} that the job names by hash"
        )


def make_missing_contents_refusal(hashes: Iterable[str]) -> RefusedRequest:
    missing_hashes = sorted(set(hashes))
    message = (
        f"{format_count(len(missing_hashes), 'missing content')}: PUT each to /api/v2/contents/SHA256,"
        " and send the job again"
    )
    return RefusedRequest(
        message, status=HTTPStatus.CONFLICT, body={"message": message, "missing": missing_hashes}
    )


def make_json_refusal(detail: str) -> RefusedRequest:
    """Return the refusal of invalid JSON, with the first line of the stack trace that Piston sends."""
    return RefusedRequest(f"not JSON: {detail}", body={"stack": f"SyntaxError: {detail}"})


def make_size_refusal(max_bytes: int) -> RefusedRequest:
    """Return the refusal of a body over the limit. A compressed body counts uncompressed."""
    error_stack = f"PayloadTooLargeError: request entity too large (the limit is {max_bytes} bytes)"
    return RefusedRequest(f"a request's body may have {max_bytes} bytes", body={"stack": error_stack})


def make_limit_refusal(name: str, limit: int) -> RefusedRequest:
    return RefusedRequest(f"{name} cannot exceed the configured limit of {limit}")


def check_content_type(header: str | None) -> None:
    """Raise RefusedRequest unless the content type of a request with a body is JSON."""
    if not (header or "").startswith("application/json"):
        raise RefusedRequest("requests must be of type application/json", status=415)


# --- reading refusals ------------------------------------------------------------------


# Pattern for the title of a gateway's error page.
_PAGE = re.compile(rb"<(?:title|h1)\b[^>]*>\s*([^<]+)", re.IGNORECASE)
_MAX_PAGE_BYTES = 4096  # maximum bytes of a gateway's error page that are searched for a title


def read_refusal_message(body: bytes) -> str:
    """Return the message of a refusal: `message`, the first line of `stack`, a page's title, or the body."""
    refusal = _decode_json(body)
    if refusal is None:
        page_title = _PAGE.search(body, 0, _MAX_PAGE_BYTES)
        refusal = (page_title[1] if page_title else body[:200]).decode(errors="replace")
    if isinstance(refusal, dict):
        refusal = refusal.get("message") or refusal.get("stack") or ""
    return str(refusal).partition("\n")[0].strip()[:500]


def _decode_json(body: bytes) -> Any:
    """Return the JSON of a refusal, or None if it is not JSON."""
    try:
        return msgspec.json.decode(require_shallow(body))
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None


def _is_piston_refusal(body: bytes) -> bool:
    """Return True for a refusal of Piston itself, and not of a gateway."""
    refusal = _decode_json(body)
    return isinstance(refusal, dict) and not refusal.keys().isdisjoint({"message", "stack"})


_PISTON_STATUSES = frozenset({200, 400, 404, 415, 500})


def is_gateway_reply(status: int, body: bytes) -> bool:
    """Return True for a reply of a gateway, such as a request for a password."""
    return status not in _PISTON_STATUSES or (400 <= status < 500 and not _is_piston_refusal(body))


def find_limit_in_message(message: str) -> tuple[str, int] | None:
    """Return the name and value of the limit that a request exceeded, if the server names them."""
    limit_match = _ABOVE.search(message)
    return (limit_match[1], int(limit_match[2])) if limit_match else None


# --- results -----------------------------------------------------------------------------------------


_FACTS = ("code", "signal", "message", "status", "cpu_time", "wall_time", "memory")
_LONGEST_ESCAPE = 6  # maximum bytes that a single character needs in JSON
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


class _ReplyStage(msgspec.Struct, frozen=True):
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


class _StoredWorkerFile(msgspec.Struct, frozen=True):
    """A file that a worker stores as a content."""

    sha256: Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{64}$")]
    size: Annotated[int, msgspec.Meta(ge=0)]


class _Reply(msgspec.Struct, frozen=True):
    run: _ReplyStage | None = None
    compile: _ReplyStage | None = None
    language: str = ""
    version: str = ""
    kept: Mapping[str, _StoredWorkerFile] = {}


_REPLY = msgspec.json.Decoder(_Reply)


def decode_reply(status: int, body: bytes, *, endpoint: str = "") -> JobResult:
    """Return the result in a reply, or raise the error that the reply describes."""
    if status != HTTPStatus.OK:
        raise make_refusal_error(status, body, endpoint)
    try:
        reply = _REPLY.decode(require_shallow(body))
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        server_note = f" from {endpoint}" if endpoint else ""
        raise BrokenReply(
            f"a reply of {len(body)} bytes{server_note} is not a reply of Piston: {error}"
        ) from error
    compile_ending = _decode_stage_ending(reply.compile) if reply.compile is not None else None
    run_ending = _decode_stage_ending(reply.run) if reply.run is not None else compile_ending
    if run_ending is None or (reply.run is None and run_ending.code == 0):
        raise BrokenReply(f"a reply without the field `run` {endpoint}".rstrip())
    return JobResult(
        run=run_ending,
        compile=compile_ending,
        language=reply.language,
        version=reply.version,
        endpoint=endpoint,
        stayed={
            name: Blob(sha256=stored_file.sha256, size=stored_file.size)
            for name, stored_file in reply.kept.items()
        },
    )


def _decode_stage_ending(reply_stage: _ReplyStage) -> Ending:
    cpu_time, wall_time, memory = (
        None if number is None else round(number)
        for number in (reply_stage.cpu_time, reply_stage.wall_time, reply_stage.memory)
    )
    return Ending(
        stdout=reply_stage.stdout,
        stderr=reply_stage.stderr,
        code=reply_stage.code,
        signal=reply_stage.signal,
        message=reply_stage.message,
        status=_STATUSES.get(reply_stage.status or ""),
        cpu_time=cpu_time,
        wall_time=wall_time,
        memory=memory,
    )


def make_refusal_error(status: int, body: bytes, endpoint: str = "") -> EngineError:
    """Return the error for a reply with a status other than 200: its type says who is at fault."""
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
    if status in _NOT_THE_JOBS or not 400 <= status < 500 or not _is_piston_refusal(body):
        return EngineUnavailable(description)
    if status == HTTPStatus.CONFLICT and (missing_hashes := _decode_missing_hashes(body)):
        return MissingContentsError(missing_hashes)
    if (exceeded_limit := find_limit_in_message(message)) is not None:
        return JobTooLarge(message, limit=exceeded_limit[0])
    return JobRejected(message or description, by_server=True)


class _MissingContents(msgspec.Struct):
    missing: frozenset[str] = frozenset()


def _decode_missing_hashes(body: bytes) -> frozenset[str]:
    try:
        return msgspec.json.decode(require_shallow(body), type=_MissingContents).missing
    except (msgspec.DecodeError, UnicodeDecodeError):
        return frozenset()


# --- encoding of a reply, by the server --------------------------------------------------------------

_PIECE_CHARS = 1 << 18  # number of characters that are encoded at a time


def encode_result(result: JobResult) -> bytes:
    """Return the JSON of a reply with a result, in the format of current Piston servers."""
    return b"".join(encode_result_pieces(result))


MINIMAL = {"Prefer": "return=minimal"}
"""Header of requests to workers, which then omit the field `output`."""


def encode_result_pieces(result: JobResult, *, omits_output_field: bool = False) -> Iterator[bytes]:
    """Yield the pieces of a reply, which may be many times as large as the result.

    JSON has six bytes for a NUL, and the field `output` repeats both streams. If `omits_output_field`, this
    field is omitted.
    """
    language, version = _ENCODER.encode(result.language), _ENCODER.encode(result.version)
    yield b'{"language":%b,"version":%b' % (language, version)
    if result.compile is not None:
        yield b',"compile":'
        yield from _encode_stage_ending(result.compile, omits_output_field=omits_output_field)
    yield b',"run":'
    yield from _encode_stage_ending(result.run, omits_output_field=omits_output_field)
    if result.stayed:
        stored_files = {
            name: _StoredWorkerFile(content.sha256, content.size) for name, content in result.stayed.items()
        }
        yield b',"kept":%b' % _ENCODER.encode(stored_files)
    yield b"}"


def _encode_stage_ending(ending: Ending, *, omits_output_field: bool) -> Iterator[bytes]:
    yield _ENCODER.encode({field: getattr(ending, field) for field in _FACTS}).removesuffix(b"}")
    streams: dict[str, tuple[str, ...]] = {"stdout": (ending.stdout,), "stderr": (ending.stderr,)}
    if not omits_output_field:
        streams["output"] = (ending.stdout, ending.stderr)
    for field, strings in streams.items():
        yield b',"%b":"' % field.encode()
        for piece in (piece for string in strings for piece in _split_into_pieces(string)):
            yield _encode_text(piece)
        yield b'"'
    yield b"}"


def _split_into_pieces(text: str) -> Iterator[str]:
    return (text[start : start + _PIECE_CHARS] for start in range(0, len(text), _PIECE_CHARS))


def _encode_text(text: str) -> bytes:
    return _ENCODER.encode(text)[1:-1]


def limit_output(ending: Ending, max_bytes: int) -> Ending:
    """Return a stage's ending whose stdout and stderr need at most `max_bytes` each in JSON.

    If stdout or stderr needs more, it is cut to half of `max_bytes`, and the stage counts as stopped by the
    output limit.
    """
    for stream_name, status in (("stdout", StageStatus.OL), ("stderr", StageStatus.EL)):
        stream: str = getattr(ending, stream_name)
        if _count_fitting_chars(stream, max_bytes) < len(stream):
            shortened_stream = stream[: _count_fitting_chars(stream, max_bytes // 2)]
            ending = msgspec.structs.replace(
                ending, **{stream_name: shortened_stream}, code=None, signal="SIGKILL"
            )
            ending = msgspec.structs.replace(ending, status=status, message=f"{stream_name} length exceeded")
    return ending


def _count_fitting_chars(text: str, max_bytes: int) -> int:
    """Return how many characters of a string fit into `max_bytes` of JSON."""
    if len(text) * _LONGEST_ESCAPE <= max_bytes:
        return len(text)
    fitting_chars = 0
    for piece in _split_into_pieces(text):
        piece_bytes = len(_encode_text(piece))
        if piece_bytes > max_bytes:
            lengths = range(len(piece))
            return (
                fitting_chars
                + bisect_right(lengths, max_bytes, key=lambda length: len(_encode_text(piece[:length])))
                - 1
            )
        fitting_chars, max_bytes = fitting_chars + len(piece), max_bytes - piece_bytes
    return fitting_chars


_TEXT, _BASE64, _HEX = "utf8", "base64", "hex"
LACKS_CONTENT = "content is required as a string"
"""Refusal of a file without content by servers that store no contents."""
LIMITS = tuple(
    f"{stage}_{what}" for what in ("memory_limit", "timeout", "cpu_time") for stage in ("compile", "run")
)
"""Fields of a request that a server limits, in the order in which Piston checks them."""


class _RequestFile(msgspec.Struct, frozen=True, omit_defaults=True):
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
    files: tuple[_RequestFile | _StoredFile, ...]
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
    """A content with its gzip form, which requests contain and the job's script unpacks."""

    gzip: bytes


def find_first_script(job: Job) -> str:
    """Return the name of the script that a server starts first, or an empty string for other runtimes."""
    if job.runtime == OWN:
        return "compile" if any(file.name == "compile" for file in job.files) else "run"
    return job.files[0].name if job.runtime == BASH else ""


def encode_request(
    job: Job,
    *,
    stored_hashes: Collection[str] = (),
    files_to_keep: tuple[str, ...] = (),
    leading_shell_lines: str = "",
) -> bytes:
    """Return the body of a job's request.

    Raises JobRejected for names that leave the sandbox: a server would answer HTTP 500 without a reason.

    Args:
        stored_hashes: hashes of contents that the server stores, which replace the contents.
        files_to_keep: names of files that the server should store.
        leading_shell_lines: shell commands that are put before the job's first script.
    """
    script_name = find_first_script(job)
    stored_names = {file.name for file in job.files if file.content.sha256 in stored_hashes} - {script_name}
    gzip_by_name = {
        file.name: file.content.gzip
        for file in job.files
        if script_name not in ("", file.name)
        and file.name not in stored_names
        and isinstance(file.content, GzipBlob)
    }
    if gzip_by_name:
        leading_shell_lines += _UNPACK.format(shlex.join(f"{name}{_GZIP_SUFFIX}" for name in gzip_by_name))
    request_files = list[_RequestFile | _StoredFile]()
    for file in job.files:
        if file.name in stored_names:
            # The server needs the encoding only for packages with bundled scripts, which get the names of the
            # job's text files.
            encoding = "" if script_name else _make_inline_file(file).encoding
            request_files.append(_StoredFile(file.name, file.content.sha256, file.executable, encoding))
        elif file.name in gzip_by_name:
            request_files.append(_RequestFile(f"{file.name}{_GZIP_SUFFIX}", gzip_by_name[file.name], _BASE64))
        else:
            request_files.append(
                _make_inline_file(file, leading_shell_lines if file.name == script_name else "")
            )
    check_file_names(file.name for file in request_files)
    if not any(file.encoding == _TEXT for file in request_files):
        raise JobRejected("files must include at least one utf8 encoded file")
    limits = {name: getattr(job, name) for name in LIMITS}
    return _ENCODER.encode(
        _Request(
            language=job.runtime,
            version=job.version,
            files=tuple(request_files),
            args=job.args,
            stdin=job.stdin,
            keep=files_to_keep,
            exclusive=job.exclusive,
            without_proc=job.without_proc,
            **limits,
        )
    )


def _make_inline_file(file: JobFile, leading_shell_lines: str = "") -> _RequestFile:
    data = leading_shell_lines.encode() + file.content.read()
    if file.text is not False:
        try:
            return _RequestFile(file.name, data.decode())
        except UnicodeDecodeError:
            if file.text:
                raise JobRejected(f"{file.name!r} must be sent as text, but is not UTF-8") from None
    return _RequestFile(file.name, data, _BASE64)


# --- decoding of a request, by the server ------------------------------------------------------------


HASH = re.compile("[0-9a-f]{64}")


def decode_request(body: bytes, *, accepts_hashes: bool = False) -> Job:
    """Return the job of a request, or raise RefusedRequest. `check_limits` checks a server's limits.

    If `accepts_hashes`, a file may name its content by `sha256`, so the content has neither data nor path,
    and the job may ask the server to store files.
    """
    request = _decode_object(body)
    language, version = _require_string(request, "language"), _require_string(request, "version")
    request_files = request.get("files")
    if not isinstance(request_files, list):
        raise RefusedRequest("files is required as an array")
    for index, file in enumerate(request_files):
        is_complete = isinstance(file, dict) and (
            isinstance(file.get("content"), str) or (accepts_hashes and _has_hash(file))
        )
        if not is_complete:
            raise RefusedRequest(f"files[{index}].{LACKS_CONTENT}")
    files = tuple(_decode_file(index, file) for index, file in enumerate(request_files))
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
    files_to_keep = request.get("keep") if accepts_hashes else None
    if files_to_keep is not None and not (
        isinstance(files_to_keep, list) and all(isinstance(name, str) for name in files_to_keep)
    ):
        raise RefusedRequest("keep must be an array of strings")
    is_exclusive = request.get("exclusive", False)
    if not isinstance(is_exclusive, bool):
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
        keep=tuple(files_to_keep or ()),
        exclusive=is_exclusive,
        without_proc=without_proc,
        **limits,
    )


def _has_hash(request_file: Mapping[str, Any]) -> bool:
    sha256 = request_file.get("sha256")
    return isinstance(sha256, str) and HASH.fullmatch(sha256) is not None


def _require_string(request: Mapping[str, Any], name: str) -> str:
    value = request.get(name)
    if not isinstance(value, str) or not value:
        raise RefusedRequest(f"{name} is required as a string")
    return value


def check_limits(job: Job, limits: Mapping[str, int]) -> None:
    """Raise RefusedRequest if a job exceeds `limits`. A limit of 0 or less means no limit."""
    for name in LIMITS:
        requested_limit, limit = getattr(job, name), limits.get(name, 0)
        if requested_limit is not None and 0 < limit < requested_limit:
            raise make_limit_refusal(name, limit)


def _decode_object(body: bytes) -> dict[str, Any]:
    try:
        request = msgspec.json.decode(require_shallow(body)) if body.strip() else {}
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise make_json_refusal(str(error)) from error
    if isinstance(request, dict):
        return request
    if isinstance(request, list):
        return {}  # like Piston, which accepts a list and reports that the first required field is missing
    raise make_json_refusal("the body is neither an object nor a list")


def _decode_file(index: int, request_file: Mapping[str, Any]) -> JobFile:
    encoding, content, name = (
        request_file.get("encoding"),
        request_file.get("content"),
        request_file.get("name"),
    )
    name = name if isinstance(name, str) and name else f"file{index}.code"
    if not isinstance(content, str):
        content_blob, is_text = Blob(sha256=request_file["sha256"], size=0), encoding == _TEXT
        return JobFile(
            name=name, content=content_blob, executable=request_file.get("executable") is True, text=is_text
        )
    decoded_content = (
        _decode_bytes(content, encoding) if encoding in (_BASE64, _HEX) else content.encode(errors="replace")
    )
    return JobFile(name=name, content=Blob.of(decoded_content), text=encoding not in (_BASE64, _HEX))


def _decode_bytes(content: str, encoding: str) -> bytes:
    """Decode base64 as Node does: both alphabets, with or without padding, up to the first error."""
    if encoding == _HEX:
        digit_count = len(content) - len(content.lstrip("0123456789abcdefABCDEF"))
        return bytes.fromhex(content[: digit_count & ~1])
    standard_base64 = content.encode(errors="replace").translate(bytes.maketrans(b"-_", b"+/"))
    try:
        return base64.b64decode(standard_base64)
    except binascii.Error:
        base64_letters = b"".join(standard_base64.split(b"=", 1)[0].split())
        return base64.b64decode(
            base64_letters[: len(base64_letters) - (len(base64_letters) % 4 == 1)] + b"=="
        )


def _decode_limit(name: str, requested_limit: Any) -> int | None:
    """Return a limit of a request, or None. 0 means that the request has no limit, and -1 no memory limit."""
    if not requested_limit:
        return None
    if (
        isinstance(requested_limit, bool)
        or not isinstance(requested_limit, int | float)
        or not math.isfinite(requested_limit)
    ):
        raise RefusedRequest(f"If specified, {name} must be a number")
    if requested_limit == -1 and name.endswith("memory_limit"):
        return None
    if requested_limit < 0:
        raise RefusedRequest(f"{name} must be non-negative")
    return math.ceil(requested_limit)


# --- GET /runtimes and /packages: installed and available language packages -----------------


class ServerRuntime(Value):
    language: str
    version: str
    aliases: tuple[str, ...] = ()
    runtime: str = ""  # name of the installed package if it provides several languages

    @property
    def names(self) -> tuple[str, ...]:
        """All names by which a job may call it."""
        return (self.language, *self.aliases)


_RUNTIMES = msgspec.json.Decoder(tuple[ServerRuntime, ...])


# HTTP statuses with which servers refuse a path that they do not have. Other statuses may come from a
# gateway.
_FOREIGN = frozenset({400, 404, 405, 410, 501})


def decode_runtimes(status: int, body: bytes) -> tuple[ServerRuntime, ...]:
    """Return the runtimes in a server's reply. Raises ForeignReply if the server is not a Piston server."""
    if 300 <= status < 400 or status in _FOREIGN:
        raise ForeignReply(f"GET /api/v2/runtimes: the server replied with HTTP {status}")
    if status != 200:
        raise make_refusal_error(status, body)
    try:
        return _RUNTIMES.decode(require_shallow(body))
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ForeignReply("GET /api/v2/runtimes: the reply is not a list of runtimes") from error


def encode_runtimes(runtimes: Iterable[ServerRuntime]) -> bytes:
    runtime_fields = (msgspec.structs.asdict(runtime) for runtime in runtimes)
    return _ENCODER.encode(
        [
            {field: field_value for field, field_value in fields.items() if field_value or field != "runtime"}
            for fields in runtime_fields
        ]
    )


def encode_package_list(runtimes: Iterable[tuple[str, str]]) -> bytes:
    """Return the JSON list of installed packages, each with its language and version."""
    return _ENCODER.encode(
        [
            {"language": language, "language_version": version, "installed": True}
            for language, version in runtimes
        ]
    )


def decode_language_and_version(body: bytes) -> tuple[str, str]:
    """Return language and version of a request to install or remove a package, or raise RefusedRequest."""
    request = _decode_object(body)
    return _require_string(request, "language"), _require_string(request, "version")
