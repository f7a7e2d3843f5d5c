"""The defaults and settings keys on pages are those of the options."""

from __future__ import annotations

import re

from support.pages import ROOT

from ioi_eval.cli import COMMANDS, load_command
from ioi_eval.cli.groups import find_declared_options
from ioi_eval.server import ServerOptions


def test_worker_page_has_the_defaults_of_the_option_fields() -> None:
    page = (ROOT / "docs/worker.md").read_text()
    typed = [
        option for option in find_declared_options(ServerOptions) if option.cli_option.default is not None
    ]
    assert typed
    for option in typed:
        (default,) = re.findall(rf"^\|[^|]*`{option.label}`[^|]*\|([^|]*)\|", page, re.MULTILINE)
        assert str(option.cli_option.default) in default


def test_documented_settings_keys_exist() -> None:
    page = (ROOT / "docs" / "environment.md").read_text()
    documented = re.findall(r"^\| `([a-z-]+)` \|", page.partition("| key | value |")[2], re.MULTILINE)
    options = [option for name in COMMANDS for option in load_command(name).params]
    keys = {opt[2:] for option in options if getattr(option, "hidden", False) for opt in option.opts}
    assert documented
    assert set(documented) - keys == set()
