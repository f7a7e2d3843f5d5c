"""Judges submissions that stall, and tells what each costs: on an idle machine at most the bound."""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from used import cpu_seconds

from ioi_eval import EmbeddedEngine, JudgeOptions, Scorer, Store
from ioi_eval.models import Blob, Limits, Manager, NamedBlob, Problem, Submission, TaskOptions, TaskType, Test

HEAD = """#include <atomic>
#include <csignal>
#include <cstdio>
#include <linux/futex.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
"""
THREAD = 0x00050F00  # the flags of a thread
VFORK = f"""import ctypes, os
libc = ctypes.CDLL(None)
stack = ctypes.create_string_buffer(1 << 16)
top = ctypes.addressof(stack) + (1 << 16) & ~15
for _ in range(1000):
    if libc.clone(libc.usleep, ctypes.c_void_p(top), {THREAD | 0x4000}, ctypes.c_void_p(900_000)) < 0:
        os.read(0, 1), libc.usleep(900_000)
"""
DEADLOCK = """import threading
one, other = threading.Lock(), threading.Lock()
def take(first, second, met):
    with first:
        met.wait()
        with second: pass
met = threading.Barrier(2)
threading.Thread(target=take, args=(one, other, met)).start()
take(other, one, met)
"""
BLINKING = """import threading, time
def blink():
    while True: time.sleep(0.001)
for _ in range(3): threading.Thread(target=blink).start()
blink()
"""
NESTED = "".join(f"{' ' * n}try: pass\n{' ' * n}finally:\n" for n in range(19)) + " " * 19 + "pass\n"
MANAGER = """#include <cstdio>
int main(int count, char** names) {
  for (int i = 1; i + 1 < count; i += 2) {
    FILE *in = fopen(names[i], "r"), *out = fopen(names[i + 1], "w");
    int answer = 0;
    fprintf(out, "21\\n"), fflush(out);
    if (fscanf(in, "%d", &answer) != 1) break;
  }
  puts("1");
}
"""


READING = """for (;;) {
  char* all = (char*)mmap(nullptr, 1L << 32, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (all == MAP_FAILED) { sleep(1); continue; }
  for (long i = 0; i < 1L << 26; i += 4096) (void)*(volatile char*)(all + i);
  munmap(all, 1L << 32);
}"""
FUTEX = "int lock = 0; for (;;) syscall(SYS_futex, &lock, FUTEX_WAIT_PRIVATE, 0, nullptr, nullptr, 0);"
SECOND = """int x;
if (words[1][0] == '0') for (;;) pause();
if (scanf("%d", &x) == 1) puts("42");"""


@dataclass(frozen=True)
class Stall:
    """A way to hold up whoever judges. `body`: of `main` in C++."""

    name: str
    body: str = ""
    source: str = ""
    language: str = "c++"
    task: TaskType = TaskType.BATCH
    processes: int = 1

    @property
    def code(self) -> str:
        return self.source or f"{HEAD}int main(int count, char** words) {{ {self.body} }}\n"


def python(name: str, source: str) -> Stall:
    return Stall(name, source=source, language="python")


STALLS = (
    Stall("sleep", "for (;;) sleep(99);"),
    Stall("sleep, then compute", "sleep({almost}); for (volatile int i = 0;; i = i + 1) {}"),
    python("read of an empty pipe", "import os\nos.read(os.pipe()[0], 1)\n"),
    Stall("futex", FUTEX),
    python("vfork of a thread", VFORK),
    Stall("membarrier for all", "for (;;) if (syscall(SYS_membarrier, 1, 0)) sleep(1);"),
    Stall("stopped by itself", "for (;;) raise(SIGSTOP);"),
    Stall("SIGTTOU", "for (;;) raise(SIGTTOU);"),
    Stall("traps", 'signal(SIGTRAP, [](int) {}); for (;;) { asm("int3"); usleep(1000); }'),
    Stall("huge mappings", READING),
    python("sleep at exit", "import atexit, time\natexit.register(time.sleep, 9999)\n"),
    python("work at exit", "import atexit\natexit.register(lambda: [i for i in iter(int, 1)])\n"),
    python("threads that wait for each other", DEADLOCK),
    python("threads that wake together", BLINKING),
    Stall("a manager that waits", "for (;;) pause();", task=TaskType.COMMUNICATION),
    Stall("a sibling that waits", SECOND, task=TaskType.COMMUNICATION, processes=2),
    Stall("a compiler that reads what it writes", source='#include "/dev/stdout"\nint main() {}'),
    python("a compiler without memory", NESTED),
)  # fmt: skip


def problem_of(stall: Stall, given: argparse.Namespace) -> Problem:
    talks = stall.task is TaskType.COMMUNICATION
    manager = Manager(sources=(NamedBlob(name="manager.cpp", content=Blob.of(MANAGER)),)) if talks else None
    return Problem(
        id=f"{stall.task.value}-{stall.processes}",
        task_type=stall.task,
        limits=Limits.contest(given.limit, 256 << 20),
        tests=tuple(
            Test(name=str(n), input=Blob.of(f"{n}\n"), answer=Blob.of("7\n")) for n in range(given.tests)
        ),
        manager=manager,
        options=TaskOptions(processes=stall.processes),
    )


def submission_of(stall: Stall, given: argparse.Namespace) -> Submission:
    code = stall.code.replace("{almost}", str(int(2 * given.limit)))
    return Submission(key=stall.name, problem_id="", code=code, language=stall.language)


async def rows(scorer: Scorer, given: argparse.Namespace) -> bool:
    wall = 2 * given.limit + 1
    bound = given.tests * wall + 20 * wall + 30
    print(f"{given.tests} tests, a limit of {given.limit:g} s: at most {bound:.0f} s\n")
    print("| way | verdicts | CPU | clock |\n|---|---|--:|--:|", flush=True)
    within = True
    for stall in (one for one in STALLS if given.only in one.name):
        problem = problem_of(stall, given)
        await scorer.prepare(problem)
        began, used = time.monotonic(), cpu_seconds()
        result = await scorer.score(problem, submission_of(stall, given))
        seconds, used = time.monotonic() - began, cpu_seconds() - used
        verdicts = Counter(test.status for test in result.tests)
        told = ", ".join(f"{count} {status}" for status, count in verdicts.items())
        within = within and seconds <= bound
        print(f"| {stall.name} | {told} | {used:.1f} s | {seconds:.1f} s |", flush=True)
    return within


async def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tests", type=int, default=10)
    parser.add_argument("--limit", type=float, default=0.5, help="seconds of CPU for each test")
    parser.add_argument("--only", default="", metavar="WORDS", help="ways with this in their names")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        store = Store(Path(folder))
        options = JudgeOptions(all_tests=True)
        async with Scorer(EmbeddedEngine(store=store), store=store, options=options) as scorer:
            return 0 if await rows(scorer, given) else 1


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
