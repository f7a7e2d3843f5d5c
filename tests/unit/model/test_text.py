"""Texts for people."""

from __future__ import annotations

import pytest

from ioi_eval.model.text import format_install_command


@pytest.mark.parametrize(("extra", "command"), [("mcp", "pip install '.[mcp]'"), ("", "pip install .")])
def test_install_command_installs_from_a_clone(extra: str, command: str) -> None:
    assert format_install_command(extra) == f"Install it in a clone of ioi_eval: {command}"
