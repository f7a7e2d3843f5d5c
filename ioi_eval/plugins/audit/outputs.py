"""Compare outputs of programs with expected answers and with each other."""

from __future__ import annotations

from itertools import zip_longest

_MAX_WORD = 40  # maximum length of a word in a difference, in characters


def difference(output: str, expected: str) -> str:
    """Return a sentence about the difference between an output and the expected answer.

    Both may be truncated.
    """
    if output.split() == expected.split():
        return "Only white space differs"
    if "".join(output.split()) == "".join(expected.split()):
        return "Only white space differs: words are written together"
    for same in (_normal, str):  # differences that most comparisons ignore come last
        for number, (ours, theirs) in enumerate(zip_longest(output.split(), expected.split()), start=1):
            if ours is None or theirs is None:
                return f"Word {number} is {'missing' if ours is None else 'too much'}"
            if same(ours) != same(theirs):
                return f"Word {number} is {_cut(ours)!r}, expected {_cut(theirs)!r}"
    return "No difference in the texts shown"


def _cut(word: str) -> str:
    return word if len(word) <= _MAX_WORD else f"{word[:_MAX_WORD]}…"


def normal(output: str) -> tuple[str, ...]:
    """Return the words of an output in lower case, with numbers rounded to four digits."""
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
