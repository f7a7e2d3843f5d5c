from __future__ import annotations

import os
from pathlib import Path

import pytest

from ioi_eval.errors import IoiEvalError
from ioi_eval.store import resources
from ioi_eval.store.resources import read_machine_memory


def package(root: Path) -> Path:
    folder = root / "ioi_eval"
    folder.mkdir()
    return folder


def test_data_folders_are_found_in_this_checkout() -> None:
    assert resources.graders_folder() == Path(__file__).resolve().parents[3] / "graders"
    assert resources.examples_folder() == Path(__file__).resolve().parents[3] / "examples"


def test_installed_package_contains_its_data(tmp_path: Path) -> None:
    data = package(tmp_path) / "_data" / "graders"
    data.mkdir(parents=True)
    (tmp_path / "graders").mkdir()
    (tmp_path / "pyproject.toml").touch()
    assert resources._data_folder("graders", tmp_path / "ioi_eval") == data


def test_checkout_has_data_next_to_the_package(tmp_path: Path) -> None:
    (tmp_path / "graders").mkdir()
    (tmp_path / "pyproject.toml").touch()
    assert resources._data_folder("graders", package(tmp_path)) == tmp_path / "graders"


def test_examples_of_another_installed_project_are_not_used(tmp_path: Path) -> None:
    (tmp_path / "examples").mkdir()
    with pytest.raises(IoiEvalError, match="examples is missing"):
        resources._data_folder("examples", package(tmp_path))


GIB = 1 << 30
SLURM = "0::/system.slice/slurmstepd.scope/job_7/step_0/user/task_0\n"
MEMORY = "9:name=systemd:/x\n4:cpu,memory:/slurm/uid_0/job_7/step_0\n0::/\n"


@pytest.mark.parametrize(
    ("groups", "files", "expected"),
    [
        (SLURM, {"system.slice/slurmstepd.scope/job_7/memory.max": "2147483648\n"}, 2 * GIB),
        (SLURM, {"system.slice/slurmstepd.scope/job_7/step_0/memory.max": f"{GIB}\n",
                 "system.slice/slurmstepd.scope/job_7/memory.max": "max\n", "memory.max": f"{3 * GIB}"}, GIB),
        (SLURM, {"unified/system.slice/slurmstepd.scope/job_7/memory.max": f"{GIB}"}, GIB),
        (MEMORY, {"memory/slurm/uid_0/job_7/memory.limit_in_bytes": f"{GIB}",
                  "memory/memory.limit_in_bytes": "9223372036854771712"}, GIB),
        ("4:memory:/docker/abc\n", {"memory/memory.limit_in_bytes": f"{GIB}"}, GIB),
        ("0::/\n", {"memory.max": f"{GIB}"}, GIB),
        ("", {"memory.max": f"{GIB}"}, GIB),
        ("0::/job_8\n", {"job_7/memory.max": f"{GIB}"}, None),
        ("0::/\n", {"memory.max": "max"}, None),
    ],
)  # fmt: skip
def test_memory_is_limited_by_the_process_control_group(
    tmp_path: Path, groups: str, files: dict[str, str], expected: int | None
) -> None:
    for name, content in {
        "proc/self/cgroup": groups,
        **{f"sys/fs/cgroup/{n}": t for n, t in files.items()},
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(content)
    whole = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    assert read_machine_memory(tmp_path) == min(whole, expected or whole)
