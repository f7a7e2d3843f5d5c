from __future__ import annotations

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from support.waiting import until

from ioi_eval.engines.threads import run_in_thread_to_end


async def test_run_to_end_returns_result_of_thread() -> None:
    assert await run_in_thread_to_end(lambda: 7) == 7


async def test_run_to_end_raises_error_of_thread() -> None:
    with pytest.raises(ZeroDivisionError):
        await run_in_thread_to_end(lambda: 1 // 0)


@pytest.mark.parametrize("cancellations", [1, 3])
async def test_cancelled_run_to_end_waits_for_the_thread_and_undoes_its_result(cancellations: int) -> None:
    begun, go = threading.Event(), threading.Event()
    undone: list[int] = []

    def work() -> int:
        begun.set()
        go.wait()
        return 7

    hurried: list[bool] = []
    task = asyncio.create_task(
        run_in_thread_to_end(work, stop_early=lambda: hurried.append(True), undo=undone.append)
    )
    await until(begun.is_set)
    for _ in range(cancellations):
        task.cancel()
        await asyncio.sleep(0)
        assert not task.done()
    go.set()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert undone == [7]
    assert hurried == [True]


async def test_error_in_thread_is_dropped_if_run_to_end_is_cancelled() -> None:
    begun, go = threading.Event(), threading.Event()

    def work() -> int:
        begun.set()
        go.wait()
        raise ValueError("unseen")

    with ThreadPoolExecutor(1) as executor:
        task = asyncio.create_task(run_in_thread_to_end(work, executor=executor, stop_early=go.set))
        await until(begun.is_set)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
