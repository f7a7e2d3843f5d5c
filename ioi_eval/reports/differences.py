"""Two runs of the same submissions: which verdicts differ and why, and how much better a model became."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from ioi_eval.model.quoting import as_json
from ioi_eval.model.values import Value, Verdict
from ioi_eval.reports.document import NOTHING, Cell, Section, TableBlock, counted, number
from ioi_eval.reports.paired import Paired, paired, signed
from ioi_eval.reports.sections import model_name
from ioi_eval.reports.summary import check_run, result_of_row
from ioi_eval.rules.metrics import interval, mean
from ioi_eval.rules.scoring import submission_status
from ioi_eval.store.files import replace
from ioi_eval.store.folder import changes, read_rows
from ioi_eval.store.rows import model_of

_NAME = "differences.json"
_SHOWN = 100  # in a document
_PRECISE = 1e-9


class JudgedRow(Value):
    """A submission as its row has it."""

    verdict: Verdict
    points: float
    share: float  # of the points that there are
    compiler: str
    checker: str
    tests: Mapping[str, Verdict]


class Difference(Value):
    """A submission with another verdict, or other points, in the second run."""

    key: str
    problem: str
    model: str
    before: Verdict
    after: Verdict
    points_before: float
    points_after: float
    why: tuple[str, ...]  # what differs besides: the problem, the compiler, the first such test


class ModelDifference(Value):
    """Over the submissions of both runs; the interval is a paired bootstrap over problems."""

    model: str
    submissions: int
    better: int
    worse: int
    mean: float  # of what was won of a submission's points, as a share
    low: float | None
    high: float | None


class Differences(Value):
    """Submissions are the same where their keys and their programs are."""

    before: str
    after: str
    shared: int
    only_before: int
    only_after: int
    options: tuple[str, ...]  # what the runs differ by: options, versions
    confusion: Mapping[Verdict, Mapping[Verdict, int]]  # verdict before, verdict after, submissions
    models: tuple[ModelDifference, ...]
    changed: tuple[Difference, ...]
    paired: tuple[Paired, ...] = ()  # also where the submissions are others


def differences(before: Path, after: Path) -> Differences:
    old, new = check_run(before), check_run(after)
    edited = new.fingerprint.edited(old.fingerprint)
    scores = _nested(), _nested()  # shares of points, by model and problem
    first = dict[tuple[str, str], JudgedRow]()
    for row in read_rows(before):
        first[_same(row)] = found = _outcome(row)
        scores[0][model_of(row)][row["problem_id"]].append(found.share)
    confusion: defaultdict[Verdict, Counter[Verdict]] = defaultdict(Counter)
    won = _nested()
    changed, shared, only = list[Difference](), 0, 0
    for row in read_rows(after):
        was, now = first.get(_same(row)), _outcome(row)
        scores[1][model_of(row)][row["problem_id"]].append(now.share)
        if was is None:
            only += 1
            continue
        shared += 1
        confusion[was.verdict][now.verdict] += 1
        won[model_of(row)][row["problem_id"]].append(now.share - was.share)
        if was.verdict is not now.verdict or abs(was.points - now.points) > _PRECISE:
            changed.append(
                Difference(
                    key=row["key"],
                    problem=row["problem_id"],
                    model=model_of(row),
                    before=was.verdict,
                    after=now.verdict,
                    points_before=was.points,
                    points_after=now.points,
                    why=tuple(_reasons(was, now, row["problem_id"] in edited)),
                )
            )
    return Differences(
        before=str(before),
        after=str(after),
        shared=shared,
        only_before=len(first) - shared,
        only_after=only,
        options=changes(old.fingerprint, new.fingerprint),
        confusion=confusion,
        models=tuple(_model(name, problems) for name, problems in sorted(won.items())),
        changed=tuple(
            sorted(changed, key=lambda difference: (difference.problem, difference.model, difference.key))
        ),
        paired=paired(*scores, won),
    )


def _nested() -> defaultdict[str, defaultdict[str, list[float]]]:
    return defaultdict(lambda: defaultdict(list))


def write_differences(found: Differences, folder: Path) -> None:
    replace(folder / _NAME, [as_json(found, indented=True), b"\n"])


def _same(row: Mapping[str, Any]) -> tuple[str, str]:
    return row["key"], row.get("submission_sha256") or ""


def _outcome(row: Mapping[str, Any]) -> JudgedRow:
    result = result_of_row(row)
    worth = math.fsum(part.points for part in result.subtasks) if result.subtasks else 1.0
    return JudgedRow(
        verdict=submission_status(result),
        points=result.points,
        share=result.points / worth if worth else 0.0,
        compiler=result.compiler,
        checker=result.checker,
        tests={test.test_name: test.status for test in result.tests},
    )


def _reasons(was: JudgedRow, now: JudgedRow, edited: bool) -> Iterator[str]:
    if edited:
        yield "the problem has changed"
    if was.compiler != now.compiler:
        yield f"{was.compiler or NOTHING} -> {now.compiler or NOTHING}"
    if was.checker != now.checker:
        yield f"checker {was.checker or NOTHING} -> {now.checker or NOTHING}"
    both = ((name, was.tests[name], now.tests[name]) for name in sorted(was.tests.keys() & now.tests.keys()))
    others = ((name, before, other) for name, before, other in both if before is not other)
    for name, before, other in others:
        if Verdict.SKIPPED not in (before, other):
            yield f"test {name}: {before} -> {other}"
            return


def _model(name: str, problems: Mapping[str, list[float]]) -> ModelDifference:
    gains = [gain for own in problems.values() for gain in own]
    means = [math.fsum(own) / len(own) for own in problems.values()]
    low, high = interval(sorted(means))
    return ModelDifference(
        model=name,
        submissions=len(gains),
        better=sum(gain > _PRECISE for gain in gains),
        worse=sum(gain < -_PRECISE for gain in gains),
        mean=mean(means) or 0.0,
        low=low,
        high=high,
    )


# --- shown -------------------------------------------------------------------------------------------


def sentence(found: Differences) -> str:
    both = counted(found.shared, "submission")
    if not found.changed:
        return (
            f"The same result for all {both} of both runs"
            if found.shared
            else "No submission is in both runs"
        )
    return f"Another result for {len(found.changed):,} of {both} of both runs"


def sections_of(found: Differences) -> Iterator[Section]:
    alone = [
        f"{counted(number_of, 'submission')} only in {name}"
        for name, number_of in ((found.before, found.only_before), (found.after, found.only_after))
        if number_of
    ]
    yield Section(
        title="Same submissions",
        items=[f"{sentence(found)}.", *alone, *found.options],
        table=_models(found.models),
    )
    if found.changed:
        yield Section(title="Verdicts before and after", table=_confusion(found.confusion))
        rows: list[list[Cell]] = [_row(difference) for difference in found.changed[:_SHOWN]]
        heads = ["Submission", "Problem", "Model", "Before", "After", "Points", "Why"]
        more = len(found.changed) - _SHOWN
        notes = [f"and {more:,} more in {_NAME}"] if more > 0 else []
        table = TableBlock(heads=heads, rows=rows, align="lllllrl")
        yield Section(title="Other results", table=table, notes=notes, long=len(rows) > _SHOWN // 2)


def _row(difference: Difference) -> list[Cell]:
    points = f"{number(difference.points_before)} -> {number(difference.points_after)}"
    return [
        difference.key,
        difference.problem,
        model_name(difference.model),
        difference.before,
        difference.after,
        points,
        "; ".join(difference.why) or NOTHING,
    ]


def _models(models: Iterable[ModelDifference]) -> TableBlock | None:
    rows: list[list[Cell]] = [
        [
            model_name(group.model),
            f"{group.submissions:,}",
            f"{group.better:,}",
            f"{group.worse:,}",
            signed(group.mean, group.low, group.high),
        ]
        for group in models
    ]
    heads = ["Model", "Submissions", "Better", "Worse", "Points won, %"]
    return TableBlock(heads=heads, rows=rows, align="lrrrr") if rows else None


def _confusion(found: Mapping[Verdict, Mapping[Verdict, int]]) -> TableBlock:
    heads = sorted({after for afters in found.values() for after in afters} | found.keys())
    rows: list[list[Cell]] = [
        [before, *(f"{found[before].get(after, 0):,}" for after in heads)] for before in sorted(found)
    ]
    return TableBlock(heads=["Before / after", *heads], rows=rows, align="l" + "r" * len(heads))
