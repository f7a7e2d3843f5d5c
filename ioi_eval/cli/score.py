"""The command `score`: judge a dump of generations and print its scores."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer

from ioi_eval.benchmarks import find_benchmark
from ioi_eval.benchmarks.dumps import guess_benchmark, replace_stdin_dump_by_file
from ioi_eval.benchmarks.exports import check_results_path, publish, write_results
from ioi_eval.cli import console
from ioi_eval.cli.groups import OptionGroup, command
from ioi_eval.cli.options import (
    AllowSuspicious,
    AllTests,
    Engine,
    Output,
    OutputOptions,
    ProblemOptions,
    RunningOptions,
    ScoredRows,
    TimingOptions,
    open_store,
    problems_option,
)
from ioi_eval.cli.progress import (
    describe_replaced_results,
    format_run_summary,
    print_failures,
    print_unscored_models,
    run_with_progress,
)
from ioi_eval.cli.scores import exit_if_suspicious, print_references, print_scores
from ioi_eval.model.errors import InputError
from ioi_eval.model.options import CliOption
from ioi_eval.model.secret import Secret
from ioi_eval.model.text import format_count
from ioi_eval.model.values import Value
from ioi_eval.reports.trust import make_trusted_headline_sentence
from ioi_eval.runs import ReferenceOptions, Selection
from ioi_eval.runs.score import Forecast, ScoredDump, forecast_dump, make_skipped_row_notes, score_dump

# --- exports -----------------------------------------------------------------------------------------


TOKEN_VARIABLE = "HF_TOKEN"
_MAX_CARD_LINES = 12  # maximum lines of a dataset card that a dry run shows


class ExportOptions(Value):
    """Further outputs of a run: a file of rows, and a dataset on the hub."""

    results: Annotated[
        Path | None,
        CliOption(
            typed=str,
            read=Path,
            metavar="FILE",
            help="Also write the result rows to this file: .parquet or .jsonl.",
        ),
    ] = None
    push_to_hub: Annotated[
        str,
        CliOption(
            metavar="REPO",
            help="Push result rows and report to this dataset on the"
            f" hub, with the token in {TOKEN_VARIABLE}.",
        ),
    ] = ""
    public: Annotated[
        bool, CliOption(help="Make the pushed dataset public if this command creates it.", key_only=True)
    ] = False
    dry_run: Annotated[
        bool,
        CliOption(
            help="Print which submissions would be judged, without judging. With --push-to-hub, push nothing."
        ),
    ] = False

    def __post_init__(self) -> None:
        """Raise InputError for options that would fail only after a long run."""
        repo = self.push_to_hub
        if self.results is not None:
            check_results_path(self.results)
        if repo and repo.count("/") != 1:
            raise InputError(f"the dataset's name must be OWNER/NAME, not {repo!r}", field="--push-to-hub")
        if repo and not self.dry_run and not os.environ.get(TOKEN_VARIABLE):
            remedy = f"Set {TOKEN_VARIABLE}, or add --dry-run to see what would be pushed"
            raise InputError("needs a token", field="--push-to-hub", remedy=remedy)

    def write_outputs(self, out: str, output: OutputOptions) -> None:
        """Write the outputs and print their names. `--quiet` does not hide a dry run."""
        lines = list(self._export(Path(out)))
        if not output.as_json and (self.dry_run or not output.quiet):
            for line in lines:
                console.print_line(line)

    def _export(self, out: Path) -> Iterator[str]:
        """Write the outputs, and yield a line about each."""
        if self.results is not None:
            write_results(out, self.results)
            yield f"Results: {self.results}"
        if self.push_to_hub:
            token = Secret(os.environ.get(TOKEN_VARIABLE, ""))
            push_result = publish(
                out, self.push_to_hub, private=not self.public, token=token, is_dry_run=self.dry_run
            )
            visibility = "private" if push_result.private else "public"
            verb = "Pushed" if push_result.url else "Would push"
            yield f"{verb} to {push_result.repo} ({visibility}, if it is new):"
            yield from (f"  {name}  {size:,} bytes" for name, size in push_result.files.items())
            if push_result.url:
                yield f"  {push_result.url}"
                return
            lines = push_result.card.splitlines()
            yield from ("Card:", *(f"  {line}" for line in lines[:_MAX_CARD_LINES]))
            omitted_lines = len(lines) - _MAX_CARD_LINES
            yield f"  ... ({omitted_lines} more lines)" if omitted_lines > 0 else ""


# --- the command -------------------------------------------------------------------------------------


_EXAMPLES = """
  ioi-eval score generations.jsonl --problems packages
  ioi-eval score dumps/*.parquet --problems ioi-2024.zip --out runs/2024
  ioi-eval score few.jsonl --problems packages --problem aplusb --limit 20
  ioi-eval score generations.jsonl --problems ioi --year 2024
  ioi-eval score generations.jsonl --problems codeforces --data-dir copies --sample 100
  ioi-eval score generations.jsonl --problems apps --difficulty interview
  zstdcat old.jsonl.zst | ioi-eval score - --problems packages --out runs/old
  ioi-eval score "me/models-*" --problems ioi --results scores.parquet
  ioi-eval score generations.jsonl --problems packages --engine http://a:2000,http://b:2000
  ioi-eval score generations.jsonl --problems packages --engine slurm
  ioi-eval score generations.jsonl --problems packages --quiet --json
  ioi-eval score generations.jsonl --problems packages --trust audits/packages/audit.json
  ioi-eval score generations.jsonl --problems ioi --shard 1/4    then: ioi-eval report DIR DIR DIR DIR
"""


@command(_EXAMPLES)
def score(
    dumps: Annotated[
        list[str],
        typer.Argument(
            metavar="DUMP",
            help="Dumps to judge: files (.jsonl, .json, .csv, also with .gz or"
            " .zst; .parquet), folders, `-` for standard"
            " input, or datasets as OWNER/NAME[/CONFIG][@REVISION].",
        ),
    ],
    *,
    source: Annotated[
        str | None,
        problems_option(show_default="the benchmark of the dump's ids and columns"),
    ] = None,
    problems: ProblemOptions,
    trust: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Audit file: also report scores without the problems that this audit does not trust.",
            rich_help_panel="Problems",
        ),
    ] = None,
    references: Annotated[dict[str, Any], OptionGroup("Problems", fields_of=ReferenceOptions)],
    selection: Annotated[Selection, OptionGroup("Input", only=("limit", "keys", "shard"))],
    rows: ScoredRows,
    timing: TimingOptions,
    engine: Engine,
    output: Output,
    running: RunningOptions,
    export: Annotated[ExportOptions, OptionGroup("Output")],
    all_tests: AllTests = False,
    allow_suspicious: AllowSuspicious = False,
) -> None:
    """Score a dump of generations. The same command continues an interrupted run.

    Exit code 0: everything is scored; 2: bad input; 3: some submissions could not be judged, and a second
    call retries only these, or bad rows were skipped; 4: everything is scored, but 90 % of the submissions
    of a model contain no program or fail with the same line; 130: interrupted.
    """
    if export.results is not None:
        check_results_path(export.results, dumps)
    if rows.expected_column is not None:
        remedy = "Remove it, or use `ioi-eval validate`"
        raise InputError(
            "`ioi-eval score` does not use expected results", field="--columns expected", remedy=remedy
        )
    reference_options = ReferenceOptions(**references) if references else None
    engine_choice = engine.read_engine_choice()
    with replace_stdin_dump_by_file(dumps, sys.stdin.buffer) as dump_files:
        if not source:
            source = guess_benchmark(dump_files, rows.options.problem_column)
            benchmark = find_benchmark(source)
            note = f"; {benchmark.adds_to} has the same ids and fewer tests" if benchmark.adds_to else ""
            console.print_message(
                f"Assumed --problems {source}, as the dump's ids and columns say{note}."
                " To choose other problems, add --problems SOURCE"
            )
        arguments: dict[str, Any] = {
            "out": output.out,
            "choice": problems,
            "reading": rows.options,
            "selection": msgspec.structs.replace(selection, problems=problems.problems),
            "engine": engine_choice,
            "options": output.complete_run_options(running, timing, all_tests=all_tests),
            "store": open_store(),
        }
        if export.dry_run and not export.push_to_hub:
            _print_forecast(forecast_dump(dump_files, source, **arguments), output)
            return
        scored_dump, seconds = run_with_progress(
            output,
            lambda on_event: score_dump(
                dump_files,
                source,
                references=reference_options,
                trust=trust,
                on_event=on_event,
                **arguments,
            ),
        )
    _print_scored_dump(scored_dump, reference_options, seconds, output)
    export.write_outputs(scored_dump.out, output)
    if scored_dump.failures or scored_dump.dump.rejected:
        raise typer.Exit(console.UNSCORED)
    exit_if_suspicious(
        [scored_dump.summary], allows_suspicious=allow_suspicious, print_reasons=output.is_silent
    )


def _print_scored_dump(
    scored: ScoredDump, reference_options: ReferenceOptions | None, seconds: float, output: OutputOptions
) -> None:
    if output.as_json:
        console.print_json(scored.as_json())
    elif not output.quiet:
        console.print_wrapped(format_run_summary(scored.call, seconds, unscored_count=len(scored.failures)))
        for line in make_skipped_row_notes(scored.dump):
            console.print_wrapped(console.replace_arguments_by_options(line))
        if scored.references is not None and reference_options is not None:
            print_references(scored.references, reference_options, scored.out)
        print_scores(scored.summary)
        if scored.summary.trust is not None:
            console.print_wrapped(make_trusted_headline_sentence(scored.summary))
    print_failures(scored.failures, scored.out)
    print_unscored_models(scored.summary.models)
    if not output.is_silent:
        console.print_line(console.format_report_line(scored.out))


def _print_forecast(forecast: Forecast, output: OutputOptions) -> None:
    """Show the work to do, and an upper bound of its CPU time."""
    if output.as_json:
        console.print_json(forecast)
        return
    console.print_message(f"Rows: {forecast.understood}")
    console.print_line(
        f"{format_count(forecast.rows, 'submission')}: {forecast.judged:,} to judge "
        f"({format_count(forecast.problems, 'problem')}, {format_count(forecast.tests, 'test')}), "
        f"{forecast.known:,} known or equal to another"
        + (f", {forecast.without:,} without a program" if forecast.without else "")
    )
    for line in describe_replaced_results(forecast.again) if forecast.again is not None else ():
        console.print_line(line)
    if forecast.rejected:
        console.print_line(f"{format_count(forecast.rejected, 'row')} cannot be used")
    for note in forecast.notes:
        console.print_wrapped(console.replace_arguments_by_options(note))
    if forecast.cpu_hours is None:
        console.print_line("The CPU time is unknown: a time limit is not measured yet")
    elif forecast.judged:
        console.print_line(
            f"At most {format_hours(forecast.cpu_hours)} of CPU, if each test uses its whole limit"
        )
    if forecast.judged and forecast.expected_cpu_hours is not None:
        console.print_line(
            f"About {format_hours(forecast.expected_cpu_hours)} by what the run's programs took so far"
        )
    console.print_line("Nothing was judged")


def format_hours(hours: float) -> str:
    """Return a duration with its unit. Only 0 hours are shown as 0.0."""
    if hours >= 1:
        return f"{hours:.1f} hours"
    return f"{hours * 60:.1f} minutes" if hours * 60 >= 0.1 else f"{hours * 3600:.2g} seconds"
