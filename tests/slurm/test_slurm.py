"""Workers as jobs of a real Slurm cluster: launched, discovered, used, lost during a run, stopped."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from support.command_line import CommandLine, results, row, wait_for_rows, write_dump, write_package

from ioi_eval.engines.embedded.sandboxes import choose_sandbox_parent_folder, remove_abandoned_folders

_DEPLOY = Path(__file__).parents[2] / "piston" / "slurm"
_WORKERS = 3
_KILL_WAIT = 5  # seconds from scancel until the cluster kills a job
# Each test is slow, so that work is lost with a worker.
_SOURCE = """#include <cstdio>
#include <ctime>
int main() {
  long long a, b;
  if (std::scanf("%%lld%%lld", &a, &b) != 2) return 1;
  while (std::clock() < CLOCKS_PER_SEC / 8) {}
  std::printf("%%lld\\n", a + b + %d);
}
"""


@pytest.fixture
def cli(cluster: dict[str, str], shared_cache: Path, tmp_path: Path) -> CommandLine:
    return CommandLine(folder=tmp_path, cache=shared_cache, environment=cluster)


@pytest.fixture
def token(tmp_path: Path) -> Path:
    path = tmp_path / "token"
    path.write_text("only-for-us\n")
    return path


@pytest.fixture
def ports(cli: CommandLine, token: Path) -> Iterator[list[int]]:
    """Return the ports of running workers."""
    command = cli.folder / "ioi-eval"
    command.write_text(f'#!/bin/sh\nexec {sys.executable} -m ioi_eval "$@"\n')
    command.chmod(0o755)
    options = ["--ioi-eval", command, "--token-file", token, "--logs", cli.folder / "logs", "--cpus", "1"]
    started = slurm(cli, _DEPLOY / "launch", *options, "--mem", "1G", "--port", free_port(), _WORKERS)
    ports = [int(line.rpartition("-")[2]) for line in started.splitlines()]
    try:
        until(lambda: all(reply_of_worker(port) for port in ports), cli.folder / "logs")
        yield ports
    finally:
        remove_abandoned_folders(
            choose_sandbox_parent_folder(1)
        )  # killed workers cannot remove their sandboxes


def slurm(cli: CommandLine, *command: object) -> str:
    arguments = [str(argument) for argument in command]
    return subprocess.run(
        arguments, cwd=cli.folder, env=cli.env, check=True, stdout=subprocess.PIPE, text=True
    ).stdout


def free_port() -> int:
    """Return an unused port below the range of ephemeral ports."""
    used_ports = {line.split()[1].rpartition(":")[2] for name in ("tcp", "tcp6") for line in sockets(name)}
    return next(
        port
        for port in range(20_000, 30_000)
        if not {f"{port + n:04X}" for n in range(_WORKERS)} & used_ports
    )


def sockets(name: str) -> list[str]:
    path = Path("/proc/net", name)
    return path.read_text().splitlines()[1:] if path.exists() else []


def reply_of_worker(port: int, path: str = "/healthz", token: str = "") -> str:
    request = urllib.request.Request(
        f"http://localhost:{port}{path}", headers={"Authorization": f"Bearer {token}"}
    )
    try:
        with urllib.request.urlopen(request, timeout=10) as reply:
            return str(reply.read().decode())
    except OSError:
        return ""


def run_job(port: int, script: str) -> Any:
    """Return a worker's reply to a job."""
    job = {"language": "bash", "version": "*", "files": [{"name": "run", "content": script}]}
    headers = {"Authorization": "Bearer only-for-us", "Content-Type": "application/json"}
    address = f"http://localhost:{port}/api/v2/execute"
    request = urllib.request.Request(address, json.dumps({**job, "run_timeout": 60_000}).encode(), headers)
    with urllib.request.urlopen(request, timeout=600) as reply:
        return json.loads(reply.read())


def until(holds: Callable[[], bool], logs: Path) -> None:
    for _ in range(1200):
        if holds():
            return
        time.sleep(0.1)
    raise AssertionError("\n".join(path.read_text() for path in sorted(logs.glob("*"))))


@pytest.mark.nightly
def test_slurm_workers_judge_a_dump_despite_a_lost_worker(
    cli: CommandLine, token: Path, ports: list[int]
) -> None:
    diagnosis = json.loads(cli("doctor", "--engine", "slurm", "--token-file", token, "--json").stdout)
    assert diagnosis["ok"]
    assert diagnosis["good"] == [f"http://localhost:{port}" for port in ports]
    assert all(server["slots"] == 1 for server in diagnosis["servers"])

    write_package(cli.folder / "problems" / "add")
    rows = [row(f"r{number:02}", _SOURCE % (number % 3)) for number in range(3)]
    rows += [row(f"s{number:02}", (_SOURCE % 0) + f"volatile int own = {number};\n") for number in range(6)]
    dump = write_dump(cli.folder / "dump.jsonl", rows)
    cli.set_keys(job="batched")  # many tests are lost with a worker
    scoring = cli.start(
        "score", dump, "--problems", "problems", "--engine", "slurm:root", "--token-file", token,
        "--out", "run", "--all-tests",
    )  # fmt: skip
    wait_for_rows(cli.folder / "run", 2, scoring)
    lost, *remaining_ports = ports
    job = slurm(cli, "squeue", "--noheader", "--format=%i", f"--name=piston-worker-{lost}").strip()
    slurm(cli, "scancel", "--full", "--signal=KILL", job)
    out, err = scoring.communicate()
    assert scoring.returncode == 0, out + err
    assert "3 servers: 3 with ioi_eval; 3 jobs at a time" in err

    result_rows = results(cli.folder / "run")
    assert sorted(result_rows) == sorted(result_row["uuid"] for result_row in rows)
    points = {key: result_row["all_subtasks_points"] for key, result_row in result_rows.items()}
    assert points == {key: 0 if key in ("r01", "r02") else 100 for key in points}
    assert not reply_of_worker(lost)
    assert all(
        "ioi_eval_jobs_total" in reply_of_worker(port, "/metrics", "only-for-us") for port in remaining_ports
    )

    # A waiting job is first in the list, and is cancelled before the running jobs.
    held_job = ("--hold", "--job-name=piston-worker-1", "--output=/dev/null", "--wrap=true")
    slurm(cli, "sbatch", *held_job)
    assert (
        slurm(cli, _DEPLOY / "stop", remaining_ports[0])
        .strip()
        .endswith(f"piston-worker-{remaining_ports[0]} ends")
    )
    with ThreadPoolExecutor(1) as executor:
        finishing = executor.submit(run_job, remaining_ports[1], f"sleep {_KILL_WAIT + 3}; echo finished")
        until(
            lambda: (
                "ioi_eval_jobs_running 1" in reply_of_worker(remaining_ports[1], "/metrics", "only-for-us")
            ),
            cli.folder / "logs",
        )
        diagnosis = slurm(cli, _DEPLOY / "stop")
        assert "piston-worker-1 ends" in diagnosis and f"piston-worker-{remaining_ports[1]} ends" in diagnosis
        assert finishing.result()["run"]["stdout"] == "finished\n"
    until(lambda: not slurm(cli, "squeue", "--noheader").strip(), cli.folder / "logs")
    assert not any(reply_of_worker(port) for port in ports)
    assert "no such worker" in slurm(cli, _DEPLOY / "stop")


def test_launch_script_reports_missing_arguments(tmp_path: Path) -> None:
    """It checks them before it calls Slurm."""

    def said(*options: str) -> str:
        environment = {key: value for key, value in os.environ.items() if key != "IOI_EVAL_TOKEN"}
        completed = subprocess.run(
            [_DEPLOY / "launch", *options], cwd=tmp_path, env=environment, capture_output=True, text=True,
            check=False,
        )  # fmt: skip
        assert completed.returncode == 2
        return completed.stderr

    assert "how many workers" in said()
    assert "--token-file" in said("--ioi-eval", "/bin/true", "2")
    assert "nowhere cannot be read" in said("--ioi-eval", "/bin/true", "--token-file", "nowhere", "2")
    assert "worker, pyxis and apptainer" in said("--with", "podman", "2")
    assert "needs --packages" in said("--with", "pyxis", "2")
    assert "unknown option --nodes" in said("--nodes", "2")
    assert not list(tmp_path.iterdir())


def test_launch_script_fails_if_sbatch_fails(tmp_path: Path) -> None:
    for name, status in (("squeue", 0), ("sbatch", 1)):
        program = tmp_path / "bin" / name
        program.parent.mkdir(exist_ok=True)
        program.write_text(f"#!/bin/sh\nexit {status}\n")
        program.chmod(0o755)
    completed = subprocess.run(
        [_DEPLOY / "launch", "--ioi-eval", "/bin/true", "--open-to-all", "2"],
        cwd=tmp_path, env={**os.environ, "PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}"},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (completed.returncode, completed.stdout) == (2, "")
    assert "0 of 2 workers were started" in completed.stderr
