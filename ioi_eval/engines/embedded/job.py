"""One job from its files to its result, in one thread: nothing comes between a box and its removal."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable
from pathlib import Path
from threading import Lock

import msgspec

from ioi_eval.engines.embedded.box import Caps, run_stage
from ioi_eval.engines.embedded.boxes import Boxes
from ioi_eval.engines.embedded.leash import Leash
from ioi_eval.engines.embedded.placing import fill, room_for_files, take_out, unlink
from ioi_eval.engines.embedded.spec import BoxFile, BoxSpec
from ioi_eval.engines.embedded.stages import JobPlan, StagePlan
from ioi_eval.engines.embedded.toolchains import STAGE_PATH
from ioi_eval.engines.embedded.trees import remove_tree
from ioi_eval.model.values import Job, JobResult, Stage, StageStatus

_ENVIRONMENT = {"PATH": STAGE_PATH, "HOME": "/tmp", "LANG": "C.UTF-8"}
ENDPOINT = "embedded"


class Room(msgspec.Struct, frozen=True):
    """What may lie in one box."""

    disk: int  # bytes
    names: int  # of files, folders and links


class Ground(msgspec.Struct, frozen=True):
    """What all jobs of an engine stand on."""

    boxes: Boxes
    proctor: Path
    caps: Caps
    room: Room
    starting: Lock  # held while a process is started or a program is written, see placing.fill
    layers: tuple[str, ...] | None
    allow_unconfined: bool


def run_job(ground: Ground, job: Job, plan: JobPlan, uid: int | None, leash: Leash) -> JobResult:
    """Closes the leash when it is done: until then its descriptor is in use."""
    try:
        with room_for_files():
            box = ground.boxes.make(uid)
        try:
            return _run_in(box, ground, job, plan, uid, leash)
        finally:
            with contextlib.suppress(OSError):  # the engine tries again when it closes, and tells
                remove_tree(box)
    finally:
        leash.close()


def _run_in(box: Path, ground: Ground, job: Job, plan: JobPlan, uid: int | None, leash: Leash) -> JobResult:
    with room_for_files(box):
        linked = fill(box, job.files, uid, ground.starting)
    compiled, run = _run_stages(ground, plan, _spec(ground, plan, box, linked, uid), leash)
    return JobResult(
        run=run,
        compile=compiled,
        language=plan.language,
        version=plan.version,
        endpoint=ENDPOINT,
        kept=_keep(box, job.keep, ground.boxes),
    )


def drop(result: JobResult) -> None:
    """Removes the kept files of a result that nobody will get."""
    for path in result.kept.values():
        Path(path).unlink(missing_ok=True)


def _run_stages(ground: Ground, plan: JobPlan, spec: BoxSpec, leash: Leash) -> tuple[Stage | None, Stage]:
    """Compile, then run. Where there is no run, or compile did not end well, run repeats compile's fields."""
    compiled = None
    if plan.compile is not None:
        compiled = _run_stage(ground, plan.compile, plan.stdin, spec, leash)
        if plan.run is None or compiled.code != 0:
            return compiled, compiled
        spec = msgspec.structs.replace(spec, files=unlink(Path(spec.dir), spec.files))
    assert plan.run is not None, "a plan has a stage"
    return compiled, _run_stage(ground, plan.run, plan.stdin, spec, leash)


def _run_stage(ground: Ground, stage: StagePlan, stdin: bytes, spec: BoxSpec, leash: Leash) -> Stage:
    limits = msgspec.structs.replace(stage.limits, disk=ground.room.disk, names=ground.room.names)
    own = msgspec.structs.replace(spec, argv=stage.argv, profile=stage.profile, limits=limits)
    return _discreet(run_stage(ground.proctor, own, stdin, ground.caps, leash, ground.starting), spec.dir)


def _discreet(stage: Stage, box: str) -> Stage:
    """A proctor that failed says where. Where boxes lie is nothing that a job's sender is told."""
    if stage.status is not StageStatus.XX or stage.message is None:
        return stage
    return msgspec.structs.replace(stage, message=stage.message.replace(box, "/box"))


def _spec(ground: Ground, plan: JobPlan, box: Path, files: tuple[BoxFile, ...], uid: int | None) -> BoxSpec:
    """What the stages of a job have in common; what they do not is filled in for each."""
    return BoxSpec(
        argv=(),
        env={**_ENVIRONMENT, **plan.environment},
        dir=os.fspath(box),
        files=files,
        read=plan.read,
        profile="",
        uid=msgspec.UNSET if uid is None else uid,
        report_fd=0,
        leash_fd=0,
        layers=msgspec.UNSET if ground.layers is None else ground.layers,
        allow_unconfined=ground.allow_unconfined,
    )


def _keep(box: Path, names: Iterable[str], boxes: Boxes) -> dict[str, str]:
    places = {name: boxes.place_to_keep() for name in names}
    return {name: os.fspath(place) for name, place in places.items() if take_out(box, name, place)}
