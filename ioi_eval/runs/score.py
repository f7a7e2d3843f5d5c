"""Score a dump: problems, submissions, an engine and a run's folder in; scores and a report out."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec

from ioi_eval.benchmarks import (
    ASKED_FOR,
    BenchmarkOptions,
    Dump,
    DumpInfo,
    DumpOptions,
    Selection,
    find_dumps,
    mentioned,
    open_dump,
)
from ioi_eval.benchmarks.row_files import is_dump
from ioi_eval.model.errors import InputError
from ioi_eval.model.values import Value
from ioi_eval.problems import Problems, fingerprint
from ioi_eval.reports import Summary, write_reports
from ioi_eval.reports.document import counted
from ioi_eval.runs.engine import EngineChoice
from ioi_eval.runs.events import OnEvent, RunSummary, ignore
from ioi_eval.runs.references import (
    Asked,
    References,
    check_references,
    conclusion,
    reliable,
    write_references,
)
from ioi_eval.runs.sources import language_of, open_source
from ioi_eval.runs.timing import Timing
from ioi_eval.runs.twins import synchronous
from ioi_eval.runs.work import RunOptions, Work, fingerprint_of, judge_work
from ioi_eval.store import Store, private_folder
from ioi_eval.store.folder import check_folder, read_failures

STORE_LIMIT = 4 << 30


class ScoredDump(Value):
    """A dump's scores: this call's part and the whole run's."""

    out: str  # the run's folder
    call: RunSummary
    dump: DumpInfo
    summary: Summary
    failures: Mapping[str, str]  # why, by key: of the submissions asked for, those without a result
    references: References | None = None  # where they were asked for

    def as_json(self) -> dict[str, Any]:
        whole = msgspec.to_builtins(self.summary)
        del whole["settings"]  # in summary.json
        rows = {"left_out": self.dump.left_out, "noted": self.dump.noted}
        said = {"out": self.out, "report": f"{self.out}/report.md", "this_call": self.call, "dump": rows}
        references = {} if self.references is None else {"references": self.references}
        return {**said, **references, **whole}


async def score_dump(
    dumps: str | Path | Sequence[str | Path],
    problems: str | Path,
    *,
    out: str | Path | None = None,
    choice: BenchmarkOptions | None = None,
    reading: DumpOptions | None = None,
    selection: Selection | None = None,
    references: Asked | None = None,
    engine: EngineChoice | None = None,
    timing: Timing | None = None,
    all_tests: bool = False,
    fresh: bool = False,
    command: str = "",
    store: Store | None = None,
    on_event: OnEvent = ignore,
) -> ScoredDump:
    """Score what a dump holds, into the folder `out`; called again, go on where the last call stopped.

        scored = await score_dump("generations.jsonl", "packages", out="runs/mine", on_event=print)
        print(scored.summary.models[0].points, scored.failures)

    `problems`: packages, a benchmark's name, or a file of its rows; `choice` and `selection` say which.
    Raises InputError before anything is written. Cancelled, it leaves whole results and nothing else.
    """
    paths = tuple(map(str, [dumps] if isinstance(dumps, str | Path) else dumps))
    asked, choice, source = references or Asked(), choice or BenchmarkOptions(), str(problems)
    selection, reading = selection or Selection(), reading or DumpOptions(language=language_of(source))
    folder = Path(out or Path("runs") / run_name(paths[0]))
    store = store or Store(private_folder(), STORE_LIMIT)
    options = RunOptions(
        out=str(folder),
        engine=engine or EngineChoice(),
        timing=timing or Timing(),
        all_tests=all_tests,
        fresh=fresh,
        command=command,
    )
    check_folder(folder)
    places = find_dumps(paths)
    with closing(open_source(source, choice, store, lambda: mentioned(places))) as every:
        # What is wrong with the dump is said before anything is judged.
        dump = open_rows(paths, every, reading, selection)
        found = await check_references(every, asked, options, store, on_event)
        if (usable := reliable(every, found, asked)) is not every:
            dump = open_rows(paths, usable, reading, selection)
        settings = {"dumps": list(paths), "problems": source, **_remarks(dump, found, asked)}
        work = Work(
            problems=usable,
            submissions=dump,
            keys=dump.info.keys,
            made_of=fingerprint_of(
                dump.info.sha256,
                fingerprint(usable),
                {**reading_options(reading), **asked.matter, **options.matter},
            ),
            settings=settings,
        )
        call = await judge_work(work, options, store, on_event)
    if found is not None:
        write_references(folder, found)
    return ScoredDump(
        out=str(folder),
        call=call,
        dump=dump.info,
        summary=write_reports(folder),
        failures=reasons(folder, dump.info.keys),
        references=found,
    )


score_dump_sync = synchronous(score_dump)


def open_rows(paths: Sequence[str], problems: Problems, reading: DumpOptions, selection: Selection) -> Dump:
    dump = open_dump(find_dumps(paths), problems=problems, options=reading, selection=selection)
    check_not_empty(dump, selection, ", ".join(paths))
    return dump


def _remarks(dump: Dump, found: References | None, asked: Asked) -> dict[str, Any]:
    remarks: dict[str, Any] = {"rows": rows} if (rows := rows_left_out(dump.info)) else {}
    return remarks if found is None else {**remarks, "own_solutions": conclusion(found, asked)}


def run_name(dump: str) -> str:
    """Of a folder for the results of a dump; a dataset's name becomes one that a folder can have."""
    if Path(dump).exists() or is_dump(Path(dump)):
        return Path(dump).resolve().stem
    return re.sub(r"[^A-Za-z0-9_.-]+", "-", dump).strip("-.") or "run"


def rows_left_out(info: DumpInfo) -> list[str]:
    """Rows not judged, and rows understood in one of several ways. What the user asked for is no news."""
    news = {reason: number for reason, number in info.left_out.items() if reason not in ASKED_FOR}
    left = [f"Left out {counted(number, 'row')}: {reason}" for reason, number in sorted(news.items())]
    return [*left, *(f"Note: {counted(number, 'row')} {what}" for what, number in sorted(info.noted.items()))]


def check_not_empty(dump: Dump, selection: Selection, where: str) -> None:
    if not len(dump):
        wanted = ", ".join(sorted(selection.problems))
        reasons = "; ".join(f"{number} {reason}" for reason, number in dump.info.left_out.items())
        what = f"no submission for {wanted} in it" if wanted else f"no submission to judge in it ({reasons})"
        raise InputError(what, where=where, field="--problem" if wanted else "")


def reasons(folder: Path, keys: tuple[str, ...]) -> dict[str, str]:
    """Why there is no result, of those keys that have none."""
    failures = read_failures(folder)
    return {key: str(failures[key]["reason"]) for key in keys if key in failures}


def reading_options(reading: DumpOptions) -> dict[str, Any]:
    """How rows are read, flat, as a fingerprint names it."""
    options: dict[str, Any] = msgspec.to_builtins(reading)
    return {**options, **options.pop("repairs")}
