"""Read problem packages in the ICPC's format (Kattis): version `legacy` and the newer versions.

Groups are graded by the rules of the format's default grader. A setting that this judge cannot follow is
reported as a fault. The judge never guesses.
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
    KeywordForTests,
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
_NEWER_VERSIONS = frozenset({"2023-07", "2023-07-draft", "2025-09", "2025-09-draft"})
# The format's default limits, and its default factor from solutions' times to the time limit.
_DEFAULT_MEMORY_MIB, _DEFAULT_OUTPUT_MIB, _DEFAULT_MULTIPLIER = 2048, 8, 5.0
_NEWER_MULTIPLIER = 2.0  # the same factor in the newer versions
_TIME_RESOLUTION = "time_resolution"
_TIME_TOLERANCE_S = 0.001  # seconds; a smaller difference between two times is due to rounding
_MAX_NUMERIC_TITLE = 1 << 64  # titles that YAML parses as a larger number are ignored
DOMJUDGE = "domjudge-problem.ini"
_MAX_PASSES = 1000
_HEADER_KEYS = (
    *("problem_format_version", "type", "validation", "validator_flags", "limits", "grading", "constants"),
)
_LIMIT_KEYS = (  # of all versions, of drafts, and for authors' tools
    *("time_limit", "time_multiplier", "time_multipliers", "time_safety_margin", "time_resolution"),
    *("memory", "output", "code", "compilation_time", "compilation_memory"),
    *("validation_time", "validation_memory", "validation_output", "validation_passes"),
    *("generator_time", "generator_memory", "visualizer_time", "visualizer_memory"),
)
_UNKNOWN_KEY = "the format knows no such key"
# Minimum similarity (difflib ratio) of a key to a supported key, to count as misspelt. `validator` counts,
# `translations` does not.
_MISSPELT_SIMILARITY = 0.75
# The same for the names of settings files. testdata.yml counts, metadata.yaml and test1.yaml do not.
_MISNAMED_SIMILARITY = 0.9

# Calls that start another process. Comments are removed first, so that calls in them do not count.
_PROCESS_CALLS = r"v?fork|posix_spawnp?|popen|system|os\.(?:fork|system|popen|spawn\w+)|subprocess\.\w+"
_FORK_CALLS = frozenset(
    {"fork", "os.fork"}
)  # allowed, with a limit on processes; the other calls start programs
_PROCESS_CALL = re.compile(rf"(?<![\w.>:])(?:(?:std)?::)?({_PROCESS_CALLS})\s*\(")
_COMMENTS = re.compile(r"//[^\n]*|/\*.*?\*/|^\s*#(?!\s*(?:include|define)).*?$", re.DOTALL | re.MULTILINE)


class Validators(NamedTuple):
    """How a package validates outputs."""

    custom: bool  # by its own validator instead of the default comparison
    interactive: bool
    score: bool  # the validator awards points
    passes: int = 1


class Kattis(DeclaredFormat):
    """The ICPC's package format, recognized by problem.yaml."""

    name = "Kattis"
    header = "problem.yaml"
    rank = 20
    folders = ("data", "graders", "include", "output_validator", "output_validators", "submissions")

    def problem(self, folder: Path, where: str, header: Fields, faults: Faults) -> Problem:
        version = header.values.get("problem_format_version")
        is_newer = isinstance(version, str) and version in _NEWER_VERSIONS
        if not is_newer:
            _check_legacy(header)
        _check_keys(header, faults)
        scoring = "scoring" in _types(header)
        validation = _validation(folder, header, scoring=scoring, new=is_newer)
        constants = Constants(header.inner("constants") if is_newer else Fields({}, self.header, faults))
        data = read_data(
            folder,
            header.inner("grading"),
            needs_answers=not validation.custom,
            faults=faults,
            new=is_newer,
            constants=constants,
        )
        domjudge = (folder / DOMJUDGE).is_file()
        scores = _scores(data, validation, faults, scoring=scoring, new=is_newer, domjudge=domjudge)
        flags, alike = _flags(header, data)
        for group in groups_of(data) if not (validation.custom or alike) else ():
            for arguments in dict.fromkeys(test.arguments for test in group.tests):
                _default_checker(group.fields, group.flags_name, arguments)  # reports invalid flags
        program = None
        if validation.custom and is_newer and not _is_draft(folder):  # the folder is the program
            program = _program(folder, folder / NEW_VALIDATOR, faults)
        elif not validation.custom and (unused_folder := _unused_validators(folder)):
            sentence = "its validators are passed over, as `validation` does not say custom"
            faults.note(sentence, unused_folder)
        elif validation.custom:
            remedy = "A custom validation needs exactly one validator"
            program = _only_program(folder, _VALIDATORS, remedy, faults)
        tests = tuple(
            replace(test, full=scores.own_full.get(test.name), arguments=() if alike else test.arguments)
            for test in data.all_tests
        )
        rules = PackageRules(folder, [test.name for test in tests], faults, new=is_newer)
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
                memory=self.memory(limits, "memory", _DEFAULT_MEMORY_MIB),
                output=round(limits.number("output", _DEFAULT_OUTPUT_MIB, above=0) * MIB),
                cuts_output=domjudge,
            ),
            time_from_solutions=None if time is not None else _multiplier(header, faults, new=is_newer),
            time_resolution=limits.number(_TIME_RESOLUTION, 1.0, above=0)
            if time is None and is_newer
            else None,
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
                    in_points=is_newer and scoring and validation.custom,
                )
            ),
        )
        problem = _with_included(problem, list(_included(folder, faults)), faults)
        return constants.filled(problem, statement_of(folder))

    def _validators_limits(self, limits: Fields) -> Limits | None:
        """Return the validator's time and memory limits, or None if the package sets none."""
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
    """Return the problem's subtasks and the points of its tests."""
    if new:
        _check_settings(data, faults, scoring=scoring)
    if not scoring:
        return Scoring() if new else read_acceptance(data, faults)
    if new:
        return read_max_scores(data, by_validator=validation.custom)
    return read_scoring(data, faults, by_validator=validation.score, domjudge=domjudge)


# --- problem.yaml ------------------------------------------------------------------------------------


def _check_keys(header: Fields, faults: Faults) -> None:
    """Report keys that have no effect, because they are misspelt or belong into `limits`."""
    for key in map(str, header.values):
        if key in _LIMIT_KEYS:
            header.fault(key, "it has no effect here", "Move it into limits")
        elif key not in _HEADER_KEYS and (close := near(key, _HEADER_KEYS, _MISSPELT_SIMILARITY)):
            header.fault(key, _UNKNOWN_KEY, nearest(key, close))
    limits = header.inner("limits")
    for key in map(str, limits.values):
        if key not in _LIMIT_KEYS and near(key, _LIMIT_KEYS):
            limits.fault(key, _UNKNOWN_KEY, nearest(key, _LIMIT_KEYS))
        elif key not in _LIMIT_KEYS:
            faults.note(f"{limits.place(key)}: {_UNKNOWN_KEY}, so it is ignored", Kattis.header)


def _check_legacy(header: Fields) -> None:
    """Report a version, a type or an objective that is not supported in the legacy format."""
    version = header.text("problem_format_version", "legacy")
    if version not in _VERSIONS:
        header.fault(
            "problem_format_version",
            f"{version} is not supported",
            f"Supported: {', '.join(sorted(_VERSIONS | _NEWER_VERSIONS))}",
        )
    kind = header.text("type", "pass-fail")
    if kind not in ("pass-fail", "scoring"):
        header.fault("type", f"{kind!r} is neither pass-fail nor scoring", "Correct it in the file")
    if header.inner("grading").values.get("objective", "max") != "max":
        header.fault(
            "grading.objective",
            "min is not supported",
            "Only problems in which the most points win are judged",
        )


_RUNNER_NAMES = frozenset(
    {"main.py", "__main__.py", "main.js"}
)  # entry points of languages that start a single source


class _Included(NamedTuple):
    """A file in include/."""

    path: str  # in the package
    language: str  # or `default`
    file: NamedBlob  # its name starts with this judge's name of the language
    forks: bool
    fault: tuple[str, str]  # why submissions cannot use it, and the remedy; both empty if they can


def _included(folder: Path, faults: Faults) -> Iterator[_Included]:
    """Yield the files in include/. It has one folder for each language, and `default` for all languages."""
    for path in visible((folder / "include").glob("*/")):
        name = path.name
        language = _language_of_folder(name)
        if not language:
            faults.note("ignored: not a supported language", f"include/{name}")
            continue
        for file in files_below(folder, f"include/{name}"):
            relative_path, fault, calls = (
                file.name.removeprefix(f"include/{name}/"),
                ("", ""),
                _process_calls(file),
            )
            if forbidden_calls := sorted(calls - _FORK_CALLS):
                problem = f"it is compiled with submissions and calls {forbidden_calls[0]}"
                fault = problem, "It may fork, but submissions cannot start other programs"
            if relative_path in _RUNNER_NAMES:
                problem = "it would be started instead of the submission, which is not supported"
                fault = problem, "Only files that are compiled with submissions are supported"
            blob = NamedBlob(name=f"{language}/{relative_path}", content=file.content)
            yield _Included(file.name, language, blob, bool(calls & _FORK_CALLS), fault)


def _with_included(problem: Problem, files: Sequence[_Included], faults: Faults) -> Problem:
    """Return the problem with the files in include/, and without the languages whose files are unusable.

    At least one accepted solution must remain, because it shows that the package can be solved.
    """
    solved_languages = {solution.language for solution in accepted(problem)}
    unusable, reasons = [file for file in files if any(file.fault)], dict[str, str]()
    for file in files:
        sentence = "it is compiled with submissions and forks"
        if any(file.fault) or not file.forks:
            continue
        if file.language in (*solved_languages, "default") and solved_languages:
            faults.note(
                f"{sentence}; submissions may have as many processes as accepted solutions need", file.path
            )
            continue
        in_language = "" if file.language == "default" else f" in {file.language}"
        remedy = f"Add an accepted solution{in_language}, which shows how many processes are needed"
        unusable.append(
            file._replace(
                fault=(f"{sentence}, but the package has no accepted solution{in_language}", remedy)
            )
        )
    unusable_languages = {name for file in unusable for name in _languages_that_use(file.language)}
    for file in unusable:
        if "default" in unusable_languages or not solved_languages - unusable_languages:
            faults.add(file.fault[0], file.path, remedy=file.fault[1])
        else:
            faults.note(f"{file.language} is excluded: {file.fault[0]}. {file.fault[1]}", file.path)
            for name in _languages_that_use(file.language):
                reasons.setdefault(name, f"{file.path}: {file.fault[0]}")
    for solution in problem.solutions:
        if solution.language in reasons:
            faults.note(f"ignored: {solution.language} is excluded", f"submissions: {solution.name}")
    used_files = [file for file in files if file.language not in reasons]
    return replace(
        problem,
        included=tuple(file.file for file in used_files),
        forks_by=tuple(file.file.name for file in used_files if file.forks),
        left_out=reasons,
        solutions=tuple(item for item in problem.solutions if item.language not in reasons),
    )


def _languages_that_use(language: str) -> tuple[str, ...]:
    """Return the languages that use a folder of include/. PyPy also uses Python's folder."""
    if language == "default":
        return (language,)
    python = find(language).syntax == "python"
    return tuple(item.name for item in LANGUAGES if item.syntax == "python") if python else (language,)


def _language_of_folder(name: str) -> str:
    """Return the language of a folder of include/, or `default`. An empty string means no known language."""
    try:
        return name if name == "default" else find(name).name
    except InputError:
        return ""


def _process_calls(file: NamedBlob) -> set[str]:
    """Return the names of the calls in a source that start processes."""
    return set(_PROCESS_CALL.findall(_COMMENTS.sub("", file.content.read().decode(errors="replace"))))


def _title(header: Fields) -> str:
    """Return the problem's title, or an empty string if the header has none.

    If the header has one title for each language, the English title or else the first one is returned.
    YAML parses some titles as numbers.
    """
    value = header.values.get("name")
    if isinstance(value, dict):
        value = value.get("en", next(iter(value.values()), None))
    plain = isinstance(value, str | float) or (isinstance(value, int) and abs(value) < _MAX_NUMERIC_TITLE)
    return str(value) if plain else ""


def _types(header: Fields) -> list[object]:
    """Return the problem's types. Only the newer versions can have several."""
    types = header.values.get("type", "pass-fail")
    return types if isinstance(types, list) else [types]


def _validation(folder: Path, header: Fields, *, scoring: bool, new: bool) -> Validators:
    """Return how the package validates outputs.

    Legacy packages have the field `validation`. In the newer versions it follows from the problem's types
    and from the folder output_validator.
    """
    modes: list[Any] = _types(header)
    if new:
        for kind in modes:
            if kind not in ("pass-fail", "scoring", "interactive", "multi-pass"):
                problem = f"{shown(kind)} problems are not supported in this version"
                header.fault("type", problem, "Expected pass-fail, scoring, interactive or multi-pass")
        needs_validator = "interactive" in modes or "multi-pass" in modes
        custom = needs_validator or (folder / NEW_VALIDATOR).is_dir() or _is_draft(folder)
        if header.values.get("validation", "default") not in ("default", "custom" if custom else "default"):
            header.fault(
                "validation", "not a key of this version", f"Use `type` and the folder {NEW_VALIDATOR}/"
            )
    else:
        first, *modes = header.text("validation", "default").split() or ["default"]
        custom = first == "custom"
        allowed_modes = {"interactive", "multi-pass"} | ({"score"} if scoring else set())
        if not (custom or (first == "default" and not modes)) or not allowed_modes.issuperset(modes):
            header.fault(
                "validation",
                f"{' '.join([first, *modes])!r} is not supported",
                "Expected default, or custom with interactive or multi-pass and, for scoring problems, score",
            )
    passes = 1
    if "multi-pass" in modes:
        passes = header.inner("limits").whole("validation_passes", 2, least=2, most=_MAX_PASSES)
    return Validators(custom, "interactive" in modes, "score" in modes, passes)


# --- constants: placeholders in a package's files, which are replaced by values -----------------------


# `{{name}}` or `{{name.variant}}`; in statements with TeX also `\constant{name}`.
_CONSTANT = re.compile(rb"\{\{([\w.-]+)\}\}|\\constant\{([\w.-]+)\}", re.ASCII)
_VALUE = "value"  # key of the main value of a constant that also has variants such as `latex`


class Constants:
    """A package's constants: values by placeholder, `name` or `name.variant`."""

    def __init__(self, fields: Fields) -> None:
        self._values = dict[bytes, bytes]()
        for name, value in fields.values.items():
            if not isinstance(value, dict):
                self._add(name, fields, name, value)
                continue
            inner = fields.inner(name)
            if not inner.has(_VALUE):
                inner.lacking(_VALUE, "the number or string that replaces the name without a variant")
            for variant, variant_value in value.items():
                self._add(name if variant == _VALUE else f"{name}.{variant}", inner, variant, variant_value)

    def _add(self, name: str, fields: Fields, field: str, value: Any) -> None:
        if isinstance(value, bool) or not isinstance(value, int | float | str):
            fields.fault(field, f"{shown(value)} is neither a number nor a string", "Correct it in the file")
        self._values[name.encode()] = str(value).encode()

    def fill(self, content: bytes) -> bytes:
        """Return the content with the placeholders of known constants replaced by their values."""
        return _CONSTANT.sub(lambda match: self._values.get(match[1] or match[2], match[0]), content)

    def filled(self, problem: Problem, statement: Blob | None) -> Problem:
        """Return the problem with constants replaced in the statement and in all source files."""
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
    """Return True if the package has output_validators/, as in the legacy version and in early drafts."""
    return (folder / _VALIDATORS).is_dir() and not (folder / NEW_VALIDATOR).exists()


# --- limits ------------------------------------------------------------------------------------------


def _time_limit(folder: Path, header: Fields, faults: Faults) -> float | None:
    """Return the time limit in seconds, or None if no file sets one.

    It is read from problem.yaml, else from .timelimit, else from domjudge-problem.ini.
    """
    limits = header.inner("limits")
    if limits.values.get("time_limit") is not None:
        seconds = time_limit(limits)
        resolution = limits.number(_TIME_RESOLUTION, above=0) if limits.has(_TIME_RESOLUTION) else 0
        if resolution and abs(seconds - round(seconds / resolution) * resolution) > _TIME_TOLERANCE_S:
            problem = f"{seconds:g} s is not a multiple of {limits.place(_TIME_RESOLUTION)}, {resolution:g} s"
            faults.note(
                f"{limits.place('time_limit')}: {problem}. The judge uses {seconds:g} s", Kattis.header
            )
        return seconds or None
    for file, parse in ((".timelimit", str.strip), (DOMJUDGE, _ini_time_limit)):
        path = folder / file
        if path.is_file() and (text := parse(path.read_text(encoding="utf-8-sig", errors="replace"))):
            if re.fullmatch(r"[0-9]{1,9}(\.[0-9]{1,9})?", text) and float(text) > 0:
                return float(text)
            problem = f"{text[:40]!r} is not a number of seconds"
            faults.add(problem, file, remedy="Expected a number such as 2 or 1.5")
            return None
    return None


def _ini_time_limit(text: str) -> str:
    """Return the `timelimit` of a domjudge-problem.ini, or an empty string if the file is invalid."""
    parser = configparser.ConfigParser(interpolation=None, strict=False)
    try:
        parser.read_string("[problem]\n" + text)
    except configparser.Error:
        return ""
    return parser.get("problem", "timelimit", fallback="").strip("'\" ")


def _multiplier(header: Fields, faults: Faults, *, new: bool) -> float:
    """Return the factor from the slowest accepted solution's time to the time limit."""
    limits = header.inner("limits")
    if new:
        multiplier = limits.inner("time_multipliers").number("ac_to_time_limit", _NEWER_MULTIPLIER, above=0)
    else:
        multiplier = limits.number("time_multiplier", _DEFAULT_MULTIPLIER, above=0)
    faults.note(
        f"no time limit: the judge uses {multiplier:g} times the time of the slowest accepted solution",
        Kattis.header,
    )
    return multiplier


# --- comparing ---------------------------------------------------------------------------------------


def _flags(header: Fields, data: DataGroup) -> tuple[tuple[str, ...], bool]:
    """Return the validator's arguments for all tests, and whether all tests have the same arguments.

    If they have, the tests' arguments are included. Otherwise each test adds its arguments itself.
    """
    distinct_arguments = {test.arguments for test in data.all_tests}
    header_flags = tuple(header.text("validator_flags", "").split())
    alike = len(distinct_arguments) < 2
    return (*header_flags, *(next(iter(distinct_arguments), ()) if alike else ())), alike


def _checker(
    header: Fields,
    validation: Validators,
    flags: tuple[str, ...],
    program: Executable | None,
    full: float,
    limits: Limits | None,
) -> Checker:
    """Return the problem's checker: the default comparison, the package's validator, or none."""
    if not validation.custom:
        return _default_checker(header, "validator_flags", flags)
    if validation.interactive or program is None:
        # The interactor is the validator and decides the score, so no checker is needed.
        return Checker(passes=validation.passes)
    return program.as_checker(
        CheckerKind.ICPC, arguments=flags, full=full, passes=validation.passes, limits=limits
    )


def _unused_validators(folder: Path) -> str:
    """Return the folder that contains validators, or an empty string if the package has none."""
    folders = (name for name in (_VALIDATORS, NEW_VALIDATOR) for _ in visible((folder / name).glob("*")))
    return next(folders, "")


def _grader(folder: Path, data: DataGroup, faults: Faults) -> Checker | None:
    """Return the package's grader if any group uses custom grading, else None."""
    if not any(map(is_custom, groups_of(data))):
        return None
    program = _only_program(folder, _GRADERS, "A custom grading needs exactly one grader", faults)
    return None if program is None else program.as_checker(CheckerKind.ICPC)


def _default_checker(fields: Fields, field: str, flags: tuple[str, ...]) -> Checker:
    """Return the default comparison, token by token. It ignores case unless a flag forbids it.

    Unknown flags are reported under the key `field`.
    """
    remaining, switches, tolerance = list(flags), set[str](), dict[str, float]()
    while remaining:
        flag = remaining.pop(0)
        if flag in ("case_sensitive", "space_change_sensitive"):
            switches.add(flag)
        elif flag in ("float_tolerance", "float_absolute_tolerance", "float_relative_tolerance"):
            tolerance[flag] = _tolerance(fields, field, flag, remaining.pop(0) if remaining else "")
        else:
            fields.fault(field, f"{flag!r} is not a flag of the default validator", "Correct it")
    both = tolerance.get("float_tolerance")
    return Checker(
        kind=CheckerKind.TOKENS,
        case_sensitive="case_sensitive" in switches,
        space_sensitive="space_change_sensitive" in switches,
        absolute=tolerance.get("float_absolute_tolerance", both),
        relative=tolerance.get("float_relative_tolerance", both),
    )


def _tolerance(fields: Fields, field: str, flag: str, text: str) -> float:
    """Return the tolerance as a number. An invalid tolerance is a fault and counts as 0."""
    if re.fullmatch(r"(\d+\.?\d*|\.\d+)([eE][-+]?\d{1,3})?", text, re.ASCII):
        return float(text)
    fields.fault(field, f"{text!r} is not a tolerance for {flag}", "Expected a number such as 1e-6")
    return 0.0


# --- programs: validators and graders ---------------------------------------------------------------


NEW_VALIDATOR = "output_validator"
_VALIDATORS, _GRADERS = "output_validators", "graders"
_MAINS = ("__main__", "validate", "validator", "output_validator", "interactor", "grade", "grader", "main")
_SCRIPTS = frozenset({"build", "run"})


def _only_program(folder: Path, subfolder: str, remedy: str, faults: Faults) -> Executable | None:
    """Return the only program in a subfolder. Without exactly one program, report a fault."""
    entries = visible((folder / subfolder).glob("*"))
    programs = [path for path in entries if path.is_dir() or of_suffix(path.suffix)]
    if len(programs) != 1:
        count = "no program" if not programs else f"{len(programs)} programs"
        faults.add(f"contains {count}", subfolder, remedy=remedy)
        return None
    return _program(folder, programs[0], faults)


def _program(folder: Path, program: Path, faults: Faults) -> Executable | None:
    """Return a program: a folder, or a file and the files next to it. No main source is a fault."""
    path = program.relative_to(folder).as_posix()
    candidates = program.parent.glob("*") if program.is_file() else program.rglob("*")
    files = [file for file in visible(candidates) if file.is_file()]
    scripts = [file for file in files if file.name in _SCRIPTS and file.parent == program]
    main = program if program.is_file() else scripts[0] if scripts else _main_source(program, files)
    if main is None:
        name = "grade" if path.startswith(_GRADERS) else "validate"
        faults.add("cannot find the source with the main function", path, remedy=f"Call it {name}")
        return None
    ordered = [main, *(file for file in files if file != main)]
    names = [file.relative_to(folder).as_posix() for file in ordered]
    # If the program is built by scripts, Python runs these scripts and starts the result.
    language = "python" if scripts else language_of(main.name) or "c++"
    return Executable(sources=named(folder, names), language=language)


def _main_source(program: Path, files: Sequence[Path]) -> Path | None:
    """Return a folder's only source, or the source with a main source's name; None if there is neither."""
    sources = [file for file in files if of_suffix(file.suffix)]
    if len(sources) == 1:
        return sources[0]
    by_stem = {file.stem: file for file in reversed(sources)}
    return next((by_stem[stem] for stem in (*_MAINS, program.name) if stem in by_stem), None)


# --- data/: tests in groups -------------------------------------------------------------------------


_LEGACY_SETTINGS, _NEWER_SETTINGS = "testdata.yaml", "test_group.yaml"
_VALIDATOR_FLAGS, _ARGUMENTS = (
    "output_validator_flags",
    "output_validator_args",
)  # the second is the name in the newer versions
SAMPLE, SECRET = "sample", "secret"
_HEADER_GRADING_KEYS = (
    "accept_score",
    "reject_score",
    "range",
    "on_reject",
)  # older packages have them in problem.yaml
_LEGACY_GROUP_KEYS = (
    *_HEADER_GRADING_KEYS,
    "grading",
    "grader_flags",
    _VALIDATOR_FLAGS,
    "input_validator_flags",
)
_TEST_KEYS = (  # keys of tests and groups in the newer versions; the last two only in drafts
    *("args", _ARGUMENTS, "input_validator_args", "static_validator_args"),
    *("input_visualizer_args", "output_visualizer_args", "full_feedback", "hint", "description"),
    *(_VALIDATOR_FLAGS, "input_validator_flags"),
)


class DataGroup(NamedTuple):
    """A folder of tests. It inherits settings from the folder above unless its settings file sets them."""

    name: str  # path below data/, such as secret/group1; empty for data/ itself
    fields: Fields  # all settings, inherited settings included
    own: frozenset[str]  # keys that its own settings file sets
    tests: tuple[Test, ...]
    inner: tuple[DataGroup, ...]  # subgroups that contain tests at any depth

    @property
    def parts(self) -> list[Test | DataGroup]:
        """Return the group's tests and subgroups in the order of judging, by name."""
        return sorted((*self.tests, *self.inner), key=lambda part: part.name.rpartition("/")[2])

    @property
    def all_tests(self) -> tuple[Test, ...]:
        """Return the tests of this group and of all groups in it."""
        return tuple(test for group in groups_of(self) for test in group.tests)

    @property
    def flags_name(self) -> str:
        """Return the key that holds the validator's arguments, which depends on the version."""
        return _ARGUMENTS if self.fields.has(_ARGUMENTS) else _VALIDATOR_FLAGS

    @property
    def grader_flags(self) -> tuple[str, ...]:
        """Return the flags for the default grader or the package's grader."""
        return _flag_list(self.fields, "grader_flags")


def read_data(
    folder: Path, grading: Fields, *, needs_answers: bool, faults: Faults, new: bool, constants: Constants
) -> DataGroup:
    """Return the tests and groups in data/. A test's name is its path in data/ without the suffix.

    Args:
        folder: The package.
        grading: The section `grading` of the header. Its settings apply unless data/ sets them.
        needs_answers: Report tests without an answer file.
        faults: Receives faults and notes.
        new: The package has one of the newer versions of the format.
        constants: Values that replace placeholders in settings files.
    """
    reader = _DataReader(folder, needs_answers, faults, new, constants)
    header_settings = {
        name: grading.values[name] for name in _HEADER_GRADING_KEYS if grading.values.get(name) is not None
    }
    root_settings = reader.own("data")
    values = {**header_settings, **root_settings}
    groups = [reader.group(name, values) for name in (SAMPLE, SECRET) if (folder / "data" / name).is_dir()]
    inner = tuple(group for group in groups if group.all_tests)
    if SECRET not in [
        group.name for group in inner
    ]:  # samples alone do not show whether a submission is right
        faults.add("no tests", "data/secret", remedy="Expected files NAME.in and NAME.ans in this folder")
    fields = Fields(values, reader.settings("data"), faults)
    return DataGroup(name="", fields=fields, own=frozenset(root_settings), tests=(), inner=inner)


def groups_of(group: DataGroup) -> Iterator[DataGroup]:
    """Yield the group and all groups in it at any depth, in the order of judging."""
    yield group
    for inner in group.inner:
        yield from groups_of(inner)


class _DataReader:
    """Reads the groups, tests and settings files below data/."""

    def __init__(
        self, folder: Path, needs_answers: bool, faults: Faults, new: bool, constants: Constants
    ) -> None:
        self._folder, self._needs_answers, self._faults, self._new = folder, needs_answers, faults, new
        self._constants = constants

    def settings(self, group_path: str) -> str:
        """Return the path of a group's settings file. Drafts of the newer versions use the legacy name."""
        names = (_NEWER_SETTINGS, _LEGACY_SETTINGS) if self._new else (_LEGACY_SETTINGS,)
        files = [f"{group_path}/{name}" for name in names]
        return next((file for file in files if (self._folder / file).exists()), files[0])

    def own(self, group_path: str) -> dict[str, Any]:
        """Return the settings in a group's settings file, without inherited settings."""
        file = self.settings(group_path)
        if not (self._folder / file).exists():
            self._refuse_misnamed(group_path, file)
            return {}
        return read_mapping(self._folder, file, self._faults, self._constants.fill) or {}

    def _refuse_misnamed(self, group_path: str, expected_file: str) -> None:
        """Report files whose names look like a misspelt name of the group's settings file."""
        for path in visible((self._folder / group_path).glob("*.y*ml")):
            belongs_to_test = path.with_suffix(".in").is_file()
            if not belongs_to_test and near(
                path.name.lower(), (_LEGACY_SETTINGS, _NEWER_SETTINGS), _MISNAMED_SIMILARITY
            ):
                remedy = f"Call it {expected_file.rpartition('/')[2]}, as in this version"
                self._faults.add(
                    "not the name of a settings file", f"{group_path}/{path.name}", remedy=remedy
                )

    def group(self, name: str, inherited: Mapping[str, Any]) -> DataGroup:
        """Return the group with this name. `inherited` are the settings of the group above."""
        group_path = f"data/{name}"
        own_settings = self.own(group_path)
        values = {**inherited, **own_settings}
        paths = visible((self._folder / group_path).iterdir())
        if self._new:
            self._refuse_arguments_and_files(group_path, own_settings, paths)
        inner = [self.group(f"{name}/{path.name}", values) for path in paths if path.is_dir()]
        fields = Fields(values, self.settings(group_path), self._faults)
        data_group = DataGroup(
            name=name,
            fields=fields,
            own=frozenset(own_settings),
            tests=tuple(self._tests(name, paths, fields)),
            inner=tuple(group for group in inner if group.all_tests),
        )
        if own_settings and not data_group.all_tests and name not in (SAMPLE, SECRET):
            self._faults.add(
                "settings of a group without tests",
                fields.file,
                remedy="Add tests to the group or remove its settings",
            )
        return data_group

    def _refuse_arguments_and_files(
        self, group_path: str, own_settings: Mapping[str, Any], paths: list[Path]
    ) -> None:
        """Report arguments and files for submissions, which newer versions allow and this judge does not."""
        if own_settings.get("args"):
            self._faults.add(
                "arguments for submissions are not supported", self.settings(group_path), field="args"
            )
        for path in paths:
            file = f"{group_path}/{path.name}"
            if path.suffix == ".files" and path.is_dir():
                self._faults.add(
                    "files for submissions are not supported",
                    file,
                    remedy="Submissions can read standard input only",
                )
            values = (read_mapping(self._folder, file, self._faults) or {}) if self._is_of_test(path) else {}
            if values.get("args"):
                self._faults.add("arguments for submissions are not supported", file, field="args")
            for key in sorted(values.keys() - set(_TEST_KEYS)):
                self._faults.add(_UNKNOWN_KEY, file, field=key, remedy=nearest(key, _TEST_KEYS))

    def _is_of_test(self, path: Path) -> bool:
        """Return True if the file holds the settings of a single test."""
        has_test_name = path.suffix == ".yaml" and path.name not in (_NEWER_SETTINGS, _LEGACY_SETTINGS)
        return self._new and has_test_name and path.with_suffix(".in").is_file() and path.is_file()

    def _arguments(self, group: Fields, test: Path) -> tuple[str, ...]:
        """Return the validator's arguments for a test: from the test's settings file, else from its group."""
        fields, file = group, test.with_suffix(".yaml")
        if self._is_of_test(file):
            name = file.relative_to(self._folder).as_posix()
            test_fields = Fields(read_mapping(self._folder, name, Faults("")) or {}, name, self._faults)
            fields = test_fields if test_fields.has(_ARGUMENTS) else group
        return fields.texts(_ARGUMENTS) if fields.has(_ARGUMENTS) else _flag_list(fields, _VALIDATOR_FLAGS)

    def _tests(self, group: str, paths: list[Path], fields: Fields) -> Iterator[Test]:
        """Yield the tests among the files of a group, sorted by name."""
        inputs = {path.stem: path for path in paths if path.suffix == ".in" and path.is_file()}
        answers = {path.stem: path for path in paths if path.suffix == ".ans" and path.is_file()}
        for path in paths:
            if path.suffix in (".IN", ".In", ".ANS", ".Ans") and path.is_file():
                remedy = f"Call it {path.stem}{path.suffix.lower()}"
                self._faults.add("not the name of a test", f"data/{group}/{path.name}", remedy=remedy)
        for stem in sorted(answers.keys() - inputs.keys()):
            self._faults.add("missing file", f"data/{group}/{stem}.in", remedy=f"Add it or remove {stem}.ans")
        for stem, path in sorted(inputs.items()):
            name = f"{group}/{stem}"
            if stem not in answers and path.with_suffix(".out").is_file():
                self._faults.add(
                    "looks like an answer file", f"data/{name}.out", remedy=f"Call it {stem}.ans"
                )
            elif stem not in answers and self._needs_answers:
                self._faults.add("missing file", f"data/{name}.ans", remedy="Outputs are compared with it")
            if not name.isprintable():
                self._faults.add(
                    "a name with unprintable characters", f"data/{name!r}", remedy="Rename its files"
                )
            test = test_of(name, path, answers.get(stem))
            yield replace(test, arguments=self._arguments(fields, path))


def _flag_list(fields: Fields, name: str) -> tuple[str, ...]:
    """Return the flags in a setting: a string, or an object with the key `flags` and a validator's name."""
    if isinstance(fields.values.get(name), dict):
        return tuple(fields.inner(name).text("flags", "").split())
    return tuple(fields.text(name, "").split()) if fields.values.get(name) is not None else ()


# --- grading in the legacy version: by flags of the default grader ----------------------------------


_POINTS = {mode.value: mode for mode in (Points.SUM, Points.AVERAGE, Points.LEAST, Points.MOST)}
_ACCEPTANCES = {word.value: word for word in Acceptance} | {"no_errors": Acceptance.WORST_ERROR}
_IGNORE_SAMPLE, _ANY_ACCEPTED = "ignore_sample", "accept_if_any_accepted"
_FLAGS = {*_POINTS, *_ACCEPTANCES, _IGNORE_SAMPLE, _ANY_ACCEPTED}
# Whether judging stops after a part that is not accepted. The last three values come from problem.yaml.
_STOPS_BY_ACTION = {
    "break": True,
    "continue": False,
    "first_error": True,
    "worst_error": False,
    "grade": False,
}
_NUMBER = r"[-+]?(?:inf|\d+\.?\d*(?:[eE][-+]?\d{1,2})?|\.\d+)"
_CUSTOM = "custom"
_WHOLE_PROBLEM = "all"  # name of the only subtask if the problem is graded as a whole


class Scoring(Value):
    """A problem's subtasks, and the scores that its validator writes for full points."""

    subtasks: tuple[Subtask, ...] = ()
    secret: tuple[str, ...] = ()  # names of the subtasks that are not samples
    # Score in score.txt that means full points. RAW_POINTS means that scores are used as points.
    full: float = 1.0
    own_full: Mapping[str, float] = {}  # by test, for tests with another score for full points


class _Node(NamedTuple):
    """A group with its grading rules and its subgroups."""

    name: str
    grading: Grading
    inner: tuple[_Node, ...]


def read_scoring(root: DataGroup, faults: Faults, *, by_validator: bool, domjudge: bool = False) -> Scoring:
    """Return the scoring of a legacy problem with points.

    Args:
        root: The group of data/ itself.
        faults: Receives faults and notes.
        by_validator: The validator awards the points.
        domjudge: The package has DOMjudge's settings file.
    """
    reader = _RuleReader(faults, scoring=True, by_validator=by_validator, domjudge=domjudge)
    top = reader.node(root)
    if not top.inner:  # without tests, which is reported elsewhere
        return Scoring()
    full_scores = reader.full.values()
    full = max(full_scores, default=1.0) if all(full_scores) else RAW_POINTS
    subtasks = tuple(_subtasks_of_problem(top, by_validator))
    own_full = {name: score for name, score in reader.full.items() if not math.isclose(score, full)}
    secret = tuple(subtask.name for subtask in subtasks if subtask.name not in (SAMPLE, _WHOLE_PROBLEM))
    return Scoring(subtasks=subtasks, secret=secret, full=full, own_full=own_full)


def read_acceptance(root: DataGroup, faults: Faults) -> Scoring:
    """Return the scoring of a problem without points: one subtask, or none if all tests must pass."""
    top = _RuleReader(faults, scoring=False, by_validator=False).node(root)
    if not top.inner or is_strict(top.grading):
        return Scoring()
    tree = replace(top.grading, points=Points.ACCEPTED)
    return Scoring(subtasks=(_subtask(_WHOLE_PROBLEM, tree, graded=True),))


# --- rules -------------------------------------------------------------------------------------------


class _RuleReader:
    """Reads the grading rules of groups, and reports each fault once."""

    def __init__(self, faults: Faults, *, scoring: bool, by_validator: bool, domjudge: bool = False) -> None:
        self._faults, self._scoring, self._by_validator = faults, scoring, by_validator
        self._domjudge = domjudge
        self._ignores_sample = False
        self.full: dict[str, float] = {}  # by test: the validator's score that means full points

    def node(self, group: DataGroup, in_custom_group: bool = False) -> _Node:
        """Return a group with its rules. `in_custom_group`: the package's grader grades a group around it."""
        self._check(group)
        has_custom_grader = is_custom(group)
        if not group.name:
            self._ignores_sample = not has_custom_grader and _IGNORE_SAMPLE in group.grader_flags
        inner = {part.name: self.node(part, in_custom_group or has_custom_grader) for part in group.inner}
        parts = (inner[part.name].grading if part.name in inner else part.name for part in group.parts)
        # If several flags exclude each other, the last flag wins.
        flags = () if has_custom_grader else group.grader_flags[::-1]
        points = next((_POINTS[flag] for flag in flags if flag in _POINTS), Points.SUM)
        modes = (_ACCEPTANCES[flag] for flag in flags if flag in _ACCEPTANCES)
        acceptance = next(modes, Acceptance.WORST_ERROR)
        scored = self._scoring and bool(group.tests)
        by_grader = has_custom_grader or in_custom_group
        accept_score = self._accept_score(group, points, by_grader=by_grader) if scored else 1.0
        if scored and not has_custom_grader and not self._by_validator:
            self._check_accept_score(group, points, accept_score)
        grading = Grading(
            parts=tuple(parts),
            points=points,
            acceptance=acceptance,
            any_accepted=_ANY_ACCEPTED in flags,
            last_counts=not group.name and self._ignores_sample,
            stops=_stops(group),
            accept_score=accept_score,
            reject_score=_number(group.fields, "reject_score", 0.0) if scored else 0.0,
            flags=group.grader_flags if has_custom_grader else None,
            full=self._max_points(group)
            if has_custom_grader and self._scoring and not in_custom_group
            else 0.0,
        )
        if self._scoring and may_exceed(grading):
            problem = f"{points.value} of unequal parts, but judging stops at the first rejected part"
            group.fields.fault("on_reject", problem, "Set it to continue, so that all parts count")
        return _Node(group.name.removeprefix(f"{SECRET}/"), grading, tuple(inner.values()))

    def _check(self, group: DataGroup) -> None:
        """Report unknown values of `grading`, unknown keys and unknown grader flags."""
        grading = group.fields.values.get("grading") or "default"
        if grading not in ("default", _CUSTOM) and (not group.name or "grading" in group.own):
            group.fields.fault("grading", f"{shown(grading)} is not supported", "Expected default or custom")
        _check_group_keys(group, _LEGACY_GROUP_KEYS, self._faults)
        if is_custom(group):  # its flags are for the package's grader
            return
        for flag in dict.fromkeys(group.grader_flags):
            if flag in _FLAGS or "grader_flags" not in group.own:
                continue
            if near(flag, _FLAGS, _MISSPELT_SIMILARITY):
                group.fields.fault("grader_flags", f"unknown flag {flag!r}", nearest(flag, sorted(_FLAGS)))
            else:
                self._faults.note(
                    f"{flag!r} is not a flag of the default grader, so it is ignored", group.fields.file
                )

    def _accept_score(self, group: DataGroup, points: Points, *, by_grader: bool) -> float:
        """Return the points of each test in the group.

        `by_grader`: the package's grader turns the validator's scores into points, in any way it likes.
        """
        if not self._by_validator:
            return _number(group.fields, "accept_score", 1.0)
        if by_grader:  # the range limits the grader's points, not the tests' scores
            full = RAW_POINTS
        elif self._ignores_sample and group.name.split("/")[0] == SAMPLE and "range" not in group.own:
            full = 0.0  # scores of ignored samples never count
        else:
            full = self._max_points(group) / (len(group.tests) if points is Points.SUM else 1)
        self.full |= dict.fromkeys((test.name for test in group.tests), full)
        return full

    def _check_accept_score(self, group: DataGroup, points: Points, score: float) -> None:
        """Report an accept_score that is the score of the whole group by other settings of the package.

        The format gives it to each test, DOMjudge gives it to the group once.
        """
        if len(group.tests) < 2 or "accept_score" not in group.own or not score or points is Points.LEAST:
            return
        end = _range_end(group)
        total, remedy = score * len(group.tests), "Add `grader_flags: min` if the group earns it once"
        if self._domjudge:
            problem = f"DOMjudge gives it to the group, the format to each test, and there is {DOMJUDGE}"
            group.fields.fault("accept_score", problem, f"{remedy}, else remove {DOMJUDGE}")
        elif points is Points.SUM and "range" in group.own and end is not None and end < total * (1 - 1e-9):
            problem = f"{score:g} points for each of {len(group.tests)} tests exceed the range, {end:g}"
            group.fields.fault("accept_score", problem, f"{remedy}, else correct the range")

    def _max_points(self, group: DataGroup) -> float:
        """Return the group's maximum points, which are the end of its range. A missing range is a fault."""
        max_points = _range_end(group)
        if max_points is None or max_points < 0:
            remedy = "Add a range to this group, such as `range: 0 20`"
            group.fields.fault("range", "the group's maximum points are missing", remedy)
            return 0.0
        return max_points


def _check_group_keys(group: DataGroup, known: Sequence[str], faults: Faults) -> None:
    """Report a group's misspelt keys as faults, and its other unknown keys as notes."""
    for key in sorted(group.own.difference(known)):
        if near(key, known):
            group.fields.fault(key, _UNKNOWN_KEY, nearest(key, known))
        else:
            faults.note(f"{group.fields.place(key)}: {_UNKNOWN_KEY}, so it is ignored", group.fields.file)


def is_custom(group: DataGroup) -> bool:
    """Return True if the package's grader grades the group."""
    return group.fields.values.get("grading") == _CUSTOM


def _stops(group: DataGroup) -> bool:
    """Return True if judging stops at the group's first part that is not accepted."""
    action = group.fields.values.get("on_reject") or "break"
    if (not isinstance(action, str) or action not in _STOPS_BY_ACTION) and (
        not group.name or "on_reject" in group.own
    ):
        group.fields.fault("on_reject", f"{shown(action)} is not supported", "Expected break or continue")
    return _STOPS_BY_ACTION.get(action, True) if isinstance(action, str) else True


def _range_end(group: DataGroup) -> float | None:
    """Return the end of the group's range, or None if the group sets no valid range.

    Only secret/ without subgroups inherits the range of data/.
    """
    is_only_group = group.name == SECRET and not group.inner
    if "range" not in group.own and group.name and not is_only_group:
        return None
    range_text = group.fields.values.get("range")
    pair = rf"\s*{_NUMBER}\s+({_NUMBER})\s*"
    match = re.fullmatch(pair, range_text, re.ASCII) if isinstance(range_text, str) else None
    end = float(match[1]) if match else math.nan
    return end if math.isfinite(end) else None


def _number(fields: Fields, name: str, default: float) -> float:
    """Return a setting as a number. YAML reads some numbers as strings, such as 1e3."""
    value = fields.values.get(name)
    if isinstance(value, str) and re.fullmatch(_NUMBER, value, re.ASCII) and 0 <= float(value) < math.inf:
        return float(value)
    return default if value is None else fields.number(name, default)


# --- subtasks ----------------------------------------------------------------------------------------


def _subtasks_of_problem(root: _Node, by_validator: bool) -> Iterator[Subtask]:
    """Yield the problem's subtasks, whose points add up to those of the root group.

    The problem is one subtask if its groups cannot be scored separately. Ignored samples have 0 points.
    """
    rules, *samples, secret = root.grading, *root.inner
    if not rules.last_counts or (samples and rules.stops):
        yield from _subtasks_of(root._replace(name=_WHOLE_PROBLEM), by_validator, earns=False)
        return
    for sample in samples:
        tests = tuple(tests_of(sample.grading))
        yield Subtask(name=sample.name, points=0.0, tests=tests, score_type=ScoreType.SUM)
    yield from _subtasks_of(secret, by_validator, earns=rules.acceptance is Acceptance.ALWAYS)


def _subtasks_of(node: _Node, by_validator: bool, *, earns: bool) -> Iterator[Subtask]:
    """Yield the group's subtasks. `earns`: its points count even if the group is rejected."""
    if node.inner and adds_up(node.grading, earns=earns):
        if tests := tuple(part for part in node.grading.parts if isinstance(part, str)):
            direct_tests = _Node(node.name, replace(node.grading, parts=tests), ())
            yield from _subtasks_of(direct_tests, by_validator, earns=True)
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
    """Return a subtask with the tests and the maximum points of a group. `graded`: use its grading rules."""
    return Subtask(
        name=name,
        points=most(tree),
        tests=tuple(tests_of(tree)),
        score_type=score_type,
        grading=tree if graded else None,
    )


# --- scoring in the newer versions: maximum scores and required groups ------------------------------


_MODES = ("pass-fail", "sum", "min")
_PASS_FAIL, _SUM, _MIN = _MODES
_DEFAULT_MAX_SCORE = 100.0  # points of the whole problem
_SCORE_KEYS = (
    "max_score",
    "score_aggregation",
    "require_pass",
)  # keys of secret/ and of its direct subgroups
_STATIC_KEYS = frozenset({"static_validation", "static_validation_score"})  # the first only in drafts


def _check_settings(root: DataGroup, faults: Faults, *, scoring: bool) -> None:
    """Report settings that should change the score but cannot have an effect."""
    for group in groups_of(root):
        path_parts = group.name.split("/")
        can_have_score = scoring and path_parts[0] == SECRET and len(path_parts) < 3
        if scoring and group.name == SECRET and group.inner and group.tests:
            faults.add("tests next to groups", f"data/{SECRET}", remedy="Put them into a group")
        for key in sorted(group.own):
            if key in _STATIC_KEYS:
                group.fields.fault(key, "static validators are not supported", "Remove it")
            elif key in _SCORE_KEYS and not can_have_score:
                remedy = "Use it only in scoring problems, in secret/ and its direct groups"
                group.fields.fault(key, "it has no effect here", remedy)
            elif scoring and key not in (*_SCORE_KEYS, *_TEST_KEYS):
                group.fields.fault(key, "unknown key", nearest(key, (*_SCORE_KEYS, *_TEST_KEYS)))
        if not scoring:
            _check_group_keys(group, (*_SCORE_KEYS, *_STATIC_KEYS, *_TEST_KEYS), faults)


def read_max_scores(root: DataGroup, *, by_validator: bool) -> Scoring:
    """Return the scoring of a newer version's problem. `by_validator`: the validator awards points."""
    groups = {group.name: group for group in root.inner}
    if SECRET not in groups:
        return Scoring()  # without tests, which is reported elsewhere
    sample_tests = _test_names(groups[SAMPLE]) if SAMPLE in groups else ()
    reader = _MaxScores(groups[SECRET], sample_tests, by_validator=by_validator)
    subtasks = tuple(reader.subtasks())
    subtask_names = tuple(subtask.name for subtask in subtasks if subtask.name != SAMPLE)
    if sample_tests:
        sample_subtask = Subtask(name=SAMPLE, points=0.0, tests=sample_tests, score_type=ScoreType.SUM)
        subtasks = (sample_subtask, *subtasks)
    if not by_validator:
        return Scoring(subtasks=subtasks, secret=subtask_names)
    # Scores in samples and in pass-fail groups never count, so their full score is 0.
    own_full = {**dict.fromkeys(_test_names(root), 0.0), **reader.full}
    return Scoring(subtasks=subtasks, secret=subtask_names, full=RAW_POINTS, own_full=own_full)


def _grading_of(group: Subtask) -> Grading:
    """Return the subtask's grading rules, as a part of the rules of a larger group."""
    if group.grading is not None:
        return group.grading
    if group.score_type is ScoreType.SUM:
        return each_behind(dict.fromkeys(group.tests, group.points / len(group.tests)), ())
    return least_behind(group.tests, group.points, ())


def _test_names(group: DataGroup) -> tuple[str, ...]:
    return tuple(test.name for test in group.all_tests)


class _MaxScores:
    """Builds the subtasks of secret/ from `max_score`, `score_aggregation` and `require_pass`."""

    def __init__(self, secret: DataGroup, sample: tuple[str, ...], *, by_validator: bool) -> None:
        self._secret, self._sample, self._by_validator = secret, sample, by_validator
        self.full: dict[str, float] = {}  # by test: the validator's score that means full points

    def subtasks(self) -> Iterator[Subtask]:
        """Yield the subtasks of secret/."""
        secret, mode = self._secret, self._mode(self._secret, _SUM)
        max_score, required = self._max_score(secret, _DEFAULT_MAX_SCORE), self._required_tests(secret, {})
        if not secret.inner or mode == _PASS_FAIL:
            for group in secret.inner:
                if self._mode(group, _PASS_FAIL) != _PASS_FAIL:
                    problem = "secret/ is passed or failed as a whole"
                    group.fields.fault("score_aggregation", problem, "Remove one of the two settings")
            yield self._subtask(secret, mode, max_score, required)
            return
        earlier: dict[str, tuple[DataGroup, tuple[str, ...]]] = {}
        subtasks = list[Subtask]()
        for group in secret.inner:
            required_by_group = tuple(dict.fromkeys((*required, *self._required_tests(group, earlier))))
            subtasks.append(
                self._subtask(
                    group, self._mode(group, _PASS_FAIL), self._max_score(group, None), required_by_group
                )
            )
            earlier[group.name] = group, (*required_by_group, *_test_names(group))
        if mode == _MIN:  # all groups are one subtask, which earns the points of the worst group
            tree = Grading(
                parts=tuple(map(_grading_of, subtasks)),
                points=Points.LEAST,
                acceptance=Acceptance.ALWAYS,
                stops=False,
            )
            tests = tuple(dict.fromkeys(test for subtask in subtasks for test in subtask.tests))
            kind = ScoreType.SUM
            yield Subtask(name=SECRET, points=most(tree), tests=tests, score_type=kind, grading=tree)
            return
        total = math.fsum(subtask.points for subtask in subtasks)
        if total > max_score:
            problem = f"{max_score:g} is less than the sum of its groups, {total:g}"
            secret.fields.fault("max_score", problem, f"Set it to {total:g}")
        yield from subtasks

    def _subtask(self, group: DataGroup, mode: str, max_score: float, required: Sequence[str]) -> Subtask:
        """Return the subtask of a group. It earns points only if the tests `required` pass."""
        group_tests, name = _test_names(group), group.name.removeprefix(f"{SECRET}/")
        all_tests = tuple(dict.fromkeys((*required, *group_tests)))
        if mode != _PASS_FAIL:
            self.full |= dict.fromkeys(
                group_tests, max_score / len(group_tests) if mode == _SUM else max_score
            )
        tree: Grading | None = None
        if mode == _SUM:
            tree = (
                each_behind({test: max_score / len(group_tests) for test in group_tests}, required)
                if required
                else None
            )
        elif not self._by_validator or (mode == _MIN and not required):
            return Subtask(name=name, points=max_score, tests=all_tests)
        elif mode == _MIN:
            tree = least_behind(group_tests, max_score, required)
        else:  # pass-fail: the validator's scores do not count, neither in this group nor in required groups
            tree = Grading(parts=all_tests, points=Points.ACCEPTED, worth=max_score)
        return Subtask(name=name, points=max_score, tests=all_tests, score_type=ScoreType.SUM, grading=tree)

    # --- settings that a group does not inherit -------------------------------------------------------------

    def _mode(self, group: DataGroup, default: str) -> str:
        """Return how the group's score is made from its tests: one of `_MODES`."""
        if "score_aggregation" not in group.own:
            return default
        return group.fields.choice("score_aggregation", _MODES)

    def _max_score(self, group: DataGroup, default: float | None) -> float:
        """Return the group's maximum score. A missing score without a default is a fault."""
        max_score = group.fields.values.get("max_score") if "max_score" in group.own else default
        if (
            isinstance(max_score, int | float)
            and not isinstance(max_score, bool)
            and 0 <= max_score < math.inf
        ):
            return float(max_score)
        problem = "missing" if max_score is None else f"{shown(max_score)} is not supported"
        group.fields.fault("max_score", problem, "Set a number of at least 0, such as `max_score: 20`")
        return 1.0

    def _required_tests(
        self, group: DataGroup, earlier: Mapping[str, tuple[DataGroup, tuple[str, ...]]]
    ) -> tuple[str, ...]:
        """Return the tests that must pass before this group counts.

        They are the tests of required groups and of the groups that these require. `earlier` maps the name
        of each earlier group to the group and the tests that must pass for it.
        """
        pass_fail_groups = [
            group_name
            for group_name, (other, _) in earlier.items()
            if self._mode(other, _PASS_FAIL) == _PASS_FAIL
        ]
        required = group.fields.values.get("require_pass") if "require_pass" in group.own else ()
        tests = list[str]()
        for name in (
            [required] if isinstance(required, str) else required if isinstance(required, list) else ()
        ):
            if name == SAMPLE:
                tests += self._sample
            elif name in pass_fail_groups:
                tests += earlier[name][1]
            else:
                problem = f"{shown(name)} is not an earlier pass-fail group"
                group.fields.fault("require_pass", problem, nearest(str(name), (SAMPLE, *pass_fail_groups)))
        return tuple(tests)


# --- submissions and their expected results ---------------------------------------------------------


# Folders of the format, and of systems that read it. Other folders do not define an expected result.
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
_FIRST_LINES = 100  # lines of each source that are searched for tags
_HEADERS = frozenset({".h", ".hh", ".hpp", ".hxx", ".inc"})
# Names of the source that is started, by language. The other languages link all sources together.
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
    """Yield the package's solutions with their expected results.

    Args:
        folder: The package.
        groups: Names of the secret groups, for tags with one grade for each group.
        rules: The rules of submissions.yaml.
        faults: Receives faults and notes.
        scoring: The problem has points; otherwise expected scores are dropped.
        in_points: The validator awards the points of accepted submissions.
    """
    for path in visible((folder / "submissions").glob("*/*")):
        package_path = path.relative_to(folder).as_posix()
        expected = rules.of(package_path.removeprefix("submissions/"))
        if path.is_dir():
            program = _folder(path, package_path, expected.entrypoint, faults)
        else:
            language = language_of(path.name)
            program = _Sources(language, path, ()) if language else None
            note_foreign(path, package_path, faults)
        if program is not None:
            solution = _solution(path, program, groups, package_path, expected, faults)
            if in_points and solution.expected == _ACCEPTED:  # with any number of points
                solution = replace(solution, expected=_ALL_ACCEPTED)
            yield solution if scoring else replace(solution, score=None)


class _Sources(NamedTuple):
    """The source files of one solution."""

    language: str
    main: Path
    further: tuple[Path, ...]  # other sources and headers


def _folder(path: Path, package_path: str, entrypoint: str, faults: Faults) -> _Sources | None:
    """Return the sources of a solution that is a folder.

    If they are not one program in one language, add a note and return None.
    """
    files = [file for file in visible(path.rglob("*")) if file.is_file()]
    if scripts := sorted(_SCRIPTS & {file.relative_to(path).as_posix() for file in files}):
        faults.note(
            f"ignored: the format does not support scripts ({', '.join(scripts)}) in submissions",
            package_path,
        )
        return None
    languages = {name for file in files if (name := language_of(file.name))}
    if len(languages) != 1:
        problem = "sources in several languages" if languages else "no source in a known language"
        faults.note(f"ignored: {problem}", package_path)
        return None
    (language,) = languages
    sources = [file for file in files if language_of(file.name)]
    named_sources = (source for source in sources if entrypoint in (source.name, source.stem))
    main = next(named_sources, None) or _main(sources, language, path.name)
    if main is None:
        faults.note(f"ignored: cannot find the main source; call it {_STARTED[language][0]}", package_path)
        return None
    further = [file for file in files if file in sources or file.suffix.lower() in _HEADERS]
    if not all(file.is_relative_to(main.parent) for file in further):
        faults.note(f"ignored: some sources are not in the folder of {main.name} or below it", package_path)
        return None
    return _Sources(language, main, tuple(file for file in further if file != main))


def _main(sources: Sequence[Path], language: str, folder: str) -> Path | None:
    """Return the source that starts the program: at the top of the folder, by its name. None if unclear."""
    top = min(len(source.parts) for source in sources)
    by_stem = {source.stem: source for source in sources if len(source.parts) == top}
    if language not in _STARTED or len(sources) == 1:
        return next(iter(by_stem.values()))
    return next((by_stem[stem] for stem in (*_STARTED[language], folder) if stem in by_stem), None)


def _solution(
    path: Path, program: _Sources, groups: Sequence[str], package_path: str, rules: Expected, faults: Faults
) -> Solution:
    """Return a solution with its expected results, which come from its tags, its folder and the rules."""
    code = source_text(program.main)
    source_texts = (code, *map(source_text, program.further))
    head = "\n".join(line for source in source_texts for line in source.splitlines()[:_FIRST_LINES])
    folder = path.parent.name
    results, score = _RESULTS.search(head), _SCORE.search(head)
    folder_result = folder if rules.folder_counts and folder in _FOLDERS else ""
    expected = results[1] if results else folder_result
    exceptions = _grades(head, groups, package_path, faults)
    if not expected and not exceptions and not rules.test_keywords and not score:
        faults.note("no expected result is defined", package_path)
    return Solution(
        name=path.name,
        language=rules.language or program.language,
        code=code,
        expected=expected,
        exceptions=exceptions,
        test_keywords=rules.test_keywords,
        score=rules.score or ((float(score[1]), float(score[1])) if score else None),
        files=tuple(
            NamedBlob(name=path.relative_to(program.main.parent).as_posix(), content=Blob.of_file(path))
            for path in program.further
        ),
    )


def _grades(head: str, groups: Sequence[str], place: str, faults: Faults) -> Mapping[str, str]:
    """Return the expected grades by group, from the tag @EXPECTED_GRADES@ in the source's first lines."""
    match = _GRADES.search(head)
    grades = match[1].split() if match else []
    if grades and len(grades) != len(groups):
        faults.note(f"its tag has {len(grades)} grades for {len(groups)} groups, so it is ignored", place)
        return {}
    return dict(zip(groups, grades, strict=False))


# --- rules of submissions.yaml -----------------------------------------------------------------------

FILE = "submissions/submissions.yaml"
_VERDICTS = ("AC", "WA", "TLE", "RTE")
_RULE_KEYS = ("permitted", "required")
_USED_KEYS = frozenset({*_RULE_KEYS, "score", "language", "entrypoint"})
_IGNORED_KEYS = frozenset({"authors", "model_solution", "use_for_time_limit"})
_MESSAGE = "message"  # the validator's message to judges, which is not compared
_ACCEPTED, _BRUTE_FORCE = "accepted", "brute_force"  # the second is not the name of a verdict
_ALL_ACCEPTED = f"{_ACCEPTED}, AC"  # full points, or all tests passed
# The format's rules for folders. If a package replaces one of the two rules of a folder, the other remains.
_DEFAULTS: Mapping[str, Mapping[str, Any]] = {
    _ACCEPTED: {"permitted": ["AC"]},
    "rejected": {"required": ["RTE", "TLE", "WA"]},
    "wrong_answer": {"permitted": ["AC", "WA"], "required": ["WA"]},
    "time_limit_exceeded": {"permitted": ["AC", "TLE"], "required": ["TLE"]},
    "run_time_error": {"permitted": ["AC", "RTE"], "required": ["RTE"]},
    _BRUTE_FORCE: {"permitted": ["AC", "RTE", "TLE"], "required": ["RTE", "TLE"]},
}


class Expected(NamedTuple):
    """The expected results of one submission in submissions.yaml."""

    test_keywords: tuple[KeywordForTests, ...] = ()  # rules about verdicts
    score: tuple[float, float] | None = None
    language: str = ""
    entrypoint: str = ""
    folder_counts: bool = True  # the name of its folder also defines an expected result


class PackageRules:
    """The rules of a package's submissions.yaml. Each fault in them is reported once."""

    def __init__(self, folder: Path, tests: Sequence[str], faults: Faults, *, new: bool) -> None:
        self._tests = tests
        package_rules = (
            (read_mapping(folder, FILE, faults) or {}) if new and (folder / FILE).is_file() else {}
        )
        entries = Fields({**({_BRUTE_FORCE: {}} if new else {}), **package_rules}, FILE, faults)
        self._ruled = set[str]()  # folders for which the package replaces the format's rules
        self._by_pattern = dict[str, Expected]()
        for pattern in entries.values:
            entry = entries.inner(pattern)
            if pattern == _BRUTE_FORCE or any(map(entry.has, _RULE_KEYS)):
                self._ruled.add(pattern)
                entry = entries.under(pattern, {**_DEFAULTS.get(pattern, {}), **entry.values})
            self._by_pattern[pattern] = self._read(entry, faults)

    def of(self, place: str) -> Expected:
        """Return the expected results of a path below submissions/, such as accepted/best.py."""
        entries = [entry for pattern, entry in self._by_pattern.items() if _matches(pattern, place)]
        verdict_rules = [rule for entry in entries for rule in entry.test_keywords]
        score = next((entry.score for entry in entries if entry.score), None)
        folder = place.split("/")[0]
        is_scored = folder == _ACCEPTED and score is not None and folder not in self._ruled
        if is_scored:  # it may have any number of points, but all tests must pass
            verdict_rules += self._rules(Fields(_DEFAULTS[folder], FILE, Faults("")), "", self._tests)
        return Expected(
            test_keywords=tuple(verdict_rules),
            score=score,
            language=next((entry.language for entry in entries if entry.language), ""),
            entrypoint=next((entry.entrypoint for entry in entries if entry.entrypoint), ""),
            folder_counts=not is_scored and folder not in self._ruled,
        )

    def _read(self, fields: Fields, faults: Faults) -> Expected:
        """Return the expected results in one entry of submissions.yaml."""
        verdict_rules = list(self._rules(fields, "", self._tests))
        for key, value in fields.values.items():
            if isinstance(value, dict) and key not in _USED_KEYS:
                verdict_rules += self._of_tests(fields.inner(key), key, faults)
            elif key == _MESSAGE:
                faults.note(f"{key} is not compared", FILE)
            elif key not in _USED_KEYS | _IGNORED_KEYS:
                fields.fault(key, "unknown key", f"Expected {', '.join(sorted(_USED_KEYS))}, or a group")
        return Expected(
            tuple(verdict_rules), _score(fields), _language(fields), fields.text("entrypoint", "")
        )

    def _of_tests(self, fields: Fields, pattern: str, faults: Faults) -> Iterator[KeywordForTests]:
        """Yield the rules about the tests whose names match the pattern."""
        tests = [name for name in self._tests if _matches(pattern, name)]
        if not tests:
            faults.note(f"{pattern} matches no test", FILE)
            return
        for key in fields.values:
            if key in ("score", _MESSAGE):
                faults.note(f"{key} of {pattern} is not compared", FILE)
            elif key not in (*_RULE_KEYS, *_IGNORED_KEYS):
                fields.fault(key, "unknown key", f"Expected {' or '.join(_RULE_KEYS)}")
        yield from self._rules(fields, pattern, tests)

    def _rules(self, fields: Fields, scope: str, tests: Sequence[str]) -> Iterator[KeywordForTests]:
        """Yield the rules `permitted` and `required` in the fields, which apply to these tests."""
        for rule in _RULE_KEYS:
            if fields.has(rule):
                verdicts = fields.texts(rule)
                if not verdicts or not set(_VERDICTS).issuperset(verdicts):
                    problem = f"{shown(fields.values[rule])} is not a list of verdicts"
                    fields.fault(rule, problem, f"Expected some of {', '.join(_VERDICTS)}")
                yield KeywordForTests(subtask=scope, keyword=" ".join((rule, *verdicts)), tests=tuple(tests))


def _score(fields: Fields) -> tuple[float, float] | None:
    """Return the minimum and the maximum score. The setting is a number or a list of both."""
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
    """Return the language that the fields name, or an empty string. An unknown language is a fault."""
    name = fields.text("language", "")
    try:
        return find(name).name if name else ""
    except InputError as error:
        fields.fault("language", error.problem, error.remedy)
        return ""


def _matches(pattern: str, name: str) -> bool:
    """Return True if the pattern matches a path or a folder that contains it. `*` does not match a slash."""
    parts = (map(re.escape, expanded.rstrip("/").split("*")) for expanded in _expanded_braces(pattern))
    return any(re.fullmatch(rf"{'[^/]*'.join(escaped)}(/.*)?", name, re.DOTALL) for escaped in parts)


def _expanded_braces(pattern: str) -> Iterator[str]:
    """Yield the pattern with each alternative of its braces: a.py and b.py for `{a,b}.py`."""
    braces = re.search(r"\{([^{}]*)\}", pattern)
    if braces is None:
        yield pattern
        return
    for alternative in braces[1].split(","):
        yield from _expanded_braces(pattern[: braces.start()] + alternative + pattern[braces.end() :])
