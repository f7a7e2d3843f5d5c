"""Plans with early stops have the scores of a full run, fail early, and run all tests that matter."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scoring_samples import MIN, MUL, SUM, THRESHOLD, make_subtask, make_test, results
from support.proctor_protocol import PlanGroup

from ioi_eval.errors import InputError
from ioi_eval.models import Grading, Problem, ScoreType, Subtask, TaskType, Test
from ioi_eval.rules import plan, scoring, verdicts


def make_problem(names: str, *subtasks: Subtask) -> Problem:
    return Problem(id="p", tests=tuple(make_test(name) for name in names), subtasks=subtasks)


def names(tests: Iterable[plan.PlannedTest]) -> str:
    return "".join(planned.test.name for planned in tests)


# --- the rules ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "rule"),
    [
        (SUM, PlanGroup(rule="never")),
        (MIN, PlanGroup(rule="zero")),
        (MUL, PlanGroup(rule="zero")),
        (THRESHOLD, PlanGroup(rule="threshold", threshold=0.5)),
    ],
)
def test_early_stop_rule_of_group_follows_score_type(kind: ScoreType, rule: PlanGroup) -> None:
    problem = make_problem("a", make_subtask("a", kind))
    assert plan.make_plan_groups(problem) == (rule,)
    assert plan.make_plan_groups(problem, all_tests=True) == (PlanGroup(rule="never"),)


def test_plan_without_subtasks_has_no_groups() -> None:
    assert plan.make_plan_groups(make_problem("ab")) == ()
    assert [planned.groups for planned in plan.list_distinct_tests(make_problem("ab"))] == [(), ()]


@pytest.mark.parametrize(
    ("kind", "score", "settled"),
    [
        (SUM, 0.0, False),
        (SUM, 1.0, False),
        (MIN, 0.0, True),
        (MIN, 1e-9, False),
        (MUL, 0.0, True),
        (MUL, 1e-9, False),
        (THRESHOLD, 0.0, True),
        (THRESHOLD, 0.5, False),
        (THRESHOLD, 0.500001, True),
        (THRESHOLD, 1.0, True),
    ],
)
def test_score_settles_group_by_score_type(kind: ScoreType, score: float, settled: bool) -> None:
    assert plan.decides_subtask_score(make_subtask("a", kind), score) is settled


@given(
    st.sampled_from(ScoreType),
    st.sampled_from([0.0, 0.25, 0.5, 0.75, 1.0]),
    st.lists(st.floats(0, 1), max_size=4),
    st.lists(st.floats(0, 1), max_size=4),
)
def test_score_that_settles_a_subtask_determines_its_score(
    kind: ScoreType, score: float, some: list[float], others: list[float]
) -> None:
    group = make_subtask("a", kind)
    if plan.decides_subtask_score(group, score):
        assert scoring.compute_subtask_score(group, [score, *some]) == scoring.compute_subtask_score(
            group, [*others, score]
        )


# --- which tests -------------------------------------------------------------------------------------


def test_test_in_several_subtasks_is_planned_once() -> None:
    problem = make_problem("abc", make_subtask("ab"), make_subtask("abc"), make_subtask("cc"))
    planned_tests = [(planned.test.name, planned.groups) for planned in plan.list_distinct_tests(problem)]
    assert planned_tests == [("a", (0, 1)), ("b", (0, 1)), ("c", (1, 2))]


def test_tests_with_equal_input_and_answer_are_planned_once() -> None:
    tests = (make_test("a", "x"), make_test("b", "y"), make_test("c", "x"), make_test("d", "x", answer="2"))
    problem = Problem(id="p", tests=tests, subtasks=(make_subtask("ab"), make_subtask("cd")))
    planned_tests = [
        (planned.test.name, planned.names, planned.groups) for planned in plan.list_distinct_tests(problem)
    ]
    assert planned_tests == [("a", ("a", "c"), (0, 1)), ("b", ("b",), (0,)), ("d", ("d",), (1,))]


def test_missing_and_empty_answers_differ() -> None:
    problem = Problem(id="p", tests=(make_test("a", "x", answer=None), make_test("b", "x", answer="")))
    assert len(plan.list_distinct_tests(problem)) == 2


def test_tests_with_other_points_or_arguments_are_planned_separately() -> None:
    same = make_test("a", "x")
    different_tests = Test(name="b", input=same.input, answer=same.answer, full=2.0), make_test("c", "x")
    with_arguments = Test(name="d", input=same.input, answer=same.answer, arguments=("--strict",))
    problem = Problem(id="p", tests=(same, *different_tests, with_arguments))
    assert [planned.names for planned in plan.list_distinct_tests(problem)] == [("a", "c"), ("b",), ("d",)]


@pytest.mark.parametrize("kind", [TaskType.OUTPUT_ONLY, TaskType.BATCH_AND_OUTPUT])
def test_output_file_tests_with_equal_contents_are_planned_separately(kind: TaskType) -> None:
    problem = Problem(id="p", task_type=kind, tests=(make_test("a", "x"), make_test("b", "x")))
    assert names(plan.list_distinct_tests(problem)) == "ab"


def test_test_outside_subtasks_runs_only_with_all_tests() -> None:
    problem = make_problem("ab", make_subtask("b"))
    assert (
        names(plan.list_distinct_tests(problem))
        == names(plan.Schedule(problem).list_tests_still_needed({}))
        == "b"
    )
    assert (
        names(plan.list_distinct_tests(problem, all_tests=True))
        == names(plan.Schedule(problem, all_tests=True).list_tests_still_needed({}))
        == "ab"
    )


def test_subtask_naming_unknown_test_is_input_error() -> None:
    with pytest.raises(InputError, match="'x'") as caught:
        plan.list_distinct_tests(make_problem("a", make_subtask("ax")))
    assert (caught.value.where, caught.value.field) == ("p", "ax")


@pytest.mark.parametrize(
    ("selectors", "groups"),
    [
        ([["b", "a"], ["a"]], [("b", "a"), ("a",)]),
        ([["a", "a"]], [("a",)]),
        (["a", "a|c"], [("a", "a10", "a2"), ("a", "a10", "a2", "c")]),
        (["a$", "."], [("a",), ("a", "a10", "a2", "b", "c")]),
        (["a1", ["c"]], [("a10",), ("c",)]),
        ([2, 3], [("a", "a10"), ("a2", "b", "c")]),
        ([1, 0, 1], [("a",), (), ("a10",)]),
    ],
)
def test_group_tests_are_selected_by_list_expression_or_count(
    selectors: list[plan.Selector], groups: list[tuple[str, ...]]
) -> None:
    assert list(plan.select_group_tests(["c", "b", "a2", "a10", "a"], selectors)) == groups


@pytest.mark.parametrize("selectors", [["x"], ["("], [["a", "x"]], [3], [-1], [1, "a"], ["a", 1]])
def test_test_selectors_matching_nothing_are_input_error(selectors: list[plan.Selector]) -> None:
    with pytest.raises(InputError):
        plan.select_group_tests(["a", "b"], selectors)


# --- the order ---------------------------------------------------------------------------------------


def planned_order(*tests: Test, subtasks: Iterable[Subtask]) -> str:
    return names(
        plan.Schedule(Problem(id="p", tests=tests, subtasks=tuple(subtasks))).list_tests_still_needed({})
    )


def test_small_tests_run_first() -> None:
    large, small = make_test("a", size=10_000_000), make_test("b")
    assert planned_order(large, small, subtasks=[make_subtask("ab")]) == "ba"


def test_large_answer_makes_test_run_later() -> None:
    large, small = make_test("a", answer="1" * 10_000_000), make_test("b")
    assert planned_order(large, small, subtasks=[make_subtask("ab")]) == "ba"


def test_tests_deciding_many_subtasks_run_first() -> None:
    tests = [make_test(name) for name in "abc"]
    assert (
        planned_order(*tests, subtasks=[make_subtask("abc"), make_subtask("bc"), make_subtask("c")]) == "cba"
    )


def test_tests_deciding_many_points_run_first() -> None:
    tests = [make_test(name) for name in "ab"]
    assert (
        planned_order(*tests, subtasks=[make_subtask("a", points=10), make_subtask("b", points=90)]) == "ba"
    )


def test_tests_deciding_nothing_run_last() -> None:
    tests = [make_test("a"), make_test("b", size=10_000_000)]
    assert (
        planned_order(*tests, subtasks=[make_subtask("a", SUM, points=90), make_subtask("b", points=0)])
        == "ba"
    )


def test_equally_important_tests_keep_problem_order() -> None:
    tests = [make_test(name) for name in "cab"]
    assert planned_order(*tests, subtasks=[make_subtask("abc")]) == "cab"


def test_all_tests_and_in_order_options_keep_problem_order() -> None:
    tests = (make_test("a", size=100_000), make_test("b"))
    problem = Problem(id="p", tests=tests, subtasks=(make_subtask("ab"),))
    assert names(plan.Schedule(problem, all_tests=True).list_tests_still_needed({})) == "ab"
    assert names(plan.Schedule(problem, keeps_order=True).list_tests_still_needed({})) == "ab"
    assert names(plan.Schedule(problem, keeps_order=True).list_tests_still_needed(results(a=0))) == ""
    assert names(plan.order_tests(problem, plan.list_distinct_tests(problem))) == "ba"


# --- tests that still matter -------------------------------------------------------------------------


def test_tests_still_to_run_exclude_judged_and_decided_tests() -> None:
    problem = make_problem("abcde", make_subtask("ab"), make_subtask("bcd"), make_subtask("e", SUM))
    assert set(names(plan.Schedule(problem).list_tests_still_needed(results(a=0)))) == set("bcde")
    assert names(plan.Schedule(problem).list_tests_still_needed(results(b=0))) == "e"


def test_pending_tests_omit_decided_groups() -> None:
    problem = make_problem("abc", make_subtask("abc"), make_subtask("bc"))
    assert [planned.groups for planned in plan.Schedule(problem).list_tests_still_needed(results(a=0))] == [
        (1,),
        (1,),
    ]


def test_grading_tree_may_name_duplicate_test() -> None:
    tests = (make_test("a", "x"), make_test("b", "x"), make_test("c"))
    tree = Subtask(
        name="tree", points=10, tests=("b", "c"), score_type=SUM, grading=Grading(parts=("b", "c"))
    )
    problem = Problem(id="p", tests=tests, subtasks=(tree,))
    assert [
        (planned.test.name, planned.groups) for planned in plan.Schedule(problem).list_tests_still_needed({})
    ] == [
        ("a", (0,)),
        ("c", (0,)),
    ]


def test_skipped_test_is_still_pending() -> None:
    problem = make_problem("ab", make_subtask("ab"))
    assert (
        names(
            plan.Schedule(problem).list_tests_still_needed(
                results(a=1) | {"b": verdicts.make_skipped_result("b")}
            )
        )
        == "b"
    )


def test_result_of_any_duplicate_test_counts() -> None:
    tests = (make_test("a", "x"), make_test("b", "x"), make_test("c"))
    problem = Problem(id="p", tests=tests, subtasks=(make_subtask("a"), make_subtask("bc")))
    assert names(plan.Schedule(problem).list_tests_still_needed(results(b=1))) == "c"
    assert plan.Schedule(problem).list_tests_still_needed(results(a=0)) == ()


def test_results_are_shared_and_spread_to_duplicate_tests() -> None:
    tests = (make_test("a", "x"), make_test("b"), make_test("c", "x"))
    problem = Problem(id="p", tests=tests)
    first = plan.list_distinct_tests(problem)[0]
    assert plan.copy_to_duplicates(first, results(a=0.5)["a"]) == results(a=0.5, c=0.5)
    assert list(plan.add_duplicate_results(problem, results(c=0.5)).items()) == list(
        results(a=0.5, c=0.5).items()
    )
