"""Packages of Hydro, which are refused by their name: their problem.yaml is not that of the ICPC's format."""

from __future__ import annotations

from pathlib import Path

from ioi_eval.model.fields import Faults
from ioi_eval.problems.package import PackageFormat, named_by_place

_TESTS = "testdata"


class Hydro(PackageFormat):
    name = "Hydro"
    header = "problem.yaml"
    rank = 10

    def looks_like_package(self, folder: Path) -> bool:
        """Return True for a problem.yaml beside testdata/; the ICPC's format has data/ there."""
        return super().looks_like_package(folder) and (
            (folder / _TESTS).is_dir() and not (folder / "data").exists()
        )

    def package_id(self, folder: Path, where: str) -> str:
        return named_by_place(folder, where)

    def read(self, folder: Path, where: str, faults: Faults) -> None:
        words = "this is a Hydro package (problem.yaml and testdata/config.yaml), which is not read"
        remedy = "Write a problem.json for its tests (docs/packages.md), or an init.yml as DMOJ has it"
        faults.add(words, self.header, remedy=remedy)
