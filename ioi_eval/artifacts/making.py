"""One build job on one engine, from a recipe to what it made, whether the engine takes paths or not."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from pathlib import Path

import msgspec

from ioi_eval.artifacts.attempts import read
from ioi_eval.artifacts.delivery import (
    Delivery,
    TooLarge,
    hand_over,
    killed_while_compiling,
    read_delivery,
    stage_of,
    whole_build,
)
from ioi_eval.artifacts.precompiled import FOLDER
from ioi_eval.artifacts.recipes import SUBMISSION
from ioi_eval.artifacts.runtimes import OWN, shell_runtime
from ioi_eval.artifacts.script import DRIVERS, Ending, compile_script, ending
from ioi_eval.artifacts.shipping import Shipping
from ioi_eval.artifacts.values import BuildLimits, Recipe
from ioi_eval.engines import Engine
from ioi_eval.errors import BrokenReply, JudgeFailure
from ioi_eval.models import Blob, Job, JobFile, JobResult, Profile, Stage, StageStatus, Toolchain, Value

_BUILD = "build"
# As in the embedded engine's boxes, where servers set nothing: compilers speak as there, and have a home.
_ENVIRONMENT = 'export LANG=C.UTF-8 HOME="${HOME:-$PWD}"\n'
_DELIVERY_SECONDS = 30.0  # to compress and print what was made


class Made(Value):
    """How a build ended and what came of it. `kept`: files that the caller removes."""

    stage: Stage
    compiler: str
    content: Blob | None = None
    packed: bytes = b""  # the content in the form in which it travelled, where it did
    kept: tuple[str, ...] = ()

    def discard(self) -> None:
        for path in self.kept:
            Path(path).unlink(missing_ok=True)


class Maker:
    """Makes what recipes ask for on one engine."""

    def __init__(self, engine: Engine, shipping: Shipping, attempts: int) -> None:
        self._engine, self._shipping, self._attempts = engine, shipping, attempts

    async def profile(self) -> Profile:
        return await self._engine.profile()

    async def make(self, recipe: Recipe, tool: Toolchain, header: JobFile | None) -> Made:
        """JudgeFailure where the engine, or a limit of it, and not the source is at fault."""
        profile = await self._engine.profile()
        job = build_job(recipe, tool, header, profile)
        if not profile.takes_paths:
            job = await self._shipping.shipped(job, job.files[0].name, profile)
        try:
            made = await read(
                self._engine,
                job,
                lambda result: asyncio.to_thread(_made, recipe, tool, result, profile),
                attempts=self._attempts,
                phase="compiling",
            )
        except TooLarge as failure:
            return _beyond_any_server(recipe, tool, profile, failure)
        _check_limits(recipe, made.stage, profile)
        if made.content is not None and made.packed:
            self._shipping.delivered(made.content, made.packed)
        return made


# --- the job -----------------------------------------------------------------------------------------


def build_job(recipe: Recipe, tool: Toolchain, header: JobFile | None, profile: Profile) -> Job:
    """The sources, the one that the build is about last, and the script that compiles them. Never a test."""
    if profile.takes_paths:
        return _job_with_paths(recipe, tool, header)
    recipe, tool = _log_that_fits(recipe, profile), _found_anywhere(tool, profile)
    if shell_runtime(profile) == OWN:
        return _job_of_two_stages(recipe, tool, profile)
    return _job_of_one_stage(recipe, tool, profile)


def _job_with_paths(recipe: Recipe, tool: Toolchain, header: JobFile | None) -> Job:
    script = compile_script(recipe, tool=tool, headers=FOLDER if header else "")
    limits = recipe.limits
    return Job(
        files=(_script("compile", script), *((header,) if header else ()), *_sources(recipe)),
        compile_timeout=_milliseconds(limits.wall_time),
        compile_cpu_time=_milliseconds(limits.cpu_time),
        compile_memory_limit=limits.memory,
        keep=(recipe.output,),
    )


def _job_of_two_stages(recipe: Recipe, tool: Toolchain, profile: Profile) -> Job:
    compiling = recipe.limits
    delivering = _least(_milliseconds(_DELIVERY_SECONDS), profile.max_run_time)
    return Job(
        files=(
            _script("compile", _ENVIRONMENT + compile_script(recipe, tool=tool)),
            _script("run", hand_over(recipe.output, profile.max_output)),
            *_sources(recipe),
        ),
        compile_timeout=_least(_milliseconds(compiling.wall_time), profile.max_compile_time),
        compile_cpu_time=_least(_milliseconds(compiling.cpu_time), profile.max_compile_time),
        compile_memory_limit=_memory(recipe, tool),
        run_timeout=delivering,
        run_cpu_time=_least(delivering, profile.max_run_cpu_time),
    )


def _job_of_one_stage(recipe: Recipe, tool: Toolchain, profile: Profile) -> Job:
    limits = recipe.limits
    script = whole_build(
        recipe.output,
        profile.max_output,
        wall_time=limits.wall_time,
        cpu_time=limits.cpu_time,
        script="compile",
    )
    longest = [seconds for seconds in (limits.wall_time, limits.cpu_time) if seconds is not None]
    time = _milliseconds(2 * max(longest) + _DELIVERY_SECONDS) if len(longest) == 2 else None
    return Job(
        files=(
            _script(_BUILD, script),
            _script("compile", _ENVIRONMENT + compile_script(recipe, tool=tool)),
            *_sources(recipe),
        ),
        run_timeout=_least(time, profile.max_run_time),
        run_cpu_time=_least(time, profile.max_run_cpu_time),
        run_memory_limit=_memory(recipe, tool),
    )


def _script(name: str, text: str) -> JobFile:
    return JobFile(name=name, content=Blob.of(text))


def _sources(recipe: Recipe) -> Iterable[JobFile]:
    return (JobFile(name=file.name, content=file.content) for file in (recipe.control, *recipe.sources))


def _memory(recipe: Recipe, tool: Toolchain) -> int | None:
    """Servers before isolate limit the address space. Other compilers reserve what they never use of it."""
    return recipe.limits.memory if tool.command in DRIVERS else None


def _log_that_fits(recipe: Recipe, profile: Profile) -> Recipe:
    if profile.max_output is None:
        return recipe
    log = max(0, min(recipe.limits.log, profile.max_output // 2))
    return msgspec.structs.replace(recipe, limits=msgspec.structs.replace(recipe.limits, log=log))


def _found_anywhere(tool: Toolchain, profile: Profile) -> Toolchain:
    """By its name where endpoints have it in different places."""
    paths = {tools[tool.command].path for tools in profile.by_endpoint.values() if tool.command in tools}
    return tool if paths <= {tool.path} else msgspec.structs.replace(tool, path=tool.command)


def _milliseconds(seconds: float | None) -> int | None:
    return None if seconds is None else round(seconds * 1000)


def _least(wanted: int | None, most: int | None) -> int | None:
    given = [value for value in (wanted, most) if value is not None]
    return min(given, default=None)


# --- its result --------------------------------------------------------------------------------------


def _made(recipe: Recipe, tool: Toolchain, result: JobResult, profile: Profile) -> Made:
    compiler = compiler_of(tool, result.endpoint, profile)
    if profile.takes_paths:
        return _made_with_paths(recipe, result, compiler)
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


def _check_limits(recipe: Recipe, stage: Stage, profile: Profile) -> None:
    """A build that a server's own limit cut short, not ours, says nothing about its source."""
    if profile.takes_paths or ending(stage) is not Ending.CUT_SHORT:
        return
    for most, wanted, variable in _server_limits(recipe.limits, profile):
        if most is not None and (wanted is None or most < wanted * 1000):
            raise JudgeFailure(
                f"the server stopped the build of a {recipe.kind} after {most / 1000:g} s at the latest",
                phase="compiling",
                remedy=f"Raise {variable} on it to {round((wanted or 60) * 1000)} or more",
            )


def _server_limits(limits: BuildLimits, profile: Profile) -> tuple[tuple[int | None, float | None, str], ...]:
    if shell_runtime(profile) == OWN:
        variables = "PISTON_COMPILE_TIMEOUT and PISTON_COMPILE_CPU_TIME"
        return (
            (profile.max_compile_time, limits.wall_time, variables),
            (profile.max_compile_time, limits.cpu_time, variables),
        )
    return (
        (profile.max_run_time, limits.wall_time, "PISTON_RUN_TIMEOUT"),
        (profile.max_run_cpu_time, limits.cpu_time, "PISTON_RUN_CPU_TIME"),
    )
