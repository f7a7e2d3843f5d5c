"""The package formats, and which of them a folder is in: told by what lies in it.

A new format is one module with the three functions of `Format`, and one entry: in the table here, or in the
entry point group `ioi_eval.formats` of any installed package. docs/extending.md shows one.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Protocol

from ioi_eval.problems import cms, kattis, tps
from ioi_eval.problems.package import Package
from ioi_eval.store.resources import installed

GROUP = "ioi_eval.formats"


class Format(Protocol):
    """A module that reads packages of one format. `where` is what messages call the package."""

    def looks_like_package(self, folder: Path) -> bool: ...

    def package_id(self, folder: Path, where: str) -> str | None:
        """The problem's id; None where the package is not sound enough to say it."""

    def read_package(self, folder: Path, where: str) -> Package: ...


# The first that fits: a package for the preparation system also has what the contest system's has.
_BUILT_IN: tuple[Format, ...] = (kattis, tps, cms)


@cache
def formats() -> tuple[Format, ...]:
    """What somebody installed comes first: its packages may look like others in part."""
    return (*installed(GROUP).values(), *_BUILT_IN)


def format_of(folder: Path) -> Format | None:
    return next((found for found in formats() if found.looks_like_package(folder)), None)
