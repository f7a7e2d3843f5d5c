"""Public modules that show names of rooms, and load each when it is first used."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def shown_in(module: str, places: Mapping[str, str]) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return a module's `__getattr__` and `__dir__`.

    `places` has the names by the place that they are loaded from, each as NAME or as NAME=OWN_NAME_THERE.
    """
    shown = [(name, place) for place, names in places.items() for name in names.split()]
    found = {name.partition("=")[0]: (place, name.rpartition("=")[2]) for name, place in shown}

    def load(name: str) -> Any:
        if name not in found:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        place, own = found[name]
        return getattr(import_module(f"ioi_eval.{place}"), own)

    return load, lambda: sorted(sys.modules[module].__all__)
