"""`ioi-eval audit SOURCE`: how far the tests of a source can be trusted."""

from __future__ import annotations

import asyncio
import logging
import os
import re
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from ioi_eval import InputError, JudgeOptions, Scorer, Store
from ioi_eval.engines import open_engine
from ioi_eval.plugins.audit.audit import AUDIT, PAGE, REFERENCES, AuditOptions
from ioi_eval.plugins.audit.audit import audit as run_audit
from ioi_eval.plugins.audit.records import Audit, ProblemAudit, Rate, format_count
from ioi_eval.runs import BenchmarkOptions, EngineChoice, Timing, progress
from ioi_eval.sources import benchmark_of

FOUND, UNJUDGED, INTERRUPTED = 1, 3, 130  # exit codes
_ECHO = 1 << 16  # maximum bytes of a wrong output that are compared with other outputs
_MAX_SHOWN = 20  # maximum number of problems that are printed in the terminal


def audit(
    source: Annotated[
        str,
        typer.Argument(
            metavar="SOURCE", help="Name of a benchmark, file of a benchmark's rows, or problem packages."
        ),
    ],
    *,
    problem: Annotated[
        list[str] | None,
        typer.Option(metavar="ID", help="Audit only the problem with this id. May be repeated."),
    ] = None,
    sample: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="Audit a random sample of N problems.")
    ] = None,
    seed: Annotated[
        int,
        typer.Option(
            metavar="S",
            help="Seed of the random sample of problems and of the mutated solutions.",
            hidden=True,
        ),
    ] = 0,
    data_dir: Annotated[
        str,
        typer.Option(
            metavar="DIR", help="Folder with local copies of the benchmark's files.", show_default="the hub"
        ),
    ] = "",
    checker: Annotated[
        str,
        typer.Option(
            metavar="KIND",
            help="Built-in comparison of outputs to use instead of the benchmark's.",
            show_default="the source's",
            hidden=True,
        ),
    ] = "",
    solutions: Annotated[
        str,
        typer.Option(
            metavar="DUMP", help="Dump with more solutions, whose verdicts are known.", show_default="none"
        ),
    ] = "",
    expected_column: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Column of the dump with the verdicts.",
            show_default="if there is one only",
            hidden=True,
        ),
    ] = None,
    references: Annotated[
        int,
        typer.Option(
            metavar="N",
            min=1,
            help="Maximum number of the benchmark's right solutions, and"
            " of its wrong solutions, per problem.",
            hidden=True,
        ),
    ] = REFERENCES,
    mutants: Annotated[
        int,
        typer.Option(
            metavar="N",
            min=0,
            help="Mutate right solutions until each problem has N wrong solutions.",
            show_default="0",
        ),
    ] = 0,
    time_factor: Annotated[
        float,
        typer.Option(metavar="F", min=0.01, max=1000, help="Factor by which all time limits are multiplied."),
    ] = 1.0,
    engine: Annotated[
        str | None,
        typer.Option(
            metavar="ENGINE",
            help="Engine that runs the jobs, as for `ioi-eval score`.",
            show_default="this machine",
        ),
    ] = None,
    workers: Annotated[
        int | None,
        typer.Option(
            metavar="N", min=1, help="Maximum number of jobs that run at the same time.", show_default="all"
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Folder for the audit's results.", show_default="audits/<SOURCE>"),
    ] = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="Discard the folder's earlier results.")] = False,
    log_level: Annotated[
        Literal["debug", "info", "warning"] | None,
        typer.Option(
            metavar="LEVEL",
            help="Log from this level on: warning, info, or debug for each step of each submission.",
            show_default="info",
        ),
    ] = None,
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="Print only errors, without progress.")
    ] = False,
) -> None:
    """Check how reliable the tests of SOURCE are, by solutions known to be right or wrong.

    The solutions that the source calls right or wrong are judged by all tests. The folder gets audit.json,
    which `score --trust` reads, and audit.html. The same command continues an audit that was stopped.

    Exit code 0: nothing was found; 1: some problems are not to be trusted; 2: bad input; 3: nothing was
    found, but some solutions could not be judged; 130: interrupted.

    \b
    Examples:
      ioi-eval audit packages
      ioi-eval audit code_contests --sample 100
      ioi-eval audit packages --solutions submissions.jsonl --mutants 10
    """
    if log_level is not None:
        logging.getLogger("ioi_eval").setLevel(log_level.upper())
    choice = BenchmarkOptions(
        problems=frozenset(problem or ()),
        sample=sample,
        seed=seed if sample is not None else 0,
        data_dir=data_dir,
        checker=checker,
    )
    options = AuditOptions(
        references=references,
        solutions=solutions,
        column=expected_column,
        mutants=mutants,
        seed=seed,
        timing=Timing(factor=time_factor),
        fresh=fresh,
    )
    folder = out or Path("audits") / (Path(source).stem or "source")
    engine_choice = EngineChoice.from_variables(engine, os.environ, slots=workers)
    store = Store.usual(os.environ.get("IOI_EVAL_CACHE"))
    on_event = (lambda event: None) if quiet else progress()
    try:
        report = asyncio.run(_run_audit(source, engine_choice, store, folder, choice, options, on_event))
    except InputError as error:
        raise _rename_column_option(error) from error
    except KeyboardInterrupt:
        typer.echo("Interrupted. Run the same command again to continue.", err=True)
        raise typer.Exit(INTERRUPTED) from None
    if not quiet:
        for line in format_terminal_lines(report):
            typer.echo(line)
        typer.echo(f"{folder / AUDIT}, {folder / PAGE}")
    if report.untrusted:
        raise typer.Exit(FOUND)
    if any(problem_audit.unjudged for problem_audit in report.problems):
        raise typer.Exit(UNJUDGED)


async def _run_audit(
    source: str,
    engine_choice: EngineChoice,
    store: Store,
    folder: Path,
    choice: BenchmarkOptions,
    options: AuditOptions,
    on_event: Any,
) -> Audit:
    benchmark = benchmark_of(source)
    engine, trusted = open_engine(
        engine_choice, store, () if benchmark is None else tuple(benchmark.packages)
    )
    judge_options = JudgeOptions(job=engine_choice.job, echo=_ECHO, borderline=options.timing.borderline)
    async with Scorer(engine, store=store, options=judge_options, trusted=trusted) as scorer:
        return await run_audit(
            source, scorer, out=folder, store=store, choice=choice, options=options, on_event=on_event
        )


def _rename_column_option(error: InputError) -> InputError:
    """Return the error, with `column`, the name in other commands, replaced by `expected-column`."""
    remedy = re.sub(r"\bcolumn=NAME", "--set expected-column=NAME", error.remedy)
    if error.field != "column" and remedy == error.remedy:
        return error
    return error.with_details(field="expected-column" if error.field == "column" else None, remedy=remedy)


def format_terminal_lines(report: Audit) -> list[str]:
    """Return the audit as lines for a terminal: the flaws of each problem, and a summary."""
    faulty_audits = [problem_audit for problem_audit in report.problems if problem_audit.diagnoses]
    lines = [
        line for problem_audit in faulty_audits[:_MAX_SHOWN] for line in _format_problem_lines(problem_audit)
    ]
    if len(faulty_audits) > _MAX_SHOWN:
        lines.append(f"{len(faulty_audits) - _MAX_SHOWN} more problems are in {AUDIT}.")
    lines += [
        f"{problem_audit.problem}: {format_count(len(problem_audit.unjudged), 'solution')}"
        " could not be judged, such"
        f" as {problem_audit.unjudged[0]}: {problem_audit.unusable[problem_audit.unjudged[0]]}"
        for problem_audit in report.problems
        if problem_audit.unjudged
    ][:_MAX_SHOWN]
    lines.append(
        f"Right solutions accepted: {_format_rate(report.right)}; wrong ones rejected:"
        f" {_format_rate(report.wrong)}."
    )
    return [*lines, *report.sentences]


def _format_problem_lines(problem_audit: ProblemAudit) -> list[str]:
    return [
        line
        for diagnosis in problem_audit.diagnoses
        for line in (
            f"{problem_audit.problem}: {diagnosis.fault}: {diagnosis.sentence}",
            f"    {diagnosis.command}",
        )
    ]


def _format_rate(rate: Rate) -> str:
    if rate.share is None or rate.low is None or rate.high is None:
        return "none to judge"
    interval = f"{100 * rate.low:.1f} to {100 * rate.high:.1f}"
    return f"{rate.number} of {rate.of} ({100 * rate.share:.1f} %, {interval})"
