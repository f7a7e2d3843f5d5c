"""Each slot of root has an exclusive uid, and other users cannot block it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from ioi_eval.engines.embedded.sandboxes import SandboxUidPool, list_missing_capabilities

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root can assign uids")

# All attacks by another user on a reservation: create the names, open the files, lock the folders.
HOSTILE = """
import contextlib, fcntl, os, socket
os.setgroups([]); os.setresgid(65534, 65534, 65534); os.setresuid(65534, 65534, 65534)
held = []
for uid in range(60578, 61184):
    held.append(socket.socket(socket.AF_UNIX))
    with contextlib.suppress(OSError):
        held[-1].bind(f"\\0ioi-eval-uid-{uid}")
    for place in ("/run", "/var/lib", "/tmp", "/dev/shm"):
        try:
            lock = os.open(f"{place}/ioi-eval-uids/{uid}", os.O_RDWR | os.O_CREAT)
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            pass
for place in ("/run", "/run/ioi-eval-uids", "/var/lib", "/var/lib/ioi-eval-uids", "/tmp", "/dev/shm"):
    try:
        fcntl.flock(os.open(place, os.O_RDONLY), fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        pass
print("ready", flush=True)
input()
"""
RESERVING = """
import pathlib
import sys
from ioi_eval.engines.embedded.sandboxes import SandboxUidPool
uids = SandboxUidPool([pathlib.Path(sys.argv[1])])
print(*uids.reserve(2), flush=True)
input()
"""


@contextmanager
def running(program: str, *arguments: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Start a process that waits. Yield the process and its first line."""
    process = subprocess.Popen(
        [sys.executable, "-c", program, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None
        yield process, process.stdout.readline().strip()
    finally:
        process.kill()
        process.communicate()


def test_sandbox_uids_are_reserved_on_new_machine(tmp_path: Path) -> None:
    uids = SandboxUidPool([tmp_path])  # no uid is reserved there yet
    assert None not in uids.reserve(2)
    uids.release()


def test_lock_held_by_another_user_does_not_block_uid_reservation_of_root() -> None:
    SandboxUidPool().reserve(0)  # creates the file to lock
    with running(HOSTILE) as (_, output):
        assert output == "ready"
        uids = SandboxUidPool()
        assert len(set(uids.reserve(3))) == 3
        uids.release()


def test_uid_is_not_reserved_twice_by_several_processes(tmp_path: Path) -> None:
    """In a folder of its own, because other tests reserve some as well."""
    with running(RESERVING, str(tmp_path)) as (other, output):
        theirs = set(map(int, output.split()))
        first, two = SandboxUidPool([tmp_path]), SandboxUidPool([tmp_path])
        ours = [*first.reserve(2), *two.reserve(2)]
        assert len(theirs.union(filter(None, ours))) == 6
        other.kill()
        other.wait()
        three = SandboxUidPool([tmp_path])
        assert theirs <= set(three.reserve(2 + len(theirs))), (
            "the kernel releases the locks of dead processes"
        )
        for uids in (first, two, three):
            uids.release()


OPENING = """
from ioi_eval.engines.health_checks import check_machine
from ioi_eval.engines.embedded.sandboxes import Sandboxes
from ioi_eval.errors import EngineUnavailable
print(*(found.detail for found in check_machine() if found.ok is False))
try:
    Sandboxes().open()
except EngineUnavailable as error:
    print(error)
"""


def test_root_without_setuid_or_kill_capability_is_refused() -> None:
    """For example in a container that drops capabilities. Without KILL no program can be stopped."""
    program = (sys.executable, "-c", OPENING)
    cut = subprocess.run(
        ("setpriv", "--bounding-set=-kill,-setuid", *program), capture_output=True, text=True, check=True
    )
    warning, refused = cut.stdout.splitlines()
    assert warning.endswith("this root lacks capabilities for that: KILL, SETUID")
    assert refused.startswith(f"capabilities: {warning}. Give it these")


def test_missing_capabilities_are_read_from_proc_status(tmp_path: Path) -> None:
    status = tmp_path / "status"
    status.write_text("Name:\tx\nCapPrm:\t00000000000000eb\nCapEff:\t00000000000000eb\nCapBnd:\t0\n")
    assert list_missing_capabilities(status) == ()
    status.write_text("CapEff:\t0000000000000000\n")
    lacking = ("CHOWN", "DAC_OVERRIDE", "FOWNER", "KILL", "SETGID", "SETUID")
    assert list_missing_capabilities(status) == lacking


READ_ONLY = """
mount -t tmpfs -o ro run /run && mount -t tmpfs lib /var/lib && mkdir -m 700 /var/lib/ioi-eval-uids &&
mount -o remount,ro /var/lib && exec "$@"
"""


def test_root_without_writable_folder_for_reserving_uids_is_refused() -> None:
    """For example in a container with a read-only root file system."""
    program = ("sh", "-c", READ_ONLY, "-", sys.executable, "-c", OPENING)
    completed = subprocess.run(("unshare", "--mount", *program), capture_output=True, text=True, check=True)
    warning, refused = completed.stdout.splitlines()
    assert warning == "root can write none of /run, /var/lib, and uids are reserved there"
    assert refused.startswith(f"uids: {warning}. Make one of them writable")
