"""Small problems and submissions for the tests of builds."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from borrowed_engine import artifacts_on

from ioi_eval import Store
from ioi_eval.judge.programs import Artifacts
from ioi_eval.models import (
    Blob,
    BuildLimits,
    BuildOptions,
    Checker,
    CheckerKind,
    NamedBlob,
    Problem,
    Submission,
    TaskOptions,
)
from ioi_eval.testing import FakeEngine
from support.engines import BuildSpec, submission_recipe

HELLO = '#include <bits/stdc++.h>\nint main() { std::cout << "hello\\n"; }\n'


def named(name: str, content: str = "x") -> NamedBlob:
    return NamedBlob(name=name, content=Blob.of(content))


def plain_problem(**changes: Any) -> Problem:
    return Problem(**{"id": "sum", "source": "problems/sum", **changes})


def graded_problem(**changes: Any) -> Problem:
    files = (
        named("graders/grader.cpp", '#include "sum.h"\nint main() { return add(1, 2) - 3; }\n'),
        named("graders/sum.h", "int add(int a, int b);\n"),
        named("graders/manager.cpp", "int main() {}\n"),
        named("graders/grader_config.json", "{}"),
    )
    options = TaskOptions(with_grader=True)
    return plain_problem(**{"grader_files": files, "options": options, **changes})


def checked_problem(source: str = "int main() {}\n") -> Problem:
    sources = (named("checker/checker.cpp", source), named("checker/testlib.h", "// none\n"))
    return plain_problem(checker=Checker(kind=CheckerKind.CMS, sources=sources))


def submitted(code: str | None = HELLO, language: str = "c++", key: str = "1") -> Submission:
    return Submission(key=key, problem_id="sum", code=code, language=language)


def recipe(source: str, problem: Problem | None = None, language: str = "c++") -> BuildSpec:
    """Return the build specification of a source, by default for the plain problem."""
    return submission_recipe(problem or plain_problem(), submitted(source, language), BuildLimits())


def lay_out(box: Path, recipe: BuildSpec) -> None:
    """Write the files of a build as in its sandbox."""
    for file in (recipe.control, *recipe.sources):
        (box / file.name).parent.mkdir(parents=True, exist_ok=True)
        (box / file.name).write_bytes(file.content.read())


@asynccontextmanager
async def opened(
    folder: Path, engine: FakeEngine, options: BuildOptions | None = None
) -> AsyncIterator[Artifacts]:
    """Open artifacts on an engine; by default nothing is precompiled."""
    options = options or BuildOptions(precompile=False)
    async with engine, artifacts_on(engine, Store(folder / "store"), options) as artifacts:
        yield artifacts
