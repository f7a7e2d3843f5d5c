"""Evaluations with inspect_ai, whose mock model returns the replies of a test."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from inspect_ai import eval as evaluate
from inspect_ai.log import EvalLog
from inspect_ai.model import ChatMessage, Model, ModelOutput, ModelUsage, get_model

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ROOT / "examples" / "problems"
COMMAND = (str(Path(sys.executable).with_name("inspect")),)
LONGEST = 600  # seconds for a command, on a busy machine

# Started in the background we have SIGINT ignored, and so would have the command that a test interrupts: it
# would never stop.
signal.signal(signal.SIGINT, signal.default_int_handler)


def solution(problem: str, name: str) -> str:
    """Return an example's solution as a model reply."""
    path = PACKAGES / problem / "solutions" / name
    return f"Here it is.\n\n```{path.suffix[1:]}\n{path.read_text()}```\n"


def replying(replies: Mapping[str, Sequence[str]]) -> Model:
    """Return a model that selects replies by a keyword in the prompt, and cycles through them."""
    reply_counts = dict.fromkeys(replies, 0)

    def reply(messages: list[ChatMessage], *_: Any) -> ModelOutput:
        keyword = next(keyword for keyword in replies if keyword in messages[-1].text)
        reply_text = replies[keyword][reply_counts[keyword] % len(replies[keyword])]
        reply_counts[keyword] += 1
        output = ModelOutput.from_content("mockllm/model", reply_text)
        # Otherwise the mock counts tokens with a table from the network.
        output.usage = ModelUsage(
            input_tokens=10, output_tokens=len(reply_text), total_tokens=10 + len(reply_text)
        )
        return output

    return get_model("mockllm/model", custom_outputs=reply)


def run(task: str, model: Model, logs: Path, **options: Any) -> EvalLog:
    task_args = {name[2:]: options.pop(name) for name in list(options) if name.startswith("T_")}
    [log] = evaluate(task, model=model, task_args=task_args, log_dir=str(logs), display="none", **options)
    return log


def metrics(log: EvalLog) -> dict[str, float]:
    assert log.results is not None
    return {name: metric.value for score in log.results.scores for name, metric in score.metrics.items()}


def command(*arguments: str, folder: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run the command of inspect_ai."""
    return subprocess.run(
        [*COMMAND, *arguments],
        cwd=folder,
        env=os.environ | variables,
        capture_output=True,
        text=True,
        check=False,
        timeout=LONGEST,
    )


# A solver for the command line, where the mock model cannot return replies: it counts tokens.
# Its second epoch does not start while a file `wait` exists.
SOLVER = """
import asyncio
import pathlib
from inspect_ai.model import ModelOutput
from inspect_ai.solver import solver

@solver
def replies():
    async def solve(state, generate):
        text = pathlib.Path(f"{state.metadata['problem_id']}.reply").read_text()
        with open("asked", "a") as asked:
            asked.write(f"{state.sample_id}#{state.epoch}\\n")
        while state.epoch == 2 and pathlib.Path("wait").exists():
            await asyncio.sleep(0.1)
        state.output = ModelOutput.from_content("mockllm/model", text)
        return state
    return solve
"""
