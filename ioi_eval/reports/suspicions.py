"""Tables that can hardly be true: nearly all rows of a model end alike, whatever they hold."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from ioi_eval.model.values import Reason, SubmissionResult, Value, Verdict
from ioi_eval.reports.document import counted, visible
from ioi_eval.rules.scoring import reason
from ioi_eval.store.rows import bounded

LEAST_ROWS, LEAST_SHARE = 10, 0.9
_MAX_LINE = 160  # characters
_MAX_LINES = 10_000  # distinct ones of a model: among as many, none is that of nine rows of ten

_REMEDIES = {
    Reason.NO_PROGRAM: "Likely the replies are empty or cut off, or the programs are in another "
    "language or column: look at one, then say `language=NAME`, `code_column=NAME` or `always_extract=True`",
    Reason.NOT_COMPILED: "Likely the programs are in another language than was said, or lack a header or a "
    "grader: look at one of them, then say `language=NAME`, or name the problems that they are for",
}
_CRASHED = (
    "Likely the programs need a module that the machine lacks (`ioi-eval doctor`), are in another language, "
    "or read their input elsewhere: look at one of them"
)


class Suspicion(Value):
    """A line, or a missing program, that nearly all scored rows of a model have in common."""

    model: str
    rows: int
    of: int  # scored rows of the model
    reason: Reason | None  # None: they compile, and end with the same error
    line: str  # the first line of what the compiler or the program said; empty where there is no program
    remedy: str

    def __str__(self) -> str:
        who = f" of {self.model}" if self.model else ""
        match self.reason:
            case Reason.NO_PROGRAM:
                what = "hold no program"
            case Reason.NOT_COMPILED:
                what = f'do not compile, with the same first line: "{self.line}"'
            case None:
                what = f'fail with the same first line: "{self.line}"'
        some = f"{self.rows:,} of the {counted(self.of, 'scored submission')}{who} {what}"
        return f"This table can hardly be true: {some}. {self.remedy}."


class Ends:
    """The endings of one model's rows that no test could tell apart. Rows come one by one."""

    def __init__(self) -> None:
        self._scored = 0
        self._alike = Counter[tuple[Reason | None, str]]()

    def add(self, result: SubmissionResult) -> None:
        self._scored += 1
        why = reason(result)
        said = result.compile_output if why is Reason.NOT_COMPILED else ""
        if why is None:
            crashed = (test.feedback for test in result.tests if test.status is Verdict.RE)
            if not (said := next(crashed, "")):
                return
        first = next((line for line in said.splitlines() if line.strip()), "")
        end = (why, bounded(visible(first), _MAX_LINE))
        if end in self._alike or len(self._alike) < _MAX_LINES:
            self._alike[end] += 1

    def suspicions(self, model: str) -> Iterator[Suspicion]:
        for (why, line), rows in self._alike.items():
            if self._scored >= LEAST_ROWS and rows >= LEAST_SHARE * self._scored:
                remedy = _CRASHED if why is None else _REMEDIES[why]
                yield Suspicion(model=model, rows=rows, of=self._scored, reason=why, line=line, remedy=remedy)
