"""Python packages that programs often import and that do not come with Python, by the name in an import.

Only these count as missing on a judge: a name that somebody made up is the program's own fault.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType

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

_IMPORT = re.compile(r"^[ \t]*(?:from|import)[ \t]+([^#\n]+)", re.M)


def imports_in(code: str) -> str:
    """A function that imports what a text does: the judge looks in programs, not in texts that they run."""
    named = (word for line in _IMPORT.findall(code) for word in re.findall(r"\w+", line))
    imports = "".join(f"    import {name}\n" for name in dict.fromkeys(named) if name in MODULES)
    return imports and f"\n\ndef imported():\n{imports}"
