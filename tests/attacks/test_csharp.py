"""The additions to C#'s sandboxes give no access to sources, to programs, or to other languages' builds."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from attack import SECRET
from requirements import require_language
from support.cached_lookups import cached_toolchains
from support.engines import find_language

from ioi_eval import EmbeddedEngine, Scorer, Store
from ioi_eval.errors import JudgeFailure
from ioi_eval.models import Blob, Limits, Problem, Submission, SubmissionResult, Test
from ioi_eval.models import Verdict as V

PROBLEM = Problem(
    id="sum",
    limits=Limits(cpu_time=4.0, wall_time=60.0, memory=256 << 20),
    tests=(Test(name="1", input=Blob.of("1\n"), answer=Blob.of("closed\n")),),
)


@pytest.fixture
def mono() -> None:
    require_language("c#")


READS = """using System; using System.IO;
class P { static void Main() {
    string result = "closed";
    foreach (string path in new[] { PATHS }) {
        try { if (File.ReadAllBytes(path).Length > 0) result = path; } catch (Exception) {}
    }
    Console.WriteLine(result);
} }"""
# The answer must be the same for every process: the program's parent, the first process, and a process that does not exist.
ASKS = """using System; using System.Runtime.InteropServices;
class P {
    [DllImport("libc.so.6")] static extern int sched_getscheduler(int of);
    [DllImport("libc.so.6")] static extern int getpgid(int of);
    static void Main() {
        var missing = sched_getscheduler(999999);
        bool same = getpgid(1) < 0;
        for (int of = 1; of < 3000; of++) same &= sched_getscheduler(of) == missing;
        Console.WriteLine(same ? "closed" : "heard");
    }
}"""
RAISES = """using System; using System.Runtime.InteropServices;
class P {
    [DllImport("libc.so.6")] static extern int sched_setscheduler(int of, int policy, ref int priority);
    [DllImport("libc.so.6")] static extern int sched_getscheduler(int of);
    static void Main() {
        int priority = 0;
        sched_setscheduler(0, 5, ref priority);  // idle
        Console.WriteLine(sched_getscheduler(0) == 0 ? "closed" : "changed");
    }
}"""
KEY = '[assembly: System.Reflection.AssemblyKeyFile("PATH")]\nclass P { static void Main() {} }'


@pytest.fixture
async def scorer(store: Store) -> AsyncIterator[Scorer]:
    async with Scorer(EmbeddedEngine(store=store, slots=1), store=store) as opened:
        yield opened


async def score_source(scorer: Scorer, code: str, language: str = "c#") -> SubmissionResult:
    submission = Submission(key="1", problem_id="sum", code=code, language=language)
    return await scorer.score(PROBLEM, submission)


@pytest.mark.usefixtures("mono")
async def test_mono_program_cannot_read_other_processes(scorer: Scorer, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text(SECRET)
    paths = [secret, "/etc/passwd", "/proc/loadavg", "/proc/self/environ", "/proc/self/net/tcp"]
    paths += [f"/proc/{pid}/{name}" for pid in (1, os.getpid()) for name in ("environ", "cmdline", "maps")]
    quoted = ", ".join(f'"{path}"' for path in paths)
    result = await score_source(scorer, READS.replace("PATHS", quoted))
    assert [test.status for test in result.tests] == [V.AC], result


@pytest.mark.usefixtures("mono")
@pytest.mark.parametrize("code", [ASKS, RAISES], ids=["asks", "raises"])
async def test_mono_program_cannot_see_other_priorities(scorer: Scorer, code: str) -> None:
    result = await score_source(scorer, code)
    assert [test.status for test in result.tests] == [V.AC], result


@pytest.mark.usefixtures("mono")
async def test_csharp_source_with_key_file_paths_cannot_read_the_files(
    scorer: Scorer, tmp_path: Path
) -> None:
    """A source can name a key file. The compiler's messages do not contain the file's content."""
    secret = tmp_path / "secret"
    secret.write_text(SECRET)
    paths = (secret, "/proc/self/environ", "/proc/1/environ", f"/proc/{os.getpid()}/environ", "/etc/passwd")
    for path in paths:
        result = await score_source(scorer, KEY.replace("PATH", str(path)))
        assert not result.compiles, path
        assert SECRET not in result.compile_output and "root:" not in result.compile_output


@pytest.mark.usefixtures("mono")
async def test_mono_without_namespaces_is_a_judge_failure(store: Store, tmp_path: Path) -> None:
    engine = EmbeddedEngine(store=store, slots=1, layers=("landlock", "seccomp"))
    async with Scorer(engine, store=Store(tmp_path / "nothing built yet")) as scorer:
        with pytest.raises(JudgeFailure, match="pthread_getattr_np"):
            await score_source(scorer, KEY.replace("PATH", "/proc/1/environ"))


async def test_only_the_csharp_compiler_may_read_proc() -> None:
    assert {name for name, tool in cached_toolchains().items() if "/proc" in tool.read} <= {"mcs"}
    assert find_language("c#").command == "mcs"
