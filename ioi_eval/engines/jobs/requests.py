"""The body of POST /execute, and the lists of runtimes and packages: bytes from values, and back. Pure."""

from __future__ import annotations

import base64
import binascii
import math
import re
from collections.abc import Collection, Iterable, Mapping
from typing import Any

import msgspec

from ioi_eval.engines.contract import check_names
from ioi_eval.engines.jobs.replies import ForeignReply, Refused, broken_json, error_of, refused_above
from ioi_eval.model.errors import JobRejected
from ioi_eval.model.job import Job, JobFile
from ioi_eval.model.nesting import shallow
from ioi_eval.model.values import Blob, Value

_TEXT, _BASE64, _HEX = "utf8", "base64", "hex"
LACKS_CONTENT = "content is required as a string"
"""What servers say that keep no contents, to a file that is named by its hash."""
LIMITS = tuple(
    f"{stage}_{what}" for what in ("memory_limit", "timeout", "cpu_time") for stage in ("compile", "run")
)
"""Fields of a request that a server's own limits bound, in the order in which Piston looks at them."""


class _File(msgspec.Struct, frozen=True, omit_defaults=True):
    name: str
    content: str | bytes  # bytes become base64 in the JSON
    encoding: str = _TEXT


class _Named(msgspec.Struct, frozen=True, omit_defaults=True):
    """A file of which a server keeps the content."""

    name: str
    sha256: str
    executable: bool = False


class _Request(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    language: str
    version: str
    files: tuple[_File | _Named, ...]
    args: tuple[str, ...] = ()
    stdin: str = ""
    compile_timeout: int | None = None
    run_timeout: int | None = None
    compile_cpu_time: int | None = None
    run_cpu_time: int | None = None
    compile_memory_limit: int | None = None
    run_memory_limit: int | None = None


_ENCODER = msgspec.json.Encoder()


def encode_request(job: Job, *, language: str = "", version: str = "", named: Collection[str] = ()) -> bytes:
    """Reads the files of the job. `language` and `version`: the job's own where they are not given.

    `named`: hashes of contents that the server keeps, which take their place. A server says nothing but 500
    to a name that leaves the box, so that is refused here.
    """
    if job.keep:
        raise JobRejected("a Piston server hands over no files by path")
    check_names(file.name for file in job.files)
    files = tuple(_by_name(file, named) or _file(file) for file in job.files)
    if not any(isinstance(file, _File) and file.encoding == _TEXT for file in files):
        raise JobRejected("files must include at least one utf8 encoded file")
    limits = {name: getattr(job, name) for name in LIMITS}
    return _ENCODER.encode(
        _Request(
            language=language or job.runtime,
            version=version or job.version,
            files=files,
            args=job.args,
            stdin=job.stdin,
            **limits,
        )
    )


def _by_name(file: JobFile, named: Collection[str]) -> _Named | None:
    origin = file.origin or file
    if origin.content.sha256 not in named:
        return None
    return _Named(origin.name, origin.content.sha256, origin.executable)


def _file(file: JobFile) -> _File:
    data = file.content.read()
    if file.text is not False:
        try:
            return _File(file.name, data.decode())
        except UnicodeDecodeError:
            if file.text:
                raise JobRejected(f"{file.name!r} is to travel as text, but is not UTF-8") from None
    return _File(file.name, data, _BASE64)


# --- the server's side -------------------------------------------------------------------------------


HASH = re.compile("[0-9a-f]{64}")


def decode_request(body: bytes, *, by_hash: bool = False) -> Job:
    """The job that a request asks for. Raises Refused; `check_limits` is for what only a server knows.

    `by_hash`: whether a file may name its content by `sha256`. Such a content has neither data nor path.
    """
    asked = _object(body)
    language, version = _required(asked, "language"), _required(asked, "version")
    given = asked.get("files")
    if not isinstance(given, list):
        raise Refused("files is required as an array")
    for index, file in enumerate(given):
        told = isinstance(file, dict) and (
            isinstance(file.get("content"), str) or (by_hash and _is_named(file))
        )
        if not told:
            raise Refused(f"files[{index}].{LACKS_CONTENT}")
    files = tuple(_decoded(index, file) for index, file in enumerate(given))
    if not any(file.text for file in files):
        raise Refused("files must include at least one utf8 encoded file")
    limits: dict[str, Any] = {name: _limit(name, asked.get(name)) for name in LIMITS}
    args, stdin = asked.get("args"), asked.get("stdin")
    if args is not None and not isinstance(args, list):
        raise Refused("args must be an array")
    if stdin is not None and not isinstance(stdin, str):
        raise Refused("stdin must be a string")
    words = (word if isinstance(word, str) else _ENCODER.encode(word).decode() for word in args or ())
    return Job(files=files, runtime=language, version=version, args=tuple(words), stdin=stdin or "", **limits)


def _is_named(file: Mapping[str, Any]) -> bool:
    name = file.get("sha256")
    return isinstance(name, str) and HASH.fullmatch(name) is not None


def _required(asked: Mapping[str, Any], name: str) -> str:
    word = asked.get(name)
    if not isinstance(word, str) or not word:
        raise Refused(f"{name} is required as a string")
    return word


def check_limits(job: Job, limits: Mapping[str, int]) -> None:
    """Raises Refused where the job asks for more than `limits` has; a limit of 0 or less is none."""
    for name in LIMITS:
        value, limit = getattr(job, name), limits.get(name, 0)
        if value is not None and 0 < limit < value:
            raise refused_above(name, limit)


def _object(body: bytes) -> dict[str, Any]:
    try:
        asked = msgspec.json.decode(shallow(body)) if body.strip() else {}
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise broken_json(str(error)) from error
    if isinstance(asked, dict):
        return asked
    if isinstance(asked, list):
        return {}  # JSON that Piston's parser takes, and then finds nothing in
    raise broken_json("neither an object nor a list")


def _decoded(index: int, file: Mapping[str, Any]) -> JobFile:
    encoding, content, name = file.get("encoding"), file.get("content"), file.get("name")
    name = name if isinstance(name, str) and name else f"file{index}.code"
    if not isinstance(content, str):
        kept = Blob(sha256=file["sha256"], size=0)
        return JobFile(name=name, content=kept, executable=file.get("executable") is True, text=False)
    data = _bytes(content, encoding) if encoding in (_BASE64, _HEX) else content.encode(errors="replace")
    return JobFile(name=name, content=Blob.of(data), text=encoding not in (_BASE64, _HEX))


def _bytes(content: str, encoding: str) -> bytes:
    """As lenient as Node: both alphabets, padding or not, nothing more once it is broken."""
    if encoding == _HEX:
        digits = len(content) - len(content.lstrip("0123456789abcdefABCDEF"))
        return bytes.fromhex(content[: digits & ~1])
    text = content.encode(errors="replace").translate(bytes.maketrans(b"-_", b"+/"))
    try:
        return base64.b64decode(text)
    except binascii.Error:
        letters = b"".join(text.split(b"=", 1)[0].split())
        return base64.b64decode(letters[: len(letters) - (len(letters) % 4 == 1)] + b"==")


def _limit(name: str, value: Any) -> int | None:
    """None where it is not given; 0 is not given, and -1 is the word for no memory limit."""
    if not value:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise Refused(f"If specified, {name} must be a number")
    if value == -1 and name.endswith("memory_limit"):
        return None
    if value < 0:
        raise Refused(f"{name} must be non-negative")
    return math.ceil(value)


# --- GET /runtimes and /packages: what a server has, and what it could have --------------------------


class Runtime(Value):
    language: str
    version: str
    aliases: tuple[str, ...] = ()
    runtime: str = ""  # of a package that provides several languages: its own name

    @property
    def names(self) -> tuple[str, ...]:
        """All that a job may call it."""
        return (self.language, *self.aliases)


_RUNTIMES = msgspec.json.Decoder(tuple[Runtime, ...])


# What others say of a path that they do not have. Other refusals may come from a gateway before a Piston.
_FOREIGN = frozenset({400, 404, 405, 410, 501})


def decode_runtimes(status: int, body: bytes) -> tuple[Runtime, ...]:
    """Raise ForeignReply for the answer of something that is no Piston."""
    if 300 <= status < 400 or status in _FOREIGN:
        raise ForeignReply(f"GET /api/v2/runtimes: HTTP {status}")
    if status != 200:
        raise error_of(status, body)
    try:
        return _RUNTIMES.decode(shallow(body))
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ForeignReply("GET /api/v2/runtimes: not a list of runtimes") from error


def encode_runtimes(runtimes: Iterable[Runtime]) -> bytes:
    told = (msgspec.structs.asdict(runtime) for runtime in runtimes)
    return _ENCODER.encode(
        [{name: word for name, word in each.items() if word or name != "runtime"} for each in told]
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
    """Language and version of a request to install or to remove. Raises Refused."""
    asked = _object(body)
    return _required(asked, "language"), _required(asked, "version")
