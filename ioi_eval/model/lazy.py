"""Public modules that offer names of other modules and load each when it is first used."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def make_lazy_accessors(
    module: str, names_by_module: Mapping[str, str]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return the functions `__getattr__` and `__dir__` for a module that loads its names on first use.

    `names_by_module` maps each defining module to the names that it provides, separated by blanks. A name is
    NAME, or NAME=OTHER if the defining module calls it OTHER.
    """
    named_modules = [(name, source) for source, names in names_by_module.items() for name in names.split()]
    source_by_name = {
        name.partition("=")[0]: (source, name.rpartition("=")[2]) for name, source in named_modules
    }

    def load(name: str) -> Any:
        if name not in source_by_name:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        source, source_name = source_by_name[name]
        return getattr(import_module(f"ioi_eval.{source}"), source_name)

    return load, lambda: sorted(sys.modules[module].__all__)
