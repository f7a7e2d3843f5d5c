"""Expected and actual results of solutions, and limits that are measured from solutions."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest
import run_samples
from hypothesis import given
from hypothesis import strategies as st
from support.runs import score_submission

from ioi_eval.cli.progress import describe_measured_limit
from ioi_eval.engines.registry import EngineChoice
from ioi_eval.errors import InputError, JudgeFailure
from ioi_eval.model.errors import ToolMissing
from ioi_eval.model.values import KeywordForTests
from ioi_eval.models import (
    Blob,
    Limits,
    NamedBlob,
    Problem,
    Solution,
    Submission,
    SubmissionResult,
    TestResult,
    Verdict,
)
from ioi_eval.reports.records import VALIDATION, Validation, read_validation, write_json
from ioi_eval.reports.validation import (
    check_solution,
    describe_conclusion,
    make_validation,
    make_validation_count_sentences,
)
from ioi_eval.rules.expectations import (
    ExpectedScore,
    KeyedExpectation,
    collect_package_solutions,
    compute_max_points,
    find_similar_keyword,
)
from ioi_eval.runs.events import ignore_event
from ioi_eval.runs.time_limits import TimeLimits
from ioi_eval.runs.work import RunOptions, RunSetup, create_time_limits
from ioi_eval.store import Store
from ioi_eval.store.folder import (
    Fingerprint,
    MeasuredLimit,
    hash_limit_inputs,
    read_limits,
    read_limits_by_problem_label,
    write_limits,
)
from ioi_eval.store.result_log import ResultLog

AC, PA, WA, TLE, RE, CE = (Verdict[name] for name in ("AC", "PA", "WA", "TLE", "RE", "CE"))


def solution(name: str, expected: str, **fields: Any) -> Solution:
    return Solution(name=name, language="c++", code=f"// {name}", expected=expected, **fields)


def with_solutions(*solutions: Solution, **fields: Any) -> Problem:
    return msgspec.structs.replace(run_samples.problem(), solutions=solutions, **fields)


def judged(problem: Problem, submission: Submission, statuses: Mapping[str, Verdict]) -> SubmissionResult:
    tests = {name: run_samples.outcome(name, statuses.get(name, AC)) for name in run_samples.TESTS}
    return score_submission(problem, submission, tests)


def validated(problem: Problem, statuses: Mapping[str, Mapping[str, Verdict]]) -> Validation:
    """Validate solutions with the test results in `statuses`. Solutions without statuses are unjudged."""
    submissions, cases = collect_package_solutions({"sum": problem})
    names = {case.key: case.solution for case in cases}
    results = {
        sent.key: judged(problem, sent, statuses[names[sent.key]])
        for sent in submissions
        if names[sent.key] in statuses
    }
    return make_validation(cases, {"sum": problem}, results, {"sum/correct/lost.cpp": "no memory"})


# --- keywords ----------------------------------------------------------------------------------------


def test_validation_without_differences_counts_expectations() -> None:
    problem = with_solutions(solution("a.cpp", "correct"), solution("b.cpp", "time_limit"))
    report = validated(problem, {"a.cpp": {}, "b.cpp": {"3-a": TLE}})
    assert (report.expectations, report.differences, report.differing, report.unjudged) == (2, 0, (), ())
    assert report.confusion == {"correct": {AC: 1}, "time_limit": {TLE: 1}}
    first = report.solutions[0]
    assert (first.key, first.points, first.max_points, first.status) == ("sum/correct/a.cpp", 100, 100, AC)
    assert [check.evidence for solution_result in report.solutions for check in solution_result.checks] == [
        (),
        (),
    ]


def test_difference_shows_first_failed_tests() -> None:
    report = validated(with_solutions(solution("a.cpp", "correct")), {"a.cpp": {"2-b": RE, "2-a": WA}})
    (check,) = report.solutions[0].differences
    assert (check.expected, check.status, check.score, check.not_right) == ("correct", RE, 0, 2)
    assert [(test.test_name, test.status) for test in check.evidence] == [("2-a", WA), ("2-b", RE)]
    assert all(test.cpu_time is not None for test in check.evidence)


def test_difference_without_failed_test_shows_slowest_tests() -> None:
    problem = with_solutions(solution("a.cpp", "time_limit"))
    (submission,), cases = collect_package_solutions({"sum": problem})
    times = dict(zip(run_samples.TESTS, (0.1, 0.4, 0.2, 0.3), strict=True))
    tests = {
        name: msgspec.structs.replace(run_samples.outcome(name, AC), cpu_time=time)
        for name, time in times.items()
    }
    result = score_submission(problem, submission, tests)
    (check,) = check_solution(cases[0], problem, result).differences
    assert (check.not_right, check.tests) == (0, 4)
    assert [test.test_name for test in check.evidence] == ["2-a", "3-a", "2-b"]


@pytest.mark.parametrize(
    ("statuses", "points", "agrees"),
    [
        ({"1-a": WA}, 0, False),  # the remaining tests pass, and their subtasks earn nothing
        ({"2-a": WA}, 20, True),
        ({"2-a": PA}, 20 + 80 / 3, True),
        ({}, 100, False),
    ],
)
def test_partially_accepted_without_points_is_a_difference(
    statuses: Mapping[str, Verdict], points: float, agrees: bool
) -> None:
    """The format's tools report such a submission as an error if the whole is rejected."""
    report = validated(with_solutions(solution("a.cpp", "partially_accepted")), {"a.cpp": statuses})
    (solution_result,) = report.solutions
    assert solution_result.points == pytest.approx(points) and (not solution_result.differences) is agrees


def test_partially_accepted_without_any_points_in_the_problem_is_a_difference() -> None:
    partial_solution = solution("a.cpp", "partially_accepted")
    whole = msgspec.structs.replace(run_samples.problem(subtasks=False), solutions=(partial_solution,))
    assert validated(whole, {"a.cpp": {"2-a": WA}}).differences == 1


def test_subtask_expectations_are_compared_per_subtask() -> None:
    mixed = solution("a.cpp", "incorrect", exceptions={"01-small": "correct"}, each_subtask=True)
    report = validated(with_solutions(mixed), {"a.cpp": {"2-a": WA}})
    (solution_result,) = report.solutions
    assert report.differences == 0
    assert [
        (subtask_check.subtask, subtask_check.expected, subtask_check.status)
        for subtask_check in solution_result.subtasks
    ] == [
        ("01-small", "correct", AC),
        ("02-middle", "incorrect", WA),
        ("03-all", "incorrect", WA),
    ]
    worse = validated(with_solutions(mixed), {"a.cpp": {"1-a": WA}})
    assert [check.subtask for check in worse.solutions[0].differences] == ["01-small"]
    assert [subtask_check.agrees for subtask_check in worse.solutions[0].subtasks] == [False, True, True]


def test_validation_conclusion_counts_compared_and_unknown() -> None:
    solutions = [
        solution("a.cpp", "correct"),
        solution("b.cpp", "incorrect"),
        solution("lost.cpp", "correct"),
    ]
    solutions += [solution("c.cpp", "slow"), solution("d.cpp", "")]
    report = validated(
        with_solutions(*solutions), {name: {} for name in ("a.cpp", "b.cpp", "c.cpp", "d.cpp")}
    )
    first, second = make_validation_count_sentences(report)
    assert first == "compared 2, agree 1, differ 1, nothing expected 2, not judged 1"
    assert second == "Unknown keywords, with which nothing is compared: 'slow' (1)"


@pytest.mark.parametrize(
    ("keyword", "similar"),
    [("acepted", "accepted"), ("wrong_answr", "wrong_answer"), ("wrong", "wrong_answer"), ("slow", "")],
)
def test_similar_keyword_is_found_for_unknown_keyword(keyword: str, similar: str) -> None:
    assert find_similar_keyword(keyword) == similar
    nothing = validated(with_solutions(solution("c.cpp", "slow")), {"c.cpp": {}})
    assert describe_conclusion(nothing) == "Nothing was compared"


def test_unjudged_solution_is_not_a_difference() -> None:
    problem = with_solutions(solution("a.cpp", "correct"), solution("lost.cpp", "correct"))
    report = validated(problem, {"a.cpp": {}})
    assert (report.differences, len(report.solutions)) == (0, 1)
    assert [(unjudged_solution.key, unjudged_solution.reason) for unjudged_solution in report.unjudged] == [
        ("sum/correct/lost.cpp", "no memory")
    ]


def test_skipped_tests_leave_solution_unjudged() -> None:
    """After an early stop, a test without a result is neither right nor wrong."""
    problem = with_solutions(solution("a.cpp", "correct"))
    (submission,), cases = collect_package_solutions({"sum": problem})
    result = score_submission(problem, submission, {"1-a": run_samples.outcome("1-a", WA)})
    report = make_validation(cases, {"sum": problem}, {submission.key: result}, {})
    assert (report.differences, report.solutions) == (0, ())
    assert "skipped" in report.unjudged[0].reason


def test_compile_error_differs_unless_expected() -> None:
    problem = with_solutions(solution("a.cpp", "incorrect"), solution("b.cpp", "compile_error"))
    submissions, cases = collect_package_solutions({"sum": problem})
    results = {
        sent.key: score_submission(problem, sent, {}, compiles=False, compile_output="a.cpp:1: error\n")
        for sent in submissions
    }
    report = make_validation(cases, {"sum": problem}, results, {})
    assert [sent.solution for sent in report.differing] == ["a.cpp"]
    assert report.differing[0].compile_output == "a.cpp:1: error\n"


def test_solution_without_expectation_has_no_checks() -> None:
    report = validated(with_solutions(solution("a.cpp", "")), {"a.cpp": {"1-a": WA}})
    assert (report.expectations, report.differences, report.solutions[0].checks) == (0, 0, ())


def test_solutions_of_same_name_have_distinct_keys() -> None:
    twins = [solution("a.cpp", "correct"), solution("a.cpp", "incorrect"), solution("a.cpp", "correct")]
    submissions, cases = collect_package_solutions({"sum@2024": with_solutions(*twins)})
    assert [case.key for case in cases] == [sent.key for sent in submissions]
    assert len({case.key for case in cases}) == 3


@given(st.lists(st.tuples(st.sampled_from(["correct", "incorrect"]), st.sampled_from([AC, WA, TLE]))))
def test_confusion_matrix_counts_each_expectation_once(pairs: list[tuple[str, Verdict]]) -> None:
    solutions = [solution(f"{n}.cpp", keyword) for n, (keyword, _) in enumerate(pairs)]
    statuses = {f"{n}.cpp": {"1-a": got} for n, (_, got) in enumerate(pairs)}
    report = validated(with_solutions(*solutions), statuses)
    counted = {(keyword, status): n for keyword, row in report.confusion.items() for status, n in row.items()}
    assert counted == {pair: pairs.count(pair) for pair in pairs}
    assert report.differences == sum((keyword == "correct") != (status is AC) for keyword, status in pairs)


# --- scores ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("expected", "agrees"),
    [
        (ExpectedScore(value=20), True),
        (ExpectedScore(value=20.004), True),
        (ExpectedScore(value=20.01), False),
        (ExpectedScore(value=0.2, fraction=True), True),
        (ExpectedScore(value=0.2), False),
        (ExpectedScore(value=0.204, fraction=True, digits=3), False),
        (ExpectedScore(value=1, fraction=True), False),
    ],
)
def test_expected_total_score_is_compared(expected: ExpectedScore, agrees: bool) -> None:
    problem = run_samples.problem()
    result = judged(problem, run_samples.submission("a"), {"2-a": WA})
    assert result.points == 20
    case = KeyedExpectation(
        key="a", problem="sum", solution="a", expected=f"{expected.value:g}", score=expected
    )
    (check,) = check_solution(case, problem, result).checks
    assert check.agrees is agrees
    assert bool(check.evidence) is not agrees


def test_points_may_be_summed_exactly_or_from_rounded_subtasks() -> None:
    problem = run_samples.problem()
    result = judged(problem, run_samples.submission("a"), dict.fromkeys(run_samples.TESTS, PA))
    exact, rounded = 100 / 3, 6.67 + 10.17 + 16.5
    for value in (exact, rounded):
        case = KeyedExpectation(
            key="a", problem="sum", solution="a", expected="x", score=ExpectedScore(value=value, digits=6)
        )
        assert check_solution(case, problem, result).differences == ()


@pytest.mark.parametrize(
    ("lowest", "highest", "agrees"), [(10, 19.9, False), (10, 20, True), (20, 30, True), (20.1, 30, False)]
)
def test_expected_score_range_is_compared(lowest: float, highest: float, agrees: bool) -> None:
    problem = run_samples.problem()
    result = judged(problem, run_samples.submission("a"), {"2-a": WA})
    case = KeyedExpectation(
        key="a", problem="sum", solution="a", score=ExpectedScore(value=lowest, most=highest)
    )
    (check,) = check_solution(case, problem, result).checks
    assert check.agrees is agrees


def test_expected_scores_are_counted_by_class() -> None:
    problem = run_samples.problem()
    submissions = [run_samples.submission(name) for name in "abc"]
    cases = [
        KeyedExpectation(
            key=name, problem="sum", solution=name, expected=str(value), score=ExpectedScore(value=value)
        )
        for name, value in zip("abc", (0, 20, 100), strict=True)
    ]
    results = {sent.key: judged(problem, sent, {"2-a": WA}) for sent in submissions}
    report = make_validation(cases, {"sum": problem}, results, {})
    assert report.confusion == {"full marks": {WA: 1}, "no points": {WA: 1}, "part of it": {WA: 1}}
    assert [sent.solution for sent in report.differing] == ["a", "c"]


def test_points_without_subtasks_are_share_of_tests() -> None:
    problem = run_samples.problem(subtasks=False)
    result = judged(problem, run_samples.submission("a"), {"2-a": WA})
    case = KeyedExpectation(
        key="a", problem="sum", solution="a", score=ExpectedScore(value=0.75, fraction=True)
    )
    assert compute_max_points(problem) == 1
    assert check_solution(case, problem, result).differences == ()


# --- validation.json ---------------------------------------------------------------------------------


def test_validation_file_is_read_back(tmp_path: Path) -> None:
    problem = with_solutions(solution("a.cpp", "correct"), solution("lost.cpp", "correct"))
    report = validated(problem, {"a.cpp": {"2-a": WA}})
    assert read_validation(tmp_path) is None
    write_json(tmp_path / VALIDATION, report)
    assert read_validation(tmp_path) == report


def test_malformed_validation_file_is_input_error(tmp_path: Path) -> None:
    (tmp_path / "validation.json").write_text("[]")
    with pytest.raises(InputError, match=r"validation\.json"):
        read_validation(tmp_path)


# --- time limits that solutions set ------------------------------------------------------------------


class Timed:
    """A judge that reports the CPU time in a submission's code on every test, in seconds."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, float | None]] = []

    async def judge(self, problem: Problem, submission: Submission) -> SubmissionResult:
        self.asked.append((submission.key, problem.limits.cpu_time))
        await asyncio.sleep(0)
        seconds, limit = float(submission.code or 0), problem.limits.cpu_time or float("inf")
        status = TLE if seconds > limit else AC
        tests = {
            name: TestResult(test_name=name, score=float(status is AC), status=status, cpu_time=seconds)
            for name in run_samples.TESTS
        }
        return score_submission(problem, submission, tests)


def unlimited(times: Mapping[str, tuple[str, str]], multiplier: float = 5) -> Problem:
    solutions = tuple(
        Solution(name=name, language="c++", code=code, expected=keyword)
        for name, (keyword, code) in times.items()
    )
    return with_solutions(*solutions, limits=Limits(memory=1 << 28), time_from_solutions=multiplier)


def submit(seconds: float) -> Submission:
    return run_samples.submission(f"s{seconds}", str(seconds))


TIMES = {
    "fast.cpp": ("accepted", "0.1"),
    "slow.cpp": ("accepted", "0.45"),
    "too_slow.cpp": ("time_limit_exceeded", "30"),
    "either.cpp": ("ACCEPTED, TIME_LIMIT_EXCEEDED", "40"),
}


async def test_slowest_accepted_solution_sets_time_limit() -> None:
    measured = list[MeasuredLimit]()
    judge = Timed()
    limits = TimeLimits(judge, on_measured=lambda key, limit: measured.append(limit))
    problem = unlimited(TIMES)
    results = [
        await judge.judge(await limits.with_limits(problem), submit(seconds)) for seconds in (1.9, 2.1)
    ]
    assert [result.tests[0].status for result in results] == [AC, TLE]
    (limit,) = measured
    assert (limit.cpu_time, limit.slowest, limit.solution, limit.multiplier) == (2.0, 0.45, "slow.cpp", 5)
    assert [seconds for _, seconds in judge.asked[2:]] == [2.0, 2.0]
    assert (await limits.with_limits(problem)).limits == Limits.contest(2.0, 1 << 28)


async def test_measured_time_limit_is_at_least_one_second() -> None:
    problem = unlimited({"a.cpp": ("accepted", "0.001")})
    assert (await TimeLimits(Timed()).with_limits(problem)).limits.cpu_time == 1.0


async def test_concurrent_submissions_measure_time_limit_once() -> None:
    judge = Timed()
    limits = TimeLimits(judge)
    problem = unlimited(TIMES)
    limited_problems = await asyncio.gather(*(limits.with_limits(problem) for _ in range(5)))
    assert [limited.limits.cpu_time for limited in limited_problems] == [2.0] * 5
    assert len(judge.asked) == 2


class Without(Timed):
    """A judge without a compiler for programs that need 0.1 s."""

    async def judge(self, problem: Problem, submission: Submission) -> SubmissionResult:
        if submission.code == "0.1":
            raise ToolMissing("engine this has no go, which compiling needs", phase="compiling")
        return await super().judge(problem, submission)


async def test_unavailable_languages_are_skipped_when_measuring_limit() -> None:
    problem = unlimited(TIMES)
    assert (await TimeLimits(Without()).with_limits(problem)).limits.cpu_time == 2.0
    pascal = msgspec.structs.replace(problem.solutions[1], language="pascal2")
    with_pascal = msgspec.structs.replace(problem, solutions=(problem.solutions[0], pascal))
    assert (await TimeLimits(Timed()).with_limits(with_pascal)).limits.cpu_time == 1.0
    with pytest.raises(
        JudgeFailure, match=r"fast\.cpp: engine this has no go.*; slow\.cpp: unknown language"
    ):
        await TimeLimits(Without()).with_limits(with_pascal)


async def test_time_limit_is_measured_with_solutions_that_rules_permit_to_pass() -> None:
    test_keywords = (KeywordForTests(subtask="", keyword="permitted AC", tests=("a",)),)
    ruled = Solution(name="a.cpp", language="c++", code="0.6", expected="", test_keywords=test_keywords)
    problem = msgspec.structs.replace(unlimited(TIMES), solutions=(ruled,))
    assert (await TimeLimits(Timed()).with_limits(problem)).limits.cpu_time == 3.0


async def test_recorded_time_limit_is_not_measured_again(tmp_path: Path) -> None:
    problem, first = unlimited(TIMES), dict[str, MeasuredLimit]()
    await TimeLimits(Timed(), on_measured=first.__setitem__).with_limits(problem)
    write_limits(tmp_path, first)
    judge = Timed()
    limits = TimeLimits(judge, read_limits(tmp_path))
    assert (await limits.with_limits(problem)).limits.cpu_time == 2.0
    assert judge.asked == []
    assert read_limits_by_problem_label(tmp_path, {"sum": problem})["sum"].solution == "slow.cpp"
    other = unlimited({**TIMES, "slow.cpp": ("accepted", "0.9")})
    assert hash_limit_inputs(other) != hash_limit_inputs(problem)
    assert read_limits_by_problem_label(tmp_path, {"sum": other}) == {}


async def test_time_limit_of_edited_problem_is_measured_again() -> None:
    """Only right tests count, which depend on the checker and the answers."""
    problem, known_limits = unlimited(TIMES), dict[str, MeasuredLimit]()
    await TimeLimits(Timed(), on_measured=known_limits.__setitem__).with_limits(problem)
    judge, measured = Timed(), dict(known_limits)
    tests = tuple(msgspec.structs.replace(test, answer=Blob.of("other")) for test in problem.tests)
    edited = msgspec.structs.replace(problem, tests=tests)
    limits = TimeLimits(judge, known_limits, measured.__setitem__)
    await limits.with_limits(edited)
    assert len(judge.asked) == 2 and measured.keys() == known_limits.keys() and measured != known_limits
    await limits.with_limits(edited)
    older = {key: msgspec.structs.replace(limit, made_of="") for key, limit in known_limits.items()}
    await TimeLimits(judge, older).with_limits(edited)  # of a version without this field
    assert len(judge.asked) == 2


async def test_run_reusing_results_reuses_their_time_limits(tmp_path: Path) -> None:
    problem, first = unlimited(TIMES), dict[str, MeasuredLimit]()
    await TimeLimits(Timed(), on_measured=first.__setitem__).with_limits(problem)
    key, other = hash_limit_inputs(problem), tmp_path / "other"
    other.mkdir()
    write_limits(other, {key: msgspec.structs.replace(first[key], cpu_time=3.0)})
    judge: Any = Timed()
    judge.with_options = lambda **changes: judge
    options = RunOptions(reuse=(str(other),))
    setup = RunSetup(tmp_path / "run", EngineChoice(), options, Store(tmp_path / "store"), ignore_event)
    with ResultLog.open(setup.folder, Fingerprint(dump="d")) as journal:
        assert (await create_time_limits(judge, setup, journal).with_limits(problem)).limits.cpu_time == 3.0
    assert not judge.asked and read_limits(setup.folder) == read_limits(other)


@pytest.mark.parametrize(("fresh", "measured_with"), [(False, 0), (True, 2)])
async def test_fresh_run_measures_time_limits_again(tmp_path: Path, fresh: bool, measured_with: int) -> None:
    problem, first = unlimited(TIMES), dict[str, MeasuredLimit]()
    await TimeLimits(Timed(), on_measured=first.__setitem__).with_limits(problem)
    write_limits(tmp_path, first)
    judge: Any = Timed()
    judge.with_options = lambda **changes: judge
    setup = RunSetup(
        tmp_path, EngineChoice(), RunOptions(fresh=fresh), Store(tmp_path / "store"), ignore_event
    )
    with ResultLog.open(tmp_path / "run", Fingerprint(dump="d")) as journal:
        assert (await create_time_limits(judge, setup, journal).with_limits(problem)).limits.cpu_time == 2.0
    assert len(judge.asked) == measured_with


@pytest.mark.parametrize(
    ("times", "message"),
    [
        ({"a.cpp": ("wrong_answer", "1")}, "no accepted solution"),
        ({"a.cpp": ("accepted", "70")}, "takes longer than 60 s"),
    ],
)
async def test_unmeasurable_time_limit_is_judge_failure_for_all(
    times: Mapping[str, tuple[str, str]], message: str
) -> None:
    judge = Timed()
    limits, problem = TimeLimits(judge), unlimited(times)
    for seconds in (1.0, 2.0):
        with pytest.raises(JudgeFailure, match=message):
            await judge.judge(await limits.with_limits(problem), submit(seconds))
    assert len(judge.asked) <= 1


async def test_declared_time_limit_is_not_measured() -> None:
    judge, problem = Timed(), with_solutions(limits=Limits.contest(3, None))
    assert await TimeLimits(judge).with_limits(problem) is problem
    await judge.judge(problem, submit(1))
    assert [seconds for _, seconds in judge.asked] == [3]


# --- processes that a package's own file starts ------------------------------------------------------

RUNNER = NamedBlob(name="c++/runner.cpp", content=Blob.of(b"fork();"))


class Forking(Timed):
    """A judge whose submissions start three processes on each test.

    For each second of CPU time they start a further process.
    """

    def __init__(self, failing: str = "") -> None:
        super().__init__()
        self.failing = failing

    async def judge(self, problem: Problem, submission: Submission) -> SubmissionResult:
        result = await super().judge(problem, submission)
        number = 3 + int(float(submission.code or 0))
        granted = 1 + (problem.options.forks or 0)
        status = RE if number > granted or submission.key.endswith(self.failing or "?") else AC
        tests = {
            test.test_name: msgspec.structs.replace(
                test, processes=number, status=status, score=float(status is AC), feedback="as at its exit"
            )
            for test in result.tests
        }
        return score_submission(problem, submission, tests)


def forking(*times: str, **fields: Any) -> Problem:
    solutions = [solution(f"{number}.cpp", "accepted") for number, _ in enumerate(times)]
    solutions = [
        msgspec.structs.replace(forking_solution, code=code)
        for forking_solution, code in zip(solutions, times, strict=True)
    ]
    return with_solutions(*solutions, included=(RUNNER,), forks_by=(RUNNER.name,), **fields)


async def test_processes_are_counted_on_accepted_solutions(tmp_path: Path) -> None:
    measured = list[MeasuredLimit]()
    problem = forking("0", "2", limits=Limits.contest(4.0, 1 << 28))
    limits = TimeLimits(Forking(), on_measured=lambda key, limit: measured.append(limit), time_factor=2)
    limited = await limits.with_limits(problem)
    assert (limited.options.forks, limited.limits.cpu_time) == (4, 8.0)
    (measured_limit,) = measured
    assert (measured_limit.processes, measured_limit.forks_by, measured_limit.multiplier) == (
        5,
        ("c++/runner.cpp",),
        0,
    )
    assert "5 processes in all, which accepted solutions need with c++/runner.cpp" in describe_measured_limit(
        measured_limit
    )
    write_limits(tmp_path, {hash_limit_inputs(problem): measured_limit})
    judge = Forking()
    assert (await TimeLimits(judge, read_limits(tmp_path)).with_limits(problem)).options.forks == 4
    assert judge.asked == []


async def test_time_limit_and_process_count_are_measured_together() -> None:
    problem = forking("1", limits=Limits(memory=1 << 28), time_from_solutions=5)
    limited = await TimeLimits(Forking()).with_limits(problem)
    assert (limited.options.forks, limited.limits.cpu_time) == (3, 5.0)


async def test_failing_solution_does_not_count_for_process_limit() -> None:
    problem = forking("0", "2", limits=Limits.contest(4.0, 1 << 28))
    assert (await TimeLimits(Forking("1.cpp")).with_limits(problem)).options.forks == 2
    with pytest.raises(
        JudgeFailure, match=r"c\+\+/runner\.cpp starts processes, and no accepted solution passes"
    ):
        await TimeLimits(Forking(".cpp")).with_limits(problem)
