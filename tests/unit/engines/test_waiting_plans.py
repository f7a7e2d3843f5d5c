from __future__ import annotations

import asyncio

import pytest

from ioi_eval import EmbeddedEngine, Scorer, Store
from ioi_eval.engines.contract import Capabilities, Program
from ioi_eval.engines.jobs.run import add_fork_server
from ioi_eval.model.protocol import PlanChecker, PlanSubmission
from ioi_eval.models import Blob, JobFile, Limits, Problem, Submission, Test

HARNESS = ("math", "json", "importlib")


def program(source: str | bytes, *, command: str = "python3", harness: bool = False) -> Program:
    files = ("harness.py", "submission") if harness else ("submission",)
    content = source if isinstance(source, bytes) else source.encode()
    return Program(
        proctor=Blob.of(""),
        submission=PlanSubmission(argv=(command, "-I", *files), files=files),
        checker=PlanChecker(kind="exact"),
        files=tuple(
            JobFile(name=name, content=Blob.of(content if name == "submission" else b"")) for name in files
        ),
    )


def profile(library: str | None = "library") -> Capabilities:
    return Capabilities(name="", architecture="", waiting=None if library is None else Blob.of(library))


def modules(source: str | bytes) -> tuple[str, ...]:
    warm = add_fork_server(program(source), profile()).submission.warm
    assert warm is not None
    return warm.modules


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("import math", ("math",)),
        ("import sys, math as m, os.path", ("sys", "math", "os")),
        ("from collections import deque\nimport heapq\n", ("collections", "heapq")),
        ("from collections.abc import Set", ("collections",)),
        ("def f():\n\timport bisect\n    from  math  import *", ("bisect", "math")),
        ("import math, math\nimport math", ("math",)),
        ("x = 'import math'\n# import json\nimportmath", ()),
        ("import antigravity, this, own, multiprocessing", ()),
        ("from . import math\nfrom .math import x", ()),
        (b"import \xff, math", ()),
        (b"PK\x03\x04\nimport math", ()),
        ("", ()),
    ],
)
def test_only_allowed_imported_modules_are_preloaded(source: str | bytes, expected: tuple[str, ...]) -> None:
    assert modules(source) == expected


def test_fork_server_preloads_modules_of_the_harness() -> None:
    warm = add_fork_server(program("import bisect, zlib", harness=True), profile()).submission.warm
    assert warm is not None
    assert set(HARNESS) < set(warm.modules)
    assert warm.modules[-1] == "zlib"
    assert len(set(warm.modules)) == len(warm.modules)


def test_files_of_plan_with_fork_server_include_its_library_and_script() -> None:
    with_server = add_fork_server(program(""), profile())
    assert [file.name for file in with_server.files] == ["submission", "waiting.so", "waiting.py"]


@pytest.mark.parametrize(
    ("planned", "capabilities"),
    [
        (program("", command="pypy3"), profile()),
        (program(""), profile(None)),
        (program("", command="submission"), profile()),
    ],
)
def test_plan_is_unchanged_if_program_cannot_use_a_fork_server(
    planned: Program, capabilities: Capabilities
) -> None:
    assert add_fork_server(planned, capabilities) == planned


PROBLEM = Problem(
    id="sum",
    limits=Limits(cpu_time=5.0, wall_time=60.0, memory=256 << 20),
    tests=tuple(Test(name=f"{n}", input=Blob.of(f"{n} 1\n"), answer=Blob.of(f"{n + 1}\n")) for n in range(3)),
)
CODE = "import sys, math\nprint(sum(map(int, sys.stdin.read().split())))\n"


@pytest.mark.parametrize("wait", [True, False])
async def test_confinement_of_row_records_forked_or_started_interpreter(store: Store, wait: bool) -> None:
    async with Scorer(EmbeddedEngine(store=store, slots=1, waiting=wait), store=store) as scorer:
        submission = Submission(key="a", problem_id="sum", code=CODE, language="python")
        result = await scorer.score(PROBLEM, submission)
    assert [test.score for test in result.tests] == [1, 1, 1]
    if "pid" in result.confinement["namespaces"]:
        assert result.confinement.get("interpreter", "started") == ("forked" if wait else "started")
    assert asyncio.get_running_loop()
