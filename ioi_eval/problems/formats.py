"""The package formats, and which of them a folder is in: told by what lies in it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from ioi_eval.models import Value
from ioi_eval.problems import cms, kattis, tps
from ioi_eval.problems.package import Package


class Format(Value):
    looks_like_package: Callable[[Path], bool]
    package_id: Callable[[Path, str], str | None]  # None where the package is not sound enough to say it
    read: Callable[[Path, str], Package]


# The first that fits: a package for the preparation system also has what the contest system's has.
FORMATS: tuple[Format, ...] = (
    Format(
        looks_like_package=kattis.looks_like_package,
        package_id=kattis.package_id,
        read=kattis.read_package,
    ),
    Format(
        looks_like_package=tps.looks_like_package,
        package_id=lambda folder, where: tps.package_id(folder),
        read=tps.read_package,
    ),
    Format(
        looks_like_package=cms.looks_like_package,
        package_id=lambda folder, where: cms.package_id(folder),
        read=cms.read_package,
    ),
)


def format_of(folder: Path) -> Format | None:
    return next((found for found in FORMATS if found.looks_like_package(folder)), None)
