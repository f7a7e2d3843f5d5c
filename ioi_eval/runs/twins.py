"""Twins of use cases for programs without an event loop."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Callable, Coroutine
from typing import Any, ParamSpec, TypeVar

_P = ParamSpec("_P")
_T = TypeVar("_T")


def synchronous(call: Callable[_P, Coroutine[Any, Any, _T]]) -> Callable[_P, _T]:
    """Return the twin of an async function: the same name and `_sync`, the same arguments and result."""

    @functools.wraps(call)
    def twin(*args: _P.args, **kwargs: _P.kwargs) -> _T:
        return asyncio.run(call(*args, **kwargs))

    twin.__name__ = twin.__qualname__ = f"{call.__name__}_sync"
    return twin
