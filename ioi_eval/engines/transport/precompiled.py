"""When a precompiled header pays, and for which sources it is safe.

A build with a precompiled header must give the bytes that a build without it gives. The compiler checks flags
and macros itself and falls back silently. What it does not check is a `#pragma` that comes before the include
so a source is only taken where nothing but comments does, and only beside graders without such pragmas.
"""

from __future__ import annotations

import re
from collections import Counter

from ioi_eval.engines.values import Recipe
from ioi_eval.model.options import TRUSTED_SECONDS
from ioi_eval.model.values import Blob, NamedBlob

HEADER, WRAPPER = "header", "wrapper.hpp"
FOLDER = "ioi-eval-headers"  # in a build's folder; searched before the compiler's own

_COMMENTS = r"(?:\s|//(?:[^\n\\]|\\[^\n])*\n|/\*.*?\*/)*+"
_ONCE = re.compile(rb"#[ \t]*pragma[ \t]+once\b")
_PRAGMA = re.compile(rb"#[ \t]*pragma\b|\b_Pragma\b|\?\?=|%:")


def starts_with(header: str, source: str) -> bool:
    """Whether the first thing in a source, after comments, is the header's include."""
    include = rf"{_COMMENTS}#[ \t]*include[ \t]*<{re.escape(header)}>"
    return re.match(include, source, re.DOTALL) is not None


def serves(recipe: Recipe) -> bool:
    """Whether a precompiled header makes this build faster and surely leaves its outcome alone."""
    if not recipe.header or not recipe.precompile:
        return False
    beginning = recipe.main.content.read()[: 64 << 10].decode(errors="replace")
    return starts_with(recipe.header, beginning) and _harmless(recipe)


def _harmless(recipe: Recipe) -> bool:
    others = (file.content.read() for file in recipe.sources[:-1])
    return not any(_PRAGMA.search(_ONCE.sub(b"", text)) for text in others)


class Demand:
    """Counts the builds that each header would have served."""

    def __init__(self, pays_after: int | None) -> None:
        self._pays_after = pays_after
        self._builds: Counter[str] = Counter()

    @property
    def wanted(self) -> bool:
        return self._pays_after is not None

    def pays(self, key: str) -> bool:
        """To be asked once per build: whether a header under this key is worth making now."""
        self._builds[key] += 1
        return self._pays_after is not None and self._builds[key] > self._pays_after


def header_name(recipe: Recipe) -> str:
    return f"{FOLDER}/{recipe.header}.gch"


def header_recipe(recipe: Recipe) -> Recipe:
    """The big header that a recipe's sources include, precompiled for its flags.

    What is compiled is a file that includes the real one: where the compiler keeps that need not be known.
    """
    wrapper = NamedBlob(name=WRAPPER, content=Blob.of(f"#include <{recipe.header}>\n"))
    return Recipe(
        kind=HEADER,
        output=HEADER,
        command=recipe.precompile,
        sources=(wrapper,),
        control=recipe.control,
        limits=recipe.limits.at_least(TRUSTED_SECONDS),
    )
