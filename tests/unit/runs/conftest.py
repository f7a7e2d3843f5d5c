"""A fixture of a run with some rows."""

from __future__ import annotations

from pathlib import Path

import pytest
from journal_rows import MADE_OF, row

from ioi_eval.store.result_log import ResultLog


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "runs" / "demo"


@pytest.fixture
def scored(folder: Path) -> Path:
    with ResultLog.open(folder, MADE_OF) as journal:
        for key in ("a1", "a2", "a3"):
            journal.record_result(row(key))
    return folder
