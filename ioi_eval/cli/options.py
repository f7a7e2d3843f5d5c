"""Options of commands: in groups that become one value, and alone where several commands have one."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer

from ioi_eval.benchmarks import BenchmarkOptions, DumpOptions
from ioi_eval.cli.console import hush
from ioi_eval.cli.groups import OptionGroup, option_of
from ioi_eval.model.options import Said
from ioi_eval.model.values import Value
from ioi_eval.rules.repairs import Repairs
from ioi_eval.runs.references import ReferenceOptions
from ioi_eval.runs.work import RunOptions, Timing

# --- alone -------------------------------------------------------------------------------------------

SOURCE_HELP = (
    "A benchmark's name, a folder or a zip of problem packages, a file of a benchmark's rows, "
    "or a file with a benchmark of your own: an entry (.toml) or a class (.py)."
)
Source = Annotated[str, typer.Argument(metavar="SOURCE", help=SOURCE_HELP)]
AllTests = Annotated[bool, option_of(RunOptions, "all_tests")]


def problems_option(help_text: str = SOURCE_HELP, panel: str | None = "Problems", **others: Any) -> Any:
    """Return the option that names a source of problems."""
    names = ("--problems", "--benchmark-file")
    return typer.Option(*names, metavar="SOURCE", help=help_text, rich_help_panel=panel, **others)


Json = Annotated[bool, typer.Option("--json", help="Print JSON, and nothing else.")]
AllowSuspicious = Annotated[
    bool,
    typer.Option(
        "--allow-suspicious",
        help="Exit with 0 also where the table can hardly be true.",
        rich_help_panel="Output",
    ),
]


# --- problems ----------------------------------------------------------------------------------------

ProblemOptions = Annotated[BenchmarkOptions, OptionGroup("Problems", without=("first",))]
# Of a command for one problem: without what selects many.
_MANY = ("first", "difficulty", "tags", "date_from", "date_to", "sample", "seed")
_OF_ONE = {
    "problems": {"help": "The program's problem. A source with one problem needs none."},
    "years": {"help": "The problem's year, where problems of several years have this ID."},
}
OneProblem = Annotated[BenchmarkOptions, OptionGroup("Problems", without=_MANY, but=_OF_ONE)]


ValidateReferences = Annotated[
    bool,
    typer.Option(
        "--validate-references",
        help="Judge the benchmark's own solutions, and say which pass.",
        rich_help_panel="Problems",
    ),
]
References = Annotated[dict[str, Any], OptionGroup("Problems", of=ReferenceOptions)]  # those that were given


# --- rows, judging -----------------------------------------------------------------------------------

RowOptions = Annotated[DumpOptions, OptionGroup("Input")]
RowColumns = Annotated[DumpOptions, OptionGroup("Input", without=("extract",))]
RepairOptions = Annotated[Repairs, OptionGroup("Input")]
TimingOptions = Annotated[Timing, OptionGroup("Judging")]


# --- output ------------------------------------------------------------------------------------------


class OutputOptions(Value):
    """The place of a run, and the output that it shows."""

    out: Annotated[
        Path | None,
        Said(metavar="DIR", help="The run's folder: new, empty or a run's.", unset="runs/<its name>"),
    ] = None
    quiet: Annotated[bool, Said(short="q", read=hush, help="No progress and no table.")] = False
    as_json: Annotated[
        bool, Said(name="json", help="Print a summary as JSON at the end, and nothing else.")
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

    def of(self, running: RunOptions, timing: Timing, *, all_tests: bool = False) -> RunOptions:
        """Return the options of a run, with what other options say."""
        changes = {"timing": timing, "all_tests": all_tests, "command": self.again}
        return msgspec.structs.replace(running, **changes)


Output = Annotated[OutputOptions, OptionGroup("Output")]
Quiet = Annotated[OutputOptions, OptionGroup("", only=("quiet",))]
RunningOptions = Annotated[RunOptions, OptionGroup("Output", without=("all_tests",))]
