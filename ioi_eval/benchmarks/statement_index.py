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
        self._statements_by_start: dict[str, list[tuple[str, Problem]]] = {}
        # Results of searches, by the hash of the prompt. They are cached because samples share prompts.
        self._matches: dict[bytes, Problem | NoMatch] = {}
        for problem in problems:
            if problem.statement is not None:
                normalized_text = _normalize_text(problem.statement.read().decode(errors="replace"))
                if len(normalized_text) >= SHORTEST:
                    self._statements_by_start.setdefault(normalized_text[:SHORTEST], []).append(
                        (normalized_text, problem)
                    )

    def find(self, prompt: str) -> Problem | NoMatch:
        """Return the problem whose statement is in the prompt, or the reason if there is none or several.

        A statement inside a longer statement does not count.
        """
        prompt_hash = hashlib.sha256(prompt.encode(errors="surrogatepass")).digest()
        if prompt_hash not in self._matches:
            self._matches[prompt_hash] = self._search_statements(_normalize_text(prompt))
        return self._matches[prompt_hash]

    def _search_statements(self, normalized_prompt: str) -> Problem | NoMatch:
        """Search for statements in a prompt without white space."""
        statement_spans: list[tuple[int, int, Problem]] = []
        for start in range(len(normalized_prompt) - SHORTEST + 1):
            for statement, problem in self._statements_by_start.get(
                normalized_prompt[start : start + SHORTEST], ()
            ):
                if normalized_prompt.startswith(statement, start):
                    statement_spans.append((start, start + len(statement), problem))
        outer_problems = [
            problem
            for start, end, problem in statement_spans
            if not any(_is_within_span(start, end, other) for other in statement_spans)
        ]
        if not outer_problems:
            return NoMatch.NONE
        return (
            outer_problems[0]
            if all(_have_same_tests(outer_problems[0], other) for other in outer_problems)
            else NoMatch.SEVERAL
        )


def _normalize_text(text: str) -> str:
    """Return the text in Unicode's normal form NFC, without white space."""
    return "".join(unicodedata.normalize("NFC", text).split())


def _is_within_span(start: int, end: int, longer_span: tuple[int, int, Problem]) -> bool:
    """Return True if the range is inside the range of a longer statement."""
    return longer_span[0] <= start and end <= longer_span[1] and longer_span[1] - longer_span[0] > end - start


def _have_same_tests(problem: Problem, other_problem: Problem) -> bool:
    """Return True if two problems have the same tests, as a problem in two divisions of a contest."""
    if problem is other_problem:
        return True
    test_contents = (
        [(test.input, test.answer) for test in tested_problem.tests]
        for tested_problem in (problem, other_problem)
    )
    first_hashes, second_hashes = (
        [
            (input_blob.sha256, answer_blob.sha256 if answer_blob else "")
            for input_blob, answer_blob in input_answer_pairs
        ]
        for input_answer_pairs in test_contents
    )
    return bool(first_hashes) and first_hashes == second_hashes
