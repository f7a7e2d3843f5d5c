"""A full disk of the judge changes no score."""

from __future__ import annotations

import asyncio
import dataclasses
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
import pytest
from borrowed_engine import BorrowedEngine
from harness import LIMITS, Bench

from ioi_eval import EmbeddedEngine, Problem, Scorer, Store, Submission, Test
from ioi_eval.models import Blob

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount a small disk for a test")

_SECONDS = 60.0
WRITES = """#include <cstdio>
#include <cstring>
#include <unistd.h>
int main() {
    FILE* out = std::fopen("out.txt", "w");
    for (int i = 0; i < 3000000; i++) std::fputc('x', out);
    ENDING
}"""
ENDINGS = {"WA": "std::fclose(out);", "RE": "return std::fclose(out) != 0;"}
ANSWER = "x" * 3_000_000
LARGE = msgspec.structs.replace(LIMITS, output=8 << 20)
FILES = {"input_file": "in.txt", "output_file": "out.txt", "limits": LARGE}


@contextmanager
def mounted(disk: Path, size: str) -> Iterator[Path]:
    disk.mkdir(mode=0o711)
    mount = ("mount", "-t", "tmpfs", "-o", f"mode=711,size={size}", "small", str(disk))
    subprocess.run(mount, check=True, timeout=_SECONDS)
    try:
        yield disk
    finally:
        subprocess.run(("umount", "--lazy", str(disk)), check=True, timeout=_SECONDS)
        disk.rmdir()


@pytest.fixture
def small_disk_bench(bench: Bench, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    """Return a bench whose disk has space for a single program and a single answer."""
    with mounted(bench.workshop / tmp_path_factory.mktemp("small").name, "5m") as disk:
        yield dataclasses.replace(bench, workshop=disk)


@pytest.mark.parametrize("ending", ["WA", "RE"])
def test_output_on_full_disk_has_no_verdict(bench: Bench, small_disk_bench: Bench, ending: str) -> None:
    source = WRITES.replace("ENDING", ENDINGS[ending])
    assert bench.one(source, "", ANSWER, **FILES).score == 1
    line = small_disk_bench.one(source, "", ANSWER, **FILES)
    assert (line.end, line.provoked) == (None, False)
    assert "the disk is full" in (line.failure or "")


def test_output_that_fits_on_the_disk_is_judged(small_disk_bench: Bench) -> None:
    source = '#include <cstdio>\nint main() { std::fputc(51, std::fopen("out.txt", "w")); }'
    assert small_disk_bench.one(source, "", "3", **FILES).score == 1
    by_stream = WRITES.replace('std::fopen("out.txt", "w")', "stdout").replace("ENDING", "")
    assert small_disk_bench.one(by_stream, "", ANSWER, limits=LARGE).score == 1


# Twice as large in its build.
LARGE_PROGRAM = "static char data[120 << 20] = {NUMBER};\nint main() { return *data - NUMBER; }"
JUDGED = f"""
import asyncio, sys
from pathlib import Path
from ioi_eval import EmbeddedEngine, Problem, Scorer, Store, Submission, Test
from ioi_eval.errors import EngineUnavailable
from ioi_eval.models import Blob
async def main(disk, cache, number):
    problem = Problem(id="large", tests=(Test(name="1", input=Blob.of("1"), answer=Blob.of("")),))
    code = {LARGE_PROGRAM!r}.replace("NUMBER", number)
    store = Store(Path(cache))
    try:
        async with Scorer(EmbeddedEngine(store=store, slots=2, sandboxes=Path(disk)), store=store) as scorer:
            print(scorer.slots, "slots", flush=True)
            await asyncio.to_thread(sys.stdin.readline)
            submission = Submission(key="1", problem_id="large", code=code, language="c++")
            result = await scorer.score(problem, submission)
            print(result.tests[0].status)
    except EngineUnavailable as error:
        print(error)
asyncio.run(main(*sys.argv[1:]))
"""


async def test_job_starts_only_if_disk_has_space_for_its_limit(workshop: Path, store: Store) -> None:
    """Two programs of 120 MB share a disk with space for a single program."""
    codes = [LARGE_PROGRAM.replace("NUMBER", str(number)) for number in (1, 2)]
    problem = Problem(id="large", tests=(Test(name="1", input=Blob.of("1"), answer=Blob.of("")),))
    with mounted(workshop / "neighbours", "320m") as disk:
        async with EmbeddedEngine(store=store, slots=2, sandboxes=disk) as engine:
            assert engine.slots == 1
            async with Scorer(BorrowedEngine(engine), store=store) as scorer:
                scoring = [
                    scorer.score(problem, Submission(key="1", problem_id="large", code=code, language="c++"))
                    for code in codes
                ]
                results = await asyncio.gather(*scoring)
    assert [result.tests[0].status for result in results] == ["AC", "AC"]


class Noting(Store):
    """Records the paths of the entries that it finds."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.found = dict[str, Path]()

    def get(self, key: str) -> Path | None:
        path = super().get(key)
        return path if path is None else self.found.setdefault(key, path)


async def what_an_engine_builds_first(cache: Path) -> dict[str, Path]:
    noting = Noting(cache)
    async with EmbeddedEngine(store=noting, slots=1):
        return noting.found


@pytest.mark.nightly
@pytest.mark.parametrize("uid", [0, 65534])
def test_engines_on_one_disk_reserve_their_space(workshop: Path, shared_cache: Path, uid: int) -> None:
    """Two processes share a disk. Each process gets a slot or an error. A killed process releases its space."""
    with tempfile.TemporaryDirectory() as name, mounted(workshop / "engines", "320m") as disk:
        home, built = Path(name), asyncio.run(what_an_engine_builds_first(shared_cache))
        assert built, "neither user builds it anew"
        for key, path in built.items():
            Store(home / "cache").put(key, path, executable=True)
        subprocess.run(("chown", "-R", f"{uid}:{uid}", name), check=True)
        disk.chmod(0o777)

        def engine(number: int) -> subprocess.Popen[str]:
            return subprocess.Popen(
                (sys.executable, "-c", JUDGED, str(disk), str(home / "cache"), str(number)),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                cwd=home,
                env={**os.environ, "HOME": str(home)},
                user=uid,
                group=uid,
                extra_groups=[],
            )

        def line(process: subprocess.Popen[str], send: str = "") -> str:
            assert process.stdin is not None and process.stdout is not None
            process.stdin.write(send)
            process.stdin.flush()
            return process.stdout.readline().strip()

        with engine(1) as killed:
            assert line(killed) == "1 slots"
            killed.kill()
        with engine(2) as first:
            assert line(first) == "1 slots"
            with engine(3) as second:
                assert "lacks space for a slot: 0 MB left: " in line(second)
            assert line(first, "\n") == "AC"
        subprocess.run(("mount", "-o", "remount,size=600m", str(disk)), check=True, timeout=_SECONDS)
        with engine(4) as first:
            assert line(first) == "2 slots"
            with engine(5) as second:
                assert "lacks space for a slot" in line(second)
        subprocess.run(("mount", "-o", "remount,size=1200m", str(disk)), check=True, timeout=_SECONDS)
        with engine(6) as first, engine(7) as second:
            assert [line(first), line(second)] == ["2 slots", "2 slots"]
            for child in (first, second):
                assert child.stdin is not None
                child.stdin.write("\n")
                child.stdin.flush()
            assert [line(first), line(second)] == ["AC", "AC"]
