"""The command `judge`: judge a program and print a table of its tests."""

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
from ioi_eval.cli.progress import RunProgress, SignalHandler
from ioi_eval.engines.registry import EngineChoice, open_engine
from ioi_eval.model.errors import EngineError, InputError, JudgeFailure
from ioi_eval.model.fields import suggest_names
from ioi_eval.model.languages import find_language, find_language_by_suffix
from ioi_eval.model.options import JudgeOptions
from ioi_eval.model.text import visible
from ioi_eval.model.values import Problem, Submission, SubmissionResult, TaskType, TestResult, Verdict
from ioi_eval.problems import Problems
from ioi_eval.rules.expectations import compute_max_points
from ioi_eval.runs import BenchmarkOptions, Timing
from ioi_eval.runs.engine import make_servers_found_event, set_server_callback
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
_WIDTH = 80  # maximum width of the lines of an input, output or answer, in columns
_ECHO = 1000  # maximum bytes of an input, output or answer
_MAX_LINES = 8  # maximum lines of an input, output or answer
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
            help="Programming language of the program.",
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
    language_name, code = _read_language_and_source(program, language)
    store, engine_choice, timing_options = open_store(), engine.read_engine_choice(), timing
    options = JudgeOptions(
        job=engine_choice.job,
        all_tests=all_tests,
        allow_unconfined=engine_choice.allow_unconfined,
        borderline=timing_options.borderline,
        echo=_ECHO,
    )
    with open_problem_source(source, problems, store) as opened_problems:
        problem = _select_single_problem(opened_problems, problems, source)
        submission = Submission(key=program, problem_id=problem.id, code=code, language=language_name)
        try:
            with RunProgress(quiet=False) as progress, SignalHandler() as signals:

                def handle_event(event: Event) -> None:
                    signals(event)
                    progress(event)

                result = asyncio.run(
                    _judge_submission(
                        problem,
                        submission,
                        engine_choice,
                        options,
                        timing_options,
                        store,
                        handle_event,
                        opened_problems.packages,
                    )
                )
        except JudgeFailure as failure:
            console.print_error(console.replace_arguments_by_options(f"not judged: {failure}"))
            raise typer.Exit(console.UNSCORED) from None
        if as_json:
            console.print_json(_build_json_result(problem, result, language_name))
        else:
            _print_result(problem, result, language_name)
    if not result.solved:
        raise typer.Exit(_NOT_FULL)


# --- arguments ---------------------------------------------------------------------------------------


def _read_language_and_source(path: str, language: str | None) -> tuple[str, str]:
    """Return the program's language and its source."""
    where = "standard input" if path == _STDIN else path
    if language is not None:
        find_language(language, field="--language")
    elif path != _STDIN and (detected_language := find_language_by_suffix(Path(path).suffix)) is not None:
        language = detected_language.name
    else:
        remedy = "Name it: --language c++"
        raise InputError(
            "cannot determine the program's language", where=where, field="--language", remedy=remedy
        )
    try:
        code = (sys.stdin.buffer.read() if path == _STDIN else Path(path).read_bytes()).decode()
    except UnicodeDecodeError as error:
        problem = f"the program is not text in UTF-8: see byte {error.start}"
        raise InputError(problem, where=where, remedy="Convert the program to UTF-8") from error
    except OSError as error:
        remedy = "Name a file with a program"
        raise InputError(
            f"the program cannot be read ({error.strerror})", where=where, remedy=remedy
        ) from error
    if not code.strip() and find_language(language).syntax != "python":  # Python can run an empty file
        raise InputError("the file contains no program", where=where, remedy="Name a file with a program")
    return language, code


def _select_single_problem(problems: Problems, options: BenchmarkOptions, source: str) -> Problem:
    """Return the problem that the options select.

    Raises InputError unless they select exactly one problem.
    """
    if len(problems) == 1:
        (problem,) = problems.values()
    elif len(options.problems) == 1 and not problems:
        # `find` raises an error with the reason why the problem is excluded.
        problem = problems.find(next(iter(options.problems)))
    else:
        source_hint = "with its --year" if benchmark_of(source) else "the package itself with --problems"
        raise InputError(
            f"a program is judged for one problem, but {len(problems)} problems were found",
            where=source,
            field="--problem",
            remedy=f"Name one, {source_hint} if several have that name. {suggest_names('', tuple(problems))}",
        )
    if problem.task_type is TaskType.OUTPUT_ONLY:
        problem_count_error, remedy = (
            f"{problem.id} asks for files, not for a program",
            "Use `ioi-eval score` or `validate`",
        )
        raise InputError(problem_count_error, where=source, field="--problem", remedy=remedy)
    return problem


# --- judging -----------------------------------------------------------------------------------------


async def _judge_submission(
    problem: Problem,
    submission: Submission,
    engine_choice: EngineChoice,
    options: JudgeOptions,
    timing: Timing,
    store: Store,
    on_event: OnEvent,
    packages: Collection[str],
) -> SubmissionResult:
    engine, trusted_engine = open_engine(engine_choice, store, tuple(packages))
    on_event(EngineStarting(engine=engine_choice.text))
    set_server_callback(engine, on_event)
    try:
        async with Scorer(engine, store=store, options=options, trusted=trusted_engine) as scorer:
            make_servers_found_event(engine)  # raises an InputError if no server can judge
            try:
                await scorer.judge.check_packages(packages, [submission.language])
                limited_problem = await TimeLimits(
                    scorer.judge.with_options(trusts_submissions=True), time_factor=timing.factor
                ).with_limits(problem)
                return await scorer.score(limited_problem, submission)
            except EngineError as error:
                raise JudgeFailure(str(error), phase="judging") from error
    finally:
        on_event(EngineStopped())


# --- output ------------------------------------------------------------------------------------------


def _build_json_result(problem: Problem, result: SubmissionResult, language: str) -> dict[str, Any]:
    return {
        "problem": problem.id,
        "language": language,
        "compiler": result.compiler,
        "compiles": result.compiles,
        "compile_output": result.compile_output,
        "verdict": result.verdict,
        "solved": result.solved,
        "points": result.points,
        "of": compute_max_points(problem),
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


def _print_result(problem: Problem, result: SubmissionResult, language: str) -> None:
    compiler_note = f" ({result.compiler})" if result.compiler else ""
    score_text = f"{result.verdict}, {result.points:g} of {compute_max_points(problem):g} points"
    for line in console.wrap_text(f"{problem.id}, {language}{compiler_note}: {score_text}"):
        console.print_line(console.colour_verdict(line, result.verdict))
    if not result.compiles:
        console.print_line("\nThe compiler says:")
        line_width = console.get_line_width() - len(_INDENT)
        lines = (
            textwrap.wrap(line, line_width, break_long_words=False)
            for line in _split_printable_lines(result.compile_output)
        )
        _print_indented_lines([wrapped_line for line in lines for wrapped_line in line], _MAX_COMPILER_LINES)
        return
    _print_tables(problem, result)
    failed_tests = (test for test in result.tests if test.status not in (Verdict.AC, Verdict.SKIPPED))
    if (first_failed_test := next(failed_tests, None)) is not None:
        _print_failed_test(problem, first_failed_test)


def _print_tables(problem: Problem, result: SubmissionResult) -> None:
    """Show the subtasks, and each test once, with the subtasks that it is in."""
    if result.subtasks:
        console.print_line("")
        rows = [
            (
                visible(subtask_result.subtask),
                subtask_result.status.value,
                f"{subtask_result.weighted_score:g}",
                f"{subtask_result.points:g}",
            )
            for subtask_result in result.subtasks
        ]
        console.print_table(
            ("subtask", "verdict", *_SUBTASK_NUMBERS), rows, right_aligned_heads=_SUBTASK_NUMBERS
        )
    test_rows: list[list[str]] = []
    for test in result.tests:
        cells = [
            visible(test.test_name),
            test.status.value,
            "" if test.status is Verdict.SKIPPED else f"{test.score:.4g}",
            "" if test.cpu_time is None else f"{test.cpu_time:.3f} s",
            "" if test.memory is None else f"{test.memory / (1 << 20):.1f} MiB",
        ]
        subtask_names = (
            visible(subtask.name) for subtask in problem.subtasks if test.test_name in subtask.tests
        )
        test_rows.append([*cells, ", ".join(subtask_names)] if problem.subtasks else cells)
    column_heads = ("test", "verdict", *_TEST_NUMBERS, *(["subtasks"] if problem.subtasks else []))
    console.print_line("")
    console.print_table(column_heads, test_rows, right_aligned_heads=_TEST_NUMBERS)


def _print_failed_test(problem: Problem, result: TestResult) -> None:
    test = next(test for test in problem.tests if test.name == result.test_name)
    feedback = f": {result.feedback}" if result.feedback else ""
    console.print_line("")
    for line in console.wrap_text(f"First test that is not right: {test.name}, {result.status}{feedback}"):
        console.print_line(console.colour_verdict(line, result.status))
    expected_output = "" if test.answer is None else test.answer.read_beginning(_ECHO)
    for title, content in (
        ("input", test.input.read_beginning(_ECHO)),
        ("output", result.output),
        ("expected", expected_output),
    ):
        console.print_line(f"  {title}:" if content else f"  {title}: nothing to show")
        # Divided by two below, because a character may be two columns wide.
        line_width = _WIDTH - len(_INDENT)
        shortened_lines = [
            shorten(line, line_width if line.isascii() else line_width // 2)
            for line in _split_printable_lines(content)
        ]
        _print_indented_lines(shortened_lines, _MAX_LINES)


def _split_printable_lines(text: str) -> list[str]:
    """Return the lines of a string, with control characters replaced."""
    lines = text.expandtabs().splitlines()
    return ["".join(char if char.isprintable() else "\ufffd" for char in line) for line in lines]


def _print_indented_lines(lines: Sequence[str], max_lines: int) -> None:
    for line in lines[:max_lines]:
        console.print_line(_INDENT + line)
    if len(lines) > max_lines:
        console.print_line(_INDENT + "…")
