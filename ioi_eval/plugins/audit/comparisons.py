"""Looser comparisons: they accept every output that a problem's own comparison accepts."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from ioi_eval.models import Checker, CheckerKind, Problem, TaskType

_TOLERANCES = (1e-9, 1e-6, 1e-4)  # absolute and relative
_LOOSEST = _TOLERANCES[-1]
_WORDS = (CheckerKind.WORD_LINES, CheckerKind.TOKENS)
# The looser comparisons of each comparison. Comparisons without an entry have none.
_LOOSER = {
    CheckerKind.EXACT: (
        CheckerKind.STRIPPED,
        CheckerKind.WHITE_DIFF,
        CheckerKind.STRIPPED_LINES,
        CheckerKind.LINES,
        *_WORDS,
    ),
    CheckerKind.STRIPPED: (CheckerKind.STRIPPED_LINES, CheckerKind.LINES, *_WORDS),
    CheckerKind.STRIPPED_LINES: (CheckerKind.LINES, *_WORDS),
    CheckerKind.WHITE_DIFF: _WORDS,
    CheckerKind.WORD_LINES: (CheckerKind.TOKENS,),
    CheckerKind.TOKENS: (),
}


def is_compared(problem: Problem) -> bool:
    """Return True if a built-in comparison checks the problem's outputs."""
    return problem.task_type is TaskType.BATCH and not problem.checker.kind.is_program


def looser(own: Checker) -> Iterator[tuple[str, Checker]]:
    """Yield the looser comparisons with their names."""
    if own.kind not in _LOOSER:
        return
    for kind in _LOOSER[own.kind]:
        yield kind.value, Checker(kind=kind)
    tokens = _tokens(own)
    if own.space_sensitive:
        yield "tokens", tokens
    if tokens.case_sensitive:
        yield "tokens without case", replace(tokens, case_sensitive=False)
    for tolerance in _tolerances(own):
        yield f"tokens with tolerance {tolerance:g}", _tolerant(tokens, tolerance)


def loosest(own: Checker) -> Checker:
    """Return a comparison that accepts an output if any looser comparison does."""
    if own.kind not in _LOOSER:
        return own
    return _tolerant(replace(_tokens(own), case_sensitive=False), max(_tolerances(own), default=0.0))


def _tokens(own: Checker) -> Checker:
    return replace(own, space_sensitive=False) if own.kind is CheckerKind.TOKENS else Checker(kind=_WORDS[-1])


def _tolerances(own: Checker) -> tuple[float, ...]:
    known = max(own.absolute or 0.0, own.relative or 0.0)
    return tuple(tolerance for tolerance in _TOLERANCES if tolerance > known)


def _tolerant(tokens: Checker, tolerance: float) -> Checker:
    return replace(tokens, absolute=tolerance, relative=tolerance) if tolerance else tokens
