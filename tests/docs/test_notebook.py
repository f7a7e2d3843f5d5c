"""The tutorial notebook runs from its first cell to its last."""

from __future__ import annotations

import ast
import asyncio
import inspect
import json
from pathlib import Path
from typing import Any

import pytest

NOTEBOOK = Path(__file__).parents[2] / "docs" / "tutorials" / "notebook.ipynb"


@pytest.mark.usefixtures("default_cache")
def test_tutorial_notebook_cells_run_in_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pandas")
    monkeypatch.chdir(tmp_path)
    names, shown = dict[str, Any](), list[Any]()

    async def run() -> None:
        for cell in json.loads(NOTEBOOK.read_text())["cells"]:
            assert not cell.get("outputs"), "outputs are not stored in it"
            if cell["cell_type"] == "code":
                tree = ast.parse("".join(cell["source"]))
                last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
                flags = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
                begun = eval(compile(tree, "cell", "exec", flags), names)
                if inspect.isawaitable(begun):
                    await begun
                if last is not None:
                    shown.append(eval(compile(ast.Expression(last.value), "cell", "eval"), names))

    asyncio.run(run())
    verdicts = names["frame"].set_index(["problem_id", "model"])["verdict"].to_dict()
    assert verdicts == {
        ("add", "small"): "AC",
        ("add", "large"): "WA",
        ("sub", "small"): "WA",
        ("sub", "large"): "AC",
    }
    assert len(shown[-1]) >= 2 and (tmp_path / "run" / "report.html").exists()
