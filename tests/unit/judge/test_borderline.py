"""Repeats of tests whose time is near the limit."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.engines import fake_capabilities
from support.proctor_protocol import VERSION, Plan, TestReport

from ioi_eval import (
    EmbeddedEngine,
    InputError,
    JudgeOptions,
    Limits,
    Problem,
    Scorer,
    Store,
    Submission,
    Test,
)
from ioi_eval.engines import Check
from ioi_eval.engines.jobs.http_delivery import GzipCache
from ioi_eval.engines.jobs.run import JobSizeLimiter
from ioi_eval.models import Blob, Borderline, Ending, Job, JobResult, TaskType, TestResult, Verdict
from ioi_eval.rules.limits import (
    can_rerun_gain_points,
    compute_cpu_limit_when_crowded,
    parse_borderline_band,
    raise_cpu_limit,
    select_run_that_counts,
)
from ioi_eval.testing import FakeEngine

LIMIT = 0.2  # seconds
USUAL = Borderline()
PROBLEM = Problem(
    id="work",
    limits=Limits.contest(LIMIT, 256 << 20),
    tests=(Test(name="1", input=Blob.of(""), answer=Blob.of("done\n")),),
)
# Uses a share of the limit, measured by its CPU clock, so that the machine's speed does not matter.
WORKS = """
#include <cstdio>
#include <ctime>
int main() {{
    while (std::clock() < {seconds} * CLOCKS_PER_SEC) {{}}
    std::puts("{says}");
}}
"""


async def judge_shares(
    share: float, cache: Path, *, says: str = "done", band: Borderline | None
) -> TestResult:
    store = Store(cache)
    code = WORKS.format(seconds=share * LIMIT, says=says)
    engine = EmbeddedEngine(store=store, slots=2)
    async with Scorer(engine, store=store, options=JudgeOptions(borderline=band)) as scorer:
        result = await scorer.score(
            PROBLEM, Submission(key="1", problem_id="work", code=code, language="c++")
        )
    return result.tests[0]


@pytest.mark.nightly
async def test_cpu_time_over_limit_in_every_run_is_tle(shared_cache: Path) -> None:
    test = await judge_shares(1.05, shared_cache, band=Borderline(high=10))
    assert test.status is Verdict.TLE and test.score == 0
    assert len(test.cpu_times) == 4 and test.cpu_time == min(test.cpu_times)
    assert "s of 0.200 s, the least of 4 runs)" in test.feedback


async def test_cpu_time_beyond_borderline_band_is_not_repeated(shared_cache: Path) -> None:
    test = await judge_shares(3.0, shared_cache, band=Borderline())
    assert test.status is Verdict.TLE and test.cpu_times == ()
    assert test.cpu_time is not None and test.cpu_time < 2 * LIMIT and "s of 0.200 s)" in test.feedback


@pytest.mark.nightly  # test_borderline_test_is_repeated_only_if_it_can_save_points
async def test_wrong_answer_in_borderline_band_is_not_repeated(shared_cache: Path) -> None:
    test = await judge_shares(1.05, shared_cache, says="wrong", band=Borderline(high=10))
    assert (test.status, test.cpu_times) == (Verdict.TLE, ())


async def test_cpu_time_within_limit_is_not_repeated(shared_cache: Path) -> None:
    test = await judge_shares(0.5, shared_cache, band=Borderline())
    assert (test.status, test.cpu_times) == (Verdict.AC, ())


@pytest.mark.nightly  # test_borderline_repeats_can_be_disabled_on_a_busy_machine
async def test_cpu_time_over_limit_is_tle_if_borderline_band_is_off(shared_cache: Path) -> None:
    test = await judge_shares(1.05, shared_cache, band=None)
    assert (test.status, test.cpu_times) == (Verdict.TLE, ())


def run(share: float, score: float = 1.0, status: Verdict = Verdict.AC) -> TestResult:
    return TestResult(test_name="1", score=score, status=status, cpu_time=share * LIMIT)


@pytest.mark.parametrize(
    ("runs", "status"),
    [
        ([run(1.02), run(0.98)], Verdict.AC),
        ([run(1.02), run(1.05), run(1.01)], Verdict.TLE),
        ([run(1.02), run(0.25, 0.0, Verdict.RE)], Verdict.TLE),  # failing quickly saves nothing
        ([run(1.02, 0.5, Verdict.PA), run(0.98, 0.5, Verdict.PA)], Verdict.PA),
        ([run(1.0)], Verdict.TLE),  # the limit itself is exceeded
        ([run(1.02, 0.0, Verdict.MLE)], Verdict.MLE),
    ],
)
def test_verdict_follows_shortest_cpu_time_of_runs(runs: Iterable[TestResult], status: Verdict) -> None:
    counting_run = select_run_that_counts(list(runs), PROBLEM)
    assert counting_run.status is status and (counting_run.score > 0) == (status in (Verdict.AC, Verdict.PA))


@pytest.mark.parametrize(
    ("runs", "is_saved"),
    [
        ([run(1.02)], True),
        ([run(1.59)], True),  # only the limit of a crowded machine allows this time
        ([run(0.98)], False),
        ([run(1.02, 0.0, Verdict.WA)], False),
        ([run(1.4), run(0.98)], False),
        ([run(1.02), run(1.15, 0.0, Verdict.TLE)], True),
        ([run(1.4), run(1.15, 0.0, Verdict.TLE)], False),  # clearly over the limit again
        ([run(1.02)] * 3, True),
        ([run(1.02)] * 4, False),
    ],
)
def test_borderline_test_is_repeated_only_if_it_can_save_points(
    runs: list[TestResult], is_saved: bool
) -> None:
    assert can_rerun_gain_points(runs, PROBLEM) is is_saved


# --- from reports of proctors, in shares of the limit ---


class Measured(FakeEngine):
    """An engine with recorded CPU and wait times for each test and run.

    It stops programs like a proctor, by the limits in the job's plan.
    """

    def __init__(self, times: Mapping[str, Sequence[tuple[float, float]]]) -> None:
        super().__init__()
        self._names = [*times]
        self._times = {name: iter(runs) for name, runs in times.items()}
        self.batches: list[tuple[bool, str]] = []  # exclusive or not, and the names of tests

    async def execute(self, job: Job, check: Check | None = None) -> JobResult:
        if job.keep:
            return await super().execute(job, check)
        (content,) = (file.content for file in job.files if file.name == "plan.json")
        plan = msgspec.json.decode(content.read(), type=Plan)
        tests = {test.index: self._names[test.index] for test in plan.tests}
        self.batches.append((job.exclusive, " ".join(tests.values())))
        limits, lines = plan.limits, list[TestReport]()
        assert limits.cpu_ms is not None
        for index, name in tests.items():
            cpu, waited = next(self._times[name])
            is_crowded = 10 * waited * LIMIT * 1000 >= limits.cpu_ms
            max_cpu_ms = limits.crowded_cpu_ms if is_crowded and limits.crowded_cpu_ms else limits.cpu_ms
            cpu_us = min(round(cpu * LIMIT * 1e6), max_cpu_ms * 1000 + 1)
            end = "cpu" if cpu_us > max_cpu_ms * 1000 else "ok"
            line = TestReport(
                v=VERSION,
                nonce=plan.nonce,
                test=index,
                end=end,
                score=float(end == "ok"),
                cpu_us=cpu_us,
                waited_us=round(waited * LIMIT * 1e6),
            )
            lines.append(line)
        return JobResult(
            run=Ending(stdout="".join(f"{msgspec.json.encode(line).decode()}\n" for line in lines), code=0)
        )


async def measured(
    store: Store, times: Mapping[str, Sequence[tuple[float, float]]], band: Borderline | None = USUAL
) -> tuple[list[TestResult], list[tuple[bool, str]]]:
    tests = tuple(Test(name=name, input=Blob.of(name), answer=Blob.of("done\n")) for name in times)
    problem = msgspec.structs.replace(PROBLEM, tests=tests)
    engine = Measured(times)
    async with Scorer(engine, store=store, options=JudgeOptions(borderline=band)) as scorer:
        result = await scorer.score(
            problem, Submission(key="1", problem_id="work", code="int main() {}", language="c++")
        )
    return list(result.tests), engine.batches


QUIET, BUSY = 0.01, 6.0  # waits


@pytest.mark.parametrize(
    ("runs", "status", "times"),
    [
        ([(0.88, QUIET)], Verdict.AC, 0),
        ([(0.99, BUSY)], Verdict.AC, 0),
        ([(1.153, BUSY), (0.88, QUIET)], Verdict.AC, 2),
        ([(1.59, BUSY), (0.99, BUSY)], Verdict.AC, 2),
        ([(1.4, BUSY), (1.3, BUSY)], Verdict.TLE, 2),  # clearly over the limit twice, on a busy machine
        ([(1.4, BUSY), (1.1, QUIET), (1.1, QUIET), (0.98, QUIET)], Verdict.AC, 4),
        ([(1.4, BUSY), (1.1, QUIET), (1.1, QUIET), (1.1, QUIET)], Verdict.TLE, 4),
        ([(1.7, BUSY)], Verdict.TLE, 0),
        ([(1.153, QUIET)], Verdict.TLE, 0),
        ([(1.4, QUIET)], Verdict.TLE, 0),
        ([(1.1, QUIET), (0.98, QUIET)], Verdict.AC, 2),
    ],
)
async def test_recorded_cpu_times_decide_repeats_and_verdict(
    shared_cache: Path, runs: list[tuple[float, float]], status: Verdict, times: int
) -> None:
    (test,), batches = await measured(Store(shared_cache), {"1": runs})
    assert (test.status, len(test.cpu_times)) == (status, times)
    assert batches == [(False, "1"), *[(True, "1")] * (len(runs) - 1)]


async def test_borderline_tests_on_busy_machine_are_repeated_in_one_batch(shared_cache: Path) -> None:
    slow, right, late = [(1.3, BUSY), (0.9, QUIET)], [(0.9, BUSY)], [(1.5, BUSY), (1.3, QUIET)]
    tests, batches = await measured(Store(shared_cache), {"a": slow, "b": right, "c": late, "d": slow})
    assert batches == [(False, "a b c d"), (True, "a c d")]
    assert [test.status for test in tests] == [Verdict.AC, Verdict.AC, Verdict.TLE, Verdict.AC]
    assert "1.150 s of" not in tests[2].feedback and "the least of 2 runs" in tests[2].feedback


async def test_borderline_repeats_can_be_disabled_on_a_busy_machine(shared_cache: Path) -> None:
    (test,), batches = await measured(Store(shared_cache), {"1": [(1.1, BUSY)]}, band=None)
    assert (test.status, batches) == (Verdict.TLE, [(False, "1")])


RUNS = st.lists(st.tuples(st.floats(0.01, 2), st.sampled_from([QUIET, BUSY])), min_size=4, max_size=4)


@given(times=st.lists(RUNS, min_size=1, max_size=3))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_repeats_change_verdict_only_from_tle_to_ac(
    shared_cache: Path, times: list[list[tuple[float, float]]]
) -> None:
    runs_by_test = {str(index): runs for index, runs in enumerate(times)}
    tests, batches = asyncio.run(measured(Store(shared_cache), runs_by_test))
    for test, (name, runs) in zip(tests, runs_by_test.items(), strict=True):
        tried = [cpu for cpu, _ in runs[: sum(name in batch.split() for _, batch in batches)]]
        assert test.status is (Verdict.AC if min(tried) < 1 else Verdict.TLE)
        assert 1 <= len(tried) <= 4 and all(cpu >= 1 for cpu in tried[:-1])
    assert [alone for alone, _ in batches] == [False] + [True] * (len(batches) - 1)


def test_server_with_short_cpu_limit_gets_no_busy_machine_limit() -> None:
    """Otherwise the server would stop the job during the test."""
    longer = raise_cpu_limit(PROBLEM, USUAL)
    options = JudgeOptions(borderline=USUAL)
    assert compute_cpu_limit_when_crowded(longer, USUAL) == pytest.approx(1.6 * LIMIT)
    for max_cpu_time, crowded in ((None, 320), (2320, 320), (2319, None)):
        profile = msgspec.structs.replace(fake_capabilities(), max_run_cpu_time=max_cpu_time)
        fitting = JobSizeLimiter(longer, options, profile, GzipCache().count_request_bytes)
        assert fitting.template.plan.limits.crowded_cpu_ms == crowded


def test_borderline_band_raises_cpu_limit_and_keeps_wall_limit() -> None:
    longer = raise_cpu_limit(PROBLEM, Borderline()).limits
    assert longer.cpu_time == pytest.approx(1.15 * LIMIT)
    assert longer.wall_time == PROBLEM.limits.wall_time == 2 * LIMIT + 1
    steps = Problem(id="steps", limits=PROBLEM.limits, task_type=TaskType.TWO_STEPS)
    assert raise_cpu_limit(steps, Borderline()) is steps and raise_cpu_limit(PROBLEM, None) is PROBLEM
    assert (
        compute_cpu_limit_when_crowded(steps, Borderline()) is None
        and compute_cpu_limit_when_crowded(PROBLEM, None) is None
    )
    wide = Borderline(high=2)
    assert compute_cpu_limit_when_crowded(raise_cpu_limit(PROBLEM, wide), wide) is None  # the band is wider


@pytest.mark.parametrize("band", ["0.9", "1.1:1.2", "0.5:0.9", "a:b", "0:2", "1:nan", "1:20"])
def test_invalid_borderline_band_is_input_error(band: str) -> None:
    with pytest.raises(InputError, match="use 1:1 to switch repeated measuring off"):
        parse_borderline_band(band)


def test_borderline_band_text_is_parsed() -> None:
    assert parse_borderline_band("0.8:1.2") == Borderline(low=0.8, high=1.2)
    assert parse_borderline_band("1:1") is None
    assert str(Borderline()) == "0.9:1.15"
