"""Find the problem whose statement is contained literally in a prompt."""

from __future__ import annotations

import hashlib
import unicodedata
from collections.abc import Iterable
from enum import Enum

from ioi_eval.model.values import Problem

SHORTEST = 20  # minimum length of a statement that identifies a problem, in characters other than white space


class NoMatch(Enum):
    """The reason why a prompt does not identify a problem."""

    NONE = "no problem's statement is in {}"
    SEVERAL = "the statements of several problems are in {}"


class StatementIndex:
    """Finds problems by their statements, ignoring white space."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self._by_head: dict[str, list[tuple[str, Problem]]] = {}
        # Cached results by the hash of the prompt, because samples share prompts.
        self._matches: dict[bytes, Problem | NoMatch] = {}
        for problem in problems:
            if problem.statement is not None:
                normalized_text = _normalize_text(problem.statement.read().decode(errors="replace"))
                if len(normalized_text) >= SHORTEST:
                    self._by_head.setdefault(normalized_text[:SHORTEST], []).append(
                        (normalized_text, problem)
                    )

    def find(self, prompt: str) -> Problem | NoMatch:
        """Return the problem whose statement is in the prompt, or the reason if there is none or several.

        A statement inside a longer statement does not count.
        """
        key = hashlib.sha256(prompt.encode(errors="surrogatepass")).digest()
        if key not in self._matches:
            self._matches[key] = self._search(_normalize_text(prompt))
        return self._matches[key]

    def _search(self, normalized_text: str) -> Problem | NoMatch:
        """Search for statements in a prompt without white space."""
        spans: list[tuple[int, int, Problem]] = []
        for start in range(len(normalized_text) - SHORTEST + 1):
            for statement, problem in self._by_head.get(normalized_text[start : start + SHORTEST], ()):
                if normalized_text.startswith(statement, start):
                    spans.append((start, start + len(statement), problem))
        problems = [
            problem
            for start, end, problem in spans
            if not any(_is_within_span(start, end, other) for other in spans)
        ]
        if not problems:
            return NoMatch.NONE
        return (
            problems[0]
            if all(_have_same_tests(problems[0], other) for other in problems)
            else NoMatch.SEVERAL
        )


def _normalize_text(text: str) -> str:
    """Return the text in Unicode's normal form NFC, without white space."""
    return "".join(unicodedata.normalize("NFC", text).split())


def _is_within_span(start: int, end: int, longer: tuple[int, int, Problem]) -> bool:
    """Return True if the range is inside the range of a longer statement."""
    return longer[0] <= start and end <= longer[1] and longer[1] - longer[0] > end - start


def _have_same_tests(one: Problem, other: Problem) -> bool:
    """Return True if two problems have the same tests, as a problem in two divisions of a contest."""
    if one is other:
        return True
    tests = ([(test.input, test.answer) for test in problem.tests] for problem in (one, other))
    first, second = ([(a.sha256, b.sha256 if b else "") for a, b in pairs] for pairs in tests)
    return bool(first) and first == second
