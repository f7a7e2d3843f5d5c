"""The attributes and child elements of problem.xml that are read, by element."""

from __future__ import annotations

import math
import re
from xml.etree.ElementTree import Element

from ioi_eval.model.fields import Faults, Fields
from ioi_eval.problems.keys import MIB, K, Key, Keys, choice_key, raw_key, text_key
from ioi_eval.problems.names import is_portable_file_name, stays_in_folder

HEADER = "problem.xml"
MAIN_TESTSET = "tests"
COMPLETE_GROUP, EACH_TEST = POINTS_POLICIES = ("complete-group", "each-test")
_STANDARD_FILES = ("", "stdin", "stdout")
# Minimum plausible time limit in ms; Polygon's minimum is 250 ms, so a smaller number must be in seconds.
_MIN_TIME_MS = 50
_MAX_COUNT = 1 << 60


def read_attributes_and_children(element: Element) -> dict[str, str]:
    """Return an element's attributes and the strings in its child elements, by name."""
    return {**{child.tag: child.text or "" for child in element}, **element.attrib}


def _declare_count(unit: str, min_value: int, key_name: str) -> Key[int]:
    """Declare a key for a required whole number in this unit."""

    def read(fields: Fields, name: str, _: object) -> int:
        value = (fields.raw_value(name) or "").strip()
        if not value.isdecimal() or not 0 < int(value) < _MAX_COUNT:
            fields.report_fault(name, f"{value[:40]!r} is not a number of {unit}", "Correct it in the file")
            return 1
        if int(value) < min_value:
            fields.report_fault(name, f"{value} {unit} is too little for any program", f"The unit is {unit}")
        return int(value)

    return Key(read, None, unit, "refused", key_name)


def _declare_points(meaning: str, missing_description: str) -> Key[float | None]:
    """Declare a key for a number of points. Its value is None if the key is missing."""

    def read(fields: Fields, name: str, _: object) -> float | None:
        value = fields.raw_value(name)
        try:
            points = None if value is None else float(value)
        except ValueError:
            points = math.nan
        if points is None or 0 <= points < math.inf:
            return points
        fields.report_fault(name, f"{value!r} is not a number of points", "Correct it in the file")
        return None

    return Key(read, None, meaning, missing_description)


def _declare_file_name_key(meaning: str, key_name: str) -> Key[str]:
    """Declare a key for the name of a file, which is empty for a standard stream."""

    def read(fields: Fields, name: str, _: object) -> str:
        file_name: str = fields.raw_value(name) or ""
        if file_name in _STANDARD_FILES:
            return ""
        if not is_portable_file_name(file_name):
            fields.report_fault(name, f"{file_name!r} is not a plain file name", "Leave it empty")
        return file_name

    return Key(
        read, "", f"{meaning}; empty, `stdin` or `stdout`: a standard stream", "a standard stream", key_name
    )


def _declare_pattern(meaning: str, key_name: str) -> Key[str]:
    """Return a key whose value is a pattern of paths, such as tests/%02d. A bad value becomes ""."""

    def read(fields: Fields, name: str, _: object) -> str:
        value = (fields.raw_value(name) or "").strip()
        if re.fullmatch(r"[^%]*%(0\d)?d[^%]*", value) and stays_in_folder(value):
            return value
        fields.report_fault(name, f"{value[:40]!r} is not a pattern", "Expected one such as tests/%02d")
        return ""

    return Key(read, None, meaning, "refused", key_name)


class JudgingKeys(Keys):
    """The keys of `judging`."""

    ignored = ("testset", "cpu-name", "cpu-speed")
    input_file = _declare_file_name_key("the file that submissions read", "input-file")
    output_file = _declare_file_name_key("the file that submissions write", "output-file")
    run_count = text_key(
        "how often a solution runs: 1, or 2 with an interactor", default="1", name="run-count"
    )
    points_are_percentages = raw_key(
        "`true`: `points X` of a program is X of 100, not of the test's points",
        "false",
        name="treat-points-from-checker-as-percent",
    )


class TestsetKeys(Keys):
    """The keys of `judging/testset`."""

    ignored = ("output-path-pattern", "tests", "groups")
    testset = raw_key("the testset `tests` is judged, else the first one", "no name", name="name")
    time_limit = _declare_count("milliseconds", _MIN_TIME_MS, "time-limit")
    memory_limit = _declare_count("bytes", MIB, "memory-limit")
    test_count = raw_key("number of tests, which must be that of `tests`", "not compared", name="test-count")
    input_pattern = _declare_pattern(
        "path of an input by its number, such as `tests/%02d`", "input-path-pattern"
    )
    answer_pattern = _declare_pattern("path of an answer by its number", "answer-path-pattern")


class TestKeys(Keys):
    """The keys of `testset/tests/test`."""

    ignored = ("method", "sample", "description", "verdict")
    points = _declare_points("points of the test; without any points, a submission must pass all tests", "0")
    group = text_key("the name of its group", "no group", default="")
    cmd = text_key("the command that generates the input", "the input is in the package", default="")
    from_file = raw_key(
        "refused if tests are generated: one command writes several tests", "-", name="from-file"
    )


class GroupKeys(Keys):
    """The keys of `testset/groups/group`."""

    ignored = ("feedback-policy", "dependencies")
    group = text_key("the name of the group", default="", name="name")
    points = _declare_points("points of the group, for `complete-group`", "the sum of its tests' points")
    points_policy = choice_key(
        POINTS_POLICIES,
        "points for the whole group if all its tests pass, or for each test that passes",
        default=COMPLETE_GROUP,
        name="points-policy",
    )


def read_keys(element: Element, keys_type: type[K], prefix: str, faults: Faults) -> K:
    """Return the keys of an element. Report misspelt keys.

    Args:
        element: An element of problem.xml. Its attributes and child elements are the keys.
        keys_type: The class that declares the element's keys.
        prefix: Text before each key in messages, such as "testset.".
        faults: Receives faults and notes.
    """
    keys = keys_type(read_attributes_and_children(element), HEADER, faults, prefix)
    keys.check_keys()
    return keys
