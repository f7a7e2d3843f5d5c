"""Steps of TRL's GRPO trainer with ioi_eval's rewards and a tiny random model.

The model writes no programs, so some tests replace its completions by programs before they are judged. It
runs if TRL is installed; tools/peers creates such an environment.
"""

from __future__ import annotations

import math
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

trl = pytest.importorskip("trl", reason="TRL is not installed")

from tiny_model import TESTS, dataset, model, tokenizer  # noqa: E402

from ioi_eval.integrations.rewards import RewardMode, RewardOptions  # noqa: E402
from ioi_eval.integrations.runtime import close_all  # noqa: E402
from ioi_eval.integrations.trl import make_async_reward, make_reward, reward, reward_async  # noqa: E402

HERE = Path(__file__).parent
RIGHT, HALF, WRONG = "print(2 * int(input()))", "print(min(4, 2 * int(input())))", "print(0)"
PROGRAMS = [f"```python\n{code}\n```" for code in (RIGHT, HALF, WRONG)] + ["I do not know."]


@pytest.fixture(scope="module", autouse=True)
def own_runtime() -> Iterator[None]:
    yield
    close_all()


def trained(functions: Any, rows: Any, folder: Path, **options: Any) -> Any:
    """Return a trainer after two steps, each with four completions of a prompt."""
    tiny_tokenizer = tokenizer()
    arguments = trl.GRPOConfig(
        output_dir=str(folder),
        use_cpu=True,
        bf16=False,
        per_device_train_batch_size=4,
        num_generations=4,
        max_completion_length=8,
        max_steps=2,
        logging_steps=1,
        save_strategy="no",
        report_to=[],
        disable_tqdm=True,
        **options,
    )
    trainer = trl.GRPOTrainer(
        model=model(len(tiny_tokenizer)),
        reward_funcs=functions,
        args=arguments,
        train_dataset=rows,
        processing_class=tiny_tokenizer,
    )
    trainer.train()
    return trainer


def logged(trainer: Any, name: str) -> list[float]:
    return [line[name] for line in trainer.state.log_history if name in line]


def with_programs(give: Callable[..., Any], conversational: bool = False) -> Callable[..., Any]:
    def programs(completions: list[Any], **columns: Any) -> Any:
        if conversational:
            assert all(
                isinstance(completion, list) and completion[-1]["role"] == "assistant"
                for completion in completions
            )
            return give(
                completions=[[{"role": "assistant", "content": program}] for program in PROGRAMS], **columns
            )
        assert all(isinstance(completion, str) for completion in completions)
        return give(completions=PROGRAMS, **columns)

    return programs


def test_grpo_steps_with_model_replies_without_programs_log_reward_0(tmp_path: Path) -> None:
    """With a sync and an async reward at once."""
    trainer = trained([reward, reward_async], dataset(4, ground_truth=TESTS), tmp_path)
    assert trainer.state.global_step == 2
    assert logged(trainer, "rewards/ioi_eval_reward/mean") == [0, 0]
    assert logged(trainer, "ioi_eval_reward/solved") == [0, 0]
    assert all(math.isfinite(loss) for loss in logged(trainer, "loss"))


@pytest.mark.parametrize("conversational", [False, True])
def test_rewards_determine_grpo_advantages_and_are_logged(tmp_path: Path, conversational: bool) -> None:
    give = with_programs(make_reward(name="code"), conversational)
    rows = dataset(4, conversational=conversational, input_output=TESTS)
    trainer = trained(give, rows, tmp_path)
    assert logged(trainer, "rewards/programs/mean") == [pytest.approx(1.5 / 4)] * 2
    assert logged(trainer, "code/solved") == [0.25] * 2 and logged(trainer, "code/no_code") == [0.25] * 2
    assert all(seconds > 0 for seconds in logged(trainer, "code/seconds"))
    assert list(trainer._logs["extra"]["code/verdict"]) == ["AC", "WA", "WA", "no code"]
    advantages = list(trainer._logs["advantages"])[-4:]
    assert advantages[0] > advantages[1] > advantages[2] == advantages[3]


def test_async_reward_is_awaited_by_grpo(tmp_path: Path) -> None:
    inner = make_async_reward(RewardOptions(mode=RewardMode.PASS_FAIL), name="code")

    async def programs(completions: list[Any], **columns: Any) -> Any:
        return await inner(completions=PROGRAMS, **columns)

    cases = [{"input": "2\n", "output": "4\n"}, {"input": "5\n", "output": "10\n"}]
    rows = dataset(4, verification_info={"language": "python", "test_cases": cases})
    trainer = trained(programs, rows, tmp_path)
    assert logged(trainer, "rewards/programs/mean") == [0.25] * 2
    assert logged(trainer, "code/solved") == [0.25] * 2


def test_unjudgeable_rows_do_not_stop_grpo_training(tmp_path: Path) -> None:
    """Their reward and advantage are missing."""
    trainer = trained(with_programs(make_reward(name="code")), dataset(4, tests="{"), tmp_path)
    assert trainer.state.global_step == 2
    assert logged(trainer, "code/not_judged") == [1] * 2
    assert all(math.isfinite(loss) for loss in logged(trainer, "loss"))


def test_grpo_processes_judge_their_own_completions(tmp_path: Path) -> None:
    """Rewards, logs and gradients are combined."""
    command = [sys.executable, "-m", "torch.distributed.run", "--nproc_per_node=2", HERE / "two_processes.py"]
    python_path = os.pathsep.join([str(HERE), *filter(None, [os.environ.get("PYTHONPATH")])])
    variables = {**os.environ, "PYTHONPATH": python_path, "OMP_NUM_THREADS": "1"}
    completed = subprocess.run(
        [*map(str, command), str(tmp_path)],
        env=variables,
        capture_output=True,
        text=True,
        check=False,
        timeout=1800,
    )
    assert completed.returncode == 0, completed.stderr[-3000:]
    assert completed.stdout.count("rewards [0.5, 0.5] solved [0.5, 0.5] steps 2 slots 1") == 2, (
        completed.stdout
    )
