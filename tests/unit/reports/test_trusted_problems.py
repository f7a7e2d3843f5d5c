"""`score --trust`: numbers without problems that an audit does not trust, next to all numbers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ioi_eval import Problem, score_dump
from ioi_eval.errors import InputError
from ioi_eval.runs import ScoredDump
from ioi_eval.sources import Problems
from ioi_eval.testing import FakeEngine

PROBLEMS = Problems([Problem.of([("1", "1")], id=name) for name in ("good", "bad")])
ROWS = [{"id": name, "problem_id": name, "code": "print(1)", "language": "python"} for name in PROBLEMS]


def audit(folder: Path, **untrusted: str) -> Path:
    path = folder / "audit.json"
    path.write_text(json.dumps({"version": 1, "untrusted": untrusted, "problems": []}))
    return path


async def scored(out: Path, **options: Any) -> ScoredDump:
    engine: Any = FakeEngine({0: 1.0})
    return await score_dump(ROWS, PROBLEMS, out=out, engine=engine, **options)


async def test_report_shows_numbers_with_and_without_untrusted_problems(tmp_path: Path) -> None:
    run_summary = (
        await scored(tmp_path / "run", trust=audit(tmp_path, bad="broken test", other="weak"))
    ).summary
    assert run_summary.trust is not None and run_summary.trust.problems == {"bad": "broken test"}
    assert [row.problems for row in run_summary.headline.models] == [2]
    assert [row.problems for row in run_summary.trust.headline.models] == [1]
    summary = json.loads((tmp_path / "run" / "summary.json").read_text())
    assert summary["trust"]["audit"].endswith("audit.json") and len(summary["trust"]["sha256"]) == 64
    report = (tmp_path / "run" / "report.md").read_text()
    assert "without 1 problem that" in report and "broken test" in report


async def test_run_without_trust_option_has_no_audit(tmp_path: Path) -> None:
    await scored(tmp_path / "run", trust=audit(tmp_path, bad="broken test"))
    untrusted = await scored(tmp_path / "run")
    assert untrusted.summary.trust is None and not (tmp_path / "run" / "trust.json").exists()


@pytest.mark.parametrize("content", ["", "[]", '{"untrusted": {"a": 1}}', "{}"])
async def test_file_that_is_not_an_audit_is_refused(tmp_path: Path, content: str) -> None:
    path = tmp_path / "audit.json"
    path.write_text(content)
    with pytest.raises(InputError, match="is not an audit"):
        await scored(tmp_path / "run", trust=path)
    assert not (tmp_path / "run").exists()
