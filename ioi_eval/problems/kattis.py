"""One package in the ICPC's format (Kattis), read from its folder: `legacy`, and younger ones without points.

Groups are graded as the format's default grader does it. What cannot be judged as the package says is a
fault, never a guess.
"""

from __future__ import annotations

import configparser
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import msgspec

from ioi_eval.model.errors import InputError
from ioi_eval.model.languages import find
from ioi_eval.model.values import (
    Checker,
    CheckerKind,
    Limits,
    Manager,
    NamedBlob,
    Problem,
    TaskOptions,
    TaskType,
    Test,
)
from ioi_eval.problems.fields import Faults, Fields, shown
from ioi_eval.problems.kattis_files import (
    NEW_VALIDATOR,
    Group,
    Program,
    groups_of,
    read_data,
    read_grader,
    read_validator,
)
from ioi_eval.problems.kattis_max_score import read_max_scores
from ioi_eval.problems.kattis_scoring import Scoring, is_custom, read_acceptance, read_scoring
from ioi_eval.problems.kattis_submissions import Rules, read_solutions
from ioi_eval.problems.package import Package, files_below, is_plain, read_with, visible

FORMAT = "Kattis"
HEADER = "problem.yaml"
_VERSIONS = frozenset({"legacy", "legacy-icpc"})
_NEW_VERSIONS = frozenset({"2023-07", "2023-07-draft", "2025-09", "2025-09-draft"})
_MIB = 1 << 20
_USUAL_MEMORY, _USUAL_OUTPUT, _USUAL_MULTIPLIER = 2048, 8, 5.0  # MiB, MiB, times: the format's own
_HUGE = 1 << 64  # nobody calls a problem by a number beyond
_DOMJUDGE = "domjudge-problem.ini"
_MOST_PASSES = 1000
_MOST_MEMORY = 1 << 20  # MiB; above it the number is not meant in MiB


class Validation(NamedTuple):
    custom: bool
    interactive: bool
    score: bool
    passes: int = 1


def looks_like_package(folder: Path) -> bool:
    return (folder / HEADER).exists()


def package_id(folder: Path, where: str) -> str:
    """The name of the package: of its folder, or of the archive that has its files at the top."""
    place = Path(where)
    if place.suffix.lower() in (".zip", ".kpp"):
        return place.stem
    return folder.name or folder.resolve().name


def read_package(folder: Path, where: str) -> Package:
    return read_with(_problem, folder, where, name=FORMAT, header=HEADER)


def _problem(folder: Path, where: str, header: Fields, faults: Faults) -> Problem:
    version = header.values.get("problem_format_version")
    new = isinstance(version, str) and version in _NEW_VERSIONS
    if not new:
        _check_legacy(header)
    scoring = "scoring" in _types(header)
    validation = _new_validation(folder, header) if new else _validation(header, scoring)
    data = read_data(
        folder, header.inner("grading"), needs_answers=not validation.custom, faults=faults, new=new
    )
    domjudge = (folder / _DOMJUDGE).is_file()
    scores = _scores(data, validation, faults, scoring=scoring, new=new, domjudge=domjudge)
    flags, alike = _flags(header, data)
    if not validation.custom:
        _check_flags(data, alike)
    program = read_validator(folder, faults, new=new) if validation.custom else None
    names = [test.name for group in groups_of(data) for test in group.tests]
    time = _time_limit(folder, header, faults)
    if new and time is None:
        header.inner("limits").fault("time_limit", "missing", "Add it: in this version it is not measured")
    return Problem(
        id=_id(folder, where, faults),
        name=_title(header) or package_id(folder, where),
        source=where,
        task_type=TaskType.INTERACTIVE if validation.interactive else TaskType.BATCH,
        options=TaskOptions(manager_args=flags if validation.interactive else ()),
        limits=_limits(header, time),
        included=tuple(_included(folder, faults)),
        time_from_solutions=None if time is not None else _multiplier(header, faults),
        checker=_checker(header, validation, flags, program, scores.full),
        manager=_manager(validation, program, scores.full),
        grader=_grader(folder, data, faults),
        tests=tuple(_tests(data, scores, alike)),
        subtasks=scores.subtasks,
        solutions=read_solutions(
            folder, scores.secret, Rules(folder, names, faults, new=new), faults, scoring=scoring
        ),
    )


def _scores(
    data: Group, validation: Validation, faults: Faults, *, scoring: bool, new: bool, domjudge: bool
) -> Scoring:
    if not scoring:
        return Scoring() if new else read_acceptance(data, faults)
    if new:
        return read_max_scores(data, by_validator=validation.custom)
    return read_scoring(data, faults, by_validator=validation.score, domjudge=domjudge)


def _tests(data: Group, scores: Scoring, alike: bool) -> Iterable[Test]:
    """`alike`: their validator's arguments are the problem's."""
    for group in groups_of(data):
        for test in group.tests:
            arguments = () if alike else test.arguments
            yield msgspec.structs.replace(test, full=scores.own_full.get(test.name), arguments=arguments)


# --- problem.yaml ------------------------------------------------------------------------------------


def _check_legacy(header: Fields) -> None:
    version = header.text("problem_format_version", "legacy")
    if version not in _VERSIONS:
        header.fault(
            "problem_format_version",
            f"{version} is not read",
            f"Known: {', '.join(sorted(_VERSIONS | _NEW_VERSIONS))}",
        )
    kind = header.text("type", "pass-fail")
    if kind not in ("pass-fail", "scoring"):
        header.fault("type", f"{kind!r} is neither pass-fail nor scoring", "Correct it in the file")
    if header.inner("grading").values.get("objective", "max") != "max":
        header.fault(
            "grading.objective", "the fewest points win", "Only problems where the most win are judged"
        )


def _included(folder: Path, faults: Faults) -> Iterator[NamedBlob]:
    """What lies in include/, a folder for each language or `default`, under our names of the languages."""
    for path in visible((folder / "include").glob("*/")):
        name = path.name
        try:
            known = name if name == "default" else find(name).name
        except InputError:
            faults.note("left out: no language that is known", f"include/{name}")
            continue
        for file in files_below(folder, f"include/{name}"):
            rest = file.name.removeprefix(f"include/{name}/")
            yield NamedBlob(name=f"{known}/{rest}", content=file.content)


def _id(folder: Path, where: str, faults: Faults) -> str:
    name = package_id(folder, where)
    if not is_plain(name):
        faults.add(
            f"{name!r} is not an id", "", remedy="Name the package with letters, digits, '_', '-', '.'"
        )
    return name


def _title(header: Fields) -> str:
    """A text, something that YAML takes for a number, or a text per language."""
    value = header.values.get("name")
    if isinstance(value, dict):
        value = value.get("en", next(iter(value.values()), None))
    known = isinstance(value, str | float) or (isinstance(value, int) and abs(value) < _HUGE)
    return str(value) if known else ""


def _types(header: Fields) -> list[object]:
    """One in older versions, several in younger ones."""
    said = header.values.get("type", "pass-fail")
    return said if isinstance(said, list) else [said]


def _new_validation(folder: Path, header: Fields) -> Validation:
    """In younger versions the type says what is interactive, and a folder that there is a validator."""
    kinds = _types(header)
    for kind in kinds:
        if kind not in ("pass-fail", "scoring", "interactive", "multi-pass"):
            words = f"{shown(kind)} problems of this version are not judged"
            header.fault("type", words, "Expected pass-fail, scoring, interactive or multi-pass")
    interactive, again = "interactive" in kinds, "multi-pass" in kinds
    if interactive and again:
        header.fault("type", "interactive problems with several passes are not judged", "Choose one")
    passes = header.inner("limits").whole("validation_passes", 2, least=2, most=_MOST_PASSES) if again else 1
    return Validation(interactive or again or (folder / NEW_VALIDATOR).is_dir(), interactive, False, passes)


def _validation(header: Fields, scoring: bool) -> Validation:
    first, *others = header.text("validation", "default").split() or ["default"]
    usable = {"score", "interactive"} if scoring else {"interactive"}
    if first not in ("default", "custom") or (others and first == "default") or not usable.issuperset(others):
        header.fault(
            "validation",
            f"{' '.join([first, *others])!r} is not understood",
            "Expected default, or custom with any of interactive and, for scoring problems, score",
        )
    return Validation(first == "custom", "interactive" in others, "score" in others)


# --- limits ------------------------------------------------------------------------------------------


def _limits(header: Fields, time: float | None) -> Limits:
    limits = header.inner("limits")
    memory = limits.whole("memory", _USUAL_MEMORY, least=1)
    if memory > _MOST_MEMORY:
        limits.fault("memory", f"{memory} MiB is more than any machine has", "It counts MiB, not bytes")
    output = round(limits.number("output", _USUAL_OUTPUT, above=0) * _MIB)
    wall = None if time is None else 2 * time + 1
    return Limits(cpu_time=time, wall_time=wall, memory=memory * _MIB, output=output)


def _time_limit(folder: Path, header: Fields, faults: Faults) -> float | None:
    """Where the package says it: in problem.yaml, in .timelimit, in domjudge-problem.ini."""
    limits = header.inner("limits")
    if limits.values.get("time_limit") is not None:
        return limits.number("time_limit", above=0) or None
    for file, read in ((".timelimit", str.strip), (_DOMJUDGE, _of_ini)):
        text = _text(folder / file)
        if text is not None and (said := read(text)):
            return _seconds(said, file, faults)
    return None


def _text(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        return None


def _of_ini(text: str) -> str:
    parser = configparser.ConfigParser(interpolation=None, strict=False)
    try:
        parser.read_string("[problem]\n" + text)
    except configparser.Error:
        return ""
    return parser.get("problem", "timelimit", fallback="").strip("'\" ")


def _seconds(said: str, file: str, faults: Faults) -> float | None:
    if re.fullmatch(r"[0-9]{1,9}(\.[0-9]{1,9})?", said) and float(said) > 0:
        return float(said)
    faults.add(f"{said[:40]!r} is not a number of seconds", file, remedy="Expected a number such as 2 or 1.5")
    return None


def _multiplier(header: Fields, faults: Faults) -> float:
    limits = header.inner("limits")
    multiplier = limits.number("time_multiplier", _USUAL_MULTIPLIER, above=0)
    faults.note(f"no time limit: it is {multiplier:g} times what the slowest accepted solution takes", HEADER)
    return multiplier


# --- comparing ---------------------------------------------------------------------------------------


def _flags(header: Fields, data: Group) -> tuple[tuple[str, ...], bool]:
    """The validator's arguments, and whether those of the tests are in them, because they are all alike."""
    different = {test.arguments for group in groups_of(data) for test in group.tests}
    own = tuple(header.text("validator_flags", "").split())
    alike = len(different) < 2
    return (*own, *(next(iter(different), ()) if alike else ())), alike


def _check_flags(data: Group, alike: bool) -> None:
    """Those that tests have for themselves; of the problem's own the default checker is made."""
    for group in groups_of(data):
        for flags in dict.fromkeys(test.arguments for test in group.tests):
            if not alike:
                _default_checker(group.fields, group.flags_name, flags)


def _checker(
    header: Fields, validation: Validation, flags: tuple[str, ...], program: Program | None, full: float
) -> Checker:
    if not validation.custom:
        return _default_checker(header, "validator_flags", flags)
    if validation.interactive or program is None:
        return Checker()  # the validator is the interactor, and says what the submission is worth
    return Checker(
        kind=CheckerKind.ICPC,
        sources=program.sources,
        language=program.language,
        arguments=flags,
        full=full,
        passes=validation.passes,
    )


def _manager(validation: Validation, program: Program | None, full: float) -> Manager | None:
    if not validation.interactive or program is None:
        return None
    return Manager(sources=program.sources, kind=CheckerKind.ICPC, language=program.language, full=full)


def _grader(folder: Path, data: Group, faults: Faults) -> Checker | None:
    """The package's own, where a group asks for it."""
    program = read_grader(folder, faults) if any(map(is_custom, groups_of(data))) else None
    if program is None:
        return None
    return Checker(kind=CheckerKind.ICPC, sources=program.sources, language=program.language)


def _default_checker(fields: Fields, field: str, flags: tuple[str, ...]) -> Checker:
    """Token by token; small and capital letters are alike unless the flags say otherwise."""
    words, seen, tolerance = list(flags), set[str](), dict[str, float]()
    while words:
        word = words.pop(0)
        if word in ("case_sensitive", "space_change_sensitive"):
            seen.add(word)
        elif word in ("float_tolerance", "float_absolute_tolerance", "float_relative_tolerance"):
            tolerance[word] = _tolerance(fields, field, word, words.pop(0) if words else "")
        else:
            fields.fault(field, f"{word!r} is no flag of the default validator", "Correct it")
    both = tolerance.get("float_tolerance")
    return Checker(
        kind=CheckerKind.TOKENS,
        case_sensitive="case_sensitive" in seen,
        space_sensitive="space_change_sensitive" in seen,
        absolute=tolerance.get("float_absolute_tolerance", both),
        relative=tolerance.get("float_relative_tolerance", both),
    )


def _tolerance(fields: Fields, field: str, flag: str, said: str) -> float:
    if re.fullmatch(r"(\d+\.?\d*|\.\d+)([eE][-+]?\d{1,3})?", said, re.ASCII):
        return float(said)
    fields.fault(field, f"{said!r} is not a tolerance for {flag}", "Expected a number such as 1e-6")
    return 0.0
