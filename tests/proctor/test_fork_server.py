"""The fork server of Python: forked and started programs have the same results and see the same data."""

from __future__ import annotations

import io
import json
import os
import re
import secrets
import signal
import threading
import time
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import pytest
from fork_server_functions import BODIES, SOURCES, of_bodies
from fork_server_functions import GIVEN as ARGUMENTS
from fork_server_programs import ALONE, BATCH, GIVEN
from harness import EVERYTHING, LANDLOCK_ALONE, NAMESPACES_ALONE, PYTHON, Bench, Judged, waited_for
from leftovers import named

from ioi_eval.model.protocol import PlanForkServer, PlanLimits, PlanSubmission, TestReport
from ioi_eval.store.resources import graders_folder

# What becomes of a program does not hang on which layers confine it; the long run tries every mixture.
pytestmark = pytest.mark.nightly(unless="everything")

LIMITS = PlanLimits(cpu_ms=3000, wall_ms=10_000, hard_ms=600_000, memory=64 << 20, output=1 << 20)
# Each row runs into them three times.
OF_ENDLESS = msgspec.structs.replace(LIMITS, cpu_ms=70)
NEVER = "\0"  # an answer that no output equals, so that reports quote every output
ENVIRONMENT = {"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "OPENBLAS_NUM_THREADS": "1"}
FORKED = "forked"
Look = TypeVar("Look")


@pytest.fixture(params=[EVERYTHING, NAMESPACES_ALONE], ids=["everything", "namespaces"])
def room(request: pytest.FixtureRequest, workshop: Path, proctor: Path) -> Bench:
    return Bench(workshop=workshop, proctor=proctor, compiled=lambda _: Path(), layers=request.param)


def judged(
    bench: Bench,
    library: bytes | None,
    source: bytes,
    given: Sequence[str],
    *,
    function: str = "",
    **more: Any,
) -> Judged:
    """Judge tests with a fork server, or with started interpreters if `library` is `None`."""
    argv = (
        PYTHON,
        "-I",
        *(("harness.py", "submission", function) if function else ("submission",)),
    )
    files = tuple(name for name in ("harness.py", "submission") if name in argv)
    given_files = {
        "submission": source,
        "harness.py": (graders_folder() / "python" / "harness.py").read_bytes(),
    }
    submission = PlanSubmission(argv=argv, files=files, env=ENVIRONMENT, threads=4, address_space=True)
    extra = {name: given_files[name] for name in files}
    if library is not None:
        submission = waited_for(submission, extra, library)
    answers = more.pop("answers", [more.pop("answer", NEVER)] * len(given))
    tests = list(zip(given, answers, strict=True))
    more = {"limits": LIMITS, "echo": 1 << 16, "task_type": "Function" if function else "Batch"} | more
    return bench.judge("", tests, submission=submission, extra=extra, **more)


def comparable_ending(line: TestReport) -> tuple[object, ...]:
    """Return the part of a report that must be equal.

    Addresses and the time when a limit is noticed may differ.
    """
    if line.end in ("cpu", "wall", "memory"):
        return line.end, line.score, line.failure
    messages = (re.sub("0x[0-9a-f]+", "0x", message) for message in (line.feedback, line.output))
    return line.end, line.score, line.failure, line.code, line.signal, *messages


def compare(
    bench: Bench, library: bytes, source: str | bytes, *given: str, **more: Any
) -> list[tuple[object, ...]]:
    """Check that a started and a forked program have equal results. Return the results."""
    content = source if isinstance(source, bytes) else source.encode()
    if b"while True: pass" in content:
        more["limits"] = OF_ENDLESS
    started = judged(bench, None, content, given, **more)
    forked = judged(bench, library, content, [*given, *given], **more)
    assert forked.interpreter == FORKED
    for number, test_input in enumerate(given):
        expected = comparable_ending(started.tests[number])
        assert expected[2] is None
        assert comparable_ending(forked.tests[number]) == expected, test_input
        # Earlier tests in the same fork server do not change a result.
        assert comparable_ending(forked.tests[len(given) + number]) == expected, test_input
    return [comparable_ending(started.tests[number]) for number in range(len(given))]


# Neighbours in the table are similar, so the gate tries every eighth program.
EACH = [
    pytest.param(name, marks=pytest.mark.nightly) if number % 8 and name not in ALONE else name
    for number, name in enumerate(BATCH)
]


@pytest.mark.parametrize("name", EACH)
def test_forked_python_program_ends_like_a_started_program(room: Bench, library: bytes, name: str) -> None:
    compare(room, library, BATCH[name], GIVEN)


@pytest.mark.nightly(unless="everything-(its modules|endless|a class$|no function|a module changed)")
@pytest.mark.parametrize("name", SOURCES)
def test_forked_python_function_returns_like_a_started_program(
    room: Bench, library: bytes, name: str
) -> None:
    compare(room, library, SOURCES[name], json.dumps(ARGUMENTS), function="solve")


@pytest.mark.parametrize(
    "step", [2, pytest.param(1, marks=pytest.mark.nightly)], ids=["every second function", "every function"]
)
def test_forked_functions_of_one_source_return_like_started_programs(
    room: Bench, library: bytes, step: int
) -> None:
    names = [*BODIES][::step]
    calls = [json.dumps([name, *ARGUMENTS]) for name in names]
    ends = dict(zip(names, compare(room, library, of_bodies(), *calls, function="solve"), strict=True))
    assert "[1, 2, 3]" in str(ends["a list"]) and len({*ends.values()}) >= 0.75 * len(names), ends


def archive(**members: str) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as content:
        for name, member in members.items():
            content.writestr(name.replace("__dot__", "."), member)
    return packed.getvalue()


ARCHIVES = {
    "modules": {"__main____dot__py": "import own\nprint(own.x)", "own__dot__py": "x = 5"},
    "called like a module": {
        "__main____dot__py": "import queue, random, sys\nprint(queue.x, random.x, sys.path[0], sys.argv, __file__)",
        "queue__dot__py": "x = 'own queue'",
        "random__dot__py": "x = 'own random'",
    },
    "used by a library": {
        "__main____dot__py": "import concurrent.futures.thread as t\nprint(t.queue.SimpleQueue)",
        "queue__dot__py": "SimpleQueue = 'own'",
    },
    "an error": {"__main____dot__py": "import os\nos.dup2(1, 2)\nimport own", "own__dot__py": "1 / 0"},
    "an exit": {"__main____dot__py": "import sys\nsys.exit(3)"},
    "no main": {"own__dot__py": "print(1)"},
    "its modules": {
        "__main____dot__py": "import sys\nprint(sorted(sys.modules), sorted(globals()), __spec__)"
    },
}


@pytest.mark.parametrize("name", ARCHIVES)
def test_forked_python_zip_archive_ends_like_a_started_archive(
    room: Bench, library: bytes, name: str
) -> None:
    compare(room, library, archive(**ARCHIVES[name]), GIVEN)


def test_forked_python_program_reads_and_writes_files(room: Bench, library: bytes) -> None:
    source = (
        "open('out.txt', 'w').write(open('in.txt').read())\nf = open('out.txt', 'a')\nf.write('unclosed')"
    )
    compare(room, library, source, GIVEN, input_file="in.txt", output_file="out.txt")


def test_forked_random_numbers_differ_between_tests(room: Bench, library: bytes) -> None:
    source = b"import random, os\nprint(random.random(), os.urandom(4), random.SystemRandom().random())"
    result = judged(room, library, source, ["", "", ""])
    assert result.interpreter == FORKED
    assert len({line.output for line in result.tests.values()}) == 3


def test_cpu_time_of_fork_server_start_is_not_counted(room: Bench, library: bytes) -> None:
    """The minimum of several runs excludes the load of the machine."""
    ways = (judged(room, way, b"pass", [""] * 5) for way in (None, library))
    started, forked = (min(line.cpu_us for line in way.tests.values()) for way in ways)
    assert forked < started


def test_memory_of_forked_program_counts_like_that_of_started_program(room: Bench, library: bytes) -> None:
    """The memory inherited from the fork server equals the memory of a started interpreter."""
    source = b"x = bytearray(b'1') * (40 << 20)"
    started, forked = (judged(room, way, source, ["", ""]).tests[1].memory for way in (None, library))
    assert abs(started - forked) < 4 << 20


# --- other processes' view of a forked process -------------------------------------------------------

SHOWN = b"""import ctypes, os
ctypes.CDLL(None).prctl(15, input().encode())
os.read(os.pipe()[0], 1)
"""
PATIENT = PlanLimits(cpu_ms=20_000, wall_ms=120_000, hard_ms=600_000, memory=64 << 20, output=1 << 20)
OF_STATUS = [
    "Umask",
    "State",
    "Uid",
    "Gid",
    "Groups",
    "CapInh",
    "CapPrm",
    "CapEff",
    "CapBnd",
    "CapAmb",
    "NoNewPrivs",
    "Seccomp",
    "Seccomp_filters",
    "Cpus_allowed",
    "SigPnd",
    "ShdPnd",
    "SigBlk",
    "SigIgn",
    "SigCgt",
    "Threads",
    "CoreDumping",
]


def proc_entries(folder: Path) -> dict[str, object]:
    """Return the entries of a process in /proc."""
    pid = int(folder.name)
    status = dict(line.split(":", 1) for line in (folder / "status").read_text().splitlines())
    mounts = [line.split() for line in (folder / "mountinfo").read_text().splitlines()]
    maps = [line.split() for line in (folder / "maps").read_text().splitlines()]
    return {
        **{name: status.get(name, "").split() for name in OF_STATUS},
        "its number": status["NSpid"].split()[-1],
        "its session": (status["NSsid"].split()[-1], status["NSpgid"].split()[-1]),
        "limits": (folder / "limits").read_text(),
        "descriptors": {
            fd.name: re.sub("[0-9]+", "0", str(fd.readlink())) for fd in (folder / "fd").iterdir()
        },
        "own namespaces": [
            ns.name
            for ns in sorted((folder / "ns").iterdir())
            if ns.readlink() != Path(f"/proc/self/ns/{ns.name}").readlink()
        ],
        "mounts": sorted({fields[4]: fields[5] for fields in mounts}.items()),
        "shared writable memory": [fields[1:] for fields in maps if fields[1][1::2] == "ws"],
        "environment": (folder / "environ").read_bytes(),
        "command": (folder / "cmdline").read_bytes(),
        "program": (folder / "exe").readlink(),
        "groups of control": (folder / "cgroup").read_text(),
        "for the killer": (folder / "oom_score_adj").read_text(),
        "priority": (os.getpriority(os.PRIO_PROCESS, pid), os.sched_getscheduler(pid)),
    }


def written_memory(folder: Path) -> bytes:
    """Return all memory of a process that may have been written."""
    pieces = []
    with (folder / "mem").open("rb", buffering=0) as memory:
        for line in (folder / "maps").read_text().splitlines():
            begin, end = (int(address, 16) for address in line.split()[0].split("-"))
            if line.split()[1].startswith("rw"):
                memory.seek(begin)
                pieces.append(memory.read(end - begin))
    return b"".join(pieces)


def inspect_processes(
    bench: Bench, library: bytes | None, marks: Sequence[str], look: Callable[[Path], Look]
) -> list[Look]:
    """Inspect the process of each test from outside while it runs."""
    results, looks = list[Judged](), list[Look]()

    def judge() -> None:
        answers = [f"answer {mark}" for mark in marks]
        results.append(judged(bench, library, SHOWN, marks, answers=answers, limits=PATIENT))

    running = threading.Thread(target=judge)
    running.start()
    for mark in marks:
        while running.is_alive() and not (folders := named(mark)):
            time.sleep(0.01)
        # It waits for its pipe when it has a name. Until then it may be anywhere.
        while running.is_alive() and (folders[0] / "status").read_text().split("State:")[1].split()[0] != "S":
            time.sleep(0.01)
        looks.append(look(folders[0]))
        os.kill(int(folders[0].name), signal.SIGKILL)
    running.join()
    assert all(line.outside for line in results[0].tests.values())
    assert results[0].interpreter == (FORKED if library else "")
    return looks


@pytest.fixture
def marks() -> list[str]:
    return [f"seen-{secrets.token_hex(4)}" for _ in range(2)]


def test_proc_files_of_forked_and_started_process_are_equal(
    room: Bench, library: bytes, marks: list[str]
) -> None:
    _, started = inspect_processes(room, None, marks, proc_entries)
    _, forked = inspect_processes(room, library, marks, proc_entries)
    # A started interpreter has an additional filter, which asks for permission to start threads.
    filters = [int(entries.pop("Seccomp_filters")[0]) for entries in (forked, started)]
    assert filters[1] - filters[0] == ("seccomp" in room.layers)
    assert forked == started
    assert (forked["NoNewPrivs"], forked["Seccomp"]) == (["1"], ["2"])
    assert {tuple(forked[name]) for name in ("CapInh", "CapPrm", "CapEff", "CapAmb")} == {("0" * 16,)}
    assert len(forked["descriptors"]) == 5  # standard input, output and errors, and the pipe of SHOWN
    assert forked["shared writable memory"] == []


def test_memory_of_forked_process_has_no_data_of_other_tests(
    room: Bench, library: bytes, marks: list[str]
) -> None:
    """The memory contains no input of another test, no answer, and no path of the judge's files."""
    memories = inspect_processes(room, library, marks, written_memory)
    for memory, mark, other in zip(memories, marks, reversed(marks), strict=True):
        assert mark.encode() in memory
        secret = (other, "answer seen", str(room.workshop), "plan.json", "0.in", "0.out")
        assert not [string for string in secret if string.encode() in memory]


# --- without a fork server ---------------------------------------------------------------------------


def test_fork_server_is_not_used_without_namespaces(workshop: Path, proctor: Path, library: bytes) -> None:
    bench = Bench(workshop=workshop, proctor=proctor, compiled=lambda _: Path(), layers=LANDLOCK_ALONE)
    result = judged(bench, library, b"print(5)", ["", ""], answer="5")
    assert result.interpreter == "started: forking needs namespaces"
    assert [line.score for line in result.tests.values()] == [1, 1]


def test_programs_are_started_if_fork_server_library_cannot_be_loaded(room: Bench) -> None:
    result = judged(room, b"no library", b"print(5)", ["", ""], answer="5")
    assert result.interpreter.startswith("started: ImportError")
    assert [line.score for line in result.tests.values()] == [1, 1]


@pytest.mark.parametrize("tool", ["/bin/false", "/bin/cat", "/usr/bin/surely-not-there"])
def test_programs_are_started_if_fork_server_fails(room: Bench, library: bytes, tool: str) -> None:
    """The row contains the reason, and the test reports the program's error."""
    warm = PlanForkServer(library="waiting.so", script="waiting.py")
    submission = PlanSubmission(argv=(tool, "submission"), files=("submission",), env=ENVIRONMENT, warm=warm)
    script = (graders_folder() / "python" / "waiting.py").read_bytes()
    extra = {"submission": b"5", "waiting.so": library, "waiting.py": script}
    result = room.judge("", [("", "5")], submission=submission, extra=extra)
    assert result.interpreter.startswith("started: ")


def test_programs_that_run_together_are_started_not_forked(room: Bench, library: bytes) -> None:
    result = judged(room, library, b"print(5)", [""], task_type="TwoSteps")
    assert result.interpreter == "started: programs of this task type are not forked"
