"""Reading a run's folder, also while another process writes it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from ioi_eval.model.errors import InputError
from ioi_eval.model.nesting import shallow
from ioi_eval.model.values import Value
from ioi_eval.store.files import lines, refused
from ioi_eval.store.fingerprint import Fingerprint

RUN, RESULTS, FAILURES = "run.json", "results.jsonl", "failures.jsonl"
_VERSION = 1
_Head = TypeVar("_Head")


class RunInfo(Value, kw_only=True):
    """run.json. `settings` are for the reader of a report; only the fingerprint decides about going on."""

    version: int = _VERSION
    fingerprint: Fingerprint
    settings: Mapping[str, Any] = {}
    replacing: bool = False  # the rows beside it belong to a run that was given up


class ResultHead(msgspec.Struct):
    """What the journal itself needs of a row."""

    key: str
    submission_sha256: str = ""


class FailureHead(msgspec.Struct):
    key: str


def read_info(folder: Path) -> RunInfo | None:
    """None where no run was ever begun."""
    path = folder / RUN
    try:
        info = msgspec.json.decode(path.read_bytes(), type=RunInfo)
    except FileNotFoundError:
        return None
    except (msgspec.MsgspecError, OSError) as error:
        raise InputError(f"is not a run's: {error}", where=str(path), remedy=_OTHER_FOLDER) from error
    if info.version != _VERSION:
        problem = f"is of version {info.version}, this program writes version {_VERSION}"
        raise InputError(problem, where=str(path), remedy=_OTHER_FOLDER)
    return info


_OTHER_FOLDER = "Choose another --out folder"
# What may be in a folder before its run is begun: what a model wrote, and what agents did.
_BEFORE = frozenset({"agents", "generations.json", "generations.jsonl", "instances.jsonl"})
_NAMED = 3


def check_folder(folder: Path) -> None:
    """Raises InputError where a run would be written between files that have nothing to do with it."""
    if not folder.is_dir() or (folder / RUN).exists():
        return
    try:
        there = {path.name for path in folder.iterdir() if not path.name.startswith(".")}
    except OSError as error:
        raise refused(folder, error) from error
    others = sorted(there - _BEFORE)
    if others:
        shown = ", ".join(others[:_NAMED]) + (", ..." if len(others) > _NAMED else "")
        raise InputError(
            f"the folder is not empty and not a run's: there is no {RUN} in it, but {shown}",
            where=str(folder),
            remedy="Give --out a new folder, an empty one, or that of a run",
        )


def read_rows(folder: Path) -> Iterator[dict[str, Any]]:
    """The rows of results.jsonl in order of completion, one at a time."""
    for _, row in decoded(folder / RESULTS, dict[str, Any]):
        yield row


def read_failures(folder: Path) -> dict[str, dict[str, Any]]:
    """The last failure of every submission, by key. Some may have a row of results since."""
    return {row["key"]: row for _, row in decoded(folder / FAILURES, dict[str, Any])}


def decoded(path: Path, kind: type[_Head]) -> Iterator[tuple[int, _Head]]:
    """Offset and value of every line; a line that is not JSON is an error that names it."""
    decoder = msgspec.json.Decoder(kind)
    for number, (offset, line) in enumerate(lines(path), start=1):
        try:
            yield offset, decoder.decode(shallow(line))
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise InputError(
                f"broken line: {error}",
                where=str(path),
                row=number,
                remedy="Delete that line and run again: its submission is judged again",
            ) from error
