"""Runs a stage of a job in a sandbox of `proctor box`: spec, report, ending, and the sandbox's files.

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
from ioi_eval.store.contents import CachedBlob

# --- the spec and the report of a sandbox ---------------------------------------------------


VERSION = 2


class SandboxFile(Message):
    """A file that the sandbox opens for its programs: its name inside and its path outside."""

    name: str
    path: str


class SandboxLimits(Message):
    wall_ms: int | None = None  # maximum time in which all programs of the sandbox are idle, in ms
    hard_ms: int | None = None  # maximum time from the start to the end, in ms
    cpu_ms: int | None = None
    memory: int | None = None
    file_size: int | None = None
    processes: int | None = None
    disk: int | None = None  # maximum bytes of all files together
    names: int | None = None  # maximum number of files, folders and links


# The option kw_only must be repeated, because classes do not inherit it.
class SandboxSpec(Message, kw_only=True, omit_defaults=False):
    version: int = VERSION
    argv: tuple[str, ...]
    env: Mapping[str, str]
    dir: str
    files: tuple[SandboxFile, ...] = ()
    # Folders, in addition to the system's folders, that programs may read and from which they may start
    # programs.
    read: tuple[str, ...] = ()
    proc: bool = True  # True if programs see a /proc
    profile: str
    uid: int | msgspec.UnsetType = msgspec.UNSET
    limits: SandboxLimits = SandboxLimits()
    report_fd: int
    leash_fd: int
    layers: tuple[str, ...] | msgspec.UnsetType = msgspec.UNSET
    allow_unconfined: bool = False


class _SandboxReport(Message):
    """The proctor's report about the program of a sandbox."""

    v: int
    code: int = 0
    signal: int = 0
    # Name of the limit that stopped the program: wall, hard, cpu, memory, processes, disk, kill_switch.
    killed: str = ""
    cpu_us: int = 0
    wall_us: int = 0
    memory: int = 0
    confinement: Mapping[str, Any] = {}
    failure: str | None = None


_REPORT = msgspec.json.Decoder(_SandboxReport)


def decode_sandbox_report(text: bytes, overflowed_stream: str = "") -> tuple[Ending, Mapping[str, Any]]:
    """Return the ending that a sandbox's report describes, without output, and the sandbox's confinement.

    `overflowed_stream`: the stream that exceeded its limit, if any. Raises BrokenReply for a report that is
    not valid.
    """
    try:
        report = _REPORT.decode(text)
    except msgspec.DecodeError as error:
        raise BrokenReply(f"the sandbox's report is not valid: {error}") from error
    if report.v != VERSION:
        raise BrokenReply(
            f"the sandbox's report has protocol version {report.v}, and this ioi_eval needs version {VERSION}"
        )
    if report.failure is not None:
        ending = Ending(status=StageStatus.XX, message=report.failure)
    elif limit := overflowed_stream or report.killed:
        ending = Ending.by_limit(limit)
    elif report.signal:
        name, message = signal_name(report.signal), f"Caught fatal signal {report.signal}"
        ending = Ending(signal=name, status=StageStatus.SG, message=message)
    elif report.code:
        message = f"Exited with error status {report.code}"
        ending = Ending(code=report.code, status=StageStatus.RE, message=message)
    else:
        ending = Ending(code=0)
    ending = msgspec.structs.replace(
        ending,
        cpu_time=report.cpu_us // 1000,
        wall_time=report.wall_us // 1000,
        memory=report.memory,
    )
    return ending, report.confinement


def signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:  # the number of a real-time signal is not a member of the enum
        return f"SIG{number}"


# --- the kill switch of a job ----------------------------------------------------


class KillSwitch:
    """A pipe whose closed writing end stops a job's programs. Any thread may trigger the kill switch.

    The job's sandboxes have the reading end.
    """

    def __init__(self) -> None:
        self.read_end, write_end = os.pipe()
        self._write_end = io.FileIO(write_end, "wb")

    @property
    def is_triggered(self) -> bool:
        return self._write_end.closed

    def trigger(self) -> None:
        """Stop all programs of the job. A sandbox that is started later stops at once.

        The programs stop when all copies of the writing end are closed. So a child forked by this process
        must trigger its copy of the kill switch, too.
        """
        self._write_end.close()

    def close(self) -> None:
        """Close both descriptors. Only the creator calls this, after all sandboxes have stopped."""
        self.trigger()
        os.close(self.read_end)


# --- files in a sandbox, before programs start and after they have stopped --------------------------


_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EMFILE, errno.ENFILE, errno.ENOMEM}
# Minimum size in bytes of a file that is linked instead of copied, such as a precompiled header of 120 MB.
_LARGE = 16 << 20
# Flags that open a folder without reading it, so that the folder's mode does not matter.
BY_PATH = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class FileLinker:
    """Creates hard links to large files, instead of copies in each sandbox. It is thread-safe.

    A file on another disk than the sandboxes is copied to their disk once. The copies stay until the engine
    closes.
    """

    def __init__(self, folder: Path, get_free_bytes: Callable[[], int]) -> None:
        """Copies go to `folder`. They may use the bytes of its disk that `get_free_bytes` returns."""
        self._folder, self._get_free_bytes, self._lock = folder, get_free_bytes, Lock()

    def link_file(self, source: Path, target: Path) -> bool:
        """Create a link to a file. Return False if a copy is needed and the disk has no space for it."""
        if stat.S_IMODE(source.stat().st_mode) & 0o4:
            with contextlib.suppress(OSError):  # hard links fail if the file is on another disk
                target.hardlink_to(source)
                return True
        source_status = source.stat()
        copy_path = (
            self._folder / f"{source_status.st_dev}-{source_status.st_ino}-{source_status.st_mtime_ns}"
        )
        with self._lock:
            if not copy_path.exists():
                if source_status.st_size > self._get_free_bytes():
                    return False
                partial_copy = copy_path.with_suffix(".part")
                shutil.copyfile(source, partial_copy)
                partial_copy.chmod(0o644)
                partial_copy.replace(copy_path)
        target.hardlink_to(copy_path)
        return True


def fill_sandbox(
    sandbox: Path,
    files: Iterable[JobFile],
    uid: int | None,
    start_lock: Lock,
    links: FileLinker | None = None,
) -> tuple[SandboxFile, ...]:
    """Write a job's files into a sandbox, and return the files that the sandbox must open itself.

    A process that another thread starts has this process's descriptors until it executes its program. If one
    of these is open for writing a program, that program is busy and cannot be started. So `start_lock` is
    held while a program is written, and while a process is started.

    Args:
        links: creates links instead, for a sandbox without /proc, which cannot open files itself.
    """
    sandbox_files = []
    for file in files:
        with start_lock if file.executable else contextlib.nullcontext():
            # Copy cached files: a program with this process's uid could change a cached file for later jobs.
            must_be_copied = isinstance(file.content, CachedBlob)
            sandbox_files.append(_place_file(sandbox, file, uid, links, must_be_copied=must_be_copied))
    return tuple(file for file in sandbox_files if file is not None)


def make_folder(folder: Path, mode: int) -> None:
    """Make a folder with a mode, independent of the umask."""
    folder.mkdir()
    folder.chmod(mode)


def is_noexec(folder: Path) -> bool:
    """Return True if no program in this folder can be started."""
    return bool(os.statvfs(folder).f_flag & os.ST_NOEXEC)


def _place_file(
    sandbox: Path, file: JobFile, uid: int | None, links: FileLinker | None, *, must_be_copied: bool
) -> SandboxFile | None:
    folder, (*folders, base_name) = sandbox, file.name.split("/")
    for folder_name in folders:
        folder /= folder_name
        if not folder.is_dir():
            make_folder(folder, 0o755)
            if uid is not None:
                os.chown(folder, uid, uid)
    target = folder / base_name
    source = file.content.path
    if source is not None and file.content.data is None:
        # If the sandbox opens the file for programs, the file's own mode decides whether they can use it.
        try:
            source_mode = Path(source).stat().st_mode
        except OSError as error:
            raise JobRejected(f"{source} cannot be read: {error.strerror}") from error
        if not stat.S_ISREG(source_mode):
            raise JobRejected(f"{source} is not a regular file")
        needed_mode = 0o5 if file.executable else 0o4
        # A large file is never copied if programs have their own uid: they may read the original, but not
        # change it.
        may_be_shown = not must_be_copied or (uid is not None and file.content.size >= _LARGE)
        can_start = not (file.executable and is_noexec(Path(source)))
        can_be_opened = source_mode & needed_mode == needed_mode or (uid is None and not file.executable)
        if links is None and may_be_shown and can_start and can_be_opened:
            return SandboxFile(name=file.name, path=source)
        is_linked = links is not None and may_be_shown and file.content.size >= _LARGE
        if links and is_linked and (links.link_file(Path(source), target) or target.suffix == PRECOMPILED):
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
def convert_file_errors(sandbox: Path | None = None) -> Iterator[None]:
    """Raise JobRejected if names of files clash, and EngineOverloaded if the disk is full."""
    try:
        yield
    except (FileExistsError, NotADirectoryError, IsADirectoryError) as error:
        # Use a relative path, because the sender of the job must not learn paths of this machine.
        name = os.path.relpath(error.filename, sandbox)
        raise JobRejected(f"{name!r} is both a file and a folder") from error
    except OSError as error:
        if error.errno in _FULL:
            raise EngineOverloaded(f"the disk has no space for the job's files: {error.strerror}") from error
        raise


def unlink_files(sandbox: Path, files: Iterable[SandboxFile]) -> tuple[SandboxFile, ...]:
    """Remove the links to `files` from a sandbox after a stage, and return the files whose links existed.

    A link does not exist any more if a program of the stage has removed or replaced it.
    """
    return tuple(file for file in files if _remove_link(sandbox, file.name))


def _remove_link(sandbox: Path, file_name: str) -> bool:
    with _open_parent_folder(sandbox, file_name, stat.S_ISLNK) as (folder_fd, base_name):
        if folder_fd is not None:
            os.unlink(base_name, dir_fd=folder_fd)
        return folder_fd is not None


def move_out_of_sandbox(sandbox: Path, file_name: str, target: Path) -> bool:
    """Move a regular file out of a sandbox to `target`. Return False if no such file exists."""
    with _open_parent_folder(sandbox, file_name, stat.S_ISREG) as (folder_fd, base_name):
        if folder_fd is None:
            return False
        os.rename(base_name, target, src_dir_fd=folder_fd)
    # No program can reach the file any more, but its owner and its mode may have been set by a program.
    file_fd = os.open(target, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        file_mode, own_path = os.fstat(file_fd).st_mode, f"/proc/self/fd/{file_fd}"
        if not stat.S_ISREG(file_mode):
            target.unlink()
            return False
        os.chown(own_path, os.geteuid(), os.getegid())
        Path(own_path).chmod(0o755 if file_mode & stat.S_IXUSR else 0o644)
        return True
    finally:
        os.close(file_fd)


@contextlib.contextmanager
def _open_parent_folder(
    sandbox: Path, file_name: str, accepts_file_mode: Callable[[int], bool]
) -> Iterator[tuple[int | None, str]]:
    """Yield a descriptor of the folder that contains a file, and the last component of the file's name.

    The descriptor is `None` if no file of the wanted type exists. Programs have stopped, but their files are
    not trusted: no link is followed.
    """
    *folders, base_name = file_name.split("/")
    with contextlib.ExitStack() as exit_stack:
        folder_fd: int | None = None
        with contextlib.suppress(FileNotFoundError, NotADirectoryError, PermissionError):
            descriptor = os.open(sandbox, BY_PATH)
            exit_stack.callback(os.close, descriptor)
            for folder in folders:
                descriptor = os.open(folder, BY_PATH, dir_fd=descriptor)
                exit_stack.callback(os.close, descriptor)
            if accepts_file_mode(os.stat(base_name, dir_fd=descriptor, follow_symlinks=False).st_mode):
                folder_fd = descriptor
        yield folder_fd, base_name


# --- running a stage ---------------------------------------------------------------------------------


_PIECE = 1 << 18
_REPORT_BYTES = 1 << 20
_MAX_ERROR_BYTES = 2000  # maximum bytes of a broken proctor's output in a message
_SEALS = fcntl.F_SEAL_WRITE | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_SEAL
_NO_ROOM = {errno.EAGAIN, errno.ENOMEM, errno.EMFILE, errno.ENFILE, errno.ENOSPC}


class OutputLimits(msgspec.Struct, frozen=True):
    """Maximum bytes of a stage's streams."""

    stdout: int
    stderr: int


class Pipe:
    """A stream of a sandbox, and its content up to a limit. `exit_stack` closes the pipe."""

    def __init__(self, exit_stack: ExitStack, name: str, max_bytes: int) -> None:
        self.name, self._free_bytes = name, max_bytes
        read_end, write_end = os.pipe()
        self.read_end = exit_stack.enter_context(io.FileIO(read_end, "rb"))
        self.write_end = exit_stack.enter_context(io.FileIO(write_end, "wb"))
        self.is_over_limit, self.content = False, io.BytesIO()

    def read(self) -> bool:
        """Read the next piece. Return False after the last piece. Bytes over the limit are dropped."""
        piece = self.read_end.read(_PIECE)
        self.is_over_limit = self.is_over_limit or len(piece) > self._free_bytes
        if fitting_bytes := piece[: self._free_bytes]:
            self.content.write(fitting_bytes)
            self._free_bytes -= len(fitting_bytes)
        return bool(piece)


Streams = tuple[Pipe, Pipe, Pipe]


def run_stage(
    proctor: Path,
    spec: SandboxSpec,
    stdin: bytes,
    output_limits: OutputLimits,
    kill_switch: KillSwitch,
    start_lock: Lock,
) -> Ending:
    """Run a stage of a job in a sandbox, and return how it ended.

    Args:
        proctor: path of the proctor, the program that creates and supervises the sandbox.
        output_limits: maximum bytes of the stage's stdout and stderr. More output triggers the kill switch.
        start_lock: lock for starting processes; see `fill_sandbox`.
    """
    with ExitStack() as exit_stack:
        try:
            process, streams = start_proctor(
                exit_stack,
                proctor,
                spec,
                _create_read_only_fd(exit_stack, stdin),
                output_limits,
                kill_switch,
                start_lock,
            )
        except OSError as error:
            if error.errno in _NO_ROOM:
                raise EngineOverloaded(f"cannot start a sandbox now: {error.strerror}") from error
            raise EngineUnavailable(f"the proctor cannot be started: {error}") from error
        # A proctor that does not stop the stage soon after the hard limit is broken.
        hard_limit_ms = spec.limits.hard_ms
        _read_all_streams(
            streams, kill_switch, None if hard_limit_ms is None else hard_limit_ms / 1000 + GRACE
        )
        exit_code = process.wait(GRACE)
    stdout, stderr, report_bytes = (pipe.content.getvalue() for pipe in streams)
    overflowed_stream = next((pipe.name for pipe in streams[:2] if pipe.is_over_limit), "")
    if kill_switch.is_triggered and not overflowed_stream:
        raise EngineUnavailable("the job was stopped before it was finished")
    if not report_bytes:
        message = stderr[-_MAX_ERROR_BYTES:].decode(errors="replace").strip()
        raise BrokenReply(
            f"the proctor exited with code {exit_code} without a report: {message or 'it printed nothing'}"
        )
    ending, _ = decode_sandbox_report(report_bytes, overflowed_stream)
    return msgspec.structs.replace(
        ending,
        stdout=stdout.decode(errors="replace"),
        stderr=stderr.decode(errors="replace"),
        # Replace the folder's path, because the sender of the job must not learn paths of this machine.
        message=ending.message and ending.message.replace(spec.dir, "/box"),
    )


def start_proctor(
    exit_stack: ExitStack,
    proctor: Path,
    spec: SandboxSpec,
    stdin_fd: int,
    output_limits: OutputLimits,
    kill_switch: KillSwitch,
    start_lock: Lock,
) -> tuple[subprocess.Popen[bytes], Streams]:
    """Start a proctor, the program that creates and supervises a sandbox.

    Returns the proctor's process, and the pipes with its stdout, its stderr and its report.

    Args:
        exit_stack: Stops the proctor and closes its pipes.
        proctor: Path of the proctor.
        spec: The sandbox and its program. Its `report_fd` and `leash_fd` are replaced.
        stdin_fd: Descriptor of the program's stdin. It stays open in this process.
        output_limits: Maximum bytes of stdout and of stderr that the pipes store.
        kill_switch: Stops the sandbox when it is triggered.
        start_lock: Lock for starting processes; see `fill_sandbox`.
    """
    stdout, stderr = (
        Pipe(exit_stack, "stdout", output_limits.stdout),
        Pipe(exit_stack, "stderr", output_limits.stderr),
    )
    report = Pipe(exit_stack, "report", _REPORT_BYTES)
    report_fd = report.write_end.fileno()
    spec = msgspec.structs.replace(spec, report_fd=report_fd, leash_fd=kill_switch.read_end)
    spec_fd = _create_read_only_fd(exit_stack, msgspec.json.encode(spec))
    with start_lock:
        process = subprocess.Popen(
            [proctor, "box", f"/proc/self/fd/{spec_fd}"],
            stdin=stdin_fd,
            stdout=stdout.write_end,
            stderr=stderr.write_end,
            pass_fds=(spec_fd, report_fd, kill_switch.read_end),
            env={},
            cwd="/",
            umask=0o022,
            # A new session, so that an interrupt in the terminal reaches only this process.
            start_new_session=True,
        )
    exit_stack.callback(process.wait)
    # Kills the proctor, and with it all programs in its sandbox, even after an error.
    exit_stack.callback(process.kill)
    for pipe in (stdout, stderr, report):
        pipe.write_end.close()
    return process, (stdout, stderr, report)


def _create_read_only_fd(exit_stack: ExitStack, content: bytes) -> int:
    """Return a descriptor with `content`. Programs cannot change or extend it."""
    memory_fd = os.memfd_create("ioi-eval", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    exit_stack.callback(os.close, memory_fd)
    with open(memory_fd, "wb", closefd=False) as stream:
        stream.write(content)
    os.lseek(memory_fd, 0, os.SEEK_SET)
    fcntl.fcntl(memory_fd, fcntl.F_ADD_SEALS, _SEALS)
    return memory_fd


def _read_all_streams(streams: Iterable[Pipe], kill_switch: KillSwitch, max_idle_s: float | None) -> None:
    """Read all streams completely. A stream that exceeds its limit triggers the kill switch."""
    deadline_s = None if max_idle_s is None else time.monotonic() + max_idle_s
    with selectors.PollSelector() as selector:
        for pipe in streams:
            selector.register(pipe.read_end, selectors.EVENT_READ, pipe)
        selector.register(kill_switch.read_end, selectors.EVENT_READ, None)
        while any(key.data for key in selector.get_map().values()):
            events = selector.select(None if deadline_s is None else max(0.0, deadline_s - time.monotonic()))
            if not events and deadline_s is not None and time.monotonic() >= deadline_s:
                raise BrokenReply("the proctor, which supervises the sandbox, did not exit in time")
            for key, _ in events:
                if key.data is None or key.data.name == "report":
                    deadline_s = time.monotonic() + GRACE
                if key.data is None or not key.data.read():
                    selector.unregister(key.fd)
                elif key.data.is_over_limit:
                    kill_switch.trigger()
