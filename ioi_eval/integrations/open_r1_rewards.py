"""The rewards for code of today's pipelines, whose datasets have their tests in `verification_info`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

Completion = str | Sequence[Mapping[str, Any]]
FormatReward = Callable[..., list[float]]

_ALL_BUT_NOISE = 0.99  # of the tests: what counts as all of them


def code_reward(
    completions: Sequence[Completion], *, verification_info: Sequence[Mapping[str, Any]], **others: Any
) -> list[float | None]:
    """The share of the tests that each passes; None where the judge cannot say.

    A row of `verification_info` has `test_cases` and `language`; rows may differ in it. Options that choose
    another service (`provider_type`, `num_parallel` and the like) are passed over: it is judged by ours.
    """
    # They load the judge, which those who bring a client of their own do not need.
    from ioi_eval.integrations.rewards import Mode, RewardOptions
    from ioi_eval.integrations.trl import make_reward

    options = RewardOptions(mode=Mode.PARTIAL, no_code=0, no_compile=0)
    infos = [info if isinstance(info, Mapping) else {} for info in verification_info]
    tests = [info.get("test_cases") or () for info in infos]
    languages = [info.get("language") for info in infos]
    return make_reward(options)(completions=completions, test_cases=tests, language=languages)


def binary_code_reward(completions: Sequence[Completion], **columns: Any) -> list[float | None]:
    """1 where all tests are passed, else 0; None where the judge cannot say."""
    shares = code_reward(completions, **columns)
    return [None if share is None else float(share > _ALL_BUT_NOISE) for share in shares]


def get_code_format_reward(language: str = "python") -> FormatReward:
    """A reward of 1 for thoughts and an answer in their tags, with a fenced block of the language in it."""

    def code_format_reward(completions: Sequence[Completion], **columns: Any) -> list[float]:
        """A column `language` says another language for each row."""
        from ioi_eval.integrations.rewards import text_of

        languages = columns.get("language") or [language] * len(completions)
        pairs = zip(completions, languages, strict=True)
        return [float(_has_format(text_of(completion), wanted)) for completion, wanted in pairs]

    return code_format_reward


def _has_format(text: str, language: str) -> bool:
    """Each mark behind the one before. Searches, as a pattern with as many gaps takes hours on long texts."""
    if not text.startswith("<think>\n"):
        return False
    at = 0
    for mark in ("<think>\n", "\n</think>\n<answer>\n", f"```{language}", "```"):
        found = text.find(mark, at)
        if found < 0:
            return False
        at = found + len(mark)
    return "\n</answer>\n" in text[at:] + "\n"
