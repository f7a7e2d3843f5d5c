"""A test that takes much CPU time fails the short run, in whichever process it takes it."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.once

SUITE = """
import subprocess, sys, time
import pytest
BURN = "import time\\nend = time.process_time() + 0.6\\nwhile time.process_time() < end: pass"

def test_cheap(): time.sleep(0.01)
def test_dear(): exec(BURN)
def test_dear_in_a_child(): subprocess.run([sys.executable, "-c", BURN], check=True)
@pytest.fixture
def built(): exec(BURN)
def test_what_a_fixture_built(built): pass
"""


def test_a_dear_test_fails(tmp_path: Path) -> None:
    (tmp_path / "test_all.py").write_text(SUITE)
    here = Path(__file__).parents[1]
    (tmp_path / "conftest.py").write_text(
        f"import sys\nsys.path += [{str(here)!r}, {str(here / 'proctor')!r}]\nfrom cost import Costs\n"
        "def pytest_configure(config): config.pluginmanager.register(Costs(0.2))\n"
    )
    asked = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-rA",
        "-p",
        "no:cacheprovider",
        "--rootdir",
        tmp_path,
        tmp_path,
    ]
    said = subprocess.run(asked, cwd=tmp_path, capture_output=True, text=True, check=False).stdout
    ends = {
        line.split("::")[1].split()[0]: line.split()[0]
        for line in said.splitlines()
        if " test_all.py::" in line and line[:1] in "PF"
    }
    assert ends == {
        "test_cheap": "PASSED",
        "test_dear": "FAILED",
        "test_dear_in_a_child": "FAILED",
        "test_what_a_fixture_built": "PASSED",
    }, said
    assert "s of CPU; what takes more than 0.2 s is `long`" in said
    assert re.search("0.[67] setup    test_all.py::test_what_a_fixture_built", said)
