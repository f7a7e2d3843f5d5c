"""Packages in tests/data/packages are read or refused as expected.

`pytest --update` on this file writes the results.
"""

from __future__ import annotations

import json
from pathlib import Path

import kattis_files
import package_files
import pytest
from support.package_goldens import FOLDER, compare, text_files

SOUND = {
    "cms": {"problem.json": json.dumps(package_files.HEADER), **package_files.FILES},
    "kattis": kattis_files.FILES,
    "tps": text_files(FOLDER / "tps" / "hills"),
}
CASES = sorted(path for name in SOUND for path in (FOLDER / name).glob("*.jsonl"))


@pytest.mark.parametrize("cases", CASES, ids=lambda path: str(path.relative_to(FOLDER)))
def test_packages_are_read_or_refused_as_expected(cases: Path, tmp_path: Path) -> None:
    compare(cases, SOUND[cases.parent.name], tmp_path)
