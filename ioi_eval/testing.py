"""A fake engine for tests of code that uses ioi_eval. It runs no programs and returns given outcomes."""

from __future__ import annotations

from ioi_eval.engines.fake import Broken, FakeEngine, FakeTest, Fatal, Killed

__all__ = [
    "Broken",
    "FakeEngine",
    "FakeTest",
    "Fatal",
    "Killed",
]
