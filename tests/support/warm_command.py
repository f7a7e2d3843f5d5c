"""Runs the command line without starting an interpreter: a process imports it once and forks for each call.

Each call is a new process with separate arguments, folder, environment, outputs and exit code. Modules that
read the environment when they are imported are not preloaded.
"""

from __future__ import annotations

import atexit
import gc
import json
import os
import runpy
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO, TextIO

_COMMANDS = "doctor judge new problems report run score validate worker"
_LOADED = (
    *(f"ioi_eval.cli.{name}" for name in _COMMANDS.split()),
    "anyio._backends._asyncio",  # of httpx, as httpcore, when it first connects
    "encodings.utf_8_sig",
    "ioi_eval.engines.piston",
    "ioi_eval.generate.chat",
    "ioi_eval.runs.score",
    "httpcore",
    "markdown_it",
    "multiprocessing.synchronize",  # of a bar that shows progress
    "pandas",
    "pyarrow.compute",  # of a table that is written
    "pyarrow.parquet",
    "pydantic.plugin._loader",
    "typer._adapters",  # for reading a command's arguments
    "typer._click.decorators",
)
_PLUGINS = ("ioi_eval.plugins.contest.command", "ioi_eval.plugins.ray.engine")  # a checkout may lack them
_LARGEST = 1 << 20  # maximum size of a request, in bytes


class WarmCommand:
    """The process that forks for each call. It ends when the test process closes it or dies."""

    def __init__(self, *loaded: str) -> None:
        """Start the process. `loaded` replaces the list of preloaded modules."""
        self._requests, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            number = theirs.fileno()
            default_modules = (*_LOADED, *(_PLUGINS if find_spec("ioi_eval.plugins") else ()))
            self._process = subprocess.Popen(
                [sys.executable, __file__, str(number), *(loaded or default_modules)], pass_fds=[number]
            )
        self._requests.send(import_module("support.cached_lookups").encode_toolchains())
        self._requests.recv(_LARGEST)  # wait until it is ready, so that no later test pays for its start

    def run(
        self,
        arguments: list[str],
        folder: Path,
        environment: Mapping[str, str],
        script: str = "",
        given: bytes | None = None,
    ) -> subprocess.CompletedProcess[str]:
        """Run the command line, or a Python script, and return its exit code and outputs.

        `given` is its standard input.
        """
        with _scratch("stdin") as stdin, _scratch("stdout") as stdout, _scratch("stderr") as stderr:
            stdin.write(given or b"")
            stdin.seek(0)
            files = [stdout, stderr] if given is None else [stdin, stdout, stderr]
            descriptors = [file.fileno() for file in files]
            code = self._ended(descriptors, arguments, str(folder), dict(environment), script)
            outputs = [Path(f"/proc/self/fd/{file.fileno()}").read_text() for file in (stdout, stderr)]
        return subprocess.CompletedProcess(arguments, code, *outputs)

    def run_in(
        self, terminal: int, arguments: list[str], folder: Path, environment: Mapping[str, str]
    ) -> int:
        """Run the command line in a terminal and return its exit code. The caller reads the terminal."""
        return self._ended([terminal] * 3, arguments, str(folder), dict(environment), "")

    def start(
        self,
        arguments: list[str],
        folder: Path,
        environment: Mapping[str, str],
        script: str = "",
        *,
        listens: bool = False,
    ) -> RunningCommand:
        """Start a call as a child of this process, which must be a subreaper.

        With `listens` its standard input is a pipe.
        """
        ends = [os.pipe()[::-1] for _ in range(listens)] + [os.pipe() for _ in range(2)]
        ours, theirs = zip(*ends, strict=True)
        try:
            pid = self._asked(list(theirs), arguments, str(folder), dict(environment), script, stays=True)
        finally:
            for end in theirs:
                os.close(end)
        stdin = os.fdopen(ours[0], "w") if listens else None
        return RunningCommand(arguments, pid, *map(os.fdopen, ours[-2:]), stdin)

    def _ended(self, descriptors: list[int], *request: object) -> int:
        return self._asked(descriptors, *request, stays=False)

    def _asked(self, descriptors: list[int], *request: object, stays: bool) -> int:
        socket.send_fds(self._requests, [json.dumps([stays, *request]).encode()], descriptors)
        answer = self._requests.recv(_LARGEST)
        assert answer, "the process that forks has ended"
        return int(answer)

    def close(self) -> None:
        self._requests.close()
        self._process.wait()


class RunningCommand:
    """A running call, with the part of the interface of subprocess.Popen that tests use."""

    def __init__(
        self, args: list[str], pid: int, stdout: TextIO, stderr: TextIO, stdin: TextIO | None = None
    ) -> None:
        self.args, self.pid, self.stdout, self.stderr, self.stdin = args, pid, stdout, stderr, stdin
        self.returncode: int | None = None
        self._read: list[Future[str]] = []

    def poll(self) -> int | None:
        return self._waited(os.WNOHANG)

    def wait(self) -> int:
        code = self._waited(0)
        assert code is not None
        return code

    def _waited(self, how: int) -> int | None:
        if self.returncode is None:
            ended, status = os.waitpid(self.pid, how)
            if ended:
                self.returncode = os.waitstatus_to_exitcode(status)
        return self.returncode

    def communicate(self, timeout: float | None = None) -> tuple[str, str]:
        if not self._read:
            readers = ThreadPoolExecutor(2)
            self._read = [readers.submit(stream.read) for stream in (self.stdout, self.stderr)]
            readers.shutdown(wait=False)
        try:
            outputs = [reader.result(timeout) for reader in self._read]
        except TimeoutError:
            raise subprocess.TimeoutExpired(self.args, timeout or 0) from None
        self.wait()
        for stream in (self.stdout, self.stderr):
            stream.close()
        return outputs[0], outputs[1]

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


@cache
def warm_command() -> WarmCommand:
    """Return the forking process of this test process, started on the first call."""
    return WarmCommand()


def end_warm_command() -> None:
    if warm_command.cache_info().currsize:
        warm_command().close()
        warm_command.cache_clear()


def _scratch(name: str) -> BinaryIO:
    return os.fdopen(os.memfd_create(name), "wb")


def _wait_for_a_call(requests: socket.socket) -> bool:
    """Return True in a forked child for each call, and False in the parent when the socket is closed."""
    while True:
        request, descriptors, *_ = socket.recv_fds(requests, _LARGEST, 3)
        if not request:
            return False
        stays, *call = json.loads(request)
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0 and (not stays or _is_orphan(writing)):
            for descriptor in (requests.detach(), reading, writing):
                os.close(descriptor)
            _become(*call, descriptors)
            return True
        for descriptor in (writing, *descriptors):
            os.close(descriptor)
        _, status = os.waitpid(child, 0)
        with os.fdopen(reading, "rb") as status_pipe:
            requests.send(status_pipe.read() or str(os.waitstatus_to_exitcode(status)).encode())


def _is_orphan(pipe: int) -> bool:
    """Fork. The parent writes the child's process id and exits; return True in the child."""
    child = os.fork()
    if child:
        os.write(pipe, str(child).encode())
        os._exit(0)
    return True


def _become(
    arguments: list[str], folder: str, environment: dict[str, str], script: str, descriptors: list[int]
) -> None:
    """Set the arguments, folder, environment and descriptors of a call."""
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    tempfile.tempdir = None  # it was cached with another environment when compilers were tried
    for number, descriptor in enumerate(descriptors, start=3 - len(descriptors)):
        os.dup2(descriptor, number)
        os.close(descriptor)
    sys.argv[:] = [script, *arguments]
    sys.path[:1] = [folder, *filter(None, environment.get("PYTHONPATH", "").split(os.pathsep))]


def _ask_once(toolchains: bytes) -> None:
    """Cache the slow lookups before the first call."""
    cached_lookups, resources = import_module("cached_lookups"), import_module("ioi_eval.store.resources")
    registries = import_module("ioi_eval.registries")
    cached_lookups.install_cached_lookups(told=toolchains)
    for registry in registries.Registry:
        cached_lookups.cached_entry_points(group=registry.value)
    resources.compute_code_digest(resources.PACKAGE)
    proctor, graders = import_module("ioi_eval.engines.embedded.proctor"), resources.graders_folder()
    proctor.hash_sources(graders)
    for folder in ("proctor", "python"):
        proctor.load_proctor_sources(graders / folder)


def _read_options_once() -> None:
    """Load the options of each preloaded command."""
    cli: Any = import_module("ioi_eval.cli")
    names = [name for name in cli.COMMANDS if f"ioi_eval.cli.{name}" in sys.modules]
    commands, load = {name: cli.load_command(name) for name in names}, cli.load_command
    for parameter in chain.from_iterable(command.params for command in commands.values()):
        parameter.get_runtime_param()
    cli.load_command = lambda name: commands.get(name) or load(name)


def _make_pages_once() -> None:
    """Render a page, because templates and syntax highlighters are compiled on first use."""
    document = import_module("ioi_eval.reports.document")
    codes = [document.Code(text="1", lexer=lexer) for lexer in ("cpp", "python")]
    page = document.Document(title="1", sections=[document.Section(title="1", code=code) for code in codes])
    document.render_markdown(page)
    for side_by_side in (True, False):
        document.render_html(page, has_asset_files=side_by_side)


def _called() -> None:
    if sys.argv[0]:
        runpy.run_path(sys.argv[0], run_name="__main__")
    else:
        import_module("ioi_eval.cli").main()


def _exit_code(call: Callable[[], None]) -> int:
    """Call a function. Return the exit code, and print the message, that an interpreter would."""
    try:
        call()
    except SystemExit as ended:
        if isinstance(ended.code, int | None):
            return ended.code or 0
        print(ended.code, file=sys.stderr)
        return 1
    except BaseException:  # noqa: BLE001 - the process ends here
        sys.excepthook(*sys.exc_info())
        return 1
    return 0


def _end(code: int) -> None:
    """Exit like an interpreter, but without freeing modules, which would copy their memory pages."""
    for finish in (threading._shutdown, atexit._run_exitfuncs, sys.stdout.flush, sys.stderr.flush):  # type: ignore[attr-defined]
        finish()
    os._exit(code & 0xFF)


if __name__ == "__main__":
    for name in sys.argv[2:]:
        import_module(name)
    with_tests = socket.socket(fileno=int(sys.argv[1]))
    _ask_once(with_tests.recv(_LARGEST))
    _read_options_once()
    _make_pages_once()
    gc.freeze()  # a garbage collection in a child would copy its memory pages
    with_tests.send(b"ready")
    if _wait_for_a_call(with_tests):
        _end(_exit_code(_called))
