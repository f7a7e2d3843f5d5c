"""The rules by which the package tries again, and their table in the docs."""

from __future__ import annotations

import pytest
from support.pages import check_generated

from ioi_eval.model import retry
from ioi_eval.model.retry import RetryRule


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


def row(rule: RetryRule) -> str:
    cells = (f"`{rule.name}`", rule.what, rule.on, how_often(rule), waits(rule), rule.gives_up)
    return f"| {' | '.join(cells)} |"


def test_retry_rules_table_in_docs_is_current(request: pytest.FixtureRequest) -> None:
    table = [
        "| rule | what is tried again | on which error | how often | waits | what happens then |",
        "|---|---|---|---|---|---|",
        *(row(rule) for rule in vars(retry).values() if isinstance(rule, RetryRule)),
    ]
    check_generated("docs/architecture.md", "retry rules", table, update=request.config.getoption("--update"))


def test_retry_waits_double_up_to_longest() -> None:
    rule = RetryRule(name="some", what="", on="", gives_up="", attempts=5, first_wait=1.0, longest_wait=4.0)
    for attempt, longest in ((1, 1.0), (2, 2.0), (3, 4.0), (4, 4.0), (10_000, 4.0)):
        assert longest / 2 <= rule.delay_s_after(attempt) <= longest
    assert [rule.is_last(attempt) for attempt in (1, 4, 5, 6)] == [False, False, True, True]


def test_message_after_the_last_retry_names_the_retry_rule() -> None:
    assert retry.REPLY.describe_exhaustion(4) == "after 4 attempts (retry rule `reply`)"
    assert retry.REPLY.describe_exhaustion(1) == "after 1 attempt (retry rule `reply`)"
