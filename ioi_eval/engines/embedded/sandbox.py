"""A stage in the box that `proctor box` makes: its spec, its report, what that means, and the box's files.

docs/protocol.md, "Box spec", is the reference.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import io
import os
import selectors
import shutil
import signal
import stat
import subprocess
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from threading import Lock
from typing import Any

import msgspec

from ioi_eval.model.errors import BrokenReply, EngineOverloaded, EngineUnavailable, JobRejected
from ioi_eval.model.job import PRECOMPILED, Ending, JobFile, StageStatus
from ioi_eval.model.protocol import Message
from ioi_eval.rules.limits import GRACE

# --- what the proctor is told, and what it reports ---------------------------------------------------


VERSION = 2


class SandboxFile(Message):
    name: str
    path: str


class SandboxLimits(Message):
    wall_ms: int | None = None  # of idling
    hard_ms: int | None = None  # of time that passes, whatever programs do
    cpu_ms: int | None = None
    memory: int | None = None
    file_size: int | None = None
    processes: int | None = None
    disk: int | None = None  # bytes of all files in the box
    names: int | None = None  # files, folders and links in the box


class SandboxSpec(Message, kw_only=True, omit_defaults=False):  # kw_only is not inherited
    version: int = VERSION
    argv: tuple[str, ...]
    env: Mapping[str, str]
    dir: str
    files: tuple[SandboxFile, ...] = ()
    read: tuple[str, ...] = ()  # further folders that programs may look into and run from
    proc: bool = True  # programs see a /proc
    profile: str
    uid: int | msgspec.UnsetType = msgspec.UNSET
    limits: SandboxLimits = SandboxLimits()
    report_fd: int
    leash_fd: int
    layers: tuple[str, ...] | msgspec.UnsetType = msgspec.UNSET
    allow_unconfined: bool = False


class SandboxReport(Message):
    v: int
    code: int = 0
    signal: int = 0
    killed: str = ""  # wall, hard, cpu, memory, processes, disk, leash
    cpu_us: int = 0
    wall_us: int = 0
    waited_us: int = 0
    memory: int = 0
    confinement: Mapping[str, Any] = {}
    failure: str | None = None


_REPORT = msgspec.json.Decoder(SandboxReport)


def decode_report(text: bytes) -> SandboxReport:
    try:
        report = _REPORT.decode(text)
    except msgspec.DecodeError as error:
        raise BrokenReply(f"the box's report is not of the agreed shape: {error}") from error
    if report.v != VERSION:
        raise BrokenReply(f"the box's report is of version {report.v}, this package speaks {VERSION}")
    return report


# --- what a report means -----------------------------------------------------------------------------


def ending_of(report: SandboxReport, stdout: bytes, stderr: bytes, overflow: str = "") -> Ending:
    """Return how the box's program ended. `overflow`: the stream that exceeded its limit, if any."""
    ending = _ending(report, overflow)
    return msgspec.structs.replace(
        ending,
        stdout=stdout.decode("utf-8", "replace"),
        stderr=stderr.decode("utf-8", "replace"),
        cpu_time=report.cpu_us // 1000,
        wall_time=report.wall_us // 1000,
        memory=report.memory,
    )


def _ending(report: SandboxReport, overflow: str) -> Ending:
    if report.failure is not None:
        return Ending(status=StageStatus.XX, message=report.failure)
    if limit := overflow or report.killed:
        return Ending.by_limit(limit)
    number = report.signal
    if number:
        name, message = signal_name(number), f"Caught fatal signal {number}"
        return Ending(signal=name, status=StageStatus.SG, message=message)
    if report.code:
        message = f"Exited with error status {report.code}"
        return Ending(code=report.code, status=StageStatus.RE, message=message)
    return Ending(code=0)


def signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:  # a real-time signal has no name of its own
        return f"SIG{number}"


# --- the rope on which the programs of a job hang ----------------------------------------------------


class KillSwitch:
    """A pipe of which we hold the writing end and the job's boxes the other. Any thread may cut it."""

    def __init__(self) -> None:
        self.end, held = os.pipe()
        self._held = io.FileIO(held, "wb")

    @property
    def is_cut(self) -> bool:
        return self._held.closed

    def cut(self) -> None:
        """Kills what hangs on it; what would be started on it dies at once.

        A forked child lets go of its copy so, which would keep the programs alive when the parent cuts.
        """
        self._held.close()

    def close(self) -> None:
        """Gives the descriptors back. Only for who made it, when nothing hangs on it any more."""
        self.cut()
        os.close(self.end)


# --- files into a box before anything runs in it, and out of it when all in it is dead ---------------


_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EMFILE, errno.ENFILE, errno.ENOMEM}
_LARGE = 16 << 20  # bytes; a precompiled header has 120 MB
# Such a descriptor only names the folder, which closed modes cannot refuse us.
BY_PATH = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class LinkedFiles:
    """Hard links to large files, for boxes without /proc. Safe to be used by several threads.

    A file on another disk than the boxes is copied to theirs once. The copies last as long as the boxes.
    """

    def __init__(self, folder: Path, free: Callable[[], int]) -> None:
        """`folder`: for the copies. `free`: returns the bytes of the boxes' disk that copies may take."""
        self._folder, self._free, self._lock = folder, free, Lock()

    def place(self, source: Path, target: Path) -> bool:
        """Make a link. Return False if there is no room for a copy."""
        if stat.S_IMODE(source.stat().st_mode) & 0o4:
            with contextlib.suppress(OSError):  # it lies on another disk
                target.hardlink_to(source)
                return True
        facts = source.stat()
        copy = self._folder / f"{facts.st_dev}-{facts.st_ino}-{facts.st_mtime_ns}"
        with self._lock:
            if not copy.exists():
                if facts.st_size > self._free():
                    return False
                part = copy.with_suffix(".part")
                shutil.copyfile(source, part)
                part.chmod(0o644)
                part.replace(copy)
        target.hardlink_to(copy)
        return True


def fill(
    box: Path,
    files: Iterable[JobFile],
    uid: int | None,
    starting: Lock,
    links: LinkedFiles | None = None,
    *,
    copies: bool = False,
) -> tuple[SandboxFile, ...]:
    """Write what the job holds, and return what the box shall open by itself.

    `links`: of a box without /proc, which could not open anything by itself. `copies`: the box runs already.

    A process that another thread starts has our descriptors until it has become its program. One of a file
    that we are writing would make that file busy, and a busy file cannot be run: no program is written then.
    """
    placed = []
    for file in files:
        with starting if file.executable else contextlib.nullcontext():
            placed.append(_place(box, file, uid, links, copied=copies or file.copied))
    return tuple(file for file in placed if file is not None)


def make_folder(folder: Path, mode: int) -> None:
    """Make a folder with this mode, whatever the umask."""
    folder.mkdir()
    folder.chmod(mode)


def is_noexec(place: Path) -> bool:
    """Return True if nothing that lies there can be started."""
    return bool(os.statvfs(place).f_flag & os.ST_NOEXEC)


def _place(
    box: Path, file: JobFile, uid: int | None, links: LinkedFiles | None, *, copied: bool
) -> SandboxFile | None:
    folder, (*folders, last) = box, file.name.split("/")
    for name in folders:
        folder /= name
        if not folder.is_dir():
            make_folder(folder, 0o755)
            if uid is not None:
                os.chown(folder, uid, uid)
    target = folder / last
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
        shown = not copied or (uid is not None and file.content.size >= _LARGE)
        starts = not (file.executable and is_noexec(Path(source)))
        opened = mode & needed == needed or (uid is None and not file.executable)
        if links is None and shown and starts and opened:
            return SandboxFile(name=file.name, path=source)
        is_linked = links is not None and shown and file.content.size >= _LARGE
        if links and is_linked and (links.place(Path(source), target) or target.suffix == PRECOMPILED):
            return None
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


def unlink(box: Path, files: Iterable[SandboxFile]) -> tuple[SandboxFile, ...]:
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
            handle = os.open(box, BY_PATH)
            opened.callback(os.close, handle)
            for folder in folders:
                handle = os.open(folder, BY_PATH, dir_fd=handle)
                opened.callback(os.close, handle)
            if kind(os.stat(last, dir_fd=handle, follow_symlinks=False).st_mode):
                place = handle
        yield place, last


# --- a stage, from its start to its end --------------------------------------------------------------


_PIECE = 1 << 18
_REPORT_BYTES = 1 << 20
_LAST_WORDS = 2000  # bytes of what a broken proctor said
_SEALS = fcntl.F_SEAL_WRITE | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_SEAL
_NO_ROOM = {errno.EAGAIN, errno.ENOMEM, errno.EMFILE, errno.ENFILE, errno.ENOSPC}


class OutputCaps(msgspec.Struct, frozen=True):
    """The bytes of a stage's output that are taken."""

    stdout: int
    stderr: int


class Pipe:
    """A stream of the box and what has come through it, up to a limit. Both ends are closed with `held`."""

    def __init__(self, held: ExitStack, name: str, cap: int) -> None:
        self.name, self._room = name, cap
        end, box_end = os.pipe()
        self.end = held.enter_context(io.FileIO(end, "rb"))
        self.box_end = held.enter_context(io.FileIO(box_end, "wb"))
        self.overflows, self.taken = False, io.BytesIO()

    def read(self) -> bool:
        """Takes what is there; False at the end. Reads and drops what is over the limit."""
        piece = self.end.read(_PIECE)
        self.overflows = self.overflows or len(piece) > self._room
        if taken := piece[: self._room]:
            self.taken.write(taken)
            self._room -= len(taken)
        return bool(piece)


Streams = tuple[Pipe, Pipe, Pipe]


def run_stage(
    proctor: Path, spec: SandboxSpec, stdin: bytes, caps: OutputCaps, leash: KillSwitch, starting: Lock
) -> Ending:
    """Runs a stage to its end. Output over a limit cuts the leash; so may whoever wants no more of it."""
    with ExitStack() as held:
        try:
            process, streams = start(held, proctor, spec, _sealed(held, stdin), caps, leash, starting)
        except OSError as error:
            if error.errno in _NO_ROOM:
                raise EngineOverloaded(f"no box can be started now: {error.strerror}") from error
            raise EngineUnavailable(f"the proctor cannot be started: {error}") from error
        # Seconds after which a proctor is broken: it has to end the stage at the hard stop by itself.
        hard = spec.limits.hard_ms
        _read_all(streams, leash, None if hard is None else hard / 1000 + GRACE)
        code = process.wait(GRACE)
    stdout, stderr, told = (pipe.taken.getvalue() for pipe in streams)
    overflow = next((pipe.name for pipe in streams[:2] if pipe.overflows), "")
    if leash.is_cut and not overflow:
        raise EngineUnavailable("the job was ended before it was done")
    if not told:
        words = stderr[-_LAST_WORDS:].decode(errors="replace").strip()
        raise BrokenReply(
            f"the proctor ended with code {code} and without a report: {words or 'it printed nothing'}"
        )
    report = decode_report(told)
    if report.failure is not None:
        # A proctor that failed says where. Where boxes lie is nothing that a job's sender is told.
        report = msgspec.structs.replace(report, failure=report.failure.replace(spec.dir, "/box"))
    return ending_of(report, stdout, stderr, overflow)


def start(
    held: ExitStack,
    proctor: Path,
    spec: SandboxSpec,
    stdin: int,
    caps: OutputCaps,
    leash: KillSwitch,
    starting: Lock,
) -> tuple[subprocess.Popen[bytes], Streams]:
    """Start a proctor in whose box the leash ends. What it holds is given back with `held`."""
    stdout, stderr = Pipe(held, "stdout", caps.stdout), Pipe(held, "stderr", caps.stderr)
    report = Pipe(held, "report", _REPORT_BYTES)
    told = report.box_end.fileno()
    own = msgspec.structs.replace(spec, report_fd=told, leash_fd=leash.end)
    plan = _sealed(held, msgspec.json.encode(own))
    with starting:
        process = subprocess.Popen(
            [proctor, "box", f"/proc/self/fd/{plan}"],
            stdin=stdin,
            stdout=stdout.box_end,
            stderr=stderr.box_end,
            pass_fds=(plan, told, leash.end),
            env={},
            cwd="/",
            umask=0o022,
            start_new_session=True,  # an interrupt from the terminal is ours to handle
        )
    held.callback(process.wait)
    held.callback(process.kill)  # with all that is in its box, whatever went wrong in between
    for pipe in (stdout, stderr, report):
        pipe.box_end.close()
    return process, (stdout, stderr, report)


def _sealed(held: ExitStack, content: bytes) -> int:
    """A descriptor to read `content` from, which nobody can change or let grow: no memory hides behind it."""
    handle = os.memfd_create("ioi-eval", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    held.callback(os.close, handle)
    with open(handle, "wb", closefd=False) as stream:
        stream.write(content)
    os.lseek(handle, 0, os.SEEK_SET)
    fcntl.fcntl(handle, fcntl.F_ADD_SEALS, _SEALS)
    return handle


def _read_all(streams: Iterable[Pipe], leash: KillSwitch, patience: float | None) -> None:
    """Until every stream is at its end. One that says too much cuts the leash, and then patience is short."""
    deadline = None if patience is None else time.monotonic() + patience
    with selectors.PollSelector() as waiting:
        for pipe in streams:
            waiting.register(pipe.end, selectors.EVENT_READ, pipe)
        waiting.register(leash.end, selectors.EVENT_READ, None)
        while any(key.data for key in waiting.get_map().values()):
            events = waiting.select(None if deadline is None else max(0.0, deadline - time.monotonic()))
            if not events and deadline is not None and time.monotonic() >= deadline:
                raise BrokenReply("the proctor neither ended its box nor itself")
            for key, _ in events:
                if key.data is None or key.data.name == "report":
                    deadline = time.monotonic() + GRACE
                if key.data is None or not key.data.read():
                    waiting.unregister(key.fd)
                elif key.data.overflows:
                    leash.cut()
