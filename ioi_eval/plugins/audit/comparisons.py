"""Looser comparisons: they accept every output that a problem's own comparison accepts."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from ioi_eval.models import Checker, CheckerKind, Problem, TaskType

_TOLERANCES = (1e-9, 1e-6, 1e-4)  # absolute and relative tolerances that are tried
_WORD_KINDS = (CheckerKind.WORD_LINES, CheckerKind.TOKENS)
# Looser comparisons, by the comparison that they replace. Other comparisons have no looser comparison.
_LOOSER_KINDS = {
    CheckerKind.EXACT: (
        CheckerKind.STRIPPED,
        CheckerKind.WHITE_DIFF,
        CheckerKind.STRIPPED_LINES,
        CheckerKind.LINES,
        *_WORD_KINDS,
    ),
    CheckerKind.STRIPPED: (CheckerKind.STRIPPED_LINES, CheckerKind.LINES, *_WORD_KINDS),
    CheckerKind.STRIPPED_LINES: (CheckerKind.LINES, *_WORD_KINDS),
    CheckerKind.WHITE_DIFF: _WORD_KINDS,
    CheckerKind.WORD_LINES: (CheckerKind.TOKENS,),
    CheckerKind.TOKENS: (),
}


def has_built_in_comparison(problem: Problem) -> bool:
    """Return True if a built-in comparison checks the problem's outputs."""
    return problem.task_type is TaskType.BATCH and not problem.checker.kind.is_program


def list_looser_checkers(checker: Checker) -> Iterator[tuple[str, Checker]]:
    """Yield the looser comparisons with their names."""
    if checker.kind not in _LOOSER_KINDS:
        return
    for kind in _LOOSER_KINDS[checker.kind]:
        yield kind.value, Checker(kind=kind)
    token_checker = _make_token_checker(checker)
    if checker.space_sensitive:
        yield "tokens", token_checker
    if token_checker.case_sensitive:
        yield "tokens without case", replace(token_checker, case_sensitive=False)
    for tolerance in _list_looser_checker_tolerances(checker):
        yield f"tokens with tolerance {tolerance:g}", _set_tolerance(token_checker, tolerance)


def make_loosest_checker(checker: Checker) -> Checker:
    """Return a comparison that accepts an output if any looser comparison does."""
    if checker.kind not in _LOOSER_KINDS:
        return checker
    return _set_tolerance(
        replace(_make_token_checker(checker), case_sensitive=False),
        max(_list_looser_checker_tolerances(checker), default=0.0),
    )


def _make_token_checker(checker: Checker) -> Checker:
    return (
        replace(checker, space_sensitive=False)
        if checker.kind is CheckerKind.TOKENS
        else Checker(kind=_WORD_KINDS[-1])
    )


def _list_looser_checker_tolerances(checker: Checker) -> tuple[float, ...]:
    max_tolerance = max(checker.absolute or 0.0, checker.relative or 0.0)
    return tuple(tolerance for tolerance in _TOLERANCES if tolerance > max_tolerance)


def _set_tolerance(checker: Checker, tolerance: float) -> Checker:
    return replace(checker, absolute=tolerance, relative=tolerance) if tolerance else checker
