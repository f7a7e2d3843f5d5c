"""Waiting for the machine leads to no verdict.

A program is killed for its CPU time, or if all processes of its test were idle.
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
import re
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest
from cpu_load import busy_processes, single_processor
from harness import EVERYTHING, LANDLOCK_ALONE, SLEEPER, Bench, Judged
from support.proctor_protocol import PlanLimits, PlanManager, PlanSubmission, TestReport

# The same rule applies with both sets of layers, so the gate tries each set only once.
pytestmark = pytest.mark.nightly(unless="own")


@pytest.fixture(params=[EVERYTHING, LANDLOCK_ALONE], ids=["own numbers", "the host's numbers"])
def bench(
    request: pytest.FixtureRequest, workshop: Path, proctor: Path, compiled: Callable[[str], Path]
) -> Bench:
    """Return benches whose supervisors find processes in the sandbox's /proc, or in the machine's /proc."""
    return Bench(workshop=workshop, proctor=proctor, compiled=compiled, layers=request.param)


PROCTOR = Path(__file__).parents[2] / "graders" / "proctor"
# Very little idle time, and much time to compute. It is more than the 200 ms from which on supervisors poll more often.
SHORT = PlanLimits(cpu_ms=10_000, wall_ms=220, hard_ms=600_000)
MANAGER = PlanManager(argv=("manager",), limits=PlanLimits(cpu_ms=5000, wall_ms=2000, hard_ms=600_000))

HEAD = "#include <cstdio>\n#include <cstdlib>\n#include <ctime>\n#include <unistd.h>\n"
BURN = "while (clock() < 0.33 * CLOCKS_PER_SEC);"
BURN_BRIEFLY = "while (clock() < 0.16 * CLOCKS_PER_SEC);"
ANSWER = 'int x; if (scanf("%d", &x) != 1) return 3; printf("%d\\n", 2 * x);'
# Asks each process in turn, so that a process is always working while the others wait.
ASKING = (
    HEAD
    + """int main(int argc, char** argv) {
  int sum = 0, n = (argc - 1) / 2;
  for (int i = 0; i < n; i++) {
    FILE *in = fopen(argv[1 + 2 * i], "r"), *out = fopen(argv[2 + 2 * i], "w");
    int answer = 0;
    %s
    fprintf(out, "21\\n"); fflush(out);
    fscanf(in, "%%d", &answer);
    sum += answer;
  }
  puts(sum == 42 * n ? "1" : "0");
}
"""
)


def talk(
    bench: Bench, source: str, *, manager: str = "", limits: PlanLimits = SHORT, processes: int = 1
) -> TestReport:
    result: Judged = bench.judge(
        HEAD + source, [("", None)], task_type="Communication", limits=limits, processes=processes,
        manager=MANAGER, manager_source=ASKING % manager,
    )  # fmt: skip
    return result.tests[0]


def test_submission_is_not_idle_while_manager_computes(bench: Bench) -> None:
    line = talk(bench, f"int main() {{ {ANSWER} }}", manager=BURN)
    assert (line.end, line.score) == ("ok", 1), line
    assert line.wall_us > SHORT.wall_ms * 1000


@pytest.mark.nightly
def test_process_is_not_idle_while_sibling_computes(bench: Bench) -> None:
    """The manager must not be killed before the processes that it waits for."""
    line = talk(bench, f"int main() {{ {BURN} {ANSWER} }}", processes=2)
    assert (line.end, line.score) == ("ok", 1), line


@pytest.mark.nightly
def test_process_is_not_idle_while_sibling_waits_for_processor(bench: Bench) -> None:
    with single_processor(), busy_processes(1):
        line = talk(bench, f"int main() {{ {BURN} {ANSWER} }}", processes=1)
    assert (line.end, line.score) == ("ok", 1), line
    assert line.waited_us > SHORT.wall_ms * 1000


@pytest.mark.nightly
def test_two_steps_process_is_not_idle_while_the_other_waits_for_a_processor(bench: Bench) -> None:
    source = (
        HEAD
        + f"""int main(int, char** argv) {{
      if (argv[1][0] == '0') {{ {BURN} fputs("7", fopen(argv[2], "w")); }}
      else putchar(getc(fopen(argv[2], "r")));
    }}"""
    )
    with single_processor(), busy_processes(1):
        line = bench.one(source, answer="7", task_type="TwoSteps", limits=SHORT)
    assert (line.end, line.score) == ("ok", 1), line


@pytest.mark.nightly
def test_submission_is_not_idle_while_interactor_computes(bench: Bench) -> None:
    asks = (
        HEAD
        + f'int main() {{ {BURN} puts("21"); fflush(stdout); int x = 0; scanf("%d", &x); return x != 42; }}'
    )
    manager = PlanManager(argv=("manager",), kind="testlib", limits=MANAGER.limits)
    with single_processor(), busy_processes(1):
        line = bench.one(
            HEAD + f"int main() {{ {ANSWER} }}", answer=None, task_type="Interactive", limits=SHORT,
            manager=manager, manager_source=asks,
        )  # fmt: skip
    assert (line.end, line.score) == ("ok", 1), line


# An interactor that reads a single number and accepts or rejects it.
JUDGING = HEAD + 'int main() { int x = 0; scanf("%%d", &x); %s return x != 42; }'
ASKED = PlanManager(argv=("manager",), kind="testlib", limits=MANAGER.limits)


def fail_with(bench: Bench, interactor: str) -> TestReport:
    """Judge a submission that prints a wrong answer and crashes."""
    wrong = HEAD + 'int main() { puts("41"); fflush(stdout); abort(); }'
    with single_processor(), busy_processes(1):
        return bench.one(
            wrong, answer=None, task_type="Interactive", limits=SHORT, manager=ASKED,
            manager_source=JUDGING % interactor,
        )  # fmt: skip


def test_interactor_with_enough_input_decides_the_verdict(bench: Bench) -> None:
    """The interactor may be slow, because it cannot detect whether the submission has exited."""
    line = fail_with(bench, BURN_BRIEFLY)
    assert (line.end, line.score, line.failure) == ("ok", 0, None), line


@pytest.mark.nightly(unless="own numbers-at once")
@pytest.mark.parametrize("first", ["", BURN_BRIEFLY], ids=["at once", "when it has computed"])
def test_interactor_still_waiting_for_input_does_not_decide_the_verdict(bench: Bench, first: str) -> None:
    line = fail_with(bench, first + " getchar(); while (getchar() != EOF);")
    assert (line.end, line.signal, line.score) == ("signal", 6, 0), line


SHORT_THREADS = f"""#include <pthread.h>
{HEAD}
void* empty(void*) {{ return nullptr; }}
int main() {{
  int n;
  if (scanf("%d", &n) != 1) return 2;
  while (n-- > 0) {{
    pthread_t thread;
    if (pthread_create(&thread, nullptr, empty, nullptr) != 0) return 1;
    pthread_join(thread, nullptr);
  }}
  puts("ran");
}}"""


@pytest.mark.nightly
def test_short_threads_waiting_for_processor_are_not_idle(bench: Bench) -> None:
    """The kernel does not report how long an exited thread waited."""
    submission = PlanSubmission(argv=("submission",), threads=4)
    with single_processor(), busy_processes(6):
        line = bench.one(SHORT_THREADS, given="8000", answer="ran", submission=submission, limits=SHORT)
    assert (line.end, line.score) == ("ok", 1), line


@pytest.mark.nightly(unless="the host's numbers")
def test_program_waiting_for_thread_permission_is_not_idle(bench: Bench) -> None:
    """The supervisor, which permits the thread, waits for a processor as well."""
    submission = PlanSubmission(argv=("submission",), threads=4, processes=3)
    limits = PlanLimits(cpu_ms=10_000, wall_ms=100, hard_ms=600_000)
    with busy_processes(2):
        line = bench.one(SHORT_THREADS, given="4000", answer="ran", submission=submission, limits=limits)
    assert (line.end, line.score) == ("ok", 1), line


@pytest.mark.nightly(unless="own numbers-0")
@pytest.mark.parametrize("busy", [0, 6])
def test_sleeping_submission_is_killed(bench: Bench, busy: int) -> None:
    with single_processor(), busy_processes(busy):
        line = bench.one("#include <unistd.h>\nint main() { for (;;) sleep(9); }", limits=SLEEPER)
    assert (line.end, line.signal) == ("wall", 9)


@pytest.mark.nightly(unless="")
def test_submission_sleeping_after_computing_is_killed(bench: Bench) -> None:
    line = bench.one(HEAD + f"int main() {{ {BURN} for (;;) sleep(9); }}", limits=SHORT)
    assert line.end == "wall"
    assert line.wall_us > line.cpu_us + SHORT.wall_ms * 1000


def test_process_waiting_for_dead_sibling_is_killed(bench: Bench) -> None:
    """The first process has crashed.

    The manager waits for it, and the second process waits for the manager.
    """
    sleep = "for (;;) sleep(9);"
    line = talk(bench, "int main(int, char** argv) { if (atoi(argv[1]) == 0) abort(); getchar(); }", manager=sleep, processes=2)  # fmt: skip
    assert (line.end, line.score) == ("wall", 0), line


def test_deadlocked_threads_are_killed(bench: Bench) -> None:
    """Threads that wake up together to seem busy are killed at the hard stop. The test runs at most twice."""
    source = """
import threading, time
def blink():
    while True:
        time.sleep(0.001)
for _ in range(3): threading.Thread(target=blink).start()
blink()
"""
    limits = PlanLimits(cpu_ms=60_000, wall_ms=300, hard_ms=2000)
    line = bench.one(source, language="python", limits=limits)
    assert (line.end, line.score) == ("wall", 0)


WAITS = "if (vfork() == 0) { usleep(1500000); _exit(0); }"
ANOTHER = f"void* waits(void*) {{ {WAITS} return nullptr; }}\n"
JOINED = "pthread_t other; pthread_create(&other, nullptr, waits, nullptr); pthread_join(other, nullptr);"


@pytest.mark.nightly(unless="")
@pytest.mark.parametrize(("before", "waits"), [("", WAITS), (ANOTHER, JOINED)], ids=["itself", "a thread"])
def test_program_waiting_for_disk_is_not_idle(bench: Bench, before: str, waits: str) -> None:
    """A parent of vfork has the same state in /proc as a process that waits for a disk."""
    program = f'#include <pthread.h>\n{HEAD}{before}int main() {{ {waits} puts("done"); }}'
    limits = {"cpu_ms": 5000, "wall_ms": 400, "hard_ms": 60_000}
    boxed = bench.box("exec ./program", files={"program": bench.compiled(program)}, limits=limits)
    assert (boxed.stdout, boxed.report["killed"]) == ("done\n", "")
    assert boxed.report["waited_us"] > 400_000


# --- programs that seem to wait for a disk ---

WITHOUT_FILTER = ("namespaces", "landlock")
SEEMS_TO_WAIT = HEAD + 'int main() { if (vfork() == 0) { usleep(3000000); _exit(0); } puts("7"); }'


def seeming(bench: Bench, layers: Sequence[str] = WITHOUT_FILTER, *, alone: bool = False) -> list[TestReport]:
    """Run two tests of a program that seems to wait for a disk.

    The seccomp filter that prevents it is off.
    """
    unfiltered = dataclasses.replace(bench, layers=layers)
    result = unfiltered.judge(SEEMS_TO_WAIT, [("", "7"), ("", "7")], limits=SLEEPER, alone=alone)
    assert result.lines[-1].done
    return list(result.tests.values())


def test_unconfirmed_disk_wait_gives_no_verdict(bench: Bench) -> None:
    """The job stops, and the judge repeats the test without other programs."""
    line, *later_lines = seeming(bench)
    assert (line.end, line.stalled, later_lines) == ("wall", True, [])
    assert line.wall_us < 2_000_000, "it has the same time as a sleeping program"


def test_unconfirmed_disk_wait_is_reported_in_exclusive_run(bench: Bench) -> None:
    """The report distinguishes it from a sleeping program."""
    lines = seeming(bench, alone=True)
    assert [(line.end, line.stalled) for line in lines] == [("wall", True)]


def test_seccomp_prevents_faked_disk_waits(bench: Bench) -> None:
    assert [line.end for line in seeming(bench, EVERYTHING)] == ["ok", "ok"]


# Prints the results of the proctor's clocks for a list of polls by a supervisor. "blocked": each poll has the time, whether the program
# was blocked, and the disk's work for it. "lent": the time, the program's active time so far, whether it was ready to run.
#
# "rules": first the start and the time rules of each program (idle, whole, trusted, exclusive), then polls: program, time, sleep since the
# last poll, CPU time and waiting time so far, whether it is ready and blocked, the disk's work. Prints which program is stopped first, why,
# and when.
CLOCKS = """#include <cstdio>
#include <memory>
#include <vector>
void blocked() {
  idle_time::DiskWaitCounter blocked;
  long long now, is, work;
  while (scanf("%lld %lld %lld", &now, &is, &work) == 3) blocked.record_measurement(now, is, work);
  printf("%lld %lld", static_cast<long long>(blocked.total_us()), static_cast<long long>(blocked.unconfirmed_disk_wait_us()));
}
void lent() {
  idle_time::StealTimeCounter lent;
  long long now, did, ready;
  while (scanf("%lld %lld %lld", &now, &did, &ready) == 3) lent.record_measurement(now, did, ready);
  printf("%lld", static_cast<long long>(lent.total_us()));
}
void rules() {
  int programs;
  scanf("%d", &programs);
  idle_time::IdleClock clock(static_cast<size_t>(programs));
  std::vector<std::unique_ptr<idle_time::ProgramTimeTracker>> all;
  std::vector<long long> starts(static_cast<size_t>(programs));
  for (int i = 0; i < programs; ++i) {
    long long idle, whole;
    int trusted, quiet;
    scanf("%lld %lld %lld %d %d", &starts[static_cast<size_t>(i)], &idle, &whole, &trusted, &quiet);
    const idle_time::IdleTimeRules rules = {idle, whole, false, trusted != 0, quiet != 0};
    all.push_back(std::make_unique<idle_time::ProgramTimeTracker>(clock, static_cast<size_t>(i), rules));
  }
  for (size_t i = 0; i < all.size(); ++i) all[i]->start_measuring(starts[i] + 1);  // by a clock that shows no 0
  int who, ready, blocked;
  long long now, slept, computed, waited, work;
  while (scanf("%d %lld %lld %lld %lld %d %d %lld", &who, &now, &slept, &computed, &waited, &ready, &blocked, &work) == 8) {
    idle_time::ProgramTimeTracker& tracker = *all[static_cast<size_t>(who)];
    tracker.add_supervisor_sleep(slept);
    tracker.record_measurement({now, computed, waited, ready != 0, blocked != 0, tracker.must_read_disk_activity(blocked != 0) ? work : 0});
    const auto outcome = tracker.find_outcome(now);
    if (outcome == idle_time::ProgramTimeTracker::Outcome::none) continue;
    printf("%d %s %lld", who, outcome == idle_time::ProgramTimeTracker::Outcome::idled ? "idled" : "stalled", now / 1000);
    return;
  }
  printf("none");
}
void crowded() {
  long long limit, waited;
  while (scanf("%lld %lld", &limit, &waited) == 2) printf("%d ", idle_time::is_machine_crowded(limit, waited));
}
int main(int, char** argv) {
  *argv[1] == 'b' ? blocked() : *argv[1] == 'l' ? lent() : *argv[1] == 'c' ? crowded() : rules();
}
"""


def results_of_looks(compiled: Callable[[str], Path], mode: str, looks: str) -> str:
    sources = [(PROCTOR / name).read_text() for name in ("sys.hpp", "idle_time.hpp", "idle_time.cpp")]
    program = compiled(re.sub(r'#include "|#pragma once', "//", "\n".join([*sources, CLOCKS])))
    return subprocess.run([program, mode], input=looks, capture_output=True, text=True, check=True).stdout


@pytest.mark.nightly(unless="")
@pytest.mark.parametrize(
    ("looks", "told"),
    [
        ("0 0 0  10 0 0  20 0 0", "0 0"),
        ("0 0 0  10 1 5  20 1 5  30 0 5", "20 20"),  # no disk has done anything
        ("0 0 0  10 1 5  20 1 5", "20 20"),  # nor so far
        ("0 0 0  10 1 5  20 1 6  30 1 6  40 0 6", "30 0"),
        ("0 0 0  10 1 5  20 0 6  30 0 0", "10 0"),  # the disk's work was done when the program continued
        ("0 0 0  10 1 5  20 0 6  30 1 6  40 1 6  50 0 6", "30 20"),  # and then none has
    ],
)
def test_time_blocked_on_disk_is_measured(compiled: Callable[[str], Path], looks: str, told: str) -> None:
    assert results_of_looks(compiled, "blocked", looks) == told


# --- a machine that does not run ---

# Computes until it has been stopped, and then long enough to be looked at.
STOOD_STILL = (
    HEAD
    + """double now() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec + t.tv_nsec / 1e9;
}
int main() {
  for (double last = now(), next = last; next - last < 1; next = now()) last = next;
  for (const clock_t stop = clock() + 0.1 * CLOCKS_PER_SEC; clock() < stop;);
  puts("7");
}
"""
)


@contextlib.contextmanager
def suspended_descendants(program: str, *, after: float, seconds: float) -> Iterator[list[str]]:
    """Suspend all descendants of this process for some seconds, once `program` runs.

    Yields the list of the suspended programs' names, which is filled when they are suspended.
    """
    stopped: list[str] = []
    over = threading.Event()
    pausing = threading.Thread(target=_pause, args=(program, after, seconds, stopped, over))
    pausing.start()
    try:
        yield stopped
    finally:
        over.set()
        pausing.join()


def _pause(program: str, after: float, seconds: float, stopped: list[str], over: threading.Event) -> None:
    while program not in map(_name, _below(os.getpid())):
        if over.wait(0.005):
            return
    time.sleep(after)
    descendants = _below(os.getpid())
    stopped += map(_name, descendants)
    _send(signal.SIGSTOP, descendants)
    time.sleep(seconds)
    _send(signal.SIGCONT, descendants)


def _send(number: signal.Signals, pids: list[int]) -> None:
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):  # the process has exited
            os.kill(pid, number)


def _below(pid: int) -> list[int]:
    """Return the descendants of a process, each after its parent."""
    descendants = []
    with contextlib.suppress(OSError):  # the process may exit during the search
        for task in Path(f"/proc/{pid}/task").iterdir():
            for child in map(int, (task / "children").read_text().split()):
                descendants += [child, *_below(child)]
    return descendants


def _name(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")[0].decode()
    except OSError:
        return ""


def test_time_of_suspended_machine_is_not_idle_time(bench: Bench) -> None:
    """In a paused container or a migrating virtual machine the clock continues, but no program can run."""
    limits = PlanLimits(cpu_ms=10_000, wall_ms=400, hard_ms=600_000)
    with suspended_descendants("submission", after=0.1, seconds=1.2) as stopped:
        line = bench.one(STOOD_STILL, answer="7", limits=limits)
    assert "submission" in stopped
    assert (line.end, line.score) == ("ok", 1), line
    assert line.wall_us > 1_200_000


@pytest.mark.nightly
def test_program_that_sleeps_through_suspension_is_killed_afterwards(bench: Bench) -> None:
    limits = PlanLimits(cpu_ms=1000, wall_ms=2000, hard_ms=600_000)
    with suspended_descendants("submission", after=0.1, seconds=2.5) as stopped:
        line = bench.one("#include <unistd.h>\nint main() { for (;;) sleep(9); }", limits=limits)
    assert "submission" in stopped
    assert line.end == "wall" and line.wall_us > 4_400_000, line


@pytest.mark.nightly(unless="")
@pytest.mark.parametrize(
    ("looks", "lent"),
    [
        ("0 0 1  10000 10000 1  20000 20000 1", 0),  # it computes
        ("0 0 1  10000 10000 1  90000 11000 1  100000 21000 1", 79_000),  # and its processor was away
        ("0 0 1  10000 0 0  20000 0 0  30000 0 1", 0),  # it sleeps, and is seen as it wakes
        ("500000 0 1", 0),
        ("0 0 1  10000 40000 1  20000 40000 1", 10_000),  # four threads
    ],
)
def test_cpu_steal_time_is_not_idle_time(compiled: Callable[[str], Path], looks: str, lent: int) -> None:
    """The steal time is simulated."""
    assert int(results_of_looks(compiled, "lent", looks)) == lent


# --- the time rules, for a list of polls and without a clock ---

MS = 1000
Did = Callable[
    [int], tuple[int, int, bool, bool, int]
]  # by a time in ms: computed, waited, ready, blocked, a disk's work


def slept_all_the_time(_: int) -> tuple[int, int, bool, bool, int]:
    return 0, 0, False, False, 0


def computed_until(end: int) -> Did:
    return lambda now: (min(now, end), 0, now < end, False, 0)


def waited_until(end: int) -> Did:
    return lambda now: (0, min(now, end), now < end, False, 0)


def blocked_until(end: int, *, disk: bool = False) -> Did:
    return lambda now: (0, 0, False, now < end, now if disk else 0)


def ended(
    compiled: Callable[[str], Path],
    *programs: Did,
    idle: Sequence[int] = (),
    whole: int = 4000,
    trusted: bool = False,
    quiet: bool = False,
    still: tuple[int, int] = (0, 0),
    starts: Sequence[int] = (),
) -> str:
    """Return which program is stopped first, why and when, with a poll every 10 ms for ten seconds.

    `still`: first and last millisecond at which the machine is suspended.
    """
    starts, idle = starts or [0] * len(programs), idle or [400] * len(programs)
    patience = [
        f"{start * MS} {idle_ms * MS} {whole * MS} {trusted:d} {quiet:d}"
        for start, idle_ms in zip(starts, idle, strict=True)
    ]
    fields = [str(len(programs)), *patience]
    for now_ms in range(10, 10_000, 10):
        if still[0] <= now_ms < still[1]:
            continue
        for who, did in enumerate(programs):
            if now_ms <= starts[who]:
                continue
            computed, waited, ready, blocked, work = did(now_ms)
            fields.append(
                f"{who} {now_ms * MS + 1} {10 * MS} {computed * MS} {waited * MS} {ready:d} {blocked:d} {work}"
            )
    return results_of_looks(compiled, "rules", "\n".join(fields))


@pytest.mark.nightly(unless="")
@pytest.mark.parametrize(
    ("programs", "rules", "told"),
    [
        ([slept_all_the_time], {}, "0 idled 410"),
        ([computed_until(9990)], {}, "0 stalled 4010"),  # CPU time has a separate limit
        ([computed_until(9990)], {"whole": 20_000}, "none"),
        ([computed_until(1000)], {}, "0 idled 1410"),
        ([waited_until(2000)], {}, "0 idled 2410"),
        # No program is idle while another program of the test works. The last poll sees all programs.
        ([slept_all_the_time, computed_until(1000)], {}, "1 idled 1410"),
        ([slept_all_the_time, slept_all_the_time], {"idle": (900, 400)}, "1 idled 410"),
        # Idle time starts when the last program has started.
        ([slept_all_the_time, slept_all_the_time], {"starts": (500, 0)}, "1 idled 910"),
        ([slept_all_the_time, slept_all_the_time], {"starts": (0, 500)}, "1 idled 910"),
        # Disk waits, confirmed or not.
        ([blocked_until(9990, disk=True)], {"whole": 20_000}, "none"),
        ([blocked_until(2000, disk=True)], {}, "0 idled 2400"),
        ([blocked_until(9990)], {}, "0 stalled 410"),
        ([blocked_until(9990)], {"quiet": True}, "0 stalled 410"),
        # Short unconfirmed waits extend the time of a sleeping program.
        ([blocked_until(190)], {}, "0 idled 590"),
        ([blocked_until(190)], {"quiet": True}, "0 idled 410"),
        ([blocked_until(9990, disk=True)], {"quiet": True, "whole": 20_000}, "none"),
        ([blocked_until(9990)], {"trusted": True, "whole": 20_000}, "none"),
        ([blocked_until(300)], {}, "0 stalled 410"),  # the wait was never confirmed
        # A suspended machine.
        ([slept_all_the_time], {"still": (100, 3000)}, "0 idled 3310"),
        ([computed_until(9990)], {"still": (100, 3000), "whole": 20_000}, "none"),
    ],
)
def test_time_accounting_reports_the_reached_limit(
    compiled: Callable[[str], Path], programs: Sequence[Did], rules: dict[str, Any], told: str
) -> None:
    assert ended(compiled, *programs, **rules) == told


# --- a crowded machine ---


@pytest.mark.nightly(unless="")
def test_machine_is_crowded_if_program_waits_for_a_tenth_of_its_cpu_limit(
    compiled: Callable[[str], Path],
) -> None:
    # Limit and wait, in microseconds, as measured on two processors: unloaded, with an additional process, and at load 14.
    looks = "3000000 900  3000000 41000  3000000 299999  3000000 300000  3000000 5400000  3450000 16800000"
    assert results_of_looks(compiled, "crowded", looks).split() == ["0", "0", "0", "1", "1", "1"]


CROWDED = PlanLimits(cpu_ms=100, crowded_cpu_ms=300, wall_ms=2000, hard_ms=600_000)
BURNS = HEAD + f'int main() {{ {BURN_BRIEFLY} puts("7"); }}'  # 0.16 s


def test_crowded_machine_uses_crowded_cpu_limit(bench: Bench) -> None:
    with single_processor(), busy_processes(1):
        line = bench.one(BURNS, answer="7", limits=CROWDED)
        without_crowding = bench.one(
            BURNS, answer="7", limits=msgspec.structs.replace(CROWDED, crowded_cpu_ms=None)
        )
    assert (line.end, line.score) == ("ok", 1) and line.cpu_us > 150_000, line
    assert line.waited_us > 20_000
    assert (without_crowding.end, without_crowding.score) == ("cpu", 0), without_crowding


@pytest.mark.nightly
def test_program_over_cpu_limit_for_crowded_machine_is_killed(bench: Bench) -> None:
    with single_processor(), busy_processes(1):
        line = bench.one(BURNS, answer="7", limits=msgspec.structs.replace(CROWDED, crowded_cpu_ms=130))
    assert (line.end, line.score) == ("cpu", 0) and line.cpu_us > 130_000, line


@pytest.mark.nightly
def test_sum_of_cpu_times_uses_cpu_limit_for_crowded_machine(bench: Bench) -> None:
    with single_processor(), busy_processes(1):
        line = talk(bench, f"int main() {{ {BURN_BRIEFLY} {ANSWER} }}", limits=CROWDED)
    assert (line.end, line.score) == ("ok", 1), line


def test_sleeping_time_is_not_counted_as_waiting_for_a_processor(bench: Bench) -> None:
    source = HEAD + f'int main() {{ usleep(400000); {BURN_BRIEFLY} puts("7"); }}'
    line = bench.one(source, answer="7", limits=CROWDED)
    # Others may be busy here, and then it really waits for a tenth of its limit.
    assert line.end == "cpu" or 10_000 <= line.waited_us <= line.wall_us - 400_000, line


# --- the hard stop ---


def test_test_at_its_hard_time_limit_ends_as_stalled(bench: Bench) -> None:
    """The test gets no verdict yet, and the judge repeats it."""
    limits = PlanLimits(cpu_ms=60_000, wall_ms=100, hard_ms=200)
    line = bench.one("int main() { for (;;) {} }", limits=limits)
    assert (line.end, line.score) == ("wall", 0) and line.stalled and line.wall_us >= 200_000, line


def test_endless_compiler_is_killed_for_cpu_time(bench: Bench) -> None:
    limits = {"cpu_ms": 100, "wall_ms": 80, "hard_ms": 60_000}
    assert bench.box("while :; do :; done", limits=limits).report["killed"] == "cpu"


def test_sandbox_waiting_for_processor_is_not_killed(bench: Bench) -> None:
    limits = {"cpu_ms": 5000, "wall_ms": 220, "hard_ms": 600_000}
    computes = "import time\nwhile time.process_time() < 0.06: pass"
    with single_processor(), busy_processes(1):
        boxed = bench.box(f'for i in 1 2 3; do python3 -I -S -c "{computes}"; done', limits=limits)
    assert (boxed.report["killed"], boxed.report["code"]) == ("", 0)
    assert boxed.report["wall_us"] > 220_000


@pytest.mark.nightly(unless="")
def test_sleeping_sandbox_is_killed(bench: Bench) -> None:
    limits = {"cpu_ms": 5000, "wall_ms": 300, "hard_ms": 600_000}
    assert bench.box("sleep 60", limits=limits).report["killed"] == "wall"


def test_sandbox_is_killed_at_its_hard_time_limit(bench: Bench) -> None:
    limits = {"cpu_ms": 60_000, "wall_ms": 100, "hard_ms": 200}
    assert bench.box("while :; do :; done", limits=limits).report["killed"] == "hard"
