"""Commands on a real Ray cluster: by client address, without a cluster, and with different compilers."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import re
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from ray_rig import EXAMPLES, PATIENT, PATIENTLY, ROOM, Expected, Rig, command, new_rig, told, until

from ioi_eval import Scorer, Store
from ioi_eval.models import Problem, Submission
from ioi_eval.plugins.ray import RayEngine

pytest_plugins = ["ray_rig"]

COURIERS = EXAMPLES.parent / "tests" / "packages" / "couriers"

_EVER = 3  # number of connection attempts of a command
_DYING = """import os, sys
if "--mode=specific-server" in sys.orig_argv and len(os.listdir(folder)) < {times}:
    open(os.path.join(folder, str(os.getpid())), "w").close()
    os._exit(1)
"""


@pytest.fixture
def dying(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, patient_ray: None
) -> int:
    """Let some client processes of the head die at their start, as after a failed fork."""
    times: int = request.param
    (tmp_path / "died").mkdir()
    (tmp_path / "python").mkdir()
    begin = f"folder = {str(tmp_path / 'died')!r}\n"
    (tmp_path / "python" / "sitecustomize.py").write_text(begin + _DYING.format(times=times))
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "python"))
    # Seconds for which the head waits if it does not notice a dead process at once.
    monkeypatch.setenv("RAY_CLIENT_SERVER_CHECK_CHANNEL_TIMEOUT_S", "1" if times > _EVER else "60")
    return times


@pytest.fixture
def own_rig(dying: int) -> Iterator[Rig]:
    """Return a head whose first client processes die."""
    created_rig = new_rig()
    yield created_rig
    created_rig.cluster.shutdown()


@pytest.mark.parametrize("dying", [1], indirect=True)
def test_connection_to_ray_head_is_retried(dying: int, own_rig: Rig) -> None:
    own_rig.node()
    doctor = command("doctor", "--json", engine=own_rig.outside)
    assert doctor.returncode == 0, doctor.stderr
    assert doctor.stderr.count("refused the connection") >= dying


@pytest.mark.parametrize("dying", [1000], indirect=True)
def test_ray_head_that_never_accepts_a_client_is_an_error(own_rig: Rig) -> None:
    refused = command("doctor", engine=own_rig.outside)
    assert refused.returncode == 2
    assert refused.stderr.count("refused the connection") == _EVER - 1
    assert re.search("Starting Ray client server failed|Proxy failed to Connect to backend", refused.stderr)


def test_commands_score_on_a_ray_cluster_by_client_address(rig: Rig, tmp_path: Path) -> None:
    rig.node(), rig.node()
    doctor = command("doctor", "--json", engine=rig.outside)
    assert doctor.returncode == 0, doctor.stderr
    answer = json.loads(doctor.stdout)
    assert (answer["ok"], answer["slots"], len(answer["nodes"])) == (True, 4, 2)
    check_scores(rig.outside, tmp_path / "run")


@pytest.mark.parametrize("listens", [False, True])
def test_stale_address_file_of_a_ray_cluster_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, listens: bool
) -> None:
    """Nothing listens there, or another server, for which Ray would wait for minutes."""
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    monkeypatch.setenv("RAY_TMPDIR", str(tmp_path))
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        if listens:
            other.listen()
        address = f"127.0.0.1:{other.getsockname()[1]}"
        (tmp_path / "ray").mkdir()
        (tmp_path / "ray" / "ray_current_cluster").write_text(address)
        refused = command("doctor", engine="ray")
    assert refused.returncode == 2
    assert f"no Ray server answered at {address}" in refused.stderr and "Remove the file" in refused.stderr


def test_package_with_forking_submissions_validates_on_ray(rig: Rig, tmp_path: Path) -> None:
    rig.node()
    completed = command("validate", str(COURIERS), "--out", str(tmp_path / "run"), engine=rig.outside)
    assert (completed.returncode, "couriers: 3 processes in all" in completed.stderr) == (0, True), (
        completed.stderr
    )
    assert "compared 4, agree 4, differ 0, nothing expected 0, not judged 0" in completed.stdout


@pytest.mark.usefixtures("patient_ray")
def test_engine_ray_without_a_cluster_starts_and_stops_a_local_cluster(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    with tempfile.TemporaryDirectory(prefix="ray-", dir="/tmp") as folder:  # sockets have short paths
        monkeypatch.setenv("RAY_TMPDIR", folder)
        check_scores("ray", tmp_path / "run")
        assert list(Path(folder).rglob("gcs_server.out")), "the cluster's files are there"
        ends = time.monotonic() + 300
        while (leftover := processes_of_folder(folder)) and time.monotonic() < ends:
            time.sleep(0.2)
        assert leftover == []


def processes_of_folder(folder: str) -> list[str]:
    """Return the command lines of processes that name a folder."""
    command_lines = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            command_lines += [line for line in [path.read_text().replace("\0", " ")] if folder in line]
    return command_lines


def check_scores(engine: str, out: Path) -> None:
    """Score an example by a command, and check the result."""
    packages = str(EXAMPLES / "problems")
    dump = str(EXAMPLES / "generations.jsonl")
    arguments = ("score", dump, "--problems", packages, "--out", str(out), "--problem", "relay")
    scored = command(*arguments, engine=engine)
    assert scored.returncode == 0, scored.stderr
    rows = [json.loads(line) for line in (out / "results.jsonl").read_text().splitlines()]
    expected = (EXAMPLES / "generations.expected.tsv").read_text().splitlines()[1:]
    points = {line.split("\t")[0]: float(line.split("\t")[2]) for line in expected}
    assert rows
    assert all(row["points"] == points[row["uuid"]] for row in rows)


# --- another compiler --------------------------------------------------------------------------------


_OTHER = """#!/bin/sh
if [ "$*" = -v ]; then
    /usr/bin/g++ -v 2>&1 | sed 's/^gcc version [0-9.]*/gcc version 99.1.0/' >&2
else
    exec /usr/bin/g++ "$@"
fi
"""


@contextlib.contextmanager
def node_with_another_compiler(rig: Rig, folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Start a node whose mount namespace has a compiler of version 99.1.0."""
    folder.mkdir()
    (folder / "g++").write_text(_OTHER)
    (folder / "g++").chmod(0o755)
    start = [*PATIENTLY, "ray", "start", "--block", f"--address={rig.cluster.address}", "--num-cpus=2"]
    start += [f"--object-store-memory={ROOM}", "--disable-usage-stats"]
    mount = 'mount --bind "$0" /usr/local/bin && exec "$@"'
    started = subprocess.Popen(
        ["unshare", "--mount", "sh", "-c", mount, str(folder), *start],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        yield started
    finally:
        started.terminate()
        started.wait()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can replace a node's compiler")
async def test_ray_nodes_with_different_compilers_run_programs_of_each_other(
    rig: Rig,
    store: Store,
    problems: Mapping[str, Problem],
    submissions: list[Submission],
    expected: Expected,
    tmp_path: Path,
) -> None:
    rig.node()
    compiled = [entry for entry in submissions if entry.language == "cpp"]
    with node_with_another_compiler(rig, tmp_path / "bin") as other:
        on_ray = RayEngine(patience=PATIENT)
        async with Scorer(on_ray, store=store) as scorer:
            await until(lambda: len(on_ray.nodes) == 2 or other.poll() is not None)
            differences = on_ray.servers().differences
            (difference,) = [entry for entry in differences if entry.name == "g++ differs"]
            assert "99.1.0" in difference.detail
            work = [scorer.score(problems[entry.problem_id], entry) for entry in compiled]
            results = await asyncio.gather(*work)
        picky = RayEngine(patience=PATIENT, same_compiler=True)
        async with picky:
            await until(lambda: bool(picky.exclusion_reasons))
            assert len(picky.nodes) == 1
            assert [
                reason
                for reason in picky.exclusion_reasons.values()
                if "differs from the versions that the run started with" in reason
            ]
    assert {"99.1.0" in result.compiler for result in results} == {True, False}
    assert [told(result) for result in results] == expected(compiled)
