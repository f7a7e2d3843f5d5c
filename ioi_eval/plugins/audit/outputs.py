"""Outputs of programs next to expected answers: how they differ, and whether two are alike."""

from __future__ import annotations

from itertools import zip_longest

_SHOWN = 40  # characters of a word in a difference


def difference(output: str, expected: str) -> str:
    """Return in one sentence how an output differs from the expected answer.

    Both may be beginnings of longer texts.
    """
    if output.split() == expected.split():
        return "Only white space differs"
    if "".join(output.split()) == "".join(expected.split()):
        return "Only white space differs: words are written together"
    for same in (_normal, str):  # what most comparisons ignore is shown only if nothing else differs
        for number, (ours, theirs) in enumerate(zip_longest(output.split(), expected.split()), start=1):
            if ours is None or theirs is None:
                return f"Word {number} is {'missing' if ours is None else 'too much'}"
            if same(ours) != same(theirs):
                return f"Word {number} is {_cut(ours)!r}, expected {_cut(theirs)!r}"
    return "No difference in the texts shown"


def _cut(word: str) -> str:
    return word if len(word) <= _SHOWN else f"{word[:_SHOWN]}…"


def normal(output: str) -> tuple[str, ...]:
    """Return an output's words without case, numbers to four digits: equal for outputs that agree."""
    return tuple(_normal(word) for word in output.split())


def _normal(word: str) -> str:
    try:
        return f"{float(word):.4g}" if "." in word else word.casefold()
    except ValueError:
        return word.casefold()


def is_reordered(output: str, expected: str) -> bool:
    """Return True if two texts have the same words in another order."""
    ours, theirs = output.split(), expected.split()
    return ours != theirs and sorted(ours) == sorted(theirs)
