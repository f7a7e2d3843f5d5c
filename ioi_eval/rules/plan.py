"""Plan which tests run, in which order, and when no further test can change a score.

A subtask's score is settled by a test whose outcome no other test can compensate: a score of 0 if the
subtask's score is a minimum or a product, a score outside (0, T] if it is a threshold. A sum is never
settled. In a tree of groups, a test counts until the minimum and maximum points of its group are equal. A
test is skipped if all its subtasks are settled. The remaining tests yield exactly the same scores as a full
run.

The judge repeats this loop, and the proctor follows the same rule within a job:

    schedule = Schedule(problem)
    while todo := schedule.live_tests(results):
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

# Cost of starting a program and its checker, as the bytes of test data that are judged in the same time.
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
    # Indices of the test's groups in the problem's subtasks, and therefore in `groups(problem)`.
    groups: tuple[int, ...]


# --- settled subtasks ----------------------------------------------------------------------------


def settles_subtask(subtask: Subtask, score: float) -> bool:
    """Return True if this score of a test determines the subtask's score, whatever other tests earn."""
    match subtask.score_type:
        case ScoreType.GROUP_MIN | ScoreType.GROUP_MUL:
            return score <= 0
        case ScoreType.GROUP_THRESHOLD:
            return not 0 < score <= subtask.threshold
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

# Exclusive maximum of each limit that a plan can express, in seconds or bytes. 30 years is practically no
# limit.
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
        value = getattr(problem.limits, field)
        if value is not None and (type(value) not in (int, float) or not 0 < value < max_value):
            remedy = f"Give an int or a float above 0 and below {max_value:g}, or None for no limit"
            raise InputError(
                f"{value!r} is not a valid limit", where=where, field=f"limits.{field}", remedy=remedy
            )
    # An empty cell of a data frame is NaN, with which values would be compared as strings.
    for field in ("absolute", "relative"):
        value = getattr(problem.checker, field)
        if value is not None and not 0 <= value < math.inf:
            message, remedy = (
                f"{value!r} is not a valid tolerance",
                "Give a tolerance of at least 0, or None for no tolerance",
            )
            raise InputError(message, where=where, field=f"checker.{field}", remedy=remedy)
    for subtask in problem.subtasks:
        for field in ("points", "threshold"):
            if not 0 <= (value := getattr(subtask, field)) < math.inf:
                message = f"subtask {subtask.name!r} has {value} {field}"
                raise InputError(
                    message, where=where, field=subtask.name, remedy="Give the subtask points of at least 0"
                )
    names = set[str]()
    needs_answer = needs_answers(problem.task_type, problem.checker)
    for test in problem.tests:
        if test.name in names:
            message = f"two tests have the name {test.name!r}"
            raise InputError(message, where=where, field=test.name, remedy="Give each test a unique name")
        if needs_answer and test.answer is None:
            message = f"test {test.name!r} has no answer, which is needed because the problem has no checker"
            raise InputError(
                message,
                where=where,
                field=test.name,
                remedy="Add an answer to the test, or a checker to the problem",
            )
        names.add(test.name)


def _refuse_wrong_types(value_object: Value, where: str) -> None:
    """Raise InputError if a field has a value of another type, such as a string type of a data frame."""
    fields = msgspec.structs.asdict(value_object)
    name, remedy = (
        type(value_object).__name__,
        "Give plain int, float, str, enum members and values of ioi_eval",
    )
    try:
        converted = msgspec.convert(fields, type(value_object))
    except msgspec.ValidationError as error:
        raise InputError(str(error), where=where, field=name, remedy=remedy) from error
    for field, value in fields.items():
        if isinstance(value, str) and type(value) is not type(getattr(converted, field)):
            message = f"{value!r} of the type {type(value).__name__}"
            raise InputError(message, where=where, field=f"{name}.{field}", remedy=remedy)


# --- distinct tests ------------------------------------------------------------------------------


def distinct_tests(problem: Problem, *, all_tests: bool = False) -> tuple[PlannedTest, ...]:
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
        tests_by_outcome_key.setdefault(_outcome_key(problem, test), []).append(test)
    named_duplicates = (
        (duplicates, tuple(dict.fromkeys(test.name for test in duplicates)))
        for duplicates in tests_by_outcome_key.values()
    )
    planned = (
        PlannedTest(
            test=duplicates[0],
            names=names,
            groups=tuple(sorted({index for name in names for index in subtasks_of_tests[name]})),
        )
        for duplicates, names in named_duplicates
    )
    return tuple(test for test in planned if test.groups or all_tests or not problem.subtasks)


def _outcome_key(problem: Problem, test: Test) -> object:
    """Return the data that decides a test's outcome; equal for duplicates."""
    if problem.task_type in _TYPES_ANSWERED_BY_NAME:
        return test.name
    return test.input.sha256, test.answer and test.answer.sha256, test.full, test.arguments


class Schedule:
    """The tests of a problem and the order in which to run them. One schedule serves all submissions.

    `in_order`: run the tests in the problem's order. `all_tests` implies it.
    """

    def __init__(self, problem: Problem, *, all_tests: bool = False, in_order: bool = False) -> None:
        self._problem, self._keeps_order = problem, all_tests or in_order
        self._groups = () if all_tests else problem.subtasks
        self.tests = distinct_tests(problem, all_tests=all_tests)
        self.first = self.live_tests({})

    def live_tests(self, results: Mapping[str, TestResult]) -> tuple[PlannedTest, ...]:
        """Return the tests without a result that can still change a reported score, in the order to run them.

        A SKIPPED result does not count as a result. Settled subtasks are removed from each test's `groups`,
        so that the next job, which does not receive them, can stop as early as possible.
        """
        tests_with_outcomes = [(test, find_outcome(test, results)) for test in self.tests]
        unfinished = [test for test, result in tests_with_outcomes if result is None]
        if not unfinished:
            return ()
        if not self._groups:
            return order_tests(self._problem, unfinished, as_given=self._keeps_order)
        finished = [(test, result) for test, result in tests_with_outcomes if result is not None]
        settled_groups = {
            index
            for test, result in finished
            for index in test.groups
            if settles_subtask(self._groups[index], result.score)
        }
        results_by_name = {name: result for test, result in finished for name in test.names}
        needed_in_trees = {
            index: set(grading.list_undecided_tests(subtask.grading, results_by_name))
            for index, subtask in enumerate(self._groups)
            if subtask.grading is not None
        }
        live_tests = list[PlannedTest]()
        for test in unfinished:
            live_groups = tuple(
                group
                for group in test.groups
                if group not in settled_groups
                and (group not in needed_in_trees or not needed_in_trees[group].isdisjoint(test.names))
            )
            if live_groups:
                live_tests.append(msgspec.structs.replace(test, groups=live_groups))
        return order_tests(self._problem, live_tests, as_given=self._keeps_order)


def find_outcome(planned: PlannedTest, results: Mapping[str, TestResult]) -> TestResult | None:
    """Return the result of a test or of a duplicate of it, or None if none of them ran."""
    own_results = (results[name] for name in planned.names if name in results)
    return next((result for result in own_results if result.status is not Verdict.SKIPPED), None)


# --- the order in which tests run ----------------------------------------------------------------


def order_tests(
    problem: Problem, tests: Iterable[PlannedTest], *, as_given: bool = False
) -> tuple[PlannedTest, ...]:
    """Return the tests in an order that fails early: by the points per cost that a test can settle.

    A test that many live subtasks share comes before a test that few share, and a small test before a large
    test. Tests that cannot settle anything come last. Equal tests stay in the problem's order. `as_given`: do
    not change the problem's order at all.
    """

    def rank(planned: PlannedTest) -> tuple[float, int]:
        test = planned.test
        cost = _START_COST + test.input.size + (test.answer.size if test.answer else 0)
        # Maximum number of points that would be decided if this test scored 0. Each subtask adds 1, because
        # some subtasks are worth 0 points.
        subtasks = (problem.subtasks[index] for index in planned.groups)
        return -sum(subtask.points + 1 for subtask in subtasks if settles_subtask(subtask, 0.0)) / cost, cost

    return tuple(tests) if as_given else tuple(sorted(tests, key=rank))


# --- shared outcomes -----------------------------------------------------------------------------


def copy_to_duplicates(planned: PlannedTest, result: TestResult) -> dict[str, TestResult]:
    """Return the result of a test under its name and under the names of its duplicates."""
    return {name: msgspec.structs.replace(result, test_name=name) for name in planned.names}


def add_duplicate_results(problem: Problem, results: Mapping[str, TestResult]) -> dict[str, TestResult]:
    """Return the results completed by results for duplicates, in the problem's order."""
    contents = {test.name: _outcome_key(problem, test) for test in problem.tests}
    result_by_content = dict[object, TestResult]()
    for name, content in contents.items():
        if name in results and results[name].status is not Verdict.SKIPPED:
            result_by_content.setdefault(content, results[name])
    return {
        name: msgspec.structs.replace(result_by_content[content], test_name=name)
        for name, content in contents.items()
        if content in result_by_content
    }


# --- tests of a group ----------------------------------------------------------------------------


Selector = Sequence[str] | str | int
"""The tests of a group: a list of names, a regular expression, or a count."""


def select_group_tests(names: Iterable[str], selectors: Sequence[Selector]) -> tuple[tuple[str, ...], ...]:
    """Return the tests of each group.

    A regular expression must match at the start of a name. A count selects the next tests in the order of
    names, so counts cannot be combined with other selectors.
    """
    sorted_names = sorted(names)
    if any(isinstance(selector, int) for selector in selectors):
        return tuple(_groups_by_count(sorted_names, selectors))
    return tuple(_group_by_name(sorted_names, selector) for selector in selectors)


def _groups_by_count(sorted_names: Sequence[str], selectors: Sequence[Selector]) -> Iterator[tuple[str, ...]]:
    """Yield the tests of groups that are defined by counts."""
    start = 0
    for selector in selectors:
        if not isinstance(selector, int):
            raise InputError("groups of tests by count and groups of tests by name cannot be combined")
        end = start + selector
        if selector < 0 or end > len(sorted_names):
            raise InputError(f"the groups count {end} tests, but the problem has {len(sorted_names)}")
        yield tuple(sorted_names[start:end])
        start = end


def _group_by_name(sorted_names: Sequence[str], selector: Selector) -> tuple[str, ...]:
    """Return the tests of a group that is defined by names or by a regular expression."""
    if isinstance(selector, str):
        return _group_by_pattern(sorted_names, selector)
    assert not isinstance(selector, int), "`select_group_tests` handles counts"
    unknown = [name for name in selector if name not in sorted_names]
    if unknown:
        raise InputError(f"a group names a test {unknown[0]!r} that does not exist")
    return tuple(dict.fromkeys(selector))


def _group_by_pattern(sorted_names: Sequence[str], pattern: str) -> tuple[str, ...]:
    """Return the tests whose names match a regular expression."""
    try:
        expression = re.compile(pattern)
    except re.error as error:
        raise InputError(f"{pattern!r} is not a regular expression: {error}") from error
    matching = tuple(name for name in sorted_names if expression.match(name))
    if not matching:
        raise InputError(f"no test's name matches the group's regular expression {pattern!r}")
    return matching
