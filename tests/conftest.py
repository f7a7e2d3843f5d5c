"""What all tests share."""

from __future__ import annotations

import asyncio
import gc
import itertools
import re
import signal
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# The proctor's fixtures serve the attacks too; defined twice, they would build it twice.
sys.path.insert(0, str(Path(__file__).parent / "proctor"))

import leftovers  # only now can they be found
from building import SOURCES, built_once
from fixtures import bench, binaries, compiled, kept, library, proctor, shared, workshop
from support.once import ask_for_all, ask_once
from support.places import with_usual_cache
from support.warm_command import end_warm_command

from ioi_eval import EmbeddedEngine, Store, private_folder
from ioi_eval.engines.embedded.toolchains import find_compiler
from ioi_eval.store.compiling import sources_digest

__all__ = ["bench", "binaries", "compiled", "kept", "library", "proctor", "shared", "workshop"]

# A busy machine is slow, and a slow test is not a failed one. No change is stopped by chance: properties are
# tried on the same few examples each time, and on many at random by scripts/test --nightly
# (--hypothesis-profile=random).
_patient = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("derandomized", _patient, derandomize=True, max_examples=25)
settings.register_profile("random", _patient, print_blob=True, max_examples=150)
settings.load_profile("derandomized")


@pytest.fixture(scope="session", autouse=True)
def nothing_is_left() -> Iterator[None]:
    """No process, folder, mount, shared memory or port of ours outlives the tests that made it."""
    leftovers.adopt_orphans()
    before = leftovers.all_of_it()
    yield
    end_warm_command()
    assert not leftovers.new_since(before)


_FOLDERS = itertools.count()


@pytest.fixture(scope="session")
def own_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of the process that runs tests."""
    return Path(tempfile.mkdtemp(prefix="tests-", dir=tmp_path_factory.getbasetemp()))


@pytest.fixture
def tmp_path(own_folder: Path, request: pytest.FixtureRequest) -> Path:
    """As pytest's own, which takes ten times as long to find a name, and collides with another process's."""
    folder = own_folder / f"{next(_FOLDERS)}-{request.function.__name__.removeprefix('test_')[:20]}"
    folder.mkdir(mode=0o700)
    return folder


@pytest.fixture(scope="session")
def shared_cache(kept: Path) -> Path:
    """One cache for all tests, in whichever worker they run, with what engines build first.

    It is what `private_folder()` gives a process whose TMPDIR is the folder above.
    """
    cache = private_folder(kept)

    def build(mark: Path) -> None:
        if find_compiler() is not None:
            asyncio.run(_build_first(Store(cache)))
        mark.touch()

    built_once(kept / f"built-{sources_digest(SOURCES.parent)[:16]}", build)
    return cache


@pytest.fixture(scope="session")
def store(shared_cache: Path) -> Store:
    return Store(shared_cache)


async def _build_first(store: Store) -> None:
    async with EmbeddedEngine(store=store, slots=1):
        pass


@pytest.fixture
def usual_cache(shared_cache: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The tests' cache, which the library uses when nobody names another, in place of the user's own."""
    for name, value in with_usual_cache(shared_cache).items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(tempfile, "tempdir", None)  # which remembers the variable
    return shared_cache


@pytest.fixture(scope="session", autouse=True)
def what_stays_is_asked_once(shared: Path) -> Iterator[None]:
    ask_for_all(shared, built_once)
    with pytest.MonkeyPatch.context() as patch:
        ask_once(patch.setattr)
        yield


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update", action="store_true", help="Write what goldens expect.")
    parser.addoption("--sanitize", action="store_true", help="Build the proctor with ASan and UBSan.")
    parser.addoption("--count", metavar="FILE", help="Build a proctor that counts there which lines run.")
    parser.addoption("--kept", metavar="DIR", help="Where what tests build is kept, for their next run.")
    parser.addoption(
        "--tier",
        choices=["gate", "nightly"],
        help="Run only what is not marked `nightly`, or only what is, and random properties.",
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
    """Keep the tests of the tier, if one is chosen."""
    tier = config.getoption("--tier")
    if tier is None:
        return
    chosen, others = [], []
    for item in items:
        is_chosen = is_nightly(item) == (tier == "nightly")
        is_random = tier == "nightly" and item.get_closest_marker("hypothesis") is not None
        (chosen if is_chosen or is_random else others).append(item)
    config.hook.pytest_deselected(items=others)
    items[:] = chosen


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Collect without garbage collection, which takes as long as loading. What is loaded stays."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_configure() -> None:
    """Started in the background we have SIGINT ignored, and so would have all that tests interrupt."""
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, signal.default_int_handler)
