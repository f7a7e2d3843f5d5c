"""The proctor's binary: built from the sources that come with the package, once per compiler and source."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import os
import platform
import signal
from asyncio.subprocess import Process
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

import msgspec

from ioi_eval.engines.embedded.toolchains import STAGE_PATH
from ioi_eval.model.errors import EngineUnavailable
from ioi_eval.model.values import Toolchain
from ioi_eval.store import Store
from ioi_eval.store.resources import proctor_arguments

_WORDS = 4000  # bytes of a compiler's complaints that a message repeats
INSTALL_COMPILER = "apt-get install g++"


async def proctor_binary(compiler: Toolchain | None, sources: Path, store: Store, folder: Path) -> bytes:
    """The static binary. `folder` is a private one of the caller's, where a build may leave things."""
    if compiler is None:
        raise EngineUnavailable(f"no C++ compiler was found in {STAGE_PATH}. Install one: {INSTALL_COMPILER}")
    key = artifact_key(compiler, sources)
    with store.pin(key):
        found = store.get(key)
        if found is None:
            found = store.put(key, await _built(compiler, sources, folder), executable=True)
        return found.read_bytes()


def artifact_key(compiler: Toolchain, sources: Path) -> str:
    """As docs/protocol.md says under "Artifact key"."""
    document = {
        "v": 1,
        "kind": "proctor",
        "architecture": platform.machine(),
        "toolchain": compiler.identity,
        "command": [compiler.command, *proctor_arguments(_units(sources), "proctor")],
        "sources": [(path.name, hashlib.sha256(path.read_bytes()).hexdigest()) for path in _all(sources)],
    }
    return hashlib.sha256(msgspec.json.encode(document, order="sorted")).hexdigest()


def _all(sources: Path) -> list[Path]:
    return sorted(path for path in sources.iterdir() if path.suffix in {".cpp", ".hpp", ".h"})


def _units(sources: Path) -> list[str]:
    return [path.name for path in _all(sources) if path.suffix == ".cpp"]


async def _built(compiler: Toolchain, sources: Path, folder: Path) -> Path:
    """The one program that is started outside a box: there is nothing yet to make a box with."""
    output = folder / "proctor-built"
    process = await _started(
        asyncio.create_subprocess_exec(
            compiler.path,
            *proctor_arguments(_units(sources), str(output)),
            cwd=sources,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            env={"PATH": STAGE_PATH, "LANG": "C.UTF-8", "TMPDIR": str(folder)},
            start_new_session=True,
        )
    )
    words = await _to_its_end(process)
    if process.returncode != 0:
        text = words[:_WORDS].decode(errors="replace")
        raise EngineUnavailable(f"the proctor does not compile with {compiler.path}:\n{text}")
    return output


async def _started(starting: Coroutine[Any, Any, Process]) -> Process:
    """Cancelled while the process comes to be, it waits for it: only who knows it can end all of it."""
    task = asyncio.ensure_future(starting)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await _end(await task)
        raise


async def _to_its_end(process: Process) -> bytes:
    """What it says. Cancelled, it takes the compiler's own programs with it."""
    try:
        words, _ = await process.communicate()
    except BaseException:
        await _end(process)
        raise
    return words


async def _end(process: Process) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    await process.wait()
