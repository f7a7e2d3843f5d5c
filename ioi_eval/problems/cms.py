"""One package in the layout that the IOI's contest system exports, read from a folder.

Beside the exported fields, problem.json may hold keys of our own: `year`, `cpp_standard`; `checker`, one of
the kinds or an object with `kind` and any of `arguments`, `case_sensitive`, `space_sensitive`, `absolute`,
`relative`, `full`; `manager`, how a manager or an interactor says what the submission is worth (cms, testlib,
icpc). `score_type` and `threshold` stand in it or in a subtask's file, where `testcases` may be a list of
names, a regular expression or a count; without subtasks' files `score_type_parameters` lists groups as
[points, tests] or [points, tests, threshold], or is what each test of a Sum is worth.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from ioi_eval.model.languages import of_suffix
from ioi_eval.model.values import (
    Checker,
    CheckerKind,
    Limits,
    Manager,
    NamedBlob,
    Problem,
    Solution,
    TaskOptions,
    TaskType,
)
from ioi_eval.problems.cms_fields import (
    COMPARATOR,
    read_options,
    read_output_eval,
    read_params,
    read_subtasks,
)
from ioi_eval.problems.fields import Faults, Fields, nearest
from ioi_eval.problems.package import (
    Package,
    files_below,
    first_named,
    id_of,
    is_plain,
    language_of,
    led_by,
    outputs_of,
    read_with,
    solution,
    tests_of,
    visible,
)

HEADER = "problem.json"
FORMAT = "CMS"
_CHECKERS = ("checker/checker", "checker/validator", "checker/validate")
_COMPILED_WITH = {TaskType.COMMUNICATION: "graders/stub", TaskType.TWO_STEPS: "graders/manager"}
_ON_THE_OTHER_SIDE = {
    TaskType.COMMUNICATION: ("graders/manager",),
    TaskType.INTERACTIVE: ("graders/interactor", "graders/manager"),
}
_MANAGERS = (CheckerKind.CMS, CheckerKind.TESTLIB, CheckerKind.EXIT_CODE, CheckerKind.ICPC)
_LEAST_MEMORY = 1 << 20  # below it the number is not meant in bytes
_GNU20_SINCE = 2024  # the year from which the contest compiles as C++20


def looks_like_package(folder: Path) -> bool:
    return (folder / HEADER).exists() or ((folder / "tests").is_dir() and (folder / "subtasks").is_dir())


def package_id(folder: Path, where: str = "") -> str | None:
    return id_of(folder, HEADER, "code")


def read_package(folder: Path, where: str) -> Package:
    return read_with(_problem, folder, where, name=FORMAT, header=HEADER)


def _problem(folder: Path, where: str, header: Fields, faults: Faults) -> Problem:
    code = problem_id(header, "code")
    task = header.word("task_type", TaskType, TaskType.BATCH)
    params = read_params(header, task, faults)
    graders = files_below(folder, "graders")
    checker = checker_of(header, params, task, files_below(folder, "checker"))
    options = read_options(params, task, first_named(graders, [grader_of(task)]) is not None)
    check_grader(task, options, graders, faults)
    tests = tests_of(folder, needs_answers(task, checker), faults)
    names = tuple(test.name for test in tests)
    _check_output_tests(options, names, params)
    year = header.whole("year", least=1950, most=2200) if header.has("year") else None
    return Problem(
        id=code,
        name=header.text("name", code),
        year=year,
        source=where,
        task_type=task,
        options=options,
        limits=_limits(header, task),
        grader_files=graders,
        checker=checker,
        manager=manager_of(header, task, graders, faults),
        tests=tests,
        subtasks=read_subtasks(folder, header, names, faults),
        score_precision=header.whole("score_precision", 2, most=9),
        cpp_standard=cpp_standard(header, year),
        solutions=tuple(_solutions(folder, task, names)),
    )


# --- problem.json ------------------------------------------------------------------------------------


def problem_id(header: Fields, field: str) -> str:
    code = header.text(field)
    if code and not is_plain(code):
        header.fault(field, f"{code!r} is not an id", "Use letters, digits, '_', '-' and '.': it names files")
    return code


def _limits(header: Fields, task: TaskType) -> Limits:
    if task is TaskType.OUTPUT_ONLY:  # no program runs
        return Limits()
    memory = None  # null says that there is no limit; a missing field says nothing
    if not header.has("memory_limit") or header.values["memory_limit"] is not None:
        memory = header.whole("memory_limit", least=1)
        if 0 < memory < _LEAST_MEMORY:
            header.fault(
                "memory_limit", f"{memory} bytes is too little for any program", "It counts bytes, not MB"
            )
    return Limits.contest(header.number("time_limit", above=0), memory)


def cpp_standard(header: Fields, year: int | None) -> str:
    usual = "gnu++17" if year is not None and year < _GNU20_SINCE else "gnu++20"
    standard = header.text("cpp_standard", usual)
    if not re.fullmatch(r"(gnu|c)\+\+[0-9][0-9a-z]", standard):
        header.fault("cpp_standard", f"{standard!r} is not a C++ standard", "Write it as gnu++17 or c++20")
    return standard


# --- programs of the package -------------------------------------------------------------------------


def grader_of(task: TaskType) -> str:
    """What a submission of a task is compiled with, without its ending."""
    return _COMPILED_WITH.get(task, "graders/grader")


def check_grader(task: TaskType, options: TaskOptions, graders: Sequence[NamedBlob], faults: Faults) -> None:
    name = grader_of(task)
    if options.with_grader and first_named(graders, [name]) is None:
        faults.add("missing file", f"{name}.cpp", remedy="Add it, or set the compilation to alone")


def manager_of(
    header: Fields, task: TaskType, graders: Sequence[NamedBlob], faults: Faults, folder: str = "graders"
) -> Manager | None:
    """`folder` is what the package calls that of its graders."""
    names = _ON_THE_OTHER_SIDE.get(task)
    if names is None:
        return None
    usual = CheckerKind.CMS if task is TaskType.COMMUNICATION else CheckerKind.TESTLIB
    kind = header.word("manager", CheckerKind, usual)
    if kind not in _MANAGERS:
        header.fault("manager", f"{kind} is not how a manager speaks", f"Set it to {', '.join(_MANAGERS)}")
    source = first_named(graders, names)
    if source is None:
        missing = f"{folder}/{Path(names[0]).name}.cpp"
        faults.add("missing file", missing, remedy=f"A task of type {task} needs it")
        return None
    return Manager(sources=led_by(source, graders), kind=kind, language=language_of(source.name) or "c++")


def checker_of(header: Fields, params: Fields, task: TaskType, sources: Sequence[NamedBlob]) -> Checker:
    # The object of our own; empty where there is none, or only the word for a kind.
    values = header.values.get("checker")
    own = header.under("checker", values if isinstance(values, dict) else {})
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


def with_sources(checker: Checker, sources: Sequence[NamedBlob], header: Fields) -> Checker:
    """The checker with its program: checker/checker.cpp, or the only source that there is."""
    programs = [file for file in sources if of_suffix(Path(file.name).suffix)]
    source = first_named(sources, _CHECKERS) or (programs[0] if len(programs) == 1 else None)
    if source is None:
        header.fault("checker", "missing file checker/checker.cpp", "Add it, or set this to white-diff")
        return checker
    language = language_of(source.name) or "c++"
    return msgspec.structs.replace(checker, sources=led_by(source, sources), language=language)


def _checker_kind(
    header: Fields, own: Fields, params: Fields, has_sources: bool, task: TaskType
) -> CheckerKind:
    wanted = read_output_eval(params)
    if own.values:
        return own.word("kind", CheckerKind, CheckerKind.CMS if has_sources else CheckerKind.TOKENS)
    if header.has("checker"):
        return header.word("checker", CheckerKind, CheckerKind.CMS)
    if wanted is not None:
        return CheckerKind.CMS if wanted == COMPARATOR else CheckerKind.WHITE_DIFF
    if has_sources:
        return CheckerKind.CMS
    return CheckerKind.JSON if task is TaskType.FUNCTION else CheckerKind.WHITE_DIFF


def needs_answers(task: TaskType, checker: Checker) -> bool:
    """A manager, an interactor or a checker may do without expected outputs, a comparison cannot."""
    return task not in _ON_THE_OTHER_SIDE and not checker.kind.is_program


def _check_output_tests(options: TaskOptions, names: Sequence[str], params: Fields) -> None:
    for name in options.output_tests:
        if name not in names:
            words = f"names the test {name!r}, which is not in tests/"
            params.fault("output_only_testcases", words, nearest(name, tuple(names)))


# --- solutions ---------------------------------------------------------------------------------------


def _solutions(folder: Path, task: TaskType, tests: Sequence[str]) -> Iterator[Solution]:
    """The sources in the verdicts' folders. Read-mes, archives and binaries there are no solutions.

    Where files are handed in, a solution is a folder of output_<test>.txt, with a source if it has a program.
    """
    handed_in = task in (TaskType.OUTPUT_ONLY, TaskType.BATCH_AND_OUTPUT)
    for path in visible((folder / "solutions").glob("*/*")):
        name, expected = path.name, path.parent.name
        if path.is_file() and language_of(name):
            yield solution(path, name=name, expected=expected)
        elif path.is_dir() and handed_in:
            files = (file for file in visible(path.iterdir()) if file.is_file())
            source = next((file for file in files if language_of(file.name)), None)
            yield solution(source, name=name, expected=expected, outputs=outputs_of(path, tests))
