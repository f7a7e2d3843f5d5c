"""How long an answer may take, and how long to wait before the next try. Pure."""

from __future__ import annotations

import random

import msgspec

from ioi_eval.model.values import Job, Value
from ioi_eval.rules.limits import asked, hard_stop

_SHELLS = frozenset({"ioi_eval", "bash"})
_SLOWEST = 1 << 20  # bytes of a body that get through in a second at the least


class Patience(Value):
    """Seconds. The defaults are for clusters; tests have less time."""

    margin: float = 60.0  # beyond what a job may take: for its turn there, and for the reply
    connect: float = 10.0
    health: float = 10.0  # for the answer to a question of health
    drought: float = 300.0  # without any usable endpoint, before a job is given up
    first_wait: float = 0.1
    longest_wait: float = 5.0
    first_rest: float = 0.5  # of an endpoint that was found wanting
    longest_rest: float = 30.0


class ServerTimes(Value):
    """What a server allows a stage where the job does not say; ms."""

    compile: int = 60_000
    run: int = 60_000
    strict: bool = False  # its wall clock runs on while programs wait for a processor; ours does not


def at_its_pace(job: Job, times: ServerTimes) -> Job:
    """The job as a server is to be asked for it: for time that passes where it counts that, not idling."""
    if not times.strict:
        return job
    compiling, running = job.compile_timeout, job.run_timeout
    return msgspec.structs.replace(
        job,
        compile_timeout=compiling and asked(compiling, times.compile),
        run_timeout=running and asked(running, times.run),
    )


def time_for(job: Job, body: int, times: ServerTimes, patience: Patience) -> float:
    """Seconds: compile, run, the way there and back, and a margin.

    `job` is as the server was asked for it. A client that gives up earlier than the server sends the job
    again while the first still runs.
    """
    compiling = (job.compile_timeout or times.compile) if _may_compile(job) else 0
    stages = compiling + (job.run_timeout or times.run)
    return (stages if times.strict else hard_stop(stages)) / 1000 + body / _SLOWEST + patience.margin


def _may_compile(job: Job) -> bool:
    """The packages that start our scripts compile only where there is one for it."""
    return job.runtime not in _SHELLS or any(file.name == "compile" for file in job.files)


def wait_before(attempt: int, patience: Patience) -> float:
    """Anything up to a bound that doubles, so that jobs that failed together do not come back together."""
    return random.uniform(0, min(patience.longest_wait, patience.first_wait * 2 ** min(attempt, 16)))


def rest_after(failures: int, patience: Patience) -> float:
    longest = min(patience.longest_rest, patience.first_rest * 2 ** min(failures, 16))
    return random.uniform(longest / 2, longest)
