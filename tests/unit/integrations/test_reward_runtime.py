"""The runtime of rewards: shared by threads, not by child processes, and closed at exit."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import queue
import subprocess
import sys
import threading
from concurrent.futures import CancelledError, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from reward_answers import RIGHT, TESTS, WRONG, fenced
from support.cached_lookups import script_with_known_tools

from ioi_eval import EmbeddedEngine, Store
from ioi_eval.errors import JudgeFailure
from ioi_eval.integrations import runtime as runtimes
from ioi_eval.integrations.rewards import RewardMode, RewardOptions
from ioi_eval.integrations.runtime import Runtime, Setup, close_all, runtime
from ioi_eval.integrations.trl import make_reward
from ioi_eval.integrations.verl import compute_score
from ioi_eval.models import Job, JobResult
from ioi_eval.testing import FakeEngine

pytestmark = pytest.mark.usefixtures("closing_reward_runtimes")


def test_threads_share_reward_runtime(monkeypatch: pytest.MonkeyPatch) -> None:
    opened = list[Runtime]()

    def open_and_record(setup: Setup) -> Runtime:
        opened.append(Runtime(setup))
        return opened[-1]

    monkeypatch.setattr(runtimes, "Runtime", open_and_record)
    with ThreadPoolExecutor(4) as pool:
        scores = list(pool.map(lambda text: compute_score("apps", text, TESTS), [RIGHT, WRONG] * 4))
    assert scores == [1, 0] * 4
    assert len(opened) == 1


def test_forked_child_releases_engine_of_parent(monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise the parent could not close its sandboxes."""
    own_runtime, context = runtime(Setup(engine=lambda _: FakeEngine())), multiprocessing.get_context("fork")
    let_go = context.SimpleQueue()
    monkeypatch.setattr(
        Runtime, "close_files_after_fork", lambda inherited: let_go.put(inherited is own_runtime)
    )
    child = context.Process(target=int)
    child.start()
    child.join(60)
    assert not let_go.empty() and let_go.get() and let_go.empty()


def test_closing_reward_runtime_cancels_running_calls() -> None:
    own_runtime, begun, ended = (
        runtime(Setup(engine=lambda _: FakeEngine())),
        threading.Event(),
        queue.Queue[str](),
    )

    async def for_ever() -> None:
        begun.set()
        await asyncio.Event().wait()

    def call() -> None:
        try:
            own_runtime.call(for_ever())
        except CancelledError:
            ended.put("cancelled")

    threading.Thread(target=call, daemon=True).start()
    assert begun.wait(60)
    own_runtime.close()
    assert ended.get(timeout=60) == "cancelled"


def in_child(answers: Any, parents: int) -> None:
    own_runtime = runtime()
    answers.put((id(own_runtime) != parents, compute_score("apps", RIGHT, TESTS)))
    close_all()


def answer_of_child() -> Any:
    context = multiprocessing.get_context("fork")
    answers = context.Queue()
    child = context.Process(target=in_child, args=(answers, id(runtime())))
    child.start()
    answer = answers.get(timeout=120)
    child.join(60)
    assert child.exitcode == 0
    return answer


def test_forked_child_has_own_reward_runtime(monkeypatch: pytest.MonkeyPatch) -> None:
    begun, real = threading.Event(), EmbeddedEngine.execute

    async def execute(engine: EmbeddedEngine, job: Job, check: Any = None) -> JobResult:
        # Later, because the child must not need a lock that a thread of its parent holds at the fork.
        asyncio.get_running_loop().call_later(0.2, begun.set)
        return await real(engine, job, check)

    monkeypatch.setattr(EmbeddedEngine, "execute", execute)
    slow = fenced("while True: pass")
    give = make_reward(RewardOptions(time_limit=0.5, mode=RewardMode.PASS_FAIL))
    with ThreadPoolExecutor(1) as pool:
        under_way = pool.submit(give, completions=[slow, RIGHT], tests=[TESTS] * 2)
        assert begun.wait(60)
        assert answer_of_child() == (True, 1)
        assert under_way.result() == [0, 1]
    assert compute_score("apps", WRONG, TESTS) == 0


def test_interrupted_reward_call_is_cancelled() -> None:
    started: queue.Queue[asyncio.Task[Any] | None] = queue.Queue()

    async def endless() -> None:
        started.put(asyncio.current_task())
        await asyncio.Event().wait()

    own_runtime = runtime()

    async def interrupt() -> None:
        waiting = asyncio.ensure_future(own_runtime.wait(endless()))
        task = await asyncio.to_thread(started.get)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        assert task is not None
        assert await own_runtime.wait(is_cancelled(task))

    async def is_cancelled(task: asyncio.Task[Any]) -> bool:
        await asyncio.wait([task])
        return task.cancelled()

    asyncio.run(interrupt())


def test_closed_reward_runtime_is_replaced() -> None:
    first = runtime()
    close_all()
    assert runtime() is not first

    async def waits_for_itself() -> None:
        runtime().call(asyncio.sleep(0))

    with pytest.raises(Exception, match="cannot wait for its own result"):
        runtime().call(waits_for_itself())


def test_reward_runtime_start_failure_is_raised() -> None:
    def fails(_store: Store) -> FakeEngine:
        raise JudgeFailure("no engine today")

    with pytest.raises(JudgeFailure, match="no engine today"):
        runtime(Setup(engine=fails))


# A trainer, and a process that it spawned: both judge, and exit without output.
TRAINING = f"""
import multiprocessing, os
from concurrent.futures import ProcessPoolExecutor
from ioi_eval.integrations.trl import reward
from ioi_eval.integrations.verl import compute_score

if __name__ == "__main__":
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        far = pool.submit(compute_score, "apps", {RIGHT!r}, {TESTS!r})
        near, other = reward(completions=[{RIGHT!r}], tests=[{TESTS!r}]), pool.submit(os.getpid)
        print(os.getpid(), other.result(), near, far.result())
"""


def test_program_that_exits_leaves_no_sandbox(tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text(script_with_known_tools(tmp_path / "tools.json") + TRAINING)
    completed = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=120)
    assert completed.returncode == 0, completed.stderr
    first, second, answers = completed.stdout.split(maxsplit=2)
    assert (answers.strip(), completed.stderr) == ("[1.0] 1.0", "")
    folders = [
        folder.name
        for base in (Path("/dev/shm"), Path(os.environ.get("TMPDIR", "/tmp")))
        for folder in base.iterdir()
        if folder.name.startswith("ioi-eval")
    ]
    assert not [name for name in folders if f"-{first}-" in name or f"-{second}-" in name]
