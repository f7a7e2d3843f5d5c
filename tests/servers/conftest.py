"""Real Piston servers, started by tools/real_servers: pytest tests/servers --real KIND=URL ..."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pytest
from support.command_line import CommandLine, row, write_dump, write_package

_SECONDS = 120.0
_BOXES = "/var/local/lib/isolate"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--real", metavar="KIND=URL", action="append", help="a real Piston: raised, old or stock"
    )
    parser.addoption(
        "--spare",
        metavar="PROGRAM:DIR:PORT",
        help="start script, folder and port of a server with raised limits that tests may kill",
    )


def pytest_ignore_collect(config: pytest.Config) -> bool | None:
    """Collect no tests here without --real."""
    return None if config.getoption("--real", default=None) else True


@pytest.fixture(scope="session")
def real(request: pytest.FixtureRequest) -> dict[str, str]:
    """Return the URLs of servers by kind."""
    return dict(setting.split("=", 1) for setting in request.config.getoption("--real"))


@dataclass(frozen=True)
class Desk:
    """A folder with a problem, and a command line that scores programs."""

    cli: CommandLine

    @property
    def folder(self) -> Path:
        return self.cli.folder

    def words(self, programs: Mapping[str, str], *urls: str, out: str = "there") -> list[str]:
        """Return the arguments that score programs. A program with the key `python` is in Python."""
        languages = {"python": "python"}
        rows = [row(name, code, language=languages.get(name, "cpp")) for name, code in programs.items()]
        dump = write_dump(self.folder / "dump.jsonl", rows)
        where = ("--engine", ",".join(urls), "--out", out)
        return ["score", str(dump), "--problems", "problems", *where, "--quiet"]


@pytest.fixture
def desk(cli: CommandLine) -> Desk:
    # Touching much memory needs time, on some machines half a second.
    write_package(cli.folder / "problems" / "add", time_limit=0.5, memory=64 << 20)
    return Desk(cli)


@dataclass
class Spare:
    """A server that a test may kill and suspend."""

    program: str
    folder: Path
    port: int

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self, room: str = "", tools: str = "") -> None:
        """Start the server.

        `room` is the size of its disk, and `tools` a folder at the front of its PATH.
        """
        command = [self.program, "start", str(self.folder), "raised", str(self.port)]
        if room:
            mount = f'mount -t tmpfs -o mode=755,size={room} boxes {_BOXES} && exec "$@"'
            command = ["unshare", "--mount", "sh", "-c", mount, "sh", *command]
        if tools:
            mount = f'mount --bind {tools} /usr/local/sbin && exec "$@"'
            command = ["unshare", "--mount", "sh", "-c", mount, "sh", *command]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, timeout=_SECONDS)

    def enlarge(self, room: str) -> None:
        into = ["nsenter", "--mount", f"--target={self.pid}"]
        subprocess.run([*into, "mount", "-o", f"remount,size={room}", _BOXES], check=True, timeout=_SECONDS)

    def fill(self, left: int) -> None:
        """Fill the server's disk until this number of bytes is left."""
        into = ["nsenter", "--mount", f"--target={self.pid}"]
        file = f"{_BOXES}/full"
        fill = (
            f"for i in 1 2 3 4 5 6; do cat /dev/zero >> {file}; truncate -s -{left} {file}; sleep 0.5; done"
        )
        subprocess.run([*into, "sh", "-c", fill], timeout=_SECONDS)

    @property
    def pid(self) -> int:
        return int((self.folder / f"pid-{self.port}").read_text())

    def signal(self, number: int) -> None:
        os.kill(self.pid, number)

    def kill(self) -> None:
        """Kill the server, and wait until its port is free."""
        self.signal(signal.SIGKILL)
        ends = time.monotonic() + _SECONDS
        while not self._is_free():
            assert time.monotonic() < ends, "the port is still in use"
            time.sleep(0.05)

    def _is_free(self) -> bool:
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.port)) != 0


@pytest.fixture
def spare(request: pytest.FixtureRequest) -> Iterator[Spare]:
    setting = request.config.getoption("--spare")
    if setting is None:
        pytest.skip("no --spare option says how to start a server")
    program, folder, port = setting.split(":")
    spare_server = Spare(program, Path(folder), int(port))
    yield spare_server
    pid = spare_server.folder / f"pid-{spare_server.port}"
    if pid.exists():
        with suppress(ProcessLookupError):  # the test may have killed it
            spare_server.kill()
        pid.unlink()
