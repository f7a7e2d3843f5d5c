"""The pages' tables of package keys equal the declarations.

`pytest --update` writes them. A comment `<!-- keys of MODULE.CLASS -->` precedes each table.
"""

from __future__ import annotations

import importlib
import re
from pathlib import Path
from typing import Any

import pytest
from support.pages import ROOT

from ioi_eval.problems.collection import list_formats
from ioi_eval.problems.keys import Keys, format_key_table

PAGES = [ROOT / "docs" / "packages.md", ROOT / "docs" / "formats.md"]
TABLE = re.compile(r"^<!-- keys of (\S+) -->\n(?:\|.*\n)*", re.MULTILINE)
# Classes that other classes extend, or whose keys are not named in a package.
WITHOUT_TABLE = {
    "GradingKeys",
    "HeaderGradingKeys",
    "InheritedKeys",
    "ManagerKeys",
    "PackageKeys",
    "ScoringKeys",
}
WITHOUT_TABLE |= {"TestKeys", "_GroupRow"}


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


def subclasses(kind: type[Any]) -> set[type[Any]]:
    return {kind, *(inner for subclass in kind.__subclasses__() for inner in subclasses(subclass))}


def test_each_class_of_package_keys_has_a_table_in_docs() -> None:
    list_formats()  # imports all formats
    documented = {name for page in PAGES for name in TABLE.findall(page.read_text())}
    classes = {kind for kind in subclasses(Keys) - {Keys} if kind.__module__.startswith("ioi_eval.")}
    declared = {
        f"{kind.__module__}.{kind.__name__}" for kind in classes if kind.__name__ not in WITHOUT_TABLE
    }
    polygon = "ioi_eval.plugins.polygon.keys.TestKeys"
    assert documented == declared | {polygon}


def test_key_descriptions_contain_no_table_separator() -> None:
    list_formats()
    for kind in subclasses(Keys):
        for key in kind.declared_keys().values():
            assert "|" not in f"{key.name}{key.meaning}{key.missing_description}", (
                f"{kind.__name__}.{key.name}"
            )
