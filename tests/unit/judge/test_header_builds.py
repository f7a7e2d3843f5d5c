"""A header that many programs include is compiled once it pays."""

from __future__ import annotations

import asyncio
from pathlib import Path

import msgspec
import pytest
from support.builds import HELLO, graded_problem, opened, plain_problem, submitted
from support.waits import until

from ioi_eval import Store
from ioi_eval.engines.conditions import headers
from ioi_eval.engines.jobs.build import OBJECT
from ioi_eval.engines.jobs.headers import INCLUDED
from ioi_eval.judge.programs import Artifacts
from ioi_eval.models import BuildOptions
from ioi_eval.testing import FakeEngine

pytestmark = pytest.mark.once

# --- precompiled headers -----------------------------------------------------------------------------


def kinds(engine: FakeEngine) -> list[str]:
    return [job.keep[0] for job in engine.builds]


def uses_header(engine: FakeEngine) -> list[bool]:
    names = ([file.name for file in job.files] for job in engine.builds if job.keep == ("submission",))
    return ["ioi-eval-headers/bits/stdc++.h.gch" in name for name in names]


async def build_some(artifacts: Artifacts, number: int, start: int = 0) -> None:
    for index in range(start, start + number):
        await artifacts.submission(plain_problem(), submitted(f"{HELLO}int n{index};\n"))
        await until(lambda: not artifacts.engine.builds.busy, every=0.001)


async def test_a_header_is_precompiled_once_it_pays(tmp_path: Path) -> None:
    engine = FakeEngine()
    async with opened(tmp_path, engine, BuildOptions(precompile_after=3)) as artifacts:
        await build_some(artifacts, 6)
    assert kinds(engine).count("header") == 1
    assert uses_header(engine)[:3] == [False] * 3
    assert uses_header(engine)[-1] is True
    script = engine.builds[-1].files[0].content.read().decode()
    assert "-I ioi-eval-headers" in script


async def test_a_header_of_an_earlier_run_serves_from_the_start(tmp_path: Path) -> None:
    async with opened(tmp_path, FakeEngine(), BuildOptions(precompile_after=0)) as artifacts:
        await build_some(artifacts, 2)
    engine = FakeEngine()
    async with opened(tmp_path, engine) as artifacts:
        await build_some(artifacts, 1, start=10)
    assert uses_header(engine) == [True]


async def test_the_doctor_says_which_headers_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("platform.machine", lambda: FakeEngine().profile_value.architecture)
    compiler, store = FakeEngine().profile_value.toolchains["g++"], Store(tmp_path / "store")
    assert [line.detail for line in headers(compiler, store)] == [
        "none yet; bits/stdc++.h is precompiled beside the work after 8 builds"
    ]
    async with opened(tmp_path, FakeEngine(), BuildOptions(precompile_after=0)) as artifacts:
        await build_some(artifacts, 2)
    other = msgspec.structs.replace(compiler, identity="another g++")
    assert [line.detail for line in headers(compiler, store)] == ["bits/stdc++.h, precompiled for gnu++20"]
    assert headers(other, store)[0].detail.startswith("none yet")
    assert headers(None, store) == []


async def test_without_the_option_no_header_is_made(tmp_path: Path) -> None:
    engine = FakeEngine()
    async with opened(tmp_path, engine, BuildOptions(precompile_after=None)) as artifacts:
        await build_some(artifacts, 10)
    assert set(kinds(engine)) == {"submission"}


async def test_a_header_that_cannot_be_made_is_done_without(tmp_path: Path) -> None:
    engine = FakeEngine(
        compile_errors=lambda source: "no" if source == "#include <bits/stdc++.h>\n" else None
    )
    async with opened(tmp_path, engine, BuildOptions(precompile_after=0)) as artifacts:
        await build_some(artifacts, 4)
    assert kinds(engine).count("header") == 1
    assert uses_header(engine) == [False] * 4


async def test_a_header_in_the_making_ends_with_the_artifacts(tmp_path: Path) -> None:
    engine = FakeEngine()
    async with opened(tmp_path, engine, BuildOptions(precompile_after=0)) as artifacts:
        engine.delay = 0.01
        task = asyncio.create_task(artifacts.submission(plain_problem(), submitted()))
        await until(lambda: "header" in kinds(engine), every=0.001)
        engine.delay = 30
        await task
    assert engine.running == 0


# --- a source's own first includes -------------------------------------------------------------------


async def test_includes_are_precompiled_from_the_second_source_on_that_begins_with_them(
    tmp_path: Path,
) -> None:
    engine = FakeEngine()
    lines = "#include <cstdio>\n#include <vector>\n", "#include <vector>\n#include <cstdio>\n"
    async with opened(tmp_path, engine) as artifacts:
        for index, beginning in enumerate(
            (lines[0], lines[1], *[lines[0]] * 3, *["#include <unknown>\n"] * 3)
        ):
            await artifacts.submission(plain_problem(), submitted(f"{beginning}int n{index};\n"))
            await until(lambda: not artifacts.engine.builds.busy, every=0.001)
    [header] = [job for job in engine.builds if job.keep == ("header",)]
    assert [file.content.read().decode() for file in header.files if file.name == "wrapper.hpp"] == [lines[0]]
    builds = [job for job in engine.builds if job.keep == ("submission",)]
    served = [any(file.name == f"{INCLUDED}.gch" for file in job.files) for job in builds]
    assert served[0] is served[1] is False and served[3:] == [True, True, False, False, False]
    assert f"-include {INCLUDED}" in builds[4].files[0].content.read().decode()


# --- graders as objects ------------------------------------------------------------------------------


async def test_a_grader_is_compiled_alone_from_the_second_submission_on(tmp_path: Path) -> None:
    engine, task = FakeEngine(), graded_problem()
    async with opened(tmp_path, engine) as artifacts:
        for index in range(4):
            await artifacts.submission(task, submitted(f"int n{index};\n"))
    assert kinds(engine) == ["submission", OBJECT, "submission", "submission", "submission"]
    names = ([file.name for file in job.files] for job in engine.builds if job.keep == ("submission",))
    assert [OBJECT in each for each in names] == [False, True, True, True]


async def test_those_that_come_at_once_wait_for_the_graders_object(tmp_path: Path) -> None:
    engine, task = FakeEngine(), graded_problem()
    engine.delay = 0.01
    async with opened(tmp_path, engine) as artifacts:
        work = (artifacts.submission(task, submitted(f"int n{index};\n")) for index in range(6))
        await asyncio.gather(*work)
    assert kinds(engine).count(OBJECT) == 1
    names = ([file.name for file in job.files] for job in engine.builds if job.keep == ("submission",))
    assert [OBJECT in each for each in names].count(False) == 1
