"""Files that survive a kill: replaced as a whole, extended by whole lines, locked by one process."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import platform
import re
import shutil
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Self, TypeVar

import msgspec

from ioi_eval.model.errors import InputError

T = TypeVar("T")
_OTHER_FOLDER = "Choose another out=FOLDER"
_ERRNO_PREFIX = re.compile(r"^\[Errno -?\d+\] ")
# Part of a draft's file name before the process id: the name of this machine.
_HOST_PREFIX = f"{platform.node()}-"


def format_error_reason(error: OSError) -> str:
    """Return an error's reason without its path; the first reason if several files failed."""
    if isinstance(error, shutil.Error) and isinstance(error.args[0], list):
        reason = str(error.args[0][0][-1])
        return _ERRNO_PREFIX.sub("", reason).partition(": ")[0]
    return error.strerror or str(error)


def make_write_error(path: Path, error: OSError) -> InputError:
    """Return the InputError for a file or folder that cannot be written."""
    return InputError(
        f"cannot be written: {format_error_reason(error)}", where=str(path), remedy=_OTHER_FOLDER
    )


@contextlib.contextmanager
def convert_read_errors(where: Path | str, remedy: str = "") -> Iterator[None]:
    """Raise InputError if a file cannot be read inside a `with` block."""
    try:
        yield
    except OSError as error:
        raise InputError(
            f"the file cannot be read ({format_error_reason(error)})", where=str(where), remedy=remedy
        ) from error


MAY_READ = "Give your user the rights to read it (chmod -R u+rX), or read a copy"


def find_unreadable_folders(folder: Path) -> list[OSError]:
    """Return an error for each folder below `folder` that cannot be read; to a reader it would look empty.

    Hidden folders are skipped.
    """
    errors = list[OSError]()
    for folder_path, subfolder_names, _ in os.walk(folder, onerror=errors.append):
        subfolder_names[:] = (name for name in subfolder_names if not name.startswith("."))
        if not os.access(folder_path, os.X_OK):
            errors.append(PermissionError(errno.EACCES, os.strerror(errno.EACCES), folder_path))
    return errors


def create_folder_if_missing(folder: Path) -> bool:
    """Create a folder; return True if it was missing."""
    if folder.is_dir():
        return False
    try:
        folder.mkdir(parents=True)
    except OSError as error:
        raise make_write_error(folder, error) from error
    return True


def replace(path: Path, pieces: Iterable[bytes], *, durable: bool = True) -> None:
    """Replace a file's content atomically: readers see the old or the new content, never a part.

    `durable`: after this returns, the new content survives a crash of the machine.
    """
    draft = make_draft_path(path)
    try:
        with draft.open("wb") as stream:
            stream.writelines(pieces)
            stream.flush()
            if durable:
                os.fsync(stream.fileno())
        draft.replace(path)
    except OSError as error:
        raise make_write_error(path, error) from error
    finally:
        # The draft was renamed, or the file system cannot be written.
        with contextlib.suppress(OSError):
            draft.unlink()


def read_value(
    path: Path,
    value_type: type[T],
    error_message_start: str = "",
    remedy: str = "",
    *,
    decode: Callable[..., T] = msgspec.json.decode,
) -> T | None:
    """Return the value in a file, or None if there is no file.

    Args:
        path: the file.
        value_type: type of the value.
        error_message_start: start of the InputError's message for an unreadable file. If it is empty, return
            None.
        remedy: remedy in that error.
        decode: decodes the file's bytes to a value of type `value_type`; JSON by default.
    """
    try:
        return decode(path.read_bytes(), type=value_type)
    except (ValueError, OSError) as error:  # errors of msgspec, or bytes that are not UTF-8
        if isinstance(error, FileNotFoundError) or not error_message_start:
            return None
        raise InputError(f"{error_message_start}: {error}", where=str(path), remedy=remedy) from error


def make_draft_path(path: Path) -> Path:
    """Return the temporary path at which this process writes a file or folder until it is complete."""
    return path.with_name(f".{path.name}.{_HOST_PREFIX}{os.getpid()}.tmp")


def remove_abandoned_file_drafts(path: Path, *, min_idle_s: float = 0) -> None:
    """Remove the drafts (unfinished new versions) of a file whose writers were killed.

    A draft's writer may be alive on another machine, or another process may have its pid. Such a draft is
    removed if it was not written for `min_idle_s` seconds; 0 is for the only process that may write the file.
    """
    for draft in path.parent.glob(f".{path.name}.*.tmp"):
        with contextlib.suppress(FileNotFoundError):
            if not _has_writer_ended(draft) and time.time() - draft.stat().st_mtime < min_idle_s:
                continue
            shutil.rmtree(draft) if draft.is_dir() else draft.unlink()


def _has_writer_ended(draft: Path) -> bool:
    """Return True if the process that wrote the draft ran on this machine and has ended."""
    _, host_suffix, pid = draft.stem.rpartition(_HOST_PREFIX)
    if not host_suffix or not pid.isdecimal():
        return False
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        pass  # the process exists, but belongs to another user
    return False


def read_complete_lines(path: Path, start: int = 0) -> Iterator[tuple[int, bytes]]:
    """Yield offset and content of each complete line from offset `start` on.

    A last line without a newline is skipped, because its writer was interrupted.
    """
    with contextlib.suppress(FileNotFoundError), path.open("rb") as stream:
        offset = stream.seek(start)
        for line in stream:
            if line.endswith(b"\n"):
                yield offset, line[:-1]
            offset += len(line)


def has_incomplete_line(path: Path) -> bool:
    """Return True if the file's last line is incomplete, so that `read_complete_lines` skips it."""
    with contextlib.suppress(OSError), path.open("rb") as stream:  # the file may not exist, or may be empty
        stream.seek(-1, os.SEEK_END)
        return stream.read(1) != b"\n"
    return False


def remove_incomplete_line(path: Path) -> None:
    """Truncate a file after its last newline, to remove the incomplete line of a killed writer."""
    size = complete_size = path.stat().st_size if path.exists() else 0
    with contextlib.suppress(FileNotFoundError), path.open("rb") as stream:
        while complete_size > 0:
            piece_start = max(0, complete_size - (1 << 16))
            stream.seek(piece_start)
            if (newline_index := stream.read(complete_size - piece_start).rfind(b"\n")) >= 0:
                complete_size = piece_start + newline_index + 1
                break
            complete_size = piece_start
    if complete_size < size:
        os.truncate(path, complete_size)


class LineFile:
    """A file that grows by whole lines and returns any line by its offset."""

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            self._descriptor = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o666)
        except OSError as error:
            raise make_write_error(path, error) from error
        self._end = os.fstat(self._descriptor).st_size

    def append(self, line: bytes) -> int:
        """Append a line in one write and return its byte offset. If this fails, the file is unchanged."""
        line_offset, line_bytes = self._end, line + b"\n"
        try:
            if os.write(self._descriptor, line_bytes) != len(line_bytes):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        except OSError as error:
            os.ftruncate(self._descriptor, line_offset)
            raise InputError(
                f"the file cannot be written: {error.strerror}",
                where=str(self._path),
                remedy="Free space and run again: the run continues where it stopped",
            ) from error
        self._end += len(line_bytes)
        return line_offset

    def read_line_at(self, offset: int) -> bytes:
        """Return the line at an offset."""
        with open(os.dup(self._descriptor), "rb") as stream:  # noqa: PTH123 - a descriptor, not a path
            stream.seek(offset)
            return stream.readline()

    def close(self) -> None:
        """Sync and close the file."""
        if self._descriptor >= 0:
            os.fsync(self._descriptor)
            os.close(self._descriptor)
            self._descriptor = -1


def is_locked(path: Path) -> bool:
    """Return True if a process holds the lock on that file."""
    try:
        with path.open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError as error:
        return error.errno == errno.EWOULDBLOCK
    return False


class Lock:
    """A lock with which only one process writes a folder. The kernel frees it however the process ends."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._descriptor = -1

    def __enter__(self) -> Self:
        while self._descriptor < 0:
            self._descriptor = self._try_open_locked_file()
        try:
            os.ftruncate(self._descriptor, 0)
            os.write(self._descriptor, f"{os.getpid()}\n".encode())
        except OSError as error:  # such as a full disk
            self.remove()
            self.__exit__()
            raise make_write_error(self._path.parent, error) from error
        return self

    def _try_open_locked_file(self) -> int:
        """Return the locked file's descriptor, or -1 if the previous holder removed the file meanwhile."""
        try:
            descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        except OSError as error:
            raise make_write_error(self._path.parent, error) from error
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if self._path.exists() and os.path.samestat(os.fstat(descriptor), self._path.stat()):
                return descriptor
        except OSError as error:
            os.close(descriptor)
            raise self._make_lock_error(error) from error
        os.close(descriptor)
        return -1

    def _make_lock_error(self, error: OSError) -> InputError:
        """Return the InputError for a lock that cannot be acquired."""
        where = str(self._path.parent)
        if error.errno not in (errno.EWOULDBLOCK, errno.EACCES):
            return InputError(
                f"its file system does not support locks: {error.strerror}",
                where=where,
                remedy="Choose an out=FOLDER on a local disk",
            )
        holder_pid = self._path.read_text(errors="replace").strip() if self._path.exists() else ""
        writer_description = (
            f"another process (pid {holder_pid})" if holder_pid.isdigit() else "another process"
        )
        return InputError(
            f"{writer_description} is writing this run",
            where=where,
            remedy="Wait for it to end, or choose another out=FOLDER",
        )

    def remove(self) -> None:
        """Delete the lock file as well; only for a folder in which nothing was written."""
        self._path.unlink(missing_ok=True)

    def __exit__(self, *exception: object) -> None:
        os.close(self._descriptor)
        self._descriptor = -1
