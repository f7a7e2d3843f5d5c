"""Expected results of solutions, in the keywords of every package format."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ioi_eval.models import Blob, Problem, Solution, Subtask, Test, TestResult, Verdict
from ioi_eval.rules.expectations import (
    agrees_with_keyword,
    compute_time_limit,
    is_expectation_met,
    list_expectations,
    list_tests_that_count,
    list_unknown_keywords,
)

AC, PA, WA, TLE = Verdict.AC, Verdict.PA, Verdict.WA, Verdict.TLE
MLE, OLE, RE, CE = Verdict.MLE, Verdict.OLE, Verdict.RE, Verdict.CE


@pytest.mark.parametrize(
    ("keyword", "score", "statuses", "expected"),
    [
        ("correct", 1, {AC}, True),
        ("correct", 0.999, {AC, PA}, False),
        ("model_solution", 1, {AC}, True),
        ("model_solution", 0, {AC, WA}, False),
        ("partially_correct", 0.5, {AC, PA}, True),
        ("partially_correct", 0, {AC, WA}, False),
        ("partially_correct", 1, {AC}, False),
        ("incorrect", 0, {AC, WA}, True),
        ("incorrect", 0.1, {PA}, False),
        ("incorrect", 1, {AC}, False),
        ("failed", 0, {RE}, True),
        ("time_limit_and_runtime_error", 0, {TLE, RE}, True),
        ("protocol_violation", 0, {WA}, True),
        # A manager may score 0 in place of a time limit: the kind of failure does not matter.
        ("time_limit", 0, {WA}, True),
        ("memory_limit", 0, {MLE}, True),
        ("memory_limit", 1, {AC}, False),
        ("runtime_error", 0, {AC, TLE}, True),
        # A compile error proves nothing about other expectations.
        ("incorrect", 0, {CE}, False),
        ("wrong_answer", 0, {CE}, False),
        ("rejected", 0, {CE}, False),
        ("compile_error", 0, {CE}, True),
        ("compile_error", 0, {WA}, False),
        ("COMPILER-ERROR", 0, {CE}, True),
        # Folder names of ICPC packages.
        ("accepted", 1, {AC}, True),
        ("accepted", 0.5, {PA}, False),
        ("wrong_answer", 0, {AC, WA}, True),
        ("wrong_answer", 0, {AC, TLE}, False),
        ("time_limit_exceeded", 0, {WA, TLE}, True),
        ("time_limit_exceeded", 0, {WA}, False),
        ("run_time_error", 0, {AC, RE}, True),
        ("run_time_error", 0, {MLE}, True),
        ("run_time_error", 0, {TLE}, False),
        ("rejected", 0, {WA}, True),
        ("rejected", 1, {AC}, False),
        # Tags of ICPC packages.
        ("AC", 1, {AC}, True),
        ("AC", 0.4, {AC, PA}, True),
        ("AC", 0, {AC, WA}, False),
        ("WA", 0, {WA}, True),
        ("TLE", 0, {AC, TLE}, True),
        ("TLE", 0, {AC, WA}, False),
        ("RTE", 0, {RE}, True),
        ("MLE", 0, {MLE}, True),
        ("OLE", 0, {OLE}, True),
        ("CORRECT", 1, {AC}, True),
        ("WRONG-ANSWER", 0, {WA}, True),
        ("NO-OUTPUT", 0, {WA}, True),
        ("RUN-ERROR", 0, {RE}, True),
        ("TIMELIMIT", 0, {TLE}, True),
        ("TIMELIMIT", 1, {AC}, False),
        ("ACCEPTED, TIME_LIMIT_EXCEEDED", 1, {AC}, True),
        ("ACCEPTED, TIME_LIMIT_EXCEEDED", 0, {AC, TLE}, True),
        ("ACCEPTED, TIME_LIMIT_EXCEEDED", 0, {AC, WA}, False),
        ("", 0, {CE}, True),
        # Nothing agrees with an unknown expectation.
        ("slow", 0, {TLE}, False),
        ("slow", 1, {AC}, False),
    ],
)
def test_expectation_word_agrees_with_score_and_statuses(
    keyword: str, score: float, statuses: set[Verdict], expected: bool
) -> None:
    assert agrees_with_keyword(keyword, score, statuses, points_fraction=score) is expected


def test_unknown_expectation_keyword_is_listed_and_ignored() -> None:
    odd_solution = Solution(name="a", code="x", expected="slow", exceptions={"one": "AC", "two": "WA, oddly"})
    assert list_unknown_keywords(odd_solution) == ("slow", "WA, oddly")
    subtasks = tuple(Subtask(name=name, points=1, tests=("t",)) for name in ("one", "two"))
    problem = Problem(id="p", tests=(Test(name="t", input=Blob.of("")),), subtasks=subtasks)
    assert [
        (expectation.subtask, expectation.word) for expectation in list_expectations(problem, odd_solution)
    ] == [("one", "AC")]


@given(st.floats(0, 1), st.frozensets(st.sampled_from([AC, PA, WA, TLE, MLE, OLE, RE]), min_size=1))
def test_exactly_one_of_correct_partial_and_incorrect_agrees(
    score: float, statuses: frozenset[Verdict]
) -> None:
    keywords = ("correct", "partially_correct", "incorrect")
    assert (
        sum(agrees_with_keyword(keyword, score, statuses, points_fraction=score) for keyword in keywords) == 1
    )
    for share in (0.0, 0.5, 1.0):
        keywords = ("accepted", "partially_accepted", "rejected")
        agreements = [
            agrees_with_keyword(keyword, score, statuses, points_fraction=share) for keyword in keywords
        ]
        assert agreements == [share == 1, 0 < share < 1, share < 1]


@pytest.mark.parametrize(
    ("share", "expected"), [(0.0, False), (1e-9, True), (0.5, True), (1.0, False)], ids=str
)
def test_partially_accepted_requires_part_of_points(share: float, expected: bool) -> None:
    """A passed test earns nothing if its group is rejected, and samples have 0 points."""
    assert agrees_with_keyword("partially_accepted", 0.0, {AC, WA}, points_fraction=share) is expected
    assert not agrees_with_keyword("partially_accepted", 0.0, {CE}, points_fraction=share)


def problem(*subtasks: Subtask) -> Problem:
    tests = tuple(Test(name=name, input=Blob.of(b"")) for name in "abcd")
    return Problem(id="p", tests=tests, subtasks=subtasks)


ONE = Subtask(name="one", points=0, tests=("c", "a"))
TWO = Subtask(name="two", points=100, tests=("b", "a"))


def scopes(of: Problem, solution: Solution) -> list[tuple[str, str, tuple[str, ...]]]:
    return [
        (expectation.subtask, expectation.word, expectation.tests)
        for expectation in list_expectations(of, solution)
    ]


def test_keyword_of_solution_covers_all_tests_in_subtasks() -> None:
    solution = Solution(name="x", expected="incorrect")
    assert scopes(problem(ONE, TWO), solution) == [("", "incorrect", ("a", "b", "c"))]
    assert scopes(problem(), solution) == [("", "incorrect", ("a", "b", "c", "d"))]
    assert list_tests_that_count(problem(TWO)) == ("a", "b")


def test_keyword_of_subtask_replaces_keyword_for_each_subtask() -> None:
    solution = Solution(name="x", expected="incorrect", exceptions={"one": "correct"}, each_subtask=True)
    assert scopes(problem(ONE, TWO), solution) == [
        ("one", "correct", ("c", "a")),
        ("two", "incorrect", ("b", "a")),
    ]
    assert scopes(problem(), solution) == [("", "incorrect", ("a", "b", "c", "d"))]


def test_keyword_of_subtask_is_added_to_keyword_of_solution() -> None:
    solution = Solution(name="x", expected="wrong_answer", exceptions={"two": "WA"})
    assert scopes(problem(ONE, TWO), solution) == [
        ("two", "WA", ("b", "a")),
        ("", "wrong_answer", ("a", "b", "c")),
    ]
    assert scopes(problem(ONE, TWO), Solution(name="x", expected="")) == []


def test_worst_test_of_scope_decides_expectation() -> None:
    results = {
        "a": TestResult(test_name="a", score=1, status=AC),
        "b": TestResult(test_name="b", score=0, status=TLE),
        "c": TestResult(test_name="c", score=1, status=AC),
    }
    solution = Solution(name="x", expected="time_limit", exceptions={"one": "correct"}, each_subtask=True)
    assert all(
        is_expectation_met(expected, results, points_fraction=0)
        for expected in list_expectations(problem(ONE, TWO), solution)
    )
    right = Solution(name="x", expected="correct")
    assert [
        is_expectation_met(expected, results, points_fraction=0)
        for expected in list_expectations(problem(ONE, TWO), right)
    ] == [False]


@pytest.mark.parametrize(("slowest", "limit"), [(0.01, 1.0), (0.29, 1.0), (0.31, 2.0), (1.0, 5.0)])
def test_time_limit_from_solutions_is_rounded_to_whole_seconds(slowest: float, limit: float) -> None:
    assert compute_time_limit(slowest, 5) == limit


@pytest.mark.parametrize(
    ("slowest", "resolution", "limit"),
    [
        (0.55, 1.0, 2.0),
        (0.5, 1.0, 1.0),
        (0.55, 0.5, 1.5),
        (0.15, 0.1, 0.3),
        (0.0, 0.1, 0.1),
        (0.61, 0.25, 1.25),
    ],
)
def test_measured_limit_is_smallest_multiple_of_resolution(
    slowest: float, resolution: float, limit: float
) -> None:
    assert compute_time_limit(slowest, 2, resolution) == limit
