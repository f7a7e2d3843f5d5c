"""The registries that docs/extending.md names."""

from __future__ import annotations

import re

from support.pages import ROOT

from ioi_eval.registries import Registry


def test_registries_named_on_extension_page_exist() -> None:
    page = (ROOT / "docs" / "extending.md").read_text()
    named = set(re.findall(r"^\| `(ioi_eval\.\w+)` \|", page, re.M))
    named |= set(re.findall(r'project\.entry-points\."(ioi_eval\.[\w.]+)"', page))
    assert named
    assert named - {registry.value for registry in Registry} == set()
