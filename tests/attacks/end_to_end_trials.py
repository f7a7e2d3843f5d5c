"""Attacks on the whole judge, end to end, which the proctor does not stop.

A layer in the judge's Python code cannot be disabled in the shipped package. A trial replaces the layer by the
behaviour of common pipelines.
"""

from __future__ import annotations

import asyncio
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Collection, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import Any
from unittest import mock

import msgspec
from attack import SECRET
from attack_environment import AttackEnvironment, lost
from attack_rounds import WHITE_DIFF, Round, scripts, sources
from attacks_compiling import SourceAttack
from attacks_scripts import Script
from campaign import BUILDS, engine_of
from harness import Bench
from message_verdicts import words_are_believed
from support.engines import BuildSpec, make_compile_script
from trusting_judges import CHECKING

from ioi_eval import Engine, JudgeOptions, Scorer, Store
from ioi_eval.engines.embedded import engine as embedded_engine
from ioi_eval.engines.embedded import job
from ioi_eval.engines.embedded.job import JobPlan
from ioi_eval.engines.jobs import build as builder
from ioi_eval.errors import JudgeFailure
from ioi_eval.model.job import Ending
from ioi_eval.models import Blob, Checker, CheckerKind, Job, NamedBlob


def attempt_whole(bench: Bench, attack: SourceAttack | Script, layers_away: Collection[str]) -> str:
    """Return how the attack succeeded, or an empty string if it failed."""
    with lost(bench.workshop) as ground, ExitStack() as stack:
        for layer in layers_away:
            stack.enter_context(_REPLACED[layer]())
        checker = _BELIEVING if "apart" in layers_away else WHITE_DIFF
        try:
            return asyncio.run(_attempted(bench, ground, attack, checker))
        except JudgeFailure as failure:
            return f"the judge cannot continue: {failure}"


async def _attempted(
    bench: Bench, ground: AttackEnvironment, attack: SourceAttack | Script, checker: Checker
) -> str:
    assert bench.store is not None, "the engine needs a store for its proctor"
    layers = tuple(bench.layers)
    boxes = bench.workshop / f"boxes-{ground.mark}"
    boxes.mkdir(mode=0o711)
    async with engine_of("embedded", Store(bench.store), layers, boxes) as engine:
        if isinstance(attack, Script):
            async with engine:
                outcomes = await scripts(engine, ground, [attack], boxes)
        else:
            outcomes = await _compiled(engine, ground, attack, checker)
    boxes.rmdir()
    return outcomes[attack.name].fault


async def _compiled(
    engine: Engine, ground: AttackEnvironment, attack: SourceAttack, checker: Checker
) -> Round:
    options = JudgeOptions(all_tests=True)
    with tempfile.TemporaryDirectory() as built:
        async with Scorer(engine, store=Store(Path(built)), options=options, builds=BUILDS) as scorer:
            return await sources(scorer, ground, [attack], checker)


# --- replacements for the layers ---

_BELIEVING = Checker(
    kind=CheckerKind.CMS,
    sources=(NamedBlob(name="checking.py", content=Blob.of(CHECKING)),),
    language="python",
)


@contextmanager
def _something_on_standard_input() -> Iterator[None]:
    """Put a test's secret on the standard input of build jobs."""
    original = embedded_engine.make_job_plan

    def naive(job: Job, **limits: Any) -> JobPlan:
        plan = original(job, **limits)
        return msgspec.structs.replace(plan, stdin=SECRET.encode()) if job.keep else plan

    with mock.patch.object(embedded_engine, "make_job_plan", naive):
        yield


@contextmanager
def _compile_script_with(instead: str, *, for_each: str) -> Iterator[None]:
    def naive(recipe: BuildSpec, **more: Any) -> str:
        return re.sub(for_each, instead, make_compile_script(recipe, **more))

    with mock.patch.object(builder, "make_compile_script", naive):
        yield


@contextmanager
def _all_that_a_compiler_says() -> Iterator[None]:
    def naive(stage: Ending, limit: int) -> str:
        return stage.stdout + stage.stderr

    with (
        _compile_script_with("cat", for_each=r"\{ head -c .*; \}"),
        mock.patch.object(builder, "format_build_log", naive),
    ):
        yield


@contextmanager
def _links_are_followed() -> Iterator[None]:
    def naive(box: Path, name: str, target: Path) -> bool:
        try:
            shutil.copyfile(box / name, target)
        except OSError:
            return False
        return True

    with mock.patch.object(job, "move_out_of_sandbox", naive):
        yield


@contextmanager
def _removed_by_names() -> Iterator[None]:
    """Remove folders by a shell that lists the names and passes them to `rm`."""

    def naive(path: Path) -> None:
        listed = 'find "$0" -depth | xargs rm -d --'
        discard = subprocess.DEVNULL
        subprocess.run(
            ["sh", "-c", listed, path], cwd=path.parent, stdout=discard, stderr=discard, check=False
        )

    with mock.patch.object(job, "remove_tree", naive):
        yield


_REPLACED: dict[str, Callable[[], AbstractContextManager[None]]] = {
    "apart": nullcontext,  # with another checker
    "build": _something_on_standard_input,
    "streams": partial(_compile_script_with, "", for_each=" < /dev/null"),
    "cleaning": _all_that_a_compiler_says,
    "status": words_are_believed,
    "keeping": _links_are_followed,
    "removal": _removed_by_names,
}
