"""eval-protocol's decorator over a dataset of APPS, with rollouts by a server on this machine.

It runs if eval-protocol is installed; scripts/test creates such an environment.
"""

# Without `from __future__ import annotations`: the decorator reads the types at run time.

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

models = pytest.importorskip("eval_protocol.models", reason="eval-protocol is not installed")

from eval_protocol.pytest import SingleTurnRolloutProcessor, evaluation_test  # noqa: E402
from support.stub_server import StubReply, StubRequest, chat_reply, model_server  # noqa: E402

from ioi_eval.integrations.eval_protocol import (  # noqa: E402
    EvaluateResult,
    EvaluationRow,
    Message,
    apps_dataset_to_evaluation_row,
    evaluate_apps_solution,
)

ANSWERS = {
    "Double it.": "```python\nprint(2 * int(input()))\n```",
    "Half of them.": "```python\nprint(min(4, 2 * int(input())))\n```",
    "Nothing right.": "```python\nprint('no')\n```",
}
TESTS = json.dumps({"inputs": ["2\n", "21\n"], "outputs": ["4\n", "42\n"]})
HERE = Path(__file__).parent
DATASET = HERE / "apps_sample.jsonl"
asked: list[dict[str, Any]] = []
scores: dict[str, float] = {}


def reply(request: StubRequest) -> StubReply:
    asked.append(request.body)
    return chat_reply(
        ANSWERS[request.prompt], usage={"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
    )


@pytest.fixture(scope="module", autouse=True)
def model() -> Iterator[None]:
    with model_server(reply) as server, pytest.MonkeyPatch.context() as patch:
        patch.setenv("EP_LLM_API_BASE", server.url)
        patch.setenv("OPENAI_API_KEY", "none")
        yield


def test_exported_types_are_those_of_eval_protocol() -> None:
    assert (EvaluateResult, EvaluationRow, Message) == (
        models.EvaluateResult,
        models.EvaluationRow,
        models.Message,
    )


@evaluation_test(
    input_dataset=[str(DATASET)],
    dataset_adapter=apps_dataset_to_evaluation_row,
    completion_params=[{"model": "openai/local", "temperature": 0.0, "max_tokens": 4096}],
    passed_threshold=0.33,
    rollout_processor=SingleTurnRolloutProcessor(),
    num_runs=1,
    mode="pointwise",
    disable_browser_open=True,
)
def test_apps_code_evaluation(row: EvaluationRow) -> EvaluationRow:
    row.evaluation_result = evaluate_apps_solution(messages=row.messages, ground_truth=row.ground_truth)
    scores[row.messages[0].content] = row.evaluation_result.score
    return row


def test_eval_protocol_rollouts_are_requested_and_judged() -> None:
    assert sorted(request["messages"][-1]["content"] for request in asked) == sorted(ANSWERS)
    assert scores == {"Double it.": 1.0, "Half of them.": 0.5, "Nothing right.": 0.0}
