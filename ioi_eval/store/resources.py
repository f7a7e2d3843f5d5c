"""The package's own data: inside it when it is installed, beside it in a checkout.

And the memory of the machine.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path, PurePosixPath

from ioi_eval.model.errors import IoiEvalError
from ioi_eval.model.values import Blob, NamedBlob
from ioi_eval.store.compiling import BINARIES, SOURCES, digest_of

PACKAGE = Path(__file__).resolve().parents[1]
_UNIFIED, _MEMORY = "version 2", "version 1"
# Of each version of control groups, the places of its root and the file of a limit.
_GROUPS = {
    _UNIFIED: (("sys/fs/cgroup", "sys/fs/cgroup/unified"), "memory.max"),
    _MEMORY: (("sys/fs/cgroup/memory",), "memory.limit_in_bytes"),
}


@cache
def code_digest(package: Path = PACKAGE) -> str:
    """Hash the package's Python sources: two checkouts of one version may differ."""
    return digest_of(package, package.rglob("*.py"))


def graders() -> Path:
    """The folder of what runs inside the box: the proctor's sources, the classic scripts."""
    return _folder("graders", PACKAGE)


def proctor_sources(folder: Path) -> list[NamedBlob]:
    """Return the C++ sources and headers in a folder of `graders()`, by name."""
    files = sorted(path for path in folder.iterdir() if path.suffix in {".cpp", ".hpp"})
    return [NamedBlob(name=path.name, content=Blob.of_file(path)) for path in files]


def classic_scripts() -> dict[str, str]:
    """Return the `compile` and `run` of the classic contract, as texts by name."""
    return {name: (graders() / "classic" / name).read_text() for name in ("compile", "run")}


def examples() -> Path:
    """The folder of the example problems and the example dump."""
    return _folder("examples", PACKAGE)


def piston() -> Path:
    """The folder of what servers need: our package for them."""
    return _folder("piston", PACKAGE)


def shipped(name: str, machine: str, digest: str) -> Path | str:
    """A binary that came with the package, or why there is none for such machines of these sources."""
    folder = PACKAGE / "_data" / BINARIES
    made_of = folder / SOURCES
    if not made_of.is_file():
        return "none came with the package, which is used from its sources"
    if made_of.read_text().strip() != digest:
        return "the one that came with the package is not of the package's sources"
    found = folder / machine / name
    return found if found.is_file() else f"none came with the package for {machine}"


def _folder(name: str, package: Path) -> Path:
    installed, beside = package / "_data" / name, package.parent / name
    if installed.is_dir():
        return installed
    # Beside an installed package lie those of other projects, among them many a folder called examples.
    if beside.is_dir() and (package.parent / "pyproject.toml").is_file():
        return beside
    raise IoiEvalError(f"the installation is not whole: {installed} is missing. Install the package again")


def machine_memory(root: Path = Path("/")) -> int:
    """Return the bytes of memory that this machine has, or that our control groups give us of them.

    `root`: the folder of `proc` and `sys`.
    """
    whole = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return min([whole, *_limits_of_groups(root)])


def _limits_of_groups(root: Path) -> Iterator[int]:
    """Yield the limits of this process's own groups and of all groups above them, of both versions."""
    try:
        lines = (root / "proc/self/cgroup").read_text().splitlines()
    except OSError:
        lines = []
    places = dict.fromkeys(_GROUPS, "/")  # a container may not see its group under the path it is told
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if not controllers:
            places[_UNIFIED] = path
        elif "memory" in controllers.split(","):
            places[_MEMORY] = path
    for kind, path in places.items():
        tops, name = _GROUPS[kind]
        group = PurePosixPath(path.lstrip("/"))
        for top in tops:
            for each in (group, *group.parents):
                with suppress(OSError):
                    text = (root / top / each / name).read_text()
                    if text.strip().isdecimal():
                        yield int(text)
