"""Read packages in CMS's format `italy_yaml`: task.yaml, tests in input/ and output/, subtasks in gen/GEN.

A package is read as CMS's own loader imports it, but its programs are built from their sources. A checker or
a manager without its source is refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from types import MappingProxyType
from typing import Any, NamedTuple

from ioi_eval.model.fields import Faults
from ioi_eval.model.text import format_count
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
    exclude_unimportable_python_grader,
    read_subtasks,
)
from ioi_eval.problems.keys import (
    MIB,
    choice_key,
    file_name_key,
    flag_key,
    integer_key,
    memory_key,
    number_key,
    seconds_key,
    text_key,
)
from ioi_eval.problems.names import stays_in_folder
from ioi_eval.problems.package import (
    DeclaredFormat,
    Executable,
    GeneratedTest,
    TestGeneration,
    add_note_about_unused_files,
    find_first_by_stem,
    language_of,
    list_files,
    list_visible_paths,
    make_solution,
    make_test,
    put_first,
)

_GEN = "gen/GEN"
_CASES = "gen/cases.gen"  # file from which task-maker writes the file gen/GEN
_ALMOST_COMMAND = re.compile(r"(ST|COPY)\s*:", re.IGNORECASE)
# Older names of keys, by newer name. An older name is read if the newer name is missing.
_OLD_NAMES = MappingProxyType(
    {"name": "nome_breve", "title": "nome", "time_limit": "timeout", "memory_limit": "memlimit"}
)
_GENERATING_PROGRAMS = MappingProxyType(
    {
        "generator": ("gen/generatore", "gen/generator"),
        "validator": ("gen/valida", "gen/validator"),
        "solution": ("sol/soluzione", "sol/solution"),
    }
)
_GENERATING_STEMS = frozenset({"generatore", "generator", "valida", "validator", "soluzione", "solution"})
_CHECKERS = ("check/checker", "cor/correttore")
_MANAGERS = ("check/manager", "cor/manager")
# Stems of the names of the solutions that write the expected outputs.
_OFFICIAL_SOLUTIONS = ("solution", "soluzione")
# Names of graders and headers in the folder sol/, without and with suffix.
_GRADER_STEMS, _HEADER_SUFFIXES = ("grader", "stub"), (".h", ".hpp")
_TOTAL_POINTS = 100
_SCORE_TYPE_KEYS = ("score_type", "score_type_parameters")


class ItalyHeader(ScoringKeys):
    """The keys of task.yaml."""

    ignored = tuple(_OLD_NAMES.values())
    id = text_key("the id, of letters, digits, `_`, `-` and `.`; or `nome_breve`", name="name")
    title = text_key("a title; or `nome`", "the id")
    time_limit = seconds_key("or `timeout`", "refused, except in OutputOnly tasks")
    memory_limit = memory_key("MiB", MIB, "or `memlimit`", "refused, except in OutputOnly tasks")
    infile = file_name_key("the file that submissions read; empty: standard input", default="input.txt")
    outfile = file_name_key("the file that submissions write; empty: standard output", default="output.txt")
    n_input = integer_key("number of tests", "as many as `gen/GEN` has")
    total_value = number_key("points of all tests if `gen/GEN` has no subtasks", default=float(_TOTAL_POINTS))
    num_processes = integer_key("Communication", default=1, minimum=1, maximum=100)
    user_io = choice_key(
        USER_IO, "Communication", f"`{FIFO_IO}` with a stub, else `{STD_IO}`", default=STD_IO
    )
    output_only = flag_key("an OutputOnly task, without limits")
    output_only_testcases = text_key(
        "numbers of tests that are judged by a submitted file alone, separated by commas; the task is"
        " BatchAndOutput",
        "none",
        default="",
    )
    output_optional_testcases = text_key(
        "numbers of tests that are judged by a submitted file or a program; the task is BatchAndOutput",
        "none",
        default="",
    )
    score_precision = integer_key("digits of a subtask's score", default=2, maximum=9)


class Italy(DeclaredFormat[ItalyHeader]):
    """CMS's format italy_yaml, recognized by task.yaml with gen/GEN or input/."""

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

    def read_header(self, folder: Path, faults: Faults) -> Mapping[str, Any] | None:
        """Return the header's content with old names replaced by new names, or None after a fault."""
        values = super().read_header(folder, faults)
        if values is None:
            return None
        return {
            **{new_name: values[name] for new_name, name in _OLD_NAMES.items() if name in values},
            **values,
        }

    def read_problem(self, folder: Path, where: str, header: ItalyHeader, faults: Faults) -> Problem:
        problem_id = self.read_id(folder, where, header, faults)
        manager = _find_program(folder, _MANAGERS, faults)
        has_files = header.output_only_testcases or header.output_optional_testcases
        task_type = TaskType.BATCH_AND_OUTPUT if has_files else TaskType.BATCH
        task_type = task_type if manager is None else TaskType.COMMUNICATION
        task_type = TaskType.OUTPUT_ONLY if header.output_only else task_type
        graders = tuple(_find_graders(folder))
        checker = (
            _find_program(folder, _CHECKERS, faults) if task_type is not TaskType.COMMUNICATION else None
        )
        if checker is None and manager is None:
            _refuse_misnamed_programs(folder, faults)
        listed_subtasks = _read_listed_subtasks(folder, faults)
        is_listed = listed_subtasks is not None
        test_count = (
            sum(subtask.test_count for subtask in listed_subtasks or ()) if is_listed else header.n_input
        )
        tests = tuple(_read_tests(folder, test_count, faults))
        test_names = [test.name for test in tests]
        output_tests = _read_listed_test_names(
            header, "output_only_testcases", header.output_only_testcases, test_names
        )
        # Optional tests are judged like all other tests. This call only checks that the tests exist.
        _read_listed_test_names(
            header, "output_optional_testcases", header.output_optional_testcases, test_names
        )
        options = _read_options(header, task_type, graders, output_tests)
        if options.with_grader:
            graders = exclude_unimportable_python_grader(
                problem_id.lower(), task_type, graders, faults, "sol"
            )
        return Problem(
            id=problem_id,
            name=ItalyHeader.title.read(header, problem_id),
            source=where,
            task_type=task_type,
            options=options,
            limits=Limits()
            if task_type is TaskType.OUTPUT_ONLY
            else Limits.contest(header.time_limit, header.memory_limit),
            grader_files=graders,
            checker=checker.as_checker(CheckerKind.CMS) if checker else Checker(kind=CheckerKind.WHITE_DIFF),
            manager=manager.as_manager(CheckerKind.CMS) if manager else None,
            tests=tests,
            subtasks=_read_subtasks(folder, header, listed_subtasks or [], test_names, faults),
            score_precision=header.score_precision,
            solutions=tuple(_read_solutions(folder, task_type, options)),
        )

    def read_test_generation(self, folder: Path, faults: Faults) -> TestGeneration | None:
        """Return how cmsMake generates tests: gen/GEN has the arguments, or a file to copy, for each test."""
        values = self.read_header(folder, faults)
        programs = {
            role: _find_program(folder, stems, faults) for role, stems in _GENERATING_PROGRAMS.items()
        }
        if values is None:
            return None
        header = ItalyHeader(values, self.header, faults)
        for role in ("generator", "solution"):
            if programs[role] is None and not faults.errors:
                faults.report(
                    f"no source of the {role}",
                    _GENERATING_PROGRAMS[role][0],
                    remedy="Add it, in C++ or Python",
                )
        solution, generator, validator = (programs[role] for role in ("solution", "generator", "validator"))
        if solution is None or faults.errors or generator is None:
            return None
        language, source = solution.language, solution.sources[0]
        graders = tuple(_find_graders(folder))
        if language == "python" and find_first_by_stem(graders, ["graders/grader"]) is not None:
            message = "generating with a solution in Python that has a grader is not supported"
            faults.report(message, source.name, remedy="Generate the tests by cmsMake")
        # Move the solution into the folder of the files with which it is compiled.
        solution_file = NamedBlob(name=f"graders/{PurePosixPath(source.name).name}", content=source.content)
        linked_graders = (file for file in graders if language_of(file.name) in (None, language))
        return TestGeneration(
            tests=tuple(_list_generated_tests(folder, faults)),
            generators={"generator": generator},
            solution=Executable((solution_file, *linked_graders), language, linked=True),
            validators=(validator,) if validator else (),
            read=header.infile,
            written=header.outfile,
            named=True,
        )


# --- task.yaml ---------------------------------------------------------------------------------------


def _read_options(
    header: ItalyHeader, task_type: TaskType, graders: Sequence[NamedBlob], output_tests: tuple[str, ...]
) -> TaskOptions:
    """Return the options of the task type."""
    if task_type is TaskType.COMMUNICATION:
        has_stub = find_first_by_stem(graders, ["graders/stub"]) is not None
        return TaskOptions(
            with_grader=has_stub,
            processes=header.num_processes,
            user_io=ItalyHeader.user_io.read(header, FIFO_IO if has_stub else STD_IO),
        )
    if task_type is TaskType.OUTPUT_ONLY:
        return TaskOptions()
    return TaskOptions(
        output_tests=output_tests,
        with_grader=find_first_by_stem(graders, ["graders/grader"]) is not None,
        input_file=header.infile,
        output_file=header.outfile,
    )


def _read_listed_test_names(
    header: ItalyHeader, header_key: str, test_numbers: str, test_names: Sequence[str]
) -> tuple[str, ...]:
    """Return the names of the tests whose numbers a key lists. A number without a test is a fault."""
    listed_names = list[str]()
    for number in filter(None, map(str.strip, test_numbers.split(","))):
        if number.isdecimal() and f"{int(number):03}" in test_names:
            listed_names.append(f"{int(number):03}")
        elif test_names:  # without any test, an error is already reported
            header.report_fault(
                header_key, f"there is no test {number!r}", "Give numbers from 0, separated by commas"
            )
    return tuple(listed_names)


# --- programs ----------------------------------------------------------------------------------------


def _find_graders(folder: Path) -> Iterator[NamedBlob]:
    """Yield the files that submissions are compiled with, which are in sol/ next to the solutions."""
    for path in list_visible_paths((folder / "sol").glob("*")):
        is_grader = path.stem in _GRADER_STEMS and language_of(path.name)
        if path.is_file() and (is_grader or path.suffix in _HEADER_SUFFIXES):
            yield NamedBlob(name=f"graders/{path.name}", content=Blob.of_file(path))


def _find_program(folder: Path, stems: Sequence[str], faults: Faults) -> Executable | None:
    """Return the program whose source is the first existing file of these paths without suffix, or None.

    The program includes the other files in its folder, except binaries and sources of other programs. A
    program without its source is a fault.
    """
    for stem in stems:
        program_files = [
            file
            for file in list_files(folder, str(PurePosixPath(stem).parent))
            if (path := PurePosixPath(file.name)).suffix
            and (language_of(file.name) is None or str(path.with_suffix("")) == stem)
        ]
        if (source := find_first_by_stem(program_files, [stem])) is not None:
            return Executable(
                put_first(source, program_files), language_of(source.name) or "c++", linked=True
            )
        if (folder / stem).is_file():
            faults.report(
                "a binary without its source", stem, remedy=f"Add {stem}.cpp: programs are built here"
            )
    return None


def _refuse_misnamed_programs(folder: Path, faults: Faults) -> None:
    """Report sources in check/ and cor/ whose names are not a checker's or a manager's.

    Called if the package has neither a checker nor a manager.
    """
    for folder_name in ("check", "cor"):
        for path in list_visible_paths((folder / folder_name).glob("*")):
            if path.stem in _GENERATING_STEMS:
                continue
            if language_of(path.name) and path.suffix not in _HEADER_SUFFIXES:
                message = "it is neither a checker nor a manager by its name"
                remedy = f"Call it {' or '.join(stem + path.suffix for stem in (*_CHECKERS, *_MANAGERS))}"
                faults.report(message, f"{folder_name}/{path.name}", remedy=remedy)


# --- tests and subtasks ------------------------------------------------------------------------------


class _ListedSubtask(NamedTuple):
    """A subtask in gen/GEN. If gen/GEN lacks subtasks, all its tests are in a subtask without points."""

    points: int | None
    test_count: int


def _read_tests(folder: Path, test_count: int, faults: Faults) -> Iterator[Test]:
    """Yield this number of tests. All missing files are reported as a single fault."""
    input_output_paths = [
        (folder / f"input/input{n}.txt", folder / f"output/output{n}.txt") for n in range(test_count)
    ]
    missing_paths = [path for pair in input_output_paths for path in pair if not path.is_file()]
    if missing_paths:
        first_missing = missing_paths[0].relative_to(folder).as_posix()
        remedy = "Make them with ioi_eval.runs.generating.generate(PACKAGE, DIR), or as cmsMake does"
        faults.report(
            f"{len(missing_paths)} files of {test_count} tests are missing", first_missing, remedy=remedy
        )
    elif not test_count:
        faults.report("no tests", _GEN, remedy="Give it a line for each test")
    else:
        for folder_name, paths in zip(
            ("input", "output"), zip(*input_output_paths, strict=True), strict=True
        ):
            add_note_about_unused_files(folder, folder_name, frozenset(paths), faults)
        for number, (path, answer) in enumerate(input_output_paths):
            yield make_test(f"{number:03}", path, answer)


def _read_generator_lines(folder: Path) -> Iterator[tuple[int, str, str]]:
    """Yield the row of each line of gen/GEN, the text before its first `#`, and the text after it."""
    lines = (folder / _GEN).read_text(encoding="utf-8-sig", errors="replace").splitlines()
    for row, line in enumerate(lines, 1):
        arguments, _, comment = line.partition("#")
        yield row, arguments.strip(), comment.strip()


def _read_listed_subtasks(folder: Path, faults: Faults) -> list[_ListedSubtask] | None:
    """Return the subtasks in gen/GEN, or None if gen/GEN does not exist."""
    if not (folder / _GEN).is_file():
        return None
    subtasks = [_ListedSubtask(None, 0)]
    for row, arguments, comment in _read_generator_lines(folder):
        starts_subtask, copies_file = comment.startswith("ST:"), comment.startswith("COPY:")
        if sum(map(bool, (arguments, starts_subtask, copies_file))) > 1:
            faults.report("a test and a command in one line", _GEN, row=row, remedy="Give each its own line")
        elif starts_subtask:
            match = re.fullmatch(r"ST:\s*([0-9]{1,9})", comment)
            if match is None:
                faults.report(f"{comment!r} has no points", _GEN, row=row, remedy="Write `#ST: 20`")
            if subtasks[-1].points is None and subtasks[-1].test_count:
                faults.report("a test before the first subtask", _GEN, row=row, remedy="Move it below")
            earlier_subtasks = subtasks if subtasks[-1].points is not None else []
            subtasks = [*earlier_subtasks, _ListedSubtask(int(match[1]) if match else 0, 0)]
        elif arguments or copies_file:
            points, test_count = subtasks[-1]
            subtasks[-1] = _ListedSubtask(points, test_count + 1)
        elif _ALMOST_COMMAND.match(comment):
            remedy = "Write `#ST: 20`, `#COPY: a.txt`"
            faults.report(f"{comment!r} is only a comment", _GEN, row=row, remedy=remedy)
    return subtasks


def _list_generated_tests(folder: Path, faults: Faults) -> Iterator[GeneratedTest]:
    """Yield the tests in gen/GEN, with the number of their subtask if there are subtasks."""
    if not (folder / _GEN).is_file():
        faults.report("missing file", _GEN, remedy="Give it a line for each test")
        return
    test_number, subtask_number = 0, 0
    for row, arguments, comment in _read_generator_lines(folder):
        if comment.startswith("ST:"):
            subtask_number += 1
        copied_path = comment.removeprefix("COPY:").strip() if comment.startswith("COPY:") else ""
        if not arguments and not copied_path:
            continue
        if copied_path and not (stays_in_folder(copied_path) and (folder / copied_path).is_file()):
            faults.report(
                f"there is no file {copied_path!r}", _GEN, row=row, remedy="Add it, or correct the name"
            )
        input_path = f"input/input{test_number}.txt"
        exists = (folder / input_path).is_file()
        yield GeneratedTest(
            input=input_path,
            answer=f"output/output{test_number}.txt",
            command=() if exists or copied_path else ("generator", *arguments.split()),
            copied="" if exists else copied_path,
            subtask=(str(subtask_number),) if subtask_number else (),
        )
        test_number += 1


def _read_subtasks(
    folder: Path,
    header: ItalyHeader,
    listed_subtasks: Sequence[_ListedSubtask],
    test_names: Sequence[str],
    faults: Faults,
) -> tuple[Subtask, ...]:
    """Return the subtasks: from the header's score type, else from gen/GEN, else a subtask with all tests."""
    has_test_count = header.has_field("n_input") and listed_subtasks and test_names
    if has_test_count and header.n_input != len(test_names):
        header.report_fault(
            "n_input", f"{_GEN} has {format_count(len(test_names), 'test')}", "Correct one of the two"
        )
    key_count = sum(map(header.has_field, _SCORE_TYPE_KEYS))
    if key_count == len(_SCORE_TYPE_KEYS):
        return read_subtasks(folder, header, tuple(test_names), faults)
    if key_count:
        faults.add_note(
            f"ignored: {' and '.join(_SCORE_TYPE_KEYS)} have an effect only together", header.file
        )
    if not listed_subtasks and (folder / _CASES).is_file():
        message = f"it has the subtasks, and there is no {_GEN}"
        faults.report(message, _CASES, remedy="Let task-maker write that file")
    if not listed_subtasks or listed_subtasks[0].points is None:
        points = header.total_value
        return (Subtask(name="all", points=points, tests=tuple(test_names), score_type=ScoreType.SUM),)
    total_points = sum(subtask.points or 0 for subtask in listed_subtasks)
    if total_points != _TOTAL_POINTS:
        faults.report(
            f"its subtasks have {total_points} points", _GEN, remedy=f"Expected {_TOTAL_POINTS} together"
        )
    subtasks, first_index = list[Subtask](), 0
    for index, (subtask_points, test_count) in enumerate(listed_subtasks):
        if subtask_points and not test_count:
            faults.report(f"subtask {index} has points and no tests", _GEN, remedy="Add a test to it")
        subtask_tests = tuple(test_names[first_index : first_index + test_count])
        subtasks.append(Subtask(name=str(index), points=subtask_points or 0, tests=subtask_tests))
        first_index += test_count
    return tuple(subtasks)


# --- solutions ---------------------------------------------------------------------------------------


def _read_solutions(folder: Path, task_type: TaskType, options: TaskOptions) -> Iterator[Solution]:
    """Yield the solutions in sol/. Only official solutions have an expected result.

    If some tests need a submitted file, official solutions do not pass, so they have no expected result.
    """
    if task_type is TaskType.OUTPUT_ONLY:
        return
    for path in list_visible_paths((folder / "sol").glob("*")):
        is_source = path.is_file() and language_of(path.name) and path.suffix not in _HEADER_SUFFIXES
        if is_source and path.stem not in _GRADER_STEMS:
            is_official = path.stem in _OFFICIAL_SOLUTIONS and not options.output_tests
            yield make_solution(path, name=path.name, expected="correct" if is_official else "")


FORMAT = Italy()
