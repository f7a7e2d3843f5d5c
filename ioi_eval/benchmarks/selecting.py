"""Which problems of a benchmark are wanted. Pure, and the same whatever the order of the dataset's rows."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Sequence

from ioi_eval.benchmarks.base import BenchmarkOptions, Candidate
from ioi_eval.errors import InputError
from ioi_eval.problems.fields import nearest

Test = Callable[[Candidate], bool]


def select(candidates: Iterable[Candidate], options: BenchmarkOptions) -> list[Candidate]:
    """Those that pass every option, in the order of the rows; at last the sample of what is left.

    Words, years and ids that no problem has are mistakes, and an InputError.
    """
    found, tests = list(candidates), _tests(options)
    _check_known(found, options)
    for test in tests:
        found = [candidate for candidate in found if test(candidate)]
    return found if options.sample is None else sample(found, options.sample, options.seed)


def sample(candidates: Sequence[Candidate], size: int, seed: int) -> list[Candidate]:
    """The `size` problems whose hash with the seed is least. A larger sample contains the smaller one."""

    def rank(candidate: Candidate) -> str:
        return hashlib.sha256(f"{seed}\n{candidate.id}\n{candidate.year}".encode()).hexdigest()

    usable = [candidate for candidate in candidates if not candidate.unusable]
    chosen = set(sorted(map(rank, usable))[:size])
    return [candidate for candidate in usable if rank(candidate) in chosen]


def _tests(options: BenchmarkOptions) -> list[Test]:
    difficulty, tags = _lower(options.difficulty), _lower(options.tags)
    begin, end = _day(options.date_from, "--date-from"), _day(options.date_to, "--date-to")
    tests: list[tuple[object, Test]] = [
        (difficulty, lambda one: one.difficulty.lower() in difficulty),
        (tags, lambda one: not tags.isdisjoint(_lower(one.tags))),
        (options.years, lambda one: one.year in options.years),
        (options.problems, lambda one: one.id in options.problems),
        (begin, lambda one: one.date[:10] >= begin),
        (end, lambda one: one.date[:10] <= end),
    ]
    return [test for given, test in tests if given]


def _lower(words: Iterable[str]) -> set[str]:
    return {word.lower() for word in words}


def _day(text: str, option: str) -> str:
    if text and not re.fullmatch(r"[0-9]{4}-(0[1-9]|1[0-2])-[0-3][0-9]", text):
        raise InputError(f"{text!r} is not a day", field=option, remedy="Write it as 2024-05-31")
    return text


def _check_known(candidates: Sequence[Candidate], options: BenchmarkOptions) -> None:
    """Dates are no names: a window may be empty, but only of problems that have dates."""
    words = _lower(one.difficulty for one in candidates) - {""}
    _check("difficulty", _lower(options.difficulty), words)
    _check("tag", _lower(options.tags), _lower(tag for one in candidates for tag in one.tags))
    _check("year", set(map(str, options.years)), {str(one.year) for one in candidates if one.year})
    _check("problem", options.problems, {one.id for one in candidates})
    if (options.date_from or options.date_to) and not any(one.date for one in candidates):
        raise InputError("its problems have no dates", field="--date-from", remedy="Leave the window out")


def _check(what: str, wanted: Iterable[str], known: set[str]) -> None:
    for word in sorted(set(wanted) - known):
        raise InputError(
            f"no problem with the {what} {word!r}" if what != "problem" else f"no problem {word!r}",
            field=f"--{what}",
            remedy=nearest(word, tuple(sorted(known))),
        )
