"""Submissions with unusable source names or sizes are still judged."""

from __future__ import annotations

import msgspec
import pytest
from judge_samples import problem, submission

from ioi_eval import Scorer
from ioi_eval.models import Blob, NamedBlob, TaskOptions, TaskType, Verdict
from ioi_eval.rules.limits import MAX_SOURCE_BYTES
from ioi_eval.testing import FakeEngine

NAMES = {
    "above": ("../b.h",),
    "absolute": ("/b.h",),
    "empty": ("",),
    "zero": ("b\0.h",),
    "half of a pair": ("\udcff.h",),
    "long": ("b" * 300 + ".h",),
    "deep": ("/".join("b" * 600),),
    "twice": ("b.h", "b.h"),
    "a file and a folder": ("b", "b/c.h"),
}


@pytest.mark.parametrize("names", NAMES.values(), ids=NAMES)
async def test_unusable_source_names_are_compile_error(names: tuple[str, ...]) -> None:
    files = tuple(NamedBlob(name=name, content=Blob.of("//\n")) for name in names)
    async with Scorer(FakeEngine()) as scorer:
        result = await scorer.score(problem(2), msgspec.structs.replace(submission("code"), files=files))
    assert not result.compiles and {test.status for test in result.tests} == {Verdict.CE}
    assert result.compile_output


@pytest.mark.parametrize("max_bytes", [1 << 18, pytest.param(MAX_SOURCE_BYTES, marks=pytest.mark.nightly)])
async def test_oversized_source_is_compile_error(monkeypatch: pytest.MonkeyPatch, max_bytes: int) -> None:
    if max_bytes != MAX_SOURCE_BYTES:
        monkeypatch.setattr("ioi_eval.judge.recipes.MAX_SOURCE_BYTES", max_bytes)
    engine = FakeEngine()
    async with Scorer(engine) as scorer:
        result = await scorer.score(problem(2), submission("x" * (max_bytes + 1)))
        assert not result.compiles and "; the maximum is " in result.compile_output
        assert engine.builds == []
        assert (await scorer.score(problem(2), submission("x" * max_bytes))).compiles


async def test_function_submission_of_several_sources_is_compile_error() -> None:
    of = problem(1, task_type=TaskType.FUNCTION, options=TaskOptions(function="f"))
    files = (NamedBlob(name="b.py", content=Blob.of("")),)
    several = msgspec.structs.replace(submission("def f(): ...", language="python"), files=files)
    async with Scorer(FakeEngine()) as scorer:
        assert not (await scorer.score(of, several)).compiles
