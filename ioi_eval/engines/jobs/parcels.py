"""Jobs by parcel: for servers. All of a job is in a request, and what a build made comes back as text."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import msgspec

from ioi_eval.engines.contract import OWN, SUBMISSION, Batch, Profile, Program, Recipe, Transport, least
from ioi_eval.engines.jobs.build_jobs import DELIVERY_SECONDS, build_job
from ioi_eval.engines.jobs.carrier import Made, execute, persist, sound
from ioi_eval.engines.jobs.run import (
    PLAN,
    PROCTOR_MEMORY,
    RUN_SCRIPT,
    WHICH,
    Chosen,
    interpreters,
    path_of,
    run_job,
)
from ioi_eval.engines.jobs.shipping import (
    Shipping,
    TooLarge,
    killed_while_compiling,
    program_room,
    read_delivery,
)
from ioi_eval.model.errors import BrokenReply, JudgeFailure
from ioi_eval.model.job import Ended, Job, JobFile, JobResult, StageStatus, Toolchain
from ioi_eval.model.options import BuildLimits
from ioi_eval.model.values import Blob, Problem
from ioi_eval.rules.builds import Ending, ending
from ioi_eval.rules.limits import hard_stop, processes_of


class Parcels:
    """The carrier to servers."""

    is_here = False

    def __init__(self, transport: Transport, packing: Shipping) -> None:
        self._transport, self._packing = transport, packing

    async def build(
        self, recipe: Recipe, ahead: Sequence[JobFile], profile: Profile, *, alone: bool, attempts: int
    ) -> Made:
        tool = profile.tool(recipe.tool, f"building a {recipe.kind}")
        job = build_job(recipe, tool, ahead, profile)
        identities = tuple(each.identity for each in profile.offered(recipe.tool))
        job = msgspec.structs.replace(job, alone=alone, made_for={recipe.tool: identities})
        job = await self._packing.shipped(job, job.files[0].name, profile)

        async def once() -> tuple[Made, bytes]:
            result = sound(await self._transport.execute(job))
            return await asyncio.to_thread(_made, recipe, tool, profile, result)

        try:
            made, packed = await persist(once, attempts=attempts, phase="compiling")
        except TooLarge as failure:
            # A source can make a program that no server lets through: that is no reason to leave it out.
            if recipe.kind != SUBMISSION:
                raise
            return Made(ended=Ended(killed="size", words=failure.reason), tool=tool, by_transport=True)
        _check_limits(recipe, made, profile)
        if made.content is not None and packed:
            self._packing.delivered(made.content, packed)
        return made

    async def refusal(self, program: Blob, profile: Profile) -> str:
        weight, most = await self._packing.weight(program), program_room(profile)
        if weight <= most:
            return ""
        return f"The program takes {weight} bytes of a request, and {profile.name} has {most} for it."

    def job(self, batch: Batch, chosen: Chosen, profile: Profile) -> Job:
        job, problem = run_job(batch, chosen, profile), batch.problem
        script = _room_for_output(problem.limits.output) + _finding(batch.program, profile) + RUN_SCRIPT
        # Of all processes together; where nobody asks, servers give three seconds.
        together = None if job.run_timeout is None else job.run_timeout * (processes_of(problem) + 1)
        return msgspec.structs.replace(
            job,
            files=(JobFile(name="run", content=Blob.of(script)), *job.files[1:]),
            run_cpu_time=least(together, profile.max_run_cpu_time),
            run_memory_limit=_job_memory(problem, batch.program),
        )

    async def run(self, job: Job, profile: Profile, *, attempts: int, phase: str) -> Ended:
        job = await self._packing.shipped(job, "run", profile)
        result = await execute(self._transport, job, attempts=attempts, phase=phase)
        return Ended.of(result.run)


# --- builds ------------------------------------------------------------------------------------------


_BY_LIMITS = frozenset({Ending.CUT_SHORT, Ending.STOPPED})


def _made(recipe: Recipe, tool: Toolchain, profile: Profile, result: JobResult) -> tuple[Made, bytes]:
    """Return what was made, and the form in which it travelled."""
    tool, run, boxed = result.toolchains.get(tool.command, tool), result.run, recipe.proctor is not None
    in_two_stages = not boxed and profile.shell() == OWN
    ended = None
    if in_two_stages:
        if result.compile is None:
            raise BrokenReply("the server's package has no compile stage")
        ended = Ended.of(result.compile)
        if ending(ended) is not Ending.BUILT:
            return Made(ended=ended, tool=tool), b""
    elif killed_while_compiling(run) and not (boxed and run.status is StageStatus.TO):
        # The box's own limits end a compiler. A server that runs out of time before them is to blame.
        return Made(ended=Ended.of(msgspec.structs.replace(run, stdout="", stderr="")), tool=tool), b""
    delivery = read_delivery(run)
    if boxed and delivery.confinement is None:
        raise BrokenReply("a build job does not say how its box ended")
    ended = ended or delivery.stage
    if ended is None:
        raise BrokenReply("a build job does not say how the compiler ended")
    if delivery.artifact is None and ending(ended) is Ending.BUILT:
        raise BrokenReply(f"a build job did not hand over {recipe.output}")
    content = None if delivery.artifact is None else Blob.of(delivery.artifact)
    made = Made(ended=ended, tool=tool, content=content, confinement=delivery.confinement or {})
    return made, delivery.packed


def _check_limits(recipe: Recipe, made: Made, profile: Profile) -> None:
    """A build that a server's own limit cut short, not ours, says nothing about its source."""
    if made.confinement or ending(made.ended) not in _BY_LIMITS:
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
    if profile.shell() == OWN:
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


# --- batches -----------------------------------------------------------------------------------------


_RESERVED = 4 << 30  # bytes of address space beyond a program's limit, as graders/proctor has it


def _finding(program: Program, profile: Profile) -> str:
    """The line of a script that puts paths into a plan; empty where they are known."""
    places = sorted(path_of(tool) for tool in interpreters(program, profile).values())
    unknown = (place for place in places if place.startswith(WHICH))
    changes = "".join(f' -e "s#{place}#$(command -v {place.removeprefix(WHICH)})#"' for place in unknown)
    return f"sed -i{changes} {PLAN}\n" if changes else ""


def _room_for_output(most: int | None) -> str:
    """On servers, files that programs write have a limit that nobody tells and no job can raise."""
    if most is None:
        return ""
    blocks = -(-most // 1024)
    return f"""most=$(ulimit -H -f)
if [ "$most" != unlimited ] && [ "$most" -lt {blocks} ]; then
    echo "programs may write $most kB here, the problem allows {blocks}: raise PISTON_MAX_FILE_SIZE" >&2
    exit 93
fi
"""


def _job_memory(problem: Problem, program: Program) -> int | None:
    """The server's limit is for the proctor, those who judge and the submission together: a backstop.

    Servers before isolate limit the address space by it. So there is room for what the proctor itself lets
    programs reserve, and no limit for those that reserve as they like.
    """
    if problem.limits.memory is None or not program.submission.address_space:
        return None
    judges = [program.checker.limits.memory, program.manager.limits.memory if program.manager else None]
    allowance = max(_RESERVED, *(memory or 0 for memory in judges))
    return processes_of(problem) * problem.limits.memory + allowance + PROCTOR_MEMORY
