"""One call of `ioi-eval score`: problems, dump and judge put together, run, and reported."""

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
from ioi_eval.benchmarks.formats import is_dump
from ioi_eval.benchmarks.hub import Place
from ioi_eval.benchmarks.references import References, write_references
from ioi_eval.cli.console import counted
from ioi_eval.cli.environment import open_store
from ioi_eval.cli.judging import RunOptions, Work, judge_all
from ioi_eval.cli.references import Asked, check_references, conclusion, reliable
from ioi_eval.cli.sources import open_source
from ioi_eval.errors import InputError
from ioi_eval.journal import check_folder, read_failures
from ioi_eval.models import Value
from ioi_eval.problems import Problems, fingerprint
from ioi_eval.reports import Summary, write_reports
from ioi_eval.runner import RunSummary
from ioi_eval.store import Store


class Request(Value):
    """What the user asked for."""

    dumps: tuple[str, ...]
    source: str
    choice: BenchmarkOptions  # of the source's problems
    reading: DumpOptions
    selection: Selection
    run: RunOptions
    references: Asked = Asked()


class Outcome(Value):
    """What came of it: this call's part and the whole run's."""

    call: RunSummary
    dump: DumpInfo
    summary: Summary
    failures: Mapping[str, str]  # why, by key: of the submissions asked for, those without a result
    references: References | None = None  # where they were asked for

    def as_json(self, out: str) -> dict[str, Any]:
        whole = msgspec.to_builtins(self.summary)
        del whole["settings"]  # in summary.json
        rows = {"left_out": self.dump.left_out, "noted": self.dump.noted}
        said = {"out": out, "report": f"{out}/report.md", "this_call": self.call, "dump": rows}
        references = {} if self.references is None else {"references": self.references}
        return {**said, **references, **whole}


def score_dump(request: Request) -> Outcome:
    """Raises InputError before anything is written, and KeyboardInterrupt when everything is cleaned up."""
    out, store = Path(request.run.out), open_store()
    check_folder(out)
    dumps = find_dumps(request.dumps)
    with closing(_problems(request, dumps, store)) as every:
        dump = _opened(request, dumps, every)  # what is wrong with it is said before anything is judged
        references = check_references(every, request.references, request.run, store)
        problems = reliable(every, references, request.references)
        dump = dump if problems is every else _opened(request, dumps, problems)
        call = judge_all(_work(request, problems, dump, references), request.run, store)
    if references is not None:
        write_references(out, references)
    failures = reasons(out, dump.info.keys)
    return Outcome(
        call=call, dump=dump.info, summary=write_reports(out), failures=failures, references=references
    )


def _opened(request: Request, dumps: Sequence[Place], problems: Problems) -> Dump:
    selection = request.selection
    dump = open_dump(dumps, problems=problems, options=request.reading, selection=selection)
    check_not_empty(dump, selection, ", ".join(request.dumps))
    return dump


def _problems(request: Request, dumps: Sequence[Place], store: Store) -> Problems:
    return open_source(request.source, request.choice, store, lambda: mentioned(dumps))


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


def _work(request: Request, problems: Problems, dump: Dump, references: References | None) -> Work:
    asked = request.references
    skipping = {"skip_unreliable": asked.most} if asked.skip else {}
    return Work(
        problems=problems,
        submissions=dump,
        keys=dump.info.keys,
        sha256=dump.info.sha256,
        made_of=fingerprint(problems),
        options={**reading_options(request.reading), **skipping},
        settings={
            "dumps": list(request.dumps),
            "problems": request.source,
            **({"rows": rows} if (rows := rows_left_out(dump.info)) else {}),
            **({"own_solutions": conclusion(references, asked)} if references else {}),
        },
    )
