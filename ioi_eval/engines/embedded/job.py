"""The stages of a job, and their execution in a thread."""

from __future__ import annotations

import contextlib
import logging
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from threading import Lock

import msgspec

from ioi_eval.engines.contract import check_file_names
from ioi_eval.engines.embedded.packages import LanguagePackage, find_package
from ioi_eval.engines.embedded.persistent_proctor import (
    PROCTOR,
    PersistentProctor,
    ProctorConfig,
    make_proctor_job,
)
from ioi_eval.engines.embedded.sandbox import (
    FileLinker,
    KillSwitch,
    OutputLimits,
    SandboxFile,
    SandboxLimits,
    SandboxSpec,
    convert_file_errors,
    fill_sandbox,
    move_out_of_sandbox,
    run_stage,
    unlink_files,
)
from ioi_eval.engines.embedded.sandboxes import Sandboxes, remove_tree
from ioi_eval.engines.embedded.toolchains import STAGE_PATH
from ioi_eval.model.errors import JobRejected
from ioi_eval.model.job import Ending, Job, JobFile, JobResult, StageStatus
from ioi_eval.model.retry import LEFT_FOLDER
from ioi_eval.model.values import Blob, Value
from ioi_eval.rules.limits import compute_compiler_idle_ms, compute_hard_stop

_log = logging.getLogger(__name__)

# --- the stages of a job -----------------------------------------------------------------------------


_BASH = "/bin/bash"
# Command like that of Piston's package for bash. A shell starts the job's script, so that the stage has an
# exit code even if the script is killed.
_BASH_WITHIN = (_BASH, "-c", '/bin/bash "$@"; exit $?', "run")
# Runtimes that need no installed package. Clusters call the classic package `cms_ioi`; jobs for this engine
# must contain its scripts.
BUILT_IN = (
    LanguagePackage(language="ioi_eval", version="1.0.0"),
    LanguagePackage(language="bash", version="5.2.0", aliases=("sh",)),
    LanguagePackage(language="cms", version="1.0.0", aliases=("cms_ioi",)),
)


class StagePlan(Value):
    argv: tuple[str, ...]
    profile: str  # profile of the sandbox, as in its spec: tool or stage
    limits: SandboxLimits


class JobPlan(Value):
    """The stages of a job: `run`, and perhaps `compile`."""

    compile: StagePlan | None
    run: StagePlan | None
    environment: Mapping[str, str] = {}
    read: tuple[str, ...] = ()  # folders of the host that the stage's programs may read
    without_proc: bool = False
    stdin: bytes = b"\n"
    language: str = ""
    version: str = ""


def make_job_plan(
    job: Job, *, max_file_bytes: int, max_processes: int, packages: Iterable[LanguagePackage] = BUILT_IN
) -> JobPlan:
    """Return the stages of a job as a Piston server would execute it.

    Args:
        job: The job.
        max_file_bytes: Maximum size of a file that programs write. The limit of a package replaces it.
        max_processes: Maximum number of processes at the same time. The limit of a package replaces it.
        packages: The packages that the job's runtime may name. A job with a plan needs none.

    Raises:
        JobRejected: The job has an unknown runtime, an invalid limit or file name, or lacks a required file.
    """
    if job.plan:
        check_file_names(file.name for file in job.files)
        limits = _make_stage_limits(job, "run", max_file_bytes, max_processes)
        return JobPlan(
            compile=None,
            run=StagePlan(argv=(PROCTOR, "run", job.plan), profile="stage", limits=limits),
        )
    package = find_package(packages, job.runtime, job.version)
    if package is None:
        raise JobRejected(f"{job.runtime}-{job.version} runtime is unknown")
    check_file_names(file.name for file in job.files)
    check_file_names(job.keep)
    # Names of the files that a client would send as utf8 text. The first of them is the main file. Files that
    # the job passes by path are not among them.
    text_names = [file.name for file in job.files if _is_text_file(file)]
    if not text_names:
        raise JobRejected("files must include at least one utf8 encoded file")
    max_file_bytes = package.limits.get("max_file_size", max_file_bytes)
    max_processes = package.limits.get("max_process_count", max_processes)
    compile_limits = _make_stage_limits(job, "compile", max_file_bytes, max_processes)
    run_limits = _make_stage_limits(job, "run", max_file_bytes, max_processes)
    compile_command, run_command = _choose_compile_run_commands(job, package, text_names)
    return JobPlan(
        language=package.language,
        version=package.version,
        environment={**package.environment, "PISTON_LANGUAGE": package.language},
        read=(package.folder,) if package.folder else (),
        compile=StagePlan(argv=compile_command, profile="tool", limits=compile_limits)
        if compile_command
        else None,
        run=StagePlan(argv=run_command, profile="stage", limits=run_limits) if run_command else None,
        without_proc=job.without_proc,
        stdin=(job.stdin if job.stdin.endswith("\n") else job.stdin + "\n").encode(),
    )


_Command = tuple[str, ...]


def _choose_compile_run_commands(
    job: Job, package: LanguagePackage, text_names: list[str]
) -> tuple[_Command | None, _Command | None]:
    """Return the commands of both stages. The arguments of `compile` are the names of all text files.

    The arguments of `run` are the name of the first text file and the job's arguments. If the package has no
    scripts, the job contains them; `compile` or `run` may be missing.
    """
    run_arguments = (text_names[0], *job.args)
    if package.folder:
        compile_command = (_BASH, f"{package.folder}/compile", *text_names) if package.compiles else None
        return compile_command, (_BASH, f"{package.folder}/run", *run_arguments)
    if package.language == "bash":
        return None, (*_BASH_WITHIN, *run_arguments)
    file_names = {file.name for file in job.files}
    if not file_names & {"compile", "run"}:
        raise JobRejected(f"a job for {job.runtime} needs a file `compile` or a file `run`")
    compile_command = (_BASH, "compile", *text_names) if "compile" in file_names else None
    return compile_command, (_BASH, "run", *run_arguments) if "run" in file_names else None


def _is_text_file(file: JobFile) -> bool:
    data = file.content.data
    if file.text is not None or data is None:
        return bool(file.text)
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


_MAX_LIMIT = 1 << 48  # maximum number of ms or bytes that a job may ask for; no machine has more


def _make_stage_limits(job: Job, stage: str, max_file_bytes: int, max_processes: int) -> SandboxLimits:
    memory_bytes = _read_limit(job, f"{stage}_memory_limit", no_limit_value=-1)
    wall_ms, cpu_ms = _read_limit(job, f"{stage}_timeout"), _read_limit(job, f"{stage}_cpu_time")
    hard_stop_ms = compute_hard_stop(wall_ms) if wall_ms is not None else None
    return SandboxLimits(
        wall_ms=compute_compiler_idle_ms(wall_ms, cpu_ms) if stage == "compile" else wall_ms,
        hard_ms=hard_stop_ms,
        cpu_ms=cpu_ms,
        memory=memory_bytes,
        file_size=max_file_bytes,
        processes=max_processes,
    )


def _read_limit(job: Job, field: str, no_limit_value: int | None = None) -> int | None:
    """Return a limit of a job, or None if the job has no limit.

    Zero, `no_limit_value`, and values that are larger than any machine's resources also mean no limit.
    """
    limit: int | None = getattr(job, field)
    if limit is None or limit == no_limit_value or limit > _MAX_LIMIT:
        return None
    if limit < 0:
        raise JobRejected(f"{field} must be non-negative")
    return limit or None


# --- executing a job ----------------------------------------------------------------------------------


_ENVIRONMENT = {"PATH": STAGE_PATH, "HOME": "/tmp", "LANG": "C.UTF-8"}
ENDPOINT = "embedded"


class JobEnvironment(msgspec.Struct, frozen=True):
    """The values that all jobs of an engine share."""

    sandboxes: Sandboxes
    proctor: Path
    output_limits: OutputLimits
    limits: SandboxLimits  # limits of a sandbox that do not depend on the job
    links: FileLinker
    start_lock: Lock  # lock for starting processes and for writing executable files; see `fill_sandbox`
    layers: tuple[str, ...] | None
    allow_unconfined: bool
    read: tuple[str, ...] = ()  # folders of interpreters, which the programs of all jobs may read
    shared: Mapping[str, Blob] = {}  # files that all jobs with a plan get, by name


class StageEndings(msgspec.Struct, frozen=True):
    """The endings of a job's stages, and the paths of the files that the job asked to keep, by name."""

    compile: Ending | None
    run: Ending
    kept: Mapping[str, str] = {}


class JobSlot:
    """A place for a single job at a time: a persistent proctor, and a uid if sandboxes have uids."""

    def __init__(self, environment: JobEnvironment, uid: int | None) -> None:
        self.uid = uid
        files = tuple(
            SandboxFile(name=name, path=blob.path or "") for name, blob in environment.shared.items()
        )
        sandbox_spec = msgspec.structs.replace(
            _make_common_spec(environment, JobPlan(compile=None, run=None), Path(), files, uid),
            argv=(PROCTOR, "stand"),
            profile="stage",
            limits=environment.limits,
        )
        self.proctor = PersistentProctor(
            ProctorConfig(
                environment.sandboxes,
                environment.proctor,
                environment.output_limits,
                environment.start_lock,
                uid,
                sandbox_spec,
            )
        )


def run_job(
    environment: JobEnvironment, job: Job, plan: JobPlan, slot: JobSlot, kill_switch: KillSwitch
) -> StageEndings:
    """Execute a job and return how its stages ended.

    Args:
        environment: The values that all jobs of the engine share.
        job: The job.
        plan: The job's stages, as `make_job_plan` returns them.
        slot: A slot in which no other job runs.
        kill_switch: Stops the job's programs when any thread triggers it. It cannot be used after the job.
    """
    with contextlib.closing(kill_switch):
        proctor_job = make_proctor_job(job, environment.shared) if job.plan else None
        if (
            proctor_job is not None
            and (run_ending := slot.proctor.execute(proctor_job, kill_switch)) is not None
        ):
            return StageEndings(None, run_ending)
        return _run_in_sandbox(environment, job, plan, slot.uid, kill_switch)


def _run_in_sandbox(
    environment: JobEnvironment, job: Job, plan: JobPlan, uid: int | None, kill_switch: KillSwitch
) -> StageEndings:
    """Run a job's stages. Without a run stage, or if compiling fails, `run` is the ending of `compile`."""
    with convert_file_errors():
        sandbox = environment.sandboxes.create_sandbox(uid)
    endings = list[Ending]()
    try:
        with convert_file_errors(sandbox):
            large_file_links = environment.links if plan.without_proc else None
            linked_files = fill_sandbox(sandbox, job.files, uid, environment.start_lock, large_file_links)
        spec = _make_common_spec(environment, plan, sandbox, linked_files, uid)
        for stage in (plan.compile, plan.run):
            if stage is None:
                continue
            if endings:
                if endings[0].code != 0:
                    break
                spec = msgspec.structs.replace(spec, files=unlink_files(sandbox, spec.files))
            limits = msgspec.structs.replace(
                stage.limits, disk=environment.limits.disk, names=environment.limits.names
            )
            stage_spec = msgspec.structs.replace(spec, argv=stage.argv, profile=stage.profile, limits=limits)
            endings.append(
                run_stage(
                    environment.proctor,
                    stage_spec,
                    plan.stdin,
                    environment.output_limits,
                    kill_switch,
                    environment.start_lock,
                )
            )
        # A failed sandbox has no result, so no caller would remove the files that the job keeps.
        fetched_names = () if endings[-1].status is StageStatus.XX else job.keep
        target_paths = {name: environment.sandboxes.make_fetched_file_path() for name in fetched_names}
        fetched_paths = {
            name: os.fspath(path)
            for name, path in target_paths.items()
            if move_out_of_sandbox(sandbox, name, path)
        }
    finally:
        try:
            remove_tree(sandbox)
        except OSError as error:
            LEFT_FOLDER.log(_log, error)
    return StageEndings(endings[0] if plan.compile is not None else None, endings[-1], fetched_paths)


def _make_common_spec(
    environment: JobEnvironment, plan: JobPlan, sandbox: Path, files: tuple[SandboxFile, ...], uid: int | None
) -> SandboxSpec:
    """Return the part of the spec that all stages of a job have in common."""
    return SandboxSpec(
        argv=(),
        env={**_ENVIRONMENT, **plan.environment},
        dir=os.fspath(sandbox),
        files=files,
        read=(*plan.read, *environment.read),
        proc=not plan.without_proc,
        profile="",
        uid=msgspec.UNSET if uid is None else uid,
        report_fd=0,
        leash_fd=0,
        layers=msgspec.UNSET if environment.layers is None else environment.layers,
        allow_unconfined=environment.allow_unconfined,
    )


def remove_kept_files(result: StageEndings | JobResult) -> None:
    """Remove the files that were moved out of a job's sandbox. Called if no caller receives the result."""
    for path in result.kept.values():
        Path(path).unlink(missing_ok=True)
