"""Packages of the plugins' formats: `pytest --update` on this file writes their goldens."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.package_goldens import FOLDER, compare, text_files

PACKAGES = Path(__file__).parents[2] / "packages"
SOUND = {
    "dmoj/pond.jsonl": FOLDER / "dmoj" / "pond",
    "dmoj/pulleys.jsonl": PACKAGES / "pulleys",
    "dmoj/spindle.jsonl": PACKAGES / "spindle",
    "dmoj/terraces.jsonl": PACKAGES / "terraces",
    "italy/gradini.jsonl": PACKAGES / "gradini",
    "italy/vineyard.jsonl": PACKAGES / "vineyard",
    "lightcp/powers.jsonl": PACKAGES / "powers",
    "polygon/halves.jsonl": PACKAGES / "halves",
    "polygon/stairs.jsonl": PACKAGES / "stairs",
}


@pytest.mark.parametrize("name", SOUND)
def test_packages_are_read_or_refused_as_expected(name: str, tmp_path: Path) -> None:
    compare(FOLDER / name, text_files(SOUND[name]), tmp_path)
