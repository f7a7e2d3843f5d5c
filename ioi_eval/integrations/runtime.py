"""A judge with its own event loop, for callers without an event loop. All callers in a process share it.

Trainers call the judge from threads and fork processes. A forked child creates its own runtime when it needs
a judge, and closes its copies of its parent's files.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from concurrent.futures import wait as wait_for
from contextlib import AsyncExitStack
from typing import Any, TypeVar

from ioi_eval import Engine, JudgeOptions, Scorer, Store
from ioi_eval.engines.registry import EngineChoice, JobAndTrustedEngines, open_engine
from ioi_eval.errors import IoiEvalError
from ioi_eval.models import Problem, Submission, SubmissionResult, Value
from ioi_eval.scoring import Deduplication

T = TypeVar("T")

_MAX_CACHE_BYTES = 8 << 30
# Maximum seconds for opening a runtime, for which the proctor may have to be compiled.
_OPENING_TIMEOUT_S = 300.0
_CLOSING_TIMEOUT_S = 60.0  # maximum seconds for closing a runtime, which kills running jobs
_INTERRUPT_INTERVAL_S = 0.5  # maximum seconds until a waiting thread handles an interruption


def wait_for_result(future: Future[T]) -> T:
    """Wait for a future and return its result. An interruption such as Ctrl-C ends the wait.

    A single wait without a timeout could not be interrupted.
    """
    while not wait_for([future], _INTERRUPT_INTERVAL_S).done:
        pass
    return future.result()


class Setup(Value):
    """The settings of a runtime. Equal settings share a runtime."""

    # Name of an engine as for --engine, or a function that returns an engine. None means the servers in
    # PISTON_ENDPOINTS, or this machine if the variable is not set.
    engine: str | Callable[[Store], Engine] | None = None
    # Number of slots on this machine. None means its cores, or this process's share of the cores.
    slots: int | None = None
    options: JudgeOptions = JudgeOptions()
    # Path or version of this machine's Python for programs. Empty means IOI_EVAL_PYTHON, or else the caller's
    # interpreter.
    python: str = ""
    packages: tuple[str, ...] = ()  # Python packages that must be installed for programs

    def open_engines(self, store: Store) -> JobAndTrustedEngines:
        """Return the engines, as the command line opens them."""
        if self.engine is not None and not isinstance(self.engine, str):
            return open_engine(self.engine(store), store)
        choice = EngineChoice.from_variables(
            self.engine,
            os.environ,
            slots=self.slots,
            python=self.python,
            allow_unconfined=self.options.allow_unconfined,
        )
        return open_engine(choice, store, self.packages)


class Runtime:
    """An open judge in a thread with an event loop. Any other thread may call it."""

    def __init__(self, setup: Setup) -> None:
        self._loop = asyncio.new_event_loop()
        self._scorer: Scorer | None = None
        self._opening: JobAndTrustedEngines | None = None
        self._close_event = asyncio.Event()
        opened_future: Future[None] = Future()
        # The thread is a daemon, because the interpreter would wait forever for any other thread.
        self._thread = threading.Thread(
            target=self._run, args=(setup, opened_future), name="ioi-eval-runtime", daemon=True
        )
        self._thread.start()
        opened_future.result(_OPENING_TIMEOUT_S)

    @property
    def slots(self) -> int:
        """Return the number of builds and batches that run at the same time."""
        return self._open_scorer().slots

    @property
    def judge(self) -> Any:
        """Return the judge. Its coroutines must be passed to `call` or `wait`."""
        return self._open_scorer().judge

    def score(
        self, problem: Problem, submission: Submission, deduplication: Deduplication | None = None
    ) -> Coroutine[Any, Any, SubmissionResult]:
        """Return a coroutine for `call` or `wait`, which judges a submission. It may raise JudgeFailure."""
        return self._open_scorer().score(problem, submission, deduplication=deduplication)

    def _open_scorer(self) -> Scorer:
        """Return the scorer. Raise an error if the runtime is closed."""
        if self._scorer is None:
            raise IoiEvalError("the runtime is closed")
        return self._scorer

    def call(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine in the runtime and return its result. An interruption cancels it."""
        if threading.current_thread() is self._thread:
            coroutine.close()
            raise IoiEvalError("the runtime's event loop thread cannot wait for its own result")
        future = asyncio.run_coroutine_threadsafe(coroutine, self._loop)
        try:
            return wait_for_result(future)
        except BaseException:
            future.cancel()
            raise

    async def wait(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine in the runtime and await its result in the caller's event loop."""
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(coroutine, self._loop))

    def close(self) -> None:
        """Cancel running work and close the judge. Closing twice is allowed."""
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._close_event.set)
            self._thread.join(_CLOSING_TIMEOUT_S)

    def close_files_after_fork(self) -> None:
        """Close the copies of the parent's files in a forked child.

        The parent's processes live until all copies are closed.
        """
        if self._opening is not None:
            self._opening.close_in_forked_child()

    # --- methods that run in the thread

    def _run(self, setup: Setup, opened_future: Future[None]) -> None:
        """Run the event loop until the runtime is closed. This is the thread's function."""
        # This does not use asyncio.Runner, which starts a thread when it closes; that fails when the
        # interpreter exits.
        try:
            self._loop.run_until_complete(self._serve(setup, opened_future))
        finally:
            self._loop.close()

    async def _serve(self, setup: Setup, opened_future: Future[None]) -> None:
        """Open the judge, set `opened_future`, and close the judge when the runtime is closed."""
        async with AsyncExitStack() as stack:
            opening_task = asyncio.create_task(self._open(setup, stack))
            await asyncio.wait([opening_task])
            if (error := opening_task.exception()) is not None:
                opened_future.set_exception(error)
                return
            opened_future.set_result(None)
            await self._close_event.wait()
            self._scorer = None
            other_tasks = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
            for task in other_tasks:
                task.cancel()
            await asyncio.gather(*other_tasks, return_exceptions=True)

    async def _open(self, setup: Setup, stack: AsyncExitStack) -> None:
        """Open the judge and check that it has the promised packages."""
        store = open_environment_store(_MAX_CACHE_BYTES)
        engine, trusted = self._opening = setup.open_engines(store)
        scorer = Scorer(engine, store=store, options=setup.options, trusted=trusted)
        open_scorer = await stack.enter_async_context(scorer)
        await open_scorer.judge.check_packages(setup.packages, ["python"] if setup.packages else [])
        self._scorer = open_scorer


def open_environment_store(max_bytes: int | None = None) -> Store:
    """Return the cache that the environment names."""
    return Store.usual(os.environ.get("IOI_EVAL_CACHE"), max_bytes)


# --- a separate runtime for each process -------------------------------------------------------------


class _ProcessRuntimes:
    """The runtimes of this process, and inherited runtimes, which a forked child must not close."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.runtimes: dict[Setup, Runtime] = {}
        # Keep references to inherited runtimes, because freeing them would close connections that the parent
        # process uses.
        self.inherited_runtimes: list[dict[Setup, Runtime]] = []

    def forget_parent_runtimes(self) -> None:
        """Forget the parent's runtimes in a forked child, which lacks the parent's threads.

        The lock is replaced, because a thread of the parent may hold it.
        """
        self.lock = threading.Lock()
        for inherited_runtime in self.runtimes.values():
            inherited_runtime.close_files_after_fork()
        self.inherited_runtimes.append(self.runtimes)
        self.runtimes = {}


_runtimes = _ProcessRuntimes()
os.register_at_fork(after_in_child=_runtimes.forget_parent_runtimes)


def runtime(setup: Setup | None = None) -> Runtime:
    """Return this process's runtime for the settings. The first call opens it."""
    setup = setup or Setup()
    with _runtimes.lock:
        open_runtime = _runtimes.runtimes.get(setup)
        if open_runtime is None:
            if not _runtimes.runtimes:
                # Close the runtime before the interpreter joins its threads, because closing needs an
                # executor.
                register_exit_function = getattr(threading, "_register_atexit", None)
                if register_exit_function is not None:
                    register_exit_function(close_all)
            open_runtime = _runtimes.runtimes[setup] = Runtime(setup)
        return open_runtime


def close_all() -> None:
    """Close this process's runtimes. The next call of `runtime` opens a new one."""
    with _runtimes.lock:
        while _runtimes.runtimes:
            _runtimes.runtimes.popitem()[1].close()
