"""A persistent proctor serves several submissions, which cannot see each other."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from threading import Lock

import msgspec
import pytest
from engine_helpers import boxes
from leftovers import named
from support.waiting import until

from ioi_eval import EmbeddedEngine, Engine, Scorer, Store, SubmissionResult
from ioi_eval.engines.contract import Capabilities
from ioi_eval.engines.embedded import persistent_proctor
from ioi_eval.engines.embedded.persistent_proctor import ProctorConfig, ProctorJob
from ioi_eval.engines.embedded.sandbox import KillSwitch, OutputLimits, SandboxSpec
from ioi_eval.engines.embedded.sandboxes import Sandboxes
from ioi_eval.engines.jobs.run import attach_fork_server
from ioi_eval.judge.deduplication import Deduplication
from ioi_eval.model.job import Job, JobFile
from ioi_eval.model.protocol import Plan, PlanChecker, PlanSubmission, PlanTest, TestReport, decode_lines
from ioi_eval.models import Blob, Checker, CheckerKind, Limits, NamedBlob, Problem, Submission, Test
from ioi_eval.rules.limits import make_plan_limits

PROBLEM = Problem(
    id="sum",
    limits=Limits(cpu_time=5.0, wall_time=60.0, memory=256 << 20),
    tests=tuple(Test(name=f"{n}", input=Blob.of(f"{n} 1\n"), answer=Blob.of(f"{n + 1}\n")) for n in range(3)),
)
SMALL = msgspec.structs.replace(PROBLEM, tests=PROBLEM.tests[:1])
SUM = "import sys, math\nprint(sum(map(int, sys.stdin.read().split())))\n"
# Reports its start by its process name.
SLEEPER = """import ctypes, time, sys
ctypes.CDLL(None).prctl(15, b"{mark}")
time.sleep({seconds})
print(sum(map(int, sys.stdin.read().split())))
"""


def proctors(base: Path) -> list[int]:
    """Return the process ids of persistent proctors in the sandboxes of this folder."""
    pids = []
    for process_folder in Path("/proc").glob("[0-9]*"):
        try:
            if process_folder.joinpath("cmdline").read_bytes() != b"./proctor\0stand\0":
                continue
            parent = process_folder.joinpath("stat").read_text().rpartition(")")[2].split()[1]
            above = Path(f"/proc/{parent}/cmdline").read_bytes()
        except (FileNotFoundError, ProcessLookupError):
            continue
        if os.fsencode(base) in above:
            pids.append(int(process_folder.name))
    return pids


def python(code: str, key: str = "a") -> Submission:
    return Submission(key=key, problem_id="sum", code=code, language="python")


class Desk:
    """An engine with a single slot and its persistent proctor."""

    def __init__(self, engine: Engine, scorer: Scorer, base: Path) -> None:
        self.engine, self.scorer, self.base = engine, scorer, base

    async def points(self, code: str, problem: Problem = PROBLEM, language: str = "python") -> list[float]:
        submission = Submission(key="a", problem_id="sum", code=code, language=language)
        return [test.score for test in (await self.scorer.score(problem, submission)).tests]

    def pids(self) -> list[int]:
        return proctors(self.base)


@pytest.fixture
async def desk(store: Store, base: Path) -> AsyncIterator[Desk]:
    engine = EmbeddedEngine(store=store, slots=1, sandboxes=base)
    async with Scorer(engine, store=store) as scorer:
        yield Desk(engine, scorer, base)
    assert proctors(base) == []
    assert boxes(base) == []


def changed_source(code: str) -> str:
    """Return the source with a comment that changes its hash."""
    return f"{code}# {os.urandom(8).hex()}\n"


async def test_persistent_proctor_serves_next_submission(desk: Desk) -> None:
    assert desk.pids() == []
    assert await desk.points(changed_source(SUM)) == [1, 1, 1]
    first = desk.pids()
    assert len(first) == 1
    assert await desk.points(changed_source("print(0)\n")) == [0, 0, 0]
    assert await desk.points(changed_source("import heapq\n" + SUM)) == [1, 1, 1]
    assert await desk.points(changed_source("raise SystemExit(3)\n")) == [0, 0, 0]
    assert await desk.points(changed_source("import os, signal\nos.kill(0, signal.SIGKILL)\n")) == [0, 0, 0]
    assert await desk.points(changed_source(SUM)) == [1, 1, 1]
    assert desk.pids() == first


LEAVES = """
import builtins, gc, math, os, random, sys, threading
math.pi = 3
builtins.sum = lambda of: 7
sys.modules["heapq"] = math
sys.path.insert(0, "/tmp")
os.environ["LEFT"] = "1"
for one in gc.get_objects():  # of those that are shared with what waits, too
    if isinstance(one, dict) and "__builtins__" in one:
        one["planted"] = 1
for place in ("/tmp/heapq.py", "/box/heapq.py", "/box/submission", "/dev/shm/left", "/job/left", "heapq.py"):
    try:
        open(place, "w").write("sum = None")
    except OSError:
        pass
try:
    if os.fork() == 0:
        os.setsid()
        while True:
            pass
except OSError:
    pass
threading.Thread(target=lambda: [None for _ in iter(int, 1)], daemon=True).start()
print(0)
sys.stdout.flush()
os._exit(0)
"""
FINDS = """
import heapq, math, os, sys
def listed(place):
    try:
        return os.listdir(place)
    except OSError:
        return []
left = [name for place in ("/tmp", "/dev/shm", "/job") for name in listed(place)]
clean = not left and listed("/box") == ["submission"]
clean = clean and open(__file__).read().startswith("\\nimport heapq, math")
clean = clean and math.pi > 3.1 and "LEFT" not in os.environ and "planted" not in globals()
clean = clean and heapq.__name__ == "heapq" and "/tmp" not in sys.path
print(sum(map(int, sys.stdin.read().split())) if clean else "no")
"""


async def test_persistent_proctor_leaves_nothing_for_next_submission(desk: Desk) -> None:
    assert await desk.points(changed_source(FINDS)) == [1, 1, 1]
    first = desk.pids()
    assert await desk.points(changed_source(LEAVES)) == [0, 0, 0]
    assert await desk.points(changed_source(FINDS)) == [1, 1, 1]
    assert desk.pids() == first
    (box,) = boxes(desk.base)
    leftovers = [path for path in box.iterdir() if not path.name.startswith("waiting-")]
    assert leftovers == [box / "own"] and not list(leftovers[0].iterdir())


async def test_files_of_earlier_job_are_removed(desk: Desk) -> None:
    """Its proctor refuses a plan that names them, and so does the proctor of a sandbox."""
    engine, capabilities = desk.engine, await desk.engine.capabilities()
    contents = {"submission": "print(input())\n", "in": "1\n", "out": "1\n"}
    lines = await lines_of(engine, planned_job(capabilities, contents))
    assert [line.score for line in lines if line.test == 0] == [1]
    assert len(desk.pids()) == 1
    del contents["out"]
    *_, last = await lines_of(engine, planned_job(capabilities, contents))
    assert last.fatal is not None and "out" in last.fatal


def planned_job(capabilities: Capabilities, contents: Mapping[str, str]) -> Job:
    """Return a job with a plan of a single test, and only these files of the submission and the test."""
    assert capabilities.proctor is not None and capabilities.waiting is not None
    argv = (capabilities.toolchains["python3"].path, "-I", "submission")
    submission, fork_server = attach_fork_server(
        PlanSubmission(argv=argv, files=("submission",)), (), capabilities.waiting
    )
    plan = Plan(
        nonce="nonce",
        task_type="Batch",
        submission=submission,
        limits=make_plan_limits(cpu_time=5.0, wall_time=60.0, memory=256 << 20),
        checker=PlanChecker(kind="exact"),
        tests=(PlanTest(index=0, input="in", answer="out"),),
        read=capabilities.toolchains["python3"].read,
    )
    files = {"plan.json": Blob.of(msgspec.json.encode(plan))}
    files |= {name: Blob.of(content) for name, content in contents.items()}
    proctor = JobFile(name="proctor", content=capabilities.proctor, executable=True)
    return Job(
        files=(proctor, *fork_server, *(JobFile(name=name, content=blob) for name, blob in files.items())),
        plan="plan.json",
    )


async def lines_of(engine: Engine, job: Job) -> list[TestReport]:
    return list(decode_lines((await engine.execute(job)).run.stdout, "nonce"))


async def test_job_with_other_proctor_needs_sandbox(desk: Desk) -> None:
    capabilities = await desk.scorer.judge.capabilities()
    assert capabilities.proctor is not None
    job = planned_job(capabilities, {"submission": "", "in": ""})
    assert persistent_proctor.make_proctor_job(job, {"proctor": capabilities.proctor}) is not None
    assert persistent_proctor.make_proctor_job(job, {"proctor": Blob.of("another one")}) is None


async def test_accepted_python_source_leaves_nothing_in_store(
    store: Store, base: Path, tmp_path: Path
) -> None:
    engine, programs = EmbeddedEngine(store=store, slots=1, sandboxes=base), Store(tmp_path / "programs")
    async with Scorer(engine, store=programs) as scorer:
        desk = Desk(engine, scorer, base)
        assert await desk.points(changed_source(SUM)) == [1, 1, 1]
        files_before = sorted(programs.root.rglob("*"))
        assert await desk.points(changed_source(SUM)) == [1, 1, 1]
        assert sorted(programs.root.rglob("*")) == files_before
        assert await desk.points(changed_source("print(")) == [0, 0, 0]
        assert sorted(programs.root.rglob("*")) != files_before  # a compile error is stored


async def test_least_recently_used_fork_server_is_replaced_for_another_module_set(desk: Desk) -> None:
    """Each module set has a separate interpreter. The ninth replaces the least recently used interpreter."""
    sets = ("abc", "ast", "bisect", "calendar", "cmath", "copy", "csv", "enum", "heapq")
    for name in (*sets, sets[-1], sets[0]):  # a waiting interpreter, and the replaced one
        use_module = f"import {name}\nassert {name}.__name__ in sys.modules\n"
        assert await desk.points(changed_source(f"{SUM}{use_module}"), SMALL) == [1], name
        (pid,) = desk.pids()
        assert len(interpreters(pid)) <= 8, "the waiting interpreters"
    assert len(interpreters(pid)) == 8
    assert await desk.points(changed_source(f"import {name}\nprint(-1)\n"), SMALL) == [0]


def interpreters(proctor: int) -> list[str]:
    children = Path(f"/proc/{proctor}/task/{proctor}/children").read_text().split()
    return [child for child in children if b"python" in Path(f"/proc/{child}/cmdline").read_bytes()]


async def test_killed_persistent_proctor_gives_no_verdict(desk: Desk) -> None:
    assert await desk.points(changed_source(SUM)) == [1, 1, 1]
    (first,) = desk.pids()
    os.kill(first, signal.SIGKILL)
    await until(lambda: not desk.pids())
    assert await desk.points(changed_source(SUM)) == [1, 1, 1]
    mark = f"slow-{os.urandom(4).hex()}"
    slow = asyncio.create_task(desk.points(changed_source(SLEEPER.format(mark=mark, seconds=0.5))))
    await until(lambda: bool(named(mark)))
    for pid in desk.pids():
        os.kill(pid, signal.SIGKILL)
    assert await slow == [1, 1, 1]
    assert await desk.points(changed_source(SUM)) == [1, 1, 1]
    assert len(desk.pids()) == 1 and desk.pids() != [first]


# A proctor that ends at once while the file `full` exists, and otherwise executes all jobs alike.
FAKE_PROCTOR = """#!/bin/sh
cd "{base}"
echo started >> starts
test -e full && exit 1
while read -r bundle; do
    rm ioi-eval-*/box-*/"$bundle"
    echo '{{"test":0,"done":true}}'
done
"""


def test_failed_persistent_proctor_is_restarted_after_some_jobs(base: Path) -> None:
    """Without a restart, a short fault would slow down all later jobs."""
    fake_proctor = base / "proctor"
    fake_proctor.write_text(FAKE_PROCTOR.format(base=base))
    fake_proctor.chmod(0o755)
    (base / "full").touch()
    (base / "starts").touch()
    sandboxes = Sandboxes(base)
    sandboxes.open()
    config = ProctorConfig(
        sandboxes=sandboxes,
        proctor=fake_proctor,
        output_limits=OutputLimits(stdout=1000, stderr=1000),
        start_lock=Lock(),
        uid=None,
        spec=SandboxSpec(argv=(), env={}, dir="", profile="", report_fd=0, leash_fd=0),
    )
    starts, answered = list[int](), list[int]()
    with (
        contextlib.closing(sandboxes),
        contextlib.closing(persistent_proctor.PersistentProctor(config)) as proctor,
        contextlib.closing(KillSwitch()) as kill_switch,
    ):
        for number in range(2010):
            if number == 2000:
                (base / "full").unlink()
            if proctor.execute(ProctorJob(files=(), max_s=None), kill_switch) is not None:
                answered.append(number)
            starts += [number] * ((base / "starts").read_text().count("started") - len(starts))
    assert starts == [0, 1, 2, 1003, 2004] and answered == [*range(2004, 2010)]


async def test_cancelled_job_leaves_no_process_and_no_sandbox(desk: Desk) -> None:
    assert await desk.points(changed_source(SUM)) == [1, 1, 1]
    mark = f"slow-{os.urandom(4).hex()}"
    task = asyncio.create_task(desk.points(changed_source(SLEEPER.format(mark=mark, seconds=20))))
    await until(lambda: bool(named(mark)))
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert desk.pids() == [] and boxes(desk.base) == []
    assert await desk.points(changed_source(SUM)) == [1, 1, 1]


async def test_jobs_with_checkers_or_cpp_get_own_sandbox(desk: Desk) -> None:
    source = NamedBlob(name="checker.cpp", content=Blob.of("int main() { return 0; }\n"))
    checker = Checker(kind=CheckerKind.TESTLIB, sources=(source,))
    large = Test(name="0", input=Blob.of("1 " * (1 << 20)), answer=Blob.of(f"{1 << 20}\n"))
    for problem in (
        msgspec.structs.replace(PROBLEM, checker=checker),
        msgspec.structs.replace(PROBLEM, tests=(large,)),
    ):
        assert set(await desk.points(changed_source(SUM), problem)) == {1}
    assert set(await desk.points('#include <cstdio>\nint main() { puts("0"); }\n', language="c++")) == {0}


SOURCES = {
    "a program": SUM,
    "a warning": 'print("\\d")\n',
    "an error": "print(1\n",
    "a byte that is zero": "print(1)\0\n",
    "another encoding": "# -*- coding: latin-1 -*-\nprint('\u00e4')\n",
}
MORE = {
    "too deep": "(" * 3000 + ")" * 3000,
    "nothing": "",
    "an error in a line": "x = 1\ny = = 2\n",
    "a name that is bound": "def f():\n    x = 1\n    global x\n",
    "an unknown encoding": "# -*- coding: nothing -*-\nprint(1)\n",
    "other line breaks": "print(1)\r\nprint(2)\r\n",
    "a return": "return 1\n",
    "a program that reads its source": "import os\nprint(open(__file__).read())\n",
    "too deep for the parser": "x = " + "-" * 2000 + "1\n",
}


@pytest.mark.parametrize(
    "sources", [SOURCES, pytest.param(MORE, marks=pytest.mark.nightly)], ids=["some", "more"]
)
async def test_persistent_proctor_and_build_accept_same_python_sources(
    tmp_path: Path, store: Store, sources: dict[str, str]
) -> None:
    outcomes = []
    for waiting in (True, False):
        shelf = Store(tmp_path / f"{waiting}")
        engine = EmbeddedEngine(store=store, slots=1, waiting=waiting)
        async with Scorer(engine, store=shelf) as scorer:
            judge = scorer.judge.with_options(deduplication=Deduplication())
            outcomes.append(
                {name: told(await judge.judge(SMALL, python(source))) for name, source in sources.items()}
            )
    assert outcomes[0] == outcomes[1]


def told(result: SubmissionResult) -> dict[str, object]:
    fields = ("compiles", "compile_output", "compiler", "program_sha256", "points")
    return {field: getattr(result, field) for field in fields}
