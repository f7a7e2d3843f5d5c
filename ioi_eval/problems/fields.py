"""A package's JSON and YAML, read with types. Every fault is noted and reading goes on: so all are found."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Literal, NoReturn, TypeVar

import msgspec
import yaml
from msgspec import Meta

from ioi_eval.model.errors import InputError
from ioi_eval.model.nesting import shallow

T = TypeVar("T")
Word = TypeVar("Word", bound=StrEnum)
_LARGEST = sys.float_info.max
_MOST_NAMED = 8


class Faults:
    """The faults of one package, in the order of reading."""

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
        """Note what is no fault, for somebody who looks at the package."""
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
        return self._read(name, str, "a text", default, "")

    def number(self, name: str, default: float | None = None, *, above: float | None = None) -> float:
        """A finite number: more than `above`, or at least 0 where that is not given."""
        bounds = Meta(ge=0, le=_LARGEST) if above is None else Meta(gt=above, le=_LARGEST)
        expected = "a number of at least 0" if above is None else f"a number above {above:g}"
        return self._read(name, Annotated[float, bounds], expected, default, 0.0)

    def whole(self, name: str, default: int | None = None, *, least: int = 0, most: int = 2**62) -> int:
        expected = f"a whole number from {least}" + (f" to {most}" if most < 2**62 else "")
        return self._read(name, Annotated[int, Meta(ge=least, le=most)], expected, default, 0)

    def word(self, name: str, words: type[Word], default: Word | None = None) -> Word:
        """One of a fixed set of words."""
        return words(self.choice(name, [word.value for word in words], default))

    def choice(self, name: str, words: Sequence[str], default: str | None = None) -> str:
        return self._read(name, Literal[tuple(words)], f"one of {', '.join(words)}", default, words[0])

    def flag(self, name: str, default: bool) -> bool:
        return self._read(name, bool, "true or false", default, default)

    def optional_number(self, name: str, *, above: float | None = None) -> float | None:
        """As `number`; None where the field is missing or null."""
        return None if self.values.get(name) is None else self.number(name, above=above)

    def texts(self, name: str) -> tuple[str, ...]:
        return self._read(name, tuple[str, ...], "a list of texts", None, ())

    def inner(self, name: str) -> Fields:
        """The object in a field, empty where it is missing or null."""
        values: dict[str, Any] = {}
        if self.values.get(name) is not None:
            values = self._read(name, dict, "an object", None, values)
        return self.under(name, values)

    def under(self, name: str, values: Mapping[str, Any]) -> Fields:
        """Values that stand, or would stand, in the object of this name."""
        return Fields(values, self.file, self._faults, prefix=f"{self._prefix}{name}.")

    def _read(self, name: str, kind: Any, expected: str, default: T | None, empty: T) -> T:
        """The field as a value of a type. `empty` where a fault was noted and there is no default."""
        if name not in self.values and default is not None:
            return default
        if name not in self.values:
            self.fault(name, "missing", f"Add it: {expected}")
            return empty
        value = self.values[name]
        if isinstance(value, float) and value.is_integer() and getattr(kind, "__origin__", None) is int:
            value = int(value)
        try:
            read: T = msgspec.convert(value, kind)
        except msgspec.ValidationError:
            self.fault(name, f"{shown(value)} is not {expected}", "Correct it in the file")
            return empty if default is None else default
        return read


def read_mapping(folder: Path, file: str, faults: Faults) -> dict[str, Any] | None:
    """The object in a file of JSON or YAML, or None once it is noted why there is none."""
    remedy = "Correct it in the file"
    is_json = file.endswith(".json")
    try:
        text = (folder / file).read_text(encoding="utf-8-sig")
        value = parse_json(text) if is_json else _parsed(text)
    except FileNotFoundError:
        faults.add("missing file", file, remedy="Add it; is this the package's folder?")
    except UnicodeDecodeError as error:
        row = error.object.count(b"\n", 0, error.start) + 1
        faults.add("not UTF-8", file, row=row, remedy="Save it as UTF-8")
    except json.JSONDecodeError as error:
        faults.add(f"broken JSON: {error.msg}", file, row=error.lineno, remedy=remedy)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else None
        faults.add(f"broken YAML: {error.problem}", file, row=line, remedy=remedy)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        words = " ".join(str(error).split())
        faults.add(f"broken {'JSON' if is_json else 'YAML'}: {words}", file, remedy=remedy)
    else:
        if isinstance(value, dict):
            return value
        kind, form = (
            ("a JSON object", "fields in braces") if is_json else ("a YAML mapping", "lines `key: value`")
        )
        faults.add(f"{shown(value)} is not {kind}", file, remedy=f"Expected {form}")
    return None


def parse_json(text: str) -> Any:
    return json.loads(shallow(text), parse_constant=_refuse_constant)


def nearest(name: str, known: tuple[str, ...]) -> str:
    """A remedy that names what is there and close to a name that is not."""
    close = get_close_matches(name, known, n=3, cutoff=0.5)
    if close:
        return f"Did you mean {' or '.join(repr(word) for word in close)}?"
    rest = f" and {len(known) - _MOST_NAMED} more" if len(known) > _MOST_NAMED else ""
    return f"There are: {', '.join(known[:_MOST_NAMED])}{rest}" if known else "There are none"


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number")


def shown(value: Any) -> str:
    """As JSON, cut short; YAML has dates, and keys that are no texts, which are shown as Python does."""
    try:
        text = json.dumps(value)
    except TypeError:
        text = str(value)
    except ValueError:  # a number with more digits than Python is ready to write
        text = "a very long number"
    return text if len(text) <= 60 else text[:57] + "..."


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
    return _without_blanks(value) if isinstance(value, dict) else {} if value is None else value
