"""Version ranges with the meaning of npm."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ioi_eval.engines.embedded.packages import is_version_accepted, parse_version

numbers = st.tuples(*[st.integers(0, 30)] * 3)


@pytest.mark.parametrize(
    ("version_range", "accepted", "refused"),
    [
        ("*", ["0.0.0", "10.2.0"], []),
        ("", ["1.2.3"], []),
        ("x", ["1.2.3"], []),
        ("1.0.0", ["1.0.0"], ["1.0.1", "0.9.9"]),
        ("=1.0.0", ["1.0.0"], ["1.0.1"]),
        ("v1.0.0", ["1.0.0"], ["1.0.1"]),
        ("5", ["5.0.0", "5.9.1"], ["4.9.9", "6.0.0"]),
        ("5.2", ["5.2.0", "5.2.9"], ["5.1.9", "5.3.0"]),
        ("5.x", ["5.0.0", "5.9.9"], ["6.0.0"]),
        ("5.2.*", ["5.2.7"], ["5.3.0"]),
        ("^1.2.3", ["1.2.3", "1.9.0"], ["1.2.2", "2.0.0"]),
        ("^0.2.3", ["0.2.3", "0.2.9"], ["0.3.0", "0.2.2"]),
        ("^0.0.3", ["0.0.3"], ["0.0.4"]),
        ("^0.0", ["0.0.0", "0.0.9"], ["0.1.0"]),
        ("^1", ["1.0.0", "1.9.9"], ["2.0.0"]),
        ("~1.2.3", ["1.2.3", "1.2.9"], ["1.3.0", "1.2.2"]),
        ("~1.2", ["1.2.0"], ["1.3.0"]),
        ("~1", ["1.9.0"], ["2.0.0"]),
        (">=1.2", ["1.2.0", "9.0.0"], ["1.1.9"]),
        (">1.2", ["1.3.0"], ["1.2.9"]),
        (">1.2.3", ["1.2.4"], ["1.2.3"]),
        ("<2", ["1.9.9"], ["2.0.0"]),
        ("<=2", ["2.9.9"], ["3.0.0"]),
        (">=1.2.0 <1.4", ["1.2.0", "1.3.9"], ["1.4.0", "1.1.0"]),
        (">= 1.2.0 < 1.4", ["1.3.9"], ["1.4.0"]),
        ("1.2 - 1.4", ["1.2.0", "1.4.9"], ["1.5.0", "1.1.9"]),
        ("1.0.0 || >=3", ["1.0.0", "3.1.0"], ["2.0.0"]),
        (">*", [], ["1.0.0"]),
        ("<*", [], ["1.0.0"]),
        (">=*", ["1.0.0"], []),
        ("newest", [], ["1.0.0"]),
        ("1.2.3.4", [], ["1.2.3"]),
    ],
)
def test_version_range_accepts_and_refuses_versions(
    version_range: str, accepted: list[str], refused: list[str]
) -> None:
    assert [
        version for version in [*accepted, *refused] if is_version_accepted(version, version_range)
    ] == accepted


@pytest.mark.parametrize("version", ["1.2", "x", "1.2.3.4", "", "01.2.3"])
def test_invalid_version_satisfies_no_range(version: str) -> None:
    assert parse_version(version) is None
    assert not is_version_accepted(version, "*")


@given(numbers, numbers)
def test_version_comparison_equals_comparison_of_numbers(
    one: tuple[int, int, int], other: tuple[int, int, int]
) -> None:
    first_version, right = (".".join(map(str, version)) for version in (one, other))
    assert is_version_accepted(first_version, f">={right}") == (one >= other)
    assert is_version_accepted(first_version, f"<{right}") == (one < other)
    assert is_version_accepted(first_version, right) == (one == other)
