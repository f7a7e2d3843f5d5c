"""Requests that clients of Piston rely on beyond the recorded ones. They can run against any server."""

from __future__ import annotations

import gzip
import json
from concurrent.futures import ThreadPoolExecutor

import pytest
from http_calls import JSON, PistonServer


def test_job_gets_arguments_and_input_unchanged(piston: PistonServer) -> None:
    run = piston.bash('printf "<%s>" "$@"; cat', args=["a b", "", "ä'\"$x"], stdin="one\ntwo\n")
    assert run["stdout"] == "<a b><><ä'\"$x>one\ntwo\n"


@pytest.mark.parametrize(("encoding", "content"), [("hex", "00ff41"), ("base64", "AP9B"), ("other", "A")])
def test_http_file_encodings_are_decoded(piston: PistonServer, encoding: str, content: str) -> None:
    """An unknown encoding counts as text."""
    file = {"name": "f", "content": content, "encoding": encoding}
    run = piston.bash("od -An -tx1 f | tr -d ' \\n'", files=[file])
    assert run["stdout"] == {"hex": "00ff41", "base64": "00ff41", "other": "41"}[encoding]


def test_unnamed_http_files_are_numbered(piston: PistonServer) -> None:
    run = piston.bash("cat file1.code", files=[{"content": "second"}])
    assert run["stdout"] == "second"


def test_job_can_execute_a_file_that_it_wrote(piston: PistonServer) -> None:
    script = "mkdir -p d; printf '#!/bin/sh\\necho ran' > d/x; chmod +x d/x; ./d/x; touch /usr/x /etc/x"
    run = piston.bash(script)
    assert run["stdout"] == "ran\n"
    assert run["code"] == 1


def test_gzipped_request_body_is_accepted(piston: PistonServer) -> None:
    job = {"language": "bash", "version": "*", "files": [{"content": "echo packed #" + "x" * 20_000}]}
    body = gzip.compress(json.dumps(job).encode())
    reply = piston.able(piston.call("POST", "/execute", body, JSON | {"Content-Encoding": "gzip"}))
    assert reply.body["run"]["stdout"] == "packed\n"


def test_request_body_above_stock_limit_is_accepted(piston: PistonServer) -> None:
    """The stock limit of 100 kB is less than a test of an olympiad."""
    run = piston.bash("wc -c < f", files=[{"name": "f", "content": "x" * 1_000_000}])
    assert run["stdout"].strip() == "1000000"


def test_output_above_stock_limit_is_returned(piston: PistonServer) -> None:
    """The stock limit of 1024 bytes is less than the report on many tests."""
    run = piston.bash("head -c 500000 /dev/zero | tr '\\0' x")
    if run.get("status") == "OL" or (run["signal"] == "SIGKILL" and not piston.ours):
        pytest.skip("PISTON_OUTPUT_MAX_SIZE of this server is small")
    assert run["stdout"] == "x" * 500_000


def test_non_utf8_output_is_replaced(piston: PistonServer) -> None:
    run = piston.bash("printf 'a\\377b\\303\\244'")
    assert run["stdout"] == "a\ufffdbä"


def test_runtime_version_may_be_range(piston: PistonServer) -> None:
    assert piston.bash("echo ok", version=">=1 <1000")["stdout"] == "ok\n"
    reply = piston.call(
        "POST",
        "/execute",
        json.dumps({"language": "bash", "version": "<1", "files": [{"content": "true"}]}).encode(),
        JSON,
    )
    assert (reply.status, reply.body) == (400, {"message": "bash-<1 runtime is unknown"})


def test_unset_limits_are_accepted_as_zero_minus_one_or_null(piston: PistonServer) -> None:
    assert piston.bash("echo ok", run_timeout=0, run_memory_limit=-1, compile_timeout=None)["code"] == 0


def test_files_and_processes_of_a_job_are_removed_before_the_next_job(piston: PistonServer) -> None:
    piston.bash("echo here > /tmp/left; echo here > left; (setsid sleep 5 &) ; true")
    run = piston.bash("cat /tmp/left left; ps -eo args 2> /dev/null | grep -c '[s]leep 5'")
    if not piston.ours and not piston.is_current:
        pytest.skip("before isolate, jobs shared /tmp")
    assert "here" not in run["stdout"]


def test_each_concurrent_job_returns_its_own_output(piston: PistonServer) -> None:
    with ThreadPoolExecutor(8) as threads:
        outputs = list(threads.map(lambda n: piston.bash(f"echo {n}")["stdout"], range(24)))
    assert outputs == [f"{n}\n" for n in range(24)]


def test_runtimes_and_packages_are_listed(piston: PistonServer) -> None:
    runtimes = piston.call("GET", "/runtimes")
    assert runtimes.status == 200
    assert all({"language", "version", "aliases"} <= entry.keys() for entry in runtimes.body)
    if piston.ours:  # another server asks its index, which may be far away
        packages = piston.call("GET", "/packages")
        assert all(entry.keys() == {"language", "language_version", "installed"} for entry in packages.body)
    request = json.dumps({"language": "no such package", "version": "1.0.0"}).encode()
    if piston.ours:
        assert piston.call("POST", "/packages", request, JSON).status == 404
