"""The proctor's binary and the fork server's library, built once for each compiler."""

from __future__ import annotations

import asyncio
import logging
import platform
import subprocess
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import NamedTuple

from ioi_eval.engines.contract import artifact_key
from ioi_eval.engines.embedded.toolchains import STAGE_PATH
from ioi_eval.engines.threads import run_command
from ioi_eval.model.errors import EngineUnavailable
from ioi_eval.model.job import Toolchain
from ioi_eval.store import Store
from ioi_eval.store.compiling import (
    PROCTOR,
    WAITING,
    fork_server_arguments,
    proctor_arguments,
    sources_digest,
)
from ioi_eval.store.contents import convert_store_errors
from ioi_eval.store.resources import bundled_binary, proctor_sources

_log, _package = logging.getLogger(__name__), logging.getLogger("ioi_eval")
_TOLD = "building %s, once per machine: 5 s, or up to a minute on a busy machine"
_MAX_TRIAL_S = 60.0  # maximum seconds for a trial run, which normally needs milliseconds

_MAX_ERROR_BYTES = 4000  # maximum bytes of a compiler's output in a message
INSTALL_COMPILER = "apt-get install g++"


class Binary(NamedTuple):
    """A binary in use. `origin`: that the package bundles it, or why it was built on this machine."""

    content: bytes
    origin: str


async def get_proctor_binary(compiler: Toolchain | None, sources: Path, store: Store, folder: Path) -> Binary:
    """Return the proctor's binary. `folder` is a private folder of the caller for a build's files."""
    brought = await _find_bundled_binary(PROCTOR, sources.parent, partial(_can_start, folder))
    if isinstance(brought, Binary):
        return brought
    if compiler is None:
        raise EngineUnavailable(
            f"no C++ compiler was found in {STAGE_PATH}, and {brought}. Install one: {INSTALL_COMPILER}"
        )
    arguments = proctor_arguments(_list_source_files(sources), str(folder / "proctor-built"))
    return await _build_once(proctor_key(compiler, sources), compiler, arguments, sources, store, brought)


async def find_fork_server_library(
    compiler: Toolchain | None, python: Toolchain, sources: Path, store: Store, folder: Path
) -> Binary:
    """Return the library of the fork server. `sources` is the folder `graders`."""
    brought = await _find_bundled_binary(WAITING, sources, partial(_can_load, python))
    if isinstance(brought, Binary):
        return brought
    if compiler is None:
        raise EngineUnavailable(f"a C++ compiler is missing, and {brought}")
    files = [*proctor_sources(sources / "proctor"), *proctor_sources(sources / "python")]
    command = (compiler.command, *fork_server_arguments(WAITING))
    key = artifact_key("waiting", platform.machine(), compiler, command, files)
    arguments = fork_server_arguments(str(folder / WAITING))
    return await _build_once(key, compiler, arguments, sources, store, brought)


async def _find_bundled_binary(
    name: str, sources: Path, works: Callable[[Path], Awaitable[bool]]
) -> Binary | str:
    """Return the bundled binary, or the reason why it cannot be used."""
    machine = platform.machine()
    bundled = bundled_binary(name, machine, sources_digest(sources))
    if isinstance(bundled, str):
        return bundled
    if not await works(bundled):
        return "the bundled binary does not work with this machine's libraries"
    return Binary(await asyncio.to_thread(bundled.read_bytes), f"came with the package, for {machine}")


async def _can_start(folder: Path, proctor: Path) -> bool:
    tried = folder / "proctor-shipped"
    tried.write_bytes(await asyncio.to_thread(proctor.read_bytes))
    tried.chmod(0o755)
    try:
        probe = await run_command([str(tried), "probe"], cwd=folder, seconds=_MAX_TRIAL_S, env={})
    except (OSError, TimeoutError):
        return False
    finally:
        tried.unlink()
    return bool(probe.stdout)


async def _can_load(python: Toolchain, library: Path) -> bool:
    """Return True if the library loads: it may need a newer C library than this machine has."""
    command = (python.path, "-I", "-c", "import ctypes, sys; ctypes.PyDLL(sys.argv[1])", str(library))
    try:
        return (await run_command(command, seconds=_MAX_TRIAL_S, env={})).returncode == 0
    except (OSError, TimeoutError):
        return False


async def _build_once(
    key: str, compiler: Toolchain, arguments: tuple[str, ...], sources: Path, store: Store, why: str
) -> Binary:
    """Build a binary. `why` is the reason why the bundled binary cannot be used."""
    with convert_store_errors(store, EngineUnavailable):
        pin = store.pin(key)
    with pin:
        if (binary := store.get(key)) is None:
            async with store.creation_lock(key):  # several processes may start to build the same proctor
                if (binary := store.get(key)) is None:
                    output = await _build(compiler, arguments, sources)
                    with convert_store_errors(store, EngineUnavailable):
                        binary = store.put(key, output, executable=True)
        return Binary(binary.read_bytes(), f"built here by {compiler.name}: {why}")


def proctor_key(compiler: Toolchain, sources: Path) -> str:
    command = (compiler.command, *proctor_arguments(_list_source_files(sources), "proctor"))
    return artifact_key("proctor", platform.machine(), compiler, command, proctor_sources(sources))


def _list_source_files(sources: Path) -> list[str]:
    return [path.name for path in sources.glob("*.cpp")]


async def _build(compiler: Toolchain, arguments: tuple[str, ...], sources: Path) -> Path:
    """Run the compiler. It is the only program outside a sandbox, because the proctor is still missing."""
    output = Path(arguments[arguments.index("-o") + 1])
    program = "the fork server library" if output.name == WAITING else "the proctor"
    # This message is printed even if logging is not configured, for instance in a trainer, because the build
    # may last a minute.
    _log.log(logging.INFO if _package.level else logging.WARNING, _TOLD, program)
    compilation = await run_command(
        [compiler.path, *arguments],
        cwd=sources,
        stderr=subprocess.STDOUT,
        env={"PATH": STAGE_PATH, "LANG": "C.UTF-8", "TMPDIR": str(output.parent)},
    )
    if compilation.returncode != 0:
        error_output = compilation.stdout[:_MAX_ERROR_BYTES].decode(errors="replace")
        raise EngineUnavailable(f"the proctor does not compile with {compiler.path}:\n{error_output}")
    return output
