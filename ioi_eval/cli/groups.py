"""Options in groups: a command has a parameter for each group, which is replaced by the group's options.

A group is `Annotated[Kind, OptionGroup(...)]`. Fields of `Kind` with a `CliOption` become options, and the
command gets a `Kind`.
"""

from __future__ import annotations

import functools
import inspect
import math
import types
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Annotated, Any, Literal, NamedTuple, Self, Union, get_args, get_origin, get_type_hints

import msgspec
import typer
from msgspec.structs import asdict

from ioi_eval.cli import console
from ioi_eval.model.errors import InputError
from ioi_eval.model.options import CliOption

# Parameters of a command, and a function that creates a value from the arguments for them.
_ParameterGroup = tuple[list[inspect.Parameter], Callable[[dict[str, Any]], Any]]


class OptionGroup(NamedTuple):
    """The options for the fields of a value."""

    title: str
    # Type whose fields are the options, if the command's parameter has another type; or the options.
    fields_of: type[msgspec.Struct] | Iterable[DeclaredOption] | None = None
    without: tuple[str, ...] = ()  # names of fields that are not options of this command
    # Names of the only fields that are options of this command (default: all fields).
    only: tuple[str, ...] = ()
    changes: Mapping[str, Mapping[str, Any]] | None = None  # changes to the `CliOption` of a field, by field

    def make_parameters(self, value_type: Any) -> _ParameterGroup:
        """Return the group's options, and a function that creates a `value_type` from their arguments.

        A `dict` contains only options from the command line.
        """
        options = register_options(
            (self.fields_of or value_type) if isinstance(self.fields_of, type | None) else self.fields_of
        )
        names = self.only or [name for name in options if name not in self.without]
        options_used = [options[name].with_changes(**(self.changes or {}).get(name, {})) for name in names]
        is_dict = get_origin(value_type) is dict
        takes_arguments = self.fields_of is not None and not is_dict

        def make_value(arguments: dict[str, Any]) -> Any:
            return value_type(
                **(arguments if takes_arguments else read_field_values(options_used, arguments))
            )

        return [option.make_parameter(self.title, is_dict) for option in options_used], make_value


_LOG_LEVEL = "log_level"
_LogLevel = Annotated[
    Literal["debug", "info", "warning"] | None,
    typer.Option(
        metavar="LEVEL",
        help="Lowest level of logged events: warning, info, or debug (each step of each submission).",
        show_default="info",
    ),
]


def command(examples: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Return a decorator that turns a function into a command.

    Groups are replaced by their options, the option --log-level is added, and the examples are appended to
    the help page.
    """

    def decorate(function: Callable[..., None]) -> Callable[..., None]:
        signature = inspect.signature(function, eval_str=True)
        groups: dict[str, _ParameterGroup] = {}
        parameters = [
            inspect.Parameter(_LOG_LEVEL, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=_LogLevel)
        ]
        for name, parameter in signature.parameters.items():
            annotations = getattr(parameter.annotation, "__metadata__", ())
            group = next((item for item in annotations if isinstance(item, OptionGroup)), None)
            if group is None:
                parameters.append(parameter.replace(kind=parameter.KEYWORD_ONLY))
            else:
                groups[name] = group.make_parameters(get_args(parameter.annotation)[0])
                parameters += groups[name][0]

        @functools.wraps(function)
        def run_with_values(**arguments: Any) -> None:
            if (level := arguments.pop(_LOG_LEVEL)) is not None:
                console.set_log_level(level)
            values = {
                name: make_value({option.name: arguments.pop(option.name) for option in options})
                for name, (options, make_value) in groups.items()
            }
            function(**values, **arguments)

        run_with_values.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
        run_with_values.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
        run_with_values.__doc__ = f"{inspect.getdoc(function)}\n\n\b\nExamples:\n{examples.strip(chr(10))}"
        return run_with_values

    return decorate


# --- fields of values as options of commands ---------------------------------------------------------


class DeclaredOption(NamedTuple):
    """A field with a `CliOption`."""

    field: str
    cli_option: CliOption
    kind: Any  # type of the field, with its annotations
    default: Any

    @property
    def name(self) -> str:
        """The name of the command's parameter."""
        return self.cli_option.name or self.field

    @property
    def key(self) -> str:
        """The key in `ioi-eval.toml`."""
        return self.name.replace("_", "-")

    @property
    def flag(self) -> str:
        return f"--{self.key}"

    @property
    def label(self) -> str:
        """The name in messages: the flag, or the key if the option is only a key of `ioi-eval.toml`."""
        return self.key if self.cli_option.key_only else self.flag

    def with_changes(self, **changes: Any) -> Self:
        """Return a copy with some fields of its `CliOption` changed, for another command."""
        return self._replace(cli_option=msgspec.structs.replace(self.cli_option, **changes))

    def make_typer_option(self, title: str | None = None) -> Any:
        """Return the option for Typer. `title` is its heading in the help page."""
        cli_option = self.cli_option
        bounds = None if cli_option.typed is not None else next(_find_bounds(self.kind), None)
        flags = f"{self.flag}/--no-{self.key}" if self.default is True else self.flag
        is_file = cli_option.metavar == "FILE"
        return typer.Option(
            flags,
            *([f"-{cli_option.short}"] if cli_option.short else []),
            *cli_option.also,
            help=console.replace_arguments_by_options(cli_option.help),
            metavar=cli_option.metavar or None,
            min=cli_option.minimum if bounds is None or cli_option.minimum is not None else bounds.ge,
            max=cli_option.maximum if bounds is None or cli_option.maximum is not None else bounds.le,
            callback=make_bounds_check(
                above=None if bounds is None else bounds.gt, below=None if bounds is None else bounds.lt
            ),
            show_default=cli_option.unset or True,
            rich_help_panel=cli_option.panel or title or None,
            exists=is_file,
            dir_okay=not is_file,
            hidden=cli_option.key_only,
        )

    def make_parameter(self, title: str, has_no_default: bool = False) -> inspect.Parameter:
        """Return the parameter of a command.

        It is `None` if the option is absent, unless the help page can show the field's default.
        """
        kind, default = self.argument_type, self.cli_option.default
        if default is None and self.cli_option.typed is None and isinstance(self.default, str | int | float):
            default = self.default
        if has_no_default or self.cli_option.unset or default is None:
            kind, default = Union[kind, None], None  # noqa: UP007
        annotation: Any = Annotated[kind, self.make_typer_option(title)]
        return inspect.Parameter(
            self.name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation
        )

    @property
    def argument_type(self) -> Any:
        """The type of the argument: `list` instead of sets and tuples, and without `None`."""
        if self.cli_option.typed is not None:
            return self.cli_option.typed
        kind = _strip_annotations(self.kind)
        return list[_strip_annotations(get_args(kind)[0])] if get_origin(kind) in (frozenset, tuple) else kind  # type: ignore[misc]

    def read_argument(self, argument: Any) -> Any:
        """Return the field's value for an argument. An InputError names the option."""
        try:
            value = argument if self.cli_option.read is None else self.cli_option.read(argument)
        except InputError as error:
            raise console.add_option_name(error, self.label) from error
        origin = get_origin(_strip_annotations(self.kind))
        return origin(value) if origin in (frozenset, tuple) else value


def make_bounds_check(*, above: float | None = None, below: float | None = None) -> Callable[[Any], Any]:
    """Return an option's callback that refuses nan, infinity, and numbers outside of two open bounds.

    Typer itself has only closed bounds.
    """

    def check_bounds(value: Any) -> Any:
        for number in value if isinstance(value, list | tuple) else [value]:
            if isinstance(number, float) and not math.isfinite(number):
                raise typer.BadParameter(f"{number} is not a finite number.")
            if above is not None and number is not None and number <= above:
                raise typer.BadParameter(f"{number} is not more than {above:g}.")
            if below is not None and number is not None and number >= below:
                raise typer.BadParameter(f"{number} is not less than {below:g}.")
        return value

    return check_bounds


def find_declared_options(struct_type: type[msgspec.Struct]) -> Iterator[DeclaredOption]:
    """Yield the fields of a type that have a `CliOption`, in their order."""
    type_hints = get_type_hints(struct_type, include_extras=True)
    for field in msgspec.structs.fields(struct_type):
        field_type = type_hints[field.name]
        cli_options = [
            item for item in getattr(field_type, "__metadata__", ()) if isinstance(item, CliOption)
        ]
        if cli_options:
            option = DeclaredOption(field.name, cli_options[0], field_type, field.default)
            for option_changes in cli_options[1:]:
                option = option.with_changes(
                    **{name: value for name, value in asdict(option_changes).items() if value}
                )
            yield option


def register_options(
    struct_or_options: type[msgspec.Struct] | Iterable[DeclaredOption],
) -> Mapping[str, DeclaredOption]:
    """Return options by field, and register their names for messages."""
    options = {
        option.field: option
        for option in (
            find_declared_options(struct_or_options)
            if isinstance(struct_or_options, type)
            else struct_or_options
        )
    }
    console.FLAGS.update((field, option.label) for field, option in options.items())
    return options


def make_option(struct_type: type[msgspec.Struct], field: str, **changes: Any) -> Any:
    """Return the option of a single field, for a command that does not use the rest of the type."""
    return register_options(struct_type)[field].with_changes(**changes).make_typer_option()


def read_field_values(options: Iterable[DeclaredOption], arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of fields whose options have an argument. An InputError names the option."""
    option_arguments = ((option, arguments.get(option.name)) for option in options)
    return {
        option.field: option.read_argument(argument)
        for option, argument in option_arguments
        if argument is not None
    }


def _strip_annotations(type_hint: Any) -> Any:
    """Return a type without annotations and without `None`."""
    if get_origin(type_hint) is Annotated:
        return _strip_annotations(get_args(type_hint)[0])
    if get_origin(type_hint) in (Union, types.UnionType):
        return _strip_annotations(next(member for member in get_args(type_hint) if member is not type(None)))
    return type_hint


def _find_bounds(type_hint: Any) -> Iterator[msgspec.Meta]:
    if get_origin(type_hint) is Annotated:
        yield from (item for item in get_args(type_hint) if isinstance(item, msgspec.Meta))
    if get_origin(type_hint) in (Annotated, Union, types.UnionType, tuple):
        for item in get_args(type_hint):
            yield from _find_bounds(item)
