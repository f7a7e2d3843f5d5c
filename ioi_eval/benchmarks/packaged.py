"""Problems of datasets that have a package for each problem."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from ioi_eval.benchmarks.benchmark import ContentStore, Unusable
from ioi_eval.model.values import Blob, NamedBlob, Problem
from ioi_eval.problems import Package
from ioi_eval.problems.package import TESTLIB_REMEDY


def make_problem_from_package(package: Package, contents: ContentStore) -> Problem:
    """Return the problem of a package, with its tests in `contents` and its programs in memory.

    The package's folder may be removed afterwards.

    Raises:
        Unusable: The package is flawed.
        InputError: The package needs testlib.h, which the user can add.
    """
    problem = package.problem
    if problem is None:
        error = package.errors[0]
        if error.remedy == TESTLIB_REMEDY:
            raise error
        raise Unusable(f"the problem's package is invalid: {error.problem}")
    tests = (
        replace(test, input=contents.copy(test.input), answer=test.answer and contents.copy(test.answer))
        for test in problem.tests
    )
    problem = replace(problem, tests=tuple(tests))
    if problem.manager is not None:
        return replace(
            problem, manager=replace(problem.manager, sources=_read_into_memory(problem.manager.sources))
        )
    return replace(
        problem, checker=replace(problem.checker, sources=_read_into_memory(problem.checker.sources))
    )


def _read_into_memory(sources: Sequence[NamedBlob]) -> tuple[NamedBlob, ...]:
    """Return the files with their contents in memory."""
    return tuple(replace(source, content=Blob.of(source.content.read())) for source in sources)
