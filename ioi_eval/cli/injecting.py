"""Options that belong together, given to a command as one value."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, TypeVar

_T = TypeVar("_T")


def takes(name: str, choose: Callable[..., _T]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Adds the options of `choose` to a command, which gets what it makes of them as `name`."""

    def decorated(command: Callable[..., None]) -> Callable[..., None]:
        chosen = inspect.signature(choose, eval_str=True).parameters
        own = inspect.signature(command, eval_str=True)
        others = {key: parameter for key, parameter in own.parameters.items() if key != name}
        parameters = [*others.values(), *chosen.values()]

        @functools.wraps(command)
        def wrapper(**given: Any) -> None:
            value = choose(**{key: given[key] for key in chosen})
            command(**{key: given[key] for key in others}, **{name: value})

        wrapper.__signature__ = own.replace(parameters=parameters)  # type: ignore[attr-defined]
        wrapper.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
        return wrapper

    return decorated
