"""The files, limits and cleanup of a sandbox."""

from __future__ import annotations

import contextlib
import os
import shlex
import shutil
import threading
import time
from pathlib import Path

import pytest
from harness import EVERYTHING, LANDLOCK_ALONE, Bench


def test_sandbox_report_has_usage(bench: Bench) -> None:
    boxed = bench.box("echo out; echo err >&2; exit 3")
    assert (boxed.stdout, boxed.stderr) == ("out\n", "err\n")
    assert (boxed.report["code"], boxed.report["signal"], boxed.report["killed"]) == (3, 0, "")
    assert boxed.report["memory"] > 0
    confinement = boxed.report["confinement"]
    assert confinement["uid"] != 0
    assert (confinement["landlock"] > 0) == ("landlock" in bench.layers)
    assert bool(confinement["namespaces"]) == ("namespaces" in bench.layers)
    assert confinement["missing"] == []


def test_host_files_are_passed_by_descriptor(bench: Bench, tmp_path: Path) -> None:
    passed, other = tmp_path / "given.txt", tmp_path / "other.txt"
    passed.write_text("only by name\n")
    other.write_text("not given\n")
    boxed = bench.box(f"cat t/a.in; cat {other}; ls {tmp_path}", files={"t/a.in": passed})
    assert boxed.stdout == "only by name\n"


def test_host_files_are_neither_readable_nor_writable(bench: Bench) -> None:
    boxed = bench.box(
        "cat /etc/passwd /etc/shadow; ls /root /home /dev/shm; touch /usr/x /etc/x /x /dev/shm/x && echo written; touch mine && echo mine"
    )
    assert boxed.stdout == "mine\n"


def test_sleeping_program_is_killed_for_wall_time(bench: Bench) -> None:
    assert bench.box("sleep 30", limits={"wall_ms": 300}).report["killed"] == "wall"


@pytest.mark.nightly(unless="everything")
def test_cpu_limit_counts_all_processes(bench: Bench) -> None:
    report = bench.box("(while :; do :; done) & while :; do :; done", limits={"cpu_ms": 100}).report
    assert report["killed"] == "cpu"


def test_memory_limit_kills_largest_process_and_spares_shell(bench: Bench) -> None:
    boxed = bench.box(
        "python3 -c 'import time; held = bytearray(150 << 20); time.sleep(60)'; echo after $?",
        profile="stage",
        limits={"memory": 60 << 20},
    )
    assert boxed.stdout == "after 137\n"


def test_memory_limit_kills_all_processes_of_a_compiler(bench: Bench) -> None:
    """The sandbox reports the reason, because a shell cannot detect it."""
    script = "python3 -c 'held = bytearray(150 << 20); import time; time.sleep(60)'; exit 137"
    boxed = bench.box(script, limits={"memory": 60 << 20})
    assert (boxed.report["killed"], boxed.stdout) == ("memory", "")
    report = bench.box("sh -c 'kill -9 $$'; exit 137", limits={"memory": 60 << 20}).report
    assert (report["killed"], report["code"]) == ("", 137)


def test_sandbox_cannot_read_devices_or_its_own_output_pipes(bench: Bench) -> None:
    files = "/dev/stdout /dev/stderr /proc/self/fd/1 /dev/zero /dev/urandom /dev/random /dev/full /dev/tty"
    script = f"for file in {files}; do head -c 1 $file > got 2> why; [ -s got ] && echo $file; done; head -c 1 /dev/stdin; echo end"
    assert bench.box(script, limits={"wall_ms": 5000}).stdout == "end\n"


def test_sandbox_without_proc_has_no_paths_of_descriptors(bench: Bench) -> None:
    """If /proc cannot be mounted, Landlock refuses to read it."""
    paths = "/proc/self/cmdline /proc/self/maps /proc/1/environ /proc/$$/io /proc/$$/stat /proc/self/fd/64"
    script = (
        f"for place in {paths}; do head -c 1 $place > got 2> why; [ -s got ] && echo $place; done; echo end"
    )
    assert bench.box(script, proc=False).stdout == "end\n"
    if "namespaces" in bench.layers:
        assert bench.box("[ -e /proc/self ] || echo none", proc=False).stdout == "none\n"


@pytest.mark.parametrize(
    "one_more",
    ["os.fork() or (time.sleep(60), os._exit(0))", "threading.Thread(target=time.sleep, args=(60,)).start()"],
    ids=["processes", "threads"],
)
def test_process_limit_is_never_exceeded(bench: Bench, one_more: str) -> None:
    """In a user namespace the kernel counts processes; otherwise the supervisor polls them."""
    started = f"""python3 -c "
import os, threading, time
count = 0
try:
    while count < 100:
        {one_more}
        count += 1
except (OSError, RuntimeError):
    print(count, flush=True)
    os._exit(0)
time.sleep(60)"
"""
    boxed = bench.box(started, limits={"processes": 20})
    if "namespaces" in bench.layers:
        assert 15 <= int(boxed.stdout) < 20
    else:
        assert boxed.report["killed"] == "processes"


FORK_BOMB = """import os, time
while True:
    try: os.fork()
    except OSError: time.sleep(60)
"""


@pytest.mark.nightly(unless="everything")
def test_fork_bomb_is_killed(bench: Bench) -> None:
    script = f"exec python3 -c {shlex.quote(FORK_BOMB)}"
    report = bench.box(script, limits={"processes": 20, "wall_ms": 300, "hard_ms": 600_000}).report
    assert report["killed"] in ("wall", "processes")


def _tasks() -> int:
    return int(Path("/proc/loadavg").read_text().split()[3].partition("/")[2])


def count_own_tasks() -> int:
    """Return the number of threads of this user's processes."""
    count = 0
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # the process has exited
            if folder.stat().st_uid == os.geteuid():
                count += len([*(folder / "task").iterdir()])
    return count


def test_fork_bomb_leaves_free_pids(bench: Bench) -> None:
    """Outside of a namespace the kernel counts all processes of the user, and reserves some for other users."""
    tasks_before = _tasks()
    max_processes = int(
        bench.box(
            "python3 -c 'import resource as r; print(r.getrlimit(r.RLIMIT_NPROC)[0])'",
            limits={"processes": 40},
        ).stdout
    )
    tasks = max(tasks_before, _tasks())
    assert max_processes == 40 if "namespaces" in bench.layers else 4136 < max_processes < 4136 + 3 * tasks


@pytest.mark.nightly(unless="everything")  # it depends on users, not on layers
def test_program_start_waits_while_the_user_process_limit_is_reached(bench: Bench) -> None:
    """The start must not fail, because the other processes exit soon."""
    # The limit also counts this user's other processes, unless root gives the sandbox its own uid.
    limit = 40 + (0 if os.geteuid() == 0 else count_own_tasks())
    crowded = f"(for i in $(seq 50); do sleep 2 & done); ulimit -u {limit}; exec ./proctor run plan.json"
    line = bench.one('#include <cstdio>\nint main() { puts("7"); }', answer="7", script=crowded)
    assert (line.end, line.score) == ("ok", 1), line


def test_no_process_outlives_the_sandbox(bench: Bench) -> None:
    mark = f"{os.getpid()}.{threading.get_ident()}"
    bench.box(
        f"setsid sleep 31{mark} & (setsid sleep 32{mark} &) ; nohup sleep 33{mark} >/dev/null 2>&1 & echo started"
    )
    assert not [line for line in command_lines() if mark in line]


def test_closed_kill_switch_kills_the_program(bench: Bench) -> None:
    reading, writing = os.pipe()
    sleeping = f"sleep 30.{os.getpid()} "

    def cut() -> None:
        while sleeping not in command_lines():
            time.sleep(0.01)
        os.close(writing)

    threading.Thread(target=cut).start()
    report = bench.box(f"sleep 30 & {sleeping}", leash_fd=reading).report
    os.close(reading)
    assert report["killed"] == "leash"


def test_sandbox_environment_equals_the_spec(bench: Bench) -> None:
    os.environ["SECRET_KEY"] = "canary"
    assert "canary" not in bench.box("env").stdout


def test_home_folder_is_writable(bench: Bench) -> None:
    environment = {"PATH": "/usr/bin:/bin", "HOME": "/tmp"}
    boxed = bench.box(
        'mkdir -p "$HOME/.cache" && mktemp -u > "$HOME/.cache/x" && env | grep -c ^HOME=', env=environment
    )
    assert boxed.stdout == "1\n"


def test_invalid_box_spec_is_refused_with_reason(bench: Bench) -> None:
    assert bench.box("true", profile="chair").report == {
        "v": 2,
        "failure": "profile: tool or stage expected, not chair",
    }
    assert "cannot open" in bench.box("true", files={"a": Path("/nowhere")}).report["failure"]


def test_sandbox_without_layers_is_refused(bench: Bench) -> None:
    assert "neither Landlock nor namespaces" in bench.box("true", layers=["seccomp"]).report["failure"]
    assert bench.box("true", layers=["seccomp"], allow_unconfined=True).report["code"] == 0


def test_sandboxed_command_cannot_make_namespaces_or_sockets(bench: Bench) -> None:
    boxed = bench.box(
        "unshare -Ur true && echo namespaces; mount -t tmpfs x /tmp && echo mounted;"
        "python3 -c 'import socket; socket.socket()' && echo sockets; true"
    )
    assert boxed.stdout == ""


def test_sandbox_can_be_started_inside_a_sandbox(bench: Bench) -> None:
    if tuple(bench.layers) not in (EVERYTHING, LANDLOCK_ALONE):
        return
    boxed = bench.box("./proctor probe", files={"proctor": bench.proctor}, profile="stage")
    assert ('"namespaces":["user","pid","mount","net","ipc"]' in boxed.stdout) == (
        "namespaces" in bench.layers
    )


def command_lines() -> list[str]:
    lines = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            lines.append((folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace"))
        except OSError:
            continue  # it has exited since
    return lines


def test_disk_limit_kills_program(bench: Bench) -> None:
    script = "mkdir d; for i in $(seq 100); do printf '%4000000s' '' > d/$i; sleep 0.02; done; sleep 20"
    assert bench.box(script, limits={"disk": 20 << 20}).report["killed"] == "disk"


def test_file_count_limit_kills_program(bench: Bench) -> None:
    script = "mkdir a; touch a/$(seq -s ' a/' 600); sleep 20"
    assert bench.box(script, limits={"names": 500}).report["killed"] == "disk"


def test_writes_below_the_limits_succeed(bench: Bench) -> None:
    script = "mkdir a; touch a/$(seq -s ' a/' 200); printf '%4000000s' '' > b; sleep 0.6; echo done"
    boxed = bench.box(script, limits={"disk": 20 << 20, "names": 500})
    assert (boxed.stdout, boxed.report["killed"]) == ("done\n", "")


@pytest.mark.parametrize("bench", [LANDLOCK_ALONE], ids=["landlock"], indirect=True)
def test_landlock_refuses_every_access_to_world_writable_file(bench: Bench) -> None:
    """The file's mode and its folder's mode allow everything. In namespaces the file is not visible."""
    open_to_all = bench.workshop / f"open-{os.getpid()}"
    open_to_all.mkdir()
    open_to_all.chmod(0o777)
    (open_to_all / "file").write_text("content")
    (open_to_all / "file").chmod(0o666)
    try:
        boxed = bench.box(f"exec /usr/bin/python3 -I -c '{RIGHTS}' {open_to_all}")
    finally:
        remaining = sorted(path.name for path in open_to_all.iterdir())
        content = (open_to_all / "file").read_text()
        shutil.rmtree(open_to_all)
    assert boxed.stdout.split() == ["none"], boxed
    assert (remaining, content) == (["file"], "content")


RIGHTS = """
import os, sys, fcntl, termios
folder = sys.argv[1]
file = folder + "/file"
open("mine", "w").close()
tries = dict(
    read=lambda: open(file),
    list=lambda: os.listdir(folder),
    write=lambda: open(file, "r+"),
    truncate=lambda: os.truncate(file, 0),
    run=lambda: os.execv(file, ["file"]),
    create=lambda: open(folder + "/new", "x"),
    folder=lambda: os.mkdir(folder + "/new"),
    fifo=lambda: os.mkfifo(folder + "/new"),
    link=lambda: os.symlink("x", folder + "/new"),
    remove=lambda: os.unlink(file),
    link_here=lambda: os.link(file, "theirs"),
    link_there=lambda: os.link("mine", folder + "/new"),
    move=lambda: os.rename("mine", folder + "/new"),
    device=lambda: fcntl.ioctl(os.open("/dev/null", os.O_RDWR), termios.TCGETS, bytes(64)),
)
got = []
for name, attempt in tries.items():
    try:
        attempt()
        got.append(name)
    except PermissionError:
        pass
    except OSError as error:
        if error.errno != 18:
            got.append(f"{name}:{error.errno}")
print(*got or ["none"])
"""
