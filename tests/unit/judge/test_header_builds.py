"""A header that many programs include is precompiled when it saves time."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from pathlib import Path

import msgspec
import pytest
from support.builds import HELLO, graded_problem, opened, plain_problem, submitted
from support.waiting import until

from ioi_eval import Store
from ioi_eval.engines.health_checks import check_precompiled_headers
from ioi_eval.engines.jobs.build import OBJECT
from ioi_eval.engines.jobs.headers import NAMES
from ioi_eval.judge.programs import Artifacts
from ioi_eval.models import BuildOptions
from ioi_eval.testing import FakeEngine

# --- precompiled headers -----------------------------------------------------------------------------


def kinds(engine: FakeEngine) -> list[str]:
    return [job.keep[0] for job in engine.builds]


def uses(engine: FakeEngine, name: str) -> list[bool]:
    """Return for each submission whether its build has a file of that name."""
    builds = [job for job in engine.builds if job.keep == ("submission",)]
    paths = [[file.name for file in job.files if file.name.endswith(f"/{name}")] for job in builds]
    folders = [path.partition("/")[0] for header_paths in paths for path in header_paths]
    assert len({*folders}) == len(folders) and all(len(folder) == 32 for folder in folders)
    contents = b"".join(file.content.read() for job in builds for file in job.files)
    assert not any(folder.encode() in contents for folder in folders)
    return [bool(header_paths) for header_paths in paths]


async def build_some(artifacts: Artifacts, sources: Iterable[str]) -> None:
    for source in sources:
        await artifacts.build_submission(artifacts.prepare_problem(plain_problem()), submitted(source))
        await until(lambda: not artifacts.builder.is_busy, every=0.001)


def some(begins: str, number: int, start: int = 0) -> list[str]:
    return [f"{begins}int n{index};\n" for index in range(start, start + number)]


async def test_big_header_is_precompiled_after_first_source_that_includes_it(tmp_path: Path) -> None:
    engine = FakeEngine()
    async with opened(tmp_path, engine, BuildOptions()) as artifacts:
        await build_some(artifacts, some(HELLO, 3))
    assert kinds(engine).count("header") == 1
    assert uses(engine, "bits/stdc++.h.gch") == [False, True, True]


async def test_precompiled_header_of_earlier_run_is_used_at_once(tmp_path: Path) -> None:
    async with opened(tmp_path, FakeEngine(), BuildOptions()) as artifacts:
        await build_some(artifacts, some(HELLO, 1))
    engine = FakeEngine()
    async with opened(tmp_path, engine, BuildOptions()) as artifacts:
        await build_some(artifacts, some(HELLO, 1, start=10))
    assert uses(engine, "bits/stdc++.h.gch") == [True]


async def test_doctor_lists_cached_precompiled_headers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("platform.machine", lambda: FakeEngine().capabilities_value.architecture)
    compiler, store = FakeEngine().capabilities_value.toolchains["g++"], Store(tmp_path / "store")
    assert [line.detail for line in check_precompiled_headers(compiler, store)] == [
        "none precompiled yet; the first builds start their compilation in the background"
    ]
    async with opened(tmp_path, FakeEngine(), BuildOptions()) as artifacts:
        await build_some(artifacts, some(HELLO, 2))
    other = msgspec.structs.replace(compiler, identity="another g++")
    assert [line.detail for line in check_precompiled_headers(compiler, store)] == [
        "bits/stdc++.h, precompiled for gnu++20"
    ]
    assert check_precompiled_headers(other, store)[0].detail.startswith("none precompiled yet")
    assert check_precompiled_headers(None, store) == []


async def test_precompile_off_builds_no_header(tmp_path: Path) -> None:
    engine = FakeEngine()
    async with opened(tmp_path, engine, BuildOptions(precompile=False)) as artifacts:
        await build_some(artifacts, some(HELLO, 4))
    assert set(kinds(engine)) == {"submission"}


async def test_failed_header_build_does_not_stop_submission_builds(tmp_path: Path) -> None:
    engine = FakeEngine(
        compile_errors=lambda source: "no" if source == "#include <bits/stdc++.h>\n" else None
    )
    async with opened(tmp_path, engine, BuildOptions()) as artifacts:
        await build_some(artifacts, some(HELLO, 4))
    assert kinds(engine).count("header") == 1
    assert uses(engine, "bits/stdc++.h.gch") == [False] * 4


async def test_closing_the_builder_cancels_header_build(tmp_path: Path) -> None:
    engine = FakeEngine()
    async with opened(tmp_path, engine, BuildOptions()) as artifacts:
        engine.delay = 0.01
        task = asyncio.create_task(
            artifacts.build_submission(artifacts.prepare_problem(plain_problem()), submitted())
        )
        await until(lambda: "header" in kinds(engine), every=0.001)
        engine.delay = 30
        await task
    assert engine.running == 0


async def test_small_headers_are_precompiled_after_second_source_with_same_includes(tmp_path: Path) -> None:
    engine = FakeEngine()
    first_head, other = "#include <cstdio>\n#include <vector>\n", "#include <vector>\n#include <cstdio>\n"
    begins = (
        first_head,
        other,
        first_head,
        first_head,
        f"\n{first_head}",
        "#include <unknown>\n",
        "// a comment\n" + first_head,
    )
    async with opened(tmp_path, engine, BuildOptions()) as artifacts:
        await build_some(artifacts, [f"{head}int n{index};\n" for index, head in enumerate(begins)])
    [header] = [job for job in engine.builds if job.keep == ("header",)]
    assert [file.content.read().decode() for file in header.files if file.name == "wrapper.hpp"] == [
        first_head
    ]
    served = uses(engine, "ioi-eval-head.hpp.gch")
    assert served == [False, False, False, True, True, False, False]


async def test_at_most_sixteen_headers_are_precompiled(tmp_path: Path) -> None:
    engine = FakeEngine()
    include_lines = [f"#include <{name}>\n" for name in sorted(NAMES)[:20]]
    async with opened(tmp_path, engine, BuildOptions()) as artifacts:
        for number in range(2):
            await build_some(artifacts, [f"{head}int n{number};\n" for head in include_lines])
    assert kinds(engine).count("header") == 16


# --- graders as objects ------------------------------------------------------------------------------


async def test_grader_object_is_built_at_first_submission_and_used_from_second(tmp_path: Path) -> None:
    engine, task = FakeEngine(), graded_problem()
    async with opened(tmp_path, engine, BuildOptions()) as artifacts:
        for index in range(4):
            await artifacts.build_submission(artifacts.prepare_problem(task), submitted(f"int n{index};\n"))
    assert kinds(engine) == ["submission", OBJECT, "submission", "submission", "submission"]
    assert uses(engine, OBJECT) == [False, True, True, True]


async def test_concurrent_submissions_wait_for_grader_object(tmp_path: Path) -> None:
    engine, task = FakeEngine(), graded_problem()
    engine.delay = 0.01
    async with opened(tmp_path, engine, BuildOptions()) as artifacts:
        work = (
            artifacts.build_submission(artifacts.prepare_problem(task), submitted(f"int n{index};\n"))
            for index in range(6)
        )
        await asyncio.gather(*work)
    assert kinds(engine).count(OBJECT) == 1
    assert uses(engine, OBJECT).count(False) == 1
