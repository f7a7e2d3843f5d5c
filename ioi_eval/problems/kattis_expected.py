"""submissions/submissions.yaml: what younger versions of the ICPC's format expect, by patterns of names.

A pattern's rules hold for all submissions that it matches, a pattern of tests' rules for these tests. A rule
for the name of a folder takes the place of what the folder's name says.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ioi_eval.model.errors import InputError
from ioi_eval.model.languages import find
from ioi_eval.model.values import Said
from ioi_eval.problems.fields import Faults, Fields, read_mapping, shown

FILE = "submissions/submissions.yaml"
_VERDICTS = ("AC", "WA", "TLE", "RTE")
_RULES = ("permitted", "required")
_HEEDED = frozenset({*_RULES, "score", "language", "entrypoint"})
_PASSED_OVER = frozenset({"authors", "model_solution", "use_for_time_limit"})
_MESSAGE = "message"  # what judges were told is not compared
# Folders that the format defines, and that no verdict's name is: their rules.
_DEFAULTS: Mapping[str, Any] = {
    "brute_force": {"permitted": ["AC", "RTE", "TLE"], "required": ["RTE", "TLE"]}
}


class Expected(NamedTuple):
    """A file's words on one submission."""

    said: tuple[Said, ...] = ()
    score: tuple[float, float] | None = None
    language: str = ""
    entrypoint: str = ""
    folder_counts: bool = True  # whether its folder's name says something, too


class Rules:
    """The rules of a package, each fault in them noted once."""

    def __init__(self, folder: Path, tests: Sequence[str], faults: Faults, *, new: bool) -> None:
        self._tests = tests
        own = (read_mapping(folder, FILE, faults) or {}) if new and (folder / FILE).is_file() else {}
        values = {**(_DEFAULTS if new else {}), **own}
        self._by_pattern = {
            pattern: self._read(Fields(values, FILE, faults).inner(pattern), faults) for pattern in values
        }

    def of(self, place: str) -> Expected:
        """`place` is below submissions/: accepted/best.py."""
        found = [one for pattern, one in self._by_pattern.items() if _matches(pattern, place)]
        return Expected(
            said=tuple(said for one in found for said in one.said),
            score=next((one.score for one in found if one.score), None),
            language=next((one.language for one in found if one.language), ""),
            entrypoint=next((one.entrypoint for one in found if one.entrypoint), ""),
            folder_counts=place.split("/")[0] not in self._by_pattern,
        )

    def _read(self, fields: Fields, faults: Faults) -> Expected:
        said = list(self._rules(fields, "", self._tests))
        for key, value in fields.values.items():
            if isinstance(value, dict) and key not in _HEEDED:
                said += self._of_tests(fields.inner(key), key, faults)
            elif key == _MESSAGE:
                faults.note(f"{key} is not compared", FILE)
            elif key not in _HEEDED | _PASSED_OVER:
                fields.fault(key, "not understood", f"Expected {', '.join(sorted(_HEEDED))}, or a group")
        return Expected(tuple(said), _score(fields), _language(fields), fields.text("entrypoint", ""))

    def _of_tests(self, fields: Fields, pattern: str, faults: Faults) -> Iterator[Said]:
        tests = [name for name in self._tests if _matches(pattern, name)]
        if not tests:
            faults.note(f"{pattern} matches no test", FILE)
            return
        for key in fields.values:
            if key in ("score", _MESSAGE):
                faults.note(f"{key} of {pattern} is not compared", FILE)
            elif key not in (*_RULES, *_PASSED_OVER):
                fields.fault(key, "not understood", f"Expected {' or '.join(_RULES)}")
        yield from self._rules(fields, pattern, tests)

    def _rules(self, fields: Fields, scope: str, tests: Sequence[str]) -> Iterator[Said]:
        for rule in _RULES:
            if fields.has(rule):
                verdicts = fields.texts(rule)
                if not verdicts or not set(_VERDICTS).issuperset(verdicts):
                    words = f"{shown(fields.values[rule])} is not a list of verdicts"
                    fields.fault(rule, words, f"Expected some of {', '.join(_VERDICTS)}")
                yield Said(subtask=scope, word=" ".join((rule, *verdicts)), tests=tuple(tests))


def _score(fields: Fields) -> tuple[float, float] | None:
    """A number, or a list of the least and the most."""
    said = fields.values.get("score")
    if said is None:
        return None
    ends = said if isinstance(said, list) else [said, said]
    numbers = [float(end) for end in ends if isinstance(end, int | float) and not isinstance(end, bool)]
    if len(ends) == len(numbers) == 2:
        return numbers[0], numbers[1]
    fields.fault("score", f"{shown(said)} is not a score", "Expected a number, or a list of two")
    return None


def _language(fields: Fields) -> str:
    name = fields.text("language", "")
    try:
        return find(name).name if name else ""
    except InputError as error:
        fields.fault("language", error.problem, error.remedy)
        return ""


def _matches(pattern: str, name: str) -> bool:
    """Whether a pattern matches a name or a folder around it; `*` does not cross folders."""
    return any(re.fullmatch(rf"{_expression(one)}(/.*)?", name, re.DOTALL) for one in _spelled_out(pattern))


def _expression(pattern: str) -> str:
    return "[^/]*".join(map(re.escape, pattern.rstrip("/").split("*")))


def _spelled_out(pattern: str) -> Iterator[str]:
    """`{a,b}.py` is a.py and b.py."""
    braces = re.search(r"\{([^{}]*)\}", pattern)
    if braces is None:
        yield pattern
        return
    for word in braces[1].split(","):
        yield from _spelled_out(pattern[: braces.start()] + word + pattern[braces.end() :])
