"""`ioi-eval run`: programs from a model or an agent, scored while they come."""

from __future__ import annotations

import asyncio
import sys
import time
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
import typer

from ioi_eval.cli import console
from ioi_eval.cli.config import named_as_typed, read_config
from ioi_eval.cli.ending import command, interruptible, say_failures, say_unscored, what_was_done
from ioi_eval.cli.engines import check_engine, chooses_engine
from ioi_eval.cli.options import Fresh, Quiet
from ioi_eval.cli.tables import show_scores
from ioi_eval.cli.timing import chooses_timing
from ioi_eval.runs.engine import EngineChoice
from ioi_eval.runs.timing import Timing

# Loaded when it is needed: what talks to models takes as long to load as all the rest of the command line.
if TYPE_CHECKING:
    from ioi_eval.cli.generating import Outcome, Request

_SHOWN = 5

_Config = Annotated[
    Path | None, typer.Option("--config", "-c", metavar="FILE", help="YAML; `ioi-eval init` writes one.")
]
_Benchmark = Annotated[str | None, typer.Option("--benchmark", "-b", metavar="NAME", help="Which problems.")]
_Sample = Annotated[int | None, typer.Option("--sample", "-n", min=1, metavar="N", help="N of them.")]
_Task = Annotated[
    list[str] | None, typer.Option("--task", "-t", metavar="ID", help="Only this one; may be repeated.")
]
_Difficulty = Annotated[
    list[str] | None,
    typer.Option("--filter-difficulty", metavar="WORD", help="Only of this difficulty; may be repeated."),
]
_DataDir = Annotated[
    str | None, typer.Option(metavar="DIR", help="Copies of the datasets: nothing is fetched.")
]
_Dataset = Annotated[
    str | None, typer.Option(metavar="ID", help="Another dataset of the benchmark's schema.")
]
_Model = Annotated[str | None, typer.Option("--model", "-m", metavar="NAME", help="Who is asked.")]
_BaseUrl = Annotated[str | None, typer.Option(metavar="URL", help="Where: without /chat/completions.")]
_Command = Annotated[
    str | None, typer.Option("--command", metavar="TEXT", help="An agent instead of a model.")
]
_Samples = Annotated[int | None, typer.Option(min=1, metavar="N", help="Programs for each problem.")]
_Temperature = Annotated[float | None, typer.Option(metavar="T", help="Of the model.")]
_MaxTokens = Annotated[int | None, typer.Option(min=1, metavar="N", help="Of one reply.")]
_Timeout = Annotated[float | None, typer.Option(metavar="S", help="Seconds for a reply, or for the agent.")]
_Concurrency = Annotated[int | None, typer.Option(min=1, metavar="N", help="Requests or agents at a time.")]
_Seed = Annotated[int | None, typer.Option(metavar="S", help="Another sample of the same size.")]
_Out = Annotated[str | None, typer.Option(metavar="DIR", help="The run's folder: new, empty or a run's.")]
_Print = Annotated[bool, typer.Option("--print-prompt", help="Show the first prompt, and ask nobody.")]
_Rejudge = Annotated[
    bool, typer.Option("--rejudge", help="Judge all programs again, and ask for none that is there.")
]
_Json = Annotated[bool, typer.Option("--json", help="Print a summary as JSON at the end, and nothing else.")]


@chooses_engine
@chooses_timing
def run(
    context: typer.Context,
    engine: EngineChoice,
    timing: Timing,
    config: _Config = None,
    benchmark: _Benchmark = None,
    sample: _Sample = None,
    task: _Task = None,
    filter_difficulty: _Difficulty = None,
    data_dir: _DataDir = None,
    dataset: _Dataset = None,
    model: _Model = None,
    base_url: _BaseUrl = None,
    agent: _Command = None,
    samples: _Samples = None,
    temperature: _Temperature = None,
    max_tokens: _MaxTokens = None,
    timeout: _Timeout = None,
    concurrency: _Concurrency = None,
    seed: _Seed = None,
    out: _Out = None,
    print_prompt: _Print = False,
    fresh: Fresh = False,
    rejudge: _Rejudge = False,
    quiet: Quiet = False,
    as_json: _Json = False,
) -> None:
    """Ask a model for programs and score them as they come. The same command again goes on.

    Flags win over the file. The key comes from the environment (OPENAI_API_KEY, or the variable that the
    file names). Exit code 0: everything is scored; 2: bad input; 3: some programs were not written or could
    not be judged, and a second call tries only these; 130: interrupted.

    \b
    Examples:
      ioi-eval run -c config.yaml --benchmark apps -n 20
      ioi-eval run -c config.yaml --benchmark apps -t apps_42
      ioi-eval run -b apps --filter-difficulty introductory --filter-difficulty interview -n 20
      ioi-eval run -b codeforces -n 50 -m my-model --base-url http://127.0.0.1:8000/v1 --samples 4
      ioi-eval run -b apps -n 5 --command 'my-agent problem.md'
      ioi-eval run -c config.yaml --print-prompt
    """
    from ioi_eval.cli.generating import Request, generate_and_score, prompt_of

    flags = {
        "benchmark": benchmark,
        "sample_size": sample,
        "seed": seed,
        "tasks": task,
        "filter_difficulty": filter_difficulty,
        "data_dir": data_dir,
        "dataset": dataset,
        "model.name": model,
        "model.base_url": base_url,
        "model.temperature": temperature,
        "model.max_tokens": max_tokens,
        "command": agent,
        "samples": samples,
        "timeout_seconds": timeout,
        "concurrency": concurrency,
        "out": out,
    }
    wanted = read_config(config, flags)
    if print_prompt:
        with named_as_typed(flags):
            console.show(next(iter(prompt_of(wanted)), "").rstrip())
        return
    request = Request(
        config=wanted,
        engine=_engine(context, engine, wanted.engine),
        timing=timing,
        fresh=fresh,
        rejudge=rejudge,
        command=command(sys.argv[1:]),
    )
    begin = time.monotonic()
    with interruptible(request.command, quiet=quiet or as_json) as tell, named_as_typed(flags):
        outcome = asyncio.run(generate_and_score(request, tell))
    _show(outcome, request, time.monotonic() - begin, quiet=quiet, as_json=as_json)
    if outcome.failures or outcome.unwritten:
        raise typer.Exit(console.UNSCORED)


def _engine(context: typer.Context, chosen: EngineChoice, of_file: str) -> EngineChoice:
    """A flag wins over the file, and the file over the environment."""
    source = context.get_parameter_source("engine")
    if not of_file or (source is not None and source.name == "COMMANDLINE"):
        return chosen
    check_engine(of_file, "engine")
    return msgspec.structs.replace(chosen, text=of_file)


def _show(outcome: Outcome, request: Request, seconds: float, *, quiet: bool, as_json: bool) -> None:
    if as_json:
        console.show_json(_as_json(outcome, request.out))
    elif not quiet:
        console.show(what_was_done(outcome.call, seconds, unscored=len(outcome.failures)))
        show_scores(outcome.summary)
        console.show(_resolved(outcome))
    _say_unwritten(outcome.unwritten)
    say_failures(outcome.failures, request.out)
    say_unscored(outcome.summary.models)
    from ioi_eval.cli.generating import INSTANCES

    if not (as_json or quiet):
        console.show(f"Each problem: {request.out}/{INSTANCES}. Report: {request.out}/report.md")


def _as_json(outcome: Outcome, out: str) -> dict[str, Any]:
    whole = msgspec.to_builtins(outcome.summary)
    del whole["settings"]
    return {
        "out": out,
        "this_call": outcome.call,
        "instances": outcome.instances,
        "unwritten": outcome.unwritten,
        **whole,
    }


def _resolved(outcome: Outcome) -> str:
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
        console.tell(console.visible(f"not written: {key}: {reason}"))
    if number := len(unwritten):
        console.tell(
            f"{console.counted(number, 'program')} not written; "
            f"the same command asks for {'it' if number == 1 else 'them'} again and for nothing else"
        )
