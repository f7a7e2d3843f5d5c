"""JSON and labels without characters that control a terminal."""

from __future__ import annotations

import unicodedata

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ioi_eval.model.quoting import encode_terminal_safe_json, quote_label

TEXT = st.text(
    st.characters(exclude_categories=("Cs",)) | st.sampled_from("\x7f\x9b\xad\u061c\u202e\u2028\ufeff")
)
ACTING = {"Cc", "Zl", "Zp"}
TURNING = {"\u061c", *map(chr, range(0x200B, 0x2010)), *map(chr, range(0x202A, 0x202F))}
TURNING |= {*map(chr, range(0x2060, 0x2070)), "\ufeff", "\xad"}


@given(st.dictionaries(TEXT, TEXT | st.lists(TEXT)))
def test_terminal_safe_json_keeps_value_without_control_characters(value: object) -> None:
    data = encode_terminal_safe_json(value)
    assert msgspec.json.decode(data) == value
    assert msgspec.json.decode(encode_terminal_safe_json(value, indented=True)) == value
    decoded = data.decode()
    assert not [char for char in decoded if unicodedata.category(char) in ACTING or char in TURNING]


@given(TEXT)
def test_quoted_label_is_one_printable_line(text: str) -> None:
    label = quote_label(text)
    assert (label[0] == label[-1] == '"' and label.isprintable()) or not text.isprintable()
    assert not [char for char in label if unicodedata.category(char) in {*ACTING, "Cf"}]


@pytest.mark.parametrize("char", [*"\x7f\x80\x9b\x9f\xad\u061c\u180e\u2028\ufeff\ufff9\U000e0041"])
def test_control_character_is_escaped_in_terminal_safe_json(char: str) -> None:
    assert (
        encode_terminal_safe_json(char).isascii()
        and msgspec.json.decode(encode_terminal_safe_json(char)) == char
    )


def test_printable_text_is_not_escaped() -> None:
    assert encode_terminal_safe_json({"a": "ü 🙂 \u200d"[:3]}) == '{"a":"ü 🙂"}'.encode()
    assert quote_label('a"b\\c\nd\x9b') == '"a\\"b\\\\c\\nd\\\\u009b"'
