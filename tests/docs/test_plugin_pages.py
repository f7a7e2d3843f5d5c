"""Each plugin has a page, tests, and a row in the list of plugins with its registries."""

from __future__ import annotations

import re
import tomllib

import pytest
from support.pages import ROOT

from ioi_eval.registries import Registry

PLUGINS = sorted(path.parent.name for path in (ROOT / "ioi_eval" / "plugins").glob("*/__init__.py"))
ENTRIES = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["entry-points"]


@pytest.mark.parametrize("name", PLUGINS)
def test_every_plugin_has_a_docs_page_and_tests(name: str) -> None:
    page = (ROOT / "docs" / "plugins" / f"{name}.md").read_text()
    assert page.startswith(f"# The plugin {name}\n\nThe plugin {name} ")
    assert "```" in page and "\nWhat it does not do:\n\n- " in page
    assert any((ROOT / "tests" / "plugins" / name).glob("test_*.py"))


def test_extension_page_lists_all_registries() -> None:
    page_text = (ROOT / "docs" / "extending.md").read_text()
    rows = dict(re.findall(r"^\| `([\w.]+)` \| .* \| \[.*\]\(#([\w-]+)\) \|$", page_text, re.M))
    assert list(rows) == [registry.value for registry in Registry]
    for name, anchor in rows.items():
        section = page_text.partition(f"## {anchor.replace('-', ' ').capitalize()}\n")[2].partition("\n## ")[
            0
        ]
        assert f'[project.entry-points."{name}"]' in section


def test_plugin_list_in_docs_names_the_registries_of_each_plugin() -> None:
    page_text = (ROOT / "docs" / "plugins.md").read_text()
    listed = dict(re.findall(r"^\| \[(\w+)\]\(plugins/\1\.md\) \|.*\| ([\w, ]+) \|$", page_text, re.M))
    registries = {
        name: ", ".join(
            group.removeprefix("ioi_eval.").replace("_", " ")
            for group in ENTRIES
            if group.startswith("ioi_eval.")
            and any(
                entry_point.startswith(f"ioi_eval.plugins.{name}.") for entry_point in ENTRIES[group].values()
            )
        )
        for name in PLUGINS
    }
    assert listed == registries
