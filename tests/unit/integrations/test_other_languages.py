"""A reward warns once if completions are in another language than its setting.

A process warns once of each pair of languages, so each test has its own pairs.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
import pytest
from reward_answers import RIGHT, TESTS

from ioi_eval.integrations.other_languages import warn_of_other_language
from ioi_eval.integrations.rewards import RewardOptions
from ioi_eval.integrations.runtime import close_all
from ioi_eval.integrations.trl import make_reward
from ioi_eval.integrations.verl import compute_score
from ioi_eval.models import Limits, Problem, TaskType
from ioi_eval.scoring import find_language

CPP = '#include <cstdio>\nint main() { int n; scanf("%d", &n); printf("%d", 2 * n); }'
PYTHON = "print(2 * int(input()))"
PROBLEM = Problem(id="double", limits=Limits.contest(1.0, 256 << 20))


@pytest.fixture
def closing_reward_runtimes() -> Iterator[None]:
    yield
    close_all()


@pytest.mark.parametrize(
    ("completion", "language", "other_language"),
    [
        (f"```cpp\n{CPP}\n```", "java", "c++"),
        (f"```\n{CPP}\n```", "go", "c++"),
        (CPP, "rust", "c++"),
        (f"```python\n{PYTHON}\n```", "java", "python"),
        (f"```\n{PYTHON}\n```", "go", "python"),
    ],
)
def test_completions_in_another_language_are_logged_once(
    caplog: pytest.LogCaptureFixture, completion: str, language: str, other_language: str
) -> None:
    for _ in range(3):
        warn_of_other_language(completion, PROBLEM, find_language(language))
    [message] = caplog.messages
    assert f"is in {other_language}, but completions are judged in {language}" in message
    assert f"language={other_language!r}" in message


@pytest.mark.parametrize("completion", ["", "I do not know.", "Use `#include` and a loop.", "```\nab\n```"])
def test_completion_without_program_is_not_logged(caplog: pytest.LogCaptureFixture, completion: str) -> None:
    warn_of_other_language(completion, PROBLEM, find_language("pascal"))
    assert not caplog.messages


def test_language_that_the_problem_refuses_is_not_logged(caplog: pytest.LogCaptureFixture) -> None:
    function_problem = msgspec.structs.replace(PROBLEM, task_type=TaskType.FUNCTION)
    warn_of_other_language("```rust\nfn main() {}\n```", function_problem, find_language("python"))
    assert not caplog.messages


@pytest.mark.usefixtures("closing_reward_runtimes")
def test_rewards_of_trainers_warn_of_another_language(caplog: pytest.LogCaptureFixture) -> None:
    completion = f"```cpp\n{CPP}\n```"
    give, languages = make_reward(RewardOptions(no_code=-1.0)), ["python", "haskell", "haskell"]
    rewards = give(completions=[RIGHT, completion, completion], tests=[TESTS] * 3, language=languages)
    assert rewards == [1, -1, -1]
    compute_score("any", completion, TESTS, {"language": "haskell"})
    assert sum("is in c++" in message for message in caplog.messages) == 1
