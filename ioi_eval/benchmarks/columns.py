"""The columns of one row of a dump, read with types. What is wrong is an InputError that says where."""

from __future__ import annotations

import re
from typing import Any

from ioi_eval.benchmarks.formats import Row
from ioi_eval.errors import InputError
from ioi_eval.models import Problem
from ioi_eval.rows import plain

_ANSWERS = "assistant"  # the role of messages that hold code


class Columns:
    """One row. Accessors raise InputErrors; `wrong` makes one for what callers find out themselves."""

    def __init__(self, row: Row, where: str) -> None:
        self.line, self.values, self.where = row.line, row.columns, where

    def wrong(self, problem: str, column: str, remedy: str) -> InputError:
        return InputError(problem, where=self.where, row=self.line, field=column, remedy=remedy)

    def missing(self, column: str) -> InputError:
        there = ", ".join(map(str, self.values)) or "none"
        return self.wrong(f"missing column {column}", "", f"The columns are: {there}")

    def has(self, column: str) -> bool:
        return column in self.values

    def text(self, column: str) -> str | None:
        """A text with anything in it but white space; None where there is none."""
        value = plain(self.values.get(column))
        if value is None or isinstance(value, str):
            return value if value and value.strip() else None
        raise self.wrong(f"{_shown(value)} is not a text", column, "Expected a text or null")

    def generation(self, column: str) -> str | None:
        """What the model wrote: a text, or the last answer in a list of chat messages."""
        value = plain(self.values.get(column))
        if not isinstance(value, list):
            return self.text(column)
        answers = [self._content(message, column) for message in value]
        return next((answer for answer in reversed(answers) if answer is not None), None)

    def _content(self, message: Any, column: str) -> str | None:
        """The text of an assistant's message; None of others'. A text may be in parts."""
        role, content = (
            (message.get(name) for name in ("role", "content")) if _is_row(message) else (None, None)
        )
        if isinstance(content, list) and all(_is_row(part) for part in content):
            content = "".join(str(part.get("text") or "") for part in content)
        if not isinstance(role, str) or not isinstance(content, str | None):
            raise self.wrong(f"{_shown(message)} is not a message", column, "Expected {role, content}")
        return (content or "") if role == _ANSWERS else None

    def name(self, column: str) -> str:
        """A name or a number that must be there."""
        if column not in self.values:
            raise self.missing(f"`{column}`")
        value = plain(self.values[column])
        if isinstance(value, int) and not isinstance(value, bool):
            return str(value)
        if isinstance(value, str) and value.strip():
            return value.strip()
        raise self.wrong(f"{_shown(value)} is not a name", column, "Expected a text or a whole number")

    def year(self) -> int | None:
        value = plain(self.values.get("year"))
        if value is None or value == "":
            return None
        digits = re.fullmatch(r"([0-9]{4})(\.0)?", str(value))  # tables with gaps make floats of years
        if digits is None:
            raise self.wrong(
                f"{_shown(value)} is not a year", "year", "Expected a number such as 2024, or null"
            )
        return int(digits[1])

    def subtask(self, problem: Problem) -> str | None:
        """The problem's own name of the subtask aimed at. Dumps may leave out the number before it."""
        wanted = self.text("subtask")
        if wanted is None:
            return None
        names = [subtask.name for subtask in problem.subtasks]
        fitting = [name for name in names if wanted in (name, name.partition("-")[2])]
        if wanted not in names and len(fitting) != 1:
            there = ", ".join(names) or "none"
            raise self.wrong(
                f"problem {problem.id!r} has no subtask {wanted!r}", "subtask", f"There are: {there}"
            )
        return wanted if wanted in names else fitting[0]


def _is_row(value: Any) -> bool:
    return isinstance(value, dict)


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
