"""Fixtures of the proctor, which is built once and runs with every combination of layers."""

from __future__ import annotations

import asyncio
import hashlib
import shutil
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest
from built_programs import (
    SOURCES,
    build_counted,
    build_program,
    build_sanitized,
    built_once,
    of_these_sources,
    waiting_library,
)
from harness import EVERYTHING, LANDLOCK_ALONE, NAMESPACES_ALONE, Bench

from ioi_eval import Store
from ioi_eval.engines.embedded.proctor import find_fork_server_library as engines_library
from ioi_eval.engines.embedded.proctor import get_proctor_binary
from ioi_eval.engines.embedded.toolchains import find_compiler, find_python
from ioi_eval.store.resources import graders_folder


@pytest.fixture(scope="session")
def workshop() -> Iterator[Path]:
    """Return a folder that an unprivileged user may enter, on the file system of sandboxes."""
    folder = Path(tempfile.mkdtemp(prefix="proctor-tests-", dir="/dev/shm"))
    folder.chmod(0o711)
    yield folder
    shutil.rmtree(folder)


@pytest.fixture(scope="session")
def shared(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Path:
    """Return a folder that all processes of a session share. `built_once` stores slow builds there."""
    base = tmp_path_factory.getbasetemp()
    return base.parent if hasattr(request.config, "workerinput") else base


@pytest.fixture(scope="session")
def kept(request: pytest.FixtureRequest, shared: Path) -> Path:
    """Return a folder that all workers share, and later runs too, if requested."""
    chosen = request.config.getoption("--kept")
    return Path(chosen) if chosen else shared


@pytest.fixture(scope="session")
def binaries(kept: Path) -> Path:
    """Return the folder for programs that tests build."""
    folder = kept / "binaries"
    folder.mkdir(exist_ok=True)
    return folder


@pytest.fixture(scope="session")
def proctor(workshop: Path, binaries: Path, shared_cache: Path, request: pytest.FixtureRequest) -> Path:
    """Return the proctor that engines build, or a build with sanitizers, or a build that counts executed lines."""
    folder = workshop / "proctor"
    if counters := request.config.getoption("--count"):
        built = built_once(binaries / of_these_sources("counted"), partial(build_counted, Path(counters)))
        shutil.copy(built, folder)
    elif request.config.getoption("--sanitize"):
        shutil.copy(built_once(binaries / of_these_sources("sanitized"), build_sanitized), folder)
    else:
        binary = get_proctor_binary(find_compiler(), SOURCES, Store(shared_cache), workshop)
        folder.write_bytes(asyncio.run(binary).content)
        folder.chmod(0o755)
    return folder


@pytest.fixture(scope="session")
def library(workshop: Path, binaries: Path, shared_cache: Path, request: pytest.FixtureRequest) -> bytes:
    """Return the library that engines build, or a build with sanitizers."""
    # a proctor with sanitizers limits no address space, so neither may the library
    if request.config.getoption("--sanitize"):
        return waiting_library(binaries, "waiting-sanitized", ["-D__SANITIZE_ADDRESS__"])
    python = find_python()
    assert python is not None
    return asyncio.run(
        engines_library(find_compiler(), python, graders_folder(), Store(shared_cache), workshop)
    ).content


@pytest.fixture(scope="session")
def compiled(workshop: Path, binaries: Path) -> Callable[[str], Path]:
    """Build a C++ program once, in a folder that sandboxes can read."""

    def build(code: str) -> Path:
        name = hashlib.sha256(code.encode()).hexdigest()
        folder = workshop / name
        if not folder.exists():
            shutil.copy(built_once(binaries / name, partial(build_program, code)), folder)
        return folder

    return build


@pytest.fixture(
    params=[EVERYTHING, LANDLOCK_ALONE, NAMESPACES_ALONE], ids=["everything", "landlock", "namespaces"]
)
def bench(
    request: pytest.FixtureRequest, workshop: Path, proctor: Path, compiled: Callable[[str], Path]
) -> Bench:
    return Bench(workshop=workshop, proctor=proctor, compiled=compiled, layers=request.param)
