"""One package of DMOJ's judge (`init.yml`), read from its folder, with an archive of tests if it has one.

Limits are not in the format: DMOJ's site keeps them. They are taken from the tests of the judge's own test
suite (`tests/NAME/test.yml`), which also bring solutions.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import MappingProxyType

from msgspec.structs import replace

from ioi_eval.model.values import (
    Checker,
    CheckerKind,
    Limits,
    Manager,
    Problem,
    TaskOptions,
    TaskType,
    Test,
)
from ioi_eval.problems.dmoj_cases import Cases, read_cases
from ioi_eval.problems.dmoj_checkers import Data, Written, read_checker, read_graders, read_program
from ioi_eval.problems.dmoj_solutions import read_limits, read_solutions, read_suite
from ioi_eval.problems.fields import Faults, Fields
from ioi_eval.problems.package import Package, is_plain, read_with

FORMAT = "DMOJ"
HEADER = "init.yml"
_KIB = 1 << 10
_USUAL_FACTOR, _USUAL_OUTPUT = 3.0, 25165824  # of the time limit; bytes
_REFUSED = MappingProxyType(
    {
        "custom_judge": ("a grader for DMOJ's own judge is not run", "Use interactive, or signature_grader"),
        "io_redirects": ("files in place of descriptors are not given", "Use file_io"),
        "symlinks": ("submissions get no further files", "Take it out"),
    }
)


def looks_like_package(folder: Path) -> bool:
    return (folder / HEADER).is_file()


def package_id(folder: Path, where: str) -> str:
    place = Path(where)
    return place.stem if place.suffix.lower() == ".zip" else folder.resolve().name


def read_package(folder: Path, where: str) -> Package:
    return read_with(_problem, folder, where, name=FORMAT, header=HEADER)


def _problem(folder: Path, where: str, header: Fields, faults: Faults) -> Problem:
    name = package_id(folder, where)
    if not is_plain(name):
        remedy = "Name the package with letters, digits, '_', '-', '.'"
        faults.add(f"{name!r} is not an id", "", remedy=remedy)
    _refuse(header, faults)
    suite = list(read_suite(folder, faults))
    data = Data(folder, header, faults)
    interactor = _interactor(folder, header)
    cases = read_cases(header, data, name)
    points = max(cases.worths.values(), default=0.0) or 1.0
    checker = read_checker(folder, header, cases.checkers, points)
    judge = interactor.kind if interactor else checker.kind
    graders, prelude = read_graders(header, data)
    return Problem(
        id=name,
        name=name,
        source=where,
        task_type=TaskType.INTERACTIVE if interactor else TaskType.BATCH,
        options=replace(_files(header), with_grader=bool(graders), prelude=prelude),
        limits=_limits(suite, header, faults),
        grader_files=graders,
        checker=Checker() if interactor else checker,
        manager=Manager(sources=interactor.sources, kind=judge, language=interactor.language, full=points)
        if interactor
        else None,
        tests=tuple(_tests(cases, checker, judge, points)),
        subtasks=cases.subtasks,
        solutions=tuple(read_solutions(folder, suite, [test.name for test in cases.tests], faults)),
        cpp_standard="gnu++20",
    )


def _refuse(header: Fields, faults: Faults) -> None:
    for key, (words, remedy) in _REFUSED.items():
        if header.values.get(key):
            header.fault(key, words, remedy)
    for key in header.values:
        if key.endswith(("++", "=")):
            header.fault(key, "what Python makes while it is read is not run", "Write the values out")
    if header.has("interactive") and header.has("signature_grader"):
        header.fault("interactive", "it has a signature_grader, too", "Choose one")
    if header.has("unbuffered") and header.flag("unbuffered", False) and header.has("interactive"):
        faults.note("unbuffered is passed over: submissions must flush what they write", HEADER)


def _tests(cases: Cases, checker: Checker, judge: CheckerKind, points: float) -> Iterator[Test]:
    """With the points that a program of testlib's kind may give, and what the other checkers are told."""
    for test in cases.tests:
        worth = cases.worths[test.name]
        own = worth if judge is CheckerKind.TESTLIB and worth not in (0, points) else None
        told = test.arguments if checker.kind is CheckerKind.CMS else ()
        yield replace(test, full=own, arguments=told)


# --- limits ------------------------------------------------------------------------------------------


def _limits(suite: list[Fields], header: Fields, faults: Faults) -> Limits:
    time, memory = read_limits(suite, faults)
    factor = header.number("wall_time_factor", _USUAL_FACTOR, above=0)
    return Limits(
        cpu_time=time,
        wall_time=time * factor,
        memory=memory * _KIB,
        output=header.whole("output_limit_length", _USUAL_OUTPUT, least=1),
    )


def _files(header: Fields) -> TaskOptions:
    files = header.inner("file_io")
    names = {side: files.text(side, "") for side in ("input", "output")}
    for side, name in names.items():
        if name and not is_plain(name):
            files.fault(side, f"{name!r} is not a plain file name", "Use letters, digits, '_', '-' and '.'")
    return TaskOptions(input_file=names["input"], output_file=names["output"])


# --- programs ----------------------------------------------------------------------------------------


def _interactor(folder: Path, header: Fields) -> Written | None:
    return read_program(folder, header.inner("interactive")) if header.has("interactive") else None
