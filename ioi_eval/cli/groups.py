"""Options in groups: a command has a parameter for each group, and the group's options take its place.

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

# Parameters of a command, and what makes a value of them.
_Group = tuple[list[inspect.Parameter], Callable[[dict[str, Any]], Any]]


class OptionGroup(NamedTuple):
    """The options of a value's fields."""

    title: str
    # The value, where the command gets another thing, made of what is typed; or the options themselves.
    of: type[msgspec.Struct] | Iterable[DeclaredOption] | None = None
    without: tuple[str, ...] = ()  # fields
    only: tuple[str, ...] = ()  # fields; empty: all
    but: Mapping[str, Mapping[str, Any]] | None = (
        None  # of fields that are met otherwise here: fields of CliOption
    )

    def of_value(self, kind: Any) -> _Group:
        """Return the options, and what makes the value of them: `kind`, or of a dict what was given alone."""
        options = options_of((self.of or kind) if isinstance(self.of, type | None) else self.of)
        names = self.only or [name for name in options if name not in self.without]
        chosen = [options[name].met(**(self.but or {}).get(name, {})) for name in names]
        given_alone = get_origin(kind) is dict
        raw = self.of is not None and not given_alone

        def make(given: dict[str, Any]) -> Any:
            return kind(**(given if raw else values_of(chosen, given)))

        return [each.parameter(self.title, given_alone) for each in chosen], make


_LOG_LEVEL = "log_level"
_LogLevel = Annotated[
    Literal["debug", "info", "warning"] | None,
    typer.Option(
        metavar="LEVEL",
        help="Log from this level on: warning, info, or debug for each step of each submission.",
        show_default="info",
    ),
]


def command(examples: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Make a command of a function: groups replaced by their options, and examples below its text.

    Each command also has the option --log-level.
    """

    def decorated(function: Callable[..., None]) -> Callable[..., None]:
        own = inspect.signature(function, eval_str=True)
        groups: dict[str, _Group] = {}
        parameters = [
            inspect.Parameter(_LOG_LEVEL, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=_LogLevel)
        ]
        for name, each in own.parameters.items():
            marks = getattr(each.annotation, "__metadata__", ())
            group = next((mark for mark in marks if isinstance(mark, OptionGroup)), None)
            if group is None:
                parameters.append(each.replace(kind=each.KEYWORD_ONLY))
            else:
                groups[name] = group.of_value(get_args(each.annotation)[0])
                parameters += groups[name][0]

        @functools.wraps(function)
        def called(**given: Any) -> None:
            if (level := given.pop(_LOG_LEVEL)) is not None:
                console.set_log_level(level)
            values = {
                name: make({parameter.name: given.pop(parameter.name) for parameter in typed})
                for name, (typed, make) in groups.items()
            }
            function(**values, **given)

        called.__signature__ = own.replace(parameters=parameters)  # type: ignore[attr-defined]
        called.__annotations__ = {each.name: each.annotation for each in parameters}
        called.__doc__ = f"{inspect.getdoc(function)}\n\n\b\nExamples:\n{examples.strip(chr(10))}"
        return called

    return decorated


# --- fields that say how users meet them -------------------------------------------------------------


class DeclaredOption(NamedTuple):
    """A field that is an option."""

    field: str
    said: CliOption
    kind: Any  # of the field, with all that is said of it
    default: Any

    @property
    def name(self) -> str:
        return self.said.name or self.field

    @property
    def flag(self) -> str:
        return f"--{self.name.replace('_', '-')}"

    def met(self, **changes: Any) -> Self:
        """Return the same field as users meet it elsewhere."""
        return self._replace(said=msgspec.structs.replace(self.said, **changes))

    def option(self, title: str | None = None) -> Any:
        """Return the option for a help page's section."""
        words = self.said
        bounds = None if words.typed is not None else next(_bounds(self.kind), None)
        both = f"{self.flag}/--no-{self.flag[2:]}" if self.default is True else self.flag
        is_file = words.metavar == "FILE"
        return typer.Option(
            both,
            *([f"-{words.short}"] if words.short else []),
            *words.also,
            help=console.as_called(words.help),
            metavar=words.metavar or None,
            min=words.least if bounds is None or words.least is not None else bounds.ge,
            max=words.most if bounds is None or words.most is not None else bounds.le,
            callback=within(
                above=None if bounds is None else bounds.gt, below=None if bounds is None else bounds.lt
            ),
            show_default=words.unset or True,
            rich_help_panel=words.panel or title or None,
            exists=is_file,
            dir_okay=not is_file,
        )

    def parameter(self, title: str, given_alone: bool = False) -> inspect.Parameter:
        """Return the parameter of a command. An absent option is None, unless its default can be shown."""
        kind, default = self.typed, self.said.default
        if default is None and self.said.typed is None and isinstance(self.default, str | int | float):
            default = self.default
        if given_alone or self.said.unset or default is None:
            kind, default = Union[kind, None], None  # noqa: UP007
        annotation: Any = Annotated[kind, self.option(title)]
        place = inspect.Parameter.KEYWORD_ONLY
        return inspect.Parameter(self.name, place, default=default, annotation=annotation)

    @property
    def typed(self) -> Any:
        """The type of what is typed: lists in place of sets, and no None."""
        if self.said.typed is not None:
            return self.said.typed
        kind = _bare(self.kind)
        return list[_bare(get_args(kind)[0])] if get_origin(kind) in (frozenset, tuple) else kind  # type: ignore[misc]

    def value(self, typed: Any) -> Any:
        """Read what was typed. InputError names the option."""
        try:
            value = typed if self.said.read is None else self.said.read(typed)
        except InputError as error:
            raise error.but(field=self.flag) from error
        origin = get_origin(_bare(self.kind))
        return origin(value) if origin in (frozenset, tuple) else value


def within(*, above: float | None = None, below: float | None = None) -> Callable[[Any], Any]:
    """Return the callback of an option that refuses what Typer's own bounds let through.

    These are nan, infinity, and a bound that is itself too little or too much.
    """

    def checked(value: Any) -> Any:
        for each in value if isinstance(value, list | tuple) else [value]:
            if isinstance(each, float) and not math.isfinite(each):
                raise typer.BadParameter(f"{each} is not a number that can be meant.")
            if above is not None and each is not None and each <= above:
                raise typer.BadParameter(f"{each} is not more than {above:g}.")
            if below is not None and each is not None and each >= below:
                raise typer.BadParameter(f"{each} is not less than {below:g}.")
        return value

    return checked


def declared(kind: type[msgspec.Struct]) -> Iterator[DeclaredOption]:
    """Find the fields of a value that are options, in their order."""
    hints = get_type_hints(kind, include_extras=True)
    for field in msgspec.structs.fields(kind):
        hint = hints[field.name]
        words = [word for word in getattr(hint, "__metadata__", ()) if isinstance(word, CliOption)]
        if words:
            found = DeclaredOption(field.name, words[0], hint, field.default)
            for more in words[1:]:
                found = found.met(**{name: value for name, value in asdict(more).items() if value})
            yield found


def options_of(kind: type[msgspec.Struct] | Iterable[DeclaredOption]) -> Mapping[str, DeclaredOption]:
    """Return options by field, and let messages name them."""
    found = {each.field: each for each in (declared(kind) if isinstance(kind, type) else kind)}
    console.FLAGS.update((field, each.flag) for field, each in found.items())
    return found


def option_of(kind: type[msgspec.Struct], field: str, **changes: Any) -> Any:
    """Return the option of one field, for a command that has no more of them."""
    return options_of(kind)[field].met(**changes).option()


def values_of(options: Iterable[DeclaredOption], given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields that options say, read from what was typed. InputError names the option."""
    pairs = ((each, given.get(each.name)) for each in options)
    return {each.field: each.value(typed) for each, typed in pairs if typed is not None}


def _bare(kind: Any) -> Any:
    """A type without None, and without what is said of it."""
    if get_origin(kind) is Annotated:
        return _bare(get_args(kind)[0])
    if get_origin(kind) in (Union, types.UnionType):
        return _bare(next(part for part in get_args(kind) if part is not type(None)))
    return kind


def _bounds(kind: Any) -> Iterator[msgspec.Meta]:
    if get_origin(kind) is Annotated:
        yield from (part for part in get_args(kind) if isinstance(part, msgspec.Meta))
    if get_origin(kind) in (Annotated, Union, types.UnionType, tuple):
        for part in get_args(kind):
            yield from _bounds(part)
