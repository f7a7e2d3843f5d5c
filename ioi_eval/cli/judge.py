"""The command `judge`: judge one program and print a table of its tests."""

from __future__ import annotations

import asyncio
import sys
import textwrap
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from ioi_eval import Scorer
from ioi_eval.cli import console
from ioi_eval.cli.groups import command
from ioi_eval.cli.options import (
    AllTests,
    Engine,
    Json,
    OneProblem,
    TimingOptions,
    open_store,
    problems_option,
)
from ioi_eval.cli.progress import RunProgress, Signals
from ioi_eval.engines.registry import EngineChoice, open_engine
from ioi_eval.model.errors import EngineError, InputError, JudgeFailure
from ioi_eval.model.fields import suggest_names
from ioi_eval.model.languages import find, find_language_by_suffix
from ioi_eval.model.options import JudgeOptions
from ioi_eval.model.values import Problem, Submission, SubmissionResult, TaskType, TestResult, Verdict
from ioi_eval.problems import Problems
from ioi_eval.reports.document import visible
from ioi_eval.rules.expectations import max_problem_points
from ioi_eval.runs import BenchmarkOptions, Timing
from ioi_eval.runs.engine import servers_found_event, set_server_callback
from ioi_eval.runs.events import EngineStarting, EngineStopped, Event, OnEvent
from ioi_eval.runs.sources import benchmark_of, open_problem_source
from ioi_eval.runs.time_limits import TimeLimits
from ioi_eval.store import Store
from ioi_eval.store.rows import shorten

_EXAMPLES = """
  ioi-eval judge sol.cpp --problem lanterns --problems examples/problems
  ioi-eval judge sol.py --problems packages/aplusb.zip --all-tests
  ioi-eval judge sol.cpp --problem nile --year 2024 --problems ioi
  cat sol.txt | ioi-eval judge - --language c++ --problems packages/aplusb.zip
"""
_NOT_FULL = 1
_STDIN = "-"
_WIDTH = 80  # maximum width of the lines of a test's input, output and answer, in columns
_ECHO = 1000  # maximum number of bytes of each of these
_MAX_LINES = 8  # of each of these
_MAX_COMPILER_LINES = 40
_INDENT = "    "
_SUBTASK_NUMBERS = ("points", "of")
_TEST_NUMBERS = ("score", "CPU time", "memory")


@command(_EXAMPLES)
def judge(
    program: Annotated[
        str, typer.Argument(metavar="PROGRAM", help=f"The program's source; {_STDIN}: standard input.")
    ],
    source: Annotated[str, problems_option()],
    problems: OneProblem,
    timing: TimingOptions,
    engine: Engine,
    language: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="The program's language.",
            show_default="by the file's extension",
            rich_help_panel="Input",
        ),
    ] = None,
    all_tests: AllTests = False,
    as_json: Json = False,
) -> None:
    """Judge one program and show a table of its tests.

    Below the table is the first failed test, with the beginning of its input, output and expected answer, or
    the compiler's message. The command writes no files except its cache. A source with one problem needs no
    --problem.

    Exit code 0: full marks; 1: less; 2: bad input; 3: the program could not be judged; 130: interrupted.
    """
    spoken, code = _read(program, language)
    store, chosen, measured = open_store(), engine.choice(), timing
    options = JudgeOptions(
        job=chosen.job,
        all_tests=all_tests,
        allow_unconfined=chosen.allow_unconfined,
        borderline=measured.borderline,
        echo=_ECHO,
    )
    with open_problem_source(source, problems, store) as found:
        problem = _only(found, problems, source)
        submission = Submission(key=program, problem_id=problem.id, code=code, language=spoken)
        try:
            with RunProgress(quiet=False) as progress, Signals() as signals:

                def tell(event: Event) -> None:
                    signals(event)
                    progress(event)

                result = asyncio.run(
                    _judged(problem, submission, chosen, options, measured, store, tell, found.packages)
                )
        except JudgeFailure as failure:
            console.complain(console.as_called(f"not judged: {failure}"))
            raise typer.Exit(console.UNSCORED) from None
        if as_json:
            console.show_json(_described(problem, result, spoken))
        else:
            _show(problem, result, spoken)
    if not result.solved:
        raise typer.Exit(_NOT_FULL)


# --- what was asked for ------------------------------------------------------------------------------


def _read(program: str, asked: str | None) -> tuple[str, str]:
    """Return the program's language and its source."""
    where = "standard input" if program == _STDIN else program
    if asked is not None:
        find(asked, field="--language")
    elif program != _STDIN and (found := find_language_by_suffix(Path(program).suffix)) is not None:
        asked = found.name
    else:
        remedy = "Name it: --language c++"
        raise InputError("cannot tell the language", where=where, field="--language", remedy=remedy)
    try:
        code = (sys.stdin.buffer.read() if program == _STDIN else Path(program).read_bytes()).decode()
    except UnicodeDecodeError as error:
        problem = f"the program is not text in UTF-8: see byte {error.start}"
        raise InputError(problem, where=where, remedy="Convert it to UTF-8") from error
    except OSError as error:
        remedy = "Name a file with a program"
        raise InputError(f"cannot be read ({error.strerror})", where=where, remedy=remedy) from error
    if not code.strip() and find(asked).syntax != "python":  # which runs an empty file
        raise InputError("contains no program", where=where, remedy="Name a file with a program")
    return asked, code


def _only(found: Problems, asked: BenchmarkOptions, source: str) -> Problem:
    """Return the problem that the options select. Raises InputError if it is not exactly one."""
    if len(found) == 1:
        (problem,) = found.values()
    elif len(asked.problems) == 1 and not found:
        problem = found.find(next(iter(asked.problems)))  # raises an error that says why it is left out
    else:
        of_year = "with its --year" if benchmark_of(source) else "the package itself with --problems"
        raise InputError(
            f"a program is judged for one problem, and here are {len(found)} problems",
            where=source,
            field="--problem",
            remedy=f"Name one, {of_year} if several have that name. {suggest_names('', tuple(found))}",
        )
    if problem.task_type is TaskType.OUTPUT_ONLY:
        what, remedy = f"{problem.id} asks for files, not for a program", "Use `ioi-eval score` or `validate`"
        raise InputError(what, where=source, field="--problem", remedy=remedy)
    return problem


# --- judging -----------------------------------------------------------------------------------------


async def _judged(
    problem: Problem,
    submission: Submission,
    chosen: EngineChoice,
    options: JudgeOptions,
    timing: Timing,
    store: Store,
    tell: OnEvent,
    packages: Collection[str],
) -> SubmissionResult:
    engine, trusted = open_engine(chosen, store, tuple(packages))
    tell(EngineStarting(engine=chosen.text))
    set_server_callback(engine, tell)
    try:
        async with Scorer(engine, store=store, options=options, trusted=trusted) as scorer:
            servers_found_event(engine)  # refuses servers that cannot judge
            try:
                await scorer.judge.check_packages(packages, [submission.language])
                limited = await TimeLimits(scorer.judge.but(trusts=True), factor=timing.factor).with_limits(
                    problem
                )
                return await scorer.score(limited, submission)
            except EngineError as error:
                raise JudgeFailure(str(error), phase="judging") from error
    finally:
        tell(EngineStopped())


# --- what is shown -----------------------------------------------------------------------------------


def _described(problem: Problem, result: SubmissionResult, language: str) -> dict[str, Any]:
    return {
        "problem": problem.id,
        "language": language,
        "compiler": result.compiler,
        "compiles": result.compiles,
        "compile_output": result.compile_output,
        "verdict": result.verdict,
        "solved": result.solved,
        "points": result.points,
        "of": max_problem_points(problem),
        "subtasks": [
            {
                "name": subtask.subtask,
                "verdict": subtask.status,
                "points": subtask.weighted_score,
                "of": subtask.points,
            }
            for subtask in result.subtasks
        ],
        "tests": [
            {
                "name": test.test_name,
                "verdict": test.status,
                "score": test.score,
                "cpu_time": test.cpu_time,
                "memory": test.memory,
            }
            for test in result.tests
        ],
    }


def _show(problem: Problem, result: SubmissionResult, language: str) -> None:
    compiler = f" ({result.compiler})" if result.compiler else ""
    worth = f"{result.verdict}, {result.points:g} of {max_problem_points(problem):g} points"
    for line in console.wrapped(f"{problem.id}, {language}{compiler}: {worth}"):
        console.show(console.verdict_coloured(line, result.verdict))
    if not result.compiles:
        console.show("\nThe compiler says:")
        room = console.line_width() - len(_INDENT)
        lines = (
            textwrap.wrap(line, room, break_long_words=False) for line in _printable(result.compile_output)
        )
        _show_lines([piece for line in lines for piece in line], _MAX_COMPILER_LINES)
        return
    _show_tables(problem, result)
    wrong = (test for test in result.tests if test.status not in (Verdict.AC, Verdict.SKIPPED))
    if (first := next(wrong, None)) is not None:
        _show_test(problem, first)


def _show_tables(problem: Problem, result: SubmissionResult) -> None:
    """Show the subtasks, and each test once, with the subtasks that it is in."""
    if result.subtasks:
        console.show("")
        rows = [
            (visible(part.subtask), part.status.value, f"{part.weighted_score:g}", f"{part.points:g}")
            for part in result.subtasks
        ]
        console.show_table(("subtask", "verdict", *_SUBTASK_NUMBERS), rows, right=_SUBTASK_NUMBERS)
    tests: list[list[str]] = []
    for test in result.tests:
        cells = [
            visible(test.test_name),
            test.status.value,
            "" if test.status is Verdict.SKIPPED else f"{test.score:.4g}",
            "" if test.cpu_time is None else f"{test.cpu_time:.3f} s",
            "" if test.memory is None else f"{test.memory / (1 << 20):.1f} MiB",
        ]
        within = (visible(subtask.name) for subtask in problem.subtasks if test.test_name in subtask.tests)
        tests.append([*cells, ", ".join(within)] if problem.subtasks else cells)
    heads = ("test", "verdict", *_TEST_NUMBERS, *(["subtasks"] if problem.subtasks else []))
    console.show("")
    console.show_table(heads, tests, right=_TEST_NUMBERS)


def _show_test(problem: Problem, result: TestResult) -> None:
    test = next(test for test in problem.tests if test.name == result.test_name)
    says = f": {result.feedback}" if result.feedback else ""
    console.show("")
    for line in console.wrapped(f"First test that is not right: {test.name}, {result.status}{says}"):
        console.show(console.verdict_coloured(line, result.status))
    expected = "" if test.answer is None else test.answer.beginning(_ECHO)
    for what, text in (
        ("input", test.input.beginning(_ECHO)),
        ("output", result.output),
        ("expected", expected),
    ):
        console.show(f"  {what}:" if text else f"  {what}: nothing to show")
        room = _WIDTH - len(_INDENT)  # a character may take two columns
        cut = [shorten(line, room if line.isascii() else room // 2) for line in _printable(text)]
        _show_lines(cut, _MAX_LINES)


def _printable(text: str) -> list[str]:
    """Return the lines of a text, with control characters replaced."""
    lines = text.expandtabs().splitlines()
    return ["".join(char if char.isprintable() else "\ufffd" for char in line) for line in lines]


def _show_lines(lines: Sequence[str], max_lines: int) -> None:
    for line in lines[:max_lines]:
        console.show(_INDENT + line)
    if len(lines) > max_lines:
        console.show(_INDENT + "…")
