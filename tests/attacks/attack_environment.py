"""The environment of attacks: secrets in files, a listening socket, and names that identify leftovers."""

from __future__ import annotations

import secrets
import shutil
import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from attack import SECRET


@dataclass(frozen=True)
class AttackEnvironment:
    """Secrets in files, and a listening socket."""

    place: Path
    home: Path
    neighbour: Path
    mark: str
    port: int

    @property
    def answer(self) -> Path:
        return self.place / "answer"

    def order(self, attack: str, *, wild: bool, work: float = 1e9) -> str:
        """Return a program's input: the attack, the seconds of work, and the paths to attack."""
        return f"{attack} {int(wild)} {work} {self.home} {self.neighbour} {self.answer} {self.mark} {self.port}\n"


@contextmanager
def prepared(workshop: Path) -> Iterator[AttackEnvironment]:
    with ExitStack() as stack:
        mark = f"stay-{secrets.token_hex(4)}"
        tests, neighbour, home = (workshop / f"{name}-{mark}" for name in ("tests", "neighbour", "home"))
        for folder, mode in ((tests, 0o755), (neighbour, 0o700), (home, 0o755)):
            folder.mkdir()
            folder.chmod(mode)
            stack.callback(shutil.rmtree, folder)
            (folder / "answer").write_text(SECRET)
        server = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        abstract_socket = stack.enter_context(socket.socket(socket.AF_UNIX))
        abstract_socket.bind(f"\0{mark}")
        abstract_socket.listen()
        yield AttackEnvironment(tests, home / "answer", neighbour / "answer", mark, server.getsockname()[1])


@contextmanager
def lost(workshop: Path) -> Iterator[AttackEnvironment]:
    """Yield an environment for attacks that may succeed because layers are missing.

    Shared memory that they leave is removed.
    """
    with prepared(workshop) as ground:
        try:
            yield ground
        finally:
            for segment in Path("/dev/shm").glob(f"{ground.mark}*"):
                segment.unlink()


def called(mark: str) -> Iterator[int]:
    """Yield processes that have set this name."""
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if (folder / "comm").read_text().strip() == mark:
                yield int(folder.name)
        except OSError:
            continue  # the process has just exited
