"""A judge and an event loop for a whole process, for callers that have neither.

Trainers call from threads, and fork. So there is one runtime for each process id: a child that was forked
makes its own when it first needs one, and lets go of what belongs to its parent.
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
from ioi_eval.engines.registry import EngineChoice, Opening, open_engine
from ioi_eval.errors import IoiEvalError
from ioi_eval.models import Problem, Submission, SubmissionResult, Value
from ioi_eval.scoring import Deduplication

T = TypeVar("T")

_CACHE_LIMIT = 8 << 30  # bytes
_OPENING, _CLOSING = 300.0, 60.0  # seconds: the proctor may have to be compiled; a job in a box is killed
_HEARD = 0.5  # seconds until an interruption is heard at the latest


def outcome(future: Future[T]) -> T:
    """Wait for it, and hear of an interruption: a thread that just begins to wait hears it at the end."""
    while not wait_for([future], _HEARD).done:
        pass
    return future.result()


class Setup(Value):
    """The settings by which runtimes are told apart and kept."""

    # By the name that --engine takes, or made; None: PISTON_ENDPOINTS where it is set, else here.
    engine: str | Callable[[Store], Engine] | None = None
    slots: int | None = None  # here; None: the cores, or a launcher's share of them
    options: JudgeOptions = JudgeOptions()
    python: str = ""  # here: the interpreter's path or version; empty: IOI_EVAL_PYTHON, else the caller's
    packages: tuple[str, ...] = ()  # that programs may count on: without them nothing is judged

    def opened(self, store: Store) -> Opening:
        """Make the engines, as for the command line."""
        if self.engine is not None and not isinstance(self.engine, str):
            return open_engine(self.engine(store), store)
        choice = EngineChoice.meant(
            self.engine,
            os.environ,
            slots=self.slots,
            python=self.python,
            allow_unconfined=self.options.allow_unconfined,
        )
        return open_engine(choice, store, self.packages)


class Runtime:
    """A judge that is open, in a thread with an event loop. Safe to be called from any other thread."""

    def __init__(self, setup: Setup) -> None:
        self._loop = asyncio.new_event_loop()
        self._scorer: Scorer | None = None
        self._opening: Opening | None = None
        self._closing = asyncio.Event()
        opened: Future[None] = Future()
        # A daemon: a thread that is waited for at the end would never hear that it is to end.
        self._thread = threading.Thread(
            target=self._run, args=(setup, opened), name="ioi-eval-runtime", daemon=True
        )
        self._thread.start()
        opened.result(_OPENING)

    @property
    def slots(self) -> int:
        """The number of builds and batches that run at the same time."""
        return self._open_scorer().slots

    @property
    def judge(self) -> Any:
        """The judge, whose calls are for `call` and `wait`."""
        return self._open_scorer().judge

    def score(
        self, problem: Problem, submission: Submission, deduplication: Deduplication | None = None
    ) -> Coroutine[Any, Any, SubmissionResult]:
        """For `call` and `wait`. JudgeFailure where the judge cannot say."""
        return self._open_scorer().score(problem, submission, deduplication=deduplication)

    def _open_scorer(self) -> Scorer:
        if self._scorer is None:
            raise IoiEvalError("the runtime is closed")
        return self._scorer

    def call(self, work: Coroutine[Any, Any, T]) -> T:
        """Runs `work` on the loop, and blocks this thread until it is done. Interrupted, it cancels it."""
        if threading.current_thread() is self._thread:
            work.close()
            raise IoiEvalError("the runtime's own thread cannot wait for itself")
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return outcome(future)
        except BaseException:
            future.cancel()
            raise

    async def wait(self, work: Coroutine[Any, Any, T]) -> T:
        """The same for callers with an event loop of their own."""
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, self._loop))

    def close(self) -> None:
        """Cancels what is under way and gives everything back. Closing twice is no fault."""
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._closing.set)
            self._thread.join(_CLOSING)

    def let_go(self) -> None:
        """In a child that was forked: closes what would keep alive what the parent wants to end."""
        if self._opening is not None:
            self._opening.let_go()

    # --- in the thread ---

    def _run(self, setup: Setup, opened: Future[None]) -> None:
        # No asyncio.Runner: to end the loop's threads it starts one, which an interpreter that ends refuses.
        try:
            self._loop.run_until_complete(self._serve(setup, opened))
        finally:
            self._loop.close()

    async def _serve(self, setup: Setup, opened: Future[None]) -> None:
        async with AsyncExitStack() as stack:
            opening = asyncio.create_task(self._open(setup, stack))
            await asyncio.wait([opening])
            if (error := opening.exception()) is not None:
                opened.set_exception(error)
                return
            opened.set_result(None)
            await self._closing.wait()
            self._scorer = None
            others = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
            for task in others:
                task.cancel()
            await asyncio.gather(*others, return_exceptions=True)

    async def _open(self, setup: Setup, stack: AsyncExitStack) -> None:
        store = own_store(_CACHE_LIMIT)
        engine, trusted = self._opening = setup.opened(store)
        scorer = Scorer(engine, store=store, options=setup.options, trusted=trusted)
        opened = await stack.enter_async_context(scorer)
        await opened.judge.keep_promises(setup.packages, ["python"] if setup.packages else [])
        self._scorer = opened


def own_store(limit: int | None = None) -> Store:
    """Return the cache that the environment names."""
    return Store.usual(os.environ.get("IOI_EVAL_CACHE"), limit)


# --- one for each process ----------------------------------------------------------------------------


class _Own:
    """The runtimes of this process, and those that it must not touch."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.runtimes: dict[Setup, Runtime] = {}
        self.of_parents: list[dict[Setup, Runtime]] = []  # kept: freeing would close what the parent uses

    def start_anew(self) -> None:
        """In a child: the parent's threads are not here, and its lock may have been held."""
        self.lock = threading.Lock()
        for inherited in self.runtimes.values():
            inherited.let_go()
        self.of_parents.append(self.runtimes)
        self.runtimes = {}


_own = _Own()
os.register_at_fork(after_in_child=_own.start_anew)


def runtime(setup: Setup | None = None) -> Runtime:
    """Return the process's runtime of a setup, made at the first call."""
    setup = setup or Setup()
    with _own.lock:
        found = _own.runtimes.get(setup)
        if found is None:
            if not _own.runtimes:
                # Before the interpreter joins its threads: later no executor takes work, and closing is work.
                register = getattr(threading, "_register_atexit", None)
                if register is not None:
                    register(close_all)
            found = _own.runtimes[setup] = Runtime(setup)
        return found


def close_all() -> None:
    """Closes this process's runtimes. The next call makes new ones."""
    with _own.lock:
        while _own.runtimes:
            _own.runtimes.popitem()[1].close()
