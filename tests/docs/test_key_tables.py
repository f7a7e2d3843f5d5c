"""The pages' tables of package keys equal the declarations.

`pytest --update` writes them. A comment `<!-- keys of MODULE.CLASS -->` precedes each table.
"""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import pytest
from support.pages import ROOT

from ioi_eval.problems.keys import format_key_table

PAGES = [ROOT / "docs" / "packages.md", ROOT / "docs" / "formats.md"]
TABLE = re.compile(r"^<!-- keys of (\S+) -->\n(?:\|.*\n)*", re.MULTILINE)


def with_table(match: re.Match[str]) -> str:
    """Return the comment and the table of the class that it names."""
    module, _, name = match[1].rpartition(".")
    return (
        f"<!-- keys of {match[1]} -->\n{format_key_table(getattr(importlib.import_module(module), name))}\n"
    )


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_key_table_in_docs_equals_the_declaration(page: Path, request: pytest.FixtureRequest) -> None:
    expected = TABLE.sub(with_table, page.read_text())
    if request.config.getoption("--update"):
        page.write_text(expected)
    assert page.read_text() == expected
