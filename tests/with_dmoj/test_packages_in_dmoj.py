"""In DMOJ's judge, the submissions of the tests' packages get the expected verdicts."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("dmoj", reason="DMOJ's judge is not installed")

PACKAGES = Path(__file__).resolve().parents[1] / "packages"
NAMES = sorted(path.parent.name for path in PACKAGES.glob("*/init.yml"))
TOOLS = {"python3": "python3", "g++17": "g++", "g++20": "g++", "gcc": "gcc", "gcc11": "gcc"}


@pytest.fixture(scope="module")
def dmoj_output(tmp_path_factory: pytest.TempPathFactory) -> str:
    temporary = tmp_path_factory.mktemp("dmoj")
    tools = "".join(f"  {name}: {shutil.which(tool, path='/usr/bin')}\n" for name, tool in TOOLS.items())
    configuration = temporary / "judge.yml"
    configuration.write_text(f"problem_storage_globs: []\ntempdir: {temporary}\nruntime:\n{tools}")
    arguments = (
        "-m",
        "dmoj.testsuite",
        "-c",
        configuration,
        "-e",
        "PY3,CPP17,CPP20,C,C11",
        "--skip-self-test",
    )
    command = [sys.executable, *arguments, "--no-ansi", PACKAGES, f"^({'|'.join(NAMES)})$"]
    completed = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)
    assert "All cases passed." in completed.stdout, completed.stdout + completed.stderr
    return completed.stdout


@pytest.mark.parametrize("name", NAMES)
def test_dmoj_verdicts_of_submissions_equal_package_expectations(dmoj_output: str, name: str) -> None:
    """tests/conformance/test_packages.py tests the same with ioi_eval's judge."""
    assert f"Problem {name} passed with flying colours." in dmoj_output
    judged_tests = re.findall(rf"Result of case (\S+) for {name}: Success", dmoj_output)
    assert set(judged_tests) == {path.parent.name for path in (PACKAGES / name).glob("tests/*/test.yml")}
