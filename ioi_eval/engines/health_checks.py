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
    choose_base,
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
    is_in_system_folder,
    toolchains,
)
from ioi_eval.engines.jobs.headers import BIG, header_spec, make_empty_build_spec
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
    """Return all health checks. A check comes before the checks that depend on it. The proctor is built."""
    compiler = await asyncio.to_thread(find_compiler)
    if compiler is not None and not is_in_system_folder(Path(compiler.path)):
        compiler = None  # as in an engine, the compiler is None if it is missing
    with trial_folder(sandboxes) as folder:
        binary = await _find_proctor(compiler, store, folder)
        confines = await asyncio.to_thread(_probe_confinement, binary, folder)
        tools = await _find_toolchains(store, sandboxes, python)
        fork_server_checks = await check_fork_server(compiler, tools.get("python3"), store, folder)
    is_built = isinstance(binary, Binary)
    check_functions: list[Callable[[], list[HealthCheck]]] = [
        lambda: check_compiler(compiler, is_built),
        lambda: check_standard(compiler),
        lambda: check_static_linking(compiler),
        lambda: check_headers(compiler, store),
        lambda: check_pythons(tools.get("python3"), folders),
        lambda: check_other_tools(tools),
        lambda: check_sandbox_folder(sandboxes),
        check_machine,
    ]
    answers = await asyncio.gather(*(asyncio.to_thread(check) for check in check_functions))
    which = [HealthCheck(name="proctor", ok=True, detail=binary.origin)] if isinstance(binary, Binary) else []
    return [
        *(condition for answer in answers for condition in answer),
        *which,
        *fork_server_checks,
        *confines,
    ]


async def _find_proctor(found: Toolchain | None, store: Store, folder: Path) -> Binary | EngineUnavailable:
    """Return the proctor's binary, or the error that prevents building it."""
    try:
        return await get_proctor_binary(found, graders_folder() / "proctor", store, folder)
    except EngineUnavailable as error:
        return error


async def _find_toolchains(store: Store, sandboxes: Path | None, python: str) -> Mapping[str, Toolchain]:
    """Return the toolchains of an embedded engine, with the Python that its sandboxes can start."""
    try:
        async with EmbeddedEngine(store=store, slots=1, sandboxes=sandboxes, python=python) as engine:
            return (await engine.capabilities()).toolchains
    except EngineError:
        return await asyncio.to_thread(toolchains, python)


async def check_fork_server(
    found: Toolchain | None, interpreter: Toolchain | None, store: Store, folder: Path
) -> list[HealthCheck]:
    """Report the library of the fork server. Without it, Python programs are judged more slowly."""
    name = "waiting Python"
    if interpreter is None:
        return []
    try:
        library = await find_fork_server_library(found, interpreter, graders_folder(), store, folder)
    except EngineUnavailable as error:
        detail = f"none, so each test starts Python: {error}"
        remedy = "" if found else INSTALL_COMPILER
        return [HealthCheck(name=name, ok=None, detail=detail, remedy=remedy)]
    return [HealthCheck(name=name, ok=True, detail=f"its library {library.origin}")]


def check_compiler(found: Toolchain | None, brought: bool = False) -> list[HealthCheck]:
    """Report the compiler. If the package bundles the proctor, only programs in C++ need a compiler."""
    if found is not None:
        return [HealthCheck(name="C++ compiler", ok=True, detail=f"g++ {found.version} ({found.path})")]
    outside = shutil.which("g++")
    detail = f"no g++ in {STAGE_PATH}"
    if outside:
        is_visible = is_in_system_folder(Path(outside))
        detail += (
            f"; {outside} {'is no GCC that starts' if is_visible else 'cannot be seen from inside a sandbox'}"
        )
    if brought:
        detail += ", so neither submissions nor checkers in C++ can be built"
    ok = None if brought else False
    return [HealthCheck(name="C++ compiler", ok=ok, detail=detail, remedy=INSTALL_COMPILER)]


def check_standard(found: Toolchain | None) -> list[HealthCheck]:
    """Report the newest C++ standard by trial: its name depends on the compiler's version."""
    if found is None:
        return []
    newest = next((name for name in _STANDARDS if not _compile_error(found, f"-std={name}")), None)
    if newest is None:
        detail = f"{found.path} supports none of {', '.join(_STANDARDS)}"
        return [HealthCheck(name="C++ standard", ok=False, detail=detail, remedy="Install a newer g++")]
    enough = newest >= _CONTEST_STANDARD
    return [
        HealthCheck(
            name="C++ standard",
            ok=True if enough else None,
            detail=f"up to {newest}",
            remedy="" if enough else f"Recent contests use {_CONTEST_STANDARD}: install a newer g++",
        )
    ]


def check_static_linking(found: Toolchain | None) -> list[HealthCheck]:
    if found is None:
        return []
    complaints = _compile_error(found, "-static")
    remedy = "Install the static C and C++ libraries (Fedora: glibc-static libstdc++-static)"
    return [
        HealthCheck(
            name="static linking",
            ok=not complaints,
            detail=(complaints.splitlines()[-1] if complaints else "") or "works",
            remedy=remedy if complaints else "",
        )
    ]


def check_headers(found: Toolchain | None, store: Store) -> list[HealthCheck]:
    """Report the standards for which this compiler's precompiled bits/stdc++.h is cached."""
    if found is None:
        return []
    standards = [
        standard
        for standard in dict.fromkeys(standard for _, standard in find_language("c++").dialects)
        if store.get(
            header_spec(make_empty_build_spec(find_language("c++"), standard)).key(platform.machine(), found)
        )
    ]
    detail = (
        f"{BIG[0]}, precompiled for {', '.join(standards)}" if standards else "none yet; made beside the work"
    )
    return [HealthCheck(name="C++ headers", ok=True, detail=detail)]


def check_pythons(chosen: Toolchain | None, folders: Sequence[str] = ()) -> list[HealthCheck]:
    """Report the Python for submissions, and other Pythons that could be used instead."""
    name = "Python for submissions"
    other_checks = [
        HealthCheck(name="another Python", ok=True, detail=_describe_interpreter(interpreter))
        for interpreter in find_interpreters(folders)
        if chosen is None or interpreter.path != chosen.path
    ]
    if chosen is not None and chosen.refusal:
        return [HealthCheck(name=name, ok=None, detail=chosen.refusal, remedy=SHOW_OR_NAME), *other_checks]
    if chosen is not None:
        detail = f"python {chosen.version} ({chosen.path}) {_describe_modules(chosen.modules or ())}"
        return [HealthCheck(name=name, ok=True, detail=detail), *other_checks]
    detail = f"no python3 in {STAGE_PATH} that everybody may start, so submissions in Python cannot run"
    remedy = (
        f"{_INSTALL_PYTHON}, or choose another interpreter with python=PATH"
        if other_checks
        else _INSTALL_PYTHON
    )
    return [HealthCheck(name=name, ok=None, detail=detail, remedy=remedy), *other_checks]


def _describe_interpreter(found: Interpreter) -> str:
    use = f"cannot: {found.why_not}" if found.why_not else f"python={found.path}"
    return f"python {found.version} ({found.path}) {_describe_modules(found.modules)}; {use}"


def _describe_modules(modules: Sequence[str]) -> str:
    has = [module for module in MAIN_MODULES if module in modules]
    lacks = [module for module in MAIN_MODULES if module not in modules]
    if not has:
        return f"has none of {', '.join(lacks)}"
    return f"has {', '.join(has)}" + (f", lacks {', '.join(lacks)}" if lacks else "")


def check_other_tools(found: Mapping[str, Toolchain]) -> list[HealthCheck]:
    java = found.get("java")
    return [*check_other_languages(found), *([] if java is None else check_java_archive(java))]


def check_java_archive(java: Toolchain) -> list[HealthCheck]:
    """Report Java's archive of shared classes, which some JDKs do not include."""
    completed = _run_tool([java.path, "-Xshare:on", "-XX:+UseSerialGC", "-version"])
    if completed.returncode == 0:
        return [HealthCheck(name="Java's class data", ok=True, detail="in an archive that starts share")]
    detail = f"{java.path} has no archive that starts share: each start uses 50 % more CPU time"
    return [
        HealthCheck(
            name="Java's class data", ok=None, detail=detail, remedy=f"{java.path} -Xshare:dump, as root"
        )
    ]


def check_other_languages(found: Mapping[str, Toolchain]) -> list[HealthCheck]:
    """Report the other languages. A missing language is not a problem, because few users need all."""
    languages = [language for language in LANGUAGES if language.command not in _OWN_LINES]
    available = [
        found[candidate.command].name for candidate in languages if found.keys() >= {*candidate.tools}
    ]
    missing = [
        f"{candidate.name} ({candidate.remedy})"
        for candidate in languages
        if not found.keys() >= {*candidate.tools}
    ]
    detail = ", ".join(available) or "none"
    if missing:
        detail += f"; not here: {', '.join(missing)}"
    return [HealthCheck(name="other languages", ok=True, detail=detail)]


def check_sandbox_folder(chosen: Path | None = None) -> list[HealthCheck]:
    wanted_slots = len(os.sched_getaffinity(0))
    base = chosen or choose_base(wanted_slots)
    disk = Disk.measure(base)
    slots = disk.count_slots(wanted_slots)
    reason = None if chosen or is_in_memory(base) else explain_unusable_folder(wanted_slots)
    detail = f"{base}, {disk.description}" + (f" on a disk: {reason}" if reason else "")
    remedy = f"Make {IN_MEMORY} larger, without noexec (in a container: --shm-size=1g)" if reason else ""
    if slots < wanted_slots:
        slot_mb = MIN_SLOT_BYTES >> 20
        detail += f": room for {slots} of {wanted_slots} slots, no more start"
        remedy = f"Give {base} {slot_mb * wanted_slots} MB ({slot_mb} MB for each slot), or take fewer slots"
        if disk.held:
            remedy = f"Wait until the other engines end. {remedy}"
    ok = None if reason or slots < wanted_slots else True
    if is_noexec(base):
        ok, detail, remedy = False, f"{detail}; {base} is mounted noexec", NOEXEC_REMEDY
    return [HealthCheck(name="folder for sandboxes", ok=ok, detail=detail, remedy=remedy)]


def check_machine() -> list[HealthCheck]:
    cores = len(os.sched_getaffinity(0))
    detail = f"{cores} of {os.cpu_count()}" if cores != os.cpu_count() else str(cores)
    return [
        HealthCheck(name="cores", ok=True, detail=detail),
        HealthCheck(name="kernel", ok=True, detail=f"{platform.release()} {platform.machine()}"),
        *(
            HealthCheck(name=lack.name, ok=False, detail=lack.detail, remedy=lack.remedy)
            for lack in find_missing_requirements()
        ),
    ]


async def check_confinement(found: Toolchain | None, store: Store) -> list[HealthCheck]:
    """Return the health checks of the confinement that the proctor gets on this machine."""
    with trial_folder() as folder:
        return await asyncio.to_thread(_probe_confinement, await _find_proctor(found, store, folder), folder)


@contextmanager
def trial_folder(sandboxes: Path | None = None) -> Iterator[Path]:
    """Yield a temporary folder next to sandboxes, from which programs may be started."""
    base = sandboxes or choose_base(len(os.sched_getaffinity(0)))
    with tempfile.TemporaryDirectory(prefix="ioi-eval-doctor-", dir=base) as folder:
        yield Path(folder)


def _probe_confinement(binary: Binary | EngineUnavailable, folder: Path) -> list[HealthCheck]:
    if not isinstance(binary, Binary):
        return [HealthCheck(name="confinement", ok=False, detail=str(binary), remedy="See the lines above")]
    folder.chmod(0o711)  # as root, the proctor runs under another uid, which must be able to enter the folder
    proctor = folder / "proctor"
    proctor.write_bytes(binary.content)
    proctor.chmod(0o755)
    completed = _run_tool([str(proctor), "probe"])
    return read_probe_output(
        completed.stdout, completed.stderr.decode(errors="replace").strip(), completed.returncode
    )


def read_probe_output(stdout: bytes, stderr: str, code: int | None) -> list[HealthCheck]:
    """Return the health checks of the output of `proctor probe`."""
    try:
        return list_confinement_checks(msgspec.json.decode(stdout, type=dict[str, Any]))
    except msgspec.DecodeError:
        detail = stderr or f"the proctor exited with code {code}"
        return [HealthCheck(name="confinement", ok=False, detail=detail, remedy=_NOTHING_CONFINES)]


def list_confinement_checks(report: Mapping[str, Any]) -> list[HealthCheck]:
    """Return the health checks of a confinement report: layers in force, and each missing layer."""
    spaces = report.get("namespaces")
    is_in_force = {
        f"Landlock ABI {report.get('landlock')}": report.get("landlock"),
        "seccomp": report.get("seccomp"),
        f"namespaces {', '.join(spaces or ())}": spaces,
        f"/proc {report.get('proc')}": report.get("proc"),
        f"uid {report.get('uid')}": "uid" in report,
    }
    layers = [name for name, has_layer in is_in_force.items() if has_layer]
    is_confined = bool(report.get("landlock") or report.get("namespaces"))
    overall_check = HealthCheck(
        name="confinement",
        ok=is_confined,
        detail="; ".join(layers) or "none",
        remedy="" if is_confined else _NOTHING_CONFINES,
    )
    missing_layers = [
        HealthCheck(
            name="not in force",
            ok=None,
            detail=sentence,
            remedy=_make_confinement_remedy(sentence, is_confined=is_confined),
        )
        for sentence in report.get("missing", ())
    ]
    return [overall_check, *missing_layers]


def _make_confinement_remedy(sentence: str, *, is_confined: bool) -> str:
    """Return the remedy for a missing layer. If another layer confines programs, it is only advice."""
    begin = "Judging works without it" if is_confined else "Judging needs this layer or the other layer"
    if "own /proc" in sentence:
        return f"{begin}; show /proc unmasked (procMount: Unmasked, systempaths=unconfined)"
    if "namespace" in sentence:
        return f"{begin}; an administrator may allow user namespaces (sysctl, AppArmor)"
    if "landlock" in sentence.lower():
        return f"{begin}; a kernel of 5.13 or newer, started with lsm=landlock,..., has it"
    return "Judging works without it"


def _compile_error(found: Toolchain, *flags: str) -> str:
    """Return the compiler's error for an empty program, or an empty string."""
    with tempfile.TemporaryDirectory(prefix="ioi-eval-doctor-") as folder:
        source = Path(folder, "empty.cpp")
        source.write_text(_EMPTY_PROGRAM)
        completed = _run_tool([found.path, *flags, "-o", str(Path(folder, "empty")), str(source)])
    if completed.returncode == 0:
        return ""
    return (
        completed.stderr.decode(errors="replace").strip() or f"{found.path} ended with {completed.returncode}"
    )


def _run_tool(command: Sequence[str]) -> subprocess.CompletedProcess[bytes]:
    try:
        return subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, timeout=_SECONDS, check=False, cwd="/"
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return subprocess.CompletedProcess(command, -1, b"", str(error).encode())
