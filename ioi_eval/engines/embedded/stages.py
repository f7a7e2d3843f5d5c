"""What a job asks for, as stages: which program, under which limits. Pure."""

from __future__ import annotations

from ioi_eval.engines.embedded.placing import check_names
from ioi_eval.engines.embedded.spec import BoxLimits
from ioi_eval.errors import JobRejected
from ioi_eval.models import Job, Value

_BASH = "/bin/bash"
# Piston's package starts the script from a script of its own: one that is killed is an exit code.
_BASH_WITHIN = (_BASH, "-c", '/bin/bash "$@"; exit $?', "run")
# Runtime -> the language that the reply names. cms_ioi is what clusters call the classic package.
_LANGUAGES = {"ioi_eval": "ioi_eval", "cms_ioi": "cms", "cms": "cms", "bash": "bash"}
RUNTIMES = tuple(_LANGUAGES)
VERSION = "1.0.0"


class StagePlan(Value):
    argv: tuple[str, ...]
    profile: str  # tool or stage, as the box spec calls them
    limits: BoxLimits


class JobPlan(Value):
    language: str
    compile: StagePlan | None
    run: StagePlan | None
    stdin: bytes


def plan_of(job: Job, *, file_size: int, processes: int) -> JobPlan:
    """Checks the job and says what to start. Raises JobRejected as a server would."""
    if job.runtime not in _LANGUAGES:
        raise JobRejected(f"{job.runtime}-{job.version} runtime is unknown")
    check_names(file.name for file in job.files)
    check_names(job.keep)
    texts = _text_files(job)
    if not texts:
        raise JobRejected("files must include at least one utf8 encoded file")
    compiling = _limits(job, "compile", file_size, processes)
    running = _limits(job, "run", file_size, processes)
    own = _own_package(job, texts) if job.runtime != "bash" else (None, (*_BASH_WITHIN, texts[0], *job.args))
    return JobPlan(
        language=_LANGUAGES[job.runtime],
        compile=StagePlan(argv=own[0], profile="tool", limits=compiling) if own[0] else None,
        run=StagePlan(argv=own[1], profile="stage", limits=running) if own[1] else None,
        stdin=(job.stdin if job.stdin.endswith("\n") else job.stdin + "\n").encode(),
    )


def _own_package(job: Job, texts: list[str]) -> tuple[tuple[str, ...] | None, tuple[str, ...] | None]:
    """The job brings its own scripts; one of the two may be missing."""
    names = {file.name for file in job.files}
    if not names & {"compile", "run"}:
        raise JobRejected(f"a job for {job.runtime} needs a file `compile` or a file `run`")
    compiling = (_BASH, "compile", *texts) if "compile" in names else None
    running = (_BASH, "run", texts[0], *job.args) if "run" in names else None
    return compiling, running


def _text_files(job: Job) -> list[str]:
    """What travels as utf8 to a server; the first is the main file. A file given by path does not count."""
    return [file.name for file in job.files if file.content.data is not None and _is_text(file.content.data)]


def _is_text(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def _limits(job: Job, stage: str, file_size: int, processes: int) -> BoxLimits:
    memory = _limit(job, f"{stage}_memory_limit", none=-1)
    wall, cpu = _limit(job, f"{stage}_timeout"), _limit(job, f"{stage}_cpu_time")
    return BoxLimits(wall_ms=wall, cpu_ms=cpu, memory=memory, file_size=file_size, processes=processes)


def _limit(job: Job, field: str, none: int | None = None) -> int | None:
    """Zero counts as not given."""
    value: int | None = getattr(job, field)
    if value is None or value == none:
        return None
    if value < 0:
        raise JobRejected(f"{field} must be non-negative")
    return value or None
