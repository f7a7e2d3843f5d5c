"""Judges the example solutions once for all tests that compare with these results."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Mapping
from pathlib import Path

from built_programs import built_once

import ioi_eval
from ioi_eval import Store, validate
from ioi_eval.models import SubmissionResult
from ioi_eval.store.folder import read_rows
from ioi_eval.store.resources import examples_folder, graders_folder
from ioi_eval.store.rows import read_result

PLACE = examples_folder() / "problems"


def judged(problem: str, folder: Path, store: Path) -> Mapping[str, SubmissionResult]:
    """Return the result of each solution of a problem, by the solution's name."""
    rows = read_rows(judged_run(folder, store), is_selected=lambda head: head.problem_id == problem)
    return {str(row["solution"]): read_result(row) for row in rows}


def judged_run(folder: Path, store: Path) -> Path:
    """Return the run's folder in `kept`, the folder that test processes share. `store` caches builds."""

    def judge(unfinished: Path) -> None:
        asyncio.run(validate(PLACE, out=unfinished, store=Store(store)))

    made_of = hashlib.sha256()
    for source_folder in (Path(ioi_eval.__file__).parent, graders_folder(), PLACE):
        for path in sorted(source_folder.rglob("*")):
            if path.is_file() and "__pycache__" not in path.parts:
                made_of.update(f"{path}\0{hashlib.sha256(path.read_bytes()).hexdigest()}\n".encode())
    return built_once(folder / f"judged-examples-{made_of.hexdigest()[:16]}", judge)
