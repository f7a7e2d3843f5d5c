"""`ioi-eval doctor`: what works on this machine or on servers, what does not, and what to do about it."""

from __future__ import annotations

import asyncio
import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from ioi_eval.cli import console
from ioi_eval.cli.engines import EngineText, TokenFile, choose_engine
from ioi_eval.cli.environment import open_store
from ioi_eval.engines.conditions import Condition, conditions
from ioi_eval.model.values import Value
from ioi_eval.runs.engine import EngineChoice

if TYPE_CHECKING:
    from ioi_eval.cli.servers import Cluster

_MARKS = {True: "ok", None: "note", False: "MISSING"}
_MARK = 8  # columns


class _Answer(Value):
    ok: bool
    conditions: list[Condition]


def doctor(
    engine: EngineText = None,
    token_file: TokenFile = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of lines.")] = False,
) -> None:
    """Say what works on this machine or on servers, what does not, and what to do.

    Exit code 0: submissions can be judged there; 2: something is missing.

    \b
    Examples:
      ioi-eval doctor
      ioi-eval doctor --engine http://localhost:2000         a line for each thing that a server needs
      ioi-eval doctor --engine slurm --json
    """
    choice = choose_engine(engine, token_file=token_file)
    good = _servers(choice, as_json) if choice.remote else _here(as_json)
    if not good:
        raise typer.Exit(console.BAD_INPUT)


def _here(as_json: bool) -> bool:
    store = open_store()
    found = asyncio.run(conditions(store))
    found.append(Condition(name="cache", ok=True, detail=str(store.root)))
    good = all(condition.ok is not False for condition in found)
    if as_json:
        console.show_json(_Answer(ok=good, conditions=found))
    else:
        _show(found)
        console.show("Submissions can be judged here." if good else "Submissions cannot be judged here yet.")
    return good


def _servers(choice: EngineChoice, as_json: bool) -> bool:
    from ioi_eval.cli.servers import look  # loads all of the engine for servers

    found = asyncio.run(look(choice))
    if as_json:
        console.show_json(found)
        return found.ok
    for urls, findings in found.alike():
        _wrapped(_named(urls), "", "  ")
        _show(findings)
        console.show("")
    if found.together:
        console.show("Together")
        _show(found.together)
        console.show("")
    console.show(_conclusion(found))
    return found.ok


def _named(urls: Sequence[str]) -> str:
    return urls[0] if len(urls) == 1 else f"{len(urls)} servers alike: {', '.join(urls)}"


def _conclusion(found: Cluster) -> str:
    number, of = len(found.good), len(found.servers)
    if of == 1:
        return f"Submissions can{'' if number else 'not'} be judged there{'' if number else ' yet'}."
    if not number:
        return f"Submissions cannot be judged on any of {of} servers yet."
    return f"Submissions can be judged on {'all' if number == of else f'{number} of'} {of} servers."


def _show(found: Sequence[Condition]) -> None:
    width = max(len(condition.name) for condition in found)
    indent = " " * (_MARK + width + 2)
    for condition in found:
        begin = f"{_MARKS[condition.ok]:<{_MARK}}{condition.name:<{width}}  "
        _wrapped(condition.detail, begin, indent)
        if condition.remedy:
            _wrapped(condition.remedy, f"{indent}-> ", f"{indent}   ")


def _wrapped(text: str, first: str, later: str) -> None:
    lines = textwrap.wrap(
        console.visible(text),
        console.WIDTH,
        initial_indent=first,
        subsequent_indent=later,
        break_on_hyphens=False,
        break_long_words=False,
    )
    for line in lines or [first.rstrip()]:
        console.show(line)
