"""`ioi_eval/contest` with inspect_ai: an agent with tools and a scripted model."""

from __future__ import annotations

import math
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("inspect_ai", reason="inspect_ai is not installed")

from inspect_ai.log import EvalLog
from inspect_ai.model import ChatMessage, Model, ModelOutput, ModelUsage, get_model
from inspect_runs import PACKAGES, metrics, run

TIDE = (PACKAGES / "tide" / "solutions" / "model_solution" / "backwards.cpp").read_text()
NOTHING = "int main() {}"


def scripted(*calls: tuple[str, dict[str, Any]]) -> Model:
    """Return a model that calls these tools in order and then stops."""
    waiting: Iterator[tuple[str, dict[str, Any]]] = iter(calls)

    def reply(messages: list[ChatMessage], *_: Any) -> ModelOutput:
        call = next(waiting, None)
        output = (
            ModelOutput.from_content("mockllm/model", "I am done.")
            if call is None
            else ModelOutput.for_tool_call("mockllm/model", *call)
        )
        output.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)
        return output

    return get_model("mockllm/model", custom_outputs=reply)


def tool_replies(log: EvalLog) -> list[str]:
    (sample,) = log.samples or ()
    return [
        message.error.message if message.error else message.text
        for message in sample.messages
        if message.role == "tool"
    ]


def contest(tmp_path: Path, model: Model, source: Path = PACKAGES, **options: Any) -> EvalLog:
    task_options = {"T_source": str(source), "T_problems": ["tide"], **options}
    return run("ioi_eval/contest", model, tmp_path, **task_options)


def test_contest_sample_ends_when_agent_has_full_marks(tmp_path: Path) -> None:
    model = scripted(
        ("run", {"code": NOTHING, "input": "1"}),
        ("submit", {"code": NOTHING}),
        ("submit", {"code": NOTHING, "language": "klingon"}),
        ("submit", {"code": TIDE}),
        ("submit", {"code": NOTHING + "// never asked for"}),
    )
    log = contest(tmp_path, model, T_submissions=5)
    assert log.status == "success", log.error
    assert metrics(log)["mean"] == 1
    replies = tool_replies(log)
    assert (
        len(replies) == 4 and '"ended": "completed"' in replies[0] and '"submissions_left": 4' in replies[1]
    )
    assert "the language 'klingon' is not available" in replies[2] and '"best": 100.0' in replies[3]
    (sample,) = log.samples or ()
    assert "Problem `tide`" in sample.messages[1].text and "Submissions for each problem: 5" in str(
        sample.input
    )
    assert (sample.scores or {})["contest_points"].explanation == "100 points by 2 submissions"


def test_submission_and_message_limits_end_a_sample_with_its_score(tmp_path: Path) -> None:
    endless = [("submit", {"code": f"{NOTHING} // {number}"}) for number in range(40)]
    ours = contest(tmp_path / "ours", scripted(*endless), T_submissions=2, T_feedback="points")
    assert (
        len(tool_replies(ours)) == 2
        and '"subtasks"' not in tool_replies(ours)[0]
        and metrics(ours)["mean"] == 0
    )
    theirs = contest(tmp_path / "theirs", scripted(*endless), message_limit=8)
    (sample,) = theirs.samples or ()
    assert sample.limit is not None and sample.limit.type == "message"
    assert (sample.scores or {})["contest_points"].metadata["submissions"] == len(tool_replies(theirs))


def test_judge_failure_in_contest_is_an_unscored_sample(tmp_path: Path) -> None:
    shutil.copytree(PACKAGES / "threes", tmp_path / "packages" / "threes")
    [checker] = (tmp_path / "packages" / "threes" / "checker").glob("checker.cpp")
    checker.write_text("no program\n")
    model = scripted(("submit", {"code": NOTHING}))
    log = contest(tmp_path, model, tmp_path / "packages", T_problems=["threes"])
    (sample,) = log.samples or ()
    assert "the judge failed" in tool_replies(log)[0]
    assert math.isnan((sample.scores or {})["contest_points"].as_float())


def test_invalid_contest_rule_is_reported(tmp_path: Path) -> None:
    with pytest.raises(Exception, match="a rule of the contest is invalid"):
        contest(tmp_path, scripted(), T_feedback="everything")
