"""The report of a run: the document and the files."""

from __future__ import annotations

import contextlib
import hashlib
import shutil
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from ioi_eval.model.text import format_count
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
    format_number,
    format_share,
    make_model_page_filename,
    make_submission_page_filename,
    name_problem_page,
    render_html,
    render_markdown,
)
from ioi_eval.reports.headline import Entry, make_section_for_papers
from ioi_eval.reports.pages import (
    ListState,
    OnProgress,
    PageSelection,
    ReportManifest,
    ReportProgressCounter,
    ReportStamp,
    RowsDigest,
    SubmissionLists,
    ignore_progress,
    write_pages,
)
from ioi_eval.reports.parts import make_first_report_part_sections
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
    RowCallback,
    RowCounts,
    RunSummaryBuilder,
    convert_from_msgpack_value,
    convert_to_msgpack_value,
    read_valid_run_info,
    summarize_run,
)
from ioi_eval.reports.tables import TESTS, TestsTableState, open_tests_table
from ioi_eval.reports.trust import make_trusted_problems_section
from ioi_eval.reports.validation import make_sections
from ioi_eval.rules.scoring import ScoreMode
from ioi_eval.store.files import make_draft_path, read_value, remove_abandoned_file_drafts, replace
from ioi_eval.store.folder import RESULTS
from ioi_eval.store.tasks import Task, read_tasks

_COMMAND = "command"  # setting of a run with the command that started it
_LONG = 40  # maximum number of rows of a table that is not folded
# Maximum total number of rows of the models' tables; if there are more, each model gets its own page.
_MANY = 150
# Maximum number of submissions of a run that all get pages; in a larger run, only a sample gets pages.
_MAX_PAGES = 20_000
_DRAFT_LIFETIME_S = 3600  # seconds without writes after which a draft of a report is removed
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
_PAGE_CHOICE_NOTES: Mapping[PageChoice, Sequence[str]] = {
    PageChoice.ALL: (),
    PageChoice.FAILED: (
        f"Failed submissions, and submissions named here, have their own pages. {_ALL_PAGES}",
    ),
    PageChoice.SAMPLE: (
        f"A sample of submissions, and submissions named here, have their own pages. {_ALL_PAGES}",
    ),
    PageChoice.NONE: (f"No submission has its own page. {_ALL_PAGES}",),
}
# Defaults of options that are not off by default.
OPTION_DEFAULTS = {
    "extract": "last",
    "keys_of_content": True,
    "default_language": "c++",
}
_FINAL_REMEDY = "Another try cannot help"


def make_run_document(
    run: Summary,
    validation: Validation | None = None,
    *,
    has_model_pages: bool = False,
    page_choice: PageChoice = PageChoice.ALL,
) -> Document:
    """Return the report of a run.

    Args:
        run: The numbers.
        validation: The results of a validation, if the run is a validation.
        has_model_pages: The tables of each model are on other pages.
        page_choice: The submissions that have pages.
    """
    selection = PageSelection(page_choice, run)
    is_alone = len(run.models) == 1
    entries = headline.sort_entries(sections.make_run_entries(run))
    has_scores = bool(run.scored)
    problems_source = str(run.settings.given.get("problems") or "")
    without_program = run.verdicts.get(Reason.NO_PROGRAM, 0)
    author_phrase = format_count(len(entries), run.settings.author)
    scored_phrase = (
        author_phrase if run.settings.has_feedback else format_count(run.submissions, "submission")
    )
    return Document(
        title=f"Scores on {problems_source}" if problems_source else f"Scores of {scored_phrase}",
        about=", ".join(
            [
                author_phrase,
                format_count(run.problems, "problem"),
                format_count(run.submissions, "submission"),
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
        # With feedback, programs depend on earlier verdicts. They are then not a random sample, so there is
        # no sentence that compares authors.
        answer=headline.make_headline_sentence(entries)
        if has_scores and validation is None and (len(entries) == 1 or not run.settings.has_feedback)
        else "",
        lead=f"{format_count(run.unscored, 'submission')} could not be judged." if run.unscored else "",
        text=[
            *(
                [_FINAL if all(failure.final for failure in run.failures) else _UNSCORED]
                if run.unscored
                else []
            ),
            *run.warnings,
        ],
        lists_submissions=has_scores,
        in_parts=True,
        data=sections.make_explorer_json(entries, run) if has_scores else "",
        sections=[
            *(make_sections(validation) if validation is not None else ()),
            *filter(None, [make_trusted_problems_section(run)]),
            *_make_overview_sections(run, entries, selection, has_model_pages=has_model_pages),
            *(
                msgspec.structs.replace(section, tab=PROBLEMS, is_whole=True)
                for model in run.models
                if not has_model_pages
                for section in _make_model_sections(
                    model,
                    f"{FOLDER}/",
                    is_only_model=is_alone,
                    has_submission_pages=page_choice is not PageChoice.NONE,
                )
            ),
            *(
                [make_section_for_papers(run.headline, run.settings)]
                if has_scores and validation is None
                else []
            ),
            *(msgspec.structs.replace(section, tab=FAILED) for section in _make_failures_sections(run)),
            *(
                msgspec.structs.replace(section, tab=SETTINGS)
                for section in _make_settings_sections(run.settings)
            ),
        ],
    )


def needs_model_pages(run: Summary) -> bool:
    """Return True if each model gets a page for its tables because the report would be too long."""
    return len(run.models) > 1 and sum(len(model.problems) for model in run.models) > _MANY


def choose_pages(run: Summary, options: ReportOptions) -> PageChoice:
    """Return which submissions get pages: the choice in the options, or else all, or a sample of many."""
    return options.pages or (PageChoice.ALL if run.scored <= _MAX_PAGES else PageChoice.SAMPLE)


def _make_model_pages(run: Summary, has_pages: bool) -> dict[str, Document]:
    """Return a page for each model, by file name, or nothing if the report is short enough for all tables.

    `has_pages`: submissions have pages.
    """
    if not needs_model_pages(run):
        return {}
    return {
        make_model_page_filename(model.model): Document(
            title=f"Model {sections.format_model_name(model.model)}",
            tab=PROBLEMS,
            sections=list(
                _make_model_sections(model, "", is_only_model=False, has_submission_pages=has_pages)
            ),
        )
        for model in run.models
    }


def _make_overview_sections(
    run: Summary, entries: Sequence[Entry], selection: PageSelection, *, has_model_pages: bool
) -> Iterator[Section]:
    has_several = len(entries) > 1
    yield from make_first_report_part_sections(run)
    if entries:
        leaderboard_section = headline.make_leaderboard_section(entries, has_model_pages=has_model_pages)
        notes = [_MODES[run.mode]] if _has_subtasks(*run.models) else []
        yield msgspec.structs.replace(
            leaderboard_section, notes=[*notes, *_PAGE_CHOICE_NOTES[selection.pages]]
        )
    yield from sections.make_points_sections(entries, run.unscored)
    if has_several:
        yield sections.make_problems_section(entries, has_pages=True)
    if run.causes:
        yield sections.make_failure_causes_section(run, selection.make_report_link)
    if run.scored:
        verdicts_section = sections.make_verdicts_section(entries, run.verdicts, run.unscored)
        yield msgspec.structs.replace(
            verdicts_section, notes=[*verdicts_section.notes, *_make_verdict_notes(run)]
        )
    slice_sections = [
        *sections.make_group_sections(entries),
        *filter(None, [sections.make_limit_usage_section(entries)]),
    ]
    no_slices_note = "No row contains a difficulty, tags or a year, and no limits are recorded."
    if entries:
        yield from slice_sections or [Section(title="Slices", tab=SLICES, notes=[no_slices_note])]


def _make_verdict_notes(run: Summary) -> Iterator[str]:
    if run.repeated:
        singular, plural = "repeats another program and shares its", "repeat another program and share its"
        repeated_phrase = format_count(run.repeated, "submission")
        yield f"{repeated_phrase} {singular if run.repeated == 1 else plural} result."
    if run.measured_again:
        yield (
            f"{format_count(run.measured_again, 'test')} took as long as"
            " the time limit or a little longer, and "
            f"ran again. {format_count(run.saved, 'verdict')} hung on"
            " that: the least time was within the limit."
        )


def _has_subtasks(*models: ModelSummary) -> bool:
    return any(problem.subtasks for model in models for problem in model.problems)


# --- a model -----------------------------------------------------------------------------------------


def _make_model_sections(
    model: ModelSummary, link_prefix: str, *, is_only_model: bool, has_submission_pages: bool
) -> Iterator[Section]:
    """Yield the tables of a model.

    Args:
        model: The model's numbers.
        link_prefix: Prefix of links to other pages.
        is_only_model: The run has a single model.
        has_submission_pages: Submissions have pages.
    """
    yield Section(
        title=model.model or ("Problems" if is_only_model else "Submissions without a model's name"),
        table=_make_problems_table(model, link_prefix),
        long=not is_only_model or len(model.problems) > _LONG,
    )
    if _has_subtasks(model):
        model_suffix = "" if is_only_model else ", " + (model.model or "no model's name")
        rows: list[list[Cell]] = [
            [
                "" if index else problem.problem_id,
                subtask.subtask,
                format_number(subtask.weighted_score),
                format_number(subtask.points),
                subtask.status,
                Link(
                    text=subtask.key,
                    href=f"{link_prefix}{make_submission_page_filename(subtask.key)}"
                    if has_submission_pages
                    else "",
                )
                if subtask.weighted_score
                else NOTHING,
            ]
            for problem in model.problems
            for index, subtask in enumerate(problem.subtasks)
        ]
        yield Section(
            title=f"Best of each subtask{model_suffix}",
            level=3,
            table=TableBlock(
                heads=["Problem", "Subtask", "Best", "of", "Verdict", "Earned by"],
                rows=rows,
                align="llrrll",
                kind="subtasks",
            ),
            long=not is_only_model or len(rows) > _LONG,
        )


def _make_problems_table(model: ModelSummary, folder: str) -> TableBlock:
    statuses = list(model.verdicts)[::-1]
    k_values = sections.list_ks_with_estimate(problem.pass_at for problem in model.problems)
    pass_heads = [f"pass@{k}" for k in k_values]
    return TableBlock(
        heads=[
            "Problem",
            "Points",
            "of",
            "Mean",
            "Solved by",
            *pass_heads,
            "Submissions",
            *statuses,
            "Unscored",
        ],
        rows=[
            [
                Link(text=problem.problem_id, href=f"{folder}{name_problem_page(problem.problem_id)}")
                if problem.scored
                else problem.problem_id,
                sections.format_points(problem),
                sections.format_max_points([problem]),
                format_share(problem.mean_points, 1)
                if problem.points is None
                else format_number(problem.mean_points),
                f"{problem.solved:,}",
                *(
                    sections.format_estimate(pass_at_k, brief=True)
                    for pass_at_k in problem.pass_at
                    if pass_at_k.k in k_values
                ),
                f"{problem.submissions:,}",
                *sections.format_verdict_counts(problem.verdicts, statuses),
                f"{problem.unscored:,}",
            ]
            for problem in model.problems
        ],
    )


# --- submissions that could not be judged, and the settings of the run -------------------------------


def _make_failures_sections(run: Summary) -> Iterator[Section]:
    if not run.unscored:
        return
    yield Section(
        title="Could not be judged",
        table=TableBlock(
            heads=["Submissions", "Problems", "While", "Reason", "What to do", "For example"],
            rows=[
                [
                    f"{failure.submissions:,}",
                    ", ".join(failure.problems),
                    failure.phase or NOTHING,
                    failure.reason,
                    failure.remedy or (_FINAL_REMEDY if failure.final else NOTHING),
                    ", ".join(failure.examples),
                ]
                for failure in run.failures
            ],
            align="rlllll",
        ),
        notes=["failures.jsonl lists each failure."],
    )


def _make_settings_sections(settings: Settings) -> Iterator[Section]:
    # Missing layers of confinement are listed outside the table of settings, because they matter for trust.
    missing_layers = [
        str(reason)
        for confinement in settings.confinements
        for report in (confinement, confinement.get("build") or {})
        for reason in report.get("missing") or ()
    ]
    yield Section(
        title="Settings",
        table=TableBlock(
            heads=["What", "Value"], rows=[list(pair) for pair in _make_setting_rows(settings)], align="ll"
        ),
        items=[f"Missing confinement: {reason}" for reason in dict.fromkeys(missing_layers)],
    )
    if default_rows := [
        [name, _format_setting(value)] for name, value in _list_options(settings, has_default=True)
    ]:
        yield Section(
            title="Options with their default",
            level=3,
            table=TableBlock(heads=["Option", "Value"], rows=default_rows, align="ll"),
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


def _make_setting_rows(settings: Settings) -> Iterator[tuple[str, str]]:
    yield from (
        (name.replace("_", " ").capitalize(), _format_setting(value))
        for name, value in settings.given.items()
        if name != _COMMAND
    )
    if settings.dump:
        yield "Dump", f"sha256 {settings.dump[:16]}… (complete in run.json)"
    yield from (
        (f"Option {name}", _format_setting(value))
        for name, value in _list_options(settings, has_default=False)
    )
    yield from ((f"Version of {name}", value) for name, value in sorted(settings.versions.items()))
    yield from (
        ("Compiled with", f"{name} ({format_count(submissions, 'submission')})")
        for name, submissions in settings.compilers.items()
    )
    yield from (
        (f"Checker of {problem}", ", ".join(names)) for problem, names in settings.checkers.items() if names
    )
    yield from (
        ("Repaired", f"{name} ({format_count(submissions, 'submission')})")
        for name, submissions in settings.repairs.items()
    )
    yield from (("Confinement", _format_sandbox_line(confinement)) for confinement in settings.confinements)


def _list_options(settings: Settings, *, has_default: bool) -> list[tuple[str, Any]]:
    """Return the options with their default values if `has_default` is True, and otherwise all others."""
    options = sorted(settings.options.items())
    return [
        (name, value)
        for name, value in options
        if (not value or OPTION_DEFAULTS.get(name) == value) is has_default
    ]


def _format_setting(value: Any) -> str:
    if isinstance(value, list) and all(isinstance(entry, str) for entry in value):
        return ", ".join(value) or NOTHING
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def _format_sandbox_line(confinement_report: Mapping[str, Any]) -> str:
    """Return a confinement report (docs/protocol.md) as a line.

    The line ends with the confinement of builds, if builds have their own confinement.
    """
    layer_texts = [_format_sandbox_layers(confinement_report)] if set(confinement_report) != {"build"} else []
    layer_texts += (
        [f"builds: {_format_sandbox_layers(confinement_report['build'])}"]
        if confinement_report.get("build")
        else []
    )
    return "; ".join(layer_texts)


def _format_sandbox_layers(confinement_report: Mapping[str, Any]) -> str:
    """Return the layers of the sandbox, such as Landlock and seccomp, as a line."""
    namespaces = " ".join(map(str, confinement_report.get("namespaces") or ()))
    layers = [
        f"Landlock ABI {confinement_report['landlock']}"
        if confinement_report.get("landlock")
        else "no Landlock",
        "seccomp" if confinement_report.get("seccomp") else "no seccomp",
        f"namespaces {namespaces}" if namespaces else "no namespaces",
    ]
    layers += [f"Python {confinement_report['interpreter']}"] if confinement_report.get("interpreter") else []
    return ", ".join(layers)


# --- the files ---------------------------------------------------------------------------------------


REPORT, PAGE = "report.md", "report.html"


def write_reports(
    folder: Path,
    options: ReportOptions | None = None,
    *,
    target_folder: Path | None = None,
    on_progress: OnProgress = ignore_progress,
) -> Summary:
    """Write summary.json, report.md, report.html and the pages of report/ into `target_folder`.

    The default is the run's folder, which gets tests.parquet in any case. A report that is up to date is not
    rewritten. Drafts of a report that was killed are removed.

    Args:
        folder: The run's folder.
        options: Options of the report.
        target_folder: Another folder for the report.
        on_progress: Called with the numbers of rows read and pages written.
    """
    read_valid_run_info(folder)
    stamp, target = ReportStamp.of_run_folder(folder, options or ReportOptions()), target_folder or folder
    for name in (SUMMARY, REPORT, PAGE, FOLDER, TESTS, INDEX, ROWS):
        remove_abandoned_file_drafts(target / name, min_idle_s=_DRAFT_LIFETIME_S)
    manifest = ReportManifest.read(target / FOLDER)
    has_files = all((target / name).is_file() for name in (REPORT, PAGE))
    is_same = (
        has_files
        and manifest is not None
        and manifest.stamp == stamp
        and _has_same_rows(target, folder / RESULTS, manifest)
    )
    old_summary = read_value(target / SUMMARY, Summary) if is_same else None
    if old_summary is None:
        return _write_report(
            folder, stamp, options or ReportOptions(), target, ReportProgressCounter(on_progress)
        )
    if target_folder is None and not (folder / TESTS).is_file():
        with open_tests_table(folder) as table:
            summarize_run(folder, options, table.add)
    return old_summary


def _has_same_rows(target: Path, rows: Path, manifest: ReportManifest) -> bool:
    """Return False if rows were edited by hand, even if size, first bytes and last bytes are the same."""
    with contextlib.suppress(FileNotFoundError):
        if rows.stat().st_mtime_ns >= ReportManifest.read_modification_time_ns(target / FOLDER):
            return _hash_complete_rows(rows, ())[0] == manifest.covered
    return True


def _write_report(
    folder: Path,
    report_stamp: ReportStamp,
    options: ReportOptions,
    target: Path,
    progress_counter: ReportProgressCounter,
) -> Summary:
    """Write a report. made.json is written last, so that the next call repeats an interrupted report."""
    sources_hash = hashlib.sha256(
        msgspec.json.encode((report_stamp.program, report_stamp.base, options))
    ).hexdigest()
    report_cache, tests_state = ReportCache(folder, target, sources_hash), TestsTableState()
    old_index, row_callbacks = report_cache.old_index, list[RowCallback]()
    with (
        report_cache.open_submission_lists(read_tasks(folder)) as submission_lists,
        contextlib.ExitStack() as exit_stack,
    ):
        summary_builder = RunSummaryBuilder(folder, options, None if old_index is None else old_index.reading)
        first_offset = counted_from = 0 if old_index is None else old_index.covered.size
        if target == folder:
            tests_table = exit_stack.enter_context(
                open_tests_table(folder, None if old_index is None else old_index.tests)
            )
            row_callbacks.append(tests_table.add)
            first_offset = 0 if old_index is None else min(first_offset, old_index.tests.begin)
        summary_builder.read_rows(
            submission_lists.add_row,
            *row_callbacks,
            progress_counter.add_row,
            begin_offset=first_offset,
            count_start_offset=counted_from,
            end_offset=report_cache.covered.size,
            find_counted_keys=submission_lists.find_already_listed_keys,
        )
        submission_lists.write_remaining_rows()
        exit_stack.close()
        if target == folder:
            tests_state = tests_table.reusable_state
        counts_for_next_report, run = summary_builder.counts_for_next_report, summary_builder.make_summary()
        write_json(target / SUMMARY, run)
        page_choice = choose_pages(run, options)
        validation, model_pages = (
            read_validation(folder),
            _make_model_pages(run, page_choice is not PageChoice.NONE),
        )
        write_document(
            make_run_document(run, validation, page_choice=page_choice),
            target,
            html_document=make_run_document(
                run, validation, has_model_pages=bool(model_pages), page_choice=page_choice
            ),
        )
        selection, old_manifest = PageSelection(page_choice, run), report_cache.old_manifest
        extra_files = (model_pages, sections.make_list_filters_json(run))
        write_pages(
            folder,
            report_stamp,
            report_cache.covered,
            submission_lists,
            selection,
            *extra_files,
            target,
            progress_counter,
            old_manifest,
        )
        report_cache.write(counts_for_next_report, submission_lists, tests_state)
        return run


def write_document(
    document: Document,
    folder: Path,
    *,
    html_document: Document | None = None,
    markdown_name: str = REPORT,
    html_name: str = PAGE,
) -> None:
    """Write a document as Markdown and as HTML.

    Args:
        document: The document.
        folder: The folder that gets both files.
        html_document: The document for browsers (default: `document`).
        markdown_name: File name of the Markdown.
        html_name: File name of the HTML.
    """
    replace(folder / markdown_name, [render_markdown(document).encode()])
    replace(folder / html_name, [render_html(html_document or document).encode()])


# --- the index that a report leaves for the next report ----------------------------------------------
# A report leaves an index, so that the next report of the run reads only later rows. The index is used if
# results.jsonl starts with the same bytes, if options, problems and the package's sources are the same, and
# if the files that the index names by their hashes are unchanged. Otherwise all rows are read again.


INDEX, ROWS = ".report.index", ".report.rows"
MIN_INDEXED_BYTES = 1 << 20  # minimum bytes of results.jsonl for which a report writes an index
CHUNK_BYTES = 1 << 20  # maximum bytes of results.jsonl that are read at the same time


class ReportIndex(Value):
    """The content of `.report.index`."""

    covered: RowsDigest
    made_of: str  # hash of all inputs of the index except the rows that `covered` describes
    rows: str  # hash of the file ROWS, which contains the rows of the lists of submissions
    reading: RowCounts
    lists: ListState
    tests: TestsTableState


class ReportCache:
    """Reads the index of the last report, and writes the index for the next report."""

    def __init__(self, folder: Path, target: Path, sources_hash: str) -> None:
        self._target, self._sources_hash = target, sources_hash
        self._draft_file = make_draft_path(target / ROWS)
        stored_index = read_value(
            target / INDEX,
            ReportIndex,
            decode=partial(msgspec.msgpack.decode, dec_hook=convert_from_msgpack_value),
        )
        index = stored_index if stored_index is not None and stored_index.made_of == sources_hash else None
        pages = ReportManifest.read(target / FOLDER)
        old_digests = {source.covered for source in (index, pages) if source is not None}
        self.covered, valid_digests = _hash_complete_rows(folder / RESULTS, old_digests)
        if index is not None and not (index.covered in valid_digests and self._has_files(index)):
            index = None
        self.old_manifest = pages if pages is not None and pages.covered in valid_digests else None
        """The sources of the last report's pages, or None if its rows have changed or disappeared."""
        self.old_index, self._is_large = index, self.covered.size >= MIN_INDEXED_BYTES

    def _has_files(self, index: ReportIndex) -> bool:
        try:
            with (self._target / ROWS).open("rb") as stream:
                rows_hash = hashlib.file_digest(stream, "sha256").hexdigest()
        except OSError:
            return False
        return rows_hash == index.rows and index.tests.matches_start_of(self._target / TESTS)

    @contextlib.contextmanager
    def open_submission_lists(self, tasks: dict[str, Task]) -> Iterator[SubmissionLists]:
        """Yield the submission lists, with the rows of the last report if they can be used."""
        try:
            if self.old_index is not None:
                shutil.copyfile(self._target / ROWS, self._draft_file)
            first_offset, state = (
                (0, None) if self.old_index is None else (self.old_index.covered.size, self.old_index.lists)
            )
            lists = SubmissionLists(tasks, self._draft_file if self._is_large else "", first_offset, state)
            try:
                yield lists
            finally:
                lists.close()
        finally:
            self._draft_file.unlink(missing_ok=True)

    def write(self, counts: RowCounts | None, lists: SubmissionLists, tests_state: TestsTableState) -> None:
        """Close `lists` and write the index for the next report, or remove it if no report can use it."""
        if counts is None or not self._is_large:
            (self._target / INDEX).unlink(missing_ok=True)
            (self._target / ROWS).unlink(missing_ok=True)
            return
        lists.close()
        with self._draft_file.open("rb") as stream:
            rows_hash = hashlib.file_digest(stream, "sha256").hexdigest()
        index = ReportIndex(
            covered=self.covered,
            made_of=self._sources_hash,
            rows=rows_hash,
            reading=counts,
            lists=lists.state,
            tests=tests_state,
        )
        self._draft_file.replace(self._target / ROWS)
        replace(self._target / INDEX, [msgspec.msgpack.encode(index, enc_hook=convert_to_msgpack_value)])


def _hash_complete_rows(
    path: Path, old_digests: Collection[RowsDigest]
) -> tuple[RowsDigest, set[RowsDigest]]:
    """Return the digest of all complete lines, and the old digests that are still valid."""
    digest, read_bytes, valid_digests = hashlib.sha256(), 0, set[RowsDigest]()
    complete_digest = RowsDigest(size=0, sha256=digest.hexdigest())
    stop_offsets = sorted({old_digest.size for old_digest in old_digests})
    with contextlib.suppress(FileNotFoundError), path.open("rb") as stream:
        while True:
            valid_digests |= {
                old_digest
                for old_digest in old_digests
                if old_digest == RowsDigest(size=read_bytes, sha256=digest.hexdigest())
            }
            stop_offset = next(
                (stop_offset for stop_offset in stop_offsets if stop_offset > read_bytes),
                read_bytes + CHUNK_BYTES,
            )
            if not (chunk := stream.read(min(CHUNK_BYTES, stop_offset - read_bytes))):
                return complete_digest, valid_digests
            complete_length = chunk.rfind(b"\n") + 1
            digest.update(chunk[:complete_length])
            if complete_length:
                complete_digest = RowsDigest(size=read_bytes + complete_length, sha256=digest.hexdigest())
            digest.update(chunk[complete_length:])
            read_bytes += len(chunk)
    return complete_digest, valid_digests
