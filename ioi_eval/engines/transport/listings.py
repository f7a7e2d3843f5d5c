"""GET /runtimes and /packages: what a server has, and what it could have."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from ioi_eval.engines.transport.refusals import Refused
from ioi_eval.engines.transport.replies import error_of
from ioi_eval.model.errors import BrokenReply
from ioi_eval.model.nesting import shallow
from ioi_eval.model.values import Value


class Runtime(Value):
    language: str
    version: str
    aliases: tuple[str, ...] = ()
    runtime: str = ""  # of a package that provides several languages: its own name

    @property
    def names(self) -> tuple[str, ...]:
        """All that a job may call it."""
        return (self.language, *self.aliases)


class Package(Value):
    language: str
    version: str
    installed: bool = False


class _Package(msgspec.Struct, frozen=True):
    """Listings call the version `language_version`, requests to install `version`."""

    language: str
    language_version: str
    installed: bool = False


_RUNTIMES = msgspec.json.Decoder(tuple[Runtime, ...])
_PACKAGES = msgspec.json.Decoder(tuple[_Package, ...])
_ENCODER = msgspec.json.Encoder()


def decode_runtimes(status: int, body: bytes) -> tuple[Runtime, ...]:
    if status != 200:
        raise error_of(status, body)
    try:
        return _RUNTIMES.decode(shallow(body))
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise BrokenReply(f"not a list of runtimes: {error}") from error


def encode_runtimes(runtimes: Iterable[Runtime]) -> bytes:
    return _ENCODER.encode([_told(runtime) for runtime in runtimes])


def _told(runtime: Runtime) -> dict[str, Any]:
    told: dict[str, Any] = {
        "language": runtime.language,
        "version": runtime.version,
        "aliases": runtime.aliases,
    }
    return told | {"runtime": runtime.runtime} if runtime.runtime else told


def decode_packages(status: int, body: bytes) -> tuple[Package, ...]:
    if status != 200:
        raise error_of(status, body)
    try:
        told = _PACKAGES.decode(shallow(body))
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise BrokenReply(f"not a list of packages: {error}") from error
    return tuple(
        Package(language=each.language, version=each.language_version, installed=each.installed)
        for each in told
    )


def encode_packages(packages: Iterable[Package]) -> bytes:
    return _ENCODER.encode([_Package(each.language, each.version, each.installed) for each in packages])


def encode_package(language: str, version: str) -> bytes:
    """The body of POST and DELETE /packages, and of the reply to both."""
    return _ENCODER.encode({"language": language, "version": version})


def decode_package(body: bytes) -> tuple[str, str]:
    """Language and version of a request to install or to remove. Raises Refused."""
    try:
        asked: Any = msgspec.json.decode(shallow(body))
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise Refused(f"not JSON: {error}") from error
    words = [asked.get(name) if isinstance(asked, dict) else None for name in ("language", "version")]
    for name, word in zip(("language", "version"), words, strict=True):
        if not isinstance(word, str) or not word:
            raise Refused(f"{name} is required as a string")
    return str(words[0]), str(words[1])
