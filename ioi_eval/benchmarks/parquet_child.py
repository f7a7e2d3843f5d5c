"""The child process of `parquet.py`: unpacks Parquet files, one after the other, within a memory limit.

A request is a line of JSON on standard input, its answer a stream of Arrow batches on standard output, and
behind it a newline: pyarrow ends a stream as if it were whole when there is an error, too.
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

TOO_LARGE, UNREADABLE = 3, 4  # exit codes
_MAX_ROWS = 1 << 12  # of a batch
_BATCH_BYTES = 16 << 20  # of a batch that is sent, unless one row is longer
_IDLE_S = 5.0  # until a child without a request ends


def main() -> int:
    """Answer requests until there are no more, or one cannot be answered."""
    sys.path[:] = json.loads(sys.argv[1])
    from pyarrow import ArrowException

    output = os.fdopen(os.dup(1), "wb")
    while select.select([0], [], [], _IDLE_S)[0] and (line := sys.stdin.readline()):
        try:
            _answer(output, **json.loads(line))
        except MemoryError:  # pyarrow's, too
            return TOO_LARGE
        except (ArrowException, OSError) as error:
            os.write(2, str(error).encode())
            return UNREADABLE
    return 0


def _answer(output: BinaryIO, path: str, columns: list[str] | None, memory: int) -> None:
    import pyarrow.parquet

    pages, hard = (
        int(Path("/proc/self/statm").read_text().split()[0]),
        resource.getrlimit(resource.RLIMIT_AS)[1],
    )
    most = pages * resource.getpagesize() + Path(path).stat().st_size + memory  # the file is mapped
    resource.setrlimit(
        resource.RLIMIT_AS, (most if hard == resource.RLIM_INFINITY else min(most, hard), hard)
    )
    with _opened(path) as file:
        groups, empty = file.num_row_groups, file.schema_arrow.empty_table()
    writer = None
    for group in range(groups):
        for batch in _batches(path, group, columns, memory):
            writer = writer or pyarrow.ipc.new_stream(output, batch.schema)
            writer.write_batch(batch)
            output.flush()
    (writer or pyarrow.ipc.new_stream(output, empty.schema)).close()
    output.write(b"\n")
    output.flush()


def _opened(path: str) -> Any:
    import pyarrow.parquet

    return pyarrow.parquet.ParquetFile(path, pre_buffer=False, memory_map=True)


def _batches(path: str, group: int, columns: list[str] | None, memory: int) -> Iterator[Any]:
    """Yield the rows of a group in small batches. If many rows do not fit, unpack them one by one."""
    with _opened(path) as file:
        about = file.metadata.row_group(group)
        rows = max(1, min(_MAX_ROWS, about.num_rows * _BATCH_BYTES // max(1, about.total_byte_size)))
    sent = 0
    while True:
        try:
            for batch in _pieces(path, group, columns, rows, sent, memory):
                yield batch
                sent += batch.num_rows
            return
        except MemoryError:
            if rows == 1:
                raise
        rows = 1


def _pieces(
    path: str, group: int, columns: list[str] | None, rows: int, skipped: int, memory: int
) -> Iterator[Any]:
    with _opened(path) as file:
        for batch in file.iter_batches(rows, row_groups=[group], columns=columns, use_threads=False):
            start, skipped = min(skipped, batch.num_rows), max(0, skipped - batch.num_rows)
            size = sum(_bytes(column) for column in batch.columns)
            if size > memory:
                raise MemoryError
            step = max(1, batch.num_rows * _BATCH_BYTES // max(1, size))
            for offset in range(start, batch.num_rows, step):
                yield batch.slice(offset, step)


def _bytes(array: Any) -> int:
    """Return the bytes of an array whose dictionaries are written out: a few indices may name a long text."""
    import pyarrow.compute
    from pyarrow import types

    if types.is_dictionary(array.type) and _is_text(array.type.value_type):
        lengths = pyarrow.compute.binary_length(array.dictionary).cast("int64")
        return int(pyarrow.compute.sum(lengths.take(array.indices)).as_py() or 0)
    if types.is_nested(array.type) and hasattr(array, "flatten"):
        parts = array.flatten()
        return sum(map(_bytes, parts)) if isinstance(parts, list) else _bytes(parts)
    return int(array.nbytes)


def _is_text(kind: Any) -> bool:
    from pyarrow import types

    texts = types.is_string, types.is_large_string, types.is_binary, types.is_large_binary
    return any(is_one(kind) for is_one in texts)


if __name__ == "__main__":
    sys.exit(main())
