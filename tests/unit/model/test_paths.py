"""Errors for missing paths suggest similar paths."""

from __future__ import annotations

from pathlib import Path

import pytest

from ioi_eval.model.paths import missing_path_error


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "examples" / "problems").mkdir(parents=True)
    (tmp_path / "examples" / "generations.jsonl").touch()
    (tmp_path / ".hidden").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("path", "similar"),
    [
        ("exmaples/problems", "examples/problems"),
        ("exmaples/probelms", "examples/problems"),
        ("examples/probelms", "examples/problems"),
        ("examples/generatoins.jsonl", "examples/generations.jsonl"),
        ("./exmaples", "examples"),
        ("examples/generations.csv", "examples/generations.jsonl"),
    ],
)
def test_missing_path_error_suggests_similar_path(folder: Path, path: str, similar: str) -> None:
    for named, existing in ((path, similar), (folder / path, folder / similar)):
        error = missing_path_error(named, "Name a folder")
        assert str(error) == (f"{named}: no such file or folder. Did you mean '{existing}'? Name a folder")


@pytest.mark.parametrize(
    "path",
    [
        "nowhere",
        "nowhere/problems",
        "exmaples/nowhere",
        "examples/generations.jsonl/x",
        "hidden",
        "examples/none.jsonl",
    ],
)
def test_missing_path_error_without_similar_path_suggests_nothing(folder: Path, path: str) -> None:
    assert str(missing_path_error(path, "Name a folder")) == f"{path}: no such file or folder. Name a folder"
