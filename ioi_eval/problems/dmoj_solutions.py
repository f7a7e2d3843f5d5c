"""The tests of DMOJ's own test suite: `tests/NAME/test.yml` names sources, limits, and what is expected."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from types import MappingProxyType
from typing import Any

from ioi_eval.model.errors import InputError
from ioi_eval.model.languages import find
from ioi_eval.model.values import Said, Solution
from ioi_eval.problems.fields import Faults, Fields, read_mapping, shown
from ioi_eval.problems.package import language_of, solution, visible

_FILES = ("test.yml", "test.posix.yml", "test.linux.yml")  # what comes later wins
_USUAL_TIME, _USUAL_MEMORY = 2.0, 65536  # of the judge's own command line: seconds, KiB
# DMOJ's codes, in the words of rules. What was skipped there is judged here.
_CODES: Mapping[str, str] = MappingProxyType(
    {"AC": "ac", "WA": "wa", "TLE": "tle", "MLE": "rte", "OLE": "rte", "RTE": "rte", "IR": "rte"}
)
_SKIPPED, _ANY, _NOT_COMPILED, _BROKEN = "SC", "*", "CE", "IE"


def read_limits(suite: Iterable[Fields], faults: Faults) -> tuple[float, int]:
    """Seconds and KiB: the largest that the package's tests have."""
    found = [(one.number("time", above=0), one.whole("memory", least=1)) for one in suite]
    if not found:
        words = f"no limits are in it: {_USUAL_TIME:g} s and {_USUAL_MEMORY >> 10} MiB, as of the judge's"
        faults.note(f"{words} command line; time_limit=... and memory_limit=... set others")
        return _USUAL_TIME, _USUAL_MEMORY
    if len(set(found)) > 1:
        faults.note("its tests have several limits, of which the largest hold", "tests")
    return max(time for time, _ in found) or _USUAL_TIME, max(memory for _, memory in found) or 1


def read_solutions(
    folder: Path, suite: Iterable[Fields], names: Sequence[str], faults: Faults
) -> Iterator[Solution]:
    """`names`: those of the problem's tests, in order."""
    for one in suite:
        listed = one.values.get("source")
        place = PurePosixPath(one.file).parent
        for source in [listed] if isinstance(listed, str) else listed if isinstance(listed, list) else [""]:
            path = folder / place / str(source)
            if not path.is_file() or ".." in PurePosixPath(str(source)).parts:
                remedy = "Name a file beside it"
                faults.add(f"there is no file {source!r}", one.file, field="source", remedy=remedy)
                continue
            read = _solution(one, path, names, faults)
            if read is not None:
                yield read


def read_suite(folder: Path, faults: Faults) -> Iterator[Fields]:
    for place in visible((folder / "tests").glob("*/")):
        values: dict[str, Any] = {}
        files = [f"tests/{place.name}/{name}" for name in _FILES]
        for file in files:
            if (folder / file).is_file():
                values |= read_mapping(folder, file, faults) or {}
        if values and not values.get("skip"):
            yield Fields(values, files[0], faults)


def _solution(one: Fields, path: Path, names: Sequence[str], faults: Faults) -> Solution | None:
    said = one.values.get("language")
    try:
        language = find(str(said)).name if said else language_of(path.name) or ""
    except InputError:
        language = str(said)
    whole = _codes(one.values.get("expect", "AC"), one, "expect")
    for key in ("score", "score_cases"):
        if key in one.values:
            faults.note(f"{key} is not compared", one.file)
    if whole == {_NOT_COMPILED}:
        expected, rules = "compile_error", list[Said]()
    elif _BROKEN in whole:
        faults.note("left out: it asks for a failure of the judge", one.file)
        return None
    else:
        cases = dict(_cases(one, names))
        rest = tuple(name for name in names if name not in cases)
        expected = "accepted" if whole == {"AC"} and not cases else ""
        rules = [] if expected else list(_rules("", whole, rest))
        for name, codes in cases.items():
            rules += _rules(f"case {name}", codes, (name,))
    read = solution(path, name=f"{path.parent.name}/{path.name}", expected=expected, said=tuple(rules))
    return Solution(name=read.name, language=language, code=read.code, expected=read.expected, said=read.said)


def _cases(one: Fields, names: Sequence[str]) -> Iterator[tuple[str, set[str]]]:
    """Settings of single cases: by their numbers, or a list from the first one on."""
    listed = one.values.get("cases") or {}
    pairs = enumerate(listed, 1) if isinstance(listed, list) else dict(listed).items()
    for number, codes in pairs:
        if str(number) not in names:
            one.fault("cases", f"there is no case {number}", f"They are 1 to {len(names)}")
            continue
        yield str(number), _codes(codes, one, "cases")


def _codes(said: Any, one: Fields, key: str) -> set[str]:
    listed = [said] if isinstance(said, str) else said if isinstance(said, list) else []
    known = {*_CODES, _SKIPPED, _ANY, _NOT_COMPILED, _BROKEN}
    if not listed or not all(isinstance(word, str) and word in known for word in listed):
        one.fault(key, f"{shown(said)} is no status of DMOJ's", f"Expected {', '.join(sorted(known))}")
        return {_ANY}
    return set(listed)


def _rules(scope: str, codes: set[str], tests: tuple[str, ...]) -> Iterator[Said]:
    """What may happen in tests; where some may have been skipped, what must happen in one of them."""
    words = sorted({_CODES[code] for code in codes if code in _CODES})
    if not tests or _ANY in codes or not words:
        return
    rule = "required" if _SKIPPED in codes else "permitted"
    if rule == "required" and (scope or "AC" in codes):
        return
    yield Said(subtask=scope, word=" ".join((rule, *words)), tests=tests)
