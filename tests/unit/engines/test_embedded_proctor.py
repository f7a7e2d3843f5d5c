from __future__ import annotations

import _ctypes
import asyncio
import errno
import logging
import os
import platform
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from engine_helpers import alive, mark
from support.engines import compiler_in_shell
from support.waiting import until

from ioi_eval import Store
from ioi_eval.engines.embedded import EmbeddedEngine, engine
from ioi_eval.engines.embedded.proctor import (
    Binary,
    find_fork_server_library,
    get_proctor_binary,
    make_proctor_key,
)
from ioi_eval.engines.embedded.toolchains import find_compiler
from ioi_eval.errors import EngineUnavailable
from ioi_eval.models import Toolchain
from ioi_eval.store import resources
from ioi_eval.store.compiling import BINARIES, PROCTOR, SOURCES, WAITING, hash_sources

LOADABLE = Path(_ctypes.__file__).read_bytes()
PYTHON = Toolchain(command="python3", path=sys.executable, version="3", identity="python 3")


@pytest.fixture
def sources(tmp_path: Path) -> Path:
    folder = tmp_path / "sources"
    folder.mkdir()
    (folder / "main.cpp").write_text('#include "x.hpp"\nint main() { return X; }\n')
    (folder / "x.hpp").write_text("#define X 0\n")
    return folder


@pytest.fixture
def own_store(tmp_path: Path) -> Store:
    return Store(tmp_path / "store")


async def test_proctor_build_without_compiler_is_engine_unavailable(
    sources: Path, own_store: Store, tmp_path: Path
) -> None:
    with pytest.raises(EngineUnavailable, match=r"apt-get install g\+\+"):
        await get_proctor_binary(None, sources, own_store, tmp_path)


async def test_proctor_sources_with_error_are_engine_unavailable(
    sources: Path, own_store: Store, tmp_path: Path
) -> None:
    (sources / "x.hpp").write_text("#define X surely_unknown\n")
    with pytest.raises(EngineUnavailable, match="surely_unknown"):
        await get_proctor_binary(find_compiler(), sources, own_store, tmp_path)
    assert own_store.size() == 0


async def test_proctor_is_built_once_per_source_and_compiler(
    sources: Path, own_store: Store, tmp_path: Path
) -> None:
    counting = compiler_in_shell(
        tmp_path,
        f'echo x >> {tmp_path}/count; while [ "$1" != -o ]; do shift; done; echo binary > "$2"',
    )
    for _ in range(3):
        assert (await get_proctor_binary(counting, sources, own_store, tmp_path)).content == b"binary\n"
    assert (tmp_path / "count").read_text() == "x\n"
    (sources / "x.hpp").write_text("#define X 1\n")
    await get_proctor_binary(counting, sources, own_store, tmp_path)
    assert (tmp_path / "count").read_text() == "x\nx\n"


async def test_concurrent_processes_build_proctor_once(sources: Path, tmp_path: Path) -> None:
    """For example processes of a trainer that start on a new machine with a shared cache."""
    counting = compiler_in_shell(
        tmp_path,
        f'echo x >> {tmp_path}/count; while [ "$1" != -o ]; do shift; done; sleep 0.1; echo binary > "$2"',
    )
    folders = [tmp_path / name for name in "abc"]
    for folder in folders:
        folder.mkdir()
    stores = (Store(tmp_path / "store") for _ in folders)
    builds = (
        get_proctor_binary(counting, sources, *store_and_folder)
        for store_and_folder in zip(stores, folders, strict=True)
    )
    assert {built.content for built in await asyncio.gather(*builds)} == {b"binary\n"}
    assert (tmp_path / "count").read_text() == "x\n"


@pytest.mark.parametrize(("where", "step"), [(shutil, "copyfile"), (os, "open")])
async def test_full_cache_in_proctor_build_is_engine_unavailable(
    sources: Path,
    own_store: Store,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    where: ModuleType,
    step: str,
) -> None:
    quick = compiler_in_shell(tmp_path, 'while [ "$1" != -o ]; do shift; done; echo binary > "$2"')

    do_step = getattr(where, step)

    def full(*paths_and_flags: Any, **options: Any) -> Any:
        if str(own_store.root) in str(paths_and_flags):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return do_step(*paths_and_flags, **options)

    monkeypatch.setattr(where, step, full)
    message = f"cache {own_store.root} \\(No space left on device\\). Free space there"
    with pytest.raises(EngineUnavailable, match=message):
        await get_proctor_binary(quick, sources, own_store, tmp_path)
    assert own_store.size() == 0


@pytest.mark.parametrize(("level", "level_name"), [(logging.NOTSET, "WARNING"), (logging.INFO, "INFO")])
async def test_proctor_build_is_logged_once(
    sources: Path,
    own_store: Store,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    level: int,
    level_name: str,
) -> None:
    """The message is a warning, so that Python shows it without any logging setup."""
    quick = compiler_in_shell(tmp_path, 'while [ "$1" != -o ]; do shift; done; echo binary > "$2"')
    with caplog.at_level(level, logger="ioi_eval"):
        for _ in range(2):
            await get_proctor_binary(quick, sources, own_store, tmp_path)
    [record] = caplog.records
    assert record.message.startswith("building the proctor, once per machine: ")
    assert record.levelname == level_name


@pytest.fixture
def bundled_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Return a package with an invalid proctor of the sources in `graders_folder`, as from a wheel."""
    graders, package = tmp_path / "graders", tmp_path / "package"
    (graders / "proctor").mkdir(parents=True)
    (graders / "proctor" / "main.cpp").write_text("int main() {}\n")
    binaries = package / "_data" / BINARIES / platform.machine()
    binaries.mkdir(parents=True)
    (binaries.parent / SOURCES).write_text(hash_sources(graders) + "\n")
    (binaries / PROCTOR).write_text("#!/bin/sh\necho '{}'\n")
    (binaries / WAITING).write_text("library")
    monkeypatch.setattr(resources, "PACKAGE", package)
    yield binaries


async def test_packaged_proctor_needs_no_compiler(
    bundled_package: Path, own_store: Store, tmp_path: Path
) -> None:
    graders, origin = tmp_path / "graders", f"came with the package, for {platform.machine()}"
    (bundled_package / WAITING).write_bytes(LOADABLE)
    proctor = await get_proctor_binary(None, graders / "proctor", own_store, tmp_path)
    library = await find_fork_server_library(None, PYTHON, graders, own_store, tmp_path)
    assert b"echo" in proctor.content and library.content == LOADABLE
    assert (proctor.origin, library.origin) == (origin, origin)
    assert own_store.size() == 0


NOT_OF_THESE_LIBRARIES = "the bundled binary does not work with this machine's libraries"


async def test_unloadable_packaged_library_is_rebuilt(
    bundled_package: Path, own_store: Store, tmp_path: Path
) -> None:
    """A bundled library may be linked to another version of the C library."""
    graders = tmp_path / "graders"
    (graders / "python").mkdir()
    quick = compiler_in_shell(tmp_path, 'while [ "$1" != -o ]; do shift; done; echo built > "$2"')
    built = await find_fork_server_library(quick, PYTHON, graders, own_store, tmp_path)
    assert built == (b"built\n", f"built here by g++ 1: {NOT_OF_THESE_LIBRARIES}")
    with pytest.raises(
        EngineUnavailable, match=f"a C\\+\\+ compiler is missing, and {NOT_OF_THESE_LIBRARIES}"
    ):
        await find_fork_server_library(None, PYTHON, graders, own_store, tmp_path)


FAULTS = {
    "of other sources": "the bundled binary was not built from the package's sources",
    "of another machine": f"the package has no bundled binary for {platform.machine()}",
    "does not run": NOT_OF_THESE_LIBRARIES,
    "says nothing": NOT_OF_THESE_LIBRARIES,
}


def damaged(folder: Path, fault: str) -> None:
    match fault:
        case "of another machine":
            folder.rename(folder.with_name("vax"))
        case "does not run":
            (folder / PROCTOR).write_bytes(b"\x7fELF of somebody else")
        case "says nothing":
            (folder / PROCTOR).write_text("#!/bin/sh\nexit 1\n")
        case "of other sources":
            (folder.parent / SOURCES).write_text("0" * 64)


@pytest.mark.parametrize("fault", FAULTS)
async def test_unsuitable_packaged_proctor_is_rebuilt(
    bundled_package: Path, own_store: Store, tmp_path: Path, fault: str
) -> None:
    damaged(bundled_package, fault)
    quick = compiler_in_shell(tmp_path, 'while [ "$1" != -o ]; do shift; done; echo binary > "$2"')
    built = await get_proctor_binary(quick, tmp_path / "graders" / "proctor", own_store, tmp_path)
    assert built == (b"binary\n", f"built here by g++ 1: {FAULTS[fault]}")


def test_sources_digest_changes_with_source(bundled_package: Path, tmp_path: Path) -> None:
    digest_before = hash_sources(tmp_path / "graders")
    (tmp_path / "graders" / "proctor" / "main.cpp").write_text("int main() { return 1; }\n")
    assert hash_sources(tmp_path / "graders") != digest_before


def test_proctor_key_depends_on_sources_and_compiler(sources: Path, tmp_path: Path) -> None:
    compiler = compiler_in_shell(tmp_path, "")
    other = Toolchain(command="g++", path=compiler.path, version="1", identity="g++ 2")
    keys = {make_proctor_key(compiler, sources), make_proctor_key(other, sources)}
    (sources / "notes.txt").write_text("no source")
    assert make_proctor_key(compiler, sources) in keys
    (sources / "main.cpp").rename(sources / "other.cpp")
    assert len(keys | {make_proctor_key(compiler, sources)}) == 3


async def test_cancelled_proctor_build_kills_compiler(
    sources: Path, own_store: Store, tmp_path: Path
) -> None:
    marked = mark()
    slow = compiler_in_shell(tmp_path, f"trap '' TERM; sleep {marked} & wait")
    task = asyncio.create_task(get_proctor_binary(slow, sources, own_store, tmp_path))
    await until(lambda: bool(alive(marked)))
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await until(lambda: not alive(marked))
    assert own_store.size() == 0


async def test_proctor_and_library_are_built_in_parallel(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    both = asyncio.Barrier(2)

    async def proctor(*arguments: Any) -> Binary:
        await both.wait()
        return await get_proctor_binary(*arguments)

    async def library(*arguments: Any) -> Binary:
        await both.wait()
        return await find_fork_server_library(*arguments)

    monkeypatch.setattr(engine, "get_proctor_binary", proctor)
    monkeypatch.setattr(engine, "find_fork_server_library", library)
    async with EmbeddedEngine(store=store, slots=1) as opened:
        assert (await opened.capabilities()).waiting is not None


async def test_failed_proctor_build_cancels_library_build(
    own_store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    began, ended = asyncio.Event(), asyncio.Event()

    async def proctor(*arguments: Any) -> Binary:
        await began.wait()
        raise EngineUnavailable("the proctor does not compile")

    async def library(*arguments: Any) -> Binary:
        began.set()
        try:
            return await asyncio.Future()
        finally:
            ended.set()

    monkeypatch.setattr(engine, "get_proctor_binary", proctor)
    monkeypatch.setattr(engine, "find_fork_server_library", library)
    with pytest.raises(EngineUnavailable, match="does not compile"):
        async with EmbeddedEngine(store=own_store, slots=1):
            pass
    assert ended.is_set()
