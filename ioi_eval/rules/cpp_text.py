"""Sources in C++ without their comments, which is the text that is compiled, and their first includes.

Nothing may hang on what is left out, neither what a program does nor what its compiler says. So a text is
taken only where a lexer is sure of every comment, and where no word could look at comments, columns or the
file itself. All other sources are compiled as they were written.
"""

from __future__ import annotations

import re

# Everything between comments and literals is one piece. A word before a quote belongs to the literal.
_PIECE = re.compile(
    r"""
      (?P<between> (?: [^"'/\w$]+ | /(?![/*]) | [^\W\d]\w*+(?!["'$])
                     | \d (?: (?<=[eEpP])[+-] | '(?=\w) | [\w.] )* )+ )
    | (?P<line> //[^\n]*+ )
    | (?P<block> /\*.*?\*/ )
    | (?P<raw> (?:u8|[uUL])?R"(?P<mark>[^\s()\\"]{0,16})\(.*?\)(?P=mark)" )
    | (?P<literal> (?P<prefix>\w*+)
                     (?: "[^"\\\n]*+(?:\\.[^"\\\n]*+)*" | '[^'\\\n]*+(?:\\.[^'\\\n]*+)*' ) )
    """,
    re.DOTALL | re.VERBOSE,
)
_LONGEST = 1 << 20  # characters; a source of contests has thousands
_BLANK = " \t\r"
_RAW = frozenset({"R", "LR", "uR", "UR", "u8R"})
# Trigraphs; joins of lines that may be none, or within a word; blanks of other kinds; and letters that
# compilers warn about in comments, too.
_ODD = re.compile(
    r"\?\?[=/'()!<>-]|\\[ \t]+\r?$|(?<![ \t\n])\\\r?\n(?![ \t\r\n])|\r(?!\n)"
    "|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]",
    re.MULTILINE,
)
_STRAY = re.compile(r"\\(?!\r?\n)")  # it would join what follows a comment
_NAME = r"""(?:<[\w.+-]+(?:/[\w.+-]+)*+>|"[\w.+-]+(?:/[\w.+-]+)*+")"""
# Words may be pasted together. The comma that goes with missing arguments makes none.
_PASTES = r"%:%:|(?<!,)(?<!, )##|##(?![ ]?__VA_ARGS__)"
_DIRECTIVE = r"(?:#|%:)[ \t\f\v]*"
# Words whose strings become assembly as they are, and names of directives that come behind a comment.
_ASSEMBLES = (
    r"\b(?:asm|__asm|__asm__|_*(?:section|symver|weakref)(?:__)?)\b"
    rf"|{_DIRECTIVE}(?:(?:ident|sccs)\b|/\*)"
)
_INCLUDES = rf"{_DIRECTIVE}(?:include|include_next|import)\b"
# Beside what is in `_LOOKS`: parts of the library's macros that make assembly, names of files that are no
# headers, files of ours, and trigraphs.
_TELLS = re.compile(
    rf"{_ASSEMBLES}|\b(?:dependency|pch_preprocess|embed|__has_embed)\b|__REDIRECT|ioi-eval|{_PASTES}"
    rf"|(?:{_INCLUDES}|__has_include(?:_next)?[ \t]*\()(?![ \t]*{_NAME})"
    rf"|{_DIRECTIVE}(?:line\b(?![ \t]*\d+[ \t]*\r?\n)|\d)|\.\./|\?\?[=/]"
)
_LOOKS = re.compile(
    r"\b(?:__FILE__|__BASE_FILE__|__FILE_NAME__|__builtin_FILE|__builtin_COLUMN|\w*source_location"
    rf"|diagnostic|embed|__has_embed)\b|incbin|{_ASSEMBLES}"
    rf"|{_INCLUDES}(?![ \t]*{_NAME})"
    rf"|__has_include(?:_next)?(?![ \t]*\([ \t]*{_NAME})"
    rf"|{_PASTES}"
)
_COMMENTS = r"(?:\s|//(?:[^\n\\]|\\[^\n])*\n|/\*.*?\*/)*+"
_JOIN = re.compile(r"\\[ \t\f\v\0]*\r?\n")
_MACRO = re.compile(r"(?:#|%:)[ \t]*define[ \t]+(\w+)(.*)")
# An attribute, or a comment, may hide the name behind it.
_NAMESPACE = re.compile(r"(?<!using )\bnamespace\b\s*+([A-Za-z_]\w*|[\[/<])")
_INCLUDE = re.compile(rf"{_COMMENTS}#[ \t]*include[ \t]*<([\w./+]+)>(?=[ \t]*(?:[\r\n/]|\Z))", re.DOTALL)
_MOST_INCLUDES = 64
# Headers that say the same when they are read again.
_NAMES = """
    algorithm any array atomic barrier bit bitset cassert ccomplex cctype cerrno cfenv cfloat charconv chrono
    cinttypes ciso646 climits clocale cmath codecvt compare complex concepts condition_variable coroutine
    csetjmp csignal cstdalign cstdarg cstdbool cstddef cstdint cstdio cstdlib cstring ctgmath ctime cuchar
    cwchar cwctype deque exception execution expected filesystem format forward_list fstream functional future
    initializer_list iomanip ios iosfwd iostream istream iterator latch limits list locale map memory
    memory_resource mutex new numbers numeric optional ostream print queue random ranges ratio regex
    scoped_allocator semaphore set shared_mutex source_location span spanstream sstream stack stacktrace
    stdexcept stdfloat stop_token streambuf string string_view syncstream system_error thread tuple
    type_traits typeindex typeinfo unordered_map unordered_set utility valarray variant vector version
    assert.h complex.h ctype.h errno.h fenv.h float.h inttypes.h iso646.h limits.h locale.h math.h setjmp.h
    signal.h stdalign.h stdarg.h stdbool.h stddef.h stdint.h stdio.h stdlib.h string.h tgmath.h time.h uchar.h
    wchar.h wctype.h bits/stdc++.h
"""
_STANDARD = frozenset(_NAMES.split())
_OLD = re.compile(r"(?:98|03|0x|11)$")  # standards without digit separators, or without raw strings
_NEW = re.compile(r"""\d'\w|R\"""")


def starts_with(header: str, source: str) -> bool:
    """Return True if the first thing in a source, after comments, is the header's include."""
    found = _INCLUDE.match(source)
    return found is not None and found[1] == header


def adds_to_std(text: str) -> bool:
    """Return True if a source may declare a name in the library's namespaces, or hides which one it opens.

    A template that is instantiated before such a declaration may have another meaning than after it.
    """
    plain = _JOIN.sub("", text)
    macros = dict(_MACRO.findall(plain))
    opened = set(_NAMESPACE.findall(plain))
    hidden = any("namespace" in body for body in macros.values()) or not opened.isdisjoint(macros)
    return hidden or any(name == "std" or name[0] in "_[/<" for name in opened)


def only_compiles(text: str) -> bool:
    """Return True if a source in C or C++ tells the compiler alone what to make, and reads headers alone.

    What others write in assembly (sections, notes, tables of exceptions), each linker treats in its own way.
    And they could read what the compiler printed before.
    """
    return _TELLS.search(_JOIN.sub("", text)) is None


def leading_includes(text: str) -> tuple[str, ...]:
    """Return the standard headers that a source includes before all else, in its order.

    None of them where the source could see files that lie beside it.
    """
    if len(text) > _LONGEST or _ODD.search(text) or _LOOKS.search(text):
        return ()
    names = list[str]()
    found = _INCLUDE.match(text)
    while found is not None and found[1] in _STANDARD and len(names) < _MOST_INCLUDES:
        names.append(found[1])
        found = _INCLUDE.match(text, found.end())
    return tuple(names)


def without_comments(text: str, standard: str) -> str | None:
    """Return a source with a blank for each comment, on the same lines, and without blanks at their ends.

    None where something could tell the two texts apart. `standard`: as -std has it.
    """
    if len(text) > _LONGEST or _ODD.search(text) or (_OLD.search(standard) and _NEW.search(text)):
        return None
    done, stretch = list[str](), list[str]()
    place = 0
    while place < len(text):
        piece = _PIECE.match(text, place)
        if piece is None or piece["prefix"] in _RAW:
            return None  # something without an end
        begin, place = piece.span()
        if piece["between"]:
            if _STRAY.search(piece[0]):
                return None
            stretch.append(piece[0])
        elif piece["line"]:
            if piece[0].rstrip("\r").endswith("\\"):
                return None
            stretch.append(" ")
        elif piece["block"]:
            lines = piece[0].count("\n")
            if "\\\n" in piece[0] or "\\\r" in piece[0] or (lines and _may_direct(text, begin, place)):
                return None
            stretch.append(" " + "\n" * lines)
        else:
            if piece["raw"] and "\r" in piece[0]:
                return None
            done += (_without_blanks(stretch), piece[0])
            stretch.clear()
    plain = "".join(done) + _without_blanks(stretch).rstrip(_BLANK)
    return None if _LOOKS.search(plain) else plain


def _without_blanks(pieces: list[str]) -> str:
    *lines, last = "".join(pieces).split("\n")
    return "".join(f"{line.rstrip(_BLANK)}\n" for line in lines) + last


def _may_direct(text: str, begin: int, end: int) -> bool:
    """Return True if a directive may end, or begin, where a comment no longer joins its lines."""
    start = text.rfind("\n", 0, begin) + 1
    before, after = text[start:begin], text[end:].partition("\n")[0].rstrip("\r")
    joined = text[:start].endswith(("\\\n", "\\\r\n")) or after.endswith("\\")
    return joined or any(sign in part for sign in ("#", "%:") for part in (before, after))
