"""The compilers and interpreters of this machine that a box can use: found, named, and told apart.

A box sees the system's folders only. So a toolchain is looked for where a stage would find it, and only one
that everybody may read counts: a virtual environment or a compiler under a home folder is invisible inside.
"""

from __future__ import annotations

import hashlib
import re
import stat
import subprocess
from collections.abc import Iterable
from pathlib import Path

from ioi_eval.models import Toolchain

STAGE_PATH = "/usr/local/bin:/usr/bin:/bin"
_ASK_SECONDS = 20.0
_CHUNK = 1 << 20
# Linked into every static binary, so a build with other ones could differ though the compiler is the same.
_LIBRARIES = ("libc.a", "libstdc++.a", "libm.a")


def toolchains() -> dict[str, Toolchain]:
    """What is there, by command."""
    found = (find_compiler(), find_python())
    return {toolchain.command: toolchain for toolchain in found if toolchain is not None}


def find_compiler() -> Toolchain | None:
    path = find_command("g++")
    if path is None:
        return None
    words = _output([str(path), "-v"])
    version = re.search(r"^gcc version (.*)$", words, re.MULTILINE)
    if version is None:
        return None  # something else under that name, or it does not start
    digest = _digest(words, _libraries(path))
    real = path.resolve()
    target = _first(r"^Target: (\S+)", words)
    identity = f"g++ {version[1].strip()} {target} {real} {digest}"
    return Toolchain(command="g++", path=str(path), version=_number(version[1]), identity=identity)


def find_python() -> Toolchain | None:
    path = find_command("python3")
    if path is None:
        return None
    # -I -S: neither variables of the environment nor site packages have a say in what it answers.
    words = _output([str(path), "-I", "-S", "-c", "import sys; print(sys.version)"])
    number = _number(words)
    if not number:
        return None
    identity = f"python3 {' '.join(words.split())} {path.resolve()}"
    return Toolchain(command="python3", path=str(path), version=number, identity=identity)


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
    """Whether a user without any rights of their own can get to what lies in the folder."""
    return all(place.stat().st_mode & stat.S_IXOTH for place in (folder, *folder.parents))


def _libraries(compiler: Path) -> list[Path]:
    named = (_output([str(compiler), f"-print-file-name={name}"]).strip() for name in _LIBRARIES)
    return [Path(name) for name in named if Path(name).is_absolute()]  # an unknown one is echoed as it is


def _digest(words: str, files: Iterable[Path]) -> str:
    digest = hashlib.sha256(words.encode())
    for path in files:
        with path.open("rb") as stream:
            while piece := stream.read(_CHUNK):
                digest.update(piece)
    return digest.hexdigest()[:16]


def _output(command: list[str]) -> str:
    """What a command says on either stream; empty where it cannot be started. `g++ -v` speaks on stderr."""
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


def _first(pattern: str, text: str) -> str:
    match = re.search(pattern, text, re.MULTILINE)
    return match[1] if match else ""


def _number(text: str) -> str:
    return _first(r"(\d+(?:\.\d+)+)", text)
