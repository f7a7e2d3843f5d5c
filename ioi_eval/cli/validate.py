"""The command `validate`: judge solutions and compare their verdicts with the expected verdicts."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
import typer

from ioi_eval.benchmarks import Selection
from ioi_eval.cli import console
from ioi_eval.cli.calibrate import calibrate
from ioi_eval.cli.groups import OptionGroup, command, make_bounds_check
from ioi_eval.cli.options import (
    Engine,
    Output,
    OutputOptions,
    ProblemOptions,
    RunningOptions,
    SolutionRows,
    TimingOptions,
    open_store,
    problems_option,
)
from ioi_eval.cli.progress import format_run_summary, print_failures, run_with_progress
from ioi_eval.model.text import visible
from ioi_eval.reports.validation import (
    HEADS,
    RIGHT,
    make_confusion_matrix_table,
    make_validation_count_sentences,
    make_validation_table_rows,
)
from ioi_eval.runs.references import MAX_SOLUTIONS, ReferenceOptions
from ioi_eval.runs.score import run_name
from ioi_eval.runs.solutions import KINDS, REACH, ValidatedSolutions, compare_checkers
from ioi_eval.runs.solutions import validate as validate_solutions

_EXAMPLES = """
  ioi-eval validate packages/aplusb.zip
  ioi-eval validate packages --problem aplusb --only slow.cpp
  ioi-eval validate solutions.parquet --problems packages --columns expected=score
  ioi-eval validate solutions.parquet --problems ioi --year 2024
  ioi-eval validate code_contests --sample 20
  ioi-eval validate packages --calibrate
  ioi-eval validate packages --quiet --json
"""


_OF_EACH_KIND = {
    "most": {
        "help": "Reference solutions of each kind per problem.",
        "unset": "",
        "default": MAX_SOLUTIONS,
    }
}
_BY_FILE = {"metavar": "NAME", "help": "Only this solution, by file or key; may be repeated."}


@command(_EXAMPLES)
def validate(
    solutions: Annotated[
        str,
        typer.Argument(
            metavar="SOLUTIONS",
            help="A problem package, a folder of packages, a benchmark, or a file of solutions.",
        ),
    ],
    *,
    selection: Annotated[Selection, OptionGroup("Input", only=("keys",), changes={"keys": _BY_FILE})],
    expected_scale: Annotated[
        Literal["points", "fraction"] | None,
        typer.Option(
            help="Unit of the scores in the column of expected scores.",
            show_default="fraction if none is above 1",
            hidden=True,
            rich_help_panel="Input",
        ),
    ] = None,
    problems: ProblemOptions,
    rows: SolutionRows,
    timing: TimingOptions,
    engine: Engine,
    output: Output,
    running: RunningOptions,
    source: Annotated[str | None, problems_option("The problems of a file of solutions.")] = None,
    references: Annotated[ReferenceOptions, OptionGroup("Problems", only=("most",), changes=_OF_EACH_KIND)],
    compare: Annotated[
        bool,
        typer.Option(
            "--compare-checkers",
            help="Judge with each built-in comparison, and list the problems whose results differ.",
            hidden=True,
            rich_help_panel="Problems",
        ),
    ] = False,
    calibration: Annotated[
        bool,
        typer.Option(
            "--calibrate",
            help="Propose a --time-factor for this hardware that separates"
            " right solutions from too slow solutions."
            " Solutions run one at a time, and no other program should run on the machine.",
            rich_help_panel="Judging",
        ),
    ] = False,
    reach: Annotated[
        float | None,
        typer.Option(
            min=1.1,
            callback=make_bounds_check(),
            metavar="TIMES",
            help="With --calibrate: stop a solution after this multiple of its time limit.",
            hidden=True,
            show_default=f"{REACH:g}",
            rich_help_panel="Judging",
        ),
    ] = None,
) -> None:
    """Check a package: run its reference solutions and list unexpected verdicts.

    Packages and some benchmarks contain solutions with expected results. A file of solutions has a column
    with expected results, and needs --problems.

    Exit code 0: no difference; 1: a difference, or --calibrate found no time factor; 2: bad input; 3: no
    difference, but bad rows were skipped, or some solutions could not be judged, and a second call retries
    only these; 130: interrupted.
    """
    if calibration:
        calibrate(solutions, problems, engine, output, reach or REACH)
        return
    arguments: dict[str, Any] = {
        "choice": problems,
        "most": references.most,
        "column": rows.expected_column,
        "scale": expected_scale,
        "reading": rows.options,
        "selection": msgspec.structs.replace(selection, problems=problems.problems),
        "engine": engine.read_engine_choice(),
        "options": output.complete_run_options(running, timing),
        "store": open_store(),
    }
    if compare:
        _compare_checkers(solutions, source, output, arguments)
        return
    outcome, seconds = run_with_progress(
        output,
        lambda tell: validate_solutions(solutions, source, out=output.out, on_event=tell, **arguments),
    )
    _print_validation(outcome, seconds, output)
    if outcome.validation.differences:
        raise typer.Exit(console.MISMATCH)
    if outcome.validation.unjudged or outcome.rejected:
        raise typer.Exit(console.UNSCORED)


def _compare_checkers(
    solutions: str, source: str | None, output: OutputOptions, arguments: dict[str, Any]
) -> None:
    folder = output.out or Path("runs") / f"compare-{run_name(solutions)}"
    (_validated, comparisons), _seconds = run_with_progress(
        output, lambda tell: compare_checkers(solutions, source, out=folder, on_event=tell, **arguments)
    )
    if output.as_json:
        console.print_json({"out": str(folder), "comparisons": [*KINDS], "decided_differently": comparisons})
        return
    column_heads = ("comparison", "problem", "accepts more", "accepts fewer")
    rows = [
        [comparison.checker, visible(comparison.problem), str(comparison.accepts), str(comparison.rejects)]
        for comparison in comparisons
    ]
    rows += [
        [kind, "none", "0", "0"]
        for kind in KINDS
        if kind not in {comparison.checker for comparison in comparisons}
    ]
    console.print_table(column_heads, sorted(rows), right_aligned_heads=column_heads[2:])


def _print_validation(outcome: ValidatedSolutions, seconds: float, output: OutputOptions) -> None:
    validation = outcome.validation
    if output.as_json:
        console.print_json(outcome.as_json())
    elif not output.quiet:
        console.print_wrapped(
            format_run_summary(outcome.call, seconds, unscored_count=len(validation.unjudged))
        )
        if outcome.note:
            console.print_wrapped(outcome.note)
        console.print_line("")
        console.print_table(
            HEADS,
            [[*map(_remove_control_characters, row)] for row in make_validation_table_rows(validation)],
            right_aligned_heads=RIGHT,
            droppable_heads=[HEADS[-1]],
        )
        column_heads, lines = make_confusion_matrix_table(validation)
        if lines:
            console.print_line("")
            console.print_table(
                column_heads,
                [[*map(_remove_control_characters, line)] for line in lines],
                right_aligned_heads=column_heads[1:],
            )
            console.print_line("")
        for sentence, difference_lines in outcome.differences():
            console.print_wrapped(sentence, "", "    ")
            for line in difference_lines:
                console.print_wrapped(line, "    ", "        ")
            console.print_line("")
    print_failures({failure.key: failure.reason for failure in validation.unjudged}, outcome.out)
    if not output.is_silent:
        console.print_wrapped(outcome.conclusion)
        for line in make_validation_count_sentences(validation):
            console.print_wrapped(line)
        console.print_line(console.format_report_line(outcome.out))


def _remove_control_characters(text: str) -> str:
    """Return a cell without control characters. Leading spaces, the indent of a subtask, are preserved."""
    return " " * (len(text) - len(text.lstrip(" "))) + visible(text)
