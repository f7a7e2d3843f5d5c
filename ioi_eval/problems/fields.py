"""A package's JSON and YAML, read with types. Every fault is noted and reading goes on: so all are found."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from difflib import get_close_matches
from enum import StrEnum
from pathlib import Path
from typing import Any, NoReturn, TypeVar

import yaml

from ioi_eval.model.errors import InputError
from ioi_eval.model.nesting import shallow

Word = TypeVar("Word", bound=StrEnum)


class Faults:
    """What is wrong with one package, in the order of reading."""

    def __init__(self, label: str) -> None:
        self._label = label
        self.errors: list[InputError] = []
        self.notes: list[str] = []

    def add(
        self, problem: str, file: str, *, field: str = "", remedy: str = "", row: int | None = None
    ) -> None:
        where = f"{self._label}/{file}" if file else self._label
        self.errors.append(InputError(problem, where=where, row=row, field=field, remedy=remedy))

    def note(self, sentence: str, file: str = "") -> None:
        """What is no fault, and what somebody who looks at the package should know."""
        where = f"{self._label}/{file}" if file else self._label
        self.notes.append(f"{where}: {sentence}")


class Fields:
    """The fields of one JSON object. A wrong one is noted and answered with its default."""

    def __init__(self, values: Mapping[str, Any], file: str, faults: Faults, prefix: str = "") -> None:
        self.values, self.file, self._faults, self._prefix = values, file, faults, prefix

    def has(self, name: str) -> bool:
        return name in self.values

    def fault(self, name: str, problem: str, remedy: str = "") -> None:
        self._faults.add(problem, self.file, field=self._prefix + name, remedy=remedy)

    def text(self, name: str, default: str | None = None) -> str:
        value = self._value(name, default, "a text")
        if isinstance(value, str):
            return value
        self._wrong(name, value, "a text")
        return default or ""

    def number(self, name: str, default: float | None = None, *, above: float | None = None) -> float:
        """A finite number: more than `above`, or at least 0 where that is not given."""
        expected = "a number of at least 0" if above is None else f"a number above {above:g}"
        value = self._value(name, default, expected)
        if _is_number(value) and (value >= 0 if above is None else value > above):
            return float(value)
        self._wrong(name, value, expected)
        return default or 0.0

    def whole(self, name: str, default: int | None = None, *, least: int = 0, most: int = 2**62) -> int:
        expected = f"a whole number from {least}" + (f" to {most}" if most < 2**62 else "")
        value = self._value(name, default, expected)
        if _is_number(value) and value == int(value) and least <= value <= most:
            return int(value)
        self._wrong(name, value, expected)
        return default or 0

    def word(self, name: str, words: type[Word], default: Word | None = None) -> Word:
        """One of a fixed set of words."""
        known = ", ".join(words)
        value = self._value(name, default, f"one of {known}")
        if value in tuple(words):
            return words(value)
        self._wrong(name, value, f"one of {known}")
        return default or next(iter(words))

    def flag(self, name: str, default: bool) -> bool:
        value = self._value(name, default, "true or false")
        if isinstance(value, bool):
            return value
        self._wrong(name, value, "true or false")
        return default

    def optional_number(self, name: str, *, above: float | None = None) -> float | None:
        """As `number`; None where the field is missing or null."""
        return None if self.values.get(name) is None else self.number(name, above=above)

    def inner(self, name: str) -> Fields:
        """The object in a field, empty where it is missing or null."""
        value = self.values.get(name)
        if value is not None and not isinstance(value, dict):
            self._wrong(name, value, "an object")
        return self.under(name, value if isinstance(value, dict) else {})

    def under(self, name: str, values: Mapping[str, Any]) -> Fields:
        """Values that stand, or would stand, in the object of this name."""
        return Fields(values, self.file, self._faults, prefix=f"{self._prefix}{name}.")

    def texts(self, name: str) -> tuple[str, ...]:
        value = self._value(name, None, "a list of texts")
        if isinstance(value, list) and all(isinstance(item, str) for item in value):
            return tuple(value)
        self._wrong(name, value, "a list of texts")
        return ()

    def _value(self, name: str, default: Any, expected: str) -> Any:
        if name in self.values:
            return self.values[name]
        if default is None:
            self.fault(name, "missing", f"Add it: {expected}")
            return _MISSING
        return default

    def _wrong(self, name: str, value: Any, expected: str) -> None:
        if value is not _MISSING:
            self.fault(name, f"{_shown(value)} is not {expected}", "Correct it in the file")


_MISSING = object()  # noted already
_HUGE = 1 << 1000  # whole numbers from here on may be no float


def read_object(folder: Path, file: str, faults: Faults) -> dict[str, Any] | None:
    """The JSON object in a file, or None once it is noted why there is none."""
    try:
        value = parse_json((folder / file).read_text(encoding="utf-8-sig"))
    except FileNotFoundError:
        faults.add("missing file", file, remedy="A CMS export has it; is this the package's folder?")
    except UnicodeDecodeError as error:
        faults.add(
            "not UTF-8", file, row=error.object.count(b"\n", 0, error.start) + 1, remedy="Save it as UTF-8"
        )
    except json.JSONDecodeError as error:
        faults.add(f"broken JSON: {error.msg}", file, row=error.lineno, remedy="Correct it in the file")
    except ValueError as error:
        faults.add(f"broken JSON: {error}", file, remedy="Correct it in the file")
    else:
        if isinstance(value, dict):
            return value
        faults.add(f"{_shown(value)} is not a JSON object", file, remedy="Expected fields in braces")
    return None


def parse_json(text: str) -> Any:
    return json.loads(shallow(text), parse_constant=_refuse_constant)


def nearest(name: str, known: tuple[str, ...]) -> str:
    """A remedy that names what is there and close to a name that is not."""
    close = get_close_matches(name, known, n=3, cutoff=0.5)
    if close:
        return f"Did you mean {' or '.join(repr(word) for word in close)}?"
    return f"There are: {_listed(known)}" if known else "There are none"


def _listed(known: tuple[str, ...], most: int = 8) -> str:
    rest = len(known) - most
    return ", ".join(known[:most]) + (f" and {rest} more" if rest > 0 else "")


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number")


def _is_number(value: Any) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return abs(value) < _HUGE if isinstance(value, int) else math.isfinite(value)


def _shown(value: Any) -> str:
    text = _written(value)
    return text if len(text) <= 60 else text[:57] + "..."


def _written(value: Any) -> str:
    """As JSON; YAML has dates, and keys that are no texts, which are shown as Python does."""
    try:
        return json.dumps(value)
    except TypeError:
        return str(value)
    except ValueError:  # a number with more digits than Python is ready to write
        return "a very long number"


def read_yaml(folder: Path, file: str, faults: Faults) -> dict[str, Any] | None:
    """The mapping in a file, empty for an empty file; None once it is noted why there is none."""
    try:
        value = _parsed((folder / file).read_text(encoding="utf-8-sig"))
    except FileNotFoundError:
        faults.add("missing file", file, remedy="Add it; is this the package's folder?")
    except UnicodeDecodeError as error:
        row = error.object.count(b"\n", 0, error.start) + 1
        faults.add("not UTF-8", file, row=row, remedy="Save it as UTF-8")
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else None
        faults.add(f"broken YAML: {error.problem}", file, row=line, remedy="Correct it in the file")
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        words = " ".join(str(error).split())
        faults.add(f"broken YAML: {words}", file, remedy="Correct it in the file")
    else:
        if isinstance(value, dict):
            return value
        if value is None:
            return {}
        faults.add("not a YAML mapping", file, remedy="Expected lines `key: value`")
    return None


def _without_blanks(value: dict[Any, Any]) -> dict[str, Any]:
    """A key without a value is as good as none."""
    return {
        str(key): _without_blanks(inner) if isinstance(inner, dict) else inner
        for key, inner in value.items()
        if inner is not None
    }


def _parsed(text: str) -> Any:
    """Without aliases: a few lines of them can stand for more values than there is memory."""
    for token in yaml.scan(text):
        if isinstance(token, yaml.AliasToken):
            raise yaml.MarkedYAMLError(problem="aliases are not taken", problem_mark=token.start_mark)
    value = yaml.safe_load(text)
    return _without_blanks(value) if isinstance(value, dict) else value
