"""`ioi-eval export harbor SOURCE DIR`: problem packages as tasks of other programs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from ioi_eval.benchmarks import BenchmarkOptions
from ioi_eval.cli import console
from ioi_eval.cli.environment import open_store
from ioi_eval.cli.groups import OptionGroup, command
from ioi_eval.cli.options import Source
from ioi_eval.contest.harbor import write_tasks
from ioi_eval.reports.document import counted, visible

_EXAMPLES = """
  ioi-eval export harbor examples/problems tasks
  ioi-eval export harbor packages/aplusb.zip tasks
  ioi-eval export harbor packages tasks --problem lanterns      then: harbor run -p tasks -a oracle
"""


@command(_EXAMPLES)
def export(
    form: Annotated[Literal["harbor"], typer.Argument(metavar="harbor", help="Tasks of Harbor.")],
    source: Source,
    folder: Annotated[
        Path, typer.Argument(metavar="DIR", help="The folder that gets a folder for each task.")
    ],
    problems: Annotated[BenchmarkOptions, OptionGroup("Problems", only=("problems", "sample", "seed"))],
) -> None:
    """Write problem packages as tasks of Harbor, whose tests call `ioi-eval judge`.

    A task has the statement, and what a package hands to contestants. Its tests run in a container of their
    own, which an agent never reaches; the reward is the share of the points.

    Exit code 0: tasks are written; 2: bad input.
    """
    done = write_tasks(source, folder, choice=problems, store=open_store())
    for label, reason in done.left_out.items():
        console.show(f"note: {visible(label)} is left out: {reason}")
    console.show(f"{counted(len(done.tasks), 'task')} in {folder}")
