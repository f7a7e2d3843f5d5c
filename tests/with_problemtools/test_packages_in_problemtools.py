"""Submissions of the tests' ICPC packages get the same verdicts from problemtools and from ioi_eval."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("problemtools", reason="problemtools is not installed")

from ioi_eval import Store, load_problems, validate
from ioi_eval.store.folder import read_rows

PACKAGES = Path(__file__).resolve().parents[1] / "packages"
# Error messages of problemtools about packages that it does not judge.
REFUSED = {
    "ripples": "limits.validation_passes",
    "barters": 'validator did not produce "score.txt"',  # passes are unknown to it
}
NEWER = "problem_format_version: 20"
NAMES = sorted(
    path.parent.name
    for path in PACKAGES.glob("*/problem.yaml")
    if NEWER not in path.read_text() and path.parent.name not in REFUSED
)
# By package and solution: the verdicts of problemtools and of ioi_eval.
OTHERWISE = {
    ("couriers", "forks_itself.cpp"): ("WA", "RE"),  # problemtools does not count processes
    ("quarry", "more.py"): ("AC", "WA"),  # 0 points, which problemtools' grader accepts
}
UNKNOWN = {"compiler_error", "output_limit_exceeded"}  # folders


def problemtools_output(name: str) -> str:
    arguments = ("-m", "problemtools.verifyproblem", "-p", "submissions", "--", PACKAGES / name)
    completed = subprocess.run(
        [sys.executable, *arguments], capture_output=True, text=True, check=False, timeout=300
    )
    return completed.stdout + completed.stderr


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    return Store(tmp_path_factory.mktemp("cache"))


@pytest.mark.parametrize("name", NAMES)
async def test_verdicts_of_package_submissions_equal_those_of_problemtools(
    name: str, tmp_path: Path, store: Store
) -> None:
    lines = re.findall(
        r"^(?:ERROR|  ) \w+/(\S+) \(.*?\) (?:OK: |got )(\w+)(?: \((\d+)\))?", problemtools_output(name), re.M
    )
    their_results = {solution: (verdict, points) for solution, verdict, points in lines}
    package = tmp_path / name
    shutil.copytree(PACKAGES / name, package)
    for folder in UNKNOWN:
        shutil.rmtree(package / "submissions" / folder, ignore_errors=True)
    await validate(package, out=tmp_path / "run", store=store)
    (problem,) = load_problems(package).values()
    rows = {row["solution"].partition("/")[0]: row for row in read_rows(tmp_path / "run")}
    assert their_results.keys() == rows.keys() and their_results
    for solution, (verdict, points) in their_results.items():
        row = rows[solution]
        if (name, solution) in OTHERWISE:
            assert (verdict, row["verdict"]) == OTHERWISE[name, solution]
        elif points and problem.subtasks:  # problemtools accepts any submission that earns points
            assert (verdict, round(row["points"])) == ("AC", int(points)), solution
        else:
            assert verdict == row["verdict"], solution


@pytest.mark.parametrize("name", REFUSED)
def test_problemtools_refuses_package_with_expected_message(name: str) -> None:
    assert REFUSED[name] in problemtools_output(name)
