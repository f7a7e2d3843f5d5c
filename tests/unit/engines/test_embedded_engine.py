"""The embedded engine with real sandboxes: files that a job sees, files that it leaves, and its endings."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from borrowed_engine import artifacts_on
from engine_helpers import alive, boxes, file, folder_for_boxes, inside, mark, mode, path_file, script, stays
from support.builds import plain_problem, submitted
from support.cached_lookups import script_with_known_tools
from support.engines import BuildSuccess, CompileError
from support.waiting import until

from ioi_eval import EmbeddedEngine, Store
from ioi_eval.engines.embedded.toolchains import is_executable_by_everyone
from ioi_eval.errors import EngineUnavailable, JobRejected
from ioi_eval.models import Blob, Ending, Job

pytestmark = pytest.mark.asyncio(loop_scope="module")

LAYERS = [None, ("landlock", "seccomp"), ("namespaces",)]


@pytest.fixture(scope="module", params=LAYERS, ids=["all", "without-namespaces", "namespaces-alone"])
def layers(request: pytest.FixtureRequest) -> tuple[str, ...] | None:
    chosen: tuple[str, ...] | None = request.param
    return chosen


@pytest.fixture(scope="module")
def place() -> Iterator[Path]:
    """Return the folder of the engine's sandboxes."""
    with folder_for_boxes() as folder:
        yield folder


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def opened(store: Store, place: Path, layers: tuple[str, ...] | None) -> AsyncIterator[EmbeddedEngine]:
    """Return an engine that all tests share, because opening it is as slow as a typical test."""
    async with EmbeddedEngine(
        store=store,
        slots=2,
        sandboxes=str(place),
        layers=layers,
        max_stdout=100_000,
        max_stderr=1000,
        max_file=1 << 20,
    ) as entered:
        yield entered
    assert inside(place) == []


@pytest.fixture
def engine(opened: EmbeddedEngine, place: Path) -> Iterator[EmbeddedEngine]:
    contents_before = inside(place), inside(place, "*/*")
    yield opened
    assert boxes(place) == []
    assert (inside(place), inside(place, "*/*")) == contents_before


async def run(engine: EmbeddedEngine, text: str, *more_files: Any, **fields: Any) -> Ending:
    return (await engine.execute(script(text, *more_files, **fields))).run


def ending(stage: Ending) -> tuple[Any, ...]:
    return (stage.code, stage.signal, stage.status, stage.message)


@pytest.mark.parametrize(
    ("script_text", "fields", "expected"),
    [
        ("true", {}, (0, None, None, None)),
        ("exit 3", {}, (3, None, "RE", "Exited with error status 3")),
        ("kill -SEGV $$", {}, (None, "SIGSEGV", "SG", "Caught fatal signal 11")),
        ("kill -SEGV $$", {"runtime": "bash"}, (139, None, "RE", "Exited with error status 139")),
        ("sleep 60", {"run_timeout": 200}, (None, "SIGKILL", "TO", "Time limit exceeded (wall clock)")),
        ("while :; do :; done", {"run_cpu_time": 100}, (None, "SIGKILL", "TO", "Time limit exceeded")),
        (
            "exec python3 -Ic 'import time; x = bytes([1]) * 200_000_000; time.sleep(60)'",
            {"run_memory_limit": 50_000_000},
            (None, "SIGKILL", "SG", "Memory limit exceeded"),
        ),
        ("yes", {}, (None, "SIGKILL", "OL", "stdout length exceeded")),
        ("yes >&2", {}, (None, "SIGKILL", "EL", "stderr length exceeded")),
        ("head -c 100001 /dev/zero", {}, (None, "SIGKILL", "OL", "stdout length exceeded")),
        ("head -c 100000 /dev/zero", {}, (0, None, None, None)),
    ],
)
async def test_job_script_ends_with_expected_code_signal_and_status(
    engine: EmbeddedEngine, script_text: str, fields: dict[str, Any], expected: tuple[Any, ...]
) -> None:
    assert ending(await run(engine, script_text, **fields)) == expected


async def test_output_before_timeout_or_crash_is_returned(engine: EmbeddedEngine) -> None:
    stage = await run(engine, "echo partial; echo oops >&2; printf '\\377\\303\\244'; exit 3")
    assert (stage.stdout, stage.stderr, stage.code) == ("partial\n\ufffdä", "oops\n", 3)
    stage = await run(engine, "echo before; sleep 60", run_timeout=300)
    assert (stage.stdout, stage.status) == ("before\n", "TO")
    stage = await run(engine, "yes x")
    assert stage.stdout == "x\n" * 50_000


async def test_stage_reports_cpu_time_wall_time_and_memory(engine: EmbeddedEngine) -> None:
    stage = await run(engine, "python3 -Ic 'import time; kept = bytes([1]) * 30_000_000; time.sleep(0.1)'")
    assert stage.memory is not None and stage.memory > 30_000_000
    assert stage.wall_time is not None and stage.wall_time >= 100
    assert stage.cpu_time is not None and stage.cpu_time > 0


async def test_job_gets_arguments_stdin_and_clean_environment(engine: EmbeddedEngine) -> None:
    stage = await run(engine, 'echo "args: $*"; cat', args=("a", "b c"), stdin="no newline")
    assert stage.stdout == "args: run a b c\nno newline\n"
    stage = await run(engine, 'echo "args: $*"; cat', args=("a", "b c"), stdin="x", runtime="bash")
    assert stage.stdout == "args: a b c\nx\n"
    stage = await run(engine, "env")
    variables = dict(line.split("=", 1) for line in stage.stdout.splitlines())
    assert variables.items() >= {"LANG": "C.UTF-8", "PATH": "/usr/local/bin:/usr/bin:/bin"}.items()
    # If a sandbox cannot have a private /tmp, its folder is its home.
    assert variables["HOME"] in ("/tmp", variables.get("TMPDIR"))
    assert set(variables) <= {"HOME", "LANG", "PATH", "PWD", "SHLVL", "_", "TMPDIR", "PISTON_LANGUAGE"}


async def test_job_files_keep_contents_and_modes(engine: EmbeddedEngine, tmp_path: Path) -> None:
    shown, closed, tool = tmp_path / "shown", tmp_path / "closed", tmp_path / "tool"
    shown.write_text("shown\n")
    shown.chmod(0o644)
    closed.write_text("closed\n")
    closed.chmod(0o600)
    tool.write_text("#!/bin/sh\necho tool\n")
    tool.chmod(0o644)
    stage = await run(
        engine,
        "cat a/b/deep shown closed t/again; ./tool; ./own; stat -c %a own a/b/deep",
        file("a/b/deep", "deep\n"),
        file("own", "#!/bin/sh\necho own\n", executable=True),
        path_file("shown", shown),
        path_file("t/again", shown),
        path_file("closed", closed),
        path_file("tool", tool, executable=True),
    )
    assert stage.stderr == ""
    assert stage.stdout == "deep\nshown\nclosed\nshown\ntool\nown\n755\n644\n"
    assert shown.read_text() == "shown\n"


async def test_compile_stage_files_reach_run_stage(engine: EmbeddedEngine, tmp_path: Path) -> None:
    host = tmp_path / "host"
    host.write_text("from the host\n")
    host.chmod(0o644)
    result = await engine.execute(
        script(
            "cat made host replaced; cat",
            file("compile", "echo $*; cat > /dev/null; cat host > made; rm replaced; echo new > replaced"),
            path_file("host", host),
            path_file("replaced", host),
            stdin="in",
        )
    )
    assert result.compile is not None
    assert result.compile.stdout == "run compile\n"
    assert result.run.stdout == "from the host\nfrom the host\nnew\nin\n"
    assert (result.language, result.endpoint) == ("ioi_eval", "embedded")


@pytest.mark.parametrize(
    ("compile", "fields", "status"),
    [("echo no >&2; exit 1", {}, "RE"), ("sleep 60", {"compile_timeout": 200}, "TO"), ("yes", {}, "OL")],
)
async def test_reply_shows_failed_compile_stage_as_run_stage_too(
    engine: EmbeddedEngine, compile: str, fields: dict[str, Any], status: str
) -> None:
    result = await engine.execute(script("echo ran", file("compile", compile), **fields))
    assert result.compile is not None and result.compile.status == status
    assert result.run == result.compile


async def test_compile_script_builds_and_fetches_the_program(engine: EmbeddedEngine) -> None:
    source = '#include <cstdio>\nint main() { puts("compiled"); }\n'
    build = "g++ -O2 -static -o program main.cpp"
    job = Job(files=(file("main.cpp", source), file("compile", build)), keep=("program", "nothing"))
    result = await engine.execute(job)
    assert result.run == result.compile
    assert (result.run.code, result.run.stderr) == (0, "")
    assert set(result.kept) == {"program"}
    fetched = Path(result.kept["program"])
    assert mode(fetched) == 0o755
    assert (
        await run(engine, "./program", path_file("program", fetched, executable=True))
    ).stdout == "compiled\n"


def found(folder: Path, pattern: str) -> list[Path]:
    return [*folder.rglob(pattern)]


async def test_build_leaves_files_only_in_store(store: Store, base: Path, tmp_path: Path) -> None:
    code = "#include <cstdio>\nint main() {}\n"
    async with (
        EmbeddedEngine(store=store, slots=1, sandboxes=base) as engine,
        artifacts_on(engine, Store(tmp_path)) as artifacts,
    ):
        for sent, kind in ((code, BuildSuccess), ("no program", CompileError)):
            assert isinstance(
                await artifacts.build_submission(artifacts.prepare_problem(plain_problem()), submitted(sent)),
                kind,
            )
        assert found(base, "kept") and not found(base, "kept/*")


async def test_only_regular_files_of_job_are_returned(engine: EmbeddedEngine) -> None:
    names = ("link", "pipe", "folder", "f/hosts", "file")
    script_text = (
        "ln -s /etc/passwd link; mkfifo pipe; mkdir folder; ln -s /etc f; echo x > file; chmod 0 file"
    )
    result = await engine.execute(script(script_text, keep=names))
    assert set(result.kept) == {"file"}
    fetched = Path(result.kept["file"])
    assert Blob.of_file(fetched).sha256 == Blob.of("x\n").sha256
    assert mode(fetched) == 0o644


async def test_deep_and_unreadable_folders_of_job_are_removed(engine: EmbeddedEngine, place: Path) -> None:
    deep = "import os; [(os.mkdir('folder'), os.chdir('folder')) for _ in range(1100)]"
    closed = "mkdir -p closed/inner; touch closed/inner/x; chmod 0 closed/inner closed ."
    stage = await run(engine, f'python3 -c "{deep}" && {closed} && echo done')
    assert (stage.stdout, stage.stderr) == ("done\n", "")
    assert boxes(place) == []


async def test_file_size_of_job_is_limited(engine: EmbeddedEngine) -> None:
    result = await engine.execute(script("head -c 2000000 /dev/zero > big", keep=("big",)))
    assert Blob.of_file(Path(result.kept["big"])).size == 1 << 20


async def test_background_processes_end_with_job(engine: EmbeddedEngine) -> None:
    marked = mark()
    stage = await run(engine, f"(setsid sleep {marked} > /dev/null 2>&1 &); sleep {marked} & exit 0")
    assert stage.code == 0
    assert alive(marked) == []


async def test_sandboxes_of_root_have_distinct_uids(engine: EmbeddedEngine) -> None:
    stages = await asyncio.gather(run(engine, "id -u; cat", stdin="x"), run(engine, "id -u; cat", stdin="x"))
    uids = {int(stage.stdout.splitlines()[0]) for stage in stages}
    if os.geteuid() == 0:
        assert len(uids) == 2 and min(uids) >= 60578
    else:
        assert uids == {os.geteuid()}


async def test_job_cannot_see_sandboxes_or_processes_of_other_jobs(
    engine: EmbeddedEngine, place: Path
) -> None:
    marked, secret = mark(), mark()  # unique, because other processes may have any common string
    task = asyncio.create_task(run(engine, f"echo {secret} > s; sleep {marked}"))
    await until(lambda: bool(alive(marked)))
    [box] = boxes(place)
    folder = box.parent
    stage = await run(engine, f"cat {box}/s; ls {folder} {folder}/kept; kill -9 -1; cat /proc/*/cmdline")
    assert secret not in stage.stdout and box.name not in stage.stdout
    assert alive(marked) != []
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_rejected_jobs_occupy_no_slot(engine: EmbeddedEngine, tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.write_text("x")
    missing = path_file("missing", gone)
    gone.unlink()
    for job in [
        script("true", runtime="nope"),
        script("true", file("../x", "")),
        script("true", missing),
    ] * 2:
        with pytest.raises(JobRejected):
            await engine.execute(job)
    assert (await run(engine, "echo fine")).stdout == "fine\n"


async def test_embedded_capabilities_describe_machine(engine: EmbeddedEngine) -> None:
    profile = await engine.capabilities()
    assert engine.slots == 2
    assert profile.architecture == os.uname().machine
    assert {"g++", "python3"} <= set(profile.toolchains)
    assert {"ioi_eval", "bash", "cms_ioi"} <= set(profile.runtimes)
    assert profile.proctor is not None and profile.proctor.path is not None
    assert is_executable_by_everyone(Path(profile.proctor.path))


# --- coming and going --------------------------------------------------------------------------------


async def test_embedded_engine_works_only_inside_async_with(store: Store, base: Path) -> None:
    engine = EmbeddedEngine(store=store, sandboxes=base)
    for _ in range(2):
        with pytest.raises(EngineUnavailable, match="async with"):
            await engine.execute(script("true"))
        async with engine:
            assert (await run(engine, "echo x")).stdout == "x\n"
            with pytest.raises(EngineUnavailable, match="in use already"):
                await engine.__aenter__()
    assert inside(base) == []


async def test_closing_engine_ends_running_and_waiting_jobs(store: Store, base: Path) -> None:
    marked = mark()
    async with EmbeddedEngine(store=store, slots=1, sandboxes=base) as engine:
        tasks = [asyncio.create_task(engine.execute(script(stays(marked)))) for _ in range(3)]
        await until(lambda: bool(alive(marked)))
    outcomes = await asyncio.gather(*tasks, return_exceptions=True)
    assert [type(outcome) for outcome in outcomes] == [EngineUnavailable] * 3
    assert alive(marked, str(base)) == []
    assert inside(base) == []


async def test_failed_engine_start_leaves_no_folder(
    store: Store, base: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ioi_eval.engines.embedded.engine.find_toolchains", lambda *_: {})
    with pytest.raises(EngineUnavailable, match=r"apt-get install g\+\+"):
        async with EmbeddedEngine(store=store, sandboxes=base):
            pass
    assert inside(base) == []


async def test_default_slots_equal_usable_cores(store: Store) -> None:
    assert EmbeddedEngine(store=store).slots == len(os.sched_getaffinity(0))
    with pytest.raises(ValueError, match="at least 1"):
        EmbeddedEngine(store=store, slots=0)


OPENS_TWICE = """
import asyncio, resource
from ioi_eval import EmbeddedEngine, Store

root, sandboxes = sys.argv[1:]
hard_limits = {resource.RLIMIT_STACK: 8 << 20, resource.RLIMIT_FSIZE: 3 << 20}
resource.getrlimit = lambda kind: (1, hard_limits.get(kind, resource.RLIM_INFINITY))

async def main():
    for _ in range(2):
        async with EmbeddedEngine(store=Store(root), slots=1, sandboxes=sandboxes):
            pass

asyncio.run(main())
"""


async def test_low_shell_resource_limits_are_warned_of_once(
    store: Store, place: Path, tmp_path: Path
) -> None:
    """Programs inherit them: a right program with deep recursion would crash."""
    code = script_with_known_tools(tmp_path / "tools.json") + OPENS_TWICE
    command = [sys.executable, "-c", code, str(store.root), str(place)]
    ended = await asyncio.to_thread(
        subprocess.run, command, check=True, capture_output=True, text=True, timeout=300
    )
    [warning] = [line for line in ended.stderr.splitlines() if "hard limits of this shell" in line]
    assert "ulimit -Hs" in warning and "-Hv" not in warning
    assert "ulimit -Hf" in warning, "a program that prints more would be OLE"
