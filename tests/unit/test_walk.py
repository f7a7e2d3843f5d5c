"""The way of one submission from the command to an engine, as docs/architecture.md walks it."""

from __future__ import annotations

import asyncio
import re
import sys
import traceback
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
from support.engines import fake_profile
from support.places import examples

import ioi_eval
from ioi_eval import JudgeFailure
from ioi_eval.cli import main
from ioi_eval.engines import Answers, Batch, Built, Recipe, registry
from ioi_eval.models import Profile

pytestmark = pytest.mark.once

PACKAGE = Path(ioi_eval.__file__).parent
DOCS = PACKAGE.parent / "docs" / "architecture.md"
MOST = 16


class Watched:
    """An engine that remembers by which way it was asked to judge, and fails."""

    slots = 1

    def __init__(self) -> None:
        self.walks: list[list[str]] = []

    async def profile(self) -> Profile:
        return fake_profile()

    async def build(self, recipe: Recipe) -> Built:
        return Built(artifact=recipe.main.content)

    async def judge(self, batch: Batch) -> Answers:
        self.walks.append([*walk(sys._getframe(1))])
        raise JudgeFailure("seen enough")

    async def __aenter__(self) -> Watched:
        return self

    async def __aexit__(self, *error: object) -> None: ...


def walk(frame: FrameType) -> Iterator[str]:
    """Our functions from the command on: of the thread, then of the tasks that wait, then of this one."""
    frames = [each for each, _ in traceback.walk_stack(frame)]
    loop = next(place for place, each in enumerate(frames) if "asyncio" in each.f_code.co_filename)
    own, outside = frames[:loop], frames[loop:]
    names = [name for each in reversed(outside) if (name := named(each))]
    yield from names[names.index("cli/score.py:score") :]
    for task in reversed([*waiting(asyncio.current_task())]):
        yield from (name for each in coroutines(task) if (name := named(each)))
    yield from (name for each in reversed(own) if (name := named(each)))


def waiting(task: asyncio.Task[Any] | None) -> Iterator[asyncio.Task[Any]]:
    """The task whose group this one belongs to, and so on, the innermost first."""
    for other in asyncio.all_tasks():
        for frame in coroutines(other):
            groups = (held for held in frame.f_locals.values() if isinstance(held, asyncio.TaskGroup))
            if any(task in group._tasks for group in groups):  # type: ignore[attr-defined]
                yield other
                yield from waiting(other)
                return


def coroutines(task: asyncio.Task[Any]) -> list[FrameType]:
    frames, awaited = [], task.get_coro()
    while frame := getattr(awaited, "cr_frame", None) or getattr(awaited, "ag_frame", None):
        frames.append(frame)
        awaited = getattr(awaited, "cr_await", None) or getattr(awaited, "ag_await", None)
    return frames


def named(frame: FrameType) -> str:
    path = Path(frame.f_code.co_filename)
    return f"{path.relative_to(PACKAGE)}:{frame.f_code.co_qualname}" if path.is_relative_to(PACKAGE) else ""


@pytest.fixture
def way(tmp_path: Path, shared_cache: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    engine = Watched()
    monkeypatch.setitem(registry._BUILT_IN, "embedded", lambda setup: engine)
    dump = tmp_path / "dump.jsonl"
    dump.write_text('{"problem_id": "lanterns", "code": "int main() {}"}\n')
    source = str(examples() / "problems" / "lanterns")
    command = ["score", str(dump), "--problems", source, "--out", str(tmp_path / "run")]
    monkeypatch.setattr(sys, "argv", ["ioi-eval", *command, "--engine", "embedded"])
    monkeypatch.setenv("IOI_EVAL_CACHE", str(shared_cache))
    with pytest.raises(SystemExit):
        main()
    (walked,) = engine.walks
    return walked


def test_the_way_is_short_and_as_the_page_walks_it(way: list[str]) -> None:
    print("\n".join(way))
    assert len(way) <= MOST
    section = DOCS.read_text().partition("## One submission's way")[2].partition("\n## ")[0]
    assert re.findall(r"^\d+\. `([^`]+)`", section, re.MULTILINE) == way
