"""The command `run`: ask a model or an agent for programs, and score them as they arrive."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from ioi_eval.cli import console
from ioi_eval.cli.config import OPTIONS, Config, choose_author, name_option_in_errors, read_config
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
from ioi_eval.cli.progress import format_run_summary, print_failures, print_unscored_models, run_with_progress
from ioi_eval.cli.scores import exit_if_suspicious, print_scores
from ioi_eval.generate import AgentOptions, ModelOptions
from ioi_eval.model.errors import InputError
from ioi_eval.model.text import format_count, visible
from ioi_eval.registries import Registry, load_entry, missing_plugin_error
from ioi_eval.reports import Summary
from ioi_eval.runs.authors import INSTANCES, GeneratedRun, create_prompts
from ioi_eval.runs.authors import run as generate

_EXAMPLES = """
  ioi-eval run -c config.yaml --problems apps --sample 20
  ioi-eval run -c config.yaml --problems apps --problem apps_42
  ioi-eval run --problems apps --sample 5 --command 'my-agent problem.md'
  ioi-eval run --problems apps --difficulty introductory --difficulty interview --limit 20
  ioi-eval run --problems ioi --sample 50 -m my-model --base-url http://127.0.0.1:8000/v1
  ioi-eval run -c config.yaml --dry-run
"""
_SHOWN = 5


_PROBLEMS = ("benchmark", "first", "sample_size", "tasks", "filter_difficulty", "data_dir", "dataset", "seed")
_AUTHOR = ("command", "samples", "timeout_seconds", "concurrency", "turns", "feedback", "feedback_prompt")
_LIMITS = ("checker", "packages", "time_limit", "memory_limit")
_MODEL = ("model.name", "model.base_url", "model.temperature", "model.max_tokens")
_ALL = OPTIONS.values()


@command(_EXAMPLES)
def run(
    # Options of the next two groups override keys of the file that --config names.
    problems: Annotated[dict[str, Any], OptionGroup("Problems", fields_of=_ALL, only=(*_PROBLEMS, *_LIMITS))],
    author: Annotated[dict[str, Any], OptionGroup("Author", fields_of=_ALL, only=(*_MODEL, *_AUTHOR))],
    timing: TimingOptions,
    engine: Engine,
    output: Output,
    running: RunningOptions,
    config: Annotated[
        Path | None,
        typer.Option(
            "--config",
            "-c",
            metavar="FILE",
            help="YAML file with the configuration of the run; `ioi-eval new` writes a template.",
        ),
    ] = None,
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run", help="Print the first prompt and exit, without sending a request to a model."
        ),
    ] = False,
    rejudge: Annotated[
        bool,
        typer.Option(
            "--rejudge",
            help="Judge all programs again, without new requests to the model.",
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
    run_config = read_config(config, flags)
    with name_option_in_errors(flags, config):
        arguments: dict[str, Any] = {
            "choice": run_config.choice,
            "asking": run_config.asking,
            "store": open_store(),
        }
        if dry_run:
            prompts = create_prompts(run_config.benchmark, agent=bool(run_config.agent.command), **arguments)
            console.print_line(prompts[0].rstrip() if prompts else "")
            return
        arguments |= {
            "out": run_config.out or None,
            "key": os.environ.get(run_config.api_key_env, ""),
            "budget": run_config.budget,
            "engine": engine.read_engine_choice(file_engine=run_config.engine),
            "options": output.complete_run_options(running, timing),
        }
        program_author = choose_author(run_config, os.environ)
        if run_config.turns.number > 1:
            if rejudge:
                raise InputError(
                    "the programs of a run with turns cannot be judged again",
                    field="turns",
                    remedy="Leave out the option",
                )
            summary = _run_turn_based_contest(run_config, program_author, arguments, output)
            exit_if_suspicious([summary], allows_suspicious=allow_suspicious, print_reasons=output.is_silent)
            return
        outcome, seconds = run_with_progress(
            output,
            lambda tell: generate(
                run_config.benchmark, program_author, rejudge=rejudge, on_event=tell, **arguments
            ),
        )
    _print_outcome(outcome, seconds, output)
    if outcome.failures or outcome.unwritten:
        raise typer.Exit(console.UNSCORED)
    exit_if_suspicious([outcome.summary], allows_suspicious=allow_suspicious, print_reasons=output.is_silent)


def _run_turn_based_contest(
    config: Config, author: ModelOptions | AgentOptions, arguments: Mapping[str, Any], output: OutputOptions
) -> Summary:
    """Let a model or an agent submit several times with feedback. Exit with code 3 if it stopped early."""
    make_competition = load_entry(Registry.COMMANDS, "run.turns")
    if make_competition is None:
        raise missing_plugin_error("run.turns needs", "contest")
    run_competition = make_competition(author, config.turns, config.rules.feedback)
    outcome, _ = run_with_progress(
        output, lambda tell: run_competition(config.benchmark, on_event=tell, **arguments)
    )
    if output.as_json:
        console.print_json(outcome)
    elif not output.quiet:
        print_scores(outcome.summary)
    _print_missing_programs(outcome.unwritten, outcome.unasked)
    if not output.is_silent:
        console.print_line(console.format_report_line(outcome.out))
    if outcome.unwritten:
        raise typer.Exit(console.UNSCORED)
    summary: Summary = outcome.summary
    return summary


def _print_outcome(outcome: GeneratedRun, seconds: float, output: OutputOptions) -> None:
    if output.as_json:
        console.print_json(outcome.as_json())
    elif not output.quiet:
        console.print_line(format_run_summary(outcome.call, seconds, unscored_count=len(outcome.failures)))
        print_scores(outcome.summary)
        console.print_line(_summarize_program_instances(outcome))
    _print_missing_programs(outcome.unwritten, outcome.unasked)
    print_failures(outcome.failures, outcome.out)
    print_unscored_models(outcome.summary.models)
    if not output.is_silent:
        console.print_line(f"Each problem: {outcome.out}/{INSTANCES}")
        console.print_line(console.format_report_line(outcome.out))


def _summarize_program_instances(outcome: GeneratedRun) -> str:
    counts_by_result = Counter(str(instance["resolved"]) for instance in outcome.instances)
    summary = f"Resolved {counts_by_result['True']} of {counts_by_result['True'] + counts_by_result['False']}"
    if counts_by_result["None"]:
        summary += f"; {counts_by_result['None']} without an answer"
    unusable_counts = Counter(
        str(instance["error"])
        for instance in outcome.instances
        if instance["resolved"] is False and "error" in instance
    )
    return summary + "".join(
        f"; {number} cannot be judged ({reason})" for reason, number in unusable_counts.items()
    )


def _print_missing_programs(reasons_by_key: Mapping[str, str], unretried_keys: Collection[str]) -> None:
    for key, reason in list(reasons_by_key.items())[:_SHOWN]:
        console.print_message(visible(f"not written: {key}: {reason}"))
    if not (number := len(reasons_by_key)):
        return
    retried_phrase = (
        "it" if number == 1 else f"{number - len(unretried_keys):,} of them" if unretried_keys else "them"
    )
    next_step = (
        "no other try helps"
        if number == len(unretried_keys)
        else f"the same command asks only for {retried_phrase} again"
    )
    console.print_message(f"{format_count(number, 'program')} not written; {next_step}")
