"""Read the solutions and limits in tests/NAME/test.yml, as in the test suite of DMOJ's judge."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from types import MappingProxyType
from typing import Any

from msgspec.structs import replace

from ioi_eval.model.fields import Faults, format_value
from ioi_eval.model.values import KeywordForTests, Solution
from ioi_eval.plugins.dmoj.keys import SUITE_FILES, SuiteKeys
from ioi_eval.plugins.dmoj.programs import find_language_name
from ioi_eval.problems.names import stays_in_folder
from ioi_eval.problems.package import language_of, list_visible_paths, make_solution, read_mapping_file

# Verdicts in rules of expected results, by DMOJ's code.
_VERDICTS: Mapping[str, str] = MappingProxyType(
    {"AC": "ac", "WA": "wa", "TLE": "tle", "MLE": "rte", "OLE": "rte", "RTE": "rte", "IR": "rte"}
)
_SKIPPED, _ANY, _COMPILE_ERROR, _JUDGE_ERROR = "SC", "*", "CE", "IE"


def read_solution_suite(folder: Path, faults: Faults) -> Iterator[SuiteKeys]:
    """Yield the keys of each test.yml, except files with the key `skip`."""
    for suite_folder in list_visible_paths((folder / "tests").glob("*/")):
        values: dict[str, Any] = {}
        file_names = [f"tests/{suite_folder.name}/{name}" for name in SUITE_FILES]
        for file_name in file_names:
            if (folder / file_name).is_file():
                values |= read_mapping_file(folder, file_name, faults) or {}
        if values and not values.get("skip"):
            keys = SuiteKeys(values, file_names[0], faults)
            keys.check_keys()
            yield keys


def read_solutions(
    folder: Path, suite_keys: Iterable[SuiteKeys], test_names: Sequence[str], faults: Faults
) -> Iterator[Solution]:
    """Yield the solutions in the suite.

    Args:
        folder: The package.
        suite_keys: Keys of each test.yml. They report faults in their values themselves.
        test_names: Names of the problem's tests, in order.
        faults: Receives notes about keys and solutions that are ignored.
    """
    for keys in suite_keys:
        sources = keys.source if isinstance(keys.source, list) else [keys.source or ""]
        for source in sources:
            path = folder / PurePosixPath(keys.file).parent / str(source)
            if not stays_in_folder(str(source)) or not path.is_file():
                keys.report_fault("source", f"there is no file {source!r}", "Name a file next to it")
                continue
            solution = _read_solution(keys, path, test_names, faults)
            if solution is not None:
                yield solution


def _read_solution(keys: SuiteKeys, path: Path, test_names: Sequence[str], faults: Faults) -> Solution | None:
    """Return a solution with its expected results, or None if a failure of the judge is expected."""
    language = find_language_name(str(keys.language)) if keys.language else language_of(path.name) or ""
    codes = _read_verdict_codes(keys.expect if keys.has_field("expect") else "AC", keys, "expect")
    for key in ("score", "score_cases"):
        if keys.has_field(key):
            faults.add_note(f"{key} is not compared", keys.file)
    if codes == {_COMPILE_ERROR}:
        expected_result, rules = "compile_error", list[KeywordForTests]()
    elif _JUDGE_ERROR in codes:
        faults.add_note("ignored: it expects a failure of the judge", keys.file)
        return None
    else:
        codes_by_test = dict(_read_case_codes(keys, test_names, faults))
        other_tests = tuple(name for name in test_names if name not in codes_by_test)
        # If the solution has an expected score, its tests with AC may have only a part of their points.
        has_score = keys.has_field("score") or keys.has_field("score_cases")
        expected_result = "accepted" if codes == {"AC"} and not codes_by_test and not has_score else ""
        rules = [] if expected_result else list(_make_verdict_rules("", codes, other_tests))
        for name, case_codes in codes_by_test.items():
            rules += _make_verdict_rules(f"case {name}", case_codes, (name,))
    solution = make_solution(
        path, name=f"{path.parent.name}/{path.name}", expected=expected_result, test_keywords=tuple(rules)
    )
    return replace(solution, language=language)


def _read_case_codes(
    keys: SuiteKeys, test_names: Sequence[str], faults: Faults
) -> Iterator[tuple[str, set[str]]]:
    """Yield the codes of single cases, which are listed by number, or in order from the first case."""
    cases = keys.cases or {}
    numbered_codes = enumerate(cases, 1) if isinstance(cases, list) else dict(cases).items()
    for number, codes in numbered_codes:
        if str(number) in test_names:
            yield str(number), _read_verdict_codes(codes, keys, "cases")
        else:
            faults.add_note(f"cases: there is no case {number}, so its codes are ignored", keys.file)


def _read_verdict_codes(value: Any, keys: SuiteKeys, key: str) -> set[str]:
    """Return DMOJ's codes in a value: a code or a list. An unknown code is a fault."""
    codes = [value] if isinstance(value, str) else value if isinstance(value, list) else []
    known_codes = {*_VERDICTS, _SKIPPED, _ANY, _COMPILE_ERROR, _JUDGE_ERROR}
    if codes and all(isinstance(code, str) and code in known_codes for code in codes):
        return set(codes)
    keys.report_fault(
        key, f"{format_value(value)} is not a status of DMOJ", f"Expected {', '.join(sorted(known_codes))}"
    )
    return {_ANY}


def _make_verdict_rules(
    scope: str, verdict_codes: set[str], tests: tuple[str, ...]
) -> Iterator[KeywordForTests]:
    """Yield the rule for the verdicts of tests.

    All tests must have one of these verdicts. If tests may be skipped, a single such test is enough.
    """
    verdicts = sorted({_VERDICTS[code] for code in verdict_codes if code in _VERDICTS})
    if not tests or _ANY in verdict_codes or not verdicts:
        return
    rule_name = "required" if _SKIPPED in verdict_codes else "permitted"
    if rule_name == "required" and (scope or "AC" in verdict_codes):
        return
    yield KeywordForTests(subtask=scope, keyword=" ".join((rule_name, *verdicts)), tests=tests)
