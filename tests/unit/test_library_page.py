"""docs/library.md shows every public name, and its code blocks form a program that runs."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from support.folders import default_cache_variables

import ioi_eval

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "library.md").read_text()
PROGRAM = "\n\n".join(re.findall(r"^```python\n(.*?)^```$", PAGE, re.M | re.S))


@pytest.mark.parametrize("name", ioi_eval.__all__)
def test_public_name_has_example_on_library_page(name: str) -> None:
    imported = re.findall(r"^from ioi_eval import (.*)$", PROGRAM, re.M)
    used_code = re.sub(r"^from .*$", "", PROGRAM, flags=re.M)
    assert name in ", ".join(imported).split(", ") and re.search(rf"\b{name}\b", used_code)


@pytest.mark.nightly
def test_library_page_program_runs(shared_cache: Path) -> None:
    completed = subprocess.run(
        [sys.executable, "-W", "error::DeprecationWarning:__main__", "-c", PROGRAM],
        cwd=ROOT,
        env={**os.environ, **default_cache_variables(shared_cache)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert completed.returncode == 0, completed.stderr
    assert completed.stdout.startswith("100.0\n1 100.0\n2 0.0\n")
