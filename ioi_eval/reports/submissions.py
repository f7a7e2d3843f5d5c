"""The page of a submission: its code, and beside it the result in a sentence, tests and the failing one.

A page is kept from one report to the next (`pages.py`), so it says only what its own row and its problem say.
A script beside it, which is written with every report, leads to other attempts and equal programs, and so
does its problem's page.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from ioi_eval.model.errors import InputError
from ioi_eval.model.languages import find
from ioi_eval.model.values import Reason, SubmissionResult, TestResult, Verdict
from ioi_eval.reports.document import (
    EQUAL,
    NOTHING,
    SUBMISSIONS,
    Cell,
    Code,
    CodeLines,
    Document,
    Link,
    Outputs,
    Section,
    Squares,
    TableBlock,
    attempts_script,
    counted,
    model_anchor,
    number,
    problem_page,
    submission_page,
    visible,
)
from ioi_eval.rules.extraction import extract, extraction_of
from ioi_eval.rules.scoring import ending, reason
from ioi_eval.store.rows import MAX_OUTPUT, PASSED, bounded, model_of

if TYPE_CHECKING:
    from ioi_eval.reports.pages import ListRow, PageSelection
    from ioi_eval.store.tasks import Task

MAX_FEEDBACK = 100  # characters
_LONGEST_KEY = 300  # characters
_MAX_GENERATION = 8000  # characters
_MAX_SQUARES, _MANY_TESTS = 300, 20  # of a subtask; and of a submission, more are folded up
_CODE, _BESIDE = "code-side", "beside"
_SHOWN_ABOVE = "[the code above]"
_BLANKS = "· is a blank, ⇥ a tab, \\r a carriage return, ↵ the end of a line. What differs is underlined."
_NOT_KEPT = (
    "The run kept nothing of its tests. With the option keep-outputs it keeps how the input and output of "
    "the first test that fails begin, with what was expected."
)
_LEXERS = {
    "c": "c",
    "c++": "cpp",
    "python": "python",
    "pypy": "python",
    "java": "java",
    "rust": "rust",
    "go": "go",
    "pascal": "pascal",
    "haskell": "haskell",
    "javascript": "javascript",
    "kotlin": "kotlin",
    "c#": "csharp",
}


def submission_document(
    row: Mapping[str, Any],
    result: SubmissionResult,
    task: Task | None,
    selection: PageSelection,
    *,
    coloured: bool,
) -> Document:
    return Document(
        title=f"Submission {result.key}",
        tab=SUBMISSIONS,
        links=[
            Link(text=result.problem_id, href=problem_page(result.problem_id)),
            Link(text="Other attempts", href=_attempts(row, result)),
            Link(text="Link to this page", href=submission_page(result.key)),
        ],
        sections=[
            *(
                msgspec.structs.replace(section, side=_BESIDE)
                for section in (
                    _verdict(row, result),
                    *_compiled(result),
                    *wrong_output(row),
                    _facts(row, result, task, selection),
                )
            ),
            *_program(row, coloured),
            _tests(result),
        ],
        page=submission_page(result.key),
        script=attempts_script(result.problem_id),
    )


def limits(task: Task) -> Iterator[tuple[str, str]]:
    """A problem's limits, of those that there are."""
    if task.cpu_time is not None:
        yield (
            "Time limit",
            f"{task.cpu_time:g} s of CPU time"
            + (f", {task.wall_time:g} s on the clock" if task.wall_time else ""),
        )
    if task.memory is not None:
        yield "Memory limit", f"{task.memory / (1 << 20):g} MiB"


def first_failed(result: SubmissionResult) -> TestResult | None:
    return next((test for test in result.tests if test.status not in PASSED), None)


def _attempts(row: Mapping[str, Any], result: SubmissionResult) -> str:
    return f"{problem_page(result.problem_id)}#{model_anchor(model_of(row))}"


def _verdict(row: Mapping[str, Any], result: SubmissionResult) -> Section:
    """Return a submission's result in a sentence or two."""
    first = first_failed(result)
    lead = f"{ending(result)}: {number(result.points)} of {number(_worth(result))} points."
    if result.compiles and first is not None:
        says = f": {bounded(visible(first.feedback), MAX_FEEDBACK)}" if first.feedback else ""
        lead += f" The first test that it fails is {first.test_name} ({first.status}){says}"
    unknown = result.compiles and first is not None and not row.get("wrong_output")
    return Section(title="Result", lead=lead, notes=[_NOT_KEPT] if unknown else [])


def _worth(result: SubmissionResult) -> float:
    return sum(part.points for part in result.subtasks) if result.subtasks else 1.0


def _facts(
    row: Mapping[str, Any], result: SubmissionResult, task: Task | None, selection: PageSelection
) -> Section:
    same = selection.link(result.repeats, result.verdict) if result.repeats else NOTHING
    others = Link(text="earlier and later ones of this model for this problem", href=_attempts(row, result))
    equal = f"{problem_page(result.problem_id)}#{EQUAL}"
    rows: list[list[Cell]] = [
        ["Problem", Link(text=result.problem_id, href=problem_page(result.problem_id))],
        ["Model", model_of(row) or NOTHING],
        ["Verdict", ending(result)],
        ["Points", f"{number(result.points)} of {number(_worth(result))}"],
        ["Language", str(row.get("language") or NOTHING)],
        ["Compiled with", result.compiler or NOTHING],
        ["Checker", result.checker or NOTHING],
        ["Asked for subtask", str(row.get("target_subtask") or NOTHING)],
        ["Repaired", ", ".join(result.repairs) or NOTHING],
        ["Attempts", others],
        ["Judged as", same],  # the equal submission that was judged for this one
        ["Equal programs", Link(text="all of this problem", href=equal) if result.repeats else NOTHING],
    ]
    rows += [[what, limit] for what, limit in (limits(task) if task else ())]
    shown = [line for line in rows if line[1] != NOTHING]
    return Section(title="Submission", table=TableBlock(heads=["What", "Value"], rows=shown, align="ll"))


def wrong_output(row: Mapping[str, Any]) -> Iterator[Section]:
    """Yield a failing test's input, and its output beside the expected one, where the run kept them."""
    kept = row.get("wrong_output")
    if not kept:
        return
    name, given, output, expected = kept["test_name"], kept.get("input"), kept["output"], kept["expected"]
    if given is not None:
        yield _text(f"Input of test {name}", given)
    title = f"Output of test {name}"
    if output is None:  # empty, or the test ended early
        if expected is not None:
            yield _text(f"Expected output of test {name}", expected)
        return
    if expected is None:
        yield Section(title=title, lines=[CodeLines(lines=output.splitlines())])
        return
    long = max(len(output.encode()), len(expected.encode())) >= MAX_OUTPUT
    notes = [f"The first {MAX_OUTPUT:,} bytes of each."] if long else []
    if output.split() == expected.split():
        notes.append("They differ further on." if long else "Only blanks and line ends differ.")
    if not long and output.endswith("\n") != expected.endswith("\n"):
        which = ("output", "expected one") if expected.endswith("\n") else ("expected one", "output")
        notes.append("The {} has no line break at its end, the {} has one.".format(*which))
    yield Section(title=title, outputs=Outputs(output=output, expected=expected), notes=[*notes, _BLANKS])


def _text(title: str, text: str) -> Section:
    cut = f", its first {MAX_OUTPUT:,} bytes" if len(text.encode()) >= MAX_OUTPUT else ""
    return Section(title=title + cut, lines=[CodeLines(lines=text.removesuffix("\n").split("\n"))])


def _compiled(result: SubmissionResult) -> Iterator[Section]:
    if result.compile_output:
        title = "No program" if reason(result) is Reason.NO_PROGRAM else "Compiler"
        yield Section(title=title, lines=[CodeLines(lines=result.compile_output.splitlines())])
    if result.subtasks:
        yield Section(
            title="Subtasks",
            table=TableBlock(
                heads=["Subtask", "Tests", "Points", "of", "Verdict"],
                rows=[
                    [
                        part.subtask,
                        _squares(part.test_results),
                        number(part.weighted_score),
                        number(part.points),
                        part.status,
                    ]
                    for part in result.subtasks
                ],
                align="llrrl",
            ),
        )
    elif result.compiles:
        shown = TableBlock(heads=["Tests"], rows=[[_squares(result.tests)]], align="l")
        yield Section(title="Every test", table=shown)


def _squares(tests: Sequence[TestResult]) -> Cell:
    shown = [(test.test_name, str(test.status)) for test in tests[:_MAX_SQUARES]]
    return Squares(tests=shown) if shown else NOTHING


def _tests(result: SubmissionResult) -> Section:
    skipped = [test.test_name for test in result.tests if test.status is Verdict.SKIPPED]
    return Section(
        title="Tests",
        long=len(result.tests) > _MANY_TESTS,
        table=TableBlock(
            heads=["Test", "Verdict", "Score", "CPU time", "Wall time", "Memory", "Feedback"],
            rows=[
                [
                    test.test_name,
                    test.status,
                    number(test.score),
                    NOTHING if test.cpu_time is None else f"{test.cpu_time:.3f} s",
                    NOTHING if test.wall_time is None else f"{test.wall_time:.3f} s",
                    NOTHING if test.memory is None else f"{test.memory / (1 << 20):.1f} MiB",
                    test.feedback or NOTHING,
                ]
                for test in result.tests
                if test.status is not Verdict.SKIPPED
            ],
            align="llrrrrl",
        ),
        notes=[f"{counted(len(skipped), 'test')} skipped, as no score depends on it: {', '.join(skipped)}."]
        if skipped
        else [],
    )


def _program(row: Mapping[str, Any], coloured: bool) -> Iterator[Section]:
    """Yield the program as it was written, before any repair, and folded up the reply that it stands in."""
    code, written = row.get("code"), row.get("generation")
    written = written if isinstance(written, str) else ""
    try:
        language = find(str(row.get("language") or "c++"))
    except InputError:
        code = None
    else:
        if not (isinstance(code, str) and code.strip()):
            code = extract(written, language, extraction_of(row.get("repairs") or ())) if written else None
        yield (
            Section(title="Code", text=["The run's rows hold none."], side=_CODE)
            if code is None
            else Section(
                title="Code",
                side=_CODE,
                code=Code(text=code, lexer=_LEXERS.get(language.name, "") if coloured else ""),
            )
        )
    if not written:
        return
    core = code.strip("\n") if isinstance(code, str) else ""
    around = written.replace(core, _SHOWN_ABOVE, 1) if core else written
    if around.strip() == _SHOWN_ABOVE:
        return
    long = len(around) > _MAX_GENERATION
    yield Section(
        title="Reply",
        folded=f"The reply of {counted(len(written), 'character')}"
        + (f", the first {_MAX_GENERATION:,} of them" if long else ""),
        lines=[CodeLines(lines=bounded(around, _MAX_GENERATION).splitlines())],
    )


# --- the script beside the pages of a problem ---------------------------------------------------------


class AttemptIndex:
    """The submissions of a problem that have pages, as a script: from a folder a browser loads no JSON."""

    def __init__(self, selection: PageSelection) -> None:
        self._opened = selection
        self._rows = list[tuple[str, str, int, float | None, str, str]]()
        self._models: dict[str, int] = {}
        self._left_out = False

    def noting(self, rows: Iterable[ListRow]) -> Iterator[ListRow]:
        """Yield the rows as they are, and note each."""
        for judged_row in rows:
            if self._opened.has(judged_row.key, judged_row.ending):
                model = self._models.setdefault(judged_row.model, len(self._models))
                judged = judged_row.repeats or judged_row.key
                self._rows.append(
                    (
                        judged_row.key,
                        judged,
                        model,
                        judged_row.attempt,
                        judged_row.ending,
                        submission_page(judged_row.key),
                    )
                )
            else:
                self._left_out = True
            yield judged_row

    def script(self) -> str:
        equal = Counter(judged for _, judged, *_ in self._rows)
        groups = {judged: place for place, (judged, number) in enumerate(equal.items(), 1) if number > 1}
        rows = [
            (page, bounded(visible(key), _LONGEST_KEY), model, attempt, ending, groups.get(judged, 0))
            for key, judged, model, attempt, ending, page in self._rows
        ]
        shown = json.dumps({"whole": not self._left_out, "rows": rows}, separators=(",", ":"))
        return f"const ATTEMPTS = {shown};\n"
