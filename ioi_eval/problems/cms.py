"""Read packages in the layout that the IOI's contest system (CMS) exports.

problem.json may have further keys that CMS does not export:

- `year` and `cpp_standard`;
- `checker`: a kind of checker, or an object with `kind` and any of `arguments`, `case_sensitive`,
  `space_sensitive`, `absolute`, `relative`, `full`;
- `manager`: how a manager or an interactor reports the score (cms, testlib, exit-code, icpc).

`score_type` and `threshold` are in problem.json or in a subtask's file. A subtask's `testcases` are a list
of names, a regular expression or a number of tests. Without files of subtasks, `score_type_parameters` lists
groups as [points, tests], [points, tests, threshold] or objects, or gives the points of each test of a Sum.
"""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

from msgspec.structs import replace

from ioi_eval.model.errors import InputError
from ioi_eval.model.fields import Faults, Fields, nearest, parse_json
from ioi_eval.model.languages import of_suffix
from ioi_eval.model.values import (
    Checker,
    CheckerKind,
    Limits,
    Manager,
    NamedBlob,
    Problem,
    ScoreType,
    Solution,
    Subtask,
    TaskOptions,
    TaskType,
)
from ioi_eval.problems.package import (
    DeclaredFormat,
    files_below,
    first_named,
    is_plain,
    language_of,
    led_by,
    named,
    note_foreign,
    outputs_of,
    read_mapping,
    refuse_misspelt,
    solution,
    tests_of,
    time_limit,
    visible,
)
from ioi_eval.rules.languages import grader_name
from ioi_eval.rules.plan import Selector, group_tests, needs_answers

_CHECKERS = ("checker/checker", "checker/validator", "checker/validate")
_MANAGER_SOURCES = {
    TaskType.COMMUNICATION: ("graders/manager",),
    TaskType.INTERACTIVE: ("graders/interactor", "graders/manager"),
}
_MANAGER_KINDS = (CheckerKind.CMS, CheckerKind.TESTLIB, CheckerKind.EXIT_CODE, CheckerKind.ICPC)
_GNU20_SINCE = 2024  # first year in which the contest compiles as C++20
_PARAMS_KEY, _LONG_PARAMS_KEY = "task_type_params", "task_type_parameters"  # the second in TPS and in CMS
_KEYS = (
    *(
        "code",
        "name",
        "year",
        "time_limit",
        "memory_limit",
        "task_type",
        _PARAMS_KEY,
        _LONG_PARAMS_KEY,
        "checker",
    ),
    *("manager", "managers", "score_type", "threshold", "score_type_parameters", "submission_format"),
    *("score_precision", "cpp_standard"),
)
_PARAMS = ("compilation", "inputfile", "outputfile", "output_eval", "output_only_testcases")
_MORE_PARAMS = ("num_processes", "user_io", "manager_args", "function")
_SOURCE_SUFFIX = ".%l"  # suffix of a source in any language
_IO = {"io_0_inputfile": "inputfile", "io_1_outputfile": "outputfile"}
_ALIASES = {"input_filename": "inputfile", "output_filename": "outputfile", **_IO}
_BATCH_PARAMS = ("compilation", "io", "output_eval")
# Parameters by position, for packages that have a list of parameters. `io` is a pair of file names.
_LIST_PARAMS: Mapping[TaskType, tuple[str, ...]] = {
    TaskType.BATCH: _BATCH_PARAMS,
    TaskType.BATCH_AND_OUTPUT: (*_BATCH_PARAMS, "output_only_testcases"),
    TaskType.COMMUNICATION: ("num_processes", "compilation", "user_io"),
    TaskType.OUTPUT_ONLY: ("output_eval",),
    TaskType.TWO_STEPS: ("output_eval",),
}
_SUBTASK_SUFFIXES = frozenset({".json", ".yaml", ".yml"})
STD_IO, FIFO_IO = USER_IO = ("std_io", "fifo_io")
DEFAULT_IO_NOTE = f"user_io is not set, so the stub uses {STD_IO}; set {FIFO_IO} if it opens named pipes"
DIFF, COMPARATOR = _OUTPUT_EVALS = ("diff", "comparator")


class Cms(DeclaredFormat):
    """The package format of CMS, recognized by problem.json or by the folders tests and subtasks."""

    name = "CMS"
    header = "problem.json"
    rank = 80
    id_field = "code"
    memory_unit, memory_unit_name = 1, "bytes"
    folders = ("checker", "graders", "solutions", "subtasks", "tests")

    def looks_like_package(self, folder: Path) -> bool:
        has_parts = (folder / "tests").is_dir() and (folder / "subtasks").is_dir()
        return has_parts or super().looks_like_package(folder)

    def problem(self, folder: Path, where: str, header: Fields, faults: Faults) -> Problem:
        refuse_misspelt(header, _KEYS)
        problem_id = self.checked_id(folder, where, header, faults)
        task = header.word("task_type", TaskType, TaskType.BATCH)
        params = read_params(header, task, faults)
        graders = files_below(folder, "graders")
        checker = checker_of(header, params, task, files_below(folder, "checker"))
        options = read_options(params, task, first_named(graders, [grader_name(task)]) is not None)
        check_grader(task, options, graders, faults)
        if options.with_grader and task is TaskType.COMMUNICATION and not params.has("user_io"):
            faults.note(DEFAULT_IO_NOTE, self.header)
        source_names = _source_names(header, problem_id)
        if options.with_grader:
            remedy = 'Set another name: "submission_format": ["NAME.%l"]'
            module = (*source_names, problem_id.lower())[0]
            graders = without_unusable_python(module, task, graders, faults, "graders", remedy)
        tests = tests_of(folder, needs_answers(task, checker), faults)
        test_names = tuple(test.name for test in tests)
        for name in options.output_tests:
            if name not in test_names:
                sentence = f"names the test {name!r}, which is not in tests/"
                params.fault("output_only_testcases", sentence, nearest(name, test_names))
        year = header.whole("year", least=1950, most=2200) if header.has("year") else None
        subtasks = read_subtasks(folder, header, test_names, faults)
        if not subtasks:
            sentence = "no subtasks, so there are no points; a submission must pass all tests"
            faults.note(sentence, self.header)
        return Problem(
            id=problem_id,
            name=header.text("name", problem_id),
            year=year,
            source=where,
            task_type=task,
            options=replace(options, source_names=source_names),
            limits=self.limits(header, task),
            grader_files=graders,
            checker=checker,
            manager=manager_of(header, task, graders, faults),
            tests=tests,
            subtasks=subtasks,
            score_precision=header.whole("score_precision", 2, most=9),
            cpp_standard=cpp_standard(header, year),
            solutions=tuple(_solutions(folder, task, test_names, source_names, faults)),
        )

    def limits(self, header: Fields, task: TaskType) -> Limits:
        """Return the limits. `null` means no memory limit. A missing memory limit is a fault."""
        if header.values.get("memory_limit", 0) is None and task is not TaskType.OUTPUT_ONLY:
            return Limits.contest(time_limit(header), None)
        return super().limits(header, task)


# --- problem.json ------------------------------------------------------------------------------------


def _source_names(header: Fields, problem_id: str) -> tuple[str, ...]:
    """Return the names of a submission's files without suffixes.

    The result is empty for the default: a single file that is named after the problem.
    """
    field = "submission_format"
    is_list = isinstance(header.values.get(field), list)
    names = header.texts(field) if is_list else _split_at_commas(header.text(field, ""))
    stems = tuple(name.removesuffix(_SOURCE_SUFFIX) for name in names if name.endswith(_SOURCE_SUFFIX))
    for stem in stems:
        if not is_plain(stem):
            header.fault(
                field,
                f"{stem + _SOURCE_SUFFIX!r} is not the name of a source",
                f"Write it as name{_SOURCE_SUFFIX}",
            )
    return () if stems == (problem_id.lower(),) else stems


def cpp_standard(header: Fields, year: int | None) -> str:
    """Return the C++ standard: the header's, or else the standard that the contest used in that year."""
    default = "gnu++17" if year is not None and year < _GNU20_SINCE else "gnu++20"
    standard = header.text("cpp_standard", default)
    if not re.fullmatch(r"(gnu|c)\+\+[0-9][0-9a-z]", standard):
        header.fault("cpp_standard", f"{standard!r} is not a C++ standard", "Write it as gnu++17 or c++20")
    return standard


# --- task_type_params: an object, a list, or a string that contains one of these as JSON -------------


def read_params(header: Fields, task: TaskType, faults: Faults, field: str = _PARAMS_KEY) -> Fields:
    """Return the parameters of the task type by name: compilation, inputfile, output_eval, ...

    Args:
        header: The fields of problem.json.
        task: The task type, which decides the order of a list of parameters.
        faults: Receives faults and notes.
        field: The header's key for the parameters.
    """
    field = _LONG_PARAMS_KEY if header.has(_LONG_PARAMS_KEY) else field
    value = _parse_json_field(header, field)
    named: dict[str, Any] = {}
    if isinstance(value, list):
        named = dict(zip(_LIST_PARAMS.get(task, ()), value, strict=False))
        files = named.pop("io", None)
        if isinstance(files, list) and len(files) == 2:
            named["inputfile"], named["outputfile"] = files
        elif files is not None:
            named["inputfile"] = files  # a wrong type is reported when the field is read
    elif isinstance(value, dict):
        prefix = f"task_type_parameters_{task}_"
        unprefixed = {name.removeprefix(prefix): param for name, param in value.items()}
        named = {_ALIASES.get(name, name): param for name, param in unprefixed.items()}
    elif value is not None:
        header.fault(field, "neither an object nor a list", "Write it as the contest system exports it")
    params = Fields(named, header.file, faults, prefix=f"{field}.")
    refuse_misspelt(params, (*_PARAMS, *_MORE_PARAMS))
    return params


def read_options(params: Fields, task: TaskType, has_grader: bool) -> TaskOptions:
    """Return the options of the task type. By default, a grader is used if the package has one."""
    match task:
        case TaskType.BATCH | TaskType.BATCH_AND_OUTPUT:
            has_output_tests = task is TaskType.BATCH_AND_OUTPUT
            return TaskOptions(
                with_grader=_compilation(params, "grader", has_grader),
                input_file=file_name(params, "inputfile"),
                output_file=file_name(params, "outputfile"),
                output_tests=_string_list(params, "output_only_testcases", _split_at_commas)
                if has_output_tests
                else (),
            )
        case TaskType.COMMUNICATION:
            return TaskOptions(
                with_grader=_compilation(params, "stub", has_grader),
                processes=params.whole("num_processes", 1, least=1, most=100),
                user_io=params.choice("user_io", USER_IO, STD_IO),
                manager_args=_string_list(params, "manager_args", shlex.split),
            )
        case TaskType.TWO_STEPS:
            return TaskOptions(with_grader=True)
        case TaskType.INTERACTIVE:
            return TaskOptions(
                with_grader=has_grader, manager_args=_string_list(params, "manager_args", shlex.split)
            )
        case TaskType.FUNCTION:
            name = params.text("function")
            if name and not all(part.isidentifier() for part in name.split(".")):
                problem = f"{name!r} is not the name of a function"
                params.fault("function", problem, "Set a name, or Class.method")
            return TaskOptions(function=name)
    return TaskOptions()


def _compilation(params: Fields, together: str, has_grader: bool) -> bool:
    """Return True if submissions are compiled with the grader. `together` is the value that means so."""
    default = together if has_grader else "alone"
    return params.choice("compilation", ("alone", together), default) == together


def _parse_json_field(header: Fields, field: str) -> Any:
    """Return a field's value, or the JSON in it if it is a string. None if it is empty or broken."""
    value = header.values.get(field)
    if not isinstance(value, str):
        return value
    try:
        return parse_json(value) if value.strip() else None
    except ValueError as error:
        header.fault(field, f"broken JSON in the string: {error}", "Correct it in the file")
        return None


def file_name(params: Fields, name: str, default: str = "") -> str:
    """Return the parameter's file name. A name that contains a path is a fault."""
    value = params.text(name, default)
    if value and not is_plain(value):
        params.fault(
            name, f"{value!r} is not a plain file name", "Set a name such as input.txt, or leave it empty"
        )
        return ""
    return value


def _string_list(params: Fields, name: str, split: Callable[[str], Sequence[str]]) -> tuple[str, ...]:
    """Return a list of strings. A single string is split by `split`."""
    if isinstance(params.values.get(name), list):
        return params.texts(name)
    text = params.text(name, "")
    try:
        return tuple(split(text))
    except ValueError as error:
        params.fault(name, f"{text!r} is not a list of arguments ({error})", "Close the quotes")
        return ()


def _split_at_commas(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


# --- programs of the package -------------------------------------------------------------------------


def check_grader(task: TaskType, options: TaskOptions, graders: Sequence[NamedBlob], faults: Faults) -> None:
    """Report a missing grader if the options require one."""
    name = grader_name(task)
    if options.with_grader and first_named(graders, [name]) is None:
        faults.add("missing file", f"{name}.cpp", remedy="Add it, or set the compilation to alone")


def without_unusable_python(
    module: str,
    task: TaskType,
    graders: tuple[NamedBlob, ...],
    faults: Faults,
    folder: str,
    remedy: str = "Rename the task",
) -> tuple[NamedBlob, ...]:
    """Return the graders without the Python grader if no Python program can import the submission's module.

    Without its grader, Python is not available for the problem. If no other grader remains, it is a fault.

    Args:
        module: The module name of submissions.
        task: The task type, which decides the grader's name.
        graders: The package's graders.
        faults: Receives faults and notes.
        folder: The folder of the Python grader, for messages.
        remedy: How the user changes the module name.
    """
    stem = grader_name(task)
    python_grader = next((grader for grader in graders if grader.name == f"{stem}.py"), None)
    if python_grader is None or ("." not in module and module not in sys.stdlib_module_names):
        return graders
    problem = f"it cannot import submissions, which are named {module}.py"
    file = f"{folder}/{PurePosixPath(stem).name}.py"
    other_graders = tuple(grader for grader in graders if grader != python_grader)
    if first_named(other_graders, [stem]) is None:
        faults.add(problem, file, remedy=remedy)
        return graders
    faults.note(f"ignored, so Python is excluded: {problem}. {remedy}", file)
    return other_graders


def manager_of(
    header: Fields, task: TaskType, graders: Sequence[NamedBlob], faults: Faults, folder: str = "graders"
) -> Manager | None:
    """Return the task's manager or interactor, or None if the task type has none.

    Args:
        header: The fields of problem.json.
        task: The task type.
        graders: The package's graders, which include the manager.
        faults: Receives faults and notes.
        folder: The folder of the graders, for messages.
    """
    names = _MANAGER_SOURCES.get(task)
    if names is None:
        return None
    default = CheckerKind.CMS if task is TaskType.COMMUNICATION else CheckerKind.TESTLIB
    kind = header.word("manager", CheckerKind, default)
    # An interactor's standard output goes to the submission, so it cannot contain a score.
    kinds = _MANAGER_KINDS if task is TaskType.COMMUNICATION else _MANAGER_KINDS[1:]
    if kind not in kinds:
        header.fault("manager", f"{kind} is not supported for managers", f"Set it to {', '.join(kinds)}")
    source = first_named(graders, names)
    if source is None:
        missing = f"{folder}/{Path(names[0]).name}.cpp"
        faults.add("missing file", missing, remedy=f"A task of type {task} needs it")
        return None
    return Manager(sources=led_by(source, graders), kind=kind, language=language_of(source.name) or "c++")


_CHECKER_KEYS = ("kind", "arguments", "case_sensitive", "space_sensitive", "absolute", "relative", "full")


def checker_of(header: Fields, params: Fields, task: TaskType, sources: Sequence[NamedBlob]) -> Checker:
    """Return the checker: from the key `checker`, else from `output_eval`, else from the package's files."""
    # The fields are empty if `checker` is missing or is only a kind.
    values = header.values.get("checker")
    checker_fields = header.under("checker", values if isinstance(values, dict) else {})
    for key in checker_fields.values:
        if key not in _CHECKER_KEYS:
            checker_fields.fault(key, "unknown key", nearest(key, _CHECKER_KEYS))
    kind = _checker_kind(header, checker_fields, params, bool(sources), task)
    checker = Checker(
        kind=kind,
        arguments=checker_fields.texts("arguments") if checker_fields.has("arguments") else (),
        case_sensitive=checker_fields.flag("case_sensitive", True),
        space_sensitive=checker_fields.flag("space_sensitive", False),
        absolute=checker_fields.optional_number("absolute"),
        relative=checker_fields.optional_number("relative"),
        full=checker_fields.number("full", 1.0, above=0),
    )
    if not kind.is_program:
        return checker
    return with_sources(checker, sources, header)


def with_sources(
    checker: Checker,
    sources: Sequence[NamedBlob],
    header: Fields,
    field: str = "checker",
    without: str = "white-diff",
) -> Checker:
    """Return the checker with its program: checker/checker.cpp, or the only source in the folder.

    Args:
        checker: The checker without sources.
        sources: The files in the checker's folder.
        header: The fields of problem.json.
        field: The key that asks for a checker, for messages.
        without: The value of that key if a package has no checker, for messages.
    """
    programs = [file for file in sources if of_suffix(Path(file.name).suffix)]
    source = first_named(sources, _CHECKERS) or (programs[0] if len(programs) == 1 else None)
    if source is None:
        header.fault(field, "missing file checker/checker.cpp", f"Add it, or set this to {without}")
        return checker
    language = language_of(source.name) or "c++"
    return replace(checker, sources=led_by(source, sources), language=language)


def _checker_kind(
    header: Fields, checker_fields: Fields, params: Fields, has_sources: bool, task: TaskType
) -> CheckerKind:
    """Return the kind of the checker."""
    output_eval = params.choice("output_eval", _OUTPUT_EVALS) if params.has("output_eval") else None
    if checker_fields.values:
        return checker_fields.word(
            "kind", CheckerKind, CheckerKind.CMS if has_sources else CheckerKind.TOKENS
        )
    if header.has("checker"):
        return header.word("checker", CheckerKind, CheckerKind.CMS)
    if output_eval is not None:
        return CheckerKind.CMS if output_eval == COMPARATOR else CheckerKind.WHITE_DIFF
    if has_sources:
        return CheckerKind.CMS
    return CheckerKind.JSON if task is TaskType.FUNCTION else CheckerKind.WHITE_DIFF


# --- subtasks ---------------------------------------------------------------------------------------


_SUBTASK_PARAMETERS = "score_type_parameters"
_TESTS_REMEDY = "Set it to a list of names, a regular expression or a number of tests"


class _Group(NamedTuple):
    """A subtask whose tests are not resolved yet, and the field that selects them."""

    subtask: Subtask
    fields: Fields
    tests_field: str

    @property
    def tests(self) -> Any:
        """Return the value that selects the tests: names, a regular expression or a number of tests."""
        return self.fields.values.get(self.tests_field)


def read_subtasks(
    folder: Path, header: Fields, tests: tuple[str, ...], faults: Faults
) -> tuple[Subtask, ...]:
    """Return the subtasks from the files in subtasks/, or else from the score type's parameters."""
    score_type = header.word("score_type", ScoreType, ScoreType.GROUP_MIN)
    threshold = header.number("threshold", 1.0, above=0)
    defaults = Subtask(name="all", points=0.0, tests=(), score_type=score_type, threshold=threshold)
    groups = list[_Group]()
    for path in visible((folder / "subtasks").glob("*")):
        file = f"subtasks/{path.name}"
        if path.suffix.lower() not in _SUBTASK_SUFFIXES:
            continue
        if path.suffix != ".json":
            faults.add("not the name of a subtask's file", file, remedy=f"Write it as {path.stem}.json")
        elif (values := read_mapping(folder, file, faults)) is not None:
            fields = Fields(values, file, faults)
            refuse_misspelt(fields, ("score", "testcases", "score_type", "threshold"))
            groups.append(_group(path.stem, fields, defaults, "score", "testcases"))
    if header.has(_SUBTASK_PARAMETERS):
        if groups:
            header.fault(_SUBTASK_PARAMETERS, "there are also subtasks in files", "Remove one of the two")
        groups = _from_parameters(header, defaults, len(tests), faults)
    has_counts = any(_is_count(group.tests) for group in groups)
    if has_counts:
        _note_order(tests, "tests", faults)
        _note_order([group.subtask.name for group in groups], "subtasks", faults)
    tests_by_group = (
        _tests_by_count(groups, tests) if has_counts else [_tests_by_name(group, tests) for group in groups]
    )
    return tuple(
        replace(group.subtask, tests=names) for group, names in zip(groups, tests_by_group, strict=True)
    )


def _note_order(names: Sequence[str], part: str, faults: Faults) -> None:
    """Add a note if names in alphabetical order are not in numerical order: 1, 10, 2."""

    def by_number(name: str) -> list[tuple[int, str]]:
        return [(int(digits or 0), other) for digits, other in re.findall(r"(\d*)(\D*)", name)]

    by_numbers = sorted(names, key=by_number)
    index = next(
        (index for index, pair in enumerate(zip(names, by_numbers, strict=True)) if len({*pair}) > 1), None
    )
    if index is not None:
        problem = f"they are counted in alphabetical order: {names[index]} is before {by_numbers[index]}"
        faults.note(f"{problem}. Pad numbers with zeros to count in numerical order", part)


def _from_parameters(header: Fields, defaults: Subtask, test_count: int, faults: Faults) -> list[_Group]:
    """Return the groups in the score type's parameters.

    They are [[points, tests, threshold], ...]; each inner list may be an object. If the score type is a
    sum, they may be a number: the points of each test.
    """
    value = _parse_json_field(header, _SUBTASK_PARAMETERS)
    if defaults.score_type is ScoreType.SUM and isinstance(value, int | float):
        parameters = header.under(_SUBTASK_PARAMETERS, {"tests": ".*"} if test_count else {})
        points = Fields({_SUBTASK_PARAMETERS: value}, header.file, faults).number(_SUBTASK_PARAMETERS)
        return [_Group(replace(defaults, points=points * test_count), parameters, "tests")]
    if value is None:
        return []
    if not isinstance(value, list) or not all(map(_is_group_row, value)):
        problem = "neither a list of [points, tests] nor one of objects"
        header.fault(_SUBTASK_PARAMETERS, problem, "Write it as the contest system does")
        return []
    return [_group_of_row(str(index), row, header, defaults) for index, row in enumerate(value, 1)]


_GROUP_KEYS = ("max_score", "testcases", "threshold", "score_type")
_DISPLAY_KEYS = frozenset({"always_show_testcases", "name", "key"})  # keys that do not affect scores


def _is_group_row(row: Any) -> bool:
    """Return True if the value can describe a group: an object, or a list of two or three values."""
    return isinstance(row, dict) or (isinstance(row, list) and len(row) in (2, 3))


def _group_of_row(name: str, row: dict[str, Any] | list[Any], header: Fields, defaults: Subtask) -> _Group:
    """Return the group that is described by an object or a list in `score_type_parameters`."""
    prefix = f"{_SUBTASK_PARAMETERS}.{name}"
    if isinstance(row, dict):
        fields = header.under(prefix, {str(key): value for key, value in row.items() if value is not None})
        for key in sorted(fields.values.keys() - {*_GROUP_KEYS, *_DISPLAY_KEYS}):
            fields.fault(key, "unknown key", nearest(key, _GROUP_KEYS))
        return _group(name, fields, defaults, "max_score", "testcases")
    if defaults.score_type is not ScoreType.GROUP_THRESHOLD and isinstance(row[-1], str):
        row = row[:2]  # the third value is a name, which has no effect
    values = dict(zip(("points", "tests", "threshold"), row, strict=False))
    return _group(name, header.under(prefix, values), defaults, "points", "tests")


def _group(name: str, fields: Fields, defaults: Subtask, points: str, tests: str) -> _Group:
    """Return a group. `points` and `tests` are the keys of its points and its tests."""
    if fields.values.get(tests) is None:
        fields.fault(tests, "missing", _TESTS_REMEDY)
    subtask = replace(
        defaults,
        name=name,
        points=fields.number(points),
        score_type=fields.word("score_type", ScoreType, defaults.score_type),
        threshold=fields.number("threshold", defaults.threshold, above=0),
    )
    return _Group(subtask, fields, tests)


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _tests_by_count(groups: Sequence[_Group], tests: tuple[str, ...]) -> list[tuple[str, ...]]:
    """Return each group's tests if all groups have numbers of tests. They are consecutive in `tests`."""
    for group in groups:
        if not _is_count(group.tests) or group.tests < 1:
            group.fields.fault(
                group.tests_field,
                "must be a number of at least 1, as other subtasks have numbers of tests",
                _TESTS_REMEDY,
            )
            return [() for _ in groups]
    counts: list[Selector] = [group.tests for group in groups]
    try:
        return list(group_tests(tests, counts))
    except InputError as error:
        groups[-1].fields.fault(groups[-1].tests_field, error.problem, "Correct the numbers of tests")
        return [() for _ in groups]


def _tests_by_name(group: _Group, tests: tuple[str, ...]) -> tuple[str, ...]:
    """Return the group's tests, which are listed or match a regular expression."""
    if isinstance(group.tests, str):
        try:
            return group_tests(tests, [group.tests])[0]
        except InputError as error:
            group.fields.fault(
                group.tests_field, error.problem, "It must match from the start of the tests' names"
            )
            return ()
    if group.tests is None:
        return ()  # already reported
    names = group.fields.texts(group.tests_field)
    if not names and group.tests == []:
        group.fields.fault(group.tests_field, "no tests", "List the subtask's tests, or remove this file")
    listed = set(tests)
    for name in dict.fromkeys(names):
        if name not in listed:
            group.fields.fault(
                group.tests_field, f"names the test {name!r}, which is not in tests/", nearest(name, tests)
            )
        elif names.count(name) > 1:
            group.fields.fault(group.tests_field, f"names the test {name!r} more than once", "Name it once")
    return names


# --- solutions ---------------------------------------------------------------------------------------


def _solutions(
    folder: Path, task: TaskType, tests: Sequence[str], source_names: Sequence[str], faults: Faults
) -> Iterator[Solution]:
    """Yield the solutions in solutions/VERDICT/. Files that are not sources are ignored.

    If the task type accepts output files, a solution is a folder of output_<test>.txt and maybe a source.
    If submissions have several sources, a solution is a folder with these sources.
    """
    accepts_outputs = task in (TaskType.OUTPUT_ONLY, TaskType.BATCH_AND_OUTPUT)
    for path in visible((folder / "solutions").glob("*/*")):
        name, expected = path.name, path.parent.name
        note_foreign(path, path.relative_to(folder).as_posix(), faults)
        if path.is_file() and language_of(name):
            yield solution(path, name=name, expected=expected)
        elif path.is_dir() and accepts_outputs:
            files = (file for file in visible(path.iterdir()) if file.is_file())
            source = next((file for file in files if language_of(file.name)), None)
            yield solution(source, name=name, expected=expected, outputs=outputs_of(path, tests))
        elif path.is_dir() and source_names:
            folder_files = [file for file in visible(path.iterdir()) if file.is_file()]
            for main in (
                file for file in folder_files if file.stem == source_names[0] and language_of(file.name)
            ):
                other_files = named(path, [file.name for file in folder_files if file != main])
                yield solution(main, name=name, expected=expected, files=other_files)
