"""Declare the keys of an object in a package's file: their types, bounds, units, defaults and meanings.

The reader of the object, the refusal of misspelt keys, and the tables of keys in docs/packages.md and
docs/formats.md come from the declaration.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from enum import Enum, StrEnum
from typing import Any, ClassVar, Generic, Self, TypeVar, overload

from ioi_eval.model.fields import Fields, find_similar_names, suggest_names
from ioi_eval.problems.names import is_portable_file_name

T = TypeVar("T")
K = TypeVar("K", bound="Keys")
W = TypeVar("W", bound=StrEnum)

MIB = 1 << 20
# Maximum plausible memory limit, in bytes. A larger limit, or a limit below 1 MiB, is in another unit.
_MAX_MEMORY_BYTES = 1 << 40
# Time limits from this number of seconds on are not plausible. They are in milliseconds.
_MAX_TIME_S = 500.0
_REFUSED = "refused"
# Minimum similarity (difflib's ratio) at which a name is a misspelling of another name: `infile` is a
# misspelling of `inputfile`, but `score_mode` is not one of `score_type`.
_MISSPELT_SIMILARITY = 0.8


def is_misspelt(name: str, known_names: Iterable[str]) -> bool:
    """Return True if the name looks like a misspelt form of a known name."""
    return bool(find_similar_names(name, known_names, _MISSPELT_SIMILARITY))


class UnknownKeyPolicy(Enum):
    """The treatment of undeclared keys. A misspelt form of a missing key is always refused."""

    REFUSED = "refused"
    NOTED = "ignored, with a note"
    IGNORED = "ignored"


class Key(Generic[T]):
    """The declaration of a key. In an object that has the key, the attribute is the key's value.

    Args:
        read: Reads the value of the key with this name. The third argument is the default.
        default: The value if the key is missing. None means that the key must be there.
        value_description: What the value is, with its unit and bounds, for the documentation.
        missing_description: What a missing key means, for the documentation; by default the default value.
        name: The key's name if it is not the attribute's.
        wrong_names: Other names that people write for this key. They are refused.
        refusal: The problem and the remedy in the message that refuses a value unless it is empty.
    """

    def __init__(
        self,
        read: Callable[[Fields, str, T | None], T],
        default: T | None,
        value_description: str,
        missing_description: str = "",
        name: str = "",
        wrong_names: Collection[str] = (),
        refusal: tuple[str, str] | None = None,
    ) -> None:
        self._read, self._default, self.name = read, default, name
        self.wrong_names, self.refusal = wrong_names, refusal
        self.meaning, self.missing_description = (
            value_description,
            missing_description or _format_default(default),
        )

    def __set_name__(self, owner: type[Keys], attribute: str) -> None:
        self._attribute, self.name = attribute, self.name or attribute

    @overload
    def __get__(self, keys: None, owner: type[Keys]) -> Self: ...
    @overload
    def __get__(self, keys: Keys, owner: type[Keys]) -> T: ...
    def __get__(self, keys: Keys | None, owner: type[Keys]) -> Self | T:
        if keys is None:
            return self
        # The attribute is stored, so that the key is read once and each fault is reported once.
        value = vars(keys)[self._attribute] = self.read(keys)
        return value

    def read(self, fields: Fields, default: T | None = None) -> T:
        """Return the key's value. `default` replaces the declared default."""
        return self._read(fields, self.name, self._default if default is None else default)


class Keys(Fields):
    """An object in a package's file, with declared keys."""

    unknown: ClassVar[UnknownKeyPolicy] = UnknownKeyPolicy.IGNORED
    # Names of keys of the format that are ignored because they cannot change a score.
    ignored: ClassVar[tuple[str, ...]] = ()

    @classmethod
    def from_fields(cls, fields: Fields) -> Self:
        """Return the object of these fields."""
        return cls(fields.values, fields.file, fields._policy, fields._prefix, fields._row)

    @classmethod
    def declared_keys(cls) -> dict[str, Key[Any]]:
        """Return the declared keys by name: those of the class, then those of the classes it extends."""
        values_by_attribute = dict[str, Any]()
        for base_class in cls.__mro__:
            for attribute, value in vars(base_class).items():
                values_by_attribute.setdefault(attribute, value)
        return {value.name: value for value in values_by_attribute.values() if isinstance(value, Key)}

    def explain_forbidden_key(self, name: str) -> tuple[str, str] | None:
        """Return a message and a remedy if the key must not be in this object, else None."""
        return None

    def check_keys(
        self, key_names: Collection[str] | None = None, unknown_key_policy: UnknownKeyPolicy | None = None
    ) -> None:
        """Report keys that are forbidden, refused or not declared.

        Args:
            key_names: The keys to check, if not all keys of the object.
            unknown_key_policy: What happens to unknown keys, if not what the class says.
        """
        key_names = tuple(map(str, self.values)) if key_names is None else key_names
        unknown_key_policy, declared = unknown_key_policy or self.unknown, self.declared_keys()
        missing_keys = [name for name in declared if name not in key_names]
        corrections = {name: key.name for key in declared.values() for name in key.wrong_names}
        for name in key_names:
            if refusal := self.explain_forbidden_key(name):
                self.report_fault(name, *refusal)
            elif name in declared:
                refusal = declared[name].refusal
                if refusal and self.raw_value(name):
                    self.report_fault(name, *refusal)
            elif name in self.ignored:
                continue
            elif name in corrections:
                self.report_fault(name, "unknown key", f"Did you mean {corrections[name]!r}?")
            elif unknown_key_policy is UnknownKeyPolicy.REFUSED:
                self.report_fault(name, "unknown key", suggest_names(name, tuple(declared)))
            elif is_misspelt(name, missing_keys):
                self.report_fault(name, "unknown key", suggest_names(name, missing_keys))
            elif unknown_key_policy is UnknownKeyPolicy.NOTED:
                self._policy.add_note(
                    f"{self.full_field_name(name)}: unknown key, so it is ignored", self.file
                )


def format_key_table(keys: type[Keys]) -> str:
    """Return the declared keys as a table in Markdown."""
    rows = (
        f"| `{key.name}` | {key.meaning} | {key.missing_description} |"
        for key in keys.declared_keys().values()
    )
    return "\n".join(("| key | value | if it is missing |", "|---|---|---|", *rows))


# --- keys by the kind of their values ----------------------------------------------------------------


def raw_key(value_description: str, missing_description: str, **key_options: Any) -> Key[Any]:
    """Declare a key of any type. Its value is None if it is missing."""
    return Key(
        lambda fields, name, _: fields.raw_value(name),
        None,
        value_description,
        missing_description,
        **key_options,
    )


def refused_key(fault: str, remedy: str) -> Key[Any]:
    """Declare a key of the format that is refused unless its value is empty."""
    meaning = f"refused: {fault}. {remedy}"
    return Key(lambda fields, name, _: fields.raw_value(name), None, meaning, "-", refusal=(fault, remedy))


def text_key(
    value_description: str, missing_description: str = "", *, default: str | None = None, **key_options: Any
) -> Key[str]:
    """Declare a key whose value is a string."""
    return Key(Fields.read_text, default, value_description, missing_description, **key_options)


def text_list_key(
    value_description: str, missing_description: str = "none", **key_options: Any
) -> Key[tuple[str, ...]]:
    """Declare a key whose value is a list of strings."""
    return Key(Fields.read_texts, (), value_description, missing_description, **key_options)


def split_text_key(
    split: Callable[[str], Sequence[str]],
    value_description: str,
    missing_description: str = "none",
    **key_options: Any,
) -> Key[tuple[str, ...]]:
    """Declare a key with a list of strings, which may also be a single string that `split` divides."""

    def read(fields: Fields, name: str, _: object) -> tuple[str, ...]:
        if isinstance(fields.raw_value(name), list):
            return fields.read_texts(name)
        value = fields.read_text(name, "")
        try:
            return tuple(split(value))
        except ValueError as error:
            fields.report_fault(name, f"{value!r} is not a list of arguments ({error})", "Close the quotes")
            return ()

    return Key(read, (), value_description, missing_description, **key_options)


def file_name_key(
    value_description: str, missing_description: str = "", *, default: str = "", **key_options: Any
) -> Key[str]:
    """Declare a key whose value is a file name without a path, or an empty string."""

    def read(fields: Fields, name: str, default: str | None) -> str:
        value = fields.read_text(name, default)
        if not value or is_portable_file_name(value):
            return value
        remedy = "Set a name such as input.txt, or leave it empty"
        fields.report_fault(name, f"{value!r} is not a plain file name", remedy)
        return ""

    return Key(read, default, value_description, missing_description, **key_options)


def number_key(
    value_description: str,
    missing_description: str = "",
    *,
    default: float | None = None,
    above: float | None = None,
    **key_options: Any,
) -> Key[float]:
    """Declare a key whose value is a number: above `above` or, without `above`, at least 0.

    Args:
        value_description: What the value is, for the documentation. The bounds are appended.
        missing_description: What a missing key means, for the documentation; by default the default value.
        default: The value if the key is missing. None means that the key must be there.
        above: The value must be greater than this number. None means that it must be at least 0.
        **key_options: Further arguments of `Key`.
    """
    bounds = "at least 0" if above is None else f"above {above:g}"
    return Key(
        lambda fields, name, default: fields.read_number(name, default, above=above),
        default,
        _append_value_bounds(value_description, bounds),
        missing_description,
        **key_options,
    )


def optional_number_key(
    value_description: str, missing_description: str, **key_options: Any
) -> Key[float | None]:
    """Declare a key for a number of at least 0. Its value is None if the key is missing or null."""
    return Key(
        lambda fields, name, _: fields.read_optional_number(name),
        None,
        _append_value_bounds(value_description, "at least 0"),
        missing_description,
        **key_options,
    )


def integer_key(
    value_description: str,
    missing_description: str = "",
    *,
    default: int | None = None,
    minimum: int = 0,
    maximum: int = 2**62,
    **key_options: Any,
) -> Key[int]:
    """Declare a key whose value is an integer from `minimum` to `maximum`.

    Args:
        value_description: What the value is, for the documentation. The bounds are appended.
        missing_description: What a missing key means, for the documentation; by default the default value.
        default: The value if the key is missing. None means that the key must be there.
        minimum: The smallest value.
        maximum: The largest value. The documentation does not mention the default maximum.
        **key_options: Further arguments of `Key`.
    """
    return Key(
        lambda fields, name, default: fields.read_integer(name, default, minimum=minimum, maximum=maximum),
        default,
        _append_value_bounds(
            value_description, f"{minimum} to {maximum}" if maximum < 2**62 else f"at least {minimum}"
        ),
        missing_description,
        **key_options,
    )


def optional_integer_key(
    value_description: str, missing_description: str, *, minimum: int, maximum: int, **key_options: Any
) -> Key[int | None]:
    """Declare a key for an integer from `minimum` to `maximum`. Its value is None if the key is missing.

    Args:
        value_description: What the value is, for the documentation. The bounds are appended.
        missing_description: What a missing key means, for the documentation.
        minimum: The smallest value.
        maximum: The largest value.
        **key_options: Further arguments of `Key`.
    """
    return Key(
        lambda fields, name, _: (
            fields.read_integer(name, minimum=minimum, maximum=maximum) if fields.has_field(name) else None
        ),
        None,
        _append_value_bounds(value_description, f"{minimum} to {maximum}"),
        missing_description,
        **key_options,
    )


def flag_key(
    value_description: str, missing_description: str = "", *, default: bool = False, **key_options: Any
) -> Key[bool]:
    """Declare a key whose value is true or false."""
    return Key(
        lambda fields, name, default: fields.read_boolean(name, bool(default)),
        default,
        _append_value_bounds(value_description, "true or false"),
        missing_description,
        **key_options,
    )


def enum_key(
    enum_class: type[W],
    value_description: str,
    missing_description: str = "",
    *,
    default: W | None = None,
    members: Sequence[W] = (),
    **key_options: Any,
) -> Key[W]:
    """Declare a key for a member of an enum.

    Args:
        enum_class: The enum. The key contains the value of a member.
        value_description: What the value is, for the documentation. The allowed values are appended.
        missing_description: What a missing key means, for the documentation; by default the default value.
        default: The value if the key is missing. None means that the key must be there.
        members: The allowed members; empty means all members.
        **key_options: Further arguments of `Key`.
    """
    choices = [member.value for member in members or enum_class]
    return Key(
        lambda fields, name, default: enum_class(fields.read_choice(name, choices, default)),
        default,
        _append_value_bounds(value_description, format_choices(choices)),
        missing_description,
        **key_options,
    )


def choice_key(
    choices: Sequence[str],
    value_description: str,
    missing_description: str = "",
    *,
    default: str | None = None,
    **key_options: Any,
) -> Key[str]:
    """Declare a key whose value is one of the strings in `choices`.

    Args:
        choices: The allowed strings.
        value_description: What the value is, for the documentation. The allowed values are appended.
        missing_description: What a missing key means, for the documentation; by default the default value.
        default: The value if the key is missing. None means that the key must be there.
        **key_options: Further arguments of `Key`.
    """
    return Key(
        lambda fields, name, default: fields.read_choice(name, choices, default),
        default,
        _append_value_bounds(value_description, format_choices(choices)),
        missing_description,
        **key_options,
    )


def object_key(
    keys_class: type[K],
    value_description: str,
    missing_description: str = "no such settings",
    **key_options: Any,
) -> Key[K]:
    """Declare a key whose value is an object with declared keys. A missing object is empty."""
    return Key(
        lambda fields, name, _: keys_class.from_fields(fields.read_object(name)),
        None,
        value_description,
        missing_description,
        **key_options,
    )


# --- limits ------------------------------------------------------------------------------------------


def seconds_key(
    value_description: str = "", missing_description: str = _REFUSED, **key_options: Any
) -> Key[float]:
    """Declare a key for a time limit in seconds. A number so large that it means milliseconds is a fault."""
    return Key(
        lambda fields, name, _: read_time_limit(fields, name),
        None,
        _append_value_bounds(value_description, f"seconds, above 0 and below {_MAX_TIME_S:g}"),
        missing_description,
        **key_options,
    )


def read_time_limit(fields: Fields, name: str) -> float:
    """Return a time limit in seconds. A number so large that it means milliseconds is a fault."""
    limit = fields.read_number(name, above=0)
    if limit >= _MAX_TIME_S:
        problem = f"{limit:g} seconds is more than any contest gives"
        fields.report_fault(name, problem, "The unit is seconds, not milliseconds")
    return limit


def memory_key(
    unit: str,
    unit_bytes: int,
    value_description: str = "",
    missing_description: str = "",
    default: int | None = None,
    **key_options: Any,
) -> Key[int]:
    """Declare a key for a memory limit. The package states it in `unit`; the value of the key is in bytes.

    Args:
        unit: The name of the unit, for the documentation and messages.
        unit_bytes: The number of bytes in a unit.
        value_description: What is limited, for the documentation. The unit is appended.
        missing_description: What a missing key means, for the documentation; by default the default value.
        default: The limit in `unit` if the key is missing. None means that the key must be there.
        **key_options: Further arguments of `Key`.
    """

    def read(fields: Fields, name: str, default: int | None) -> int:
        return read_memory_limit(fields, name, unit, unit_bytes, default)

    return Key(
        read, default, _append_value_bounds(value_description, unit), missing_description, **key_options
    )


def read_memory_limit(
    fields: Fields, name: str, unit: str, unit_bytes: int, default: int | None = None
) -> int:
    """Return a memory limit in bytes. A number that is implausible in this unit is a fault.

    Args:
        fields: The object with the limit, which also receives faults.
        name: The key of the limit.
        unit: The name of the unit, for messages.
        unit_bytes: The number of bytes in a unit.
        default: The limit in `unit` if the key is missing. None means that the key must be there.
    """
    limit = fields.read_integer(name, default, minimum=1)
    if unit_bytes > 1 and limit * unit_bytes > _MAX_MEMORY_BYTES:
        problem = f"{limit} {unit} is more than any machine has"
        fields.report_fault(name, problem, f"The unit is {unit}, not bytes")
    elif 0 < limit * unit_bytes < MIB:
        problem = f"{limit} {unit} is too little for any program"
        fields.report_fault(name, problem, f"The unit is {unit}, not MB")
    return limit * unit_bytes


# --- documentation -----------------------------------------------------------------------------------


def _append_value_bounds(description: str, bounds: str) -> str:
    return f"{description}: {bounds}" if description else bounds


def format_choices(choices: Sequence[str]) -> str:
    """Return the words as a list for the documentation: `a`, `b` or `c`."""
    *first, last = (f"`{choice}`" for choice in choices)
    return f"{', '.join(first)} or {last}" if first else last


def _format_default(default: object) -> str:
    """Return a default value for the documentation."""
    if default is None:
        return _REFUSED
    if isinstance(default, bool):
        return str(default).lower()
    if isinstance(default, str):
        return f"`{default}`" if default else "empty"
    return f"{default:g}" if isinstance(default, float) else str(default)
