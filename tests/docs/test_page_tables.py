"""Tables and diagrams on pages that are made from the code. `pytest --update` on this file writes them.

Each follows a comment on the page: `<!-- NAME, written by pytest --update FILE -->`, where FILE is this file,
or `<!-- keys of MODULE.CLASS -->` for the keys of a package.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from support.goldens import golden
from support.pages import ROOT

from ioi_eval.benchmarks.entries import ENTRIES
from ioi_eval.benchmarks.row_schemas import ROW_SCHEMAS, USUAL
from ioi_eval.cli.groups import DeclaredOption, find_declared_options
from ioi_eval.engines.fleet import draw_state_diagram
from ioi_eval.integrations.rewards import RewardOptions
from ioi_eval.integrations.tasks import JudgingOptions
from ioi_eval.model import retry
from ioi_eval.model.languages import LANGUAGES
from ioi_eval.model.retry import RetryRule
from ioi_eval.plugins.functions import listed
from ioi_eval.problems.keys import format_key_table

# --- options ---------------------------------------------------------------------------------------------


def option_table(kind: Any) -> list[str]:
    rows = [
        f"| `{option.name}` | {default_of(option)} | {option.cli_option.help} |"
        for option in find_declared_options(kind)
    ]
    assert len(rows) == len(kind.__struct_fields__)
    return ["| option | default | meaning |", "|---|---|---|", *rows]


def default_of(option: DeclaredOption) -> str:
    if option.cli_option.unset:
        return option.cli_option.unset
    return f"`{str(option.default).lower() if isinstance(option.default, bool) else option.default}`"


# --- retry rules and states of servers -------------------------------------------------------------------


def retry_table() -> list[str]:
    return [
        "| rule | what is tried again | on which error | how often | waits | what happens then |",
        "|---|---|---|---|---|---|",
        *(retry_row(rule) for rule in vars(retry).values() if isinstance(rule, RetryRule)),
    ]


def retry_row(rule: RetryRule) -> str:
    cells = (f"`{rule.name}`", rule.what, rule.on, how_often(rule), waits(rule), rule.gives_up)
    return f"| {' | '.join(cells)} |"


def how_often(rule: RetryRule) -> str:
    limits = ([f"{rule.attempts} attempts"] if rule.attempts else []) + (
        [seconds(rule.seconds)] if rule.seconds else []
    )
    return " or ".join(limits) or "no limit"


def waits(rule: RetryRule) -> str:
    if not rule.longest_wait:
        return "none"
    doubling = f", doubling to {seconds(rule.longest_wait)}" if rule.longest_wait > rule.first_wait else ""
    return f"{seconds(rule.first_wait)}{doubling}"


def seconds(number: float) -> str:
    return f"{number:g} s"


def state_diagram() -> list[str]:
    return ["```mermaid", *draw_state_diagram().splitlines(), "```"]


# --- dumps -----------------------------------------------------------------------------------------------

FIELDS = {
    "problem_id": "problem",
    "code": "program",
    "generation": "reply",
    "language": "language",
    "model": "model",
    "year": "year",
    "subtask": "subtask",
}


def column_table() -> list[str]:
    default_columns = {field: " ".join(f"`{name}`" for name in names) for field, names in USUAL.items()}
    rows = [f"| {FIELDS[field]} | {names} |" for field, names in default_columns.items()]
    return ["| read from a row | the first of these columns |", "|---|---|", *rows]


def row_schema_table() -> list[str]:
    lines = [
        "| rows are read as | detected by the columns | problem | program or reply | language |",
        "|---|---|---|---|---|",
    ]
    for schema in ROW_SCHEMAS:
        by = " ".join(f"`{name}`" for name in schema.needs) or "no standard columns"
        by += f" and one of {' '.join(f'`{name}`' for name in schema.one_of)}" if schema.one_of else ""
        problem = column_or_words(schema.columns.get("problem_id", ""))
        if schema.prompt and schema.prompt == schema.columns.get("problem_id"):
            problem = f"the statement in `{schema.prompt}`"
        elif schema.prompt:
            problem = f"{problem}, else the statement in `{schema.prompt}`"
        code = column_or_words(schema.columns.get("code") or schema.columns.get("generation") or "")
        language = schema.language or "as for other rows"
        lines.append(f"| {schema.name} | {by} | {problem} | {code} | {language} |")
    return lines


def column_or_words(column: str) -> str:
    return "the standard column" if not column else column if " " in column else f"`{column}`"


# --- benchmarks ------------------------------------------------------------------------------------------

ENTRY_HEADING = [
    "| name | problems | dataset | tests | compared by | language, seconds |",
    "|---|---|---|---|---|---|",
]


def dataset_of(entry: Any) -> str:
    return f"{entry.dataset}{f', {entry.config}' if entry.config else ''}, {entry.split}"


def entry_table() -> list[str]:
    lines = [*ENTRY_HEADING]
    for entry in ENTRIES:
        columns = (entry.columns.tests, entry.columns.inputs, entry.columns.outputs)
        tests = " ".join(f"`{column}`" for column in columns if column).replace("|", "` or `")
        limit = "as the rows say" if entry.time_limit is None else f"{entry.time_limit:g}"
        lines.append(
            f"| `{entry.name}` | {entry.about} | {dataset_of(entry)} | {tests} | `{entry.comparison}` "
            f"| {entry.language}, {limit} |"
        )
    return lines


def function_entry_table() -> list[str]:
    lines = [*ENTRY_HEADING]
    for entry in (listed.HUMANEVAL, listed.MBPP, listed.KODCODE):
        column = entry.columns.assertions.replace("|", "` or `")
        limits = f"{entry.language}, {entry.time_limit:g}"
        lines.append(
            f"| `{entry.name}` | {entry.about} | {dataset_of(entry)} | `{column}` | assertions | {limits} |"
        )
    return lines


# --- the tests -------------------------------------------------------------------------------------------

TABLES: dict[str, dict[str, Callable[[], list[str]]]] = {
    "docs/apps.md": {"options": partial(option_table, RewardOptions)},
    "docs/architecture.md": {"retry rules": retry_table, "states of servers": state_diagram},
    "docs/benchmarks.md": {"entries": entry_table, "entries of functions": function_entry_table},
    "docs/dumps.md": {"columns": column_table, "forms of rows": row_schema_table},
    "docs/inspect_ai.md": {"options": partial(option_table, JudgingOptions)},
}


@pytest.mark.parametrize("page", TABLES)
def test_tables_of_a_page_equal_the_code(page: str) -> None:
    text = (ROOT / page).read_text()
    for name, lines in TABLES[page].items():
        block = re.compile(rf"^(<!-- {re.escape(name)}, written by .* -->\n)(?:.+\n)*", re.MULTILINE)
        table = "".join(f"{line}\n" for line in lines())
        text, found = block.subn(lambda comment, table=table: comment[1] + table, text)
        assert found == 1, f"{page} has {found} comments of {name}"
    assert text == golden(ROOT / page)


def with_key_table(comment: re.Match[str]) -> str:
    """Return the comment and the table of the class that it names."""
    module, _, name = comment[1].rpartition(".")
    table = format_key_table(getattr(importlib.import_module(module), name))
    return f"<!-- keys of {comment[1]} -->\n{table}\n"


@pytest.mark.parametrize("page", ["docs/packages.md", "docs/formats.md"])
def test_key_tables_of_a_page_equal_the_declarations(page: str) -> None:
    block = re.compile(r"^<!-- keys of (\S+) -->\n(?:\|.*\n)*", re.MULTILINE)
    text, found = block.subn(with_key_table, (ROOT / page).read_text())
    assert found
    assert text == golden(ROOT / page)


def test_language_table_equals_the_definitions() -> None:
    """`--update` writes its last two columns."""
    languages = {language.name: language for language in LANGUAGES}
    listed_names = list[str]()

    def with_numbers(row: re.Match[str]) -> str:
        language = languages[row["name"]]
        listed_names.append(row["name"])
        assert row["suffix"] == language.suffixes[0] and f"`{language.command}" in row["text"]
        numbers = f"{language.time_factor:g} | {language.threads}"
        return f"| {row['name']} | `{row['suffix']}` | {row['text']} | {numbers} |"

    page = ROOT / "docs/languages.md"
    rows = r"^\| (?P<name>\S+) \| `(?P<suffix>\.\w+)` \| (?P<text>.*) \| \S+ \| \S+ \|$"
    text = re.sub(rows, with_numbers, page.read_text(), flags=re.MULTILINE)
    assert sorted(listed_names) == sorted(languages)
    assert text == golden(page)
