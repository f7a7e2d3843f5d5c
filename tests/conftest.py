"""What all tests share."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

# The proctor's fixtures serve the attacks too; defined twice, they would build it twice.
sys.path.insert(0, str(Path(__file__).parent / "proctor"))

import leftovers  # only now can they be found
from fixtures import bench, binaries, compiled, kept, proctor, workshop

from ioi_eval.engines.embedded.toolchains import toolchains
from ioi_eval.store import private_folder

__all__ = ["bench", "binaries", "compiled", "kept", "proctor", "workshop"]


@pytest.fixture(scope="session", autouse=True)
def nothing_is_left() -> Iterator[None]:
    """No process, folder, mount, shared memory or port of ours outlives the tests that made it."""
    leftovers.adopt_orphans()
    before = leftovers.all_of_it()
    yield
    assert not leftovers.new_since(before)


@pytest.fixture(scope="session")
def shared_cache(kept: Path) -> Path:
    """One cache for all tests, in whichever worker they run, so that the proctor is built once."""
    return private_folder(kept, "cache")


@pytest.fixture(scope="session", autouse=True)
def compilers_are_asked_once() -> Iterator[None]:
    """Who they are does not change while tests run, and asking all of them takes longer than most jobs."""
    asked = cache(toolchains)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("ioi_eval.engines.embedded.engine.toolchains", lambda: dict(asked()))
        yield


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--sanitize", action="store_true", help="Build the proctor with ASan and UBSan.")
    parser.addoption("--kept", metavar="DIR", help="Where what tests build is kept, for their next run.")


# What neither starts programs nor cares whose files it reads: the same for everybody, and run once. So is
# what stands on engines, judge and command line, whose own tests are run by both.
SAME_FOR_EVERYBODY = tuple(
    f"tests/{name}"
    for name in (
        "chaos/",
        "deploy/",
        "fuzz/",
        "unit/artifacts/test_precompiled",
        "unit/benchmarks/",
        "unit/cli/test_cli_apps",
        "unit/cli/test_cli_engines",
        "unit/cli/test_cli_run",
        "unit/cli/test_cli_secrets",
        "unit/cli/test_readme",
        "unit/cli/test_score_script",
        "unit/cli/test_validate",
        "unit/generate/",
        "unit/integrations/test_apps",
        "unit/integrations/test_open_r1",
        "unit/integrations/test_rewards",
        "unit/problems/",
        "unit/protocol/",
        "unit/reports/",
        "unit/test_cases",
        "unit/test_expectations",
        "unit/test_extraction",
        "unit/test_languages",
        "unit/test_layers",
        "unit/test_metrics",
        "unit/test_plan",
        "unit/test_rows",
        "unit/test_runner",
        "unit/test_scoring",
        "unit/test_selection",
        "unit/test_validation",
        "unit/test_verdicts",
    )
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.nodeid.startswith(SAME_FOR_EVERYBODY):
            item.add_marker("once")


def pytest_configure() -> None:
    """Started in the background we have SIGINT ignored, and so would have all that tests interrupt."""
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, signal.default_int_handler)
