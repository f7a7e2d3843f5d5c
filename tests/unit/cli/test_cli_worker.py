"""`ioi-eval worker` as a process: its output, its clients, and its shutdown."""

from __future__ import annotations

import dataclasses
import http.client
import json
import resource
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
from built_programs import SOURCES
from support.cached_lookups import cached_toolchains
from support.command_line import CommandLine, adopt_orphans, children, wait_until_gone

from ioi_eval import Store
from ioi_eval.engines.embedded.proctor import make_proctor_key


@contextmanager
def working(cli: CommandLine, *options: str | Path) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """Start a worker on a free port. Yield the process and the port."""
    process = cli.start("worker", "--port", "0", "--slots", "1", *options)
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line.startswith("ioi-eval worker at http://127.0.0.1:") and line.endswith(", 1 slot\n"), line
        assert process.stdout.readline().startswith("confinement: ")
        yield process, int(line.split(":")[2].partition(",")[0])
    finally:
        process.kill()
        process.communicate()


def ask(port: int, path: str, body: Any = None, **headers: str) -> tuple[int, Any]:
    connection = http.client.HTTPConnection("127.0.0.1", port)
    kind = {"Content-Type": "application/json"} if body else {}
    connection.request("POST" if body else "GET", path, json.dumps(body) if body else None, kind | headers)
    reply = connection.getresponse()
    reply_text = reply.read()
    connection.close()
    if reply.headers.get_content_type() == "application/json":
        return reply.status, json.loads(reply_text)
    return reply.status, reply_text.decode()


def run(port: int, script: str) -> tuple[int, Any]:
    job = {"language": "bash", "version": "*", "files": [{"content": script}]}
    return ask(port, "/api/v2/execute", job)


def cut_off(port: int) -> None:
    with pytest.raises((OSError, http.client.HTTPException)):
        run(port, "sleep 600")


def wait_until_running(port: int) -> None:
    for _ in range(12_000):
        if "\nioi_eval_jobs_running 1\n" in ask(port, "/metrics")[1]:
            return
        time.sleep(0.01)
    raise AssertionError("no job runs")


@contextmanager
def few_descriptors(number: int) -> Iterator[None]:
    """Lower the limit of open files for processes started meanwhile."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (number, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_silent_connections_do_not_block_worker(cli: CommandLine) -> None:
    with ExitStack() as connections:
        with few_descriptors(256):
            _, port = connections.enter_context(working(dataclasses.replace(cli, alone=True)))
        for _ in range(300):
            silent = connections.enter_context(socket.create_connection(("127.0.0.1", port)))
            silent.send(b"GET / HTTP/1.1\r\nHost:")
        asking = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        connections.callback(asking.close)
        asking.request("GET", "/healthz")
        assert asking.getresponse().status == 200


@pytest.mark.nightly
def test_worker_memory_for_job_output_is_bounded(cli: CommandLine) -> None:
    """The output of 120 MB becomes 1.4 GB of JSON, which must not be built as a whole."""
    with working(cli) as (process, port):
        peak_before = peak_memory(process.pid)
        status, reply = run(port, "head -c 60000000 /dev/zero; head -c 60000000 /dev/zero >&2")
        growth = peak_memory(process.pid) - peak_before
    assert (status, reply["run"]["status"]) == (200, "EL")
    assert 100 << 20 < growth < 500 << 20, "120 MB as bytes, and again as a string"


def peak_memory(process: int) -> int:
    status = Path(f"/proc/{process}/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) << 10


def test_first_sigterm_lets_jobs_finish_and_second_stops_worker(cli: CommandLine) -> None:
    adopt_orphans()
    children_before = children()
    with working(cli) as (process, port):
        assert run(port, "echo hello")[1]["run"]["stdout"] == "hello\n"
        process.send_signal(signal.SIGTERM)
        assert process.wait() == 0
    with working(cli) as (process, port):
        client = threading.Thread(target=cut_off, args=(port,))
        client.start()
        wait_until_running(port)
        process.send_signal(signal.SIGTERM)
        while ask(port, "/healthz")[0] == 200:
            time.sleep(0.01)
        assert run(port, "true")[0] == 503
        assert process.poll() is None
        process.send_signal(signal.SIGTERM)
        assert process.wait() == 130
        client.join()
        assert process.stderr is not None
        assert process.stderr.read() == "Finishing 1 job; a second signal stops at once.\n"
    wait_until_gone(children_before)


def test_worker_token_is_read_from_file_or_environment(cli: CommandLine, tmp_path: Path) -> None:
    (tmp_path / "token").write_text("secret\n")
    for options, environment in [
        (("--token-file", tmp_path / "token"), {}),
        ((), {"IOI_EVAL_TOKEN": "secret"}),
    ]:
        ours = CommandLine(folder=cli.folder, cache=cli.cache, environment=environment)
        with working(ours, *options) as (_, port):
            assert ask(port, "/api/v2/runtimes")[0] == 401
            assert ask(port, "/api/v2/runtimes", Authorization="Bearer secret")[0] == 200


def test_worker_refuses_folder_of_broken_packages(cli: CommandLine) -> None:
    package_folder = cli.folder / "broken" / "x" / "1.0.0"
    package_folder.mkdir(parents=True)
    (package_folder / ".ppman-installed").write_text("")
    (package_folder / "pkg-info.json").write_text('{"language": "x", "version": "1.0.0"}')
    completed = cli("worker", "--port", "0", "--packages", "broken")
    assert completed.returncode == 2
    assert "broken/x/1.0.0 is not a package" in completed.stderr and "Traceback" not in completed.stderr


def test_allow_host_option_accepts_named_host_only(cli: CommandLine) -> None:
    with working(cli, "--set", "allow-host=judge") as (_, port):
        assert ask(port, "/", Host="judge")[0] == 200
        status, reply = ask(port, "/", Host="evil.example")
    assert (
        status == 403 and "'evil.example': start it with --set allow-host=NAME to allow" in reply["message"]
    )


@pytest.mark.nightly(unless="again")
@pytest.mark.parametrize("first", [False, True], ids=["again", "for the first time"])
def test_json_log_of_worker_contains_only_objects(cli: CommandLine, proctor: Path, first: bool) -> None:
    """On both streams, even while something is built for the first time."""
    if first:
        cli = dataclasses.replace(cli, cache=cli.folder / "own")
        key = make_proctor_key(cached_toolchains()["g++"], SOURCES)  # whose build needs three times as long
        Store(cli.cache).put(key, proctor, executable=True)
    process = cli.start("worker", "--port", "0", "--slots", "1", "--set", "log-format=json")
    try:
        assert process.stderr is not None and process.stdout is not None
        events: list[dict[str, Any]] = []
        while not events or events[-1]["event"] != "started":
            events.append(json.loads(process.stderr.readline()))
        assert run(int(events[-1]["url"].rpartition(":")[2]), "true")[0] == 200
        process.send_signal(signal.SIGTERM)
        assert process.wait() == 0
        events += [json.loads(line) for line in process.stderr]
        assert process.stdout.read() == ""
    finally:
        process.kill()
        process.communicate()
    names = [event["event"] for event in events]
    assert names[-2:] == ["started", "drained"] and set(names[:-2]) <= {"note"}
    if first:
        assert "building the fork server library, once per machine" in events[0]["message"]
    assert events[-2]["confinement"] and events[-2]["slots"] == 1
    assert all(event["time"] for event in events)


def test_worker_error_is_json_in_json_log(cli: CommandLine) -> None:
    with working(cli) as (_, port):
        refused = cli("worker", "--port", port, "--set", "log-format=json")
    assert refused.returncode == 2
    [event] = map(json.loads, refused.stderr.splitlines())
    assert event["event"] == "error" and str(port) in event["message"]


def test_library_logs_and_warnings_go_through_log_handler() -> None:
    """For example messages of asyncio about slow callbacks, and Python's warnings."""
    code = """
import json, logging, warnings
from ioi_eval.cli import console
console.set_log_output(lambda words: print(json.dumps(words)), of_other_packages=True)
logging.getLogger("asyncio").error("first\\nline")
warnings.warn("old")
logging.getLogger("ioi_eval.store").info("ours")
"""
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stderr == ""
    first, second, third = map(json.loads, shown.stdout.splitlines())
    assert first == "first\nline" and "UserWarning: old" in second and third == "ours"


def test_worker_uses_python_from_option_or_environment_variable(cli: CommandLine) -> None:
    refused = cli("worker", "--port", "0", "--python", "/no/python")
    assert refused.returncode == 2 and "/no/python" in refused.stderr
    of_variable = dataclasses.replace(cli, environment={"IOI_EVAL_PYTHON": "/no/other"})
    refused = of_variable("worker", "--port", "0")
    assert refused.returncode == 2 and "/no/other" in refused.stderr
