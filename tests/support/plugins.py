"""Marks for tests of the core that need a plugin, which a checkout may lack."""

from __future__ import annotations

from pathlib import Path

import pytest

import ioi_eval

PLUGINS = Path(ioi_eval.__file__).parent / "plugins"
PAGES = Path(__file__).parents[2] / "docs" / "plugins"


def needs_plugin(name: str) -> pytest.MarkDecorator:
    """Skip a test, or one of its parameters, in a checkout without the plugin `name`."""
    assert (PAGES / f"{name}.md").exists(), f"there never was a plugin {name}"
    return pytest.mark.skipif(not (PLUGINS / name).exists(), reason=f"the plugin {name} is not here")
