"""Recognize and refuse packages of Hydro, whose problem.yaml differs from that of the ICPC's format."""

from __future__ import annotations

from pathlib import Path

from ioi_eval.model.fields import Faults
from ioi_eval.problems.package import PackageFormat, find_package_name

_TESTS = "testdata"


class Hydro(PackageFormat):
    """The package format of Hydro, which is not supported."""

    name = "Hydro"
    header = "problem.yaml"
    rank = 10

    def looks_like_package(self, folder: Path) -> bool:
        """Return True for problem.yaml next to testdata/. The ICPC's format has data/ instead."""
        return super().looks_like_package(folder) and (
            (folder / _TESTS).is_dir() and not (folder / "data").exists()
        )

    def package_id(self, folder: Path, where: str) -> str:
        """Return the name of the folder or archive."""
        return find_package_name(folder, where)

    def read(self, folder: Path, where: str, faults: Faults) -> None:
        """Add a fault: the format is not supported."""
        problem = "this is a Hydro package (problem.yaml and testdata/config.yaml), which is not supported"
        remedy = "Write a problem.json for its tests (docs/packages.md), or an init.yml in DMOJ's format"
        faults.report(problem, self.header, remedy=remedy)
