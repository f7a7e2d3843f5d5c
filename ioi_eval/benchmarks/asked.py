"""The problem whose statement a text contains, word for word: a prompt, or a column with the statement."""

from __future__ import annotations

import hashlib
import unicodedata
from collections.abc import Iterable
from enum import Enum

from ioi_eval.model.values import Problem

SHORTEST = 20  # characters of a statement that identifies a problem, white space not counted


class Unclear(Enum):
    """The reasons why a text identifies no problem."""

    NONE = "no problem's statement is in {}"
    SEVERAL = "the statements of several problems are in {}"


class StatementIndex:
    """Finds problems by their statements. Only white space may differ."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self._by_head: dict[str, list[tuple[str, Problem]]] = {}
        self._found: dict[bytes, Problem | Unclear] = {}  # by hash of the text: samples share their prompt
        for problem in problems:
            if problem.statement is not None:
                text = _normal(problem.statement.read().decode(errors="replace"))
                if len(text) >= SHORTEST:
                    self._by_head.setdefault(text[:SHORTEST], []).append((text, problem))

    def find(self, text: str) -> Problem | Unclear:
        """Return the problem whose statement is in the text, or why there is not exactly one.

        A statement inside a longer statement does not count.
        """
        key = hashlib.sha256(text.encode(errors="surrogatepass")).digest()
        if key not in self._found:
            self._found[key] = self._search(_normal(text))
        return self._found[key]

    def _search(self, text: str) -> Problem | Unclear:
        spans: list[tuple[int, int, Problem]] = []
        for start in range(len(text) - SHORTEST + 1):
            for statement, problem in self._by_head.get(text[start : start + SHORTEST], ()):
                if text.startswith(statement, start):
                    spans.append((start, start + len(statement), problem))
        found = [
            problem
            for start, end, problem in spans
            if not any(_is_within(start, end, other) for other in spans)
        ]
        if not found:
            return Unclear.NONE
        return found[0] if all(_is_same(found[0], other) for other in found) else Unclear.SEVERAL


def _normal(text: str) -> str:
    return "".join(unicodedata.normalize("NFC", text).split())


def _is_within(start: int, end: int, longer: tuple[int, int, Problem]) -> bool:
    return longer[0] <= start and end <= longer[1] and longer[1] - longer[0] > end - start


def _is_same(one: Problem, other: Problem) -> bool:
    """Return True for one problem under two ids, as of two divisions of a contest: the tests are the same."""
    if one is other:
        return True
    tests = ([(test.input, test.answer) for test in each.tests] for each in (one, other))
    first, second = ([(a.sha256, b.sha256 if b else "") for a, b in pairs] for pairs in tests)
    return bool(first) and first == second
