"""The plan: which tests run, in which order, and when no further test can change a score.

A subtask's score is settled once a test of it has an outcome that no other outcome can make up for: 0 where
the score is a minimum or a product, outside (0, T] where it is a threshold. A sum is never settled. In a tree
of groups a test counts while the least and the most that its group may earn differ. A test whose subtasks are
all settled need not run; what does run gives exactly the scores of a full run.

The judge goes round this loop (the proctor follows the same rule within a job):

    schedule = Schedule(problem)
    while todo := schedule.live(results):
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

# What starting a program and its checker costs, in bytes of test data that could be judged meanwhile.
_START_COST = 1 << 16

# A submission of these task types answers a test by its name, so that equal contents are not equal tests.
_ANSWERED_BY_NAME = frozenset({TaskType.OUTPUT_ONLY, TaskType.BATCH_AND_OUTPUT})


def is_by_file(problem: Problem, test_name: str) -> bool:
    """Return True if a test is judged by a file, handed in or missing."""
    if problem.task_type is TaskType.BATCH_AND_OUTPUT:
        return test_name in problem.options.output_tests
    return problem.task_type is TaskType.OUTPUT_ONLY


class PlannedTest(Value):
    """A test to run once, with all the tests that share its outcome and the subtasks that wait for it."""

    test: Test
    names: tuple[str, ...]  # the test itself first, then its twins: equal input and answer
    groups: tuple[int, ...]  # indices into the problem's subtasks and so into `groups(problem)`


# --- settling ----------------------------------------------------------------------------------------


def settles(subtask: Subtask, score: float) -> bool:
    """Return True if a test with this score fixes the subtask's score, whatever its other tests earn."""
    match subtask.score_type:
        case ScoreType.GROUP_MIN | ScoreType.GROUP_MUL:
            return score <= 0
        case ScoreType.GROUP_THRESHOLD:
            return not 0 < score <= subtask.threshold
        case ScoreType.SUM:
            return False


def groups(problem: Problem, *, all_tests: bool = False) -> tuple[PlanGroup, ...]:
    """The proctor's stop rules, one per subtask, in the problem's order. With `all_tests` nothing stops."""
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


# --- what can be judged ------------------------------------------------------------------------------

# Limits are below: what a plan can say, and 30 years are as good as none.
_MOST = {"cpu_time": 1e9, "wall_time": 1e9, "memory": 1 << 50, "output": 1 << 50}
MANAGED = frozenset({TaskType.COMMUNICATION, TaskType.INTERACTIVE})  # a manager answers the submission


def needs_answers(task: TaskType, checker: Checker) -> bool:
    """Return True where outputs are compared: a manager, an interactor or a checker needs no answers."""
    return task not in MANAGED and not checker.kind.is_program


def refuse_impossible(problem: Problem) -> None:
    """Raise InputError for what would make tidy numbers of nothing. No package has it; Python can make it."""
    where = problem.source or problem.id
    _refuse_types(problem, where)
    for part in (problem.options, problem.checker, *problem.subtasks, *problem.tests):
        _refuse_types(part, where)
    for field, most in _MOST.items():
        value = getattr(problem.limits, field)
        if value is not None and (type(value) not in (int, float) or not 0 < value < most):
            remedy = f"Give an int or a float above 0 and below {most:g}, or None for no limit"
            raise InputError(f"{value!r} is no limit", where=where, field=f"limits.{field}", remedy=remedy)
    for field in ("absolute", "relative"):  # a frame's empty cell is NaN, which would compare as text
        value = getattr(problem.checker, field)
        if value is not None and not 0 <= value < math.inf:
            what, remedy = f"{value!r} is no tolerance", "Give a number of at least 0, or None for none"
            raise InputError(what, where=where, field=f"checker.{field}", remedy=remedy)
    for subtask in problem.subtasks:
        for field in ("points", "threshold"):
            if not 0 <= (value := getattr(subtask, field)) < math.inf:
                what = f"subtask {subtask.name!r} has {value} {field}"
                raise InputError(what, where=where, field=subtask.name, remedy="Give a number of at least 0")
    seen = set[str]()
    compared = needs_answers(problem.task_type, problem.checker)
    for test in problem.tests:
        if test.name in seen:
            what = f"two tests are called {test.name!r}"
            raise InputError(what, where=where, field=test.name, remedy="Give each its own name")
        if compared and test.answer is None:
            what = f"test {test.name!r} has no answer, and there is no checker: outputs are compared with it"
            raise InputError(what, where=where, field=test.name, remedy="Add an answer, or a checker")
        seen.add(test.name)


def _refuse_types(part: Value, where: str) -> None:
    """Raise InputError for a field of another type than its own, as Python takes from a frame's columns."""
    given = msgspec.structs.asdict(part)
    name, remedy = type(part).__name__, "Give Python's own int, float and str, members of enums, and values"
    try:
        read = msgspec.convert(given, type(part))
    except msgspec.ValidationError as error:
        raise InputError(str(error), where=where, field=name, remedy=remedy) from error
    for field, value in given.items():
        if isinstance(value, str) and type(value) is not type(getattr(read, field)):
            what = f"{value!r} of the type {type(value).__name__}"
            raise InputError(what, where=where, field=f"{name}.{field}", remedy=remedy)


# --- which tests -------------------------------------------------------------------------------------


def distinct_tests(problem: Problem, *, all_tests: bool = False) -> tuple[PlannedTest, ...]:
    """Every test that counts, once, in the problem's order.

    Tests with the same input and answer are one; so are several mentions of one name. Where there are
    subtasks, a test in none of them counts only with `all_tests`.
    """
    waiting: dict[str, list[int]] = {test.name: [] for test in problem.tests}  # the subtasks of each test
    for index, subtask in enumerate(problem.subtasks):
        for name in subtask.tests:
            if name not in waiting:
                raise InputError(
                    f"subtask {subtask.name!r} names a test {name!r} that is not there",
                    where=problem.source or problem.id,
                    field=subtask.name,
                    remedy="Add the test or take its name out of the subtask",
                )
            waiting[name].append(index)
    twins: dict[object, list[Test]] = {}
    for test in problem.tests:
        twins.setdefault(_decided_by(problem, test), []).append(test)
    found = ((same, tuple(dict.fromkeys(test.name for test in same))) for same in twins.values())
    planned = (
        PlannedTest(
            test=same[0],
            names=names,
            groups=tuple(sorted({index for name in names for index in waiting[name]})),
        )
        for same, names in found
    )
    return tuple(test for test in planned if test.groups or all_tests or not problem.subtasks)


def _decided_by(problem: Problem, test: Test) -> object:
    """Return what decides a test's outcome: equal for twins."""
    if problem.task_type in _ANSWERED_BY_NAME:
        return test.name
    return test.input.sha256, test.answer and test.answer.sha256, test.full, test.arguments


class Schedule:
    """The tests of a problem, and which to run next: worked out once for all submissions.

    `in_order`: as the problem has them, as they also are with `all_tests`.
    """

    def __init__(self, problem: Problem, *, all_tests: bool = False, in_order: bool = False) -> None:
        self._problem, self._as_given = problem, all_tests or in_order
        self._groups = () if all_tests else problem.subtasks
        self.tests = distinct_tests(problem, all_tests=all_tests)
        self.first = self.live({})

    def live(self, results: Mapping[str, TestResult]) -> tuple[PlannedTest, ...]:
        """The tests without a result that can still change a reported score, in the order to run them.

        A SKIPPED result is no result. The subtasks that are settled already are left out of each test's
        `groups`, so that a next job, which does not know of them, stops as early as it can.
        """
        found = [(test, outcome(test, results)) for test in self.tests]
        waiting = [test for test, result in found if result is None]
        if not waiting:
            return ()
        if not self._groups:
            return order(self._problem, waiting, as_given=self._as_given)
        ran = [(test, result) for test, result in found if result is not None]
        settled_groups = {
            index
            for test, result in ran
            for index in test.groups
            if settles(self._groups[index], result.score)
        }
        shared = {name: result for test, result in ran for name in test.names}
        trees = {
            index: set(grading.needed(subtask.grading, shared))
            for index, subtask in enumerate(self._groups)
            if subtask.grading is not None
        }
        left = list[PlannedTest]()
        for test in waiting:
            waits = tuple(
                group
                for group in test.groups
                if group not in settled_groups
                and (group not in trees or not trees[group].isdisjoint(test.names))
            )
            if waits:
                left.append(msgspec.structs.replace(test, groups=waits))
        return order(self._problem, left, as_given=self._as_given)


def outcome(planned: PlannedTest, results: Mapping[str, TestResult]) -> TestResult | None:
    """The result of a test or of any of its twins; None if it did not run."""
    found = (results[name] for name in planned.names if name in results)
    return next((result for result in found if result.status is not Verdict.SKIPPED), None)


# --- in which order ----------------------------------------------------------------------------------


def order(
    problem: Problem, tests: Iterable[PlannedTest], *, as_given: bool = False
) -> tuple[PlannedTest, ...]:
    """The tests in the order that fails fast: first those that can settle the most points for the least work.

    A test that many live subtasks share comes before one that few wait for, a small one before a large one.
    Tests that settle nothing come last. Equal ones keep the problem's order; `as_given` all do.
    """

    def rank(planned: PlannedTest) -> tuple[float, int]:
        test = planned.test
        cost = _START_COST + test.input.size + (test.answer.size if test.answer else 0)
        # The points that a score of 0 would settle; each subtask adds one, for some are worth no points.
        subtasks = (problem.subtasks[index] for index in planned.groups)
        return -sum(part.points + 1 for part in subtasks if settles(part, 0.0)) / cost, cost

    return tuple(tests) if as_given else tuple(sorted(tests, key=rank))


# --- outcomes that are shared ------------------------------------------------------------------------


def share(planned: PlannedTest, result: TestResult) -> dict[str, TestResult]:
    """The result under the name of the test and of each of its twins."""
    return {name: msgspec.structs.replace(result, test_name=name) for name in planned.names}


def spread(problem: Problem, results: Mapping[str, TestResult]) -> dict[str, TestResult]:
    """The results that there are, with those of twins filled in, in the problem's order."""
    contents = {test.name: _decided_by(problem, test) for test in problem.tests}
    found = dict[object, TestResult]()
    for name, content in contents.items():
        if name in results and results[name].status is not Verdict.SKIPPED:
            found.setdefault(content, results[name])
    return {
        name: msgspec.structs.replace(found[content], test_name=name)
        for name, content in contents.items()
        if content in found
    }


# --- which tests a group has -------------------------------------------------------------------------


Selector = Sequence[str] | str | int
"""How a group names its tests: a list of names, a regular expression, or a count."""


def group_tests(names: Iterable[str], selectors: Sequence[Selector]) -> tuple[tuple[str, ...], ...]:
    """The tests of each group.

    A regular expression must match from the start of a name, not to its end. Counts take the tests sorted by
    name, each group the next ones; so counts do not go together with the other two.
    """
    pool = sorted(names)
    if any(isinstance(selector, int) for selector in selectors):
        return tuple(_by_count(pool, selectors))
    return tuple(_by_name(pool, selector) for selector in selectors)


def _by_count(pool: Sequence[str], selectors: Sequence[Selector]) -> Iterator[tuple[str, ...]]:
    start = 0
    for selector in selectors:
        if not isinstance(selector, int):
            raise InputError("groups by count and groups by name do not go together")
        end = start + selector
        if selector < 0 or end > len(pool):
            raise InputError(f"groups count {end} tests, but there are {len(pool)}")
        yield tuple(pool[start:end])
        start = end


def _by_name(pool: Sequence[str], selector: Selector) -> tuple[str, ...]:
    if isinstance(selector, str):
        return _by_pattern(pool, selector)
    assert not isinstance(selector, int), "counts are taken all together"
    unknown = [name for name in selector if name not in pool]
    if unknown:
        raise InputError(f"a group names a test {unknown[0]!r} that is not there")
    return tuple(dict.fromkeys(selector))


def _by_pattern(pool: Sequence[str], pattern: str) -> tuple[str, ...]:
    try:
        expression = re.compile(pattern)
    except re.error as error:
        raise InputError(f"{pattern!r} is not a regular expression: {error}") from error
    found = tuple(name for name in pool if expression.match(name))
    if not found:
        raise InputError(f"no test's name matches the group's regular expression {pattern!r}")
    return found
