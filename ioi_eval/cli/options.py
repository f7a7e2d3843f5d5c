"""Options that several commands have, and the environment variables for the cache and the token.

An option group becomes a single value. Options without a group are single parameters.
"""

from __future__ import annotations

import os
import re
import shlex
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer

from ioi_eval.cli import console
from ioi_eval.cli.groups import (
    DeclaredOption,
    OptionGroup,
    find_declared_options,
    make_option,
    read_field_values,
)
from ioi_eval.model.errors import InputError
from ioi_eval.model.fields import find_similar_names, suggest_similar
from ioi_eval.model.options import CliOption
from ioi_eval.model.secret import Secret
from ioi_eval.model.values import Value
from ioi_eval.runs import (
    BenchmarkOptions,
    CodeRepairs,
    DumpOptions,
    EngineChoice,
    RunOptions,
    Timing,
)
from ioi_eval.store import Store
from ioi_eval.store.contents import find_default_root

# --- single options ----------------------------------------------------------------------------------

SOURCE_HELP = (
    "A folder or zip of packages, a benchmark's name or file of rows, "
    "or your own benchmark: an entry (.toml) or a class (.py)."
)
Source = Annotated[str, typer.Argument(metavar="SOURCE", help=SOURCE_HELP)]
AllTests = Annotated[bool, make_option(RunOptions, "all_tests")]


def problems_option(
    help_text: str = SOURCE_HELP, panel: str | None = "Problems", **other_settings: Any
) -> Any:
    """Return the option for a source of problems."""
    names = ("--problems", "--benchmark-file")
    return typer.Option(*names, metavar="SOURCE", help=help_text, rich_help_panel=panel, **other_settings)


Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON and nothing else.")]
AllowSuspicious = Annotated[
    bool,
    typer.Option(
        "--allow-suspicious",
        help="Exit with code 0 even if the results are implausible.",
        rich_help_panel="Output",
        hidden=True,
    ),
]


# --- problems ----------------------------------------------------------------------------------------

ProblemOptions = Annotated[BenchmarkOptions, OptionGroup("Problems", without=("first",))]
# Fields that select several problems. Commands for a single problem do not have these fields.
_MANY = ("first", "difficulty", "tags", "date_from", "date_to", "sample", "seed")
_OF_ONE = {
    "problems": {"help": "The program's problem. Not needed if the source has one problem."},
    "years": {"help": "The problem's year, if problems of several years have this ID."},
}
OneProblem = Annotated[BenchmarkOptions, OptionGroup("Problems", without=_MANY, changes=_OF_ONE)]


# --- rows, judging -----------------------------------------------------------------------------------

_COLUMN, _REPAIR = "_column", "add_"
COLUMN_NAMES = tuple(  # of --columns
    field.name.removesuffix(_COLUMN)
    for field in msgspec.structs.fields(DumpOptions)
    if field.name.endswith(_COLUMN)
)
REPAIR_NAMES = tuple(field.name.removeprefix(_REPAIR) for field in msgspec.structs.fields(CodeRepairs))
_READ = tuple(each for each in find_declared_options(DumpOptions) if not each.field.endswith(_COLUMN))
_COLUMNS = DeclaredOption(
    "columns",
    CliOption(
        metavar="K=NAME",
        help="Column or path of each field: problem=meta.id,code=out.",
    ),
    list[str],
    None,
)
_REPAIR_OPTION = DeclaredOption(
    "repair",
    CliOption(
        metavar="WHAT",
        help="Add missing code to programs, as a list with commas: includes (bits/stdc++.h), header (the"
        " problem's header), namespace (using namespace std;), imports (the usual imports in Python).",
    ),
    str,
    None,
)
console.FLAGS.update({f"{what}{_COLUMN}": f"--columns {what}" for what in COLUMN_NAMES})
console.FLAGS.update({f"{_REPAIR}{name}": f"--repair {name}" for name in REPAIR_NAMES})
_EXPECTED = "expected"  # name of the column that only `validate` reads


class RowOptions:
    """The options for reading rows. `--columns` and `--repair` each set several fields."""

    def __init__(
        self, columns: list[str] | None = None, repair: str | None = None, **option_values: Any
    ) -> None:
        columns_by_content = read_column_names(columns or ())
        self.expected_column = columns_by_content.pop(_EXPECTED, None)
        fields = read_field_values(_READ, option_values) | {
            f"{content}{_COLUMN}": column for content, column in columns_by_content.items()
        }
        if repair is not None:
            fields["repairs"] = _read_repairs(repair)
        self.options = DumpOptions(**fields)


def read_column_names(arguments: Iterable[str]) -> dict[str, str]:
    """Return the columns that `--columns` names, by what they contain, such as `code` or `problem`.

    Raises InputError for invalid arguments.
    """
    contents = (*COLUMN_NAMES, _EXPECTED)
    pair_separator = re.compile(r",(?=[^,=]*=)")  # names of columns may contain commas
    columns = dict[str, str]()
    for pair in (pair for argument in arguments for pair in pair_separator.split(argument)):
        content, equals, column = pair.partition("=")
        if not equals or content not in contents:
            suggestion = "".join(
                f". Did you mean {similar_name}={column or 'COLUMN'}?"
                for similar_name in find_similar_names(content, contents)[:1]
            )
            names = f"{', '.join(contents)} (code: programs or replies)"
            remedy = f"Write WHAT=COLUMN, WHAT one of {names}{suggestion}"
            raise InputError(f"{pair!r} does not name a column", field="--columns", remedy=remedy)
        if content in columns:
            raise InputError(
                f"two columns are named for {content}",
                field="--columns",
                remedy="Name only one column for it",
            )
        if not column and content != "id":
            raise InputError(
                f"{pair!r} does not name a column", field="--columns", remedy=f"Write {content}=COLUMN"
            )
        columns[content] = column
    return columns


def _read_repairs(text: str) -> CodeRepairs:
    repair_names = [name.strip() for name in text.split(",")]
    unknown_names = [name for name in repair_names if name not in REPAIR_NAMES]
    if unknown_names:
        suggestion = suggest_similar(unknown_names[0], REPAIR_NAMES)
        remedy = f"{suggestion}Write one or more of {', '.join(REPAIR_NAMES)}, separated by commas"
        raise InputError(f"unknown repair {unknown_names[0]!r}", field="--repair", remedy=remedy)
    return CodeRepairs(**{f"{_REPAIR}{name}": True for name in repair_names})


ScoredRows = Annotated[RowOptions, OptionGroup("Input", fields_of=(_COLUMNS, *_READ, _REPAIR_OPTION))]
_SOLUTION_ROWS = tuple(each for each in _READ if each.field != "extract")
_AND_EXPECTED = _COLUMNS.with_changes(
    help=f"{_COLUMNS.cli_option.help} The field `expected` holds the"
    " scores or verdicts of a file of solutions."
)
SolutionRows = Annotated[RowOptions, OptionGroup("Input", fields_of=(_AND_EXPECTED, *_SOLUTION_ROWS))]
TimingOptions = Annotated[Timing, OptionGroup("Judging")]


# --- engines -----------------------------------------------------------------------------------------


Unconfined = Annotated[bool, make_option(EngineChoice, "allow_unconfined")]
EngineText = Annotated[str | None, make_option(EngineChoice, "text")]
PythonText = Annotated[str | None, make_option(EngineChoice, "python")]
Slots = Annotated[int | None, make_option(EngineChoice, "slots", name="slots", unset="one per core")]
TokenFile = Annotated[Path | None, make_option(EngineChoice, "token")]


class EngineOptions:
    """The options of an engine. Missing options are read from a file, or from the environment."""

    def __init__(self, **option_values: Any) -> None:
        self._option_values = option_values

    def read_engine_choice(self, file_engine: str = "") -> EngineChoice:
        """Return the engine. Raises InputError for invalid options.

        `file_engine` is the engine of a configuration file, which wins over the environment.
        """
        given_values = read_field_values(find_declared_options(EngineChoice), self._option_values)
        if "token" in given_values:
            given_values["token"] = read_token(given_values["token"])
        engine = given_values.pop("text", None)
        try:
            return EngineChoice.from_variables(
                engine if engine is not None else file_engine or None, os.environ, **given_values
            )
        except InputError as error:
            if error.field == "engine":
                raise error.with_details(
                    field="engine" if file_engine and engine is None else "--engine"
                ) from None
            option = console.FLAGS.get(error.field)
            raise (console.add_option_name(error, option) if option else error) from None


Engine = Annotated[EngineOptions, OptionGroup("Engine", fields_of=EngineChoice)]


# --- output ------------------------------------------------------------------------------------------


class OutputOptions(Value):
    """The folder of a run, and options for the command's output."""

    out: Annotated[
        Path | None,
        CliOption(
            metavar="DIR",
            help="Folder for the run's results: a new or empty folder, or an earlier run to continue.",
            unset="runs/<its name>",
        ),
    ] = None
    quiet: Annotated[
        bool,
        CliOption(short="q", read=console.set_quiet, help="Do not print progress or the table of results."),
    ] = False
    as_json: Annotated[
        bool, CliOption(name="json", help="Print only a JSON summary of the run, at its end.")
    ] = False

    @property
    def is_silent(self) -> bool:
        return self.quiet or self.as_json

    @property
    def resume_command(self) -> str:
        """Return the command that continues the run, with the values of `ioi-eval.toml`.

        It lacks the options that would start the run again.
        """
        arguments = (argument for argument in sys.argv[1:] if argument not in ("--fresh", "--rejudge"))
        return shlex.join(["ioi-eval", *arguments, *console.FILE_ARGUMENTS])

    def complete_run_options(
        self, run_options: RunOptions, timing: Timing, *, all_tests: bool = False
    ) -> RunOptions:
        """Return the run options with the values that other options of the command determine."""
        option_changes = {"timing": timing, "all_tests": all_tests, "command": self.resume_command}
        return msgspec.structs.replace(run_options, **option_changes)


Output = Annotated[OutputOptions, OptionGroup("Output")]
Quiet = Annotated[OutputOptions, OptionGroup("", only=("quiet",))]
RunningOptions = Annotated[RunOptions, OptionGroup("Output", without=("all_tests",))]


# --- the environment ---------------------------------------------------------------------------------


TOKEN_VARIABLE = "IOI_EVAL_TOKEN"
CACHE_VARIABLE = "IOI_EVAL_CACHE"
CACHE_LIMIT = 8 << 30  # maximum size of the cache in bytes; a single precompiled header has about 100 MB


def open_store() -> Store:
    folder = find_default_root(os.environ.get(CACHE_VARIABLE))
    remedy = f"Name another cache folder in {CACHE_VARIABLE}"
    try:
        return Store(folder, CACHE_LIMIT)
    except InputError as error:
        raise error.with_details(remedy=remedy) from error
    except OSError as error:
        problem = f"the cache cannot be written: {error.strerror or error}"
        raise InputError(problem, where=str(folder), remedy=remedy) from error


def read_token(path: Path | str | None) -> Secret:
    """Return the token in a file, or in the environment variable, or ""."""
    if path is None:
        return Secret(os.environ.get(TOKEN_VARIABLE, "").strip())
    token = Secret(Path(path).read_text(errors="replace").strip())
    if not token:
        remedy = "Write the token into the file"
        raise InputError("the token file is empty", where=str(path), field="--token-file", remedy=remedy)
    return token


def read_server_token(path: Path | str | None) -> Secret:
    """Return the token that requests to this machine's server must send."""
    token = read_token(path)
    if len(token.split()) > 1:
        where = TOKEN_VARIABLE if path is None else str(path)
        remedy = "Remove addresses, which are for clients"
        raise InputError("a server's own token must be a single word", where=where, remedy=remedy)
    return token
