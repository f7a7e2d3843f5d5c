"""Every error that ioi_eval raises on purpose: one root, a type per cause, the data in attributes.

A verdict is never an error and an error is never a verdict: what a submission does wrong ends up in a
`TestResult`; what we or the machine do wrong ends up here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any


class IoiEvalError(Exception):
    """The root of all errors raised on purpose."""


class InputError(IoiEvalError):
    """A fault in the user's input. The command line prints it in one line and exits with 2."""

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
        named = f"field {field!r}" if field and not field.startswith("--") else field
        place = ", ".join(filter(None, (where, line, named)))
        text = f"{place}: {problem}" if place else problem
        super().__init__(f"{text}. {remedy}" if remedy else text)

    def but(
        self,
        *,
        where: str | None = None,
        row: int | None = None,
        field: str | None = None,
        remedy: str | None = None,
    ) -> InputError:
        """The same error, phrased for the caller."""
        return InputError(
            self.problem,
            where=self.where if where is None else where,
            row=self.row if row is None else row,
            field=self.field if field is None else field,
            remedy=self.remedy if remedy is None else remedy,
        )


@contextmanager
def ungrouped(kind: type[Exception]) -> Iterator[None]:
    """Raise the first error of a kind as itself where a group of errors has one."""
    try:
        yield
    except BaseExceptionGroup as errors:
        found: BaseException | None = errors.subgroup(kind)
        while isinstance(found, BaseExceptionGroup):
            found = found.exceptions[0]
        if found is None:
            raise
        raise found from None


class MissingColumn(InputError):
    """A row lacks a column that others may lack as well."""


class FailedRequest(InputError):
    """A row of a request that nobody answered: it holds nothing to judge, and is no fault of the dump."""


class BadRows(InputError):
    """Rows of a dump cannot be used. `errors`: one for each, in order; `listed`: where all of them stand."""

    def __init__(self, errors: Sequence[InputError], listed: str = "") -> None:
        self.errors, self.listed = tuple(errors), listed
        first, more = self.errors[0], len(self.errors) - 1
        remedy = f"{first.remedy}. {more} more rows cannot be used" if more else first.remedy
        super().__init__(first.problem, where=first.where, row=first.row, field=first.field, remedy=remedy)


class JudgeFailure(IoiEvalError):
    """The judge could not say what a submission is worth. Never a score; retried when a run is resumed.

    `final`: another try cannot help as long as problem and submission are what they are.
    """

    def __init__(
        self, reason: str, *, phase: str = "", test: str = "", remedy: str = "", final: bool = False
    ) -> None:
        self.reason, self.phase, self.test, self.remedy, self.final = reason, phase, test, remedy, final
        place = " ".join(part for part in (phase, f"on test {test}" if test else "") if part)
        text = f"{place}: {reason}" if place else reason
        super().__init__(f"{text}. {remedy}" if remedy else text)


class FileEdited(JudgeFailure):
    """A file of the problem is no longer what it was when the problem was read."""

    def __init__(self, name: str) -> None:
        remedy = "Read the problem again: run the same command once more"
        super().__init__(f"{name} was edited after the problem was read", phase="judging", remedy=remedy)


class InterpreterRefused(JudgeFailure):
    """The engine's interpreter judges no submission, whatever one holds: no row is at fault."""


class ToolMissing(JudgeFailure):
    """The engine lacks the compiler or the interpreter of a program."""


class ModuleMissing(JudgeFailure):
    """The judge lacks Python packages that a program imports. `modules` are the names in its imports."""

    def __init__(self, modules: tuple[str, ...], reason: str, *, remedy: str) -> None:
        self.modules = modules
        super().__init__(reason, phase="running", remedy=remedy)


class ExtraMissing(IoiEvalError, ModuleNotFoundError):
    """A Python package is missing that an extra of ioi-eval installs. The message is the remedy."""


class EngineError(IoiEvalError):
    """An engine could not execute a job."""


class JobRejected(EngineError):
    """The job itself is wrong: sending it again, here or elsewhere, cannot help."""


class JobTooLarge(JobRejected):
    """The job is over a limit of the engine; a smaller one may fit. `limit` names the limit."""

    def __init__(self, message: str, *, limit: str = "") -> None:
        self.limit = limit
        super().__init__(message)


class EngineOverloaded(EngineError):
    """No room at the moment; later there may be."""


class EngineUnavailable(EngineError):
    """The engine, or this endpoint of it, does not answer or cannot start anything."""


class AttemptsUsedUp(EngineError):
    """The engine tried again itself, elsewhere, as often as it is worth. No reason to ask it once more."""


class ServerReplaced(EngineError):
    """A server is not the one that was probed at its address. Its reply counts for nothing."""

    def __init__(self, endpoint: str) -> None:
        super().__init__(f"{endpoint} is another server than before: its compilers or limits have changed")


class ToolchainGone(EngineError):
    """No server has the compiler or interpreter any more that a job was made for. Make another job."""


class MachineAtFault(EngineError):
    """A job was executed, and its answer shows that the machine failed it.

    `answer` is what came of it, `where` names the machines.
    """

    def __init__(self, reason: str, answer: Any, where: str = "") -> None:
        self.reason, self.answer, self.where = reason, answer, where
        super().__init__(f"{reason} (on {where})" if where else reason)


class BrokenReply(EngineError):
    """An answer came that is not an answer: cut off, not JSON, not of the agreed shape."""


class ProgramBroken(InputError):
    """A program of the problem does not compile: nothing can be judged. `log` has the compiler's words."""

    def __init__(self, problem: str, *, where: str, log: str, remedy: str) -> None:
        self.log = log
        super().__init__(problem, where=where, remedy=remedy)


class CheckerBroken(ProgramBroken):
    """The problem's checker does not compile."""


class ManagerBroken(ProgramBroken):
    """The problem's manager, or its interactor, does not compile."""
