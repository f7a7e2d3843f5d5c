"""`--validate-references`: a benchmark's own solutions are judged before anybody else's."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

import typer
from rich.text import Text

from ioi_eval.benchmarks import Loaded
from ioi_eval.benchmarks.references import Reference, References, Reliability, judge_references
from ioi_eval.cli import console
from ioi_eval.cli.judging import RunOptions, judging, run_until_interrupted
from ioi_eval.cli.progress import Progress
from ioi_eval.errors import InputError
from ioi_eval.models import Value, Verdict
from ioi_eval.problems import Problems
from ioi_eval.store import Store

LEFT_OUT = "its own solutions do not pass"
MOST = 3  # solutions of a problem, where the user does not say
_SHOWN = 20  # problems; the others are in the file

Validate = Annotated[
    bool,
    typer.Option("--validate-references", help="Judge the benchmark's own solutions, and say which pass."),
]
Most = Annotated[
    int | None,
    typer.Option("--references", min=1, metavar="N", help="So many of each problem.", show_default=str(MOST)),
]
Skip = Annotated[
    bool, typer.Option("--skip-unreliable", help="Leave out problems whose own solutions do not pass.")
]


class Asked(Value):
    """What the user wants of a benchmark's own solutions."""

    most: int = 0  # 0: nothing
    skip: bool = False

    @classmethod
    def of(cls, validate: bool, most: int | None, skip: bool) -> Asked:
        wanted = validate or skip or most is not None
        return cls(most=(most or MOST) if wanted else 0, skip=skip)


def check_references(problems: Problems, asked: Asked, run: RunOptions, store: Store) -> References | None:
    """None where nobody asked. KeyboardInterrupt leaves what was judged in the store."""
    if not asked.most:
        return None
    if not isinstance(problems, Loaded):
        raise InputError(
            "only a benchmark has solutions of its own to check first",
            field="--validate-references",
            remedy="Packages are checked with `ioi-eval validate`",
        )
    if not run.quiet:
        console.tell(
            f"Judging up to {asked.most} own solutions of {console.counted(len(problems), 'problem')}"
        )
    return run_until_interrupted(_judged(problems, asked, run, store))


async def _judged(problems: Loaded, asked: Asked, run: RunOptions, store: Store) -> References:
    with Progress(quiet=run.quiet) as progress:
        async with judging(run, store) as (scorer, workers), progress.ticking():
            return await judge_references(
                scorer.judge,
                problems,
                problems.references,
                store=store,
                most=asked.most,
                workers=workers,
                fresh=run.fresh,
                prepare=scorer.prepare,
                on_event=progress,
            )


def reliable(problems: Problems, found: References | None, asked: Asked) -> Problems:
    """The problems that are to be judged."""
    if found is None or not asked.skip or not isinstance(problems, Loaded):
        return problems
    return problems.without(found.labels(Reliability.UNRELIABLE), LEFT_OUT)


# --- for people --------------------------------------------------------------------------------------


def conclusion(found: References, asked: Asked) -> str:
    numbers = {one: len(found.labels(one)) for one in Reliability}
    left_out = " (left out)" if asked.skip and numbers[Reliability.UNRELIABLE] else ""
    return (
        f"up to {found.most} of each of {console.counted(len(found.problems), 'problem')} judged: "
        f"{numbers[Reliability.RELIABLE]} reliable, {numbers[Reliability.UNRELIABLE]} unreliable{left_out}, "
        f"{numbers[Reliability.UNKNOWN]} unknown"
    )


def show_references(found: References, asked: Asked, out: str) -> None:
    """The problems that are not reliable, and why."""
    console.show(f"Own solutions: {conclusion(found, asked)}; see {out}/references.json")
    rows = list(_rows(found))
    if not rows:
        return
    table = console.plain_table("problem", "references", "passed", "why", right=frozenset({"passed"}))
    for row in rows[:_SHOWN]:
        table.add_row(*(Text(console.visible(cell)) for cell in row))
    console.show("")
    console.show_table(table)
    if len(rows) > _SHOWN:
        console.show(f"and {len(rows) - _SHOWN} more")
    console.show("")


def _rows(found: References) -> Iterator[tuple[str, ...]]:
    for one in found.problems:
        if one.reliability is not Reliability.RELIABLE:
            passed = sum(reference.status is Verdict.AC for reference in one.references)
            number = f"{passed} of {len(one.references)}"
            yield one.problem, one.reliability.value, number, one.note or _why(one.references)


def _why(references: tuple[Reference, ...]) -> str:
    """Of the first that does not pass."""
    first = next((one for one in references if one.status is not Verdict.AC), None)
    if first is None:
        return ""
    status = first.status.value if first.status else "not judged"
    place = f" on test {first.test}" if first.test else ""
    reason = " ".join(first.reason.split())
    return f"{first.solution}: {status}{place}{': ' + reason if reason else ''}"
