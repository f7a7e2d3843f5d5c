"""Parquet a few rows at a time. A page is unpacked as a whole: where that cannot fit, the file is refused.

The packed bytes stay in the mapped file, and so do pages that are not packed. Of other columns a page and the
dictionary lie in memory, whose sizes the headers of pages say: Thrift's compact protocol, of which no more is
read than leads to them.
"""

from __future__ import annotations

import mmap
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from ioi_eval.model.errors import InputError
from ioi_eval.store.resources import machine_memory

_MOST_ROWS, _PIECE = 1 << 12, 16 << 20  # in memory: rows, and their bytes, but at least one row
_SMALL = 128 << 20  # bytes of a column's part that fit anywhere, whatever its pages are
_GIB = 1 << 30
_DICTIONARY = 2  # a type of pages
_LONGEST = 63  # bits of a number
_TYPE, _UNPACKED, _PACKED = 1, 2, 3  # fields of a page's header


def batches(path: Path, columns: list[str] | None = None, *, memory: int | None = None) -> Iterator[Any]:
    """A few rows at a time, with long ones only one. InputError: a page would not fit into `memory`."""
    import pyarrow.parquet

    with pyarrow.parquet.ParquetFile(path, pre_buffer=False, memory_map=True) as file:
        for number in range(file.num_row_groups):
            group = file.metadata.row_group(number)
            most = machine_memory() if memory is None else memory
            chunks = (group.column(index) for index in range(group.num_columns))
            wanted = None if columns is None else {*columns}
            parts = [
                part for part in chunks if wanted is None or part.path_in_schema.partition(".")[0] in wanted
            ]
            dictionary = _check(path, number, parts, most)
            _check_lists(path, number, parts, dictionary, most)
            rows = min(_MOST_ROWS, group.num_rows * _PIECE // max(1, group.total_byte_size))
            rows = max(1, min(rows, _SMALL // max(1, dictionary)))  # each may be all that is in a dictionary
            for batch in file.iter_batches(rows, row_groups=[number], columns=columns, use_threads=False):
                yield batch
                del batch  # the next must not come on top of it
                pyarrow.default_memory_pool().release_unused()


def texts(batch: Any) -> Any:
    """Return a batch whose columns of bytes are texts, as some writers mean them, where all are UTF-8."""
    import pyarrow

    columns = list(batch.columns)
    if all(_meant(column.type) == column.type for column in columns):
        return batch  # also one without columns, which has its rows nonetheless
    for place, column in enumerate(columns):
        with suppress(pyarrow.ArrowInvalid):
            columns[place] = column.cast(_meant(column.type))
    return pyarrow.RecordBatch.from_arrays(columns, names=batch.schema.names)


def _meant(kind: Any) -> Any:
    """Return a type with texts in the place of bytes of any length."""
    import pyarrow
    from pyarrow import types

    if types.is_binary(kind):
        return pyarrow.string()
    if types.is_large_binary(kind):
        return pyarrow.large_string()
    if types.is_list(kind):
        return pyarrow.list_(kind.value_field.with_type(_meant(kind.value_type)))
    if types.is_large_list(kind):
        return pyarrow.large_list(kind.value_field.with_type(_meant(kind.value_type)))
    if types.is_struct(kind):
        return pyarrow.struct([field.with_type(_meant(field.type)) for field in kind])
    return kind


def _check(path: Path, number: int, parts: list[Any], memory: int) -> int:
    """Return the bytes of the largest dictionary of texts. A part's own word for its size is not believed."""
    if not parts:
        return 0
    with path.open("rb") as stream, mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as data:
        unpacked = {part.path_in_schema: _unpacked(part, data) for part in parts}
    sizes = {
        part.path_in_schema: sum(unpacked[part.path_in_schema])
        for part in parts
        if max(part.total_uncompressed_size, *unpacked[part.path_in_schema]) > _SMALL
    }
    texts = (unpacked[part.path_in_schema][0] for part in parts if part.physical_type == "BYTE_ARRAY")
    dictionary = max(texts, default=0) // 2
    total = sum(sizes.values())
    if total <= memory:
        return dictionary
    name = max(sizes, key=lambda name: sizes[name])
    raise InputError(
        f"row group {number + 1} has pages of {sizes[name] / _GIB:.1f} GiB in its column {name}: they take "
        f"{total / _GIB:.1f} GiB of memory, and there are {memory / _GIB:.1f}",
        where=str(path),
        remedy="Read it where there is more memory, or write it again there, in smaller groups: "
        f"pyarrow.parquet.write_table(pyarrow.parquet.read_table({path.name!r}), 'small.parquet', "
        "row_group_size=5)",
    )


def _check_lists(path: Path, number: int, parts: list[Any], dictionary: int, memory: int) -> None:
    """Refuse rows whose lists name one long text again and again: a row is read as a whole."""
    import pyarrow.parquet

    texts = [part for part in parts if part.physical_type == "BYTE_ARRAY" and "." in part.path_in_schema]
    lists = [part.path_in_schema for part in texts if dictionary * part.num_values > memory]
    if not lists:
        return
    columns = sorted({name.partition(".")[0] for name in lists})
    reading = {"read_dictionary": lists, "pre_buffer": False, "memory_map": True}
    with pyarrow.parquet.ParquetFile(path, **reading) as file:
        for batch in file.iter_batches(1, row_groups=[number], columns=columns, use_threads=False):
            size = sum(_size(column) for column in batch.columns)
            if size > memory:
                raise InputError(
                    f"row group {number + 1} has a row of {size / _GIB:.1f} GiB in its lists"
                    f" {', '.join(columns)}, and there are {memory / _GIB:.1f} of memory",
                    where=str(path),
                    remedy="Read it where there is more memory, or leave that row out",
                )


def _size(array: Any) -> int:
    """Bytes of all texts in an array of dictionaries' indices, at any depth."""
    import pyarrow.compute

    if pyarrow.types.is_dictionary(array.type):
        lengths = pyarrow.compute.binary_length(array.dictionary).cast("int64")
        return pyarrow.compute.sum(lengths.take(array.indices)).as_py() or 0
    if pyarrow.types.is_struct(array.type):
        return sum(_size(field) for field in array.flatten())
    return _size(array.flatten()) if hasattr(array, "flatten") and pyarrow.types.is_nested(array.type) else 0


def _unpacked(part: Any, data: mmap.mmap) -> tuple[int, int]:
    """Bytes of a column's dictionary, which is copied once, and of its largest page, if it is packed."""
    place = min(filter(None, (part.dictionary_page_offset, part.data_page_offset)))
    end, dictionary, largest = place + part.total_compressed_size, 0, 0
    while place < end:
        try:
            header, place = _numbers(data, place)
            size, place = header[_UNPACKED], max(place, place + header[_PACKED])
            is_dictionary = header[_TYPE] == _DICTIONARY
        except (IndexError, KeyError, ValueError, RecursionError):
            break  # pyarrow says what is wrong with it
        dictionary, largest = (2 * size, largest) if is_dictionary else (dictionary, max(largest, size))
    return dictionary, 0 if part.compression == "UNCOMPRESSED" else largest


# --- Thrift ------------------------------------------------------------------------------------------


def _numbers(data: mmap.mmap, place: int) -> tuple[dict[int, int], int]:
    """The whole numbers in a struct by their fields, and where it ends."""
    found, field = dict[int, int](), 0
    while head := data[place]:
        place += 1
        if head >> 4:
            field += head >> 4
        else:
            field, place = _signed(data, place)
        match head & 15:
            case 1 | 2:  # true, false
                pass
            case 4 | 5 | 6:
                found[field], place = _signed(data, place)
            case 8:  # bytes
                length, place = _varint(data, place)
                place += length
            case 12:
                _, place = _numbers(data, place)
            case kind:
                raise ValueError(f"type {kind} is in no page's header")
    return found, place + 1


def _signed(data: mmap.mmap, place: int) -> tuple[int, int]:
    number, place = _varint(data, place)
    return (number >> 1) ^ -(number & 1), place


def _varint(data: mmap.mmap, place: int) -> tuple[int, int]:
    number = shift = 0
    while (byte := data[place]) > 127 and shift < _LONGEST:
        number, shift, place = number | (byte & 127) << shift, shift + 7, place + 1
    return number | byte << shift, place + 1
