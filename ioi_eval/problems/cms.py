"""Packages in the layout that the IOI's contest system exports.

Beside the exported fields, problem.json may hold keys of our own: `year`, `cpp_standard`; `checker`, one of
the kinds or an object with `kind` and any of `arguments`, `case_sensitive`, `space_sensitive`, `absolute`,
`relative`, `full`; `manager`, how a manager or an interactor says what the submission is worth (cms, testlib,
icpc). `score_type` and `threshold` stand in it or in a subtask's file, where `testcases` may be a list of
names, a regular expression or a count; without subtasks' files `score_type_parameters` lists groups as
[points, tests], [points, tests, threshold] or objects, or is what each test of a Sum is worth.
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
_ON_THE_OTHER_SIDE = {
    TaskType.COMMUNICATION: ("graders/manager",),
    TaskType.INTERACTIVE: ("graders/interactor", "graders/manager"),
}
_MANAGERS = (CheckerKind.CMS, CheckerKind.TESTLIB, CheckerKind.EXIT_CODE, CheckerKind.ICPC)
_GNU20_SINCE = 2024  # the year from which the contest compiles as C++20
_FIELD, _LONG_FIELD = "task_type_params", "task_type_parameters"  # the second in TPS, and in CMS itself
_KEYS = (
    *("code", "name", "year", "time_limit", "memory_limit", "task_type", _FIELD, _LONG_FIELD, "checker"),
    *("manager", "managers", "score_type", "threshold", "score_type_parameters", "submission_format"),
    *("score_precision", "cpp_standard"),
)
_PARAMS = ("compilation", "inputfile", "outputfile", "output_eval", "output_only_testcases")
_MORE_PARAMS = ("num_processes", "user_io", "manager_args", "function")
_ENDING = ".%l"  # of a source in any language
_IO = {"io_0_inputfile": "inputfile", "io_1_outputfile": "outputfile"}
_ALIASES = {"input_filename": "inputfile", "output_filename": "outputfile", **_IO}
_BATCH = ("compilation", "io", "output_eval")
# The meaning of a list's places, per task type. `io` is a pair of file names.
_PLACES: Mapping[TaskType, tuple[str, ...]] = {
    TaskType.BATCH: _BATCH,
    TaskType.BATCH_AND_OUTPUT: (*_BATCH, "output_only_testcases"),
    TaskType.COMMUNICATION: ("num_processes", "compilation", "user_io"),
    TaskType.OUTPUT_ONLY: ("output_eval",),
    TaskType.TWO_STEPS: ("output_eval",),
}
_LIKE_SUBTASKS = frozenset({".json", ".yaml", ".yml"})
STD_IO, FIFO_IO = USER_IO = ("std_io", "fifo_io")
DIFF, COMPARATOR = _OUTPUT_EVALS = ("diff", "comparator")


class Cms(DeclaredFormat):
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
        code = self.checked_id(folder, where, header, faults)
        task = header.word("task_type", TaskType, TaskType.BATCH)
        params = read_params(header, task, faults)
        graders = files_below(folder, "graders")
        checker = checker_of(header, params, task, files_below(folder, "checker"))
        options = read_options(params, task, first_named(graders, [grader_name(task)]) is not None)
        check_grader(task, options, graders, faults)
        if task is TaskType.COMMUNICATION and not params.has("user_io"):
            options = check_pipes(options, graders, faults)
        names_of_sources = _source_names(header, code)
        if options.with_grader:
            otherwise = 'call them otherwise: "submission_format": ["NAME.%l"]'
            module = (*names_of_sources, code.lower())[0]
            graders = that_import(module, task, graders, faults, "graders", otherwise)
        tests = tests_of(folder, needs_answers(task, checker), faults)
        names = tuple(test.name for test in tests)
        for name in options.output_tests:
            if name not in names:
                words = f"names the test {name!r}, which is not in tests/"
                params.fault("output_only_testcases", words, nearest(name, names))
        year = header.whole("year", least=1950, most=2200) if header.has("year") else None
        subtasks = read_subtasks(folder, header, names, faults)
        if not subtasks:
            words = "no subtasks: nothing is worth points, and a submission is to pass all tests"
            faults.note(words, self.header)
        return Problem(
            id=code,
            name=header.text("name", code),
            year=year,
            source=where,
            task_type=task,
            options=replace(options, source_names=names_of_sources),
            limits=self.limits(header, task),
            grader_files=graders,
            checker=checker,
            manager=manager_of(header, task, graders, faults),
            tests=tests,
            subtasks=subtasks,
            score_precision=header.whole("score_precision", 2, most=9),
            cpp_standard=cpp_standard(header, year),
            solutions=tuple(_solutions(folder, task, names, names_of_sources, faults)),
        )

    def limits(self, header: Fields, task: TaskType) -> Limits:
        """Return the limits. A memory limit of null means none; a missing one is a fault."""
        if header.values.get("memory_limit", 0) is None and task is not TaskType.OUTPUT_ONLY:
            return Limits.contest(time_limit(header), None)
        return super().limits(header, task)


# --- problem.json ------------------------------------------------------------------------------------


def _source_names(header: Fields, code: str) -> tuple[str, ...]:
    """Return the names of a submission's files without their endings; none for the usual single one."""
    field = "submission_format"
    several = isinstance(header.values.get(field), list)
    listed = header.texts(field) if several else _at_commas(header.text(field, ""))
    stems = tuple(name.removesuffix(_ENDING) for name in listed if name.endswith(_ENDING))
    for stem in stems:
        if not is_plain(stem):
            header.fault(field, f"{stem + _ENDING!r} is no name of a source", f"Write it as name{_ENDING}")
    return () if stems == (code.lower(),) else stems


def cpp_standard(header: Fields, year: int | None) -> str:
    usual = "gnu++17" if year is not None and year < _GNU20_SINCE else "gnu++20"
    standard = header.text("cpp_standard", usual)
    if not re.fullmatch(r"(gnu|c)\+\+[0-9][0-9a-z]", standard):
        header.fault("cpp_standard", f"{standard!r} is not a C++ standard", "Write it as gnu++17 or c++20")
    return standard


# --- task_type_params, as an object, a list, or either as a text ------------------------------------


def read_params(header: Fields, task: TaskType, faults: Faults, field: str = _FIELD) -> Fields:
    """Return the parameters under their plain names: compilation, inputfile, output_eval, ..."""
    field = _LONG_FIELD if header.has(_LONG_FIELD) else field
    value = _parsed(header, field)
    named: dict[str, Any] = {}
    if isinstance(value, list):
        named = dict(zip(_PLACES.get(task, ()), value, strict=False))
        files = named.pop("io", None)
        if isinstance(files, list) and len(files) == 2:
            named["inputfile"], named["outputfile"] = files
        elif files is not None:
            named["inputfile"] = files  # of a wrong type: noted where it is read
    elif isinstance(value, dict):
        prefix = f"task_type_parameters_{task}_"
        plain = {name.removeprefix(prefix): value_of for name, value_of in value.items()}
        named = {_ALIASES.get(name, name): value_of for name, value_of in plain.items()}
    elif value is not None:
        header.fault(field, "neither an object nor a list", "Give it as the contest system exports it")
    params = Fields(named, header.file, faults, prefix=f"{field}.")
    refuse_misspelt(params, (*_PARAMS, *_MORE_PARAMS))
    return params


def read_options(params: Fields, task: TaskType, has_grader: bool) -> TaskOptions:
    """Return a task type's options. Where nothing is said, a grader that is there is used."""
    match task:
        case TaskType.BATCH | TaskType.BATCH_AND_OUTPUT:
            by_file = task is TaskType.BATCH_AND_OUTPUT
            return TaskOptions(
                with_grader=_compilation(params, "grader", has_grader),
                input_file=file_name(params, "inputfile"),
                output_file=file_name(params, "outputfile"),
                output_tests=_list(params, "output_only_testcases", _at_commas) if by_file else (),
            )
        case TaskType.COMMUNICATION:
            return TaskOptions(
                with_grader=_compilation(params, "stub", has_grader),
                processes=params.whole("num_processes", 1, least=1, most=100),
                user_io=params.choice("user_io", USER_IO, STD_IO),
                manager_args=_list(params, "manager_args", shlex.split),
            )
        case TaskType.TWO_STEPS:
            return TaskOptions(with_grader=True)
        case TaskType.INTERACTIVE:
            return TaskOptions(
                with_grader=has_grader, manager_args=_list(params, "manager_args", shlex.split)
            )
        case TaskType.FUNCTION:
            name = params.text("function")
            if name and not all(word.isidentifier() for word in name.split(".")):
                words = f"{name!r} is not the name of a function"
                params.fault("function", words, "Give a name, or Class.method")
            return TaskOptions(function=name)
    return TaskOptions()


_PIPES = re.compile(r"\bargv\s*\[\s*2\s*\]")  # of C, C++ and Python: standard streams come without it


def check_pipes(options: TaskOptions, graders: Sequence[NamedBlob], faults: Faults) -> TaskOptions:
    """Return the options of a Communication task whose package does not say `user_io`.

    A stub that opens its second argument is started with pipes: it would end at once without.
    """
    stub = first_named(graders, [grader_name(TaskType.COMMUNICATION)])
    if (
        not options.with_grader
        or stub is None
        or not _PIPES.search(stub.content.read().decode(errors="replace"))
    ):
        return options
    faults.note(f"user_io is not said: {FIFO_IO}, as the stub opens its second argument", Cms.header)
    return replace(options, user_io=FIFO_IO)


def _compilation(params: Fields, together: str, has_grader: bool) -> bool:
    usual = together if has_grader else "alone"
    return params.choice("compilation", ("alone", together), usual) == together


def _parsed(header: Fields, field: str) -> Any:
    """Return a field's value, parsed where it is JSON in a text; None where there is none, or a fault."""
    value = header.values.get(field)
    if not isinstance(value, str):
        return value
    try:
        return parse_json(value) if value.strip() else None
    except ValueError as error:
        header.fault(field, f"broken JSON in the text: {error}", "Correct it in the file")
        return None


def file_name(params: Fields, name: str, default: str = "") -> str:
    value = params.text(name, default)
    if value and not is_plain(value):
        params.fault(
            name, f"{value!r} is not a plain file name", "Give a name such as input.txt, or leave it empty"
        )
        return ""
    return value


def _list(params: Fields, name: str, split: Callable[[str], Sequence[str]]) -> tuple[str, ...]:
    """Return a list of texts, also from one text that is split."""
    if isinstance(params.values.get(name), list):
        return params.texts(name)
    text = params.text(name, "")
    try:
        return tuple(split(text))
    except ValueError as error:
        params.fault(name, f"{text!r} is not a list of arguments ({error})", "Close the quotes")
        return ()


def _at_commas(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


# --- programs of the package -------------------------------------------------------------------------


def check_grader(task: TaskType, options: TaskOptions, graders: Sequence[NamedBlob], faults: Faults) -> None:
    name = grader_name(task)
    if options.with_grader and first_named(graders, [name]) is None:
        faults.add("missing file", f"{name}.cpp", remedy="Add it, or set the compilation to alone")


def that_import(
    name: str,
    task: TaskType,
    graders: tuple[NamedBlob, ...],
    faults: Faults,
    place: str,
    otherwise: str = "rename the task",
) -> tuple[NamedBlob, ...]:
    """Return the graders, which lie in `place`, without one in Python that does not import submissions.

    Submissions in Python are none to the problem then. It is a fault where nothing else can be solved with.
    """
    stem = grader_name(task)
    found = next((grader for grader in graders if grader.name == f"{stem}.py"), None)
    if found is None:
        return graders
    importable = "." not in name and name not in sys.stdlib_module_names  # `my-task` is by importlib
    if importable and re.search(rf"\b{re.escape(name)}\b", found.content.read().decode(errors="replace")):
        return graders
    words = f"it {'does not' if importable else 'cannot'} import submissions, which are called {name}.py"
    remedy = f"Import {name}, or {otherwise}" if importable else otherwise[0].upper() + otherwise[1:]
    file, others = f"{place}/{PurePosixPath(stem).name}.py", tuple(file for file in graders if file != found)
    if first_named(others, [stem]) is None:
        faults.add(words, file, remedy=remedy)
        return graders
    faults.note(f"left out, so that Python is not judged: {words}. {remedy}", file)
    return others


def manager_of(
    header: Fields, task: TaskType, graders: Sequence[NamedBlob], faults: Faults, folder: str = "graders"
) -> Manager | None:
    """Return a task's manager or interactor, if it has one. `folder` is the graders', for messages."""
    names = _ON_THE_OTHER_SIDE.get(task)
    if names is None:
        return None
    usual = CheckerKind.CMS if task is TaskType.COMMUNICATION else CheckerKind.TESTLIB
    kind = header.word("manager", CheckerKind, usual)
    # The submission reads what an interactor writes, so no score can stand there.
    known = _MANAGERS if task is TaskType.COMMUNICATION else _MANAGERS[1:]
    if kind not in known:
        header.fault("manager", f"{kind} is not how a manager speaks", f"Set it to {', '.join(known)}")
    source = first_named(graders, names)
    if source is None:
        missing = f"{folder}/{Path(names[0]).name}.cpp"
        faults.add("missing file", missing, remedy=f"A task of type {task} needs it")
        return None
    return Manager(sources=led_by(source, graders), kind=kind, language=language_of(source.name) or "c++")


_OF_CHECKERS = ("kind", "arguments", "case_sensitive", "space_sensitive", "absolute", "relative", "full")


def checker_of(header: Fields, params: Fields, task: TaskType, sources: Sequence[NamedBlob]) -> Checker:
    # The object of our own; empty where there is none, or only the word for a kind.
    values = header.values.get("checker")
    own = header.under("checker", values if isinstance(values, dict) else {})
    for key in own.values:
        if key not in _OF_CHECKERS:
            own.fault(key, "there is no such key", nearest(key, _OF_CHECKERS))
    kind = _checker_kind(header, own, params, bool(sources), task)
    plain = Checker(
        kind=kind,
        arguments=own.texts("arguments") if own.has("arguments") else (),
        case_sensitive=own.flag("case_sensitive", True),
        space_sensitive=own.flag("space_sensitive", False),
        absolute=own.optional_number("absolute"),
        relative=own.optional_number("relative"),
        full=own.number("full", 1.0, above=0),
    )
    if not kind.is_program:
        return plain
    return with_sources(plain, sources, header)


def with_sources(
    checker: Checker,
    sources: Sequence[NamedBlob],
    header: Fields,
    field: str = "checker",
    without: str = "white-diff",
) -> Checker:
    """Return the checker with its program: checker/checker.cpp, or the only source that there is.

    Messages name the `field`, and the value that a package `without` a checker has there.
    """
    programs = [file for file in sources if of_suffix(Path(file.name).suffix)]
    source = first_named(sources, _CHECKERS) or (programs[0] if len(programs) == 1 else None)
    if source is None:
        header.fault(field, "missing file checker/checker.cpp", f"Add it, or set this to {without}")
        return checker
    language = language_of(source.name) or "c++"
    return replace(checker, sources=led_by(source, sources), language=language)


def _checker_kind(
    header: Fields, own: Fields, params: Fields, has_sources: bool, task: TaskType
) -> CheckerKind:
    wanted = params.choice("output_eval", _OUTPUT_EVALS) if params.has("output_eval") else None
    if own.values:
        return own.word("kind", CheckerKind, CheckerKind.CMS if has_sources else CheckerKind.TOKENS)
    if header.has("checker"):
        return header.word("checker", CheckerKind, CheckerKind.CMS)
    if wanted is not None:
        return CheckerKind.CMS if wanted == COMPARATOR else CheckerKind.WHITE_DIFF
    if has_sources:
        return CheckerKind.CMS
    return CheckerKind.JSON if task is TaskType.FUNCTION else CheckerKind.WHITE_DIFF


# --- subtasks ---------------------------------------------------------------------------------------


_PARAMETERS = "score_type_parameters"
_MISSING = "Give a list of names, a regular expression or a count"


class _Group(NamedTuple):
    """A subtask whose tests are not chosen yet, and the field that says which they are."""

    subtask: Subtask
    fields: Fields
    tests_field: str

    @property
    def tests(self) -> Any:
        return self.fields.values.get(self.tests_field)


def read_subtasks(
    folder: Path, header: Fields, tests: tuple[str, ...], faults: Faults
) -> tuple[Subtask, ...]:
    """Return the subtasks of the files in subtasks/, or else of the score type's parameters."""
    score_type = header.word("score_type", ScoreType, ScoreType.GROUP_MIN)
    threshold = header.number("threshold", 1.0, above=0)
    usual = Subtask(name="all", points=0.0, tests=(), score_type=score_type, threshold=threshold)
    groups = list[_Group]()
    for path in visible((folder / "subtasks").glob("*")):
        file = f"subtasks/{path.name}"
        if path.suffix.lower() not in _LIKE_SUBTASKS:
            continue
        if path.suffix != ".json":
            faults.add("it is no subtask by this name", file, remedy=f"Write it as {path.stem}.json")
        elif (values := read_mapping(folder, file, faults)) is not None:
            fields = Fields(values, file, faults)
            refuse_misspelt(fields, ("score", "testcases", "score_type", "threshold"))
            groups.append(_group(path.stem, fields, usual, "score", "testcases"))
    if header.has(_PARAMETERS):
        if groups:
            header.fault(_PARAMETERS, "there are subtasks in files as well", "Keep one of the two")
        groups = _from_parameters(header, usual, len(tests), faults)
    counted = any(_is_count(group.tests) for group in groups)
    if counted:
        _note_order(tests, "tests", faults)
        _note_order([group.subtask.name for group in groups], "subtasks", faults)
    chosen = _by_count(groups, tests) if counted else [_by_name(group, tests) for group in groups]
    return tuple(replace(group.subtask, tests=names) for group, names in zip(groups, chosen, strict=True))


def _note_order(names: Sequence[str], part: str, faults: Faults) -> None:
    """Note where names are counted in another order than that of the numbers in them: 1, 10, 2."""

    def by_number(name: str) -> list[tuple[int, str]]:
        return [(int(word or 0), rest) for word, rest in re.findall(r"(\d*)(\D*)", name)]

    ordered = sorted(names, key=by_number)
    place = next(
        (place for place, pair in enumerate(zip(names, ordered, strict=True)) if len({*pair}) > 1), None
    )
    if place is not None:
        words = f"they are counted by name: {names[place]} is before {ordered[place]}"
        faults.note(f"{words}. Fill numbers up with 0 to count by number", part)


def _from_parameters(header: Fields, usual: Subtask, tests: int, faults: Faults) -> list[_Group]:
    """Return the groups of [[points, tests, threshold], ...], where an object may stand for a list.

    A number is the points of each test of a sum.
    """
    value = _parsed(header, _PARAMETERS)
    if usual.score_type is ScoreType.SUM and isinstance(value, int | float):
        parameters = header.under(_PARAMETERS, {"tests": ".*"} if tests else {})
        points = Fields({_PARAMETERS: value}, header.file, faults).number(_PARAMETERS)
        return [_Group(replace(usual, points=points * tests), parameters, "tests")]
    if value is None:
        return []
    if not isinstance(value, list) or not all(map(_is_group, value)):
        words = "neither a list of [points, tests] nor one of objects"
        header.fault(_PARAMETERS, words, "Give it as the contest system has it")
        return []
    return [_of_row(str(index), row, header, usual) for index, row in enumerate(value, 1)]


_OF_OBJECTS = ("max_score", "testcases", "threshold", "score_type")
_SHOWN_ONLY = frozenset({"always_show_testcases", "name", "key"})  # no score depends on them


def _is_group(row: Any) -> bool:
    return isinstance(row, dict) or (isinstance(row, list) and len(row) in (2, 3))


def _of_row(name: str, row: dict[str, Any] | list[Any], header: Fields, usual: Subtask) -> _Group:
    """Return the group that one object or list of `score_type_parameters` describes."""
    place = f"{_PARAMETERS}.{name}"
    if isinstance(row, dict):
        fields = header.under(place, {str(key): value for key, value in row.items() if value is not None})
        for key in sorted(fields.values.keys() - {*_OF_OBJECTS, *_SHOWN_ONLY}):
            fields.fault(key, "there is no such key", nearest(key, _OF_OBJECTS))
        return _group(name, fields, usual, "max_score", "testcases")
    if usual.score_type is not ScoreType.GROUP_THRESHOLD and isinstance(row[-1], str):
        row = row[:2]  # the third is a name, which nothing depends on
    values = dict(zip(("points", "tests", "threshold"), row, strict=False))
    return _group(name, header.under(place, values), usual, "points", "tests")


def _group(name: str, fields: Fields, usual: Subtask, points: str, tests: str) -> _Group:
    if fields.values.get(tests) is None:
        fields.fault(tests, "missing", _MISSING)
    subtask = replace(
        usual,
        name=name,
        points=fields.number(points),
        score_type=fields.word("score_type", ScoreType, usual.score_type),
        threshold=fields.number("threshold", usual.threshold, above=0),
    )
    return _Group(subtask, fields, tests)


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _by_count(groups: Sequence[_Group], tests: tuple[str, ...]) -> list[tuple[str, ...]]:
    """Return the tests of groups that only count them, each group the next ones."""
    for group in groups:
        if not _is_count(group.tests) or group.tests < 1:
            group.fields.fault(group.tests_field, "not a count from 1, as others are", _MISSING)
            return [() for _ in groups]
    counts: list[Selector] = [group.tests for group in groups]
    try:
        return list(group_tests(tests, counts))
    except InputError as error:
        groups[-1].fields.fault(groups[-1].tests_field, error.problem, "Count the tests again")
        return [() for _ in groups]


def _by_name(group: _Group, tests: tuple[str, ...]) -> tuple[str, ...]:
    if isinstance(group.tests, str):
        try:
            return group_tests(tests, [group.tests])[0]
        except InputError as error:
            group.fields.fault(
                group.tests_field, error.problem, "It must match from the start of the tests' names"
            )
            return ()
    if group.tests is None:
        return ()  # noted already
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
    """Yield the sources in the verdicts' folders; read-mes, archives and binaries are none.

    Where files are handed in, a solution is a folder of output_<test>.txt, with a source if it has a program;
    where submissions have several sources, a folder of these.
    """
    handed_in = task in (TaskType.OUTPUT_ONLY, TaskType.BATCH_AND_OUTPUT)
    for path in visible((folder / "solutions").glob("*/*")):
        name, expected = path.name, path.parent.name
        note_foreign(path, path.relative_to(folder).as_posix(), faults)
        if path.is_file() and language_of(name):
            yield solution(path, name=name, expected=expected)
        elif path.is_dir() and handed_in:
            files = (file for file in visible(path.iterdir()) if file.is_file())
            source = next((file for file in files if language_of(file.name)), None)
            yield solution(source, name=name, expected=expected, outputs=outputs_of(path, tests))
        elif path.is_dir() and source_names:
            lying = [file for file in visible(path.iterdir()) if file.is_file()]
            for main in (file for file in lying if file.stem == source_names[0] and language_of(file.name)):
                others = named(path, [file.name for file in lying if file != main])
                yield solution(main, name=name, expected=expected, files=others)
