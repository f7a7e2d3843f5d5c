"""Verdicts on a server from before isolate: no statuses, no compile stage, and no isolation."""

from __future__ import annotations

import asyncio
import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import msgspec
import pytest
from old_server import OldServer
from support.servers import FixedServers

from ioi_eval import EmbeddedEngine, Engine, JudgeOptions, PistonEngine, Scorer, Store
from ioi_eval.errors import JudgeFailure
from ioi_eval.models import Blob, Limits, Problem, Submission, Subtask, Test

PROBLEM = Problem(
    id="double",
    limits=Limits(cpu_time=0.5, wall_time=2.0, memory=128 << 20, output=1 << 20),
    tests=tuple(
        Test(name=str(number), input=Blob.of(f"{number}\n"), answer=Blob.of(f"{2 * number}\n"))
        for number in range(1, 5)
    ),
    subtasks=(Subtask(name="all", points=100, tests=("1", "2", "3", "4")),),
)
HEAD = "#include <cstdio>\n#include <cstdlib>\n#include <csignal>\n#include <cstring>\n"
READ = f'{HEAD}int main() {{ long n; if (scanf("%ld", &n) != 1) return 1;\n'
# One build; every test is another verdict.
CPP = f"""{READ}
    if (n == 2) for (;;) signal(SIGTERM, SIG_IGN);
    if (n == 3) for (;;) if (char* p = (char*)malloc(1 << 20)) memset(p, 1, 1 << 20);
    printf("%ld\\n", n == 4 ? 9 : 2 * n);
}}
"""
PYTHON = "print(2 * int(input()))\n"
# Tries to read answers that such a server exposes: in the job's folder, and in the shared folder of all jobs.
NOSY = f"""
import glob
n = int(input())
places = "t/*.out", "*/*.out", "{tempfile.gettempdir()}/old-piston-*/t/*.out"
for path in [path for place in places for path in glob.glob(place)]:
    try:
        print(2 * n if open(path).read() else "")
        break
    except OSError:
        pass
else:
    print("nothing to see")
"""


@pytest.fixture
def foreign_job_folder() -> Iterator[None]:
    """Create a readable folder that looks like another user's job."""
    with tempfile.TemporaryDirectory(prefix="old-piston-") as folder:
        tests_folder = Path(folder, "t")
        tests_folder.mkdir()
        (tests_folder / "1.out").write_text("2\n")
        for path in (Path(folder), tests_folder):
            path.chmod(0o755)
        yield


SUBMISSIONS = (
    Submission(key="several", problem_id="double", code=CPP, language="c++"),
    Submission(key="right", problem_id="double", code=PYTHON, language="python"),
    Submission(key="nosy", problem_id="double", code=NOSY, language="python"),
)


async def verdicts_of_tests(
    engine: Engine,
    store: Store,
    trusted: Engine | None = None,
    problem: Problem = PROBLEM,
    submissions: Sequence[Submission] = SUBMISSIONS,
) -> dict[str, Mapping[str, str]]:
    """Return the verdict of each test of each submission."""
    async with Scorer(engine, store=store, trusted=trusted, options=JudgeOptions(all_tests=True)) as scorer:
        results = await asyncio.gather(*(scorer.score(problem, submission) for submission in submissions))
    return {
        submission.key: {test.test_name: test.status for test in submission.tests} for submission in results
    }


@pytest.mark.nightly
@pytest.mark.usefixtures("foreign_job_folder")
async def test_verdicts_on_old_piston_equal_verdicts_of_embedded_engine(store: Store, tmp_path: Path) -> None:
    embedded_verdicts = await verdicts_of_tests(EmbeddedEngine(store=store), store)
    async with OldServer() as server:
        engine = PistonEngine(FixedServers([server.url]), per_endpoint=2)
        piston_verdicts = await verdicts_of_tests(
            engine, Store(tmp_path), trusted=EmbeddedEngine(store=store)
        )
    assert piston_verdicts == embedded_verdicts
    assert list(embedded_verdicts["several"].values()) == ["AC", "TLE", "MLE", "WA"]
    assert set(embedded_verdicts["right"].values()) == {"AC"}
    assert set(embedded_verdicts["nosy"].values()) == {"WA"}
    assert os.geteuid() != 0 or len(set(server.users)) == len(server.users)


async def test_limit_of_old_server_is_named(store: Store, tmp_path: Path) -> None:
    """The limit is of wall time, and long enough to find compilers on a busy machine."""
    slow = msgspec.structs.replace(PROBLEM, limits=Limits(cpu_time=120.0, wall_time=240.0, memory=128 << 20))
    async with OldServer(run_timeout=60_000) as server:
        engine = PistonEngine(FixedServers([server.url]))
        with pytest.raises(JudgeFailure, match="PISTON_RUN_TIMEOUT"):
            await verdicts_of_tests(
                engine, Store(tmp_path), EmbeddedEngine(store=store), slow, SUBMISSIONS[1:2]
            )
