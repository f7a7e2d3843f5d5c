from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from borrowed_engine import artifacts_on
from support.builds import HELLO, checked_problem, graded_problem, opened, plain_problem, submitted
from support.engines import CPU_LIMIT, HARD_STOP, IDLED, BuildSuccess, CompileError, Fault, fake_capabilities

from ioi_eval import Scorer, Store
from ioi_eval.errors import (
    BrokenReply,
    CheckerBroken,
    EngineOverloaded,
    EngineUnavailable,
    InputError,
    JobRejected,
    JudgeFailure,
)
from ioi_eval.judge.programs import Artifacts
from ioi_eval.judge.recipes import CHECKER
from ioi_eval.models import (
    Blob,
    BuildLimits,
    BuildOptions,
    Capabilities,
    Checker,
    CheckerKind,
    Ending,
    Job,
    JobResult,
    Limits,
    NamedBlob,
    StageStatus,
    Test,
    Toolchain,
)
from ioi_eval.store.resources import load_proctor_sources
from ioi_eval.testing import FakeEngine, Fatal

pytestmark = pytest.mark.usefixtures("no_retry_waits")

NOTHING_AHEAD = BuildOptions(precompile=False)


def made_of(outcome: BuildSuccess | CompileError) -> Blob:
    assert isinstance(outcome, BuildSuccess)
    return outcome.artifact


def refusing(rejected: str) -> Callable[[str], str | None]:
    return lambda source: f"x.cpp:1: error: {rejected}\n" if rejected in source else None


async def test_build_job_contains_sources_and_script_without_tests(tmp_path: Path) -> None:
    engine = FakeEngine()
    async with opened(tmp_path, engine) as artifacts:
        built = await artifacts.build_submission(
            artifacts.prepare_problem(graded_problem()), submitted("code")
        )
    (job,) = engine.jobs
    assert isinstance(built, BuildSuccess)
    assert [file.name for file in job.files] == [
        "compile",
        "ioi-eval-control.cpp",
        "graders/grader.cpp",
        "graders/sum.h",
        "graders/sum.cpp",
    ]
    assert (job.keep, job.stdin, job.args) == (("submission",), "", ())
    assert (job.compile_timeout, job.compile_cpu_time, job.compile_memory_limit) == (30000, 30000, 2 << 30)


async def test_local_proctor_is_used_only_if_server_has_same_architecture(tmp_path: Path) -> None:
    """Locally built programs run only on servers of the same architecture."""
    engine, local_engine = FakeEngine(), FakeEngine()
    server_proctor, local_proctor = Blob.of(b"of the servers"), Blob.of(b"built here")
    engine.capabilities_value = msgspec.structs.replace(fake_capabilities(), proctor=server_proctor)
    local_engine.capabilities_value = msgspec.structs.replace(fake_capabilities(), proctor=local_proctor)
    async with engine, local_engine, artifacts_on(engine, Store(tmp_path), trusted=local_engine) as artifacts:
        for architecture, proctor in (
            ("x86_64", local_proctor),
            ("aarch64", server_proctor),
            ("x86_64", local_proctor),
        ):
            engine.capabilities_value = msgspec.structs.replace(
                engine.capabilities_value, architecture=architecture
            )
            assert [await artifacts.build_proctor() for _ in range(2)] == [proctor, proctor]


async def test_same_source_is_built_once_for_all_callers_and_processes(tmp_path: Path) -> None:
    engine = FakeEngine(delay=0.01)
    async with opened(tmp_path, engine) as artifacts:
        builds = [
            artifacts.build_submission(artifacts.prepare_problem(plain_problem()), submitted(key=str(key)))
            for key in range(5)
        ]
        blobs = {made_of(built) for built in await asyncio.gather(*builds)}
    assert (len(engine.builds), len(blobs)) == (1, 1)
    later = FakeEngine()
    async with opened(tmp_path, later) as artifacts:
        rebuilt = await artifacts.build_submission(artifacts.prepare_problem(plain_problem()), submitted())
    assert (later.builds, {made_of(rebuilt)}) == ([], blobs)
    assert made_of(rebuilt).read().decode() == HELLO
    assert rebuilt.compiler == "g++ 1.0"


@pytest.mark.parametrize(
    "pair",
    [
        ("int main() {} // a\n", "int main() {} // b\n"),
        (
            '#define F(a) a\nF("a"R"(" )" /* A */ " ; //");\n',
            '#define F(a) a\nF("a"R"(" )" /* AB */ " ; //");\n',
        ),
        ('F(x\u0301R"(" )" /* A */ " ; //");\n', 'F(x\u0301R"(" )" /* AB */ " ; //");\n'),
    ],
    ids=["comments", "a literal's suffix", "a combining mark"],
)
async def test_sources_that_differ_only_in_comments_are_built_separately(
    tmp_path: Path, pair: tuple[str, str]
) -> None:
    engine = FakeEngine()
    async with opened(tmp_path, engine) as artifacts:
        artifacts_built = {
            made_of(
                await artifacts.build_submission(
                    artifacts.prepare_problem(plain_problem()), submitted(source)
                )
            )
            for source in pair
        }
    assert (len(engine.builds), len(artifacts_built)) == (2, 2)


async def test_store_smaller_than_a_program_still_builds_it(tmp_path: Path) -> None:
    """With a store limit of 10 MB, C++ programs must not all be CE."""
    store = Store(tmp_path / "store", limit=10)
    async with FakeEngine() as engine, artifacts_on(engine, store, NOTHING_AHEAD) as artifacts:
        for source in (HELLO, HELLO + ";", HELLO):
            assert isinstance(
                await artifacts.build_submission(
                    artifacts.prepare_problem(plain_problem()), submitted(source)
                ),
                BuildSuccess,
            )


async def test_program_too_large_for_store_is_compile_error(tmp_path: Path) -> None:
    store = Store(tmp_path / "store")
    store.largest = len(HELLO)
    async with FakeEngine() as engine, artifacts_on(engine, store, NOTHING_AHEAD) as artifacts:
        largest_allowed = await artifacts.build_submission(
            artifacts.prepare_problem(plain_problem()), submitted()
        )
        large = [
            await artifacts.build_submission(
                artifacts.prepare_problem(plain_problem()), submitted(HELLO + ";")
            )
            for _ in range(2)
        ]
    assert isinstance(largest_allowed, BuildSuccess)
    assert isinstance(large[0], CompileError) and large == large[:1] * 2
    expected_log = f"The program has {len(HELLO) + 1} bytes, more than the maximum of {len(HELLO)}."
    assert large[0].log == expected_log
    assert len(engine.builds) == 2, "the second failure is from the cache"


async def test_compile_error_is_cached_with_log(tmp_path: Path) -> None:
    engine = FakeEngine(compile_errors=refusing("bad"))
    async with opened(tmp_path, engine) as artifacts:
        first = await artifacts.build_submission(artifacts.prepare_problem(plain_problem()), submitted("bad"))
        second = await artifacts.build_submission(
            artifacts.prepare_problem(plain_problem()), submitted("bad")
        )
    assert first == second
    assert isinstance(first, CompileError) and first.log == "x.cpp:1: error: bad"
    assert len(engine.builds) == 1


@pytest.mark.parametrize(
    ("status", "message"),
    [(StageStatus.TO, CPU_LIMIT), (StageStatus.OL, None), (StageStatus.SG, "Memory limit exceeded")],
)
async def test_build_over_limit_is_cached_for_same_limits(
    tmp_path: Path, status: StageStatus, message: str | None
) -> None:
    store = Store(tmp_path / "store")
    engine = FakeEngine(faults=[Ending(signal="SIGKILL", status=status, message=message)])
    async with engine, artifacts_on(engine, store, NOTHING_AHEAD) as artifacts:
        first = await artifacts.build_submission(artifacts.prepare_problem(plain_problem()), submitted())
        second = await artifacts.build_submission(artifacts.prepare_problem(plain_problem()), submitted())
        assert isinstance(first, CompileError) and first == second and len(engine.builds) == 1
        assert "The compiler was stopped" in first.log
        larger = Artifacts(artifacts.builder, BuildLimits(memory=4 << 30))
        assert isinstance(
            await larger.build_submission(larger.prepare_problem(plain_problem()), submitted()), BuildSuccess
        )


STOPPED = Ending(signal="SIGKILL", status=StageStatus.TO, message=HARD_STOP)
KILLED = Ending(signal="SIGKILL", status=StageStatus.SG, message="Caught fatal signal 9")


@pytest.mark.parametrize("ended", [STOPPED, KILLED, Ending(code=137, status=StageStatus.RE)])
async def test_build_killed_from_outside_is_retried_once(tmp_path: Path, ended: Ending) -> None:
    engine = FakeEngine(faults=[ended])
    async with opened(tmp_path, engine) as artifacts:
        assert isinstance(
            await artifacts.build_submission(artifacts.prepare_problem(plain_problem()), submitted()),
            BuildSuccess,
        )
    assert [job.exclusive for job in engine.builds] == [False, False]


async def test_build_that_is_stopped_twice_is_uncached_compile_error(tmp_path: Path) -> None:
    engine = FakeEngine(faults=[STOPPED, STOPPED])
    async with opened(tmp_path, engine) as artifacts:
        first = await artifacts.build_submission(artifacts.prepare_problem(plain_problem()), submitted())
        second = await artifacts.build_submission(artifacts.prepare_problem(plain_problem()), submitted())
    assert (type(first), type(second)) == (CompileError, BuildSuccess)
    assert first.log == "The compiler was stopped: it took too long."


async def test_build_idle_twice_is_cached_compile_error(tmp_path: Path) -> None:
    idled = Ending(signal="SIGKILL", status=StageStatus.TO, message=IDLED)
    engine = FakeEngine(faults=[idled, idled])
    async with opened(tmp_path, engine) as artifacts:
        first = await artifacts.build_submission(artifacts.prepare_problem(plain_problem()), submitted())
        second = await artifacts.build_submission(artifacts.prepare_problem(plain_problem()), submitted())
    assert isinstance(first, CompileError) and first == second
    assert first.log == "The compiler was stopped: it did nothing for 3 s."
    assert [job.exclusive for job in engine.builds] == [False, False]


async def test_build_killed_twice_is_judge_failure(tmp_path: Path) -> None:
    engine = FakeEngine(faults=[KILLED, KILLED])
    async with opened(tmp_path, engine) as artifacts:
        with pytest.raises(JudgeFailure, match="killed or stopped twice while it built a submission"):
            await artifacts.build_submission(artifacts.prepare_problem(plain_problem()), submitted())


CRASH = Ending(stdout="internal compiler error: Segmentation fault", code=4, status=StageStatus.RE)


async def test_compiler_crash_is_retried_once(tmp_path: Path) -> None:
    engine = FakeEngine(faults=[CRASH])
    async with opened(tmp_path, engine) as artifacts:
        assert isinstance(
            await artifacts.build_submission(artifacts.prepare_problem(plain_problem()), submitted()),
            BuildSuccess,
        )
    assert len(engine.builds) == 2


async def test_compiler_refusal_exit_code_is_not_retried(tmp_path: Path) -> None:
    go = Toolchain(command="go", path="/usr/bin/go", version="1.19", identity="go 1.19")
    profile = msgspec.structs.replace(fake_capabilities(), toolchains={"go": go})
    refused = Ending(stdout="./sum.go:1: undefined: x", code=2, status=StageStatus.RE)
    engine = FakeEngine(capabilities=profile, faults=[refused])
    async with opened(tmp_path, engine) as artifacts:
        assert isinstance(
            await artifacts.build_submission(
                artifacts.prepare_problem(plain_problem()), submitted("x", "go")
            ),
            CompileError,
        )
    assert len(engine.builds) == 1


async def test_source_crashing_compiler_twice_is_cached_compile_error(tmp_path: Path) -> None:
    engine = FakeEngine(faults=[CRASH, CRASH])
    async with opened(tmp_path, engine) as artifacts:
        first = await artifacts.build_submission(artifacts.prepare_problem(plain_problem()), submitted())
        second = await artifacts.build_submission(artifacts.prepare_problem(plain_problem()), submitted())
    assert isinstance(first, CompileError) and second == first, "an equal submission uses the cached failure"
    assert "internal compiler error" in first.log and len(engine.builds) == 2


@pytest.mark.parametrize("reason", ["Cannot allocate memory", "Killed signal terminated program cc1plus"])
async def test_compiler_out_of_space_twice_is_uncached_compile_error(tmp_path: Path, reason: str) -> None:
    short = msgspec.structs.replace(CRASH, stdout=f"g++: fatal error: {reason}", code=1)
    engine = FakeEngine(faults=[short, short])
    async with opened(tmp_path, engine) as artifacts:
        first = await artifacts.build_submission(artifacts.prepare_problem(plain_problem()), submitted())
        second = await artifacts.build_submission(artifacts.prepare_problem(plain_problem()), submitted())
    assert (type(first), type(second)) == (CompileError, BuildSuccess)
    assert [job.exclusive for job in engine.builds] == [False] * 3


async def test_machine_failing_control_program_is_judge_failure(tmp_path: Path) -> None:
    stage = Ending(stderr="cc1plus: No space left on device", code=90, status=StageStatus.RE)
    async with opened(tmp_path, FakeEngine(faults=[stage])) as artifacts:
        with pytest.raises(
            JudgeFailure, match=r"g\+\+ 1\.0 cannot build even an empty program.*No space.*doctor"
        ):
            await artifacts.build_submission(artifacts.prepare_problem(plain_problem()), submitted())


FAULTY = Ending(stderr="compile: .ioi-eval-code: Permission denied", code=90, status=StageStatus.RE)
TEMPLATE = "{-# LANGUAGE TemplateHaskell #-}\nmain = $(undefined)\n"


@pytest.mark.parametrize("stages", [[FAULTY], [KILLED, KILLED]])
async def test_haskell_source_that_kills_its_build_is_a_compile_error(
    tmp_path: Path, stages: list[Ending]
) -> None:
    """It can kill all processes of its sandbox or close the folder, and must not be unscored for that."""
    ghc = Toolchain(command="ghc", path="/usr/bin/ghc", version="9", identity="ghc 9")
    profile = msgspec.structs.replace(fake_capabilities(), toolchains={"ghc": ghc})
    for number, (code, more) in enumerate([(TEMPLATE, []), (TEMPLATE, [FAULTY]), ("main = print 1\n", [])]):
        engine = FakeEngine(capabilities=profile, faults=[*stages, *more])
        async with opened(tmp_path / str(number), engine) as artifacts:
            build = artifacts.build_submission(
                artifacts.prepare_problem(plain_problem()), submitted(code, "haskell")
            )
            if number:
                with pytest.raises(JudgeFailure):
                    await build
                continue
            refused = await build
        assert isinstance(refused, CompileError) and refused.log.endswith("has stopped the build.")
        sent = {file.name: file.content.read() for file in engine.builds[-1].files}
        assert b"Template" not in b"".join(sent.values()) and "graders/submission.hs" in sent


async def test_missing_compiler_is_judge_failure_with_remedy(tmp_path: Path) -> None:
    without_compiler = msgspec.structs.replace(fake_capabilities(), toolchains={})
    async with opened(tmp_path, FakeEngine(capabilities=without_compiler)) as artifacts:
        with pytest.raises(JudgeFailure, match=r"no g\+\+.*Install g\+\+"):
            await artifacts.build_submission(artifacts.prepare_problem(plain_problem()), submitted())


@pytest.mark.parametrize(
    "fault",
    [EngineUnavailable("down"), EngineOverloaded("full"), BrokenReply("half"), Fatal(reason="no room")],
)
async def test_temporary_fault_in_build_is_retried_then_judge_failure(tmp_path: Path, fault: Fault) -> None:
    engine = FakeEngine(faults=[fault, fault, fault])
    async with opened(tmp_path, engine) as artifacts:
        assert isinstance(
            await artifacts.build_submission(artifacts.prepare_problem(plain_problem()), submitted()),
            BuildSuccess,
        )
    assert len(engine.jobs) == 4
    async with opened(tmp_path / "other", FakeEngine(faults=[fault] * 4)) as artifacts:
        with pytest.raises(JudgeFailure, match="compiling"):
            await artifacts.build_submission(artifacts.prepare_problem(plain_problem()), submitted())


async def test_rejected_build_job_is_not_retried(tmp_path: Path) -> None:
    engine = FakeEngine(faults=[JobRejected("too many files")])
    async with opened(tmp_path, engine) as artifacts:
        with pytest.raises(JudgeFailure, match="too many files"):
            await artifacts.build_submission(artifacts.prepare_problem(plain_problem()), submitted())
    assert len(engine.jobs) == 1


# --- programs of a problem ---------------------------------------------------------------------------


async def test_checker_that_does_not_compile_is_checker_broken(tmp_path: Path) -> None:
    engine = FakeEngine(compile_errors=refusing("oops"))
    async with opened(tmp_path, engine) as artifacts:
        with pytest.raises(CheckerBroken) as caught:
            await artifacts.build_problem_programs(artifacts.prepare_problem(checked_problem("oops")))
    message = str(caught.value)
    assert message.startswith(
        "problems/sum: the checker checker/checker.cpp does not compile: x.cpp:1: error"
    )
    assert isinstance(caught.value, InputError)
    assert "error: oops" in caught.value.log
    assert "\n" not in message


async def test_checker_is_built_once(tmp_path: Path) -> None:
    engine = FakeEngine()
    async with opened(tmp_path, engine) as artifacts:
        await artifacts.build_problem_programs(artifacts.prepare_problem(checked_problem()))
        first = await artifacts.build_trusted_program(artifacts.prepare_problem(checked_problem()), CHECKER)
    assert first is not None
    assert len(engine.builds) == 1
    assert engine.builds[0].files[-1].name == "checker/checker.cpp"


class Meeting(FakeEngine):
    """An engine on which no build continues before two have started."""

    def __init__(self, profile: Capabilities) -> None:
        super().__init__(capabilities=profile)
        self._door = asyncio.Barrier(2)

    async def execute(self, job: Job, check: object = None) -> JobResult:
        if job.keep:
            async with asyncio.timeout(60):
                await self._door.wait()
        return await super().execute(job, check)


async def test_checker_and_proctor_are_built_in_parallel(tmp_path: Path) -> None:
    engine = Meeting(msgspec.structs.replace(fake_capabilities(), proctor=None))
    async with opened(tmp_path, engine) as artifacts:
        await artifacts.build_problem_programs(artifacts.prepare_problem(checked_problem()))
    assert len(engine.builds) == 2


async def test_first_submission_and_checker_are_built_in_parallel(tmp_path: Path) -> None:
    engine, test = Meeting(fake_capabilities()), Test(name="1", input=Blob.of("1"), answer=Blob.of("1"))
    async with Scorer(engine, store=Store(tmp_path / "store")) as scorer:
        built = msgspec.structs.replace(checked_problem(), tests=(test,))
        result = await scorer.score(built, submitted())
    assert result.compiles and len(engine.builds) == 2


@pytest.mark.parametrize("kind", [CheckerKind.WHITE_DIFF, CheckerKind.STRIPPED])
async def test_builtin_checkers_need_no_build(tmp_path: Path, kind: CheckerKind) -> None:
    engine = FakeEngine()
    async with opened(tmp_path, engine) as artifacts:
        assert (
            await artifacts.build_trusted_program(
                artifacts.prepare_problem(plain_problem(checker=Checker(kind=kind))), CHECKER
            )
            is None
        )
    assert engine.jobs == []


async def test_checker_without_source_is_input_error(tmp_path: Path) -> None:
    async with opened(tmp_path, FakeEngine()) as artifacts:
        with pytest.raises(InputError, match="the checker's source is missing"):
            await artifacts.build_trusted_program(
                artifacts.prepare_problem(plain_problem(checker=Checker(kind=CheckerKind.CMS))), CHECKER
            )


async def test_engine_without_proctor_builds_it_from_sources_once(tmp_path: Path) -> None:
    engine = FakeEngine(capabilities=msgspec.structs.replace(fake_capabilities(), proctor=None))
    async with opened(tmp_path, engine) as artifacts:
        assert (await artifacts.build_proctor()).size > 0
        await artifacts.build_proctor()
    (job,) = engine.jobs
    assert {"plan.cpp", "plan.hpp"} <= {file.name for file in job.files}


async def test_proctor_sources_are_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read_folders: list[Path] = []

    def counting(folder: Path) -> list[NamedBlob]:
        read_folders.append(folder)
        return load_proctor_sources(folder)

    monkeypatch.setattr("ioi_eval.judge.programs.load_proctor_sources", counting)
    async with opened(
        tmp_path, FakeEngine(capabilities=msgspec.structs.replace(fake_capabilities(), proctor=None))
    ) as artifacts:
        proctor_builds = [await artifacts.build_proctor() for _ in range(5)]
    assert (len(read_folders), len(set(proctor_builds))) == (1, 1)


# --- no leftovers ------------------------------------------------------------------------------------


def still_there(path: str) -> bool:
    return os.path.lexists(path)


async def test_files_fetched_by_the_engine_are_deleted_after_the_build(tmp_path: Path) -> None:
    handed: list[str] = []

    class Watched(FakeEngine):
        async def execute(self, job: Job, check: object = None) -> JobResult:
            result = await super().execute(job, check)
            handed.extend(result.kept.values())
            return result

    async with opened(tmp_path, Watched()) as artifacts:
        await artifacts.build_submission(artifacts.prepare_problem(plain_problem()), submitted())
        assert not still_there(handed[0])
    assert len(handed) == 1


async def test_cancelled_build_leaves_no_job_and_can_be_repeated(tmp_path: Path) -> None:
    engine = FakeEngine(delay=30)
    async with opened(tmp_path, engine) as artifacts:
        task = asyncio.create_task(
            artifacts.build_submission(artifacts.prepare_problem(plain_problem()), submitted())
        )
        await engine.started.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert engine.running == 0
        engine.delay = 0
        assert isinstance(
            await artifacts.build_submission(artifacts.prepare_problem(plain_problem()), submitted()),
            BuildSuccess,
        )


async def test_damaged_artifact_is_built_again(tmp_path: Path) -> None:
    engine = FakeEngine()
    async with opened(tmp_path, engine) as artifacts:
        built = await artifacts.build_submission(artifacts.prepare_problem(plain_problem()), submitted())
        path = made_of(built).path
        assert path is not None
        os.truncate(path, 3)
        rebuilt = await artifacts.build_submission(artifacts.prepare_problem(plain_problem()), submitted())
    assert made_of(rebuilt).read().decode() == HELLO
    assert len(engine.builds) == 2


async def test_artifact_in_use_outlives_eviction(tmp_path: Path) -> None:
    engine = FakeEngine()
    async with engine, artifacts_on(engine, Store(tmp_path / "store", limit=48)) as artifacts:
        first = await artifacts.build_submission(artifacts.prepare_problem(plain_problem()), submitted("one"))
        await artifacts.build_submission(artifacts.prepare_problem(plain_problem()), submitted("two"))
        assert made_of(first).read() == b"one"


async def test_evicted_checker_is_built_again_for_same_problem(tmp_path: Path) -> None:
    engine, shared_problem = FakeEngine(), checked_problem()
    async with opened(tmp_path, engine) as artifacts:
        first = await artifacts.build_trusted_program(artifacts.prepare_problem(shared_problem), CHECKER)
        second_build = await artifacts.build_trusted_program(
            artifacts.prepare_problem(shared_problem), CHECKER
        )
        assert first is not None and second_build == first and len(engine.jobs) == 1
        assert first.file.content.path is not None
        shutil.rmtree(Path(first.file.content.path).parents[1])
        third_build = await artifacts.build_trusted_program(
            artifacts.prepare_problem(shared_problem), CHECKER
        )
    assert third_build is not None and third_build.file.content.read() and len(engine.jobs) == 2


async def test_problems_of_same_name_are_distinguished_by_content() -> None:
    """Even if they have the same memory address at different times."""
    engine = FakeEngine({0: 1.0})
    test = Test(name="a", input=Blob.of("1"), answer=Blob.of("1"))
    async with Scorer(engine) as scorer:
        for number in range(1, 20):
            problem = graded_problem(tests=(test,), limits=Limits(cpu_time=float(number)))
            assert (await scorer.score(problem, submitted("code"))).points == 1
            plan = next(file for file in engine.runs[-1].files if file.name == "plan.json")
            assert msgspec.json.decode(plan.content.read())["limits"]["cpu_ms"] == 1000 * number


async def test_judges_with_different_options_share_no_plan() -> None:
    engine = FakeEngine({0: 1.0})
    problem = graded_problem(tests=(Test(name="a", input=Blob.of("1"), answer=Blob.of("1")),))
    async with Scorer(engine) as scorer:
        for echo in (0, 10, 0):
            judge = scorer.make_judge(all_tests=False, borderline=None, echo=echo)
            await judge.judge(problem, submitted("code"))
            plan = next(file for file in engine.runs[-1].files if file.name == "plan.json")
            assert msgspec.json.decode(plan.content.read())["echo"] == echo
