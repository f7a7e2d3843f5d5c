"""Files that survive a kill: replaced as a whole, appended to by whole lines, locked by one process."""

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
_ELSEWHERE = "Choose another out=FOLDER"
_NUMBER = re.compile(r"^\[Errno -?\d+\] ")
_HERE = f"{platform.node()}-"  # before a pid


def why(error: OSError) -> str:
    """Return the reason in an error, without a path; of a copy of many files that of the first one."""
    if isinstance(error, shutil.Error) and isinstance(error.args[0], list):
        words = str(error.args[0][0][-1])
        return _NUMBER.sub("", words).partition(": ")[0]
    return error.strerror or str(error)


def refused(path: Path, error: OSError) -> InputError:
    return InputError(f"cannot be written: {why(error)}", where=str(path), remedy=_ELSEWHERE)


@contextlib.contextmanager
def readable(where: Path | str, remedy: str = "") -> Iterator[None]:
    """Raise InputError where what is read inside cannot be."""
    try:
        yield
    except OSError as error:
        raise InputError(f"cannot be read ({why(error)})", where=str(where), remedy=remedy) from error


MAY_READ = "Give your user the rights to read it (chmod -R u+rX), or read a copy"


def closed_folders(folder: Path) -> list[OSError]:
    """Return why folders in it, all but hidden ones, cannot be read: for who looks into one it is empty."""
    refused = list[OSError]()
    for place, folders, _ in os.walk(folder, onerror=refused.append):
        folders[:] = (name for name in folders if not name.startswith("."))
        if not os.access(place, os.X_OK):
            refused.append(PermissionError(errno.EACCES, os.strerror(errno.EACCES), place))
    return refused


def make_folder(folder: Path) -> bool:
    """Make a folder; return True if it was missing."""
    if folder.is_dir():
        return False
    try:
        folder.mkdir(parents=True)
    except OSError as error:
        raise refused(folder, error) from error
    return True


def replace(path: Path, pieces: Iterable[bytes], *, durable: bool = True) -> None:
    """Puts a new content in the place of a file: readers see the old one or the new one, never a part.

    `durable`: once this returns, a machine that fails keeps the new one.
    """
    draft = draft_of(path)
    try:
        with draft.open("wb") as stream:
            stream.writelines(pieces)
            stream.flush()
            if durable:
                os.fsync(stream.fileno())
        draft.replace(path)
    except OSError as error:
        raise refused(path, error) from error
    finally:
        with contextlib.suppress(OSError):  # it is not there, or cannot be removed for the same reason
            draft.unlink()


def read_value(
    path: Path,
    kind: type[T],
    fault: str = "",
    remedy: str = "",
    *,
    decode: Callable[..., T] = msgspec.json.decode,
) -> T | None:
    """Return the value that a file holds; None where there is no file.

    `fault`: the words of an InputError for a file that cannot be read; without them it gives None, too.
    """
    try:
        return decode(path.read_bytes(), type=kind)
    except (ValueError, OSError) as error:  # of msgspec, and where it is no UTF-8
        if isinstance(error, FileNotFoundError) or not fault:
            return None
        raise InputError(f"{fault}: {error}", where=str(path), remedy=remedy) from error


def draft_of(path: Path) -> Path:
    """Return where this process writes a file or a folder until it is whole."""
    return path.with_name(f".{path.name}.{_HERE}{os.getpid()}.tmp")


def sweep_drafts(path: Path, *, idle: float = 0) -> None:
    """Remove the drafts of writers that were killed.

    `idle`: seconds after which a draft without a write is given up, if its writer may still live: on another
    machine, or under this pid here. None are for the one process that may write.
    """
    for draft in path.parent.glob(f".{path.name}.*.tmp"):
        with contextlib.suppress(FileNotFoundError):
            if not _is_orphan(draft) and time.time() - draft.stat().st_mtime < idle:
                continue
            shutil.rmtree(draft) if draft.is_dir() else draft.unlink()


def _is_orphan(draft: Path) -> bool:
    """Return True for the draft of a process of this machine that has ended."""
    _, here, pid = draft.stem.rpartition(_HERE)
    if not here or not pid.isdecimal():
        return False
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        pass  # another user's process
    return False


def lines(path: Path, start: int = 0) -> Iterator[tuple[int, bytes]]:
    """Offset and content of every whole line from `start` on. A last line without its newline is left out:
    it was not written to its end.
    """
    with contextlib.suppress(FileNotFoundError), path.open("rb") as stream:
        offset = stream.seek(start)
        for line in stream:
            if line.endswith(b"\n"):
                yield offset, line[:-1]
            offset += len(line)


def is_torn(path: Path) -> bool:
    """Return True if `lines` leaves out the last line of a file."""
    with contextlib.suppress(OSError), path.open("rb") as stream:  # there is none, or it is empty
        stream.seek(-1, os.SEEK_END)
        return stream.read(1) != b"\n"
    return False


def cut_torn_line(path: Path) -> None:
    """Takes away what a writer that was killed left behind the last newline."""
    size = whole = path.stat().st_size if path.exists() else 0
    with contextlib.suppress(FileNotFoundError), path.open("rb") as stream:
        while whole > 0:
            start = max(0, whole - (1 << 16))
            stream.seek(start)
            if (found := stream.read(whole - start).rfind(b"\n")) >= 0:
                whole = start + found + 1
                break
            whole = start
    if whole < size:
        os.truncate(path, whole)


class Lines:
    """A file that grows by whole lines and gives back any of them by its offset."""

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            self._descriptor = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o666)
        except OSError as error:
            raise refused(path, error) from error
        self._end = os.fstat(self._descriptor).st_size

    def append(self, line: bytes) -> int:
        """Append a line in one write; return where it starts. On a full disk the file stays as it was."""
        start, data = self._end, line + b"\n"
        try:
            if os.write(self._descriptor, data) != len(data):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        except OSError as error:
            os.ftruncate(self._descriptor, start)
            raise InputError(
                f"cannot be written: {error.strerror}",
                where=str(self._path),
                remedy="Make room and run again: it goes on where it stopped",
            ) from error
        self._end += len(data)
        return start

    def at(self, offset: int) -> bytes:
        with open(os.dup(self._descriptor), "rb") as stream:  # noqa: PTH123 - a descriptor, not a path
            stream.seek(offset)
            return stream.readline()

    def close(self) -> None:
        if self._descriptor >= 0:
            os.fsync(self._descriptor)
            os.close(self._descriptor)
            self._descriptor = -1


def is_locked(path: Path) -> bool:
    """Return True if a process holds the lock of that file."""
    try:
        with path.open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError as error:
        return error.errno == errno.EWOULDBLOCK
    return False


class Lock:
    """At most one process writes a folder. The kernel gives the lock back however the process ends."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._descriptor = -1

    def __enter__(self) -> Self:
        while self._descriptor < 0:
            self._descriptor = self._take()
        try:
            os.ftruncate(self._descriptor, 0)
            os.write(self._descriptor, f"{os.getpid()}\n".encode())
        except OSError as error:  # no room for as much as that
            self.remove()
            self.__exit__()
            raise refused(self._path.parent, error) from error
        return self

    def _take(self) -> int:
        """The locked descriptor, or -1 where the holder before us removed the file in the meantime."""
        try:
            descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        except OSError as error:
            raise refused(self._path.parent, error) from error
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if self._path.exists() and os.path.samestat(os.fstat(descriptor), self._path.stat()):
                return descriptor
        except OSError as error:
            os.close(descriptor)
            raise self._refusal(error) from error
        os.close(descriptor)
        return -1

    def _refusal(self, error: OSError) -> InputError:
        where = str(self._path.parent)
        if error.errno not in (errno.EWOULDBLOCK, errno.EACCES):
            return InputError(
                f"its file system cannot lock files: {error.strerror}",
                where=where,
                remedy="Choose an out=FOLDER on a local disk",
            )
        holder = self._path.read_text(errors="replace").strip() if self._path.exists() else ""
        by = f"another process (pid {holder})" if holder.isdigit() else "another process"
        return InputError(
            f"{by} is writing this run",
            where=where,
            remedy="Wait for it to end, or choose another out=FOLDER",
        )

    def remove(self) -> None:
        """Takes the file away too; only for a folder in which nothing was written."""
        self._path.unlink(missing_ok=True)

    def __exit__(self, *raised: object) -> None:
        os.close(self._descriptor)
        self._descriptor = -1
