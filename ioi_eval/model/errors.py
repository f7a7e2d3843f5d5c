"""All errors that ioi_eval raises on purpose: one base class, a class for each cause, data in attributes.

A verdict is never an error, and an error is never a verdict. A fault of the submission is reported in a
`TestResult`; a fault of ioi_eval or of the machine is raised as an error.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any


class IoiEvalError(Exception):
    """The base class of all errors that ioi_eval raises on purpose."""


class InputError(IoiEvalError):
    """A fault in the user's input. The command line prints it as a single line and exits with 2."""

    def __init__(
        self,
        problem: str,
        *,
        where: str = "",
        row: int | None = None,
        field: str = "",
        remedy: str = "",
    ) -> None:
        self.problem, self.where, self.row, self.field, self.remedy = problem, where, row, field, remedy
        line = "" if row is None else f"line {row}"
        field_text = f"field {field!r}" if field and not field.startswith("--") else field
        location = ", ".join(filter(None, (where, line, field_text)))
        message = f"{location}: {problem}" if location else problem
        super().__init__(f"{message}. {remedy}" if remedy else message)

    def with_details(
        self,
        *,
        where: str | None = None,
        row: int | None = None,
        field: str | None = None,
        remedy: str | None = None,
    ) -> InputError:
        """Return a copy of the error with other attributes. None means that an attribute does not change.

        Args:
            where: File or other source of the input. An empty text removes it from the message.
            row: Number of the line in that source.
            field: Name of the field or option with the fault.
            remedy: What the user can do, as a sentence without a period.
        """
        return InputError(
            self.problem,
            where=self.where if where is None else where,
            row=self.row if row is None else row,
            field=self.field if field is None else field,
            remedy=self.remedy if remedy is None else remedy,
        )


@contextmanager
def raise_first_error_of_group(error_type: type[Exception]) -> Iterator[None]:
    """Context manager that replaces an exception group by the first error of `error_type` in it, if any."""
    try:
        yield
    except BaseExceptionGroup as errors:
        error: BaseException | None = errors.subgroup(error_type)
        while isinstance(error, BaseExceptionGroup):
            error = error.exceptions[0]
        if error is None:
            raise
        raise error from None


class MissingColumn(InputError):
    """A row lacks a column that other rows may lack as well."""


class FailedRequest(InputError):
    """A row of a failed request to a model. It contains nothing to judge, and the dump is not at fault."""


class BadRows(InputError):
    """Some rows of a dump cannot be used.

    `errors`: an error for each such row, in order. `listed`: the file that lists all of them.
    """

    def __init__(self, errors: Sequence[InputError], listing: str = "") -> None:
        self.errors, self.listed = tuple(errors), listing
        first_error, more_count = self.errors[0], len(self.errors) - 1
        remedy = (
            f"{first_error.remedy}. {more_count} more rows cannot be used"
            if more_count
            else first_error.remedy
        )
        super().__init__(
            first_error.problem,
            where=first_error.where,
            row=first_error.row,
            field=first_error.field,
            remedy=remedy,
        )


class JudgeFailure(IoiEvalError):
    """The judge could not determine a score. It never counts as 0, and resuming the run tries again.

    `final`: another try cannot help unless the problem or the submission changes.
    """

    def __init__(
        self, reason: str, *, phase: str = "", test: str = "", remedy: str = "", final: bool = False
    ) -> None:
        self.reason, self.phase, self.test, self.remedy, self.final = reason, phase, test, remedy, final
        location = " ".join(phrase for phrase in (phase, f"on test {test}" if test else "") if phrase)
        message = f"{location}: {reason}" if location else reason
        super().__init__(f"{message}. {remedy}" if remedy else message)


class FileEdited(JudgeFailure):
    """A file of the problem was edited after the problem was read."""

    def __init__(self, file_name: str) -> None:
        remedy = "Read the problem again: run the same command once more"
        super().__init__(f"{file_name} was edited after the problem was read", phase="judging", remedy=remedy)


class InterpreterRefused(JudgeFailure):
    """The engine's interpreter cannot be used for any submission, so no row is at fault."""


class ToolMissing(JudgeFailure):
    """The engine lacks the compiler or interpreter of a program."""


class ModuleMissing(JudgeFailure):
    """The judge lacks Python packages that a program imports. `modules`: their names in imports."""

    def __init__(self, modules: tuple[str, ...], reason: str, *, remedy: str) -> None:
        self.modules = modules
        super().__init__(reason, phase="running", remedy=remedy)


class ExtraMissing(IoiEvalError, ModuleNotFoundError):
    """A Python package is missing that an extra of ioi-eval installs.

    The message has the command to install it.
    """


class EngineError(IoiEvalError):
    """An engine could not execute a job."""


class JobRejected(EngineError):
    """The job is invalid: sending it again, to this engine or another, cannot help.

    `by_server`: a server refused the job. A server that refuses every job gets no jobs for a while.
    """

    def __init__(self, message: str, *, by_server: bool = False) -> None:
        self.by_server = by_server
        super().__init__(message)


class JobTooLarge(JobRejected):
    """The job exceeds a limit of the engine; a smaller job may fit. `limit`: name of the limit."""

    def __init__(self, message: str, *, limit: str = "") -> None:
        self.limit = limit
        super().__init__(message)


class EngineOverloaded(EngineError):
    """The engine has no free capacity now. It may have capacity later."""


class EngineUnavailable(EngineError):
    """The engine, or one of its servers, does not respond or cannot start programs."""


class AttemptsUsedUp(EngineError):
    """The engine has retried the job itself as often as is useful. Callers should not retry."""


class ServerReplaced(EngineError):
    """A server at an address is not the server that was probed there. Its reply is discarded."""

    def __init__(self, endpoint: str) -> None:
        super().__init__(f"{endpoint} is not the same server as before: its compilers or limits have changed")


class ToolchainGone(EngineError):
    """All servers have lost the compiler or interpreter that the job needs. Create a new job."""


class MachineAtFault(EngineError):
    """A job was executed, but its answer shows that the machine failed.

    `answer`: the engine's answer. `where`: names of the machines.
    """

    def __init__(self, reason: str, engine_answer: Any, machine_names: str = "") -> None:
        self.reason, self.answer, self.where = reason, engine_answer, machine_names
        super().__init__(f"{reason} (on {machine_names})" if machine_names else reason)


class BrokenReply(EngineError):
    """The reply is invalid: cut off, not JSON, or of another form than agreed."""


class ProgramBroken(InputError):
    """A program of the problem does not compile, so nothing can be judged. `log`: the compiler's output."""

    def __init__(self, problem: str, *, where: str, log: str, remedy: str) -> None:
        self.log = log
        super().__init__(problem, where=where, remedy=remedy)


class CheckerBroken(ProgramBroken):
    """The problem's checker does not compile."""


class ManagerBroken(ProgramBroken):
    """The problem's manager or interactor does not compile."""
