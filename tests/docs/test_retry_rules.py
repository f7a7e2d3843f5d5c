"""The rules by which the package tries again, the loops that use them, and the table in the docs."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

from support.pages import ROOT

from ioi_eval.model import retry
from ioi_eval.model.retry import RetryRule

PACKAGE = ROOT / "ioi_eval"
RETRY = PACKAGE / "model" / "retry.py"
PAGE = ROOT / "docs" / "architecture.md"
CONSTANTS = {name: rule for name, rule in vars(retry).items() if isinstance(rule, RetryRule)}


@cache
def users() -> dict[str, list[str]]:
    """Return the modules that import and use each rule, by the name of its constant."""
    users_of: dict[str, list[str]] = {name: [] for name in CONSTANTS}
    for path in sorted(PACKAGE.rglob("*.py")):
        if path != RETRY and "retry" in path.read_text("utf-8"):
            tree = ast.parse(path.read_text("utf-8"))
            imports = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
            rules = {alias.name for node in imports if node.module == retry.__name__ for alias in node.names}
            names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
            for name in rules & names:
                users_of[name].append(path.relative_to(PACKAGE).as_posix())
    return users_of


def seconds(number: float) -> str:
    return f"{number:g} s"


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


def row(rule: RetryRule, modules: list[str]) -> str:
    where = ", ".join(f"`{module}`" for module in modules)
    cells = (f"`{rule.name}`", where, rule.what, rule.on, how_often(rule), waits(rule), rule.gives_up)
    return f"| {' | '.join(cells)} |"


def test_retry_rules_table_in_docs_is_current() -> None:
    """To mend the table, write these rows into the page."""
    section = PAGE.read_text("utf-8").split("\n## Retry rules\n")[1].split("\n## ")[0]
    modules = users()
    expected_rows = [row(rule, modules[name]) for name, rule in CONSTANTS.items()]
    assert [line for line in section.splitlines() if line.startswith("| `")] == expected_rows


def test_names_of_retry_rules_are_distinct() -> None:
    assert len({rule.name for rule in CONSTANTS.values()}) == len(CONSTANTS)


def test_each_retry_rule_is_used() -> None:
    assert [name for name, modules in users().items() if not modules] == []


def test_each_retry_rule_has_limit_or_never_gives_up() -> None:
    endless = [rule for rule in CONSTANTS.values() if rule.attempts is None and rule.seconds is None]
    ends = ("never", "judge failure, when")
    assert [rule.name for rule in endless if not rule.gives_up.startswith(ends)] == []


WAITING = re.compile(r"\b(retry|retries|backoff|tenacity|stamina|_TRIES|_ATTEMPTS|_RETRIES)\b")


def numbers_of(path: Path) -> list[str]:
    """Return constants and imports of a module whose names speak of retries."""
    source = path.read_text("utf-8")
    if not WAITING.search(source):
        return []
    tree = ast.parse(source)
    targets = [target for node in tree.body if isinstance(node, ast.Assign) for target in node.targets]
    names = [node.id for target in targets for node in ast.walk(target) if isinstance(node, ast.Name)]
    imports = [alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names]
    return [name for name in (*names, *imports) if WAITING.search(name)]


def test_retry_limits_are_defined_in_one_module() -> None:
    """Constants with such names, and libraries that retry, are for `model/retry.py` alone."""
    numbers_by_file = {path: numbers_of(path) for path in sorted(PACKAGE.rglob("*.py"))}
    assert {path: names for path, names in numbers_by_file.items() if names} == {}


def test_retry_waits_double_up_to_longest() -> None:
    rule = RetryRule(name="some", what="", on="", gives_up="", attempts=5, first_wait=1.0, longest_wait=4.0)
    for attempt, longest in ((1, 1.0), (2, 2.0), (3, 4.0), (4, 4.0), (10_000, 4.0)):
        assert longest / 2 <= rule.delay_s_after(attempt) <= longest
    assert [rule.is_last(attempt) for attempt in (1, 4, 5, 6)] == [False, False, True, True]


def test_message_after_the_last_retry_names_the_retry_rule() -> None:
    assert retry.REPLY.describe_exhaustion(4) == "after 4 attempts (retry rule `reply`)"
    assert retry.REPLY.describe_exhaustion(1) == "after 1 attempt (retry rule `reply`)"
