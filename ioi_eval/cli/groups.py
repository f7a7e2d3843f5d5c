"""Options in groups: a command has a parameter for each group, and the group's options take its place."""

from __future__ import annotations

import copy
import functools
import inspect
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from typing import Annotated, Any, get_type_hints


def command(examples: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Make a command of a function: groups replaced by their options, and examples below its text."""

    def decorated(function: Callable[..., None]) -> Callable[..., None]:
        own = inspect.signature(function, eval_str=True)
        kinds = {name: each.annotation for name, each in own.parameters.items()}
        groups: dict[str, Any] = {name: kind for name, kind in kinds.items() if is_dataclass(kind)}
        parameters: list[inspect.Parameter] = []
        for name, each in own.parameters.items():
            parameters += _options(groups[name]) if name in groups else [each.replace(kind=each.KEYWORD_ONLY)]

        @functools.wraps(function)
        def called(**given: Any) -> None:
            values = {name: group(**_taken(group, given)) for name, group in groups.items()}
            function(**values, **given)

        called.__signature__ = own.replace(parameters=parameters)  # type: ignore[attr-defined]
        called.__annotations__ = {each.name: each.annotation for each in parameters}
        called.__doc__ = f"{inspect.getdoc(function)}\n\n\b\nExamples:\n{examples.strip(chr(10))}"
        return called

    return decorated


def _options(group: Any) -> list[inspect.Parameter]:
    hints, found = get_type_hints(group, include_extras=True), []
    for field in fields(group):
        hint, kind = hints[field.name], inspect.Parameter.KEYWORD_ONLY
        option = copy.copy(hint.__metadata__[0])
        option.rich_help_panel = option.rich_help_panel or group.title
        annotation: Any = Annotated[hint.__origin__, option]
        found.append(inspect.Parameter(field.name, kind, default=field.default, annotation=annotation))
    return found


def _taken(group: Any, given: dict[str, Any]) -> dict[str, Any]:
    return {field.name: given.pop(field.name) for field in fields(group)}
