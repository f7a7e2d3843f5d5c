"""Build jobs on an engine without paths, and the meaning of its replies."""

from __future__ import annotations

import asyncio
import base64
import errno
import gzip
import hashlib
import json
import os
import random
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import msgspec
import pytest
from borrowed_engine import artifacts_on
from msgspec.json import decode
from support.builds import checked_problem, plain_problem, submitted
from support.engines import CPU_LIMIT, BuildSuccess, CompileError, fake_capabilities

from ioi_eval import Store
from ioi_eval.engines.contract import SharedBuild
from ioi_eval.engines.embedded.sandbox import VERSION
from ioi_eval.errors import JudgeFailure, ToolchainGone
from ioi_eval.judge.programs import Artifacts
from ioi_eval.judge.recipes import CHECKER
from ioi_eval.models import Blob, BuildLimits, Capabilities, Ending, Job, JobResult, StageStatus, Toolchain
from ioi_eval.testing import FakeEngine

pytestmark = pytest.mark.usefixtures("no_retry_waits")

MADE = b"a program"


class Server:
    """An engine that answers every job with the same result."""

    slots = 1

    def __init__(self, result: JobResult, **profile: Any) -> None:
        self._result = result
        base: dict[str, Any] = {
            "confines": True,
            "proctor": None,
            "runtimes": ("ioi_eval",),
            "name": "server",
        }
        self._profile = Capabilities(
            **(
                {"architecture": "x86_64", "toolchains": fake_capabilities().toolchains} | base | profile  # type: ignore[arg-type]
            )
        )
        self.jobs: list[Job] = []

    async def capabilities(self) -> Capabilities:
        return self._profile

    async def execute(self, job: Job, check: object = None) -> JobResult:
        self.jobs.append(job)
        return self._result

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


def delivered(content: bytes = MADE, ahead: str = "") -> Ending:
    packed = base64.b64encode(gzip.compress(content)).decode() + "\n"
    header = f"ioi-eval 1 artifact {len(content)} {hashlib.sha256(content).hexdigest()} {len(packed)}\n"
    return Ending(stdout=f"{ahead}{header}{packed}ioi-eval 1 end\n", code=0)


GOOD = JobResult(compile=Ending(code=0), run=delivered(), endpoint="http://b")
CUT = Ending(signal="SIGKILL", status=StageStatus.TO)
IN_ONE = JobResult(run=delivered(ahead="ioi-eval 1 code 0\n"), endpoint="http://b")


@asynccontextmanager
async def opened(folder: Path, server: Server, **more: Any) -> AsyncIterator[Artifacts]:
    async with artifacts_on(server, Store(folder / "store"), **more) as artifacts:
        yield artifacts


def names(job: Job) -> list[str]:
    return [file.name for file in job.files]


async def test_two_stage_build_uses_compile_limits_for_compile_stage(tmp_path: Path) -> None:
    server = Server(GOOD, max_compile_time=20_000, max_run_cpu_time=5000)
    async with opened(tmp_path, server) as artifacts:
        built = await artifacts.build_submission(
            artifacts.prepare_problem(plain_problem()), submitted("code")
        )
    assert isinstance(built, BuildSuccess) and built.artifact.read() == MADE
    (job,) = server.jobs
    assert names(job)[:2] == ["compile", "run"] and job.runtime == "ioi_eval" and job.keep == ("submission",)
    assert (job.compile_timeout, job.compile_cpu_time, job.compile_memory_limit) == (20_000, 20_000, 2 << 30)
    assert (job.run_timeout, job.run_cpu_time) == (30_000, 5000)


@pytest.mark.parametrize("shares_builds", [False, True])
async def test_build_job_has_header_of_worker_if_engine_shares_builds(
    tmp_path: Path, shares_builds: bool
) -> None:
    server, code = Server(GOOD, shares_builds=shares_builds), "#include <bits/stdc++.h>\nint main() {}\n"
    async with opened(tmp_path, server) as artifacts:
        await artifacts.build_submission(artifacts.prepare_problem(plain_problem()), submitted(code))
    headers = [file for file in server.jobs[0].files if isinstance(file.content, SharedBuild)]
    assert [file.name.partition("/")[2] for file in headers] == ["bits/stdc++.h.gch"] * shares_builds


async def test_delivered_gzip_data_is_reused_for_sending(tmp_path: Path) -> None:
    large = b"the same again " * 1000
    run = delivered(large)
    async with opened(tmp_path, Server(JobResult(compile=Ending(code=0), run=run))) as artifacts:
        built = await artifacts.build_submission(
            artifacts.prepare_problem(plain_problem()), submitted("code")
        )
        assert isinstance(built, BuildSuccess) and built.artifact.read() == large
        packed = await artifacts.builder.delivery.contents.compress_content(built.artifact)
    assert base64.b64encode(packed.gzip).decode() in run.stdout


@pytest.mark.parametrize("damaged", [bytes(len(MADE)), MADE[:-1], b""], ids=["zeros", "cut off", "empty"])
def test_artifact_changed_on_disk_is_built_again(tmp_path: Path, damaged: bytes) -> None:
    """A changed artifact could crash, and the submission would be blamed."""

    async def built() -> tuple[BuildSuccess | CompileError, int]:
        server = Server(GOOD)
        async with opened(tmp_path, server) as artifacts:
            return await artifacts.build_submission(
                artifacts.prepare_problem(plain_problem()), submitted("code")
            ), len(server.jobs)

    for _ in range(2):
        outcome, jobs = asyncio.run(built())
        assert isinstance(outcome, BuildSuccess) and outcome.artifact.read() == MADE and jobs == 1
        assert outcome.artifact.path is not None
        Path(outcome.artifact.path).write_bytes(damaged)


async def test_artifact_too_large_for_request_with_tests_is_compile_error(tmp_path: Path) -> None:
    """Otherwise a submission could choose to be unscored, by a table that cannot be compressed."""
    noise = random.Random(7).randbytes(1 << 20)
    result = JobResult(compile=Ending(code=0), run=delivered(noise))
    for max_body, kind in ((8 << 20, BuildSuccess), (2 << 20, CompileError)):
        async with opened(tmp_path, Server(result, max_body=max_body)) as artifacts:
            outcome = await artifacts.build_submission(
                artifacts.prepare_problem(plain_problem()), submitted("code")
            )
        assert isinstance(outcome, kind), "a size that another server accepts is not reused"
    assert isinstance(outcome, CompileError) and "of a request, and server accepts 1048576" in outcome.log


async def test_one_stage_build_uses_run_limits_without_compile_timeout(tmp_path: Path) -> None:
    server = Server(IN_ONE, runtimes=("bash",), max_run_time=60_000)
    async with opened(tmp_path, server) as artifacts:
        built = await artifacts.build_submission(
            artifacts.prepare_problem(plain_problem()), submitted("code")
        )
    assert isinstance(built, BuildSuccess) and built.artifact.read() == MADE
    (job,) = server.jobs
    assert names(job)[:2] == ["build", "compile"] and job.runtime == "bash"
    assert (job.compile_timeout, job.run_timeout, job.run_cpu_time) == (None, 60_000, 90_000)


# --- builds in the proctor's sandbox -----------------------------------------------------------------

PROCTOR = Blob.of(b"the proctor")
CONFINED = {"v": 1, "uid": 60601, "landlock": 7, "missing": ["namespaces: refused"]}


def unconfined(result: JobResult, **profile: Any) -> Server:
    """Return an unconfined engine with a proctor, so that nothing else is built."""
    return Server(result, confines=False, proctor=PROCTOR, **({"runtimes": ("bash",)} | profile))


def ended(*, log: str = "", made: bool = False, **report: Any) -> JobResult:
    box_report = {"v": VERSION, "confinement": CONFINED, **report}
    preamble = f"ioi-eval 1 box {json.dumps(box_report)}\n"
    if log:
        packed = base64.b64encode(gzip.compress(log.encode())).decode() + "\n"
        digest = hashlib.sha256(log.encode()).hexdigest()
        preamble += f"ioi-eval 1 log {len(log)} {digest} {len(packed)}\n{packed}"
    run = delivered(ahead=preamble) if made else Ending(stdout=f"{preamble}ioi-eval 1 end\n", code=0)
    return JobResult(run=run, endpoint="http://b")


@pytest.mark.parametrize("runtime", ["bash", "ioi_eval"])
async def test_build_job_contains_proctor_if_engine_does_not_confine(tmp_path: Path, runtime: str) -> None:
    server = unconfined(ended(made=True), runtimes=(runtime,), max_run_cpu_time=80_000)
    async with opened(tmp_path, server) as artifacts:
        built = await artifacts.build_submission(
            artifacts.prepare_problem(plain_problem()), submitted("code")
        )
        second_build = await artifacts.build_submission(
            artifacts.prepare_problem(plain_problem()), submitted("code")
        )
    assert built.artifact is not None and built.artifact.read() == MADE
    assert (
        built.confinement
        == second_build.confinement
        == {"v": 1, "landlock": 7, "missing": ["namespaces: refused"]}
    )
    (job,) = server.jobs
    outside = [name for name in names(job) if not name.startswith("box/")]
    assert outside == ["run", "proctor", "box.json"] and job.runtime == runtime
    assert {"box/compile", "box/graders/sum.cpp", "box/ioi-eval-control.cpp"} <= set(names(job))
    (spec,) = (decode(file.content.read()) for file in job.files if file.name == "box.json")
    assert spec["limits"]["file_size"] == 256 << 20 and spec["limits"]["memory"] == 2 << 30
    assert (job.run_timeout, job.run_cpu_time, job.run_memory_limit) == (330_000, 80_000, None)


class Slow(Server):
    """An engine whose build lasts until other callers arrive."""

    async def execute(self, job: Job, check: object = None) -> JobResult:
        await asyncio.sleep(0.01)
        return await super().execute(job, check)


async def test_processes_sharing_store_build_checker_once(tmp_path: Path) -> None:
    server = Slow(GOOD)
    async with opened(tmp_path, server) as first, opened(tmp_path, server) as other:
        checkers = (
            builder.build_trusted_program(builder.prepare_problem(checked_problem()), CHECKER)
            for builder in (first, other)
        )
        ours, theirs = await asyncio.gather(*checkers)
    assert ours is not None and theirs is not None
    assert ours.file.content.read() == theirs.file.content.read() == MADE
    assert len(server.jobs) == 1


async def test_full_cache_disk_is_judge_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(path: Path, content: bytes) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    async with opened(tmp_path, Server(GOOD)) as artifacts:
        monkeypatch.setattr(Path, "write_bytes", full)
        with pytest.raises(JudgeFailure, match=r"compiling: cannot write to the cache .*No space left"):
            await artifacts.build_submission(artifacts.prepare_problem(plain_problem()), submitted("code"))


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EMFILE, errno.EROFS])
async def test_unwritable_cache_is_judge_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    """The cache cannot be written, for example, if inodes, descriptors or permissions are missing."""
    open_file = os.open

    def full(path: str | Path, *flags: int, **options: int) -> int:
        if tmp_path in Path(path).parents:
            raise OSError(number, os.strerror(number), path)
        return open_file(path, *flags, **options)

    async with opened(tmp_path, Server(GOOD)) as artifacts:
        monkeypatch.setattr(os, "open", full)
        message = f"compiling: cannot write to the cache .*{os.strerror(number)}"
        with pytest.raises(JudgeFailure, match=message):
            await artifacts.build_submission(artifacts.prepare_problem(plain_problem()), submitted("code"))
        with pytest.raises(JudgeFailure, match=message):
            await artifacts.build_trusted_program(artifacts.prepare_problem(checked_problem()), CHECKER)


async def test_checker_is_built_without_sandbox_on_unconfined_engine(tmp_path: Path) -> None:
    server = unconfined(IN_ONE)
    async with opened(tmp_path, server) as artifacts:
        await artifacts.build_trusted_program(artifacts.prepare_problem(checked_problem()), CHECKER)
    (job,) = server.jobs
    assert names(job)[:2] == ["build", "compile"]


@pytest.mark.parametrize(
    ("report", "message", "lasting"),
    [
        ({"code": 1}, "x.cpp: error", True),
        ({"killed": "wall"}, "x.cpp: error\nThe compiler was stopped: it did nothing for 3 s.", True),
        ({"killed": "memory"}, "x.cpp: error\nThe compiler was stopped: Memory limit exceeded.", True),
        ({"killed": "hard"}, "x.cpp: error\nThe compiler was stopped: it took too long.", False),
    ],
)
async def test_sandboxed_build_ending_is_read_from_proctor_report(
    tmp_path: Path, report: dict[str, Any], message: str, lasting: bool
) -> None:
    """Lower limits of the server do not matter, because the sandbox stopped the compiler."""
    server = unconfined(ended(log="x.cpp: error\n", **report), max_run_time=10_000)
    async with opened(tmp_path, server) as artifacts:
        for _ in range(2):
            built = await artifacts.build_submission(
                artifacts.prepare_problem(plain_problem()), submitted("code")
            )
    assert isinstance(built, CompileError)
    assert (built.log, built.confinement["landlock"]) == (message, 7)
    # A stopped build below its CPU limit is repeated once.
    once = 2 if report.get("killed") in ("wall", "hard") else 1
    assert len(server.jobs) == (once if lasting else 2 * once)


@pytest.mark.parametrize(
    ("result", "message"),
    [
        (ended(failure="cannot enter the box"), "the sandbox of a build failed: cannot enter the box"),
        (JobResult(run=CUT), "Raise PISTON_RUN_TIMEOUT"),
        (
            JobResult(run=Ending(code=91, stderr="cannot execute")),
            "sent no complete program .*cannot execute",
        ),
        (IN_ONE, "has no report of its sandbox"),
    ],
)
async def test_failed_sandbox_in_build_is_judge_failure(
    tmp_path: Path, result: JobResult, message: str
) -> None:
    async with opened(tmp_path, unconfined(result)) as artifacts:
        with pytest.raises(JudgeFailure, match=message):
            await artifacts.build_submission(artifacts.prepare_problem(plain_problem()), submitted("code"))


@pytest.mark.parametrize(
    "killed",
    [
        # The whole job was killed.
        JobResult(run=Ending(signal="SIGKILL", status=StageStatus.SG, message="killed")),
        ended(signal=9),  # the compiler in its sandbox
    ],
)
async def test_build_killed_without_exceeding_limit_is_judge_failure(
    tmp_path: Path, killed: JobResult
) -> None:
    async with opened(tmp_path, unconfined(killed)) as artifacts:
        with pytest.raises(JudgeFailure, match="killed or stopped twice"):
            await artifacts.build_submission(artifacts.prepare_problem(plain_problem()), submitted("code"))


async def test_compile_error_by_cpu_limit_is_not_reused_under_higher_limit(tmp_path: Path) -> None:
    """Both builds have the same source and the same store."""
    stopped = JobResult(compile=Ending(signal="SIGKILL", status=StageStatus.TO, message=CPU_LIMIT), run=CUT)
    refusing, taking = Server(stopped), Server(GOOD)
    for server, seconds, kind in (
        (refusing, 1, CompileError),
        (refusing, 1, CompileError),
        (taking, 2, BuildSuccess),
    ):
        async with opened(tmp_path, server) as artifacts:
            patient = Artifacts(artifacts.builder, BuildLimits(cpu_time=seconds))
            assert isinstance(
                await patient.build_submission(patient.prepare_problem(plain_problem()), submitted("code")),
                kind,
            )
    assert len(refusing.jobs) == 1, "the second build used the cache"


@pytest.mark.parametrize(
    "log",
    [
        "graders/sum.cpp:1:10: fatal error: gmpxx.h: No such file or directory",
        "submission.hs:1:1: error:\n    Could not find module Data.Vector",
        "submission.hs:1:1: error:\n    Could not load module Data.Text",
        "submission.pas(1,6) Fatal: Can't find unit gmp used by submission",
    ],
)
async def test_compile_error_from_missing_library_is_not_cached(tmp_path: Path, log: str) -> None:
    """A toolchain's identity does not include all libraries."""
    async with opened(tmp_path, unconfined(ended(code=1, log=log))) as artifacts:
        refused = await artifacts.build_submission(
            artifacts.prepare_problem(plain_problem()), submitted("code")
        )
    async with opened(tmp_path, unconfined(ended(made=True))) as artifacts:
        built = await artifacts.build_submission(
            artifacts.prepare_problem(plain_problem()), submitted("code")
        )
    assert isinstance(refused, CompileError) and refused.log == log
    assert isinstance(built, BuildSuccess)


# -----------------------------------------------------------------------------------------------------


def tools(version: str) -> Mapping[str, Toolchain]:
    return {"g++": Toolchain(command="g++", path=f"/opt/{version}/g++", version=version, identity=version)}


def offers(offered: Mapping[str, Mapping[str, Toolchain]]) -> Mapping[str, tuple[Toolchain, ...]]:
    return {"g++": tuple(tools["g++"] for tools in offered.values())}


async def test_build_records_the_compiler_of_its_endpoint(tmp_path: Path) -> None:
    offered = {"http://a": tools("8.3"), "http://b": tools("12.2")}
    server = Server(msgspec.structs.replace(GOOD, toolchains=offered["http://b"]), offers=offers(offered))
    async with opened(tmp_path, server) as artifacts:
        built = await artifacts.build_submission(
            artifacts.prepare_problem(plain_problem()), submitted("code")
        )
        second_build = await artifacts.build_submission(
            artifacts.prepare_problem(plain_problem()), submitted("code")
        )
    assert built.compiler == second_build.compiler == "g++ 12.2"
    (job,) = server.jobs
    assert b"g++ -pass-exit-codes" in job.files[0].content.read(), (
        "the command has no path, because the servers' paths differ"
    )


@pytest.mark.parametrize(
    ("result", "runtimes"),
    [
        (JobResult(compile=Ending(code=90, stderr="unknown -std"), run=Ending(code=90)), ("ioi_eval",)),
        (JobResult(run=Ending(stdout="ioi-eval 1 code 90\nioi-eval 1 end\n", code=0)), ("bash",)),
    ],
)
async def test_compiler_that_fails_on_control_program_is_judge_failure(
    tmp_path: Path, result: JobResult, runtimes: tuple[str, ...]
) -> None:
    async with opened(tmp_path, Server(result, runtimes=runtimes)) as artifacts:
        with pytest.raises(JudgeFailure, match="cannot build even an empty program"):
            await artifacts.build_submission(artifacts.prepare_problem(plain_problem()), submitted("code"))


@pytest.mark.parametrize(
    ("result", "profile", "variable"),
    [
        (JobResult(compile=CUT, run=CUT), {"max_compile_time": 10_000}, "PISTON_COMPILE_TIMEOUT"),
        (
            JobResult(compile=CUT, run=CUT),
            {"max_compile_time": 60_000, "strict": True},
            "PISTON_COMPILE_TIMEOUT.* 300000 or more, on a worker --set compile-timeout=300$",
        ),
        (
            JobResult(run=CUT),
            {"max_run_time": 60_000, "runtimes": ("bash",)},
            "PISTON_RUN_TIMEOUT on it to 330000 or more, on a worker --set run-timeout=330$",
        ),
        (JobResult(run=CUT), {"max_run_time": 3000, "runtimes": ("bash",)}, "PISTON_RUN_TIMEOUT"),
        (JobResult(run=CUT), {"max_run_cpu_time": 3000, "runtimes": ("bash",)}, "PISTON_RUN_CPU_TIME"),
    ],
)
async def test_build_stopped_by_server_limit_is_judge_failure(
    tmp_path: Path, result: JobResult, profile: dict[str, Any], variable: str
) -> None:
    async with opened(tmp_path, Server(result, **profile)) as artifacts:
        with pytest.raises(JudgeFailure, match=variable):
            await artifacts.build_submission(artifacts.prepare_problem(plain_problem()), submitted("code"))


@pytest.mark.parametrize(
    ("result", "runtimes"),
    [(JobResult(compile=CUT, run=CUT), ("ioi_eval",)), (JobResult(run=CUT), ("bash",))],
)
async def test_build_stopped_by_own_limit_is_compile_error_and_not_cached(
    tmp_path: Path, result: JobResult, runtimes: tuple[str, ...]
) -> None:
    server = Server(result, runtimes=runtimes, max_compile_time=60_000, max_run_time=900_000)
    async with opened(tmp_path, server) as artifacts:
        for _ in range(2):
            built = await artifacts.build_submission(
                artifacts.prepare_problem(plain_problem()), submitted("code")
            )
            assert isinstance(built, CompileError)
    assert len(server.jobs) == 4, "each build was tried twice"


async def test_damaged_delivery_is_retried_then_judge_failure(tmp_path: Path) -> None:
    half = Ending(stdout=delivered().stdout[:-20], code=0)
    server = Server(JobResult(compile=Ending(code=0), run=half))
    async with opened(tmp_path, server) as artifacts:
        with pytest.raises(JudgeFailure, match="is damaged"):
            await artifacts.build_submission(artifacts.prepare_problem(plain_problem()), submitted("code"))
    assert len(server.jobs) == 4


@pytest.mark.parametrize(
    "run",
    [
        Ending(stdout="ioi-eval 1 too-large artifact 64000001\n", code=0),
        Ending(
            stdout=f"ioi-eval 1 artifact 9 {'0' * 64} 64000001\nH4sI", signal="SIGKILL", status=StageStatus.OL
        ),
    ],
    ids=["told", "cut off"],
)
async def test_artifact_too_large_to_deliver_is_uncached_compile_error(tmp_path: Path, run: Ending) -> None:
    """For a checker, too large an artifact is a judge failure.

    The compile error is not cached, because an engine that takes paths can judge the program.
    """
    server = Server(JobResult(compile=Ending(code=0), run=run))
    async with opened(tmp_path, server) as artifacts:
        for _ in range(2):
            built = await artifacts.build_submission(
                artifacts.prepare_problem(plain_problem()), submitted("code")
            )
            assert isinstance(built, CompileError) and "needs 64000001 bytes" in built.log
        with pytest.raises(JudgeFailure, match="needs 64000001 bytes"):
            await artifacts.build_trusted_program(artifacts.prepare_problem(checked_problem()), CHECKER)
    assert len(server.jobs) == 3


async def test_artifact_forged_by_failed_compile_stage_is_ignored(tmp_path: Path) -> None:
    """Servers repeat fields of the compile stage in the run stage."""
    forged = Ending(stdout=delivered().stdout, code=1, status=StageStatus.RE)
    async with opened(tmp_path, Server(JobResult(compile=forged, run=forged))) as artifacts:
        built = await artifacts.build_submission(
            artifacts.prepare_problem(plain_problem()), submitted("code")
        )
    assert isinstance(built, CompileError)


@pytest.mark.parametrize(("architecture", "is_local"), [("x86_64", True), ("aarch64", False)])
async def test_checkers_are_built_locally_if_architecture_matches(
    tmp_path: Path, architecture: str, is_local: bool
) -> None:
    client, server = FakeEngine(), Server(GOOD, architecture=architecture)
    async with client, opened(tmp_path, server, trusted=client) as artifacts:
        checker = await artifacts.build_trusted_program(artifacts.prepare_problem(checked_problem()), CHECKER)
        proctor = await artifacts.build_proctor()
        await artifacts.build_submission(artifacts.prepare_problem(plain_problem()), submitted("code"))
    assert checker is not None
    assert (len(client.jobs), len(server.jobs)) == ((1, 1) if is_local else (0, 3))
    assert (proctor == Blob.of(b"a fake proctor")) is is_local


async def test_server_without_shell_runtime_is_reported_as_such_not_as_missing_compiler(
    tmp_path: Path,
) -> None:
    async with opened(tmp_path, Server(GOOD, runtimes=("python",), toolchains={})) as artifacts:
        with pytest.raises(JudgeFailure, match="no runtime that starts a shell script") as caught:
            await artifacts.build_submission(artifacts.prepare_problem(plain_problem()), submitted("code"))
    assert "package `bash`" in caught.value.remedy


class Changing(Server):
    """An engine whose compiler changes at its first job, so that the job no longer fits."""

    async def execute(self, job: Job, check: object = None) -> JobResult:
        (accepted,) = job.accepted_toolchains["g++"]
        if not self.jobs:
            self.jobs.append(job)
            self._profile = msgspec.structs.replace(self._profile, toolchains=tools("13"))
            raise ToolchainGone("no server has the g++ that the job was made for")
        assert accepted == "13"
        result = await super().execute(job, check)
        return msgspec.structs.replace(result, toolchains=tools("13"))


async def test_build_is_cached_under_its_compiler_after_upgrade(tmp_path: Path) -> None:
    server = Changing(GOOD, toolchains=tools("12"))
    async with opened(tmp_path, server) as artifacts:
        built = await artifacts.build_submission(
            artifacts.prepare_problem(plain_problem()), submitted("code")
        )
        assert (built.compiler, getattr(built, "toolchain", "")) == ("g++ 13", "13")
        assert len(server.jobs) == 2
        assert (
            await artifacts.build_submission(artifacts.prepare_problem(plain_problem()), submitted("code"))
            == built
        )
        assert len(server.jobs) == 2, "the cached build is used"
    other = Server(msgspec.structs.replace(GOOD, toolchains=tools("12")), toolchains=tools("12"))
    async with opened(tmp_path, other) as artifacts:
        built = await artifacts.build_submission(
            artifacts.prepare_problem(plain_problem()), submitted("code")
        )
    assert built.compiler == "g++ 12" and len(other.jobs) == 1, "the build by g++ 13 is not reused"


async def test_cached_build_is_reused_while_its_compiler_is_offered(tmp_path: Path) -> None:
    both = {"http://a": tools("12"), "http://b": tools("13")}
    compilers_and_jobs: list[tuple[str, int]] = []
    for offered in (both, {"http://b": both["http://b"]}, {"http://a": both["http://a"]}):
        result = msgspec.structs.replace(GOOD, toolchains=list(offered.values())[-1])
        server = Server(result, offers=offers(offered))
        async with opened(tmp_path, server) as artifacts:
            built = await artifacts.build_submission(
                artifacts.prepare_problem(plain_problem()), submitted("code")
            )
        compilers_and_jobs.append((built.compiler, len(server.jobs)))
    assert compilers_and_jobs == [("g++ 13", 1), ("g++ 13", 0), ("g++ 12", 1)]
