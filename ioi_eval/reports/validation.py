"""The comparison of results with expectations, and its tables and sentences for pages and the terminal."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

import msgspec

from ioi_eval.model.errors import JudgeFailure
from ioi_eval.model.values import STATUS_ORDER, Problem, SubmissionResult, TestResult, Verdict, worst
from ioi_eval.reports.document import NOTHING, CodeLines, Section, TableBlock, counted, number, visible
from ioi_eval.reports.records import Check, SolutionCheck, SubtaskCheck, UnjudgedSolution, Validation
from ioi_eval.rules.expectations import (
    Expectation,
    ExpectedScore,
    KeyedExpectation,
    classify_expected_score,
    is_expectation_met,
    list_counting_tests,
    max_problem_points,
)
from ioi_eval.store.folder import MeasuredLimit
from ioi_eval.store.rows import shorten

_SHOWN = 3  # tests that are shown as evidence of a difference
_MAX_COMPILE_OUTPUT = 2000  # characters
_BINARY = 1e-9  # tolerance for rounding errors of sums


def validation(
    cases: Iterable[KeyedExpectation],
    problems: Mapping[str, Problem],
    results: Mapping[str, SubmissionResult],
    failures: Mapping[str, str],
    limits: Mapping[str, MeasuredLimit] | None = None,
) -> Validation:
    """Compare all solutions with their expectations.

    Every solution's key is in `results` or, if it could not be judged, with the reason in `failures`.
    """
    judged, unjudged, counted = list[SolutionCheck](), list[UnjudgedSolution](), list[tuple[str, Check]]()
    unknown = Counter[str]()
    for case in cases:
        unknown.update(case.unknown)
        problem = problems[case.problem]
        try:
            if case.key not in results:
                raise JudgeFailure(failures.get(case.key, "it has no result"))
            solution = compared(case, problem, results[case.key])
        except JudgeFailure as failure:
            unjudged.append(
                UnjudgedSolution(
                    key=case.key,
                    problem=case.problem,
                    solution=case.solution,
                    expected=case.expected,
                    reason=str(failure),
                )
            )
        else:
            judged.append(solution)
            # Each check with its keyword in the confusion matrix.
            counted += [(check.expected, check) for check in solution.checks[: len(case.words)]]
            if case.score is not None:
                counted.append((classify_expected_score(case, problem), solution.checks[-1]))
    differ = sum(not check.agrees for _, check in counted)
    return Validation(
        solutions=tuple(judged),
        unjudged=tuple(unjudged),
        expectations=len(counted),
        differences=differ,
        numbers={
            "compared": len(counted),
            "agree": len(counted) - differ,
            "differ": differ,
            "nothing expected": sum(not solution.checks for solution in judged),
            "not judged": len(unjudged),
        },
        unknown=dict(sorted(unknown.items())),
        confusion=confusion(counted),
        limits=limits or {},
    )


def confusion(checks: Iterable[tuple[str, Check]]) -> dict[str, dict[Verdict, int]]:
    """Return the numbers of verdicts for each expected keyword, in alphabetical order."""
    found: dict[str, dict[Verdict, int]] = {}
    for word, check in checks:
        row = found.setdefault(word, {})
        row[check.status] = row.get(check.status, 0) + 1
    best_first = STATUS_ORDER[::-1]
    return {
        word: {status: found[word][status] for status in best_first if status in found[word]}
        for word in sorted(found)
    }


# --- one solution ------------------------------------------------------------------------------------


def compared(case: KeyedExpectation, problem: Problem, result: SubmissionResult) -> SolutionCheck:
    """Return a solution's result with all its expectations."""
    tests = {test.test_name: test for test in result.tests}
    share = _points_share(problem, result)
    checks = [_word_check(word, tests, share) for word in case.words]
    if case.score is not None:
        checks.append(_score_check(case, case.score, problem, result, tests))
    by_subtask = {check.subtask: check for check in checks if check.subtask}
    parts = ((part, by_subtask.get(part.subtask)) for part in result.subtasks)
    return SolutionCheck(
        key=case.key,
        problem=case.problem,
        solution=case.solution,
        expected=case.expected,
        status=result.verdict,
        compiles=result.compiles,
        compile_output="" if result.compiles else shorten(result.compile_output, _MAX_COMPILE_OUTPUT),
        points=result.points,
        max_points=max_problem_points(problem),
        subtasks=tuple(
            SubtaskCheck(
                subtask=part.subtask,
                expected=check.expected if check else "",
                status=part.status,
                score=part.score,
                weighted_score=part.weighted_score,
                points=part.points,
                agrees=check.agrees if check else True,
            )
            for part, check in parts
        ),
        checks=tuple(checks),
    )


def _points_share(problem: Problem, result: SubmissionResult) -> float:
    """Return a submission's share of the points: exactly 1 for full marks, else less.

    Without subtasks it is 1 for an accepted submission and 0 for others.
    """
    if result.solved:
        return 1.0
    most = max_problem_points(problem) if result.subtasks else 0.0
    return min(result.points / most, math.nextafter(1.0, 0.0)) if most else 0.0


def _word_check(word: Expectation, tests: Mapping[str, TestResult], share: float) -> Check:
    inside = _ran(word.tests, tests)
    check = _check(
        word.subtask,
        word.word,
        inside,
        score=min((test.score for test in inside), default=0.0),
        agrees=is_expectation_met(word, tests, share=share),
    )
    return msgspec.structs.replace(check, status=Verdict.AC) if share >= 1 and not word.subtask else check


def _score_check(
    case: KeyedExpectation,
    expected: ExpectedScore,
    problem: Problem,
    result: SubmissionResult,
    tests: Mapping[str, TestResult],
) -> Check:
    inside = _ran(list_counting_tests(problem), tests)
    # Exact points, and the sum of rounded subtasks: expectations are written with either.
    rounded = math.fsum(part.weighted_score for part in result.subtasks) if result.subtasks else result.points
    whole = max_problem_points(problem) if expected.fraction else 1.0
    candidates = (result.points / whole, rounded / whole) if whole else (0.0,)
    least, most = expected.value, expected.value if expected.most is None else expected.most
    slack = 0.5 * 0.1**expected.digits + _BINARY
    return _check(
        "",
        case.expected,
        inside,
        score=candidates[0],
        agrees=any(least - slack <= score <= most + slack for score in candidates),
    )


def _ran(names: Iterable[str], tests: Mapping[str, TestResult]) -> list[TestResult]:
    """Return the results of tests that must all have run: a skipped test would count as a wrong one."""
    inside = [tests[name] for name in names]
    for test in inside:
        if test.status is Verdict.SKIPPED:
            raise JudgeFailure(
                "was skipped, so nothing can be compared", phase="validation", test=test.test_name
            )
    return inside


def _check(subtask: str, expected: str, inside: Sequence[TestResult], *, score: float, agrees: bool) -> Check:
    wrong = [test for test in inside if test.status is not Verdict.AC]
    # Evidence: the first tests without AC; if there are none, the tests nearest to the time limit.
    shown = wrong or sorted(inside, key=lambda test: -(test.cpu_time or 0.0))
    return Check(
        subtask=subtask,
        expected=expected,
        status=worst(test.status for test in inside),
        score=score,
        agrees=agrees,
        tests=len(inside),
        not_right=len(wrong),
        evidence=() if agrees else tuple(shown[:_SHOWN]),
    )


HEADS = ("problem", "solution", "expected", "got", "points", "agrees", "subtasks")
RIGHT = frozenset({"points"})
_MAX_FEEDBACK = 160  # maximum length of feedback, in characters
_COMPILE_LINES = 6
_SUBTASK = "  subtask "


def conclusion(found: Validation) -> str:
    """Return a sentence with the outcome of a validation."""
    solutions = counted(len(found.solutions), "solution")
    if found.differences:
        text = f"{counted(found.differences, 'difference')}, in {len(found.differing):,} of {solutions}"
    elif not found.expectations:
        text = "Nothing was compared"
    else:
        text = f"No difference: {counted(found.expectations, 'expectation')} of {solutions} met"
    unjudged = counted(len(found.unjudged), "solution")
    return f"{text}; {unjudged} could not be judged" if found.unjudged else text


def numbers(found: Validation) -> Iterator[str]:
    """Yield sentences with the numbers of expectations, and the unknown keywords."""
    yield ", ".join(f"{name} {count:,}" for name, count in found.numbers.items())
    if found.unknown:
        words = ", ".join(f"{visible(word)!r} ({count:,})" for word, count in found.unknown.items())
        yield f"Unknown words, with which nothing is compared: {words}"


# --- expected beside got -----------------------------------------------------------------------------


def rows(found: Validation) -> Iterator[list[str]]:
    """Yield a row for each solution and for each subtask with an expectation. `HEADS` has the columns."""
    last = ""
    for solution in found.solutions:
        agreement = "NO" if solution.differences else "yes"
        yield [
            solution.problem if solution.problem != last else "",
            solution.solution,
            solution.expected or NOTHING,
            solution.status,
            _of(solution.points, solution.max_points),
            agreement if solution.checks else NOTHING,
            " ".join(
                f"PA({number(part.score)})" if part.status == "PA" else part.status
                for part in solution.subtasks
            )
            or NOTHING,
        ]
        for part in filter(lambda part: part.expected, solution.subtasks):
            earned, agrees = _of(part.weighted_score, part.points), "yes" if part.agrees else "NO"
            yield ["", _SUBTASK + part.subtask, part.expected, part.status, earned, agrees, ""]
        last = solution.problem
    for missing in found.unjudged:
        name = [missing.problem if missing.problem != last else "", missing.solution]
        yield [*name, missing.expected or NOTHING, "?", NOTHING, "not judged", ""]
        last = missing.problem


def _of(part: float, whole: float) -> str:
    return f"{number(part)} of {number(whole)}"


def matrix(found: Validation) -> tuple[list[str], list[list[str]]]:
    """Return heads and rows of the confusion matrix: expected keywords by verdicts."""
    there = {status for row in found.confusion.values() for status in row}
    statuses = [status for status in STATUS_ORDER[::-1] if status in there]
    counts = found.confusion.items()
    lines = [[word, *(str(row.get(status, 0)) for status in statuses)] for word, row in counts]
    return ["expected", *statuses], lines


# --- differences and their evidence ------------------------------------------------------------------


def differences(found: Validation) -> Iterator[tuple[str, list[str]]]:
    """Yield a sentence for each difference, and the lines of its evidence."""
    for solution in found.differing:
        for check in solution.differences:
            scope = f", subtask {check.subtask}" if check.subtask else ""
            got = f"expected {check.expected}, got {check.status} with a score of {check.score:g}"
            sentence = f"{solution.problem}, {solution.solution}{scope}: {got}"
            yield sentence, list(_evidence_lines(solution, check))


def _evidence_lines(solution: SolutionCheck, check: Check) -> Iterator[str]:
    if not solution.compiles:
        lines = [line for line in solution.compile_output.splitlines() if line.strip()]
        yield from (visible(line) for line in lines[:_COMPILE_LINES])
        return
    if not check.not_right:
        yield f"all of its {counted(check.tests, 'test')} are right; the slowest:"
    else:
        yield f"{check.not_right:,} of {counted(check.tests, 'test')} not right; the first:"
    yield from (evidence_line(test) for test in check.evidence)


def evidence_line(test: TestResult) -> str:
    words = shorten(visible(test.feedback), _MAX_FEEDBACK)
    what = f"{test.test_name} {test.status} {test.score:g}"
    cpu = "" if test.cpu_time is None else f"{test.cpu_time:.3f} s CPU"
    wall = "" if test.wall_time is None else f"{test.wall_time:.3f} s wall"
    memory = "" if test.memory is None else f"{test.memory / (1 << 20):.1f} MiB"
    return ", ".join(filter(None, (f"{what}: {words}" if words else what, cpu, wall, memory)))


# --- the page ----------------------------------------------------------------------------------------


def sections(found: Validation) -> Iterator[Section]:
    """Yield the sections of a validation's report."""
    words, counts = matrix(found)
    yield Section(
        title="Expected against got",
        lead=f"{conclusion(found)}.",
        text=[
            "Every test ran; no early stop.",
            *(f"{line[0].upper()}{line[1:]}." for line in numbers(found)),
        ],
        table=TableBlock(
            heads=[head.capitalize() for head in HEADS],
            rows=[[*row[:1], row[1].strip(), *row[2:]] for row in rows(found)],
            align="".join("r" if head in RIGHT else "l" for head in HEADS),
        ),
        notes=list(_limits(found)),
    )
    yield Section(
        title="Confusion",
        level=3,
        text=["How often a status was got where a word was expected."],
        table=TableBlock(heads=words, rows=counts),
    )
    if found.differences:
        evidence = [CodeLines(sentence=sentence, lines=lines) for sentence, lines in differences(found)]
        yield Section(title="Differences", level=3, lines=evidence)


def _limits(found: Validation) -> Iterator[str]:
    for problem, limit in found.limits.items():
        if limit.forks_by:
            files = ", ".join(limit.forks_by)
            needed = f"{limit.processes} in all, which accepted solutions need with {files}"
            yield f"Processes of {problem}: {needed}."
        if not limit.multiplier:
            continue
        slowest = f"the {limit.slowest:.3f} s of {limit.solution} on test {limit.test}"
        yield f"Time limit of {problem}: {limit.cpu_time:g} s, {limit.multiplier:g} times {slowest}."
