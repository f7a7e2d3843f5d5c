"""Ask once for facts that stay the same while tests run and take long to find out."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection
from functools import cache
from importlib.metadata import EntryPoints, entry_points

from ioi_eval.engines.embedded import engine
from ioi_eval.engines.embedded.toolchains import toolchains
from ioi_eval.model.job import Toolchain
from ioi_eval.store import resources


def ask_once(put: Callable[[object, str, object], None] = setattr) -> None:
    """Let engines know all compilers, and benchmarks and formats what is installed, from one look at it."""
    put(engine, "toolchains", toolchains_once)
    put(resources, "entry_points", lambda group: _installed(group, tuple(sys.path)))


def toolchains_once(python: str = "", promised: Collection[str] = ()) -> dict[str, Toolchain]:
    return dict(_asked(python, tuple(promised)))


@cache
def _asked(python: str, promised: tuple[str, ...]) -> dict[str, Toolchain]:
    return toolchains(python, promised)


@cache
def _installed(group: str, path: tuple[str, ...]) -> EntryPoints:
    assert path == tuple(sys.path), "it is looked through"
    return entry_points(group=group)
