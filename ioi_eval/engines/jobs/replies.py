"""The reply to POST /execute, and refusals: as bytes, and what a client makes of whatever came back. Pure."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping
from http import HTTPStatus
from typing import Any

import msgspec

from ioi_eval.model.errors import (
    BrokenReply,
    EngineError,
    EngineOverloaded,
    EngineUnavailable,
    JobRejected,
    JobTooLarge,
)
from ioi_eval.model.job import JobResult, Stage, StageStatus
from ioi_eval.model.nesting import shallow

# --- refusals: a status and a message ----------------------------------------------------------------


_ABOVE = re.compile(r"(\w+) cannot exceed the configured limit of (\d+)")


class Refused(JobRejected):
    """A server's refusal of a request. `body` goes over the wire."""

    def __init__(self, message: str, *, status: int = 400, body: Mapping[str, Any] | None = None) -> None:
        self.status = status
        self.body = msgspec.json.encode({"message": message} if body is None else body)
        super().__init__(message)


class ForeignReply(BrokenReply):
    """An answer that no Piston gives. The message says what came."""


class LacksContents(EngineError):
    """A server keeps some contents no more, or not yet, that a job names. `names` are their hashes."""

    def __init__(self, names: frozenset[str]) -> None:
        self.names = names
        super().__init__(f"the server lacks {len(names)} contents that the job names by their hash")


def lacks_contents(names: Iterable[str]) -> Refused:
    missing = sorted(set(names))
    words = (
        f"{len(missing)} contents are not here: PUT them to /api/v2/contents/SHA256, and send the job again"
    )
    return Refused(words, status=HTTPStatus.CONFLICT, body={"message": words, "missing": missing})


def broken_json(detail: str) -> Refused:
    """Piston hands out its stack here; where it happened in ours is nobody's business."""
    return Refused(f"not JSON: {detail}", body={"stack": f"SyntaxError: {detail}"})


def too_large(limit: int) -> Refused:
    """A body over the limit, inflated if it was compressed."""
    stack = f"PayloadTooLargeError: request entity too large (the limit is {limit} bytes)"
    return Refused(f"a request's body may have {limit} bytes", body={"stack": stack})


def refused_above(name: str, limit: int) -> Refused:
    return Refused(f"{name} cannot exceed the configured limit of {limit}")


def check_content_type(header: str | None) -> None:
    """Check the content type of a request with a body."""
    if not (header or "").startswith("application/json"):
        raise Refused("requests must be of type application/json", status=415)


# --- and what a client makes of one ------------------------------------------------------------------


def words_of(body: bytes) -> str:
    """Return the words of a refusal: `message`, the first line of `stack`, or the body itself, cut."""
    try:
        said: Any = msgspec.json.decode(shallow(body))
    except (msgspec.DecodeError, UnicodeDecodeError):
        said = body[:200].decode(errors="replace")
    if isinstance(said, dict):
        said = said.get("message") or said.get("stack") or ""
    return str(said).partition("\n")[0].strip()[:500]


def limit_in(words: str) -> tuple[str, int] | None:
    """The limit that a request was over and its value, where the server names them."""
    found = _ABOVE.search(words)
    return (found[1], int(found[2])) if found else None


# --- results -----------------------------------------------------------------------------------------


_FACTS = ("code", "signal", "message", "status", "cpu_time", "wall_time", "memory")
_LONGEST_ESCAPE = 6  # bytes of JSON for one character
_STATUSES = {status.value: status for status in StageStatus}
_BUSY = {HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.TOO_EARLY, HTTPStatus.TOO_MANY_REQUESTS, 503}
_NOT_THE_JOBS = {HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN, HTTPStatus.NOT_FOUND, 405, 407}
_TOO_LARGE = "PayloadTooLargeError"
BODY = "body"
"""What `JobTooLarge.limit` says where a request is too large; otherwise it has a name of `LIMITS`."""


class _Stage(msgspec.Struct, frozen=True):
    """A stage as any server tells it: those before isolate leave out what is last here."""

    stdout: str = ""
    stderr: str = ""
    code: int | None = None
    signal: str | None = None
    message: str | None = None
    status: str | None = None
    cpu_time: float | None = None
    wall_time: float | None = None
    memory: float | None = None


class _Reply(msgspec.Struct, frozen=True):
    run: _Stage | None = None
    compile: _Stage | None = None
    language: str = ""
    version: str = ""


_REPLY = msgspec.json.Decoder(_Reply)
_ENCODER = msgspec.json.Encoder()


def decode_reply(status: int, body: bytes, *, endpoint: str = "") -> JobResult:
    """The result, or the typed error of what came instead of one."""
    if status != HTTPStatus.OK:
        raise error_of(status, body, endpoint)
    try:
        reply = _REPLY.decode(shallow(body))
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        where = f" from {endpoint}" if endpoint else ""
        raise BrokenReply(f"a reply of {len(body)} bytes{where} is not one of Piston's: {error}") from error
    compiled = _stage(reply.compile) if reply.compile is not None else None
    run = _stage(reply.run) if reply.run is not None else compiled
    if run is None or (reply.run is None and run.code == 0):
        raise BrokenReply(f"a reply without the field `run` {endpoint}".rstrip())
    return JobResult(
        run=run, compile=compiled, language=reply.language, version=reply.version, endpoint=endpoint
    )


def _stage(told: _Stage) -> Stage:
    return Stage(
        stdout=told.stdout,
        stderr=told.stderr,
        code=told.code,
        signal=told.signal,
        message=told.message,
        status=_STATUSES.get(told.status or ""),
        cpu_time=_whole(told.cpu_time),
        wall_time=_whole(told.wall_time),
        memory=_whole(told.memory),
    )


def _whole(number: float | None) -> int | None:
    return None if number is None else round(number)


def error_of(status: int, body: bytes, endpoint: str = "") -> EngineError:
    """Return the error for a status other than 200. Its type says whose fault it is."""
    words = words_of(body)
    text = (
        f"{endpoint}: " * bool(endpoint)
        + f"HTTP {status}"
        + (f": {words}" if words else " with an empty body" if not body else "")
    )
    if status == HTTPStatus.REQUEST_ENTITY_TOO_LARGE or (
        status == HTTPStatus.BAD_REQUEST and _TOO_LARGE in words
    ):
        return JobTooLarge(f"the request is larger than the server takes ({text})", limit=BODY)
    if status in _BUSY:
        return EngineOverloaded(text)
    if status in _NOT_THE_JOBS or not 400 <= status < 500:
        return EngineUnavailable(text)
    if status == HTTPStatus.CONFLICT and (names := _missing(body)):
        return LacksContents(names)
    if (over := limit_in(words)) is not None:
        return JobTooLarge(words, limit=over[0])
    return JobRejected(words or text)


class _Lacking(msgspec.Struct):
    missing: frozenset[str] = frozenset()


def _missing(body: bytes) -> frozenset[str]:
    try:
        return msgspec.json.decode(shallow(body), type=_Lacking).missing
    except (msgspec.DecodeError, UnicodeDecodeError):
        return frozenset()


# --- the server's side -------------------------------------------------------------------------------

_PART = 1 << 18  # characters that are encoded at a time


def encode_result(result: JobResult) -> bytes:
    """As the current server tells it."""
    return b"".join(pieces_of(result))


def pieces_of(result: JobResult) -> Iterator[bytes]:
    """The same, piece by piece: it may be many times as large as the result.

    JSON makes six bytes of a NUL, and the field `output` repeats both streams.
    """
    language, version = _ENCODER.encode(result.language), _ENCODER.encode(result.version)
    yield b'{"language":%b,"version":%b' % (language, version)
    if result.compile is not None:
        yield b',"compile":'
        yield from _told(result.compile)
    yield b',"run":'
    yield from _told(result.run)
    yield b"}"


def _told(stage: Stage) -> Iterator[bytes]:
    yield _ENCODER.encode({name: getattr(stage, name) for name in _FACTS}).removesuffix(b"}")
    streams = {"stdout": (stage.stdout,), "stderr": (stage.stderr,), "output": (stage.stdout, stage.stderr)}
    for name, texts in streams.items():
        yield b',"%b":"' % name.encode()
        for part in (part for text in texts for part in _parts(text)):
            yield _escaped(part)
        yield b'"'
    yield b"}"


def _parts(text: str) -> Iterator[str]:
    return (text[place : place + _PART] for place in range(0, len(text), _PART))


def _escaped(text: str) -> bytes:
    return _ENCODER.encode(text)[1:-1]


def bounded(stage: Stage, most: int) -> Stage:
    """The stage itself, or where a stream takes more than `most` bytes of JSON, one that printed too much.

    Of such a stream a part is kept that takes half of that.
    """
    for name, status in (("stdout", StageStatus.OL), ("stderr", StageStatus.EL)):
        text: str = getattr(stage, name)
        if _fitting(text, most) < len(text):
            kept = text[: _fitting(text, most // 2)]
            stage = msgspec.structs.replace(stage, **{name: kept}, code=None, signal="SIGKILL")
            stage = msgspec.structs.replace(stage, status=status, message=f"{name} length exceeded")
    return stage


def _fitting(text: str, most: int) -> int:
    """Return the number of a text's characters that take at most `most` bytes."""
    if len(text) * _LONGEST_ESCAPE <= most:
        return len(text)
    fitting = 0
    for part in _parts(text):
        size = len(_escaped(part))
        if size > most:
            lengths = range(len(part))
            return fitting + bisect_right(lengths, most, key=lambda length: len(_escaped(part[:length]))) - 1
        fitting, most = fitting + len(part), most - size
    return fitting
