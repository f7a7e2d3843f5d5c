"""No attack reaches a verdict, a secret or the judge: from end to end, under every mixture of layers."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from attack import HEADINGS, SECRET, Attack
from catalogue import PROGRAMS
from ground import attacked, faults, prepared
from harness import EVERYTHING, LANDLOCK_ALONE, NAMESPACES_ALONE

from ioi_eval.engines.embedded import EmbeddedEngine
from ioi_eval.judge import JudgeOptions, Scorer
from ioi_eval.store import Store

_CPP = [attack for attack in PROGRAMS if attack.language == "c++"]
PARTS = {
    "c++ one": _CPP[::2],
    "c++ two": _CPP[1::2],
    "python": [attack for attack in PROGRAMS if attack.language == "python"],
}


@pytest.fixture(
    params=[EVERYTHING, LANDLOCK_ALONE, NAMESPACES_ALONE], ids=["everything", "landlock", "namespaces"]
)
async def scorer(request: pytest.FixtureRequest, shared_cache: Path) -> AsyncIterator[Scorer]:
    store, layers = Store(shared_cache), request.param
    engine = EmbeddedEngine(store=store, slots=1, layers=layers)
    async with Scorer(engine, store=store, options=JudgeOptions(all_tests=True, layers=layers)) as opened:
        yield opened


@pytest.mark.parametrize("part", PARTS)
async def test_no_attack_succeeds(
    scorer: Scorer, workshop: Path, part: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("API_KEY", SECRET)
    with prepared(workshop) as ground:
        result = await attacked(scorer, ground, PARTS[part])
        assert result.compiles, result.compile_output
        assert not faults(ground, PARTS[part], result)


def test_the_catalogue() -> None:
    names = [attack.name for attack in PROGRAMS]
    assert len(names) == len(set(names)) >= 80
    assert {attack.heading for attack in PROGRAMS} == set(HEADINGS)
    assert all(stopped(attack) for attack in PROGRAMS), "what stops it is said"


def stopped(attack: Attack) -> bool:
    return bool(attack.layers) != bool(attack.inherent)
