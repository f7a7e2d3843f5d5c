"""Tables of options on pages equal the option fields, and keys on pages exist."""

from __future__ import annotations

import re
from typing import Any

import pytest
from support.pages import ROOT, check_generated

from ioi_eval.cli import COMMANDS, load_command
from ioi_eval.cli.groups import DeclaredOption, find_declared_options
from ioi_eval.integrations.rewards import RewardOptions
from ioi_eval.integrations.tasks import JudgingOptions
from ioi_eval.server import ServerOptions


def default_of(option: DeclaredOption) -> str:
    if option.cli_option.unset:
        return option.cli_option.unset
    return f"`{str(option.default).lower() if isinstance(option.default, bool) else option.default}`"


@pytest.mark.parametrize(
    ("page", "kind"), [("docs/apps.md", RewardOptions), ("docs/inspect_ai.md", JudgingOptions)]
)
def test_option_table_in_docs_equals_the_option_fields(
    page: str, kind: Any, request: pytest.FixtureRequest
) -> None:
    rows = [
        f"| `{option.name}` | {default_of(option)} | {option.cli_option.help} |"
        for option in find_declared_options(kind)
    ]
    assert len(rows) == len(kind.__struct_fields__)
    table = ["| option | default | meaning |", "|---|---|---|", *rows]
    check_generated(page, "options", table, update=request.config.getoption("--update"))


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
