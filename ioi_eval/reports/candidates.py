"""What a row says about its submission before anybody scored it: read defensively, dumps differ."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from ioi_eval.models import SubmissionResult, Value
from ioi_eval.rows import as_number
from ioi_eval.selection import Candidate

_TOKENS = ("output_tokens", "completion_tokens")  # in a row's metadata.usage
_TEXTS = ("reasoning", "reasoning_content", "generation")  # the first that there is
_TRUE = frozenset({"true", "yes", "1"})


def candidate_of(row: Mapping[str, Any], result: SubmissionResult) -> Candidate:
    target = row.get("target_subtask")
    return Candidate(
        result=result,
        target=target if isinstance(target, str) else None,
        number=as_number(row.get("solution_number")),
        time=_time(row),
        length=_length(row),
        tokened=str(row.get("tokened", "")).lower() in _TRUE,
    )


def _part(row: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """A structured column, also where a table made JSON of it."""
    value = row.get(name)
    if isinstance(value, str):
        try:
            value = msgspec.json.decode(value)
        except msgspec.DecodeError:
            return {}
    return value if isinstance(value, Mapping) else {}


def _time(row: Mapping[str, Any]) -> str:
    found = _part(row, "metadata").get("timestamp")
    return found if isinstance(found, str) else ""


def _length(row: Mapping[str, Any]) -> int:
    """Tokens where the row counts them, else characters."""
    usage = _part(_part(row, "metadata"), "usage")
    for name in _TOKENS:
        if (number := as_number(usage.get(name))) is not None:
            return int(number)
    texts = (row.get(name) for name in _TEXTS)
    return next((len(text) for text in texts if isinstance(text, str) and text), 0)


# --- what a problem is like --------------------------------------------------------------------------


class Traits(Value):
    """What reports group problems by."""

    difficulty: str = ""
    tags: tuple[str, ...] = ()
    year: int | None = None

    def joined(self, other: Traits) -> Traits:
        """What rows of one problem say together, in whatever order they come."""
        years = {year for year in (self.year, other.year) if year is not None}
        return Traits(
            difficulty=min(filter(None, (self.difficulty, other.difficulty)), default=""),
            tags=tuple(sorted({*self.tags, *other.tags})),
            year=min(years, default=None),
        )


def traits_of(row: Mapping[str, Any]) -> Traits:
    difficulty, year = row.get("difficulty"), as_number(row.get("year"))
    return Traits(
        difficulty=str(difficulty) if isinstance(difficulty, str | int | float) else "",
        tags=tuple(sorted(set(_tags(row.get("tags"))))),
        year=int(year) if year is not None else None,
    )


def _tags(value: Any) -> Iterable[str]:
    if isinstance(value, str):
        return filter(None, (tag.strip() for tag in value.split(",")))
    if isinstance(value, list | tuple):
        return (tag for tag in value if isinstance(tag, str) and tag)
    return ()
