"""How a build and its outcome lie in the store: a folder per key, which appears whole or not at all."""

from __future__ import annotations

import shutil
import threading
from collections import OrderedDict
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from ioi_eval.engines.values import Built, Rejected
from ioi_eval.model.values import Blob, Value
from ioi_eval.store import Store
from ioi_eval.store.contents import Pin

_ARTIFACT, _RECORD = "artifact", "build.json"
_PINS = 128  # a descriptor each; many times as many artifacts as jobs use at the same time


class _Record(Value):
    ok: bool
    log: str
    compiler: str
    confinement: Mapping[str, Any] = {}
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

    def find(self, key: str) -> Built | Rejected | None:
        self._pin(key)
        folder = self._store.get(key)
        if folder is None:
            return None
        built = _read(folder)
        if built is None:
            self._store.remove(key)
        return built

    def keep(self, key: str, outcome: Built | Rejected) -> Built | Rejected:
        """Remember an outcome, and a copy of what was made: that is what the returned outcome refers to."""
        if isinstance(outcome, Built) and outcome.artifact.size > self._store.largest:
            outcome = _too_large(outcome, self._store.largest)
        self._pin(key)
        kept = _read(self._store.folder(key, lambda folder: _fill(folder, outcome)))
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


def _too_large(built: Built, most: float) -> Rejected:
    words = f"The program has {built.artifact.size} bytes, and {most} are the most that is taken."
    log = f"{built.log}\n{words}".lstrip()
    return Rejected(log=log, compiler=built.compiler, confinement=built.confinement)


def _fill(folder: Path, outcome: Built | Rejected) -> None:
    record = _Record(
        ok=isinstance(outcome, Built),
        log=outcome.log,
        compiler=outcome.compiler,
        confinement=outcome.confinement,
    )
    if isinstance(outcome, Built):
        _copy(outcome.artifact, folder / _ARTIFACT)
        (folder / _ARTIFACT).chmod(0o755)
        record = msgspec.structs.replace(record, sha256=outcome.artifact.sha256, size=outcome.artifact.size)
    (folder / _RECORD).write_bytes(msgspec.json.encode(record))


def _copy(content: Blob, target: Path) -> None:
    if content.path is not None:
        shutil.copyfile(content.path, target)
    else:
        target.write_bytes(content.read())


def _read(folder: Path) -> Built | Rejected | None:
    """None for what a power cut or another version left behind: it is built again."""
    try:
        record = _DECODER.decode((folder / _RECORD).read_bytes())
        artifact = _artifact(folder, record) if record.ok else None
    except (OSError, msgspec.DecodeError):
        return None
    told: dict[str, Any] = {"log": record.log, "compiler": record.compiler, "confinement": record.confinement}
    if not record.ok:
        return Rejected(**told)
    return None if artifact is None else Built(artifact=artifact, **told)


def _artifact(folder: Path, record: _Record) -> Blob | None:
    path = folder / _ARTIFACT
    if path.stat().st_size != record.size:
        return None
    return Blob(sha256=record.sha256, size=record.size, path=str(path))
