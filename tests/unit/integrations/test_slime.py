"""The reward for slime, and recipes for trainers that are not installed here."""

from __future__ import annotations

import asyncio
import re
import sys
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from ioi_eval.errors import InputError
from ioi_eval.integrations.rewards import RewardMode, RewardOptions
from ioi_eval.integrations.slime import custom_rm, make_custom_rm
from ioi_eval.integrations.trl import make_reward, reward, reward_async

pytestmark = pytest.mark.usefixtures("closing_reward_runtimes")

PAGE = (Path(__file__).parents[3] / "docs" / "integrations.md").read_text()
TESTS = {"inputs": ["2\n", "0\n"], "outputs": ["4\n", "0\n"]}
RIGHT, HALF = "```python\nprint(2 * int(input()))\n```", "```python\nprint(0)\n```"


@dataclass
class Sample:
    """A sample with slime's fields."""

    response: str
    label: Any = None
    prompt: str = "?"
    metadata: dict[str, Any] = field(default_factory=dict)


def block(marker: str) -> dict[str, Any]:
    page_code = next(code for code in re.findall(r"```python\n(.*?)```", PAGE, re.S) if marker in code)
    names: dict[str, Any] = {}
    exec(page_code, names)
    return names


def test_slime_custom_rm_rewards_sample_or_group() -> None:
    group = [
        Sample(RIGHT, TESTS),
        Sample(HALF, TESTS),
        Sample(RIGHT, "{"),
        Sample(RIGHT, None, metadata={"tests": TESTS}),
    ]

    async def judged() -> list[Any]:
        single_reward = await custom_rm(None, group[0], evaluation=True)
        return [single_reward, await custom_rm(None, group, evaluation=True), await custom_rm(None, [])]

    assert asyncio.run(judged()) == [1, [1, 0.5, 0, 1], []]
    own_reward = block("make_custom_rm")["custom_rm"]
    assert asyncio.run(own_reward(None, group[1])) == 0
    with pytest.raises(InputError, match="unknown reward option"):
        make_custom_rm(modus="pass_fail")
    with pytest.raises(InputError, match=r"is not a sample of slime.*custom_rm"):
        asyncio.run(custom_rm(None, "text"))


def test_documented_reward_recipes_work(monkeypatch: pytest.MonkeyPatch) -> None:
    torch: Any = ModuleType("torch")
    torch.tensor = list
    types: Any = ModuleType("rllm.rewards.reward_types")
    types.RewardOutput = lambda **fields: fields
    for name, module in {"torch": torch, "rllm.rewards.reward_types": types}.items():
        monkeypatch.setitem(sys.modules, name, module)
    for name in ("rllm", "rllm.rewards"):
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
    names = block("areal_reward")
    assert names["areal_reward"]("?", RIGHT, [1], [2], input_output=TESTS, difficulty="easy") == 1
    openrlhf = names["reward_func"]([f"?{RIGHT}", f"?{HALF}"], ["?", "?"], [TESTS, TESTS])
    assert openrlhf["rewards"] == [1, 0.5]
    assert names["rllm_reward"]({"ground_truth": TESTS}, RIGHT) == {"reward": 1, "is_correct": True}


@pytest.mark.parametrize(
    ("positional", "keywords", "message"),
    [
        (("pass_fail",), {}, "options must be RewardOptions, not str"),
        (({"mode": "pass_fail"},), {}, "options must be RewardOptions, not dict"),
        ((), {"mode": "pass_fail"}, r"mode.*Write make_reward\(RewardOptions\(mode=\.\.\.\)\)"),
        ((), {"problem": []}, "problem.*The arguments of make_reward are RewardOptions"),
    ],
)
def test_wrong_make_reward_call_is_input_error(positional: Any, keywords: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        make_reward(*positional, **keywords)


@pytest.mark.parametrize(
    ("positional", "keywords", "message"),
    [
        (([RIGHT],), {}, "the call has prompts but no completions.*reward\\(completions="),
        ((), {"completions": RIGHT}, "completions must be a list, not str"),
        ((None, {"a": RIGHT}), {}, "completions must be a list, not dict"),
    ],
)
def test_wrong_reward_call_is_input_error(positional: Any, keywords: Any, message: str) -> None:
    for call in (reward, lambda *args, **more: asyncio.run(reward_async(*args, **more))):
        with pytest.raises(InputError, match=message):
            call(*positional, **keywords, ground_truth=[TESTS])


def test_positional_and_keyword_reward_calls_work() -> None:
    give = make_reward(RewardOptions(mode=RewardMode.PASS_FAIL), name="own")
    assert give(["?"], [HALF], ground_truth=[TESTS]) == [0]
    assert give(prompts=[], completions=[], ground_truth=[]) == []
