"""The text of a source in C++ without its comments, or why it is compiled as it was written."""

from __future__ import annotations

import random
import re
import subprocess
import sys
from collections.abc import Sequence

import pytest

from ioi_eval.rules.cpp_text import adds_to_std, only_compiles, without_comments

pytestmark = pytest.mark.once


@pytest.mark.parametrize(
    ("written", "compiled"),
    [
        ("int a; // b\nint c;\n", "int a;\nint c;\n"),
        ("int/**/a;", "int a;"),
        ("a /* b\n c\n*/ d  \n\t\n", "a\n\n d\n\n"),
        ("a = b / c; //", "a = b / c;"),
        ('s = "// no /* no"; // yes', 's = "// no /* no";'),
        ("c = '\"'; // yes '", "c = '\"';"),
        (r's = "\"//"; // yes', r's = "\"//";'),
        ('s = R"(// no " /* no  \n)"; // yes', 's = R"(// no " /* no  \n)";'),
        ('s = u8R"x()" // no)x"; // yes', 's = u8R"x()" // no)x";'),
        ('s = "a" L"// no" u8"/* no"; // yes', 's = "a" L"// no" u8"/* no";'),
        ("n = 1'000'000 + 1e+5 + 0x1'f; // it's", "n = 1'000'000 + 1e+5 + 0x1'f;"),
        ("#define A(...) f(1, ##__VA_ARGS__) \\\n + 1 // a", "#define A(...) f(1, ##__VA_ARGS__) \\\n + 1"),
        ("a;\r\nb; // c\r\n", "a;\nb;\n"),
        ("// ## a ## title, __FILE__, asm\nint a;", "\nint a;"),
        ("/* a\n * licence */\n#include <a/b.h>\n", "\n\n#include <a/b.h>\n"),
        ("", ""),
    ],
)  # fmt: skip
def test_comments_are_blanks_and_lines_stay(written: str, compiled: str) -> None:
    assert without_comments(written, "gnu++20") == compiled
    assert without_comments(compiled, "gnu++20") == compiled


@pytest.mark.parametrize(
    "written",
    [
        # What could look.
        "f(__FILE__); // a",
        "f(__builtin_FILE()); // a",
        "auto here = std::source_location::current(); // a",
        "int column = __builtin_COLUMN(); // a",
        'asm(".data"); // a',
        '__asm__(".data"); // a',
        'const char* s = ".incbin"; // a',
        '__attribute__((section("a"))) int b; // a',
        "#embed <a> // a",
        "#define F __FI ## LE__ // a",
        "#define F(...) __FI##__VA_ARGS__ // a",
        "%:define F a %:%: b // a",
        '#pragma GCC diagnostic warning "-Wcomment" // a',
        "#define A <vector>\n#include A // a",
        "#include <a//b>\n",
        '#include "a/*b"\n',
        "#if __has_include(<a//b>)\n",
        # What a lexer could take for something else.
        "/* without an end",
        'R"( without an end',
        'R"toolongtoolongtool(a)toolongtoolongtool" // a',
        '"without an end // a\n',
        "#if 0\nit's\n#endif // a",
        "// goes on \\\nint a;",
        "/* ends *\\\n/ int a; /* b */",
        "/\\\n/ b",
        "so\\\nurce_location a; // b",
        "int a; \\ \n// b",
        "#define A /* b\n */ 5",
        "int a; /* b\n */ #define A",
        "int a; /* b\n */ %:define A",
        "#define A \\\n /* b\n */ 5",
        "what??/\n// a",
        "a \\/* b\n */ c",
        "a\rb // c",
        "a\f// b",
        "a\0// b",
        "// \u202e",
        "// \ud800",
        "int $a; // b",
        "//" + "x" * (1 << 20),
    ],
)
def test_what_is_compiled_as_it_was_written(written: str) -> None:
    assert without_comments(written, "gnu++20") is None


@pytest.mark.parametrize("standard", ["gnu++98", "gnu++03", "c++0x", "gnu++11"])
def test_what_old_standards_read_otherwise(standard: str) -> None:
    assert without_comments("a = 1'0 /* ' */;", standard) is None
    assert without_comments('a = R"(//)";', standard) is None
    assert without_comments("int a; // b", standard) == "int a;"


@pytest.mark.parametrize(
    "long",
    ["x" * 1_000_000, "/*" * 50_000, "/* */" * 50_000, '"' + "\\a" * 50_000, 'R"(' * 50_000, "'" * 50_001]
)  # fmt: skip
def test_any_text_is_read_in_no_time(long: str) -> None:
    without_comments(long, "gnu++20")


_READ = """import sys
from ioi_eval.rules.cpp_text import *
text = sys.argv[1] * int(sys.argv[2])
only_compiles(text), adds_to_std(text), leading_includes(text)
"""


@pytest.mark.parametrize("repeats", [100_000, pytest.param(500_000, marks=pytest.mark.long)])
@pytest.mark.parametrize("part", ["#line ", "namespace/*", "namespace[[ "])
def test_what_a_text_tells_is_read_in_no_time(part: str, repeats: int) -> None:
    """Take 20 s of CPU at most, which a search that starts again and again has spent on 50,000 repeats."""
    limited = ["bash", "-c", 'ulimit -t 20; exec "$@"', "bash", sys.executable]
    command = [*limited, "-c", _READ, part, str(repeats)]
    assert subprocess.run(command, check=False).returncode == 0


# --- beside the preprocessor itself ------------------------------------------------------------------

_PIECES = (
    *("//", "/*", "*/", '"', "'", "\\", "\n", "\n", "\n", " ", "  ", "\t", "#", "# define X ", "X", "F("),
    *("(", ")", ",", "#define F(a,...) #a #__VA_ARGS__ ", 'R"(', ')"', 'R"x(', ')x"', "u8", 'LR"(', "a"),
    *("R", "1", "1e", "+", "1'0", ".5", "/", "*", '"a"', '"//"', "'/'", "// c\n", "/* c */"),
    *("/* c\nd */", "\\\n", " \\\n", "%:", "#if 0\n", "#endif\n", "#if __LINE__ == 3\n", "#else\n"),
    *("__LINE__", "don't", "int x;", "{", "}", "<::", 'a"b"', '"\\""', "'\''", "é", "@"),
)  # fmt: skip


_Lines = list[tuple[int, str]]  # numbers and tokens


def _preprocessed(texts: Sequence[str]) -> tuple[set[int], list[_Lines]]:
    """Return the places of texts of which the compiler says anything, and what it reads of each.

    It starts once for all of them, which takes longer than to read them. A text that goes on in the next one
    hides its own end: the first that does is among those of which something is said.
    """
    command = ["g++", "-std=gnu++20", "-E", "-x", "c++", "-"]
    given = "".join(
        f'# 1 "part{place}"\n{text}\n@end{place}\n#undef X\n#undef F\n' for place, text in enumerate(texts)
    )
    done = subprocess.run(command, input=given.encode(), capture_output=True, check=False)
    lines: list[_Lines] = [[] for _ in texts]
    part, number = None, 1
    for line in done.stdout.decode().split("\n"):
        if (place := re.match(r'# (\d+) "(?:part(\d+)")?', line)) is not None:
            number = int(place[1])
            part = part if place[2] is None else int(place[2])
            continue
        if part is not None and (words := line.split()):
            lines[part].append((number, " ".join(words)))
        number += 1
    spoken = {int(place) for place in re.findall(rb"^part(\d+):", done.stderr, re.MULTILINE)}
    for place, read in enumerate(lines):
        if not read or read[-1][1] != f"@end{place}":
            spoken.add(place)
            break
    assert spoken or not (done.returncode or done.stderr), done.stderr
    return spoken, lines


def _pair(chosen: random.Random) -> tuple[str, str]:
    """Return a text and the same without comments, of which it has some."""
    while True:
        text = "".join(chosen.choice(_PIECES) for _ in range(chosen.randint(2, 12)))
        plain = without_comments(text, "gnu++20")
        if plain is not None and plain != text:
            return text, plain


def _differing(seeds: range) -> list[tuple[str, str]]:
    chosen = [random.Random(seed) for seed in seeds]
    pairs = [_pair(each) for each in chosen]
    while True:
        spoken, compiled = _preprocessed([plain for _, plain in pairs])
        if not spoken:
            break
        for place in spoken:  # then the text as written is compiled
            pairs[place] = _pair(chosen[place])
    spoken, written = _preprocessed([text for text, _ in pairs])
    return [pair for place, pair in enumerate(pairs) if place in spoken or written[place] != compiled[place]]


def test_the_preprocessor_sees_the_same() -> None:
    assert _differing(range(8)) == []


@pytest.mark.long
def test_the_preprocessor_sees_the_same_of_many() -> None:
    for first in range(8, 1500, 50):
        assert _differing(range(first, min(first + 50, 1500))) == []


@pytest.mark.parametrize(
    ("text", "adds"),
    [
        ("using namespace std;\nint main() {}\n", False),
        ("namespace { int a; }\nnamespace my::own {}\ninline namespace v1 {}\n", False),
        ("namespace A = std;\n#define all(x) std::begin(x), std::end(x)\n", False),
        ("namespace std { void f(); }\n", True),
        ("namespace std::chrono {}\n", True),
        ("namespace /* a\n */ [[x]] std{}\n", True),
        ("namespace [[]] [[]] std {}\n", True),
        ("namespace <::> std {}\n", True),
        ("namespace __gnu_cxx {}\n", True),
        ("name\\\nspace std {}\n", True),
        ("#define S std\nnamespace S {}\n", True),
        ("%: define N namespace std\nN {}\n", True),
    ],
)
def test_what_adds_to_the_library(text: str, adds: bool) -> None:
    assert adds_to_std(text) is adds


@pytest.mark.parametrize(
    "text",
    [
        'asm("");\n',
        'as\\ \f\v\0\nm("");\n',
        '#ident "a"\n',
        '%: /**/ sccs "a"\n',
        "#/**/include A\n",
        "#\finclude A\n",
        '[[gnu::weakref("a")]] static int f();\n',
        'as??/\nm("");\n',
        "#define P(a, b) a??=??=b\n",
        '#include "../a"\n',
        "#if __has_include(A)\n#endif\n",
    ],
)
def test_what_tells_more_than_the_compiler(text: str) -> None:
    assert not only_compiles(f"int a;\n{text}")


def test_what_tells_the_compiler_alone() -> None:
    assert only_compiles(
        "#include <vector>  // a\n#if __has_include(<set>)\n#line 7\n#endif\n"
        '#define all(x) begin(x), end(x)\n#pragma GCC optimize("O3")\n'
        'const char* what = "what? /* identical */";\nint import, idents[3], weak;\n'
    )
