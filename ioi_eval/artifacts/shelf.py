"""How a build and its outcome lie in the store: a folder per key, which appears whole or not at all."""

from __future__ import annotations

import shutil
import threading
from collections import OrderedDict
from pathlib import Path

import msgspec

from ioi_eval.artifacts.values import Built
from ioi_eval.models import Blob, Value
from ioi_eval.store import Pin, Store

_ARTIFACT, _RECORD = "artifact", "build.json"
_PINS = 128  # a descriptor each; many times as many artifacts as jobs use at the same time


class _Record(Value):
    ok: bool
    log: str
    compiler: str
    sha256: str = ""
    size: int = 0


_DECODER = msgspec.json.Decoder(_Record)


class Shelf:
    """Outcomes of builds, good and bad, on disk. What was found or kept last is safe from eviction.

    Its methods block and may be called from several threads.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._pins: OrderedDict[str, Pin] = OrderedDict()
        self._lock = threading.Lock()

    def find(self, key: str) -> Built | None:
        self._pin(key)
        folder = self._store.get(key)
        if folder is None:
            return None
        built = _read(folder)
        if built is None:
            self._store.remove(key)
        return built

    def keep(self, key: str, built: Built, content: Blob | None) -> Built:
        """Remembers an outcome; `content` is the artifact's, of which a copy is taken."""
        if not built.lasting:
            return built
        self._pin(key)
        kept = _read(self._store.folder(key, lambda folder: _fill(folder, built, content)))
        assert kept is not None, "what the store has just taken is whole"
        return kept

    def close(self) -> None:
        with self._lock:
            while self._pins:
                self._pins.popitem()[1].release()

    def _pin(self, key: str) -> None:
        with self._lock:
            if key not in self._pins:
                self._pins[key] = self._store.pin(key)
            self._pins.move_to_end(key)
            if len(self._pins) > _PINS:
                self._pins.popitem(last=False)[1].release()


def _fill(folder: Path, built: Built, content: Blob | None) -> None:
    record = _Record(ok=built.ok, log=built.log, compiler=built.compiler)
    if content is not None:
        _copy(content, folder / _ARTIFACT)
        (folder / _ARTIFACT).chmod(0o755)
        record = msgspec.structs.replace(record, sha256=content.sha256, size=content.size)
    (folder / _RECORD).write_bytes(msgspec.json.encode(record))


def _copy(content: Blob, target: Path) -> None:
    if content.path is not None:
        shutil.copyfile(content.path, target)
    else:
        target.write_bytes(content.read())


def _read(folder: Path) -> Built | None:
    """None for what a power cut or another version left behind: it is built again."""
    try:
        record = _DECODER.decode((folder / _RECORD).read_bytes())
        artifact = _artifact(folder, record) if record.ok else None
    except (OSError, msgspec.DecodeError):
        return None
    if record.ok and artifact is None:
        return None
    return Built(ok=record.ok, artifact=artifact, log=record.log, compiler=record.compiler)


def _artifact(folder: Path, record: _Record) -> Blob | None:
    path = folder / _ARTIFACT
    if path.stat().st_size != record.size:
        return None
    return Blob(sha256=record.sha256, size=record.size, path=str(path))
