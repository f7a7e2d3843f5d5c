"""Every layer is needed: the layers named for an attack stop it, and no other layer does."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from attack import java_program
from attacks_java import HERE, build
from built_programs import SOURCES, build_proctor, built_once, of_these_sources, waiting_library
from catalogue import ATTACKS, PROGRAMS
from harness import EVERYTHING, Bench
from mutation import OF_JUDGE, TEST_BUILD, Trial, trials
from worker_attacks import REPLACED


@pytest.fixture
def weakened(workshop: Path, binaries: Path, compiled: Callable[[str], Path], shared_cache: Path) -> Bench:
    """Return a bench whose proctor can disable layers."""
    proctor = built_once(binaries / of_these_sources("proctor-of-tests"), partial(build_proctor, TEST_BUILD))
    return Bench(
        workshop=workshop,
        proctor=proctor,
        compiled=compiled,
        layers=EVERYTHING,
        store=shared_cache,
        jar=jar_of(java_program(PROGRAMS), binaries) if HERE else None,
        waiting=waiting_library(binaries, "waiting-of-tests", TEST_BUILD),
    )


def jar_of(code: str, binaries: Path) -> Path:
    name = f"java-{hashlib.sha256(code.encode()).hexdigest()[:16]}"
    return built_once(binaries / name, partial(build, code))


@pytest.mark.nightly
@pytest.mark.parametrize("name", dict.fromkeys(trial.attack.name for trial in trials()))
def test_attack_succeeds_if_the_layers_named_for_it_are_removed(weakened: Bench, name: str) -> None:
    attack_trials = list(trials([name]))
    assert any(trial.succeeds for trial in attack_trials)
    assert not [error for trial in attack_trials if (error := trial_error(trial, weakened))]


def trial_error(trial: Trial, bench: Bench) -> str:
    fault = trial.fault(bench)
    return (
        f"{trial.way.value}, without {trial.away}, success being {trial.succeeds}: {fault}" if fault else ""
    )


@pytest.mark.parametrize("layer", REPLACED)
def test_every_mutation_finds_the_code_it_replaces(layer: str) -> None:
    """Most of these attacks are tried only in nightly runs, so a renamed function would go unnoticed."""
    with REPLACED[layer]():
        pass


def test_every_optional_layer_stops_an_attack() -> None:
    """The table of attacks lists exactly the layers that a test build of the proctor can disable."""
    sources = "".join(path.read_text() for path in sorted(SOURCES.glob("*.cpp")))
    optional = set(re.findall(r'\bis_enabled\("([a-z-]+)"\)', sources)) | {
        "landlock",
        "namespaces",
        "seccomp",
    }
    assert {layer for attack in ATTACKS for layer in attack.layers} == optional | OF_JUDGE


@pytest.fixture
def shipped(workshop: Path, proctor: Path, compiled: Callable[[str], Path]) -> Bench:
    return Bench(workshop=workshop, proctor=proctor, compiled=compiled, layers=EVERYTHING)


def test_shipped_proctor_cannot_disable_layers(shipped: Bench, proctor: Path) -> None:
    assert "test build only" in shipped.box("true", without=["rlimit-core"]).report["failure"]
    program = proctor.read_bytes()
    assert b"rlimit-msgqueue" not in program
    assert b"unlinking" not in program


def test_plan_cannot_disable_layers(shipped: Bench) -> None:
    result = shipped.judge("int main(){}", [("", "")])
    assert result.lines[-1].done
    script = """sed -i 's/"version":2/"version":2,"without":[]/' plan.json; exec ./proctor run plan.json"""
    result = shipped.judge("int main(){}", [("", "")], script=script)
    assert result.lines == [] and "test build only" in result.boxed.stdout
