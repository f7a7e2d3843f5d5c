"""Classic jobs on a server with cached programs, whose replies do not change."""

from __future__ import annotations

import asyncio
import errno
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp
import msgspec
import pytest
from requirements import require_language
from server_helpers import API, Caller, until_worker_has
from support.folders import graders_folder
from support.waiting import until

from ioi_eval import EmbeddedEngine, Store
from ioi_eval.engines.embedded.packages import LanguagePackage
from ioi_eval.engines.jobs import piston_api as piston
from ioi_eval.models import Blob, Ending, Job, JobFile, JobResult
from ioi_eval.server import Server, ServerOptions
from ioi_eval.server.prepared import BuildCache, ClassicJobEngine

HALF = """
#include <cstdio>
int main(int, char **names) {
    int right, given;
    fscanf(fopen(names[2], "r"), "%d", &right), fscanf(fopen(names[3], "r"), "%d", &given);
    puts(right == given ? "1.0" : right + 1 == given ? "0.5" : "0.0");
    fputs("checked\\n", stderr);
}
"""
GRADER = """#include "sum.h"
#include <cstdio>
int main() { int a, b; scanf("%d %d", &a, &b); printf("%d\\n", add(a, b)); }
"""
RIGHT = '#include "sum.h"\nint add(int a, int b) { return a + b; }\n'


class Watched:
    """An embedded engine that records builds."""

    slots = 1

    def __init__(self, engine: EmbeddedEngine) -> None:
        self._engine, self.packages, self.capabilities = engine, engine.packages, engine.capabilities
        self.builds: list[tuple[str, ...]] = []

    async def execute(self, job: Job, check: object = None) -> JobResult:
        result = await self._engine.execute(job, check)
        if job.keep:
            self.builds.append(tuple(result.kept))
            names = {file.name for file in job.files}
            assert not names & {"input.txt", "correct_output.txt"}, "test data is visible to a build"
        return result


@pytest.fixture
async def watched(store: Store) -> AsyncIterator[Watched]:
    async with EmbeddedEngine(store=store, slots=1, packages=(graders_folder() / "classic",)) as engine:
        yield Watched(engine)


@pytest.fixture
def prepared(watched: Watched, tmp_path: Path) -> ClassicJobEngine:
    return ClassicJobEngine(watched, Store(tmp_path / "cache"))


def olympiad(code: str, numbers: str = "2 3", answer: str = "5", *more_files: JobFile, **config: Any) -> Job:
    settings = {"task_type": "Batch", "code": "Sum", "time_limit": 1.0, "memory_limit": 256 << 20, **config}
    files = {
        "graders/sum.cpp": code,
        "input.txt": numbers + "\n",
        "correct_output.txt": answer + "\n",
        "graders/sum.h": "int add(int, int);\n",
        "graders/grader.cpp": GRADER,
        "graders/grader_config.json": json.dumps(settings),
        "checker/checker.cpp": HALF,
    }
    text_files = (text(name, content) for name, content in files.items())
    return Job(
        files=(*text_files, *more_files), runtime="cms_ioi", run_timeout=20_000, run_memory_limit=64 << 20
    )


def text(name: str, content: str) -> JobFile:
    return JobFile(name=name, content=Blob.of(content), text=True)


async def test_classic_job_programs_are_built_once(watched: Watched, prepared: ClassicJobEngine) -> None:
    answers = [("2 3", "5", "1.0\n"), ("2 3", "4", "0.5\n"), ("1 1", "7", "0.0\n")]
    for numbers, answer, score in answers:
        result = await prepared.execute(olympiad(RIGHT, numbers, answer))
        assert (result.run.stdout, result.language, result.version) == (score, "cms", "1.0.0"), result
        assert result.compile is not None and "Compiled Sum from graders/sum.cpp" in result.compile.stdout
    assert watched.builds == [("built/checker", "built/beside.o"), ("built/submission",)]
    wrong = RIGHT.replace("a + b", "a - b")
    assert (await prepared.execute(olympiad(wrong))).run.stdout == "0.0\n"
    assert watched.builds[2:] == [("built/submission",)]
    broken = RIGHT.replace("a + b", "a +")
    for _ in range(2):
        refused = await prepared.execute(olympiad(broken))
        assert refused.compile is not None and refused.compile == refused.run
        assert refused.run.code == 1 and "expected primary-expression" in refused.run.stderr
    assert watched.builds[3:] == [()]


async def test_changed_compile_script_causes_a_new_build(
    watched: Watched, prepared: ClassicJobEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another version may share the store."""
    job = contest("main.python", PYTHON, "python3")
    await prepared.execute(job)
    younger = tmp_path / "graders" / "classic" / "compile"
    younger.parent.mkdir(parents=True)
    younger.write_text((graders_folder() / "classic" / "compile").read_text() + "\n")
    monkeypatch.setattr("ioi_eval.server.prepared.graders_folder", lambda: tmp_path / "graders")
    builds_before = len(watched.builds)
    await ClassicJobEngine(watched, Store(tmp_path / "cache")).execute(job)
    assert len(watched.builds) == 2 * builds_before > 0


async def test_changed_grader_causes_a_new_build(watched: Watched, prepared: ClassicJobEngine) -> None:
    for grader, score in ((GRADER, "1\n"), (GRADER.replace("add(a, b)", "add(a, b) + 1"), "0\n")):
        job = olympiad(RIGHT, checker="white-diff")
        files = (file for file in job.files if file.name not in ("graders/grader.cpp", "checker/checker.cpp"))
        files = (*files, text("graders/grader.cpp", grader))
        result = await prepared.execute(Job(files=files, runtime="cms_ioi", run_timeout=20_000))
        assert result.run.stdout == score
    assert len(watched.builds) == 4


async def test_classic_job_with_broken_checker_reports_code_3(
    watched: Watched, prepared: ClassicJobEngine
) -> None:
    job = olympiad(RIGHT)
    files = (
        *(file for file in job.files if file.name != "checker/checker.cpp"),
        text("checker/checker.cpp", "?"),
    )
    result = await prepared.execute(Job(files=files, runtime="cms_ioi"))
    assert result.compile is not None and result.compile.code == 3
    assert "The checker does not compile" in result.compile.stderr


async def test_scripts_in_classic_job_override_default_scripts(
    watched: Watched, prepared: ClassicJobEngine
) -> None:
    own_scripts = (text("compile", "echo mine > made\n"), text("run", 'cat made; echo $0 "$@"\n'))
    result = await prepared.execute(olympiad(RIGHT, "2 3", "5", *own_scripts))
    assert result.run.stdout == "mine\nrun graders/sum.cpp\n"
    assert watched.builds == []


async def test_cms_checker_job_scores_given_output(prepared: ClassicJobEngine) -> None:
    output_files = (text("user_output.txt", "4\n"),)
    job = olympiad("never compiled", "", "3", *output_files)
    files = tuple(file for file in job.files if file.name != "graders/sum.cpp")
    result = await prepared.execute(Job(files=files, runtime="cms_ioi_checker"))
    assert (result.run.stdout, result.run.stderr, result.language) == ("0.5\n", "checked\n", "cms_checker")


@pytest.mark.nightly
async def test_classic_job_memory_limit_applies_to_submission_only(prepared: ClassicJobEngine) -> None:
    """The request's 64 MB would not be enough for the shell and the checker."""
    greedy = '#include "sum.h"\n#include <vector>\n'
    greedy += "int add(int a, int b) { std::vector<char> v(SIZE, 1); return v[7] + a + b - 1; }\n"
    fits = await prepared.execute(olympiad(greedy.replace("SIZE", "200 << 20")))
    assert fits.run.stdout == "1.0\n", fits
    over = await prepared.execute(olympiad(greedy.replace("SIZE", "300 << 20")))
    assert (over.run.stdout, over.run.code) == ("0\n", 0)
    assert "Runtime error" in over.run.stderr


# --- clients that hang up ----------------------------------------------------------------------------------


class Held:
    """An engine that holds builds until it is released."""

    slots = 1
    packages: tuple[LanguagePackage, ...] = ()

    def __init__(self, watched: Watched) -> None:
        self._watched, self.packages, self.capabilities = watched, watched.packages, watched.capabilities
        self.begun, self.ended, self.go = 0, 0, asyncio.Event()

    async def execute(self, job: Job, check: object = None) -> JobResult:
        if not job.keep:
            return await self._watched.execute(job, check)
        self.begun += 1
        try:
            await self.go.wait()
            return await self._watched.execute(job, check)
        finally:
            self.ended += 1


async def test_build_outlives_disconnected_clients(watched: Watched, tmp_path: Path) -> None:
    held_engine, job = Held(watched), contest("main.python", PYTHON, "python3")
    async with ClassicJobEngine(held_engine, Store(tmp_path / "cache")) as prepared:
        for _ in range(3):
            pending = asyncio.create_task(prepared.execute(job))
            await until(lambda: held_engine.begun == 1)
            await asyncio.sleep(0)
            pending.cancel()
            await asyncio.wait([pending])
        assert (held_engine.begun, held_engine.ended) == (1, 0)
        held_engine.go.set()
        result = await prepared.execute(job)
        assert (result.run.stdout, held_engine.begun) == ("1\n", 1)


async def test_abandoned_build_ends_when_engine_closes(watched: Watched, tmp_path: Path) -> None:
    held_engine = Held(watched)
    async with ClassicJobEngine(held_engine, Store(tmp_path / "cache")) as prepared:
        pending = asyncio.create_task(prepared.execute(olympiad(RIGHT)))
        await until(lambda: held_engine.begun == 1)
        pending.cancel()
        await asyncio.wait([pending])
        assert held_engine.ended == 0
    assert held_engine.ended == 1


async def test_abandoned_build_keeps_slot_of_its_request(watched: Watched, tmp_path: Path) -> None:
    """Otherwise a client could start many builds by disconnecting."""
    held_engine = Held(watched)
    body = piston.encode_request(contest("main.python", PYTHON, "python3"))
    async with (
        ClassicJobEngine(held_engine, Store(tmp_path / "cache")) as prepared,
        Server(prepared, ServerOptions(port=0, run_timeout=60_000, run_memory_limit=1 << 30)) as server,
        aiohttp.ClientSession(server.url, headers={"Content-Type": "application/json"}) as session,
    ):
        gone = asyncio.create_task(Caller(session).post(f"{API}/execute", data=body))
        await until(lambda: held_engine.begun == 1)
        gone.cancel()
        await asyncio.wait([gone])
        other = asyncio.create_task(Caller(session).run("true"))
        await until_worker_has(Caller(session), running=1, waiting=1)
        held_engine.go.set()
        assert (await other)[0] == 200


async def test_build_reads_sources_named_by_hash_before_its_request_ends(
    watched: Watched, tmp_path: Path
) -> None:
    """The worker may drop the content that a request named as soon as the request is over."""
    held_engine, path = Held(watched), tmp_path / "content"
    path.write_text(RIGHT)
    named_file = JobFile(name="graders/sum.cpp", content=Blob.of_file(path), text=False)
    job = olympiad("")
    job = msgspec.structs.replace(job, files=(named_file, *job.files[1:]))
    async with ClassicJobEngine(held_engine, Store(tmp_path / "cache")) as prepared:
        pending = asyncio.create_task(prepared.execute(job))
        await until(lambda: held_engine.begun >= 1)
        path.unlink()
        held_engine.go.set()
        await asyncio.gather(pending, return_exceptions=True)  # the run needs the file as well
    assert [name for names in watched.builds for name in names][-1] == "built/submission"


# --- Codeforces ------------------------------------------------------------------------------------------

CPP = '#include <cstdio>\nint main() { int a, b; scanf("%d %d", &a, &b); printf("%d", a + b); }\n'
PYTHON = "print(sum(map(int, input().split())))\n"
JAVA = "import java.util.*;\npublic class Sum { public static void main(String[] args) {\n"
JAVA += "Scanner in = new Scanner(System.in); System.out.println(in.nextInt() + in.nextInt()); } }\n"


def contest(name: str, code: str, language: str, *more_files: JobFile, mode: str = "stdin") -> Job:
    files = (
        text(name, code),
        text("input.txt", "2 3\n"),
        text("correct_output.txt", "5\n"),
        text("grader_config", f"TIME_LIMIT=4.0\nMEMORY_LIMIT=256.0\nINPUT_MODE={mode}"),
    )
    return Job(files=(*files, *more_files), runtime=language, run_timeout=60_000)


@pytest.mark.nightly(unless="GNU")  # test_codeforces_job_uses_files_and_checker runs Python
@pytest.mark.parametrize(
    ("name", "language", "code", "broken"),
    [
        ("main.cpp", "c++17", CPP, "int main( {"),
        ("main.cpp", "GNU C++", CPP, "int main( {"),
        ("main.python", "cf_python3", PYTHON, "print("),
        ("main.java", "cf_java", JAVA, "class"),
    ],
)
async def test_codeforces_jobs_are_built_once_and_scored(
    watched: Watched, prepared: ClassicJobEngine, name: str, language: str, code: str, broken: str
) -> None:
    if language == "cf_java":
        require_language("java")
    for _ in range(2):
        right = await prepared.execute(contest(name, code, language))
        assert right.compile is not None and right.compile.code == 0, right
        assert (right.run.code, right.run.stdout.strip()) == (0, "1"), right
    wrong = await prepared.execute(
        contest(name, code.replace("+ b", "- b").replace("sum", "max").replace(") + in", ") - in"), language)
    )
    assert (wrong.run.code, wrong.run.stdout.strip(), wrong.run.stderr) == (0, "0", "Output isn't correct\n")
    refused = await prepared.execute(contest(name, broken, language))
    assert refused.compile is not None and refused.compile.code == 1, refused
    assert watched.builds == [("built/submission",), ("built/submission",), ()]


async def test_codeforces_job_uses_files_and_checker(prepared: ClassicJobEngine) -> None:
    code = "a, b = map(int, open('input.txt').read().split())\nprint(a + b, file=open('output.txt', 'w'))\n"
    by_file = await prepared.execute(contest("main.python", code, "python3", mode="file"))
    assert by_file.run.stdout == "1\n", by_file
    checker = text("checker.py", "import sys\nnames = sys.argv[1:]\nprint(int(open(names[2]).read()) % 2)\n")
    for answer, score in (("print(7)", "1\n"), ("print(8)", "0\n")):
        result = await prepared.execute(contest("main.python", answer, "python3", checker))
        assert result.run.stdout == score, result


# --- the store -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("code", "lasts"), [(0, True), (1, True), (3, False), (None, False)])
def test_build_cache_stores_only_final_endings(tmp_path: Path, code: int | None, lasts: bool) -> None:
    build_cache = BuildCache(Store(tmp_path / "cache"))
    stage = Ending(code=code, stdout="said")
    assert build_cache.add("abcd", stage, {}).stage == stage
    cached = build_cache.find("abcd")
    assert (cached is not None and cached.stage == stage) if lasts else cached is None


@pytest.mark.parametrize(
    "message",
    [
        "g++: fatal error: Killed signal terminated program cc1plus",
        "cc1plus: out of memory allocating 65536 bytes",
        "/tmp/a.s: fatal error: error writing: No space left on device",
        "main.cpp:1:10: fatal error: gmpxx.h: No such file or directory",
    ],
)
def test_build_killed_or_missing_header_is_not_cached(tmp_path: Path, message: str) -> None:
    """Its exit code means a refused source."""
    build_cache = BuildCache(Store(tmp_path / "cache"))
    assert build_cache.add("abcd", Ending(code=1, stderr=message), {}).stage.stderr == message
    assert build_cache.find("abcd") is None


def test_build_is_returned_uncached_if_disk_is_full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(store: Store, key: str, fill: Any) -> Path:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Store, "folder", full)
    program = tmp_path / "made"
    program.write_bytes(b"program")
    build_cache = BuildCache(Store(tmp_path / "cache"))
    (file,) = build_cache.add("abcd", Ending(code=0), {"submission": str(program)}).files
    assert file.content.read() == b"program" and build_cache.find("abcd") is None


@pytest.mark.parametrize("changed", [(b"program", bytes(7)), (b"", b"")], ids=["zeros in it", "half of it"])
def test_damaged_build_record_is_dropped(tmp_path: Path, changed: tuple[bytes, bytes]) -> None:
    store = Store(tmp_path / "cache")
    build_cache = BuildCache(store)
    (tmp_path / "made").write_bytes(b"program")
    build_cache.add("abcd", Ending(code=0), {"built/submission": str(tmp_path / "made")})
    folder = store.get("abcd")
    assert folder is not None
    whole = (folder / "record.msgpack").read_bytes()
    (folder / "record.msgpack").write_bytes(
        whole.replace(*changed) if changed[0] else whole[: len(whole) // 2]
    )
    assert build_cache.find("abcd") is None and store.get("abcd") is None


def test_oversized_build_is_returned_uncached(tmp_path: Path) -> None:
    store = Store(tmp_path / "cache")
    store.largest = 100
    build_cache = BuildCache(store)
    for key, size, lasts in (("small", 100, True), ("large", 101, False)):
        (tmp_path / key).write_bytes(b"x" * size)
        (file,) = build_cache.add(key, Ending(code=0), {"built/submission": str(tmp_path / key)}).files
        assert (file.content.size, file.executable) == (size, True)
        assert (build_cache.find(key) is not None) is lasts
