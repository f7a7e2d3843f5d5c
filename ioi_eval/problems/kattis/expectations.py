"""Read submissions/submissions.yaml: rules about the expected results of submissions."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ioi_eval.model.errors import InputError
from ioi_eval.model.fields import Faults, Fields, format_value
from ioi_eval.model.languages import find_language
from ioi_eval.model.values import KeywordForTests
from ioi_eval.problems.kattis.keys import ExpectedKeys
from ioi_eval.problems.package import read_mapping_file

FILE = "submissions/submissions.yaml"
_VERDICTS = ("AC", "WA", "TLE", "RTE")
_RULE_KEYS = ("permitted", "required")
_MESSAGE = "message"  # key of the expected message of the validator, which is not compared
_USED_KEYS = ExpectedKeys.declared_keys().keys() - {_MESSAGE}
# Names of folders of submissions. `brute_force` is not the name of a verdict.
ACCEPTED, _BRUTE_FORCE = "accepted", "brute_force"
ALL_ACCEPTED = f"{ACCEPTED}, AC"  # keywords for a submission that has full points or passes all tests
# Rules of the format, by folder of submissions. A package may replace one rule of a folder.
_DEFAULTS: Mapping[str, Mapping[str, Any]] = {
    ACCEPTED: {"permitted": ["AC"]},
    "rejected": {"required": ["RTE", "TLE", "WA"]},
    "wrong_answer": {"permitted": ["AC", "WA"], "required": ["WA"]},
    "time_limit_exceeded": {"permitted": ["AC", "TLE"], "required": ["TLE"]},
    "run_time_error": {"permitted": ["AC", "RTE"], "required": ["RTE"]},
    _BRUTE_FORCE: {"permitted": ["AC", "RTE", "TLE"], "required": ["RTE", "TLE"]},
}


class ExpectedResults(NamedTuple):
    """The expected results of one submission in submissions.yaml."""

    test_keywords: tuple[KeywordForTests, ...] = ()  # rules for the verdicts of tests
    score: tuple[float, float] | None = None
    language: str = ""
    entrypoint: str = ""
    folder_counts: bool = True  # True if the name of the submission's folder is an expected result too


class PackageRules:
    """The rules of a package's submissions.yaml. Each fault in them is reported once."""

    def __init__(self, folder: Path, tests: Sequence[str], faults: Faults, *, is_newer_format: bool) -> None:
        self._tests = tests
        package_rules = (
            (read_mapping_file(folder, FILE, faults) or {})
            if is_newer_format and (folder / FILE).is_file()
            else {}
        )
        entries = Fields({**({_BRUTE_FORCE: {}} if is_newer_format else {}), **package_rules}, FILE, faults)
        # Names of the folders for which the package replaces the rules of the format.
        self._replaced_folders = set[str]()
        self._expected_by_pattern = dict[str, ExpectedResults]()
        for pattern in entries.values:
            entry = entries.read_object(pattern)
            if pattern == _BRUTE_FORCE or any(map(entry.has_field, _RULE_KEYS)):
                self._replaced_folders.add(pattern)
                entry = entries.make_nested_fields(pattern, {**_DEFAULTS.get(pattern, {}), **entry.values})
            self._expected_by_pattern[pattern] = self._read_expected_results(entry, faults)

    def find_expected_results(self, solution_path: str) -> ExpectedResults:
        """Return the expected results of a path below submissions/, such as accepted/best.py."""
        entries = [
            entry
            for pattern, entry in self._expected_by_pattern.items()
            if _matches_pattern(pattern, solution_path)
        ]
        verdict_rules = [rule for entry in entries for rule in entry.test_keywords]
        expected_score = next((entry.score for entry in entries if entry.score), None)
        folder = solution_path.split("/")[0]
        is_scored = folder == ACCEPTED and expected_score is not None and folder not in self._replaced_folders
        if is_scored:  # a submission with an expected score must pass all tests
            verdict_rules += self._read_verdict_rules(
                Fields(_DEFAULTS[folder], FILE, Faults("")), "", self._tests
            )
        return ExpectedResults(
            test_keywords=tuple(verdict_rules),
            score=expected_score,
            language=next((entry.language for entry in entries if entry.language), ""),
            entrypoint=next((entry.entrypoint for entry in entries if entry.entrypoint), ""),
            folder_counts=not is_scored and folder not in self._replaced_folders,
        )

    def _read_expected_results(self, fields: Fields, faults: Faults) -> ExpectedResults:
        """Return the expected results in one entry of submissions.yaml."""
        verdict_rules = list(self._read_verdict_rules(fields, "", self._tests))
        for key, value in fields.values.items():
            if isinstance(value, dict) and key not in _USED_KEYS:
                verdict_rules += self._read_test_rules(fields.read_object(key), key, faults)
            elif key == _MESSAGE:
                faults.add_note(f"{key} is not compared", FILE)
            elif key not in {*_USED_KEYS, *ExpectedKeys.ignored}:
                fields.report_fault(
                    key, "unknown key", f"Expected {', '.join(sorted(_USED_KEYS))}, or a group"
                )
        return ExpectedResults(
            tuple(verdict_rules),
            _read_score_range(fields),
            _read_language(fields),
            fields.read_text("entrypoint", ""),
        )

    def _read_test_rules(self, fields: Fields, pattern: str, faults: Faults) -> Iterator[KeywordForTests]:
        """Yield the rules about the tests whose names match the pattern."""
        tests = [name for name in self._tests if _matches_pattern(pattern, name)]
        if not tests:
            faults.add_note(f"{pattern} matches no test", FILE)
            return
        for key in fields.values:
            if key in ("score", _MESSAGE):
                faults.add_note(f"{key} of {pattern} is not compared", FILE)
            elif key not in (*_RULE_KEYS, *ExpectedKeys.ignored):
                fields.report_fault(key, "unknown key", f"Expected {' or '.join(_RULE_KEYS)}")
        yield from self._read_verdict_rules(fields, pattern, tests)

    def _read_verdict_rules(
        self, fields: Fields, scope: str, tests: Sequence[str]
    ) -> Iterator[KeywordForTests]:
        """Yield the rules `permitted` and `required` in the fields, which apply to these tests."""
        for rule in _RULE_KEYS:
            if fields.has_field(rule):
                verdicts = fields.read_texts(rule)
                if not verdicts or not set(_VERDICTS).issuperset(verdicts):
                    problem = f"{format_value(fields.values[rule])} is not a list of verdicts"
                    fields.report_fault(rule, problem, f"Expected some of {', '.join(_VERDICTS)}")
                yield KeywordForTests(subtask=scope, keyword=" ".join((rule, *verdicts)), tests=tuple(tests))


def _read_score_range(fields: Fields) -> tuple[float, float] | None:
    """Return the minimum and the maximum score. The setting is a number or a list of both."""
    score = fields.values.get("score")
    if score is None:
        return None
    score_bounds = score if isinstance(score, list) else [score, score]
    score_numbers = [
        float(bound)
        for bound in score_bounds
        if isinstance(bound, int | float) and not isinstance(bound, bool)
    ]
    if len(score_bounds) == len(score_numbers) == 2:
        return score_numbers[0], score_numbers[1]
    fields.report_fault(
        "score", f"{format_value(score)} is not a score", "Expected a number, or a list of two"
    )
    return None


def _read_language(fields: Fields) -> str:
    """Return the language that the fields name, or an empty string. An unknown language is a fault."""
    name = fields.read_text("language", "")
    try:
        return find_language(name).name if name else ""
    except InputError as error:
        fields.report_fault("language", error.problem, error.remedy)
        return ""


def _matches_pattern(pattern: str, name: str) -> bool:
    """Return True if the pattern matches a path or a folder that contains it. `*` does not match a slash."""
    escaped_patterns = (
        map(re.escape, expanded_pattern.rstrip("/").split("*"))
        for expanded_pattern in _expand_braces(pattern)
    )
    return any(
        re.fullmatch(rf"{'[^/]*'.join(escaped_parts)}(/.*)?", name, re.DOTALL)
        for escaped_parts in escaped_patterns
    )


def _expand_braces(pattern: str) -> Iterator[str]:
    """Yield the pattern with each alternative of its braces: a.py and b.py for `{a,b}.py`."""
    braces_match = re.search(r"\{([^{}]*)\}", pattern)
    if braces_match is None:
        yield pattern
        return
    for alternative in braces_match[1].split(","):
        yield from _expand_braces(
            pattern[: braces_match.start()] + alternative + pattern[braces_match.end() :]
        )
