"""One call of `ioi-eval validate`: solutions of known worth judged on all tests, and compared."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec

from ioi_eval.benchmarks import (
    BenchmarkOptions,
    DumpOptions,
    Loaded,
    Selection,
    find_dumps,
    mentioned,
    open_dump,
    read_official,
)
from ioi_eval.benchmarks.references import with_references
from ioi_eval.cli.environment import open_store
from ioi_eval.cli.judging import RunOptions, Work, judge_all
from ioi_eval.cli.running import check_not_empty, reading_options, reasons
from ioi_eval.cli.sources import open_source
from ioi_eval.errors import InputError
from ioi_eval.journal import check_folder, read_rows
from ioi_eval.languages import find
from ioi_eval.models import Submission, Value
from ioi_eval.problems import Problems, fingerprint
from ioi_eval.problems.fields import nearest
from ioi_eval.reports import write_reports
from ioi_eval.rows import result_of
from ioi_eval.runner import RunSummary
from ioi_eval.store import Store
from ioi_eval.validation import Case, Validation, limits_of, of_packages, validation, write_validation

_DUMPS = frozenset({".jsonl", ".json", ".csv", ".parquet"})
_PACKAGES = frozenset({".zip", ".kpp"})


class Request(Value):
    """What the user asked for. Without `source`, the solutions are those that packages bring."""

    solutions: str
    source: str | None
    choice: BenchmarkOptions  # of the problems
    most: int  # solutions of each kind that a benchmark's problems get
    column: str | None
    scale: str | None
    reading: DumpOptions
    selection: Selection
    run: RunOptions


class Outcome(Value):
    call: RunSummary
    validation: Validation
    note: str = ""  # how a file's column was understood

    def as_json(self, out: str) -> dict[str, Any]:
        found = msgspec.to_builtins(self.validation)
        return {"out": out, "report": f"{out}/report.md", "this_call": self.call, "note": self.note, **found}


class _Plan(Value):
    """What to judge, what is expected, and what cannot be judged from the start, with reasons."""

    work: Work
    cases: tuple[Case, ...]
    hopeless: Mapping[str, str] = {}
    note: str = ""


def validate_solutions(request: Request) -> Outcome:
    """Raises InputError before anything is written, and KeyboardInterrupt when everything is cleaned up."""
    _check_kind(request)
    out, store = Path(request.run.out), open_store()
    check_folder(out)
    with closing(_problems(request, store)) as problems:
        plan = _planned(request, problems)
        call = judge_all(plan.work, request.run, store)
        found = _compared(plan, out)
    write_validation(out, found)
    write_reports(out)
    return Outcome(call=call, validation=found, note=plan.note)


def _problems(request: Request, store: Store) -> Problems:
    """Those that the file of solutions mentions, or all that come with solutions."""
    if request.source is None:
        return open_source(request.solutions, request.choice, store, lambda: None)
    return open_source(
        request.source, request.choice, store, lambda: mentioned(find_dumps([request.solutions]))
    )


def _planned(request: Request, problems: Problems) -> _Plan:
    if request.source is not None:
        return _of_file(request, problems)
    if not isinstance(problems, Loaded):
        return _of_packages(request, problems)
    solved, left_out = with_references(problems, request.most)
    plan = _of_packages(request, solved)
    note = "; ".join(f"{reason}: {number}" for reason, number in sorted(left_out.items()))
    return msgspec.structs.replace(plan, note=f"Left out: {note}" if note else "")


def _check_kind(request: Request) -> None:
    suffix = Path(request.solutions).suffix.lower()
    if request.source is None and suffix in _DUMPS:
        remedy = "Name the problem packages with --problems SOURCE"
        raise InputError("a file of solutions brings no problems", where=request.solutions, remedy=remedy)
    if request.source is not None and suffix in _PACKAGES:
        remedy = "Leave --problems out, or name a file of solutions"
        raise InputError("a package brings its own problems", where=request.solutions, remedy=remedy)


def _compared(plan: _Plan, out: Path) -> Validation:
    keys = {case.key for case in plan.cases}
    results = {row["key"]: result_of(row) for row in read_rows(out) if row["key"] in keys}
    failures = {**plan.hopeless, **reasons(out, tuple(keys - results.keys()))}
    problems = plan.work.problems
    return validation(plan.cases, problems, results, failures, limits_of(out, problems))


# --- a file of solutions -----------------------------------------------------------------------------


def _of_file(request: Request, problems: Problems) -> _Plan:
    files = find_dumps([request.solutions])
    dump = open_dump(files, problems=problems, options=request.reading, selection=request.selection)
    check_not_empty(dump, request.selection, request.solutions)
    official = read_official(dump, problems, column=request.column, scale=request.scale)
    work = Work(
        problems=problems,
        submissions=dump,
        keys=dump.info.keys,
        sha256=dump.info.sha256,
        made_of=fingerprint(problems),
        options=reading_options(request.reading),
        settings={"solutions": request.solutions, "problems": request.source, "expected": official.column},
    )
    note = f"Column {official.column} is taken for expected {official.kind}"
    return _Plan(work=work, cases=official.cases, note=note)


# --- the solutions of packages -----------------------------------------------------------------------


def _of_packages(request: Request, problems: Problems) -> _Plan:
    submissions, every = of_packages(problems)
    if not every:
        raise InputError("no solutions in it", where=request.solutions, remedy="Is it the right source?")
    cases = _selected(every, request)
    wanted = {case.key for case in cases}
    hopeless = {one.key: why for one in submissions if one.key in wanted and (why := _unknown_language(one))}
    chosen = [one for one in submissions if one.key in wanted and one.key not in hopeless]
    work = Work(
        problems=problems,
        submissions=chosen,
        keys=tuple(one.key for one in chosen),
        sha256="",
        made_of=_made_of(problems, submissions),
        settings={"solutions": request.solutions},
    )
    return _Plan(work=work, cases=cases, hopeless=hopeless)


def _selected(cases: Iterable[Case], request: Request) -> tuple[Case, ...]:
    """All, or those of the keys or names asked for."""
    cases, wanted = tuple(cases), request.selection.keys
    if not wanted:
        return cases
    found = tuple(case for case in cases if wanted & {case.key, case.solution})
    if missing := wanted - {name for case in found for name in (case.key, case.solution)}:
        raise _no_solution(sorted(missing), cases, request.solutions)
    return found


def _no_solution(missing: list[str], cases: Iterable[Case], where: str) -> InputError:
    """Names what is there and close: keys to who asked for one, else files."""
    known = dict.fromkeys(case.key if "/" in missing[0] else case.solution for case in cases)
    names = ", ".join(map(repr, missing))
    remedy = nearest(missing[0], tuple(known))
    return InputError(f"no solution {names} in it", where=where, field="--only", remedy=remedy)


def _unknown_language(submission: Submission) -> str:
    if submission.outputs and not submission.code:
        return ""
    try:
        find(submission.language)
    except InputError as error:
        return str(error)
    return ""


def _made_of(problems: Problems, submissions: Iterable[Submission]) -> dict[str, str]:
    """A hash for each problem with its solutions, so that other selections of problems are no change."""
    digests = {label: hashlib.sha256(sha.encode()) for label, sha in fingerprint(problems).items()}
    for one in submissions:
        files = [(file.name, file.content.sha256) for file in (*one.outputs, *one.files)]
        digests[one.problem_id].update(msgspec.json.encode([one.key, one.language, one.code, files]))
    return {label: digest.hexdigest() for label, digest in digests.items()}
