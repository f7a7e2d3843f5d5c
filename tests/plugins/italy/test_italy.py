"""Packages in CMS's italy_yaml format. tests/data/packages/italy has the expected problems."""

from __future__ import annotations

from pathlib import Path

from ioi_eval.plugins.italy.packages import Italy

GRADINI = Path(__file__).parents[2] / "packages" / "gradini"


def test_italian_package_id_is_its_short_name() -> None:
    assert Italy().package_id(GRADINI, "") == "gradini"
