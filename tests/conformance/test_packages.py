"""Packages in tests/packages, one for each feature of a format: every solution gets what its author says."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from ioi_eval import Store, validate
from ioi_eval.runs import ValidatedSolutions

PACKAGES = sorted((Path(__file__).parents[1] / "packages").iterdir())


async def validated(package: Path, out: Path, cache: Path) -> ValidatedSolutions:
    return await validate(package, out=out, store=Store(cache))


@pytest.mark.parametrize("package", PACKAGES, ids=lambda package: package.name)
async def test_judge_and_authors_agree(package: Path, tmp_path: Path, shared_cache: Path) -> None:
    found = (await validated(package, tmp_path / "run", shared_cache)).validation
    assert [one.reason for one in found.unjudged] == []
    assert [(one.solution, one.differences) for one in found.solutions if one.differences] == []
    assert found.expectations >= len(found.solutions) > 1


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("print('fine, 30')", "it wrote 'fine, 30\\n', and was to write a verdict and points"),
        ("print('JE 0')", "it wrote 'JE 0\\n'"),
        ("print('AC 31')", "groups earned 31 points together, of 30 that there are"),
        ("raise SystemExit(3)", "it ended with exit 3"),
        ("import os; os.fork()", "it ended with"),
    ],
)
async def test_a_grader_that_fails_is_no_verdict(
    tmp_path: Path, shared_cache: Path, source: str, words: str
) -> None:
    package = tmp_path / "relaybatons"
    shutil.copytree(Path(__file__).parents[1] / "packages" / "relaybatons", package)
    (package / "data/secret/testdata.yaml").write_text("on_reject: continue\ngrader_flags: always_accept\n")
    (package / "graders/grade.py").write_text(f"{source}\n")
    found = (await validated(package, tmp_path / "run", shared_cache)).validation
    assert len(found.unjudged) == 3
    assert words in found.unjudged[0].reason
