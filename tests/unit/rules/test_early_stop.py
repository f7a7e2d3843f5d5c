"""A run with early stops has the same scores as a full run."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from hypothesis import given
from hypothesis import strategies as st
from scoring_samples import make_subtask, make_test, results, scores
from support.proctor_protocol import PlanGroup

from ioi_eval.models import Problem, ScoreType, Submission, SubmissionResult, Test, TestResult, Verdict
from ioi_eval.rules import plan, scoring, verdicts

# --- a full run and an early stop --------------------------------------------------------------------

OUTCOMES = st.sampled_from([0.0, 0.25, 0.3, 0.5, 0.75, 1.0])
NAMES = "abcdefgh"


@st.composite
def problems(draw: st.DrawFn) -> Problem:
    """Draw problems of up to 8 tests: some with equal contents, some in several subtasks, some in none."""
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
    """A problem, the outcome of each test content, and how many lines each job returns."""

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
    problem = draw(problems())
    program = {test.input.sha256: draw(OUTCOMES) for test in problem.tests}
    return Case(problem, program, draw(st.integers(1, 9)), draw(st.integers(1, 9)))


class Proctor:
    """A second implementation of the stop rule in docs/protocol.md."""

    def __init__(self, case: Case, *, all_tests: bool = False) -> None:
        self.case, self.all_tests = case, all_tests
        self.groups = plan.make_plan_groups(case.problem, all_tests=all_tests)
        self.ran: list[str] = []

    def judge(self) -> dict[str, TestResult]:
        """Run jobs until no pending test matters."""
        results_by_test: dict[str, TestResult] = {}
        while todo := plan.Schedule(self.case.problem, all_tests=self.all_tests).list_tests_still_needed(
            results_by_test
        ):
            ran_before = len(self.ran)
            for planned, result in self.job(todo[: self.case.max_tests]):
                results_by_test |= plan.copy_to_duplicates(planned, result)
            assert len(self.ran) > ran_before, "the first test of a job always runs"
        return results_by_test

    def job(self, batch: Iterable[plan.PlannedTest]) -> Iterator[tuple[plan.PlannedTest, TestResult]]:
        """Return a job's reports on its tests, cut after this many lines."""
        settled: set[int] = set()
        for planned in itertools.islice(batch, self.case.lines):
            name = planned.test.name
            if planned.groups and settled.issuperset(planned.groups):
                yield planned, verdicts.make_skipped_result(name)
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


def scored(case: Case, results_by_test: Mapping[str, TestResult]) -> SubmissionResult:
    return scoring.score_submission(
        case.problem, Submission(key="k", problem_id="p", code="", language="c++"), results_by_test
    )


@given(cases())
def test_early_stop_gives_scores_of_full_run(case: Case) -> None:
    early = Proctor(case).judge()
    assert scores(scored(case, early)) == scores(scored(case, case.full_run()))


@given(cases())
def test_undecided_subtasks_run_all_tests_once(case: Case) -> None:
    proctor = Proctor(case)
    results_by_test = plan.add_duplicate_results(case.problem, proctor.judge())
    assert len(set(proctor.ran)) == len(proctor.ran)
    for subtask in case.problem.subtasks:
        subtask_results = [results_by_test[name] for name in subtask.tests if name in results_by_test]
        if not any(plan.decides_subtask_score(subtask, result.score) for result in subtask_results):
            assert len(subtask_results) == len(subtask.tests)
    if not case.problem.subtasks:
        assert set(results_by_test) == {test.name for test in case.problem.tests}


@given(cases())
def test_all_tests_option_plans_every_test_once(case: Case) -> None:
    proctor = Proctor(case, all_tests=True)
    assert proctor.judge() == case.full_run()
    assert len(proctor.ran) == len({test.input.sha256 for test in case.problem.tests})


@given(cases())
def test_early_stop_statuses_match_scores(case: Case) -> None:
    for subtask in scored(case, Proctor(case).judge()).subtasks:
        assert subtask.status is not Verdict.SKIPPED
        assert (subtask.status is Verdict.AC) == (subtask.exact_score == 1)
        if subtask.status is Verdict.PA:
            assert 0 < subtask.exact_score < 1


@given(cases(), st.sets(st.sampled_from(NAMES)))
def test_every_test_is_pending_decided_or_judged(case: Case, ran: set[str]) -> None:
    judged_results = {name: result for name, result in case.full_run().items() if name in ran}
    todo = plan.Schedule(case.problem).list_tests_still_needed(judged_results)
    assert todo == plan.Schedule(case.problem).list_tests_still_needed(dict(reversed(judged_results.items())))
    waiting = {name for planned in todo for name in planned.names}
    all_results = plan.add_duplicate_results(case.problem, judged_results)
    assert not waiting & set(all_results)
    for test in case.problem.tests:
        if test.name not in waiting | set(all_results):  # all its subtasks are settled
            assert all(
                any(
                    plan.decides_subtask_score(subtask, all_results[name].score)
                    for name in subtask.tests
                    if name in all_results
                )
                for subtask in case.problem.subtasks
                if test.name in subtask.tests
            )
