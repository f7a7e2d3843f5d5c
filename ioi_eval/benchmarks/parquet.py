"""Parquet a few rows at a time, unpacked by a child process.

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
from ioi_eval.store.resources import machine_memory

_SHARE = 4  # the child may have this part of the machine's memory
_GIB = 1 << 30
# Address space is not taken in advance, and memory that is free again goes back to the system.
_ALLOCATION = ("ARROW_DEFAULT_MEMORY_POOL=system", "MALLOC_ARENA_MAX=1", f"MALLOC_MMAP_THRESHOLD_={1 << 20}")
_idle: list[subprocess.Popen[bytes]] = []  # children without a request: to start one takes 0.15 s
os.register_at_fork(after_in_child=_idle.clear)


def batches(path: Path, columns: list[str] | None = None, *, memory: int | None = None) -> Iterator[Any]:
    """Yield a file's rows a few at a time, with long ones only one.

    Args:
        path: The file.
        columns: The columns to read. `None` means all.
        memory: Bytes that unpacking may take. `None` means a quarter of the machine's memory.

    Raises:
        InputError: The file needs more memory, or unpacking it ended the child.
        pyarrow.ArrowException: The file is broken.
    """
    import pyarrow.ipc

    path.open("rb").close()  # an OSError that names the file
    limit = machine_memory() // _SHARE if memory is None else memory
    request = {"path": str(path.absolute()), "columns": columns, "memory": limit}
    child, stream = _asked(json.dumps(request).encode())
    is_idle = False
    try:
        while stream is not None:
            try:
                batch = stream.read_next_batch()
            except StopIteration:
                if is_idle := child.stdout is not None and child.stdout.read(1) == b"\n":
                    return
                break
            except (pyarrow.ArrowException, OSError):  # the child has ended
                break
            yield batch
            del batch  # the next must not come on top of it
            pyarrow.default_memory_pool().release_unused()
        raise _refusal(path, child, limit)
    finally:
        _idle.append(child) if is_idle else _end(child)


def _asked(request: bytes) -> tuple[subprocess.Popen[bytes], Any]:
    """Return a child and its stream of batches. If the child has failed, `None` is in the stream's place."""
    import pyarrow.ipc

    while True:
        try:
            child, is_new = _idle.pop(), False
        except IndexError:
            child, is_new = _start(), True
        assert child.stdin is not None
        with suppress(BrokenPipeError):  # the child has ended
            child.stdin.write(request + b"\n")
            child.stdin.flush()
        try:
            return child, pyarrow.ipc.open_stream(child.stdout)
        except (pyarrow.ArrowException, OSError):
            if is_new or child.wait() != 0:
                return child, None
            _end(child)  # it was idle for too long


def _start() -> subprocess.Popen[bytes]:
    script = Path(__file__).with_name("parquet_child.py")
    return subprocess.Popen(
        ["env", *_ALLOCATION, sys.executable, "-I", str(script), json.dumps(sys.path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,  # Ctrl-C is for the process that scores, which ends the child
    )


def _refusal(path: Path, child: subprocess.Popen[bytes], limit: int) -> Exception:
    """Return why a child could not unpack a file."""
    import pyarrow

    said = child.communicate()[1].decode(errors="replace").strip()
    if child.returncode == UNREADABLE:
        return pyarrow.ArrowInvalid(said)  # type: ignore[no-any-return]
    if child.returncode in (TOO_LARGE, -signal.SIGABRT, -signal.SIGKILL):
        return InputError(
            f"a part of it takes more than {limit / _GIB:.1f} GiB of memory when it is unpacked",
            where=str(path),
            remedy="Read it where there is more memory, or write it again there, in smaller groups: "
            f"pyarrow.parquet.write_table(pyarrow.parquet.read_table({path.name!r}), 'small.parquet', "
            "row_group_size=5)",
        )
    what = f"the process that unpacks it ended with {child.returncode}: {said or 'no message'}"
    return InputError(what, where=str(path), remedy="Fetch or write it again")


def _end(child: subprocess.Popen[bytes]) -> None:
    child.kill()
    child.communicate()


@atexit.register
def _end_idle() -> None:
    while _idle:
        _end(_idle.pop())


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
