"""A script beside pages of submissions, which leads from each to other attempts and equal programs.

Pages of submissions are kept from one report to the next; the script is written with every report. It is no
JSON file, because a browser lets a page from a folder load scripts alone.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from ioi_eval.reports.addresses import submission_page
from ioi_eval.reports.document import visible
from ioi_eval.store.rows import bounded

if TYPE_CHECKING:
    from ioi_eval.reports.pages import Judged, Opened

_LONGEST = 300  # characters of a key


class AttemptIndex:
    """The submissions of a problem that have pages."""

    def __init__(self, opened: Opened) -> None:
        self._opened = opened
        self._rows = list[tuple[str, str, int, float | None, str, str]]()
        self._models: dict[str, int] = {}
        self._left_out = False

    def noting(self, rows: Iterable[Judged]) -> Iterator[Judged]:
        """Yield the rows as they are, and note each."""
        for one in rows:
            if self._opened.has(one.key, one.ending):
                model = self._models.setdefault(one.model, len(self._models))
                judged = one.repeats or one.key
                self._rows.append((one.key, judged, model, one.attempt, one.ending, submission_page(one.key)))
            else:
                self._left_out = True
            yield one

    def script(self) -> str:
        equal = Counter(judged for _, judged, *_ in self._rows)
        groups = {judged: place for place, (judged, number) in enumerate(equal.items(), 1) if number > 1}
        rows = [
            (page, bounded(visible(key), _LONGEST), model, attempt, ending, groups.get(judged, 0))
            for key, judged, model, attempt, ending, page in self._rows
        ]
        shown = json.dumps({"whole": not self._left_out, "rows": rows}, separators=(",", ":"))
        return f"const ATTEMPTS = {shown};\n"
