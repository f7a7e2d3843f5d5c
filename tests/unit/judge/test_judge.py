from __future__ import annotations

import asyncio
import tracemalloc
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import numpy
import pytest
from judge_samples import problem, some_tests, submission, subtask
from support.engines import Fault

from ioi_eval import JudgeOptions, Scorer, Store, score_sync
from ioi_eval.errors import (
    BrokenReply,
    CheckerBroken,
    EngineOverloaded,
    EngineUnavailable,
    InputError,
    IoiEvalError,
    JobRejected,
    JudgeFailure,
)
from ioi_eval.models import (
    Blob,
    Checker,
    CheckerKind,
    Ending,
    Job,
    JobResult,
    Limits,
    NamedBlob,
    StageStatus,
    Test,
)
from ioi_eval.models import Verdict as V
from ioi_eval.testing import Broken, FakeEngine, Fatal, Killed

pytestmark = pytest.mark.usefixtures("no_retry_waits")


@asynccontextmanager
async def scoring(engine: FakeEngine, **options: Any) -> AsyncIterator[Scorer]:
    async with Scorer(engine, options=JudgeOptions(**options)) as scorer:
        yield scorer


# --- problems that are none --------------------------------------------------------------------------

NAN, INF = float("nan"), float("inf")
UNANSWERED = Test(name="t0", input=Blob.of("1"))


def untyped(value: Any) -> Any:
    """Return a value of a wrong type without an error of the type checker."""
    return value


@pytest.mark.parametrize(
    ("changes", "field", "message"),
    [
        ({"tests": (UNANSWERED,)}, "t0", "test 't0' has no answer, which is needed"),
        ({"tests": some_tests(1) * 2}, None, "two tests have the name"),
        *(
            ({"limits": Limits(**{field: value})}, f"limits.{field}", f"{value} is not a valid limit")
            for field in ("cpu_time", "wall_time", "memory", "output")
            for value in (0, -1, NAN, INF, 2**62)
        ),
        ({"limits": Limits.contest(NAN, 1 << 20)}, "limits.cpu_time", "nan is not a valid limit"),
        *(
            ({"subtasks": (subtask("s", points, [0]),)}, "s", f"'s' has {points} points")
            for points in (-10, NAN, INF)
        ),
        *(
            ({"limits": Limits(cpu_time=value)}, "limits.cpu_time", "is not a valid limit")
            for value in (numpy.float64(1), untyped("1"))
        ),
        *(
            ({"checker": Checker(kind=CheckerKind.TOKENS, **{field: value})}, f"checker.{field}", words)
            for field in ("absolute", "relative")
            for value, words in ((NAN, "nan is not a valid tolerance"), (INF, "inf is"), (-1e-9, "-1e-09 is"))
        ),
        *(
            (
                {"subtasks": (msgspec.structs.replace(subtask("s", 1, [0]), threshold=value),)},
                "s",
                f"'s' has {value} threshold",
            )
            for value in (NAN, INF, -1)
        ),
        ({"limits": None}, "Problem", "got `null` - at `"),
        ({"tests": (Test(name=untyped(1), input=Blob.of("1")),)}, "Test", "Expected `str`, got `int`"),
        ({"tests": (Test(name="1", input=untyped("1")),)}, "Test", "got `str` - at `"),
        (
            {"subtasks": (subtask("s", untyped(numpy.int64(1)), [0]),)},
            "Subtask",
            "Expected `float`, got `numpy",
        ),
        ({"task_type": "Batch"}, "Problem.task_type", "'Batch' of the type str"),
        ({"checker": Checker(kind=untyped("tokens"))}, "Checker.kind", "'tokens' of the type str"),
    ],
)
async def test_unjudgeable_problem_is_input_error(
    changes: dict[str, Any], field: str | None, message: str
) -> None:
    """Packages with such values are refused when they are read."""
    wrong = msgspec.structs.replace(problem(1), **changes)
    engine = FakeEngine({0: 1.0})
    async with scoring(engine) as scorer:
        with pytest.raises(InputError, match=message) as caught:
            await scorer.score(wrong, submission())
    assert caught.value.field == (field or wrong.tests[0].name)


@pytest.mark.parametrize("code", [b"print()", NAN, Path("a.py")])
async def test_submission_code_that_is_not_a_str_is_input_error(code: Any) -> None:
    """An empty cell of a data frame is NaN."""
    engine = FakeEngine({0: 1.0})
    async with scoring(engine) as scorer:
        with pytest.raises(InputError, match=r"a program must be a str, not .*Pass a str") as caught:
            await scorer.score(problem(1), msgspec.structs.replace(submission(), code=code))
    assert caught.value.field == "code"


async def test_missing_answer_is_accepted_with_checker() -> None:
    checker = Checker(kind=CheckerKind.CMS, sources=(NamedBlob(name="checker.cpp", content=Blob.of("c")),))
    open_to_it = msgspec.structs.replace(problem(1), tests=(UNANSWERED,), checker=checker)
    async with scoring(FakeEngine({0: 1.0})) as scorer:
        assert [test.status for test in (await scorer.score(open_to_it, submission())).tests] == [V.AC]


# --- verdicts and scores -----------------------------------------------------------------------------


async def test_every_outcome_gets_its_verdict() -> None:
    outcomes = {0: 1.0, 1: 0.5, 2: 0.0, 3: "exit", 4: "signal", 5: "cpu", 6: "wall", 7: "memory", 8: "output"}
    async with scoring(FakeEngine(outcomes), all_tests=True) as scorer:
        result = await scorer.score(problem(9), submission())
    assert [test.status for test in result.tests] == [
        V.AC, V.PA, V.WA, V.RE, V.RE, V.TLE, V.TLE, V.MLE, V.OLE,
    ]  # fmt: skip
    assert (result.compiles, result.points, result.key) == (True, 0.0, "1")
    assert (result.checker, result.compiler) == ("white-diff", "g++ 1.0")
    assert result.confinement == {"fake": True}


async def test_fake_engine_outcome_depends_on_code_and_test() -> None:
    engine = FakeEngine(lambda test: float(test.source == "right" and test.input == b"in 0"))
    async with scoring(engine, all_tests=True) as scorer:
        right = await scorer.score(problem(2), submission("right"))
        wrong = await scorer.score(problem(2), submission("wrong"))
    assert [test.score for test in right.tests + wrong.tests] == [1.0, 0.0, 0.0, 0.0]


async def test_tests_after_decided_subtask_are_skipped() -> None:
    async with scoring(FakeEngine({0: 0.0})) as scorer:
        result = await scorer.score(problem(4), submission())
    assert [test.status for test in result.tests] == [V.WA, V.SKIPPED, V.SKIPPED, V.SKIPPED]
    assert result.subtasks[0].status is V.WA


async def test_judge_with_other_options_uses_its_own_schedule() -> None:
    async with scoring(FakeEngine({0: 0.0})) as scorer:
        same, judge = problem(2), scorer.judge
        for all_tests in (False, True, False):
            result = await judge.with_options(all_tests=all_tests).judge(same, submission())
            assert [test.status for test in result.tests] == [V.WA, V.AC if all_tests else V.SKIPPED]


async def test_tests_held_in_memory_are_freed_with_their_problem() -> None:
    """A trainer's rows contain megabytes of tests, and are rarely judged again."""
    size, problem_count, engine = 4 << 20, 20, FakeEngine()
    async with scoring(engine) as scorer:
        tracemalloc.start()
        try:
            for number in range(2 * problem_count):
                content = Blob.of(number.to_bytes(2, "big") * (size // 2))
                large = problem(tests=(Test(name="1", input=content, answer=Blob.of("")),), subtasks=())
                assert (await scorer.score(large, submission())).points == 1
                engine.jobs.clear()
            assert tracemalloc.get_traced_memory()[0] < problem_count * size
        finally:
            tracemalloc.stop()


async def test_problem_is_prepared_for_each_language() -> None:
    engine, same = FakeEngine(), problem(1)
    async with scoring(engine) as scorer:
        for language in ("c++", "python", "c++"):
            await scorer.score(same, submission(language=language))
    plans = [next(file for file in job.files if file.name == "plan.json") for job in engine.runs]
    argvs = [msgspec.json.decode(plan.content.read())["submission"]["argv"] for plan in plans]
    assert len(argvs[0]) == 1 and argvs[0] == argvs[2] and "python" in argvs[1][0]
    built = [{file.name for file in job.files} for job in engine.builds]
    assert all(len(names & {"graders/sum.py", "graders/sum.cpp"}) == 1 for names in built)
    assert any("graders/sum.py" in names for names in built)


async def test_equal_tests_run_once() -> None:
    twins = tuple(Test(name=name, input=Blob.of("same"), answer=Blob.of("same")) for name in "abc")
    engine = FakeEngine({0: 0.5})
    async with scoring(engine) as scorer:
        result = await scorer.score(problem(tests=twins, subtasks=()), submission())
    assert [(test.test_name, test.score) for test in result.tests] == [("a", 0.5), ("b", 0.5), ("c", 0.5)]
    assert sum(file.name.endswith(".in") for file in engine.runs[0].files) == 1


async def test_equal_tests_are_scored_by_points_of_their_own_group() -> None:
    """Equal tests of groups with different points are separate tests."""
    twins = tuple(Test(name=name, input=Blob.of("x"), full=full) for name, full in (("a", None), ("b", 25.0)))
    checker = Checker(
        kind=CheckerKind.ICPC, sources=(NamedBlob(name="v.cpp", content=Blob.of("")),), full=100
    )
    async with scoring(FakeEngine({0: 0.25, 1: 0.25})) as scorer:
        result = await scorer.score(problem(tests=twins, subtasks=(), checker=checker), submission())
    assert [(test.score, test.status) for test in result.tests] == [(0.25, V.PA), (1.0, V.AC)]


async def test_testlib_ok_scores_full_points_of_test() -> None:
    """Its exit code contains no number of points."""
    tests = (Test(name="a", input=Blob.of("x"), full=20.0), Test(name="b", input=Blob.of("y")))
    sources = (NamedBlob(name="c.cpp", content=Blob.of("")),)
    checker = Checker(kind=CheckerKind.TESTLIB, sources=sources, full=80)
    async with scoring(FakeEngine()) as scorer:
        result = await scorer.score(problem(tests=tests, subtasks=(), checker=checker), submission())
    assert [(test.score, test.status) for test in result.tests] == [(1.0, V.AC), (1.0, V.AC)]


# --- programs that there are not ---------------------------------------------------------------------


async def test_submission_without_code_is_compile_error_without_job() -> None:
    engine = FakeEngine()
    async with scoring(engine) as scorer:
        result = await scorer.score(problem(), submission(None))
    assert engine.jobs == []
    assert (result.compiles, result.points) == (False, 0.0)
    assert {(test.status, test.feedback) for test in result.tests} == {(V.CE, "no code found")}


async def test_compile_error_has_compiler_output_and_runs_no_test() -> None:
    engine = FakeEngine(compile_errors=lambda source: "x.cpp:1: error: no\n")
    async with scoring(engine) as scorer:
        result = await scorer.score(problem(), submission())
    assert (result.compiles, result.compile_output, result.compiler) == (
        False,
        "x.cpp:1: error: no",
        "g++ 1.0",
    )
    assert {test.status for test in result.tests} == {V.CE}
    assert engine.runs == []


@pytest.mark.parametrize(
    "code",
    [
        "",
        "\0\0",
        pytest.param("x" * 1_100_000, id="1 MB"),
        pytest.param("x" * 10_000_000, id="10 MB", marks=pytest.mark.nightly),
        "\ud800",
    ],
)
async def test_any_source_string_is_judged(code: str) -> None:
    async with scoring(FakeEngine()) as scorer:
        assert (await scorer.score(problem(1), submission(code))).points == 100


# --- jobs --------------------------------------------------------------------------------------------


async def test_next_batch_contains_only_undecided_tests() -> None:
    subtasks = (subtask("one", 10, [0, 1, 2]), subtask("two", 10, [3, 4, 5]))
    engine = FakeEngine({0: 0.0})
    async with scoring(engine, max_tests=2) as scorer:
        result = await scorer.score(problem(tests=some_tests(6), subtasks=subtasks), submission())
    assert [sum(file.name.endswith(".in") for file in job.files) for job in engine.runs] == [2, 2, 1]
    assert [test.status for test in result.tests] == [V.WA, V.SKIPPED, V.SKIPPED, V.AC, V.AC, V.AC]


async def test_engine_file_limit_bounds_tests_per_job() -> None:
    engine = FakeEngine()
    engine.capabilities_value = msgspec.structs.replace(engine.capabilities_value, max_files=3)
    async with scoring(engine) as scorer:
        await scorer.score(problem(7), submission())
    assert len(engine.runs) == 3


@pytest.mark.parametrize("torn", [False, True])
async def test_results_printed_before_job_was_killed_count(torn: bool) -> None:
    engine = FakeEngine({1: 0.5}, faults=[None, Killed(after=2, torn=torn), Killed(after=1, torn=torn)])
    async with scoring(engine, all_tests=True) as scorer:
        result = await scorer.score(problem(5), submission())
    assert [test.score for test in result.tests] == [1.0, 0.5, 1.0, 1.0, 1.0]
    names = [[file.name for file in job.files if file.name.endswith(".in")] for job in engine.runs]
    assert names == [
        ["t/0.in", "t/1.in", "t/2.in", "t/3.in", "t/4.in"],
        ["t/2.in", "t/3.in", "t/4.in"],
        ["t/3.in", "t/4.in"],
    ]


async def test_job_without_results_is_retried_once() -> None:
    engine = FakeEngine(faults=[None, Killed()])
    async with scoring(engine) as scorer:
        assert (await scorer.score(problem(), submission())).points == 100
    assert len(engine.runs) == 2


async def test_two_jobs_without_results_are_judge_failure() -> None:
    stage = Ending(signal="SIGKILL", status=StageStatus.SG, message="Memory limit exceeded", stderr="a\x1b b")
    engine = FakeEngine(faults=[None, stage, stage])
    async with scoring(engine) as scorer:
        with pytest.raises(
            JudgeFailure, match=r"on test t0.*killed by SIGKILL.*Memory limit exceeded.*\\x1b"
        ):
            await scorer.score(problem(), submission())
    assert len(engine.runs) == 2


async def test_only_consecutive_jobs_without_results_are_judge_failure() -> None:
    engine = FakeEngine(faults=[None, Killed(), Killed(after=1), Killed(), Killed(after=1), Killed()])
    async with scoring(engine, all_tests=True) as scorer:
        assert (await scorer.score(problem(3), submission())).points == 100


async def test_result_lines_with_wrong_nonce_are_ignored() -> None:
    forged = '{"v":2,"nonce":"0","test":0,"end":"ok","score":1}\n'
    stage = Ending(stdout=forged, code=0)
    async with scoring(FakeEngine(faults=[None, stage, stage])) as scorer:
        with pytest.raises(JudgeFailure, match="judged no test"):
            await scorer.score(problem(), submission())


async def test_every_job_has_a_unique_nonce() -> None:
    engine = FakeEngine()
    async with scoring(engine, max_tests=1) as scorer:
        await scorer.score(problem(3), submission())
    plans = [
        next(file for file in job.files if file.name == "plan.json").content.read() for job in engine.runs
    ]
    nonces = {msgspec.json.decode(plan)["nonce"] for plan in plans}
    assert len(nonces) == 3
    assert {len(nonce) for nonce in nonces} == {32}


# --- failures that do not depend on the submission ---------------------------------------------------


def checked(**changes: Any) -> Any:
    sources = (NamedBlob(name="checker/checker.cpp", content=Blob.of("the checker")),)
    return problem(checker=Checker(kind=CheckerKind.CMS, sources=sources), **changes)


async def test_failed_checker_is_judge_failure_naming_test_and_checker() -> None:
    async with scoring(FakeEngine({2: Broken(reason="it was killed by signal 11")})) as scorer:
        with pytest.raises(JudgeFailure) as caught:
            await scorer.score(checked(), submission())
    assert "cms checker checker/checker.cpp on test t2: it was killed by signal 11" in str(caught.value)
    assert caught.value.test == "t2"


async def test_failed_cms_checker_including_testlib_gets_hint() -> None:
    checker = checked().checker
    header = NamedBlob(name="checker/testlib.h", content=Blob.of("a library"))
    with_header = msgspec.structs.replace(checker, sources=(*checker.sources, header))
    faults = {0: Broken(reason="the checker printed no score")}
    for chosen_checker, hint in ((checker, False), (with_header, True)):
        async with scoring(FakeEngine(faults)) as scorer:
            with pytest.raises(JudgeFailure) as caught:
                await scorer.score(problem(checker=chosen_checker), submission())
        assert ('set "checker": "testlib" in problem.json' in str(caught.value)) is hint


async def test_checker_is_in_every_job_with_its_limits() -> None:
    engine = FakeEngine()
    async with scoring(engine) as scorer:
        result = await scorer.score(checked(), submission())
        (job,) = engine.runs
        files = {file.name: file for file in job.files}
        assert files["checker"].executable
        assert files["checker"].content.read() == b"the checker"
    plan = msgspec.json.decode(files["plan.json"].content.read())
    assert plan["checker"] | {"full": 1.0} == {
        "full": 1.0,
        "kind": "cms",
        "argv": ["checker"],
        "limits": {"cpu_ms": 10_000, "wall_ms": 20_000, "hard_ms": 200_000, "memory": 4 << 30},
    }
    assert result.checker == "cms checker checker/checker.cpp"


async def test_broken_checker_is_reported_when_problem_is_prepared() -> None:
    engine = FakeEngine(compile_errors=lambda source: "error: no" if source == "the checker" else None)
    async with scoring(engine) as scorer:
        with pytest.raises(CheckerBroken, match="does not compile"):
            await scorer.prepare(checked())
        with pytest.raises(CheckerBroken):
            await scorer.score(checked(), submission())
    assert engine.runs == []


async def test_fatal_proctor_report_is_judge_failure() -> None:
    async with scoring(FakeEngine(faults=[None, Fatal(reason="no confinement here")])) as scorer:
        with pytest.raises(JudgeFailure, match="no confinement here"):
            await scorer.score(problem(), submission())


@pytest.mark.parametrize("fault", [EngineUnavailable("x"), EngineOverloaded("x"), BrokenReply("x")])
async def test_temporary_engine_faults_are_retried(fault: Fault) -> None:
    engine = FakeEngine(faults=[None, fault, fault])
    async with scoring(engine) as scorer:
        assert (await scorer.score(problem(), submission())).points == 100
    assert len(engine.runs) == 3


@pytest.mark.parametrize(
    ("fault", "times"),
    [(EngineUnavailable("x"), 4), (Ending(status=StageStatus.XX, message="x"), 4), (JobRejected("x"), 1)],
)
async def test_persistent_engine_faults_are_judge_failures(fault: Fault, times: int) -> None:
    engine = FakeEngine(faults=[None] + [fault] * 10)
    async with scoring(engine) as scorer:
        with pytest.raises(JudgeFailure, match="judging"):
            await scorer.score(problem(), submission())
    assert len(engine.runs) == times


async def test_unknown_language_is_input_error() -> None:
    async with scoring(FakeEngine()) as scorer:
        with pytest.raises(InputError, match="unknown language"):
            await scorer.score(problem(), submission(language="cobol"))


async def test_python_runs_with_the_engines_interpreter() -> None:
    engine = FakeEngine()
    async with scoring(engine) as scorer:
        await scorer.score(problem(1), submission("print(1)", language="python"))
    plan = next(file for file in engine.runs[0].files if file.name == "plan.json")
    assert msgspec.json.decode(plan.content.read())["submission"]["argv"][0] == "/usr/bin/python3"


# --- the scorer --------------------------------------------------------------------------------------


async def test_unopened_scorer_raises_error() -> None:
    scorer = Scorer(FakeEngine())
    with pytest.raises(IoiEvalError, match="not open"):
        await scorer.score(problem(), submission())


async def test_concurrent_submissions_stay_within_engine_slots() -> None:
    engine = FakeEngine(slots=3, delay=0.001)
    async with scoring(engine) as scorer:
        results = await asyncio.gather(
            *(scorer.score(problem(), submission(f"// {n}", key=str(n))) for n in range(20))
        )
    assert [result.key for result in results] == [str(n) for n in range(20)]
    assert engine.peak == 3


async def test_cancelled_scoring_leaves_no_running_job() -> None:
    engine = FakeEngine(delay=30)
    async with scoring(engine) as scorer:
        task = asyncio.create_task(scorer.score(problem(), submission()))
        await engine.started.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert engine.running == 0


async def test_failed_opening_of_scorer_closes_its_resources(tmp_path: Path) -> None:
    class Refusing(FakeEngine):
        async def __aenter__(self) -> Any:
            raise EngineUnavailable("no")

    with pytest.raises(EngineUnavailable):
        async with Scorer(Refusing()):
            pass


def test_score_sync_scores_and_caches_builds(tmp_path: Path) -> None:
    store = Store(tmp_path / "store")
    result = score_sync(problem(), submission(), engine=FakeEngine({0: 0.5}), store=store)
    assert result.points == 50
    second_engine = FakeEngine()
    score_sync(problem(), submission(), engine=second_engine, store=store)
    assert second_engine.builds == [], "builds are from the store"


class Upgraded(FakeEngine):
    """An engine whose interpreter changes after the first test, and then accepts no jobs for the old one."""

    def __init__(self) -> None:
        super().__init__({3: 0.0})
        self.accepted_toolchains: list[str] = []

    async def execute(self, job: Job, check: object = None) -> JobResult:
        tool = self.capabilities_value.toolchains["python3"]
        (accepted,) = job.accepted_toolchains["python3"]
        result = await super().execute(job, check)
        if not job.keep:
            self.accepted_toolchains.append(accepted)
        if len(self.accepted_toolchains) == 1:
            upgraded = msgspec.structs.replace(tool, version="2.0", identity="python3 2.0")
            tools = {**self.capabilities_value.toolchains, "python3": upgraded}
            self.capabilities_value = msgspec.structs.replace(self.capabilities_value, toolchains=tools)
        return result


async def test_tests_are_rerun_if_interpreter_changes_between_batches(tmp_path: Path) -> None:
    """All results of a row are from the interpreter that the row names."""
    engine = Upgraded()
    options = JudgeOptions(max_tests=1, all_tests=True)
    async with Scorer(engine, store=Store(tmp_path / "store"), options=options) as scorer:
        result = await scorer.score(problem(4), submission("print()", language="python"))
    assert (result.compiler, engine.accepted_toolchains) == (
        "python3 2.0",
        ["python3 1.0 (fake)", *["python3 2.0"] * 4],
    )
    assert [test.score for test in result.tests] == [1.0, 1.0, 1.0, 0.0]
