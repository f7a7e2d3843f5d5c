"""One build job on one engine, from a recipe to what it made, whether the engine takes paths or not."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from ioi_eval.engines import Transport
from ioi_eval.engines.transport.attempts import read
from ioi_eval.engines.transport.build_jobs import DELIVERY_SECONDS, build_job
from ioi_eval.engines.transport.build_script import Ending, ending
from ioi_eval.engines.transport.delivery import (
    Delivery,
    TooLarge,
    killed_while_compiling,
    read_delivery,
    stage_of,
)
from ioi_eval.engines.transport.runtimes import OWN, shell_runtime
from ioi_eval.engines.transport.shipping import Shipping
from ioi_eval.engines.values import SUBMISSION, Profile, Recipe
from ioi_eval.model.errors import BrokenReply, JudgeFailure
from ioi_eval.model.options import BuildLimits
from ioi_eval.model.values import Blob, JobFile, JobResult, Stage, StageStatus, Toolchain, Value
from ioi_eval.rules.limits import hard_stop

_BY_LIMITS = frozenset({Ending.CUT_SHORT, Ending.STOPPED})


class Made(Value):
    """How a build ended and what came of it. `kept`: files that the caller removes."""

    stage: Stage
    compiler: str
    content: Blob | None = None
    packed: bytes = b""  # the content in the form in which it travelled, where it did
    kept: tuple[str, ...] = ()
    confinement: Mapping[str, Any] = {}  # of the build, where a box of ours was made for it alone

    def discard(self) -> None:
        for path in self.kept:
            Path(path).unlink(missing_ok=True)


class Maker:
    """Makes what recipes ask for on one engine."""

    def __init__(self, engine: Transport, shipping: Shipping, attempts: int) -> None:
        self._engine, self._shipping, self._attempts = engine, shipping, attempts

    async def make(
        self,
        recipe: Recipe,
        tool: Toolchain,
        header: JobFile | None,
        proctor: Blob | None = None,
        *,
        alone: bool = False,
    ) -> Made:
        """JudgeFailure where the engine, or a limit of it, and not the source is at fault."""
        profile = await self._engine.profile()
        job = msgspec.structs.replace(build_job(recipe, tool, header, profile, proctor), alone=alone)
        if not profile.takes_paths:
            job = await self._shipping.shipped(job, job.files[0].name, profile)
        made_of = partial(_made, recipe, tool, profile, proctor is not None)
        try:
            made = await read(
                self._engine,
                job,
                lambda result: asyncio.to_thread(made_of, result),
                attempts=self._attempts,
                phase="compiling",
            )
        except TooLarge as failure:
            return _beyond_any_server(recipe, tool, profile, failure)
        _check_limits(recipe, made, profile)
        if made.content is not None and made.packed:
            self._shipping.delivered(made.content, made.packed)
        return made


# --- its result --------------------------------------------------------------------------------------


def _made(recipe: Recipe, tool: Toolchain, profile: Profile, boxed: bool, result: JobResult) -> Made:
    compiler = compiler_of(tool, result.endpoint, profile)
    if profile.takes_paths:
        return _made_with_paths(recipe, result, compiler)
    if boxed:
        return _made_in_a_box(recipe, result.run, compiler)
    stage, delivered = result.compile, result.run
    if shell_runtime(profile) == OWN:
        if stage is None:
            raise BrokenReply("the server's package has no compile stage")
        if ending(stage) is not Ending.BUILT:
            return Made(stage=stage, compiler=compiler)
        delivery = read_delivery(delivered)
    elif killed_while_compiling(delivered):
        return Made(stage=msgspec.structs.replace(delivered, stdout="", stderr=""), compiler=compiler)
    else:
        delivery = read_delivery(delivered)
        if delivery.compiled is None:
            raise BrokenReply("a build job does not say how the compiler ended")
        stage = stage_of(delivery.compiled)
    return _made_of(delivery, stage, recipe, compiler)


def _made_in_a_box(recipe: Recipe, run: Stage, compiler: str) -> Made:
    """The box's own limits end a compiler. A server that runs out of time before them is to blame."""
    if killed_while_compiling(run) and run.status is not StageStatus.TO:
        return Made(stage=msgspec.structs.replace(run, stdout="", stderr=""), compiler=compiler)
    delivery = read_delivery(run)
    if delivery.boxed is None:
        raise BrokenReply("a build job does not say how its box ended")
    made = _made_of(delivery, delivery.boxed.stage, recipe, compiler)
    return msgspec.structs.replace(made, confinement=delivery.boxed.confinement)


def _beyond_any_server(recipe: Recipe, tool: Toolchain, profile: Profile, failure: TooLarge) -> Made:
    """A source can have a program made that no server lets through: that is no reason to leave it out."""
    if recipe.kind != SUBMISSION:
        raise failure
    stage = Stage(status=StageStatus.SG, message=failure.reason)
    return Made(stage=stage, compiler=compiler_of(tool, "", profile))


def _made_of(delivery: Delivery, stage: Stage, recipe: Recipe, compiler: str) -> Made:
    if delivery.artifact is not None:
        content = Blob.of(delivery.artifact)
        return Made(stage=stage, content=content, packed=delivery.packed, compiler=compiler)
    if ending(stage) is Ending.BUILT:
        raise BrokenReply(f"a build job did not hand over {recipe.output}")
    return Made(stage=stage, compiler=compiler)


def _made_with_paths(recipe: Recipe, result: JobResult, compiler: str) -> Made:
    stage = result.compile if result.compile is not None else result.run
    kept = tuple(result.kept.values())
    if ending(stage) is not Ending.BUILT:
        return Made(stage=stage, compiler=compiler, kept=kept)
    if recipe.output not in result.kept:
        raise JudgeFailure(f"the engine did not hand over {recipe.output}", phase="compiling")
    return Made(
        stage=stage, content=Blob.of_file(Path(result.kept[recipe.output])), compiler=compiler, kept=kept
    )


def compiler_of(tool: Toolchain, endpoint: str, profile: Profile) -> str:
    """The one that built, which need not be the one of other endpoints."""
    tool = profile.by_endpoint.get(endpoint, {}).get(tool.command, tool)
    return f"{tool.command} {tool.version}"


def _check_limits(recipe: Recipe, made: Made, profile: Profile) -> None:
    """A build that a server's own limit cut short, not ours, says nothing about its source."""
    if profile.takes_paths or made.confinement or ending(made.stage) not in _BY_LIMITS:
        return
    for most, wanted, variable in _server_limits(recipe.limits, profile):
        if most is not None and (wanted is None or most < wanted * 1000):
            raise JudgeFailure(
                f"the server stopped the build of a {recipe.kind} after {most / 1000:g} s at the latest",
                phase="compiling",
                remedy=f"Raise {variable} on it to {round((wanted or 60) * 1000)} or more",
            )


def _server_limits(limits: BuildLimits, profile: Profile) -> tuple[tuple[int | None, float | None, str], ...]:
    wall = limits.wall_time
    if shell_runtime(profile) == OWN:
        variables = "PISTON_COMPILE_TIMEOUT and PISTON_COMPILE_CPU_TIME"
        needed = hard_stop(wall) if wall is not None and profile.strict else wall
        return (
            (profile.max_compile_time, needed, variables),
            (profile.max_compile_time, limits.cpu_time, variables),
        )
    needed = None if wall is None else hard_stop(wall) + DELIVERY_SECONDS
    return (
        (profile.max_run_time, needed, "PISTON_RUN_TIMEOUT"),
        (profile.max_run_cpu_time, limits.cpu_time, "PISTON_RUN_CPU_TIME"),
    )
