"""Runs functions in threads, and commands, which end before a cancellation of their caller takes effect."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from functools import partial
from typing import Any, TypeVar

T = TypeVar("T")


def _do_nothing(*_: object) -> None:
    pass


async def run_in_thread_to_end(
    work: Callable[[], T],
    *,
    executor: Executor | None = None,
    stop_early: Callable[[], None] = _do_nothing,
    undo: Callable[[T], None] = _do_nothing,
) -> T:
    """Run `work` in a thread and return its result.

    If the caller is cancelled, call `stop_early`, wait for the thread, call `undo` with its result, and then
    raise CancelledError.

    Args:
        work: Called without arguments in the thread.
        executor: Provides the thread. None means the event loop's own executor.
        stop_early: Makes `work` end soon. It is also called if the event loop is closed during the work.
        undo: Receives the result that no caller receives. It is not called if `work` raised an exception.
    """
    thread_future = asyncio.get_running_loop().run_in_executor(executor, work)
    try:
        return await asyncio.shield(thread_future)
    except asyncio.CancelledError:
        stop_early()
        while not thread_future.done():
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.wait({thread_future})
        if not thread_future.cancelled() and thread_future.exception() is None:
            undo(thread_future.result())
        raise
    except GeneratorExit:  # raised when the event loop is closed, so that nothing can wait any more
        stop_early()
        raise


async def run_command(
    command: Sequence[str], *, seconds: float | None = None, **options: Any
) -> subprocess.CompletedProcess[bytes]:
    """Run a command and return its output. If it is stopped early, the programs that it started are killed.

    Raises OSError if it cannot be started, and TimeoutError after `seconds` seconds.
    """
    pipe = subprocess.PIPE
    streams = {"stdin": subprocess.DEVNULL, "stdout": pipe, "stderr": pipe}
    options = {**streams, **options, "start_new_session": True}

    def start() -> subprocess.Popen[bytes]:
        return subprocess.Popen(command, **options)

    with await run_in_thread_to_end(start, undo=_kill_process) as process:
        try:
            output = await run_in_thread_to_end(
                partial(process.communicate, timeout=seconds), stop_early=partial(_kill_process, process)
            )
        except subprocess.TimeoutExpired as error:
            _kill_process(process)
            raise TimeoutError from error
    return subprocess.CompletedProcess(command, process.returncode, *output)


def _kill_process(process: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
