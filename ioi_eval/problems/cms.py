"""One package in the layout that the IOI's contest system exports, read from a folder.

Beside the exported fields, problem.json may hold `checker` (white-diff, stripped, cms, testlib), `year`,
`cpp_standard`, and, as a subtask's file may, `score_type` and `threshold`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from ioi_eval.errors import InputError
from ioi_eval.languages import of_suffix
from ioi_eval.models import (
    Blob,
    Checker,
    CheckerKind,
    Limits,
    NamedBlob,
    Problem,
    ScoreType,
    Solution,
    Subtask,
    TaskType,
    Test,
    Value,
)
from ioi_eval.problems.fields import Faults, Fields, nearest, read_object
from ioi_eval.problems.params import OutputEval, read_options, read_output_eval, read_params

HEADER = "problem.json"
_CHECKER_SOURCE = "checker/checker.cpp"
_LEAST_MEMORY = 1 << 20  # below it the number is not meant in bytes
_GNU20_SINCE = 2024  # the year from which the contest compiles as C++20
_BUILT_IN = (CheckerKind.WHITE_DIFF, CheckerKind.STRIPPED)
# Sources in languages that the language table has no row for yet: loaded, so that none seems absent.
_OTHER_LANGUAGES: Mapping[str, str] = {
    ".c": "c",
    ".go": "go",
    ".java": "java",
    ".kt": "kotlin",
    ".pas": "pascal",
    ".rs": "rust",
}


class Package(Value):
    """A package as it was read. `problem` is None when anything is wrong with it."""

    where: str
    problem: Problem | None = None
    errors: tuple[InputError, ...] = ()


def looks_like_package(folder: Path) -> bool:
    return (folder / HEADER).exists() or ((folder / "tests").is_dir() and (folder / "subtasks").is_dir())


def package_id(folder: Path) -> str | None:
    """The problem's id, if problem.json is sound enough to say it."""
    header = read_object(folder, HEADER, Faults(""))
    code = header.get("code") if header else None
    return code if isinstance(code, str) else None


def read_package(folder: Path, where: str) -> Package:
    """Reads all of a package and notes all that is wrong. `where` is what messages call it."""
    faults = Faults(where)
    problem = None
    try:
        header = read_object(folder, HEADER, faults)
        if header is not None:
            problem = _problem(folder, where, Fields(header, HEADER, faults), faults)
    except OSError as error:
        faults.add(f"cannot be read ({error.strerror or error})", str(error.filename or ""))
    if faults.errors:
        return Package(where=where, errors=tuple(faults.errors))
    return Package(where=where, problem=problem)


def _problem(folder: Path, where: str, header: Fields, faults: Faults) -> Problem:
    code = _code(folder, header)
    task = header.word("task_type", TaskType, TaskType.BATCH)
    params = read_params(header, task, faults)
    graders = _files(folder, "graders")
    checker = _checker(folder, header, params)
    options = read_options(params, task, _has(graders, "graders/grader."))
    _check_graders(task, options.with_grader, graders, faults)
    tests = _tests(folder, _needs_answers(task, checker), faults)
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
        tests=tests,
        subtasks=_subtasks(folder, header, tuple(test.name for test in tests), faults),
        score_precision=header.whole("score_precision", 2, most=9),
        cpp_standard=_cpp_standard(header, year),
        solutions=_solutions(folder),
    )


# --- problem.json ------------------------------------------------------------------------------------


def _code(folder: Path, header: Fields) -> str:
    if not header.has("code") and header.has("name") and (folder / "subtasks.json").exists():
        header.fault(
            "code", "missing: this is a TPS package", "Export it for the contest system (tps export CMS)"
        )
        return ""
    code = header.text("code")
    if code and not re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9_.-]*", code):
        header.fault(
            "code", f"{code!r} is not an id", "Use letters, digits, '_', '-' and '.': it names files"
        )
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


def _cpp_standard(header: Fields, year: int | None) -> str:
    usual = "gnu++17" if year is not None and year < _GNU20_SINCE else "gnu++20"
    standard = header.text("cpp_standard", usual)
    if not re.fullmatch(r"(gnu|c)\+\+[0-9][0-9a-z]", standard):
        header.fault("cpp_standard", f"{standard!r} is not a C++ standard", "Write it as gnu++17 or c++20")
    return standard


# --- files -------------------------------------------------------------------------------------------


def _files(folder: Path, part: str, first: str = "") -> tuple[NamedBlob, ...]:
    """All files below one folder of the package, by name, hidden ones left out."""
    found = (path.relative_to(folder) for path in (folder / part).rglob("*") if path.is_file())
    names = [name.as_posix() for name in found if not any(word.startswith(".") for word in name.parts)]
    ordered = sorted(names, key=lambda name: (name != first, name))
    return tuple(NamedBlob(name=name, content=Blob.of_file(folder / name)) for name in ordered)


def _has(files: Iterable[NamedBlob], start: str) -> bool:
    return any(file.name.startswith(start) for file in files)


def _check_graders(task: TaskType, with_grader: bool, graders: tuple[NamedBlob, ...], faults: Faults) -> None:
    if with_grader and not _has(graders, "graders/grader."):
        faults.add("missing file", "graders/grader.cpp", remedy="Add it, or set the compilation to alone")
    if task is TaskType.COMMUNICATION and not _has(graders, "graders/manager."):
        faults.add("missing file", "graders/manager.cpp", remedy="A Communication task needs its manager")


def _checker(folder: Path, header: Fields, params: Fields) -> Checker:
    sources = _files(folder, "checker", first=_CHECKER_SOURCE)
    kind = _checker_kind(header, params, bool(sources))
    if kind in _BUILT_IN:
        return Checker(kind=kind)
    if not _has(sources, _CHECKER_SOURCE):
        header.fault("checker", f"missing file {_CHECKER_SOURCE}", f"Add it, or set this to {_BUILT_IN[0]}")
    return Checker(kind=kind, sources=sources)


def _checker_kind(header: Fields, params: Fields, has_sources: bool) -> CheckerKind:
    wanted = read_output_eval(params)
    if header.has("checker"):
        return header.word("checker", CheckerKind, CheckerKind.CMS)
    if wanted is None:
        return CheckerKind.CMS if has_sources else CheckerKind.WHITE_DIFF
    return CheckerKind.CMS if wanted is OutputEval.COMPARATOR else CheckerKind.WHITE_DIFF


def _needs_answers(task: TaskType, checker: Checker) -> bool:
    """A manager or a checker may do without expected outputs, a comparison cannot."""
    return task is not TaskType.COMMUNICATION and checker.kind in _BUILT_IN


def _tests(folder: Path, needs_answers: bool, faults: Faults) -> tuple[Test, ...]:
    inputs, answers = _by_name(folder, ".in"), _by_name(folder, ".out")
    if not inputs:
        faults.add("no tests", "tests", remedy="Expected files NAME.in and NAME.out in this folder")
    for name in sorted(answers.keys() - inputs.keys()):
        faults.add("missing file", f"tests/{name}.in", remedy=f"Add it or remove tests/{name}.out")
    for name in sorted(inputs.keys() - answers.keys() if needs_answers else ()):
        faults.add(
            "missing file", f"tests/{name}.out", remedy="There is no checker: outputs are compared with it"
        )
    for name in sorted(name for name in inputs if not name.isprintable()):
        faults.add("a test's name that cannot be printed", f"tests/{name!r}", remedy="Rename its files")
    return tuple(_test(name, inputs[name], answers.get(name)) for name in sorted(inputs))


def _by_name(folder: Path, suffix: str) -> dict[str, Path]:
    found = (path for path in (folder / "tests").glob(f"*{suffix}") if not path.name.startswith("."))
    return {path.name.removesuffix(suffix): path for path in found if path.is_file()}


def _test(name: str, input_file: Path, answer: Path | None) -> Test:
    return Test(name=name, input=Blob.of_file(input_file), answer=Blob.of_file(answer) if answer else None)


# --- subtasks ----------------------------------------------------------------------------------------


def _subtasks(folder: Path, header: Fields, tests: tuple[str, ...], faults: Faults) -> tuple[Subtask, ...]:
    score_type = header.word("score_type", ScoreType, ScoreType.GROUP_MIN)
    threshold = header.number("threshold", 1.0, above=0)
    subtasks = []
    for path in sorted((folder / "subtasks").glob("*.json")):
        file = f"subtasks/{path.name}"
        values = None if path.name.startswith(".") else read_object(folder, file, faults)
        if values is not None:
            fields = Fields(values, file, faults)
            subtasks.append(_subtask(path.stem, fields, tests, score_type, threshold))
    return tuple(subtasks)


def _subtask(
    name: str, fields: Fields, tests: tuple[str, ...], score_type: ScoreType, threshold: float
) -> Subtask:
    return Subtask(
        name=name,
        points=fields.number("score"),
        tests=_testcases(fields, tests),
        score_type=fields.word("score_type", ScoreType, score_type),
        threshold=fields.number("threshold", threshold, above=0),
    )


def _testcases(fields: Fields, tests: tuple[str, ...]) -> tuple[str, ...]:
    names = fields.texts("testcases")
    if not names and fields.values.get("testcases") == []:
        fields.fault("testcases", "no tests", "List the subtask's tests, or remove this file")
    known = set(tests)
    for name in dict.fromkeys(names):
        if name not in known:
            fields.fault(
                "testcases", f"names the test {name!r}, which is not in tests/", nearest(name, tests)
            )
        elif names.count(name) > 1:
            fields.fault("testcases", f"names the test {name!r} more than once", "Name it once")
    return names


# --- solutions ---------------------------------------------------------------------------------------


def _solutions(folder: Path) -> tuple[Solution, ...]:
    """The sources in the verdicts' folders. Read-mes, archives and binaries there are no solutions."""
    paths = (path for path in sorted((folder / "solutions").glob("*/*")) if path.is_file())
    found = ((path, _language(path)) for path in paths if not path.name.startswith("."))
    return tuple(_solution(path, language) for path, language in found if language is not None)


def _language(path: Path) -> str | None:
    known = of_suffix(path.suffix)
    return known.name if known else _OTHER_LANGUAGES.get(path.suffix.lower())


def _solution(path: Path, language: str) -> Solution:
    code = _source_text(path.read_bytes())
    return Solution(name=path.name, language=language, code=code, expected=path.parent.name)


def _source_text(content: bytes) -> str:
    """Comments of old solutions are in older encodings: no reason to refuse a package."""
    try:
        return content.decode()
    except UnicodeDecodeError:
        return content.decode("latin-1")
