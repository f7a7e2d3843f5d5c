"""Commands that compile the confining binaries, for an engine and for a wheel that brings them.

A wheel is built where the package's dependencies are not installed: nothing but the standard library here.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path

PROCTOR = "proctor"
# As fast as with -O2 where comparisons of large outputs spend their time, and a quarter less to compile.
_FLAGS = ("-std=c++17", "-O1", "-finline-functions", "-finline-small-functions", "-ftree-pre", "-pipe")
BINARIES, SOURCES = (
    "binaries",
    "sources.sha256",
)  # in a wheel: a folder per machine, and what they are made of


def sources_digest(graders: Path) -> str:
    """Changes with whatever the binaries are made of."""
    arguments = repr((proctor_arguments((), PROCTOR), waiting_arguments(WAITING)))
    return digest_of(graders, [*graders.glob("proctor/*.?pp"), *graders.glob("python/*.?pp")], arguments)


def digest_of(folder: Path, files: Iterable[Path], more: str = "") -> str:
    """Hash names and contents of files in a folder, and more."""
    digest = hashlib.sha256(more.encode())
    for path in sorted(files):
        content = path.read_bytes()
        digest.update(f"{path.relative_to(folder)} {len(content)}\n".encode() + content)
    return digest.hexdigest()


def proctor_arguments(sources: Iterable[str], output: str) -> tuple[str, ...]:
    """Return a C++17 compiler's arguments for the proctor, given the names of all its .cpp files.

    All are compiled as one: most of the time goes into the library's headers, which are then read once.
    """
    ahead, main = [], ""
    for source in sorted(sources):
        if source.endswith("main.cpp"):
            main = source
        else:
            ahead += ["-include", source]
    return (*_FLAGS, "-static", "-s", "-o", output, *ahead, main)


# What confines a program, without what judges it.
_CONFINING = ("calls", "child", "elf", "files", "idling", "landlock", "meter", "mounts", "process", "seccomp")
WAITING = "waiting.so"


def waiting_arguments(output: str) -> tuple[str, ...]:
    """Return a C++17 compiler's arguments, in the folder `graders`, for the library of waiting interpreters.

    It confines programs by the proctor's own sources. Of the compiler's libraries it holds only what it
    calls, and shows nothing: the rest asks for a newer C library, and modules in C++ have the same names.
    """
    units = (*(f"proctor/{name}.cpp" for name in (*_CONFINING, "supervisor", "wire")), "python/ending.cpp")
    ahead = [word for unit in units for word in ("-include", unit)]
    flags = (*_FLAGS, "-fPIC", "-shared", "-static-libstdc++", "-static-libgcc", "-s")
    bare = ("-ffunction-sections", "-Wl,--gc-sections", "-Wl,--exclude-libs,ALL")
    return (*flags, *bare, "-I", "proctor", "-o", output, *ahead, "python/waiting.cpp")
