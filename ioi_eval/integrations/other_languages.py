"""Log that completions are in another language than the language in which they are judged."""

from __future__ import annotations

import logging

from ioi_eval.models import Problem
from ioi_eval.scoring import Language, choose_language, extract, find_language

_log = logging.getLogger(__name__)
# Pairs of languages for which a warning was logged: the completion's language, the language of judging.
_logged_pairs: set[tuple[str, str]] = set()


def warn_of_other_language(completion: str, problem: Problem, language: Language) -> None:
    """Log a warning if a completion without a program in the language has a program in another language.

    The warning is logged once for each pair of languages, because all completions then have this fault.
    """
    other_language = _find_other_language(completion, problem, language)
    if other_language is None or (other_language.name, language.name) in _logged_pairs:
        return
    _logged_pairs.add((other_language.name, language.name))
    _log.warning(
        "a completion is in %s, but completions are judged in %s, so it has no program. Set the option"
        " language=%r, or give the rows a column `language`, if the language is wrong (logged once)",
        other_language.name,
        language.name,
        other_language.name,
    )


def _find_other_language(completion: str, problem: Problem, language: Language) -> Language | None:
    """Return the language of the completion's program if it is another language of the problem, else None."""
    chosen = choose_language(problem, reply=completion, default=language.name)
    # If no code fence names a language, `choose_language` recognizes only Python.
    if chosen.language == language.name and "#include" in (extract(completion, find_language("c++")) or ""):
        chosen = choose_language(problem, format="c++", default=language.name)
    return None if chosen.language == language.name else find_language(chosen.language)
