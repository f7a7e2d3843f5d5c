"""An interpreter that waits and forks: programs end as after a start, and nobody gets more of it than that."""

from __future__ import annotations

import io
import os
import re
import subprocess
import zipfile
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from building import built_once, of_these_sources
from harness import EVERYTHING, LANDLOCK_ALONE, NAMESPACES_ALONE, Bench, Judged
from waiting_attacks import ATTACKS
from waiting_functions import FUNCTIONS
from waiting_functions import GIVEN as ARGUMENTS
from waiting_functions import whole as whole_function
from waiting_programs import BATCH, GIVEN

from ioi_eval.engines.transport.waiting import waiting
from ioi_eval.engines.values import Profile, Program
from ioi_eval.model.job import JobFile
from ioi_eval.model.protocol import Line, PlanChecker, PlanLimits, PlanSubmission, PlanWarm
from ioi_eval.model.values import Blob
from ioi_eval.store.compiling import sources_digest, waiting_arguments
from ioi_eval.store.resources import graders

LIMITS = PlanLimits(cpu_ms=1000, wall_ms=10_000, hard_ms=600_000, memory=64 << 20, output=1 << 20)
ATTACKED = PlanLimits(cpu_ms=1000, wall_ms=2_000, hard_ms=600_000, memory=64 << 20, output=1 << 20)
NEVER = "\0"  # an answer that nobody gives, so that every output is repeated
ENVIRONMENT = {"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "OPENBLAS_NUM_THREADS": "1"}
FORKED = "forked"
# Another one must lie below /usr, where boxes see it.
PYTHON = os.environ.get("IOI_EVAL_TEST_PYTHON", "/usr/bin/python3")


def build_library(flags: Sequence[str], output: Path) -> None:
    warnings = ("-Wall", "-Wextra", "-Werror")
    subprocess.run(["g++", *waiting_arguments(str(output)), *warnings, *flags], check=True, cwd=graders())


@pytest.fixture(scope="session")
def library(request: pytest.FixtureRequest, binaries: Path) -> bytes:
    name = of_these_sources(f"waiting-{sources_digest(graders())[:16]}")
    flags: tuple[str, ...] = ()
    if request.config.getoption("--sanitize"):  # a proctor with them limits no address space: so must this
        flags, name = ("-D__SANITIZE_ADDRESS__",), f"{name}-sanitized"
    return built_once(binaries / name, partial(build_library, flags)).read_bytes()


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
    """With a library a waiting interpreter forks, as the engine has it; without one each test starts it."""
    argv = (
        PYTHON,
        "-I",
        *(("harness.py", "submission", function) if function else ("submission",)),
    )
    files = tuple(name for name in ("harness.py", "submission") if name in argv)
    given_files = {"submission": source, "harness.py": (graders() / "python" / "harness.py").read_bytes()}
    submission = PlanSubmission(argv=argv, files=files, env=ENVIRONMENT, threads=4, address_space=True)
    extra = {name: given_files[name] for name in files}
    if library is not None:
        planned = waiting(
            _program(submission, source), Profile(name="", architecture="", waiting=Blob.of(library))
        )
        assert planned.submission.warm is not None
        submission = PlanSubmission(**{**_fields(submission), "warm": planned.submission.warm})
        extra |= {file.name: file.content.read() for file in planned.files if file.name not in extra}
    answers = more.pop("answers", [more.pop("answer", NEVER)] * len(given))
    tests = list(zip(given, answers, strict=True))
    more = {"limits": LIMITS, "echo": 1 << 16, "task_type": "Function" if function else "Batch"} | more
    return bench.judge("", tests, submission=submission, extra=extra, **more)


def _program(submission: PlanSubmission, source: bytes) -> Program:
    named = PlanSubmission(**{**_fields(submission), "argv": ("python3", *submission.argv[1:])})
    files = (JobFile(name="submission", content=Blob.of(source)),)
    return Program(proctor=Blob.of(""), submission=named, checker=PlanChecker(kind="exact"), files=files)


def _fields(message: PlanSubmission) -> dict[str, Any]:
    return {name: getattr(message, name) for name in message.__struct_fields__}


def interpreter(judged: Judged) -> str:
    assert judged.lines, judged.boxed
    start = judged.lines[0].start
    assert start is not None
    return str(start.confinement.get("interpreter", ""))


def ended(line: Line) -> tuple[object, ...]:
    """What must be equal. Addresses differ from one start to the next, and when a limit is seen differs, too."""
    if line.end in ("cpu", "wall", "memory"):
        return line.end, line.score, line.failure
    texts = (re.sub("0x[0-9a-f]+", "0x", text) for text in (line.feedback, line.output))
    return line.end, line.score, line.failure, line.code, line.signal, *texts


def compare(bench: Bench, library: bytes, source: str | bytes, given: str, **more: Any) -> None:
    content = source if isinstance(source, bytes) else source.encode()
    started = judged(bench, None, content, [given], **more)
    forked = judged(bench, library, content, [given, given], **more)
    assert interpreter(forked) == FORKED
    expected = ended(started.tests[0])
    assert expected[2] is None
    assert ended(forked.tests[0]) == expected
    assert ended(forked.tests[1]) == expected  # whatever the first one did


@pytest.mark.sample("everything")
@pytest.mark.parametrize("name", BATCH)
def test_a_program_ends_as_after_a_start(room: Bench, library: bytes, name: str) -> None:
    compare(room, library, BATCH[name], GIVEN)


@pytest.mark.sample("everything")
@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_returns_as_after_a_start(room: Bench, library: bytes, name: str) -> None:
    compare(room, library, whole_function(FUNCTIONS[name]), ARGUMENTS, function="solve")


def archive(**members: str) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as content:
        for name, text in members.items():
            content.writestr(name.replace("__dot__", "."), text)
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
    "what it finds": {
        "__main____dot__py": "import sys\nprint(sorted(sys.modules), sorted(globals()), __spec__)"
    },
}


@pytest.mark.parametrize("name", ARCHIVES)
def test_several_files_end_as_after_a_start(room: Bench, library: bytes, name: str) -> None:
    compare(room, library, archive(**ARCHIVES[name]), GIVEN)


def test_files_are_read_and_written(room: Bench, library: bytes) -> None:
    source = (
        "open('out.txt', 'w').write(open('in.txt').read())\nf = open('out.txt', 'a')\nf.write('unclosed')"
    )
    compare(room, library, source, GIVEN, input_file="in.txt", output_file="out.txt")


@pytest.mark.parametrize("name", ATTACKS)
def test_nobody_reaches_the_interpreter(room: Bench, library: bytes, name: str) -> None:
    found = judged(
        room,
        library,
        ATTACKS[name].encode(),
        ["first", "then", "honest"],
        answers=[NEVER, NEVER, "fine"],
        limits=ATTACKED,
    )
    assert interpreter(found) == FORKED
    assert found.lines[-1].done
    assert [line.failure for line in found.tests.values()] == [None, None, None]
    assert "won" not in found.tests[0].output + found.tests[1].output
    assert (found.tests[2].end, found.tests[2].score) == ("ok", 1)


def test_random_numbers_differ_between_tests(room: Bench, library: bytes) -> None:
    source = b"import random, os\nprint(random.random(), os.urandom(4), random.SystemRandom().random())"
    found = judged(room, library, source, ["", "", ""])
    assert interpreter(found) == FORKED
    assert len({line.output for line in found.tests.values()}) == 3


def test_the_start_is_not_counted(room: Bench, library: bytes) -> None:
    """The least of several: what a machine does meanwhile only adds."""
    ways = (judged(room, way, b"pass", [""] * 5) for way in (None, library))
    started, forked = (min(line.cpu_us for line in way.tests.values()) for way in ways)
    assert forked < started


def test_memory_counts_from_the_same_level(room: Bench, library: bytes) -> None:
    """What the process has of the one that forked it is what it would have of its own after a start."""
    source = b"x = bytearray(b'1') * (40 << 20)"
    started, forked = (judged(room, way, source, ["", ""]).tests[1].memory for way in (None, library))
    assert abs(started - forked) < 4 << 20


# --- where it cannot be had --------------------------------------------------------------------------


def test_without_namespaces_every_test_starts(workshop: Path, proctor: Path, library: bytes) -> None:
    bench = Bench(workshop=workshop, proctor=proctor, compiled=lambda _: Path(), layers=LANDLOCK_ALONE)
    found = judged(bench, library, b"print(5)", ["", ""], answer="5")
    assert interpreter(found) == "started: it takes namespaces"
    assert [line.score for line in found.tests.values()] == [1, 1]


def test_a_library_that_cannot_be_loaded(room: Bench) -> None:
    found = judged(room, b"no library", b"print(5)", ["", ""], answer="5")
    assert interpreter(found).startswith("started: ImportError")
    assert [line.score for line in found.tests.values()] == [1, 1]


@pytest.mark.parametrize("tool", ["/bin/false", "/bin/cat", "/usr/bin/surely-not-there"])
def test_an_interpreter_that_does_not_wait(room: Bench, library: bytes, tool: str) -> None:
    """What the proctor is told of it is in the row; the test then says what is wrong with the program."""
    warm = PlanWarm(library="waiting.so", script="waiting.py")
    submission = PlanSubmission(argv=(tool, "submission"), files=("submission",), env=ENVIRONMENT, warm=warm)
    script = (graders() / "python" / "waiting.py").read_bytes()
    extra = {"submission": b"5", "waiting.so": library, "waiting.py": script}
    found = room.judge("", [("", "5")], submission=submission, extra=extra)
    assert interpreter(found).startswith("started: ")


def test_programs_that_run_together_start(room: Bench, library: bytes) -> None:
    found = judged(room, library, b"print(5)", [""], task_type="TwoSteps")
    assert interpreter(found) == "started: programs that run together are started"
