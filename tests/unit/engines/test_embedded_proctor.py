from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from engine_helpers import alive, mark, until

from ioi_eval import Store
from ioi_eval.engines.embedded.proctor import proctor_binary, proctor_key
from ioi_eval.engines.embedded.toolchains import find_compiler
from ioi_eval.errors import EngineUnavailable
from ioi_eval.models import Toolchain


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


def compiler(tmp_path: Path, text: str) -> Toolchain:
    path = tmp_path / "g++"
    path.write_text(f"#!/bin/bash\n{text}\n")
    path.chmod(0o755)
    return Toolchain(command="g++", path=str(path), version="1", identity="g++ 1")


async def test_no_compiler(sources: Path, own_store: Store, tmp_path: Path) -> None:
    with pytest.raises(EngineUnavailable, match=r"apt-get install g\+\+"):
        await proctor_binary(None, sources, own_store, tmp_path)


async def test_sources_that_do_not_compile(sources: Path, own_store: Store, tmp_path: Path) -> None:
    (sources / "x.hpp").write_text("#define X surely_unknown\n")
    with pytest.raises(EngineUnavailable, match="surely_unknown"):
        await proctor_binary(find_compiler(), sources, own_store, tmp_path)
    assert own_store.size() == 0


async def test_built_once_per_source_and_compiler(sources: Path, own_store: Store, tmp_path: Path) -> None:
    counting = compiler(
        tmp_path,
        f'echo x >> {tmp_path}/count; while [ "$1" != -o ]; do shift; done; echo binary > "$2"',
    )
    for _ in range(3):
        assert await proctor_binary(counting, sources, own_store, tmp_path) == b"binary\n"
    assert (tmp_path / "count").read_text() == "x\n"
    (sources / "x.hpp").write_text("#define X 1\n")
    await proctor_binary(counting, sources, own_store, tmp_path)
    assert (tmp_path / "count").read_text() == "x\nx\n"


def test_key_tells_sources_and_compilers_apart(sources: Path, tmp_path: Path) -> None:
    one = compiler(tmp_path, "")
    other = Toolchain(command="g++", path=one.path, version="1", identity="g++ 2")
    keys = {proctor_key(one, sources), proctor_key(other, sources)}
    (sources / "notes.txt").write_text("no source")
    assert proctor_key(one, sources) in keys
    (sources / "main.cpp").rename(sources / "other.cpp")
    assert len(keys | {proctor_key(one, sources)}) == 3


async def test_a_cancelled_build_leaves_no_compiler(sources: Path, own_store: Store, tmp_path: Path) -> None:
    marked = mark()
    slow = compiler(tmp_path, f"trap '' TERM; sleep {marked} & wait")
    task = asyncio.create_task(proctor_binary(slow, sources, own_store, tmp_path))
    await until(lambda: bool(alive(marked)))
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await until(lambda: not alive(marked))
    assert own_store.size() == 0
