"""Packages in Piston's layout are loaded, chosen by version, and run in a sandbox."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from engine_helpers import file
from requirements import skip_or_fail_in_ci

from ioi_eval import EmbeddedEngine, Store
from ioi_eval.engines.embedded.packages import LanguagePackage, find_package, load_packages
from ioi_eval.errors import EngineUnavailable, JobRejected
from ioi_eval.models import Job

RUN = 'echo "$PISTON_LANGUAGE $GREETING $(cat made)"\necho "$@"\ncat "${0%/*}/inside"\ncat\n'
COMPILE = 'echo "$@" > made\n'


def package(base: Path, version: str = "1.0.0", name: str = "greet", **info: Any) -> Path:
    package_folder = base / name / version
    package_folder.mkdir(parents=True)
    (package_folder / "pkg-info.json").write_text(json.dumps({"language": name, "version": version, **info}))
    (package_folder / "run").write_text(RUN)
    (package_folder / "inside").write_text("from the package\n")
    (package_folder / ".env").write_text(
        f"GREETING=hello\nPATH=/piston/packages/{name}/{version}/bin:/usr/bin:/bin"
    )
    (package_folder / ".ppman-installed").write_text("1700000000000")
    return package_folder


@pytest.fixture
def visible_folder() -> Iterator[Path]:
    """Return a folder that sandboxes can see, outside of /tmp."""
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


def test_package_metadata_is_read(visible_folder: Path) -> None:
    package_folder = package(
        visible_folder, aliases=["g"], limit_overrides={"run_timeout": 5}, build_platform="linux"
    )
    (loaded,) = load_packages(visible_folder)
    assert loaded == LanguagePackage(
        language="greet",
        version="1.0.0",
        name="greet",
        aliases=("g",),
        folder=str(package_folder),
        environment={"GREETING": "hello", "PATH": f"{package_folder}/bin:/usr/bin:/bin"},
        limits={"run_timeout": 5},
    )


def test_package_provides_several_languages(visible_folder: Path) -> None:
    package_folder = package(
        visible_folder,
        name="gcc",
        provides=[{"language": "c", "aliases": ["gcc"]}, {"language": "c++", "aliases": ["cpp"]}],
    )
    (package_folder / "compile").write_text(COMPILE)
    loaded = load_packages(visible_folder)
    assert [
        (loaded_package.language, loaded_package.aliases, loaded_package.runtime) for loaded_package in loaded
    ] == [
        ("c", ("gcc",), "gcc"),
        ("c++", ("cpp",), "gcc"),
    ]
    assert all(loaded_package.compiles for loaded_package in loaded)


def test_uninstalled_package_is_ignored(visible_folder: Path) -> None:
    (package(visible_folder) / ".ppman-installed").unlink()
    (visible_folder / "a file").write_text("")
    assert load_packages(visible_folder) == ()
    assert load_packages(visible_folder / "nothing") == ()


@pytest.mark.parametrize(
    ("break_it", "message"),
    [
        (lambda place: (place / "run").unlink(), "lacks the file `run`"),
        (lambda place: (place / "pkg-info.json").unlink(), "pkg-info.json cannot be used"),
        (lambda place: (place / "pkg-info.json").write_text("{}"), "pkg-info.json cannot be used"),
        (lambda place: (place / "pkg-info.json").write_bytes(b'{"language": "\xe9"}'), "cannot be used"),
        (
            lambda place: (place / "pkg-info.json").write_text('{"language": "x", "version": "new"}'),
            "'new' is not a version",
        ),
    ],
)
def test_broken_package_is_engine_unavailable(visible_folder: Path, break_it: Any, message: str) -> None:
    break_it(package(visible_folder))
    with pytest.raises(EngineUnavailable, match=message):
        load_packages(visible_folder)


def test_newest_package_version_in_range_is_chosen(visible_folder: Path) -> None:
    for version in ("1.0.0", "1.10.0", "1.9.0", "2.0.0"):
        package(visible_folder, version)
    packages = load_packages(visible_folder)

    def chosen(version_range: str) -> str | None:
        match = find_package(packages, "greet", version_range)
        return match.version if match else None

    version_ranges = ["*", "1", "~1.9", "1.0.0", "3"]
    assert [chosen(version_range) for version_range in version_ranges] == [
        "2.0.0",
        "1.10.0",
        "1.9.0",
        "1.0.0",
        None,
    ]


async def test_package_compiles_and_runs_in_sandbox(base: Path, store: Store) -> None:
    package_folder = package(base, aliases=["g"])
    (package_folder / "compile").write_text(COMPILE)
    async with EmbeddedEngine(store=store, slots=1, packages=(base,)) as engine:
        assert {"greet", "g", "ioi_eval", "bash", "cms_ioi"} <= set((await engine.capabilities()).runtimes)
        job = Job(
            files=(file("main", ""), file("data", b"\xff"), file("other", "")),
            runtime="g",
            version="^1",
            args=("a", "b"),
            stdin="typed",
        )
        result = await engine.execute(job)
        with pytest.raises(JobRejected, match=r"g-2 runtime is unknown"):
            await engine.execute(Job(files=(file("main", ""),), runtime="g", version="2"))
    assert (result.language, result.version) == ("greet", "1.0.0")
    assert result.compile is not None and result.compile.code == 0, result
    assert result.run.stdout.splitlines() == [
        "greet hello main other",
        "main a b",
        "from the package",
        "typed",
    ]


def test_package_invisible_to_sandbox_is_copied_or_refused(base: Path, tmp_path: Path) -> None:
    """The package is in /tmp, and sandboxes have a private /tmp."""
    package_folder = package(base)
    (package_folder / ".env").write_text(f"PATH={package_folder}/bin:/usr/bin")
    with pytest.raises(EngineUnavailable, match=r"jobs have a private /tmp"):
        load_packages(base, tmp_path / "also in /tmp")
    if not os.access("/dev/shm", os.W_OK):
        skip_or_fail_in_ci("/dev/shm cannot be written")
    with tempfile.TemporaryDirectory(dir="/dev/shm") as spare:
        Path(spare).chmod(0o711)
        (copied,) = load_packages(base, Path(spare, "copy"))
        assert copied.folder == f"{spare}/copy/greet/1.0.0"
        assert copied.environment == {"PATH": f"{copied.folder}/bin:/usr/bin"}
        assert Path(copied.folder, "run").read_text() == RUN
