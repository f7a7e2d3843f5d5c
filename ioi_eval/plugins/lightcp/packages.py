"""Read packages of LightCPVerifier, LiveCodeBench Pro's judge.

Its judge accepts a program that passes all tests. The points of subtasks are not in a package.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from ioi_eval.model.errors import InputError
from ioi_eval.model.fields import Faults, Fields, format_value
from ioi_eval.model.values import Checker, CheckerKind, Limits, Manager, NamedBlob, Problem, TaskType, Test
from ioi_eval.problems.keys import Key, Keys, integer_key, raw_key, text_key
from ioi_eval.problems.names import is_portable_file_name
from ioi_eval.problems.package import (
    TESTLIB_REMEDY,
    DeclaredFormat,
    add_note_about_unused_files,
    collect_program_files,
    language_of,
    make_test,
    read_source_text,
)

_TESTS = "testdata"
_DEFAULT_TIME_S, _DEFAULT_MEMORY_BYTES = 1.0, 256 << 20
_MAX_MEMORY_BYTES = 1 << 60
_UNIT_BYTES = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30}
_UNIT_REMEDY = "Write its unit too"


def _parse_amount(value: object, units: str) -> tuple[float, str] | None:
    """Return the number and the unit in a string, or None. `units` is a regular expression."""
    pattern = rf"([0-9]{{1,9}}(?:\.[0-9]{{1,9}})?)\s*({units})?"
    match = re.fullmatch(pattern, value, re.I) if isinstance(value, str) else None
    return (float(match[1]), (match[2] or "").lower()) if match else None


def _declare_duration(meaning: str, missing_description: str) -> Key[float | None]:
    """Declare a key for a time. Its value is in seconds, or None if the key is missing.

    A number without quotes is a fault, because LightCPVerifier reads it as nanoseconds.
    """

    def read(fields: Fields, name: str, _: object) -> float | None:
        if not fields.has_field(name):
            return None
        amount = _parse_amount(fields.raw_value(name), "ms|s")
        if amount is None or not amount[0]:
            message = f"{format_value(fields.raw_value(name))} is not a time such as 2s or 500ms"
            fields.report_fault(name, message, _UNIT_REMEDY)
            return _DEFAULT_TIME_S
        return amount[0] / (1000 if amount[1] == "ms" else 1)

    return Key(read, None, meaning, missing_description)


def _declare_memory_size_key(meaning: str, missing_description: str) -> Key[int | None]:
    """Declare a key for a size. Its value is in bytes, or None if the key is missing."""

    def read(fields: Fields, name: str, _: object) -> int | None:
        if not fields.has_field(name):
            return None
        value = fields.raw_value(name)
        if isinstance(value, int) and not isinstance(value, bool) and 0 < value < _MAX_MEMORY_BYTES:
            return value
        amount = _parse_amount(value, "[kmg]")
        size_bytes = round(amount[0] * _UNIT_BYTES[amount[1]]) if amount else 0
        if not size_bytes:
            fields.report_fault(name, f"{format_value(value)} is not a size such as 256m", _UNIT_REMEDY)
        return size_bytes or _DEFAULT_MEMORY_BYTES

    return Key(read, None, meaning, missing_description)


class CaseKeys(Keys):
    """The keys of a case in `subtasks[].cases`."""

    input = text_key("the input's file in `testdata/`")
    output = text_key("the answer's file in `testdata/`; `X.ans` is used before `X.out` if both are there")
    time = _declare_duration("as in the header", "as in the subtask")
    memory = _declare_memory_size_key("as in the header", "as in the subtask")


class SubtaskKeys(Keys):
    """The keys of a subtask in `subtasks`."""

    n_cases = integer_key(
        "number of cases, which continue the numbers of earlier subtasks", "`cases`", maximum=100_000
    )
    cases = raw_key("a list of cases, below; a case of several subtasks is one test", "`n_cases`")
    time_limit = _declare_duration("as in the header", "as in the header")
    time = _declare_duration("the same, used if `time_limit` is missing", "as in the header")
    memory_limit = _declare_memory_size_key("as in the header", "as in the header")
    memory = _declare_memory_size_key("the same, used if `memory_limit` is missing", "as in the header")


class LightCpHeader(Keys):
    """The keys of config.yaml."""

    type = text_key("`default`, with a checker, or `interactive`, with an interactor", default="default")
    time_limit = _declare_duration(
        "a time with its unit, such as `2s` or `500ms`; the same for all tests", "1s"
    )
    time = _declare_duration("the same, used if `time_limit` is missing", "1s")
    memory_limit = _declare_memory_size_key("a size such as `256m`, or bytes; the same for all tests", "256m")
    memory = _declare_memory_size_key("the same, used if `memory_limit` is missing", "256m")
    subtasks = raw_key("a list of subtasks, below", "refused")
    input_prefix = text_key("what comes before a case's number in the name of its input", default="")
    input_suffix = text_key("what comes after it", default=".in")
    output_prefix = text_key("what comes before a case's number in the name of its answer", default="")
    output_suffix = text_key("what comes after it", default=".ans")
    checker = text_key("the checker's source, for testlib", default="chk.cc")
    interactor = text_key("the interactor's source, for testlib", default="interactor.cc")


class _Case(NamedTuple):
    """A case: the names of its files in testdata/, and its limits."""

    input: str
    output: str
    time_s: float
    memory_bytes: int


class LightCp(DeclaredFormat[LightCpHeader]):
    """The package format of LightCPVerifier, recognized by config.yaml with testdata/.

    Args:
        testlib_folders: Further folders that may contain testlib.h.
    """

    name = "LightCPVerifier"
    header = "config.yaml"
    keys = LightCpHeader
    rank = 50

    def __init__(self, *testlib_folders: Path) -> None:
        self._header_folders = testlib_folders

    def looks_like_package(self, folder: Path) -> bool:
        return super().looks_like_package(folder) and (folder / _TESTS).is_dir()

    def read_problem(self, folder: Path, where: str, header: LightCpHeader, faults: Faults) -> Problem:
        is_interactive = header.type == "interactive"
        if header.type not in ("default", "interactive"):
            header.report_fault(
                "type", f"{header.type!r} is not supported", "Expected default or interactive"
            )
        role, source = ("interactor", header.interactor) if is_interactive else ("checker", header.checker)
        program_files = self._load_program(folder, header, role, source)
        problem_id = self.read_id(folder, where, header, faults)
        cases = list(dict.fromkeys(_list_cases(header)))  # several subtasks may contain the same case
        limits = {(case.time_s, case.memory_bytes) for case in cases}
        if len(limits) > 1:
            header.report_fault(
                "subtasks", "limits differ between tests", "Give all tests the same time and memory"
            )
        time_s, memory_bytes = next(iter(limits), (_DEFAULT_TIME_S, 1))
        return Problem(
            id=problem_id,
            name=problem_id,
            source=where,
            task_type=TaskType.INTERACTIVE if is_interactive else TaskType.BATCH,
            # LightCPVerifier's wall-clock limit is twice the time limit.
            limits=Limits(cpu_time=time_s, wall_time=2 * time_s, memory=memory_bytes),
            checker=Checker() if is_interactive else Checker(kind=CheckerKind.TESTLIB, sources=program_files),
            manager=Manager(sources=program_files, kind=CheckerKind.TESTLIB) if is_interactive else None,
            tests=tuple(_read_tests(folder, cases, faults)),
            cpp_standard="gnu++17",
        )

    def _load_program(
        self, folder: Path, header: LightCpHeader, role: str, source_name: str
    ) -> tuple[NamedBlob, ...]:
        """Return the checker or the interactor with testlib.h, or nothing after a fault."""
        path = folder / source_name
        if not is_portable_file_name(source_name) or not path.is_file():
            header.report_fault(
                role, f"there is no file {source_name!r} in the package", "Add it, or correct the name"
            )
            return ()
        if language_of(source_name) != "c++":
            header.report_fault(role, f"{source_name!r} is not C++", "Expected a program that uses testlib")
        try:
            folders = (folder, folder.resolve().parent, *self._header_folders)
            return collect_program_files(source_name, read_source_text(path), *folders)
        except InputError as error:
            header.report_fault(role, error.problem, TESTLIB_REMEDY)
            return ()


# --- config.yaml -------------------------------------------------------------------------------------


def _list_cases(header: LightCpHeader) -> Iterator[_Case]:
    """Yield the cases of all subtasks."""
    subtasks = header.subtasks
    if (
        not isinstance(subtasks, list)
        or not subtasks
        or not all(isinstance(entry, dict) for entry in subtasks)
    ):
        header.report_fault(
            "subtasks", "not a list of subtasks", "Give it a list of `n_cases: 3` or of `cases`"
        )
        return
    first_number = 1
    for index, values in enumerate(subtasks):
        subtask = SubtaskKeys.from_fields(header.make_nested_fields(f"subtasks.{index}", values))
        subtask.check_keys()
        if not subtask.has_field("n_cases"):
            yield from _read_listed_cases(header, subtask)
            continue
        for number in range(first_number, first_number + subtask.n_cases):
            input_name = f"{header.input_prefix}{number}{header.input_suffix}"
            output_name = f"{header.output_prefix}{number}{header.output_suffix}"
            yield _Case(input_name, output_name, *_read_time_and_memory_limits(header, subtask))
        first_number += subtask.n_cases


def _read_listed_cases(header: LightCpHeader, subtask: SubtaskKeys) -> Iterator[_Case]:
    """Yield the cases that a subtask lists by the names of their files."""
    cases = subtask.cases
    if not isinstance(cases, list) or not all(isinstance(entry, dict) for entry in cases):
        remedy = "Write `cases: [{input: 1.in, output: 1.out}]`"
        subtask.report_fault("cases", "neither n_cases nor a list of cases", remedy)
        return
    for index, values in enumerate(cases):
        case = CaseKeys.from_fields(subtask.make_nested_fields(f"cases.{index}", values))
        case.check_keys()
        yield _Case(case.input, case.output, *_read_time_and_memory_limits(header, subtask, case))


def _read_time_and_memory_limits(
    header: LightCpHeader, subtask: SubtaskKeys, case: CaseKeys | None = None
) -> tuple[float, int]:
    """Return the time limit in seconds and the memory limit in bytes: the case's, subtask's or header's."""
    time_limits = [subtask.time_limit, subtask.time, header.time_limit, header.time]
    memory_limits = [subtask.memory_limit, subtask.memory, header.memory_limit, header.memory]
    if case is not None:
        time_limits, memory_limits = [case.time, *time_limits], [case.memory, *memory_limits]
    time_s = next((time for time in time_limits if time is not None), _DEFAULT_TIME_S)
    return time_s, next((size for size in memory_limits if size is not None), _DEFAULT_MEMORY_BYTES)


# --- files -------------------------------------------------------------------------------------------


def _read_tests(folder: Path, cases: list[_Case], faults: Faults) -> Iterator[Test]:
    """Yield the tests. The name of a test is the name of its input without the suffix."""
    used_names, used_paths, test_folder = set[str](), set[Path](), (folder / _TESTS).resolve()
    for case in cases:
        input_path = PurePosixPath(case.input)
        test_name = input_path.with_suffix("").as_posix() if input_path.name else case.input
        if test_name in used_names:
            message = f"two cases are called {test_name!r}"
            faults.report(message, f"{_TESTS}/{case.input}", remedy="Rename the files of one case")
        used_names.add(test_name)
        answer_names = (re.sub(r"\.out$", ".ans", case.output), case.output)
        answer_paths = (folder / _TESTS / answer_name for answer_name in answer_names)
        answer_path = next(filter(Path.is_file, answer_paths), folder / _TESTS / case.output)
        paths = [folder / _TESTS / case.input, answer_path]
        used_paths.update(paths)
        missing_paths = [
            path for path in paths if not (path.is_file() and path.resolve().is_relative_to(test_folder))
        ]
        for path in missing_paths:
            faults.report(
                "missing file", f"{_TESTS}/{path.name}", remedy=f"Add it, or correct {LightCp.header}"
            )
        if not missing_paths:
            yield make_test(test_name, paths[0], paths[1])
    add_note_about_unused_files(folder, _TESTS, used_paths, faults)


FORMAT = LightCp()
