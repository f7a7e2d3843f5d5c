"""A check by a waiting interpreter whether a source is Python.

A program of one source is its own artifact, so that a build has nothing to make: it compiles the source and
throws away what comes of it. A process that waits does so under the same confinement as a test. Of a source
that it does not simply take it says nothing: an ordinary build finds out what is wrong, and with what.
"""

from __future__ import annotations

import secrets

from ioi_eval.engines.contract import SUBMISSION, Built, Profile, Recipe
from ioi_eval.engines.jobs.carrier import Carrier
from ioi_eval.engines.jobs.waiting import COMMAND, wait_for
from ioi_eval.model.errors import BrokenReply
from ioi_eval.model.job import Job, JobFile, Stands, Toolchain
from ioi_eval.model.protocol import (
    Plan,
    PlanChecker,
    PlanSubmission,
    PlanTest,
    decode_lines,
    encode_plan,
)
from ioi_eval.model.values import Blob
from ioi_eval.rules.limits import milliseconds, plan_limits

_SCRIPT, _SOURCE, _PLAN, _PROCTOR = "submission", "source", "plan.json", "proctor"
_TAKEN = "taken\n"
_LONGEST = 1 << 10  # bytes of an answer


async def check(carrier: Carrier, recipe: Recipe, profile: Profile, *, attempts: int) -> Built | None:
    """Return what a build would make; None where it takes a build to say."""
    if not _can_be_checked(recipe) or profile.waiting is None or profile.proctor is None:
        return None
    tool, nonce = profile.tool(COMMAND, "checking a source"), secrets.token_hex(16)
    job = _job(recipe, tool, nonce, proctor=profile.proctor, library=profile.waiting)
    ended = await carrier.run(job, profile, attempts=attempts, phase="compiling")
    return _built(recipe, tool, ended.stdout, nonce)


def _can_be_checked(recipe: Recipe) -> bool:
    """A program in Python: what builds it, and one source."""
    alone = len(recipe.sources) == 2
    return recipe.kind == SUBMISSION and recipe.tool == COMMAND and alone


def _job(recipe: Recipe, tool: Toolchain, nonce: str, *, proctor: Blob, library: Blob) -> Job:
    helper, source = recipe.sources
    submission, waiting = wait_for(
        PlanSubmission(argv=(tool.path, "-I", _SCRIPT), files=(_SCRIPT,), env={"PATH": "/usr/bin:/bin"}),
        (),
        library,
    )
    named = f"{source.name}\n".encode() + source.content.read()
    return Job(
        files=(
            JobFile(name="run", content=Blob.of(f"exec ./{_PROCTOR} run {_PLAN}\n")),
            JobFile(name=_PROCTOR, content=proctor, executable=True),
            JobFile(name=_PLAN, content=Blob.of(encode_plan(_plan(recipe, tool, submission, nonce)))),
            JobFile(name=_SCRIPT, content=helper.content),
            JobFile(name=_SOURCE, content=Blob.of(named)),
            *waiting,
        ),
        run_timeout=milliseconds(recipe.limits.wall_time),
        stands=Stands(plan=_PLAN, kept=(_PROCTOR, waiting[0].name)),
    )


def _plan(recipe: Recipe, tool: Toolchain, submission: PlanSubmission, nonce: str) -> Plan:
    limits = recipe.limits
    return Plan(
        nonce=nonce,
        task_type="Batch",
        submission=submission,
        limits=plan_limits(
            cpu_time=limits.cpu_time, wall_time=limits.wall_time, memory=limits.memory, output=_LONGEST
        ),
        checker=PlanChecker(kind="exact"),  # against nothing: it tells what was printed
        tests=(PlanTest(index=0, input=_SOURCE),),
        echo=_LONGEST,
        read=tool.read,
    )


def _built(recipe: Recipe, tool: Toolchain, stdout: str, nonce: str) -> Built | None:
    try:
        lines = list(decode_lines(stdout, nonce))
    except BrokenReply:
        return None
    said = next((line.output for line in lines if line.test == 0 and line.end == "ok"), "")
    if said != _TAKEN:
        return None
    compiler = f"{tool.command} {tool.version}"
    return Built(artifact=recipe.main.content, compiler=compiler, toolchain=tool.identity)
