"""Read packages in the layout that the IOI's contest system (CMS) exports.

`CmsHeader` and the other classes of keys include keys that CMS does not export, such as `checker`.
"""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

from msgspec.structs import replace

from ioi_eval.model.errors import InputError
from ioi_eval.model.fields import Faults, Fields, parse_json, suggest_names
from ioi_eval.model.languages import find_language_by_suffix
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
from ioi_eval.problems.keys import (
    Keys,
    UnknownKeyPolicy,
    choice_key,
    enum_key,
    file_name_key,
    flag_key,
    format_choices,
    integer_key,
    number_key,
    optional_integer_key,
    optional_number_key,
    raw_key,
    read_memory_limit,
    seconds_key,
    split_text_key,
    text_key,
    text_list_key,
)
from ioi_eval.problems.names import is_portable_file_name
from ioi_eval.problems.package import (
    DeclaredFormat,
    find_first_by_stem,
    language_of,
    list_files,
    list_visible_paths,
    load_named_blobs,
    make_solution,
    note_unsupported_language,
    put_first,
    read_mapping_file,
    read_output_files,
    read_tests_folder,
)
from ioi_eval.rules.expectations import find_similar_keyword, is_known_keyword
from ioi_eval.rules.languages import grader_name
from ioi_eval.rules.plan import Selector, needs_answers, select_group_tests

_CHECKERS = ("checker/checker", "checker/validator", "checker/validate")
_MANAGER_SOURCES = {
    TaskType.COMMUNICATION: ("graders/manager",),
    TaskType.INTERACTIVE: ("graders/interactor", "graders/manager"),
}
_MANAGER_KINDS = (CheckerKind.CMS, CheckerKind.TESTLIB, CheckerKind.EXIT_CODE, CheckerKind.ICPC)
_GNU20_SINCE = 2024  # first year in which the contest compiled submissions as C++20
# Names of the key for the parameters of the task type. TPS and CMS use the second name.
_PARAMS_KEY, _LONG_PARAMS_KEY = "task_type_params", "task_type_parameters"
_SOURCE_SUFFIX = ".%l"  # suffix of the name of a source that may be in any language
_IO = {"io_0_inputfile": "inputfile", "io_1_outputfile": "outputfile"}
_ALIASES = {"input_filename": "inputfile", "output_filename": "outputfile", **_IO}
_BATCH_PARAMS = ("compilation", "io", "output_eval")
# Names of the parameters of a task type, in the order of a list of parameters. `io` is a pair of file names.
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


# --- keys --------------------------------------------------------------------------------------------


def _split_at_commas(value: str) -> list[str]:
    return [name.strip() for name in value.split(",") if name.strip()]


class ScoringKeys(Keys):
    """The keys of a header that describe subtasks."""

    score_type = enum_key(ScoreType, "", default=ScoreType.GROUP_MIN)
    threshold = number_key("for GroupThreshold", default=1.0, above=0)
    score_type_parameters = raw_key(
        "instead of files in `subtasks/`: `[[points, tests], ...]`, with a threshold as a third value, or a"
        " name, which is ignored; each group may be an object instead, below; or the points of each test of a"
        " Sum",
        "files in `subtasks/`; without these there are no points, and a submission must pass all tests",
    )


class ManagerKeys(Keys):
    """The keys of a header that describe the manager."""

    manager = enum_key(
        CheckerKind,
        "how a manager or an interactor reports the score",
        "`cms` for Communication, `testlib` for Interactive",
        default=CheckerKind.CMS,
        members=_MANAGER_KINDS,
    )


class CmsHeader(ScoringKeys, ManagerKeys):
    """The keys of problem.json."""

    ignored = ("managers",)
    id = text_key("the id, of letters, digits, `_`, `-` and `.`", name="code")
    title = text_key("a title", "the id", name="name")
    year = optional_integer_key("year of the contest", "no year", minimum=1950, maximum=2200)
    time_limit = seconds_key(missing_description="refused, except in OutputOnly tasks")
    memory_limit = raw_key(
        "bytes, at least 1 MiB; `null` means no limit", "refused, except in OutputOnly tasks"
    )
    task_type = enum_key(TaskType, "", default=TaskType.BATCH)
    task_type_params = raw_key(
        "an object with the keys below, a list in the contest system's order, or a string with one of these",
        "nothing is set",
    )
    task_type_parameters = raw_key("the same key, as the contest system calls it", "`task_type_params`")
    checker = raw_key(
        f"{format_choices(list(CheckerKind))}, or an object, below",
        "`cms` with a folder `checker/`, else `white-diff`",
    )
    submission_format = split_text_key(
        _split_at_commas,
        "the names of a submission's files, as a list or separated by commas: `user1.%l, user2.%l`. The first"
        " is the code, the others lie next to it; graders and stubs may import or include all by these names."
        " Names without `.%l` are ignored",
        "one file, called as the id",
    )
    score_precision = integer_key("digits of a subtask's score", default=2, maximum=9)
    cpp_standard = text_key("such as `gnu++17` or `c++20`", "`gnu++20`, before 2024 `gnu++17`")


class TaskTypeParams(Keys):
    """The keys of `task_type_params`."""

    compilation = raw_key(
        "Batch, BatchAndOutput: `alone` or `grader`; Communication: `alone` or `stub`",
        "`grader` or `stub` if there is one",
    )
    inputfile = file_name_key("Batch, BatchAndOutput: the file that submissions read", "standard input")
    outputfile = file_name_key("Batch, BatchAndOutput: the file that submissions write", "standard output")
    output_eval = choice_key(
        _OUTPUT_EVALS, "Batch, BatchAndOutput, OutputOnly, TwoSteps", "as `checker` says", default=DIFF
    )
    output_only_testcases = split_text_key(
        _split_at_commas, "BatchAndOutput: names of tests, as a list or separated by commas"
    )
    num_processes = integer_key("Communication", default=1, minimum=1, maximum=100)
    user_io = choice_key(
        USER_IO,
        "Communication",
        f"`{STD_IO}`, as in the contest system; a note says so if there is a stub",
        default=STD_IO,
    )
    manager_args = split_text_key(
        shlex.split,
        "Communication, Interactive: arguments, as a list or a string that is split as by a shell",
    )
    function = text_key("Function: a name, or `Class.method`")


class CheckerKeys(Keys):
    """The keys of `checker` if it is an object."""

    unknown = UnknownKeyPolicy.REFUSED
    kind = enum_key(
        CheckerKind, "", "`cms` with a folder `checker/`, else `tokens`", default=CheckerKind.TOKENS
    )
    arguments = text_list_key("a list of strings, after those of the kind")
    case_sensitive = flag_key("for `tokens`", default=True)
    space_sensitive = flag_key("for `tokens`")
    absolute = optional_number_key("tolerance of numbers, for `tokens` and `json`", "none")
    relative = optional_number_key("tolerance of numbers, for `tokens` and `json`", "none")
    full = number_key(
        "the number that means full marks, for `icpc` in `score.txt`, for `testlib` after `points`",
        default=1.0,
        above=0,
    )


_TESTS_MEANING = (
    "a list of names, a regular expression that matches from the start of a name, or a number of tests, which"
    " are sorted by name"
)


class SubtaskKeys(Keys):
    """The keys of a file in subtasks/."""

    score = number_key("points")
    testcases = raw_key(_TESTS_MEANING, "refused")
    score_type = enum_key(ScoreType, "", "as in `problem.json`", default=ScoreType.GROUP_MIN)
    threshold = number_key("for GroupThreshold", "as in `problem.json`", default=1.0, above=0)


class GroupKeys(Keys):
    """The keys of a group in `score_type_parameters` if it is an object."""

    unknown = UnknownKeyPolicy.REFUSED
    ignored = ("always_show_testcases", "name", "key")
    score = number_key("points", name="max_score")
    testcases = raw_key(_TESTS_MEANING, "refused")
    score_type = enum_key(ScoreType, "", "as in `problem.json`", default=ScoreType.GROUP_MIN)
    threshold = number_key("for GroupThreshold", "as in `problem.json`", default=1.0, above=0)


class _GroupRow(GroupKeys):
    """A group in `score_type_parameters` that is a list: its values by position."""

    score = number_key("points", name="points")
    testcases = raw_key(_TESTS_MEANING, "refused", name="tests")


# --- the format --------------------------------------------------------------------------------------


class Cms(DeclaredFormat[CmsHeader]):
    """The format of ioi_eval, which extends the exports of CMS.

    It is recognized by problem.json or by the folders tests and subtasks.
    """

    name = "ioi_eval/CMS"
    header = "problem.json"
    rank = 80
    keys = CmsHeader
    id_field = "code"
    folders = ("checker", "graders", "solutions", "subtasks", "tests")

    def looks_like_package(self, folder: Path) -> bool:
        has_parts = (folder / "tests").is_dir() and (folder / "subtasks").is_dir()
        return has_parts or super().looks_like_package(folder)

    def read_problem(self, folder: Path, where: str, header: CmsHeader, faults: Faults) -> Problem:
        problem_id = self.read_id(folder, where, header, faults)
        task = header.task_type
        type_params = read_params(header, task, faults)
        graders = list_files(folder, "graders")
        checker = find_checker(header, type_params, task, list_files(folder, "checker"))
        options = read_options(
            type_params, task, find_first_by_stem(graders, [grader_name(task)]) is not None
        )
        check_grader(task, options, graders, faults)
        if options.with_grader and task is TaskType.COMMUNICATION and not type_params.has_field("user_io"):
            faults.add_note(DEFAULT_IO_NOTE, self.header)
        source_names = _read_source_names(header, problem_id)
        if options.with_grader:
            remedy = 'Set another name: "submission_format": ["NAME.%l"]'
            submission_module = (*source_names, problem_id.lower())[0]
            graders = exclude_unimportable_python_grader(
                submission_module, task, graders, faults, "graders", remedy
            )
        tests = read_tests_folder(folder, needs_answers(task, checker), faults)
        test_names = tuple(test.name for test in tests)
        for name in options.output_tests:
            if name not in test_names:
                note_text = f"names the test {name!r}, which is not in tests/"
                type_params.report_fault("output_only_testcases", note_text, suggest_names(name, test_names))
        subtasks = read_subtasks(folder, header, test_names, faults)
        if not subtasks:
            note_text = "no subtasks, so there are no points; a submission must pass all tests"
            faults.add_note(note_text, self.header)
        return Problem(
            id=problem_id,
            name=CmsHeader.title.read(header, problem_id),
            year=header.year,
            source=where,
            task_type=task,
            options=replace(options, source_names=source_names),
            limits=_read_limits(header, task),
            grader_files=graders,
            checker=checker,
            manager=find_manager(header, task, graders, faults),
            tests=tests,
            subtasks=subtasks,
            score_precision=header.score_precision,
            cpp_standard=read_cpp_standard(header, header.year),
            solutions=tuple(_read_solutions(folder, task, test_names, source_names, faults)),
        )


# --- problem.json ------------------------------------------------------------------------------------


def _read_limits(problem_json: CmsHeader, task: TaskType) -> Limits:
    """Return the limits. Output-only tasks run no programs, so they have none."""
    if task is TaskType.OUTPUT_ONLY:
        return Limits()
    is_limited = not problem_json.has_field("memory_limit") or problem_json.memory_limit is not None
    memory = read_memory_limit(problem_json, "memory_limit", "bytes", 1) if is_limited else None
    return Limits.contest(problem_json.time_limit, memory)


def _read_source_names(problem_json: CmsHeader, problem_id: str) -> tuple[str, ...]:
    """Return the names of a submission's files without suffixes.

    The result is empty for the default: a single file that is named after the problem.
    """
    field = "submission_format"
    file_names = (name for name in problem_json.submission_format if name.endswith(_SOURCE_SUFFIX))
    stems = tuple(name.removesuffix(_SOURCE_SUFFIX) for name in file_names)
    for stem in stems:
        if not is_portable_file_name(stem):
            problem_json.report_fault(
                field,
                f"{stem + _SOURCE_SUFFIX!r} is not the name of a source",
                f"Write it as name{_SOURCE_SUFFIX}",
            )
    return () if stems == (problem_id.lower(),) else stems


def read_cpp_standard(problem_json: Fields, year: int | None) -> str:
    """Return the C++ standard: the header's, or else the standard that the contest used in that year."""
    default = "gnu++17" if year is not None and year < _GNU20_SINCE else "gnu++20"
    standard = CmsHeader.cpp_standard.read(problem_json, default)
    if not re.fullmatch(r"(gnu|c)\+\+[0-9][0-9a-z]", standard):
        problem_json.report_fault(
            "cpp_standard", f"{standard!r} is not a C++ standard", "Write it as gnu++17 or c++20"
        )
    return standard


# --- task_type_params: an object, a list, or a string that contains an object or a list as JSON ------


def read_params(
    problem_json: Fields, task: TaskType, faults: Faults, parameters_key: str = _PARAMS_KEY
) -> TaskTypeParams:
    """Return the parameters of the task type by name.

    Args:
        problem_json: The fields of problem.json.
        task: The task type, which decides the order of a list of parameters.
        faults: Receives faults and notes.
        parameters_key: The header's key for the parameters.
    """
    parameters_key = _LONG_PARAMS_KEY if problem_json.has_field(_LONG_PARAMS_KEY) else parameters_key
    value = _parse_json_field(problem_json, parameters_key)
    values_by_name: dict[str, Any] = {}
    if isinstance(value, list):
        values_by_name = dict(zip(_LIST_PARAMS.get(task, ()), value, strict=False))
        file_names = values_by_name.pop("io", None)
        if isinstance(file_names, list) and len(file_names) == 2:
            values_by_name["inputfile"], values_by_name["outputfile"] = file_names
        elif file_names is not None:
            values_by_name["inputfile"] = (
                file_names  # if the value is not a file name, reading the field reports it
            )
    elif isinstance(value, dict):
        prefix = f"task_type_parameters_{task}_"
        params_by_name = {name.removeprefix(prefix): value_of_param for name, value_of_param in value.items()}
        values_by_name = {
            _ALIASES.get(name, name): value_of_param for name, value_of_param in params_by_name.items()
        }
    elif value is not None:
        problem_json.report_fault(
            parameters_key, "neither an object nor a list", "Write it as the contest system exports it"
        )
    params = TaskTypeParams(values_by_name, problem_json.file, faults, field_prefix=f"{parameters_key}.")
    params.check_keys()
    return params


def read_options(params: TaskTypeParams, task: TaskType, has_grader: bool) -> TaskOptions:
    """Return the options of the task type. By default, a grader is used if the package has one."""
    match task:
        case TaskType.BATCH | TaskType.BATCH_AND_OUTPUT:
            has_output_tests = task is TaskType.BATCH_AND_OUTPUT
            return TaskOptions(
                with_grader=_is_compiled_with_grader(params, "grader", has_grader),
                input_file=params.inputfile,
                output_file=params.outputfile,
                output_tests=params.output_only_testcases if has_output_tests else (),
            )
        case TaskType.COMMUNICATION:
            return TaskOptions(
                with_grader=_is_compiled_with_grader(params, "stub", has_grader),
                processes=params.num_processes,
                user_io=params.user_io,
                manager_args=params.manager_args,
            )
        case TaskType.TWO_STEPS:
            return TaskOptions(with_grader=True)
        case TaskType.INTERACTIVE:
            return TaskOptions(with_grader=has_grader, manager_args=params.manager_args)
        case TaskType.FUNCTION:
            name = params.function
            if name and not all(component.isidentifier() for component in name.split(".")):
                problem = f"{name!r} is not the name of a function"
                params.report_fault("function", problem, "Set a name, or Class.method")
            return TaskOptions(function=name)
    return TaskOptions()


def _is_compiled_with_grader(params: Fields, grader_choice: str, has_grader: bool) -> bool:
    """Return True if submissions are compiled with the grader.

    The parameter `compilation` is then `grader_choice`, and otherwise `alone`.
    """
    default = grader_choice if has_grader else "alone"
    return params.read_choice("compilation", ("alone", grader_choice), default) == grader_choice


def _parse_json_field(fields: Fields, field_name: str) -> Any:
    """Return a field's value, or the JSON in it if it is a string. None if it is empty or broken."""
    value = fields.values.get(field_name)
    if not isinstance(value, str):
        return value
    try:
        return parse_json(value) if value.strip() else None
    except ValueError as error:
        fields.report_fault(field_name, f"broken JSON in the string: {error}", "Correct it in the file")
        return None


# --- programs of the package -------------------------------------------------------------------------


def check_grader(task: TaskType, options: TaskOptions, graders: Sequence[NamedBlob], faults: Faults) -> None:
    """Report a missing grader if the options require one.

    Args:
        task: The task type, which decides the grader's name.
        options: The options of the task, which tell whether submissions are compiled with a grader.
        graders: The package's graders.
        faults: Receives the fault.
    """
    name = grader_name(task)
    if options.with_grader and find_first_by_stem(graders, [name]) is None:
        faults.report("missing file", f"{name}.cpp", remedy="Add it, or set the compilation to alone")


def exclude_unimportable_python_grader(
    submission_module: str,
    task: TaskType,
    graders: tuple[NamedBlob, ...],
    faults: Faults,
    folder: str,
    remedy: str = "Rename the task",
) -> tuple[NamedBlob, ...]:
    """Return the graders without the Python grader if no Python program can import the submission's module.

    Without its grader, Python is not available for the problem. If no other grader remains, it is a fault.

    Args:
        submission_module: The module name of submissions.
        task: The task type, which decides the grader's name.
        graders: The package's graders.
        faults: Receives faults and notes.
        folder: The folder of the Python grader, for messages.
        remedy: How the user changes the module name.
    """
    grader_stem = grader_name(task)
    python_grader = next((grader for grader in graders if grader.name == f"{grader_stem}.py"), None)
    if python_grader is None or (
        "." not in submission_module and submission_module not in sys.stdlib_module_names
    ):
        return graders
    problem = f"it cannot import submissions, which are named {submission_module}.py"
    grader_path = f"{folder}/{PurePosixPath(grader_stem).name}.py"
    other_graders = tuple(grader for grader in graders if grader != python_grader)
    if find_first_by_stem(other_graders, [grader_stem]) is None:
        faults.report(problem, grader_path, remedy=remedy)
        return graders
    faults.add_note(f"ignored, so Python is excluded: {problem}. {remedy}", grader_path)
    return other_graders


def find_manager(
    problem_json: Fields,
    task: TaskType,
    graders: Sequence[NamedBlob],
    faults: Faults,
    folder: str = "graders",
) -> Manager | None:
    """Return the task's manager or interactor, or None if the task type has none.

    Args:
        problem_json: The fields of problem.json.
        task: The task type.
        graders: The package's graders, which include the manager.
        faults: Receives faults and notes.
        folder: The folder of the graders, for messages.
    """
    manager_stems = _MANAGER_SOURCES.get(task)
    if manager_stems is None:
        return None
    default_kind = CheckerKind.CMS if task is TaskType.COMMUNICATION else CheckerKind.TESTLIB
    manager_kind = ManagerKeys.manager.read(problem_json, default_kind)
    if manager_kind is CheckerKind.CMS and task is TaskType.INTERACTIVE:
        problem = f"an interactor cannot print a score for {manager_kind}: its output goes to the submission"
        problem_json.report_fault("manager", problem, f"Set it to {', '.join(_MANAGER_KINDS[1:])}")
    manager_source = find_first_by_stem(graders, manager_stems)
    if manager_source is None:
        missing_file = f"{folder}/{Path(manager_stems[0]).name}.cpp"
        faults.report("missing file", missing_file, remedy=f"A task of type {task} needs it")
        return None
    return Manager(
        sources=put_first(manager_source, graders),
        kind=manager_kind,
        language=language_of(manager_source.name) or "c++",
    )


def find_checker(
    problem_json: Fields, params: TaskTypeParams, task: TaskType, sources: Sequence[NamedBlob]
) -> Checker:
    """Return the checker: from the key `checker`, else from `output_eval`, else from the package's files.

    Args:
        problem_json: The fields of problem.json, which may contain the key `checker`.
        params: The parameters of the task type, which may contain `output_eval`.
        task: The task type, which decides the comparison if nothing else does.
        sources: The files in the checker's folder.
    """
    # `checker` is an object or the name of a kind. If it is not an object, its keys are empty.
    checker_values = problem_json.raw_value("checker")
    checker_keys = CheckerKeys.from_fields(
        problem_json.make_nested_fields("checker", checker_values if isinstance(checker_values, dict) else {})
    )
    checker_keys.check_keys()
    checker_kind = _choose_checker_kind(problem_json, checker_keys, params, bool(sources), task)
    checker = Checker(
        kind=checker_kind,
        arguments=checker_keys.arguments,
        case_sensitive=checker_keys.case_sensitive,
        space_sensitive=checker_keys.space_sensitive,
        absolute=checker_keys.absolute,
        relative=checker_keys.relative,
        full=checker_keys.full,
    )
    if not checker_kind.is_program:
        return checker
    return add_checker_sources(checker, sources, problem_json)


def add_checker_sources(
    checker: Checker,
    sources: Sequence[NamedBlob],
    problem_json: Fields,
    checker_key: str = "checker",
    value_without_checker: str = "white-diff",
) -> Checker:
    """Return the checker with its program: checker/checker.cpp, or the only source in the folder.

    Args:
        checker: The checker without sources.
        sources: The files in the checker's folder.
        problem_json: The fields of problem.json.
        checker_key: The key that asks for a checker, for messages.
        value_without_checker: The value of that key if a package has no checker, for messages.
    """
    program_files = [file for file in sources if find_language_by_suffix(Path(file.name).suffix)]
    main_source = find_first_by_stem(sources, _CHECKERS) or (
        program_files[0] if len(program_files) == 1 else None
    )
    if main_source is None:
        problem_json.report_fault(
            checker_key, "missing file checker/checker.cpp", f"Add it, or set this to {value_without_checker}"
        )
        return checker
    language = language_of(main_source.name) or "c++"
    return replace(checker, sources=put_first(main_source, sources), language=language)


def _choose_checker_kind(
    problem_json: Fields, checker_keys: CheckerKeys, params: TaskTypeParams, has_sources: bool, task: TaskType
) -> CheckerKind:
    """Return the kind of the checker."""
    output_eval = params.output_eval if params.has_field("output_eval") else None
    if checker_keys.values:
        return CheckerKeys.kind.read(checker_keys, CheckerKind.CMS if has_sources else CheckerKind.TOKENS)
    if problem_json.has_field("checker"):
        return problem_json.read_enum("checker", CheckerKind, CheckerKind.CMS)
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
    def test_selector(self) -> Any:
        """Return the value that selects the tests: names, a regular expression or a number of tests."""
        return self.fields.raw_value(self.tests_field)


def read_subtasks(
    folder: Path, scoring_keys: ScoringKeys, tests: tuple[str, ...], faults: Faults
) -> tuple[Subtask, ...]:
    """Return the subtasks from the files in subtasks/, or else from the score type's parameters.

    Args:
        folder: The package's folder.
        scoring_keys: The score type, its threshold and its parameters, from the package's header.
        tests: Names of all tests, sorted. Subtasks that contain a number of tests take them in this order.
        faults: Receives faults and notes.
    """
    default_subtask = Subtask(
        name="all", points=0.0, tests=(), score_type=scoring_keys.score_type, threshold=scoring_keys.threshold
    )
    groups = list[_Group]()
    for path in list_visible_paths((folder / "subtasks").glob("*")):
        file_path = f"subtasks/{path.name}"
        if path.suffix.lower() not in _SUBTASK_SUFFIXES:
            continue
        if path.suffix != ".json":
            faults.report(
                "not the name of a subtask's file", file_path, remedy=f"Write it as {path.stem}.json"
            )
        elif (values := read_mapping_file(folder, file_path, faults)) is not None:
            subtask_keys = SubtaskKeys(values, file_path, faults)
            subtask_keys.check_keys()
            groups.append(_make_group(path.stem, subtask_keys, default_subtask))
    if scoring_keys.has_field(_SUBTASK_PARAMETERS):
        if groups:
            scoring_keys.report_fault(
                _SUBTASK_PARAMETERS, "there are also subtasks in files", "Remove one of the two"
            )
        groups = _read_group_parameters(scoring_keys, default_subtask, len(tests), faults)
    has_counts = any(_is_count(group.test_selector) for group in groups)
    if has_counts:
        _note_ambiguous_name_order(tests, "tests", faults)
        _note_ambiguous_name_order([group.subtask.name for group in groups], "subtasks", faults)
    tests_by_group = (
        _select_tests_by_count(groups, tests)
        if has_counts
        else [_select_tests_by_name(group, tests) for group in groups]
    )
    return tuple(
        replace(group.subtask, tests=test_names)
        for group, test_names in zip(groups, tests_by_group, strict=True)
    )


def _note_ambiguous_name_order(names: Sequence[str], package_part: str, faults: Faults) -> None:
    """Add a note if names in alphabetical order are not in numerical order: 1, 10, 2."""

    def by_number(name: str) -> list[tuple[int, str]]:
        return [
            (int(digits or 0), other_characters)
            for digits, other_characters in re.findall(r"(\d*)(\D*)", name)
        ]

    numbered_names = sorted(names, key=by_number)
    index = next(
        (
            index
            for index, name_pair in enumerate(zip(names, numbered_names, strict=True))
            if len({*name_pair}) > 1
        ),
        None,
    )
    if index is not None:
        problem = f"they are counted in alphabetical order: {names[index]} is before {numbered_names[index]}"
        faults.add_note(f"{problem}. Pad numbers with zeros to count in numerical order", package_part)


def _read_group_parameters(
    scoring_keys: ScoringKeys, default_subtask: Subtask, test_count: int, faults: Faults
) -> list[_Group]:
    """Return the groups in the score type's parameters.

    They are [[points, tests, threshold], ...]; each inner list may be an object. If the score type is a
    sum, they may be a number: the points of each test.
    """
    value = _parse_json_field(scoring_keys, _SUBTASK_PARAMETERS)
    if default_subtask.score_type is ScoreType.SUM and isinstance(value, int | float):
        group_fields = scoring_keys.make_nested_fields(
            _SUBTASK_PARAMETERS, {"tests": ".*"} if test_count else {}
        )
        points = Fields({_SUBTASK_PARAMETERS: value}, scoring_keys.file, faults).read_number(
            _SUBTASK_PARAMETERS
        )
        return [_Group(replace(default_subtask, points=points * test_count), group_fields, "tests")]
    if value is None:
        return []
    if not isinstance(value, list) or not all(map(_is_group_row, value)):
        problem = "neither a list of [points, tests] nor one of objects"
        scoring_keys.report_fault(_SUBTASK_PARAMETERS, problem, "Write it as the contest system does")
        return []
    return [
        _read_group_row(str(index), group_row, scoring_keys, default_subtask)
        for index, group_row in enumerate(value, 1)
    ]


def _is_group_row(row: Any) -> bool:
    """Return True if the value can describe a group: an object, or a list of two or three values."""
    return isinstance(row, dict) or (isinstance(row, list) and len(row) in (2, 3))


def _read_group_row(
    name: str, group_row: dict[str, Any] | list[Any], scoring_keys: Fields, default_subtask: Subtask
) -> _Group:
    """Return the group that is described by an object or a list in `score_type_parameters`."""
    prefix = f"{_SUBTASK_PARAMETERS}.{name}"
    if isinstance(group_row, dict):
        row_values = {str(key): value for key, value in group_row.items() if value is not None}
        group_keys = GroupKeys.from_fields(scoring_keys.make_nested_fields(prefix, row_values))
        group_keys.check_keys()
        return _make_group(name, group_keys, default_subtask)
    if default_subtask.score_type is not ScoreType.GROUP_THRESHOLD and isinstance(group_row[-1], str):
        group_row = group_row[:2]  # ignore the third value, which is a name
    row_values = dict(zip(("points", "tests", "threshold"), group_row, strict=False))
    return _make_group(
        name, _GroupRow.from_fields(scoring_keys.make_nested_fields(prefix, row_values)), default_subtask
    )


def _make_group(name: str, keys: SubtaskKeys | GroupKeys, default_subtask: Subtask) -> _Group:
    """Return a group that is described by these keys."""
    keys_class = type(keys)
    if keys.testcases is None:
        keys.report_fault(keys_class.testcases.name, "missing", _TESTS_REMEDY)
    subtask = replace(
        default_subtask,
        name=name,
        points=keys.score,
        score_type=keys_class.score_type.read(keys, default_subtask.score_type),
        threshold=keys_class.threshold.read(keys, default_subtask.threshold),
    )
    return _Group(subtask, keys, keys_class.testcases.name)


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _select_tests_by_count(groups: Sequence[_Group], tests: tuple[str, ...]) -> list[tuple[str, ...]]:
    """Return each group's tests if all groups have numbers of tests. They are consecutive in `tests`."""
    for group in groups:
        if not _is_count(group.test_selector) or group.test_selector < 1:
            group.fields.report_fault(
                group.tests_field,
                "must be a number of at least 1, as other subtasks have numbers of tests",
                _TESTS_REMEDY,
            )
            return [() for _ in groups]
    test_counts: list[Selector] = [group.test_selector for group in groups]
    try:
        return list(select_group_tests(tests, test_counts))
    except InputError as error:
        groups[-1].fields.report_fault(groups[-1].tests_field, error.problem, "Correct the numbers of tests")
        return [() for _ in groups]


def _select_tests_by_name(group: _Group, tests: tuple[str, ...]) -> tuple[str, ...]:
    """Return the group's tests, which are listed or match a regular expression."""
    if isinstance(group.test_selector, str):
        try:
            return select_group_tests(tests, [group.test_selector])[0]
        except InputError as error:
            group.fields.report_fault(
                group.tests_field, error.problem, "It must match from the start of the tests' names"
            )
            return ()
    if group.test_selector is None:
        return ()  # already reported
    listed_names = group.fields.read_texts(group.tests_field)
    if not listed_names and group.test_selector == []:
        group.fields.report_fault(
            group.tests_field, "no tests", "List the subtask's tests, or remove this file"
        )
    existing_tests = set(tests)
    for name in dict.fromkeys(listed_names):
        if name not in existing_tests:
            group.fields.report_fault(
                group.tests_field,
                f"names the test {name!r}, which is not in tests/",
                suggest_names(name, tests),
            )
        elif listed_names.count(name) > 1:
            group.fields.report_fault(
                group.tests_field, f"names the test {name!r} more than once", "Name it once"
            )
    return listed_names


# --- solutions ---------------------------------------------------------------------------------------


def _read_solutions(
    folder: Path, task: TaskType, tests: Sequence[str], source_names: Sequence[str], faults: Faults
) -> Iterator[Solution]:
    """Yield the solutions in solutions/VERDICT/. Files that are not sources are ignored.

    If the task type accepts output files, a solution is a folder of output_<test>.txt and maybe a source.
    If submissions have several sources, a solution is a folder with these sources.
    """
    accepts_outputs = task in (TaskType.OUTPUT_ONLY, TaskType.BATCH_AND_OUTPUT)
    for path in list_visible_paths((folder / "solutions").glob("*/")):
        # A name that is not UTF-8 is unprintable, and is reported elsewhere.
        if not is_known_keyword(path.name) and path.name.isprintable():
            similar = find_similar_keyword(path.name)
            suggestion = f". Did you mean {similar!r}?" if similar else ""
            note = f"unknown verdict, with which no result is compared{suggestion}"
            faults.add_note(note, f"solutions/{path.name}")
    for path in list_visible_paths((folder / "solutions").glob("*/*")):
        solution_name, expected = path.name, path.parent.name
        note_unsupported_language(path, path.relative_to(folder).as_posix(), faults)
        if path.is_file() and language_of(solution_name):
            yield make_solution(path, name=solution_name, expected=expected)
        elif path.is_dir() and accepts_outputs:
            files = (file for file in list_visible_paths(path.iterdir()) if file.is_file())
            source = next((file for file in files if language_of(file.name)), None)
            yield make_solution(
                source, name=solution_name, expected=expected, outputs=read_output_files(path, tests)
            )
        elif path.is_dir() and source_names:
            folder_files = [file for file in list_visible_paths(path.iterdir()) if file.is_file()]
            for main_source in (
                file for file in folder_files if file.stem == source_names[0] and language_of(file.name)
            ):
                other_files = load_named_blobs(
                    path, [file.name for file in folder_files if file != main_source]
                )
                yield make_solution(main_source, name=solution_name, expected=expected, files=other_files)
