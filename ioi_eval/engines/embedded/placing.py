"""Files into a box before anything runs in it, and out of it when all in it is dead; removing a box."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import stat
from collections.abc import Callable, Iterable, Iterator
from itertools import count
from pathlib import Path, PurePosixPath
from threading import Lock

from ioi_eval.engines.embedded.box import BoxFile
from ioi_eval.model.errors import EngineOverloaded, JobRejected
from ioi_eval.model.job import JobFile

_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EMFILE, errno.ENFILE, errno.ENOMEM}
_LARGE = 16 << 20  # bytes; a precompiled header has 120 MB
# Such a descriptor only names the folder, which closed modes cannot refuse us.
_BY_PATH = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def fill(box: Path, files: Iterable[JobFile], uid: int | None, starting: Lock) -> tuple[BoxFile, ...]:
    """Writes what the job holds and gives what the box shall open by itself.

    A process that another thread starts has our descriptors until it has become its program. One of a file
    that we are writing would make that file busy, and a busy file cannot be run: no program is written then.
    """
    placed = []
    for file in files:
        with starting if file.executable else contextlib.nullcontext():
            placed.append(_place(box, file, uid))
    return tuple(file for file in placed if file is not None)


def _place(box: Path, file: JobFile, uid: int | None) -> BoxFile | None:
    target = box / file.name
    for place in reversed(PurePosixPath(file.name).parents[:-1]):
        folder = box / place
        if not folder.is_dir():
            folder.mkdir(mode=0o755)
            if uid is not None:
                os.chown(folder, uid, uid)
    source = file.content.path
    if source is not None and file.content.data is None:
        # Whether a descriptor of the file serves inside: it keeps the file's own mode.
        try:
            mode = Path(source).stat().st_mode
        except OSError as error:
            raise JobRejected(f"{source} cannot be read: {error.strerror}") from error
        if not stat.S_ISREG(mode):
            raise JobRejected(f"{source} is not a regular file")
        needed = 0o5 if file.executable else 0o4
        # What is too large to be copied for each job is shown to users who may not change it.
        shown = not file.copied or (uid is not None and file.content.size >= _LARGE)
        if shown and (mode & needed == needed or (uid is None and not file.executable)):
            return BoxFile(name=file.name, path=source)
        shutil.copyfile(source, target)
    else:
        with target.open("xb") as stream:
            stream.write(file.content.data or b"")
    target.chmod(0o755 if file.executable else 0o644)
    if uid is not None:
        os.chown(target, uid, uid)
    return None


@contextlib.contextmanager
def room_for_files(box: Path | None = None) -> Iterator[None]:
    """Tells apart whose fault it is that files cannot be made: names that clash are the job's."""
    try:
        yield
    except (FileExistsError, NotADirectoryError, IsADirectoryError) as error:
        name = os.path.relpath(error.filename, box)  # where boxes lie is nothing that a job's sender is told
        raise JobRejected(f"{name!r} is a file and a folder at once") from error
    except OSError as error:
        if error.errno in _FULL:
            raise EngineOverloaded(f"no room for the job's files: {error.strerror}") from error
        raise


def unlink(box: Path, files: Iterable[BoxFile]) -> tuple[BoxFile, ...]:
    """Removes the links of a stage, for the next to have its own; leaves out what the programs replaced."""
    return tuple(file for file in files if _removed(box, file.name))


def _removed(box: Path, name: str) -> bool:
    with _found(box, name, stat.S_ISLNK) as (place, last):
        if place is not None:
            os.unlink(last, dir_fd=place)
        return place is not None


def take_out(box: Path, name: str, target: Path) -> bool:
    """Moves a regular file out of the box and makes it ours; False when there is none under that name."""
    with _found(box, name, stat.S_ISREG) as (place, last):
        if place is None:
            return False
        os.rename(last, target, src_dir_fd=place)
    # Only we can reach it now. It has the owner and the mode that it was left with.
    handle = os.open(target, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        mode, itself = os.fstat(handle).st_mode, f"/proc/self/fd/{handle}"
        if not stat.S_ISREG(mode):
            target.unlink()
            return False
        os.chown(itself, os.geteuid(), os.getegid())
        Path(itself).chmod(0o755 if mode & stat.S_IXUSR else 0o644)
        return True
    finally:
        os.close(handle)


@contextlib.contextmanager
def _found(box: Path, name: str, kind: Callable[[int], bool]) -> Iterator[tuple[int | None, str]]:
    """The folder that a file of the box is in, and the last part of its name; None where there is none.

    The programs are dead, but what they left is not to be trusted: no link is followed on the way.
    """
    *folders, last = name.split("/")
    with contextlib.ExitStack() as opened:
        place: int | None = None
        with contextlib.suppress(FileNotFoundError, NotADirectoryError, PermissionError):
            handle = os.open(box, _BY_PATH)
            opened.callback(os.close, handle)
            for folder in folders:
                handle = os.open(folder, _BY_PATH, dir_fd=handle)
                opened.callback(os.close, handle)
            if kind(os.stat(last, dir_fd=handle, follow_symlinks=False).st_mode):
                place = handle
        yield place, last


# --- removing folders in which hostile programs did what they liked ----------------------------------


_ALL_OF_THE_OWNER = 0o700


def remove_tree(path: Path, *, last: str = "") -> None:
    """Removes a folder and all in it; a folder that is gone is fine. Raises OSError when something stays.

    The file named `last` stays until nothing else is there. Every folder below is emptied of its files, its
    own folders are moved up beside it, and then it is removed. So nothing recurses, no path grows, and three
    descriptors do for any depth.
    """
    try:
        top = _open_folder(path)
    except FileNotFoundError:
        return
    try:
        names = (f".rm-{number}" for number in count())
        while folders := _remove_files(top, but=last):
            for folder in folders:
                _raise_children(top, folder, names)
        _remove_files(top)
    finally:
        os.close(top)
    with contextlib.suppress(FileNotFoundError):
        path.rmdir()


def _raise_children(top: int, folder: str, names: Iterator[str]) -> None:
    """Moves the folder's folders up to the top and removes it."""
    inside = _open_folder(folder, top)
    try:
        for child in _remove_files(inside):
            os.close(_open_folder(child, inside))  # moving a folder needs the right to write in it
            os.rename(child, _free(names, top), src_dir_fd=inside, dst_dir_fd=top)
    finally:
        os.close(inside)
    os.rmdir(folder, dir_fd=top)


def _free(names: Iterator[str], top: int) -> str:
    """A name that nothing has: the program may have guessed ours."""
    for name in names:
        try:
            os.lstat(name, dir_fd=top)
        except FileNotFoundError:
            return name
    raise AssertionError("the names do not end")


def _remove_files(folder: int, *, but: str = "") -> list[str]:
    """Removes what is no folder; gives the names of the folders."""
    with os.scandir(folder) as entries:
        listed = [(entry.name, entry.is_dir(follow_symlinks=False)) for entry in entries]
    for name, is_folder in listed:
        if not is_folder and name != but:
            os.unlink(name, dir_fd=folder)
    return [name for name, is_folder in listed if is_folder]


def _open_folder(name: str | Path, parent: int | None = None) -> int:
    """A descriptor that reads a folder, whatever its mode.

    Never through a link, even one that something alive put there between two of our steps.
    """
    handle = os.open(name, _BY_PATH, dir_fd=parent)
    try:
        mine = f"/proc/self/fd/{handle}"
        mode = stat.S_IMODE(os.fstat(handle).st_mode)
        if mode & _ALL_OF_THE_OWNER != _ALL_OF_THE_OWNER:
            Path(mine).chmod(mode | _ALL_OF_THE_OWNER)
        return os.open(mine, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    finally:
        os.close(handle)
