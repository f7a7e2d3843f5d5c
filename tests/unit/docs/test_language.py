"""No sentence of the pages, the help or a docstring begins with a riddle: the reader is in a hurry."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest
from support.pages import PAGES, ROOT

from ioi_eval.cli import COMMANDS, loaded

pytestmark = pytest.mark.once

WORDS = r"(?:Who|What is|So many)\b"
RIDDLE = re.compile(rf"(?:^|(?<=[.:] )){WORDS}", re.M)


@pytest.mark.parametrize("page", PAGES)
def test_no_sentence_of_a_page(page: str) -> None:
    prose = re.sub(r"^( *)```.*?^\1```$", "", (ROOT / page).read_text(), flags=re.M | re.S)
    assert RIDDLE.findall(prose) == []


@pytest.mark.parametrize("name", COMMANDS)
def test_no_help_text(name: str) -> None:
    texts = [getattr(one, "help", None) or "" for one in loaded(name).params]
    assert [text for text in texts if RIDDLE.search(text)] == []


def test_no_docstring() -> None:
    documented = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
    found = [
        f"{path.relative_to(ROOT)}: {ast.get_docstring(node)}"
        for path in sorted(Path(ROOT, "ioi_eval").rglob("*.py"))
        if re.search(WORDS, text := path.read_text())  # few have them anywhere, and parsing all takes long
        for node in ast.walk(ast.parse(text))
        if isinstance(node, documented) and RIDDLE.search(ast.get_docstring(node) or "")
    ]
    assert found == []
