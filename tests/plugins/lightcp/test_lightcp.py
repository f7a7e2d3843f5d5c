"""Packages of LightCPVerifier. tests/data/packages/lightcp has the expected problems."""

from __future__ import annotations

import shutil
from pathlib import Path

from package_files import only_error, sound

POWERS = Path(__file__).parents[2] / "packages" / "powers"


def test_testlib_header_next_to_lightcp_packages_is_used(tmp_path: Path) -> None:
    folder = tmp_path / "all" / "powers"
    shutil.copytree(POWERS, folder)
    (folder / "chk.cc").write_text('#include "testlib.h"\n')
    error = only_error(folder)
    assert "chk.cc includes testlib.h, which is missing. Put testlib.h" in str(error)
    (folder.parent / "testlib.h").write_text("\n")
    assert [source.name for source in sound(folder).checker.sources] == ["chk.cc", "testlib.h"]
