"""Recognize packages whose format is in a plugin that is not installed, and report the plugin's name."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from ioi_eval.model.fields import Faults
from ioi_eval.problems.package import PackageFormat, find_package_name
from ioi_eval.registries import missing_plugin_error


class MissingPluginFormat(PackageFormat):
    """A package format whose plugin is not installed. It recognizes packages by a header and paths."""

    rank = 65  # rank of the formats of plugins: after Kattis, before TPS and CMS

    def __init__(self, plugin: str, name: str, header: str, *paths: str) -> None:
        self._plugin, self._paths = plugin, paths
        vars(self).update(name=name, header=header)

    def looks_like_package(self, folder: Path) -> bool:
        has_path = not self._paths or any((folder / path).exists() for path in self._paths)
        return has_path and super().looks_like_package(folder)

    def package_id(self, folder: Path, where: str) -> str:
        return find_package_name(folder, where)

    def read(self, folder: Path, where: str, faults: Faults) -> None:
        """Report that the plugin must be installed. Returns no problem."""
        error = missing_plugin_error(f"{self.name} packages need", self._plugin)
        faults.report(error.problem, self.header, remedy=error.remedy)


MISSING: Mapping[str, MissingPluginFormat] = MappingProxyType(
    {
        "polygon": MissingPluginFormat("polygon", "Polygon", "problem.xml"),
        "italy": MissingPluginFormat("italy", "italy_yaml", "task.yaml", "gen/GEN", "input"),
        "lightcp": MissingPluginFormat("lightcp", "LightCPVerifier", "config.yaml", "testdata"),
        "dmoj": MissingPluginFormat("dmoj", "DMOJ", "init.yml"),
    }
)
