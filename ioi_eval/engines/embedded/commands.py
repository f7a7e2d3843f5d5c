"""The programs of this machine that a box can use: where they lie, who may start them, what they say.

A box sees the system's folders only. So a toolchain is looked for where a stage would find it, and only one
that everybody may read counts.
"""

from __future__ import annotations

import stat
import subprocess
from collections.abc import Iterable
from pathlib import Path

STAGE_PATH = "/usr/local/bin:/usr/bin:/bin"
SYSTEM_FOLDERS = ("/usr", "/bin", "/lib", "/lib64")  # as graders/proctor/room.cpp has them
_ASK_SECONDS = 20.0


def seen_in_a_box(path: Path) -> bool:
    """Return True if a path really lies where a box has the system's folders."""
    real = path.resolve()
    return any(real.is_relative_to(folder) for folder in SYSTEM_FOLDERS)


def find_command(name: str, folders: Iterable[str] = tuple(STAGE_PATH.split(":"))) -> Path | None:
    """The first of that name which everybody may start."""
    candidates = (Path(folder) / name for folder in folders)
    return next((path for path in candidates if everybody_may_start(path)), None)


def everybody_may_start(path: Path) -> bool:
    try:
        real = path.resolve(strict=True)
        mode = real.stat().st_mode
    except (OSError, RuntimeError):  # RuntimeError: a loop of links
        return False
    return stat.S_ISREG(mode) and mode & 0o5 == 0o5 and everybody_may_enter(real.parent)


def everybody_may_enter(folder: Path) -> bool:
    """Return True if a user without rights of their own can read the folder's files."""
    return all(place.stat().st_mode & stat.S_IXOTH for place in (folder, *folder.parents))


def ask(command: list[str]) -> str:
    """Return a command's output on both streams; empty if it cannot be started. `g++ -v` speaks on stderr."""
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=_ASK_SECONDS,
            env={"PATH": STAGE_PATH, "LANG": "C.UTF-8"},
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.decode(errors="replace")
