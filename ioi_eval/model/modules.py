"""Python packages that programs often import and that do not come with Python, by the name in an import.

A benchmark may promise any of these to programs; whatever else a program imports is the program's own affair.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType

from ioi_eval.model.errors import InputError
from ioi_eval.model.fields import nearest

# Which of them a machine has is what `doctor` tells.
MAIN = ("numpy", "scipy", "sympy", "sortedcontainers", "networkx")

MODULES: Mapping[str, str] = MappingProxyType(
    {
        **{name: name for name in MAIN},
        "PIL": "pillow",
        "atcoder": "ac-library-python",
        "bitarray": "bitarray",
        "cvxpy": "cvxpy",
        "gmpy2": "gmpy2",
        "matplotlib": "matplotlib",
        "more_itertools": "more-itertools",
        "mpmath": "mpmath",
        "numba": "numba",
        "ortools": "ortools",
        "pandas": "pandas",
        "pulp": "pulp",
        "pytest": "pytest",
        "regex": "regex",
        "requests": "requests",
        "shapely": "shapely",
        "sklearn": "scikit-learn",
        "tqdm": "tqdm",
        "torch": "torch",
        "yaml": "pyyaml",
        "z3": "z3-solver",
    }
)
"""Name in an import -> name on PyPI."""

NONE = "none"  # typed for no package at all


def read_packages(text: str) -> tuple[str, ...]:
    """Return the packages that are promised to programs, of their names with commas between them."""
    return checked(word for word in text.replace(",", " ").split() if word.lower() != NONE)


def checked(names: Iterable[str]) -> tuple[str, ...]:
    """Return the names, each once. InputError for one that no interpreter is asked for."""
    found = tuple(dict.fromkeys(names))
    for name in found:
        if name not in MODULES:
            remedy = nearest(name, tuple(MODULES))
            raise InputError(f"no such package: {name!r}", field="choice.packages", remedy=remedy)
    return found
