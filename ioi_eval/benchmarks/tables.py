"""Tables of datasets: from the hub or from copies on disk, as memory-mapped Arrow, read field by field.

Nothing is held but what is being looked at. Fields are read with types: what is wrong with one is an
InputError that names the table, the row and the field.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, NoReturn

import msgspec

from ioi_eval.benchmarks.table_files import Mapped, TableSource, arrow_files, find_files, one_file, where
from ioi_eval.model.errors import InputError
from ioi_eval.model.fields import Fields, Strict, name_of, shown
from ioi_eval.model.nesting import shallow
from ioi_eval.store.rows import as_number

_MOST_READ = 64 << 20  # bytes


class Table:
    """Rows by number, from 0. Made by `open_table`."""

    def __init__(self, mapped: Mapped, where: str, fingerprint: str) -> None:
        self._mapped, self._data, self.where, self.fingerprint = mapped, mapped.data, where, fingerprint
        self.names: tuple[str, ...] = tuple(self._data.column_names)
        self._read = 0  # bytes since the last release
        self._columns: dict[str, Any] = {}
        self._groups: dict[str, dict[str, tuple[int, ...]]] = {}

    def __len__(self) -> int:
        return int(self._data.num_rows)

    def __getitem__(self, index: int) -> Row:
        return Row(self, index)

    def __iter__(self) -> Iterator[Row]:
        return (Row(self, index) for index in range(len(self)))

    def scalar(self, name: str, index: int) -> Any:
        """Arrow's own value."""
        if name not in self._columns:
            self._columns[name] = self._data.column(self.names.index(name))
        return self._columns[name][index]

    def groups(self, name: str) -> Mapping[str, tuple[int, ...]]:
        """The numbers of the rows by what a column says; the column is gone through once."""
        if name not in self._groups:
            found: dict[str, list[int]] = {}
            for row in self:
                found.setdefault(row.name(name), []).append(row.index)
            self._groups[name] = {value: tuple(rows) for value, rows in found.items()}
        return self._groups[name]

    def was_read(self, size: int) -> None:
        """Called for what is long, so that a mapped file does not come to lie in memory as a whole."""
        self._read += size
        if self._read > _MOST_READ:
            self.release()

    def release(self) -> None:
        self._read = 0
        self._mapped.release()

    def require(self, columns: Sequence[str]) -> None:
        missing = [name for name in columns if name not in self.names]
        if missing:
            raise InputError(
                f"missing column {', '.join(missing)}",
                where=self.where,
                remedy=f"Is it the right dataset? The columns are: {', '.join(self.names)}",
            )


class Row(Fields):
    """A row whose fields are read when they are asked for; the first that is wrong is raised."""

    remedy = "The dataset's row is damaged"

    def __init__(self, table: Table, index: int) -> None:
        super().__init__({}, "", Strict(table.where, index + 1))
        self.table, self.index = table, index

    def wrong(self, field: str, problem: str, remedy: str = remedy) -> InputError:
        return InputError(problem, where=self.table.where, row=self.index + 1, field=field, remedy=remedy)

    def has(self, field: str) -> bool:
        """Return True if this row has anything in such a column."""
        return field in self.table.names and bool(self.table.scalar(field, self.index).is_valid)

    def value(self, field: str) -> Any:
        """As Python's own; None where there is nothing."""
        return self.table.scalar(field, self.index).as_py() if self.has(field) else None

    def shown(self, value: Any) -> str:
        return shown(value, repr)

    def lacking(self, field: str, expected: str) -> NoReturn:
        raise self._not(field, None, expected)

    def name(self, field: str) -> str:
        """A text or a whole number that something is known by."""
        value = self.value(field)
        if (name := name_of(value)) is None:
            raise self._not(field, value, "a text or a whole number")
        return name

    def number(self, field: str, default: float | None = None, *, above: float | None = None) -> float:
        """Finite; more than `above` where that is given. A text that is a number is one."""
        value = self.value(field)
        if value is None and default is not None:
            return default
        number = as_number(value)
        if number is None or (above is not None and number <= above):
            raise self._not(field, value, "a number" + ("" if above is None else f" above {above:g}"))
        return number

    def whole(self, field: str, default: int | None = None) -> int:  # type: ignore[override]
        number = self.number(field, default)
        if number != int(number):
            raise self._not(field, number, "a whole number")
        return int(number)

    def flag(self, field: str, default: bool = False) -> bool:
        return super().flag(field, default)

    def texts(self, field: str, default: tuple[str, ...] | None = ()) -> tuple[str, ...]:
        return super().texts(field, default)

    def items(self, field: str) -> tuple[dict[str, Any], ...]:
        """A list of objects; also a table's way of keeping one, an object of lists."""
        value = self.value(field)
        if isinstance(value, dict) and value and all(isinstance(part, list) for part in value.values()):
            value = [dict(zip(value, parts, strict=True)) for parts in zip(*value.values(), strict=True)]
        if value is None:
            return ()
        if not isinstance(value, list) or not all(isinstance(each, dict) for each in value):
            raise self._not(field, value, "a list of objects")
        return tuple(value)

    def json(self, field: str) -> Any:
        """Decode the JSON text in a field; None where there is none."""
        text = self.text(field, "")
        if not text.strip():
            return None
        try:
            return json.loads(shallow(text))
        except ValueError as error:
            raise self.wrong(field, f"broken JSON: {error}") from error

    def content(self, field: str) -> memoryview:
        """The bytes of a text where they lie, not copied."""
        scalar: Any = self.table.scalar(field, self.index) if self.has(field) else None
        buffer = _buffer(scalar)
        if buffer is None:
            raise self._not(field, self.value(field), "a text")
        self.table.was_read(len(buffer))
        return memoryview(buffer)

    def contents(self, field: str, *names: str) -> Iterator[tuple[memoryview, ...]]:
        """Texts in each object of a list, where they lie. Nothing is there where there is no list."""
        scalar: Any = self.table.scalar(field, self.index) if self.has(field) else None
        objects = getattr(scalar, "values", None)
        if scalar is None or objects is None:
            return
        try:
            columns = [objects.field(name) for name in names]
        except (AttributeError, KeyError) as error:
            raise self._not(field, self.value(field), f"a list of objects with {', '.join(names)}") from error
        for place in range(len(objects)):
            buffers = [_buffer(column[place]) for column in columns]
            texts = tuple(memoryview(buffer) for buffer in buffers if buffer is not None)
            if len(texts) != len(names):
                raise self.wrong(field, f"item {place + 1} lacks a text")
            self.table.was_read(sum(map(len, texts)))
            yield texts

    def _not(self, field: str, value: Any, expected: str) -> InputError:
        if field not in self.table.names:
            remedy = f"Is it the right dataset? The columns are: {', '.join(self.table.names)}"
            return self.wrong(field, "missing column", remedy)
        return self.wrong(field, f"{self.shown(value)} is not {expected}")


def _buffer(scalar: Any) -> Any:
    """The bytes of Arrow's text where they lie; None where it is nothing or no text."""
    return scalar.as_buffer() if hasattr(scalar, "as_buffer") else None


# --- opening -----------------------------------------------------------------------------------------


class Tables:
    """The tables of one benchmark: the main one, and others of other datasets where it has such."""

    def __init__(
        self, main: TableSource, *, cache: Path, data_dir: str = "", columns: Sequence[str] = ()
    ) -> None:
        self._source, self._cache, self._data_dir, self._needed = main, cache, data_dir, columns
        self._others: dict[TableSource, Table] = {}

    @cached_property
    def main(self) -> Table:
        table = self._open(self._source)
        table.require(self._needed)
        return table

    def other(
        self,
        dataset: str,
        *,
        config: str = "",
        split: str = "train",
        path: str = "",
        columns: Sequence[str] = (),
    ) -> Table:
        """Another table, opened once. With copies on disk it is below a folder of the dataset's name."""
        source = TableSource(dataset=dataset, config=config, split=split, path=path)
        if source not in self._others:
            table = self._open(source)
            table.require(columns)
            self._others[source] = table
        return self._others[source]

    def stamp(self, dataset: str, path: str) -> str:
        """Changes with a copy on disk of one file of a dataset. On the hub the main table changes with it."""
        if not self._data_dir:
            return ""
        try:
            found = one_file(Path(self._data_dir), TableSource(dataset=dataset, path=path))[0].stat()
        except InputError:
            return ""
        return f"{found.st_size} {found.st_mtime_ns}"

    def release(self) -> None:
        """Lets go of what was read of any of them."""
        for table in (self.main, *self._others.values()):
            table.release()

    def _open(self, source: TableSource) -> Table:
        if self._data_dir and not source.files:
            files = tuple(map(str, find_files(Path(self._data_dir), source)))
            source = msgspec.structs.replace(source, files=files)
        return open_table(source, cache=self._cache)


def open_table(source: TableSource, *, cache: Path) -> Table:
    """The table as mapped Arrow files, which are kept in `cache`."""
    files = arrow_files(source, cache)
    return Table(Mapped(files), where(source), _fingerprint(files))


def _fingerprint(files: Sequence[Path]) -> str:
    """Return the name of an Arrow file, which changes with the files that it is made of."""
    parts = [f"{file} {file.stat().st_size}" for file in files]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()
