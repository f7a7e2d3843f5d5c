"""A test that takes much CPU time fails the short run, in whichever process it takes it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from cost import Spending

pytestmark = pytest.mark.once

SUITE = """
import subprocess, sys, time
import pytest
BURN = "import time\\nend = time.process_time() + 0.2\\nwhile time.process_time() < end: pass"

def test_cheap(): time.sleep(0.01)
def test_dear(): exec(BURN)
def test_dear_in_a_child(): subprocess.run([sys.executable, "-c", BURN], check=True)
@pytest.fixture
def built(): exec(BURN)
def test_what_a_fixture_built(built): pass
"""


class Machine:
    """Processes' CPU time, and a clock, both set by the test."""

    def __init__(self) -> None:
        self.own, self.ended, self.living, self.now = 1.0, 0.0, 2.0, 0.0
        self.looks = 0
        self.spending = Spending(lambda: (self.own, self.ended), self.look, lambda: self.now)

    def look(self) -> float:
        self.looks += 1
        return self.living


def test_nothing_is_charged_for_what_one_look_missed() -> None:
    """The second misses a process that had spent 10 s, and the third finds it again."""
    machine, found = Machine(), list[float]()
    for living in (12.0, 2.5, 12.75):
        machine.living = living
        machine.now += 1
        found.append(machine.spending.so_far())
    assert found == [13.0, 13.0, 13.75]


def test_processes_below_are_looked_at_ten_times_a_second_at_most() -> None:
    machine = Machine()
    assert machine.spending.so_far() == 3.0
    machine.own, machine.living, machine.now = 1.25, 4.0, 0.05
    assert (machine.spending.so_far(), machine.looks) == (3.25, 1)
    machine.now = 0.1
    assert (machine.spending.so_far(), machine.looks) == (5.25, 2)


def test_what_has_ended_is_charged_once() -> None:
    machine = Machine()
    assert machine.spending.so_far() == 3.0
    machine.ended, machine.living = 2.0, 0.0  # at once, so that there was no reason to look but this
    assert machine.spending.so_far() == 3.0


@pytest.mark.parametrize(("slowness", "found"), [(1, "FAILED"), (9, "PASSED")])
def test_a_dear_test_fails(tmp_path: Path, slowness: int, found: str) -> None:
    """On a machine that is slower it may take as much more."""
    (tmp_path / "test_all.py").write_text(SUITE)
    here = Path(__file__).parents[1]
    (tmp_path / "conftest.py").write_text(
        f"import sys\nsys.path += [{str(here)!r}, {str(here / 'proctor')!r}]\nfrom cost import Costs, Pace\n"
        f"PACE = Pace(lambda: 0.0006 * {slowness})\n"
        "def pytest_configure(config): config.pluginmanager.register(Costs(0.1, pace=PACE))\n"
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
    alone = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    said = subprocess.run(asked, cwd=tmp_path, env=alone, capture_output=True, text=True, check=False).stdout
    ends = {
        line.split("::")[1].split()[0]: line.split()[0]
        for line in said.splitlines()
        if " test_all.py::" in line and line[:1] in "PF"
    }
    assert ends == {
        "test_cheap": "PASSED",
        "test_dear": found,
        "test_dear_in_a_child": found,
        "test_what_a_fixture_built": "PASSED",
    }, said
    assert ("s of CPU; what takes more than 0.1 s is `long`" in said) == (found == "FAILED")
    assert re.search("0.[23] setup    test_all.py::test_what_a_fixture_built", said)
