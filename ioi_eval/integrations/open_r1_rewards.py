"""The rewards for code of today's pipelines, by their names and for the columns of their datasets."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from ioi_eval.errors import InputError, IoiEvalError
from ioi_eval.integrations.classic_rows import Row, together
from ioi_eval.integrations.misses import note

if TYPE_CHECKING:
    from ioi_eval.integrations.classic_clients import ClusterClient
    from ioi_eval.integrations.open_r1_codeforces import ScoringMode

Completion = str | Sequence[Mapping[str, Any]]
FormatReward = Callable[..., list[float]]

_ALL_BUT_NOISE = 0.99  # of the tests: what counts as all of them
_BROKEN_ROW = (KeyError, TypeError, ValueError, AttributeError)


def code_reward(
    completions: Sequence[Completion], *, verification_info: Sequence[Mapping[str, Any]], **others: Any
) -> list[float | None]:
    """The share of the tests that each passes; None where the judge cannot say.

    A row of `verification_info` has `test_cases` and `language`; rows may differ in it. Options that choose
    another service (`provider_type`, `num_parallel` and the like) are passed over: it is judged by ours.
    """
    # It loads the judge, which those who bring a client of their own do not need.
    from ioi_eval.integrations.trl import make_reward

    return make_reward()(completions=completions, verification_info=list(verification_info))


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
    """Return True if each mark stands behind the one before. As a pattern, this takes hours on long texts."""
    if not text.startswith("<think>\n"):
        return False
    at = 0
    for mark in ("<think>\n", "\n</think>\n<answer>\n", f"```{language}", "```"):
        found = text.find(mark, at)
        if found < 0:
            return False
        at = found + len(mark)
    return "\n</answer>\n" in text[at:] + "\n"


# --- over the servers of PISTON_ENDPOINTS ------------------------------------------------------------


def extract_code(completion: str, language: str | None = "python") -> str:
    """The last block that is fenced as exactly that language; empty where there is none."""
    found = re.findall(rf"```{re.escape(language)}\n(.*?)```", completion, re.DOTALL) if language else []
    return found[-1] if found else ""


def ioi_code_reward(
    completions: Sequence[Completion],
    test_batch_size: int = 1,
    provider_type: str = "piston",
    **columns: Any,
) -> list[float | None]:
    """The lowest score of the tests of each row of `open-r1/ioi`; None where the judge cannot say."""
    from ioi_eval.integrations import open_r1

    morph = provider_type == "morph"
    client = open_r1.get_morph_client_from_env() if morph else open_r1.get_piston_client_from_env()

    async def worth(text: str, row: Row) -> float:
        code = open_r1.add_includes(extract_code(text, "cpp"), row["id"])
        return (await open_r1.score_subtask(client, row, code, test_batch_size=test_batch_size)).score

    return _each(client, worth, completions, columns, needed=("id", "test_names"))


def cf_code_reward(
    completions: Sequence[Completion],
    test_batch_size: int = 1,
    patch_code: bool = False,
    scoring_mode: ScoringMode = "weighted_sum",
    **columns: Any,
) -> list[float | None]:
    """What `score_submission` gives for each row of `open-r1/codeforces`; None where the judge cannot say."""
    from ioi_eval.integrations import open_r1

    client = open_r1.get_piston_client_from_env()

    async def worth(text: str, row: Row) -> float | None:
        language = row["language"]
        code = extract_code(text, language)
        return await open_r1.score_submission(
            client,
            row,
            open_r1.patch_code(code, language) if patch_code else code,
            test_batch_size=test_batch_size,
            scoring_mode=scoring_mode,
            submission_language=language,
        )

    return _each(client, worth, completions, columns, needed=("language", "time_limit"))


def _each(
    client: ClusterClient,
    worth: Callable[[str, Row], Coroutine[Any, Any, float | None]],
    completions: Sequence[Completion],
    columns: Mapping[str, Any],
    needed: Sequence[str],
) -> list[float | None]:
    """All rows at once. A row that cannot be read or judged stops no training."""
    for missing in (name for name in needed if name not in columns):
        raise InputError("the dataset has no such column", field=missing)

    async def one(text: str, row: Row) -> float | None:
        try:
            return await worth(text, row)
        except IoiEvalError as error:
            note(error)
        except _BROKEN_ROW as error:
            note(InputError(f"the row cannot be read: {error!r:.200}"))
        return None

    async def all_of_them() -> list[float | None]:
        async with client:
            return await together(one(text, row) for text, row in _rows(completions, columns))

    with ThreadPoolExecutor(1) as thread:  # whoever calls may have an event loop running
        return thread.submit(asyncio.run, all_of_them()).result()


def _rows(completions: Sequence[Completion], columns: Mapping[str, Any]) -> Iterator[tuple[str, Row]]:
    from ioi_eval.integrations.rewards import rows, text_of

    for completion, row in zip(completions, rows(columns, len(completions)), strict=True):
        yield text_of(completion), row.values
