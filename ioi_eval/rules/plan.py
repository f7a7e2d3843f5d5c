"""Plan which tests run, in which order, and when no further test can change a score.

A subtask's score is settled by a test whose outcome no other test can compensate: a score of 0 if the
subtask's score is a minimum or a product, a score outside (0, T] if it is a threshold. A sum is never
settled. In a tree of groups, a test counts until the minimum and maximum points of its group are equal. A
test is skipped if all its subtasks are settled. The remaining tests yield exactly the same scores as a full
run.

The judge repeats this loop, and the proctor follows the same rule within a job:

    schedule = Schedule(problem)
    while todo := schedule.list_tests_still_needed(results):
        for planned, result in run(todo[:max_tests]):
            results |= share(planned, result)
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

import msgspec

from ioi_eval.model.errors import InputError
from ioi_eval.model.protocol import PlanGroup
from ioi_eval.model.values import (
    Checker,
    Problem,
    ScoreType,
    Subtask,
    TaskType,
    Test,
    TestResult,
    Value,
    Verdict,
)
from ioi_eval.rules import grading

# Cost of starting a program and its checker, in bytes of test data that are judged in the same time.
_START_COST = 1 << 16

# Task types in which submissions answer a test by its name, so that tests with equal contents are different
# tests.
_TYPES_ANSWERED_BY_NAME = frozenset({TaskType.OUTPUT_ONLY, TaskType.BATCH_AND_OUTPUT})


def is_answered_by_file(problem: Problem, test_name: str) -> bool:
    """Return True if a test is judged by a submitted file, even if that file is missing."""
    if problem.task_type is TaskType.BATCH_AND_OUTPUT:
        return test_name in problem.options.output_tests
    return problem.task_type is TaskType.OUTPUT_ONLY


class PlannedTest(Value):
    """A test to run once, with its duplicates, which share its outcome, and the subtasks that need it."""

    test: Test
    names: tuple[str, ...]  # names of the test and of its duplicates, which have equal input and answer
    # Indices of the subtasks that contain the test, in the problem's subtasks.
    groups: tuple[int, ...]


# --- settled subtasks ----------------------------------------------------------------------------


def decides_subtask_score(subtask: Subtask, test_score: float) -> bool:
    """Return True if this score of a test determines the subtask's score, whatever other tests earn."""
    match subtask.score_type:
        case ScoreType.GROUP_MIN | ScoreType.GROUP_MUL:
            return test_score <= 0
        case ScoreType.GROUP_THRESHOLD:
            return not 0 < test_score <= subtask.threshold
        case ScoreType.SUM:
            return False


def make_plan_groups(problem: Problem, *, all_tests: bool = False) -> tuple[PlanGroup, ...]:
    """Return the proctor's stop rule of each subtask. With `all_tests` the rules never stop a subtask."""
    rules = {
        ScoreType.GROUP_MIN: "zero",
        ScoreType.GROUP_MUL: "zero",
        ScoreType.GROUP_THRESHOLD: "threshold",
        ScoreType.SUM: "never",
    }
    return tuple(
        PlanGroup(rule="never")
        if all_tests
        else PlanGroup(
            rule=rules[subtask.score_type],
            threshold=subtask.threshold if subtask.score_type is ScoreType.GROUP_THRESHOLD else None,
        )
        for subtask in problem.subtasks
    )


# --- invalid problems ----------------------------------------------------------------------------

# Each limit of a problem must be below this number of seconds or bytes, which a plan can express.
_MAX_LIMITS = {"cpu_time": 1e9, "wall_time": 1e9, "memory": 1 << 50, "output": 1 << 50}
# Task types in which a manager answers the submission.
MANAGED_TASK_TYPES = frozenset({TaskType.COMMUNICATION, TaskType.INTERACTIVE})


def needs_answers(task: TaskType, checker: Checker) -> bool:
    """Return True if outputs are compared. A manager, interactor or checker needs no answers."""
    return task not in MANAGED_TASK_TYPES and not checker.kind.is_program


def refuse_invalid_problem(problem: Problem) -> None:
    """Raise InputError if a problem has values that would lead to meaningless scores.

    Only problems created in Python can have such values, packages cannot.
    """
    where = problem.source or problem.id
    _refuse_wrong_types(problem, where)
    for value_object in (problem.options, problem.checker, *problem.subtasks, *problem.tests):
        _refuse_wrong_types(value_object, where)
    for field, max_value in _MAX_LIMITS.items():
        limit_or_points = getattr(problem.limits, field)
        if limit_or_points is not None and (
            type(limit_or_points) not in (int, float) or not 0 < limit_or_points < max_value
        ):
            remedy = f"Give an int or a float above 0 and below {max_value:g}, or None for no limit"
            raise InputError(
                f"{limit_or_points!r} is not a valid limit",
                where=where,
                field=f"limits.{field}",
                remedy=remedy,
            )
    # An empty cell of a data frame is NaN, which is not a tolerance.
    for field in ("absolute", "relative"):
        limit_or_points = getattr(problem.checker, field)
        if limit_or_points is not None and not 0 <= limit_or_points < math.inf:
            problem_text, remedy = (
                f"{limit_or_points!r} is not a valid tolerance",
                "Give a tolerance of at least 0, or None for no tolerance",
            )
            raise InputError(problem_text, where=where, field=f"checker.{field}", remedy=remedy)
    for subtask in problem.subtasks:
        for field in ("points", "threshold"):
            if not 0 <= (limit_or_points := getattr(subtask, field)) < math.inf:
                problem_text = f"subtask {subtask.name!r} has {limit_or_points} {field}"
                raise InputError(
                    problem_text,
                    where=where,
                    field=subtask.name,
                    remedy="Give the subtask points of at least 0",
                )
    test_names = set[str]()
    needs_answer = needs_answers(problem.task_type, problem.checker)
    for test in problem.tests:
        if test.name in test_names:
            problem_text = f"two tests have the name {test.name!r}"
            raise InputError(
                problem_text, where=where, field=test.name, remedy="Give each test a unique name"
            )
        if needs_answer and test.answer is None:
            problem_text = (
                f"test {test.name!r} has no answer, which is needed because the problem has no checker"
            )
            raise InputError(
                problem_text,
                where=where,
                field=test.name,
                remedy="Add an answer to the test, or a checker to the problem",
            )
        test_names.add(test.name)


def _refuse_wrong_types(value_object: Value, where: str) -> None:
    """Raise InputError if a field has a value of a wrong type, such as a string type of a data frame."""
    fields = msgspec.structs.asdict(value_object)
    type_name, remedy = (
        type(value_object).__name__,
        "Give plain int, float, str, enum members and values of ioi_eval",
    )
    try:
        converted_object = msgspec.convert(fields, type(value_object))
    except msgspec.ValidationError as error:
        raise InputError(str(error), where=where, field=type_name, remedy=remedy) from error
    for field, value in fields.items():
        if isinstance(value, str) and type(value) is not type(getattr(converted_object, field)):
            problem_text = f"{value!r} of the type {type(value).__name__}"
            raise InputError(problem_text, where=where, field=f"{type_name}.{field}", remedy=remedy)


# --- distinct tests ------------------------------------------------------------------------------


def list_distinct_tests(problem: Problem, *, all_tests: bool = False) -> tuple[PlannedTest, ...]:
    """Return each test that counts once, in the problem's order.

    Tests with the same input and answer are merged into a single test. If there are subtasks, tests outside
    of them count only with `all_tests`. Raises InputError if a subtask names a test that does not exist.
    """
    # Indices of the subtasks that contain a test, by the test's name.
    subtasks_of_tests: dict[str, list[int]] = {test.name: [] for test in problem.tests}
    for index, subtask in enumerate(problem.subtasks):
        for name in subtask.tests:
            if name not in subtasks_of_tests:
                raise InputError(
                    f"subtask {subtask.name!r} names a test {name!r} that does not exist",
                    where=problem.source or problem.id,
                    field=subtask.name,
                    remedy="Add the test or remove its name from the subtask",
                )
            subtasks_of_tests[name].append(index)
    tests_by_outcome_key: dict[object, list[Test]] = {}
    for test in problem.tests:
        tests_by_outcome_key.setdefault(_make_duplicate_key(problem, test), []).append(test)
    duplicates_with_names = (
        (duplicates, tuple(dict.fromkeys(test.name for test in duplicates)))
        for duplicates in tests_by_outcome_key.values()
    )
    planned_tests = (
        PlannedTest(
            test=duplicates[0],
            names=duplicate_names,
            groups=tuple(sorted({index for name in duplicate_names for index in subtasks_of_tests[name]})),
        )
        for duplicates, duplicate_names in duplicates_with_names
    )
    return tuple(test for test in planned_tests if test.groups or all_tests or not problem.subtasks)


def _make_duplicate_key(problem: Problem, test: Test) -> object:
    """Return the data that decides a test's outcome; equal for duplicates."""
    if problem.task_type in _TYPES_ANSWERED_BY_NAME:
        return test.name
    return test.input.sha256, test.answer and test.answer.sha256, test.full, test.arguments


class Schedule:
    """The tests of a problem and the order in which to run them. One schedule serves all submissions.

    `keeps_order`: run the tests in the problem's order. `all_tests` implies it.
    """

    def __init__(self, problem: Problem, *, all_tests: bool = False, keeps_order: bool = False) -> None:
        self._problem, self._keeps_order = problem, all_tests or keeps_order
        self._subtasks = () if all_tests else problem.subtasks
        self.tests = list_distinct_tests(problem, all_tests=all_tests)
        self.first = self.list_tests_still_needed({})

    def list_tests_still_needed(self, results: Mapping[str, TestResult]) -> tuple[PlannedTest, ...]:
        """Return the tests without a result that can still change a reported score, in the order to run them.

        A SKIPPED result does not count as a result. Settled subtasks are removed from each test's `groups`,
        so that the next job, which does not receive them, can stop as early as possible.
        """
        tests_with_outcomes = [(test, find_outcome(test, results)) for test in self.tests]
        unfinished = [test for test, result in tests_with_outcomes if result is None]
        if not unfinished:
            return ()
        if not self._subtasks:
            return order_tests(self._problem, unfinished, keeps_order=self._keeps_order)
        finished = [(test, result) for test, result in tests_with_outcomes if result is not None]
        settled_groups = {
            index
            for test, result in finished
            for index in test.groups
            if decides_subtask_score(self._subtasks[index], result.score)
        }
        results_by_name = {name: result for test, result in finished for name in test.names}
        undecided_tests_by_group = {
            index: set(grading.list_undecided_tests(subtask.grading, results_by_name))
            for index, subtask in enumerate(self._subtasks)
            if subtask.grading is not None
        }
        remaining_tests = list[PlannedTest]()
        for test in unfinished:
            live_groups = tuple(
                group
                for group in test.groups
                if group not in settled_groups
                and (
                    group not in undecided_tests_by_group
                    or not undecided_tests_by_group[group].isdisjoint(test.names)
                )
            )
            if live_groups:
                remaining_tests.append(msgspec.structs.replace(test, groups=live_groups))
        return order_tests(self._problem, remaining_tests, keeps_order=self._keeps_order)


def find_outcome(planned_test: PlannedTest, results: Mapping[str, TestResult]) -> TestResult | None:
    """Return the result of a test or of a duplicate of it, or None if none of them ran."""
    available_results = (results[name] for name in planned_test.names if name in results)
    return next((result for result in available_results if result.status is not Verdict.SKIPPED), None)


# --- the order in which tests run ----------------------------------------------------------------


def order_tests(
    problem: Problem, tests: Iterable[PlannedTest], *, keeps_order: bool = False
) -> tuple[PlannedTest, ...]:
    """Return the tests in an order in which a wrong submission fails early.

    The tests are sorted by the points that a score of 0 would decide, divided by the cost of running the
    test. So a small test in many undecided subtasks comes first, and a test that cannot decide any points
    comes last. Equal tests stay in the problem's order.

    `keeps_order`: return the tests in the given order.
    """

    def rank(planned: PlannedTest) -> tuple[float, int]:
        test = planned.test
        run_cost = _START_COST + test.input.size + (test.answer.size if test.answer else 0)
        # The rank is higher if a score of 0 would decide more points. Each subtask adds 1, because some
        # subtasks are worth 0 points.
        subtasks = (problem.subtasks[index] for index in planned.groups)
        return -sum(
            subtask.points + 1 for subtask in subtasks if decides_subtask_score(subtask, 0.0)
        ) / run_cost, run_cost

    return tuple(tests) if keeps_order else tuple(sorted(tests, key=rank))


# --- shared outcomes -----------------------------------------------------------------------------


def copy_to_duplicates(planned_test: PlannedTest, result: TestResult) -> dict[str, TestResult]:
    """Return the result of a test under its name and under the names of its duplicates."""
    return {name: msgspec.structs.replace(result, test_name=name) for name in planned_test.names}


def add_duplicate_results(problem: Problem, results: Mapping[str, TestResult]) -> dict[str, TestResult]:
    """Return the results completed by results for duplicates, in the problem's order."""
    outcome_keys = {test.name: _make_duplicate_key(problem, test) for test in problem.tests}
    result_by_outcome_key = dict[object, TestResult]()
    for name, outcome_key in outcome_keys.items():
        if name in results and results[name].status is not Verdict.SKIPPED:
            result_by_outcome_key.setdefault(outcome_key, results[name])
    return {
        name: msgspec.structs.replace(result_by_outcome_key[outcome_key], test_name=name)
        for name, outcome_key in outcome_keys.items()
        if outcome_key in result_by_outcome_key
    }


# --- tests of a group ----------------------------------------------------------------------------


Selector = Sequence[str] | str | int
"""The tests of a group: a list of names, a regular expression, or a count."""


def select_group_tests(
    test_names: Iterable[str], test_selectors: Sequence[Selector]
) -> tuple[tuple[str, ...], ...]:
    """Return the tests of each group.

    A regular expression must match at the start of a name. A count selects the next tests in the order of
    names, so counts cannot be combined with other selectors.
    """
    sorted_names = sorted(test_names)
    if any(isinstance(selector, int) for selector in test_selectors):
        return tuple(_select_by_count(sorted_names, test_selectors))
    return tuple(_select_by_name(sorted_names, selector) for selector in test_selectors)


def _select_by_count(sorted_names: Sequence[str], selectors: Sequence[Selector]) -> Iterator[tuple[str, ...]]:
    """Yield the tests of groups that are defined by counts."""
    first_index = 0
    for selector in selectors:
        if not isinstance(selector, int):
            raise InputError("groups of tests by count and groups of tests by name cannot be combined")
        end_index = first_index + selector
        if selector < 0 or end_index > len(sorted_names):
            raise InputError(f"the groups count {end_index} tests, but the problem has {len(sorted_names)}")
        yield tuple(sorted_names[first_index:end_index])
        first_index = end_index


def _select_by_name(sorted_names: Sequence[str], selector: Selector) -> tuple[str, ...]:
    """Return the tests of a group that is defined by names or by a regular expression."""
    if isinstance(selector, str):
        return _select_by_pattern(sorted_names, selector)
    assert not isinstance(selector, int), "`select_group_tests` handles counts"
    unknown_names = [name for name in selector if name not in sorted_names]
    if unknown_names:
        raise InputError(f"a group names a test {unknown_names[0]!r} that does not exist")
    return tuple(dict.fromkeys(selector))


def _select_by_pattern(sorted_names: Sequence[str], pattern: str) -> tuple[str, ...]:
    """Return the tests whose names match a regular expression."""
    try:
        expression = re.compile(pattern)
    except re.error as error:
        raise InputError(f"{pattern!r} is not a regular expression: {error}") from error
    matching_names = tuple(name for name in sorted_names if expression.match(name))
    if not matching_names:
        raise InputError(f"no test's name matches the group's regular expression {pattern!r}")
    return matching_names
