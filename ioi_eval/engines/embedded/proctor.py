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

from ioi_eval.engines.contract import make_artifact_key
from ioi_eval.engines.embedded.toolchains import STAGE_PATH
from ioi_eval.engines.threads import run_command
from ioi_eval.model.errors import EngineUnavailable
from ioi_eval.model.job import Toolchain
from ioi_eval.store import Store
from ioi_eval.store.compiling import (
    PROCTOR,
    WAITING,
    fork_server_compiler_arguments,
    hash_sources,
    proctor_compiler_arguments,
)
from ioi_eval.store.contents import convert_store_errors
from ioi_eval.store.resources import find_bundled_binary_or_reason, load_proctor_sources

_log, _package = logging.getLogger(__name__), logging.getLogger("ioi_eval")
_TOLD = "building %s, once per machine: 5 s, or up to a minute on a busy machine"
_MAX_TRIAL_S = 60.0  # maximum seconds for a trial run, which normally needs milliseconds

_MAX_ERROR_BYTES = 4000  # maximum bytes of a compiler's output in a message
INSTALL_COMPILER = "apt-get install g++"


class Binary(NamedTuple):
    """A binary and its origin: bundled with the package, or built on this machine for a reason."""

    content: bytes
    origin: str


async def get_proctor_binary(
    compiler: Toolchain | None, sources_folder: Path, store: Store, build_folder: Path
) -> Binary:
    """Return the binary of the proctor, the program that runs jobs in sandboxes.

    Args:
        compiler: The C++ compiler, in case the bundled binary cannot be used. None means that there is none.
        sources_folder: The folder `proctor` in the package's folder `graders`.
        store: Keeps a binary that was built on this machine.
        build_folder: A private folder of the caller, for the files of a trial run and of a build.

    Raises:
        EngineUnavailable: The bundled binary cannot be used, and no binary can be built.
    """
    bundled = await _find_bundled_binary_or_reason(
        PROCTOR, sources_folder.parent, partial(_can_start, build_folder)
    )
    if isinstance(bundled, Binary):
        return bundled
    if compiler is None:
        raise EngineUnavailable(
            f"no C++ compiler was found in {STAGE_PATH}, and {bundled}. Install one: {INSTALL_COMPILER}"
        )
    arguments = proctor_compiler_arguments(
        _list_source_files(sources_folder), str(build_folder / "proctor-built")
    )
    return await _build_once(
        make_proctor_key(compiler, sources_folder), compiler, arguments, sources_folder, store, bundled
    )


async def find_fork_server_library(
    compiler: Toolchain | None, python: Toolchain, graders: Path, store: Store, build_folder: Path
) -> Binary:
    """Return the library of the fork server.

    Args:
        compiler: The C++ compiler, in case the bundled library cannot be used. None means that there is none.
        python: The Python that must be able to load the bundled library.
        graders: The package's folder of that name.
        store: Keeps a library that was built on this machine.
        build_folder: A private folder of the caller, for the files of a build.

    Raises:
        EngineUnavailable: The bundled library cannot be used, and no library can be built.
    """
    bundled = await _find_bundled_binary_or_reason(WAITING, graders, partial(_can_load_library, python))
    if isinstance(bundled, Binary):
        return bundled
    if compiler is None:
        raise EngineUnavailable(f"a C++ compiler is missing, and {bundled}")
    source_files = [*load_proctor_sources(graders / "proctor"), *load_proctor_sources(graders / "python")]
    command = (compiler.command, *fork_server_compiler_arguments(WAITING))
    key = make_artifact_key("waiting", platform.machine(), compiler, command, source_files)
    arguments = fork_server_compiler_arguments(str(build_folder / WAITING))
    return await _build_once(key, compiler, arguments, graders, store, bundled)


async def _find_bundled_binary_or_reason(
    name: str, sources_folder: Path, is_usable: Callable[[Path], Awaitable[bool]]
) -> Binary | str:
    """Return the bundled binary, or the reason why it cannot be used."""
    architecture = platform.machine()
    bundled_path = find_bundled_binary_or_reason(name, architecture, hash_sources(sources_folder))
    if isinstance(bundled_path, str):
        return bundled_path
    if not await is_usable(bundled_path):
        return "the bundled binary does not work with this machine's libraries"
    return Binary(
        await asyncio.to_thread(bundled_path.read_bytes), f"came with the package, for {architecture}"
    )


async def _can_start(trial_folder: Path, proctor_path: Path) -> bool:
    trial_copy = trial_folder / "proctor-shipped"
    trial_copy.write_bytes(await asyncio.to_thread(proctor_path.read_bytes))
    trial_copy.chmod(0o755)
    try:
        probe_run = await run_command(
            [str(trial_copy), "probe"], cwd=trial_folder, seconds=_MAX_TRIAL_S, env={}
        )
    except (OSError, TimeoutError):
        return False
    finally:
        trial_copy.unlink()
    return bool(probe_run.stdout)


async def _can_load_library(python: Toolchain, library_path: Path) -> bool:
    """Return True if Python can load the fork server's library.

    The library may need a newer C library than this machine has.
    """
    command = (python.path, "-I", "-c", "import ctypes, sys; ctypes.PyDLL(sys.argv[1])", str(library_path))
    try:
        return (await run_command(command, seconds=_MAX_TRIAL_S, env={})).returncode == 0
    except (OSError, TimeoutError):
        return False


async def _build_once(
    key: str,
    compiler: Toolchain,
    compiler_arguments: tuple[str, ...],
    sources_folder: Path,
    store: Store,
    build_reason: str,
) -> Binary:
    """Build a binary. `build_reason` is the reason why the bundled binary cannot be used."""
    with convert_store_errors(store, EngineUnavailable):
        pin = store.pin(key)
    with pin:
        if (binary := store.get(key)) is None:
            async with store.creation_lock(key):  # several processes may start to build the same proctor
                if (binary := store.get(key)) is None:
                    built_path = await _build(compiler, compiler_arguments, sources_folder)
                    with convert_store_errors(store, EngineUnavailable):
                        binary = store.put(key, built_path, executable=True)
        return Binary(binary.read_bytes(), f"built here by {compiler.name}: {build_reason}")


def make_proctor_key(compiler: Toolchain, sources_folder: Path) -> str:
    command = (compiler.command, *proctor_compiler_arguments(_list_source_files(sources_folder), "proctor"))
    return make_artifact_key(
        "proctor", platform.machine(), compiler, command, load_proctor_sources(sources_folder)
    )


def _list_source_files(sources_folder: Path) -> list[str]:
    return [path.name for path in sources_folder.glob("*.cpp")]


async def _build(compiler: Toolchain, compiler_arguments: tuple[str, ...], sources_folder: Path) -> Path:
    """Run the compiler and return the output's path. It runs unconfined: sandboxes need the proctor."""
    output_path = Path(compiler_arguments[compiler_arguments.index("-o") + 1])
    program_name = "the fork server library" if output_path.name == WAITING else "the proctor"
    # This message is printed even if logging is not configured, for instance in a trainer, because the build
    # may last a minute.
    _log.log(logging.INFO if _package.level else logging.WARNING, _TOLD, program_name)
    completed_compiler = await run_command(
        [compiler.path, *compiler_arguments],
        cwd=sources_folder,
        stderr=subprocess.STDOUT,
        env={"PATH": STAGE_PATH, "LANG": "C.UTF-8", "TMPDIR": str(output_path.parent)},
    )
    if completed_compiler.returncode != 0:
        error_output = completed_compiler.stdout[:_MAX_ERROR_BYTES].decode(errors="replace")
        raise EngineUnavailable(f"the proctor does not compile with {compiler.path}:\n{error_output}")
    return output_path
