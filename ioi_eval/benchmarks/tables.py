"""Read tables of datasets, from the hub or from copies on disk, as memory-mapped Arrow files.

Only the fields that are being read are in memory. A field with a wrong type is an InputError that names the
table, the row and the field. Parquet files are converted to Arrow a few rows at a time, so the memory needed
depends on the file's pages and not on its size. The package `datasets` reads other formats and the hub.
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
from ioi_eval.benchmarks.hub import connect_to_hub, list_network_error_types
from ioi_eval.model.errors import InputError
from ioi_eval.model.fields import Fields, StrictFaults
from ioi_eval.model.nesting import require_shallow
from ioi_eval.model.values import Value
from ioi_eval.store import Store
from ioi_eval.store.files import create_folder_if_missing
from ioi_eval.store.rows import as_number

_MAX_MAPPED_BYTES = (
    64 << 20
)  # number of bytes that are read from mapped files before their pages are released
_ARROW_END = b"\xff\xff\xff\xff\0\0\0\0"  # last bytes of a complete Arrow stream


class Table:
    """Rows by index in memory-mapped Arrow files. Use `open_table` to create a table."""

    def __init__(self, files: Sequence[Path], where: str) -> None:
        import pyarrow.ipc

        self.where, self._mapped_files = where, [_map_file(file) for file in files]
        arrow_tables = [
            pyarrow.ipc.open_stream(pyarrow.py_buffer(mapped_file)).read_all()
            for mapped_file in self._mapped_files
        ]
        self._arrow_table: Any = pyarrow.concat_tables(arrow_tables, promote_options="permissive")
        self.names: tuple[str, ...] = tuple(self._arrow_table.column_names)
        # The name of an Arrow file contains a hash of the files from which it was converted.
        file_descriptions = [
            f"{file} {len(mapped_file)}" for file, mapped_file in zip(files, self._mapped_files, strict=True)
        ]
        self.fingerprint = hashlib.sha256("\n".join(file_descriptions).encode()).hexdigest()
        self._read_byte_count = 0  # number of bytes that were read since pages were last released
        self._columns_by_name: dict[str, Any] = {}
        self._row_indexes_by_column: dict[str, dict[str, tuple[int, ...]]] = {}

    def __len__(self) -> int:
        return int(self._arrow_table.num_rows)

    def __getitem__(self, index: int) -> Row:
        return Row(self, index)

    def __iter__(self) -> Iterator[Row]:
        return (Row(self, index) for index in range(len(self)))

    def read_scalar(self, column: str, row_index: int) -> Any:
        """Return the Arrow scalar in a column and row."""
        if column not in self._columns_by_name:
            self._columns_by_name[column] = self._arrow_table.column(self.names.index(column))
        return self._columns_by_name[column][row_index]

    def group_rows(self, column: str) -> Mapping[str, tuple[int, ...]]:
        """Return the indexes of the rows, by the value of a column."""
        if column not in self._row_indexes_by_column:
            rows_by_value: dict[str, list[int]] = {}
            for row in self:
                rows_by_value.setdefault(row.read_name(column), []).append(row.index)
            self._row_indexes_by_column[column] = {
                column_value: tuple(row_indexes) for column_value, row_indexes in rows_by_value.items()
            }
        return self._row_indexes_by_column[column]

    def add_read_bytes(self, size: int) -> None:
        """Count bytes of long values that were read, and release mapped pages if there are too many."""
        self._read_byte_count += size
        if self._read_byte_count > _MAX_MAPPED_BYTES:
            self.release_memory()

    def release_memory(self) -> None:
        """Release the mapped pages from memory. Later accesses read them from the files again."""
        self._read_byte_count = 0
        for mapped_file in self._mapped_files:
            mapped_file.madvise(mmap.MADV_DONTNEED)

    def require_columns(self, columns: Sequence[str]) -> None:
        """Raise an InputError if a column is missing."""
        missing_columns = [name for name in columns if name not in self.names]
        if missing_columns:
            raise InputError(
                f"the table has no column {', '.join(missing_columns)}",
                where=self.where,
                remedy=f"Is it the right dataset? The columns are: {', '.join(self.names)}",
            )


class Row(Fields):
    """A row whose fields are read on demand. A wrong field raises an InputError."""

    remedy = "The dataset's row is damaged"
    formatter = repr

    def __init__(self, table: Table, index: int) -> None:
        super().__init__({}, "", StrictFaults(table.where, index + 1))
        self.table, self.index = table, index

    def has_field(self, field: str) -> bool:
        """Return True if the column exists and the row's value is not null."""
        return field in self.table.names and bool(self.table.read_scalar(field, self.index).is_valid)

    def raw_value(self, field: str) -> Any:
        """Return the field as a Python value, or None if it is missing."""
        return self.table.read_scalar(field, self.index).as_py() if self.has_field(field) else None

    def report_missing(self, field: str, expected: str) -> NoReturn:
        raise self.mismatch_error(field, expected)

    def read_number(self, field: str, default: float | None = None, *, above: float | None = None) -> float:
        """Return a finite number that is greater than `above`, if any. Strings may contain a number."""
        value = self.raw_value(field)
        if value is None and default is not None:
            return default
        number = as_number(value)
        if number is None or (above is not None and number <= above):
            raise self.mismatch_error(field, "a number" + ("" if above is None else f" above {above:g}"))
        return number

    def read_integer(self, field: str, default: int | None = None) -> int:  # type: ignore[override]
        number = self.read_number(field, default)
        if number != int(number):
            raise self.mismatch_error(field, "a whole number")
        return int(number)

    def read_texts(self, field: str, default: tuple[str, ...] | None = ()) -> tuple[str, ...]:
        return super().read_texts(field, default)

    def read_list_of_objects(self, field: str) -> tuple[dict[str, Any], ...]:
        """Return a list of objects. Some tables store it as an object of lists."""
        value = self.raw_value(field)
        if (
            isinstance(value, dict)
            and value
            and all(isinstance(column_values, list) for column_values in value.values())
        ):
            value = [
                dict(zip(value, row_values, strict=True)) for row_values in zip(*value.values(), strict=True)
            ]
        if value is None:
            return ()
        if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
            raise self.mismatch_error(field, "a list of objects")
        return tuple(value)

    def read_json(self, field: str) -> Any:
        """Return the parsed JSON in a field, or None if the field is blank."""
        json_text = self.read_text(field, "")
        if not json_text.strip():
            return None
        try:
            return json.loads(require_shallow(json_text))
        except ValueError as error:
            raise self.make_error(field, f"the value is not valid JSON: {error}") from error

    def read_content(self, field: str) -> memoryview:
        """Return the bytes of a string without copying them."""
        scalar: Any = self.table.read_scalar(field, self.index) if self.has_field(field) else None
        buffer = _read_arrow_string(scalar)
        if buffer is None:
            raise self.mismatch_error(field, "a text")
        self.table.add_read_bytes(len(buffer))
        return memoryview(buffer)

    def read_object_strings(self, field: str, *keys: str) -> Iterator[tuple[memoryview, ...]]:
        """Yield the named strings of each object in a list, without copying. A missing list is empty."""
        scalar: Any = self.table.read_scalar(field, self.index) if self.has_field(field) else None
        list_objects = getattr(scalar, "values", None)
        if scalar is None or list_objects is None:
            return
        try:
            named_columns = [list_objects.field(name) for name in keys]
        except (AttributeError, KeyError) as error:
            raise self.mismatch_error(field, f"a list of objects with {', '.join(keys)}") from error
        for index in range(len(list_objects)):
            buffers = [_read_arrow_string(column[index]) for column in named_columns]
            string_views = tuple(memoryview(buffer) for buffer in buffers if buffer is not None)
            if len(string_views) != len(keys):
                raise self.make_error(field, f"item {index + 1} of the list has no string")
            self.table.add_read_bytes(sum(map(len, string_views)))
            yield string_views

    def mismatch_error(self, field: str, expected: str) -> InputError:
        if field not in self.table.names:
            remedy = f"Is it the right dataset? The columns are: {', '.join(self.table.names)}"
            return self.make_error(field, "missing column", remedy)
        return super().mismatch_error(field, expected)


def _read_arrow_string(scalar: Any) -> Any:
    """Return the bytes of an Arrow string without copying them, or None if it is not a string."""
    return scalar.as_buffer() if hasattr(scalar, "as_buffer") else None


# --- opening -----------------------------------------------------------------------------------------


class Tables:
    """The tables of a benchmark: the main table, and tables of other datasets if it uses any."""

    def __init__(
        self,
        main: TableSource,
        *,
        cache: Path,
        data_dir: str = "",
        columns: Sequence[str] = (),
        datasets: Collection[str] = (),
    ) -> None:
        """Create the tables, which are opened on demand.

        Args:
            main: The source of the main table.
            cache: The folder for Arrow files.
            data_dir: A folder with copies of the datasets, or "" for the hub.
            columns: Columns that the main table must have.
            datasets: Other datasets that may have folders in `data_dir`.
        """
        self._datasets = {main.dataset, *datasets}
        self._main_source, self._cache, self._data_dir, self._required_columns = (
            main,
            cache,
            data_dir,
            columns,
        )
        self._other_tables: dict[TableSource, Table] = {}

    @cached_property
    def main(self) -> Table:
        """Return the main table."""
        table = self._open(self._main_source)
        table.require_columns(self._required_columns)
        return table

    def open_other_table(
        self,
        dataset: str,
        *,
        config: str = "",
        split: str = "train",
        path: str = "",
        columns: Sequence[str] = (),
    ) -> Table:
        """Return a table of another dataset. Copies on disk are in a folder with the dataset's name.

        Args:
            dataset: The dataset's name on the hub.
            config: The dataset's config.
            split: The dataset's split.
            path: One file of the dataset, instead of config and split.
            columns: Columns that the table must have.
        """
        source = TableSource(dataset=dataset, config=config, split=split, path=path)
        if source not in self._other_tables:
            table = self._open(source)
            table.require_columns(columns)
            self._other_tables[source] = table
        return self._other_tables[source]

    def format_file_size_and_time(self, dataset: str, path: str) -> str:
        """Return size and time of a dataset's file on disk, to notice changes.

        For the hub the result is empty, because the main table's fingerprint changes with the dataset.
        """
        if not self._data_dir:
            return ""
        try:
            file_status = list_matching_file(Path(self._data_dir), TableSource(dataset=dataset, path=path))[
                0
            ].stat()
        except InputError:
            return ""
        return f"{file_status.st_size} {file_status.st_mtime_ns}"

    def release_memory(self) -> None:
        """Release the mapped pages of all tables."""
        for table in (self.main, *self._other_tables.values()):
            table.release_memory()

    def _open(self, source: TableSource) -> Table:
        """Open a table from copies on disk or, without `data_dir`, from the hub."""
        if self._data_dir and not source.files:
            files = tuple(map(str, find_files(Path(self._data_dir), source, self._datasets)))
            source = msgspec.structs.replace(source, files=files)
        return open_table(source, cache=self._cache)


def open_table(source: TableSource, *, cache: Path) -> Table:
    """Open a table. Its Arrow files are stored in `cache`."""
    return Table(_make_arrow_files(source, cache), _format_source_label(source))


# --- sources of tables: files, and folders of copies -------------------------------------------------


SUFFIXES: Mapping[str, str] = {".parquet": "parquet", ".jsonl": "json", ".json": "json", ".csv": "csv"}
_SPLIT_NAMES = ("train", "validation", "valid", "dev", "test")  # names of splits that occur in file names


class TableSource(Value):
    """The source of a table: a dataset on the hub, or files."""

    dataset: str
    config: str = ""
    split: str = "train"
    revision: str = ""
    path: str = ""  # path of a file in the dataset, instead of a config
    without: str = ""  # pattern for names of files in the dataset that do not belong to the table
    files: tuple[str, ...] = ()  # paths of files on disk, instead of files on the hub
    label: str = ""  # name of the table, as messages show it


def format_table_name(source: TableSource) -> str:
    """Return the name of the table: dataset, config and path."""
    return "/".join(component for component in (source.dataset, source.config, source.path) if component)


def find_files(folder: Path, source: TableSource, datasets: Collection[str] = ()) -> list[Path]:
    """Return the files of a table in a folder with copies of datasets.

    If there is a folder with the dataset's name, and in it a folder with the config's name, it is searched.
    The result are the files whose names contain the split, or all files without a split in their names.

    Raises:
        InputError: No file matches.
    """
    if folder.is_file():
        return [folder]
    if source.path:
        return list_matching_file(folder, source)
    search_folder = _find_subfolder_or_self(folder, source.dataset.rpartition("/")[2])
    other_folders = _find_other_dataset_folders(folder, source, datasets) if search_folder == folder else ()
    if config_name := source.config:
        config_folders = [
            path
            for path in (search_folder / config_name, search_folder / "data" / config_name)
            if path.is_dir()
        ]
        if not config_folders:
            remedy = f"Put the files of {config_name} into one"
            raise InputError(
                f"the dataset's folder has no subfolder {config_name!r}",
                where=str(search_folder),
                remedy=remedy,
            )
        search_folder = config_folders[0]
    table_files = [
        path
        for path in sorted(search_folder.rglob("*"))
        if path.suffix.lower() in SUFFIXES
        and path.is_file()
        and not fnmatch(path.name, source.without)
        and not any(component.startswith(".") for component in path.relative_to(search_folder).parts)
        and path.relative_to(search_folder).parts[0] not in other_folders
    ]
    split_files = [
        path for path in table_files if _find_split_in_path(path, search_folder) in source.split.split("+")
    ]
    split_files_or_all = split_files or [
        path for path in table_files if not _find_split_in_path(path, search_folder)
    ]
    if not split_files_or_all:
        raise InputError(
            f"the folder has no files of {format_table_name(source)}, split {source.split}",
            where=str(search_folder),
            remedy=f"Expected files {', '.join(SUFFIXES)}, "
            "of the split by name (train-00000-of-00001.parquet)",
        )
    suffixes = {path.suffix.lower() for path in split_files_or_all}
    suffix_to_read = next(suffix for suffix in SUFFIXES if suffix in suffixes)
    return [path for path in split_files_or_all if path.suffix.lower() == suffix_to_read]


def _find_other_dataset_folders(folder: Path, source: TableSource, datasets: Collection[str]) -> list[str]:
    """Return the names of the folders of other datasets in the folder.

    Raises:
        InputError: The folder contains only such folders, and no file that this dataset could consist of.
    """
    own_folder_name = source.dataset.rpartition("/")[2]
    other_names = sorted({dataset.rpartition("/")[2] for dataset in datasets} - {own_folder_name})
    existing_folders = [name for name in other_names if (folder / name).is_dir()]
    has_config = source.config and (folder / source.config).is_dir()
    files_in_folder = () if has_config or not existing_folders else folder.iterdir()
    if (
        existing_folders
        and not has_config
        and not any(path.suffix.lower() in SUFFIXES for path in files_in_folder)
    ):
        raise InputError(
            f"the folder has no subfolder {own_folder_name!r}, only {', '.join(existing_folders)}",
            where=str(folder),
            remedy=f"Fetch {source.dataset} into {folder / own_folder_name}",
        )
    return existing_folders


def list_matching_file(folder: Path, source: TableSource) -> list[Path]:
    """Return the file at `source.path`, or a file with the same name anywhere in the dataset's folder."""
    search_folder, file_name = (
        _find_subfolder_or_self(folder, source.dataset.rpartition("/")[2]),
        source.path.rpartition("/")[2],
    )
    matching_files = [
        path for path in (search_folder / source.path, search_folder / file_name) if path.is_file()
    ] or sorted(search_folder.rglob(file_name))
    if not matching_files:
        raise InputError(
            f"the dataset's folder has no file {source.path!r}",
            where=str(search_folder),
            remedy="Fetch it, or exclude generated tests with generated_tests=False",
        )
    return matching_files[:1]


def _find_subfolder_or_self(folder: Path, name: str) -> Path:
    """Return the subfolder with this name if it exists, else the folder."""
    return folder / name if name and (folder / name).is_dir() else folder


def _find_split_in_path(path: Path, search_folder: Path) -> str:
    """Return the split in the names of a file and its folders, or an empty string."""
    for component in reversed(path.relative_to(search_folder).parts):
        # A digit after the split is ignored: test2.jsonl belongs to the split `test`.
        split_name = re.split(r"[-.]", component, maxsplit=1)[0].rstrip("0123456789")
        if split_name in _SPLIT_NAMES:
            return split_name
    return ""


# --- Arrow files in the cache ------------------------------------------------------------------------


_VERSION = 1  # version of the format of Arrow files in the cache


def _map_file(file: Path) -> mmap.mmap:
    """Map a file into memory for reading."""
    with file.open("rb") as stream:
        return mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ)


def _make_arrow_files(source: TableSource, cache: Path) -> list[Path]:
    """Return the Arrow files of a table, and write them if they are missing."""
    import pyarrow

    file_format = SUFFIXES[Path(source.files[0]).suffix.lower()] if source.files else ""
    try:
        if file_format == SUFFIXES[".parquet"]:
            return [_convert_parquet([Path(file) for file in source.files], cache)]
        import datasets  # imported on demand, because it needs seconds and 100 MB

        datasets.disable_progress_bars()
        try:
            if not file_format:
                return _fetch_hub_files(source, cache)
            return _load_files(file_format, source.files, cache / "tables")
        except datasets.exceptions.DatasetGenerationError as error:
            raise _make_loading_error(source, error) from error
    except StopIteration as error:  # the package `datasets` raises StopIteration for an empty file
        raise _make_loading_error(source, ValueError("a file without rows")) from error
    except (*list_network_error_types(), ValueError, RuntimeError, pyarrow.ArrowException) as error:
        raise _make_loading_error(source, error) from error


def _load_files(file_format: str, files: Sequence[str], tables: Path) -> list[Path]:
    """Convert files by `datasets`, or return its cached result. A damaged cache is rebuilt."""
    import datasets

    def load(folder: Path) -> list[Path]:
        loaded_dataset = datasets.load_dataset(
            file_format, data_files=list(files), split="train", cache_dir=str(folder)
        )
        return _list_cache_files(loaded_dataset)

    try:
        return load(tables / "datasets")
    except (ValueError, RuntimeError, datasets.exceptions.DatasetGenerationError):
        create_folder_if_missing(tables)
        with tempfile.TemporaryDirectory(dir=tables) as temporary_folder:
            load(Path(temporary_folder))  # raises an error if the source files themselves are damaged
        # The folder is removed without errors, because another process may remove it at the same time.
        shutil.rmtree(tables / "datasets" / file_format, ignore_errors=True)
        return load(tables / "datasets")


def _format_source_label(source: TableSource) -> str:
    """Return the name of the table in messages."""
    return source.label or (source.files[0] if len(source.files) == 1 else format_table_name(source))


def _make_loading_error(source: TableSource, error: Exception) -> InputError:
    """Return the error for a table that cannot be loaded."""
    error_line = next((line for line in str(error).splitlines() if line.strip()), type(error).__name__)
    cause = error.__cause__
    if cause is not None and (cause_line := next(iter(str(cause).splitlines()), "")):
        error_line = f"{error_line}: {cause_line}"
    if source.files:
        columns_question = " Are its columns those of the other files?" if len(source.files) > 1 else ""
        remedy = f"Is the file damaged?{columns_question}"
    else:
        remedy = "Without a network, name a copy with data_dir=FOLDER"
    return InputError(
        f"cannot be loaded ({error_line.rstrip('.')})", where=_format_source_label(source), remedy=remedy
    )


def _list_cache_files(loaded: Any) -> list[Path]:
    """Return the Arrow files of a loaded dataset."""
    return [Path(file["filename"]) for file in loaded.cache_files]


def _convert_parquet(files: Sequence[Path], cache: Path) -> Path:
    """Return an Arrow file with the rows of parquet files.

    It is cached under a hash of their names, sizes and times.
    """
    names_and_stats = [(str(file), file.stat()) for file in files]
    source_stamps = [f"{file_name} {stat.st_size} {stat.st_mtime_ns}" for file_name, stat in names_and_stats]
    content_key = hashlib.sha256("\n".join([str(_VERSION), *source_stamps]).encode()).hexdigest()
    store, file_name = Store(cache / "tables"), f"{content_key}.arrow"
    if (cached_path := store.get(file_name)) is not None and not _is_complete(cached_path):
        store.remove(file_name)
    return store.put(file_name, lambda path: _write_arrow(files, path))


def _is_complete(arrow_path: Path) -> bool:
    """Return False if an Arrow file is truncated, as after a power failure."""
    with arrow_path.open("rb") as stream:
        file_size = stream.seek(0, os.SEEK_END)
        stream.seek(max(0, file_size - len(_ARROW_END)))
        return stream.read() == _ARROW_END


def _write_arrow(files: Sequence[Path], path: Path) -> None:
    """Write the rows of parquet files into a single Arrow file at `path`. Missing columns become null."""
    import pyarrow.ipc
    import pyarrow.parquet

    schemas = [pyarrow.parquet.read_schema(file).remove_metadata() for file in files]
    schema = pyarrow.unify_schemas(schemas, promote_options="permissive")
    with (
        pyarrow.OSFile(str(path), "wb") as output_file,
        pyarrow.ipc.new_stream(output_file, schema) as writer,
    ):
        for file in files:
            for batch in parquet.read_batches(file):
                table = pyarrow.Table.from_batches([batch])
                missing_columns = [name for name in schema.names if name not in table.schema.names]
                for name in missing_columns:
                    table = table.append_column(name, pyarrow.nulls(len(table), schema.field(name).type))
                writer.write_table(table.select(schema.names).cast(schema))
                del batch, table  # free the memory of the batch before the next batch is read


# --- the hub -----------------------------------------------------------------------------------------


def _fetch_hub_files(source: TableSource, cache: Path) -> list[Path]:
    """Return the Arrow files of a table on the hub.

    Without a network, return the files of an earlier call.
    """
    source_hash = hashlib.sha256(msgspec.json.encode(source)).hexdigest()
    record_path = cache / "tables" / f"{source_hash}.json"
    try:
        with connect_to_hub(_format_source_label(source)):
            files = _download_table(source, cache)
    except list_network_error_types():
        files = [Path(name) for name in json.loads(record_path.read_text())] if record_path.exists() else []
        if not files or not all(file.exists() for file in files):
            raise
        return files
    record_path.parent.mkdir(parents=True, exist_ok=True)
    record_path.write_text(json.dumps([str(file) for file in files]))
    return files


def _download_table(source: TableSource, cache: Path) -> list[Path]:
    """Download a table from the hub and return its Arrow files."""
    import datasets

    builder = datasets.load_dataset_builder(
        source.dataset,
        source.config or None,
        data_files=source.path or None,
        revision=source.revision or None,
    )
    data_files = builder.config.data_files or {}
    split_names = source.split.split("+") if not source.path else list(data_files)
    if missing_splits := [split_name for split_name in split_names if split_name not in data_files]:
        raise ValueError(
            f"the dataset has no split {missing_splits[0]}; its splits are: {', '.join(map(str, data_files))}"
        )
    urls = [url for split_name in split_names for url in data_files[split_name]]
    if not all(url.lower().endswith(".parquet") for url in urls):
        builder.download_and_prepare()
        return [
            file
            for split_name in split_names
            for file in _list_cache_files(builder.as_dataset(split=split_name))
        ]
    manager = datasets.DownloadManager(
        dataset_name=builder.dataset_name,
        download_config=datasets.DownloadConfig(token=builder.token, disable_tqdm=True),
    )
    return [_convert_parquet([Path(file) for file in manager.download(urls)], cache)]
