"""Several runs side by side in one document."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path

from ioi_eval.model.values import Value
from ioi_eval.reports import sections
from ioi_eval.reports.differences import (
    DIFFERENCES,
    Differences,
    paired_sections,
    ranks,
    sections_of,
)
from ioi_eval.reports.document import NOTHING, Cell, Document, Section, TableBlock, counted, number, share
from ioi_eval.reports.page import write_document
from ioi_eval.reports.records import Group, ModelSummary, Summary, write_json
from ioi_eval.reports.sections import Entry
from ioi_eval.reports.tally import worst_first
from ioi_eval.store.files import make_folder

_NAME = "comparison"
_SHOWN = 5  # names in a sentence


class ComparedRun(Value):
    """A run under the name that it has in a comparison."""

    name: str
    summary: Summary


def named(summaries: Mapping[Path, Summary]) -> list[ComparedRun]:
    """Runs by their folders' names; where two are alike, by as much of their paths as tells them apart."""
    paths = {folder: folder.resolve().parts for folder in summaries}
    return [
        ComparedRun(name=_name(paths[folder], paths.values()), summary=of) for folder, of in summaries.items()
    ]


def _name(parts: tuple[str, ...], runs: Collection[tuple[str, ...]]) -> str:
    others = [other for other in runs if other != parts]
    length = next(n for n in range(1, len(parts) + 1) if all(other[-n:] != parts[-n:] for other in others))
    return "/".join(parts[-length:])


def write_comparison(runs: Sequence[ComparedRun], folder: Path, differ: Differences | None = None) -> Path:
    """Writes comparison.json, comparison.md and comparison.html; returns the last one's path."""
    make_folder(folder)
    if differ is not None:
        write_json(folder / DIFFERENCES, differ)
    write_json(folder / f"{_NAME}.json", runs)
    write_document(comparison(runs, differ), folder, markdown_name=f"{_NAME}.md", html_name=f"{_NAME}.html")
    return folder / f"{_NAME}.html"


def comparison(runs: Sequence[ComparedRun], differ: Differences | None = None) -> Document:
    of = entries(runs)
    unscored = sum(run.summary.unscored for run in runs)
    total = worst_first(run.summary.verdicts for run in runs)
    return Document(
        title=f"{counted(len(runs), 'run')} side by side",
        lead=f"{counted(unscored, 'submission')} could not be judged." if unscored else "",
        text=[*(["No score or average counts them."] if unscored else []), *warnings(runs)],
        sections=[
            _runs(runs),
            *([] if differ is None else _of_two(runs, differ)),
            *([sections.board(of)] if len(of) > 1 else []),
            Section(title="Models", table=sections.models(of)),
            *_models_by_runs(runs),
            *_groups_by_models(of),
            *sections.of_points(of, unscored),
            *sections.groups(of),
            sections.by_problem(of),
            sections.verdicts(of, total, unscored),
        ],
    )


def _of_two(runs: Sequence[ComparedRun], differ: Differences) -> Iterator[Section]:
    yield from paired_sections(differ.paired)
    yield from filter(None, [ranks(*(run.summary for run in runs))])
    yield from sections_of(differ)


def warnings(runs: Sequence[ComparedRun]) -> list[str]:
    """Return the notes to read before any number of the runs."""
    return [f"{run.name}: {warning}" for run in runs for warning in run.summary.warnings]


def entries(runs: Sequence[ComparedRun]) -> list[Entry]:
    """Every model of every run."""
    return [entry for run in runs for entry in sections.entries(run.summary, prefix=f"{run.name}: ")]


def _runs(runs: Sequence[ComparedRun]) -> Section:
    rows = [
        [
            run.name,
            f"{run.summary.submissions:,}",
            f"{run.summary.scored:,}",
            f"{run.summary.unscored:,}",
            f"{run.summary.problems:,}",
            ", ".join(sections.model_name(model.model) for model in run.summary.models),
        ]
        for run in runs
    ]
    heads = ["Run", "Submissions", "Scored", "Unscored", "Problems", "Models"]
    table = TableBlock(heads=heads, rows=rows, align="lrrrrl")
    return Section(title="Runs", table=table, items=list(_differences(runs)))


def _differences(runs: Sequence[ComparedRun]) -> Iterator[str]:
    """Why numbers of these runs may not be comparable."""
    columns = [
        {problem.problem_id for model in run.summary.models for problem in model.problems} for run in runs
    ]
    shared = set.intersection(*columns) if columns else set()
    if any(column != shared for column in columns):
        yield f"Not of the same problems: {counted(len(shared), 'problem')} in all of these runs."
    hashes = [run.summary.settings.problems for run in runs]
    changed = [
        name
        for name in sorted(shared)
        if len({problems[name] for problems in hashes if name in problems}) > 1
    ]
    if changed:
        more = f" and {len(changed) - _SHOWN:,} more" if len(changed) > _SHOWN else ""
        yield f"Not of the same contents in all runs: {', '.join(changed[:_SHOWN])}{more}."
    if len({run.summary.mode for run in runs}) > 1:
        yield "Not counted in the same mode."


# --- matrices ----------------------------------------------------------------------------------------


def _models_by_runs(runs: Sequence[ComparedRun]) -> Iterator[Section]:
    """A line for each model, a column for each run; where no model is in two runs it would be empty."""
    columns = [{model.model: model for model in run.summary.models} for run in runs]
    names = sorted({name for column in columns for name in column})
    if all(sum(name in column for column in columns) < 2 for name in names):
        return
    rows = [
        [
            sections.model_name(name),
            *(_result(column[name]) if name in column else NOTHING for column in columns),
        ]
        for name in names
    ]
    yield Section(
        title="Models by runs",
        text=["Points and the maximum, or the mean score; in parentheses pass@k for the smallest k."],
        table=_matrix("Model", [run.name for run in runs], rows),
    )


def _groups_by_models(of: Sequence[Entry]) -> Iterator[Section]:
    """Difficulties, and nothing else: tags may be many."""
    columns = [
        {group.name: group for group in entry.model.groups if group.kind == "difficulty"} for entry in of
    ]
    names = sorted({name for column in columns for name in column}, key=sections.place)
    rows = [
        [name or "(none)", *(_result(column[name]) if name in column else NOTHING for column in columns)]
        for name in names
    ]
    if rows:
        yield Section(
            title="Difficulty by models", table=_matrix("Difficulty", [entry.name for entry in of], rows)
        )


def _result(of: ModelSummary | Group) -> str:
    ks = sections.known_ks([of.pass_at])
    passes = (
        f" ({share(next(estimate.value for estimate in of.pass_at if estimate.k == ks[0]), 1)})" if ks else ""
    )
    if of.max_points:
        return f"{number(of.points)} of {number(of.max_points)}{passes}"
    return share(of.mean_score, 1) + passes


def _matrix(head: str, heads: Sequence[str], rows: Sequence[Sequence[Cell]]) -> TableBlock:
    return TableBlock(heads=[head, *heads], rows=rows, align="l" + "r" * len(heads))
