"""What is asked for, and what comes back. Pure."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Protocol

import msgspec

from ioi_eval.errors import IoiEvalError
from ioi_eval.models import Problem, Value


class GenerationFailed(IoiEvalError):
    """Nothing was written: by the fault of the model's server, or of the agent. To be asked for again."""


class OutOfBudget(IoiEvalError):
    """What may be spent is spent. Nothing more is asked for."""


class Ask(Value):
    """One program for one problem."""

    key: str
    problem_id: str
    prompt: str
    language: str
    number: int  # among those for the problem
    year: int | None = None


class Text(Value):
    """What was written for an ask."""

    generation: str
    reasoning: str = ""
    code: str | None = None  # where the author says which part is the program: agents do
    language: str = ""  # where it is another one than was asked for
    stop_reason: str = ""
    usage: Mapping[str, Any] = {}
    cost: float | None = None  # money, where prices are known
    settings: Mapping[str, Any] = {}  # of the model, seed included


class Author(Protocol):
    """Who writes. Raises `GenerationFailed`, `OutOfBudget`, or InputError where asking again is no use."""

    @property
    def name(self) -> str: ...

    async def write(self, ask: Ask) -> Text: ...


def asks_of(
    problems: Iterable[Problem], prompt: Callable[[Problem], str], *, language: str, samples: int
) -> tuple[Ask, ...]:
    """As many asks as wanted for each problem: first one for each, then the second ones."""
    prompts = [(problem, prompt(problem)) for problem in problems]
    return tuple(
        Ask(
            key=key_of(problem, number),
            problem_id=problem.id,
            year=problem.year,
            prompt=text,
            language=language,
            number=number,
        )
        for number in range(samples)
        for problem, text in prompts
    )


def key_of(problem: Problem, number: int) -> str:
    year = "" if problem.year is None else f"@{problem.year}"
    return f"{problem.id}{year}#{number}"


def fingerprint(asks: Iterable[Ask], author: str, settings: Mapping[str, Any]) -> str:
    """A hash of all that decides what is written, as far as we decide it."""
    content = [author, settings, [(ask.key, ask.prompt, ask.language) for ask in asks]]
    return hashlib.sha256(msgspec.json.encode(content, order="deterministic")).hexdigest()
