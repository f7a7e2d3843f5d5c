"""Fixtures and options of all tests."""

from __future__ import annotations

import asyncio
import gc
import itertools
import re
import signal
import sys
import tempfile
import threading
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

# The attacks use the proctor's fixtures too. If they were defined twice, the proctor would be built twice.
sys.path.insert(0, str(Path(__file__).parent / "proctor"))

import leftovers  # these imports need the path above
from built_programs import SOURCES, built_once
from fixtures import bench, binaries, compiled, kept, library, proctor, shared, workshop
from support.cached_lookups import install_cached_lookups, share_lookups
from support.folders import default_cache_variables
from support.warm_command import end_warm_command

from ioi_eval import EmbeddedEngine, Store, private_folder
from ioi_eval.engines.embedded.toolchains import find_compiler
from ioi_eval.store.compiling import hash_sources

if TYPE_CHECKING:
    from support.command_line import CommandLine

    from ioi_eval import Scorer

__all__ = ["bench", "binaries", "compiled", "kept", "library", "proctor", "shared", "workshop"]

# Property tests have no deadline, because a busy machine is slow. By default they try the same few examples
# in every run; scripts/test --nightly tries many random examples (--hypothesis-profile=random).
_patient = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("derandomized", _patient, derandomize=True, max_examples=10)
settings.register_profile("random", _patient, print_blob=True, max_examples=150)
settings.load_profile("derandomized")


@pytest.fixture(scope="session", autouse=True)
def leak_check() -> Iterator[None]:
    """Fail if the tests leave a process, folder, mount, shared memory or port behind."""
    leftovers.adopt_orphans()
    earlier_leftovers = leftovers.all_of_it()
    yield
    end_warm_command()
    assert not leftovers.new_since(earlier_leftovers)


_FOLDERS = itertools.count()


@pytest.fixture(scope="session")
def own_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the temporary folder of this test process."""
    return Path(tempfile.mkdtemp(prefix="tests-", dir=tmp_path_factory.getbasetemp()))


@pytest.fixture
def tmp_path(own_folder: Path, request: pytest.FixtureRequest) -> Path:
    """Return a new folder. Pytest's own fixture is ten times as slow and collides between processes."""
    folder = own_folder / f"{next(_FOLDERS)}-{request.function.__name__.removeprefix('test_')[:20]}"
    folder.mkdir(mode=0o700)
    return folder


@pytest.fixture(scope="session")
def shared_cache(kept: Path) -> Path:
    """Return the cache that all test processes share, in which the proctor is already built.

    It is the result of `private_folder()` in a process whose TMPDIR is the parent folder.
    """
    cache = private_folder(kept)

    def build(mark: Path) -> None:
        if find_compiler() is not None:
            asyncio.run(_build_first(Store(cache)))
        mark.touch()

    built_once(kept / f"built-{hash_sources(SOURCES.parent)[:16]}", build)
    return cache


@pytest.fixture(scope="session")
def store(shared_cache: Path) -> Store:
    return Store(shared_cache)


async def _build_first(store: Store) -> None:
    async with EmbeddedEngine(store=store, slots=1):
        pass


@pytest.fixture
async def engine(store: Store) -> AsyncIterator[EmbeddedEngine]:
    """Return an embedded engine with two slots."""
    async with EmbeddedEngine(store=store, slots=2) as opened:
        yield opened


@pytest.fixture
async def scorer(store: Store) -> AsyncIterator[Scorer]:
    """Return a scorer on the embedded engine that runs every test."""
    from ioi_eval import JudgeOptions, Scorer  # not all tests load these modules

    engine = EmbeddedEngine(store=store, slots=2)
    async with Scorer(engine, store=store, options=JudgeOptions(all_tests=True)) as opened:
        yield opened


@pytest.fixture
def cli(shared_cache: Path, tmp_path: Path) -> CommandLine:
    """Return a command line that uses neither the Hugging Face hub nor the user's home."""
    from support.command_line import CommandLine

    offline = {"HF_HOME": str(tmp_path / "hf"), "HF_HUB_OFFLINE": "1", "HF_TOKEN": ""}
    return CommandLine(folder=tmp_path, cache=shared_cache, environment=offline)


@pytest.fixture
def default_cache(shared_cache: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make the tests' cache the default of the library, instead of the user's cache."""
    for name, value in default_cache_variables(shared_cache).items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(tempfile, "tempdir", None)  # it caches the variable
    return shared_cache


@pytest.fixture(scope="session", autouse=True)
def use_cached_lookups(shared: Path) -> Iterator[None]:
    share_lookups(shared, built_once)
    with pytest.MonkeyPatch.context() as patch:
        install_cached_lookups(patch.setattr)
        yield


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--sanitize", action="store_true", help="Build the proctor with ASan and UBSan.")
    parser.addoption(
        "--count", metavar="FILE", help="Build a proctor that records its line coverage in FILE."
    )
    parser.addoption("--kept", metavar="DIR", help="Folder with built programs, which later test runs reuse.")
    parser.addoption(
        "--tier",
        choices=["gate", "nightly"],
        help="Run only tests not marked `nightly`, or only tests marked `nightly` and property tests.",
    )


def is_nightly(item: pytest.Item) -> bool:
    """Return True if a test is marked `nightly`, or its parameters do not match `nightly(unless=REGEX)`."""
    markers = list(item.iter_markers("nightly"))
    if any("unless" not in marker.kwargs for marker in markers):
        return True
    callspec = getattr(item, "callspec", None)  # a test without parameters has no matrix
    return bool(markers and callspec and not re.search(markers[0].kwargs["unless"], callspec.id))


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """With --tier, deselect the tests of the other tier."""
    tier = config.getoption("--tier")
    if tier is None:
        return
    chosen, deselected = [], []
    for item in items:
        is_chosen = is_nightly(item) == (tier == "nightly")
        is_random = tier == "nightly" and item.get_closest_marker("hypothesis") is not None
        (chosen if is_chosen or is_random else deselected).append(item)
    config.hook.pytest_deselected(items=deselected)
    items[:] = chosen


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Collect tests without garbage collection, which would double the time."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_configure() -> None:
    """Restore the SIGINT handler. A background process ignores SIGINT, and its children would too."""
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, signal.default_int_handler)
