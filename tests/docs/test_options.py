"""The pages' tables of options equal the option fields."""

from __future__ import annotations

import re
from typing import Any

import pytest
from support.pages import ROOT

from ioi_eval.benchmarks import BenchmarkOptions
from ioi_eval.cli.groups import DeclaredOption, find_declared_options
from ioi_eval.integrations.rewards import RewardOptions
from ioi_eval.integrations.tasks import JudgingOptions
from ioi_eval.reports import ReportOptions
from ioi_eval.server import ServerOptions

PAGES = {
    "docs/benchmarks.md": BenchmarkOptions,
    "docs/reports.md": ReportOptions,
    "docs/worker.md": ServerOptions,
}


def default_of(option: DeclaredOption) -> str:
    if option.cli_option.unset:
        return option.cli_option.unset
    return f"`{str(option.default).lower() if isinstance(option.default, bool) else option.default}`"


@pytest.mark.parametrize(
    ("page", "kind"), [("docs/apps.md", RewardOptions), ("docs/inspect_ai.md", JudgingOptions)]
)
def test_option_table_in_docs_equals_the_option_fields(page: str, kind: Any) -> None:
    rows = [
        f"| `{option.name}` | {default_of(option)} | {option.cli_option.help} |"
        for option in find_declared_options(kind)
    ]
    assert len(rows) == len(kind.__struct_fields__)
    assert "\n".join(("| option | default | meaning |", "|---|---|---|", *rows)) in (ROOT / page).read_text()


@pytest.mark.parametrize("page", PAGES)
def test_page_mentions_every_command_line_option(page: str) -> None:
    page_text = (ROOT / page).read_text()
    mentioned = set(re.findall(r"--[a-z][a-z-]*", page_text.replace("--no-", "--")))
    mentioned |= set(re.findall(r"(?:`|--set )([a-z][a-z-]*)(?:=[^`]*)?`", page_text))  # keys
    assert {option.label for option in find_declared_options(PAGES[page])} - mentioned == set()


def test_worker_page_has_the_defaults_of_the_option_fields() -> None:
    page = (ROOT / "docs/worker.md").read_text()
    typed = [
        option for option in find_declared_options(ServerOptions) if option.cli_option.default is not None
    ]
    assert typed
    for option in typed:
        (default,) = re.findall(rf"^\|[^|]*`{option.label}`[^|]*\|([^|]*)\|", page, re.MULTILINE)
        assert str(option.cli_option.default) in default
