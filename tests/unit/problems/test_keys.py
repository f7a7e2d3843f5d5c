"""Classes of keys read an object in a package's file, and report wrong and unknown keys."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import ioi_eval
from ioi_eval.model.fields import Faults
from ioi_eval.problems.keys import (
    Keys,
    UnknownKeyPolicy,
    format_key_table,
    integer_key,
    number_key,
    object_key,
    refused_key,
    seconds_key,
    text_key,
)


class _Window(Keys):
    unknown = UnknownKeyPolicy.REFUSED
    width = integer_key("pixels", default=80, minimum=1, maximum=1000)


class _House(Keys):
    ignored = ("owner",)
    title = text_key("a title", name="name")
    height = number_key("metres", default=2.5, above=0, wrong_names=("metres",))
    time_limit = seconds_key()
    window = object_key(_Window, "an object", "no window")
    cellar = refused_key("cellars are not supported", "Remove it")


def house(**values: Any) -> tuple[_House, Faults]:
    faults = Faults("p")
    return _House(values, "house.yaml", faults), faults


def test_package_key_attribute_returns_the_value() -> None:
    keys, faults = house(name="hut", time_limit=2, window={"width": 90})
    assert (keys.title, keys.height, keys.time_limit, keys.window.width) == ("hut", 2.5, 2.0, 90)
    assert _House.height.read(keys, 7.5) == 7.5
    assert faults.errors == []


def test_invalid_key_is_reported_once() -> None:
    keys, faults = house(height="high", window={"width": 0})
    for _ in range(2):
        assert (keys.title, keys.height, keys.window.width) == ("", 2.5, 80)
    assert [error.field for error in faults.errors] == ["name", "height", "window.width"]


def test_time_limit_in_milliseconds_is_refused() -> None:
    keys, faults = house(time_limit=2000)
    assert keys.time_limit == 2000
    assert "The unit is seconds, not milliseconds" in str(faults.errors)


@pytest.mark.parametrize(
    ("unknown", "errors", "notes"),
    [
        (UnknownKeyPolicy.IGNORED, ["nam", "metres", "cellar"], []),
        (
            UnknownKeyPolicy.NOTED,
            ["nam", "metres", "cellar"],
            ["p/house.yaml: colour: unknown key, so it is ignored"],
        ),
        (UnknownKeyPolicy.REFUSED, ["nam", "metres", "cellar", "colour"], []),
    ],
)
def test_unknown_keys_are_refused_if_misspelt_or_by_policy(
    unknown: UnknownKeyPolicy, errors: list[str], notes: list[str]
) -> None:
    keys, faults = house(nam="hut", metres=3, cellar=True, colour="red", owner="me")
    keys.check_keys(unknown_key_policy=unknown)
    assert [error.field for error in faults.errors] == errors
    assert faults.notes == notes
    if unknown is not UnknownKeyPolicy.REFUSED:
        assert [error.remedy for error in faults.errors] == [
            "Did you mean 'name'?",
            "Did you mean 'height'?",
            "Remove it",
        ]


def test_unknown_key_similar_to_a_present_key_is_not_a_misspelling() -> None:
    keys, faults = house(name="hut", names="huts", cellar=False)
    keys.check_keys()
    assert faults.errors == []


def test_package_key_table_has_units_bounds_and_defaults() -> None:
    assert format_key_table(_House).splitlines()[2:] == [
        "| `name` | a title | refused |",
        "| `height` | metres: above 0 | 2.5 |",
        "| `time_limit` | seconds, above 0 and below 500 | refused |",
        "| `window` | an object | no window |",
        "| `cellar` | refused: cellars are not supported. Remove it | - |",
    ]


def test_only_one_module_compares_package_keys_for_similarity() -> None:
    package = Path(ioi_eval.__file__).parent
    files = [*package.glob("problems/**/*.py"), *package.glob("plugins/*/*.py")]
    uses = [
        file
        for file in files
        if re.search(r"fields import [^\n]*\bfind_similar_names\b|get_close", file.read_text())
    ]
    assert [file.relative_to(package).as_posix() for file in uses] == ["problems/keys.py"]
