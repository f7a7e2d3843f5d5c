"""`--client-processes` with real processes and workers: a process is killed, the run is interrupted."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from leftovers import descendants
from support.command_line import CommandLine, write_package
from support.waits import until
from support.warm_command import Started
from test_watched_workers import worker

pytestmark = [pytest.mark.once, pytest.mark.long]

MEASURED = (
    "cpu_time",
    "cpu_times",
    "wall_time",
    "waited_time",
    "memory",
    "feedback",
)  # a feedback may name a time


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def servers(own_folder: Path, shared_cache: Path) -> AsyncIterator[str]:
    """Two workers."""
    cli = CommandLine(own_folder, shared_cache)
    async with AsyncExitStack() as stack:
        ports = [(await stack.enter_async_context(worker(cli, "--slots", "1")))[1] for _ in range(2)]
        yield ",".join(f"http://127.0.0.1:{port}" for port in ports)


def dump(folder: Path, number: int = 16, rest: float = 0.4) -> Path:
    """Programs, of which every eighth is equal to an earlier one; every fourth only takes its time."""
    write_package(folder / "problems" / "add")
    rests = f"import time\ntime.sleep({rest})\nprint({{n}})"
    texts = ("print({n})", "raise SystemExit({n})", "print(", rests)
    rows = [
        {
            "id": n,
            "problem_id": "add",
            "language": "python",
            "code": texts[n % 4].format(n=n - 4 if n % 8 == 7 else n),
        }
        for n in range(number)
    ]
    (folder / "dump.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder / "dump.jsonl"


@contextmanager
def scoring(folder: Path, cache: Path, servers: str, out: str, *options: str) -> Iterator[Started]:
    process = CommandLine(folder, cache).start(
        *("score", folder / "dump.jsonl", "--all-tests", "--problems", folder / "problems"),
        *("--engine", servers, "--out", folder / out, *options),
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


async def ended(process: Started) -> tuple[int | None, str]:
    said = await asyncio.to_thread(process.communicate, 300)
    return process.returncode, "".join(said)


def rows(run: Path) -> dict[Any, Any]:
    path = run / "results.jsonl"
    found = map(json.loads, path.read_text().splitlines() if path.exists() else ())
    return {row["key"]: unmeasured(row) for row in found}


def unmeasured(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: unmeasured(each) for name, each in value.items() if name not in MEASURED}
    return [unmeasured(each) for each in value] if isinstance(value, list) else value


def judging_processes() -> list[int]:
    return [pid for pid in descendants() if "ioi_eval.runs.process " in command_line(pid)]


def command_line(pid: int) -> str:
    with suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()
    return ""


async def test_rows_are_those_of_one_process(tmp_path: Path, shared_cache: Path, servers: str) -> None:
    dump(tmp_path)
    for out, options in (("alone", ()), ("together", ("--client-processes", "2"))):
        with scoring(tmp_path, shared_cache, servers, out, *options) as process:
            code, said = await ended(process)
            assert code == 0, said
    assert rows(tmp_path / "alone") == rows(tmp_path / "together") and len(rows(tmp_path / "alone")) == 16


async def test_a_process_that_is_killed_is_a_failure_of_the_judge(
    tmp_path: Path, shared_cache: Path, servers: str
) -> None:
    dump(tmp_path)
    with scoring(tmp_path, shared_cache, servers, "run", "--client-processes", "2") as process:
        await until(lambda: len(rows(tmp_path / "run")) >= 1)
        os.kill(judging_processes()[0], signal.SIGKILL)
        code, said = await ended(process)
    failed = [json.loads(line) for line in (tmp_path / "run" / "failures.jsonl").read_text().splitlines()]
    assert code == 3 and failed, said
    assert all(row["reason"] == "the process that judged it ended" and not row["final"] for row in failed)
    assert len(rows(tmp_path / "run")) + len(failed) == 16
    with scoring(tmp_path, shared_cache, servers, "run", "--client-processes", "2") as process:
        code, said = await ended(process)
        assert code == 0, said
    assert len(rows(tmp_path / "run")) == 16 and judging_processes() == []


async def test_another_process_takes_the_place_of_one_that_is_killed(
    tmp_path: Path, shared_cache: Path, servers: str
) -> None:
    dump(tmp_path, 60)
    with scoring(tmp_path, shared_cache, servers, "run", "--client-processes", "2") as process:
        await until(lambda: len(rows(tmp_path / "run")) >= 1)
        first, second = judging_processes()
        os.kill(first, signal.SIGKILL)
        await until(lambda: len(judging_processes()) == 2 and first not in judging_processes())
        assert second in judging_processes()
        code, said = await ended(process)
    failed = (tmp_path / "run" / "failures.jsonl").read_text().splitlines()
    assert code == (3 if failed else 0) and len(failed) <= 8, said
    assert len(rows(tmp_path / "run")) + len(failed) == 60 and judging_processes() == []


async def test_an_interrupted_run_ends_its_processes(
    tmp_path: Path, shared_cache: Path, servers: str
) -> None:
    dump(tmp_path, 60)
    with scoring(tmp_path, shared_cache, servers, "run", "--client-processes", "2") as process:
        await until(lambda: len(rows(tmp_path / "run")) >= 1)
        assert len(judging_processes()) == 2
        process.send_signal(signal.SIGINT)
        code, said = await ended(process)
    assert code == 130 and "Traceback" not in said and 1 <= len(rows(tmp_path / "run")) < 60
    assert judging_processes() == []


async def test_processes_end_with_a_run_that_is_killed(
    tmp_path: Path, shared_cache: Path, servers: str
) -> None:
    dump(tmp_path, 60)
    with scoring(tmp_path, shared_cache, servers, "run", "--client-processes", "2") as process:
        await until(lambda: len(rows(tmp_path / "run")) >= 1)
        theirs = judging_processes()
        process.kill()
        process.wait()
        await until(lambda: not any("ioi_eval.runs.process " in command_line(pid) for pid in theirs))


async def test_servers_that_come_reach_all_processes(
    tmp_path: Path, shared_cache: Path, servers: str
) -> None:
    """Two more are listed while the run goes on: each process gets one."""
    dump(tmp_path, 60, rest=1.5)  # half a minute in all: a server takes its time to join
    listed = tmp_path / "servers"
    listed.write_text(servers)
    async with AsyncExitStack() as stack:
        cli = CommandLine(
            tmp_path, shared_cache
        )  # they start before: on a busy machine the run may end first
        more = [(await stack.enter_async_context(worker(cli, "--slots", "1")))[1] for _ in range(2)]
        process = stack.enter_context(
            scoring(tmp_path, shared_cache, f"@{listed}", "run", "--client-processes", "2")
        )
        await until(lambda: len(rows(tmp_path / "run")) >= 1)
        listed.write_text(",".join([servers, *(f"http://127.0.0.1:{port}" for port in more)]))
        code, said = await ended(process)
    assert code == 0 and len(rows(tmp_path / "run")) == 60, said
    assert "4 servers for 4 jobs" in said, said
