"""Attacks run on the proctor by itself, inside a box as the engine makes it: with the fixtures of its own tests."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "proctor"))

from fixtures import bench, compiled, proctor, workshop  # only now can it be found

__all__ = ["bench", "compiled", "proctor", "workshop"]
