"""What comes with the package: files, inside it when it is installed, beside it in a checkout.

And what other installed packages add to it, by entry points.
"""

from __future__ import annotations

from collections.abc import Iterable
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

from ioi_eval.model.errors import InputError, IoiEvalError

_PACKAGE = Path(__file__).resolve().parents[1]


def graders() -> Path:
    """The folder of what runs inside the box: the proctor's sources, the classic scripts."""
    return _folder("graders", _PACKAGE)


def examples() -> Path:
    """The folder of the example problems and the example dump."""
    return _folder("examples", _PACKAGE)


def piston() -> Path:
    """The folder of what servers need: our package for them."""
    return _folder("piston", _PACKAGE)


def proctor_arguments(sources: Iterable[str], output: str) -> tuple[str, ...]:
    """What a C++17 compiler is told to build the proctor, given the names of all its .cpp files.

    All are compiled as one: most of the time goes into the library's headers, which are then read once.
    """
    ahead, main = [], ""
    for source in sorted(sources):
        if source.endswith("main.cpp"):
            main = source
        else:
            ahead += ["-include", source]
    return ("-std=c++17", "-O2", "-static", "-s", "-o", output, *ahead, main)


# What confines a program, without what judges it.
_CONFINING = ("calls", "child", "elf", "files", "idling", "landlock", "meter", "process", "seccomp")
WAITING = "waiting.so"


def waiting_arguments(output: str) -> tuple[str, ...]:
    """What a C++17 compiler is told, in the folder `graders`, to build what an interpreter waits with.

    It confines programs by the proctor's own sources.
    """
    units = (f"proctor/{name}.cpp" for name in (*_CONFINING, "supervisor", "wire"))
    ahead = [word for unit in units for word in ("-include", unit)]
    flags = ("-std=c++17", "-O2", "-fPIC", "-shared", "-static-libstdc++", "-static-libgcc", "-s")
    return (*flags, "-I", "proctor", "-o", output, *ahead, "python/waiting.cpp")


def _folder(name: str, package: Path) -> Path:
    installed, beside = package / "_data" / name, package.parent / name
    if installed.is_dir():
        return installed
    # Beside an installed package lie those of other projects, among them many a folder called examples.
    if beside.is_dir() and (package.parent / "pyproject.toml").is_file():
        return beside
    raise IoiEvalError(f"the installation is not whole: {installed} is missing. Install the package again")


def installed(group: str) -> dict[str, Any]:
    """What installed packages offer under a group of entry points, by name. InputError: one is broken."""
    found = {}
    for entry in sorted(entry_points(group=group), key=lambda entry: entry.name):
        try:
            found[entry.name] = entry.load()
        except (ImportError, AttributeError) as error:
            owner = entry.dist.name if entry.dist else "an installed package"
            raise InputError(
                f"{entry.name!r} ({group}) cannot be loaded ({error})",
                where=owner,
                remedy="Mend that package or uninstall it",
            ) from error
    return found
