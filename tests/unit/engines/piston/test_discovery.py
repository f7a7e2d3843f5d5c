"""Discovery of servers. Scripts replace Slurm's commands here; tests/slurm has a real cluster."""

from __future__ import annotations

import asyncio
import os
import socket
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ioi_eval import discovery
from ioi_eval.engines.piston.discovery import (
    FixedServers,
    KubernetesDiscovery,
    ServerListDiscovery,
    SlurmDiscovery,
    normalize_address,
    parse_addresses,
)
from ioi_eval.errors import EngineUnavailable, InputError


@pytest.mark.parametrize(
    ("written", "expected_url"),
    [
        ("http://node7:2000", "http://node7:2000"),
        ("http://node7:2000/", "http://node7:2000"),
        ("http://node7:2000/api/v2", "http://node7:2000"),
        (" http://node7:2000/api/v2/ ", "http://node7:2000"),
        ("HTTP://Node7:2000", "http://node7:2000"),
        ("node7:2001", "http://node7:2001"),
        ("node7", "http://node7:2000"),
        ("node7/api/v2", "http://node7:2000"),
        ("http://node7", "http://node7"),
        ("https://judge.example.org/piston/api/v2", "https://judge.example.org/piston"),
        ("http://[::1]:2000", "http://[::1]:2000"),
        ("[0:0:0:0:0:0:0:1]:2000", "http://[::1]:2000"),
        ("http://[2001:DB8::0:7]/piston", "http://[2001:db8::7]/piston"),
        ("http://[fe80::1%eth0]:2000", "http://[fe80::1%eth0]:2000"),
        ("10.0.0.7", "http://10.0.0.7:2000"),
        ("gpu_node-3:2000", "http://gpu_node-3:2000"),
    ],
)
def test_address_is_normalized_to_endpoint_url(written: str, expected_url: str) -> None:
    assert normalize_address(written) == expected_url
    assert normalize_address(expected_url) == expected_url


@pytest.mark.parametrize(
    "written",
    [
        "",
        "http://",
        "ftp://node:21",
        "node:port",
        "node:70000",
        "node:0",
        "https://node:0",
        "http://a b",
        "node?x=1",
        "http://node#top",
        "::1",
    ],
)
def test_invalid_address_is_input_error(written: str) -> None:
    with pytest.raises(InputError, match="is not the address of a server"):
        normalize_address(written)


@pytest.mark.parametrize("written", ["::1", "2001:db8::1", "http://2001:db8::1", "http://fe80::1:2000"])
def test_ipv6_address_without_brackets_is_input_error_with_remedy(written: str) -> None:
    with pytest.raises(InputError, match="brackets"):
        normalize_address(written)


def test_password_in_endpoint_url_is_refused() -> None:
    with pytest.raises(InputError, match="IOI_EVAL_TOKEN") as caught:
        normalize_address("http://me:hunter2@node:2000")
    assert "hunter2" not in str(caught.value)


@given(st.text())
def test_arbitrary_text_is_endpoint_url_or_input_error(text: str) -> None:
    try:
        url = normalize_address(text)
    except InputError:
        return
    assert normalize_address(url) == url


@pytest.mark.parametrize(
    ("written", "kind", "name"),
    [
        ("http://b:1,http://a:1/", FixedServers, "http://a:1,http://b:1"),
        ("slurm", SlurmDiscovery, "slurm"),
        ("slurm:ada", SlurmDiscovery, "slurm:ada"),
        ("slurm:2000", FixedServers, "http://slurm:2000"),
        ("k8s:workers", KubernetesDiscovery, "k8s:workers:2000"),
        ("k8s:workers.judge:2100", KubernetesDiscovery, "k8s:workers.judge:2100"),
        ("@/etc/workers", ServerListDiscovery, "@/etc/workers"),
    ],
)
def test_discovery_text_selects_discovery_class(written: str, kind: type, name: str) -> None:
    discovered = discovery(written)
    assert type(discovered) is kind
    assert str(discovered) == name


@pytest.mark.parametrize("written", ["", ",", "k8s:", "k8s:a:0", "k8s:a/b", "http://a:1,http://"])
def test_invalid_discovery_text_is_input_error(written: str) -> None:
    with pytest.raises(InputError):
        discovery(written)


async def test_fixed_server_list_is_never_polled() -> None:
    fixed = FixedServers(["b:1", "http://b:1/api/v2", "a:1"])
    assert fixed.search_interval_s is None
    assert await fixed.find() == {"http://a:1", "http://b:1"}


# --- Slurm -------------------------------------------------------------------------------------------


@pytest.fixture
def cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder of commands that is the whole PATH."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    return folder


def command(folder: Path, name: str, script: str) -> None:
    path = folder / name
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


_QUEUE = """/bin/cat <<'END'
node1 piston-worker-2000
node1 piston-worker-2001
rack[3-4],Login piston-worker-02002
node2 piston-worker-
node2 my piston-worker-2000
node2 piston-worker-2000-old
node2 piston-worker-99999
 piston-worker-2005
(null) piston-worker-2006
node3 train llama; rm -rf piston-worker-2007
END"""
_HOSTS = """[ "$*" = "show hostnames rack[3-4],Login" ] || exit 1
printf '%s\\n' rack3 rack4 Login"""


async def test_slurm_workers_are_found_by_job_name(cluster: Path) -> None:
    command(cluster, "squeue", _QUEUE)
    command(cluster, "scontrol", _HOSTS)
    assert await SlurmDiscovery().find() == {
        "http://node1:2000",
        "http://node1:2001",
        "http://rack3:2002",
        "http://rack4:2002",
        "http://login:2002",
    }


async def test_squeue_is_called_for_running_jobs_of_the_user(cluster: Path) -> None:
    command(cluster, "squeue", f'echo "$*" > {cluster}/asked')
    assert await SlurmDiscovery("ada").find() == frozenset()
    squeue_call = (cluster / "asked").read_text()
    assert "--states=RUNNING" in squeue_call
    assert "--user=ada" in squeue_call


async def test_failing_squeue_is_engine_unavailable_with_reason(cluster: Path) -> None:
    with pytest.raises(EngineUnavailable, match=r"squeue cannot be started.*Slurm's commands"):
        await SlurmDiscovery().find()
    command(cluster, "squeue", "echo error: Unable to contact slurm controller >&2; exit 1")
    with pytest.raises(EngineUnavailable, match="Unable to contact slurm controller"):
        await SlurmDiscovery().find()


async def test_cancelled_squeue_query_leaves_no_process(cluster: Path) -> None:
    started = cluster / "started"
    os.mkfifo(started)
    command(cluster, "squeue", f"echo $$ > {started}; exec /bin/sleep 600")
    looking = asyncio.create_task(SlurmDiscovery().find())
    pid = int(await asyncio.to_thread(started.read_text))
    looking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await looking
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


# --- Kubernetes --------------------------------------------------------------------------------------


async def test_kubernetes_service_resolves_to_all_addresses(monkeypatch: pytest.MonkeyPatch) -> None:
    """The name server is simulated, because no name server here has several addresses for a name."""

    def answers(*_: object, **__: object) -> list[object]:
        four = [(socket.AF_INET, 0, 0, "", (f"10.0.0.{number}", 2100)) for number in (1, 2, 2)]
        return [*four, (socket.AF_INET6, 0, 0, "", ("fd00::1", 2100, 0, 0))]

    monkeypatch.setattr(socket, "getaddrinfo", answers)
    assert await KubernetesDiscovery("workers", 2100).find() == {
        "http://10.0.0.1:2100",
        "http://10.0.0.2:2100",
    }
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: answers()[3:])
    assert await KubernetesDiscovery("workers", 2100).find() == {"http://[fd00::1]:2100"}


async def test_kubernetes_service_resolves_by_system_resolver() -> None:
    assert await KubernetesDiscovery("127.0.0.1").find() == {"http://127.0.0.1:2000"}


@pytest.mark.parametrize("service", ["a..b", "x" * 64])
async def test_unknown_kubernetes_service_is_engine_unavailable(service: str) -> None:
    with pytest.raises(EngineUnavailable, match="headless"):
        await KubernetesDiscovery(service).find()


# --- files -------------------------------------------------------------------------------------------


async def test_edited_workers_file_is_read_again(tmp_path: Path) -> None:
    path = tmp_path / "workers"
    path.write_text("# rack 1\nnode1:2000, node2:2000\n\nhttp://node3:2000/api/v2  # the old one\n")
    listed = ServerListDiscovery(path)
    assert listed.search_interval_s
    assert await listed.find() == {f"http://node{number}:2000" for number in (1, 2, 3)}
    path.write_text("node4:2000\n")
    assert await listed.find() == {"http://node4:2000"}
    path.write_text("")
    assert await listed.find() == frozenset()


async def test_error_in_workers_file_names_line(tmp_path: Path) -> None:
    path = tmp_path / "workers"
    with pytest.raises(InputError, match="workers: the file of servers cannot be read"):
        await ServerListDiscovery(path).find()
    path.write_text("node1:2000\nftp://node2\n")
    with pytest.raises(InputError, match=r"workers, line 2: 'ftp://node2' is not the address"):
        await ServerListDiscovery(path).find()


def test_endpoint_list_is_split_at_commas_and_white_space() -> None:
    assert parse_addresses(" a:1,\tb:1 ,, c:1\n") == {"http://a:1", "http://b:1", "http://c:1"}
