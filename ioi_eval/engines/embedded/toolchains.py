"""The compilers and interpreters of this machine that a box can use.

What each language needs is in the languages' table; here is how toolchains that need more than a question say
which one they are.
"""

from __future__ import annotations

import hashlib
import platform
import re
import tempfile
import zipfile
from collections.abc import Callable, Collection, Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import msgspec

from ioi_eval.engines.embedded.commands import ask, everybody_may_start, find_command, seen_in_a_box
from ioi_eval.engines.embedded.interpreters import find_pypy, find_python
from ioi_eval.engines.linking import LINKING, MACHINE, QUICK_LINKER, TRIAL, WORKS
from ioi_eval.model.job import Toolchain
from ioi_eval.model.languages import LANGUAGES

_CHUNK = 1 << 20
# Linked into every static binary, so a build with other ones could differ though the compiler is the same.
_LIBRARIES = ("libc.a", "libstdc++.a", "libm.a")


def toolchains(python: str = "", promised: Collection[str] = ()) -> dict[str, Toolchain]:
    """Return the toolchains that boxes can see, by command. `python`, `promised`: see `find_python`."""
    own: dict[str, Callable[[], Toolchain | None]] = {
        "g++": partial(find_linking, "g++"),
        "gcc": partial(find_linking, "gcc"),
        "python3": partial(find_python, python, promised),
        "pypy3": find_pypy,
        "java": find_java,
        "rustc": partial(find_linked, "rustc", "-vV"),
        "ghc": find_haskell,
        "kotlinc": find_kotlin,
        "mcs": partial(find_mono, "mcs", "/proc"),
        "mono": partial(find_mono, "mono"),
    }
    asked = {
        tool: partial(find_asked, tool, *(language.tells if tool == language.command else ("--version",)))
        for language in LANGUAGES
        for tool in language.tools
    }
    finders = (asked | own).values()
    with ThreadPoolExecutor(len(finders)) as threads:
        found = threads.map(lambda find: find(), finders)
        return {
            tool.command: tool
            for tool in found
            if tool is not None and (bool(tool.read) or seen_in_a_box(Path(tool.path)))
        }


def find_compiler(name: str = "g++") -> Toolchain | None:
    path = find_command(name)
    if path is None:
        return None
    words = ask([str(path), "-v"])
    version = re.search(r"^gcc version (.*)$", words, re.MULTILINE)
    if version is None:
        return None  # something else under that name, or it does not start
    named = (ask([str(path), f"-print-file-name={name}"]).strip() for name in _LIBRARIES)
    real = path.resolve()
    digest = _digest(words, [real, *(Path(name) for name in named if Path(name).is_absolute())])
    target = _first(r"^Target: (\S+)", words)
    identity = f"{name} {version[1].strip()} {target} {real} {digest}"
    return Toolchain(
        command=name, path=str(path), version=_first(r"(\d+(?:\.\d+)+)", version[1]), identity=identity
    )


def find_linking(name: str) -> Toolchain | None:
    """Find a compiler, and a linker that is quicker than its own."""
    found = find_compiler(name)
    return None if found is None else msgspec.structs.replace(found, linker=quick_linker(found))


def quick_linker(compiler: Toolchain) -> str:
    """Return the identity of a linker that is quicker than the compiler's own, if a trial link works."""
    named = ask([compiler.path, f"-print-prog-name={QUICK_LINKER}"]).strip()
    path = Path(named) if "/" in named else find_command(QUICK_LINKER)
    if platform.machine() != MACHINE or path is None or not seen_in_a_box(path):
        return ""
    try:
        with tempfile.TemporaryDirectory(prefix="ioi-eval-") as folder:
            if not _links(compiler, Path(folder)):
                return ""
        version = _first(r"(\S+)$", ask([str(path), "--version"]))
        return f"gold {version} {_digest('', [path])}"
    except OSError:  # no room for a trial: the compiler's own links as well
        return ""


def _links(compiler: Toolchain, folder: Path) -> bool:
    source, program = folder / "trial", folder / "program"
    source.write_text(TRIAL)
    language = "c++" if compiler.command == "g++" else "c"
    words = ask([compiler.path, *LINKING, "-static", "-x", language, "-o", str(program), str(source)])
    return not words and ask([str(program)]).strip() == WORKS


def find_java() -> Toolchain | None:
    """Find a Java that can compile: the program that runs classes comes without the rest, too."""
    path = find_command("java")
    if path is None or not everybody_may_start(path.resolve().with_name("javac")):
        return None
    return find_asked("java", "-version", version=r'version "([^"]+)"')


def find_linked(name: str, *question: str) -> Toolchain | None:
    """Find a compiler whose programs the C compiler links: that one is part of its identity."""
    found, linker = find_asked(name, *question), find_compiler("gcc")
    if found is None or linker is None or find_command("cc") is None:
        return None
    return msgspec.structs.replace(found, identity=f"{found.identity} {linker.identity}")


def find_haskell() -> Toolchain | None:
    """Debian's keeps the list of its libraries outside of /usr: builds are shown it, and nothing else is."""
    found, place = find_linked("ghc", "--version"), Path("/var/lib/ghc")
    shown = (str(place),) if place.is_dir() else ()
    return None if found is None else msgspec.structs.replace(found, read=shown)


def find_mono(name: str, *more: str) -> Toolchain | None:
    """Find Mono. Its configuration is outside of /usr; its compiler reads which memory is its own."""
    found, places = find_asked(name, "--version"), ("/etc/mono/config", "/etc/mono/4.5")
    shown = (*(place for place in places if Path(place).exists()), *more)
    return None if found is None else msgspec.structs.replace(found, read=shown)


def find_kotlin() -> Toolchain | None:
    """By what its archive says of itself: the compiler takes seconds to tell its version."""
    path = find_command("kotlinc")
    archive = path and path.resolve().parents[1] / "lib" / "kotlin-compiler.jar"
    if path is None or archive is None:
        return None
    try:
        with zipfile.ZipFile(archive) as packed:
            words = packed.read("META-INF/MANIFEST.MF").decode(errors="replace")
        state = archive.stat()
    except (OSError, KeyError, zipfile.BadZipFile):
        return None
    version = _first(r"^Implementation-Version: (\S+)", words) or "unknown"
    identity = f"kotlinc {version} {path.resolve()} {state.st_size} {state.st_mtime_ns}"
    return Toolchain(command="kotlinc", path=str(path), version=version, identity=identity)


def find_asked(name: str, *question: str, version: str = r"(\d+(?:\.\d+)+)") -> Toolchain | None:
    """The toolchain of that name, if it answers with a version."""
    path = find_command(name)
    if path is None:
        return None
    words = ask([str(path), *question])
    number = _first(version, words)
    if not number:
        return None  # something else under that name, or it does not start
    identity = f"{name} {' '.join(words.split())} {path.resolve()}"
    return Toolchain(command=name, path=str(path), version=number, identity=identity)


def _digest(words: str, files: Iterable[Path]) -> str:
    digest = hashlib.sha256(words.encode())
    for path in files:
        with path.open("rb") as stream:
            while piece := stream.read(_CHUNK):
                digest.update(piece)
    return digest.hexdigest()[:16]


def _first(pattern: str, text: str) -> str:
    match = re.search(pattern, text, re.MULTILINE)
    return match[1] if match else ""
