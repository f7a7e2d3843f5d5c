"""Extraction from long, hostile and random replies. tests/data/replies has typical replies."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from model_programs import ADD, CPP, PYTHON, fenced

from ioi_eval.model.languages import find_language
from ioi_eval.rules.extraction import extract


@given(st.text(alphabet="`~ \n<>/think{}#cp+;\"'\\*\r\x01R("))
def test_arbitrary_reply_is_extracted_without_error(text: str) -> None:
    for language in (CPP, PYTHON):
        code = extract(text, language)
        assert code is None or (code.endswith("\n") and code.strip())


@given(
    st.text(alphabet="ab {};\n\t", min_size=1).filter(str.strip),
    st.sampled_from(["", "text\n", "<think>\n```cpp\nx\n</think>\n"]),
)
def test_fenced_code_is_extracted_unchanged(code: str, before: str) -> None:
    code += "\n"
    assert extract(before + fenced(code) + "after\n", CPP) == code


# With each of these, a naive pattern runs for hours: the assertion is that the test finishes.
def hostile(unit: int) -> dict[str, str]:
    return {
        "lines": "a\n" * (5 * unit),
        "one line": "word " * (2 * unit),
        "one word": "x" * (10 * unit),
        "blanks": " " * (10 * unit),
        "blank lines": "\n" * (10 * unit),
        "backticks": "`" * (10 * unit),
        "runs in a line": "``` " * unit,
        "open fences": "```java\n" * (unit // 4),
        "fences": "```\n" * (unit // 4),
        "tags": "<think>\n" * unit,
        "closing tags": "</think>" * unit,
        "tags of answers": "<answer>" * unit + "</answer>" * unit,
        "comments": "#include <a>\nint main() {}" + "/*/" * unit,
        "strings": "#include <a>\nint main() {}" + '"\\' * (5 * unit),
        "raw strings": "#include <a>\nint main() {}" + 'R"a(' * unit,
        "quotes": "#include <a>\nint main() {}" + "'" * (10 * unit),
        "digits": "#include <a>\nint main() {}" + "1" * (10 * unit),
        "directives": "int main() {}" + "#include\\\n" * unit,
        "braces": "#include <a>\nint main()" + "{" * (2 * unit) + "}" * (2 * unit) + "two words and more",
        "statements": "#include <a>\nint main() {}" + ";a" * (2 * unit),
        "words": "#include <a>\nint main() {}" + "a b c int " * unit,
        "docstrings": "```java\n" + '"""/*\n ```x y\n' * (unit // 4),
        "open docstrings": "```java\n" + " ```\n```java\n/*\n" * (unit // 4),
    }


@pytest.mark.nightly(unless="runs in a line|open fences|statements")
@pytest.mark.parametrize("unit", [1 << 15, pytest.param(1 << 17, marks=pytest.mark.nightly)])
@pytest.mark.parametrize("name", hostile(1))
def test_long_hostile_replies_are_extracted_quickly(name: str, unit: int) -> None:
    reply = hostile(unit)[name]
    assert extract(reply, PYTHON) is None
    assert extract(reply + "\nmore\n" + "text without code.", CPP) is None
    for name in ("javascript", "pascal"):
        assert extract(f"begin write(require({reply}\nmore\n text without code.", find_language(name)) is None


def test_ten_megabyte_reply_is_extracted() -> None:
    reply = "Thinking. " * (1 << 20) + "\n" + fenced(ADD)
    assert len(reply) > 10_000_000
    assert extract(reply, CPP) == ADD


def test_invalid_escapes_cause_no_warning(recwarn: pytest.WarningsRecorder) -> None:
    assert extract("print('\\d')\n", PYTHON) == "print('\\d')\n"
    # Warnings about unclosed files may come from earlier tests.
    assert [warning.message for warning in recwarn if warning.category is not ResourceWarning] == []
