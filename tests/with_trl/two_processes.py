"""Trains in each process of a launcher, and prints the logs of each. Started by test_grpo.py."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

from test_grpo import PROGRAMS, logged, trained
from tiny_model import TESTS, dataset

from ioi_eval.engines.environment import DistributedProcess
from ioi_eval.integrations.trl import make_reward

give = make_reward(name="code")


def programs(completions: list[Any], **columns: Any) -> Any:
    """Return right programs in the first process, and no programs in the second."""
    program = PROGRAMS[0] if os.environ["RANK"] == "0" else PROGRAMS[3]
    return give(completions=[program] * len(completions), **columns)


trainer = trained(programs, dataset(8, tests=TESTS), Path(sys.argv[1]), generation_batch_size=8)
rewards, solved = logged(trainer, "rewards/programs/mean"), logged(trainer, "code/solved")
slots = DistributedProcess.from_environment_variables(os.environ).count_process_cores(2)
print(f"rewards {rewards} solved {solved} steps {trainer.state.global_step} slots {slots}")
