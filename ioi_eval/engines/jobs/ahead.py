"""Parts that many builds share, compiled once ahead of them: big headers and graders. Pure."""

from __future__ import annotations

import re
from collections import Counter

from ioi_eval.engines.contract import HEADER, WRAPPER, Recipe
from ioi_eval.model.options import TRUSTED_SECONDS
from ioi_eval.model.values import Blob, NamedBlob

# --- precompiled headers -----------------------------------------------------------------------------
# A build with a precompiled header must give the bytes that a build without it gives. The compiler checks
# flags and macros itself and falls back silently. What it does not check is a `#pragma` that comes before
# the include so a source is only taken where nothing but comments does, and only beside graders without
# such pragmas.


FOLDER = "ioi-eval-headers"  # in a build's folder; searched before the compiler's own

_COMMENTS = r"(?:\s|//(?:[^\n\\]|\\[^\n])*\n|/\*.*?\*/)*+"
_ONCE = re.compile(rb"#[ \t]*pragma[ \t]+once\b")
_PRAGMA = re.compile(rb"#[ \t]*pragma\b|\b_Pragma\b|\?\?=|%:")


def starts_with(header: str, source: str) -> bool:
    """Return True if the first thing in a source, after comments, is the header's include."""
    include = rf"{_COMMENTS}#[ \t]*include[ \t]*<{re.escape(header)}>"
    return re.match(include, source, re.DOTALL) is not None


def serves(recipe: Recipe) -> bool:
    """Return True if a precompiled header makes this build faster and cannot change its outcome."""
    if not recipe.header or not recipe.precompile:
        return False
    beginning = recipe.main.content.read()[: 64 << 10].decode(errors="replace")
    if not starts_with(recipe.header, beginning):
        return False
    others = (file.content.read() for file in recipe.sources[:-1])
    return not any(_PRAGMA.search(_ONCE.sub(b"", text)) for text in others)


# --- graders as objects ------------------------------------------------------------------------------
# All submissions of a problem are compiled with the same grader, which often takes longer than they do. Its
# object gives the bytes that its source gives, if the same compiler made it.


OBJECT = "ioi-eval-grader.o"
GRADERS_PAY_AFTER = 1  # builds


def object_recipe(recipe: Recipe) -> Recipe:
    """The shared source alone, compiled with the flags of the build that it is shared by."""
    others = {source.name for source in recipe.sources} - {recipe.shared}
    words = (OBJECT if word == recipe.output else word for word in recipe.command[1:] if word not in others)
    return Recipe(
        kind="object",
        output=OBJECT,
        command=(recipe.command[0], "-c", *words),
        sources=tuple(sorted(recipe.sources[:-1], key=lambda source: source.name == recipe.shared)),
        control=recipe.control,
        limits=recipe.limits.at_least(TRUSTED_SECONDS),
        proctor=recipe.proctor,
    )


class Demand:
    """Counts the builds that each header, or each grader's object, would have served."""

    def __init__(self, pays_after: int | None) -> None:
        self._pays_after = pays_after
        self._builds: Counter[str] = Counter()

    def pays(self, key: str) -> bool:
        """To be asked once per build: whether what lies under this key is worth making now."""
        self._builds[key] += 1
        return self._pays_after is not None and self._builds[key] > self._pays_after


def header_name(recipe: Recipe) -> str:
    return f"{FOLDER}/{recipe.header}.gch"


def header_recipe(recipe: Recipe) -> Recipe:
    """The big header that a recipe's sources include, precompiled for its flags.

    The compiled file includes the real one: where the compiler keeps that need not be known.
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
