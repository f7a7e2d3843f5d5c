"""Functions as authors: each takes a prompt and returns the reply."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable

from ioi_eval.generate.model_requests import GeneratedReply, ModelRequest
from ioi_eval.model.errors import InputError

PromptFunction = Callable[[str], str | Awaitable[str]]


class PromptFunctionAuthor:
    """An author that is a function. A function that is not `async` runs in several threads."""

    def __init__(self, function: PromptFunction) -> None:
        self._function = function

    @property
    def name(self) -> str:
        return function_name(self._function)

    async def write(self, request: ModelRequest) -> GeneratedReply:
        """Return the function's reply. Raises InputError if the reply is not a string."""
        reply = await asyncio.to_thread(self._function, request.prompt)
        if inspect.isawaitable(reply):
            reply = await reply
        if not isinstance(reply, str):
            raise InputError(
                f"the function {self.name} returned {type(reply).__name__}, not a string",
                field="author",
                remedy="Return the reply, a string with the program",
            )
        return GeneratedReply(generation=reply)


def function_name(function: PromptFunction) -> str:
    """Return a function's name, or `function` if it has none."""
    name = getattr(function, "__name__", type(function).__name__)
    return name if name.isidentifier() else "function"
