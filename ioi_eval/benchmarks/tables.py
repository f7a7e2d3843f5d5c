"""Tables of datasets: from the hub or from copies on disk, as memory-mapped Arrow, read field by field.

Nothing is held but what is being looked at. Fields are read with types: what is wrong with one is an
InputError that names the table, the row and the field. Parquet is made Arrow a few rows at a time, because
tests are long: what that takes is set by the pages of the file, not by its size. For other formats, and for
what lies where on the hub, there is datasets.
"""

from __future__ import annotations

import hashlib
import json
import mmap
import os
import re
import shutil
import tempfile
from collections.abc import Collection, Iterator, Mapping, Sequence
from fnmatch import fnmatch
from functools import cached_property
from pathlib import Path
from typing import Any, NoReturn

import msgspec

from ioi_eval.benchmarks import parquet
from ioi_eval.benchmarks.hub import asking, network_errors
from ioi_eval.model.errors import InputError
from ioi_eval.model.fields import Fields, Strict
from ioi_eval.model.nesting import shallow
from ioi_eval.model.values import Value
from ioi_eval.store import Store
from ioi_eval.store.files import make_folder
from ioi_eval.store.rows import as_number

_MOST_READ = 64 << 20  # bytes
_END = b"\xff\xff\xff\xff\0\0\0\0"  # of a stream of Arrow


class Table:
    """Rows by number, from 0, in mapped files of Arrow. Made by `open_table`."""

    def __init__(self, files: Sequence[Path], where: str) -> None:
        import pyarrow.ipc

        self.where, self._maps = where, [_mapped(file) for file in files]
        tables = [pyarrow.ipc.open_stream(pyarrow.py_buffer(mapped)).read_all() for mapped in self._maps]
        self._data: Any = pyarrow.concat_tables(tables, promote_options="permissive")
        self.names: tuple[str, ...] = tuple(self._data.column_names)
        # The name of an Arrow file changes with the files that it is made of.
        parts = [f"{file} {len(mapped)}" for file, mapped in zip(files, self._maps, strict=True)]
        self.fingerprint = hashlib.sha256("\n".join(parts).encode()).hexdigest()
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
        """Let go of the pages that were read; who still looks at them gets them again from the files."""
        self._read = 0
        for mapped in self._maps:
            mapped.madvise(mmap.MADV_DONTNEED)

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
    form = repr

    def __init__(self, table: Table, index: int) -> None:
        super().__init__({}, "", Strict(table.where, index + 1))
        self.table, self.index = table, index

    def has(self, field: str) -> bool:
        """Return True if this row has anything in such a column."""
        return field in self.table.names and bool(self.table.scalar(field, self.index).is_valid)

    def value(self, field: str) -> Any:
        """As Python's own; None where there is nothing."""
        return self.table.scalar(field, self.index).as_py() if self.has(field) else None

    def lacking(self, field: str, expected: str) -> NoReturn:
        raise self.misfit(field, expected)

    def number(self, field: str, default: float | None = None, *, above: float | None = None) -> float:
        """Finite; more than `above` where that is given. A text that is a number is one."""
        value = self.value(field)
        if value is None and default is not None:
            return default
        number = as_number(value)
        if number is None or (above is not None and number <= above):
            raise self.misfit(field, "a number" + ("" if above is None else f" above {above:g}"))
        return number

    def whole(self, field: str, default: int | None = None) -> int:  # type: ignore[override]
        number = self.number(field, default)
        if number != int(number):
            raise self.misfit(field, "a whole number")
        return int(number)

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
            raise self.misfit(field, "a list of objects")
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
            raise self.misfit(field, "a text")
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
            raise self.misfit(field, f"a list of objects with {', '.join(names)}") from error
        for place in range(len(objects)):
            buffers = [_buffer(column[place]) for column in columns]
            texts = tuple(memoryview(buffer) for buffer in buffers if buffer is not None)
            if len(texts) != len(names):
                raise self.wrong(field, f"item {place + 1} lacks a text")
            self.table.was_read(sum(map(len, texts)))
            yield texts

    def misfit(self, field: str, expected: str) -> InputError:
        if field not in self.table.names:
            remedy = f"Is it the right dataset? The columns are: {', '.join(self.table.names)}"
            return self.wrong(field, "missing column", remedy)
        return super().misfit(field, expected)


def _buffer(scalar: Any) -> Any:
    """The bytes of Arrow's text where they lie; None where it is nothing or no text."""
    return scalar.as_buffer() if hasattr(scalar, "as_buffer") else None


# --- opening -----------------------------------------------------------------------------------------


class Tables:
    """The tables of one benchmark: the main one, and others of other datasets where it has such."""

    def __init__(
        self,
        main: TableSource,
        *,
        cache: Path,
        data_dir: str = "",
        columns: Sequence[str] = (),
        datasets: Collection[str] = (),
    ) -> None:
        """`datasets`: those that folders of `data_dir` may be named after."""
        self._datasets = {main.dataset, *datasets}
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
        """Let go of all that was read."""
        for table in (self.main, *self._others.values()):
            table.release()

    def _open(self, source: TableSource) -> Table:
        if self._data_dir and not source.files:
            files = tuple(map(str, find_files(Path(self._data_dir), source, self._datasets)))
            source = msgspec.structs.replace(source, files=files)
        return open_table(source, cache=self._cache)


def open_table(source: TableSource, *, cache: Path) -> Table:
    """The table as mapped Arrow files, which are kept in `cache`."""
    return Table(_arrow_files(source, cache), _where(source))


# --- sources: files, folders of copies ---------------------------------------------------------------


SUFFIXES: Mapping[str, str] = {".parquet": "parquet", ".jsonl": "json", ".json": "json", ".csv": "csv"}
_SPLITS = ("train", "validation", "valid", "dev", "test")  # names of files that say of which split they are


class TableSource(Value):
    """The place of a table: on the hub, or in files."""

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


def find_files(folder: Path, source: TableSource, datasets: Collection[str] = ()) -> list[Path]:
    """The files of a table below a folder of copies.

    That is a folder of the dataset's name if there is one, below it one of the config's name if there is
    one, there the files whose names say that they are of the split, or all where none says anything.
    """
    if folder.is_file():
        return [folder]
    if source.path:
        return one_file(folder, source)
    base = _below(folder, source.dataset.rpartition("/")[2])
    others = _others(folder, source, datasets) if base == folder else ()
    if config := source.config:
        places = [path for path in (base / config, base / "data" / config) if path.is_dir()]
        if not places:
            remedy = f"Put the files of {config} into one"
            raise InputError(f"no folder {config!r} in it", where=str(base), remedy=remedy)
        base = places[0]
    paths = [
        path
        for path in sorted(base.rglob("*"))
        if path.suffix.lower() in SUFFIXES
        and path.is_file()
        and not fnmatch(path.name, source.without)
        and not any(part.startswith(".") for part in path.relative_to(base).parts)
        and path.relative_to(base).parts[0] not in others
    ]
    split = [path for path in paths if _split_of(path, base) in source.split.split("+")]
    found = split or [path for path in paths if not _split_of(path, base)]
    if not found:
        raise InputError(
            f"no files of {called(source)}, split {source.split}, in it",
            where=str(base),
            remedy=f"Expected files {', '.join(SUFFIXES)}, "
            "of the split by name (train-00000-of-00001.parquet)",
        )
    kinds = {path.suffix.lower() for path in found}
    best = next(suffix for suffix in SUFFIXES if suffix in kinds)
    return [path for path in found if path.suffix.lower() == best]


def _others(folder: Path, source: TableSource, datasets: Collection[str]) -> list[str]:
    """Return the folders of other datasets in a folder. InputError if nothing else may be this dataset's."""
    own = source.dataset.rpartition("/")[2]
    names = sorted({each.rpartition("/")[2] for each in datasets} - {own})
    there = [name for name in names if (folder / name).is_dir()]
    has_config = source.config and (folder / source.config).is_dir()
    files = () if has_config or not there else folder.iterdir()
    if there and not has_config and not any(path.suffix.lower() in SUFFIXES for path in files):
        raise InputError(
            f"no folder {own!r} in it, and there are {', '.join(there)}",
            where=str(folder),
            remedy=f"Fetch {source.dataset} into {folder / own}",
        )
    return there


def one_file(folder: Path, source: TableSource) -> list[Path]:
    """A file where the dataset has it, or anywhere below, by its name."""
    base, name = _below(folder, source.dataset.rpartition("/")[2]), source.path.rpartition("/")[2]
    found = [path for path in (base / source.path, base / name) if path.is_file()] or sorted(base.rglob(name))
    if not found:
        raise InputError(
            f"no file {source.path!r} in it",
            where=str(base),
            remedy="Fetch it, or leave generated tests out with generated_tests=False",
        )
    return found[:1]


def _below(folder: Path, name: str) -> Path:
    return folder / name if name and (folder / name).is_dir() else folder


def _split_of(path: Path, base: Path) -> str:
    for part in reversed(path.relative_to(base).parts):
        word = re.split(r"[-.]", part, maxsplit=1)[0].rstrip("0123456789")  # test2.jsonl is of the test split
        if word in _SPLITS:
            return word
    return ""


# --- files of Arrow ----------------------------------------------------------------------------------


_VERSION = 1  # of the files that are made


def _mapped(file: Path) -> mmap.mmap:
    with file.open("rb") as stream:
        return mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ)


def _arrow_files(source: TableSource, cache: Path) -> list[Path]:
    """The table as Arrow files, made where they are not there."""
    import pyarrow

    kind = SUFFIXES[Path(source.files[0]).suffix.lower()] if source.files else ""
    try:
        if kind == SUFFIXES[".parquet"]:
            return [_streamed([Path(file) for file in source.files], cache)]
        import datasets  # only here: it takes seconds and a hundred megabytes

        datasets.disable_progress_bars()
        try:
            if not kind:
                return _of_hub(source, cache)
            return _of_files(kind, source.files, cache / "tables")
        except datasets.exceptions.DatasetGenerationError as error:
            raise _cannot_load(source, error) from error
    except StopIteration as error:  # that is how `datasets` ends at an empty file
        raise _cannot_load(source, ValueError("a file without rows")) from error
    except (*network_errors(), ValueError, RuntimeError, pyarrow.ArrowException) as error:
        raise _cannot_load(source, error) from error


def _of_files(kind: str, files: Sequence[str], tables: Path) -> list[Path]:
    """Make the table, or find it as it was made. What a power cut has damaged is made again."""
    import datasets

    def load(folder: Path) -> list[Path]:
        loaded = datasets.load_dataset(kind, data_files=list(files), split="train", cache_dir=str(folder))
        return _cached(loaded)

    try:
        return load(tables / "datasets")
    except (ValueError, RuntimeError, datasets.exceptions.DatasetGenerationError):
        make_folder(tables)
        with tempfile.TemporaryDirectory(dir=tables) as aside:
            load(Path(aside))  # else the files themselves are at fault
        shutil.rmtree(tables / "datasets" / kind, ignore_errors=True)  # another process may do so, too
        return load(tables / "datasets")


def _where(source: TableSource) -> str:
    return source.label or (source.files[0] if len(source.files) == 1 else called(source))


def _cannot_load(source: TableSource, error: Exception) -> InputError:
    reason = next((line for line in str(error).splitlines() if line.strip()), type(error).__name__)
    cause = error.__cause__
    if cause is not None and (detail := next(iter(str(cause).splitlines()), "")):
        reason = f"{reason}: {detail}"
    if source.files:
        several = " Are its columns those of the other files?" if len(source.files) > 1 else ""
        remedy = f"Is the file damaged?{several}"
    else:
        remedy = "Without a network, name a copy with data_dir=FOLDER"
    return InputError(f"cannot be loaded ({reason.rstrip('.')})", where=_where(source), remedy=remedy)


def _cached(loaded: Any) -> list[Path]:
    return [Path(file["filename"]) for file in loaded.cache_files]


def _streamed(files: Sequence[Path], cache: Path) -> Path:
    """Make one Arrow file of parquet files with equal columns, known by their names, sizes and times."""
    stats = [(str(file), file.stat()) for file in files]
    parts = [f"{name} {found.st_size} {found.st_mtime_ns}" for name, found in stats]
    key = hashlib.sha256("\n".join([str(_VERSION), *parts]).encode()).hexdigest()
    store, name = Store(cache / "tables"), f"{key}.arrow"
    if (found := store.get(name)) is not None and not _is_whole(found):
        store.remove(name)
    return store.put(name, lambda place: _write_arrow(files, place))


def _is_whole(made: Path) -> bool:
    """Return False where a power cut took or cut off the end of an Arrow file."""
    with made.open("rb") as stream:
        size = stream.seek(0, os.SEEK_END)
        stream.seek(max(0, size - len(_END)))
        return stream.read() == _END


def _write_arrow(files: Sequence[Path], place: Path) -> None:
    import pyarrow.ipc
    import pyarrow.parquet

    schemas = [pyarrow.parquet.read_schema(file).remove_metadata() for file in files]
    schema = pyarrow.unify_schemas(schemas, promote_options="permissive")
    with pyarrow.OSFile(str(place), "wb") as sink, pyarrow.ipc.new_stream(sink, schema) as writer:
        for file in files:
            for batch in parquet.batches(file):
                table = pyarrow.Table.from_batches([batch])
                missing = [name for name in schema.names if name not in table.schema.names]
                for name in missing:
                    table = table.append_column(name, pyarrow.nulls(len(table), schema.field(name).type))
                writer.write_table(table.select(schema.names).cast(schema))
                del batch, table  # the next must not come on top of them


# --- the hub -----------------------------------------------------------------------------------------


def _of_hub(source: TableSource, cache: Path) -> list[Path]:
    """Find the files on the hub, and remember them, so that the same question needs no network later."""
    key = hashlib.sha256(msgspec.json.encode(source)).hexdigest()
    memory = cache / "tables" / f"{key}.json"
    try:
        with asking(_where(source)):
            files = _asked(source, cache)
    except network_errors():
        files = [Path(name) for name in json.loads(memory.read_text())] if memory.exists() else []
        if not files or not all(file.exists() for file in files):
            raise
        return files
    memory.parent.mkdir(parents=True, exist_ok=True)
    memory.write_text(json.dumps([str(file) for file in files]))
    return files


def _asked(source: TableSource, cache: Path) -> list[Path]:
    import datasets

    builder = datasets.load_dataset_builder(
        source.dataset,
        source.config or None,
        data_files=source.path or None,
        revision=source.revision or None,
    )
    found = builder.config.data_files or {}
    splits = source.split.split("+") if not source.path else list(found)
    if missing := [name for name in splits if name not in found]:
        raise ValueError(f"there is no split {missing[0]}; there are: {', '.join(map(str, found))}")
    urls = [url for name in splits for url in found[name]]
    if not all(url.lower().endswith(".parquet") for url in urls):
        builder.download_and_prepare()
        return [file for name in splits for file in _cached(builder.as_dataset(split=name))]
    manager = datasets.DownloadManager(
        dataset_name=builder.dataset_name,
        download_config=datasets.DownloadConfig(token=builder.token, disable_tqdm=True),
    )
    return [_streamed([Path(file) for file in manager.download(urls)], cache)]
