"""Find the package's own data: inside an installed package, or next to the package in a checkout.

Also find out how much memory the machine has.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path, PurePosixPath

from ioi_eval.model.errors import IoiEvalError
from ioi_eval.model.values import Blob, NamedBlob
from ioi_eval.store.compiling import BINARIES, SOURCES, hash_files

PACKAGE = Path(__file__).resolve().parents[1]
_UNIFIED, _MEMORY = "version 2", "version 1"
# Possible folders of the root control group, and name of the file with the memory limit, by version.
_GROUP_FILES = {
    _UNIFIED: (("sys/fs/cgroup", "sys/fs/cgroup/unified"), "memory.max"),
    _MEMORY: (("sys/fs/cgroup/memory",), "memory.limit_in_bytes"),
}


@cache
def compute_code_digest(package: Path = PACKAGE) -> str:
    """Return a hash of the package's Python sources; two checkouts of one version may differ."""
    return hash_files(package, package.rglob("*.py"))


def graders_folder() -> Path:
    """Return the folder of code for the sandbox: the proctor's sources and the classic scripts."""
    return _data_folder("graders", PACKAGE)


def load_proctor_sources(folder: Path) -> list[NamedBlob]:
    """Return the C++ sources and headers in a folder of `graders_folder()`, sorted by name."""
    source_paths = sorted(path for path in folder.iterdir() if path.suffix in {".cpp", ".hpp"})
    return [NamedBlob(name=path.name, content=Blob.of_file(path)) for path in source_paths]


def classic_scripts() -> dict[str, str]:
    """Return the scripts `compile` and `run` of the classic contract by name."""
    return {name: (graders_folder() / "classic" / name).read_text() for name in ("compile", "run")}


def examples_folder() -> Path:
    """Return the folder of the example problems and the example dump."""
    return _data_folder("examples", PACKAGE)


def piston_folder() -> Path:
    """Return the folder of the package that Piston servers install for this judge."""
    return _data_folder("piston", PACKAGE)


def find_bundled_binary_or_reason(name: str, machine: str, digest: str) -> Path | str:
    """Return the path of a bundled binary, or the reason why it cannot be used.

    Args:
        name: file name of the binary.
        machine: architecture that it must run on.
        digest: digest of the sources that it must be built from.
    """
    binaries_folder = PACKAGE / "_data" / BINARIES
    sources_file = binaries_folder / SOURCES
    if not sources_file.is_file():
        return "the package has no bundled binaries, because it runs from its sources"
    if sources_file.read_text().strip() != digest:
        return "the bundled binary was not built from the package's sources"
    binary_path = binaries_folder / machine / name
    return binary_path if binary_path.is_file() else f"the package has no bundled binary for {machine}"


def _data_folder(name: str, package: Path) -> Path:
    """Return a folder of the package's data. Raises IoiEvalError if it is missing."""
    installed_folder, checkout_folder = package / "_data" / name, package.parent / name
    if installed_folder.is_dir():
        return installed_folder
    # A folder called examples next to an installed package may belong to another project.
    if checkout_folder.is_dir() and (package.parent / "pyproject.toml").is_file():
        return checkout_folder
    raise IoiEvalError(
        f"the installation is incomplete: {installed_folder} is missing. Reinstall the package"
    )


def read_machine_memory(root: Path = Path("/")) -> int:
    """Return the machine's memory in bytes, or the control groups' memory limit if that is smaller.

    `root`: the folder that contains `proc` and `sys`.
    """
    physical_memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return min([physical_memory, *_read_control_group_limits(root)])


def _read_control_group_limits(root: Path) -> Iterator[int]:
    """Yield the memory limits of this process's control groups and of their parents, of both versions."""
    try:
        cgroup_lines = (root / "proc/self/cgroup").read_text().splitlines()
    except OSError:
        cgroup_lines = []
    # In a container, the control group may have another path than /proc reports, so its parents are also
    # read.
    group_paths = dict.fromkeys(_GROUP_FILES, "/")
    for line in cgroup_lines:
        _, controllers, path = line.split(":", 2)
        if not controllers:
            group_paths[_UNIFIED] = path
        elif "memory" in controllers.split(","):
            group_paths[_MEMORY] = path
    for version, path in group_paths.items():
        root_folders, limit_file_name = _GROUP_FILES[version]
        group_path = PurePosixPath(path.lstrip("/"))
        for root_folder in root_folders:
            for ancestor in (group_path, *group_path.parents):
                with suppress(OSError):
                    limit = (root / root_folder / ancestor / limit_file_name).read_text()
                    if limit.strip().isdecimal():
                        yield int(limit)
