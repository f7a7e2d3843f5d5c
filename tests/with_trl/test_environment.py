"""Contests as environments of TRL's GRPO trainer, with a tiny random model and scripted tool calls."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

trl = pytest.importorskip("trl", reason="TRL is not installed")

from tiny_model import dataset, model, tokenizer  # noqa: E402
from transformers.utils import get_json_schema  # noqa: E402
from trl.chat_template_utils import qwen3_chat_template  # noqa: E402

from ioi_eval.integrations.runtime import close_all  # noqa: E402
from ioi_eval.plugins.contest import RefusedCall, UnjudgedCall  # noqa: E402
from ioi_eval.plugins.contest.episodes import EpisodeSource  # noqa: E402
from ioi_eval.plugins.contest.trl import ContestEnvironment, make_environment  # noqa: E402

PACKAGES = Path(__file__).resolve().parents[2] / "examples" / "problems"
TIDE = (PACKAGES / "tide" / "solutions" / "model_solution" / "backwards.cpp").read_text()
NOTHING = "int main() {}"


@pytest.fixture(scope="module", autouse=True)
def own_runtime() -> Iterator[None]:
    yield
    close_all()


def test_trl_environment_describes_its_tools_and_returns_episode_reward() -> None:
    environment = make_environment(str(PACKAGES), submissions=2)()
    assert "Problem `tide`" in environment.reset(problem_id="tide", prompt="a column")
    for tool in (environment.run, environment.test, environment.submit):
        schema = get_json_schema(tool)["function"]
        assert schema["description"] and all(
            entry["description"] for entry in schema["parameters"]["properties"].values()
        )
    assert asyncio.run(environment.run(NOTHING, input="1"))["ended"] == "completed"
    with pytest.raises(RefusedCall, match="not available"):
        asyncio.run(environment.submit(NOTHING, "klingon"))
    assert asyncio.run(environment.submit(NOTHING))["submissions_left"] == 1 and environment.get_reward() == 0
    assert asyncio.run(environment.submit(TIDE))["points"] == 100 and environment.get_reward() == 1


def test_judge_failure_gives_no_reward_in_trl_environment(tmp_path: Path) -> None:
    shutil.copytree(PACKAGES / "threes", tmp_path / "threes")
    [checker] = (tmp_path / "threes" / "checker").glob("checker.cpp")
    checker.write_text("no program\n")
    environment = make_environment(str(tmp_path))()
    environment.reset("threes")
    with pytest.raises(UnjudgedCall):
        asyncio.run(environment.submit(NOTHING))
    assert environment.get_reward() is None


class Submitting(ContestEnvironment):
    """Submits a program at the reward, instead of the model. Every second program is right."""

    ends = 0

    def get_reward(self) -> float | None:
        Submitting.ends += 1
        asyncio.run(self.submit(TIDE if Submitting.ends % 2 else NOTHING))
        return super().get_reward()


def test_grpo_trainer_steps_with_contest_environment(tmp_path: Path) -> None:
    tiny_tokenizer = tokenizer()
    tiny_tokenizer.chat_template = qwen3_chat_template  # a template whose tool calls the trainer can read
    tiny = model(len(tiny_tokenizer))
    tiny.config.max_position_embeddings = 1 << 14
    episodes = EpisodeSource(str(PACKAGES), {"submissions": 2})
    trainer = trl.GRPOTrainer(
        model=tiny,
        args=trl.GRPOConfig(
            output_dir=str(tmp_path),
            use_cpu=True,
            bf16=False,
            per_device_train_batch_size=4,
            num_generations=4,
            max_completion_length=8,
            max_steps=1,
            logging_steps=1,
            save_strategy="no",
            report_to=[],
            disable_tqdm=True,
        ),
        train_dataset=dataset(4, conversational=True, problem_id="tide"),
        processing_class=tiny_tokenizer,
        environment_factory=lambda: Submitting(episodes),
    )
    trainer.train()
    (logged,) = [
        log_entry for log_entry in trainer.state.log_history if "rewards/Submitting/mean" in log_entry
    ]
    assert logged["rewards/Submitting/mean"] == 0.5 and Submitting.ends == 4
