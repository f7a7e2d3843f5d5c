"""The report of one run: the document and the files."""

from __future__ import annotations

import contextlib
import hashlib
import shutil
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from ioi_eval.model.values import Reason, Value
from ioi_eval.reports import headline, sections
from ioi_eval.reports.document import (
    FAILED,
    FOLDER,
    NOTHING,
    PROBLEMS,
    SETTINGS,
    SLICES,
    Cell,
    CodeLines,
    Document,
    Link,
    Section,
    TableBlock,
    counted,
    html,
    markdown,
    model_page,
    number,
    problem_page,
    share,
    submission_page,
)
from ioi_eval.reports.headline import Entry, for_a_paper
from ioi_eval.reports.pages import (
    ListState,
    OnProgress,
    PageSelection,
    PageSources,
    ProgressCounter,
    RowsDigest,
    Stamp,
    SubmissionLists,
    ignore_progress,
    write_pages,
)
from ioi_eval.reports.parts import first_sections
from ioi_eval.reports.records import (
    ModelSummary,
    PageChoice,
    ReportOptions,
    Settings,
    Summary,
    Validation,
    read_validation,
    write_json,
)
from ioi_eval.reports.summary import (
    SUMMARY,
    Pass,
    PassCounts,
    RowCallback,
    check_run,
    from_plain,
    summary,
    to_plain,
)
from ioi_eval.reports.tables import TESTS, TestsTableState, writing_tests
from ioi_eval.reports.trust import trust_section
from ioi_eval.reports.validation import sections as validation_sections
from ioi_eval.rules.scoring import ScoreMode
from ioi_eval.store.files import draft_path, read_value, remove_stale_drafts, replace
from ioi_eval.store.folder import RESULTS
from ioi_eval.store.tasks import Task, read_tasks

_COMMAND = "command"  # setting: the command that started the run
_LONG, _MANY = 40, 150  # rows: a longer table is folded; if all tables of models are longer, they get pages
_MAX_PAGES = 20_000  # submissions; in a larger run only a sample has pages, unless the user says otherwise
_DRAFT_LIFETIME_S = 3600  # after so long without a write, a draft of a report is removed
_MODES = {
    ScoreMode.MAX_SUBTASK: "Points add up the best result of each subtask over all submissions "
    "(max_subtask).",
    ScoreMode.MAX: "Points are the score of the best submission (max).",
    ScoreMode.MAX_TOKENED_LAST: "Points are the best score of the tokened submissions and the last one "
    "(max_tokened_last).",
}
_UNSCORED = (
    "The judge or its machine failed, not these submissions. The section Failures lists them, and no score "
    "or average counts them. Run the same command again to retry only them."
)
_FINAL = (
    "The section Failures lists them, and no score or average counts them. Another try cannot help: the "
    "fault is in the submissions or in their problems."
)
_ALL_PAGES = "A report with pages=all has a page for each submission."
_FEWER: Mapping[PageChoice, Sequence[str]] = {
    PageChoice.ALL: (),
    PageChoice.FAILED: (
        f"Failed submissions, and submissions named here, have their own pages. {_ALL_PAGES}",
    ),
    PageChoice.SAMPLE: (
        f"A sample of submissions, and submissions named here, have their own pages. {_ALL_PAGES}",
    ),
    PageChoice.NONE: (f"No submission has its own page. {_ALL_PAGES}",),
}
USUAL = {
    "extract": "last",
    "keys_of_content": True,
    "default_language": "c++",
}  # defaults of options; all others are off by default
_NO_TRY = "Another try cannot help"


def document(
    run: Summary,
    validation: Validation | None = None,
    *,
    apart: bool = False,
    pages: PageChoice = PageChoice.ALL,
) -> Document:
    """Return the report of a run.

    Args:
        run: The numbers.
        validation: The results of a validation, if the run is one.
        apart: The tables of each model are on other pages.
        pages: The submissions that have pages.
    """
    selection = PageSelection(pages, run)
    is_alone = len(run.models) == 1
    of = headline.ordered(sections.entries(run))
    has_scores = bool(run.scored)
    problems_name = str(run.settings.given.get("problems") or "")
    without_program = run.verdicts.get(Reason.NO_PROGRAM, 0)
    return Document(
        title=f"Scores on {problems_name}"
        if problems_name
        else f"Scores of {counted(run.submissions, 'submission')}",
        about=", ".join(
            [
                counted(len(of), "model"),
                counted(run.problems, "problem"),
                counted(run.submissions, "submission"),
                *(["complete"] if run.complete and run.of is not None and not run.unscored else []),
                *([run.date] if run.date else []),
            ]
        ),
        ribbon=[
            *([f"{run.judged:,} of {run.of:,} judged"] if run.of is not None and not run.complete else []),
            *(["incomplete"] if run.of is None and not run.complete else []),
            *([f"{without_program:,} without a program"] if without_program else []),
            *([f"{run.unscored:,} could not be judged"] if run.unscored else []),
        ],
        # With feedback, programs answer verdicts: they are no sample, so no sentence compares two authors.
        answer=headline.answer(of)
        if has_scores and validation is None and (len(of) == 1 or not run.settings.has_feedback)
        else "",
        lead=f"{counted(run.unscored, 'submission')} could not be judged." if run.unscored else "",
        text=[
            *([_FINAL if all(why.final for why in run.failures) else _UNSCORED] if run.unscored else []),
            *run.warnings,
        ],
        lists_submissions=has_scores,
        in_parts=True,
        data=sections.explored(of, run) if has_scores else "",
        sections=[
            *(validation_sections(validation) if validation is not None else ()),
            *filter(None, [trust_section(run)]),
            *_overview(run, of, selection, apart=apart),
            *(
                msgspec.structs.replace(part, tab=PROBLEMS, is_whole=True)
                for model in run.models
                if not apart
                for part in _model(
                    model, f"{FOLDER}/", is_alone=is_alone, has_pages=pages is not PageChoice.NONE
                )
            ),
            *([for_a_paper(run.headline, run.settings)] if has_scores and validation is None else []),
            *(msgspec.structs.replace(part, tab=FAILED) for part in _failures(run)),
            *(msgspec.structs.replace(part, tab=SETTINGS) for part in _about(run.settings)),
        ],
    )


def _model_pages(run: Summary, has_pages: bool) -> dict[str, Document]:
    """Return a page for each model, by file name; empty if the report is short enough for all tables.

    `has_pages`: submissions have pages.
    """
    if len(run.models) == 1 or sum(len(model.problems) for model in run.models) <= _MANY:
        return {}
    return {
        model_page(model.model): Document(
            title=f"Model {sections.model_name(model.model)}",
            tab=PROBLEMS,
            sections=list(_model(model, "", is_alone=False, has_pages=has_pages)),
        )
        for model in run.models
    }


def _overview(
    run: Summary, of: Sequence[Entry], selection: PageSelection, *, apart: bool
) -> Iterator[Section]:
    several = len(of) > 1
    yield from first_sections(run)
    if of:
        board = headline.leaderboard(of, apart=apart)
        notes = [_MODES[run.mode]] if _has_subtasks(*run.models) else []
        yield msgspec.structs.replace(board, notes=[*notes, *_FEWER[selection.pages]])
    yield from sections.of_points(of, run.unscored)
    if several:
        yield sections.by_problem(of, linked=True)
    if run.causes:
        yield sections.causes(run, selection.example)
    if run.scored:
        verdicts = sections.verdicts(of, run.verdicts, run.unscored)
        yield msgspec.structs.replace(verdicts, notes=[*verdicts.notes, *_of_verdicts(run)])
    slices = [*sections.groups(of), *filter(None, [sections.uses(of)])]
    nothing = "No row says a difficulty, tags or a year, and no limits are known."
    yield from slices or [Section(title="Slices", tab=SLICES, notes=[nothing])]


def _of_verdicts(run: Summary) -> Iterator[str]:
    if run.repeated:
        one, many = "repeats another program and shares its", "repeat another program and share its"
        number = counted(run.repeated, "submission")
        yield f"{number} {one if run.repeated == 1 else many} result."
    if run.measured_again:
        yield (
            f"{counted(run.measured_again, 'test')} took as long as the time limit or a little longer, and "
            f"ran again. {counted(run.saved, 'verdict')} hung on that: the least time was within the limit."
        )


def _has_subtasks(*models: ModelSummary) -> bool:
    return any(problem.subtasks for model in models for problem in model.problems)


# --- a model -----------------------------------------------------------------------------------------


def _model(model: ModelSummary, folder: str, *, is_alone: bool, has_pages: bool) -> Iterator[Section]:
    """Yield the tables of a model.

    Args:
        model: The model's numbers.
        folder: Prefix of links to other pages.
        is_alone: The run has no other model.
        has_pages: Submissions have pages.
    """
    yield Section(
        title=model.model or ("Problems" if is_alone else "Submissions without a model's name"),
        table=_problems(model, folder),
        long=not is_alone or len(model.problems) > _LONG,
    )
    if _has_subtasks(model):
        of = "" if is_alone else ", " + (model.model or "no model's name")
        rows: list[list[Cell]] = [
            [
                "" if position else problem.problem_id,
                best.subtask,
                number(best.weighted_score),
                number(best.points),
                best.status,
                Link(text=best.key, href=f"{folder}{submission_page(best.key)}" if has_pages else "")
                if best.weighted_score
                else NOTHING,
            ]
            for problem in model.problems
            for position, best in enumerate(problem.subtasks)
        ]
        yield Section(
            title=f"Best of each subtask{of}",
            level=3,
            table=TableBlock(
                heads=["Problem", "Subtask", "Best", "of", "Verdict", "Earned by"], rows=rows, align="llrrll"
            ),
            long=not is_alone or len(rows) > _LONG,
        )


def _problems(model: ModelSummary, folder: str) -> TableBlock:
    statuses = list(model.verdicts)[::-1]
    ks = sections.known_ks(problem.pass_at for problem in model.problems)
    passes = [f"pass@{k}" for k in ks]
    return TableBlock(
        heads=["Problem", "Points", "of", "Mean", "Solved by", *passes, "Submissions", *statuses, "Unscored"],
        rows=[
            [
                Link(text=problem.problem_id, href=f"{folder}{problem_page(problem.problem_id)}")
                if problem.scored
                else problem.problem_id,
                sections.points(problem),
                sections.whole([problem]),
                share(problem.mean_points, 1) if problem.points is None else number(problem.mean_points),
                f"{problem.solved:,}",
                *(sections.estimate(passed, brief=True) for passed in problem.pass_at if passed.k in ks),
                f"{problem.submissions:,}",
                *sections.counts(problem.verdicts, statuses),
                f"{problem.unscored:,}",
            ]
            for problem in model.problems
        ],
    )


# --- what could not be judged, and how all was made --------------------------------------------------


def _failures(run: Summary) -> Iterator[Section]:
    if not run.unscored:
        return
    yield Section(
        title="Could not be judged",
        table=TableBlock(
            heads=["Submissions", "Problems", "While", "Reason", "What to do", "For example"],
            rows=[
                [
                    f"{why.submissions:,}",
                    ", ".join(why.problems),
                    why.phase or NOTHING,
                    why.reason,
                    why.remedy or (_NO_TRY if why.final else NOTHING),
                    ", ".join(why.examples),
                ]
                for why in run.failures
            ],
            align="rlllll",
        ),
        notes=["failures.jsonl has them one by one."],
    )


def _about(settings: Settings) -> Iterator[Section]:
    # Missing layers of confinement are listed outside the table, because they matter for trust.
    missing = [
        str(reason)
        for confinement in settings.confinements
        for report in (confinement, confinement.get("build") or {})
        for reason in report.get("missing") or ()
    ]
    yield Section(
        title="Settings",
        table=TableBlock(
            heads=["What", "Value"], rows=[list(pair) for pair in _settings(settings)], align="ll"
        ),
        items=[f"Missing confinement: {reason}" for reason in dict.fromkeys(missing)],
    )
    if usual := [[name, _text(value)] for name, value in _options(settings, usual=True)]:
        yield Section(
            title="Options with their default",
            level=3,
            table=TableBlock(heads=["Option", "Value"], rows=usual, align="ll"),
            long=True,
        )
    command = settings.given.get(_COMMAND)
    yield Section(
        title="How to get the same again",
        lines=[CodeLines(lines=[command])] if isinstance(command, str) and command else [],
        notes=[
            "Every number of this report is computed from results.jsonl, which has the verdict, time and "
            "memory of every test. Two runs of the same dump and problems have the same rows after sorting "
            "by key, except for times and memory."
        ],
    )


def _settings(settings: Settings) -> Iterator[tuple[str, str]]:
    yield from (
        (name.replace("_", " ").capitalize(), _text(value))
        for name, value in settings.given.items()
        if name != _COMMAND
    )
    if settings.dump:
        yield "Dump", f"sha256 {settings.dump[:16]}… (complete in run.json)"
    yield from ((f"Option {name}", _text(value)) for name, value in _options(settings, usual=False))
    yield from ((f"Version of {name}", value) for name, value in sorted(settings.versions.items()))
    yield from (
        ("Compiled with", f"{name} ({counted(times, 'submission')})")
        for name, times in settings.compilers.items()
    )
    yield from (
        (f"Checker of {problem}", ", ".join(names)) for problem, names in settings.checkers.items() if names
    )
    yield from (
        ("Repaired", f"{name} ({counted(times, 'submission')})") for name, times in settings.repairs.items()
    )
    yield from (("Confinement", _confinement(confinement)) for confinement in settings.confinements)


def _options(settings: Settings, *, usual: bool) -> list[tuple[str, Any]]:
    """Return the options that have their default, or those that do not (`usual=False`)."""
    options = sorted(settings.options.items())
    return [(name, value) for name, value in options if (not value or USUAL.get(name) == value) is usual]


def _text(value: Any) -> str:
    if isinstance(value, list) and all(isinstance(part, str) for part in value):
        return ", ".join(value) or NOTHING
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def _confinement(report: Mapping[str, Any]) -> str:
    """Return a confinement report (docs/protocol.md) as a line. Builds with their own proctor come last."""
    parts = [_layers(report)] if set(report) != {"build"} else []
    parts += [f"builds: {_layers(report['build'])}"] if report.get("build") else []
    return "; ".join(parts)


def _layers(report: Mapping[str, Any]) -> str:
    spaces = " ".join(map(str, report.get("namespaces") or ()))
    layers = [
        f"Landlock ABI {report['landlock']}" if report.get("landlock") else "no Landlock",
        "seccomp" if report.get("seccomp") else "no seccomp",
        f"namespaces {spaces}" if spaces else "no namespaces",
    ]
    layers += [f"Python {report['interpreter']}"] if report.get("interpreter") else []
    return ", ".join(layers)


# --- the files ---------------------------------------------------------------------------------------


REPORT, PAGE = "report.md", "report.html"


def write_reports(
    folder: Path,
    options: ReportOptions | None = None,
    *,
    into: Path | None = None,
    on_progress: OnProgress = ignore_progress,
) -> Summary:
    """Write summary.json, report.md, report.html and the pages of report/ into a run's folder, or `into`.

    A report that is up to date stays as it is. The run's own folder also gets tests.parquet. Drafts of a
    report that was killed are removed.

    Args:
        folder: The run's folder.
        options: Options of the report.
        into: Another folder for the report.
        on_progress: Called with the numbers of rows read and pages written.
    """
    check_run(folder)
    stamp, place = Stamp.of(folder, options or ReportOptions()), into or folder
    for name in (SUMMARY, REPORT, PAGE, FOLDER, TESTS, INDEX, ROWS):
        remove_stale_drafts(place / name, idle=_DRAFT_LIFETIME_S)
    made_of = PageSources.read(place / FOLDER)
    is_whole = all((place / name).is_file() for name in (REPORT, PAGE))
    is_same = (
        is_whole
        and made_of is not None
        and made_of.stamp == stamp
        and _has_the_rows_of(place, folder / RESULTS, made_of)
    )
    last = read_value(place / SUMMARY, Summary) if is_same else None
    if last is None:
        return _written(folder, stamp, options or ReportOptions(), place, ProgressCounter(on_progress))
    if into is None and not (folder / TESTS).is_file():
        with writing_tests(folder) as table:
            summary(folder, options, table.add)
    return last


def _has_the_rows_of(place: Path, rows: Path, made_of: PageSources) -> bool:
    """Return False if rows were edited by hand, which may leave the size and both ends as they were."""
    with contextlib.suppress(FileNotFoundError):
        if rows.stat().st_mtime_ns >= PageSources.written_at(place / FOLDER):
            return _covered(rows, ())[0] == made_of.covered
    return True


def _written(
    folder: Path, stamp: Stamp, options: ReportOptions, place: Path, counted_rows: ProgressCounter
) -> Summary:
    """Write a report. made.json comes last, so that an interrupted report is made again."""
    made_of = hashlib.sha256(msgspec.json.encode((stamp.program, stamp.base, options))).hexdigest()
    index, tests = ReportCache(folder, place, made_of), TestsTableState()
    earlier, adders = index.known, list[RowCallback]()
    with index.lists(read_tasks(folder)) as lists, contextlib.ExitStack() as tables:
        reading = Pass(folder, options, None if earlier is None else earlier.reading)
        begin = counted_from = 0 if earlier is None else earlier.covered.size
        if place == folder:
            table = tables.enter_context(writing_tests(folder, None if earlier is None else earlier.tests))
            adders.append(table.add)
            begin = 0 if earlier is None else min(begin, earlier.tests.begin)
        reading.go(
            lists.add,
            *adders,
            counted_rows.add,
            begin=begin,
            counted_from=counted_from,
            end=index.covered.size,
            known=lists.known,
        )
        lists.end()
        tables.close()
        if place == folder:
            tests = table.kept
        kept, run = reading.kept, reading.summary()
        write_json(place / SUMMARY, run)
        pages = options.pages or (PageChoice.ALL if run.scored <= _MAX_PAGES else PageChoice.SAMPLE)
        validation, more = read_validation(folder), _model_pages(run, pages is not PageChoice.NONE)
        write_document(
            document(run, validation, pages=pages),
            place,
            shown=document(run, validation, apart=bool(more), pages=pages),
        )
        opened, last_made = PageSelection(pages, run), index.made
        more_files = (more, sections.choices(run))
        write_pages(folder, stamp, index.covered, lists, opened, *more_files, place, counted_rows, last_made)
        index.write(kept, lists, tests)
        return run


def write_document(
    of: Document,
    folder: Path,
    *,
    shown: Document | None = None,
    markdown_name: str = REPORT,
    html_name: str = PAGE,
) -> None:
    """Write a document as Markdown and as HTML.

    Args:
        of: The document.
        folder: The folder that gets both files.
        shown: The document for browsers, if it is another one.
        markdown_name: File name of the Markdown.
        html_name: File name of the HTML.
    """
    replace(folder / markdown_name, [markdown(of).encode()])
    replace(folder / html_name, [html(shown or of).encode()])


# --- the cache between reports -----------------------------------------------------------------------
# A report leaves an index, so that the next report of the run reads only later rows. The index is used if
# results.jsonl begins with the same bytes, if options, problems and the package's sources are the same, and
# if the files that the index names by their hashes are unchanged. Otherwise all rows are read again.


INDEX, ROWS = ".report.index", ".report.rows"
LARGE = 1 << 20  # bytes of results.jsonl from which on a report leaves an index
_PIECE = 1 << 20


class ReportIndex(Value):
    """The content of `.report.index`."""

    covered: RowsDigest
    made_of: str  # hash of everything else that the index depends on
    rows: str  # hash of the file with the rows of lists
    reading: PassCounts
    lists: ListState
    tests: TestsTableState


class ReportCache:
    """Reads the index of the last report, and writes the index for the next report."""

    def __init__(self, folder: Path, place: Path, made_of: str) -> None:
        self._place, self._made_of = place, made_of
        self._draft = draft_path(place / ROWS)
        found = read_value(
            place / INDEX, ReportIndex, decode=partial(msgspec.msgpack.decode, dec_hook=from_plain)
        )
        index = found if found is not None and found.made_of == made_of else None
        pages = PageSources.read(place / FOLDER)
        olds = {part.covered for part in (index, pages) if part is not None}
        self.covered, proven = _covered(folder / RESULTS, olds)
        if index is not None and not (index.covered in proven and self._has_files(index)):
            index = None
        self.made = pages if pages is not None and pages.covered in proven else None
        """The sources of the last report's pages; None if its rows are not there any more."""
        self.known, self._large = index, self.covered.size >= LARGE

    def _has_files(self, index: ReportIndex) -> bool:
        try:
            with (self._place / ROWS).open("rb") as stream:
                rows = hashlib.file_digest(stream, "sha256").hexdigest()
        except OSError:
            return False
        return rows == index.rows and index.tests.begins(self._place / TESTS)

    @contextlib.contextmanager
    def lists(self, tasks: dict[str, Task]) -> Iterator[SubmissionLists]:
        """Yield lists, with the rows of the last report if they can be used."""
        try:
            if self.known is not None:
                shutil.copyfile(self._place / ROWS, self._draft)
            begin, kept = (0, None) if self.known is None else (self.known.covered.size, self.known.lists)
            lists = SubmissionLists(tasks, self._draft if self._large else "", begin, kept)
            try:
                yield lists
            finally:
                lists.close()
        finally:
            self._draft.unlink(missing_ok=True)

    def write(self, reading: PassCounts | None, lists: SubmissionLists, tests: TestsTableState) -> None:
        """Write the index for the next report, or remove it. The lists are closed."""
        if reading is None or not self._large:
            (self._place / INDEX).unlink(missing_ok=True)
            (self._place / ROWS).unlink(missing_ok=True)
            return
        lists.close()
        with self._draft.open("rb") as stream:
            rows = hashlib.file_digest(stream, "sha256").hexdigest()
        kept = ReportIndex(
            covered=self.covered,
            made_of=self._made_of,
            rows=rows,
            reading=reading,
            lists=lists.kept,
            tests=tests,
        )
        self._draft.replace(self._place / ROWS)
        replace(self._place / INDEX, [msgspec.msgpack.encode(kept, enc_hook=to_plain)])


def _covered(path: Path, olds: Collection[RowsDigest]) -> tuple[RowsDigest, set[RowsDigest]]:
    """Return the digest of all complete lines, and those of the old digests that still hold."""
    digest, size, proven = hashlib.sha256(), 0, set[RowsDigest]()
    whole = RowsDigest(size=0, sha256=digest.hexdigest())
    stops = sorted({covered.size for covered in olds})
    with contextlib.suppress(FileNotFoundError), path.open("rb") as stream:
        while True:
            proven |= {
                covered for covered in olds if covered == RowsDigest(size=size, sha256=digest.hexdigest())
            }
            stop = next((stop for stop in stops if stop > size), size + _PIECE)
            if not (piece := stream.read(min(_PIECE, stop - size))):
                return whole, proven
            cut = piece.rfind(b"\n") + 1
            digest.update(piece[:cut])
            if cut:
                whole = RowsDigest(size=size + cut, sha256=digest.hexdigest())
            digest.update(piece[cut:])
            size += len(piece)
    return whole, proven
