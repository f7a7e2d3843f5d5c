"""A job: its stages, and its way from files to result in one thread."""

from __future__ import annotations

import contextlib
import logging
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from threading import Lock

import msgspec

from ioi_eval.engines.contract import check_names
from ioi_eval.engines.embedded.packages import LanguagePackage, find_package
from ioi_eval.engines.embedded.persistent_proctor import (
    PROCTOR,
    PersistentProctor,
    ProctorConfig,
    ProctorJob,
    suits,
)
from ioi_eval.engines.embedded.sandbox import (
    KillSwitch,
    LinkedFiles,
    OutputCaps,
    SandboxFile,
    SandboxLimits,
    SandboxSpec,
    fill,
    room_for_files,
    run_stage,
    take_out,
    unlink,
)
from ioi_eval.engines.embedded.sandboxes import Sandboxes, remove_tree
from ioi_eval.engines.embedded.toolchains import STAGE_PATH
from ioi_eval.model.errors import JobRejected
from ioi_eval.model.job import Ending, Job, JobFile, JobResult, StageStatus
from ioi_eval.model.retry import LEFT_FOLDER
from ioi_eval.model.values import Value
from ioi_eval.rules.limits import build_idle, hard_stop, patience

_log = logging.getLogger(__name__)

# --- what a job asks for -----------------------------------------------------------------------------


_BASH = "/bin/bash"
# Piston's package starts the script from a script of its own: one that is killed is an exit code.
_BASH_WITHIN = (_BASH, "-c", '/bin/bash "$@"; exit $?', "run")
# What there is without any package. `cms_ioi` is what clusters call the classic package: as here it brings no
# scripts, jobs bring theirs.
BUILT_IN = (
    LanguagePackage(language="ioi_eval", version="1.0.0"),
    LanguagePackage(language="bash", version="5.2.0", aliases=("sh",)),
    LanguagePackage(language="cms", version="1.0.0", aliases=("cms_ioi",)),
)


class StagePlan(Value):
    argv: tuple[str, ...]
    profile: str  # tool or stage, as the box spec calls them
    limits: SandboxLimits


class JobPlan(Value):
    """The stages of a job, one or two."""

    compile: StagePlan | None
    run: StagePlan | None
    environment: Mapping[str, str] = {}
    read: tuple[str, ...] = ()  # folders of the host that its programs may look into
    without_proc: bool = False
    stdin: bytes = b"\n"
    language: str = ""
    version: str = ""


def plan_of(
    job: Job, *, file_size: int, processes: int, packages: Iterable[LanguagePackage] = BUILT_IN
) -> JobPlan:
    """The plan of a job as servers get them. Raises JobRejected as one would."""
    if job.plan:
        check_names(file.name for file in job.files)
        limits = _limits(job, "run", file_size, processes)
        return JobPlan(
            compile=None,
            run=StagePlan(argv=(PROCTOR, "run", job.plan), profile="stage", limits=limits),
        )
    package = find_package(packages, job.runtime, job.version)
    if package is None:
        raise JobRejected(f"{job.runtime}-{job.version} runtime is unknown")
    check_names(file.name for file in job.files)
    check_names(job.keep)
    # What travels as utf8 to a server; the first is the main file. A file given by path does not count.
    texts = [file.name for file in job.files if _is_text(file)]
    if not texts:
        raise JobRejected("files must include at least one utf8 encoded file")
    file_size = package.limits.get("max_file_size", file_size)
    processes = package.limits.get("max_process_count", processes)
    compiling = _limits(job, "compile", file_size, processes)
    running = _limits(job, "run", file_size, processes)
    to_compile, to_run = _commands(job, package, texts)
    return JobPlan(
        language=package.language,
        version=package.version,
        environment={**package.environment, "PISTON_LANGUAGE": package.language},
        read=(package.folder,) if package.folder else (),
        compile=StagePlan(argv=to_compile, profile="tool", limits=compiling) if to_compile else None,
        run=StagePlan(argv=to_run, profile="stage", limits=running) if to_run else None,
        without_proc=job.without_proc,
        stdin=(job.stdin if job.stdin.endswith("\n") else job.stdin + "\n").encode(),
    )


_Command = tuple[str, ...]


def _commands(
    job: Job, package: LanguagePackage, texts: list[str]
) -> tuple[_Command | None, _Command | None]:
    """Return both stages' commands. Compile gets all texts' names, run the first and the arguments.

    Where the package has no scripts, the job brings its own; one of the two may be missing.
    """
    given = (texts[0], *job.args)
    if package.folder:
        compiling = (_BASH, f"{package.folder}/compile", *texts) if package.compiles else None
        return compiling, (_BASH, f"{package.folder}/run", *given)
    if package.language == "bash":
        return None, (*_BASH_WITHIN, *given)
    names = {file.name for file in job.files}
    if not names & {"compile", "run"}:
        raise JobRejected(f"a job for {job.runtime} needs a file `compile` or a file `run`")
    compiling = (_BASH, "compile", *texts) if "compile" in names else None
    return compiling, (_BASH, "run", *given) if "run" in names else None


def _is_text(file: JobFile) -> bool:
    data = file.content.data
    if file.text is not None or data is None:
        return bool(file.text)
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


_MOST = 1 << 48  # ms or bytes


def _limits(job: Job, stage: str, file_size: int, processes: int) -> SandboxLimits:
    memory = _limit(job, f"{stage}_memory_limit", none=-1)
    wall, cpu = _limit(job, f"{stage}_timeout"), _limit(job, f"{stage}_cpu_time")
    hard = hard_stop(wall) if wall is not None else None
    return SandboxLimits(
        wall_ms=build_idle(wall, cpu) if stage == "compile" else wall,
        hard_ms=hard,
        cpu_ms=cpu,
        memory=memory,
        file_size=file_size,
        processes=processes,
    )


def _limit(job: Job, field: str, none: int | None = None) -> int | None:
    """Zero counts as not given, and so does what no machine has."""
    value: int | None = getattr(job, field)
    if value is None or value == none or value > _MOST:
        return None
    if value < 0:
        raise JobRejected(f"{field} must be non-negative")
    return value or None


# --- the job itself ----------------------------------------------------------------------------------


_ENVIRONMENT = {"PATH": STAGE_PATH, "HOME": "/tmp", "LANG": "C.UTF-8"}
ENDPOINT = "embedded"


class SandboxSpace(msgspec.Struct, frozen=True):
    """The room in a box."""

    disk: int  # bytes
    names: int  # of files, folders and links


class Ground(msgspec.Struct, frozen=True):
    """The ground on which all jobs of an engine stand."""

    boxes: Sandboxes
    proctor: Path
    caps: OutputCaps
    room: SandboxSpace
    links: LinkedFiles
    starting: Lock  # held while a process is started or a program is written, see `fill`
    layers: tuple[str, ...] | None
    allow_unconfined: bool
    read: tuple[str, ...] = ()  # what all jobs may look into, for their interpreter
    own: frozenset[str] = frozenset()  # hashes of the files that a persistent proctor is started with


class Done(msgspec.Struct, frozen=True):
    """The ends of a job's stages, and the files that it left by their names."""

    compile: Ending | None
    run: Ending
    kept: Mapping[str, str] = {}


class Slot:
    """A uid that boxes run under (None: ours), and a proctor that stays."""

    def __init__(self, ground: Ground, uid: int | None) -> None:
        self.uid = uid
        self.standing = PersistentProctor(
            ProctorConfig(ground.boxes, ground.proctor, ground.caps, ground.starting, uid)
        )


def run_job(ground: Ground, job: Job, plan: JobPlan, slot: Slot, leash: KillSwitch) -> Done:
    """Closes the leash when it is done: until then its descriptor is in use."""
    with contextlib.closing(leash):
        if job.plan and plan.run is not None and suits(job):
            order = _order(ground, job, plan, plan.run, slot.uid)
            run = slot.standing.judge(order, leash)
            if run is not None:
                return Done(None, run)
        return _run_in_box(ground, job, plan, slot.uid, leash)


def _order(ground: Ground, job: Job, plan: JobPlan, stage: StagePlan, uid: int | None) -> ProctorJob:
    """For a proctor that stays; limits of time are each test's own."""
    room, limits = ground.room, stage.limits
    spec = msgspec.structs.replace(
        _spec(ground, plan, Path(), (), uid),
        argv=(PROCTOR, "stand"),
        profile=stage.profile,
        limits=SandboxLimits(
            file_size=limits.file_size, processes=limits.processes, disk=room.disk, names=room.names
        ),
    )
    seconds = None if job.run_timeout is None else patience(job.run_timeout)
    kept = tuple(file.name for file in job.files if file.content.sha256 in ground.own)
    return ProctorJob(plan=job.plan, files=job.files, kept=kept, spec=spec, seconds=seconds)


def _run_in_box(ground: Ground, job: Job, plan: JobPlan, uid: int | None, leash: KillSwitch) -> Done:
    """Compile, then run. Where there is no run, or compile did not end well, run repeats compile's fields."""
    with room_for_files():
        box = ground.boxes.make(uid)
    ends = list[Ending]()
    try:
        with room_for_files(box):
            links = ground.links if plan.without_proc else None
            linked = fill(box, job.files, uid, ground.starting, links)
        spec = _spec(ground, plan, box, linked, uid)
        for stage in (plan.compile, plan.run):
            if stage is None:
                continue
            if ends:
                if ends[0].code != 0:
                    break
                spec = msgspec.structs.replace(spec, files=unlink(box, spec.files))
            limits = msgspec.structs.replace(stage.limits, disk=ground.room.disk, names=ground.room.names)
            own = msgspec.structs.replace(spec, argv=stage.argv, profile=stage.profile, limits=limits)
            ends.append(run_stage(ground.proctor, own, plan.stdin, ground.caps, leash, ground.starting))
        # A box that failed has no result, and so nobody would remove what it leaves.
        names = () if ends[-1].status is StageStatus.XX else job.keep
        places = {name: ground.boxes.place_to_keep() for name in names}
        kept = {name: os.fspath(path) for name, path in places.items() if take_out(box, name, path)}
    finally:
        try:
            remove_tree(box)
        except OSError as error:
            LEFT_FOLDER.log(_log, error)
    return Done(ends[0] if plan.compile is not None else None, ends[-1], kept)


def _spec(
    ground: Ground, plan: JobPlan, box: Path, files: tuple[SandboxFile, ...], uid: int | None
) -> SandboxSpec:
    """Return the common part of a job's stages; the rest is filled in for each."""
    return SandboxSpec(
        argv=(),
        env={**_ENVIRONMENT, **plan.environment},
        dir=os.fspath(box),
        files=files,
        read=(*plan.read, *ground.read),
        proc=not plan.without_proc,
        profile="",
        uid=msgspec.UNSET if uid is None else uid,
        report_fd=0,
        leash_fd=0,
        layers=msgspec.UNSET if ground.layers is None else ground.layers,
        allow_unconfined=ground.allow_unconfined,
    )


def drop(result: Done | JobResult) -> None:
    """Removes the kept files of a result that nobody will get."""
    for path in result.kept.values():
        Path(path).unlink(missing_ok=True)
