"""The index of a dump: what its first pass found, for the next one, which reads only rows that were added.

It holds for a file that begins with the same bytes, which are read and hashed anew each time.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from ioi_eval.benchmarks.dump_reader import DumpOptions
from ioi_eval.model.values import LanguageFrom, Value
from ioi_eval.store.files import read_value, replace
from ioi_eval.store.packed import PackedContent
from ioi_eval.store.resources import PACKAGE, code_digest

INDEX = ".dump.index"


class FirstPassCounts(msgspec.Struct):
    """The numbers that a first pass has come to."""

    rows: int = 0
    looked_at: int = 0  # selected rows of which more was found out
    without: int = 0  # of these, rows without a program
    columns: dict[str, dict[str, int]] = {}  # rows by column, by what they hold
    languages: dict[str, dict[LanguageFrom, int]] = {}  # rows by what told it, by language
    programs: int = 0  # texts of the column of programs
    fenced: int = 0  # of these, those with a fence
    replies: int = 0  # of rows with such a text, those that have a reply in a column of its own


class DumpIndex(Value):
    """The first pass over a large dump, as far as the next one goes on from it."""

    size: int  # bytes, to the end of a line
    sha256: str  # of these bytes
    read_by: str  # a hash of the options, the problems, the package's sources and the Python
    id_column: str
    counts: FirstPassCounts
    keys: PackedContent  # of the submissions, in order
    names: list[str]  # of problems
    problems: memoryview  # the place of each submission's problem among them
    ids: PackedContent  # of all rows
    contents: memoryview  # a hash of each of these
    equal: dict[str, int]  # rows without an id, by content
    passed_over: list[str]
    left_out: dict[str, int]
    noted: dict[str, int]


def reading(options: DumpOptions, problems: Mapping[str, str]) -> str:
    """Return a hash of all that the first pass depends on beside the file; `problems`: a hash of each."""
    content: list[Any] = [options, dict(sorted(problems.items())), code_digest(PACKAGE), sys.version]
    return hashlib.sha256(msgspec.json.encode(content)).hexdigest()


def read_index(folder: Path) -> DumpIndex | None:
    """Read the index of a run's dump; None where there is none that can be used."""
    return read_value(folder / INDEX, DumpIndex, decode=msgspec.msgpack.decode)


def write_index(folder: Path, index: DumpIndex | None) -> None:
    """Without an index, an older one goes."""
    if index is None:
        (folder / INDEX).unlink(missing_ok=True)
    else:
        replace(folder / INDEX, [msgspec.msgpack.encode(index)])
