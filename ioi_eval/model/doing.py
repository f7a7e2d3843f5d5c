"""Track the steps of submissions in progress. The judge and engines record them, and a run displays them.

Each step can be logged with its submission's key, at the level DEBUG.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass
from typing import NamedTuple

from ioi_eval.model.errors import IoiEvalError

BUILD, TESTS, WAITS = "build", "tests", "waits"
_log = logging.getLogger(__name__)
_MAX_NAMED_TESTS = 8  # maximum number of tests that a log line names
_MAX_KEY_LENGTH = 100  # maximum characters of a submission's key in the log


@dataclass(eq=False)
class _Step:
    """A step of the work on a submission."""

    kind: str
    where: str = ""  # server or slot that executes the step; empty while the step waits for a slot


class TrackedSubmission:
    """A submission in progress. Several of its steps may run at the same time."""

    def __init__(self, submission_key: str, problem_id: str) -> None:
        self.key, self.problem, self.since = submission_key, problem_id, time.time()
        self._steps = list[_Step]()

    @property
    def step(self) -> _Step:
        """Return a step that is being executed, else a waiting step."""
        return next(
            (step for step in self._steps if step.where), self._steps[0] if self._steps else _WAITING_STEP
        )


class _SubmissionContext(NamedTuple):
    """The submission in progress in a context, and its current step."""

    submission: TrackedSubmission
    step: _Step | None


_WAITING_STEP = _Step(WAITS)
_CONTEXT: ContextVar[_SubmissionContext | None] = ContextVar("_CONTEXT", default=None)


@contextmanager
def track_submission(submission_key: str, problem_id: str) -> Iterator[TrackedSubmission]:
    """Context manager: code inside it records its steps on this submission."""
    submission = TrackedSubmission(submission_key, problem_id)
    context_token = _CONTEXT.set(_SubmissionContext(submission, None))
    try:
        yield submission
    finally:
        _CONTEXT.reset(context_token)


def current_submission() -> TrackedSubmission | None:
    """Return the submission in progress in this context, or None."""
    current_context = _CONTEXT.get()
    return None if current_context is None else current_context.submission


@contextmanager
def track_step(step_kind: str) -> Iterator[None]:
    """Context manager: code inside it executes a step of the current submission."""
    if (current_context := _CONTEXT.get()) is None:
        yield
        return
    new_step = _Step(step_kind)
    context_token = _CONTEXT.set(_SubmissionContext(current_context.submission, new_step))
    current_context.submission._steps.append(new_step)
    try:
        yield
    finally:
        current_context.submission._steps.remove(new_step)
        _CONTEXT.reset(context_token)


@contextmanager
def mark_step_executing(executor_name: str, logger: logging.Logger = _log) -> Iterator[None]:
    """Mark the current step as executed by a server or slot, and log its start and outcome."""
    current_context = _CONTEXT.get()
    step = None if current_context is None else current_context.step
    if step is not None:
        step.where = executor_name
    start_s = time.perf_counter()
    log_step(logger, "sent to %s", executor_name)
    try:
        yield
    except IoiEvalError as error:
        log_step(logger, "failed on %s: %s: %s", executor_name, type(error).__name__, error)
        raise
    else:
        log_step(logger, "answered by %s in %.3f s", executor_name, time.perf_counter() - start_s)
    finally:
        if step is not None:
            step.where = ""


# --- the log -----------------------------------------------------------------------------------------


_CURRENT_WORK: ContextVar[str] = ContextVar("_CURRENT_WORK", default="")


def log_step(logger: logging.Logger, text: str, *args: object) -> None:
    """Log a message with the current submission's key and work, at the level DEBUG.

    Log lines name tests, programs and servers. They never contain contents of files, outputs or tokens.
    """
    if logger.isEnabledFor(logging.DEBUG):
        submission = current_submission()
        key = "" if submission is None else submission.key[:_MAX_KEY_LENGTH]
        subject = ", ".join(filter(None, (key if key.isprintable() else ascii(key), _CURRENT_WORK.get())))
        logger.debug(f"%s: {text}" if subject else f"%s{text}", subject, *args)


def add_work_to_log_lines(
    logger: logging.Logger, work_kind: str, item_names: Iterable[str] = ()
) -> AbstractContextManager[None]:
    """Return a context in which log lines name this work, such as "tests 01, 02".

    If there are many names, only the first names are shown. After the work, each test is logged in a separate
    line.
    """
    if not logger.isEnabledFor(logging.DEBUG):
        return nullcontext()
    all_names = [*item_names]
    more_text = f" and {len(all_names) - _MAX_NAMED_TESTS} more" if len(all_names) > _MAX_NAMED_TESTS else ""
    return _add_description_to_log_lines(
        f"{work_kind} {', '.join(all_names[:_MAX_NAMED_TESTS])}{more_text}".strip()
    )


@contextmanager
def _add_description_to_log_lines(work_description: str) -> Iterator[None]:
    """Add a description of the work to log lines of the code inside."""
    context_token = _CURRENT_WORK.set(work_description)
    try:
        yield
    finally:
        _CURRENT_WORK.reset(context_token)
