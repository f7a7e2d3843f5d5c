"""The number of threads that a submission may have, with every combination of layers."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage

import pytest
from harness import LANDLOCK_ALONE, Bench
from support.proctor_protocol import PlanLimits, PlanSubmission

# What becomes of a program does not hang on which layers confine it; the long run tries every mixture.
pytestmark = pytest.mark.nightly(unless="everything")

START = """
#include <cstdio>
#include <cstdlib>
#include <pthread.h>
#include <unistd.h>
void* body(void*) { for (;;) pause(); }
void* empty(void*) { return nullptr; }
bool start(void* (*run)(void*)) { pthread_t thread; return pthread_create(&thread, nullptr, run, nullptr) == 0; }
"""
BOMB = START + 'int main() { while (start(body)); printf("refused"); fflush(stdout); pause(); }'
SOME = (
    START
    + 'int main() { for (int i = 0; i < 3; ++i) if (!start(body)) return 1; usleep(300000); printf("ran"); }'
)
ONE_BY_ONE = (
    START
    + """
int main() {
  for (int i = 0; i < 2000; ++i) {
    pthread_t thread;
    if (pthread_create(&thread, nullptr, empty, nullptr) != 0) return 1;
    pthread_join(thread, nullptr);
  }
  printf("ran");
}
"""
)
SLOWLY = ONE_BY_ONE.replace("2000", "100").replace(
    "pthread_join(thread, nullptr);", "pthread_join(thread, nullptr); usleep(5000);"
)
LIMITS = PlanLimits(cpu_ms=5000, wall_ms=20000, memory=512 << 20, output=1 << 20)


# Starts a program with a filter that notifies of an unused system call.
ASKING = """
#include <cstddef>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
int main(int, char** argv) {
  const unsigned with_listener = 1 << 3;
  sock_filter program[] = {
      {BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(seccomp_data, nr)},
      {BPF_JMP | BPF_JEQ | BPF_K, 0, 1, SYS_acct},
      {BPF_RET | BPF_K, 0, 0, 0x7fc00000U},
      {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW},
  };
  const sock_fprog filter = {4, program};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return 2;
  const long listener = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, with_listener, &filter);
  if (listener < 0 || fcntl(static_cast<int>(listener), F_SETFD, 0) != 0) return 3;
  execvp(argv[1], argv + 1);
}
"""


def threaded(threads: int) -> PlanSubmission:
    return PlanSubmission(argv=("submission",), threads=threads)


def test_program_with_too_many_threads_is_killed_for_threads(bench: Bench) -> None:
    line = bench.one(BOMB, submission=threaded(4), limits=LIMITS)
    assert (line.end, line.score, line.signal) == ("threads", 0, 9)


def test_thread_bomb_leaves_free_pids(bench: Bench) -> None:
    """The kernel limits the bomb, because between two polls it could use all thread ids of the machine."""
    source = """
    #include <cstdio>
    #include <sys/resource.h>
    int main() { rlimit l; getrlimit(RLIMIT_NPROC, &l); printf("%llu", (unsigned long long)l.rlim_cur); }
    """
    max_threads = int(Path("/proc/sys/kernel/pid_max").read_text()) // 4
    if "namespaces" in bench.layers:
        max_threads = 4 + 4096
    line = bench.one(source, answer=str(max_threads), submission=threaded(4), limits=LIMITS)
    assert (line.end, line.score) == ("ok", 1)


@pytest.mark.parametrize("source", [SOME, ONE_BY_ONE], ids=["at once", "one by one"])
def test_permitted_number_of_threads_runs(bench: Bench, source: str) -> None:
    line = bench.one(source, answer="ran", submission=threaded(4), limits=LIMITS)
    assert (line.end, line.score) == ("ok", 1)


def test_joined_threads_that_still_exit_do_not_exceed_the_thread_limit(bench: Bench) -> None:
    """Java reports a thread as terminated before it has exited, and starts the next thread."""
    source = (
        START
        + """
    #include <atomic>
    #include <ctime>
    std::atomic<int> finished{0};
    void* late(void*) {
      ++finished;
      timespec used;
      do clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used); while (used.tv_nsec < 2000000);
      return nullptr;
    }
    int main() {
      for (int i = 0; i < 200; ++i) {
        if (!start(late)) return 1;
        while (finished <= i) usleep(10);
      }
      printf("ran");
    }
    """
    )
    line = bench.one(source, answer="ran", submission=threaded(4), limits=LIMITS)
    assert (line.end, line.score) == ("ok", 1), line


@pytest.mark.parametrize(
    ("often_us", "end", "score"), [(0, "ok", 1), (2000, "wall", 0)], ids=["once", "often"]
)
def test_thread_held_by_supervisor_does_not_count_as_blocked_on_disk(
    bench: Bench, often_us: int, end: str, score: float
) -> None:
    """The kernel shows this state for a thread that is held by seccomp and gets a signal."""
    source = (
        START
        + """
    #include <csignal>
    #include <sched.h>
    #include <sys/syscall.h>
    #include <sys/time.h>
    void* deaf(void*) { sigset_t all; sigfillset(&all); pthread_sigmask(SIG_BLOCK, &all, nullptr); return body(nullptr); }
    int exit_thread(void*) { syscall(SYS_exit, 0); return 0; }
    int main() {
      for (int i = 0; i < 12; ++i) if (!start(deaf)) return 1;
      signal(SIGALRM, [](int) {});
      const itimerval soon = {{0, OFTEN}, {0, 2000}};
      setitimer(ITIMER_REAL, &soon, nullptr);
      const int flags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM;
      if (clone(exit_thread, (char*)malloc(1 << 16) + (1 << 15), flags, nullptr) > 0) printf("ran");
    }
    """
    ).replace("OFTEN", str(often_us))
    limits = PlanLimits(cpu_ms=5000, wall_ms=500, hard_ms=20000, memory=512 << 20)
    line = bench.one(source, answer="ran", submission=threaded(4), limits=limits)
    assert (line.end, line.score, line.stalled) == (end, score, False), line


def test_supervisor_uses_no_cpu_after_the_seccomp_listener_closed(bench: Bench) -> None:
    """The program only uses memory, and no thread can ask the supervisor any more."""
    source = """
    #include <cstdio>
    #include <sys/mman.h>
    int main() {
      const int how = MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE;
      if (mmap(nullptr, 300 << 20, PROT_READ | PROT_WRITE, how, -1, 0) != MAP_FAILED) puts("ran");
    }
    """
    bench.compiled(source)

    def own_us(threads: int) -> float:
        usage_before = getrusage(RUSAGE_CHILDREN)
        result = bench.judge(source, [("", "ran")] * 3, submission=threaded(threads), limits=LIMITS)
        usage_after = getrusage(RUSAGE_CHILDREN)
        assert [line.end for line in result.tests.values()] == ["ok"] * 3, result
        used_s = usage_after.ru_utime + usage_after.ru_stime - usage_before.ru_utime - usage_before.ru_stime
        return used_s * 1e6 - sum(line.cpu_us for line in result.tests.values())

    assert own_us(4) < 2 * own_us(1) + 25_000


def test_program_with_limit_of_one_thread_cannot_start_another_thread(bench: Bench) -> None:
    source = START + 'int main() { printf(start(body) ? "started" : "refused"); }'
    line = bench.one(source, answer="refused", submission=threaded(1), limits=LIMITS)
    assert (line.end, line.score) == ("ok", 1)


def test_thread_can_wake_asyncio_event_loop(bench: Bench) -> None:
    source = """
import asyncio, signal, sys, time
async def main():
    loop, rung = asyncio.get_running_loop(), asyncio.Event()
    line = await loop.run_in_executor(None, lambda: time.sleep(0.1) or sys.stdin.readline())
    loop.add_signal_handler(signal.SIGALRM, rung.set)
    signal.setitimer(signal.ITIMER_REAL, 0.1)
    await rung.wait()
    print(line)
asyncio.run(main())
"""
    line = bench.one(source, given="ran\n", answer="ran", language="python", limits=LIMITS)
    assert (line.end, line.score) == ("ok", 1), line


def test_socketpair_denies_addresses(bench: Bench) -> None:
    source = """
    #include <cstdio>
    #include <sys/socket.h>
    int main() {
      int sockets[2], got = 0;
      char data[] = "word";
      sockaddr address = {};
      socklen_t size = sizeof address;
      if (socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) != 0 || send(sockets[0], data, 4, 0) != 4) return 1;
      got += sendto(sockets[0], data, 4, 0, &address, size) >= 0;
      got += send(sockets[0], data, 4, MSG_OOB) >= 0;
      got += recvfrom(sockets[1], data, 4, 0, &address, &size) >= 0;
      got += recv(sockets[1], data, 4, MSG_PEEK) >= 0;
      printf("%d %zd", got, recv(sockets[1], data, 4, 0));
    }
    """
    line = bench.one(source, answer="0 4", submission=threaded(4), limits=LIMITS)
    assert (line.end, line.score) == ("ok", 1), line


@pytest.mark.parametrize("bench", [LANDLOCK_ALONE], ids=["landlock"], indirect=True)
def test_thread_bomb_does_not_use_up_threads_of_other_tests(bench: Bench) -> None:
    """Without namespaces, the kernel counts all threads of a user, so a bomb must not grow between two polls."""

    def explode(_: object) -> str | None:
        return bench.one(BOMB, submission=threaded(4), limits=LIMITS).end

    with ThreadPoolExecutor(4) as together:
        bombs = together.map(explode, range(20))
        lines = [bench.one(SLOWLY, answer="ran", submission=threaded(4), limits=LIMITS) for _ in range(2)]
        assert set(bombs) == {"threads"}
    assert [(line.end, line.score) for line in lines] == [("ok", 1)] * 2


@pytest.mark.parametrize("bench", [LANDLOCK_ALONE], ids=["landlock"], indirect=True)
def test_threads_are_counted_without_seccomp_listener(bench: Bench) -> None:
    """The kernel allows one seccomp listener per process, and the process already has one."""
    more = {
        "extra": {"asking": bench.compiled(ASKING).read_bytes()},
        "script": "chmod +x asking; exec ./asking ./proctor run plan.json",
        "submission": threaded(4),
        "limits": LIMITS,
    }
    assert (bench.one(SOME, answer="ran", **more).end, bench.one(BOMB, **more).end) == ("ok", "threads")


def test_program_with_thread_permission_cannot_fork(bench: Bench) -> None:
    source = START + 'int main() { printf(fork() < 0 ? "refused" : "forked"); }'
    line = bench.one(source, answer="refused", submission=threaded(4), limits=LIMITS)
    assert (line.end, line.score) == ("ok", 1)


def test_thread_with_its_own_descriptor_table_is_refused(bench: Bench) -> None:
    """Otherwise each of 64 threads could hold 13 MB in sockets that no poll finds."""
    source = (
        START
        + """
    #include <sched.h>
    #include <sys/syscall.h>
    int exit_thread(void*) { syscall(SYS_exit, 0); return 0; }
    int main() {
      char* stack = (char*)malloc(1 << 16) + (1 << 15);
      const int flags = CLONE_VM | CLONE_FS | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM;
      printf("%s ", clone(exit_thread, stack, flags, nullptr) < 0 ? "refused" : "a thread");
      printf("%s", syscall(436, 3, ~0U, 2 /* CLOSE_RANGE_UNSHARE */) < 0 ? "refused" : "a table");
    }
    """
    )
    line = bench.one(source, answer="refused refused", submission=threaded(4), limits=LIMITS)
    assert (line.end, line.score) == ("ok", 1)


def test_memory_is_measured_after_the_main_thread_ended(bench: Bench) -> None:
    source = (
        START
        + """
    #include <cstring>
    #include <sys/syscall.h>
    void* grow(void*) {
      for (int i = 0; i < 800; i += 4) { memset(malloc(4 << 20), 1, 4 << 20); usleep(50000); }
      for (;;) pause();
    }
    int main() { start(grow); syscall(SYS_exit, 0); }
    """
    )
    limits = PlanLimits(cpu_ms=10000, wall_ms=20000, memory=64 << 20)
    line = bench.one(source, submission=threaded(4), limits=limits)
    assert line.end == "memory"
    assert line.memory < 400 << 20, "killed when it was over the limit, not when the time was"


def test_cpu_time_of_all_threads_counts(bench: Bench) -> None:
    source = (
        START
        + """
    void* spin(void*) { for (volatile long i = 0;; i = i + 1); }
    int main() { start(spin); start(spin); sleep(15); }
    """
    )
    limits = PlanLimits(cpu_ms=100, wall_ms=20000, memory=512 << 20)
    assert bench.one(source, submission=threaded(4), limits=limits).end == "cpu"
