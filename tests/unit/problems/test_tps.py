"""Packages of TPS. tests/data/packages/tps has the expected problems."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.datasets import check_problems
from support.package_goldens import FOLDER
from support.properties import example_count

from ioi_eval.problems import load_problems
from ioi_eval.problems.tps import Tps

HILLS = FOLDER / "tps" / "hills"


def test_folder_of_packages_of_tps_is_a_source(tmp_path: Path) -> None:
    shutil.copytree(HILLS, tmp_path / "packages" / "hills")
    problems = load_problems(tmp_path / "packages", cache=tmp_path / "cache", only={"hills"})
    assert list(problems) == ["hills"]
    (package,) = check_problems(tmp_path / "packages", cache=tmp_path / "cache")
    assert package.format == "TPS"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)
HEADER = json.loads((HILLS / "problem.json").read_text())


@settings(max_examples=example_count(12, 40))
@given(st.dictionaries(st.sampled_from([*HEADER, "num_processes"]), JSON), JSON, JSON)
def test_arbitrary_tps_documents_give_problem_or_errors(
    tmp_path_factory: pytest.TempPathFactory, header: Any, subtasks: Any, solutions: Any
) -> None:
    folder = tmp_path_factory.mktemp("package") / "x"
    shutil.copytree(HILLS, folder)
    (folder / "problem.json").write_text(json.dumps({**HEADER, **header}))
    (folder / "subtasks.json").write_text(json.dumps({"subtasks": subtasks}))
    (folder / "solutions.json").write_text(json.dumps(solutions))
    package = Tps().read_package(folder, "x")
    assert (package.problem is None) is bool(package.errors)
    assert all(error.where for error in package.errors)
