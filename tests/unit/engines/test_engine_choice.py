"""Command line, library and integrations choose engine, interpreter and workers alike."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ioi_eval import EmbeddedEngine, PistonEngine, Store
from ioi_eval.cli.options import EngineOptions
from ioi_eval.engines import embedded
from ioi_eval.engines.registry import EngineChoice, JobAndTrustedEngines, open_engine
from ioi_eval.errors import EngineUnavailable, InputError
from ioi_eval.integrations.eval_protocol import Execution
from ioi_eval.integrations.lm_eval import CodeEval
from ioi_eval.integrations.runtime import Setup, close_all
from ioi_eval.integrations.trl import make_reward
from ioi_eval.integrations.verl import make_rewards

Door = Callable[..., JobAndTrustedEngines]
CORES = 8


def command_line(
    store: Store, engine: str | None, workers: int | None = None, **options: Any
) -> JobAndTrustedEngines:
    return open_engine(EngineOptions(engine=engine, workers=workers, **options).read_engine_choice(), store)


def library(
    store: Store, engine: str | None, workers: int | None = None, **options: Any
) -> JobAndTrustedEngines:
    return open_engine(EngineChoice.from_variables(engine, os.environ, slots=workers, **options), store)


def integration(
    store: Store, engine: str | None, workers: int | None = None, **options: Any
) -> JobAndTrustedEngines:
    return Setup(engine=engine, slots=workers, **options).open_engines(store)


def reward_of_verl(store: Store, engine: str | None) -> JobAndTrustedEngines:
    return make_rewards({"engine": engine}).setup.open_engines(store)


def reward_of_trl(store: Store, engine: str | None) -> JobAndTrustedEngines:
    give = make_reward(engine=engine)
    return setup_of(lambda: give(completions=["", ""], tests=["", ""])).open_engines(store)


def evaluator_of_apps(store: Store, engine: str | None, **options: Any) -> JobAndTrustedEngines:
    return Execution(engine=Setup(engine=engine, **options)).make_judging_setup().open_engines(store)


def metric_of_lm_eval(store: Store, engine: str | None, **options: Any) -> JobAndTrustedEngines:
    metric = CodeEval(Setup(engine=engine, **options))
    return setup_of(lambda: metric.compute(predictions=[], references=[])).open_engines(store)


def setup_of(call: Callable[[], object]) -> Setup:
    """Return the setup whose engines a call opens. The call fails."""
    setups = list[Setup]()

    def open_engines(setup: Setup, _: Store) -> JobAndTrustedEngines:
        setups.append(setup)
        raise EngineUnavailable("no engine for this call")

    close_all()  # the call would use the engine of an equal setup
    with pytest.MonkeyPatch.context() as patch, pytest.raises(EngineUnavailable):
        patch.setattr(Setup, "open_engines", open_engines)
        call()
    (setup,) = setups
    return setup


class LocalEngine(EmbeddedEngine):
    """An engine of this machine that stores the interpreter with which it was created."""

    def __init__(self, *, python: str, **options: Any) -> None:
        super().__init__(python=python, **options)
        self.python = python


DOORS = [command_line, library, integration]
EVERY = [*DOORS, evaluator_of_apps, metric_of_lm_eval, reward_of_verl, reward_of_trl]


@pytest.fixture(autouse=True)
def quiet_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    names = (
        "PISTON_ENDPOINTS",
        "IOI_EVAL_PYTHON",
        "IOI_EVAL_TOKEN",
        "LOCAL_WORLD_SIZE",
        "WORLD_SIZE",
        "RANK",
    )
    for name in names:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("IOI_EVAL_CACHE", str(tmp_path))
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(CORES)))
    monkeypatch.setattr(embedded, "EmbeddedEngine", LocalEngine)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path)


def local_choice(opening: JobAndTrustedEngines) -> LocalEngine:
    assert isinstance(opening.engine, LocalEngine) and opening.trusted is None
    return opening.engine


@pytest.mark.parametrize("door", DOORS)
def test_python_option_selects_interpreter(door: Door, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IOI_EVAL_PYTHON", "/opt/variable")
    assert local_choice(door(store, "embedded", python="/opt/other")).python == "/opt/other"


@pytest.mark.parametrize("engine", [None, "embedded"])
@pytest.mark.parametrize("door", EVERY)
def test_python_variable_selects_interpreter(
    door: Door, engine: str | None, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("IOI_EVAL_PYTHON", " /opt/variable ")
    assert local_choice(door(store, engine)).python == "/opt/variable"


@pytest.mark.parametrize("engine", [None, "embedded"])
@pytest.mark.parametrize("door", EVERY)
def test_caller_interpreter_is_default(door: Door, engine: str | None, store: Store) -> None:
    assert local_choice(door(store, engine)).python == "caller"


@pytest.mark.parametrize("door", [evaluator_of_apps, metric_of_lm_eval])
def test_python_option_overrides_caller_and_variable(
    door: Door, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert local_choice(door(store, None, python="/opt/other")).python == "/opt/other"
    monkeypatch.setenv("IOI_EVAL_PYTHON", "/opt/variable")
    assert local_choice(door(store, None, python="/opt/other")).python == "/opt/other"


@pytest.mark.parametrize("engine", [None, "embedded"])
@pytest.mark.parametrize("door", EVERY)
def test_local_world_size_divides_slots(
    door: Door, engine: str | None, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert local_choice(door(store, engine)).slots == CORES
    monkeypatch.setenv("LOCAL_WORLD_SIZE", "4")
    assert local_choice(door(store, engine)).slots == 2
    opened = door(store, "http://a:2000")
    assert isinstance(opened.trusted, EmbeddedEngine) and opened.trusted.slots == 2


@pytest.mark.parametrize("door", DOORS)
def test_explicit_slots_ignore_local_world_size(
    door: Door, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOCAL_WORLD_SIZE", "4")
    assert local_choice(door(store, "embedded", 7)).slots == 7


@pytest.mark.parametrize("door", EVERY)
def test_engine_of_servers_comes_with_a_local_engine_for_checkers(door: Door, store: Store) -> None:
    piston, trusted = door(store, "http://a:2000")
    assert isinstance(piston, PistonEngine) and isinstance(trusted, EmbeddedEngine)


@pytest.mark.parametrize("door", EVERY)
def test_endpoints_variable_selects_piston_unless_engine_is_named(
    door: Door, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PISTON_ENDPOINTS", "http://a:2000,http://b:2000")
    piston, trusted = door(store, None)
    assert isinstance(piston, PistonEngine) and isinstance(trusted, EmbeddedEngine)
    assert local_choice(door(store, "embedded")).slots == CORES, "an explicit choice wins"


def test_engine_choice_ignores_environment_variables(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IOI_EVAL_PYTHON", "/opt/variable")
    monkeypatch.setenv("LOCAL_WORLD_SIZE", "4")
    monkeypatch.setenv("PISTON_ENDPOINTS", "http://a:2000")
    engine = local_choice(open_engine(EngineChoice(python="/opt/other"), store))
    assert (engine.python, engine.slots) == ("/opt/other", CORES)


@pytest.mark.parametrize("door", DOORS)
def test_python_option_with_servers_is_refused(door: Door, store: Store) -> None:
    with pytest.raises(InputError, match="an interpreter of the server"):
        door(store, "http://a:2000", python="/opt/other")
