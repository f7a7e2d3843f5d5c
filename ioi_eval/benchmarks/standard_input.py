"""A dump from standard input: kept in a file, because it is read more than once."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import BinaryIO

from ioi_eval.benchmarks.hub import Place
from ioi_eval.model.errors import InputError

STANDARD_INPUT = "-"
_LABEL = "standard input"
_BEGINNINGS = {b"\x1f\x8b": ".gz", b"\x28\xb5\x2f\xfd": ".zst"}  # of packed data


@contextmanager
def received(dumps: Sequence[str], stream: BinaryIO) -> Iterator[Sequence[str | Place]]:
    """Dumps with `-` replaced by a file of what the stream holds: JSON, as lines or a list, packed or not."""
    if STANDARD_INPUT not in dumps:
        yield dumps
        return
    if dumps.count(STANDARD_INPUT) > 1:
        raise InputError("named twice", where=_LABEL, remedy="Name it once")
    with TemporaryDirectory(prefix="ioi-eval-") as folder:
        place = Place(_kept(stream, Path(folder)), _LABEL)
        yield [place if dump == STANDARD_INPUT else dump for dump in dumps]


def _kept(stream: BinaryIO, folder: Path) -> Path:
    beginning = stream.read(4)
    if not beginning:
        raise InputError("nothing in it", where=_LABEL, remedy="Did the command that feeds it fail?")
    suffix = next((end for start, end in _BEGINNINGS.items() if beginning.startswith(start)), "")
    path = folder / f"dump.json{suffix}"
    with path.open("wb") as file:
        file.write(beginning)
        shutil.copyfileobj(stream, file)
    return path
