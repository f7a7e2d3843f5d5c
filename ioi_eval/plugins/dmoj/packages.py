"""Read packages of DMOJ's judge (`init.yml`).

Packages do not contain limits, which are on DMOJ's site. They are read from `tests/NAME/test.yml`, as in the
test suite of DMOJ's judge, which also contains solutions.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from msgspec.structs import replace

from ioi_eval.model.fields import Faults
from ioi_eval.model.values import Checker, CheckerKind, Limits, Problem, TaskOptions, TaskType
from ioi_eval.plugins.dmoj.cases import CaseReader
from ioi_eval.plugins.dmoj.checkers import has_points_in_percent, read_checker
from ioi_eval.plugins.dmoj.files import PackageFiles
from ioi_eval.plugins.dmoj.keys import DEFAULT_MEMORY_KIB, DEFAULT_TIME_S, HEADER, DmojHeader, SuiteKeys
from ioi_eval.plugins.dmoj.programs import read_graders_and_prelude, read_program
from ioi_eval.plugins.dmoj.solutions import read_solution_suite, read_solutions
from ioi_eval.problems.package import DeclaredFormat, TestGeneration

_KIB = 1 << 10


class Dmoj(DeclaredFormat[DmojHeader]):
    """The package format of DMOJ's judge, recognized by init.yml."""

    name = "DMOJ"
    header = HEADER
    keys = DmojHeader
    rank = 60

    def read_problem(self, folder: Path, where: str, header: DmojHeader, faults: Faults) -> Problem:
        problem_id = self.read_id(folder, where, header, faults)
        if header.has_field("interactive") and header.has_field("signature_grader"):
            header.report_fault("interactive", "there is also a signature_grader", "Remove one of the two")
        is_interactive = header.has_field("interactive")
        is_line_buffered = is_interactive and header.unbuffered
        if is_line_buffered:
            faults.add_note(
                "unbuffered: programs in C, C++ and Python write lines at once, others flush", HEADER
            )
        header.file_io.check_keys()
        suite_keys = list(read_solution_suite(folder, faults))
        files = PackageFiles(folder, header)
        interactor = read_program(folder, header.interactive) if is_interactive else None
        reader = CaseReader(header, files, problem_id)
        subtasks = reader.read_subtasks()
        max_points = max(reader.points.values(), default=0.0) or 1.0
        if any(checker.name == "linecount" for checker in reader.checkers.values()):
            note = "linecount: the output of a program that fails earns nothing here, unlike in DMOJ's judge"
            faults.add_note(note, HEADER)
        is_percentage = has_points_in_percent(header, reader.checkers)
        full_marks = 100.0 if is_percentage else max_points
        checker = read_checker(folder, header, reader.checkers, full_marks)
        checker_kind = interactor.kind if interactor else checker.kind
        # With testlib's exit codes, `points X` in a checker's message is an absolute number of points.
        has_own_points = checker_kind is CheckerKind.TESTLIB and not is_percentage
        own_points = {*reader.points.values()} - {0, max_points} if has_own_points else set[float]()
        graders, prelude = read_graders_and_prelude(header, files)
        return Problem(
            id=problem_id,
            name=problem_id,
            source=where,
            task_type=TaskType.INTERACTIVE if is_interactive else TaskType.BATCH,
            options=TaskOptions(
                input_file=header.file_io.input,
                output_file=header.file_io.output,
                with_grader=bool(graders),
                prelude=prelude,
                online_judge=True,
                line_buffered=is_line_buffered,
            ),
            limits=_read_limits(suite_keys, header, reader, faults),
            grader_files=graders,
            checker=Checker() if interactor else checker,
            manager=replace(interactor, full=full_marks) if interactor else None,
            tests=tuple(
                replace(
                    test,
                    full=reader.points[test.name] if reader.points[test.name] in own_points else None,
                    arguments=test.arguments if checker.kind is CheckerKind.CMS else (),
                )
                for test in reader.tests
            ),
            subtasks=subtasks,
            solutions=tuple(read_solutions(folder, suite_keys, [test.name for test in reader.tests], faults)),
            cpp_standard="gnu++20",
        )

    def read_test_generation(self, folder: Path, faults: Faults) -> TestGeneration | None:
        """Return the calls of generators, which write an input and, to standard error, its answer."""
        values = self.read_header(folder, faults)
        if values is None:
            return None
        header = DmojHeader(values, HEADER, faults)
        reader = CaseReader(header, PackageFiles(folder, header), folder.name, folder)
        reader.read_subtasks()
        if not reader.generated_tests and not faults.errors:
            remedy = "Its tests are in the package already"
            faults.report("no case has a generator", HEADER, field="generator", remedy=remedy)
        return TestGeneration(
            tests=tuple(reader.generated_tests), generators=reader.generators, solution=None
        )


def _read_limits(
    suite: Sequence[SuiteKeys], header: DmojHeader, reader: CaseReader, faults: Faults
) -> Limits:
    """Return the limits: of the cases, else of the suite, else the defaults of DMOJ's judge."""
    time_s, memory_kib = next(iter(reader.limits), (None, None))
    if time_s is None or memory_kib is None:
        suite_limits = [(keys.time, keys.memory) for keys in suite]
        if not suite_limits:
            default_limits = f"{DEFAULT_TIME_S:g} s and {DEFAULT_MEMORY_KIB >> 10} MiB"
            note = f"no limits are in the package: {default_limits}, as by default in DMOJ's judge"
            faults.add_note(f"{note}; time_limit=... and memory_limit=... set others")
        if len(set(suite_limits)) > 1:
            faults.add_note("its tests have several limits; the largest ones are used", "tests")
        max_time_s = max((time_s for time_s, _ in suite_limits), default=0.0)
        max_memory_kib = max((limit_kib for _, limit_kib in suite_limits), default=DEFAULT_MEMORY_KIB)
        time_s, memory_kib = time_s or max_time_s or DEFAULT_TIME_S, memory_kib or max_memory_kib or 1
    return Limits(
        cpu_time=time_s,
        wall_time=time_s * header.wall_time_factor,
        memory=memory_kib * _KIB,
        output=header.output_limit_length,
    )


FORMAT = Dmoj()
