"""The rules by which the package tries again."""

from __future__ import annotations

from ioi_eval.model import retry
from ioi_eval.model.retry import RetryRule


def test_retry_waits_double_up_to_longest() -> None:
    rule = RetryRule(name="some", what="", on="", gives_up="", attempts=5, first_wait=1.0, longest_wait=4.0)
    for attempt, longest in ((1, 1.0), (2, 2.0), (3, 4.0), (4, 4.0), (10_000, 4.0)):
        assert longest / 2 <= rule.delay_s_after(attempt) <= longest
    assert [rule.is_last(attempt) for attempt in (1, 4, 5, 6)] == [False, False, True, True]


def test_message_after_the_last_retry_names_the_retry_rule() -> None:
    assert retry.REPLY.describe_exhaustion(4) == "after 4 attempts (retry rule `reply`)"
    assert retry.REPLY.describe_exhaustion(1) == "after 1 attempt (retry rule `reply`)"
