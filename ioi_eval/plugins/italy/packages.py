"""Packages in CMS's `italy_yaml` format: task.yaml, tests in input/ and output/, subtasks in gen/GEN.

It is read as CMS's own loader imports it, but programs are built from their sources: a checker or a manager
that is there as a binary alone is refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from types import MappingProxyType
from typing import Any

from ioi_eval.model.fields import Faults, Fields
from ioi_eval.model.values import (
    Blob,
    Checker,
    CheckerKind,
    Limits,
    NamedBlob,
    Problem,
    ScoreType,
    Solution,
    Subtask,
    TaskOptions,
    TaskType,
    Test,
)
from ioi_eval.problems.cms import (
    FIFO_IO,
    STD_IO,
    USER_IO,
    ScoringKeys,
    read_subtasks,
    without_unusable_python,
)
from ioi_eval.problems.keys import MIB, choice, file_name, flag, memory, number, seconds, text, whole
from ioi_eval.problems.names import leads_inside
from ioi_eval.problems.package import (
    DeclaredFormat,
    Executable,
    GeneratedTest,
    Making,
    files_below,
    first_named,
    language_of,
    led_by,
    note_unused,
    solution,
    test_of,
    visible,
)

_GEN = "gen/GEN"
_CASES = "gen/cases.gen"  # from which task-maker writes gen/GEN
_LIKE_COMMANDS = re.compile(r"(ST|COPY)\s*:", re.IGNORECASE)  # behind a test it is a comment on that
# Names of old, which are read where the new one is missing.
_OLD = MappingProxyType(
    {"name": "nome_breve", "title": "nome", "time_limit": "timeout", "memory_limit": "memlimit"}
)
_MAKERS = MappingProxyType(
    {
        "generator": ("gen/generatore", "gen/generator"),
        "validator": ("gen/valida", "gen/validator"),
        "solution": ("sol/soluzione", "sol/solution"),
    }
)
_NO_CHECKERS = frozenset({"generatore", "generator", "valida", "validator", "soluzione", "solution"})
_CHECKERS = ("check/checker", "cor/correttore")
_MANAGERS = ("check/manager", "cor/manager")
_SOLUTIONS = ("solution", "soluzione")  # what writes the expected outputs
_COMPILED_WITH, _HEADERS = ("grader", "stub"), (".h", ".hpp")  # of submissions; they lie among the solutions
_ALL_POINTS = 100
_SCORE_TYPE = ("score_type", "score_type_parameters")


class ItalyHeader(ScoringKeys):
    """The keys of task.yaml."""

    ignored = tuple(_OLD.values())
    id = text("the id, of letters, digits, `_`, `-` and `.`; or `nome_breve`", name="name")
    title = text("a title; or `nome`", "the id")
    time_limit = seconds("or `timeout`", "refused, except in OutputOnly tasks")
    memory_limit = memory("MiB", MIB, "or `memlimit`", "refused, except in OutputOnly tasks")
    infile = file_name("the file that submissions read; empty: standard input", default="input.txt")
    outfile = file_name("the file that submissions write; empty: standard output", default="output.txt")
    n_input = whole("number of tests", "as many as `gen/GEN` has")
    total_value = number("points of all tests if `gen/GEN` has no subtasks", default=float(_ALL_POINTS))
    num_processes = whole("Communication", default=1, least=1, most=100)
    user_io = choice(USER_IO, "Communication", f"`{FIFO_IO}` with a stub, else `{STD_IO}`", default=STD_IO)
    output_only = flag("an OutputOnly task, without limits")
    output_only_testcases = text(
        "numbers of tests that are judged by a submitted file alone, separated by commas; the task is"
        " BatchAndOutput",
        "none",
        default="",
    )
    output_optional_testcases = text(
        "numbers of tests that are judged by a submitted file or a program; the task is BatchAndOutput",
        "none",
        default="",
    )
    score_precision = whole("digits of a subtask's score", default=2, most=9)


class Italy(DeclaredFormat[ItalyHeader]):
    name = "italy_yaml"
    header = "task.yaml"
    keys = ItalyHeader
    rank = 40
    id_field = "name"
    folders = ("check", "cor", "gen", "input", "output", "sol")

    def looks_like_package(self, folder: Path) -> bool:
        return super().looks_like_package(folder) and (
            (folder / _GEN).is_file() or (folder / "input").is_dir()
        )

    def mapping(self, folder: Path, faults: Faults) -> Mapping[str, Any] | None:
        values = super().mapping(folder, faults)
        if values is None:
            return None
        return {**{new: values[name] for new, name in _OLD.items() if name in values}, **values}

    def problem(self, folder: Path, where: str, header: ItalyHeader, faults: Faults) -> Problem:
        code = self.checked_id(folder, where, header, faults)
        manager = _source(folder, _MANAGERS, faults)
        has_files = header.output_only_testcases or header.output_optional_testcases
        task = TaskType.BATCH_AND_OUTPUT if has_files else TaskType.BATCH
        task = task if manager is None else TaskType.COMMUNICATION
        task = TaskType.OUTPUT_ONLY if header.output_only else task
        graders = tuple(_graders(folder))
        checker = _source(folder, _CHECKERS, faults) if task is not TaskType.COMMUNICATION else None
        if checker is None and manager is None:
            _refuse_unused(folder, faults)
        counted = _counted(folder, faults)
        count = sum(tests for _, tests in counted) if counted is not None else header.n_input
        tests = tuple(_tests(folder, count, faults))
        names = [test.name for test in tests]
        output_tests = tuple(_numbered(header, "output_only_testcases", header.output_only_testcases, names))
        for _ in _numbered(header, "output_optional_testcases", header.output_optional_testcases, names):
            pass  # reports numbers without a test; with or without a file, these tests are the same
        options = _options(header, task, graders, output_tests)
        if options.with_grader:
            graders = without_unusable_python(code.lower(), task, graders, faults, "sol")
        return Problem(
            id=code,
            name=ItalyHeader.title.read(header, code),
            source=where,
            task_type=task,
            options=options,
            limits=Limits()
            if task is TaskType.OUTPUT_ONLY
            else Limits.contest(header.time_limit, header.memory_limit),
            grader_files=graders,
            checker=checker.as_checker(CheckerKind.CMS) if checker else Checker(kind=CheckerKind.WHITE_DIFF),
            manager=manager.as_manager(CheckerKind.CMS) if manager else None,
            tests=tests,
            subtasks=_subtasks(folder, header, counted or [], names, faults),
            score_precision=header.score_precision,
            solutions=tuple(_solutions(folder, task, options)),
        )

    def making(self, folder: Path, faults: Faults) -> Making | None:
        """Return what cmsMake does: gen/GEN has a line of arguments, or a file to copy, for each test."""
        values = self.mapping(folder, faults)
        programs = {role: _source(folder, stems, faults) for role, stems in _MAKERS.items()}
        if values is None:
            return None
        header = ItalyHeader(values, self.header, faults)
        for role in ("generator", "solution"):
            if programs[role] is None and not faults.errors:
                faults.add(f"no source of the {role}", _MAKERS[role][0], remedy="Add it, in C++ or Python")
        main, generator, validator = (programs[role] for role in ("solution", "generator", "validator"))
        if main is None or faults.errors or generator is None:
            return None
        language, source = main.language, main.sources[0]
        grader = first_named(tuple(_graders(folder)), ["graders/grader"])
        beside = [file for file in _graders(folder) if language_of(file.name) in (None, language)]
        if grader is not None and language == "python":
            faults.add("its solution in Python has a grader", source.name, remedy="Make them by cmsMake")
        # The solution lies in one folder with what it is compiled with.
        linked = NamedBlob(name=f"graders/{PurePosixPath(source.name).name}", content=source.content)
        return Making(
            tests=tuple(_lines(folder, faults)),
            generators={"generator": generator},
            solution=Executable((linked, *beside), language, linked=True),
            validators=(validator,) if validator else (),
            read=header.infile,
            written=header.outfile,
            named=True,
        )


# --- task.yaml ---------------------------------------------------------------------------------------


def _options(
    header: ItalyHeader, task: TaskType, graders: Sequence[NamedBlob], by_file: tuple[str, ...]
) -> TaskOptions:
    if task is TaskType.COMMUNICATION:
        stub = first_named(graders, ["graders/stub"]) is not None
        return TaskOptions(
            with_grader=stub,
            processes=header.num_processes,
            user_io=ItalyHeader.user_io.read(header, FIFO_IO if stub else STD_IO),
        )
    if task is TaskType.OUTPUT_ONLY:
        return TaskOptions()
    return TaskOptions(
        output_tests=by_file,
        with_grader=first_named(graders, ["graders/grader"]) is not None,
        input_file=header.infile,
        output_file=header.outfile,
    )


def _numbered(header: Fields, field: str, listed: str, tests: Sequence[str]) -> Iterator[str]:
    """Yield the names of the tests whose numbers a field lists, with commas between them."""
    for word in filter(None, map(str.strip, listed.split(","))):
        if word.isdecimal() and f"{int(word):03}" in tests:
            yield f"{int(word):03}"
        elif tests:  # else it is noted that there are none
            header.fault(field, f"there is no test {word!r}", "Give numbers from 0, with commas between them")


# --- programs ----------------------------------------------------------------------------------------


def _graders(folder: Path) -> Iterator[NamedBlob]:
    """Yield what submissions are compiled with: it lies among the solutions."""
    for path in visible((folder / "sol").glob("*")):
        is_grader = path.stem in _COMPILED_WITH and language_of(path.name)
        if path.is_file() and (is_grader or path.suffix in _HEADERS):
            yield NamedBlob(name=f"graders/{path.name}", content=Blob.of_file(path))


def _source(folder: Path, stems: Sequence[str], faults: Faults) -> Executable | None:
    """Return a program of the package, with what lies beside it but binaries and other programs' sources."""
    for stem in stems:
        files = [
            file
            for file in files_below(folder, str(PurePosixPath(stem).parent))
            if (path := PurePosixPath(file.name)).suffix
            and (language_of(file.name) is None or str(path.with_suffix("")) == stem)
        ]
        if (source := first_named(files, [stem])) is not None:
            return Executable(led_by(source, files), language_of(source.name) or "c++", linked=True)
        if (folder / stem).is_file():
            faults.add("a binary without its source", stem, remedy=f"Add {stem}.cpp: it is built anew")
    return None


def _refuse_unused(folder: Path, faults: Faults) -> None:
    """Refuse sources in the folders of checkers where none of them is called as one, nor as what is none."""
    for part in ("check", "cor"):
        for path in visible((folder / part).glob("*")):
            if path.stem in _NO_CHECKERS:
                continue
            if language_of(path.name) and path.suffix not in _HEADERS:
                words = "it is neither a checker nor a manager by its name"
                remedy = f"Call it {' or '.join(stem + path.suffix for stem in (*_CHECKERS, *_MANAGERS))}"
                faults.add(words, f"{part}/{path.name}", remedy=remedy)


# --- tests and subtasks ------------------------------------------------------------------------------


def _tests(folder: Path, count: int, faults: Faults) -> Iterator[Test]:
    paths = [(folder / f"input/input{n}.txt", folder / f"output/output{n}.txt") for n in range(count)]
    missing = [path for pair in paths for path in pair if not path.is_file()]
    if missing:
        first = missing[0].relative_to(folder).as_posix()
        remedy = "Make them with ioi_eval.runs.generating.generate(PACKAGE, DIR), or as cmsMake does"
        faults.add(f"{len(missing)} files of {count} tests are not there", first, remedy=remedy)
    elif not count:
        faults.add("no tests", _GEN, remedy="Give it a line for each test")
    else:
        for part, used in zip(("input", "output"), zip(*paths, strict=True), strict=True):
            note_unused(folder, part, frozenset(used), faults)
        for number, (path, answer) in enumerate(paths):
            yield test_of(f"{number:03}", path, answer)


def _commands(folder: Path) -> Iterator[tuple[int, str, str]]:
    """Yield each line of gen/GEN: its number, what stands before the first `#`, and what behind it."""
    lines = (folder / _GEN).read_text(encoding="utf-8-sig", errors="replace").splitlines()
    for row, line in enumerate(lines, 1):
        command, _, comment = line.partition("#")
        yield row, command.strip(), comment.strip()


def _counted(folder: Path, faults: Faults) -> list[tuple[int | None, int]] | None:
    """Return each subtask's points, None where gen/GEN has no subtasks, and its count of tests."""
    if not (folder / _GEN).is_file():
        return None
    found: list[tuple[int | None, int]] = [(None, 0)]
    for row, command, comment in _commands(folder):
        begins, copies = comment.startswith("ST:"), comment.startswith("COPY:")
        if sum(map(bool, (command, begins, copies))) > 1:
            faults.add("a test and a command in one line", _GEN, row=row, remedy="Give each its own line")
        elif _LIKE_COMMANDS.match(comment) and not (command or begins or copies):
            faults.add(
                f"{comment!r} is only a comment", _GEN, row=row, remedy="Write `#ST: 20`, `#COPY: a.txt`"
            )
        elif begins:
            points = re.fullmatch(r"ST:\s*([0-9]{1,9})", comment)
            if points is None:
                faults.add(f"{comment!r} has no points", _GEN, row=row, remedy="Write `#ST: 20`")
            if found[-1][0] is None and found[-1][1]:
                faults.add("a test before the first subtask", _GEN, row=row, remedy="Move it below")
            found = [*(found if found[-1][0] is not None else []), (int(points[1]) if points else 0, 0)]
        elif command or copies:
            found[-1] = (found[-1][0], found[-1][1] + 1)
    return found


def _lines(folder: Path, faults: Faults) -> Iterator[GeneratedTest]:
    """Yield the tests as gen/GEN has them, with the number of their subtask if there are any."""
    if not (folder / _GEN).is_file():
        faults.add("missing file", _GEN, remedy="Give it a line for each test")
        return
    number, subtask = 0, 0
    for row, command, comment in _commands(folder):
        if comment.startswith("ST:"):
            subtask += 1
        copied = comment.removeprefix("COPY:").strip() if comment.startswith("COPY:") else ""
        if not command and not copied:
            continue
        place, arguments = f"input/input{number}.txt", (str(subtask),) if subtask else ()
        if copied and not (leads_inside(copied) and (folder / copied).is_file()):
            faults.add(f"there is no file {copied!r}", _GEN, row=row, remedy="Add it, or correct the name")
        lies = (folder / place).is_file()
        words = () if lies or copied else ("generator", *command.split())
        yield GeneratedTest(place, f"output/output{number}.txt", words, "" if lies else copied, arguments)
        number += 1


def _subtasks(
    folder: Path,
    header: ItalyHeader,
    counted: Sequence[tuple[int | None, int]],
    names: Sequence[str],
    faults: Faults,
) -> tuple[Subtask, ...]:
    if header.has("n_input") and counted and names and header.n_input != len(names):
        header.fault("n_input", f"{_GEN} has {len(names)} tests", "Correct one of the two")
    if (said := sum(map(header.has, _SCORE_TYPE))) == len(_SCORE_TYPE):
        return read_subtasks(folder, header, tuple(names), faults)
    if said:
        faults.note(f"passed over: {' and '.join(_SCORE_TYPE)} count only together", header.file)
    if not counted and (folder / _CASES).is_file():
        faults.add(f"it has the subtasks, and there is no {_GEN}", _CASES, remedy="Let task-maker write that")
    if not counted or counted[0][0] is None:
        worth = header.total_value
        return (Subtask(name="all", points=worth, tests=tuple(names), score_type=ScoreType.SUM),)
    total = sum(points or 0 for points, _ in counted)
    if total != _ALL_POINTS:
        faults.add(f"its subtasks have {total} points", _GEN, remedy=f"Expected {_ALL_POINTS} together")
    found, start = list[Subtask](), 0
    for index, (points, tests) in enumerate(counted):
        if points and not tests:
            faults.add(f"subtask {index} has points and no tests", _GEN, remedy="Add a test to it")
        found.append(Subtask(name=str(index), points=points or 0, tests=tuple(names[start : start + tests])))
        start += tests
    return tuple(found)


# --- solutions ---------------------------------------------------------------------------------------


def _solutions(folder: Path, task: TaskType, options: TaskOptions) -> Iterator[Solution]:
    """Yield the official one, and the others in sol/, which may get anything.

    A program earns nothing on tests that only a file can pass, so no more is known of the official one.
    """
    if task is TaskType.OUTPUT_ONLY:
        return
    for path in visible((folder / "sol").glob("*")):
        is_source = path.is_file() and language_of(path.name) and path.suffix not in _HEADERS
        if is_source and path.stem not in _COMPILED_WITH:
            is_right = path.stem in _SOLUTIONS and not options.output_tests
            yield solution(path, name=path.name, expected="correct" if is_right else "")


FORMAT = Italy()
