"""The folder of an engine's sandboxes, its removal, and the uids of sandboxes.

The engine holds a lock on the file `owner` in its folder. If the lock of a folder is free, its engine was
killed, and the next engine that starts removes the folder. The file `owner` contains the number of bytes of
the disk that the engine may fill. Engines of other processes do not use these bytes.
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
from collections.abc import Collection, Iterator
from itertools import count, islice
from pathlib import Path
from typing import NamedTuple

import msgspec

from ioi_eval.engines.embedded.sandbox import BY_PATH, FileLinker, is_noexec, make_folder
from ioi_eval.engines.embedded.toolchains import IN_MEMORY, is_enterable_by_everyone
from ioi_eval.model.errors import EngineError, EngineUnavailable
from ioi_eval.model.retry import DISK_SHARE, LEFT_FOLDER
from ioi_eval.store import private_folder

# Minimum disk space for a slot, in bytes; the shared memory of a container often has 64 MB.
MIN_SLOT_BYTES = 256 << 20
NOEXEC_REMEDY = f"Set TMPDIR to a folder without noexec, or mount {IN_MEMORY} without noexec"
_OWNER = "owner"
_MAX_DIGITS = 20  # maximum digits of a number of bytes in the owner file
# Mode for folders with other uids' sandboxes: other users may enter such a folder but not list it.
_ENTER_ONLY = 0o711


def choose_sandbox_parent_folder(slot_count: int) -> Path:
    """Return the folder in which engines create their folders of sandboxes.

    It is in memory, unless programs in memory cannot be started or there is too little space.
    """
    return IN_MEMORY if explain_unusable_folder(slot_count) is None else Path(tempfile.gettempdir())


def explain_unusable_folder(slot_count: int, folder: Path = IN_MEMORY) -> str | None:
    """Return why sandboxes for a number of slots cannot be in a folder, or None if they can."""
    if not os.access(folder, os.W_OK | os.X_OK):
        return f"{folder} does not exist or cannot be written"
    if is_noexec(folder):
        return f"{folder} is mounted noexec"
    disk = Disk.measure(folder)
    if disk.count_slots(slot_count) == slot_count:
        return None
    return f"{folder} has only {disk.description}, and each slot needs {MIN_SLOT_BYTES >> 20} MB"


class DiskShares(msgspec.Struct, frozen=True):
    """An engine's part of a disk: its slots, and the bytes that each slot may fill."""

    slots: int
    each: int

    @property
    def total_bytes(self) -> int:
        return self.slots * self.each


class Disk(msgspec.Struct, frozen=True):
    """The space of a disk, in bytes: free space, and the part of it that running engines may still fill."""

    free: int
    held: int = 0

    @classmethod
    def measure(cls, folder: Path) -> Disk:
        disk_status = os.statvfs(folder)
        return cls(disk_status.f_bavail * disk_status.f_frsize, sum(_list_reserved_bytes(folder)))

    @property
    def free_bytes(self) -> int:
        return max(0, self.free - self.held)

    @property
    def description(self) -> str:
        shared_space = f": {self.free >> 20} MB are free, and other engines hold {self.held >> 20} MB"
        return f"{self.free_bytes >> 20} MB left{shared_space if self.held else ''}"

    def count_slots(self, requested_slots: int) -> int:
        """Return the number of slots for which the space is large enough.

        Without other engines, a single slot may have less space than it needs.
        """
        return min(requested_slots, max(self.free_bytes // MIN_SLOT_BYTES, 0 if self.held else 1))

    def plan_shares(self, requested_slots: int, *, max_bytes: int) -> DiskShares:
        """Return the number of slots, and the bytes that each slot may fill.

        If possible, the slots leave space for other engines.
        """
        slots = self.count_slots(requested_slots)
        slot_count = max(1, slots)
        slot_bytes = max(MIN_SLOT_BYTES, self.free_bytes // 4 // slot_count)
        # Use the whole disk if the rest would be too small for a slot of another engine.
        if self.free_bytes - slot_count * slot_bytes < MIN_SLOT_BYTES:
            slot_bytes = self.free_bytes // slot_count
        return DiskShares(slots, min(max_bytes, slot_bytes))


def _list_reserved_bytes(folder: Path) -> Iterator[int]:
    """Yield the bytes that each running engine on the disk of this folder may fill.

    Engines are detected by their folders here and in the default folders of sandboxes. Folders of other users
    count as well: a user who creates such a folder could fill the disk instead.
    """
    device = folder.stat().st_dev
    for parent_folder in {folder.resolve(), IN_MEMORY, Path(tempfile.gettempdir()).resolve()}:
        for owner_file in parent_folder.glob(f"ioi-eval-*/{_OWNER}"):
            # Ignore errors: the folder's engine may be closing, or the folder does not belong to an engine.
            with contextlib.suppress(OSError, ValueError):
                owner_fd = os.open(owner_file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
                try:
                    if os.fstat(owner_fd).st_dev == device and not _try_lock(owner_fd, fcntl.LOCK_SH):
                        yield max(0, int(os.pread(owner_fd, _MAX_DIGITS, 0) or b"0"))
                finally:
                    os.close(owner_fd)


def _try_lock(descriptor: int, lock_type: int = fcntl.LOCK_EX) -> bool:
    try:
        fcntl.flock(descriptor, lock_type | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def is_in_memory(folder: Path) -> bool:
    """Return True if a folder is in a file system in memory."""
    try:
        mounts = Path("/proc/self/mounts").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:  # without /proc the file system's type is unknown
        return False
    file_system_types = {Path(fields[1]): fields[2] for fields in map(str.split, mounts)}
    path = folder.resolve()
    return next(
        (
            file_system_types[mount] in ("tmpfs", "ramfs")
            for mount in (path, *path.parents)
            if mount in file_system_types
        ),
        False,
    )


class Sandboxes:
    """The folder of an engine's sandboxes, between `open` and `close`."""

    def __init__(
        self, parent_folder: Path | None = None, *, slots: int = 1, can_run_programs: bool = True
    ) -> None:
        """`can_run_programs` is False if the folder is only for files, and no sandbox is created in it."""
        self._parent_folder, self._slots, self._can_run_programs = parent_folder, slots, can_run_programs
        self._folder: Path | None = None
        self._lock_fd = -1

    @property
    def folder(self) -> Path:
        assert self._folder is not None, "the folder is open"
        return self._folder

    def open(self) -> None:
        parent_folder = self._parent_folder or choose_sandbox_parent_folder(self._slots)
        try:
            for requirement in find_missing_requirements() if self._can_run_programs else ():
                raise EngineUnavailable(f"{requirement.name}: {requirement.detail}. {requirement.remedy}")
            if os.geteuid() == 0 and self._can_run_programs and not is_enterable_by_everyone(parent_folder):
                raise EngineUnavailable(
                    f"{parent_folder} cannot contain sandboxes: this process is root, so sandboxes run as"
                    " other users, which may not enter the folder. Choose another folder, or add the right"
                    " with chmod o+x"
                )
            if self._can_run_programs and is_noexec(parent_folder):
                raise EngineUnavailable(
                    f"{parent_folder} cannot contain sandboxes: it is mounted noexec. {NOEXEC_REMEDY}"
                )
            remove_abandoned_folders(parent_folder)
            while not self._create_folder(parent_folder):
                pass  # another engine removed the folder before this engine locked it
            for folder_name in ("kept", "links"):
                make_folder(self.folder / folder_name, 0o700)
        except OSError as error:
            raise EngineUnavailable(
                f"cannot create a folder for sandboxes in {parent_folder}: {error}"
            ) from error

    def _create_folder(self, parent_folder: Path) -> bool:
        folder = Path(tempfile.mkdtemp(prefix=f"{_make_folder_prefix()}{os.getpid()}-", dir=parent_folder))
        try:
            folder.chmod(_ENTER_ONLY)
            # Other users may read the number of bytes in the owner file.
            owner_fd = _lock_file(folder / _OWNER, os.O_CREAT, 0o644)
        except FileNotFoundError:
            return False
        if owner_fd is None:
            return False
        self._folder, self._lock_fd = folder, owner_fd
        return True

    def reserve_space(self, requested_slots: int, *, max_bytes: int) -> DiskShares:
        """Reserve disk space for slots until `close`. Raises EngineUnavailable if other engines have it."""
        with _hold_exclusive_lock(self.folder.parent):
            disk = Disk.measure(self.folder.parent)
            shares = disk.plan_shares(requested_slots, max_bytes=max_bytes)
            if not shares.slots:
                raise EngineUnavailable(
                    f"{self.folder.parent} lacks space for a slot: {disk.description}, and a slot needs"
                    f" {MIN_SLOT_BYTES >> 20} MB. Wait until other engines stop, or use another disk"
                )
            self.publish_reservation(shares.total_bytes)
        return shares

    def publish_reservation(self, reserved_bytes: int) -> None:
        """Publish the number of bytes of the disk that this engine may fill."""
        os.pwrite(self._lock_fd, str(reserved_bytes).encode(), 0)

    def create_sandbox(self, uid: int | None) -> Path:
        """Create an empty folder that only `uid` may enter, or only this process's user if it is `None`."""
        sandbox = self.folder / f"box-{secrets.token_hex(8)}"
        make_folder(sandbox, 0o700)
        if uid is not None:
            os.chown(sandbox, uid, uid)
        return sandbox

    def make_fetched_file_path(self) -> Path:
        """Return an unused path for a file that is moved out of its sandbox for the sender of the job."""
        return self.folder / "kept" / secrets.token_hex(8)

    def make_file_linker(self) -> FileLinker:
        """Return an object that links large files into sandboxes.

        If a file must be copied first, the copy uses disk space that no engine has reserved.
        """
        folder = self.folder
        return FileLinker(folder / "links", lambda: Disk.measure(folder.parent).free_bytes)

    def close(self) -> None:
        """Remove the folder. May be called again, and before `open`."""
        folder, self._folder = self._folder, None
        lock_fd, self._lock_fd = self._lock_fd, -1
        try:
            if folder is not None:
                remove_tree(folder, last_file=_OWNER)
        except OSError as error:
            exhaustion = LEFT_FOLDER.describe_exhaustion(LEFT_FOLDER.max_attempts)
            raise EngineError(f"{folder} cannot be removed, {exhaustion}: {error}") from error
        finally:
            if lock_fd >= 0:
                os.close(lock_fd)


def remove_abandoned_folders(parent_folder: Path) -> None:
    """Remove this user's folders of engines that were killed."""
    for folder in parent_folder.glob(f"{_make_folder_prefix()}*"):
        # The folder may belong to another user, or be removed at the same time.
        with contextlib.suppress(OSError):
            folder_status = folder.lstat()
            if folder_status.st_uid == os.geteuid() and stat.S_ISDIR(folder_status.st_mode):
                _remove_if_abandoned(folder)


def _remove_if_abandoned(folder: Path) -> None:
    try:
        owner_fd = _lock_file(folder / _OWNER)
    except FileNotFoundError:
        folder.rmdir()  # the folder is empty: its engine has just created it, or removes it now
        return
    if owner_fd is None:
        return
    try:
        remove_tree(folder, last_file=_OWNER)
    finally:
        os.close(owner_fd)


@contextlib.contextmanager
def _hold_exclusive_lock(folder: Path) -> Iterator[None]:
    """Hold the exclusive lock of a folder. The wait is bounded, because any user may hold the lock."""
    with contextlib.ExitStack() as exit_stack:
        # If this folder cannot be listed, the folders of engines in it are invisible as well.
        with contextlib.suppress(PermissionError):
            folder_fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            exit_stack.callback(os.close, folder_fd)
            deadline_s = time.monotonic() + DISK_SHARE.max_total_seconds
            while not _try_lock(folder_fd) and time.monotonic() < deadline_s:
                time.sleep(DISK_SHARE.longest_wait)
        yield


def _lock_file(path: Path, flags: int = 0, mode: int = 0o600) -> int | None:
    """Return a descriptor with the lock of a file, or None if another process has it."""
    descriptor = os.open(path, os.O_RDWR | flags | os.O_NOFOLLOW | os.O_CLOEXEC, mode)
    with contextlib.suppress(OSError):
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        # The lock counts only if the file is still at its path, and was not removed before it was locked.
        if path.stat().st_ino == os.fstat(descriptor).st_ino:
            return descriptor
    os.close(descriptor)
    return None


def _make_folder_prefix() -> str:
    return f"ioi-eval-{os.geteuid()}-"


# --- removal of folders in which hostile programs wrote --------------------


_ALL_OF_THE_OWNER = 0o700


def remove_tree(path: Path, *, last_file: str = "") -> None:
    """Remove a folder and its content, if it exists. Raises OSError if something remains.

    The file `last_file` is removed last. For each folder below, its files are removed, its subfolders are
    moved up next to it, and then it is removed. So nothing recurses, no path grows, and three descriptors are
    enough for any depth.
    """
    try:
        top_fd = _open_folder(path)
    except FileNotFoundError:
        return
    try:
        unused_names = (f".rm-{number}" for number in count())
        while folders := _remove_files(top_fd, kept_file=last_file):
            for folder in folders:
                _move_subfolders_up(top_fd, folder, unused_names)
        _remove_files(top_fd)
    finally:
        os.close(top_fd)
    with contextlib.suppress(FileNotFoundError):
        path.rmdir()


def _move_subfolders_up(top_fd: int, folder: str, unused_names: Iterator[str]) -> None:
    """Move the subfolders of a folder up to the top folder, and remove the folder."""
    folder_fd = _open_folder(folder, top_fd)
    try:
        for subfolder in _remove_files(folder_fd):
            # Moving a folder needs write permission for the folder itself.
            os.close(_open_folder(subfolder, folder_fd))
            os.rename(
                subfolder, _find_unused_name(unused_names, top_fd), src_dir_fd=folder_fd, dst_dir_fd=top_fd
            )
    finally:
        os.close(folder_fd)
    os.rmdir(folder, dir_fd=top_fd)


def _find_unused_name(candidates: Iterator[str], folder_fd: int) -> str:
    """Return the first name that no file in a folder has. Programs may have created files with such names."""
    for name in candidates:
        try:
            os.lstat(name, dir_fd=folder_fd)
        except FileNotFoundError:
            return name
    raise AssertionError("the iterator of names is infinite")


def _remove_files(folder_fd: int, *, kept_file: str = "") -> list[str]:
    """Remove all files in a folder except `kept_file`, and return the names of its subfolders."""
    with os.scandir(folder_fd) as entries:
        entry_types = [(entry.name, entry.is_dir(follow_symlinks=False)) for entry in entries]
    for name, is_folder in entry_types:
        if not is_folder and name != kept_file:
            os.unlink(name, dir_fd=folder_fd)
    return [name for name, is_folder in entry_types if is_folder]


def _open_folder(name: str | Path, parent_fd: int | None = None) -> int:
    """Return a descriptor that can read a folder, whatever its mode.

    It never follows a link, even if a running program replaces the folder by a link between two steps.
    """
    path_fd = os.open(name, BY_PATH, dir_fd=parent_fd)
    try:
        path = f"/proc/self/fd/{path_fd}"
        folder_mode = stat.S_IMODE(os.fstat(path_fd).st_mode)
        if folder_mode & _ALL_OF_THE_OWNER != _ALL_OF_THE_OWNER:
            Path(path).chmod(folder_mode | _ALL_OF_THE_OWNER)
        return os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    finally:
        os.close(path_fd)


# --- uids --------------------------------------------------------------------------------------------
# As root, each slot runs its sandboxes under a uid that no other slot or engine uses at the same time. A lock
# on a file that only root can open reserves the uid. With a socket, or a file in /tmp, which other users can
# lock, any user could stop root's judge.


# Range of uids that distributions do not use: lower uids are for home folders, higher uids for services with
# temporary users.
_FIRST, _LAST = 60578, 61183
# Folders for the locks, where only root may write; the first writable folder is used.
_PLACES = (Path("/run"), Path("/var/lib"))
_LOCKS = "ioi-eval-uids"
_PLACE_REMEDY = (
    "Make one of them writable (in a container: a tmpfs at /run), or start the judge as an ordinary user"
)


class SandboxUidPool:
    """Reserved uids. The kernel releases their locks when the process exits or is killed."""

    def __init__(self, lock_parents: Collection[Path] = _PLACES) -> None:
        """`lock_parents`: folders for the locks; the first that root can write is used.

        Pools with different folders may reserve the same uid.
        """
        self._lock_parents = lock_parents
        self._exit_stack = contextlib.ExitStack()

    def reserve(self, uid_count: int) -> tuple[int | None, ...]:
        """Return a uid for each slot, or `None` for each slot if sandboxes run as this process's user."""
        if not _uses_sandbox_uids():
            return (None,) * uid_count
        folder = _find_lock_folder(self._lock_parents)
        free_uids = (uid for uid in range(_FIRST, _LAST + 1) if self.try_lock_uid_file(folder / str(uid)))
        uids = tuple(islice(free_uids, uid_count))
        if len(uids) < uid_count:
            raise EngineUnavailable(
                f"the slots need {uid_count} unused user ids, but only {len(uids)} are unused."
                " Start the judge with fewer workers, or as an ordinary user"
            )
        return uids

    def try_lock_uid_file(self, path: Path) -> bool:
        """Lock the file of a uid until `release`. Return False if another process has the lock."""
        lock_fd = _lock_file(path, os.O_CREAT)
        if lock_fd is not None:
            self._exit_stack.callback(os.close, lock_fd)
        return lock_fd is not None

    def release(self) -> None:
        self._exit_stack.close()


def _find_lock_folder(parents: Collection[Path]) -> Path:
    for parent in parents:
        with contextlib.suppress(OSError):
            folder = private_folder(parent, _LOCKS)
            if os.access(folder, os.W_OK):  # root cannot write if the folder is on a read-only mount
                return folder
    raise EngineUnavailable(f"{_explain_no_lock_folder(parents)}. {_PLACE_REMEDY}")


def _explain_no_lock_folder(parents: Collection[Path]) -> str:
    return f"root can write none of {', '.join(map(str, parents))}, and uids are reserved there"


# Numbers of the bits in CapEff for the capabilities with which root uses these uids and removes the files of
# other users.
_RIGHTS = {"CHOWN": 0, "DAC_OVERRIDE": 1, "FOWNER": 3, "KILL": 5, "SETGID": 6, "SETUID": 7}


def list_missing_capabilities(status_file: Path) -> tuple[str, ...]:
    """Return the Linux capabilities that this process, as root, lacks to run programs as other users."""
    if not _uses_sandbox_uids():
        return ()
    capability_match = re.search(r"^CapEff:\s*(\w+)$", status_file.read_text(), re.MULTILINE)
    return tuple(
        capability
        for capability, bit in _RIGHTS.items()
        if capability_match and not int(capability_match[1], 16) >> bit & 1
    )


def _uses_sandbox_uids() -> bool:
    """Return True if sandboxes get uids: this process is root, and its user namespace has other uids."""
    return os.geteuid() == 0 and all(
        _covers_sandbox_uids(Path("/proc/self", map_name)) for map_name in ("uid_map", "gid_map")
    )


def _covers_sandbox_uids(map_file: Path) -> bool:
    try:
        lines = map_file.read_text().splitlines()
    except OSError:
        return True  # on a kernel without user namespaces, the file does not exist
    uid_ranges = (tuple(map(int, line.split())) for line in lines)
    return any(
        first_uid <= _FIRST and first_uid + uid_count > _LAST
        for first_uid, _outer_uid, uid_count in uid_ranges
    )


# --- requirements of any sandbox -----------------------------------------------------------------


_SELF = Path("/proc/self")
_MIN_OPEN_FILES = 96  # minimum for the limit of open files: the descriptors of a sandbox start at 64


class MissingRequirement(NamedTuple):
    """A requirement of sandboxes that this process lacks, and the remedy."""

    name: str
    detail: str
    remedy: str


def find_missing_requirements() -> Iterator[MissingRequirement]:
    """Yield the requirements of sandboxes that this process lacks."""
    if not (_SELF / "fd").is_dir():
        detail = "it is not mounted, and sandboxes need it"
        yield MissingRequirement("/proc", detail, "Mount it: mount -t proc proc /proc")
    elif lacking_capabilities := list_missing_capabilities(_SELF / "status"):
        detail = "started as root, programs run as other users, and this root lacks capabilities for that"
        remedy = "Give it these (in a container: cap_add), or start the judge as an ordinary user"
        yield MissingRequirement("capabilities", f"{detail}: {', '.join(lacking_capabilities)}", remedy)
    elif _uses_sandbox_uids():
        try:
            _find_lock_folder(_PLACES)
        except EngineUnavailable:
            yield MissingRequirement("uids", _explain_no_lock_folder(_PLACES), _PLACE_REMEDY)
    _, max_open_files = resource.getrlimit(resource.RLIMIT_NOFILE)
    if 0 <= max_open_files < _MIN_OPEN_FILES:  # -1: without a limit
        detail = f"this shell allows {max_open_files} at a time, and a sandbox needs {_MIN_OPEN_FILES}"
        yield MissingRequirement("open files", detail, "Start from a shell with a larger ulimit -Hn")
