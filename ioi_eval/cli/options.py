"""Options of commands: in groups that become one value, and alone where several commands have one."""

from __future__ import annotations

import shlex
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar

import msgspec
import typer

from ioi_eval.benchmarks import BenchmarkOptions, DumpOptions
from ioi_eval.cli.console import hush
from ioi_eval.cli.groups import Group
from ioi_eval.model.errors import InputError
from ioi_eval.model.languages import find as find_language
from ioi_eval.model.options import Borderline
from ioi_eval.rules.extraction import Extraction
from ioi_eval.rules.limits import read_borderline
from ioi_eval.rules.repairs import Repairs
from ioi_eval.runs.references import MOST
from ioi_eval.runs.references import ReferenceOptions as References
from ioi_eval.runs.work import RunOptions, Timing

# --- alone -------------------------------------------------------------------------------------------

SOURCE_HELP = (
    "A benchmark's name, a folder or a zip of problem packages, a file of a benchmark's rows, "
    "or a Python file with a benchmark of your own."
)
Source = Annotated[str, typer.Argument(metavar="SOURCE", help=SOURCE_HELP)]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", callback=hush, help="No progress and no table.")]
AllTests = Annotated[
    bool,
    typer.Option(
        "--all-tests",
        help="Also run tests that can no longer change a score.",
        rich_help_panel="Judging",
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON, and nothing else.")]
AllowSuspicious = Annotated[
    bool,
    typer.Option(
        "--allow-suspicious",
        help="Exit with 0 also where the table can hardly be true.",
        rich_help_panel="Output",
    ),
]


def _known(language: str | None) -> str | None:
    """Raise InputError at once, and not for the first row that says nothing."""
    try:
        if language is not None:
            find_language(language)
    except InputError as error:
        raise error.but(field="--language") from error
    return language


# --- problems ----------------------------------------------------------------------------------------

ProblemOptions = Annotated[BenchmarkOptions, Group("Problems", without=("first",))]


@dataclass(frozen=True)
class ReferenceOptions:
    """Options for a benchmark's own solutions."""

    title: ClassVar = "Problems"
    validate_references: Annotated[
        bool,
        typer.Option(
            "--validate-references", help="Judge the benchmark's own solutions, and say which pass."
        ),
    ] = False
    references: Annotated[
        int | None,
        typer.Option(
            "--references",
            min=1,
            metavar="N",
            help="Reference solutions per problem.",
            show_default=str(MOST),
        ),
    ] = None
    skip_unreliable: Annotated[
        bool, typer.Option("--skip-unreliable", help="Leave out problems whose own solutions do not pass.")
    ] = False

    def asked(self) -> References | None:
        """None where nobody asked."""
        if not self.validate_references and not self.skip_unreliable and self.references is None:
            return None
        return References(most=self.references or MOST, skip=self.skip_unreliable)


# --- rows --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class RowOptions:
    """The defaults for rows that lack a column."""

    title: ClassVar = "Input"
    language: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            callback=_known,
            help="The language of rows that name none, whatever else tells it.",
            show_default="told by the dump's format, the problem, the reply's fence; the benchmark's; c++",
        ),
    ] = None
    id_column: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="The column with each row's id; empty: none.", show_default="uuid or id"
        ),
    ] = None

    code_column: Annotated[
        str | None,
        typer.Option(
            metavar="PATH",
            help="The column with the program; with --always-extract, the reply it is in; `a.b` is b in a.",
        ),
    ] = None
    always_extract: Annotated[
        bool,
        typer.Option("--always-extract", help="Read code from `generation`, even where there is a `code`."),
    ] = False
    problem_column: Annotated[
        str | None, typer.Option(metavar="PATH", help="The column with the problem.")
    ] = None
    language_column: Annotated[
        str | None, typer.Option(metavar="PATH", help="The column with the language.")
    ] = None
    model_column: Annotated[str | None, typer.Option(metavar="PATH", help="The column with the model.")] = (
        None
    )
    year_column: Annotated[str | None, typer.Option(metavar="PATH", help="The column with the year.")] = None
    subtask_column: Annotated[
        str | None, typer.Option(metavar="PATH", help="The column with the subtask aimed at.")
    ] = None

    skip_bad_rows: Annotated[
        bool, typer.Option("--skip-bad-rows", help="Leave out rows that cannot be used, and list them.")
    ] = False

    def reading(self) -> DumpOptions:
        return DumpOptions(
            id_column=self.id_column,
            language=self.language or "",
            code_column=self.code_column,
            always_extract=self.always_extract,
            problem_column=self.problem_column,
            language_column=self.language_column,
            model_column=self.model_column,
            year_column=self.year_column,
            subtask_column=self.subtask_column,
            skip_bad_rows=self.skip_bad_rows,
        )


@dataclass(frozen=True)
class RepairOptions:
    """Repairs of a row's program before it is built."""

    title: ClassVar = "Input"
    extract: Annotated[
        Extraction,
        typer.Option(
            "--extract", help="Which part of a `generation` is the program: see docs/benchmarks.md."
        ),
    ] = Extraction.LAST
    add_includes: Annotated[
        bool, typer.Option("--add-includes", help="Repair: add #include <bits/stdc++.h>.")
    ] = False
    add_header: Annotated[
        bool, typer.Option("--add-header", help="Repair: add the problem's own header.")
    ] = False
    add_namespace: Annotated[
        bool, typer.Option("--add-namespace", help="Repair: add using namespace std;")
    ] = False
    add_imports: Annotated[
        bool, typer.Option("--add-imports", help="Repair: add what benchmarks import for Python programs.")
    ] = False

    def added_to(self, reading: DumpOptions) -> DumpOptions:
        repairs = Repairs(
            add_includes=self.add_includes,
            add_header=self.add_header,
            add_namespace=self.add_namespace,
            add_imports=self.add_imports,
        )
        return msgspec.structs.replace(reading, extract=self.extract, repairs=repairs)


# --- judging -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class TimingOptions:
    """The measurement of time."""

    title: ClassVar = "Judging"
    time_factor: Annotated[
        float,
        typer.Option(
            min=0.01,
            max=1000,
            metavar="F",
            help="Multiply all time limits; `ioi-eval calibrate` proposes a factor for this hardware.",
        ),
    ] = 1.0
    borderline: Annotated[
        str,
        typer.Option(metavar="LOW:HIGH", help="Measure times in this band of the limit again. Off: 1:1."),
    ] = str(Borderline())

    def timing(self) -> Timing:
        """Raise InputError for a band that means nothing."""
        return Timing(factor=self.time_factor, borderline=read_borderline(self.borderline))


# --- output ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class OutputOptions:
    """The place of a run, and the output that it shows."""

    title: ClassVar = "Output"
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help="The run's folder: new, empty or a run's.", show_default="runs/<its name>"
        ),
    ] = None
    fresh: Annotated[bool, typer.Option("--fresh", help="Discard earlier results and start over.")] = False
    reuse: Annotated[
        list[str] | None,
        typer.Option(metavar="DIR", help="Take over results of another run; may be repeated."),
    ] = None
    accept_compiler: Annotated[
        bool, typer.Option("--accept-compiler", help="Go on with another compiler than the run's.")
    ] = False
    share: Annotated[
        bool,
        typer.Option("--share/--no-share", help="Judge equal submissions once.", rich_help_panel="Judging"),
    ] = True
    keep_outputs: Annotated[
        bool,
        typer.Option(
            "--keep-outputs", help="Keep the beginning of a first wrong output, and what was expected."
        ),
    ] = False
    quiet: Quiet = False
    as_json: Annotated[
        bool, typer.Option("--json", help="Print a summary as JSON at the end, and nothing else.")
    ] = False

    @property
    def silent(self) -> bool:
        return self.quiet or self.as_json

    @property
    def again(self) -> str:
        """Return the command that continues a run: as given, but for options that would start it anew."""
        return shlex.join(
            ["ioi-eval", *(word for word in sys.argv[1:] if word not in ("--fresh", "--rejudge"))]
        )

    def options(self, timing: TimingOptions, *, all_tests: bool = False) -> RunOptions:
        return RunOptions(
            timing=timing.timing(),
            all_tests=all_tests,
            fresh=self.fresh,
            reuse=tuple(self.reuse or ()),
            accept_compiler=self.accept_compiler,
            share=self.share,
            keep_outputs=self.keep_outputs,
            command=self.again,
        )
