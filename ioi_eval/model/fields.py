"""Read typed fields from external data: a package's header, a row, a request.

A policy handles each invalid field as a fault. The policy `Faults` collects the faults and reading continues.
The policy `StrictFaults` raises the first fault.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from difflib import get_close_matches
from enum import StrEnum
from typing import Annotated, Any, ClassVar, Literal, NoReturn, TypeVar

import msgspec
from msgspec import Meta

from ioi_eval.model.errors import InputError
from ioi_eval.model.nesting import require_shallow

T = TypeVar("T")
Word = TypeVar("Word", bound=StrEnum)
_MAX_NUMBER = sys.float_info.max
_MAX_NAMED = 8
# Minimum similarity of two names (difflib's ratio); below this, names are similar by chance.
_MIN_SIMILARITY = 0.6


class Faults:
    """The policy that collects the faults of a source in the order of reading, and notes about the source."""

    def __init__(self, where: str, row: int | None = None) -> None:
        self.where, self.row = where, row
        self.errors: list[InputError] = []
        self.notes: list[str] = []

    def make_error(self, fault: str, file: str, *, row: int | None = None, **details: str) -> InputError:
        """Return a fault. `file` is a file in the source, or "" for the source itself."""
        where = f"{self.where}/{file}" if file else self.where
        return InputError(fault, where=where, row=self.row if row is None else row, **details)

    def report(self, fault: str, file: str, *, row: int | None = None, **details: str) -> None:
        """Handle a fault. The arguments are the same as for `make_error`."""
        self.errors.append(self.make_error(fault, file, row=row, **details))

    def add_note(self, sentence: str, file: str = "") -> None:
        """Add a note, which is not a fault but may interest readers of the package."""
        where = f"{self.where}/{file}" if file else self.where
        self.notes.append(f"{where}: {sentence}")


class StrictFaults(Faults):
    """The policy that raises the first fault."""

    def report(self, fault: str, file: str, *, row: int | None = None, **details: str) -> NoReturn:
        raise self.make_error(fault, file, row=row, **details)


class Fields:
    """The fields of an object.

    An invalid field is reported to the `Faults` or `StrictFaults` of the constructor. If that raises nothing,
    the field's default is returned.
    """

    remedy: ClassVar[str] = "Correct it in the file"  # remedy in the message about a value of the wrong type
    formatter: ClassVar[Any] = staticmethod(json.dumps)  # function that formats a value in a message

    def __init__(
        self,
        values: Mapping[str, Any],
        file: str,
        fault_policy: Faults,
        field_prefix: str = "",
        row: int | None = None,
    ) -> None:
        self.values, self.file, self._policy, self._prefix, self._row = (
            values,
            file,
            fault_policy,
            field_prefix,
            row,
        )

    def has_field(self, name: str) -> bool:
        """Return True if the object has this field."""
        return name in self.values

    def raw_value(self, name: str) -> Any:
        """Return the field's raw value, or None if it is missing."""
        return self.values.get(name)

    def format_value(self, value: Any) -> str:
        """Return a value in the form that messages use."""
        return format_value(value, self.formatter)

    def report_missing(self, name: str, expected: str) -> None:
        """Handle the fault that a required field is missing."""
        self.report_fault(name, "missing", f"Add it: {expected}")

    def full_field_name(self, name: str) -> str:
        """Return a field's full name for messages."""
        return self._prefix + name

    def report_fault(self, name: str, fault: str, remedy: str = "") -> None:
        """Handle a fault of a field."""
        self._policy.report(fault, self.file, row=self._row, field=self.full_field_name(name), remedy=remedy)

    def make_error(self, name: str, fault: str, remedy: str = "") -> InputError:
        """Return the error about a field without reporting it. The caller raises the error."""
        error_details = {"field": self.full_field_name(name), "remedy": remedy or self.remedy}
        return self._policy.make_error(fault, self.file, row=self._row, **error_details)

    def mismatch_error(self, name: str, expected: str) -> InputError:
        """Return the error that a field's value is not `expected`, without reporting it."""
        return self.make_error(name, f"{self.format_value(self.raw_value(name))} is not {expected}")

    def read_name(self, name: str) -> str:
        """Return a name: a string or an integer. Raises an InputError for anything else."""
        if (valid_name := parse_name(self.raw_value(name))) is None:
            raise self.mismatch_error(name, "a string or a whole number")
        return valid_name

    def read_text(self, name: str, default: str | None = None) -> str:
        """Return a string."""
        return self._read_value(name, str, "a text", default, "")

    def read_number(self, name: str, default: float | None = None, *, above: float | None = None) -> float:
        """Return a finite number that is greater than `above` or, without `above`, not negative."""
        bounds = Meta(ge=0, le=_MAX_NUMBER) if above is None else Meta(gt=above, le=_MAX_NUMBER)
        expected = "a number of at least 0" if above is None else f"a number above {above:g}"
        return self._read_value(name, Annotated[float, bounds], expected, default, 0.0)

    def read_integer(
        self, name: str, default: int | None = None, *, minimum: int = 0, maximum: int = 2**62
    ) -> int:
        """Return an integer between `minimum` and `maximum`. After a fault return `default`, or 0.

        Args:
            name: Name of the field.
            default: Value of a missing field; None means that a missing field is a fault.
            minimum: Smallest valid value.
            maximum: Largest valid value.
        """
        expected = f"a whole number from {minimum}" + (f" to {maximum}" if maximum < 2**62 else "")
        return self._read_value(name, Annotated[int, Meta(ge=minimum, le=maximum)], expected, default, 0)

    def read_enum(self, name: str, enum_class: type[Word], default: Word | None = None) -> Word:
        """Return a member of an enum by its value."""
        return enum_class(self.read_choice(name, [member.value for member in enum_class], default))

    def read_choice(self, name: str, choices: Sequence[str], default: str | None = None) -> str:
        """Return a string, which must be among `choices`."""
        return self._read_value(
            name, Literal[tuple(choices)], f"one of {', '.join(choices)}", default, choices[0]
        )

    def read_boolean(self, name: str, default: bool = False) -> bool:
        """Return True or False."""
        return self._read_value(name, bool, "true or false", default, default)

    def read_optional_number(self, name: str) -> float | None:
        """Return a number as `read_number` does, or None if the field is missing or null."""
        return None if self.raw_value(name) is None else self.read_number(name)

    def read_texts(self, name: str, default: tuple[str, ...] | None = None) -> tuple[str, ...]:
        """Return a list of strings."""
        return self._read_value(name, tuple[str, ...], "a list of texts", default, ())

    def read_object(self, name: str) -> Fields:
        """Return a reader of the object in a field; the object is empty if the field is missing or null."""
        values: dict[str, Any] = {}
        if self.raw_value(name) is not None:
            values = self._read_value(name, dict, "an object", None, values)
        return self.make_nested_fields(name, values)

    def make_nested_fields(self, name: str, values: Mapping[str, Any]) -> Fields:
        """Return a reader of values that belong to the object in a field."""
        return Fields(values, self.file, self._policy, f"{self._prefix}{name}.", self._row)

    def with_values(self, values: Mapping[str, Any]) -> Fields:
        """Return a reader of other values for the same object."""
        return Fields(values, self.file, self._policy, self._prefix, self._row)

    def _read_value(self, name: str, value_type: Any, expected: str, default: T | None, empty_value: T) -> T:
        """Return the field as a value of a type.

        After a fault return `default`, or `empty_value` if `default` is None.
        """
        value = self.raw_value(name)
        if value is None and not self.has_field(name):
            if default is None:
                self.report_missing(name, expected)
            return empty_value if default is None else default
        if isinstance(value, float) and value.is_integer() and getattr(value_type, "__origin__", None) is int:
            value = int(value)
        try:
            converted: T = msgspec.convert(value, value_type)
        except msgspec.ValidationError:
            self.report_fault(name, f"{self.format_value(value)} is not {expected}", self.remedy)
            return empty_value if default is None else default
        return converted


def parse_json(text: str, pairs_hook: Callable[[list[tuple[str, Any]]], Any] | None = None) -> Any:
    """Return the value of a JSON text.

    `pairs_hook` creates an object from its pairs. By default duplicate keys are refused.

    Raises:
        ValueError: if the text is broken, nested too deeply, or has a number such as NaN.
    """

    def refuse(name: str) -> NoReturn:
        raise ValueError(f"{name} is not a JSON number")

    return json.loads(
        require_shallow(text), parse_constant=refuse, object_pairs_hook=pairs_hook or refuse_duplicate_keys
    )


class DuplicateKey(ValueError):
    """Raised for a JSON object with a duplicate key, because it is unclear which value applies."""


def refuse_duplicate_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object from its pairs, or raise `DuplicateKey`; an `object_pairs_hook`."""
    result = dict(pairs)
    if len(result) < len(pairs):
        duplicate_name, _ = Counter(duplicate_name for duplicate_name, _ in pairs).most_common(1)[0]
        raise DuplicateKey(f"duplicate key {format_value(duplicate_name)}")
    return result


def find_similar_names(
    name: str, known_names: Iterable[str], min_similarity: float = _MIN_SIMILARITY
) -> list[str]:
    """Return up to three known names that are similar to a name, by decreasing similarity."""
    return get_close_matches(name, list(known_names), n=3, cutoff=min_similarity)


def suggest_similar(name: str, known_names: Iterable[str]) -> str:
    """Return a question that suggests the known name most similar to a name; empty if none is similar."""
    return "".join(f"Did you mean {similar!r}? " for similar in find_similar_names(name, known_names)[:1])


def suggest_names(name: str, known_names: Sequence[str]) -> str:
    """Return a remedy that suggests known names: names similar to an unknown name, else the first names."""
    if similar_names := find_similar_names(name, known_names):
        return f"Did you mean {' or '.join(repr(similar_name) for similar_name in similar_names)}?"
    more_text = f" and {len(known_names) - _MAX_NAMED} more" if len(known_names) > _MAX_NAMED else ""
    return f"There are: {', '.join(known_names[:_MAX_NAMED])}{more_text}" if known_names else "There are none"


def parse_name(value: Any) -> str | None:
    """Return the name in a string or integer, or None for other values."""
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return value.strip() or None if isinstance(value, str) else None


def format_value(value: Any, formatter: Callable[[Any], str] = json.dumps) -> str:
    """Return a value as short JSON, or as Python text if JSON lacks the type, such as YAML's dates."""
    try:
        formatted = formatter(value)
    except TypeError:
        formatted = str(value)
    except ValueError:  # Python does not convert numbers with so many digits
        formatted = "a very long number"
    return formatted if len(formatted) <= 60 else formatted[:57] + "..."
