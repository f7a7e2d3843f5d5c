from __future__ import annotations

from pathlib import Path

import pytest

from ioi_eval.errors import IoiEvalError
from ioi_eval.store import resources


def package(root: Path) -> Path:
    folder = root / "ioi_eval"
    folder.mkdir()
    return folder


def test_in_this_checkout() -> None:
    assert resources.graders() == Path(__file__).resolve().parents[3] / "graders"
    assert resources.examples() == Path(__file__).resolve().parents[3] / "examples"


def test_in_an_installation_the_data_lie_in_the_package(tmp_path: Path) -> None:
    data = package(tmp_path) / "_data" / "graders"
    data.mkdir(parents=True)
    (tmp_path / "graders").mkdir()
    (tmp_path / "pyproject.toml").touch()
    assert resources._folder("graders", tmp_path / "ioi_eval") == data


def test_in_a_checkout_they_lie_beside_it(tmp_path: Path) -> None:
    (tmp_path / "graders").mkdir()
    (tmp_path / "pyproject.toml").touch()
    assert resources._folder("graders", package(tmp_path)) == tmp_path / "graders"


def test_the_examples_of_another_installed_project_are_not_ours(tmp_path: Path) -> None:
    (tmp_path / "examples").mkdir()
    with pytest.raises(IoiEvalError, match="examples is missing"):
        resources._folder("examples", package(tmp_path))
