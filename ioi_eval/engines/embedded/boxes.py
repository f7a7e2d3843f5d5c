"""The folder of an engine's boxes, and their uids; no crash keeps either taken.

The engine holds a lock on the file `owner` in its folder for as long as it lives. A folder whose lock is free
belongs to an engine that was killed: the next engine that starts removes it.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import secrets
import stat
import tempfile
from itertools import islice
from pathlib import Path

from ioi_eval.engines.embedded.commands import everybody_may_enter
from ioi_eval.engines.embedded.placing import remove_tree
from ioi_eval.model.errors import EngineError, EngineUnavailable
from ioi_eval.store import private_folder

IN_MEMORY = Path("/dev/shm")
ROOM_NEEDED = 256 << 20  # bytes for each slot; containers often have a shared memory of 64 MB
_OWNER = "owner"
_ENTER_ONLY = 0o711  # a box that runs under another uid gets through, and sees no names


def choose_base(slots: int) -> Path:
    """Memory, unless what lies there cannot be started or is too little for the slots."""
    return IN_MEMORY if why_not_in_memory(slots) is None else Path(tempfile.gettempdir())


def why_not_in_memory(slots: int, folder: Path = IN_MEMORY) -> str | None:
    """None when boxes of so many slots can lie in that folder, otherwise the reason."""
    if not os.access(folder, os.W_OK | os.X_OK):
        return f"{folder} is not there or cannot be written"
    if os.statvfs(folder).f_flag & os.ST_NOEXEC:
        return f"{folder} is mounted noexec"
    if slots_with_room(folder, slots) == slots:
        return None
    return f"{folder} has only {room_in(folder) >> 20} MB left, and each slot takes {ROOM_NEEDED >> 20} MB"


def room_in(folder: Path) -> int:
    """Return how many bytes are left."""
    facts = os.statvfs(folder)
    return facts.f_bavail * facts.f_frsize


def slots_with_room(folder: Path, slots: int) -> int:
    """Return for how many slots there is room that no two of them share; one slot has what there is."""
    return max(1, min(slots, room_in(folder) // ROOM_NEEDED))


def is_in_memory(folder: Path) -> bool:
    """Return True if a folder lies in a file system of memory, wherever that is mounted."""
    mounts = Path("/proc/self/mounts").read_text(encoding="utf-8", errors="replace").splitlines()
    kinds = {Path(words[1]): words[2] for words in map(str.split, mounts)}
    place = folder.resolve()
    return next(
        (kinds[each] in ("tmpfs", "ramfs") for each in (place, *place.parents) if each in kinds), False
    )


class Boxes:
    """The folder of one engine. `open` and `close` do the work; between them boxes come and go."""

    def __init__(self, base: Path | None = None, *, slots: int = 1, entered: bool = True) -> None:
        """`entered`: by programs; False where only we put something there."""
        self._base, self._slots, self._entered = base, slots, entered
        self._folder: Path | None = None
        self._lock = -1

    @property
    def folder(self) -> Path:
        assert self._folder is not None, "boxes are open"
        return self._folder

    def open(self) -> None:
        base = self._base or choose_base(self._slots)
        try:
            if os.geteuid() == 0 and self._entered and not everybody_may_enter(base):
                raise EngineUnavailable(
                    f"{base} cannot hold boxes: started as root, they run under other uids, which may not"
                    " pass through it. Give another folder or add the right with chmod o+x"
                )
            sweep(base)
            while not self._take(base):
                pass  # a sweeper was faster than our lock
            (self.folder / "kept").mkdir(mode=0o700)
        except OSError as error:
            raise EngineUnavailable(f"no folder for boxes can be made in {base}: {error}") from error

    def _take(self, base: Path) -> bool:
        folder = Path(tempfile.mkdtemp(prefix=f"{_prefix()}{os.getpid()}-", dir=base))
        folder.chmod(_ENTER_ONLY)
        try:
            lock = _locked(folder / _OWNER, os.O_CREAT)
        except FileNotFoundError:
            return False
        if lock is None:
            return False
        self._folder, self._lock = folder, lock
        return True

    def make(self, uid: int | None) -> Path:
        """A new, empty box that only `uid` (None: we) may enter."""
        box = self.folder / f"box-{secrets.token_hex(8)}"
        box.mkdir(mode=0o700)
        if uid is not None:
            os.chown(box, uid, uid)
        return box

    def place_to_keep(self) -> Path:
        """A path with nothing at it, for a file that outlives its box."""
        return self.folder / "kept" / secrets.token_hex(8)

    def close(self) -> None:
        """Removes all of it. May be called again, and before `open`."""
        folder, self._folder = self._folder, None
        lock, self._lock = self._lock, -1
        try:
            if folder is not None:
                remove_tree(folder, last=_OWNER)
        except OSError as error:
            raise EngineError(f"{folder} could not be removed: {error}") from error
        finally:
            if lock >= 0:
                os.close(lock)


def sweep(base: Path) -> None:
    """Removes this user's folders whose engine is dead."""
    for folder in base.glob(f"{_prefix()}*"):
        # Somebody else's under our name, or one that vanishes meanwhile: not ours to worry about.
        with contextlib.suppress(OSError):
            facts = folder.lstat()
            if facts.st_uid == os.geteuid() and stat.S_ISDIR(facts.st_mode):
                _sweep_one(folder)


def _sweep_one(folder: Path) -> None:
    try:
        lock = _locked(folder / _OWNER)
    except FileNotFoundError:
        folder.rmdir()  # nothing was begun in it; or nothing is left, and its engine does the same
        return
    if lock is None:
        return
    try:
        remove_tree(folder, last=_OWNER)
    finally:
        os.close(lock)


def _locked(path: Path, flags: int = 0) -> int | None:
    """A descriptor with the lock on the file; None: another has it. Raises FileNotFoundError."""
    lock = os.open(path, os.O_RDWR | flags | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    with contextlib.suppress(OSError):
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if path.stat().st_ino == os.fstat(lock).st_ino:  # not one that was removed before we had it
            return lock
    os.close(lock)
    return None


def _prefix() -> str:
    return f"ioi-eval-{os.geteuid()}-"


# --- uids --------------------------------------------------------------------------------------------
# Started as root, every slot runs its boxes under a uid that no other slot or engine uses at the time.
# What reserves a uid is a lock on a file that only root can open, in a folder where only root can make one.
# By whatever others may name or lock as well, a socket or a file below /tmp, any user could stop root's
# judge.


# A range that distributions leave free: below it are home folders, above it services with passing users.
_FIRST, _LAST = 60578, 61183
_PLACES = (Path("/run"), Path("/var/lib"))  # root's alone; the first that can be written
_LOCKS = "ioi-eval-uids"


class Uids:
    """Reserved uids. The kernel gives their locks back when the process ends, however it ends."""

    def __init__(self) -> None:
        self._held = contextlib.ExitStack()

    def reserve(self, number: int) -> tuple[int | None, ...]:
        """A uid per slot; None for each where the boxes stay what we are."""
        # Root of a user namespace may not have other uids to give.
        if os.geteuid() != 0 or not all(_covers(Path("/proc/self", name)) for name in ("uid_map", "gid_map")):
            return (None,) * number
        folder = _folder()
        free = (uid for uid in range(_FIRST, _LAST + 1) if self._holds(folder / str(uid)))
        uids = tuple(islice(free, number))
        if len(uids) < number:
            raise EngineUnavailable(f"only {len(uids)} of {number} uids for slots are free")
        return uids

    def _holds(self, path: Path) -> bool:
        lock = _locked(path, os.O_CREAT)
        if lock is not None:
            self._held.callback(os.close, lock)
        return lock is not None

    def release(self) -> None:
        self._held.close()


def _folder() -> Path:
    for place in _PLACES:
        with contextlib.suppress(OSError):
            return private_folder(place, _LOCKS)
    raise EngineUnavailable(f"root can write none of {', '.join(map(str, _PLACES))}, where uids are reserved")


def _covers(path: Path) -> bool:
    try:
        lines = path.read_text().splitlines()
    except OSError:
        return True  # a kernel without user namespaces
    ranges = (tuple(map(int, line.split())) for line in lines)
    return any(first <= _FIRST and first + number > _LAST for first, _outside, number in ranges)
