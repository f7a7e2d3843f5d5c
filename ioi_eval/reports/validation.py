"""A validation as tables and sentences, for the page and for the terminal."""

from __future__ import annotations

from collections.abc import Iterator

from ioi_eval.models import TestResult
from ioi_eval.reports.document import Lines, Section, Table
from ioi_eval.reports.text import NOTHING, counted, number, visible
from ioi_eval.rows import bounded
from ioi_eval.validation import Check, SolutionCheck, SubtaskCheck, Validation
from ioi_eval.verdicts import STATUS_ORDER

HEADS = ("problem", "solution", "expected", "got", "points", "agrees", "subtasks")
RIGHT = frozenset({"points"})
_MAX_FEEDBACK = 160  # characters
_COMPILE_LINES = 6
_SUBTASK = "  subtask "


def conclusion(found: Validation) -> str:
    """One sentence: what there is to know first."""
    solutions = counted(len(found.solutions), "solution")
    if found.differences:
        text = f"{counted(found.differences, 'difference')}, in {len(found.differing):,} of {solutions}"
    else:
        text = f"No difference: {counted(found.expectations, 'expectation')} of {solutions} met"
    unjudged = counted(len(found.unjudged), "solution")
    return f"{text}; {unjudged} could not be judged" if found.unjudged else text


# --- expected beside got -----------------------------------------------------------------------------


def rows(found: Validation) -> Iterator[list[str]]:
    """A row for each solution, and one for each subtask of which something is expected; cells as `HEADS`."""
    last = ""
    for solution in found.solutions:
        yield _solution_row(solution, solution.problem if solution.problem != last else "")
        yield from (_subtask_row(part) for part in solution.subtasks if part.expected)
        last = solution.problem
    for missing in found.unjudged:
        name = [missing.problem if missing.problem != last else "", missing.solution]
        yield [*name, missing.expected or NOTHING, "?", NOTHING, "not judged", ""]
        last = missing.problem


def _solution_row(solution: SolutionCheck, problem: str) -> list[str]:
    return [
        problem,
        solution.solution,
        solution.expected or NOTHING,
        solution.status,
        _of(solution.points, solution.max_points),
        _agreement(solution),
        " ".join(_short(part) for part in solution.subtasks) or NOTHING,
    ]


def _agreement(solution: SolutionCheck) -> str:
    if not solution.checks:
        return NOTHING
    return "NO" if solution.differences else "yes"


def _of(part: float, whole: float) -> str:
    return f"{number(part)} of {number(whole)}"


def _short(part: SubtaskCheck) -> str:
    return f"PA({number(part.score)})" if part.status == "PA" else part.status


def _subtask_row(part: SubtaskCheck) -> list[str]:
    return [
        "",
        _SUBTASK + part.subtask,
        part.expected,
        part.status,
        _of(part.weighted_score, part.points),
        "yes" if part.agrees else "NO",
        "",
    ]


def matrix(found: Validation) -> tuple[list[str], list[list[str]]]:
    """Heads and rows of the confusion matrix: a row for each expected word, a column for each status got."""
    there = {status for row in found.confusion.values() for status in row}
    statuses = [status for status in STATUS_ORDER[::-1] if status in there]
    counts = found.confusion.items()
    lines = [[word, *(str(row.get(status, 0)) for status in statuses)] for word, row in counts]
    return ["expected", *statuses], lines


# --- differences and their evidence ------------------------------------------------------------------


def differences(found: Validation) -> Iterator[tuple[str, list[str]]]:
    """A sentence for each difference, and the lines that are its evidence."""
    for solution in found.differing:
        for check in solution.differences:
            yield _sentence(solution, check), list(_evidence(solution, check))


def _sentence(solution: SolutionCheck, check: Check) -> str:
    scope = f", subtask {check.subtask}" if check.subtask else ""
    where = f"{solution.problem}, {solution.solution}{scope}"
    return f"{where}: expected {check.expected}, got {check.status} with a score of {check.score:g}"


def _evidence(solution: SolutionCheck, check: Check) -> Iterator[str]:
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
    said = bounded(visible(test.feedback), _MAX_FEEDBACK)
    what = f"{test.test_name} {test.status} {test.score:g}"
    return ", ".join(part for part in (f"{what}: {said}" if said else what, *_measures(test)) if part)


def _measures(test: TestResult) -> Iterator[str]:
    if test.cpu_time is not None:
        yield f"{test.cpu_time:.3f} s CPU"
    if test.wall_time is not None:
        yield f"{test.wall_time:.3f} s wall"
    if test.memory is not None:
        yield f"{test.memory / (1 << 20):.1f} MiB"


# --- the page ----------------------------------------------------------------------------------------


def sections(found: Validation) -> Iterator[Section]:
    """The part of a report about a validation."""
    heads = [head.capitalize() for head in HEADS]
    align = "".join("r" if head in RIGHT else "l" for head in HEADS)
    words, counts = matrix(found)
    yield Section(
        title="Expected against got",
        lead=f"{conclusion(found)}.",
        text=["Every test ran; no early stop."],
        table=Table(
            heads=heads, rows=[[*row[:1], row[1].strip(), *row[2:]] for row in rows(found)], align=align
        ),
        notes=list(_limits(found)),
    )
    yield Section(
        title="Confusion",
        level=3,
        text=["How often a status was got where a word was expected."],
        table=Table(heads=words, rows=counts, align="l" + "r" * (len(words) - 1)),
    )
    if found.differences:
        evidence = [Lines(sentence=sentence, lines=lines) for sentence, lines in differences(found)]
        yield Section(title="Differences", level=3, lines=evidence)


def _limits(found: Validation) -> Iterator[str]:
    for problem, limit in found.limits.items():
        slowest = f"the {limit.slowest:.3f} s of {limit.solution} on test {limit.test}"
        yield f"Time limit of {problem}: {limit.cpu_time:g} s, {limit.multiplier:g} times {slowest}."
