"""Jobs for engines that take no paths: all in the request, small, and unpacked by the job's own script."""

from __future__ import annotations

import asyncio
import gzip
import shlex
from collections import OrderedDict
from collections.abc import Iterable

import msgspec

from ioi_eval.engines.transport.jobs import shell_runtime
from ioi_eval.engines.values import Profile
from ioi_eval.model.values import Blob, Job, JobFile, Value
from ioi_eval.store.single_flight import Shared

_SMALL = 2048  # bytes; what is smaller travels as it is
# Bytes; what is larger is compressed less, but in a third of the time: programs and large tests. What travels
# with every job of a run, proctor and usual tests, is smaller.
_FAST = 1 << 20
_PER_FILE = 80  # bytes of a request around a file's content
_PACKED = ".gz"
_SCRIPTS = frozenset({"compile", "run", "build"})  # text that a shell reads, unpacked before anything is
_UNPACK = "gzip -d -- {} || {{ echo 'The files of the job cannot be unpacked' >&2; exit 92; }}\n"


class Parcel(Value):
    """A content in the form in which it travels."""

    content: Blob
    packed: bool
    weight: int  # bytes of a request


class Shipping:
    """Packs contents and remembers some: the tests of a problem travel with every submission.

    `room`: bytes of packed contents that are remembered.
    """

    def __init__(self, room: int = 256 << 20) -> None:
        self._room, self._used = room, 0
        self._parcels: OrderedDict[str, Parcel] = OrderedDict()
        self._packing: Shared[Parcel] = Shared()

    async def shipped(self, job: Job, script: str, profile: Profile) -> Job:
        """The job with nothing in it that an engine would have to fetch. `script`: the file that unpacks."""
        parcels = {
            file.name: await self.parcel(file.content) for file in job.files if file.name not in _SCRIPTS
        }
        unpacking = _unpacking(
            (name for name, parcel in parcels.items() if parcel.packed),
            (file.name for file in job.files if file.executable),
        )
        files = [
            JobFile(
                name=file.name,
                content=Blob.of((unpacking if file.name == script else "").encode() + file.content.read()),
            )
            for file in job.files
            if file.name in _SCRIPTS
        ]
        files.sort(key=lambda file: file.name != script)  # the first text file is the main one
        files += [
            JobFile(name=name + (_PACKED if parcel.packed else ""), content=parcel.content)
            for name, parcel in parcels.items()
        ]
        return msgspec.structs.replace(job, files=tuple(files), runtime=shell_runtime(profile))

    async def weight(self, content: Blob) -> int:
        """Bytes that a file with this content adds to a request."""
        return (await self.parcel(content)).weight + _PER_FILE

    def delivered(self, content: Blob, packed: bytes) -> None:
        """Takes over the form in which a content came, so that it travels on without being packed again."""
        weight = _in_base64(len(packed))
        if content.size >= _SMALL and weight < _in_base64(content.size):
            self._remember(content.sha256, Parcel(content=Blob.of(packed), packed=True, weight=weight))

    async def parcel(self, content: Blob) -> Parcel:
        found = self._parcels.get(content.sha256)
        if found is None:
            found = await self._packing.call(content.sha256, lambda: asyncio.to_thread(pack, content))
            self._remember(content.sha256, found)
        else:
            self._parcels.move_to_end(content.sha256)
        return found

    def _remember(self, key: str, parcel: Parcel) -> None:
        if key in self._parcels:
            return
        self._parcels[key] = parcel
        self._used += parcel.content.size
        while self._used > self._room:
            self._used -= self._parcels.popitem(last=False)[1].content.size


def pack(content: Blob) -> Parcel:
    """Compressed where that pays: a request is JSON, and what is not text grows by a third in it."""
    data = content.read()
    plain = _carried(data)
    as_it_is = Parcel(
        content=Blob(sha256=content.sha256, size=content.size, data=data), packed=False, weight=plain
    )
    if len(data) < _SMALL:
        return as_it_is
    packed = Blob.of(gzip.compress(data, 6 if len(data) < _FAST else 1, mtime=0))
    weight = _in_base64(packed.size)
    return Parcel(content=packed, packed=True, weight=weight) if weight < plain else as_it_is


def _carried(data: bytes) -> int:
    try:
        return len(msgspec.json.encode(data.decode()))
    except UnicodeDecodeError:
        return _in_base64(len(data))


def _in_base64(size: int) -> int:
    return (size + 2) // 3 * 4


def _unpacking(packed: Iterable[str], executable: Iterable[str]) -> str:
    archives, programs = [name + _PACKED for name in packed], list(executable)
    text = _UNPACK.format(shlex.join(archives)) if archives else ""
    return text + (f"chmod +x -- {shlex.join(programs)}\n" if programs else "")
