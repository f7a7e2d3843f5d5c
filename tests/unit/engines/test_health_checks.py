from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Any

import pytest
from requirements import require_language
from support.cached_lookups import cached_toolchains
from support.engines import compiler_in_shell

from ioi_eval import Store
from ioi_eval.engines import health_checks as doctor
from ioi_eval.engines.contract import HealthCheck
from ioi_eval.engines.embedded.sandboxes import Disk, is_in_memory
from ioi_eval.engines.embedded.toolchains import IN_MEMORY, find_compiler
from ioi_eval.engines.health_checks import list_confinement_checks, run_health_checks
from ioi_eval.models import Toolchain

WHOLE: dict[str, Any] = {
    "v": 1,
    "uid": 1000,
    "landlock": 7,
    "seccomp": True,
    "namespaces": ["user", "pid"],
    "proc": "own",
    "missing": [],
}


@pytest.fixture(scope="module")
def local_checks(store: Store) -> dict[str, HealthCheck]:
    """Return the health checks of this machine."""
    return {condition.name: condition for condition in asyncio.run(run_health_checks(store))}


def test_health_checks_of_this_machine_pass(local_checks: dict[str, HealthCheck]) -> None:
    for name in ("C++ compiler", "C++ standard", "static linking", "Python for submissions", "confinement"):
        assert local_checks[name].ok, local_checks[name]
    assert {"folder for sandboxes", "cores", "kernel"} <= set(local_checks)
    assert all(condition.remedy or condition.ok for condition in local_checks.values())


async def test_health_check_without_compiler_names_remedy(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(doctor, "find_compiler", lambda: None)
    checks = {condition.name: condition for condition in await run_health_checks(store)}
    assert checks["C++ compiler"].ok is False
    assert checks["C++ compiler"].remedy == "apt-get install g++"
    assert checks["confinement"].ok is False
    assert "static linking" not in checks
    [brought] = doctor.check_compiler(None, has_proctor=True)
    assert brought.ok is None and "submissions" in brought.detail


async def test_health_check_reports_compiler_invisible_to_sandbox(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    outside = compiler_in_shell(tmp_path, "exit 1")
    monkeypatch.setattr(doctor, "find_compiler", lambda: outside)
    monkeypatch.setenv("PATH", str(tmp_path))
    [compiler_check] = [check for check in await run_health_checks(store) if check.name == "C++ compiler"]
    assert compiler_check.ok is False and compiler_check.detail.endswith(
        f"; {tmp_path}/g++ cannot be seen from inside a sandbox"
    )
    monkeypatch.setattr(doctor, "is_in_system_folder", lambda path: True)
    [other] = doctor.check_compiler(None)
    assert other.detail.endswith(f"; {tmp_path}/g++ is no GCC that starts")


async def test_health_check_names_origin_of_proctor_binaries(
    local_checks: dict[str, HealthCheck], store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a checkout, the proctor and the fork server's library are built."""
    gcc = find_compiler()
    assert gcc is not None
    reason = "the package has no bundled binaries, because it runs from its sources"
    origin = f"built here by g++ {gcc.version}: {reason}"
    details = (local_checks["proctor"].detail, local_checks["waiting Python"].detail)
    assert details == (origin, f"its library {origin}")
    monkeypatch.setattr(doctor, "find_compiler", lambda: None)
    lines = {condition.name: condition for condition in await run_health_checks(store)}
    assert "proctor" not in lines and lines["waiting Python"].ok is None
    assert "each test starts Python" in lines["waiting Python"].detail


def test_doctor_lists_missing_languages_with_install_commands() -> None:
    gcc = Toolchain(command="gcc", path="/usr/bin/gcc", version="12.2.0", identity="")
    [some] = doctor.check_optional_languages({"gcc": gcc, "g++": gcc})
    assert some.ok is True and some.detail.startswith("gcc 12.2.0; not here: pypy (apt-get install pypy3), ")
    [none] = doctor.check_optional_languages({})
    assert none.ok is True and none.detail.startswith("none; not here: c (")


@pytest.mark.parametrize(("code", "ok"), [(0, True), (1, None)])
def test_health_check_reports_java_without_class_data(tmp_path: Path, code: int, ok: bool | None) -> None:
    path = tmp_path / "java"
    path.write_text(f'#!/bin/sh\n[ "$1" = -Xshare:on ] && exit {code}\nexit 9\n')
    path.chmod(0o755)
    [check] = doctor.check_java_archive(Toolchain(command="java", path=str(path), version="17", identity=""))
    assert check.ok is ok
    assert check.remedy == ("" if ok else f"{path} -Xshare:dump, as root")


def test_java_class_data_sharing_check_passes_on_this_machine() -> None:
    require_language("java")
    [check] = doctor.check_java_archive(cached_toolchains()["java"])
    assert check.ok


@pytest.mark.parametrize(
    ("newest", "ok", "detail"),
    [
        ("gnu++26", True, "up to gnu++26"),
        ("gnu++20", True, "up to gnu++20"),
        ("gnu++17", None, "up to gnu++17"),
    ],
)
def test_newest_cpp_standard_of_compiler_is_found(
    tmp_path: Path, newest: str, ok: bool | None, detail: str
) -> None:
    fake = compiler_in_shell(tmp_path, f'[ "$1" = -std={newest} ]')
    [condition] = doctor.check_cpp_standard(fake)
    assert (condition.ok, condition.detail) == (ok, detail)


def test_broken_compiler_fails_standard_and_static_checks(tmp_path: Path) -> None:
    broken = compiler_in_shell(tmp_path, "echo cannot find -lc >&2; exit 1")
    [standard], [static] = doctor.check_cpp_standard(broken), doctor.check_static_linking(broken)
    assert standard.ok is False
    assert (static.ok, static.detail) == (False, "cannot find -lc")
    assert static.remedy


def test_confinement_check_passes_with_all_layers() -> None:
    [condition] = list_confinement_checks(WHOLE)
    expected = "Landlock ABI 7; seccomp; namespaces user, pid; /proc own; uid 1000"
    assert condition == HealthCheck(name="confinement", ok=True, detail=expected)


def test_confinement_check_lists_refused_layers() -> None:
    missing = ["namespaces: user: not permitted", "landlock: this kernel has none"]
    whole, *lacking = list_confinement_checks({**WHOLE, "namespaces": [], "landlock": 0, "missing": missing})
    assert whole.ok is False and whole.remedy
    assert [condition.detail for condition in lacking] == missing
    assert all(condition.ok is None and condition.remedy for condition in lacking)
    assert not any("works without it" in condition.remedy for condition in lacking)
    [_, alone] = list_confinement_checks({**WHOLE, "landlock": 0, "missing": missing[1:]})
    assert alone.remedy.startswith("Judging works without this layer; a kernel of 5.13")


def test_doctor_has_remedy_if_proc_cannot_be_mounted() -> None:
    missing = ["namespaces: own /proc: Operation not permitted"]
    whole, lacking = list_confinement_checks({**WHOLE, "namespaces": [], "proc": "self", "missing": missing})
    assert whole.ok is True and "/proc self" in whole.detail
    assert "procMount: Unmasked" in lacking.remedy


def test_confinement_check_passes_with_namespaces_or_landlock_alone() -> None:
    assert (
        list_confinement_checks({**WHOLE, "namespaces": [], "missing": ["namespaces: refused"]})[0].ok is True
    )
    assert list_confinement_checks({**WHOLE, "landlock": 0})[0].ok is True


def test_failed_confinement_probe_is_reported() -> None:
    [condition] = doctor.parse_probe_output(b"", "no capability", 2)
    assert (condition.ok, condition.detail) == (False, "no capability")
    assert condition.remedy


def test_health_check_reports_sandbox_folder(base: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    [chosen] = doctor.check_sandbox_folder(base)
    assert chosen.ok is True and str(base) in chosen.detail
    monkeypatch.setattr(doctor, "explain_unusable_folder", lambda _slots: "/dev/shm is mounted noexec")
    monkeypatch.setattr(
        doctor, "choose_sandbox_parent_folder", lambda _slots: Path("/proc")
    )  # a folder that is not in memory
    monkeypatch.setattr(Disk, "measure", lambda _base: Disk(free=1 << 40))
    monkeypatch.setattr(doctor, "is_noexec", lambda _base: False)
    [disk] = doctor.check_sandbox_folder()
    assert disk.ok is None and "noexec" in disk.detail and disk.remedy
    monkeypatch.setattr(doctor, "is_noexec", lambda _base: True)
    [unfit] = doctor.check_sandbox_folder()
    assert unfit.ok is False and unfit.detail.endswith("; /proc is mounted noexec")
    assert "TMPDIR" in unfit.remedy


async def test_confinement_is_probed_in_sandbox_folder(
    base: Path, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The folder of temporary files is often mounted noexec."""
    monkeypatch.setattr(doctor, "choose_sandbox_parent_folder", lambda _slots: base)
    with doctor.create_health_check_folder() as folder:
        assert folder.parent == base


def test_health_check_reports_slots_without_disk_space(base: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _pid: range(4))
    monkeypatch.setattr(Disk, "measure", lambda _base: Disk(free=1000 << 20))
    [check] = doctor.check_sandbox_folder(base)
    assert check.ok is None and check.detail == f"{base}, 1000 MB left: enough for only 3 of 4 slots"
    assert check.remedy == f"Give {base} 1024 MB (256 MB for each slot), or take fewer slots"
    monkeypatch.setattr(Disk, "measure", lambda _base: Disk(free=2000 << 20, held=1500 << 20))
    [check_with_others] = doctor.check_sandbox_folder(base)
    assert (
        "500 MB left: 2000 MB are free, and other engines hold 1500 MB: enough for only 1 of 4"
        in check_with_others.detail
    )
    assert check_with_others.remedy.startswith("Wait until the other engines end. Give")


@pytest.mark.skipif(not is_in_memory(IN_MEMORY), reason="/dev/shm is no file system of memory")
def test_sandboxes_in_other_memory_file_system_pass_check(monkeypatch: pytest.MonkeyPatch) -> None:
    """For example in a container with a private memory file system."""
    monkeypatch.setattr(doctor, "explain_unusable_folder", lambda _slots: "/dev/shm is mounted noexec")
    monkeypatch.setattr(doctor, "choose_sandbox_parent_folder", lambda _slots: IN_MEMORY)
    [elsewhere] = doctor.check_sandbox_folder()
    assert (elsewhere.ok, elsewhere.remedy) == (True, "")
