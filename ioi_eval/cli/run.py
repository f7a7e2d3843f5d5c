"""The command `run`: ask a model or an agent for programs, and score them as they arrive."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from ioi_eval.cli import console
from ioi_eval.cli.config import OPTIONS, Config, author_of, named_as_typed, read_config
from ioi_eval.cli.groups import OptionGroup, command
from ioi_eval.cli.options import (
    AllowSuspicious,
    Engine,
    Output,
    OutputOptions,
    RunningOptions,
    TimingOptions,
    open_store,
)
from ioi_eval.cli.progress import say_failures, say_unscored, watched, what_was_done
from ioi_eval.cli.scores import leave_if_suspicious, show_scores
from ioi_eval.generate import AgentOptions, ModelOptions
from ioi_eval.model.errors import InputError
from ioi_eval.registries import Registry, find_registered, needs_plugin
from ioi_eval.reports import Summary
from ioi_eval.reports.document import counted, visible
from ioi_eval.runs.authors import INSTANCES, GeneratedRun, create_prompts
from ioi_eval.runs.authors import run as generate

_EXAMPLES = """
  ioi-eval run -c config.yaml --problems apps --sample 20
  ioi-eval run -c config.yaml --problems apps --problem apps_42
  ioi-eval run --problems apps --sample 5 --command 'my-agent problem.md'
  ioi-eval run --problems apps --difficulty introductory --difficulty interview --limit 20
  ioi-eval run --problems ioi --sample 50 -m my-model --base-url http://127.0.0.1:8000/v1
  ioi-eval run -c config.yaml --print-prompt
"""
_SHOWN = 5


_PROBLEMS = ("benchmark", "first", "sample_size", "tasks", "filter_difficulty", "data_dir", "dataset", "seed")
_AUTHOR = ("command", "samples", "timeout_seconds", "concurrency", "turns", "feedback", "feedback_prompt")
_LIMITS = ("checker", "packages", "time_limit", "memory_limit")
_MODEL = ("model.name", "model.base_url", "model.temperature", "model.max_tokens")
_ALL = OPTIONS.values()


@command(_EXAMPLES)
def run(
    # These two: flags over the file's keys.
    problems: Annotated[dict[str, Any], OptionGroup("Problems", of=_ALL, only=(*_PROBLEMS, *_LIMITS))],
    author: Annotated[dict[str, Any], OptionGroup("Author", of=_ALL, only=(*_MODEL, *_AUTHOR))],
    timing: TimingOptions,
    engine: Engine,
    output: Output,
    running: RunningOptions,
    config: Annotated[
        Path | None,
        typer.Option("--config", "-c", metavar="FILE", help="YAML; `ioi-eval new` writes one."),
    ] = None,
    print_prompt: Annotated[
        bool, typer.Option("--print-prompt", help="Print the first prompt and exit.")
    ] = False,
    rejudge: Annotated[
        bool,
        typer.Option(
            "--rejudge",
            help="Judge all programs again, without asking the model again.",
            rich_help_panel="Judging",
        ),
    ] = False,
    allow_suspicious: AllowSuspicious = False,
) -> None:
    """Ask a model for programs and score them as they arrive. The same command continues an interrupted run.

    Options win over the file. The API key is in an environment variable: OPENAI_API_KEY, or the variable
    that the file names. Exit code 0: everything is scored; 2: bad input; 3: some programs were not written or
    could not be judged, and a second call retries only these; 4: everything is scored, but 90 % of a model's
    programs fail with the same line; 130: interrupted.
    """
    flags = {**problems, **author, "out": output.out and str(output.out)}
    wanted = read_config(config, flags)
    with named_as_typed(flags, config):
        asked: dict[str, Any] = {"choice": wanted.choice, "asking": wanted.asking, "store": open_store()}
        if print_prompt:
            prompts = create_prompts(wanted.benchmark, agent=bool(wanted.agent.command), **asked)
            console.show(prompts[0].rstrip() if prompts else "")
            return
        asked |= {
            "out": wanted.out or None,
            "key": os.environ.get(wanted.api_key_env, ""),
            "budget": wanted.budget,
            "engine": engine.choice(of_file=wanted.engine),
            "options": output.of(running, timing),
        }
        writer = author_of(wanted, os.environ)
        if wanted.turns.number > 1:
            if rejudge:
                raise InputError(
                    "programs with turns cannot be judged again", field="turns", remedy="Leave it out"
                )
            summary = _compete(wanted, writer, asked, output)
            leave_if_suspicious([summary], allowed=allow_suspicious, silent=output.silent)
            return
        outcome, seconds = watched(
            output,
            lambda tell: generate(wanted.benchmark, writer, rejudge=rejudge, on_event=tell, **asked),
        )
    _show(outcome, seconds, output)
    if outcome.failures or outcome.unwritten:
        raise typer.Exit(console.UNSCORED)
    leave_if_suspicious([outcome.summary], allowed=allow_suspicious, silent=output.silent)


def _compete(
    config: Config, author: ModelOptions | AgentOptions, asked: Mapping[str, Any], output: OutputOptions
) -> Summary:
    """Let a model or an agent submit several times with feedback. Exit with code 3 if it stopped early."""
    in_turns = find_registered(Registry.COMMANDS, "run.turns")
    if in_turns is None:
        raise needs_plugin("run.turns needs", "contest")
    compete = in_turns(author, config.turns, config.rules.feedback)
    done, _ = watched(output, lambda tell: compete(config.benchmark, on_event=tell, **asked))
    if output.as_json:
        console.show_json(done)
    elif not output.quiet:
        show_scores(done.summary)
    _say_unwritten(done.unwritten, done.unasked)
    if not output.silent:
        console.show(console.report_line(done.out))
    if done.unwritten:
        raise typer.Exit(console.UNSCORED)
    summary: Summary = done.summary
    return summary


def _show(outcome: GeneratedRun, seconds: float, output: OutputOptions) -> None:
    if output.as_json:
        console.show_json(outcome.as_json())
    elif not output.quiet:
        console.show(what_was_done(outcome.call, seconds, unscored=len(outcome.failures)))
        show_scores(outcome.summary)
        console.show(_resolved(outcome))
    _say_unwritten(outcome.unwritten, outcome.unasked)
    say_failures(outcome.failures, outcome.out)
    say_unscored(outcome.summary.models)
    if not output.silent:
        console.show(f"Each problem: {outcome.out}/{INSTANCES}")
        console.show(console.report_line(outcome.out))


def _resolved(outcome: GeneratedRun) -> str:
    counts = Counter(str(instance["resolved"]) for instance in outcome.instances)
    text = f"Resolved {counts['True']} of {counts['True'] + counts['False']}"
    if counts["None"]:
        text += f"; {counts['None']} without an answer"
    unusable = Counter(
        str(instance["error"])
        for instance in outcome.instances
        if instance["resolved"] is False and "error" in instance
    )
    return text + "".join(f"; {number} cannot be judged ({reason})" for reason, number in unusable.items())


def _say_unwritten(unwritten: Mapping[str, str], unasked: Collection[str]) -> None:
    for key, reason in list(unwritten.items())[:_SHOWN]:
        console.tell(visible(f"not written: {key}: {reason}"))
    if not (number := len(unwritten)):
        return
    them = "it" if number == 1 else f"{number - len(unasked):,} of them" if unasked else "them"
    again = "no other try helps" if number == len(unasked) else f"the same command asks only for {them} again"
    console.tell(f"{counted(number, 'program')} not written; {again}")
