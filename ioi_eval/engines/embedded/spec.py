"""What the engine says to `proctor box` and what comes back: docs/protocol.md, "Box spec"."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from ioi_eval.model.errors import BrokenReply
from ioi_eval.model.protocol import Message

VERSION = 2


class BoxFile(Message):
    name: str
    path: str


class BoxLimits(Message):
    wall_ms: int | None = None  # of idling
    hard_ms: int | None = None  # of time that passes, whatever programs do
    cpu_ms: int | None = None
    memory: int | None = None
    file_size: int | None = None
    processes: int | None = None
    disk: int | None = None  # bytes of all files in the box
    names: int | None = None  # files, folders and links in the box


class BoxSpec(Message, kw_only=True, omit_defaults=False):  # kw_only is not inherited
    version: int = VERSION
    argv: tuple[str, ...]
    env: Mapping[str, str]
    dir: str
    files: tuple[BoxFile, ...] = ()
    read: tuple[str, ...] = ()  # further folders that programs may look into and run from
    profile: str
    uid: int | msgspec.UnsetType = msgspec.UNSET
    limits: BoxLimits = BoxLimits()
    report_fd: int
    leash_fd: int
    layers: tuple[str, ...] | msgspec.UnsetType = msgspec.UNSET
    allow_unconfined: bool = False


class BoxReport(Message):
    v: int
    code: int = 0
    signal: int = 0
    killed: str = ""  # wall, hard, cpu, memory, processes, disk, leash
    cpu_us: int = 0
    wall_us: int = 0
    waited_us: int = 0
    memory: int = 0
    confinement: Mapping[str, Any] = {}
    failure: str | None = None


_REPORT = msgspec.json.Decoder(BoxReport)


def encode_spec(spec: BoxSpec) -> bytes:
    return msgspec.json.encode(spec)


def decode_report(text: bytes) -> BoxReport:
    try:
        report = _REPORT.decode(text)
    except msgspec.DecodeError as error:
        raise BrokenReply(f"the box's report is not of the agreed shape: {error}") from error
    if report.v != VERSION:
        raise BrokenReply(f"the box's report is of version {report.v}, this package speaks {VERSION}")
    return report
