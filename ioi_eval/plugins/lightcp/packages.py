"""Packages of LightCPVerifier, LiveCodeBench Pro's judge: config.yaml, testdata/, a checker or interactor.

Its judge passes a program that is right on all tests; points of subtasks are not in it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

from ioi_eval.model.errors import InputError
from ioi_eval.model.fields import Faults, Fields, shown
from ioi_eval.model.values import Checker, CheckerKind, Limits, Manager, NamedBlob, Problem, TaskType, Test
from ioi_eval.problems.keys import Keys, raw, text, whole
from ioi_eval.problems.names import is_plain
from ioi_eval.problems.package import (
    TESTLIB_REMEDY,
    DeclaredFormat,
    language_of,
    note_unused,
    source_text,
    test_of,
    with_testlib,
)

_TESTS = "testdata"
_UNITS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30}


class _Case(NamedTuple):
    input: str
    output: str
    time: float  # seconds
    memory: int  # bytes


class CaseKeys(Keys):
    """The keys of a case in `subtasks[].cases`."""

    input = text("the input's file in `testdata/`")
    output = text("the answer's file in `testdata/`; `X.ans` is used before `X.out` if both are there")
    time = raw("as in the header", "as in the subtask")
    memory = raw("as in the header", "as in the subtask")


class SubtaskKeys(Keys):
    """The keys of a subtask in `subtasks`."""

    n_cases = whole(
        "number of cases, which continue the numbers of earlier subtasks", "`cases`", most=100_000
    )
    cases = raw("a list of cases, below; a case of several subtasks is one test", "`n_cases`")
    time_limit = raw("as in the header", "as in the header")
    time = raw("the same, used if `time_limit` is missing", "as in the header")
    memory_limit = raw("as in the header", "as in the header")
    memory = raw("the same, used if `memory_limit` is missing", "as in the header")


class LightCpHeader(Keys):
    """The keys of config.yaml."""

    type = text("`default`, with a checker, or `interactive`, with an interactor", default="default")
    time_limit = raw("a time with its unit, such as `2s` or `500ms`; the same for all tests", "1s")
    time = raw("the same, used if `time_limit` is missing", "1s")
    memory_limit = raw("a size such as `256m`, or bytes; the same for all tests", "256m")
    memory = raw("the same, used if `memory_limit` is missing", "256m")
    subtasks = raw("a list of subtasks, below", "refused")
    input_prefix = text("what comes before a case's number in the name of its input", default="")
    input_suffix = text("what comes after it", default=".in")
    output_prefix = text("what comes before a case's number in the name of its answer", default="")
    output_suffix = text("what comes after it", default=".ans")
    checker = text("the checker's source, for testlib", default="chk.cc")
    interactor = text("the interactor's source, for testlib", default="interactor.cc")


class LightCp(DeclaredFormat[LightCpHeader]):
    """The format of LightCPVerifier. `headers`: further folders in which testlib.h may lie."""

    name = "LightCPVerifier"
    header = "config.yaml"
    keys = LightCpHeader
    rank = 50

    def __init__(self, *headers: Path) -> None:
        self._headers = headers

    def looks_like_package(self, folder: Path) -> bool:
        return super().looks_like_package(folder) and (folder / _TESTS).is_dir()

    def problem(self, folder: Path, where: str, header: LightCpHeader, faults: Faults) -> Problem:
        kind = header.type
        if kind not in ("default", "interactive"):
            header.fault("type", f"{kind!r} is not judged", "Expected default or interactive")
        role = "checker" if kind == "default" else "interactor"
        source = header.checker if kind == "default" else header.interactor
        program = _program(folder, header, role, source, self._headers)
        name = self.checked_id(folder, where, header, faults)
        cases = list(dict.fromkeys(_cases(header)))  # several subtasks may have the same one
        different = {(case.time, case.memory) for case in cases}
        if len(different) > 1:
            header.fault("subtasks", "limits differ between tests", "Give all tests the same time and memory")
        time, memory = next(iter(different), (1.0, 1))
        return Problem(
            id=name,
            name=name,
            source=where,
            task_type=TaskType.BATCH if kind == "default" else TaskType.INTERACTIVE,
            # Its wall clock runs to twice the time limit.
            limits=Limits(cpu_time=time, wall_time=2 * time, memory=memory),
            checker=Checker(kind=CheckerKind.TESTLIB, sources=program) if kind == "default" else Checker(),
            manager=None if kind == "default" else Manager(sources=program, kind=CheckerKind.TESTLIB),
            tests=tuple(_tests(folder, cases, faults)),
            cpp_standard="gnu++17",
        )


# --- config.yaml -------------------------------------------------------------------------------------


def _cases(header: LightCpHeader) -> Iterator[_Case]:
    """Yield the cases of all subtasks."""
    subtasks = header.subtasks
    if not isinstance(subtasks, list) or not subtasks or not all(isinstance(each, dict) for each in subtasks):
        header.fault("subtasks", "not a list of subtasks", "Give it a list of `n_cases: 3` or of `cases`")
        return
    first_number = 1
    for index, values in enumerate(subtasks):
        subtask = SubtaskKeys.of(header.under(f"subtasks.{index}", values))
        subtask.check_keys()
        if not subtask.has("n_cases"):
            yield from _listed_cases(header, subtask)
            continue
        for number in range(first_number, first_number + subtask.n_cases):
            input_name = f"{header.input_prefix}{number}{header.input_suffix}"
            output_name = f"{header.output_prefix}{number}{header.output_suffix}"
            yield _Case(input_name, output_name, *_limits(header, subtask))
        first_number += subtask.n_cases


def _listed_cases(header: LightCpHeader, subtask: SubtaskKeys) -> Iterator[_Case]:
    """Yield the cases that a subtask lists by the names of their files."""
    cases = subtask.cases
    if not isinstance(cases, list) or not all(isinstance(each, dict) for each in cases):
        remedy = "Write `cases: [{input: 1.in, output: 1.out}]`"
        subtask.fault("cases", "neither n_cases nor a list of cases", remedy)
        return
    for index, values in enumerate(cases):
        case = CaseKeys.of(subtask.under(f"cases.{index}", values))
        case.check_keys()
        yield _Case(case.input, case.output, *_limits(header, subtask, case))


def _limits(*levels: Fields) -> tuple[float, int]:
    """Return the limits of the innermost level that has them; of one level the longer name wins."""
    return (
        _limit(levels, ("time_limit", "time"), "1s", _seconds, "a time such as 2s or 500ms"),
        _limit(levels, ("memory_limit", "memory"), "256m", _bytes, "a size such as 256m"),
    )


def _limit(levels: tuple[Fields, ...], names: tuple[str, ...], usual: str, read: Any, expected: str) -> Any:
    for level in reversed(levels):
        # A case has the short name alone.
        for name in names[1:] if level is levels[-1] and len(levels) > 2 else names:
            if level.has(name):
                found = read(level.values[name])
                if not found:
                    level.fault(name, f"{shown(level.values[name])} is not {expected}", "Write its unit, too")
                return found or read(usual)
    return read(usual)


def _seconds(value: Any) -> float | None:
    """Return seconds. A number without a unit counts nanoseconds there, which nobody means: None."""
    found = _amount(value, "ms|s")
    return found[0] / (1000 if found[1] == "ms" else 1) if found else None


def _bytes(value: Any) -> int | None:
    if isinstance(value, int) and not isinstance(value, bool):
        return value if 0 < value < 1 << 60 else None
    found = _amount(value, "[kmg]")
    return round(found[0] * _UNITS[found[1]]) if found else None


def _amount(value: Any, units: str) -> tuple[float, str] | None:
    """Return the number and the unit that a text has; None for anything else."""
    pattern = rf"([0-9]{{1,9}}(?:\.[0-9]{{1,9}})?)\s*({units})?"
    found = re.fullmatch(pattern, value, re.I) if isinstance(value, str) else None
    return (float(found[1]), (found[2] or "").lower()) if found else None


# --- files -------------------------------------------------------------------------------------------


def _program(
    folder: Path, header: LightCpHeader, kind: str, name: str, headers: tuple[Path, ...]
) -> tuple[NamedBlob, ...]:
    """Return the checker or the interactor, with testlib.h from the package or the folder around it."""
    path = folder / name
    if not is_plain(name) or not path.is_file():
        header.fault(kind, f"there is no file {name!r} in the package", "Add it, or name the one that is")
        return ()
    if language_of(name) != "c++":
        header.fault(kind, f"{name!r} is not C++", "Expected a program that is written with testlib")
    try:
        return with_testlib(name, source_text(path), folder, folder.resolve().parent, *headers)
    except InputError as error:
        header.fault(kind, error.problem, TESTLIB_REMEDY)
        return ()


def _tests(folder: Path, cases: list[_Case], faults: Faults) -> Iterator[Test]:
    names, used = set[str](), set[Path]()
    for case in cases:
        given = PurePosixPath(case.input)
        name = given.with_suffix("").as_posix() if given.name else case.input  # which is no file
        if name in names:
            faults.add(
                f"two cases are called {name!r}", f"{_TESTS}/{case.input}", remedy="Rename one's files"
            )
        names.add(name)
        answers = (folder / _TESTS / name for name in (re.sub(r"\.out$", ".ans", case.output), case.output))
        answer = next(filter(Path.is_file, answers), folder / _TESTS / case.output)
        paths = [folder / _TESTS / case.input, answer]
        used.update(paths)
        root = (folder / _TESTS).resolve()
        missing = [path for path in paths if not (path.is_file() and path.resolve().is_relative_to(root))]
        for path in missing:
            faults.add("missing file", f"{_TESTS}/{path.name}", remedy=f"Add it, or correct {LightCp.header}")
        if not missing:
            yield test_of(name, paths[0], paths[1])
    note_unused(folder, _TESTS, used, faults)


FORMAT = LightCp()
