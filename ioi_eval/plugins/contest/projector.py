"""The scoreboard of `ioi-eval view` for a projector.

The page updates itself, and freezes by the contest's rules.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path

import msgspec

from ioi_eval.model.text import format_count
from ioi_eval.plugins.contest.rules import Rules
from ioi_eval.plugins.contest.scoreboard import (
    format_clock,
    make_scoreboard_table,
    read_page_script,
    read_scoreboard,
)
from ioi_eval.reports.document import Document, LiveBlock, Section, render_html
from ioi_eval.store.files import read_value
from ioi_eval.store.folder import CONTEST, RESULTS, ContestStart, is_being_written, read_info

_OPTION = "contest_"  # prefix of a contest's rules among the options of its run


def scoreboard_page(folder: Path, clock: Callable[[], float] = time.time) -> Callable[[], str] | None:
    """Return a function that renders a run's scoreboard, or None if the run is not a contest.

    `clock` returns the seconds since 1970.
    """
    rules = _read_contest_rules(folder)
    return None if rules is None else ScoreboardPage(folder, rules, clock)


def _read_contest_rules(folder: Path) -> Rules | None:
    """Return the rules of a contest from its folder, or None if the run is not a contest."""
    info = read_info(folder)
    options = {} if info is None else info.fingerprint.options
    if f"{_OPTION}mode" not in options:
        return None
    rule_values = {
        name.removeprefix(_OPTION): value for name, value in options.items() if name.startswith(_OPTION)
    }
    return msgspec.convert(rule_values, Rules)


class ScoreboardPage:
    """Renders the page. It reads the results again after new results, and when the freeze starts or ends."""

    def __init__(self, folder: Path, rules: Rules, clock: Callable[[], float] = time.time) -> None:
        """`clock` returns the seconds since 1970."""
        self._folder, self._rules, self._clock = folder, rules, clock
        self._lock = threading.Lock()
        self._version: object = None
        self._section = Section(title="Scoreboard")
        self._count_phrases: list[str] = []

    def __call__(self) -> str:
        """Return the page as HTML."""
        start = read_value(self._folder / CONTEST, ContestStart)
        elapsed_s = 0.0 if start is None else max(0.0, self._clock() - start.started)
        frozen_from = self._rules.frozen_from(elapsed_s)
        with self._lock:
            version = (self._read_results_size(), start, frozen_from)
            if version != self._version:
                self._update_scoreboard_section(frozen_from)
                self._version = version
            page = Document(
                title=self._folder.resolve().name,
                about=", ".join(filter(None, [*self._count_phrases, self._format_time(elapsed_s)])),
                ribbon=["frozen"] if frozen_from is not None and elapsed_s >= frozen_from else [],
                sections=[self._section],
                live=LiveBlock(script=read_page_script("projector.js")),
            )
        return render_html(page)

    def _read_results_size(self) -> int:
        path = self._folder / RESULTS
        return path.stat().st_size if path.exists() else 0

    def _update_scoreboard_section(self, frozen_from_s: float | None) -> None:
        scoreboard = read_scoreboard(self._folder, frozen_from_s)
        assert scoreboard is not None, "the run is a contest"
        paragraphs = [] if frozen_from_s is None else [self._format_freeze_note(frozen_from_s)]
        self._section = Section(
            title="Scoreboard",
            anchor="scoreboard",
            text=[*paragraphs, *filter(None, [scoreboard.medals.report_sentence])],
            table=make_scoreboard_table(scoreboard, lambda problem: "", None),
        )
        self._count_phrases = [
            format_count(len(scoreboard.entrants), "participant"),
            format_count(len(scoreboard.problems), "problem"),
        ]

    def _format_freeze_note(self, frozen_from: float) -> str:
        return f"From {format_clock(frozen_from)} on, results are hidden until the end of the contest."

    def _format_time(self, elapsed_s: float) -> str:
        """Return the elapsed or remaining time, or "" for a stopped contest without a time limit."""
        if self._rules.seconds is None:
            return f"{format_clock(elapsed_s)} since the start" if is_being_written(self._folder) else ""
        left_s = self._rules.seconds - elapsed_s
        return f"{format_clock(left_s)} left" if left_s > 0 else "over"
