"""The comparison of results with expectations, and its tables and sentences for pages and the terminal."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

import msgspec

from ioi_eval.model.errors import JudgeFailure
from ioi_eval.model.text import format_count, visible
from ioi_eval.model.values import STATUS_ORDER, Problem, SubmissionResult, TestResult, Verdict, worst_verdict
from ioi_eval.reports.document import NOTHING, CodeLines, Section, TableBlock, format_number
from ioi_eval.reports.records import Check, SolutionCheck, SubtaskCheck, UnjudgedSolution, Validation
from ioi_eval.rules.expectations import (
    Expectation,
    ExpectedScore,
    KeyedExpectation,
    classify_expected_score,
    compute_max_points,
    find_similar_keyword,
    is_expectation_met,
    list_tests_that_count,
)
from ioi_eval.store.folder import MeasuredLimit
from ioi_eval.store.rows import shorten

_SHOWN = 3  # maximum number of tests that are shown as evidence of a difference
_MAX_COMPILE_OUTPUT = 2000  # characters
_BINARY = 1e-9  # tolerance for rounding errors in sums of binary fractions


def make_validation(
    cases: Iterable[KeyedExpectation],
    problems: Mapping[str, Problem],
    results: Mapping[str, SubmissionResult],
    failures: Mapping[str, str],
    limits: Mapping[str, MeasuredLimit] | None = None,
) -> Validation:
    """Compare all solutions with their expectations.

    Args:
        cases: The solutions, with the expectations of their authors.
        problems: Problems of the solutions, by label.
        results: Results of the judged solutions, by the solution's key.
        failures: Reasons why the other solutions have no result, by the solution's key.
        limits: Limits that were measured with accepted solutions, by the problem's label; None means that no
            limits were measured.
    """
    solution_checks, unjudged, keyword_checks = (
        list[SolutionCheck](),
        list[UnjudgedSolution](),
        list[tuple[str, Check]](),
    )
    unknown_keywords = Counter[str]()
    for case in cases:
        unknown_keywords.update(case.unknown)
        problem = problems[case.problem]
        try:
            if case.key not in results:
                raise JudgeFailure(failures.get(case.key, "it has no result"))
            solution = check_solution(case, problem, results[case.key])
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
            solution_checks.append(solution)
            # The confusion matrix counts each check of a solution under the keyword that the check expects.
            keyword_checks += [(check.expected, check) for check in solution.checks[: len(case.words)]]
            if case.score is not None:
                keyword_checks.append((classify_expected_score(case, problem), solution.checks[-1]))
    differing_count = sum(not check.agrees for _, check in keyword_checks)
    return Validation(
        solutions=tuple(solution_checks),
        unjudged=tuple(unjudged),
        expectations=len(keyword_checks),
        differences=differing_count,
        numbers={
            "compared": len(keyword_checks),
            "agree": len(keyword_checks) - differing_count,
            "differ": differing_count,
            "nothing expected": sum(not solution.checks for solution in solution_checks),
            "not judged": len(unjudged),
        },
        unknown=dict(sorted(unknown_keywords.items())),
        confusion=count_confusions(keyword_checks),
        limits=limits or {},
    )


def count_confusions(checks: Iterable[tuple[str, Check]]) -> dict[str, dict[Verdict, int]]:
    """Return the confusion matrix: for each expected keyword, how many checks got each verdict."""
    counts: dict[str, dict[Verdict, int]] = {}
    for keyword, check in checks:
        row = counts.setdefault(keyword, {})
        row[check.status] = row.get(check.status, 0) + 1
    statuses_best_first = STATUS_ORDER[::-1]
    return {
        keyword: {
            status: counts[keyword][status] for status in statuses_best_first if status in counts[keyword]
        }
        for keyword in sorted(counts)
    }


# --- a solution ------------------------------------------------------------------------------------


def check_solution(
    keyed_expectation: KeyedExpectation, problem: Problem, result: SubmissionResult
) -> SolutionCheck:
    """Return a solution's result with all its expectations."""
    tests = {test.test_name: test for test in result.tests}
    points_share = _compute_points_share(problem, result)
    checks = [
        _check_expected_keyword(expectation, tests, points_share) for expectation in keyed_expectation.words
    ]
    if keyed_expectation.score is not None:
        checks.append(_check_score(keyed_expectation, keyed_expectation.score, problem, result, tests))
    by_subtask = {check.subtask: check for check in checks if check.subtask}
    subtask_checks = ((subtask, by_subtask.get(subtask.subtask)) for subtask in result.subtasks)
    return SolutionCheck(
        key=keyed_expectation.key,
        problem=keyed_expectation.problem,
        solution=keyed_expectation.solution,
        expected=keyed_expectation.expected,
        status=result.verdict,
        compiles=result.compiles,
        compile_output="" if result.compiles else shorten(result.compile_output, _MAX_COMPILE_OUTPUT),
        points=result.points,
        max_points=compute_max_points(problem),
        subtasks=tuple(
            SubtaskCheck(
                subtask=subtask.subtask,
                expected=check.expected if check else "",
                status=subtask.status,
                score=subtask.score,
                weighted_score=subtask.weighted_score,
                points=subtask.points,
                agrees=check.agrees if check else True,
            )
            for subtask, check in subtask_checks
        ),
        checks=tuple(checks),
    )


def _compute_points_share(problem: Problem, result: SubmissionResult) -> float:
    """Return a submission's share of the points: exactly 1 for full marks, else less.

    Without subtasks it is 1 for an accepted submission and 0 otherwise.
    """
    if result.solved:
        return 1.0
    max_points = compute_max_points(problem) if result.subtasks else 0.0
    return min(result.points / max_points, math.nextafter(1.0, 0.0)) if max_points else 0.0


def _check_expected_keyword(
    expectation: Expectation, tests: Mapping[str, TestResult], points_share: float
) -> Check:
    """Return the check of an expected keyword. `points_share`: the submission's share of the points."""
    executed_tests = _select_executed_tests(expectation.tests, tests)
    check = _make_check(
        expectation.subtask,
        expectation.word,
        executed_tests,
        score=min((test.score for test in executed_tests), default=0.0),
        agrees=is_expectation_met(expectation, tests, points_fraction=points_share),
    )
    return (
        msgspec.structs.replace(check, status=Verdict.AC)
        if points_share >= 1 and not expectation.subtask
        else check
    )


def _check_score(
    case: KeyedExpectation,
    expected: ExpectedScore,
    problem: Problem,
    result: SubmissionResult,
    tests: Mapping[str, TestResult],
) -> Check:
    """Return the check of an expected score."""
    executed_tests = _select_executed_tests(list_tests_that_count(problem), tests)
    # Compare with exact points and with the sum of rounded subtasks, because authors expect either of them.
    rounded_points = (
        math.fsum(subtask.weighted_score for subtask in result.subtasks) if result.subtasks else result.points
    )
    max_points = compute_max_points(problem) if expected.fraction else 1.0
    candidate_scores = (result.points / max_points, rounded_points / max_points) if max_points else (0.0,)
    low, high = expected.value, expected.value if expected.most is None else expected.most
    tolerance = 0.5 * 0.1**expected.digits + _BINARY
    return _make_check(
        "",
        case.expected,
        executed_tests,
        score=candidate_scores[0],
        agrees=any(low - tolerance <= score <= high + tolerance for score in candidate_scores),
    )


def _select_executed_tests(names: Iterable[str], tests: Mapping[str, TestResult]) -> list[TestResult]:
    """Return the results of tests that must all have run: a skipped test would count as wrong."""
    executed_tests = [tests[name] for name in names]
    for test in executed_tests:
        if test.status is Verdict.SKIPPED:
            raise JudgeFailure(
                "the test was skipped, so its result cannot be compared",
                phase="validation",
                test=test.test_name,
            )
    return executed_tests


def _make_check(
    subtask: str, expected: str, executed_tests: Sequence[TestResult], *, score: float, agrees: bool
) -> Check:
    wrong_tests = [test for test in executed_tests if test.status is not Verdict.AC]
    # Evidence are the first tests without AC or, if there are none, the tests nearest to the time limit.
    evidence = wrong_tests or sorted(executed_tests, key=lambda test: -(test.cpu_time or 0.0))
    return Check(
        subtask=subtask,
        expected=expected,
        status=worst_verdict(test.status for test in executed_tests),
        score=score,
        agrees=agrees,
        tests=len(executed_tests),
        not_right=len(wrong_tests),
        evidence=() if agrees else tuple(evidence[:_SHOWN]),
    )


HEADS = ("problem", "solution", "expected", "got", "points", "agrees", "subtasks")
RIGHT = frozenset({"points"})
_MAX_FEEDBACK = 160  # maximum characters of feedback
_COMPILE_LINES = 6
_SUBTASK = "  subtask "


def describe_conclusion(validation: Validation) -> str:
    """Return a sentence with the outcome of a validation."""
    solutions = format_count(len(validation.solutions), "solution")
    if validation.differences:
        difference_count = format_count(validation.differences, "difference")
        sentence = f"{difference_count}, in {len(validation.differing):,} of {solutions}"
    elif not validation.expectations:
        sentence = "Nothing was compared"
    else:
        sentence = f"No difference: {format_count(validation.expectations, 'expectation')} of {solutions} met"
    unjudged = format_count(len(validation.unjudged), "solution")
    return f"{sentence}; {unjudged} could not be judged" if validation.unjudged else sentence


def make_validation_count_sentences(validation: Validation) -> Iterator[str]:
    """Yield a line with the counts of compared expectations, and a sentence about unknown keywords."""
    yield ", ".join(f"{name} {count:,}" for name, count in validation.numbers.items())
    if validation.unknown:
        keywords = ", ".join(
            f"{visible(keyword)!r} ({count:,}{_suggest_keyword(keyword)})"
            for keyword, count in validation.unknown.items()
        )
        yield f"Unknown keywords, with which nothing is compared: {keywords}"


def _suggest_keyword(keyword: str) -> str:
    similar = find_similar_keyword(keyword)
    return f"; did you mean {similar!r}?" if similar else ""


# --- expected and actual verdicts --------------------------------------------------------------------


def make_validation_table_rows(validation: Validation) -> Iterator[list[str]]:
    """Yield a row for each solution and for each subtask with an expectation. `HEADS` has the columns."""
    last_problem = ""
    for solution in validation.solutions:
        agreement = "NO" if solution.differences else "yes"
        yield [
            solution.problem if solution.problem != last_problem else "",
            solution.solution,
            solution.expected or NOTHING,
            solution.status,
            _format_points(solution.points, solution.max_points),
            agreement if solution.checks else NOTHING,
            " ".join(
                f"PA({format_number(subtask.score)})" if subtask.status == "PA" else subtask.status
                for subtask in solution.subtasks
            )
            or NOTHING,
        ]
        for subtask in filter(lambda subtask: subtask.expected, solution.subtasks):
            earned, agrees = (
                _format_points(subtask.weighted_score, subtask.points),
                "yes" if subtask.agrees else "NO",
            )
            yield ["", _SUBTASK + subtask.subtask, subtask.expected, subtask.status, earned, agrees, ""]
        last_problem = solution.problem
    for unjudged in validation.unjudged:
        name = [unjudged.problem if unjudged.problem != last_problem else "", unjudged.solution]
        yield [*name, unjudged.expected or NOTHING, "?", NOTHING, "not judged", ""]
        last_problem = unjudged.problem


def _format_points(part: float, whole: float) -> str:
    return f"{format_number(part)} of {format_number(whole)}"


def make_confusion_matrix_table(validation: Validation) -> tuple[list[str], list[list[str]]]:
    """Return heads and rows of the confusion matrix: expected keywords by verdicts."""
    present_statuses = {status for row in validation.confusion.values() for status in row}
    statuses = [status for status in STATUS_ORDER[::-1] if status in present_statuses]
    counts = validation.confusion.items()
    count_rows = [[keyword, *(str(row.get(status, 0)) for status in statuses)] for keyword, row in counts]
    return ["expected", *statuses], count_rows


# --- differences and their evidence ------------------------------------------------------------------


def describe_failed_expectations(validation: Validation) -> Iterator[tuple[str, list[str]]]:
    """Yield a sentence for each difference, and the lines of its evidence."""
    for solution in validation.differing:
        for check in solution.differences:
            subtask_note = f", subtask {check.subtask}" if check.subtask else ""
            difference_phrase = (
                f"expected {check.expected}, got {check.status} with a score of {check.score:g}"
            )
            sentence = f"{solution.problem}, {solution.solution}{subtask_note}: {difference_phrase}"
            yield sentence, list(_format_evidence(solution, check))


def _format_evidence(solution: SolutionCheck, check: Check) -> Iterator[str]:
    if not solution.compiles:
        lines = [line for line in solution.compile_output.splitlines() if line.strip()]
        yield from (visible(line) for line in lines[:_COMPILE_LINES])
        return
    if not check.not_right:
        yield f"all of its {format_count(check.tests, 'test')} are right; the slowest:"
    else:
        yield f"{check.not_right:,} of {format_count(check.tests, 'test')} not right; the first:"
    yield from (format_evidence_line(test) for test in check.evidence)


def format_evidence_line(test: TestResult) -> str:
    """Return a test's result as a line."""
    feedback = shorten(visible(test.feedback), _MAX_FEEDBACK)
    status_text = f"{test.test_name} {test.status} {test.score:g}"
    cpu_text = "" if test.cpu_time is None else f"{test.cpu_time:.3f} s CPU"
    wall_text = "" if test.wall_time is None else f"{test.wall_time:.3f} s wall"
    memory_text = "" if test.memory is None else f"{test.memory / (1 << 20):.1f} MiB"
    return ", ".join(
        filter(
            None,
            (f"{status_text}: {feedback}" if feedback else status_text, cpu_text, wall_text, memory_text),
        )
    )


# --- the page ----------------------------------------------------------------------------------------


def make_sections(validation: Validation) -> Iterator[Section]:
    """Yield the sections of a validation's report."""
    column_heads, counts = make_confusion_matrix_table(validation)
    yield Section(
        title="Expected against got",
        lead=f"{describe_conclusion(validation)}.",
        text=[
            "Every test ran; no early stop.",
            *(f"{line[0].upper()}{line[1:]}." for line in make_validation_count_sentences(validation)),
        ],
        table=TableBlock(
            heads=[head.capitalize() for head in HEADS],
            rows=[[*row[:1], row[1].strip(), *row[2:]] for row in make_validation_table_rows(validation)],
            align="".join("r" if head in RIGHT else "l" for head in HEADS),
        ),
        notes=list(_make_limit_notes(validation)),
    )
    yield Section(
        title="Confusion",
        level=3,
        text=["How often each verdict was the result for each expected keyword."],
        table=TableBlock(heads=column_heads, rows=counts),
    )
    if validation.differences:
        evidence = [
            CodeLines(sentence=sentence, lines=lines)
            for sentence, lines in describe_failed_expectations(validation)
        ]
        yield Section(title="Differences", level=3, lines=evidence)


def _make_limit_notes(validation: Validation) -> Iterator[str]:
    for problem, limit in validation.limits.items():
        if limit.forks_by:
            process_files = ", ".join(limit.forks_by)
            process_limit = f"{limit.processes} in all, which accepted solutions need with {process_files}"
            yield f"Processes of {problem}: {process_limit}."
        if not limit.multiplier:
            continue
        slowest = f"the {limit.slowest:.3f} s of {limit.solution} on test {limit.test}"
        yield f"Time limit of {problem}: {limit.cpu_time:g} s, {limit.multiplier:g} times {slowest}."
