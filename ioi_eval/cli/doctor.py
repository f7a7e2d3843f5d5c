"""`ioi-eval doctor`: what works on this machine, what does not, and what to do about it."""

from __future__ import annotations

import asyncio
from typing import Annotated

import typer

from ioi_eval.cli import console
from ioi_eval.cli.environment import open_store
from ioi_eval.cli.options import Engine, check_engine
from ioi_eval.engines.conditions import Condition, conditions
from ioi_eval.models import Value

_MARKS = {True: "ok", None: "note", False: "MISSING"}


class _Answer(Value):
    ok: bool
    conditions: list[Condition]


def doctor(
    engine: Engine = "embedded",
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of lines.")] = False,
) -> None:
    """Say what works on this machine, what does not, and what to do about it.

    Exit code 0: submissions can be judged here; 2: something is missing.

    \b
    Example:
      ioi-eval doctor
    """
    check_engine(engine)
    store = open_store()
    found = asyncio.run(conditions(store))
    found.append(Condition(name="cache", ok=True, detail=str(store.root)))
    good = all(condition.ok is not False for condition in found)
    if as_json:
        console.show_json(_Answer(ok=good, conditions=found))
    else:
        _show(found, good)
    if not good:
        raise typer.Exit(console.BAD_INPUT)


def _show(found: list[Condition], good: bool) -> None:
    width = max(len(condition.name) for condition in found)
    for condition in found:
        console.show(f"{_MARKS[condition.ok]:<8}{condition.name:<{width}}  {condition.detail}")
        if condition.remedy:
            console.show(f"{'':<8}{'':<{width}}  -> {condition.remedy}")
    console.show("Submissions can be judged here." if good else "Submissions cannot be judged here yet.")
