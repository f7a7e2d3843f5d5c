"""The search for leftovers finds each kind of them."""

from __future__ import annotations

import os
import socket
import subprocess
import tempfile
import threading
from pathlib import Path

import leftovers
import pytest


def test_leftover_processes_are_found_if_detached() -> None:
    processes_before = set(leftovers.processes())
    script = "setsid sleep 30 > /dev/null 2>&1 < /dev/null & echo $!"
    pid = int(subprocess.run(["bash", "-c", script], capture_output=True, check=True).stdout)
    try:
        assert [
            description for description in leftovers.processes() if description.startswith(f"process {pid} ")
        ]
    finally:
        os.kill(pid, 9)
        os.waitpid(pid, 0)  # this process has adopted it
    assert set(leftovers.processes()) <= processes_before


def test_leftover_engine_folders_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    Path(tempfile.mkdtemp(prefix=f"ioi-eval-{os.geteuid()}-{os.getpid()}-", dir=tmp_path))
    assert any(str(tmp_path) in folder for folder in leftovers.folders())


def test_leftover_ports_are_found() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        assert f"port {server.getsockname()[1]}" in set(leftovers.ports())
        number = server.getsockname()[1]
    assert f"port {number}" not in set(leftovers.ports())


def test_leftover_shared_memory_is_found() -> None:
    uid = 61182 if os.geteuid() == 0 else os.geteuid()
    handle, name = tempfile.mkstemp(dir="/dev/shm")
    os.close(handle)
    try:
        os.chown(name, uid, -1)
        assert f"shared memory {name}" in set(leftovers.shared_memory())
    finally:
        Path(name).unlink()


def test_threads_may_end_during_the_search_for_children() -> None:
    over = threading.Event()

    def churn() -> None:
        while not over.is_set():
            threads = [threading.Thread(target=int) for _ in range(20)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()

    churning = threading.Thread(target=churn)
    churning.start()
    try:
        with subprocess.Popen(["sleep", "60"]) as child:
            assert all(child.pid in leftovers.children(os.getpid()) for _ in range(3000))
            child.kill()
    finally:
        over.set()
        churning.join()
