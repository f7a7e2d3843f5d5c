"""The command line: the only layer that prints and that reads environment variables.

The module of a command is loaded when the command is called; `--help` loads none of them.
"""

from __future__ import annotations

import errno
import functools
import inspect
import io
import os
import re
import sys
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from itertools import pairwise, takewhile
from typing import Annotated, Any, NoReturn, cast

import typer
from typer.core import TyperCommand, TyperGroup
from typer.models import OptionInfo

from ioi_eval.cli import console
from ioi_eval.cli.completion import add_completions
from ioi_eval.cli.settings import read_option_values
from ioi_eval.model.errors import BadRows, InputError, IoiEvalError
from ioi_eval.model.text import format_install_command
from ioi_eval.registries import Registry, list_entry_names, load_entry, missing_plugin_error

# First line of each command's help page, by command.
COMMANDS = {
    "score": "Score a dump of generations.",
    "judge": "Judge one program and show a table of its tests.",
    "run": "Ask a model for programs and score them as they arrive.",
    "validate": "Check a package: run its reference solutions and list unexpected verdicts.",
    "audit": "Check how reliable the tests of SOURCE are, by solutions known to be right or wrong.",
    "contest": "Hold a contest over MCP: agents read statements, try programs, submit them.",
    "report": "Rebuild the reports of runs, finished or not, and compare runs.",
    "view": "Show a run in a browser while it is in progress.",
    "export": "Write problem packages as tasks of Harbor, whose tests call `ioi-eval judge`.",
    "problems": "List the problems of SOURCE with their tests, subtasks and limits, and check them.",
    "worker": "Serve jobs over Piston's HTTP API: a cluster's worker without Docker or privileges.",
    "package": "Write the Piston package that runs jobs: scripts and matching limits.",
    "doctor": "Check this machine or servers: list what works, what fails and how to fix it.",
    "new": "Write a starting point: a package, the examples, or a configuration.",
}
# Short description of each command, for the overview of commands.
_OVERVIEW = {
    "Start": {
        "doctor": "Check this machine or servers",
        "new": "Write examples, a starter package or a configuration",
    },
    "Judge": {
        "score": "Score a dump of generations",
        "judge": "Judge one program and show its tests",
        "run": "Ask a model for programs and score them",
        "contest": "Hold a contest for agents over MCP",
    },
    "Look": {
        "report": "Rebuild a run's report, or compare runs",
        "view": "Show a run in a browser while it is in progress",
    },
    "Problems": {
        "problems": "List the problems of a source and check them",
        "validate": "Check a package by its reference solutions",
        "audit": "Check how reliable the tests of problems are",
        "export": "Write packages as tasks of Harbor",
    },
    "Machines": {
        "worker": "Serve jobs over Piston's HTTP API",
        "package": "Write the Piston package that runs jobs",
    },
}
# Plugin of each command that a plugin provides.
_PLUGINS = {"audit": "audit", "contest": "contest", "export": "contest"}
# Module of each command whose module has another name than the command.
_MODULES = {"view": "worker", "package": "worker"}
# Headings of groups of options, in the order on a help page.
_GROUPS = (
    "Arguments",
    "Problems",
    "Input",
    "Author",
    "Rules",
    "Judging",
    "Engine",
    "Limits",
    "Access",
    "Output",
    "Options",
)
# Options of commands with many options that the short `--help` shows.
_USUAL = {
    "score": "problems problem year difficulty limit columns engine workers time-factor out dry-run",
    "judge": "problems problem year language all-tests time-factor engine json",
    "run": "config problems problem limit sample model base-url samples command workers out dry-run",
    "validate": "problems problem year calibrate engine workers time-factor out json",
    "audit": "solutions sample mutants out engine workers",
    "contest": "participants problem contest-time feedback port engine workers out",
    "problems": "problem year difficulty tag sample generate json",
    "report": "json open mode k pages medals out",
    "worker": "host port slots packages token-file tls-cert tls-key",
    "doctor": "engine token-file problems problem json",
}
# Options that have an effect only with one of other options, by the options' names without dashes.
_NEEDED = {
    "seed": ("sample", "mutants", "config"),
    "public": ("push-to-hub",),
    "reach": ("calibrate",),
    "expected-column": ("solutions",),
    "feedback": ("turns", "config"),
    "feedback-prompt": ("turns", "config"),
}
# Options that have no effect with another option, by the name of that option.
_IGNORED = {
    "calibrate": (
        "only columns language skip-bad-rows always-extract split-lists time-factor borderline out fresh"
        " reuse keep-outputs accept-compiler share problems references compare-checkers expected-scale"
    ),
    "command": "temperature max-tokens",
}
_LONGEST = max(map(len, COMMANDS))
_BOUNDS = re.compile(r"(; )?(\[)?[-\d.e+]*(<=?)?x[<>]=?[-\d.e+]+(?(2)\])")
_PLAIN: dict[str, Any] = {"rich_markup_mode": None, "pretty_exceptions_enable": False}


class Commands(TyperGroup):
    """The group of all commands, which loads a command when it is called."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.commands = {name: TyperCommand(name, short_help=summary) for name, summary in COMMANDS.items()}

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return a command of this package, or of another package that registers it."""
        command = super().get_command(ctx, cmd_name)
        if command is None and cmd_name in _list_plugin_commands():
            return TyperCommand(cmd_name)
        return command

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        with _log_errors_as_events(enabled="worker" in args and _has_json_log(args)):
            return super().parse_args(ctx, args)

    def format_options(self, ctx: Any, formatter: Any) -> None:
        formatter.write_paragraph()
        for title, commands in _OVERVIEW.items():
            formatter.write(f"{title}\n")
            formatter.indent()
            formatter.write_dl(
                [(name.ljust(_LONGEST), description) for name, description in commands.items()]
            )
            formatter.dedent()
        if plugin_commands := _list_plugin_commands():
            formatter.write("Commands of other installed packages\n")
            formatter.indent()
            formatter.write_dl(
                [
                    (name.ljust(_LONGEST), _read_docstring_summary(load_command_function(name)))
                    for name in plugin_commands
                ]
            )
            formatter.dedent()
        formatter.write_paragraph()
        formatter.write_text("Options of a command: ioi-eval COMMAND --help")
        formatter.write_text("Completion in your shell: ioi-eval --install-completion")

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        name, command, other_args = super().resolve_command(ctx, args)
        silence_hub_client()
        if name == "score" and not ctx.resilient_parsing:
            _check_dumps_exist(other_args)
        return name, None if command is None or name is None else load_command(name), other_args


class Command(TyperCommand):
    """A command whose help page has its options in groups.

    `--help` shows the options that most people use. `--help-all` shows all options, and the keys that are not
    options.
    """

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        ctx.meta[_ALL] = _ALL in args or self.name not in _USUAL
        ctx.meta[_LOG_FORMAT] = _has_json_log(args) and any(
            _LOG_FORMAT in parameter.opts for parameter in self.params
        )
        with _log_errors_as_events(enabled=ctx.meta[_LOG_FORMAT]):
            if not {"-h", "--help", _ALL}.intersection(args) and not ctx.resilient_parsing:
                args = self._expand_set_arguments(args)
                ctx.default_map = read_option_values(_map_keys_to_option_names(self), _list_option_keys)
            remaining_args = super().parse_args(ctx, args)
            _refuse_options_without_effect(ctx, _map_keys_to_option_names(self))
        console.FILE_ARGUMENTS[:] = [
            argument
            for key, name in _map_keys_to_option_names(self).items()
            if name in (ctx.default_map or {}) and ctx.get_parameter_source(name).name == "DEFAULT_MAP"
            for argument in _format_key_arguments(key, ctx.default_map[name])
        ]
        return remaining_args

    def _expand_set_arguments(self, args: Sequence[str]) -> list[str]:
        """Return the arguments with the option of each key instead of `--set KEY=VALUE`.

        Raises InputError for an unknown key, and for an option that the command has only as a key.
        """
        options = [parameter for parameter in self.params if parameter.param_type_name == "option"]
        options.sort(key=lambda option: not getattr(option, "hidden", False))  # for suggestions
        option_by_key = {
            _find_long_option_name(option)[2:]: option for option in options if _SET not in option.opts
        }
        key_only_names = {
            flag: key
            for key, option in option_by_key.items()
            if getattr(option, "hidden", False)
            for flag in (*option.opts, *option.secondary_opts)
        }
        expanded_args: list[str] = []
        arguments = iter(args)
        for argument in arguments:
            if argument == "--":
                return [*expanded_args, argument, *arguments]
            flag, equals, value = argument.partition("=")
            if flag == _SET:
                expanded_args += _make_option_arguments(
                    option_by_key, value if equals else next(arguments, "")
                )
            elif flag in key_only_names:
                key = key_only_names[flag]
                remedy = f"Write {_SET} {key}=value, or set {key} in {console.SETTINGS_FILE}"
                raise InputError(
                    f"`ioi-eval {self.name}` has no option with this name", field=flag, remedy=remedy
                )
            else:
                expanded_args.append(argument)
        return expanded_args

    def invoke(self, ctx: Any) -> Any:
        with _log_errors_as_events(enabled=ctx.meta[_LOG_FORMAT]):
            return super().invoke(ctx)

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        arguments = (argument for argument in self.get_params(ctx) if argument.param_type_name == "argument")
        return [
            "[OPTIONS]",
            *(
                _format_argument_name(argument)
                if argument.required
                else f"[{_format_argument_name(argument)}]"
                for argument in arguments
            ),
        ]

    def format_help_text(self, ctx: Any, formatter: Any) -> None:
        full_text, is_brief = self.help or "", not ctx.meta[_ALL]
        description, _, examples = full_text.partition("\b\nExamples:\n")
        help_description = description.partition("\n\n")[0] if is_brief else description.rstrip()
        example_lines = map(_wrap_example, examples.splitlines()[: _MAX_EXAMPLES if is_brief else None])
        self.help = "\n".join((f"{help_description}\n\n\b\nExamples:", *example_lines))
        super().format_help_text(ctx, formatter)
        self.help = full_text

    def format_options(self, ctx: Any, formatter: Any) -> None:
        usual_option_names = None if ctx.meta[_ALL] else f"{_USUAL[str(self.name)]} help".split()
        sections: dict[str, list[tuple[str, str]]] = {}
        key_rows: list[tuple[str, str]] = []
        for parameter in self.get_params(ctx):
            if getattr(parameter, "hidden", False):
                key_rows.append(_format_key_help(parameter, ctx))
                continue
            is_argument = parameter.param_type_name == "argument"
            help_record = parameter.get_help_record(ctx)
            if help_record is None or not (
                is_argument
                or usual_option_names is None
                or _find_long_option_name(parameter)[2:] in usual_option_names
            ):
                continue
            title = "Arguments" if is_argument else "Options"
            if usual_option_names is None:
                title = getattr(parameter, "rich_help_panel", None) or title
            name = (
                _format_argument_name(parameter)
                if is_argument
                else _format_option_names(parameter, help_record[0])
            )
            sections.setdefault(title, []).append((name, _BOUNDS.sub("", help_record[1]).rstrip()))
        for title in sorted(sections, key=_GROUPS.index):
            with formatter.section(title):
                formatter.write_dl(sections[title])
        if usual_option_names is not None:
            with formatter.section("More"):
                keys_text = (
                    f", and {len(key_rows)} key{'s'[: len(key_rows) > 1]} for {_SET}" if key_rows else ""
                )
                option_count = sum(
                    not getattr(parameter, "hidden", False) for parameter in self.get_params(ctx)
                )
                formatter.write_text(f"ioi-eval {self.name} {_ALL}: all {option_count} options{keys_text}")
        elif key_rows:
            with formatter.section(f"Keys, for {_SET} KEY=VALUE and {console.SETTINGS_FILE}"):
                formatter.write_dl(key_rows)
                formatter.write_text(f"{console.SETTINGS_FILE} sets them for each call: docs/environment.md.")


def _refuse_options_without_effect(ctx: Any, names_by_key: Mapping[str, str]) -> None:
    """Raise InputError for an option of the command line that has no effect with the other options.

    Values of `ioi-eval.toml` are not checked, because the file is for all commands.
    """
    sources = {key: ctx.get_parameter_source(name) for key, name in names_by_key.items()}
    given_keys = {key for key, source in sources.items() if source is not None and source.name != "DEFAULT"}
    for key in (key for key in given_keys if sources[key].name == "COMMANDLINE"):
        label = f"{_SET} {key}" if key in console.KEYS_SET else f"--{key}"
        needed_keys = [needed for needed in _NEEDED.get(key, ()) if needed in sources]
        if needed_keys and given_keys.isdisjoint(needed_keys):
            other = f"--{needed_keys[0]}"
            remedy = f"Add {other}, or remove this option"
            raise InputError(f"it has no effect without {other}", field=label, remedy=remedy)
        for other in (other for other, ignored in _IGNORED.items() if key in ignored.split()):
            if other in given_keys:
                raise InputError(f"it has no effect with --{other}", field=label, remedy="Remove one of them")


def list_commands() -> list[str]:
    """Return the names of this package's commands, without those of removed plugins."""
    registered_names = list_entry_names(Registry.COMMANDS)
    return [name for name in COMMANDS if name not in _PLUGINS or name in registered_names]


def _map_keys_to_option_names(command: TyperCommand) -> dict[str, str]:
    """Return the names of a command's parameters by their keys in `ioi-eval.toml`."""
    options = (parameter for parameter in command.params if parameter.param_type_name == "option")
    return {_find_long_option_name(option).removeprefix("--"): str(option.name) for option in options}


def _list_option_keys() -> Iterator[str]:
    """Yield the keys of all commands' options. Loads all commands."""
    for name in (*list_commands(), *_list_plugin_commands()):
        yield from _map_keys_to_option_names(load_command(name))


def _wrap_example(example: str) -> str:
    """Return an example in lines of up to 80 columns. Text after two spaces is a remark about it."""
    if len(example) <= _EXAMPLE_WIDTH:
        return example
    command_line, _, remark = example.strip().partition("  ")
    wrapped_lines = textwrap.wrap(
        command_line,
        _EXAMPLE_WIDTH - 2,
        initial_indent="  ",
        subsequent_indent="    ",
        break_on_hyphens=False,
    )
    return " \\\n".join(wrapped_lines) + (f"\n      {remark.strip()}" if remark else "")


_EXAMPLE_WIDTH = 78  # maximum columns of an example, without the two columns by which the page is indented
_ALL = "--help-all"
_MAX_EXAMPLES = 4  # maximum number of examples on a short help page
_LOG_FORMAT = "--log-format"
_SET = "--set"
_SetOption = Annotated[
    list[str] | None,
    typer.Option(
        _SET,
        metavar="KEY=VALUE",
        help="Set a key of the list below, or an option by its name, for this command. May be repeated.",
    ),
]
# Types of errors that the user may be able to fix. `_format_user_error` decides which errors the user can
# fix.
_USER_ERRORS = (IoiEvalError, ModuleNotFoundError, OSError, RuntimeError)
# Base class of typer's errors about the command line. The name of the class depends on typer's version.
_UsageError = cast(type[typer.BadParameter], typer.BadParameter.__base__)


def _has_json_log(args: Sequence[str]) -> bool:
    json_log_argument = f"{_LOG_FORMAT[2:]}=json"
    return (_SET, json_log_argument) in pairwise(args) or f"{_SET}={json_log_argument}" in args


@contextmanager
def _log_errors_as_events(*, enabled: bool) -> Iterator[None]:
    """If enabled, print an error that the user can fix as an event of the worker's JSON log."""
    try:
        yield
    except (_UsageError, *_USER_ERRORS) as error:
        message = _format_usage_error(error) if isinstance(error, _UsageError) else _format_user_error(error)
        if not enabled or message is None:
            raise
        from ioi_eval.server import Event  # imported here, because help pages do not need the server

        console.print_message(Event(name="error", message=message).as_json())
        raise typer.Exit(console.BAD_INPUT) from None


# Suffixes of files with rows. A name with such a suffix is never the name of a dataset on the hub.
_DUMP_SUFFIXES = (".jsonl", ".json", ".csv", ".parquet", ".gz", ".zst")


def _check_dumps_exist(args: Sequence[str]) -> None:
    """Raise InputError for a missing dump that is named before all options.

    The command itself does the same check, but it needs a second to load.
    """
    for dump in takewhile(lambda word: not word.startswith("-"), args):
        is_path = "/" not in dump or dump.lower().endswith(_DUMP_SUFFIXES)
        if is_path and not os.path.lexists(dump):
            # imported here, because help pages do not need it
            from ioi_eval.model.paths import missing_path_error

            raise missing_path_error(dump, "Name the dump's file or folder")


def _make_option_arguments(keys: Mapping[str, Any], key_value_pair: str) -> list[str]:
    """Return the arguments that `--set KEY=VALUE` stands for. Raises InputError for an invalid pair."""
    from ioi_eval.model.fields import suggest_names  # imported here, because help pages do not need it

    key, equals, value = key_value_pair.partition("=")
    option = keys.get(key)
    if option is None:
        raise InputError(
            f"this command has no option with the key {key!r}", field=_SET, remedy=suggest_names(key, [*keys])
        )
    console.KEYS_SET.add(key)
    if not equals or (option.is_flag and value not in ("true", "false")):
        remedy = "true or false" if option.is_flag else "value"
        raise InputError(f"the key {key} needs a value", field=_SET, remedy=f"Write {_SET} {key}={remedy}")
    if option.is_flag:
        return list((option.opts if value == "true" else option.secondary_opts)[:1])
    return [f"--{key}={value}"]


def _format_key_arguments(key: str, value: object) -> Iterator[str]:
    """Yield `--set KEY=VALUE` for a key of the settings file; several times if the key has a list."""
    for item in value if isinstance(value, list) else [value]:
        yield from (_SET, f"{key}={str(item).lower() if isinstance(item, bool) else item}")


def _format_key_help(option: Any, ctx: Any) -> tuple[str, str]:
    """Return a line of help about an option that is only a key of `ioi-eval.toml`."""
    option.hidden = False
    names_text, help_text = option.get_help_record(ctx)
    option.hidden = True
    key = _find_long_option_name(option)[2:]
    if option.is_flag:
        help_text = help_text.replace(f"[default: {key}]", "[default: true]")
        return f"{key} = true|false", help_text
    value_name = names_text.removeprefix(f"--{key} ").strip("<>")
    return f"{key} = {value_name}", _BOUNDS.sub("", help_text).rstrip()


def _format_argument_name(argument: Any) -> str:
    return f"{argument.metavar or argument.name.upper()}{'...' if argument.nargs == -1 else ''}"


def _find_long_option_name(option: Any) -> str:
    if "--help" in option.opts:  # typer's names of the help option are a set without order
        return "--help"
    return next((str(name) for name in option.opts if name.startswith("--")), str(option.opts[0]))


def _format_option_names(option: Any, names_in_help: str) -> str:
    """Return the names to show in help: the first long name, and its first letter if that is a name."""
    long_name = _find_long_option_name(option)
    hidden_names = {*option.opts} - {long_name, f"-{long_name[2]}"}
    for name in hidden_names:
        names_in_help = re.sub(rf"(?:, )?(?<![\w-]){name}(?![\w-])", "", names_in_help)
    return names_in_help.removeprefix(", ")


def load_command_function(name: str) -> Callable[..., None]:
    """Load and return the function of a command; its parameters are the command's options."""
    function: Callable[..., None]
    if name in COMMANDS and name not in _PLUGINS:
        function = getattr(import_module(f"ioi_eval.cli.{_MODULES.get(name, name)}"), name)
    else:
        function = load_entry(Registry.COMMANDS, name)
        if function is None:
            raise missing_plugin_error(f"{name} needs", _PLUGINS[name])
    return function


def _list_plugin_commands() -> list[str]:
    """Return the names of commands of other packages. Names with a dot are parts of commands."""
    entry_names = list_entry_names(Registry.COMMANDS)
    return [name for name in entry_names if name not in COMMANDS and "." not in name]


def _read_docstring_summary(function: Callable[..., None]) -> str:
    """Return the first line of a command's docstring."""
    return (function.__doc__ or "").strip().partition("\n")[0].removesuffix(".")


def _add_key_value_option(function: Callable[..., None]) -> Callable[..., None]:
    """Return the function of a command, with the option `--set` if the command has keys.

    `Command.parse_args` replaces `--set` by the options of the keys, so its argument is always empty.
    """
    signature = inspect.signature(function, eval_str=True)
    parameters = signature.parameters.values()
    annotations = (
        annotation
        for parameter in parameters
        for annotation in getattr(parameter.annotation, "__metadata__", ())
    )
    if not any(isinstance(annotation, OptionInfo) and annotation.hidden for annotation in annotations):
        return function

    @functools.wraps(function)
    def run_without_set(*, set_keys: object, **arguments: Any) -> None:
        function(**arguments)

    option = inspect.Parameter(
        "set_keys", inspect.Parameter.KEYWORD_ONLY, default=None, annotation=_SetOption
    )
    run_without_set.__signature__ = signature.replace(parameters=[*parameters, option])  # type: ignore[attr-defined]
    return run_without_set


def load_command(name: str) -> TyperCommand:
    """Load a command."""
    function = _add_key_value_option(load_command_function(name))
    add_completions(function)
    context_settings = {"help_option_names": ["-h", "--help", _ALL]}
    command_app = typer.Typer(add_completion=False, context_settings=context_settings, **_PLAIN)
    command_app.command(name, cls=Command)(function)
    command = typer.main.get_command(command_app)
    assert isinstance(command, TyperCommand)
    return command


app = typer.Typer(
    cls=Commands,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": console.WIDTH},
    **_PLAIN,
)


def _print_version(is_given: bool) -> None:
    if is_given:
        from importlib.metadata import version

        console.print_line(f"ioi-eval {version('ioi-eval')}")
        raise typer.Exit


@app.callback()
def _declare_global_options(
    version: Annotated[
        bool,
        typer.Option(
            "--version",
            callback=_print_version,
            is_eager=True,
            help="Print the version of ioi-eval and exit.",
        ),
    ] = False,
) -> None:
    """Score programs that models wrote for olympiad problems. No Docker, no root.

    \b
      ioi-eval new mine --type examples
      ioi-eval score mine/generations.jsonl --problems mine/problems
      ioi-eval judge sol.cpp --problem lanterns --problems mine/problems
    """


def silence_hub_client() -> None:
    """Let the hub's client print only errors, because other messages disturb the progress bar."""
    # The variable is read when the hub's client is imported.
    os.environ.setdefault("HF_HUB_VERBOSITY", "error")


# Error numbers for paths in a folder that the user may not enter, and for paths that are too long.
_UNREACHABLE = frozenset({errno.EACCES, errno.EPERM, errno.ENAMETOOLONG})
_FULL = frozenset({errno.ENOSPC, errno.EDQUOT})
_NO_THREAD = "can't start new thread"  # Python's message
_NO_TEMPORARY = "No usable temporary directory"  # start of a message of the module `tempfile`
# The extra to install if a module is missing, by module; empty for modules that ioi_eval always needs.
_EXTRAS = {
    **dict.fromkeys(("httpx", "jinja2", "latex2mathml", "markdown_it", "pygments", "tqdm", "yaml"), ""),
    **dict.fromkeys(("datasets", "huggingface_hub", "pandas", "pyarrow"), "datasets"),
}


def main() -> NoReturn:
    """Run the command line and exit.

    Errors that the user can fix are printed as a single line, bugs with a traceback.
    """
    _replace_closed_standard_streams()
    console.set_log_level("info")
    console.set_log_output()
    try:
        sys.exit(app(sys.argv[1:] or ["--help"], prog_name="ioi-eval", standalone_mode=False) or 0)
    except _UsageError as error:
        console.print_error(_format_usage_error(error))
    except BadRows as error:
        console.print_row_errors(error)
    except (*_USER_ERRORS, ExceptionGroup) as error:
        if (message := _format_user_error(_unwrap_single_error(error))) is None:
            raise
        console.print_error(message)
    sys.exit(console.BAD_INPUT)


def _format_usage_error(error: typer.BadParameter) -> str:
    """Return the message about an invalid command line, with the help page to look at."""
    if error.ctx is not None and getattr(error, "possibilities", ()) == []:
        # No option has a similar name. Suggest the option that sets a parameter of this name: for `--type`,
        # the option `--kind`.
        error.possibilities = [  # type: ignore[attr-defined]
            _find_long_option_name(parameter)
            for parameter in error.ctx.command.params
            if parameter.name == getattr(error, "option_name", "").lstrip("-").replace("-", "_")
        ]
    if error.ctx is not None and (similar_options := getattr(error, "possibilities", None)):
        keys = {
            option: f"{_SET} {option[2:]}=..."
            for parameter in error.ctx.command.params
            if getattr(parameter, "hidden", False)
            for option in parameter.opts
        }
        error.possibilities = [keys.get(option, option) for option in similar_options]  # type: ignore[attr-defined]
    message = error.format_message().removeprefix("Invalid value for ")
    if (value_error := _format_value_error(error.__cause__)) is not None:
        message = message.partition(": ")[0] + f": {value_error}"
    message = message.replace("Value error, ", "").rstrip(".")
    context = error.ctx
    parameter = getattr(error, "param", None)
    message += _suggest_choice(message)
    if getattr(parameter, "hidden", False):
        key = _find_long_option_name(parameter)[2:]
        name = f"{_SET} {key}" if key in console.KEYS_SET else f"{console.SETTINGS_FILE}, field '{key}'"
    else:
        name = r"\1"
    message = re.sub(r"^'(--[\w-]+)'", name, message)
    full_stop = "" if message.endswith("?") else "."
    help_hint = f"{full_stop} See {context.command_path} --help" if context is not None else ""
    return f"{message[:1].lower()}{message[1:]}{help_hint}"


def _suggest_choice(message: str) -> str:
    """Return a sentence that suggests a choice, if the message is about a value that is not a choice."""
    from ioi_eval.model.fields import suggest_similar  # imported here, because help pages do not need it

    value = re.search(r"'([^']*)' is not one of ('.*')$", message)
    suggestion = suggest_similar(value[1], re.findall("'([^']*)'", value[2])) if value is not None else ""
    return suggestion and f". {suggestion.rstrip()}"


# Messages about invalid values, by the type of the validation error.
_VALUE_ERRORS = {
    "int_parsing": "is not a whole number",
    "int_from_float": "is not a whole number",
    "float_parsing": "is not a number",
    "bool_parsing": "is neither true nor false",
    "greater_than_equal": "is less than {ge}",
    "less_than_equal": "is more than {le}",
}


def _format_value_error(error: BaseException | None) -> str | None:
    """Return a message for an error of Typer's validation, or `None` if its own message is clear."""
    for error_detail in getattr(error, "errors", list)():
        if (message_template := _VALUE_ERRORS.get(error_detail["type"])) is not None:
            return f"{error_detail['input']!r} {message_template.format(**error_detail.get('ctx', {}))}"
    return None


def _unwrap_single_error(error: Exception) -> Exception:
    """Return the error in a group of a single error, or the error itself."""
    while isinstance(error, ExceptionGroup) and len(error.exceptions) == 1:
        [error] = error.exceptions
    return error


def _replace_closed_standard_streams() -> None:
    """Open the standard streams that are closed. Set the encoding of standard output to UTF-8.

    Otherwise, the next files that this process opens would get the file descriptors of closed streams.
    """
    while (descriptor := os.open(os.devnull, os.O_RDWR)) <= 2:
        os.set_inheritable(descriptor, True)
    os.close(descriptor)
    for descriptor, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(descriptor, "w" if descriptor else "r"))
    # Print UTF-8 in any locale, because names may need it and JSON is UTF-8.
    if isinstance(sys.stdout, io.TextIOWrapper) and sys.stdout.encoding.lower() != "utf-8":
        sys.stdout.reconfigure(encoding="utf-8", errors="replace")


def _format_user_error(error: Exception) -> str | None:
    """Return the message of an error that the user can fix, or `None` if the error is a bug.

    Errors of the system that the user can fix are unreachable paths, full disks and too few threads.
    """
    if isinstance(error, InputError):
        return console.format_input_error(error)
    if isinstance(error, IoiEvalError):
        return console.replace_arguments_by_options(str(error))
    if isinstance(error, ModuleNotFoundError) and error.name is not None:
        extra = _EXTRAS.get(error.name.partition(".")[0])
        return None if extra is None else f"{error.name} is not installed. {format_install_command(extra)}"
    if isinstance(error, RuntimeError) and str(error) == _NO_THREAD:
        return f"{error}: this user, or the container, may have too few processes. Allow more (ulimit -u)"
    if isinstance(error, FileNotFoundError) and str(error.strerror).startswith(_NO_TEMPORARY):
        return f"{error.strerror}. Make one of them writable, or name a folder in TMPDIR"
    if isinstance(error, OSError) and error.errno == errno.EFBIG:
        return "a file would be larger than this shell allows. Start from one where ulimit -f is unlimited"
    if isinstance(error, OSError) and error.errno in _UNREACHABLE and error.filename is not None:
        return f"{error.filename}: cannot be reached ({error.strerror}). Name another place"
    if isinstance(error, OSError) and error.errno in _FULL:
        path = error.filename2 or error.filename
        return f"{path or 'a file'}: cannot be written ({error.strerror}). Make room there and run it again"
    return None
