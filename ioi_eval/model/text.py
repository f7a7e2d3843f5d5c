"""Texts for people: strings without invisible characters, numbers with their nouns, commands."""

from __future__ import annotations

import unicodedata

# Unicode categories of invisible characters: control, direction, surrogates, line breaks.
_HIDDEN = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}


def visible(text: str) -> str:
    """Return a string as one line, without control characters and other invisible characters."""
    return " ".join(remove_invisible(text, "").split())


def remove_invisible(text: str, allowed: str) -> str:
    """Return a string without invisible characters, except those in `allowed`. White space becomes spaces."""
    if text.isprintable():
        return text
    return "".join(
        char
        if char in allowed
        else " "
        if char.isspace()
        else "\ufffd"
        if unicodedata.category(char) in _HIDDEN
        else char
        for char in text
    )


def format_count(count: int, singular: str, plural: str | None = None) -> str:
    """Return a number with its noun in singular or plural: `1 problem`, `2 problems`."""
    return f"{count:,} {singular if count == 1 else plural or singular + 's'}"


def format_install_command(extra: str = "") -> str:
    """Return the sentence that names the command which installs ioi_eval, with an extra if one is given.

    The command installs from a clone, because ioi_eval is not on a package index.
    """
    target = f"'.[{extra}]'" if extra else "."
    return f"Install it in a clone of ioi_eval: pip install {target}"
