"""Finds processes, mounts, files and ports that a test did not remove.

It counts only resources of this test process, because other programs use the machine too.
"""

from __future__ import annotations

import ctypes
import os
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

_PR_SET_CHILD_SUBREAPER = 36
_PATIENCE = 10.0  # seconds to wait for processes that are exiting
_LISTENING = "0A"
_BOX_UIDS = range(60578, 61184)  # of engines and of tests that root has started


def adopt_orphans() -> None:
    """Adopt orphans of child processes, so that they are counted as descendants."""
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def all_of_it() -> set[str]:
    return {*processes(), *folders(), *mounts(), *shared_memory(), *ports()}


def new_since(before: set[str]) -> set[str]:
    """Return new resources: they exist now, did not exist before, and do not disappear."""
    deadline = time.monotonic() + _PATIENCE
    while (remaining := all_of_it() - before) and time.monotonic() < deadline:
        time.sleep(0.1)
    return remaining


def command_lines() -> Iterator[str]:
    """Yield the command lines of this process's descendants, as a list of processes shows them."""
    for pid in descendants():
        try:
            yield Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue  # the process has just exited


def named(mark: str) -> list[Path]:
    """Return the folders in /proc of processes that have set this name."""
    proc_folders = []
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if (folder / "comm").read_text().strip() == mark:
                proc_folders.append(folder)
    return proc_folders


def descendants() -> Iterator[int]:
    todo = [os.getpid()]
    while todo:
        child_pids = list(children(todo.pop()))
        todo += child_pids
        yield from child_pids


def processes() -> Iterator[str]:
    """Yield this process's descendants, except zombies, which only this process could reap."""
    for child in descendants():
        name, state = _name_and_state(child)
        if state not in ("Z", "X", "") and not _is_pythons_own(child):
            yield f"process {child} {name}"


def _is_pythons_own(pid: int) -> bool:
    """Return True for the helper process of multiprocessing, which exits with this process."""
    try:
        return b"multiprocessing.resource_tracker" in Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False


def folders() -> Iterator[str]:
    """Yield the folders of engines of this process."""
    for base in (Path("/dev/shm"), Path(os.environ.get("TMPDIR", "/tmp"))):
        for path in base.glob(f"ioi-eval-{os.geteuid()}-{os.getpid()}-*"):
            yield f"folder {path}"


def mounts() -> Iterator[str]:
    for line in Path("/proc/self/mountinfo").read_text().splitlines():
        yield f"mount {line.split()[4]}"


def shared_memory() -> Iterator[str]:
    """If we are root, yield shared memory of uids that only sandboxes have."""
    whose = _boxes_only()
    for path in (*Path("/dev/shm").iterdir(), *_entries(Path("/dev/mqueue"))):
        try:
            status = path.lstat()
        except FileNotFoundError:  # removed by another user
            continue
        if (
            whose(status.st_uid)
            and stat.S_ISREG(status.st_mode)
            and not _is_anothers_lock(path, status.st_ino)
        ):
            yield f"shared memory {path}"
    for kind in ("shm", "msg", "sem"):
        yield from _system_v(kind, whose)


def _is_anothers_lock(path: Path, inode: int) -> bool:
    """Return whether a lock of multiprocessing is in use, such as by tests in a parallel process.

    The C library maps it under another name, so that only its inode identifies it.
    """
    if not path.name.startswith("sem.mp-"):
        return False
    for maps in Path("/proc").glob("[0-9]*/maps"):
        try:
            lines = [line.split() for line in maps.read_text(errors="replace").splitlines()]
        except OSError:  # exited, or not readable for this user
            continue
        if any(fields[4] == str(inode) and fields[-1] != fields[4] for fields in lines):
            return True
    return False


def ports() -> Iterator[str]:
    """Yield the ports on which this process listens."""
    inodes = set()
    for link in Path("/proc/self/fd").iterdir():
        try:
            inodes.add(str(link.readlink()))
        except FileNotFoundError:  # the descriptor of the listing itself
            continue
    for name in ("tcp", "tcp6"):
        for line in _lines(Path("/proc/net") / name):
            fields = line.split()
            if fields[3] == _LISTENING and f"socket:[{fields[9]}]" in inodes:
                yield f"port {int(fields[1].rpartition(':')[2], 16)}"


def children(pid: int) -> Iterator[int]:
    """Yield the processes that any thread of a process has started. Threads may exit during the search."""
    for task in _entries(Path(f"/proc/{pid}/task")):
        try:
            yield from map(int, (task / "children").read_text().split())
        except OSError:
            continue  # the thread has just exited


def _name_and_state(pid: int) -> tuple[str, str]:
    try:
        name, _, fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")
    except OSError:
        return "", ""
    return name.partition("(")[2], fields.split()[0]


def _boxes_only() -> Callable[[int], bool]:
    return (lambda uid: uid in _BOX_UIDS) if os.geteuid() == 0 else (lambda uid: uid == os.geteuid())


def _system_v(kind: str, whose: Callable[[int], bool]) -> Iterator[str]:
    lines = _lines(Path("/proc/sysvipc") / kind, titles=True)
    titles = next(lines, "").split()
    for line in lines:
        fields = dict(zip(titles, line.split(), strict=False))
        if whose(int(fields["uid"])):
            yield f"System V {kind} {fields[f'{kind}id']}"


def _lines(path: Path, *, titles: bool = False) -> Iterator[str]:
    try:
        lines = path.read_text().splitlines()
    except OSError:  # a kernel without this file
        return
    yield from lines if titles else lines[1:]


def _entries(folder: Path) -> list[Path]:
    try:
        return list(folder.iterdir())
    except OSError:
        return []
