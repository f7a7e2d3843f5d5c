from __future__ import annotations

from typing import Any

import pytest
from engine_helpers import file, script

from ioi_eval.engines.embedded.job import JobPlan, make_job_plan
from ioi_eval.errors import JobRejected
from ioi_eval.models import Blob, Job, JobFile


def plan(job: Job) -> JobPlan:
    return make_job_plan(job, max_file_bytes=1000, max_processes=10)


@pytest.mark.parametrize(
    ("job", "message"),
    [
        (script("true", runtime="nope"), "nope-* runtime is unknown"),
        (script("true", runtime="nope", version="1.2.3"), "nope-1.2.3 runtime is unknown"),
        (script("true", run_timeout=-5), "run_timeout must be non-negative"),
        (script("true", compile_cpu_time=-1), "compile_cpu_time must be non-negative"),
        (script("true", run_memory_limit=-2), "run_memory_limit must be non-negative"),
        (Job(files=()), "files must include at least one utf8 encoded file"),
        (Job(files=(file("run", b"\xff"),)), "files must include at least one utf8 encoded file"),
        (Job(files=(file("main.cpp", "x"),)), "a job for ioi_eval needs a file `compile` or a file `run`"),
    ],
)
def test_invalid_embedded_job_is_rejected(job: Job, message: str) -> None:
    with pytest.raises(JobRejected) as refused:
        plan(job)
    assert str(refused.value) == message


@pytest.mark.parametrize("job", [script("x", file("../evil", "x")), script("x", keep=("/etc/passwd",))])
def test_names_outside_sandbox_are_rejected(job: Job) -> None:
    with pytest.raises(JobRejected, match="stay in the sandbox"):
        plan(job)


def test_compile_stage_gets_file_names_and_run_stage_main_file() -> None:
    by_path = JobFile(name="t/0.in", content=Blob(sha256="", size=0, path="/x"))
    files = (file("main.cpp", "x"), file("binary", b"\xff"), by_path, file("compile", ""), file("run", ""))
    stages = plan(Job(files=files, args=("a", "b c")))
    assert stages.compile is not None and stages.run is not None
    assert stages.compile.argv == ("/bin/bash", "compile", "main.cpp", "compile", "run")
    assert stages.run.argv == ("/bin/bash", "run", "main.cpp", "a", "b c")


def test_missing_script_omits_stage() -> None:
    assert plan(script("true")).compile is None
    assert plan(Job(files=(file("compile", ""),))).run is None


def test_bash_runtime_runs_first_file() -> None:
    stages = plan(Job(files=(file("any.sh", ""), file("compile", "")), runtime="bash", args=("a",)))
    assert stages.compile is None and stages.run is not None
    assert stages.run.argv[-2:] == ("any.sh", "a")
    assert stages.language == "bash"


def test_cms_ioi_job_has_language_cms() -> None:
    assert plan(script("true", runtime="cms_ioi")).language == "cms"


@pytest.mark.parametrize(
    ("stdin", "sent"), [("", b"\n"), ("x", b"x\n"), ("x\n", b"x\n"), ("ä", b"\xc3\xa4\n")]
)
def test_standard_input_of_job_ends_in_a_newline(stdin: str, sent: bytes) -> None:
    assert plan(script("true", stdin=stdin)).stdin == sent


@pytest.mark.parametrize(
    ("fields", "limits"),
    [
        ({}, (None, None, None)),
        ({"run_timeout": 0, "run_cpu_time": 0, "run_memory_limit": 0}, (None, None, None)),
        ({"run_memory_limit": -1}, (None, None, None)),
        ({"run_timeout": 1 << 60, "run_cpu_time": 1 << 60, "run_memory_limit": 1 << 60}, (None, None, None)),
        ({"run_timeout": 5, "run_cpu_time": 6, "run_memory_limit": 7}, (5, 6, 7)),
        ({"compile_timeout": 5, "compile_cpu_time": 6, "compile_memory_limit": 7}, (None, None, None)),
    ],
)
def test_run_stage_limits_follow_job(fields: dict[str, Any], limits: tuple[int | None, ...]) -> None:
    run_stage = plan(script("true", **fields)).run
    assert run_stage is not None
    assert (run_stage.limits.wall_ms, run_stage.limits.cpu_ms, run_stage.limits.memory) == limits
    assert (run_stage.limits.file_size, run_stage.limits.processes) == (1000, 10)


@pytest.mark.parametrize(
    ("fields", "limits"),
    [
        ({"compile_timeout": 60_000, "compile_cpu_time": 50_000}, (3000, 600_000, 50_000)),
        ({"compile_timeout": 2000, "compile_cpu_time": 50_000}, (2000, 20_000, 50_000)),
        ({"compile_timeout": 60_000}, (60_000, 600_000, None)),  # its computing counts as idling then
        ({"compile_cpu_time": 50_000}, (None, None, 50_000)),
    ],
)
def test_compile_stage_limits_follow_job(fields: dict[str, int], limits: tuple[int | None, ...]) -> None:
    compile_stage = plan(script("true", file("compile", "true"), **fields)).compile
    assert compile_stage is not None
    assert (compile_stage.limits.wall_ms, compile_stage.limits.hard_ms, compile_stage.limits.cpu_ms) == limits
