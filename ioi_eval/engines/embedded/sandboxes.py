"""The folder of an engine's boxes, its removal, and their uids; no crash keeps either taken.

The engine holds a lock on the file `owner` in its folder for as long as it lives. A folder whose lock is free
belongs to an engine that was killed: the next engine that starts removes it. The file says how many bytes of
the disk the engine may fill. Other engines leave these out, in whatever process they are.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import resource
import secrets
import stat
import tempfile
import time
from collections.abc import Iterator
from itertools import count, islice
from pathlib import Path
from typing import NamedTuple

import msgspec

from ioi_eval.engines.embedded.sandbox import BY_PATH, LinkedFiles, is_noexec, make_folder
from ioi_eval.engines.embedded.toolchains import IN_MEMORY, everybody_may_enter
from ioi_eval.model.errors import EngineError, EngineUnavailable
from ioi_eval.model.retry import DISK_SHARE, LEFT_FOLDER
from ioi_eval.store import private_folder

ROOM_NEEDED = 256 << 20  # bytes for each slot; containers often have a shared memory of 64 MB
NOEXEC_REMEDY = f"Name a folder in TMPDIR where programs may start, or give {IN_MEMORY} room without noexec"
_OWNER = "owner"
_DIGITS = 20  # of a number of bytes
_ENTER_ONLY = 0o711  # a box that runs under another uid gets through, and sees no names


def choose_base(slots: int) -> Path:
    """Memory, unless what lies there cannot be started or is too little for the slots."""
    return IN_MEMORY if why_not_in_memory(slots) is None else Path(tempfile.gettempdir())


def why_not_in_memory(slots: int, folder: Path = IN_MEMORY) -> str | None:
    """Return why boxes of so many slots cannot lie in that folder; None where they can."""
    if not os.access(folder, os.W_OK | os.X_OK):
        return f"{folder} is not there or cannot be written"
    if is_noexec(folder):
        return f"{folder} is mounted noexec"
    disk = Disk.look(folder)
    if disk.slots(slots) == slots:
        return None
    return f"{folder} has only {disk.words}, and each slot takes {ROOM_NEEDED >> 20} MB"


class Shares(msgspec.Struct, frozen=True):
    """An engine's part of a disk: its slots, and the bytes that each may fill."""

    slots: int
    each: int

    @property
    def whole(self) -> int:
        return self.slots * self.each


class Disk(msgspec.Struct, frozen=True):
    """The room on a disk, in bytes: what is free, and what engines that run may still fill."""

    free: int
    held: int = 0

    @classmethod
    def look(cls, folder: Path) -> Disk:
        facts = os.statvfs(folder)
        return cls(facts.f_bavail * facts.f_frsize, sum(_held_beside(folder)))

    @property
    def left(self) -> int:
        return max(0, self.free - self.held)

    @property
    def words(self) -> str:
        others = f": {self.free >> 20} MB are free, and other engines hold {self.held >> 20} MB"
        return f"{self.left >> 20} MB left{others if self.held else ''}"

    def slots(self, wanted: int) -> int:
        """Return for how many slots there is room that no two of them share.

        Where nobody else is, one slot has what there is, however little.
        """
        return min(wanted, max(self.left // ROOM_NEEDED, 0 if self.held else 1))

    def shares(self, wanted: int, *, most: int) -> Shares:
        """Return shares that leave room for other engines, if there is more than the slots need."""
        slots = self.slots(wanted)
        count = max(1, slots)
        each = max(ROOM_NEEDED, self.left // 4 // count)
        if self.left - count * each < ROOM_NEEDED:  # the rest is no slot for anybody else
            each = self.left // count
        return Shares(slots, min(most, each))


def _held_beside(folder: Path) -> Iterator[int]:
    """Yield what each engine holds that runs on the disk of this folder.

    They are looked for there and where boxes lie by default. Another user's entry counts as well: whoever can
    make one could fill the disk instead.
    """
    disk = folder.stat().st_dev
    for base in {folder.resolve(), IN_MEMORY, Path(tempfile.gettempdir()).resolve()}:
        for owner in base.glob(f"ioi-eval-*/{_OWNER}"):
            with contextlib.suppress(OSError, ValueError):  # it ends at this moment, or is none of ours
                handle = os.open(owner, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
                try:
                    if os.fstat(handle).st_dev == disk and not _has_locked(handle, fcntl.LOCK_SH):
                        yield max(0, int(os.pread(handle, _DIGITS, 0) or b"0"))
                finally:
                    os.close(handle)


def _has_locked(handle: int, kind: int = fcntl.LOCK_EX) -> bool:
    try:
        fcntl.flock(handle, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def is_in_memory(folder: Path) -> bool:
    """Return True if a folder lies in a file system of memory, wherever that is mounted."""
    try:
        mounts = Path("/proc/self/mounts").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:  # without /proc nobody knows
        return False
    kinds = {Path(words[1]): words[2] for words in map(str.split, mounts)}
    place = folder.resolve()
    return next(
        (kinds[each] in ("tmpfs", "ramfs") for each in (place, *place.parents) if each in kinds), False
    )


class Sandboxes:
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
            for lack in lacks() if self._entered else ():
                raise EngineUnavailable(f"{lack.name}: {lack.detail}. {lack.remedy}")
            if os.geteuid() == 0 and self._entered and not everybody_may_enter(base):
                raise EngineUnavailable(
                    f"{base} cannot hold boxes: started as root, they run under other uids, which may not"
                    " pass through it. Give another folder or add the right with chmod o+x"
                )
            if self._entered and is_noexec(base):
                raise EngineUnavailable(f"{base} cannot hold boxes: it is mounted noexec. {NOEXEC_REMEDY}")
            sweep(base)
            while not self._take(base):
                pass  # a sweeper was faster than our lock
            for name in ("kept", "links"):
                make_folder(self.folder / name, 0o700)
        except OSError as error:
            raise EngineUnavailable(f"no folder for boxes can be made in {base}: {error}") from error

    def _take(self, base: Path) -> bool:
        folder = Path(tempfile.mkdtemp(prefix=f"{_prefix()}{os.getpid()}-", dir=base))
        try:
            folder.chmod(_ENTER_ONLY)
            lock = _locked(folder / _OWNER, os.O_CREAT, 0o644)  # others read what it holds
        except FileNotFoundError:
            return False
        if lock is None:
            return False
        self._folder, self._lock = folder, lock
        return True

    def share(self, wanted: int, *, most: int) -> Shares:
        """Hold room for slots until this is closed. Raises EngineUnavailable where other engines have it."""
        with _alone_in(self.folder.parent):
            disk = Disk.look(self.folder.parent)
            shares = disk.shares(wanted, most=most)
            if not shares.slots:
                raise EngineUnavailable(
                    f"{self.folder.parent} has no room for a slot: {disk.words}, and a slot takes"
                    f" {ROOM_NEEDED >> 20} MB. Wait until they end, or give boxes another disk"
                )
            self.hold(shares.whole)
        return shares

    def hold(self, size: int) -> None:
        """Say to other engines how many bytes of the disk this one may fill."""
        os.pwrite(self._lock, str(size).encode(), 0)

    def make(self, uid: int | None) -> Path:
        """A new, empty box that only `uid` (None: we) may enter."""
        box = self.folder / f"box-{secrets.token_hex(8)}"
        make_folder(box, 0o700)
        if uid is not None:
            os.chown(box, uid, uid)
        return box

    def place_to_keep(self) -> Path:
        """A path with nothing at it, for a file that outlives its box."""
        return self.folder / "kept" / secrets.token_hex(8)

    def links(self) -> LinkedFiles:
        """Return the links to large files. Copies take what no engine holds of the disk."""
        folder = self.folder
        return LinkedFiles(folder / "links", lambda: Disk.look(folder.parent).left)

    def close(self) -> None:
        """Removes all of it. May be called again, and before `open`."""
        folder, self._folder = self._folder, None
        lock, self._lock = self._lock, -1
        try:
            if folder is not None:
                remove_tree(folder, last=_OWNER)
        except OSError as error:
            used_up = LEFT_FOLDER.used_up(LEFT_FOLDER.max_attempts)
            raise EngineError(f"{folder} could not be removed {used_up}: {error}") from error
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


@contextlib.contextmanager
def _alone_in(base: Path) -> Iterator[None]:
    """Let one engine in after the other. Anybody may hold this lock, so nobody waits long for it."""
    with contextlib.ExitStack() as held:
        with contextlib.suppress(PermissionError):  # who may not look into it sees no engines either
            handle = os.open(base, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            held.callback(os.close, handle)
            end = time.monotonic() + DISK_SHARE.max_seconds
            while not _has_locked(handle) and time.monotonic() < end:
                time.sleep(DISK_SHARE.longest_wait)
        yield


def _locked(path: Path, flags: int = 0, mode: int = 0o600) -> int | None:
    """A descriptor with the lock on the file; None: another has it. Raises FileNotFoundError."""
    lock = os.open(path, os.O_RDWR | flags | os.O_NOFOLLOW | os.O_CLOEXEC, mode)
    with contextlib.suppress(OSError):
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if path.stat().st_ino == os.fstat(lock).st_ino:  # not one that was removed before we had it
            return lock
    os.close(lock)
    return None


def _prefix() -> str:
    return f"ioi-eval-{os.geteuid()}-"


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
    handle = os.open(name, BY_PATH, dir_fd=parent)
    try:
        mine = f"/proc/self/fd/{handle}"
        mode = stat.S_IMODE(os.fstat(handle).st_mode)
        if mode & _ALL_OF_THE_OWNER != _ALL_OF_THE_OWNER:
            Path(mine).chmod(mode | _ALL_OF_THE_OWNER)
        return os.open(mine, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    finally:
        os.close(handle)


# --- uids --------------------------------------------------------------------------------------------
# Started as root, every slot runs its boxes under a uid that no other slot or engine uses at the time.
# What reserves a uid is a lock on a file that only root can open, in a folder where only root can make one.
# By whatever others may name or lock as well, a socket or a file below /tmp, any user could stop root's
# judge.


# A range that distributions leave free: below it are home folders, above it services with passing users.
_FIRST, _LAST = 60578, 61183
_PLACES = (Path("/run"), Path("/var/lib"))  # root's alone; the first that can be written
_LOCKS = "ioi-eval-uids"
_NO_PLACE = f"root can write none of {', '.join(map(str, _PLACES))}, where uids are reserved"
_PLACE_REMEDY = "Make one writable (in a container: a tmpfs at /run), or start the judge as an ordinary user"


class Uids:
    """Reserved uids. The kernel gives their locks back when the process ends, however it ends."""

    def __init__(self) -> None:
        self._held = contextlib.ExitStack()

    def reserve(self, number: int) -> tuple[int | None, ...]:
        """A uid per slot; None for each where the boxes stay what we are."""
        if not _gives_uids():
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
            folder = private_folder(place, _LOCKS)
            if os.access(folder, os.W_OK):  # it may be older than a mount that only reads
                return folder
    raise EngineUnavailable(f"{_NO_PLACE}. {_PLACE_REMEDY}")


# What root needs for that, and to clear up behind others: the bits of CapEff.
_RIGHTS = {"CHOWN": 0, "DAC_OVERRIDE": 1, "FOWNER": 3, "KILL": 5, "SETGID": 6, "SETUID": 7}


def lacking_rights(status: Path) -> tuple[str, ...]:
    """Return what we lack as a root that is to run programs as other users."""
    if not _gives_uids():
        return ()
    held = re.search(r"^CapEff:\s*(\w+)$", status.read_text(), re.MULTILINE)
    return tuple(name for name, bit in _RIGHTS.items() if held and not int(held[1], 16) >> bit & 1)


def _gives_uids() -> bool:
    """Return True if boxes run as other users: we are root, and of no user namespace without other uids."""
    return os.geteuid() == 0 and all(_covers(Path("/proc/self", name)) for name in ("uid_map", "gid_map"))


def _covers(path: Path) -> bool:
    try:
        lines = path.read_text().splitlines()
    except OSError:
        return True  # a kernel without user namespaces
    ranges = (tuple(map(int, line.split())) for line in lines)
    return any(first <= _FIRST and first + number > _LAST for first, _outside, number in ranges)


# --- what no box can be made without -----------------------------------------------------------------


_SELF = Path("/proc/self")
_FEWEST_FILES = 96  # open ones: the numbers of those that a box holds begin at 64


class Unfit(NamedTuple):
    """Something that this process lacks to make boxes in any folder, and the remedy."""

    name: str
    detail: str
    remedy: str


def lacks() -> Iterator[Unfit]:
    if not (_SELF / "fd").is_dir():
        detail = "it is not mounted, and boxes are made and watched by it"
        yield Unfit("/proc", detail, "Mount it: mount -t proc proc /proc")
    elif lacking := lacking_rights(_SELF / "status"):
        detail = "started as root, programs run as other users, and this root lacks capabilities for that"
        remedy = "Give it these (in a container: cap_add), or start the judge as an ordinary user"
        yield Unfit("capabilities", f"{detail}: {', '.join(lacking)}", remedy)
    elif _gives_uids():
        try:
            _folder()
        except EngineUnavailable:
            yield Unfit("uids", _NO_PLACE, _PLACE_REMEDY)
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    if 0 <= most < _FEWEST_FILES:  # -1: without a limit
        detail = f"this shell allows {most} at a time, and a box takes {_FEWEST_FILES}"
        yield Unfit("open files", detail, "Start from a shell with a larger ulimit -Hn")
