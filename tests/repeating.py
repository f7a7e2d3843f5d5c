"""Tests in a random order beside busy processes, and what became of each: `scripts/test --again` compares."""

from __future__ import annotations

import random
from contextlib import ExitStack
from pathlib import Path

import pytest
from crowd import crowd


class Repeating:
    """A plugin of pytest."""

    def __init__(self, config: pytest.Config) -> None:
        self._seed: int | None = config.getoption("--shuffled")
        self._busy, self._outcomes = config.getoption("--beside"), config.getoption("--outcomes")
        self._found: dict[str, str] = {}
        self._around = ExitStack()

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        if self._seed is not None:
            random.Random(self._seed).shuffle(items)

    def pytest_sessionstart(self) -> None:
        self._around.enter_context(crowd(self._busy))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.outcome != "passed" or report.when == "call":
            worse = self._found.get(report.nodeid) == "failed"
            self._found[report.nodeid] = "failed" if worse else report.outcome

    def pytest_sessionfinish(self) -> None:
        self._around.close()
        if self._outcomes:
            lines = sorted(f"{name} {outcome}\n" for name, outcome in self._found.items())
            Path(self._outcomes).write_text("".join(lines))
