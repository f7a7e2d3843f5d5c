"""Packages in CMS's italy_yaml format. tests/data/packages/italy has the expected problems."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from ioi_eval.model.fields import Faults
from ioi_eval.plugins.italy.packages import Italy

GRADINI = Path(__file__).parents[2] / "packages" / "gradini"


def test_italian_package_id_is_its_short_name() -> None:
    assert Italy().package_id(GRADINI, "") == "gradini"


@pytest.mark.parametrize("name", ["../outside.txt", "/etc/passwd", "gone.txt"])
def test_copied_input_outside_the_package_is_refused(tmp_path: Path, name: str) -> None:
    folder = tmp_path / "gradini"
    shutil.copytree(GRADINI, folder)
    (folder / "gen/GEN").write_text(f"#COPY: {name}\n")
    for program in ("gen/generator.cpp", "sol/soluzione.cpp"):
        (folder / program).write_text("int main() {}\n")
    (folder / "sol/soluzione.py").unlink()
    (tmp_path / "outside.txt").write_text("1\n")
    faults = Faults(str(folder))
    assert Italy().read_test_generation(folder, faults) is not None
    (error,) = faults.errors
    assert (error.row, error.problem) == (1, f"there is no file '{name}'")
