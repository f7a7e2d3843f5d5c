"""The pages beside report.html: one for each submission and each problem, and a list of all submissions.

They are plain files that link to each other, so that they open from a folder as they do from a server. Names
are hashes, because keys and problems are text of others.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ioi_eval.model.errors import InputError
from ioi_eval.model.languages import find
from ioi_eval.model.values import SubmissionResult, TestResult, Verdict
from ioi_eval.reports.document import (
    NOTHING,
    SCRIPT,
    STYLE,
    Cell,
    Code,
    Document,
    HtmlPages,
    Lines,
    Link,
    Section,
    Table,
    asset,
    counted,
    number,
)
from ioi_eval.reports.made import Made
from ioi_eval.reports.summary import result_of_row
from ioi_eval.rules.extraction import extract, extraction_of
from ioi_eval.rules.scoring import submission_status
from ioi_eval.rules.verdicts import STATUS_ORDER
from ioi_eval.store.files import refused
from ioi_eval.store.folder import RESULTS, ResultHead, decoded, read_rows
from ioi_eval.store.rows import bounded, model_of

FOLDER, ALL = "report", "submissions.html"
_COLOURED = 3000  # submissions of a run; of more, only the best of each model for each problem has colours
_MAX_GENERATION, _MAX_FEEDBACK = 8000, 100  # characters
_LEXERS = {
    "c": "c",
    "c++": "cpp",
    "python": "python",
    "pypy": "python",
    "java": "java",
    "rust": "rust",
    "go": "go",
}


class Judged(NamedTuple):
    """What lists say of a submission."""

    key: str
    model: str
    problem: str
    status: Verdict
    points: float
    feedback: str  # of the first test that it did not pass


def submission_page(key: str) -> str:
    return f"submission-{_hash(key)}.html"


def problem_page(problem: str) -> str:
    return f"problem-{_hash(problem)}.html"


def model_page(model: str) -> str:
    return f"model-{_hash(model)}.html"


def model_anchor(model: str) -> str:
    return f"m-{_hash(model)}"


def _hash(name: str) -> str:
    return hashlib.sha256(name.encode(errors="surrogatepass")).hexdigest()[:16]


def write_pages(folder: Path, made: Made, more: Mapping[str, Document] | None = None) -> None:
    """Writes report/ anew, and more pages into it by name. The old one stays until the new one is whole."""
    draft = folder / f".{FOLDER}.{os.getpid()}.tmp"
    try:
        shutil.rmtree(draft, ignore_errors=True)
        draft.mkdir()
        _write(folder, draft, made, more or {})
        made.write(draft)
        shutil.rmtree(folder / FOLDER, ignore_errors=True)
        draft.rename(folder / FOLDER)
    except OSError as error:
        raise refused(folder / FOLDER, error) from error
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def _write(folder: Path, draft: Path, made: Made, more: Mapping[str, Document]) -> None:
    """Two passes, because the first says which submissions are the best; neither holds more than lists."""
    every, tests = list[Judged](), defaultdict[str, _Tests](_Tests)
    for row in read_rows(folder):
        result = result_of_row(row)
        status = submission_status(result)
        why = _feedback(result)
        every.append(Judged(result.key, model_of(row), result.problem_id, status, result.points, why))
        tests[result.problem_id].add(result.tests)
    every.sort(key=lambda one: (one.problem, one.model, -one.points, one.key))
    best = {(one.problem, one.model): one.key for one in reversed(every)}
    coloured = None if len(every) <= _COLOURED else set(best.values())
    page_of = HtmlPages(beside=True)
    for name in (STYLE, SCRIPT):
        (draft / name).write_text(asset(name), "utf-8")
    for name, page in more.items():
        (draft / name).write_text(page_of(page), "utf-8")
    (draft / ALL).write_text(page_of(_all(every)), "utf-8")
    of_problems = defaultdict[str, list[Judged]](list)
    for one in every:
        of_problems[one.problem].append(one)
    for problem, own in of_problems.items():
        (draft / problem_page(problem)).write_text(page_of(_problem(problem, own, tests[problem])), "utf-8")
    kept = _kept(folder, draft, made)
    for row in read_rows(folder):
        name = submission_page(row["key"])
        if name not in kept:
            bright = coloured is None or row["key"] in coloured
            (draft / name).write_text(page_of(_submission(row, result_of_row(row), coloured=bright)), "utf-8")


def _kept(folder: Path, draft: Path, made: Made) -> set[str]:
    """The pages of rows that the last report had already; they are the same files in both folders."""
    before = Made.read(folder / FOLDER)
    size = 0 if before is None else before.covers(folder / RESULTS, made.program)
    kept = set[str]()
    for offset, row in decoded(folder / RESULTS, ResultHead) if size else ():
        name = submission_page(row.key)
        if offset >= size:
            break
        with contextlib.suppress(OSError):  # gone, or on a disk without links: it is made again
            os.link(folder / FOLDER / name, draft / name)
            kept.add(name)
    return kept


def _feedback(result: SubmissionResult) -> str:
    if not result.compiles:
        return bounded(result.compile_output.strip().partition("\n")[0], _MAX_FEEDBACK)
    failing = (test for test in result.tests if test.status not in (Verdict.AC, Verdict.SKIPPED))
    first = next(failing, None)
    return "" if first is None else bounded(f"{first.test_name}: {first.feedback}", _MAX_FEEDBACK)


# --- a submission ------------------------------------------------------------------------------------


def _submission(row: Mapping[str, Any], result: SubmissionResult, *, coloured: bool) -> Document:
    return Document(
        title=f"Submission {result.key}",
        links=[
            Link(text="Report", href="../report.html"),
            Link(text="All submissions", href=ALL),
            Link(text=result.problem_id, href=problem_page(result.problem_id)),
        ],
        sections=[*_facts(row, result), *_code(row, coloured), *_judgement(result), *_generation(row)],
    )


def _facts(row: Mapping[str, Any], result: SubmissionResult) -> Iterator[Section]:
    worth = sum(part.points for part in result.subtasks) if result.subtasks else 1.0
    rows: list[list[Cell]] = [
        ["Problem", Link(text=result.problem_id, href=problem_page(result.problem_id))],
        ["Model", model_of(row) or NOTHING],
        ["Verdict", submission_status(result)],
        ["Points", f"{number(result.points)} of {number(worth)}"],
        ["Language", str(row.get("language") or NOTHING)],
        ["Compiled with", result.compiler or NOTHING],
        ["Checker", result.checker or NOTHING],
        ["Asked for subtask", str(row.get("target_subtask") or NOTHING)],
        ["Repaired", ", ".join(result.repairs) or NOTHING],
    ]
    shown = [line for line in rows if line[1] != NOTHING]
    yield Section(title="Result", table=Table(heads=["What", "Value"], rows=shown, align="ll"))


def _code(row: Mapping[str, Any], coloured: bool) -> Iterator[Section]:
    """The program as it was written or can be found in the generation, before any repair."""
    try:
        language = find(str(row.get("language") or "c++"))
    except InputError:
        return
    code, written = row.get("code"), row.get("generation")
    if not (isinstance(code, str) and code.strip()):
        how = extraction_of(row.get("repairs") or ())
        code = extract(written, language, how) if isinstance(written, str) else None
    if code is None:
        yield Section(title="Code", text=["The run's rows hold none."])
    else:
        yield Section(
            title="Code", code=Code(text=code, lexer=_LEXERS.get(language.name, "") if coloured else "")
        )


def _judgement(result: SubmissionResult) -> Iterator[Section]:
    if result.compile_output:
        yield Section(title="Compiler", lines=[Lines(lines=result.compile_output.splitlines())])
    if result.subtasks:
        yield Section(
            title="Subtasks",
            table=Table(
                heads=["Subtask", "Points", "of", "Verdict"],
                rows=[
                    [part.subtask, number(part.weighted_score), number(part.points), part.status]
                    for part in result.subtasks
                ],
                align="lrrl",
            ),
        )
    rows = [
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
    ]
    heads = ["Test", "Verdict", "Score", "CPU time", "Wall time", "Memory", "Feedback"]
    yield Section(title="Tests", table=Table(heads=heads, rows=rows, align="llrrrrl"))


def _generation(row: Mapping[str, Any]) -> Iterator[Section]:
    written = row.get("generation")
    if isinstance(written, str) and written:
        more = (
            [f"The first {_MAX_GENERATION:,} characters of {len(written):,}."]
            if len(written) > _MAX_GENERATION
            else []
        )
        lines = bounded(written, _MAX_GENERATION).splitlines()
        yield Section(title="Generation", text=more, lines=[Lines(lines=lines)])


# --- a problem, and all submissions ------------------------------------------------------------------


class _Tests:
    """How submissions of a problem ended on each of its tests."""

    def __init__(self) -> None:
        self.ends: dict[str, Counter[Verdict]] = {}

    def add(self, tests: Iterable[TestResult]) -> None:
        for test in tests:
            self.ends.setdefault(test.test_name, Counter())[test.status] += 1


def _problem(problem: str, every: Sequence[Judged], tests: _Tests) -> Document:
    """Submissions come sorted by model, then with most points first."""
    of_models = defaultdict[str, list[Judged]](list)
    for one in every:
        of_models[one.model].append(one)
    return Document(
        title=f"Problem {problem}",
        links=[Link(text="Report", href="../report.html"), Link(text="All submissions", href=ALL)],
        sections=[
            *(
                Section(
                    title=model or "Submissions without a model's name",
                    anchor=model_anchor(model),
                    table=_list(own, of=("key", "status", "points")),
                )
                for model, own in of_models.items()
            ),
            _of_tests(tests),
        ],
    )


def _of_tests(tests: _Tests) -> Section:
    there = {status for ends in tests.ends.values() for status in ends}
    statuses = [status for status in STATUS_ORDER[::-1] if status in there]
    fails = {
        name: sum(ends.values()) - ends[Verdict.AC] - ends[Verdict.SKIPPED]
        for name, ends in tests.ends.items()
    }
    rows = [
        [name, f"{fails[name]:,}", *(f"{ends[status]:,}" for status in statuses)]
        for name, ends in tests.ends.items()
    ]
    idle = [name for name, failing in fails.items() if not failing]
    return Section(
        title="Tests",
        text=[
            "How many submissions did not pass each test, and how they ended on it. A test is skipped where "
            "no score depended on it any more."
        ],
        table=Table(heads=["Test", "Failed by", *statuses], rows=rows, align="l" + "r" * (len(statuses) + 1)),
        notes=[f"{counted(len(idle), 'test')} failed by nothing: {', '.join(idle)}."] if idle else [],
    )


def _all(every: Sequence[Judged]) -> Document:
    table = _list(every, of=("key", "model", "problem", "status", "points", "feedback"))
    return Document(
        title=f"All {counted(len(every), 'submission')}",
        links=[Link(text="Report", href="../report.html")],
        sections=[Section(title="Submissions", table=table)],
    )


def _list(every: Iterable[Judged], *, of: Sequence[str]) -> Table:
    heads = {
        "key": "Submission",
        "model": "Model",
        "problem": "Problem",
        "status": "Verdict",
        "points": "Points",
        "feedback": "Feedback",
    }
    rows: list[list[Cell]] = []
    for one in every:
        cells: dict[str, Cell] = {
            "key": Link(text=one.key, href=submission_page(one.key)),
            "model": one.model or NOTHING,
            "problem": Link(text=one.problem, href=problem_page(one.problem)),
            "status": one.status,
            "points": number(one.points),
            "feedback": one.feedback or NOTHING,
        }
        rows.append([cells[name] for name in of])
    align = "".join("r" if name == "points" else "l" for name in of)
    return Table(heads=[heads[name] for name in of], rows=rows, align=align)
