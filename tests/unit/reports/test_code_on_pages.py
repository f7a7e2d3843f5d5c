"""The page of a submission shows its code, whatever column of the dump contains it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ioi_eval import Problem, Store, score_dump_sync
from ioi_eval.sources import Problems
from ioi_eval.testing import FakeEngine

PROGRAM = "print(int(input()) + 4711)"
REPLY = f"The program:\n```python\n{PROGRAM}\n```\n"


@pytest.mark.parametrize(
    ("columns", "read_from"),
    [
        ({"generation": REPLY}, None),
        ({"response": REPLY}, {"reply": "response"}),
        ({"messages": [{"role": "user", "content": "?"}, {"role": "assistant", "content": REPLY}]}, ...),
        ({"code": PROGRAM}, None),
    ],
)
def test_page_shows_code_of_column(
    tmp_path: Path, store: Store, columns: dict[str, Any], read_from: object
) -> None:
    dump, out = tmp_path / "dump.jsonl", tmp_path / "out"
    dump.write_text(json.dumps({"problem_id": "sum", "language": "python", **columns}) + "\n")
    problems = Problems([Problem.of(id="sum", tests=[("1", "2")])])
    score_dump_sync(dump, problems, out=out, engine=FakeEngine(), store=store)
    row = json.loads((out / "results.jsonl").read_text())
    assert read_from is ... or row.get("read_from") == read_from
    [page] = (out / "report").glob("submission-*.html")
    assert "4711" in page.read_text() and "contain no code" not in page.read_text()
