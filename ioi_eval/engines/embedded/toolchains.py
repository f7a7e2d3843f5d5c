"""The compilers and interpreters of this machine that a box can use, and the proctor that one of them builds.

A box sees the system's folders only. So a toolchain is looked for where a stage would find it, and only one
that everybody may read counts: a virtual environment or a compiler under a home folder is invisible inside.
What each language needs is in the languages' table; here is how a toolchain says which one it is.
"""

from __future__ import annotations

import hashlib
import platform
import re
import stat
import subprocess
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec

from ioi_eval.engines.threads import run_command
from ioi_eval.engines.values import artifact_key
from ioi_eval.model.errors import EngineUnavailable
from ioi_eval.model.values import Blob, NamedBlob, Toolchain
from ioi_eval.store import Store
from ioi_eval.store.resources import WAITING, proctor_arguments, waiting_arguments

STAGE_PATH = "/usr/local/bin:/usr/bin:/bin"
_SYSTEM_FOLDERS = ("/usr", "/bin", "/lib", "/lib64")  # as graders/proctor/room.cpp has them
_ASK_SECONDS = 20.0
_CHUNK = 1 << 20
# Linked into every static binary, so a build with other ones could differ though the compiler is the same.
_LIBRARIES = ("libc.a", "libstdc++.a", "libm.a")


def toolchains() -> dict[str, Toolchain]:
    """What is there and can be seen in a box, by command."""
    finders: tuple[Callable[[], Toolchain | None], ...] = (
        find_compiler,
        lambda: find_compiler("gcc"),
        find_python,
        lambda: find_python("pypy3"),
        find_java,
        find_rust,
        find_go,
    )
    with ThreadPoolExecutor(len(finders)) as threads:
        found = threads.map(lambda find: find(), finders)
        return {tool.command: tool for tool in found if tool is not None and seen_in_a_box(Path(tool.path))}


def seen_in_a_box(path: Path) -> bool:
    """Whether it really lies where a box has the system's folders."""
    real = path.resolve()
    return any(real.is_relative_to(folder) for folder in _SYSTEM_FOLDERS)


def find_compiler(name: str = "g++") -> Toolchain | None:
    path = find_command(name)
    if path is None:
        return None
    words = _output([str(path), "-v"])
    version = re.search(r"^gcc version (.*)$", words, re.MULTILINE)
    if version is None:
        return None  # something else under that name, or it does not start
    named = (_output([str(path), f"-print-file-name={name}"]).strip() for name in _LIBRARIES)
    digest = _digest(words, [Path(name) for name in named if Path(name).is_absolute()])
    real = path.resolve()
    target = _first(r"^Target: (\S+)", words)
    identity = f"{name} {version[1].strip()} {target} {real} {digest}"
    return Toolchain(
        command=name, path=str(path), version=_first(r"(\d+(?:\.\d+)+)", version[1]), identity=identity
    )


def find_python(name: str = "python3") -> Toolchain | None:
    # -I -S: neither variables of the environment nor site packages have a say in what it answers.
    question = ("-I", "-S", "-c", "import sys; print(sys.version)")
    return _asked(name, question, r"^(\d+(?:\.\d+)+)")


def find_java() -> Toolchain | None:
    """One that can compile: the program that runs classes comes without the rest, too."""
    path = find_command("java")
    if path is None or not everybody_may_start(path.resolve().with_name("javac")):
        return None
    return _asked("java", ("-version",), r'version "([^"]+)"')


def find_rust() -> Toolchain | None:
    """Its programs are linked by the C compiler and with its libraries, so that is part of what it is."""
    found, linker = _asked("rustc", ("-vV",), r"^release: (\S+)"), find_compiler("gcc")
    if found is None or linker is None or find_command("cc") is None:
        return None
    return msgspec.structs.replace(found, identity=f"{found.identity} {linker.identity}")


def find_go() -> Toolchain | None:
    return _asked("go", ("version",), r"^go version go(\S+)")


def _asked(name: str, question: Iterable[str], version: str) -> Toolchain | None:
    """The toolchain of that name, if it answers with a version."""
    path = find_command(name)
    if path is None:
        return None
    words = _output([str(path), *question])
    number = _first(version, words)
    if not number:
        return None  # something else under that name, or it does not start
    identity = f"{name} {' '.join(words.split())} {path.resolve()}"
    return Toolchain(command=name, path=str(path), version=number, identity=identity)


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


# --- the proctor's binary: built once per compiler and sources ---------------------------------------


_WORDS = 4000  # bytes of a compiler's complaints that a message repeats
INSTALL_COMPILER = "apt-get install g++"


async def proctor_binary(compiler: Toolchain | None, sources: Path, store: Store, folder: Path) -> bytes:
    """The static binary. `folder` is a private one of the caller's, where a build may leave things."""
    if compiler is None:
        raise EngineUnavailable(f"no C++ compiler was found in {STAGE_PATH}. Install one: {INSTALL_COMPILER}")
    output = folder / "proctor-built"
    arguments = proctor_arguments(_units(sources), str(output))
    return await _built_once(proctor_key(compiler, sources), compiler, arguments, output, sources, store)


async def waiting_library(compiler: Toolchain, sources: Path, store: Store, folder: Path) -> bytes:
    """What an interpreter waits with that forks a process for each test. `sources`: the folder `graders`."""
    files = [*proctor_sources(sources / "proctor"), *proctor_sources(sources / "python")]
    command = (compiler.command, *waiting_arguments(WAITING))
    key = artifact_key("waiting", platform.machine(), compiler, command, files)
    output = folder / WAITING
    return await _built_once(key, compiler, waiting_arguments(str(output)), output, sources, store)


async def _built_once(
    key: str, compiler: Toolchain, arguments: tuple[str, ...], output: Path, sources: Path, store: Store
) -> bytes:
    with store.pin(key):
        found = store.get(key)
        if found is None:
            await _build(compiler, arguments, sources, output.parent)
            found = store.put(key, output, executable=True)
        return found.read_bytes()


def proctor_key(compiler: Toolchain, sources: Path) -> str:
    command = (compiler.command, *proctor_arguments(_units(sources), "proctor"))
    return artifact_key("proctor", platform.machine(), compiler, command, proctor_sources(sources))


def proctor_sources(folder: Path) -> list[NamedBlob]:
    files = sorted(path for path in folder.iterdir() if path.suffix in {".cpp", ".hpp"})
    return [NamedBlob(name=path.name, content=Blob.of_file(path)) for path in files]


def _units(sources: Path) -> list[str]:
    return [path.name for path in sources.glob("*.cpp")]


async def _build(compiler: Toolchain, arguments: tuple[str, ...], sources: Path, folder: Path) -> None:
    """The one program that is started outside a box: there is nothing yet to make a box with."""
    done = await run_command(
        [compiler.path, *arguments],
        cwd=sources,
        stderr=subprocess.STDOUT,
        env={"PATH": STAGE_PATH, "LANG": "C.UTF-8", "TMPDIR": str(folder)},
    )
    if done.returncode != 0:
        text = done.stdout[:_WORDS].decode(errors="replace")
        raise EngineUnavailable(f"the proctor does not compile with {compiler.path}:\n{text}")
