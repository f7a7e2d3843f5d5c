"""Validate: solutions of known worth judged on all tests, and compared with what is expected of them."""

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
    read_official,
)
from ioi_eval.model.errors import InputError
from ioi_eval.model.languages import find
from ioi_eval.model.values import Submission, Value
from ioi_eval.problems import Problems, fingerprint
from ioi_eval.problems.fields import nearest
from ioi_eval.reports import write_reports
from ioi_eval.reports.records import Validation, write_validation
from ioi_eval.reports.validation import validation
from ioi_eval.rules.expectations import Case, of_packages
from ioi_eval.runs.engine import EngineChoice
from ioi_eval.runs.events import OnEvent, RunSummary, ignore
from ioi_eval.runs.references import MOST, with_references
from ioi_eval.runs.score import STORE_LIMIT, open_rows, reading_options, reasons, run_name
from ioi_eval.runs.sources import language_of, open_source
from ioi_eval.runs.timing import Timing
from ioi_eval.runs.twins import synchronous
from ioi_eval.runs.work import RunOptions, Work, fingerprint_of, judge_work
from ioi_eval.store import Store, private_folder
from ioi_eval.store.folder import check_folder, limits_of, read_rows
from ioi_eval.store.rows import result_of

_DUMPS = frozenset({".jsonl", ".json", ".csv", ".parquet"})
_PACKAGES = frozenset({".zip", ".kpp"})


class _Request(Value):
    """What the user asked for. Without `source`, the solutions are those that packages bring."""

    solutions: str
    source: str | None
    choice: BenchmarkOptions  # of the problems
    most: int  # solutions of each kind that a benchmark's problems get
    column: str | None
    scale: str | None
    reading: DumpOptions
    selection: Selection


class ValidatedSolutions(Value):
    """What solutions of known worth got, beside what was expected."""

    out: str  # the run's folder
    call: RunSummary
    validation: Validation
    note: str = ""  # how a file's column was understood

    def as_json(self) -> dict[str, Any]:
        found = msgspec.to_builtins(self.validation)
        report = f"{self.out}/report.md"
        return {"out": self.out, "report": report, "this_call": self.call, "note": self.note, **found}


class _Plan(Value):
    """What to judge, what is expected, and what cannot be judged from the start, with reasons."""

    work: Work
    cases: tuple[Case, ...]
    hopeless: Mapping[str, str] = {}
    note: str = ""


async def validate(
    solutions: str | Path,
    problems: str | Path | None = None,
    *,
    out: str | Path | None = None,
    choice: BenchmarkOptions | None = None,
    most: int = MOST,
    column: str | None = None,
    scale: str | None = None,
    reading: DumpOptions | None = None,
    selection: Selection | None = None,
    engine: EngineChoice | None = None,
    timing: Timing | None = None,
    fresh: bool = False,
    command: str = "",
    store: Store | None = None,
    on_event: OnEvent = ignore,
) -> ValidatedSolutions:
    """Judge solutions of known worth on all tests, and compare what they get with what they should.

        found = await validate("packages")
        print(found.validation.differences)

    Without `problems`, packages bring the solutions, or a benchmark up to `most` of each kind; with them,
    `solutions` is a file with a `column` of scores or verdicts. Raises InputError before anything is written.
    """
    source = None if problems is None else str(problems)
    request = _Request(
        solutions=str(solutions),
        source=source,
        choice=choice or BenchmarkOptions(),
        most=most,
        column=column,
        scale=scale,
        reading=reading or DumpOptions(language=language_of(source)),
        selection=selection or Selection(),
    )
    _check_kind(request)
    folder = Path(out or Path("runs") / f"validate-{run_name(request.solutions)}")
    store = store or Store(private_folder(), STORE_LIMIT)
    # All tests: one that was left out could be taken for one that went wrong.
    options = RunOptions(
        out=str(folder),
        engine=engine or EngineChoice(),
        timing=timing or Timing(),
        all_tests=True,
        fresh=fresh,
        command=command,
    )
    check_folder(folder)
    with closing(_problems(request, store)) as usable:
        plan = _planned(request, usable, options)
        call = await judge_work(plan.work, options, store, on_event)
        found = _compared(plan, folder)
    write_validation(folder, found)
    write_reports(folder)
    return ValidatedSolutions(out=str(folder), call=call, validation=found, note=plan.note)


validate_sync = synchronous(validate)


def _problems(request: _Request, store: Store) -> Problems:
    """Those that the file of solutions mentions, or all that come with solutions."""
    if request.source is None:
        return open_source(request.solutions, request.choice, store, lambda: None)
    return open_source(
        request.source, request.choice, store, lambda: mentioned(find_dumps([request.solutions]))
    )


def _planned(request: _Request, problems: Problems, options: RunOptions) -> _Plan:
    if request.source is not None:
        return _of_file(request, problems, options)
    if not isinstance(problems, Loaded):
        return _of_packages(request, problems, options)
    solved, left_out = with_references(problems, request.most)
    plan = _of_packages(request, solved, options)
    note = "; ".join(f"{reason}: {number}" for reason, number in sorted(left_out.items()))
    return msgspec.structs.replace(plan, note=f"Left out: {note}" if note else "")


def _check_kind(request: _Request) -> None:
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


def _of_file(request: _Request, problems: Problems, options: RunOptions) -> _Plan:
    dump = open_rows([request.solutions], problems, request.reading, request.selection)
    official = read_official(dump, problems, column=request.column, scale=request.scale)
    work = Work(
        problems=problems,
        submissions=dump,
        keys=dump.info.keys,
        made_of=fingerprint_of(
            dump.info.sha256, fingerprint(problems), {**reading_options(request.reading), **options.matter}
        ),
        settings={"solutions": request.solutions, "problems": request.source, "expected": official.column},
    )
    note = f"Column {official.column} is taken for expected {official.kind}"
    return _Plan(work=work, cases=official.cases, note=note)


# --- the solutions of packages -----------------------------------------------------------------------


def _of_packages(request: _Request, problems: Problems, options: RunOptions) -> _Plan:
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
        made_of=fingerprint_of("", _made_of(problems, submissions), options.matter),
        settings={"solutions": request.solutions},
    )
    return _Plan(work=work, cases=cases, hopeless=hopeless)


def _selected(cases: Iterable[Case], request: _Request) -> tuple[Case, ...]:
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
