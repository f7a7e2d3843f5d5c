"""The proctor by itself: built once, driven by specs and plans, under every mixture of layers that it can be left with."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from harness import EVERYTHING, LANDLOCK_ALONE, NAMESPACES_ALONE, Bench

from ioi_eval.resources import proctor_arguments

SOURCES = Path(__file__).parents[2] / "graders" / "proctor"


@pytest.fixture(scope="session")
def workshop() -> Iterator[Path]:
    """A folder that an unprivileged user may look into, on the file system where boxes lie.

    Of a new name each time: the tests of two folders have these fixtures, and each folder gets its own.
    """
    folder = Path(tempfile.mkdtemp(prefix="proctor-tests-", dir="/dev/shm"))
    folder.chmod(0o711)
    yield folder
    shutil.rmtree(folder)


@pytest.fixture(scope="session")
def proctor(workshop: Path) -> Path:
    binary = workshop / "proctor"
    arguments = proctor_arguments([path.name for path in SOURCES.glob("*.cpp")], str(binary))
    subprocess.run(["g++", "-Wall", "-Wextra", "-Werror", *arguments], check=True, cwd=SOURCES)
    return binary


@pytest.fixture(scope="session")
def compiled(workshop: Path) -> Callable[[str], Path]:
    """Builds a C++ text once per session."""
    made: dict[str, Path] = {}

    def build(code: str) -> Path:
        if code not in made:
            source, binary = workshop / f"{len(made)}.cpp", workshop / f"{len(made)}.bin"
            source.write_text(code)
            subprocess.run(["g++", "-O1", "-static", "-o", str(binary), str(source)], check=True)
            made[code] = binary
        return made[code]

    return build


@pytest.fixture(
    params=[EVERYTHING, LANDLOCK_ALONE, NAMESPACES_ALONE], ids=["everything", "landlock", "namespaces"]
)
def bench(
    request: pytest.FixtureRequest, workshop: Path, proctor: Path, compiled: Callable[[str], Path]
) -> Bench:
    return Bench(workshop=workshop, proctor=proctor, compiled=compiled, layers=request.param)
