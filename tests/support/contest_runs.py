"""Runs contests with scripted submissions, times and results."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from ioi_eval import load_problems
from ioi_eval.rules.scoring import ScoreMode
from ioi_eval.store.resources import examples_folder
from ioi_eval.testing import FakeEngine, FakeTest


def outcome(test: FakeTest) -> float:
    """Return 1.0 for the tests that a source names: `all`, or `only` and test numbers."""
    action, *tests = test.source.split()
    return float(action == "all" or str(test.index) in tests)


async def hold_contest(
    folder: Path, steps: Iterable[tuple[float, str, str, str]], mode: ScoreMode = ScoreMode.MAX_SUBTASK
) -> None:
    from ioi_eval.plugins.contest import Rules, open_contest  # a checkout may lack the plugin

    problems = load_problems(
        examples_folder() / "problems", only={"lanterns", "tide"}, cache=folder / "cache"
    )
    times = [0.0]
    async with open_contest(
        problems, Rules(mode=mode), out=folder / "cup", engine=FakeEngine(outcome), clock=lambda: times[0]
    ) as contest:
        for times[0], participant, problem, code in steps:
            await contest.session(participant).submit(problem, code)
