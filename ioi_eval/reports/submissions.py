"""The page of a submission: its code, and next to it the result, the tests and the first failed test.

Reports reuse a page of an earlier report (`pages.py`), so it depends only on its row and its problem. A
script that every report writes anew, and the page of the problem, lead to other attempts and equal programs.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from ioi_eval.model.errors import InputError
from ioi_eval.model.languages import find_language
from ioi_eval.model.text import format_count, visible
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
    TableBlock,
    VerdictSquares,
    format_number,
    make_model_anchor,
    make_submission_page_filename,
    name_attempts_script,
    name_problem_page,
)
from ioi_eval.rules.extraction import extract, read_extraction_repair
from ioi_eval.rules.scoring import find_unjudged_reason, find_verdict_or_no_program
from ioi_eval.store.rows import MAX_OUTPUT, PASSED, RESULT_COLUMNS, read_model_name, shorten

if TYPE_CHECKING:
    from ioi_eval.reports.pages import PageSelection, SubmissionListRow
    from ioi_eval.store.tasks import Task

MAX_FEEDBACK = 100  # maximum characters of feedback in lists and sentences
_MAX_KEY = 300  # maximum characters of a key in the script of attempts
_MAX_GENERATION = 8000  # maximum characters of a shown reply
# Maximum number of squares for a subtask's tests, and minimum number of tests in a folded table.
_MAX_SQUARES, _MANY_TESTS = 300, 20
_CODE, _BESIDE = "code-side", "beside"
_SHOWN_ABOVE = "[the code above]"
_BLANKS = "· is a space, ⇥ a tab, \\r a carriage return, ↵ the end of a line. Differences are underlined."
_NOT_KEPT = (
    "The run stored no outputs. With the option keep-outputs, a run stores the beginning of the input, the "
    "output and the expected output of the first failed test."
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


def make_submission_document(
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
            Link(text=result.problem_id, href=name_problem_page(result.problem_id)),
            Link(text="Other attempts", href=_make_attempts_url(row, result)),
            Link(text="Link to this page", href=make_submission_page_filename(result.key)),
        ],
        sections=[
            *(
                msgspec.structs.replace(section, side=_BESIDE)
                for section in (
                    _make_verdict_section(row, result),
                    *_make_compilation_sections(result),
                    *make_wrong_output_sections(row),
                    _make_facts_section(row, result, task, selection),
                )
            ),
            *_make_program_sections(row, coloured),
            _make_tests_section(result),
        ],
        page=make_submission_page_filename(result.key),
        script=name_attempts_script(result.problem_id),
    )


def list_limit_names_and_values(task: Task) -> Iterator[tuple[str, str]]:
    """Yield names and values of a problem's limits."""
    if task.cpu_time is not None:
        yield (
            "Time limit",
            f"{task.cpu_time:g} s of CPU time"
            + (f", {task.wall_time:g} s on the clock" if task.wall_time else ""),
        )
    if task.memory is not None:
        yield "Memory limit", f"{format_number(task.memory / (1 << 20))} MiB"


def find_first_failed_test(result: SubmissionResult) -> TestResult | None:
    """Return the first failed test, or None if there is none."""
    return next((test for test in result.tests if test.status not in PASSED), None)


def _make_attempts_url(row: Mapping[str, Any], result: SubmissionResult) -> str:
    return f"{name_problem_page(result.problem_id)}#{make_model_anchor(read_model_name(row))}"


def _make_verdict_section(row: Mapping[str, Any], result: SubmissionResult) -> Section:
    """Return a submission's result in a sentence or two."""
    failed_test = find_first_failed_test(result)
    lead_sentence = (
        f"{find_verdict_or_no_program(result)}: {format_number(result.points)} of"
        f" {format_number(_compute_max_points(result))} points."
    )
    if result.compiles and failed_test is not None:
        feedback = f": {shorten(visible(failed_test.feedback), MAX_FEEDBACK)}" if failed_test.feedback else ""
        lead_sentence += f" The first failed test is {failed_test.test_name} ({failed_test.status}){feedback}"
    has_no_output = result.compiles and failed_test is not None and not row.get("wrong_output")
    return Section(title="Result", lead=lead_sentence, notes=[_NOT_KEPT] if has_no_output else [])


def _compute_max_points(result: SubmissionResult) -> float:
    return sum(subtask.points for subtask in result.subtasks) if result.subtasks else 1.0


def _make_facts_section(
    row: Mapping[str, Any], result: SubmissionResult, task: Task | None, selection: PageSelection
) -> Section:
    repeated_cell = selection.make_link(result.repeats, result.verdict) if result.repeats else NOTHING
    attempts_link = Link(
        text=f"all of this {selection.author} for this problem", href=_make_attempts_url(row, result)
    )
    equal = f"{name_problem_page(result.problem_id)}#{EQUAL}"
    rows: list[list[Cell]] = [
        ["Problem", Link(text=result.problem_id, href=name_problem_page(result.problem_id))],
        [selection.author.capitalize(), read_model_name(row) or NOTHING],
        ["Verdict", find_verdict_or_no_program(result)],
        ["Points", f"{format_number(result.points)} of {format_number(_compute_max_points(result))}"],
        ["Language", str(row.get("language") or NOTHING)],
        ["Compiled with", result.compiler or NOTHING],
        ["Checker", result.checker or NOTHING],
        ["Row of the dump", str(row.get("dump_row") or NOTHING)],
        ["Column of the id", _find_key_column(row, result.key)],
        ["Target subtask", str(row.get("target_subtask") or NOTHING)],
        ["Repaired", ", ".join(result.repairs) or NOTHING],
        ["Attempts", attempts_link],
        ["Same result as", repeated_cell],  # link to the equal submission that was judged
        ["Equal programs", Link(text="all of this problem", href=equal) if result.repeats else NOTHING],
    ]
    rows += [[name, limit] for name, limit in (list_limit_names_and_values(task) if task else ())]
    known_rows = [line for line in rows if line[1] != NOTHING]
    return Section(title="Submission", table=TableBlock(heads=["What", "Value"], rows=known_rows, align="ll"))


def _find_key_column(row: Mapping[str, Any], key: str) -> str:
    """Return the dump's column that contains the submission's key, or `NOTHING` if no column contains it."""
    names = (name for name, value in row.items() if name not in RESULT_COLUMNS and str(value) == key)
    return next(names, NOTHING)


def make_wrong_output_sections(row: Mapping[str, Any]) -> Iterator[Section]:
    """Yield the failed test's input, and its output next to the expected output, if the row contains them."""
    stored_output = row.get("wrong_output")
    if not stored_output:
        return
    name, test_input, output, expected = (
        stored_output["test_name"],
        stored_output.get("input"),
        stored_output["output"],
        stored_output["expected"],
    )
    if test_input is not None:
        yield _make_text_section(f"Input of test {name}", test_input)
    section_title = f"Output of test {name}"
    if output is None:  # the output was empty, or the program was stopped before it wrote
        if expected is not None:
            yield _make_text_section(f"Expected output of test {name}", expected)
        return
    if expected is None:
        yield Section(title=section_title, lines=[CodeLines(lines=output.splitlines())])
        return
    is_cut = max(len(output.encode()), len(expected.encode())) >= MAX_OUTPUT
    notes = [f"Only the first {MAX_OUTPUT:,} bytes of both are shown."] if is_cut else []
    if output.split() == expected.split():
        notes.append("The difference comes later." if is_cut else "Only white space differs.")
    if not is_cut and output.endswith("\n") != expected.endswith("\n"):
        names = ("output", "expected output") if expected.endswith("\n") else ("expected output", "output")
        notes.append("The {} does not end with a line break, the {} does.".format(*names))
    yield Section(
        title=section_title, outputs=Outputs(output=output, expected=expected), notes=[*notes, _BLANKS]
    )


def _make_text_section(title: str, text: str) -> Section:
    cut_note = f", its first {MAX_OUTPUT:,} bytes" if len(text.encode()) >= MAX_OUTPUT else ""
    return Section(title=title + cut_note, lines=[CodeLines(lines=text.removesuffix("\n").split("\n"))])


def _make_compilation_sections(result: SubmissionResult) -> Iterator[Section]:
    if result.compile_output:
        section_title = "No program" if find_unjudged_reason(result) is Reason.NO_PROGRAM else "Compiler"
        yield Section(title=section_title, lines=[CodeLines(lines=result.compile_output.splitlines())])
    if result.subtasks:
        yield Section(
            title="Subtasks",
            table=TableBlock(
                heads=["Subtask", "Tests", "Points", "of", "Verdict"],
                rows=[
                    [
                        subtask.subtask,
                        _make_test_verdicts_cell(subtask.test_results),
                        format_number(subtask.weighted_score),
                        format_number(subtask.points),
                        subtask.status,
                    ]
                    for subtask in result.subtasks
                ],
                align="llrrl",
                kind="subtasks",
            ),
        )
    elif result.compiles:
        shown = TableBlock(heads=["Tests"], rows=[[_make_test_verdicts_cell(result.tests)]], align="l")
        yield Section(title="Every test", table=shown)


def _make_test_verdicts_cell(tests: Sequence[TestResult]) -> Cell:
    visible_tests = [(test.test_name, str(test.status)) for test in tests[:_MAX_SQUARES]]
    return VerdictSquares(tests=visible_tests) if visible_tests else NOTHING


def _make_tests_section(result: SubmissionResult) -> Section:
    skipped_tests = [test.test_name for test in result.tests if test.status is Verdict.SKIPPED]
    return Section(
        title="Tests",
        long=len(result.tests) > _MANY_TESTS,
        table=TableBlock(
            heads=["Test", "Verdict", "Score", "CPU time", "Wall time", "Memory", "Feedback"],
            rows=[
                [
                    test.test_name,
                    test.status,
                    format_number(test.score),
                    NOTHING if test.cpu_time is None else f"{test.cpu_time:.3f} s",
                    NOTHING if test.wall_time is None else f"{test.wall_time:.3f} s",
                    NOTHING if test.memory is None else f"{test.memory / (1 << 20):,.1f} MiB",
                    test.feedback or NOTHING,
                ]
                for test in result.tests
                if test.status is not Verdict.SKIPPED
            ],
            align="llrrrrl",
        ),
        notes=[
            f"{format_count(len(skipped_tests), 'test')} skipped, as no score depends on it:"
            f" {', '.join(skipped_tests)}."
        ]
        if skipped_tests
        else [],
    )


def _read_program_or_reply(row: Mapping[str, Any], text_kind: str, standard_column: str) -> str | None:
    """Return a row's program or reply, or None if the row does not contain it as a string.

    Columns of the dump may be nested: `choices.0.text`. A reply in chat messages is the last message.
    """
    column = (row.get("read_from") or {}).get(text_kind, standard_column)
    column_value: Any = row
    for column_part in (column,) if column in row else column.split("."):
        try:
            column_value = (
                column_value[int(column_part)]
                if isinstance(column_value, list)
                else column_value[column_part]
            )
        except (KeyError, IndexError, TypeError, ValueError):
            return None
    if isinstance(column_value, list) and column_value and isinstance(column_value[-1], dict):
        column_value = column_value[-1].get("content")
    return column_value if isinstance(column_value, str) else None


def _make_program_sections(row: Mapping[str, Any], coloured: bool) -> Iterator[Section]:
    """Yield the program before any repair, and the reply that contains it, folded."""
    code, generation_text = (
        _read_program_or_reply(row, "program", "code"),
        _read_program_or_reply(row, "reply", "generation") or "",
    )
    try:
        language = find_language(str(row.get("language") or "c++"))
    except InputError:
        code = None
    else:
        if not (code and code.strip()):
            code = (
                extract(generation_text, language, read_extraction_repair(row.get("repairs") or ()))
                if generation_text
                else None
            )
        yield (
            Section(title="Code", text=["The run's rows contain no code."], side=_CODE)
            if code is None
            else Section(
                title="Code",
                side=_CODE,
                code=Code(text=code, lexer=_LEXERS.get(language.name, "") if coloured else ""),
            )
        )
    if not generation_text:
        return
    program = code.strip("\n") if code else ""
    reply = generation_text.replace(program, _SHOWN_ABOVE, 1) if program else generation_text
    if reply.strip() == _SHOWN_ABOVE:
        return
    is_cut = len(reply) > _MAX_GENERATION
    yield Section(
        title="Reply",
        folded=f"The reply of {format_count(len(generation_text), 'character')}"
        + (f", the first {_MAX_GENERATION:,} of them" if is_cut else ""),
        lines=[CodeLines(lines=shorten(reply, _MAX_GENERATION).splitlines())],
    )


# --- the script that links the pages of a problem's submissions -----------------------------------


class ProblemAttemptIndex:
    """Collects a problem's submissions that have pages, and writes them as a script for these pages.

    The index is a script and not JSON, because browsers load no JSON for pages that are opened from a file.
    """

    def __init__(self, selection: PageSelection) -> None:
        self._selection = selection
        self._attempt_rows = list[tuple[str, str, int, float | None, str, str]]()
        self._models: dict[str, int] = {}
        self._is_whole = True

    def index_and_yield_rows(self, rows: Iterable[SubmissionListRow]) -> Iterator[SubmissionListRow]:
        """Yield the rows unchanged, and add each to the index."""
        for list_row in rows:
            if self._selection.has_page(list_row.key, list_row.ending):
                model = self._models.setdefault(list_row.model, len(self._models))
                judged_key = list_row.repeats or list_row.key
                self._attempt_rows.append(
                    (
                        list_row.key,
                        judged_key,
                        model,
                        list_row.attempt,
                        list_row.ending,
                        make_submission_page_filename(list_row.key),
                    )
                )
            else:
                self._is_whole = False
            yield list_row

    def make_javascript(self) -> str:
        count_by_judged_key = Counter(judged_key for _, judged_key, *_ in self._attempt_rows)
        number_by_judged_key = {
            judged_key: group_number
            for group_number, (judged_key, number) in enumerate(count_by_judged_key.items(), 1)
            if number > 1
        }
        rows = [
            (
                page,
                shorten(visible(key), _MAX_KEY),
                model,
                attempt,
                ending,
                number_by_judged_key.get(judged_key, 0),
            )
            for key, judged_key, model, attempt, ending, page in self._attempt_rows
        ]
        shown = json.dumps(
            {"author": self._selection.author, "whole": self._is_whole, "rows": rows}, separators=(",", ":")
        )
        return f"const ATTEMPTS = {shown};\n"
