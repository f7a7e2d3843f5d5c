"""Whether a source is Python, said by an interpreter that waits.

A program of one source is its own artifact, so that a build has nothing to make: it compiles the source and
throws away what comes of it. A process that waits does so under the same confinement as a test. Of a source
that it does not simply take it says nothing: an ordinary build finds out what is wrong, and with what.
"""

from __future__ import annotations

import re
import secrets

from ioi_eval.engines.transport.waiting import COMMAND, wait_for
from ioi_eval.engines.values import SUBMISSION, Built, Profile, Recipe
from ioi_eval.model.errors import BrokenReply
from ioi_eval.model.job import Job, JobFile, JobResult, Stands, Toolchain
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
_ANSWER = re.compile(r"taken ([0-9a-f]{64})?\n")
_LONGEST = 1 << 10  # bytes of an answer


def check_job(recipe: Recipe, tool: Toolchain, profile: Profile) -> tuple[Job, str] | None:
    """With the word by which its lines are known; None for what only a build can say."""
    if recipe.kind != SUBMISSION or recipe.tool != COMMAND or not recipe.tells_program:
        return None
    if (
        len(recipe.sources) != 2
        or profile.waiting is None
        or not profile.takes_paths
        or profile.proctor is None
    ):
        return None
    helper, source = recipe.sources
    nonce = secrets.token_hex(16)
    submission = PlanSubmission(
        argv=(tool.path, "-I", _SCRIPT), files=(_SCRIPT,), env={"PATH": "/usr/bin:/bin"}
    )
    submission, waiting = wait_for(submission, (), profile.waiting)
    limits = recipe.limits
    plan = Plan(
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
    named = f"{source.name}\n".encode() + source.content.read()
    return Job(
        files=(
            JobFile(name="run", content=Blob.of(f"exec ./{_PROCTOR} run {_PLAN}\n")),
            JobFile(name=_PROCTOR, content=profile.proctor, executable=True),
            JobFile(name=_PLAN, content=Blob.of(encode_plan(plan))),
            JobFile(name=_SCRIPT, content=helper.content),
            JobFile(name=_SOURCE, content=Blob.of(named)),
            *waiting,
        ),
        run_timeout=milliseconds(limits.wall_time),
        stands=Stands(plan=_PLAN, kept=(_PROCTOR, waiting[0].name)),
    ), nonce


def built_by(recipe: Recipe, tool: Toolchain, result: JobResult, nonce: str) -> Built | None:
    try:
        lines = list(decode_lines(result.run.stdout, nonce))
    except BrokenReply:
        return None
    said = next((line.output for line in lines if line.test == 0 and line.end == "ok"), "")
    answer = _ANSWER.fullmatch(said)
    if answer is None:
        return None
    return Built(
        artifact=recipe.main.content,
        compiler=f"{tool.command} {tool.version}",
        program=answer[1] or "",
    )
