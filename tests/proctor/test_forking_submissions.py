"""Submissions of packages that permit processes: how many may run, and how they are counted."""

from __future__ import annotations

from dataclasses import replace

import pytest
from built_programs import by_word
from harness import Bench
from support.proctor_protocol import PlanLimits, PlanSubmission

# What becomes of a program does not hang on which layers confine it; the long run tries every mixture.
pytestmark = pytest.mark.nightly(unless="everything")

START = """
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fcntl.h>
#include <initializer_list>
#include <sched.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
void burn(double seconds) {
  timespec t;
  do clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t); while (t.tv_sec + t.tv_nsec / 1e9 < seconds);
}
"""
TWO_PHASES = (
    START
    + """
int main() {
  int to[2], back[2], n;
  if (pipe(to) != 0 || pipe(back) != 0 || scanf("%d", &n) != 1) return 1;
  const int child = fork();
  if (child < 0) return 2;
  if (child == 0) {
    close(to[1]), close(back[0]);
    int got;
    if (read(to[0], &got, sizeof got) != sizeof got) _exit(3);
    got *= 2;
    _exit(write(back[1], &got, sizeof got) == sizeof got ? 0 : 4);
  }
  close(to[0]), close(back[1]);
  if (write(to[1], &n, sizeof n) != sizeof n || read(back[0], &n, sizeof n) != sizeof n) return 5;
  int status;
  if (waitpid(child, &status, 0) != child || status != 0) return 6;
  printf("%d", n);
}
"""
)
LIMITS = PlanLimits(cpu_ms=5000, wall_ms=20000, memory=512 << 20, output=1 << 20)


def family(processes: int, threads: int = 1, *words: str) -> PlanSubmission:
    return PlanSubmission(argv=("submission", *words), processes=processes, threads=threads)


@pytest.mark.parametrize("threads", [1, 4])
def test_submission_process_may_fork_one_helper_process(bench: Bench, threads: int) -> None:
    submission = family(2, threads)
    line = bench.one(TWO_PHASES, given="21\n", answer="42", submission=submission, limits=LIMITS)
    assert (line.end, line.score, line.processes) == ("ok", 1, 2)


def test_each_forked_process_may_start_threads(bench: Bench) -> None:
    """The processes last for several polls of the supervisor."""
    source = """
    #include <pthread.h>
    void* body(void*) { for (;;) pause(); }
    int main() {
      const int child = fork();
      for (int i = 0; i < 3; ++i) {
        pthread_t thread;
        if (pthread_create(&thread, nullptr, body, nullptr) != 0) _exit(1);
      }
      usleep(200000);
      int status = 0;
      if (child == 0) _exit(0);
      if (waitpid(child, &status, 0) == child && status == 0) printf("ran");
    }
    """
    line = bench.one(START + source, answer="ran", submission=family(2, 8), limits=LIMITS)
    assert (line.end, line.score) == ("ok", 1), line


def test_process_start_without_permission_fails(bench: Bench) -> None:
    line = bench.one(TWO_PHASES, given="21\n", answer="42", limits=LIMITS)
    assert (line.end, line.processes) == ("exit", 0)


# `report` prints whether the program got or was refused a thing.
TRIES = (
    START + 'void report(const char* what, bool got) { printf("%s %s\\n", what, got ? "got" : "refused"); }\n'
)


def told(source: str, answer: str, bench: Bench, processes: int = 3) -> None:
    submission = family(processes)
    line = bench.one(TRIES + source, answer=answer, submission=submission, limits=LIMITS, echo=1000)
    assert (line.end, line.output, line.score) == ("ok", "", 1)


def test_exited_processes_count_against_the_process_limit(bench: Bench) -> None:
    source = """
    int main() {
      int count = 0;
      for (int i = 0; i < 10; ++i) {
        const int child = fork();
        if (child == 0) _exit(0);
        if (child < 0 && errno != EAGAIN) return 1;
        if (child > 0) ++count, waitpid(child, nullptr, 0);
      }
      printf("%d", count);
    }
    """
    told(source, "2", bench)


def test_grandchild_processes_count_against_the_process_limit(bench: Bench) -> None:
    source = """
    int main() {
      if (fork() == 0) {
        const int inner = fork(), more = fork();
        _exit(inner == 0 || (inner > 0 && more < 0) ? 0 : 1);
      }
      int status;
      wait(&status);
      printf("%d %d", status, fork() < 0);
    }
    """
    told(source, "0 1", bench)


def test_fork_bomb_with_fork_permission_is_killed(bench: Bench) -> None:
    line = bench.one(START + "int main() { for (;;) fork(); }", submission=family(3), limits=LIMITS)
    assert (line.end, line.score, line.processes) == ("threads", 0, 3)


def test_clone_with_flags_other_than_fork_is_refused(bench: Bench) -> None:
    """The process must not share memory, stop its parent, or become another process's child."""
    source = """
    static long cloned(unsigned long flags) {
      const long pid = syscall(SYS_clone, flags, 0, 0, 0, 0);
      if (pid == 0) _exit(0);
      return pid;
    }
    int main() {
      for (const unsigned long more : std::initializer_list<unsigned long>{
               CLONE_VM, CLONE_VFORK, CLONE_PARENT, CLONE_FILES, CLONE_NEWPID, CLONE_NEWUSER, CLONE_THREAD,
               CLONE_PTRACE, 0x1000 /* PIDFD */, CLONE_FS})
        if (cloned(more | SIGCHLD) >= 0) printf("%lx got\\n", more);
      if (cloned(0) >= 0 || cloned(SIGUSR1) >= 0 || syscall(SYS_clone3, nullptr, 0) >= 0 || vfork() >= 0) puts("got");
      report("system", system("exit 7") == 7 << 8);
      report("popen", popen("exit 0", "r") != nullptr);
      fflush(stdout);
      const int child = fork();
      if (child == 0) _exit(0);
      report("fork", child > 0);
    }
    """
    told(source, "system refused\npopen refused\nfork got\n", bench, 2)


def test_signals_to_relatives_are_refused(bench: Bench) -> None:
    source = """
    int main() {
      const int parent = getpid(), child = fork();
      if (child == 0) {
        report("stop", kill(parent, SIGSTOP) == 0);
        report("end", kill(parent, SIGKILL) == 0 || kill(0, SIGKILL) == 0 || kill(-1, SIGKILL) == 0);
        report("thread", syscall(SYS_tgkill, parent, parent, SIGSTOP) == 0);
        report("trace", ptrace(PTRACE_ATTACH, parent, 0, 0) == 0 || ptrace(PTRACE_SEIZE, parent, 0, 0) == 0);
        char byte;
        report("memory", syscall(SYS_process_vm_readv, parent, &byte, 0, &byte, 0, 0) >= 0);
        report("priority", setpriority(PRIO_PROCESS, parent, 5) == 0 || nice(5) == 5);
        fflush(stdout);
        _exit(0);
      }
      waitpid(child, nullptr, 0);
      const int other = fork();
      if (other == 0) for (;;) pause();
      report("child", kill(other, SIGKILL) == 0 || ptrace(PTRACE_ATTACH, other, 0, 0) == 0);
      report("ignore", signal(SIGCHLD, SIG_IGN) != SIG_ERR);
      report("group", setsid() >= 0 || setpgid(0, 0) == 0);
      report("reaper", syscall(SYS_prctl, 36 /* PR_SET_CHILD_SUBREAPER */, 1, 0, 0, 0) == 0);
      fflush(stdout);
      _exit(0);
    }
    """
    actions = ["stop", "end", "thread", "trace", "memory", "priority", "child", "ignore", "group", "reaper"]
    told(source, "".join(f"{action} refused\n" for action in actions), bench)


AT_WORK = {
    "at the same time": "fork(); burn(60);",
    "a child that is not waited for": "if (fork()) for (;;) pause(); burn(60);",
    "one after the other": "if (fork()) { wait(nullptr); burn(60); } burn(0.05); _exit(0);",
    "an orphan": "if (fork()) for (;;) pause(); if (fork()) _exit(0); burn(60);",
}


@pytest.mark.parametrize("work", AT_WORK)
def test_cpu_time_of_all_processes_counts(bench: Bench, work: str) -> None:
    limits = PlanLimits(cpu_ms=80, wall_ms=20_000, hard_ms=600_000, memory=512 << 20)
    line = bench.one(by_word(START, AT_WORK), submission=family(3, 1, work), limits=limits)
    assert (line.end, line.score) == ("cpu", 0)
    assert line.cpu_us < 3_000_000, "killed when it was over the limit"


def test_cpu_time_of_ended_processes_counts(bench: Bench) -> None:
    source = """
    int main() {
      for (int i = 0; i < 2; ++i) { if (fork() == 0) { burn(0.05); _exit(0); } }
      while (wait(nullptr) > 0) {}
      if (fork() >= 0) return 1;
    }
    """
    line = bench.one(START + source, submission=family(3), limits=LIMITS)
    assert line.end == "ok" and line.cpu_us >= 100_000


FILL = """
static char* volatile block;
static char* fill(size_t size) { block = (char*)malloc(size); memset(block, 1, size); return block; }
"""


def test_memory_of_all_processes_counts(bench: Bench) -> None:
    source = FILL + "int main() { fork(); fork(); fill(30 << 20); for (;;) pause(); }"
    limits = PlanLimits(cpu_ms=20_000, wall_ms=20_000, memory=64 << 20)
    line = bench.one(START + source, submission=family(4), limits=limits)
    assert (line.end, line.score) == ("memory", 0)


def test_memory_shared_by_forked_processes_counts_once(bench: Bench) -> None:
    source = (
        FILL
        + """
    int main() {
      char* at = fill(40 << 20);
      if (fork() == 0) { usleep(200000); _exit(at[5]); }
      int status;
      wait(&status);
      printf("%d", WEXITSTATUS(status));
    }
    """
    )
    limits = PlanLimits(cpu_ms=20_000, wall_ms=20_000, memory=64 << 20)
    line = bench.one(START + source, answer="1", submission=family(2), limits=limits)
    assert (line.end, line.score) == ("ok", 1)
    assert line.memory < 64 << 20


def test_forked_processes_are_killed_when_the_first_process_exits(bench: Bench) -> None:
    """Their later output is lost."""
    source = (
        START + 'int main() { if (fork() == 0) { usleep(300000); puts("late"); _exit(0); } puts("early"); }'
    )
    line = bench.one(source, answer="early", submission=family(2), limits=LIMITS)
    assert (line.end, line.score) == ("ok", 1)


def test_forked_processes_that_all_wait_are_killed_as_idle(bench: Bench) -> None:
    limits = PlanLimits(cpu_ms=5000, wall_ms=500, hard_ms=5000)
    line = bench.one(START + "int main() { fork(); for (;;) pause(); }", submission=family(2), limits=limits)
    assert line.end == "wall"


def test_plan_permits_at_most_sixteen_processes(bench: Bench) -> None:
    result = bench.judge(TWO_PHASES, [("1", "2")], submission=family(17), limits=LIMITS)
    assert "submission.processes: a number from 1 to 16 expected" in result.boxed.stdout


def test_fork_permission_without_seccomp_is_a_judge_failure(bench: Bench) -> None:
    bare = replace(bench, layers=tuple(layer for layer in bench.layers if layer != "seccomp"))
    result = bare.judge(TWO_PHASES, [("1", "2")], submission=family(2), limits=LIMITS)
    assert "cannot be counted" in str(result.tests[0].failure)
