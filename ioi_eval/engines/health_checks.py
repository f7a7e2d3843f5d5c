"""Health checks of this machine for the embedded engine, which `ioi-eval doctor` prints."""

from __future__ import annotations

import asyncio
import os
import platform
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec

from ioi_eval.engines.contract import HealthCheck
from ioi_eval.engines.embedded.engine import EmbeddedEngine
from ioi_eval.engines.embedded.proctor import (
    INSTALL_COMPILER,
    Binary,
    find_fork_server_library,
    get_proctor_binary,
)
from ioi_eval.engines.embedded.sandbox import is_noexec
from ioi_eval.engines.embedded.sandboxes import (
    MIN_SLOT_BYTES,
    NOEXEC_REMEDY,
    Disk,
    choose_sandbox_parent_folder,
    explain_unusable_folder,
    find_missing_requirements,
    is_in_memory,
)
from ioi_eval.engines.embedded.toolchains import (
    IN_MEMORY,
    STAGE_PATH,
    Interpreter,
    find_compiler,
    find_interpreters,
    find_toolchains,
    is_in_system_folder,
)
from ioi_eval.engines.jobs.headers import BITS_STDCPP, make_empty_build_spec, make_precompiled_header_spec
from ioi_eval.model.errors import EngineError, EngineUnavailable
from ioi_eval.model.job import SHOW_OR_NAME, Toolchain
from ioi_eval.model.languages import LANGUAGES, MAIN_MODULES, find_language
from ioi_eval.store import Store
from ioi_eval.store.resources import graders_folder

_STANDARDS = ("gnu++26", "gnu++23", "gnu++20", "gnu++17")
_CONTEST_STANDARD = "gnu++20"  # C++ standard that recent olympiads use
_EMPTY_PROGRAM = "int main() {}\n"
_SECONDS = 60.0
_NOTHING_CONFINES = "Use a kernel with Landlock (5.13 or newer) or allow user namespaces"
_OWN_LINES = ("g++", "python3")
_INSTALL_PYTHON = "apt-get install python3"


async def run_health_checks(
    store: Store, *, sandboxes: Path | None = None, python: str = "", folders: Sequence[str] = ()
) -> list[HealthCheck]:
    """Build the program that runs jobs in sandboxes, and return all health checks.

    A check comes before the checks that depend on it.

    Args:
        store: Cache of built programs.
        sandboxes: Folder in which sandboxes are created. None means the folder that an engine would choose.
        python: Path or version of the Python for submissions, or CALLER for the Python of this process.
            Empty means the newest Python of the system.
        folders: Folders, besides those of the system, whose Pythons are also reported.
    """
    compiler = await asyncio.to_thread(find_compiler)
    if compiler is not None and not is_in_system_folder(Path(compiler.path)):
        compiler = None  # sandboxes cannot see this compiler, so it counts as missing
    with create_health_check_folder(sandboxes) as folder:
        binary = await _find_proctor(compiler, store, folder)
        confinement_checks = await asyncio.to_thread(_probe_confinement, binary, folder)
        tools = await _find_toolchains(store, sandboxes, python)
        fork_server_checks = await check_fork_server(compiler, tools.get("python3"), store, folder)
    has_proctor = isinstance(binary, Binary)
    check_functions: list[Callable[[], list[HealthCheck]]] = [
        lambda: check_compiler(compiler, has_proctor),
        lambda: check_cpp_standard(compiler),
        lambda: check_static_linking(compiler),
        lambda: check_precompiled_headers(compiler, store),
        lambda: check_pythons(tools.get("python3"), folders),
        lambda: check_optional_tools(tools),
        lambda: check_sandbox_folder(sandboxes),
        check_machine,
    ]
    check_results = await asyncio.gather(*(asyncio.to_thread(check) for check in check_functions))
    proctor_checks = (
        [HealthCheck(name="proctor", ok=True, detail=binary.origin)] if isinstance(binary, Binary) else []
    )
    return [
        *(health_check for checks in check_results for health_check in checks),
        *proctor_checks,
        *fork_server_checks,
        *confinement_checks,
    ]


async def _find_proctor(compiler: Toolchain | None, store: Store, folder: Path) -> Binary | EngineUnavailable:
    """Return the binary of the proctor, which supervises sandboxes, or the error of building it."""
    try:
        return await get_proctor_binary(compiler, graders_folder() / "proctor", store, folder)
    except EngineUnavailable as error:
        return error


async def _find_toolchains(store: Store, sandboxes: Path | None, python: str) -> Mapping[str, Toolchain]:
    """Return the toolchains of an embedded engine, with the Python that its sandboxes can start."""
    try:
        async with EmbeddedEngine(store=store, slots=1, sandboxes=sandboxes, python=python) as engine:
            return (await engine.capabilities()).toolchains
    except EngineError:
        return await asyncio.to_thread(find_toolchains, python)


async def check_fork_server(
    compiler: Toolchain | None, python: Toolchain | None, store: Store, folder: Path
) -> list[HealthCheck]:
    """Return the check of the fork server's library. Without it, Python programs are judged more slowly.

    Args:
        compiler: Builds the library if the bundled library cannot be used. None means no compiler.
        python: The Python that loads the library. None means no Python, and then there is no check.
        store: Cache of the built library.
        folder: Temporary folder in which the library is built.
    """
    name = "waiting Python"
    if python is None:
        return []
    try:
        library = await find_fork_server_library(compiler, python, graders_folder(), store, folder)
    except EngineUnavailable as error:
        detail = f"none, so each test starts Python: {error}"
        remedy = "" if compiler else INSTALL_COMPILER
        return [HealthCheck(name=name, ok=None, detail=detail, remedy=remedy)]
    return [HealthCheck(name=name, ok=True, detail=f"its library {library.origin}")]


def check_compiler(compiler: Toolchain | None, has_proctor: bool = False) -> list[HealthCheck]:
    """Return the check of the C++ compiler. If the proctor exists, only programs in C++ need a compiler."""
    if compiler is not None:
        return [HealthCheck(name="C++ compiler", ok=True, detail=f"g++ {compiler.version} ({compiler.path})")]
    compiler_in_path = shutil.which("g++")
    detail = f"no g++ in {STAGE_PATH}"
    if compiler_in_path:
        is_visible = is_in_system_folder(Path(compiler_in_path))
        problem = "is no GCC that starts" if is_visible else "cannot be seen from inside a sandbox"
        detail += f"; {compiler_in_path} {problem}"
    if has_proctor:
        detail += ", so neither submissions nor checkers in C++ can be built"
    status = None if has_proctor else False
    return [HealthCheck(name="C++ compiler", ok=status, detail=detail, remedy=INSTALL_COMPILER)]


def check_cpp_standard(compiler: Toolchain | None) -> list[HealthCheck]:
    """Return the check of the newest C++ standard that the compiler accepts, which is found by trial."""
    if compiler is None:
        return []
    newest_standard = next(
        (standard for standard in _STANDARDS if not _find_compile_error(compiler, f"-std={standard}")), None
    )
    if newest_standard is None:
        detail = f"{compiler.path} supports none of {', '.join(_STANDARDS)}"
        return [HealthCheck(name="C++ standard", ok=False, detail=detail, remedy="Install a newer g++")]
    is_recent_enough = newest_standard >= _CONTEST_STANDARD
    return [
        HealthCheck(
            name="C++ standard",
            ok=True if is_recent_enough else None,
            detail=f"up to {newest_standard}",
            remedy=""
            if is_recent_enough
            else f"Recent contests use {_CONTEST_STANDARD}: install a newer g++",
        )
    ]


def check_static_linking(compiler: Toolchain | None) -> list[HealthCheck]:
    if compiler is None:
        return []
    linker_error = _find_compile_error(compiler, "-static")
    remedy = "Install the static C and C++ libraries (Fedora: glibc-static libstdc++-static)"
    return [
        HealthCheck(
            name="static linking",
            ok=not linker_error,
            detail=(linker_error.splitlines()[-1] if linker_error else "") or "works",
            remedy=remedy if linker_error else "",
        )
    ]


def check_precompiled_headers(compiler: Toolchain | None, store: Store) -> list[HealthCheck]:
    """Return the check of the C++ standards for which a precompiled bits/stdc++.h is cached."""
    if compiler is None:
        return []
    cached_standards = [
        standard
        for standard in dict.fromkeys(standard for _, standard in find_language("c++").dialects)
        if store.get(
            make_precompiled_header_spec(
                make_empty_build_spec(find_language("c++"), standard)
            ).make_cache_key(platform.machine(), compiler)
        )
    ]
    detail = (
        f"{BITS_STDCPP[0]}, precompiled for {', '.join(cached_standards)}"
        if cached_standards
        else "none precompiled yet; the first builds start their compilation in the background"
    )
    return [HealthCheck(name="C++ headers", ok=True, detail=detail)]


def check_pythons(chosen_python: Toolchain | None, folders: Sequence[str] = ()) -> list[HealthCheck]:
    """Return the checks of the Python for submissions and of other Pythons that could be used instead."""
    name = "Python for submissions"
    other_checks = [
        HealthCheck(name="another Python", ok=True, detail=_describe_interpreter(interpreter))
        for interpreter in find_interpreters(folders)
        if chosen_python is None or interpreter.path != chosen_python.path
    ]
    if chosen_python is not None and chosen_python.refusal:
        return [
            HealthCheck(name=name, ok=None, detail=chosen_python.refusal, remedy=SHOW_OR_NAME),
            *other_checks,
        ]
    if chosen_python is not None:
        modules = _describe_modules(chosen_python.modules or ())
        detail = f"python {chosen_python.version} ({chosen_python.path}) {modules}"
        return [HealthCheck(name=name, ok=True, detail=detail), *other_checks]
    detail = f"no python3 in {STAGE_PATH} that everybody may start, so submissions in Python cannot run"
    remedy = (
        f"{_INSTALL_PYTHON}, or choose another interpreter with python=PATH"
        if other_checks
        else _INSTALL_PYTHON
    )
    return [HealthCheck(name=name, ok=None, detail=detail, remedy=remedy), *other_checks]


def _describe_interpreter(interpreter: Interpreter) -> str:
    usage = f"cannot: {interpreter.why_not}" if interpreter.why_not else f"python={interpreter.path}"
    return (
        f"python {interpreter.version} ({interpreter.path}) {_describe_modules(interpreter.modules)}; {usage}"
    )


def _describe_modules(modules: Sequence[str]) -> str:
    present_modules = [module for module in MAIN_MODULES if module in modules]
    absent_modules = [module for module in MAIN_MODULES if module not in modules]
    if not present_modules:
        return f"has none of {', '.join(absent_modules)}"
    return f"has {', '.join(present_modules)}" + (
        f", lacks {', '.join(absent_modules)}" if absent_modules else ""
    )


def check_optional_tools(tools: Mapping[str, Toolchain]) -> list[HealthCheck]:
    """Return the checks of the languages other than C++ and Python."""
    java = tools.get("java")
    return [*check_optional_languages(tools), *([] if java is None else check_java_archive(java))]


def check_java_archive(java: Toolchain) -> list[HealthCheck]:
    """Return the check of Java's archive of shared classes, which some JDKs do not include."""
    completed_process = _run_tool([java.path, "-Xshare:on", "-XX:+UseSerialGC", "-version"])
    if completed_process.returncode == 0:
        return [HealthCheck(name="Java's class data", ok=True, detail="in a shared archive")]
    detail = f"{java.path} has no shared archive of class data: each start uses 50 % more CPU time"
    return [
        HealthCheck(
            name="Java's class data", ok=None, detail=detail, remedy=f"{java.path} -Xshare:dump, as root"
        )
    ]


def check_optional_languages(tools: Mapping[str, Toolchain]) -> list[HealthCheck]:
    """Return the check of the other languages. Missing languages are no problem: few users need all."""
    languages = [language for language in LANGUAGES if language.command not in _OWN_LINES]
    available_languages = [
        tools[candidate.command].name for candidate in languages if tools.keys() >= {*candidate.tools}
    ]
    missing_languages = [
        f"{candidate.name} ({candidate.remedy})"
        for candidate in languages
        if not tools.keys() >= {*candidate.tools}
    ]
    detail = ", ".join(available_languages) or "none"
    if missing_languages:
        detail += f"; not here: {', '.join(missing_languages)}"
    return [HealthCheck(name="other languages", ok=True, detail=detail)]


def check_sandbox_folder(chosen_folder: Path | None = None) -> list[HealthCheck]:
    wanted_slots = len(os.sched_getaffinity(0))
    sandbox_folder = chosen_folder or choose_sandbox_parent_folder(wanted_slots)
    disk = Disk.measure(sandbox_folder)
    slots = disk.count_slots(wanted_slots)
    fallback_reason = (
        None if chosen_folder or is_in_memory(sandbox_folder) else explain_unusable_folder(wanted_slots)
    )
    detail = f"{sandbox_folder}, {disk.description}" + (
        f" on a disk: {fallback_reason}" if fallback_reason else ""
    )
    remedy = (
        f"Make {IN_MEMORY} larger, without noexec (in a container: --shm-size=1g)" if fallback_reason else ""
    )
    if slots < wanted_slots:
        slot_mb = MIN_SLOT_BYTES >> 20
        detail += f": enough for only {slots} of {wanted_slots} slots"
        needed_mb = slot_mb * wanted_slots
        remedy = f"Give {sandbox_folder} {needed_mb} MB ({slot_mb} MB for each slot), or take fewer slots"
        if disk.held:
            remedy = f"Wait until the other engines end. {remedy}"
    status = None if fallback_reason or slots < wanted_slots else True
    if is_noexec(sandbox_folder):
        status, detail, remedy = False, f"{detail}; {sandbox_folder} is mounted noexec", NOEXEC_REMEDY
    return [HealthCheck(name="folder for sandboxes", ok=status, detail=detail, remedy=remedy)]


def check_machine() -> list[HealthCheck]:
    cores = len(os.sched_getaffinity(0))
    detail = f"{cores} of {os.cpu_count()}" if cores != os.cpu_count() else str(cores)
    return [
        HealthCheck(name="cores", ok=True, detail=detail),
        HealthCheck(name="kernel", ok=True, detail=f"{platform.release()} {platform.machine()}"),
        *(
            HealthCheck(name=requirement.name, ok=False, detail=requirement.detail, remedy=requirement.remedy)
            for requirement in find_missing_requirements()
        ),
    ]


async def check_confinement(compiler: Toolchain | None, store: Store) -> list[HealthCheck]:
    """Return the health checks of the confinement that the proctor gets on this machine."""
    with create_health_check_folder() as folder:
        return await asyncio.to_thread(
            _probe_confinement, await _find_proctor(compiler, store, folder), folder
        )


@contextmanager
def create_health_check_folder(sandboxes: Path | None = None) -> Iterator[Path]:
    """Create a temporary folder in the folder of sandboxes, from which programs can be started."""
    parent_folder = sandboxes or choose_sandbox_parent_folder(len(os.sched_getaffinity(0)))
    with tempfile.TemporaryDirectory(prefix="ioi-eval-doctor-", dir=parent_folder) as folder:
        yield Path(folder)


def _probe_confinement(binary: Binary | EngineUnavailable, folder: Path) -> list[HealthCheck]:
    if not isinstance(binary, Binary):
        return [HealthCheck(name="confinement", ok=False, detail=str(binary), remedy="See the lines above")]
    folder.chmod(0o711)  # if this process is root, the proctor gets another uid, which must be able to enter
    proctor_path = folder / "proctor"
    proctor_path.write_bytes(binary.content)
    proctor_path.chmod(0o755)
    completed_process = _run_tool([str(proctor_path), "probe"])
    return parse_probe_output(
        completed_process.stdout,
        completed_process.stderr.decode(errors="replace").strip(),
        completed_process.returncode,
    )


def parse_probe_output(stdout: bytes, stderr: str, exit_code: int | None) -> list[HealthCheck]:
    """Return the health checks of the output of `proctor probe`."""
    try:
        return list_confinement_checks(msgspec.json.decode(stdout, type=dict[str, Any]))
    except msgspec.DecodeError:
        detail = stderr or f"the proctor exited with code {exit_code}"
        return [HealthCheck(name="confinement", ok=False, detail=detail, remedy=_NOTHING_CONFINES)]


def list_confinement_checks(report: Mapping[str, Any]) -> list[HealthCheck]:
    """Return the health checks of a confinement report: layers in force, and each missing layer."""
    namespaces = report.get("namespaces")
    layer_states = {
        f"Landlock ABI {report.get('landlock')}": report.get("landlock"),
        "seccomp": report.get("seccomp"),
        f"namespaces {', '.join(namespaces or ())}": namespaces,
        f"/proc {report.get('proc')}": report.get("proc"),
        f"uid {report.get('uid')}": "uid" in report,
    }
    layers_in_force = [name for name, has_layer in layer_states.items() if has_layer]
    is_confined = bool(report.get("landlock") or report.get("namespaces"))
    overall_check = HealthCheck(
        name="confinement",
        ok=is_confined,
        detail="; ".join(layers_in_force) or "none",
        remedy="" if is_confined else _NOTHING_CONFINES,
    )
    missing_layer_checks = [
        HealthCheck(
            name="not in force",
            ok=None,
            detail=missing_layer,
            remedy=_make_confinement_remedy(missing_layer, is_confined=is_confined),
        )
        for missing_layer in report.get("missing", ())
    ]
    return [overall_check, *missing_layer_checks]


def _make_confinement_remedy(missing_layer: str, *, is_confined: bool) -> str:
    """Return the remedy for a missing layer of the confinement."""
    first_clause = (
        "Judging works without this layer" if is_confined else "Judging needs this layer or the other layer"
    )
    if "own /proc" in missing_layer:
        return f"{first_clause}; show /proc unmasked (procMount: Unmasked, systempaths=unconfined)"
    if "namespace" in missing_layer:
        return f"{first_clause}; an administrator may allow user namespaces (sysctl, AppArmor)"
    if "landlock" in missing_layer.lower():
        return f"{first_clause}; a kernel of 5.13 or newer, started with lsm=landlock,..., has it"
    return "Judging works without this layer"


def _find_compile_error(compiler: Toolchain, *flags: str) -> str:
    """Return the compiler's error for an empty program, or an empty string."""
    with tempfile.TemporaryDirectory(prefix="ioi-eval-doctor-") as folder:
        source = Path(folder, "empty.cpp")
        source.write_text(_EMPTY_PROGRAM)
        completed_process = _run_tool([compiler.path, *flags, "-o", str(Path(folder, "empty")), str(source)])
    if completed_process.returncode == 0:
        return ""
    return (
        completed_process.stderr.decode(errors="replace").strip()
        or f"{compiler.path} ended with {completed_process.returncode}"
    )


def _run_tool(command: Sequence[str]) -> subprocess.CompletedProcess[bytes]:
    try:
        return subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, timeout=_SECONDS, check=False, cwd="/"
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return subprocess.CompletedProcess(command, -1, b"", str(error).encode())
