"""The child process of `parquet.py`: unpacks Parquet files one by one, within a memory limit.

A request is a line of JSON on standard input. Its answer is a stream of Arrow batches on standard output, and
then a newline. The newline shows that the stream is complete, because pyarrow terminates a broken stream as
well.
"""

from __future__ import annotations

import json
import os
import resource
import select
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

TOO_LARGE, UNREADABLE = 3, 4  # exit codes of the child process
_MAX_ROWS = 1 << 12  # maximum number of rows in a batch
_BATCH_BYTES = 16 << 20  # maximum size in bytes of a batch that is sent, unless a single row is larger
_IDLE_S = 5.0  # seconds without a request after which the child process exits


def main() -> int:
    """Answer requests until no more arrive, or until a request cannot be answered. Return the exit code."""
    sys.path[:] = json.loads(sys.argv[1])
    from pyarrow import ArrowException

    output = os.fdopen(os.dup(1), "wb")
    while select.select([0], [], [], _IDLE_S)[0] and (request_line := sys.stdin.readline()):
        try:
            _answer_request(output, **json.loads(request_line))
        except MemoryError:  # the class of pyarrow's error for missing memory is derived from MemoryError
            return TOO_LARGE
        except (ArrowException, OSError) as error:
            os.write(2, str(error).encode())
            return UNREADABLE
    return 0


def _answer_request(output: BinaryIO, path: str, columns: list[str] | None, max_unpacking_bytes: int) -> None:
    """Write the rows of a file to `output`. `max_unpacking_bytes`: maximum memory for unpacking, in bytes."""
    import pyarrow.parquet

    mapped_pages, hard_limit_bytes = (
        int(Path("/proc/self/statm").read_text().split()[0]),
        resource.getrlimit(resource.RLIMIT_AS)[1],
    )
    # The file's size counts because the file is mapped into memory.
    max_bytes = mapped_pages * resource.getpagesize() + Path(path).stat().st_size + max_unpacking_bytes
    resource.setrlimit(
        resource.RLIMIT_AS,
        (
            max_bytes if hard_limit_bytes == resource.RLIM_INFINITY else min(max_bytes, hard_limit_bytes),
            hard_limit_bytes,
        ),
    )
    with _open_parquet(path) as file:
        group_count, empty_table = file.num_row_groups, file.schema_arrow.empty_table()
    writer = None
    for group in range(group_count):
        for batch in _read_row_group(path, group, columns, max_unpacking_bytes):
            writer = writer or pyarrow.ipc.new_stream(output, batch.schema)
            writer.write_batch(batch)
            output.flush()
    (writer or pyarrow.ipc.new_stream(output, empty_table.schema)).close()
    output.write(b"\n")
    output.flush()


def _open_parquet(path: str) -> Any:
    import pyarrow.parquet

    return pyarrow.parquet.ParquetFile(path, pre_buffer=False, memory_map=True)


def _read_row_group(
    path: str, row_group_index: int, columns: list[str] | None, max_memory_bytes: int
) -> Iterator[Any]:
    """Yield the rows of a group in small batches.

    If many rows do not fit into memory, unpack them one by one.
    """
    with _open_parquet(path) as file:
        group_metadata = file.metadata.row_group(row_group_index)
        batch_rows = max(
            1,
            min(_MAX_ROWS, group_metadata.num_rows * _BATCH_BYTES // max(1, group_metadata.total_byte_size)),
        )
    sent_rows = 0
    while True:
        try:
            for batch in _read_small_batches(
                path, row_group_index, columns, batch_rows, sent_rows, max_memory_bytes
            ):
                yield batch
                sent_rows += batch.num_rows
            return
        except MemoryError:
            if batch_rows == 1:
                raise
        batch_rows = 1


def _read_small_batches(
    path: str,
    row_group_index: int,
    columns: list[str] | None,
    batch_rows: int,
    skipped_rows: int,
    max_memory_bytes: int,
) -> Iterator[Any]:
    """Yield the rows of a group in batches that are small enough to be sent.

    Args:
        path: The file.
        row_group_index: The index of the row group.
        columns: The columns to read. None means all.
        batch_rows: The number of rows to unpack at once.
        skipped_rows: The number of rows to skip, because they were sent already.
        max_memory_bytes: The maximum size of unpacked rows, in bytes.
    """
    with _open_parquet(path) as file:
        for batch in file.iter_batches(
            batch_rows, row_groups=[row_group_index], columns=columns, use_threads=False
        ):
            first_row, skipped_rows = min(skipped_rows, batch.num_rows), max(0, skipped_rows - batch.num_rows)
            batch_bytes = sum(_count_array_bytes(column) for column in batch.columns)
            if batch_bytes > max_memory_bytes:
                raise MemoryError
            slice_rows = max(1, batch.num_rows * _BATCH_BYTES // max(1, batch_bytes))
            for slice_start in range(first_row, batch.num_rows, slice_rows):
                yield batch.slice(slice_start, slice_rows)


def _count_array_bytes(array: Any) -> int:
    """Return the size of an array in bytes when its dictionaries are written out.

    A few indices may repeat a long string.
    """
    import pyarrow.compute
    from pyarrow import types

    if types.is_dictionary(array.type) and _is_string_type(array.type.value_type):
        value_lengths = pyarrow.compute.binary_length(array.dictionary).cast("int64")
        return int(pyarrow.compute.sum(value_lengths.take(array.indices)).as_py() or 0)
    if types.is_nested(array.type) and hasattr(array, "flatten"):
        child_arrays = array.flatten()
        return (
            sum(map(_count_array_bytes, child_arrays))
            if isinstance(child_arrays, list)
            else _count_array_bytes(child_arrays)
        )
    return int(array.nbytes)


def _is_string_type(kind: Any) -> bool:
    from pyarrow import types

    string_types = types.is_string, types.is_large_string, types.is_binary, types.is_large_binary
    return any(is_type(kind) for is_type in string_types)


if __name__ == "__main__":
    sys.exit(main())
