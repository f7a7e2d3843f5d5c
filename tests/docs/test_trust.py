"""The tests that docs/trust.md names exist."""

from __future__ import annotations

import ast
import re

import pytest
from support.pages import ROOT

PAGE = (ROOT / "docs/trust.md").read_text("utf-8")
NAMED = sorted(set(re.findall(r"`(tests/[\w/.]+)(?:::(\w+))?`", PAGE)))


@pytest.mark.parametrize(("file", "test"), NAMED, ids=[f"{file}::{test}" for file, test in NAMED])
def test_test_named_in_trust_page_exists(file: str, test: str) -> None:
    tree = ast.parse((ROOT / file).read_text("utf-8"))
    functions = (ast.FunctionDef, ast.AsyncFunctionDef)
    names = {node.name for node in ast.walk(tree) if isinstance(node, functions)}
    assert test in names if test else any(name.startswith("test") for name in names)
