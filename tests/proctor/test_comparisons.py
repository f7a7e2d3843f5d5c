"""The built-in comparisons agree with their Python versions."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

import pytest
from harness import EVERYTHING, Bench
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.datasets import format_result
from support.function_harness import load_function_harness
from support.proctor_protocol import PlanChecker, PlanSubmission

# A quarter of the default number of examples, because each example has dozens of pairs.
FEW = settings(
    max_examples=settings.default.max_examples // 4,
    suppress_health_check=[*settings.default.suppress_health_check, HealthCheck.function_scoped_fixture],
)

_WHITES = b" \t\n\x0b\x0c\r"
_bytes = st.lists(
    st.sampled_from([b" ", b"\t", b"\n", b"\r", b"\x0b", b"\x0c", b"a", b"b", b"\0", b"\xff"]), max_size=12
).map(b"".join)
_pairs = st.lists(
    st.tuples(_bytes, _bytes) | _bytes.map(lambda x: (x, x + b"\n \n")), min_size=20, max_size=60
)


@pytest.fixture
def one_bench(workshop: Path, proctor: Path, compiled: object) -> Bench:
    return Bench(workshop=workshop, proctor=proctor, compiled=compiled, layers=EVERYTHING)  # type: ignore[arg-type]


def white_diff(output: bytes, answer: bytes) -> bool:
    """Compare line by line, as CMS documents it."""

    def lines(data: bytes) -> list[bytes]:
        rows = [
            b" ".join(
                token for token in line.translate(bytes.maketrans(_WHITES, b" " * 6)).split(b" ") if token
            )
            for line in data.split(b"\n")
        ]
        while rows and not rows[-1]:
            rows.pop()
        return rows

    return lines(output) == lines(answer)


def verdicts(bench: Bench, checker: PlanChecker, pairs: list[tuple[bytes, bytes]]) -> list[bool]:
    """Compare pairs of outputs and answers. Outputs are submitted as files, which is fastest."""
    outputs = {index: output for index, (output, _) in enumerate(pairs)}
    tests = [("", answer) for _, answer in pairs]
    none = {"submission": PlanSubmission(), "task_type": "OutputOnly"}
    result = bench.judge("", tests, checker=checker, outputs=outputs, **none)
    assert result.lines[-1].done, result
    return [result.tests[i].score == 1 for i in range(len(pairs))]


def encoded(pairs: Iterable[tuple[str, str]]) -> list[tuple[bytes, bytes]]:
    return [(output.encode(), answer.encode()) for output, answer in pairs]


def word_lines(data: bytes) -> list[list[bytes]]:
    """Return the tokens of each line that has tokens. A carriage return separates lines, too."""
    rows = (
        line.translate(bytes.maketrans(_WHITES, b" " * 6)).split(b" ") for line in re.split(b"[\r\n]", data)
    )
    return [tokens for row in rows if (tokens := [token for token in row if token])]


_BLANKS = b" \t\n\x0b\x0c\r\x1c\x1d\x1e\x1f"


@pytest.mark.parametrize(
    ("kind", "equal"),
    [
        ("white-diff", white_diff),
        ("word-lines", lambda a, b: word_lines(a) == word_lines(b)),
        ("stripped", lambda a, b: a.strip(_BLANKS) == b.strip(_BLANKS)),
        ("exact", lambda a, b: a == b),
        ("tokens", lambda a, b: a.split() == b.split()),
    ],
    ids=["white-diff", "word-lines", "stripped", "exact", "tokens"],
)
@FEW
@given(pairs=_pairs)
def test_byte_comparison_equals_its_python_version(
    one_bench: Bench, kind: str, equal: Callable[[bytes, bytes], bool], pairs: list[tuple[bytes, bytes]]
) -> None:
    assert verdicts(one_bench, PlanChecker(kind=kind), pairs) == [equal(a, b) for a, b in pairs]


# Numbers that are equal in other spellings, or hardly differ.
_whole = st.integers() | st.sampled_from(
    [n + d for n in (0, 1, 2**53, 2**63, 10**18, 10**22, 10**23, 10**30) for d in (-7, -1, 0, 1, 7)]
)
_numbers = st.booleans() | _whole | _whole.map(float) | st.floats(allow_nan=False, allow_infinity=False)
_texts = st.text(
    st.characters() | st.sampled_from("01\ud800\udfff"), max_size=3
)  # including single surrogates
_values = st.recursive(
    st.none() | _numbers | _texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_texts, inner, max_size=3),
    max_leaves=6,
)


def respelled(draw: st.DrawFn, value: Any, *, hashed: bool = False) -> Any:
    """Draw a value that is often equal, or nearly equal, to `value`."""
    if isinstance(value, bool | int | float):
        near = [value, -value, float(value), bool(value), value + 1]
        return draw(st.sampled_from([*near, int(value), int(value) + 1] if math.isfinite(value) else near))
    if isinstance(value, complex):
        return draw(st.sampled_from([value, value.real, value.conjugate()]))
    if isinstance(value, dict):
        pairs = [(respelled(draw, key, hashed=True), respelled(draw, item)) for key, item in value.items()]
        return dict(draw(st.permutations(pairs)))
    if isinstance(value, list | tuple | set):
        items = [respelled(draw, item, hashed=hashed or isinstance(value, set)) for item in value]
        sequences = [] if hashed else [list, tuple]
        return draw(st.sampled_from([type(value)] * 5 + sequences))(items)
    return value


def pairs_of(values: st.SearchStrategy[Any]) -> st.SearchStrategy[list[tuple[Any, Any]]]:
    @st.composite
    def alike(draw: st.DrawFn) -> tuple[Any, Any]:
        value = draw(values)
        return value, respelled(draw, value)

    return st.lists(alike() | st.tuples(values, values), min_size=20, max_size=40)


@FEW
@given(pairs=pairs_of(_values))
def test_json_comparison_equals_python_comparison_of_values(
    one_bench: Bench, pairs: list[tuple[Any, Any]]
) -> None:
    """Both values are first encoded as JSON and decoded."""
    written = [(json.dumps(a).encode(), json.dumps(b, indent=1).encode()) for a, b in pairs]
    expected = [json.loads(a) == json.loads(b) for a, b in written]
    assert verdicts(one_bench, PlanChecker(kind="json"), written) == expected


def test_json_comparison_distinguishes_nearly_equal_numbers(one_bench: Bench) -> None:
    expected = {
        ("1e18", "1000000000000000007"): False,
        ("1e+18", "1000000000000000000"): True,
        ("9007199254740993", "9007199254740992.0"): False,
        ("9007199254740992.0", "9007199254740992"): True,
        ("1e23", "100000000000000000000000"): False,  # its float is a little less
        ("1e23", "99999999999999991611392"): True,
        ("-0.0", "0"): True,
        ("true", "1.0"): True,
        ("[true, [0.0]]", "[1, [false]]"): True,
        ("0.5", "0"): False,
        ('["\\ud800", 1]', '["\\ud800", 1.0]'): True,
        ('["\\ud800"]', '["\\udfff"]'): False,
        ('["\\ud83d\\ude00"]', '["\U0001f600"]'): True,
    }
    assert verdicts(one_bench, PlanChecker(kind="json"), encoded(expected)) == list(expected.values())
    assert [json.loads(a) == json.loads(b) for a, b in expected] == list(expected.values())


_hashable = st.recursive(
    st.none() | _numbers | _texts | st.complex_numbers(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner, max_size=2).map(tuple),
    max_leaves=3,
)
_of_python = st.recursive(
    _hashable | st.floats(allow_nan=False) | st.sets(_hashable, max_size=4),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.lists(inner, max_size=3).map(tuple)
        | st.dictionaries(_hashable, inner, max_size=3)
    ),
    max_leaves=6,
)


@FEW
@given(pairs=pairs_of(_of_python))
def test_json_comparison_distinguishes_tuples_and_sets_from_lists(
    one_bench: Bench, pairs: list[tuple[Any, Any]]
) -> None:
    """The harness encodes the result, and the benchmark encodes the answer."""
    tagged = load_function_harness()["encode_with_type_tags"]
    encode = json.JSONEncoder(allow_nan=False).encode
    written = [(encode(tagged(a, encode)), format_result(b)) for a, b in pairs]
    assert verdicts(one_bench, PlanChecker(kind="json"), encoded(written)) == [a == b for a, b in pairs]


def test_json_comparison_with_tolerance_applies_to_floats_only(one_bench: Bench) -> None:
    """The tolerance holds for numbers at any depth, but not between two integers."""
    near = {"absolute": 1e-6, "relative": 1e-7}
    expected = {
        ("[0.1, 2]", "[0.1000005, 2]"): True,
        ("[0.1, 2]", "[0.100002, 2]"): False,
        ('{"a": 100000000.5}', '{"a": 100000009.5}'): True,
        ("1000000000000001", "1000000000000000"): False,
        ("3", "3.0000001"): True,
        ("0.1", '"0.1"'): False,
    }
    assert verdicts(one_bench, PlanChecker(kind="json", **near), encoded(expected)) == list(expected.values())
    assert verdicts(one_bench, PlanChecker(kind="json"), encoded(expected)) == [False] * len(expected)


def test_json_comparison_at_the_tolerance_equals_python_float_arithmetic(one_bench: Bench) -> None:
    """In exact arithmetic the first two differ by more than 0.1."""
    expected = {("6.82", "6.2"): True, ("6.83", "6.2"): False, ("0.0", "0"): True}
    assert [abs(float(a) - float(b)) <= 0.1 * float(b) for a, b in expected] == list(expected.values())
    assert verdicts(one_bench, PlanChecker(kind="json", relative=0.1), encoded(expected)) == list(
        expected.values()
    )


def as_lines(output: str, answer: str) -> bool:
    """Compare like the harness of LiveCodeBench."""

    def stripped(text: str) -> list[str]:
        return [line.strip() for line in text.strip().split("\n")]

    def numbers(line: str) -> list[Decimal] | None:
        try:
            return [Decimal(token) for token in line.split()]
        except InvalidOperation:
            return None

    ours, theirs = stripped(output), stripped(answer)
    return len(ours) == len(theirs) and all(
        a == b or (numbers(a) is not None and numbers(a) == numbers(b))
        for a, b in zip(ours, theirs, strict=True)
    )


_written = st.lists(
    st.sampled_from([" ", "  ", "\t", "\n", "\n\n", "\r\n", "1", "1.0", "01.", "-0", "0.0", "10", "1e1", "x", "1x", "."]),
    max_size=9,
).map("".join)  # fmt: skip


@FEW
@given(pairs=st.lists(st.tuples(_written, _written), min_size=20, max_size=60))
def test_line_comparison_equals_its_python_version(one_bench: Bench, pairs: list[tuple[str, str]]) -> None:
    assert verdicts(one_bench, PlanChecker(kind="lines"), encoded(pairs)) == [
        as_lines(a, b) for a, b in pairs
    ]


@FEW
@given(pairs=_pairs | st.lists(st.tuples(_written, _written), min_size=20).map(encoded))
def test_stripped_line_comparison_equals_its_python_version(
    one_bench: Bench, pairs: list[tuple[bytes, bytes]]
) -> None:
    def stripped(data: bytes) -> list[bytes]:
        return [line.strip(_BLANKS) for line in data.strip(_BLANKS).split(b"\n")]

    assert verdicts(one_bench, PlanChecker(kind="stripped-lines"), pairs) == [
        stripped(a) == stripped(b) for a, b in pairs
    ]


NUMBERS_SPELLED_OTHERWISE = [
    ("1.0 2.50\n-3e2", "1 2.5\n-300.0", True),
    ("10000000000000000000001", "10000000000000000000000", False),
    ("0.1", "0.10000000000000001", False),
    ("\n\n 7 \n\n", "7", True),
    ("1\n\n2", "1\n2", False),
    ("1 2", "1\n2", False),
    ("a  b", "a b", False),
    ("1  x", "1 x", False),
    ("1.0 x", "1 x", False),
    ("1e5e", "100000", False),
    ("1e", "1", False),
    ("-0", "0.0", True),
    ("1e-99999999999999999", "0", False),
    ("", " \n", True),
    ("", "x", False),
]


def as_float_lines(output: str, answer: str) -> bool:
    """Compare like eval-protocol, with numpy.allclose."""

    def close(ours: float, theirs: float) -> bool:
        near = abs(ours - theirs) <= 1e-8 + 1e-5 * abs(theirs) and math.isfinite(theirs)
        return ours == theirs or near

    ours = [line.strip() for line in output.rstrip().splitlines()]
    theirs = [line.strip() for line in answer.splitlines()]
    if ours == theirs or len(ours) != len(theirs):
        return ours == theirs
    try:
        return all(close(float(a), float(b)) for a, b in zip(ours, theirs, strict=True))
    except ValueError:
        return False


_float_parts = st.sampled_from(
    [" ", "\t", "\n", "\n\n", "\r\n", "\r", "\x0b", "\x1c", "\x1f", "\x85", "\xa0", "\u2028", "\u3000", "é", "x",
     "1", "1", "2.0", ".5", "5.", "-", "+", "e1", "E-2", "_", "inf", "Infinity", "nan", "0x1", "1.00001", "1e999"]
)  # fmt: skip
_floats = st.lists(_float_parts, max_size=6).map("".join)
_two_floats = (
    st.tuples(_floats, _floats) | _floats.map(lambda x: (x, x)) | _floats.map(lambda x: (x + "\n", f" {x}"))
)
_more_blank_lines = st.lists(_floats, max_size=3).map(lambda xs: ("\n".join(xs), "\n\n".join(xs)))


@FEW
@given(pairs=st.lists(_two_floats, min_size=20, max_size=60))
def test_float_line_comparison_equals_its_python_version(
    one_bench: Bench, pairs: list[tuple[str, str]]
) -> None:
    expected = [as_float_lines(a, b) for a, b in pairs]
    assert verdicts(one_bench, PlanChecker(kind="float-lines"), encoded(pairs)) == expected


LINES_OF_FLOATS = [
    ("1 2", "1 2 ", True),
    ("2.0\n", "2", True),
    ("2.0\n3", "2\n3.00001", True),
    ("2.0 3", "2 3", False),
    ("2.0\nx", "2\nx", False),
    ("100001", "100000", True),
    ("100002", "100000", False),
    ("100000", "100001.1", False),
    ("1e-8", "0", True),
    ("2e-8", "0", False),
    ("inf", "Infinity", True),
    ("inf", "-inf", False),
    ("1e999", "inf", True),
    ("1", "inf", False),
    ("nan", "nan", True),
    ("nan", "NaN", False),
    ("1_0", "10", True),
    ("1__0", "10", False),
    ("_10", "10", False),
    ("10_", "10", False),
    ("1_.5", "1.5", False),
    ("0x10", "16", False),
    ("1.e1", "10", True),
    (".5", "0.5", True),
    (".", ".0", False),
    ("1e", "1", False),
    ("", "", True),
    (" \n \n", "", True),
    ("", "\n", False),
    ("1\n\n", "1\n\n", False),
    ("1\n\n2", "1\n\n2\n", True),
    ("a\x0bb", "a\nb", True),
    ("a\u2028b\u3000", "a\r\nb", True),
    ("\u200ba", "a", False),
]


def test_float_lines_comparison_compares_invalid_utf8(one_bench: Bench) -> None:
    pairs = [(b"\xff", b"\xff"), (b"\xff", b"\xfe"), (b"\xe2\x80", b"\xe2\x80"), (b"\xc2\n1", b"\xc2\n1.0")]
    assert verdicts(one_bench, PlanChecker(kind="float-lines"), pairs) == [True, False, True, False]


def as_apps(output: str, answer: str) -> bool:
    """Compare like APPS' harness: an output is right if any of its comparisons accepts it."""
    ours, theirs = output.splitlines(), [line.strip() for line in answer.split("\n") if line]
    filled = [line for line in ours if line]
    joined = ["\n".join(ours), "\n".join(line.strip() for line in ours)]
    return (
        answer.strip() in [candidate.strip() for candidate in joined]
        or theirs in (ours, filled)
        or as_close(filled, theirs)
        or as_sets(filled, theirs, str)
        or as_sets(filled, theirs, lambda word: round(float(word), 3))
    )


def as_close(ours: list[str], theirs: list[str]) -> bool:
    try:
        pairs = list(zip(map(float, ours), map(float, theirs), strict=True))
    except ValueError:
        return False
    return all(a == b or (abs(a - b) <= 1e-8 + 1e-5 * abs(b) and math.isfinite(b)) for a, b in pairs)


def as_sets(ours: list[str], theirs: list[str], read: Callable[[str], object]) -> bool:
    try:
        our_sets = {frozenset(map(read, line.split())) for line in ours if line.split()}
        return our_sets == {frozenset(map(read, line.split())) for line in theirs}
    except ValueError:
        return False


@FEW
@given(
    pairs=st.lists(
        _two_floats
        | st.lists(_floats, max_size=3).map(lambda xs: ("\n".join(reversed(xs)), "\n".join(xs)))
        | _more_blank_lines,
        min_size=20,
        max_size=60,
    )
)
def test_apps_comparison_equals_its_python_version(one_bench: Bench, pairs: list[tuple[str, str]]) -> None:
    assert verdicts(one_bench, PlanChecker(kind="apps"), encoded(pairs)) == [as_apps(a, b) for a, b in pairs]


# float() strips fewer kinds of white space than strip().
WHITE_TO_FLOAT = [
    ("\x1f1\n1", "\x1f1\n\n1", False),
    ("\t1 \n1", "\t1\n\n1", True),
    ("\u20051\n1\xa0", "1\n\n1", True),
]
EACH_WAY_OF_APPS = [
    ("1 2", " 1 2 \n", True),
    ("a\r\nb", "a\nb", True),
    ("a\nb", "a\r\nb", True),
    ("a \n\n b\n", "a\n\nb", True),
    (" a\n b", "a\n b", True),
    ("a\n \nb", "a\n \nb", True),
    ("a\n  \nb", "a\n \nb", False),
    ("a\n\nb", "a\n \nb", True),
    ("a\nb", "a\n\nb", True),
    ("a\n\nb", "a\nb", True),
    ("2.0\n3", "2\n\n3.00001", True),
    ("2.0\n3.1", "2\n3.00001", False),
    ("1e999", "inf", True),
    ("nan", "NaN", False),
    ("nan x", "NaN x", False),
    ("b a\n\n c", "c\na b", True),
    ("a a\na", "a", True),
    ("a", "a\nb", False),
    ("a\nb", "a", False),
    ("2.0004 x", "2 x", False),
    ("2.0004 1", "1 2", True),
    ("2.0006 1", "1 2", False),
    ("-0.0001 7", "0 7.0", True),
    ("3 7", "7 _3", False),
    ("Yes", "YES", False),
    ("", " \n", True),
    ("\n\n", "", True),
    ("", "x", False),
    ("x", "", False),
    ("\u3000a\u2028b", "a\nb", True),
]


def as_prime_code(output: str, answer: str) -> bool:
    """Compare like verl's prime_code, without sets, and without floats if all lines are digits."""
    ours, theirs = output.splitlines(), [line.strip() for line in answer.split("\n") if line]
    filled = [line for line in ours if line]
    joined = ["\n".join(ours), "\n".join(line.strip() for line in ours)]
    whole = all(line.isdigit() for line in filled + theirs)
    return (
        answer.strip() in [candidate.strip() for candidate in joined]
        or theirs in (ours, filled)
        or (not whole and as_close(filled, theirs))
    )


_near = st.lists(
    st.sampled_from(["1", "1 ", "01", "1.0", "1000001", "1000002", "-1000001", "-1000002"]), max_size=3
)


@FEW
@given(
    pairs=st.lists(
        _two_floats
        | st.tuples(_near, _near).map(lambda pair: ("\n".join(pair[0]), "\n".join(pair[1])))
        | _more_blank_lines,
        min_size=20,
        max_size=60,
    )
)
def test_proctor_and_python_prime_code_comparison_agree(
    one_bench: Bench, pairs: list[tuple[str, str]]
) -> None:
    expected = [as_prime_code(a, b) for a, b in pairs]
    assert verdicts(one_bench, PlanChecker(kind="prime-code"), encoded(pairs)) == expected


@pytest.mark.parametrize(
    ("kind", "equal", "told"),
    [
        ("lines", as_lines, NUMBERS_SPELLED_OTHERWISE),
        ("float-lines", as_float_lines, LINES_OF_FLOATS),
        ("apps", as_apps, EACH_WAY_OF_APPS),
        ("prime-code", as_prime_code, WHITE_TO_FLOAT),
    ],
    ids=["lines", "float-lines", "apps", "prime-code"],
)
def test_comparison_of_output_and_answer_gives_expected_verdict(
    one_bench: Bench, kind: str, equal: Callable[[str, str], bool], told: list[tuple[str, str, bool]]
) -> None:
    pairs = [(output, answer) for output, answer, _ in told]
    expected = [same for *_, same in told]
    assert [equal(a, b) for a, b in pairs] == expected
    assert verdicts(one_bench, PlanChecker(kind=kind), encoded(pairs)) == expected


def test_json_wrapped_comparison_accepts_value_of_single_element_list(one_bench: Bench) -> None:
    pairs = [(b"3", b"[3]"), (b"[3]", b"[3]"), (b"[3]", b"[[3]]"), (b"3", b"[[3]]"), (b"3", b"[3, 4]")]
    assert verdicts(one_bench, PlanChecker(kind="json-wrapped"), pairs) == [True, True, True, False, False]
    assert verdicts(one_bench, PlanChecker(kind="json"), pairs) == [False, True, False, False, False]


def test_json_comparison_accepts_huge_numbers_and_rejects_invalid_json(one_bench: Bench) -> None:
    pairs = [
        (b"10000000000000000000001", b"10000000000000000000000"),
        (b"1e3", b"1000"),
        (b"nope", b"1"),
        (b"", b"null"),
        (b"[" * 600, b"[]"),
    ]
    assert verdicts(one_bench, PlanChecker(kind="json"), pairs) == [False, True, False, False, False]


@pytest.mark.parametrize(
    ("rules", "output", "answer", "same"),
    [
        ({"case_sensitive": False}, "YES\nno", "yes  NO", True),
        ({}, "YES", "yes", False),
        ({"absolute": 1e-3}, "1.0005 x", "1.0 x", True),
        ({"absolute": 1e-3}, "1.0015", "1.0", False),
        ({"relative": 1e-3}, "1000.5", "1000", True),
        ({"relative": 1e-3, "absolute": 0}, "nan", "1", False),
        ({"relative": 0.1, "absolute": 0}, "90", "100", True),  # of the answer, not of the output
        ({"relative": 0.1, "absolute": 0}, "111", "100", False),
        ({"case_sensitive": False}, "a\0B", "A\0b", True),
        ({"case_sensitive": False}, "a\0B", "a\0c", False),
        ({"absolute": 1e-3}, "1.0", "x", False),
        ({"absolute": 1e-3}, "1\0x", "1", False),
        ({"absolute": 1e-3}, "1\0", "1", False),
        (
            {"absolute": 1e-6},
            "9007199254740992",
            "9007199254740993",
            False,
        ),  # equal as `double`
        ({"absolute": 1e-6}, "9007199254740993.0", "9007199254740993", True),
        ({"absolute": 1e-6}, "0.000001", "0", True),  # `double` has less than 1e-6
        ({"absolute": 1e-6}, "0.00000100000000000000001", "0", False),
        ({"relative": 1e-6, "absolute": 0}, "999999", "1000000", True),
        ({"relative": 1e-3, "absolute": 0}, "1001", "1000", True),  # a thousand times 1e-3 is less than 1
        ({"relative": 1e-3}, "1001", "-1000", False),
        ({"relative": 1e-3}, "-1001", "-1000", True),
        ({"relative": 1e-3}, "0.0", "0", True),
        ({"relative": 1e-3}, "1e-9", "0", False),
        ({"relative": 0}, "0x10", "16", True),
        ({"relative": 0}, "1e5000", "2e5000", False),  # compared as strings, because they exceed `double`
        ({"absolute": 1e-3}, "inf", "INF", False),
        ({"space_sensitive": True}, "a  b\n", "a b\n", False),
        ({"space_sensitive": True}, "a  b\n", "a  b\n", True),
        ({"space_sensitive": True}, " a", "a", False),
    ],
)
def test_token_comparison_follows_case_and_tolerance_rules(
    one_bench: Bench, rules: dict[str, float], output: str, answer: str, same: bool
) -> None:
    checker = PlanChecker(kind="tokens", **rules)  # type: ignore[arg-type]
    assert verdicts(one_bench, checker, encoded([(output, answer)])) == [same]
