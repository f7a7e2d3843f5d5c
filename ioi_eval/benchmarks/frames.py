"""Rows in memory as a dump: a frame, a dataset or a list of dicts, kept in a file while they are read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec

from ioi_eval.benchmarks.hub import Place
from ioi_eval.model.errors import InputError
from ioi_eval.store.rows import plain

_LABEL = "rows"  # what messages call them, and the folder of their run
_BATCH = 1000  # rows of a frame that are taken at a time

# A file, a folder or a dataset's name, several of them, or rows: a frame of pandas or polars, a
# `datasets.Dataset`, dicts.
Dumps = str | Path | Sequence[str | Path | Place] | Iterable[Mapping[str, Any]] | Any


@contextmanager
def as_files(dumps: Dumps) -> Iterator[Sequence[str | Path | Place]]:
    """Yield dumps by their names; rows in memory get a temporary file. InputError for what is neither."""
    if isinstance(dumps, str | Path | Place):
        yield [dumps]
        return
    found = iter(_rows(dumps))
    first = next(found, None)
    if first is None:
        raise InputError("no rows in it", where=_LABEL, remedy="Give at least one row, or a dump's name")
    if isinstance(first, str | Path | Place):
        yield [first, *found]
        return
    with TemporaryDirectory(prefix="ioi-eval-") as folder:
        path = Path(folder) / f"{_LABEL}.jsonl"
        with path.open("wb") as file:
            for number, row in enumerate(chain([first], found), start=1):
                if not isinstance(row, Mapping):
                    raise InputError(
                        f"a row is a dict of columns, not {type(row).__name__}",
                        where=_LABEL,
                        row=number,
                        remedy='Expected {"problem_id": ..., ...}',
                    )
                file.write(msgspec.json.encode(plain(row)) + b"\n")
        yield [Place(path, _LABEL)]


def _rows(dumps: Any) -> Iterable[Any]:
    """The rows of a table; of other collections what they hold. Iterating over a frame gives its columns."""
    if (named := getattr(dumps, "iter_rows", None)) is not None:  # polars
        return named(named=True)  # type: ignore[no-any-return]
    if (parts := getattr(dumps, "iloc", None)) is not None:  # pandas
        return _rows_of_frame(parts, len(dumps))
    if isinstance(dumps, Iterable) and not isinstance(dumps, Mapping):
        return dumps
    held = f" ({', '.join(map(str, list(dumps)[:5]))})" if isinstance(dumps, Mapping) else ""
    remedy = "Give a frame, a datasets.Dataset, a list of dicts, or a file; of several splits, one"
    raise InputError(
        f"no rows can be read from the type {type(dumps).__name__}{held}", where=_LABEL, remedy=remedy
    )


def _rows_of_frame(parts: Any, number: int) -> Iterator[dict[str, Any]]:
    for start in range(0, number, _BATCH):
        part = parts[start : start + _BATCH]
        yield from part.astype(object).where(part.notna(), None).to_dict("records")
