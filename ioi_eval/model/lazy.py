"""Public modules that show names of rooms, and load each when it is first used."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def shown_in(module: str, places: Mapping[str, str]) -> Callable[[str], Any]:
    """Return a module's `__getattr__`. `places` has each name with the place it is loaded from."""

    def load(name: str) -> Any:
        if name not in places:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        place, _, own = places[name].rpartition(".")
        return getattr(import_module(f"ioi_eval.{place}"), own)

    return load
