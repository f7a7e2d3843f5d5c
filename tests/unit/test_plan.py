"""Early stopping gives the scores of a full run, fails fast, and runs everything that matters."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.plans import PlanGroup

from ioi_eval.errors import InputError
from ioi_eval.models import (
    Blob,
    Problem,
    ScoreType,
    Submission,
    SubmissionResult,
    Subtask,
    TaskType,
    Test,
    TestResult,
    Verdict,
)
from ioi_eval.rules import plan, scoring, verdicts

pytestmark = pytest.mark.once

# A busy machine may be slow: that is no failure.
RELAXED = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])

SUM, MIN, MUL, THRESHOLD = ScoreType.SUM, ScoreType.GROUP_MIN, ScoreType.GROUP_MUL, ScoreType.GROUP_THRESHOLD


def make_test(name: str, content: str | None = None, size: int = 0, answer: str | None = "1") -> Test:
    text = (name if content is None else content).ljust(size)
    return Test(name=name, input=Blob.of(text), answer=None if answer is None else Blob.of(answer))


def make_subtask(tests: str, kind: ScoreType = MIN, *, points: float = 10, threshold: float = 0.5) -> Subtask:
    return Subtask(name=tests, points=points, tests=tuple(tests), score_type=kind, threshold=threshold)


def make_problem(names: str, *subtasks: Subtask) -> Problem:
    return Problem(id="p", tests=tuple(make_test(name) for name in names), subtasks=subtasks)


def results(**scores: float) -> dict[str, TestResult]:
    return {
        name: TestResult(test_name=name, score=score, status=verdicts.of_score(score))
        for name, score in scores.items()
    }


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
def test_rule_of_each_score_type(kind: ScoreType, rule: PlanGroup) -> None:
    asked = make_problem("a", make_subtask("a", kind))
    assert plan.groups(asked) == (rule,)
    assert plan.groups(asked, all_tests=True) == (PlanGroup(rule="never"),)


def test_no_subtasks_no_groups() -> None:
    assert plan.groups(make_problem("ab")) == ()
    assert [planned.groups for planned in plan.distinct_tests(make_problem("ab"))] == [(), ()]


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
def test_settles(kind: ScoreType, score: float, settled: bool) -> None:
    assert plan.settles(make_subtask("a", kind), score) is settled


@RELAXED
@given(
    st.sampled_from(ScoreType),
    st.sampled_from([0.0, 0.25, 0.5, 0.75, 1.0]),
    st.lists(st.floats(0, 1), max_size=4),
    st.lists(st.floats(0, 1), max_size=4),
)
def test_what_settles_leaves_nothing_to_change(
    kind: ScoreType, score: float, some: list[float], others: list[float]
) -> None:
    group = make_subtask("a", kind)
    if plan.settles(group, score):
        assert scoring.subtask_score(group, [score, *some]) == scoring.subtask_score(group, [*others, score])


# --- which tests -------------------------------------------------------------------------------------


def test_a_test_of_several_subtasks_is_one() -> None:
    asked = make_problem("abc", make_subtask("ab"), make_subtask("abc"), make_subtask("cc"))
    found = [(planned.test.name, planned.groups) for planned in plan.distinct_tests(asked)]
    assert found == [("a", (0, 1)), ("b", (0, 1)), ("c", (1, 2))]


def test_tests_of_equal_input_and_answer_are_one() -> None:
    tests = (make_test("a", "x"), make_test("b", "y"), make_test("c", "x"), make_test("d", "x", answer="2"))
    asked = Problem(id="p", tests=tests, subtasks=(make_subtask("ab"), make_subtask("cd")))
    found = [(planned.test.name, planned.names, planned.groups) for planned in plan.distinct_tests(asked)]
    assert found == [("a", ("a", "c"), (0, 1)), ("b", ("b",), (0,)), ("d", ("d",), (1,))]


def test_no_answer_and_an_empty_answer_differ() -> None:
    asked = Problem(id="p", tests=(make_test("a", "x", answer=None), make_test("b", "x", answer="")))
    assert len(plan.distinct_tests(asked)) == 2


@pytest.mark.parametrize("kind", [TaskType.OUTPUT_ONLY, TaskType.BATCH_AND_OUTPUT])
def test_where_files_answer_tests_equal_contents_are_not_equal_tests(kind: TaskType) -> None:
    asked = Problem(id="p", task_type=kind, tests=(make_test("a", "x"), make_test("b", "x")))
    assert names(plan.distinct_tests(asked)) == "ab"


def test_a_test_of_no_subtask_counts_only_with_all_tests() -> None:
    asked = make_problem("ab", make_subtask("b"))
    assert names(plan.distinct_tests(asked)) == names(plan.live(asked, {})) == "b"
    assert (
        names(plan.distinct_tests(asked, all_tests=True))
        == names(plan.live(asked, {}, all_tests=True))
        == "ab"
    )


def test_a_subtask_that_names_a_test_that_is_not_there() -> None:
    with pytest.raises(InputError, match="'x'") as caught:
        plan.distinct_tests(make_problem("a", make_subtask("ax")))
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
def test_groups_by_list_by_expression_and_by_count(
    selectors: list[plan.Selector], groups: list[tuple[str, ...]]
) -> None:
    assert list(plan.group_tests(["c", "b", "a2", "a10", "a"], selectors)) == groups


@pytest.mark.parametrize("selectors", [["x"], ["("], [["a", "x"]], [3], [-1], [1, "a"], ["a", 1]])
def test_groups_that_fit_no_tests(selectors: list[plan.Selector]) -> None:
    with pytest.raises(InputError):
        plan.group_tests(["a", "b"], selectors)


# --- the order ---------------------------------------------------------------------------------------


def planned_order(*tests: Test, subtasks: Iterable[Subtask]) -> str:
    return names(plan.live(Problem(id="p", tests=tests, subtasks=tuple(subtasks)), {}))


def test_small_tests_come_first() -> None:
    large, small = make_test("a", size=10_000_000), make_test("b")
    assert planned_order(large, small, subtasks=[make_subtask("ab")]) == "ba"


def test_a_large_answer_makes_a_test_large() -> None:
    large, small = make_test("a", answer="1" * 10_000_000), make_test("b")
    assert planned_order(large, small, subtasks=[make_subtask("ab")]) == "ba"


def test_tests_that_settle_many_subtasks_come_first() -> None:
    tests = [make_test(name) for name in "abc"]
    assert (
        planned_order(*tests, subtasks=[make_subtask("abc"), make_subtask("bc"), make_subtask("c")]) == "cba"
    )


def test_tests_that_settle_many_points_come_first() -> None:
    tests = [make_test(name) for name in "ab"]
    assert (
        planned_order(*tests, subtasks=[make_subtask("a", points=10), make_subtask("b", points=90)]) == "ba"
    )


def test_tests_that_settle_nothing_come_last() -> None:
    tests = [make_test("a"), make_test("b", size=10_000_000)]
    assert (
        planned_order(*tests, subtasks=[make_subtask("a", SUM, points=90), make_subtask("b", points=0)])
        == "ba"
    )


def test_equal_tests_keep_the_problems_order() -> None:
    tests = [make_test(name) for name in "cab"]
    assert planned_order(*tests, subtasks=[make_subtask("abc")]) == "cab"


def test_all_tests_and_those_in_order_keep_the_problems_order() -> None:
    tests = (make_test("a", size=100_000), make_test("b"))
    asked = Problem(id="p", tests=tests, subtasks=(make_subtask("ab"),))
    assert names(plan.live(asked, {}, all_tests=True)) == "ab"
    assert names(plan.live(asked, {}, in_order=True)) == "ab"
    assert names(plan.live(asked, results(a=0), in_order=True)) == ""
    assert names(plan.order(asked, plan.distinct_tests(asked))) == "ba"


# --- what still matters ------------------------------------------------------------------------------


def test_live_leaves_out_what_ran_and_what_is_settled() -> None:
    asked = make_problem("abcde", make_subtask("ab"), make_subtask("bcd"), make_subtask("e", SUM))
    assert set(names(plan.live(asked, results(a=0)))) == set("bcde")
    assert names(plan.live(asked, results(b=0))) == "e"


def test_live_leaves_settled_groups_out_of_a_test() -> None:
    asked = make_problem("abc", make_subtask("abc"), make_subtask("bc"))
    assert [planned.groups for planned in plan.live(asked, results(a=0))] == [(1,), (1,)]


def test_a_skipped_test_has_no_result() -> None:
    asked = make_problem("ab", make_subtask("ab"))
    assert names(plan.live(asked, results(a=1) | {"b": verdicts.skipped("b")})) == "b"


def test_a_result_of_any_twin_will_do() -> None:
    tests = (make_test("a", "x"), make_test("b", "x"), make_test("c"))
    asked = Problem(id="p", tests=tests, subtasks=(make_subtask("a"), make_subtask("bc")))
    assert names(plan.live(asked, results(b=1))) == "c"
    assert plan.live(asked, results(a=0)) == ()


def test_share_and_spread() -> None:
    tests = (make_test("a", "x"), make_test("b"), make_test("c", "x"))
    asked = Problem(id="p", tests=tests)
    first = plan.distinct_tests(asked)[0]
    assert plan.share(first, results(a=0.5)["a"]) == results(a=0.5, c=0.5)
    assert list(plan.spread(asked, results(c=0.5)).items()) == list(results(a=0.5, c=0.5).items())


# --- a full run and an early stop --------------------------------------------------------------------

OUTCOMES = st.sampled_from([0.0, 0.25, 0.3, 0.5, 0.75, 1.0])
NAMES = "abcdefgh"


@st.composite
def problems(draw: st.DrawFn) -> Problem:
    """Problems of up to 8 tests, some of equal content, some in several subtasks, some in none."""
    pool = NAMES[: draw(st.integers(1, len(NAMES)))]
    contents = st.sampled_from("uvwxyz")
    sizes = st.sampled_from([0, 0, 100_000])
    tests = tuple(make_test(name, draw(contents), draw(sizes)) for name in pool)
    members = st.sets(st.sampled_from(pool), min_size=1).map(lambda chosen: "".join(sorted(chosen)))
    subtasks = st.builds(
        make_subtask,
        members,
        st.sampled_from(ScoreType),
        points=st.sampled_from([0, 7, 33.3, 100]),
        threshold=st.sampled_from([0.3, 0.5, 1.0]),
    )
    return Problem(id="p", tests=tests, subtasks=tuple(draw(st.lists(subtasks, max_size=4))))


class Case(NamedTuple):
    """A problem, what a program earns on each content (equal inputs, equal outcomes), how jobs are cut."""

    problem: Problem
    program: Mapping[str, float]
    max_tests: int
    lines: int

    def score(self, test: Test) -> float:
        return self.program[test.input.sha256]

    def full_run(self) -> dict[str, TestResult]:
        return results(**{test.name: self.score(test) for test in self.problem.tests})


@st.composite
def cases(draw: st.DrawFn) -> Case:
    asked = draw(problems())
    program = {test.input.sha256: draw(OUTCOMES) for test in asked.tests}
    return Case(asked, program, draw(st.integers(1, 9)), draw(st.integers(1, 9)))


class Proctor:
    """The stop rule of docs/protocol.md, written down once more."""

    def __init__(self, case: Case, *, all_tests: bool = False) -> None:
        self.case, self.all_tests = case, all_tests
        self.groups = plan.groups(case.problem, all_tests=all_tests)
        self.ran: list[str] = []

    def judge(self) -> dict[str, TestResult]:
        """Jobs, one after the other, until nothing is left that matters."""
        found: dict[str, TestResult] = {}
        while todo := plan.live(self.case.problem, found, all_tests=self.all_tests):
            before = len(self.ran)
            for planned, result in self.job(todo[: self.case.max_tests]):
                found |= plan.share(planned, result)
            assert len(self.ran) > before, "the first test of a job always runs"
        return found

    def job(self, batch: Iterable[plan.PlannedTest]) -> Iterator[tuple[plan.PlannedTest, TestResult]]:
        """What one job says of its tests until it is killed after so many lines."""
        settled: set[int] = set()
        for planned in itertools.islice(batch, self.case.lines):
            name = planned.test.name
            if planned.groups and settled.issuperset(planned.groups):
                yield planned, verdicts.skipped(name)
                continue
            self.ran.append(name)
            score = self.case.score(planned.test)
            settled |= {index for index in planned.groups if self.settles(self.groups[index], score)}
            yield planned, results(**{name: score})[name]

    @staticmethod
    def settles(group: PlanGroup, score: float) -> bool:
        if group.rule == "zero":
            return score == 0
        if group.rule == "threshold":
            assert group.threshold is not None
            return score <= 0 or score > group.threshold
        return False


def scored(case: Case, found: Mapping[str, TestResult]) -> SubmissionResult:
    return scoring.submission_result(case.problem, Submission(key="k", problem_id="p", code=""), found)


def scores(result: SubmissionResult) -> list[object]:
    parts = [(part.exact_score, part.score, part.weighted_score) for part in result.subtasks]
    return [result.points, *parts]


@RELAXED
@given(cases())
def test_an_early_stop_gives_the_scores_of_a_full_run(case: Case) -> None:
    early = Proctor(case).judge()
    assert scores(scored(case, early)) == scores(scored(case, case.full_run()))


@RELAXED
@given(cases())
def test_every_test_of_a_live_subtask_runs_and_none_twice(case: Case) -> None:
    proctor = Proctor(case)
    found = plan.spread(case.problem, proctor.judge())
    assert len(set(proctor.ran)) == len(proctor.ran)
    for subtask in case.problem.subtasks:
        known = [found[name] for name in subtask.tests if name in found]
        if not any(plan.settles(subtask, result.score) for result in known):
            assert len(known) == len(subtask.tests)
    if not case.problem.subtasks:
        assert set(found) == {test.name for test in case.problem.tests}


@RELAXED
@given(cases())
def test_with_all_tests_everything_runs_once(case: Case) -> None:
    proctor = Proctor(case, all_tests=True)
    assert proctor.judge() == case.full_run()
    assert len(proctor.ran) == len({test.input.sha256 for test in case.problem.tests})


@RELAXED
@given(cases())
def test_statuses_of_an_early_stop_are_sane(case: Case) -> None:
    for part in scored(case, Proctor(case).judge()).subtasks:
        assert part.status is not Verdict.SKIPPED
        assert (part.status is Verdict.AC) == (part.exact_score == 1)
        if part.status is Verdict.PA:
            assert 0 < part.exact_score < 1


@RELAXED
@given(cases(), st.sets(st.sampled_from(NAMES)))
def test_every_test_is_live_or_settled_or_has_a_result(case: Case, ran: set[str]) -> None:
    found = {name: result for name, result in case.full_run().items() if name in ran}
    todo = plan.live(case.problem, found)
    assert todo == plan.live(case.problem, dict(reversed(found.items())))
    waiting = {name for planned in todo for name in planned.names}
    with_result = set(plan.spread(case.problem, found))
    assert not waiting & with_result
    for test in case.problem.tests:
        if test.name not in waiting | with_result:  # then every subtask that it is in is settled
            assert all(
                any(plan.settles(part, found[name].score) for name in part.tests if name in with_result)
                for part in case.problem.subtasks
                if test.name in part.tests
            )
