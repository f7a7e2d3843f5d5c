"""Every engine refuses a job whose compiler or interpreter it does not have, in the same way."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from ioi_eval import EmbeddedEngine, Engine, Store
from ioi_eval.errors import ToolchainGone
from ioi_eval.models import Blob, Job, JobFile
from ioi_eval.testing import FakeEngine


def job(command: str, *identities: str) -> Job:
    script = JobFile(name="compile", content=Blob.of("true"))
    return Job(files=(script,), keep=("made",), accepted_toolchains={command: identities})


def open_embedded(store: Store) -> Engine:
    return EmbeddedEngine(store=store, slots=1)


def open_fake(store: Store) -> Engine:
    return FakeEngine()


@pytest.mark.parametrize("make_engine", [open_embedded, open_fake])
async def test_job_for_toolchain_that_engine_lacks_raises_toolchain_gone(
    make_engine: Callable[[Store], Engine], store: Store
) -> None:
    async with make_engine(store) as engine:
        tool = (await engine.capabilities()).toolchains["g++"]
        for lacking in (job("g++", "another g++"), job("no-compiler", tool.identity)):
            with pytest.raises(ToolchainGone, match=re.escape(next(iter(lacking.accepted_toolchains)))):
                await engine.execute(lacking)
        await engine.execute(job("g++", "another g++", tool.identity))
