"""Compiler commands for the sandbox binaries, used by engines and by the build of a wheel.

Only the standard library is imported, because a wheel is built without the package's dependencies.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path

PROCTOR = "proctor"
# Compiler flags with which the proctor compares large outputs as fast as with -O2, and compiles in a quarter
# less time.
_FLAGS = ("-std=c++17", "-O1", "-finline-functions", "-finline-small-functions", "-ftree-pre", "-pipe")
# Names in a wheel: the folder with a folder of binaries for each machine type, and the file with the hash of
# their sources.
BINARIES, SOURCES = "binaries", "sources.sha256"


def hash_sources(graders: Path) -> str:
    """Return a hash of everything that the binaries are built from."""
    arguments = repr((proctor_compiler_arguments((), PROCTOR), fork_server_compiler_arguments(WAITING)))
    return hash_files(graders, [*graders.glob("proctor/*.?pp"), *graders.glob("python/*.?pp")], arguments)


def hash_files(folder: Path, files: Iterable[Path], extra: str = "") -> str:
    """Return a hash of the names and contents of files in a folder, and of `extra`."""
    digest = hashlib.sha256(extra.encode())
    for path in sorted(files):
        file_content = path.read_bytes()
        digest.update(f"{path.relative_to(folder)} {len(file_content)}\n".encode() + file_content)
    return digest.hexdigest()


def proctor_compiler_arguments(sources: Iterable[str], output: str) -> tuple[str, ...]:
    """Return the arguments of a C++17 compiler that builds the proctor from the names of all its .cpp files.

    All files are compiled as one unit, so that the library's headers, which take most of the time, are read
    once.
    """
    include_arguments, main_source = [], ""
    for source in sorted(sources):
        if source.endswith("main.cpp"):
            main_source = source
        else:
            include_arguments += ["-include", source]
    return (*_FLAGS, "-static", "-s", "-o", output, *include_arguments, main_source)


# Names of those sources of the proctor that confine a program.
_CONFINING_SOURCES = (
    "child",
    "elf",
    "files",
    "idle_time",
    "landlock",
    "mounts",
    "process",
    "resource_usage",
    "seccomp",
    "system_calls",
)
WAITING = "waiting.so"


def fork_server_compiler_arguments(output: str) -> tuple[str, ...]:
    """Return the arguments of a C++17 compiler that builds the fork server's library in the folder `graders`.

    A fork server starts Python programs as forks of one interpreter. Its library confines the programs with
    the proctor's sources. Of the compiler's libraries, it contains only the functions that it calls, because
    other functions need a newer C library. It exports none of these functions, because C++ modules of Python
    have functions with the same names.
    """
    included_sources = (
        *(f"proctor/{name}.cpp" for name in (*_CONFINING_SOURCES, "supervisor", "messages")),
        "python/interpreter_exit.cpp",
    )
    include_arguments = [
        argument for included_source in included_sources for argument in ("-include", included_source)
    ]
    compiler_flags = (*_FLAGS, "-fPIC", "-shared", "-static-libstdc++", "-static-libgcc", "-s")
    linker_flags = ("-ffunction-sections", "-Wl,--gc-sections", "-Wl,--exclude-libs,ALL")
    return (
        *compiler_flags,
        *linker_flags,
        "-I",
        "proctor",
        "-o",
        output,
        *include_arguments,
        "python/fork_server_library.cpp",
    )
