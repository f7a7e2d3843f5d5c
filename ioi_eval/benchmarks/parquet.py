"""Read Parquet files a few rows at a time. A child process unpacks them.

A page and a dictionary are unpacked as a whole, and a file of a kilobyte may unpack to many GB. The child has
a memory limit, so such a file is refused and the process that scores stays alive.
"""

from __future__ import annotations

import atexit
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from ioi_eval.benchmarks.parquet_child import TOO_LARGE, UNREADABLE
from ioi_eval.model.errors import InputError
from ioi_eval.store.resources import read_machine_memory

_MEMORY_DIVISOR = 4  # a child process may use the machine's memory divided by this number
_GIB = 1 << 30
# Environment variables of the child process, with which its memory allocators reserve no address space in
# advance and return freed memory to the system.
_ALLOCATOR_VARIABLES = (
    "ARROW_DEFAULT_MEMORY_POOL=system",
    "MALLOC_ARENA_MAX=1",
    f"MALLOC_MMAP_THRESHOLD_={1 << 20}",
)
_idle: list[subprocess.Popen[bytes]] = []  # idle child processes; starting a child costs 0.15 s
os.register_at_fork(after_in_child=_idle.clear)


def read_batches(
    path: Path, columns: list[str] | None = None, *, max_memory_bytes: int | None = None
) -> Iterator[Any]:
    """Yield a file's rows in small batches. A batch of long rows may have only one row.

    Args:
        path: The file.
        columns: The columns to read. `None` means all.
        max_memory_bytes: Maximum memory for unpacking. `None` means a quarter of the machine's memory.

    Raises:
        InputError: The file needs more memory, or the child crashed.
        pyarrow.ArrowException: The file is broken.
    """
    import pyarrow.ipc

    path.open("rb").close()  # if the file cannot be opened, an OSError names it
    memory_limit_bytes = (
        read_machine_memory() // _MEMORY_DIVISOR if max_memory_bytes is None else max_memory_bytes
    )
    request = {"path": str(path.absolute()), "columns": columns, "max_unpacking_bytes": memory_limit_bytes}
    child, stream = _send_request_to_child(json.dumps(request).encode())
    is_idle = False
    try:
        while stream is not None:
            try:
                batch = stream.read_next_batch()
            except StopIteration:
                if is_idle := child.stdout is not None and child.stdout.read(1) == b"\n":
                    return
                break
            except (pyarrow.ArrowException, OSError):  # the child process has exited
                break
            yield batch
            del batch  # free the batch's memory before the next batch is read
            pyarrow.default_memory_pool().release_unused()
        raise _make_child_error(path, child, memory_limit_bytes)
    finally:
        _idle.append(child) if is_idle else _kill_child(child)


def _send_request_to_child(request: bytes) -> tuple[subprocess.Popen[bytes], Any]:
    """Send a request to a child. Return the child and its stream of batches, or None if it has failed."""
    import pyarrow.ipc

    while True:
        try:
            child, is_new = _idle.pop(), False
        except IndexError:
            child, is_new = _start_child(), True
        assert child.stdin is not None
        with suppress(BrokenPipeError):  # the child process may have exited
            child.stdin.write(request + b"\n")
            child.stdin.flush()
        try:
            return child, pyarrow.ipc.open_stream(child.stdout)
        except (pyarrow.ArrowException, OSError):
            if is_new:
                return child, None
            _kill_child(child)  # closes the pipes: the child process may have exited while it was idle


def _start_child() -> subprocess.Popen[bytes]:
    """Start a child process."""
    child_script = Path(__file__).with_name("parquet_child.py")
    return subprocess.Popen(
        ["env", *_ALLOCATOR_VARIABLES, sys.executable, "-I", str(child_script), json.dumps(sys.path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,  # Ctrl-C reaches only the calling process, which then kills the child process
    )


def _make_child_error(path: Path, child: subprocess.Popen[bytes], memory_limit_bytes: int) -> Exception:
    """Return the error for a file that a child could not unpack."""
    import pyarrow

    child_stderr = child.communicate()[1].decode(errors="replace").strip()
    if child.returncode == UNREADABLE:
        return pyarrow.ArrowInvalid(child_stderr)  # type: ignore[no-any-return]
    if child.returncode in (TOO_LARGE, -signal.SIGABRT, -signal.SIGKILL):
        return InputError(
            f"a part of it takes more than {memory_limit_bytes / _GIB:.1f} GiB of memory when it is unpacked",
            where=str(path),
            remedy="Read it where there is more memory, or write it again there, in smaller groups: "
            f"pyarrow.parquet.write_table(pyarrow.parquet.read_table({path.name!r}), 'small.parquet', "
            "row_group_size=5)",
        )
    problem = f"the process that unpacks it ended with {child.returncode}: {child_stderr or 'no message'}"
    return InputError(problem, where=str(path), remedy="Fetch or write it again")


def _kill_child(child: subprocess.Popen[bytes]) -> None:
    """Kill a child process."""
    child.kill()
    child.communicate()


@atexit.register
def _kill_idle_children() -> None:
    """Kill the idle children when this process exits."""
    while _idle:
        _kill_child(_idle.pop())


def decode_byte_columns(batch: Any) -> Any:
    """Return a batch in which columns of bytes are strings, if all their values are UTF-8.

    Some writers store strings as bytes.
    """
    import pyarrow

    columns = list(batch.columns)
    if all(_replace_bytes_type(column.type) == column.type for column in columns):
        return batch  # a new batch would lose the number of rows if there are no columns
    for index, column in enumerate(columns):
        with suppress(pyarrow.ArrowInvalid):
            columns[index] = column.cast(_replace_bytes_type(column.type))
    return pyarrow.RecordBatch.from_arrays(columns, names=batch.schema.names)


def _replace_bytes_type(arrow_type: Any) -> Any:
    """Return a type in which bytes of any length are replaced by strings."""
    import pyarrow
    from pyarrow import types

    if types.is_binary(arrow_type):
        return pyarrow.string()
    if types.is_large_binary(arrow_type):
        return pyarrow.large_string()
    if types.is_list(arrow_type):
        return pyarrow.list_(arrow_type.value_field.with_type(_replace_bytes_type(arrow_type.value_type)))
    if types.is_large_list(arrow_type):
        return pyarrow.large_list(
            arrow_type.value_field.with_type(_replace_bytes_type(arrow_type.value_type))
        )
    if types.is_struct(arrow_type):
        return pyarrow.struct([field.with_type(_replace_bytes_type(field.type)) for field in arrow_type])
    return arrow_type
