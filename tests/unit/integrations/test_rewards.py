"""Rewards as trainers ask for them, on the embedded engine of this process."""

from __future__ import annotations

import asyncio
import itertools
import json
import multiprocessing
import os
import queue
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from ioi_eval.cases import CasesError
from ioi_eval.engines.fake import Broken, FakeEngine
from ioi_eval.errors import InputError, JudgeFailure
from ioi_eval.integrations import runtime as runtimes
from ioi_eval.integrations.rewards import Mode, RewardOptions
from ioi_eval.integrations.runtime import Setup, close_all, runtime
from ioi_eval.integrations.trl import make_reward, reward
from ioi_eval.integrations.verl import compute_score, compute_score_async
from ioi_eval.models import Blob, Problem, ScoreType, Subtask, Test
from ioi_eval.problems import Problems
from ioi_eval.store import Store

TESTS = json.dumps({"inputs": ["2\n", "5\n", "9\n"], "outputs": ["4", "10", "18"]})
CALLS = json.dumps({"fn_name": "twice", "inputs": [[2], [5]], "outputs": [4, 10]})


def fenced(code: str) -> str:
    return f"<think>print(0)</think>Here it is:\n```python\n{code}\n```\n"


RIGHT = fenced("print(2 * int(input()))")
PARTLY = fenced("print(min(10, 2 * int(input())))")
WRONG = fenced("print('no')")
BROKEN = fenced("print(")
NO_CODE = "I do not know."
EVERYTHING = [RIGHT, PARTLY, WRONG, BROKEN, NO_CODE]


@pytest.fixture(autouse=True)
def own_runtimes(shared_cache: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("IOI_EVAL_CACHE", str(shared_cache))
    yield
    close_all()


def rewards(mode: Mode, completions: list[Any] = EVERYTHING, **columns: Any) -> list[float | None]:
    give = make_reward(RewardOptions(mode=mode))
    return give(prompts=["?"] * len(completions), completions=completions, **columns)


def test_every_mode_has_its_numbers() -> None:
    column = {"input_output": [TESTS] * 5}
    third = pytest.approx(2 / 3)
    assert rewards(Mode.PARTIAL, **column) == [1, third, 0, -0.1, -1]
    assert rewards(Mode.PASS_FAIL, **column) == [1, 0, 0, -0.1, -1]
    assert rewards(Mode.WEIGHTED_SUM, **column) == [1.1, pytest.approx(0.2 / 3), 0, -0.1, -1]


def test_penalties_are_options() -> None:
    give = make_reward(RewardOptions(no_code=-7, no_compile=-8, partial_weight=0.5))
    assert give(completions=EVERYTHING, tests=[TESTS] * 5) == [1.5, pytest.approx(1 / 3), 0, -8, -7]


def test_what_trl_gives() -> None:
    """Conversations as completions, columns that mean nothing here, things that are no columns."""
    given = [[{"role": "assistant", "content": RIGHT}], [{"role": "assistant", "content": WRONG}]]
    found = reward(
        prompts=[[{"role": "user", "content": "?"}]] * 2,
        completions=given,
        completion_ids=[[1], [2]],
        difficulty=["easy", "hard"],
        ground_truth=[TESTS, json.loads(TESTS)],
        trainer_state=object(),
    )
    assert found == [1.1, 0]
    assert reward.__name__ == "ioi_eval_reward"


def test_functions_are_called_and_tests_may_be_a_list() -> None:
    twice = fenced("def twice(n):\n    return 2 * n")
    pairs = [{"input": "1\n", "output": "2\n"}]
    assert rewards(Mode.PARTIAL, [twice, RIGHT], ground_truth=[CALLS, pairs]) == [1, 1]
    assert rewards(Mode.PARTIAL, [RIGHT], test_cases=[json.dumps(pairs)]) == [1]


def test_nobody_can_say_what_broken_tests_are_worth() -> None:
    assert rewards(Mode.PARTIAL, [RIGHT, RIGHT], ground_truth=["{", TESTS]) == [None, 1]
    assert rewards(Mode.PARTIAL, [RIGHT], ground_truth=[[{"in": "1"}]]) == [None]
    with pytest.raises(CasesError):
        compute_score("apps", RIGHT, "")


def test_no_tests_at_all_is_the_callers_fault() -> None:
    with pytest.raises(InputError, match="which tests"):
        rewards(Mode.PARTIAL, [RIGHT], answer=["42"])


def broken_engine(_store: Store) -> FakeEngine:
    return FakeEngine(faults=itertools.repeat(Broken("no machine")))


def test_a_judge_failure_is_none_and_never_a_number() -> None:
    give = make_reward(setup=Setup(engine=broken_engine))
    assert give(completions=[RIGHT, NO_CODE], tests=[TESTS] * 2) == [None, -1]


def problem_with_subtasks() -> Problem:
    tests = tuple(
        Test(name=str(n), input=Blob.of(f"{n}\n"), answer=Blob.of(f"{2 * n}\n")) for n in (1, 2, 50)
    )
    halves = (
        Subtask(name="small", points=30, tests=("1", "2"), score_type=ScoreType.GROUP_MIN),
        Subtask(name="large", points=70, tests=("50",), score_type=ScoreType.GROUP_MIN),
    )
    return Problem(id="twice", tests=tests, subtasks=halves)


def test_problems_by_id_and_their_subtasks() -> None:
    give = make_reward(RewardOptions(mode=Mode.PARTIAL), problems=Problems([problem_with_subtasks()]))
    found = give(completions=[PARTLY] * 3, problem_id=["twice"] * 3, target_subtask=["small", "large", None])
    assert found == [1, 0, pytest.approx(0.3)]


def test_verl_asks_for_one_at_a_time() -> None:
    assert compute_score("apps", PARTLY, TESTS, mode="partial") == pytest.approx(2 / 3)
    assert compute_score("apps", "print(2 * int(input()))", TESTS, {"split": "train"}) == 1.1

    async def many() -> list[float]:
        asked = (compute_score_async("apps", text, TESTS, mode="pass_fail") for text in EVERYTHING)
        return list(await asyncio.gather(*asked))

    assert asyncio.run(many()) == [1, 0, 0, -0.1, -1]


def test_verl_names_a_number_for_failures_or_hears_of_them() -> None:
    assert compute_score("apps", RIGHT, "{", on_failure=-3.0) == -3
    with pytest.raises(CasesError):
        compute_score("apps", RIGHT, "{")


def test_one_runtime_serves_all_threads() -> None:
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda text: compute_score("apps", text, TESTS), [RIGHT, WRONG] * 4))
    assert found == [1.1, 0] * 4
    assert len(runtimes._own.runtimes) == 1


def in_child(answers: Any, parents: int) -> None:
    own = runtime()
    answers.put((id(own) != parents, compute_score("apps", RIGHT, TESTS)))
    close_all()


def test_a_forked_child_has_its_own_and_harms_nobody() -> None:
    assert compute_score("apps", RIGHT, TESTS) == 1.1
    context = multiprocessing.get_context("fork")
    answers = context.Queue()
    child = context.Process(target=in_child, args=(answers, id(runtime())))
    child.start()
    assert answers.get(timeout=120) == (True, 1.1)
    child.join(60)
    assert child.exitcode == 0
    assert compute_score("apps", WRONG, TESTS) == 0


def test_interrupted_it_cancels_what_runs() -> None:
    started: queue.Queue[asyncio.Task[Any] | None] = queue.Queue()

    async def endless() -> None:
        started.put(asyncio.current_task())
        await asyncio.Event().wait()

    own = runtime()

    async def interrupt() -> None:
        waiting = asyncio.ensure_future(own.wait(endless()))
        task = await asyncio.to_thread(started.get)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        assert task is not None
        assert await own.wait(is_cancelled(task))

    async def is_cancelled(task: asyncio.Task[Any]) -> bool:
        await asyncio.wait([task])
        return task.cancelled()

    asyncio.run(interrupt())


def test_a_closed_runtime_is_replaced_and_its_own_thread_cannot_wait() -> None:
    first = runtime()
    close_all()
    assert runtime() is not first

    async def waits_for_itself() -> None:
        runtime().call(asyncio.sleep(0))

    with pytest.raises(Exception, match="own thread"):
        runtime().call(waits_for_itself())


def test_a_runtime_that_cannot_open_says_why() -> None:
    def fails(_store: Store) -> FakeEngine:
        raise JudgeFailure("no engine today")

    with pytest.raises(JudgeFailure, match="no engine today"):
        runtime(Setup(engine=fails))


def test_a_program_that_ends_leaves_no_box(tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text(
        "import os\n"
        "from ioi_eval.integrations.trl import reward\n"
        f"print(os.getpid(), reward(completions=[{RIGHT!r}], tests=[{TESTS!r}]))\n"
    )
    done = subprocess.run(
        [sys.executable, script], capture_output=True, text=True, timeout=120, env={**os.environ}
    )
    assert done.returncode == 0, done.stderr
    process, answer = done.stdout.split(maxsplit=1)
    assert (answer.strip(), done.stderr) == ("[1.1]", "")
    folders = [
        folder
        for base in (Path("/dev/shm"), Path(os.environ.get("TMPDIR", "/tmp")))
        for folder in base.iterdir()
    ]
    assert not [
        folder for folder in folders if folder.name.startswith("ioi-eval") and f"-{process}-" in folder.name
    ]
