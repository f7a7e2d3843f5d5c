"""Compare outputs of programs with expected answers and with each other."""

from __future__ import annotations

from itertools import zip_longest

_MAX_WORD = 40  # maximum characters of a word in the description of a difference


def describe_difference(output: str, expected: str) -> str:
    """Return a sentence about the difference between an output and the expected answer.

    Both may be truncated.
    """
    if output == expected:
        return "No difference in the texts shown"
    if output.split() == expected.split():
        return "Only white space differs"
    if "".join(output.split()) == "".join(expected.split()):
        return "Only white space differs: words are written together"
    # Differences that most comparisons ignore are reported only if there are no others.
    for normalize in (_normalize_word, str):
        for number, (actual_word, expected_word) in enumerate(
            zip_longest(output.split(), expected.split()), start=1
        ):
            if actual_word is None or expected_word is None:
                return f"Word {number} is {'missing' if actual_word is None else 'too much'}"
            if normalize(actual_word) != normalize(expected_word):
                actual_word, expected_word = _shorten_word(actual_word), _shorten_word(expected_word)
                return f"Word {number} is {actual_word!r}, expected {expected_word!r}"
    raise AssertionError("outputs with the same tokens were already compared above")


def _shorten_word(word: str) -> str:
    return word if len(word) <= _MAX_WORD else f"{word[:_MAX_WORD]}…"


def normalize_words(output: str) -> tuple[str, ...]:
    """Return the words of an output in lower case, with numbers rounded to four digits."""
    return tuple(_normalize_word(word) for word in output.split())


def _normalize_word(word: str) -> str:
    try:
        return f"{float(word):.4g}" if "." in word else word.casefold()
    except ValueError:
        return word.casefold()


def is_reordered(output: str, expected: str) -> bool:
    """Return True if two texts have the same words in another order."""
    actual_words, expected_words = output.split(), expected.split()
    return actual_words != expected_words and sorted(actual_words) == sorted(expected_words)
