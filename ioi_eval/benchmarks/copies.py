"""Where a table is: on the hub, or in which files below a folder of copies."""

from __future__ import annotations

import re
from collections.abc import Mapping
from fnmatch import fnmatch
from pathlib import Path

from ioi_eval.errors import InputError
from ioi_eval.models import Value

SUFFIXES: Mapping[str, str] = {".parquet": "parquet", ".jsonl": "json", ".json": "json", ".csv": "csv"}
_SPLITS = ("train", "validation", "valid", "dev", "test")  # names of files that say of which split they are


class TableSource(Value):
    """Where a table is: on the hub, or in files."""

    dataset: str
    config: str = ""
    split: str = "train"
    revision: str = ""
    path: str = ""  # one file of the dataset instead of a config
    without: str = ""  # names (a pattern) of files that are not part of it
    files: tuple[str, ...] = ()  # these instead of the hub's
    label: str = ""  # what messages call it


def called(source: TableSource) -> str:
    return "/".join(part for part in (source.dataset, source.config, source.path) if part)


def find_files(folder: Path, source: TableSource) -> list[Path]:
    """The files of a table below a folder of copies.

    That is a folder of the dataset's name if there is one, below it one of the config's name if there is
    one, there the files whose names say that they are of the split, or all where none says anything.
    """
    if folder.is_file():
        return [folder]
    if source.path:
        return one_file(folder, source)
    base = _below(folder, source.dataset.rpartition("/")[2])
    if source.config:
        base = _config_folder(base, source.config)
    every = sorted(path for path in base.rglob("*") if path.suffix.lower() in SUFFIXES and path.is_file())
    every = [path for path in every if not _is_other(path.relative_to(base), source.without)]
    split = [path for path in every if _split_of(path, base) in source.split.split("+")]
    found = split or [path for path in every if not _split_of(path, base)]
    if not found:
        raise _no_files(base, source)
    kinds = {path.suffix.lower() for path in found}
    best = next(suffix for suffix in SUFFIXES if suffix in kinds)
    return [path for path in found if path.suffix.lower() == best]


def _is_other(path: Path, pattern: str) -> bool:
    return fnmatch(path.name, pattern) or any(part.startswith(".") for part in path.parts)


def one_file(folder: Path, source: TableSource) -> list[Path]:
    """A file where the dataset has it, or anywhere below, by its name."""
    base, name = _below(folder, source.dataset.rpartition("/")[2]), source.path.rpartition("/")[2]
    found = [path for path in (base / source.path, base / name) if path.is_file()] or sorted(base.rglob(name))
    if not found:
        raise InputError(
            f"no file {source.path!r} in it",
            where=str(base),
            remedy="Fetch it, or leave generated tests out with --no-generated-tests",
        )
    return found[:1]


def _below(folder: Path, name: str) -> Path:
    return folder / name if name and (folder / name).is_dir() else folder


def _config_folder(base: Path, config: str) -> Path:
    places = [path for path in (base / config, base / "data" / config) if path.is_dir()]
    if not places:
        raise InputError(
            f"no folder {config!r} in it", where=str(base), remedy=f"Put the files of {config} into one"
        )
    return places[0]


def _split_of(path: Path, base: Path) -> str:
    for part in reversed(path.relative_to(base).parts):
        word = re.split(r"[-.]", part, maxsplit=1)[0].rstrip("0123456789")  # test2.jsonl is of the test split
        if word in _SPLITS:
            return word
    return ""


def _no_files(base: Path, source: TableSource) -> InputError:
    return InputError(
        f"no files of {called(source)}, split {source.split}, in it",
        where=str(base),
        remedy=f"Expected files {', '.join(SUFFIXES)}, of the split by name (train-00000-of-00001.parquet)",
    )
