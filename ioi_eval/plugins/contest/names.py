"""Check names of participants: which names are allowed, and which names look alike."""

from __future__ import annotations

import re
import unicodedata

from ioi_eval.model.errors import InputError
from ioi_eval.model.text import visible

_MAX_NAME = 64  # maximum length of a name, in characters
_MAX_WORDS = 4  # maximum number of words in a name, so that no name can be a sentence with instructions
_MARKS = "_.@-'"
# Allowed marks in names: an apostrophe, a hyphen, dots, Hebrew signs.
_OTHER_MARKS = "\u2019\u2010\u00b7\u30fb\u05f3\u05f4"
# Pattern for invisible letters and marks of Unicode.
_INVISIBLE = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)
_STACKED = re.compile("[\u0300-\u036f\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]{3}")
# Scripts that East Asian languages mix, by the first word of the Unicode names of their letters.
_SCRIPTS = dict.fromkeys(("CJK", "IDEOGRAPHIC", "HIRAGANA", "KATAKANA", "BOPOMOFO", "HANGUL"), "East Asian")
_SCRIPTS |= {"EXTENDED": "ARABIC"}  # digits
_OF_ALL_SCRIPTS = frozenset({"COMBINING", "MODIFIER"})
# Latin letters by characters that look like them: Cyrillic, Greek, Armenian and rare Latin letters, digits,
# Katakana.
_LOOKALIKES = {
    "a": "\u0430\u0410\u03b1\u0391\u0251",
    "b": "\u0412\u0392",
    "c": "\u0441\u0421\u03f2\u03f9",
    "d": "\u0501",
    "e": "\u0435\u0415\u0395",
    "g": "\u0261\u0581",
    "h": "\u04bb\u041d\u0397\u0570",
    "i": "\u0456\u0131\u03b9\u0269",
    "j": "\u0458\u0408\u03f3",
    "k": "\u043a\u041a\u03ba\u039a",
    "l": "I1\u04cf\u04c0\u0406\u0399\u053c",
    "m": "\u041c\u039c",
    "n": "\u039d\u0578",
    "o": "O0\u043e\u041e\u03bf\u039f\u0585\u0555",
    "p": "\u0440\u0420\u03c1\u03a1",
    "q": "\u051b\u0566",
    "s": "\u0455\u0405\u054f",
    "t": "\u0422\u03a4",
    "u": "\u03c5\u057d\u054d",
    "v": "\u03bd\u0475\u0474",
    "w": "\u051d",
    "x": "\u0445\u0425\u03c7\u03a7",
    "y": "\u0443\u0423\u03b3\u03a5\u04ae\u04af",
    "z": "\u0396",
    "\u529b": "\u30ab",
    "\u53e3": "\u30ed",
    "\u535c": "\u30c8",
    "\u5915": "\u30bf",
    "\u5de5": "\u30a8",
    "\u4e8c": "\u30cb",
    "\u516b": "\u30cf",
    "\u3078": "\u30d8",
    "\u4e00": "\u30fc",
    "'": "\u2019\u05f3",
    "-": "\u2010",
    "\u00b7": "\u30fb",
}
_ALIKE = {ord(sign): shown for shown, signs in _LOOKALIKES.items() for sign in signs}


class ParticipantNames:
    """The names of a contest's participants. No two of them look alike."""

    def __init__(self) -> None:
        # Names in use, by a key that is equal for names that look alike.
        self._names_by_key: dict[str, str] = {}

    def add(self, name: str, field: str = "participant") -> None:
        """Add a name. Raise InputError if it is not allowed or looks like another participant's name."""
        if fault := _find_name_fault(name):
            message, remedy = fault
            shown_name = visible(name[:80])
            raise InputError(
                f"{shown_name!r} cannot be a participant's name: {message}", field=field, remedy=remedy
            )
        if (similar_name := self.add_name_without_checks(name)) != name:
            message = f"{visible(name)!r} and {visible(similar_name)!r} look alike"
            raise InputError(message, field=field, remedy="Give one of the two participants another name")

    def add_name_without_checks(self, name: str) -> str:
        """Add a name without checks. Return the first added name with the same appearance."""
        return self._names_by_key.setdefault(_make_lookalike_key(name), name)


def _find_name_fault(name: str) -> tuple[str, str] | None:
    """Return the fault of a name and the remedy, or None. Letters of any alphabet are allowed."""
    if (
        not 1 <= len(name) <= _MAX_NAME
        or name != " ".join(name.split())
        or name != unicodedata.normalize("NFKC", name)
        or not name[0].isalnum()
        or not all(map(_is_allowed_character, name))
        or _INVISIBLE.search(name)
        or _STACKED.search(name)
    ):
        return (
            f"it is not 1 to {_MAX_NAME} letters, digits, single spaces and any of {_MARKS}",
            "Use only these characters, in their plain form, with a letter or a digit first",
        )
    if (word_count := len(name.split())) > _MAX_WORDS:
        return f"it has {word_count} words", f"Use at most {_MAX_WORDS} words"
    if len(scripts := {script for char in name if (script := _find_writing_system(char))}) > 1:
        return (
            f"it mixes scripts: {', '.join(sorted(scripts))}",
            "Write the name in the letters of one script",
        )
    return None


def _is_allowed_character(char: str) -> bool:
    return char in f" {_MARKS}{_OTHER_MARKS}" or unicodedata.category(char)[0] in "LMN"


def _find_writing_system(char: str) -> str:
    """Return a character's writing system, such as `Latin`; "" if all writing systems use the character."""
    if char in f"0123456789 {_MARKS}{_OTHER_MARKS}":
        return ""
    unicode_name = unicodedata.name(char, "")
    if "SMALL CAPITAL" in unicode_name:  # such a character imitates a letter
        return "Small Capitals"
    first_word = re.split("[ -]", unicode_name)[0]
    return "" if first_word in _OF_ALL_SCRIPTS else _SCRIPTS.get(first_word, first_word.title())


def _make_lookalike_key(name: str) -> str:
    """Return a key that is the same for all names that look alike."""
    plain_name = unicodedata.normalize("NFD", name).translate(_ALIKE).casefold()
    return plain_name.replace("rn", "m")
