"""`ioi-eval score DUMP... --problems SOURCE`: what was asked for, and what is said at the end."""

from __future__ import annotations

import shlex
import sys
import time
from pathlib import Path
from typing import Annotated

import typer

from ioi_eval.benchmarks import DumpOptions, Selection
from ioi_eval.cli import console
from ioi_eval.cli.options import Engine, check_engine
from ioi_eval.cli.running import Outcome, Request, score_dump
from ioi_eval.cli.tables import show_scores
from ioi_eval.extraction import Repairs

_SHOWN_FAILURES = 5

_Dumps = Annotated[
    list[Path], typer.Argument(metavar="DUMP...", help="Files (.jsonl, .json, .parquet, .csv) or folders.")
]
_Source = Annotated[
    Path, typer.Option("--problems", metavar="SOURCE", help="A folder or a zip of problem packages.")
]
_Out = Annotated[
    Path | None, typer.Option(metavar="DIR", help="The run's folder.", show_default="runs/<name of the dump>")
]
_Limit = Annotated[int | None, typer.Option(min=1, metavar="N", help="Only the first N submissions.")]
_Only = Annotated[list[str] | None, typer.Option(metavar="ID", help="Only this submission; may be repeated.")]
_Problem = Annotated[list[str] | None, typer.Option(metavar="ID", help="Only this problem; may be repeated.")]
_Workers = Annotated[
    int | None, typer.Option(min=1, metavar="N", help="Jobs at the same time.", show_default="one per core")
]
_AllTests = Annotated[
    bool, typer.Option("--all-tests", help="Run also the tests that can no longer change a score.")
]
_Fresh = Annotated[bool, typer.Option("--fresh", help="Give up what the folder holds and start anew.")]
_Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress and no table.")]
_Json = Annotated[bool, typer.Option("--json", help="Print a summary as JSON at the end, and nothing else.")]
_Language = Annotated[str, typer.Option(metavar="NAME", help="The language of rows that do not say.")]
_IdColumn = Annotated[
    str | None,
    typer.Option(
        metavar="NAME", help="The column with each row's id; empty: none.", show_default="uuid or id"
    ),
]
_Extract = Annotated[
    bool, typer.Option("--always-extract", help="Read code from `generation`, even where there is a `code`.")
]
_Includes = Annotated[bool, typer.Option("--add-includes", help="Repair: add #include <bits/stdc++.h>.")]
_Header = Annotated[bool, typer.Option("--add-header", help="Repair: add the problem's own header.")]
_Namespace = Annotated[bool, typer.Option("--add-namespace", help="Repair: add using namespace std;")]
_Unconfined = Annotated[
    bool, typer.Option("--allow-unconfined", help="Judge even where the kernel offers no confinement.")
]


def score(
    dumps: _Dumps,
    source: _Source,
    out: _Out = None,
    limit: _Limit = None,
    only: _Only = None,
    problem: _Problem = None,
    workers: _Workers = None,
    all_tests: _AllTests = False,
    fresh: _Fresh = False,
    quiet: _Quiet = False,
    as_json: _Json = False,
    language: _Language = "c++",
    id_column: _IdColumn = None,
    always_extract: _Extract = False,
    add_includes: _Includes = False,
    add_header: _Header = False,
    add_namespace: _Namespace = False,
    engine: Engine = "embedded",
    allow_unconfined: _Unconfined = False,
) -> None:
    """Score a dump of generations. The same command again goes on where the last one stopped.

    Exit code 0: everything is scored; 2: bad input; 3: some submissions could not be judged, and a second
    call retries only them; 130: interrupted.

    \b
    Examples:
      ioi-eval score generations.jsonl --problems packages
      ioi-eval score dumps/*.parquet --problems ioi-2024.zip --out runs/2024 --workers 8
      ioi-eval score generations.jsonl --problems packages --problem aplusb --limit 20
      ioi-eval score generations.jsonl --problems packages --quiet --json
    """
    check_engine(engine)
    repairs = Repairs(add_includes=add_includes, add_header=add_header, add_namespace=add_namespace)
    request = Request(
        dumps=tuple(map(str, dumps)),
        source=str(source),
        out=str(out or Path("runs") / dumps[0].stem),
        reading=DumpOptions(
            id_column=id_column, language=language, always_extract=always_extract, repairs=repairs
        ),
        selection=Selection(problems=frozenset(problem or ()), keys=frozenset(only or ()), limit=limit),
        workers=workers,
        all_tests=all_tests,
        allow_unconfined=allow_unconfined,
        fresh=fresh,
        quiet=quiet or as_json,
        command=command(sys.argv[1:]),
    )
    begin = time.monotonic()
    try:
        outcome = score_dump(request)
    except KeyboardInterrupt:
        _say_how_to_go_on(request)
        raise typer.Exit(console.INTERRUPTED) from None
    _show(outcome, request, time.monotonic() - begin, quiet=quiet, as_json=as_json)
    if outcome.failures:
        raise typer.Exit(console.UNSCORED)


def command(arguments: list[str]) -> str:
    """How to go on with a run: the command as it was given, but for what would start it anew."""
    return shlex.join(["ioi-eval", *(word for word in arguments if word != "--fresh")])


def _say_how_to_go_on(request: Request) -> None:
    console.tell("")
    console.tell("Interrupted. What was scored so far is kept; the same command goes on from there:")
    console.tell(f"    {request.command}")


def _show(outcome: Outcome, request: Request, seconds: float, *, quiet: bool, as_json: bool) -> None:
    if as_json:
        console.show_json(outcome.as_json(request.out))
    elif not quiet:
        console.show(_what_was_done(outcome, seconds))
        show_scores(outcome.summary)
    for key, reason in list(outcome.failures.items())[:_SHOWN_FAILURES]:
        console.tell(f"not judged: {key}: {reason}")
    if outcome.failures:
        number = len(outcome.failures)
        console.tell(
            f"{console.counted(number, 'submission')} could not be judged, see {request.out}/failures.jsonl; "
            f"the same command retries {'it' if number == 1 else 'them'} and nothing else"
        )
    if not (as_json or quiet):
        console.show(f"Report: {request.out}/report.md")


def _what_was_done(outcome: Outcome, seconds: float) -> str:
    call = outcome.call
    if not call.judged and not outcome.failures:
        number = console.counted(call.skipped, "submission")
        return f"Nothing new to do: {number} asked for, all scored by earlier calls."
    text = f"Scored {console.counted(call.judged, 'submission')}"
    if call.repeated:
        text += f" ({call.repeated} equal to another one)"
    text += f" in {seconds:.1f} s: {console.counted(call.tests, 'test')}, {call.tests / seconds:.0f} a second"
    return f"{text}; {call.skipped} were scored by earlier calls" if call.skipped else text
