"""Puts the binaries that confine programs into the wheel, for each machine that there is a compiler for.

They need nobody's compiler where the wheel is used. What has no compiler here is built from source there.
"""

from __future__ import annotations

import importlib.util
import platform
import shutil
import subprocess
import tempfile
from pathlib import Path
from types import ModuleType
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

MACHINES = ("x86_64", "aarch64")
INSIDE = "ioi_eval/_data"


class BinariesHook(BuildHookInterface):  # type: ignore[type-arg]
    """Adds the proctor and the fork server's library, compiled for each architecture, to the wheel.

    hatchling finds this class because its base class is BuildHookInterface.
    """

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version == "editable":
            return
        root = Path(self.root)
        compiling, graders = _load_compiling_module(root), root / "graders"
        self._made = tempfile.TemporaryDirectory(prefix="ioi-eval-wheel-")
        folder = Path(self._made.name)
        for machine in MACHINES:
            compiler = _find_compiler(machine)
            if compiler is None:
                package = f"g++-{machine.replace('_', '-')}-linux-gnu"
                self.app.display_warning(f"the wheel has no proctor for {machine}: install {package}")
                continue
            machine_folder = folder / machine
            machine_folder.mkdir()
            units = [path.name for path in (graders / "proctor").glob("*.cpp")]
            proctor = compiling.proctor_compiler_arguments(units, str(machine_folder / compiling.PROCTOR))
            library = compiling.fork_server_compiler_arguments(str(machine_folder / compiling.WAITING))
            try:
                subprocess.run([compiler, *proctor], cwd=graders / "proctor", check=True)
                subprocess.run([compiler, *library], cwd=graders, check=True)
            except subprocess.CalledProcessError:
                self.app.display_warning(
                    f"the wheel has no proctor for {machine}: {compiler} cannot build it"
                )
                shutil.rmtree(machine_folder)
        (folder / compiling.SOURCES).write_text(compiling.hash_sources(graders) + "\n")
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                target = f"{INSIDE}/{compiling.BINARIES}/{path.relative_to(folder)}"
                build_data["force_include"][str(path)] = target

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        if version != "editable":
            self._made.cleanup()


def _load_compiling_module(root: Path) -> ModuleType:
    """The package itself cannot be imported: its dependencies need not be here."""
    spec = importlib.util.spec_from_file_location("compiling", root / "ioi_eval" / "store" / "compiling.py")
    assert spec is not None and spec.loader is not None, "it is a file of ours"
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _find_compiler(machine: str) -> str | None:
    native_compiler = shutil.which("g++") if platform.machine() == machine else None
    return native_compiler or shutil.which(f"{machine}-linux-gnu-g++")
