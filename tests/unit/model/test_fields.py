"""The reader of external values, which records or raises faults."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from ioi_eval.errors import InputError
from ioi_eval.model.fields import Faults, Fields, StrictFaults

VALUES = {
    "text": 3,
    "number": "x",
    "whole": 1.5,
    "flag": "yes",
    "texts": ["a", 1],
    "inner": [],
    "choice": "c",
}
READ: dict[str, Callable[[Fields], object]] = {
    "text": lambda fields: fields.read_text("text"),
    "number": lambda fields: fields.read_number("number"),
    "whole": lambda fields: fields.read_integer("whole"),
    "flag": lambda fields: fields.read_boolean("flag", False),
    "texts": lambda fields: fields.read_texts("texts"),
    "inner": lambda fields: fields.read_object("inner").values,
    "choice": lambda fields: fields.read_choice("choice", ["a", "b"]),
    "missing": lambda fields: fields.read_text("missing"),
}
EMPTY = {"text": "", "number": 0.0, "whole": 0, "flag": False, "texts": (), "inner": {}, "choice": "a"}


@pytest.mark.parametrize("name", READ)
def test_wrong_field_type_is_recorded_and_default_is_returned(name: str) -> None:
    faults = Faults("package")
    assert READ[name](Fields(VALUES, "problem.json", faults)) == EMPTY.get(name, "")
    (error,) = faults.errors
    assert (error.where, error.row, error.field) == ("package/problem.json", None, name) and error.remedy


@pytest.mark.parametrize("name", READ)
def test_strict_reader_raises_the_recorded_fault(name: str) -> None:
    noted = Faults("rows.jsonl")
    READ[name](Fields(VALUES, "", noted))
    with pytest.raises(InputError) as raised:
        READ[name](Fields(VALUES, "", StrictFaults("rows.jsonl", row=7)))
    assert (raised.value.where, raised.value.row) == ("rows.jsonl", 7)
    assert (raised.value.problem, raised.value.field, raised.value.remedy) == (
        noted.errors[0].problem,
        name,
        noted.errors[0].remedy,
    )


def test_error_in_inner_object_names_the_full_field_path() -> None:
    fields = Fields({"limits": {"time": "x"}}, "", StrictFaults("rows.jsonl", row=2))
    with pytest.raises(InputError, match=r"rows\.jsonl, line 2, field 'limits\.time'"):
        fields.read_object("limits").read_number("time")


@pytest.mark.parametrize("value", [float("inf"), float("nan"), -1.0])
def test_number_that_is_infinite_nan_or_below_bound_is_replaced_by_default(value: float) -> None:
    """JSON has neither of the first two, but YAML has, and 1e999 in JSON becomes infinite."""
    faults = Faults("package")
    fields = Fields({"limit": value}, "problem.json", faults)
    assert (fields.read_number("limit", 2.0), fields.read_number("limit", 2.0, above=0)) == (2.0, 2.0)
    assert [error.field for error in faults.errors] == ["limit", "limit"]
