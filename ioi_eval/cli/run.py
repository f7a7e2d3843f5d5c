"""`ioi-eval run`: programs from a model or an agent, scored while they come."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar

import typer

from ioi_eval.cli import console
from ioi_eval.cli.config import Config, asking_of, author_of, choice_of, named_as_typed, read_config
from ioi_eval.cli.engines import Engine, EngineOptions
from ioi_eval.cli.environment import open_store
from ioi_eval.cli.groups import command
from ioi_eval.cli.options import (
    SOURCE_HELP,
    AllowSuspicious,
    MemoryLimit,
    OutputOptions,
    TimeLimit,
    TimingOptions,
)
from ioi_eval.cli.progress import say_failures, say_unscored, watched, what_was_done
from ioi_eval.cli.scores import leave_if_suspicious, show_scores
from ioi_eval.reports.document import counted, visible
from ioi_eval.runs.authors import INSTANCES, GeneratedRun, prompts_of
from ioi_eval.runs.authors import run as generate

_EXAMPLES = """
  ioi-eval run -c config.yaml --benchmark apps -n 20
  ioi-eval run -c config.yaml --benchmark apps -t apps_42
  ioi-eval run -b apps --filter-difficulty introductory --filter-difficulty interview -n 20
  ioi-eval run -b codeforces -n 50 -m my-model --base-url http://127.0.0.1:8000/v1 --samples 4
  ioi-eval run -b apps -n 5 --command 'my-agent problem.md'
  ioi-eval run -c config.yaml --print-prompt
"""
_SHOWN = 5
_Config = Annotated[
    Path | None, typer.Option("--config", "-c", metavar="FILE", help="YAML; `ioi-eval init` writes one.")
]
_Print = Annotated[bool, typer.Option("--print-prompt", help="Show the first prompt, and ask no model.")]
_Rejudge = Annotated[
    bool,
    typer.Option(
        "--rejudge",
        help="Judge all programs again, without asking for them again.",
        rich_help_panel="Judging",
    ),
]


@dataclass(frozen=True)
class _Problems:
    """The choice of problems, over that of a file."""

    title: ClassVar = "Problems"
    benchmark: Annotated[
        str | None, typer.Option("--benchmark", "-b", metavar="SOURCE", help=SOURCE_HELP)
    ] = None
    first: Annotated[
        int | None, typer.Option("--first", min=1, metavar="N", help="Only the first N problems.")
    ] = None
    sample: Annotated[
        int | None,
        typer.Option(
            "--sample",
            "-n",
            min=1,
            metavar="N",
            help="Only N problems, the same ones for a seed: `sample_size` of the file.",
        ),
    ] = None
    task: Annotated[
        list[str] | None,
        typer.Option("--task", "-t", metavar="ID", help="Only this problem; may be repeated."),
    ] = None
    filter_difficulty: Annotated[
        list[str] | None,
        typer.Option(metavar="WORD", help="Only problems of this difficulty; may be repeated."),
    ] = None
    data_dir: Annotated[
        str | None, typer.Option(metavar="DIR", help="Copies of the datasets: nothing is fetched.")
    ] = None
    dataset: Annotated[
        str | None, typer.Option(metavar="ID", help="Another dataset with the benchmark's columns.")
    ] = None
    seed: Annotated[int | None, typer.Option(metavar="S", help="Seed of the sample.")] = None
    checker: Annotated[
        str | None,
        typer.Option(metavar="KIND", help="Compare outputs in another way than the benchmark: apps."),
    ] = None

    time_limit: TimeLimit = None
    memory_limit: MemoryLimit = None

    @property
    def flags(self) -> dict[str, Any]:
        names = {"sample": "sample_size", "task": "tasks"}
        return {names.get(name, name): value for name, value in asdict(self).items()}


@dataclass(frozen=True)
class _Author:
    """The author of the programs; options win over a file."""

    title: ClassVar = "Author"
    model: Annotated[str | None, typer.Option("--model", "-m", metavar="NAME", help="The model's name.")] = (
        None
    )
    base_url: Annotated[
        str | None, typer.Option(metavar="URL", help="The model's server, without /chat/completions.")
    ] = None
    agent: Annotated[
        str | None,
        typer.Option("--command", metavar="TEXT", help="Start this agent instead of asking a model."),
    ] = None
    samples: Annotated[int | None, typer.Option(min=1, metavar="N", help="Programs for each problem.")] = None
    temperature: Annotated[float | None, typer.Option(metavar="T", help="The model's temperature.")] = None
    max_tokens: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="The most tokens of one reply.")
    ] = None
    timeout: Annotated[
        float | None, typer.Option(metavar="S", help="Seconds for a reply, or for the agent.")
    ] = None
    concurrency: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Requests or agents at a time.")
    ] = None

    @property
    def flags(self) -> dict[str, Any]:
        return {
            "model.name": self.model,
            "model.base_url": self.base_url,
            "model.temperature": self.temperature,
            "model.max_tokens": self.max_tokens,
            "command": self.agent,
            "samples": self.samples,
            "timeout_seconds": self.timeout,
            "concurrency": self.concurrency,
        }


@command(_EXAMPLES)
def run(
    problems: _Problems,
    author: _Author,
    timing: TimingOptions,
    engine: Engine,
    output: OutputOptions,
    config: _Config = None,
    print_prompt: _Print = False,
    rejudge: _Rejudge = False,
    allow_suspicious: AllowSuspicious = False,
) -> None:
    """Ask a model for programs and score them as they arrive. The same command again goes on.

    Flags win over the file. The key comes from the environment (OPENAI_API_KEY, or the variable that the
    file names). Exit code 0: everything is scored; 2: bad input; 3: some programs were not written or could
    not be judged, and a second call tries only these; 4: everything is scored, but nine of ten programs of a
    model fail with the same line; 130: interrupted.
    """
    flags = {**problems.flags, **author.flags, "out": output.out and str(output.out)}
    wanted = read_config(config, flags)
    with named_as_typed(flags):
        if print_prompt:
            console.show(_first_prompt(wanted))
            return
        outcome, seconds = _generated(wanted, engine, timing, output, rejudge)
    _show(outcome, seconds, output)
    if outcome.failures or outcome.unwritten:
        raise typer.Exit(console.UNSCORED)
    leave_if_suspicious([outcome.summary], allowed=allow_suspicious, silent=output.silent)


def _generated(
    config: Config, engine: EngineOptions, timing: TimingOptions, output: OutputOptions, rejudge: bool
) -> tuple[GeneratedRun, float]:
    chosen = engine.choice(of_file=config.engine)
    return watched(
        output,
        lambda tell: generate(
            config.benchmark,
            author_of(config, os.environ),
            out=config.out or None,
            key=os.environ.get(config.model.api_key_env, ""),
            budget=config.budget,
            choice=choice_of(config),
            asking=asking_of(config),
            engine=chosen,
            options=output.options(timing),
            rejudge=rejudge,
            store=open_store(),
            on_event=tell,
        ),
    )


def _first_prompt(config: Config) -> str:
    agent, choice, asking = bool(config.command), choice_of(config), asking_of(config)
    prompts = prompts_of(config.benchmark, agent=agent, choice=choice, asking=asking, store=open_store())
    return prompts[0].rstrip() if prompts else ""


def _show(outcome: GeneratedRun, seconds: float, output: OutputOptions) -> None:
    if output.as_json:
        console.show_json(outcome.as_json())
    elif not output.quiet:
        console.show(what_was_done(outcome.call, seconds, unscored=len(outcome.failures)))
        show_scores(outcome.summary)
        console.show(_resolved(outcome))
    _say_unwritten(outcome.unwritten)
    say_failures(outcome.failures, outcome.out)
    say_unscored(outcome.summary.models)
    if not output.silent:
        console.show(f"Each problem: {outcome.out}/{INSTANCES}")
        console.show(console.report_line(outcome.out))


def _resolved(outcome: GeneratedRun) -> str:
    counts = Counter(str(one["resolved"]) for one in outcome.instances)
    text = f"Resolved {counts['True']} of {counts['True'] + counts['False']}"
    if counts["None"]:
        text += f"; {counts['None']} without an answer"
    unusable = Counter(
        str(one["error"]) for one in outcome.instances if one["resolved"] is False and "error" in one
    )
    return text + "".join(f"; {number} cannot be judged ({reason})" for reason, number in unusable.items())


def _say_unwritten(unwritten: Mapping[str, str]) -> None:
    for key, reason in list(unwritten.items())[:_SHOWN]:
        console.tell(visible(f"not written: {key}: {reason}"))
    if number := len(unwritten):
        console.tell(
            f"{counted(number, 'program')} not written; "
            f"the same command asks for {'it' if number == 1 else 'them'} again and for nothing else"
        )
