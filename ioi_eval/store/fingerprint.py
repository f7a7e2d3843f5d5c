"""What a run was made of: two runs of equal fingerprints may share a journal, others may not."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import msgspec

from ioi_eval.model.values import Value
from ioi_eval.store.rows import plain

_SHOWN = 12  # characters of a hash


class Fingerprint(Value):
    """All that a result depends on. Engines, workers and selections of rows are not in it."""

    dump: str  # hash of the dump's content
    problems: Mapping[str, str] = {}  # hash of each problem
    options: Mapping[str, Any] = {}
    versions: Mapping[str, str] = {}

    def with_problems_of(self, older: Fingerprint) -> Fingerprint:
        """A run may grow by problems: those that only the older one knows stay known."""
        return msgspec.structs.replace(self, problems={**older.problems, **self.problems})


def changes(old: Fingerprint, new: Fingerprint) -> tuple[str, ...]:
    """One sentence for each difference that forbids to go on; empty when the run may be continued."""
    return (
        *([f"the dump: {_hash(old.dump)} -> {_hash(new.dump)}"] if old.dump != new.dump else []),
        *_differences(
            "problem", _shared(old.problems, new.problems), _shared(new.problems, old.problems), _hash
        ),
        *_differences("option", old.options, new.options, _value),
        *_differences("version of", old.versions, new.versions, _value),
    )


def _differences(
    what: str, old: Mapping[str, Any], new: Mapping[str, Any], show: Callable[[Any], str]
) -> Iterator[str]:
    for name in sorted({*old, *new}):
        before, after = plain(old.get(name)), plain(new.get(name))  # a tuple is a list in run.json
        if before != after:
            yield f"{what} {name}: {show(before)} -> {show(after)}"


def _shared(these: Mapping[str, str], others: Mapping[str, str]) -> dict[str, str]:
    return {name: these[name] for name in these if name in others}


def _hash(value: Any) -> str:
    text = str(value)
    return f"{text[:_SHOWN]}…" if len(text) > _SHOWN else text


def _value(value: Any) -> str:
    return (
        "not set"
        if value is None
        else value
        if isinstance(value, str)
        else msgspec.json.encode(value).decode()
    )
