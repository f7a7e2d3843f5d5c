"""Caches slow lookups whose results do not change while tests run: compilers, entry points, sources."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable, Collection
from functools import cache, partial
from importlib.metadata import EntryPoints, entry_points
from pathlib import Path
from typing import Any

import msgspec

from ioi_eval import registries
from ioi_eval.engines import health_checks
from ioi_eval.engines.embedded import engine, proctor
from ioi_eval.engines.embedded.toolchains import find_python, find_toolchains
from ioi_eval.engines.environment import CALLER
from ioi_eval.model.job import Toolchain
from ioi_eval.store import resources

Built = Callable[[Path, Callable[[Path], object]], Path]


def install_cached_lookups(
    put: Callable[[object, str, object], None] = setattr, *, told: bytes = b""
) -> None:
    """Replace slow lookups of the package by cached ones.

    Args:
        put: sets an attribute, such as `MonkeyPatch.setattr`.
        told: the toolchains of another process, from `encode_toolchains`.
    """
    if told:
        _asked.know(told)
    for module in (engine, health_checks):
        put(module, "find_toolchains", cached_toolchains)
    put(registries, "entry_points", cached_entry_points)
    for name in ("load_proctor_sources", "hash_sources"):
        put(proctor, name, _once_of_the_checkout(getattr(proctor, name)))


def share_lookups(folder: Path, built: Built) -> None:
    """Search for compilers once for all processes that share this folder."""
    _asked.built = partial(_built_in, folder, built)


def cached_toolchains(python: str = "", promised: Collection[str] = ()) -> dict[str, Toolchain]:
    return _asked.tools(python, tuple(promised))


def sandbox_tool(command: str = "g++") -> Toolchain:
    """Return the toolchain that sandboxes see, with a constant version and identity.

    A shell may find a different compiler first in PATH.
    """
    path = cached_toolchains()[command].path
    return Toolchain(command=command, path=path, version="1", identity="1")


def cached_entry_points(*, group: str) -> EntryPoints:
    return _installed(group, _places())


def encode_toolchains() -> bytes:
    return msgspec.json.encode(cached_toolchains())


def script_with_known_tools(file: Path) -> str:
    """Return the first lines of a Python script that uses the cached compilers, written to `file`."""
    file.write_bytes(encode_toolchains())
    tests = str(Path(__file__).parents[1])
    return (
        f"import sys\nsys.path.append({tests!r})\nfrom support.cached_lookups import install_cached_lookups\n"
        f"install_cached_lookups(told=open({str(file)!r}, 'rb').read())\n"
    )


Look = Callable[[], dict[str, Toolchain]]


class _Asked:
    """The toolchains of this machine, for each requested Python."""

    def __init__(self) -> None:
        self.built: Callable[[str, Look], dict[str, Toolchain]] = lambda _, look: look()
        self._found = dict[tuple[str, tuple[str, ...], str], dict[str, Toolchain]]()

    def know(self, told: bytes) -> None:
        self._found["", (), ""] = msgspec.json.decode(told, type=dict[str, Toolchain])

    def tools(self, python: str, promised: tuple[str, ...]) -> dict[str, Toolchain]:
        key = python, promised, sys.executable if python == CALLER else ""
        if key not in self._found:
            self._found[key] = self.built(repr(key), lambda: self._look(python, promised))
        return dict(self._found[key])

    def _look(self, python: str, promised: tuple[str, ...]) -> dict[str, Toolchain]:
        """Return the toolchains with the requested Python. All other tools are searched for once."""
        if not (python or promised):
            return find_toolchains()
        tools, chosen = self.tools("", ()), find_python(python, promised)
        tools.pop("python3", None)
        return tools if chosen is None else {**tools, "python3": chosen}


_asked = _Asked()


def _built_in(folder: Path, built: Built, key: str, look: Look) -> dict[str, Toolchain]:
    name = f"toolchains-{hashlib.sha256(key.encode()).hexdigest()[:16]}"
    file = built(folder / name, lambda new: new.write_bytes(msgspec.json.encode(look())))
    return msgspec.json.decode(file.read_bytes(), type=dict[str, Toolchain])


def _once_of_the_checkout(read_file: Callable[[Path], Any]) -> Callable[[Path], Any]:
    """Return a function that caches `read` for folders of the checkout only. Tests change other folders."""
    once, checkout = cache(read_file), resources.graders_folder()
    return lambda folder: once(folder) if folder.is_relative_to(checkout) else read_file(folder)


@cache
def _installed(group: str, folders: tuple[str, ...]) -> EntryPoints:
    assert folders == _places(), "the cached folders of sys.path have changed"
    return entry_points(group=group)


def _places() -> tuple[str, ...]:
    """Return the folders of sys.path that may contain installed packages."""
    return tuple(path for path in sys.path if _may_have_packages(Path(path)))


def _may_have_packages(folder: Path) -> bool:
    suffixes = {".dist-info", ".egg-info", ".egg"}
    return (
        not folder.is_dir()
        or folder.suffix == ".egg"
        or any(path.suffix.lower() in suffixes for path in folder.iterdir())
    )
