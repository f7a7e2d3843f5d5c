"""How builds of classic jobs lie in the store: a folder per key with the stage that made it and its files."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path

import msgspec

from ioi_eval.model.values import Blob, JobFile, Stage, Value
from ioi_eval.store import Store

_RECORD = "stage.json"
_REFUSED = 1  # exit code: the submission does not compile, and would not another time


class Kept(Value):
    """What a build said, and what it made: files for jobs to come."""

    stage: Stage
    files: tuple[JobFile, ...] = ()


class _Record(Value):
    stage: Stage
    names: tuple[str, ...]


class KeptBuilds:
    """Its methods block and may be called from several threads."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def find(self, key: str) -> Kept | None:
        with self._store.pin(key):
            folder = self._store.get(key)
            return None if folder is None else _read(folder)

    def keep(self, key: str, stage: Stage, made: Mapping[str, str]) -> Kept:
        """A time limit, or a compiler that broke, is not remembered: the next time may go better.

        Nor is what takes the room of many others.
        """
        if stage.code not in (0, _REFUSED):
            return Kept(stage=stage)
        if sum(Path(path).stat().st_size for path in made.values()) > self._store.largest:
            return Kept(stage=stage, files=tuple(_file(name, Path(path)) for name, path in made.items()))
        record = _Record(stage=stage, names=tuple(made))

        def fill(folder: Path) -> None:
            for number, name in enumerate(record.names):
                shutil.copyfile(made[name], folder / str(number))
            (folder / _RECORD).write_bytes(msgspec.json.encode(record))

        with self._store.pin(key):
            kept = _read(self._store.folder(key, fill))
            assert kept is not None, "what the store has just taken is whole"
            return kept


def _read(folder: Path) -> Kept | None:
    """None for what a power cut or another version left behind: it is built again."""
    try:
        record = msgspec.json.decode((folder / _RECORD).read_bytes(), type=_Record)
        files = tuple(_file(name, folder / str(number)) for number, name in enumerate(record.names))
    except (OSError, msgspec.DecodeError):
        return None
    return Kept(stage=record.stage, files=files)


def _file(name: str, path: Path) -> JobFile:
    return JobFile(name=name, content=Blob.of(path.read_bytes()), executable=True, text=False)
