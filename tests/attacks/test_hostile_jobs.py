"""The judge survives sixty hostile jobs in a row: a normal submission gets the same result as before."""

from __future__ import annotations

from pathlib import Path

import pytest
from attack_environment import prepared
from hostile_jobs import hostile, normal

from ioi_eval import EmbeddedEngine, JudgeOptions, Scorer, Store


@pytest.mark.nightly
async def test_normal_submission_is_judged_after_hostile_jobs(store: Store, workshop: Path) -> None:
    engine = EmbeddedEngine(store=store, slots=1)
    async with Scorer(engine, store=store, options=JudgeOptions(all_tests=True)) as scorer:
        assert (await normal(scorer, 1)).points == 1
        with prepared(workshop) as ground:
            assert not await hostile(scorer, ground, 60)
        assert (await normal(scorer, 1)).points == 1
