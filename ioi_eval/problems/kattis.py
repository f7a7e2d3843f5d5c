"""Packages in the ICPC's format (Kattis): `legacy`, and younger ones.

Groups are graded as the format's default grader does it. What cannot be judged as the package says is a
fault, never a guess.
"""

from __future__ import annotations

import configparser
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from msgspec.structs import replace

from ioi_eval.model.errors import InputError
from ioi_eval.model.fields import Faults, Fields, near, nearest, shown
from ioi_eval.model.languages import LANGUAGES, find, of_suffix
from ioi_eval.model.values import (
    RAW_POINTS,
    Acceptance,
    Blob,
    Checker,
    CheckerKind,
    Grading,
    Limits,
    NamedBlob,
    Points,
    Problem,
    ScoreType,
    Solution,
    Subtask,
    TaskOptions,
    TaskType,
    Test,
    Value,
    WordOfTests,
)
from ioi_eval.problems.package import (
    MIB,
    DeclaredFormat,
    Executable,
    files_below,
    language_of,
    named,
    named_by_place,
    note_foreign,
    read_mapping,
    source_text,
    test_of,
    time_limit,
    visible,
)
from ioi_eval.problems.statements import statement_of
from ioi_eval.rules.grading import (
    adds_up,
    all_or_nothing,
    each_behind,
    is_mean,
    is_strict,
    least_behind,
    may_exceed,
    most,
    tests_of,
)
from ioi_eval.store.folder import accepted

_VERSIONS = frozenset({"legacy", "legacy-icpc"})
_NEW_VERSIONS = frozenset({"2023-07", "2023-07-draft", "2025-09", "2025-09-draft"})
_USUAL_MEMORY, _USUAL_OUTPUT, _USUAL_MULTIPLIER = 2048, 8, 5.0  # MiB, MiB, times: the format's own
_NEW_MULTIPLIER = 2.0  # in younger versions
_RESOLUTION = "time_resolution"
_TIMER = 0.001  # seconds: a smaller difference between times is rounding
_HUGE = 1 << 64  # nobody calls a problem by a number beyond
_DOMJUDGE = "domjudge-problem.ini"
_MOST_PASSES = 1000
_DECIDING = (
    *("problem_format_version", "type", "validation", "validator_flags", "limits", "grading", "constants"),
)
_OF_LIMITS = (  # in all versions, in drafts, and for tools of authors
    *("time_limit", "time_multiplier", "time_multipliers", "time_safety_margin", "time_resolution"),
    *("memory", "output", "code", "compilation_time", "compilation_memory"),
    *("validation_time", "validation_memory", "validation_output", "validation_passes"),
    *("generator_time", "generator_memory", "visualizer_time", "visualizer_memory"),
)
_UNKNOWN = "the format knows no such key"
_MISSPELT = 0.75  # alike: a `validator`, but no `translations`
_MISNAMED = 0.9  # alike: a testdata.yml, but no metadata.yaml and no test1.yaml

# Calls that start another process, and comments, in which they are no calls.
_CALLS = r"v?fork|posix_spawnp?|popen|system|os\.(?:fork|system|popen|spawn\w+)|subprocess\.\w+"
_FORKS = frozenset({"fork", "os.fork"})  # which are counted; others start programs, too
_STARTS = re.compile(rf"(?<![\w.>:])(?:(?:std)?::)?({_CALLS})\s*\(")
_COMMENTS = re.compile(r"//[^\n]*|/\*.*?\*/|^\s*#(?!\s*(?:include|define)).*?$", re.DOTALL | re.MULTILINE)


class Validators(NamedTuple):
    custom: bool
    interactive: bool
    score: bool
    passes: int = 1


class Kattis(DeclaredFormat):
    name = "Kattis"
    header = "problem.yaml"
    rank = 20
    folders = ("data", "graders", "include", "output_validator", "output_validators", "submissions")

    def problem(self, folder: Path, where: str, header: Fields, faults: Faults) -> Problem:
        version = header.values.get("problem_format_version")
        new = isinstance(version, str) and version in _NEW_VERSIONS
        if not new:
            _check_legacy(header)
        _check_keys(header, faults)
        scoring = "scoring" in _types(header)
        validation = _validation(folder, header, scoring=scoring, new=new)
        constants = Constants(header.inner("constants") if new else Fields({}, self.header, faults))
        data = read_data(
            folder,
            header.inner("grading"),
            needs_answers=not validation.custom,
            faults=faults,
            new=new,
            constants=constants,
        )
        domjudge = (folder / _DOMJUDGE).is_file()
        scores = _scores(data, validation, faults, scoring=scoring, new=new, domjudge=domjudge)
        flags, alike = _flags(header, data)
        for group in groups_of(data) if not (validation.custom or alike) else ():
            for own in dict.fromkeys(test.arguments for test in group.tests):
                _default_checker(group.fields, group.flags_name, own)  # notes what is wrong with them
        program = None
        if validation.custom and new and not _is_draft(folder):  # the folder is the program
            program = _program(folder, folder / NEW_VALIDATOR, faults)
        elif not validation.custom and (idle := _idle_validators(folder)):
            words = "its validators are passed over, as `validation` does not say custom"
            faults.note(words, idle)
        elif validation.custom:
            remedy = "A custom validation needs exactly one validator"
            program = _only_program(folder, _VALIDATORS, remedy, faults)
        tests = tuple(
            replace(test, full=scores.own_full.get(test.name), arguments=() if alike else test.arguments)
            for test in data.all_tests
        )
        rules = PackageRules(folder, [test.name for test in tests], faults, new=new)
        time, limits = _time_limit(folder, header, faults), header.inner("limits")
        validators = self._validators_limits(limits) if validation.custom else None
        problem = Problem(
            id=self.checked_id(folder, where, header, faults),
            name=_title(header) or named_by_place(folder, where),
            source=where,
            task_type=TaskType.INTERACTIVE if validation.interactive else TaskType.BATCH,
            options=TaskOptions(manager_args=flags if validation.interactive else ()),
            limits=Limits(
                cpu_time=time,
                wall_time=None if time is None else 2 * time + 1,
                memory=self.memory(limits, "memory", _USUAL_MEMORY),
                output=round(limits.number("output", _USUAL_OUTPUT, above=0) * MIB),
                cuts_output=domjudge,
            ),
            time_from_solutions=None if time is not None else _multiplier(header, faults, new=new),
            time_resolution=limits.number(_RESOLUTION, 1.0, above=0) if time is None and new else None,
            checker=_checker(header, validation, flags, program, scores.full, validators),
            manager=program.as_manager(CheckerKind.ICPC, full=scores.full, limits=validators)
            if validation.interactive and program is not None
            else None,
            grader=_grader(folder, data, faults),
            tests=tests,
            subtasks=scores.subtasks,
            solutions=tuple(
                _solutions(
                    folder,
                    scores.secret,
                    rules,
                    faults,
                    scoring=scoring,
                    in_points=new and scoring and validation.custom,
                )
            ),
        )
        problem = _with_included(problem, list(_included(folder, faults)), faults)
        return constants.filled(problem, statement_of(folder))

    def _validators_limits(self, limits: Fields) -> Limits | None:
        """Return what a package lets its validator take; None where it says nothing of it."""
        time, memory = "validation_time", "validation_memory"
        if not limits.has(time) and not limits.has(memory):
            return None
        return Limits(
            cpu_time=time_limit(limits, time) if limits.has(time) else None,
            memory=self.memory(limits, memory) if limits.has(memory) else None,
        )


def _scores(
    data: DataGroup, validation: Validators, faults: Faults, *, scoring: bool, new: bool, domjudge: bool
) -> Scoring:
    if new:
        _check_settings(data, faults, scoring=scoring)
    if not scoring:
        return Scoring() if new else read_acceptance(data, faults)
    if new:
        return read_max_scores(data, by_validator=validation.custom)
    return read_scoring(data, faults, by_validator=validation.score, domjudge=domjudge)


# --- problem.yaml ------------------------------------------------------------------------------------


def _check_keys(header: Fields, faults: Faults) -> None:
    """Refuse a setting that would count nowhere, by its name or its place."""
    for key in map(str, header.values):
        if key in _OF_LIMITS:
            header.fault(key, "it counts nowhere here", "Move it into limits")
        elif key not in _DECIDING and (close := near(key, _DECIDING, _MISSPELT)):
            header.fault(key, _UNKNOWN, nearest(key, close))
    limits = header.inner("limits")
    for key in map(str, limits.values):
        if key not in _OF_LIMITS and near(key, _OF_LIMITS):
            limits.fault(key, _UNKNOWN, nearest(key, _OF_LIMITS))
        elif key not in _OF_LIMITS:
            faults.note(f"{limits.place(key)}: {_UNKNOWN}, and it is passed over", Kattis.header)


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


_DRIVERS = frozenset({"main.py", "__main__.py", "main.js"})  # of languages that start one source


class _Included(NamedTuple):
    """A file in include/."""

    place: str  # in the package
    language: str  # or `default`
    file: NamedBlob  # under our name of the language
    forks: bool
    fault: tuple[str, str]  # why submissions cannot have it, and the remedy; empty texts if they can


def _included(folder: Path, faults: Faults) -> Iterator[_Included]:
    """Yield the files in include/, which has a folder for each language and `default`."""
    for path in visible((folder / "include").glob("*/")):
        name = path.name
        language = _language_of_folder(name)
        if not language:
            faults.note("left out: no language that is known", f"include/{name}")
            continue
        for file in files_below(folder, f"include/{name}"):
            rest, fault, started = file.name.removeprefix(f"include/{name}/"), ("", ""), _starts(file)
            if others := sorted(started - _FORKS):
                words = f"submissions are built with it, and it calls {others[0]}"
                fault = words, "It may fork; submissions start no other programs"
            if rest in _DRIVERS:
                words = "it would be started in the place of submissions, which is not done here"
                fault = words, "Only runners that submissions are compiled with are used"
            own = NamedBlob(name=f"{language}/{rest}", content=file.content)
            yield _Included(file.name, language, own, bool(started & _FORKS), fault)


def _with_included(problem: Problem, files: Sequence[_Included], faults: Faults) -> Problem:
    """Return the problem with the files in include/, and without languages in which one cannot be used.

    An accepted solution must remain: else nothing shows that the rest of the package can be solved.
    """
    solved = {solution.language for solution in accepted(problem)}
    unusable, reasons = [file for file in files if any(file.fault)], dict[str, str]()
    for file in files:
        words = "submissions are built with it, and it forks"
        if any(file.fault) or not file.forks:
            continue
        if file.language in (*solved, "default") and solved:
            faults.note(f"{words}: as many processes in all as accepted solutions need", file.place)
            continue
        of = "" if file.language == "default" else f" in {file.language}"
        remedy = f"Add an accepted solution{of}: it shows how many processes are needed"
        unusable.append(file._replace(fault=(f"{words}; no accepted solution{of} is there", remedy)))
    affected = {name for file in unusable for name in _run_with(file.language)}
    for file in unusable:
        if "default" in affected or not solved - affected:
            faults.add(file.fault[0], file.place, remedy=file.fault[1])
        else:
            faults.note(f"{file.language} is left out: {file.fault[0]}. {file.fault[1]}", file.place)
            for name in _run_with(file.language):
                reasons.setdefault(name, f"{file.place}: {file.fault[0]}")
    for solution in problem.solutions:
        if solution.language in reasons:
            faults.note(f"left out: {solution.language} is not judged", f"submissions: {solution.name}")
    kept = [file for file in files if file.language not in reasons]
    return replace(
        problem,
        included=tuple(file.file for file in kept),
        forks_by=tuple(file.file.name for file in kept if file.forks),
        left_out=reasons,
        solutions=tuple(one for one in problem.solutions if one.language not in reasons),
    )


def _run_with(language: str) -> tuple[str, ...]:
    """Return the languages whose submissions a folder of include/ is for: Python's is also for PyPy."""
    if language == "default":
        return (language,)
    python = find(language).syntax == "python"
    return tuple(one.name for one in LANGUAGES if one.syntax == "python") if python else (language,)


def _language_of_folder(name: str) -> str:
    """Return the language that a folder of include/ is for, or `default`; empty where none is known."""
    try:
        return name if name == "default" else find(name).name
    except InputError:
        return ""


def _starts(file: NamedBlob) -> set[str]:
    """Return the calls in a source that start processes."""
    return set(_STARTS.findall(_COMMENTS.sub("", file.content.read().decode(errors="replace"))))


def _title(header: Fields) -> str:
    """Return the title: a text, something that YAML takes for a number, or a text per language."""
    value = header.values.get("name")
    if isinstance(value, dict):
        value = value.get("en", next(iter(value.values()), None))
    plain = isinstance(value, str | float) or (isinstance(value, int) and abs(value) < _HUGE)
    return str(value) if plain else ""


def _types(header: Fields) -> list[object]:
    """Return the header's types: one in older versions, maybe several in younger ones."""
    types = header.values.get("type", "pass-fail")
    return types if isinstance(types, list) else [types]


def _validation(folder: Path, header: Fields, *, scoring: bool, new: bool) -> Validators:
    """Return a package's validation: of a younger one, types and a folder say what others have in a field."""
    words: list[Any] = _types(header)
    if new:
        for kind in words:
            if kind not in ("pass-fail", "scoring", "interactive", "multi-pass"):
                problem = f"{shown(kind)} problems of this version are not judged"
                header.fault("type", problem, "Expected pass-fail, scoring, interactive or multi-pass")
        several = "interactive" in words or "multi-pass" in words
        custom = several or (folder / NEW_VALIDATOR).is_dir() or _is_draft(folder)
        if header.values.get("validation", "default") not in ("default", "custom" if custom else "default"):
            header.fault("validation", "not of this version", f"Say it by `type` and {NEW_VALIDATOR}/")
    else:
        first, *words = header.text("validation", "default").split() or ["default"]
        custom = first == "custom"
        usable = {"interactive", "multi-pass"} | ({"score"} if scoring else set())
        if not (custom or (first == "default" and not words)) or not usable.issuperset(words):
            header.fault(
                "validation",
                f"{' '.join([first, *words])!r} is not understood",
                "Expected default, or custom with interactive or multi-pass and, for scoring problems, score",
            )
    passes = 1
    if "multi-pass" in words:
        passes = header.inner("limits").whole("validation_passes", 2, least=2, most=_MOST_PASSES)
    return Validators(custom, "interactive" in words, "score" in words, passes)


# --- constants, whose values stand for their names in a package's texts -------------------------------


# `{{name}}` or `{{name.variant}}`; in statements with TeX also `\constant{name}`.
_CONSTANT = re.compile(rb"\{\{([\w.-]+)\}\}|\\constant\{([\w.-]+)\}", re.ASCII)
_VALUE = "value"  # the key of a constant that has variants, as `latex`


class Constants:
    """The values of a package by the names that stand for them: `name`, or `name.variant`."""

    def __init__(self, fields: Fields) -> None:
        self._values = dict[bytes, bytes]()
        for name, value in fields.values.items():
            if not isinstance(value, dict):
                self._add(name, fields, name, value)
                continue
            inner = fields.inner(name)
            if not inner.has(_VALUE):
                inner.lacking(_VALUE, "the number or the text that stands for the name alone")
            for variant, own in value.items():
                self._add(name if variant == _VALUE else f"{name}.{variant}", inner, variant, own)

    def _add(self, name: str, fields: Fields, field: str, value: Any) -> None:
        if isinstance(value, bool) or not isinstance(value, int | float | str):
            fields.fault(field, f"{shown(value)} is neither a number nor a text", "Correct it in the file")
        self._values[name.encode()] = str(value).encode()

    def fill(self, content: bytes) -> bytes:
        """Return a text with values in the places of the names that are known."""
        return _CONSTANT.sub(lambda found: self._values.get(found[1] or found[2], found[0]), content)

    def filled(self, problem: Problem, statement: Blob | None) -> Problem:
        """Return the problem with values in all that the format fills."""
        if not self._values:
            return problem
        checker, manager = problem.checker, problem.manager
        return replace(
            problem,
            statement=statement and Blob.of(self.fill(statement.read())),
            included=self._files(problem.included),
            checker=replace(checker, sources=self._files(checker.sources)),
            manager=manager and replace(manager, sources=self._files(manager.sources)),
            solutions=tuple(
                replace(
                    solution,
                    code=self.fill(solution.code.encode()).decode(),
                    files=self._files(solution.files),
                )
                for solution in problem.solutions
            ),
        )

    def _files(self, files: Sequence[NamedBlob]) -> tuple[NamedBlob, ...]:
        return tuple(replace(file, content=Blob.of(self.fill(file.content.read()))) for file in files)


def _is_draft(folder: Path) -> bool:
    """Return True where a package has its validator as the older version and early drafts have it."""
    return (folder / _VALIDATORS).is_dir() and not (folder / NEW_VALIDATOR).exists()


# --- limits ------------------------------------------------------------------------------------------


def _time_limit(folder: Path, header: Fields, faults: Faults) -> float | None:
    """Return the time limit of problem.yaml, .timelimit or domjudge-problem.ini; None where none has one."""
    limits = header.inner("limits")
    if limits.values.get("time_limit") is not None:
        seconds = time_limit(limits)
        resolution = limits.number(_RESOLUTION, above=0) if limits.has(_RESOLUTION) else 0
        if resolution and abs(seconds - round(seconds / resolution) * resolution) > _TIMER:
            words = f"{seconds:g} s is not a multiple of {limits.place(_RESOLUTION)}, {resolution:g} s"
            faults.note(f"{limits.place('time_limit')}: {words}. The judge uses {seconds:g} s", Kattis.header)
        return seconds or None
    for file, read in ((".timelimit", str.strip), (_DOMJUDGE, _of_ini)):
        path = folder / file
        if path.is_file() and (text := read(path.read_text(encoding="utf-8-sig", errors="replace"))):
            if re.fullmatch(r"[0-9]{1,9}(\.[0-9]{1,9})?", text) and float(text) > 0:
                return float(text)
            words = f"{text[:40]!r} is not a number of seconds"
            faults.add(words, file, remedy="Expected a number such as 2 or 1.5")
            return None
    return None


def _of_ini(text: str) -> str:
    parser = configparser.ConfigParser(interpolation=None, strict=False)
    try:
        parser.read_string("[problem]\n" + text)
    except configparser.Error:
        return ""
    return parser.get("problem", "timelimit", fallback="").strip("'\" ")


def _multiplier(header: Fields, faults: Faults, *, new: bool) -> float:
    limits = header.inner("limits")
    if new:
        multiplier = limits.inner("time_multipliers").number("ac_to_time_limit", _NEW_MULTIPLIER, above=0)
    else:
        multiplier = limits.number("time_multiplier", _USUAL_MULTIPLIER, above=0)
    faults.note(
        f"no time limit: it is {multiplier:g} times what the slowest accepted solution takes", Kattis.header
    )
    return multiplier


# --- comparing ---------------------------------------------------------------------------------------


def _flags(header: Fields, data: DataGroup) -> tuple[tuple[str, ...], bool]:
    """Return the validator's arguments, and True where they hold those of all tests, which are alike."""
    different = {test.arguments for test in data.all_tests}
    own = tuple(header.text("validator_flags", "").split())
    alike = len(different) < 2
    return (*own, *(next(iter(different), ()) if alike else ())), alike


def _checker(
    header: Fields,
    validation: Validators,
    flags: tuple[str, ...],
    program: Executable | None,
    full: float,
    limits: Limits | None,
) -> Checker:
    if not validation.custom:
        return _default_checker(header, "validator_flags", flags)
    if validation.interactive or program is None:
        # The validator is the interactor, and says what the submission is worth.
        return Checker(passes=validation.passes)
    return program.as_checker(
        CheckerKind.ICPC, arguments=flags, full=full, passes=validation.passes, limits=limits
    )


def _idle_validators(folder: Path) -> str:
    """Return the place of validators that are there; empty where there are none."""
    places = (place for place in (_VALIDATORS, NEW_VALIDATOR) for _ in visible((folder / place).glob("*")))
    return next(places, "")


def _grader(folder: Path, data: DataGroup, faults: Faults) -> Checker | None:
    """Return the package's own grader, where a group asks for it."""
    if not any(map(is_custom, groups_of(data))):
        return None
    program = _only_program(folder, _GRADERS, "A custom grading needs exactly one grader", faults)
    return None if program is None else program.as_checker(CheckerKind.ICPC)


def _default_checker(fields: Fields, field: str, flags: tuple[str, ...]) -> Checker:
    """Return a comparison token by token; it ignores case unless the flags say otherwise."""
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


def _tolerance(fields: Fields, field: str, flag: str, text: str) -> float:
    if re.fullmatch(r"(\d+\.?\d*|\.\d+)([eE][-+]?\d{1,3})?", text, re.ASCII):
        return float(text)
    fields.fault(field, f"{text!r} is not a tolerance for {flag}", "Expected a number such as 1e-6")
    return 0.0


# --- programs: validators and graders ---------------------------------------------------------------


NEW_VALIDATOR = "output_validator"
_VALIDATORS, _GRADERS = "output_validators", "graders"
_MAINS = ("__main__", "validate", "validator", "output_validator", "interactor", "grade", "grader", "main")
_SCRIPTS = frozenset({"build", "run"})


def _only_program(folder: Path, place: str, remedy: str, faults: Faults) -> Executable | None:
    entries = visible((folder / place).glob("*"))
    programs = [path for path in entries if path.is_dir() or of_suffix(path.suffix)]
    if len(programs) != 1:
        found = "no program" if not programs else f"{len(programs)} programs"
        faults.add(f"{found} in it", place, remedy=remedy)
        return None
    return _program(folder, programs[0], faults)


def _program(folder: Path, program: Path, faults: Faults) -> Executable | None:
    """Return a program of one file, with what lies beside it, or of a folder."""
    place = program.relative_to(folder).as_posix()
    found = program.parent.glob("*") if program.is_file() else program.rglob("*")
    files = [file for file in visible(found) if file.is_file()]
    scripts = [file for file in files if file.name in _SCRIPTS and file.parent == program]
    main = program if program.is_file() else scripts[0] if scripts else _main_source(program, files)
    if main is None:
        name = "grade" if place.startswith(_GRADERS) else "validate"
        faults.add("which of its sources has the main function is not clear", place, remedy=f"Call it {name}")
        return None
    ordered = [main, *(file for file in files if file != main)]
    names = [file.relative_to(folder).as_posix() for file in ordered]
    # Python starts what scripts make.
    language = "python" if scripts else language_of(main.name) or "c++"
    return Executable(sources=named(folder, names), language=language)


def _main_source(program: Path, files: Sequence[Path]) -> Path | None:
    """Return the only source of a folder, or the one that is called as a main source is."""
    sources = [file for file in files if of_suffix(file.suffix)]
    if len(sources) == 1:
        return sources[0]
    by_stem = {file.stem: file for file in reversed(sources)}
    return next((by_stem[stem] for stem in (*_MAINS, program.name) if stem in by_stem), None)


# --- data/: tests in groups -------------------------------------------------------------------------


_SETTINGS, _NEW_SETTINGS = "testdata.yaml", "test_group.yaml"
_VALIDATOR_FLAGS, _ARGUMENTS = (
    "output_validator_flags",
    "output_validator_args",
)  # the second in younger versions
SAMPLE, SECRET = "sample", "secret"
_OF_PROBLEM = ("accept_score", "reject_score", "range", "on_reject")  # once stood in problem.yaml
_OF_GROUPS = (*_OF_PROBLEM, "grading", "grader_flags", _VALIDATOR_FLAGS, "input_validator_flags")
_OF_TESTS = (  # in younger versions, of groups as well; the last two in drafts
    *("args", _ARGUMENTS, "input_validator_args", "static_validator_args"),
    *("input_visualizer_args", "output_visualizer_args", "full_feedback", "hint", "description"),
    *(_VALIDATOR_FLAGS, "input_validator_flags"),
)


class DataGroup(NamedTuple):
    """A folder of tests. What its file does not say is as in the folder above."""

    name: str  # below data/: secret/group1; empty: data/ itself
    fields: Fields
    own: frozenset[str]  # what its own file says
    tests: tuple[Test, ...]
    inner: tuple[DataGroup, ...]  # those with tests somewhere in them

    @property
    def parts(self) -> list[Test | DataGroup]:
        """Return tests and groups in the order of judging: by their names."""
        return sorted((*self.tests, *self.inner), key=lambda part: part.name.rpartition("/")[2])

    @property
    def all_tests(self) -> tuple[Test, ...]:
        return tuple(test for group in groups_of(self) for test in group.tests)

    @property
    def flags_name(self) -> str:
        """Return the key of the validator's arguments."""
        return _ARGUMENTS if self.fields.has(_ARGUMENTS) else _VALIDATOR_FLAGS

    @property
    def grader_flags(self) -> tuple[str, ...]:
        return _words(self.fields, "grader_flags")


def read_data(
    folder: Path, grading: Fields, *, needs_answers: bool, faults: Faults, new: bool, constants: Constants
) -> DataGroup:
    """Return data/ with its groups `sample` and `secret`. Tests are named by their paths in it."""
    reader = _Data(folder, needs_answers, faults, new, constants)
    usual = {name: grading.values[name] for name in _OF_PROBLEM if grading.values.get(name) is not None}
    own = reader.own("data")
    values = {**usual, **own}
    groups = [reader.group(name, values) for name in (SAMPLE, SECRET) if (folder / "data" / name).is_dir()]
    inner = tuple(group for group in groups if group.all_tests)
    if SECRET not in [group.name for group in inner]:  # samples alone tell nothing of a submission
        faults.add("no tests", "data/secret", remedy="Expected files NAME.in and NAME.ans in this folder")
    fields = Fields(values, reader.settings("data"), faults)
    return DataGroup(name="", fields=fields, own=frozenset(own), tests=(), inner=inner)


def groups_of(group: DataGroup) -> Iterator[DataGroup]:
    """Yield the group and all groups in it, in the order of judging."""
    yield group
    for inner in group.inner:
        yield from groups_of(inner)


class _Data:
    def __init__(
        self, folder: Path, needs_answers: bool, faults: Faults, new: bool, constants: Constants
    ) -> None:
        self._folder, self._needs_answers, self._faults, self._new = folder, needs_answers, faults, new
        self._constants = constants

    def settings(self, place: str) -> str:
        """Return the file with a group's settings. Drafts of the younger versions have the older name."""
        names = (_NEW_SETTINGS, _SETTINGS) if self._new else (_SETTINGS,)
        files = [f"{place}/{name}" for name in names]
        return next((file for file in files if (self._folder / file).exists()), files[0])

    def own(self, place: str) -> dict[str, Any]:
        file = self.settings(place)
        if not (self._folder / file).exists():
            self._refuse_misnamed(place, file)
            return {}
        return read_mapping(self._folder, file, self._faults, self._constants.fill) or {}

    def _refuse_misnamed(self, place: str, file: str) -> None:
        """Refuse a file that would be the group's settings by another name."""
        for path in visible((self._folder / place).glob("*.y*ml")):
            of_test = path.with_suffix(".in").is_file()
            if not of_test and near(path.name.lower(), (_SETTINGS, _NEW_SETTINGS), _MISNAMED):
                remedy = f"Call it {file.rpartition('/')[2]}, as this version has it"
                self._faults.add(
                    "it is no file of settings by its name", f"{place}/{path.name}", remedy=remedy
                )

    def group(self, name: str, above: Mapping[str, Any]) -> DataGroup:
        place = f"data/{name}"
        own = self.own(place)
        values = {**above, **own}
        paths = visible((self._folder / place).iterdir())
        if self._new:
            self._refuse_what_is_not_given(place, own, paths)
        inner = [self.group(f"{name}/{path.name}", values) for path in paths if path.is_dir()]
        fields = Fields(values, self.settings(place), self._faults)
        found = DataGroup(
            name=name,
            fields=fields,
            own=frozenset(own),
            tests=tuple(self._tests(name, paths, fields)),
            inner=tuple(group for group in inner if group.all_tests),
        )
        if own and not found.all_tests and name not in (SAMPLE, SECRET):
            self._faults.add("settings of a group that has no tests", fields.file, remedy="Give it its tests")
        return found

    def _refuse_what_is_not_given(self, place: str, own: Mapping[str, Any], paths: list[Path]) -> None:
        """Note the files and arguments that younger versions give to submissions, and that none get here."""
        if own.get("args"):
            self._faults.add("submissions get no arguments here", self.settings(place), field="args")
        for path in paths:
            file = f"{place}/{path.name}"
            if path.suffix == ".files" and path.is_dir():
                self._faults.add("submissions get no files here", file, remedy="Only standard input is given")
            values = (read_mapping(self._folder, file, self._faults) or {}) if self._is_of_test(path) else {}
            if values.get("args"):
                self._faults.add("submissions get no arguments here", file, field="args")
            for key in sorted(values.keys() - set(_OF_TESTS)):
                self._faults.add(_UNKNOWN, file, field=key, remedy=nearest(key, _OF_TESTS))

    def _is_of_test(self, path: Path) -> bool:
        """Return True for the settings of a single test."""
        own = path.suffix == ".yaml" and path.name not in (_NEW_SETTINGS, _SETTINGS)
        return self._new and own and path.with_suffix(".in").is_file() and path.is_file()

    def _arguments(self, group: Fields, test: Path) -> tuple[str, ...]:
        """Return the validator's arguments of a test's own file, or its group's."""
        fields, file = group, test.with_suffix(".yaml")
        if self._is_of_test(file):
            name = file.relative_to(self._folder).as_posix()
            own = Fields(read_mapping(self._folder, name, Faults("")) or {}, name, self._faults)
            fields = own if own.has(_ARGUMENTS) else group
        return fields.texts(_ARGUMENTS) if fields.has(_ARGUMENTS) else _words(fields, _VALIDATOR_FLAGS)

    def _tests(self, group: str, paths: list[Path], fields: Fields) -> Iterator[Test]:
        inputs = {path.stem: path for path in paths if path.suffix == ".in" and path.is_file()}
        answers = {path.stem: path for path in paths if path.suffix == ".ans" and path.is_file()}
        for path in paths:
            if path.suffix in (".IN", ".In", ".ANS", ".Ans") and path.is_file():
                remedy = f"Call it {path.stem}{path.suffix.lower()}"
                self._faults.add("it is no test by its name", f"data/{group}/{path.name}", remedy=remedy)
        for stem in sorted(answers.keys() - inputs.keys()):
            self._faults.add("missing file", f"data/{group}/{stem}.in", remedy=f"Add it or remove {stem}.ans")
        for stem, path in sorted(inputs.items()):
            name = f"{group}/{stem}"
            if stem not in answers and path.with_suffix(".out").is_file():
                self._faults.add("it looks like an answer", f"data/{name}.out", remedy=f"Call it {stem}.ans")
            elif stem not in answers and self._needs_answers:
                self._faults.add("missing file", f"data/{name}.ans", remedy="Outputs are compared with it")
            if not name.isprintable():
                self._faults.add("a name that cannot be printed", f"data/{name!r}", remedy="Rename its files")
            read = test_of(name, path, answers.get(stem))
            yield replace(read, arguments=self._arguments(fields, path))


def _words(fields: Fields, name: str) -> tuple[str, ...]:
    """Return flags: a text, or an object with `flags` and the name of the validator that they are for."""
    if isinstance(fields.values.get(name), dict):
        return tuple(fields.inner(name).text("flags", "").split())
    return tuple(fields.text(name, "").split()) if fields.values.get(name) is not None else ()


# --- grading of the older version: by flags of the default grader -----------------------------------


_POINTS = {mode.value: mode for mode in (Points.SUM, Points.AVERAGE, Points.LEAST, Points.MOST)}
_ACCEPTANCES = {word.value: word for word in Acceptance} | {"no_errors": Acceptance.WORST_ERROR}
_IGNORE_SAMPLE, _ANY_ACCEPTED = "ignore_sample", "accept_if_any_accepted"
_FLAGS = {*_POINTS, *_ACCEPTANCES, _IGNORE_SAMPLE, _ANY_ACCEPTED}
# Whether judging goes on behind a part that is not accepted; the last three once stood in problem.yaml.
_STOPS = {"break": True, "continue": False, "first_error": True, "worst_error": False, "grade": False}
_NUMBER = r"[-+]?(?:inf|\d+\.?\d*(?:[eE][-+]?\d{1,2})?|\.\d+)"
_CUSTOM = "custom"
_WHOLE = "all"  # the subtask of a problem that is judged as a whole


class Scoring(Value):
    subtasks: tuple[Subtask, ...] = ()
    secret: tuple[str, ...] = ()  # the names of those that are no samples
    # The largest number in score.txt that is worth everything in some test; RAW_POINTS where any is taken.
    full: float = 1.0
    own_full: Mapping[str, float] = {}  # by name, for tests that have another


class _Node(NamedTuple):
    """A group with its rules, and those in it."""

    name: str
    grading: Grading
    inner: tuple[_Node, ...]


def read_scoring(root: DataGroup, faults: Faults, *, by_validator: bool, domjudge: bool = False) -> Scoring:
    """Return the scoring of a problem with points. `domjudge`: the package is one of DOMjudge's."""
    reader = _Rules(faults, scoring=True, by_validator=by_validator, domjudge=domjudge)
    top = reader.node(root)
    if not top.inner:  # noted: there are no tests
        return Scoring()
    worths = reader.full.values()
    full = max(worths, default=1.0) if all(worths) else RAW_POINTS
    subtasks = tuple(_subtasks_of_problem(top, by_validator))
    own = {name: worth for name, worth in reader.full.items() if not math.isclose(worth, full)}
    secret = tuple(subtask.name for subtask in subtasks if subtask.name not in (SAMPLE, _WHOLE))
    return Scoring(subtasks=subtasks, secret=secret, full=full, own_full=own)


def read_acceptance(root: DataGroup, faults: Faults) -> Scoring:
    """Return the scoring of a problem without points: one subtask, or none where all tests must pass."""
    top = _Rules(faults, scoring=False, by_validator=False).node(root)
    if not top.inner or is_strict(top.grading):
        return Scoring()
    tree = replace(top.grading, points=Points.ACCEPTED)
    return Scoring(subtasks=(_subtask(_WHOLE, tree, graded=True),))


# --- rules -------------------------------------------------------------------------------------------


class _Rules:
    """A reader of each group's rules; each fault is noted once."""

    def __init__(self, faults: Faults, *, scoring: bool, by_validator: bool, domjudge: bool = False) -> None:
        self._faults, self._scoring, self._by_validator = faults, scoring, by_validator
        self._domjudge = domjudge
        self._ignores_sample = False
        self.full: dict[str, float] = {}  # what each test is worth by its validator's score

    def node(self, group: DataGroup, above: bool = False) -> _Node:
        """Return a group with its rules. `above`: the package's own grader grades a group around it."""
        self._check(group)
        own = is_custom(group)
        if not group.name:
            self._ignores_sample = not own and _IGNORE_SAMPLE in group.grader_flags
        inner = {part.name: self.node(part, above or own) for part in group.inner}
        parts = (inner[part.name].grading if part.name in inner else part.name for part in group.parts)
        # Of several modes that exclude each other the last one holds.
        flags = () if own else group.grader_flags[::-1]
        points = next((_POINTS[flag] for flag in flags if flag in _POINTS), Points.SUM)
        words = (_ACCEPTANCES[flag] for flag in flags if flag in _ACCEPTANCES)
        acceptance = next(words, Acceptance.WORST_ERROR)
        scored = self._scoring and bool(group.tests)
        if scored and not own and self._counts_once(group, points):
            points, acceptance = Points.LEAST, Acceptance.WORST_ERROR
        grading = Grading(
            parts=tuple(parts),
            points=points,
            acceptance=acceptance,
            any_accepted=_ANY_ACCEPTED in flags,
            last_counts=not group.name and self._ignores_sample,
            stops=_stops(group),
            accept_score=self._accept_score(group, points, by_grader=own or above) if scored else 1.0,
            reject_score=_number(group.fields, "reject_score", 0.0) if scored else 0.0,
            flags=group.grader_flags if own else None,
            full=self._highest(group) if own and self._scoring and not above else 0.0,
        )
        if self._scoring and may_exceed(grading):
            problem = f"{points.value} of unequal parts, where judging stops at one that is rejected"
            group.fields.fault("on_reject", problem, "Set it to continue, so that all parts count")
        return _Node(group.name.removeprefix(f"{SECRET}/"), grading, tuple(inner.values()))

    def _check(self, group: DataGroup) -> None:
        grading = group.fields.values.get("grading") or "default"
        if grading not in ("default", _CUSTOM) and (not group.name or "grading" in group.own):
            group.fields.fault("grading", f"{shown(grading)} is not understood", "Expected default or custom")
        _check_group_keys(group, _OF_GROUPS, self._faults)
        if is_custom(group):  # its flags are not the default grader's
            return
        for flag in dict.fromkeys(group.grader_flags):
            if flag in _FLAGS or "grader_flags" not in group.own:
                continue
            if near(flag, _FLAGS, _MISSPELT):
                group.fields.fault("grader_flags", f"{flag!r} is no flag", nearest(flag, sorted(_FLAGS)))
            else:
                self._faults.note(f"{flag!r} is no flag of the default grader", group.fields.file)

    def _accept_score(self, group: DataGroup, points: Points, *, by_grader: bool) -> float:
        """Return a test's points. `by_grader`: the package's own grader makes what it likes of them."""
        if not self._by_validator:
            return _number(group.fields, "accept_score", 1.0)
        if by_grader:  # the range bounds what the grader gives
            full = RAW_POINTS
        elif self._ignores_sample and group.name.split("/")[0] == SAMPLE and "range" not in group.own:
            full = 0.0  # its scores count nowhere, however large
        else:
            full = self._highest(group) / (len(group.tests) if points is Points.SUM else 1)
        self.full |= dict.fromkeys((test.name for test in group.tests), full)
        return full

    def _counts_once(self, group: DataGroup, points: Points) -> bool:
        """Return True where accept_score is the group's worth, as in DOMjudge, and not each test's.

        A group whose range ends at it, and that would be worth more as the format counts, was written so.
        """
        if self._by_validator or len(group.tests) < 2 or "accept_score" not in group.own:
            return False
        ends_there = "range" in group.own and _range_end(group) == _number(group.fields, "accept_score", 1.0)
        if not self._domjudge and not (ends_there and points is Points.SUM):
            return False
        if points is not Points.LEAST and _number(group.fields, "accept_score", 1.0) > 0:
            self._faults.note("accept_score is what the group is worth, as in DOMjudge", group.fields.file)
        return True

    def _highest(self, group: DataGroup) -> float:
        """Return the end of the range: the most that the scores of all its tests may come to, or 0."""
        highest = _range_end(group)
        if highest is None or highest < 0:
            remedy = "Add its own, such as `range: 0 20`"
            group.fields.fault("range", "what the group is worth is not said", remedy)
            return 0.0
        return highest


def _check_group_keys(group: DataGroup, known: Sequence[str], faults: Faults) -> None:
    """Refuse a misspelt setting of a group, and note one that the format does not know."""
    for key in sorted(group.own.difference(known)):
        if near(key, known):
            group.fields.fault(key, _UNKNOWN, nearest(key, known))
        else:
            faults.note(f"{group.fields.place(key)}: {_UNKNOWN}, and it is passed over", group.fields.file)


def is_custom(group: DataGroup) -> bool:
    """Return True where the package's own grader grades a group."""
    return group.fields.values.get("grading") == _CUSTOM


def _stops(group: DataGroup) -> bool:
    action = group.fields.values.get("on_reject") or "break"
    if (not isinstance(action, str) or action not in _STOPS) and (not group.name or "on_reject" in group.own):
        group.fields.fault("on_reject", f"{shown(action)} is not understood", "Expected break or continue")
    return _STOPS.get(action, True) if isinstance(action, str) else True


def _range_end(group: DataGroup) -> float | None:
    """Return the end of a group's own range; secret/ without groups may have it from data/."""
    alone = group.name == SECRET and not group.inner
    if "range" not in group.own and group.name and not alone:
        return None
    text = group.fields.values.get("range")
    pair = rf"\s*{_NUMBER}\s+({_NUMBER})\s*"
    found = re.fullmatch(pair, text, re.ASCII) if isinstance(text, str) else None
    end = float(found[1]) if found else math.nan
    return end if math.isfinite(end) else None


def _number(fields: Fields, name: str, default: float) -> float:
    """Return a number, also one that YAML takes for a text, such as 1e3."""
    value = fields.values.get(name)
    if isinstance(value, str) and re.fullmatch(_NUMBER, value, re.ASCII) and 0 <= float(value) < math.inf:
        return float(value)
    return default if value is None else fields.number(name, default)


# --- subtasks ----------------------------------------------------------------------------------------


def _subtasks_of_problem(root: _Node, by_validator: bool) -> Iterator[Subtask]:
    """Yield as many subtasks as add up to the points of the whole, which earns nothing if rejected.

    Samples that are ignored have no points.
    """
    rules, *samples, secret = root.grading, *root.inner
    if not rules.last_counts or (samples and rules.stops):
        yield from _subtasks_of(root._replace(name=_WHOLE), by_validator, earns=False)
        return
    for sample in samples:
        tests = tuple(tests_of(sample.grading))
        yield Subtask(name=sample.name, points=0.0, tests=tests, score_type=ScoreType.SUM)
    yield from _subtasks_of(secret, by_validator, earns=rules.acceptance is Acceptance.ALWAYS)


def _subtasks_of(node: _Node, by_validator: bool, *, earns: bool) -> Iterator[Subtask]:
    """Yield a group's subtasks. `earns`: its points count even where it is rejected."""
    if node.inner and adds_up(node.grading, earns=earns):
        if tests := tuple(part for part in node.grading.parts if isinstance(part, str)):
            own = _Node(node.name, replace(node.grading, parts=tests), ())
            yield from _subtasks_of(own, by_validator, earns=True)
        for inner in node.inner:
            yield from _subtasks_of(inner, by_validator, earns=True)
        return
    tree = replace(node.grading, rejected_earns=earns)
    if all_or_nothing(tree, graded_tests=by_validator):
        yield _subtask(node.name, tree, ScoreType.GROUP_MIN)
    else:
        yield _subtask(node.name, tree, graded=not is_mean(tree))


def _subtask(
    name: str, tree: Grading, score_type: ScoreType = ScoreType.SUM, *, graded: bool = False
) -> Subtask:
    return Subtask(
        name=name,
        points=most(tree),
        tests=tuple(tests_of(tree)),
        score_type=score_type,
        grading=tree if graded else None,
    )


# --- scoring of younger versions: a most for each group, and groups that others require -------------


_MODES = ("pass-fail", "sum", "min")
_PASS_FAIL, _SUM, _LEAST = _MODES
_WORTH = 100.0  # of all, where nothing else is said
_SCORED = ("max_score", "score_aggregation", "require_pass")  # of secret/ and the groups right in it
_STATIC = frozenset({"static_validation", "static_validation_score"})  # the first in drafts


def _check_settings(root: DataGroup, faults: Faults, *, scoring: bool) -> None:
    """Note settings that would change what a submission earns, and that count nowhere."""
    for group in groups_of(root):
        places = group.name.split("/")
        graded = scoring and places[0] == SECRET and len(places) < 3
        if scoring and group.name == SECRET and group.inner and group.tests:
            faults.add("tests beside groups", f"data/{SECRET}", remedy="Put them into a group")
        for key in sorted(group.own):
            if key in _STATIC:
                group.fields.fault(key, "static validators are not run", "Remove it")
            elif key in _SCORED and not graded:
                remedy = "Only scoring problems have it, in secret/ and its groups"
                group.fields.fault(key, "nothing is graded by it here", remedy)
            elif scoring and key not in (*_SCORED, *_OF_TESTS):
                group.fields.fault(key, "not understood", nearest(key, (*_SCORED, *_OF_TESTS)))
        if not scoring:
            _check_group_keys(group, (*_SCORED, *_STATIC, *_OF_TESTS), faults)


def read_max_scores(root: DataGroup, *, by_validator: bool) -> Scoring:
    """Return what groups are worth. `by_validator`: tests may be worth a part of their points."""
    groups = {group.name: group for group in root.inner}
    if SECRET not in groups:
        return Scoring()  # noted: there are no tests
    sample = _names(groups[SAMPLE]) if SAMPLE in groups else ()
    reader = _MaxScores(groups[SECRET], sample, by_validator=by_validator)
    subtasks = tuple(reader.subtasks())
    names = tuple(subtask.name for subtask in subtasks if subtask.name != SAMPLE)
    if sample:
        first = Subtask(name=SAMPLE, points=0.0, tests=sample, score_type=ScoreType.SUM)
        subtasks = (first, *subtasks)
    if not by_validator:
        return Scoring(subtasks=subtasks, secret=names)
    # Scores on samples, and in groups that are passed or failed, count nowhere, however large.
    own = {**dict.fromkeys(_names(root), 0.0), **reader.full}
    return Scoring(subtasks=subtasks, secret=names, full=RAW_POINTS, own_full=own)


def _tree(group: Subtask) -> Grading:
    """Return a subtask as a tree, for a tree around it."""
    if group.grading is not None:
        return group.grading
    if group.score_type is ScoreType.SUM:
        return each_behind(dict.fromkeys(group.tests, group.points / len(group.tests)), ())
    return least_behind(group.tests, group.points, ())


def _names(group: DataGroup) -> tuple[str, ...]:
    return tuple(test.name for test in group.all_tests)


class _MaxScores:
    def __init__(self, secret: DataGroup, sample: tuple[str, ...], *, by_validator: bool) -> None:
        self._secret, self._sample, self._by_validator = secret, sample, by_validator
        self.full: dict[str, float] = {}  # what each test is worth by its validator's score

    def subtasks(self) -> Iterator[Subtask]:
        secret, mode = self._secret, self._mode(self._secret, _SUM)
        worth, before = self._worth(secret, _WORTH), self._required(secret, {})
        if not secret.inner or mode == _PASS_FAIL:
            for group in secret.inner:
                if self._mode(group, _PASS_FAIL) != _PASS_FAIL:
                    words = "secret/ is passed or failed as a whole"
                    group.fields.fault("score_aggregation", words, "Take one of the two out")
            yield self._subtask(secret, mode, worth, before)
            return
        earlier: dict[str, tuple[DataGroup, tuple[str, ...]]] = {}
        found = list[Subtask]()
        for group in secret.inner:
            needed = tuple(dict.fromkeys((*before, *self._required(group, earlier))))
            found.append(
                self._subtask(group, self._mode(group, _PASS_FAIL), self._worth(group, None), needed)
            )
            earlier[group.name] = group, (*needed, *_names(group))
        if mode == _LEAST:  # all groups are one, worth what the worst of them earns
            tree = Grading(
                parts=tuple(map(_tree, found)),
                points=Points.LEAST,
                acceptance=Acceptance.ALWAYS,
                stops=False,
            )
            tests = tuple(dict.fromkeys(test for subtask in found for test in subtask.tests))
            kind = ScoreType.SUM
            yield Subtask(name=SECRET, points=most(tree), tests=tests, score_type=kind, grading=tree)
            return
        total = math.fsum(subtask.points for subtask in found)
        if total > worth:
            words = f"its groups are worth {total:g} together"
            secret.fields.fault("max_score", words, f"Set it to that; it is {worth:g}")
        yield from found

    def _subtask(self, group: DataGroup, mode: str, worth: float, before: Sequence[str]) -> Subtask:
        own, name = _names(group), group.name.removeprefix(f"{SECRET}/")
        names = tuple(dict.fromkeys((*before, *own)))
        if mode != _PASS_FAIL:
            self.full |= dict.fromkeys(own, worth / len(own) if mode == _SUM else worth)
        tree: Grading | None = None
        if mode == _SUM:
            tree = each_behind({test: worth / len(own) for test in own}, before) if before else None
        elif not self._by_validator or (mode == _LEAST and not before):
            return Subtask(name=name, points=worth, tests=names)
        elif mode == _LEAST:
            tree = least_behind(own, worth, before)
        else:  # scores do not count where a group is passed or failed, nor in those that it requires
            tree = Grading(parts=names, points=Points.ACCEPTED, worth=worth)
        return Subtask(name=name, points=worth, tests=names, score_type=ScoreType.SUM, grading=tree)

    # --- one group's settings, which are not those of the group around it ---------------------------------

    def _mode(self, group: DataGroup, usual: str) -> str:
        if "score_aggregation" not in group.own:
            return usual
        return group.fields.choice("score_aggregation", _MODES)

    def _worth(self, group: DataGroup, usual: float | None) -> float:
        worth = group.fields.values.get("max_score") if "max_score" in group.own else usual
        if isinstance(worth, int | float) and not isinstance(worth, bool) and 0 <= worth < math.inf:
            return float(worth)
        words = "missing" if worth is None else f"{shown(worth)} is not judged"
        group.fields.fault("max_score", words, "Give it a number from 0, such as `max_score: 20`")
        return 1.0

    def _required(
        self, group: DataGroup, earlier: Mapping[str, tuple[DataGroup, tuple[str, ...]]]
    ) -> tuple[str, ...]:
        """Return the tests of the groups that are to be passed before, and of those that these require.

        `earlier` has each group with the tests that it takes to pass it.
        """
        passing = [place for place, (it, _) in earlier.items() if self._mode(it, _PASS_FAIL) == _PASS_FAIL]
        required = group.fields.values.get("require_pass") if "require_pass" in group.own else ()
        found = list[str]()
        for name in (
            [required] if isinstance(required, str) else required if isinstance(required, list) else ()
        ):
            if name == SAMPLE:
                found += self._sample
            elif name in passing:
                found += earlier[name][1]
            else:
                words = f"{shown(name)} is not an earlier group that is passed or failed"
                group.fields.fault("require_pass", words, nearest(str(name), (SAMPLE, *passing)))
        return tuple(found)


# --- submissions, and what their authors expect -----------------------------------------------------


# The format's own folders, and those of systems that read it. Of others nothing is known.
_FOLDERS = frozenset(
    {
        "accepted",
        "compiler_error",
        "memory_limit_exceeded",
        "no_output",
        "output_limit_exceeded",
        "partially_accepted",
        "rejected",
        "run_time_error",
        "time_limit_exceeded",
        "wrong_answer",
    }
)
_FIRST_LINES = 100
_HEADERS = frozenset({".h", ".hh", ".hpp", ".hxx", ".inc"})
# The names of the source that a program starts with; the other languages link all sources alike.
_STARTED = {
    "python": ("__main__", "main"),
    "pypy": ("__main__", "main"),
    "java": ("Main", "main"),
    "rust": ("main",),
}
_GRADES = re.compile(r"@EXPECTED_GRADES@:?((?:[ \t]+(?:AC|WA|TLE|RTE|MLE|OLE)\b)+)")
_RESULTS = re.compile(r"@EXPECTED_RESULTS@:[ \t]*([A-Z_-]+(?:[ \t]*,[ \t]*[A-Z_-]+)*)", re.IGNORECASE)


_SCORE = re.compile(r"@EXPECTED_SCORE@:[ \t]*([0-9]{1,9}(?:\.[0-9]{1,9})?)")


def _solutions(
    folder: Path,
    groups: Sequence[str],
    rules: PackageRules,
    faults: Faults,
    *,
    scoring: bool,
    in_points: bool,
) -> Iterator[Solution]:
    """Yield the submissions. `groups`: the names of the secret groups, for tags with a grade for each.

    `in_points`: a validator says how many points an accepted submission has.
    """
    for path in visible((folder / "submissions").glob("*/*")):
        place = path.relative_to(folder).as_posix()
        expected = rules.of(place.removeprefix("submissions/"))
        if path.is_dir():
            program = _folder(path, place, expected.entrypoint, faults)
        else:
            language = language_of(path.name)
            program = _Sources(language, path, ()) if language else None
            note_foreign(path, place, faults)
        if program is not None:
            read = _solution(path, program, groups, place, expected, faults)
            if in_points and read.expected == _ACCEPTED:  # with however many points
                read = replace(read, expected=_ALL_ACCEPTED)
            yield read if scoring else replace(read, score=None)


class _Sources(NamedTuple):
    language: str
    main: Path
    further: tuple[Path, ...]  # sources and headers


def _folder(path: Path, place: str, entrypoint: str, faults: Faults) -> _Sources | None:
    """Return a folder's sources, which are one program in one language; None, with a note, where not."""
    files = [file for file in visible(path.rglob("*")) if file.is_file()]
    if scripts := sorted(_SCRIPTS & {file.relative_to(path).as_posix() for file in files}):
        faults.note(f"left out: the format gives no scripts ({', '.join(scripts)}) to submissions", place)
        return None
    languages = {name for file in files if (name := language_of(file.name))}
    if len(languages) != 1:
        found = "sources in several languages" if languages else "no source in a known language"
        faults.note(f"left out: {found}", place)
        return None
    (language,) = languages
    sources = [file for file in files if language_of(file.name)]
    named_so = (source for source in sources if entrypoint in (source.name, source.stem))
    main = next(named_so, None) or _main(sources, language, path.name)
    if main is None:
        faults.note(f"left out: which source is started is not clear; call it {_STARTED[language][0]}", place)
        return None
    further = [file for file in files if file in sources or file.suffix.lower() in _HEADERS]
    if not all(file.is_relative_to(main.parent) for file in further):
        faults.note(f"left out: {main.name} has sources in folders above it", place)
        return None
    return _Sources(language, main, tuple(file for file in further if file != main))


def _main(sources: Sequence[Path], language: str, folder: str) -> Path | None:
    """Return the source that a program starts with: by its name, at the top of the folder."""
    top = min(len(source.parts) for source in sources)
    by_stem = {source.stem: source for source in sources if len(source.parts) == top}
    if language not in _STARTED or len(sources) == 1:
        return next(iter(by_stem.values()))
    return next((by_stem[stem] for stem in (*_STARTED[language], folder) if stem in by_stem), None)


def _solution(
    path: Path, program: _Sources, groups: Sequence[str], place: str, rules: Expected, faults: Faults
) -> Solution:
    code = source_text(program.main)
    texts = (code, *map(source_text, program.further))
    head = "\n".join(line for text in texts for line in text.splitlines()[:_FIRST_LINES])
    folder = path.parent.name
    results, score = _RESULTS.search(head), _SCORE.search(head)
    by_folder = folder if rules.folder_counts and folder in _FOLDERS else ""
    expected = results[1] if results else by_folder
    exceptions = _grades(head, groups, place, faults)
    if not expected and not exceptions and not rules.said and not score:
        faults.note("nothing is known of what it should score", place)
    return Solution(
        name=path.name,
        language=rules.language or program.language,
        code=code,
        expected=expected,
        exceptions=exceptions,
        said=rules.said,
        score=rules.score or ((float(score[1]), float(score[1])) if score else None),
        files=tuple(
            NamedBlob(name=path.relative_to(program.main.parent).as_posix(), content=Blob.of_file(path))
            for path in program.further
        ),
    )


def _grades(head: str, groups: Sequence[str], place: str, faults: Faults) -> Mapping[str, str]:
    """Return the tag's grades, one for each secret group in order."""
    found = _GRADES.search(head)
    grades = found[1].split() if found else []
    if grades and len(grades) != len(groups):
        faults.note(f"its tag has {len(grades)} grades for {len(groups)} groups, and is passed over", place)
        return {}
    return dict(zip(groups, grades, strict=False))


# --- what is expected --------------------------------------------------------------------------------

FILE = "submissions/submissions.yaml"
_VERDICTS = ("AC", "WA", "TLE", "RTE")
_RULES = ("permitted", "required")
_HEEDED = frozenset({*_RULES, "score", "language", "entrypoint"})
_PASSED_OVER = frozenset({"authors", "model_solution", "use_for_time_limit"})
_MESSAGE = "message"  # what judges were told is not compared
# The rules of folders that the format defines. A package that replaces one of them keeps the other.
_ACCEPTED, _BRUTE_FORCE = "accepted", "brute_force"  # no verdict is called as the second
_ALL_ACCEPTED = f"{_ACCEPTED}, AC"  # full points, or each test passed
_DEFAULTS: Mapping[str, Mapping[str, Any]] = {
    _ACCEPTED: {"permitted": ["AC"]},
    "rejected": {"required": ["RTE", "TLE", "WA"]},
    "wrong_answer": {"permitted": ["AC", "WA"], "required": ["WA"]},
    "time_limit_exceeded": {"permitted": ["AC", "TLE"], "required": ["TLE"]},
    "run_time_error": {"permitted": ["AC", "RTE"], "required": ["RTE"]},
    _BRUTE_FORCE: {"permitted": ["AC", "RTE", "TLE"], "required": ["RTE", "TLE"]},
}


class Expected(NamedTuple):
    """The words of submissions.yaml on one submission."""

    said: tuple[WordOfTests, ...] = ()
    score: tuple[float, float] | None = None
    language: str = ""
    entrypoint: str = ""
    folder_counts: bool = True  # whether its folder's name says something, too


class PackageRules:
    """The rules of a package, each fault in them noted once."""

    def __init__(self, folder: Path, tests: Sequence[str], faults: Faults, *, new: bool) -> None:
        self._tests = tests
        own = (read_mapping(folder, FILE, faults) or {}) if new and (folder / FILE).is_file() else {}
        entries = Fields({**({_BRUTE_FORCE: {}} if new else {}), **own}, FILE, faults)
        self._ruled = set[str]()  # folders whose names say nothing
        self._by_pattern = dict[str, Expected]()
        for pattern in entries.values:
            entry = entries.inner(pattern)
            if pattern == _BRUTE_FORCE or any(map(entry.has, _RULES)):
                self._ruled.add(pattern)
                entry = entries.under(pattern, {**_DEFAULTS.get(pattern, {}), **entry.values})
            self._by_pattern[pattern] = self._read(entry, faults)

    def of(self, place: str) -> Expected:
        """Return what is expected of a place below submissions/, such as accepted/best.py."""
        found = [entry for pattern, entry in self._by_pattern.items() if _matches(pattern, place)]
        words = [word for entry in found for word in entry.said]
        score = next((entry.score for entry in found if entry.score), None)
        folder = place.split("/")[0]
        scored = folder == _ACCEPTED and score is not None and folder not in self._ruled
        if scored:  # however many points that is, all tests are passed
            words += self._rules(Fields(_DEFAULTS[folder], FILE, Faults("")), "", self._tests)
        return Expected(
            said=tuple(words),
            score=score,
            language=next((entry.language for entry in found if entry.language), ""),
            entrypoint=next((entry.entrypoint for entry in found if entry.entrypoint), ""),
            folder_counts=not scored and folder not in self._ruled,
        )

    def _read(self, fields: Fields, faults: Faults) -> Expected:
        words = list(self._rules(fields, "", self._tests))
        for key, value in fields.values.items():
            if isinstance(value, dict) and key not in _HEEDED:
                words += self._of_tests(fields.inner(key), key, faults)
            elif key == _MESSAGE:
                faults.note(f"{key} is not compared", FILE)
            elif key not in _HEEDED | _PASSED_OVER:
                fields.fault(key, "not understood", f"Expected {', '.join(sorted(_HEEDED))}, or a group")
        return Expected(tuple(words), _score(fields), _language(fields), fields.text("entrypoint", ""))

    def _of_tests(self, fields: Fields, pattern: str, faults: Faults) -> Iterator[WordOfTests]:
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

    def _rules(self, fields: Fields, scope: str, tests: Sequence[str]) -> Iterator[WordOfTests]:
        for rule in _RULES:
            if fields.has(rule):
                verdicts = fields.texts(rule)
                if not verdicts or not set(_VERDICTS).issuperset(verdicts):
                    words = f"{shown(fields.values[rule])} is not a list of verdicts"
                    fields.fault(rule, words, f"Expected some of {', '.join(_VERDICTS)}")
                yield WordOfTests(subtask=scope, word=" ".join((rule, *verdicts)), tests=tuple(tests))


def _score(fields: Fields) -> tuple[float, float] | None:
    """Return the least and the most score, of a number or a list of both."""
    score = fields.values.get("score")
    if score is None:
        return None
    ends = score if isinstance(score, list) else [score, score]
    numbers = [float(end) for end in ends if isinstance(end, int | float) and not isinstance(end, bool)]
    if len(ends) == len(numbers) == 2:
        return numbers[0], numbers[1]
    fields.fault("score", f"{shown(score)} is not a score", "Expected a number, or a list of two")
    return None


def _language(fields: Fields) -> str:
    name = fields.text("language", "")
    try:
        return find(name).name if name else ""
    except InputError as error:
        fields.fault("language", error.problem, error.remedy)
        return ""


def _matches(pattern: str, name: str) -> bool:
    """Return True where a pattern matches a name or a folder around it; `*` does not cross folders."""
    parts = (map(re.escape, spelled.rstrip("/").split("*")) for spelled in _spelled_out(pattern))
    return any(re.fullmatch(rf"{'[^/]*'.join(escaped)}(/.*)?", name, re.DOTALL) for escaped in parts)


def _spelled_out(pattern: str) -> Iterator[str]:
    """Yield a.py and b.py for `{a,b}.py`."""
    braces = re.search(r"\{([^{}]*)\}", pattern)
    if braces is None:
        yield pattern
        return
    for word in braces[1].split(","):
        yield from _spelled_out(pattern[: braces.start()] + word + pattern[braces.end() :])
