"""Communication by the kernel's counters for each user:

a process raises a counter, and another process detects it.
"""

from __future__ import annotations

from functools import partial

from attack import attack_program
from attacking_pairs import pair

_cpp = partial(attack_program, "talking")
_python = partial(attack_program, "talking", language="python")

# Blocks the signal: otherwise the process would be killed by the signal that it sends to itself.
_BLOCKED = "sigset_t s; sigemptyset(&s); sigaddset(&s, 40); sigprocmask(SIG_BLOCK, &s, 0);"
_ACCEPTED_LINE = "timespec t = {}; int n = 0; while (syscall(SYS_rt_sigtimedwait, &s, 0, &t, 8) == 40) n++;"
_TIMER = "sigevent e = {}; e.sigev_notify = SIGEV_NONE; int id;"

COUNTS = (
    _cpp("timers-that-are-counted", "seccomp rlimit-sigpending", f'{_TIMER} if (syscall(SYS_timer_create, CLOCK_MONOTONIC, &e, &id) == 0) won("timer");'),
    _cpp(
        "signals-that-wait",
        "seccomp rlimit-sigpending",
        f'{_BLOCKED} siginfo_t i = {{}}; i.si_code = -1; for (int k = 0; k < 3; k++) syscall(SYS_rt_sigqueueinfo, getpid(), 40, &i); {_ACCEPTED_LINE} if (n == 3) won("queue");',
    ),
    _cpp(
        "signals-that-wait-for-a-thread",
        "rlimit-sigpending",
        f'{_BLOCKED} for (int k = 0; k < 3; k++) syscall(SYS_tgkill, getpid(), getpid(), 40); {_ACCEPTED_LINE} if (n == 3) won("queue");',
    ),
    _cpp(
        "limits-that-are-counted",
        "seccomp",
        'for (int r : {6 /* NPROC */, 8 /* MEMLOCK */, 11 /* SIGPENDING */, 12 /* MSGQUEUE */}) { rlimit l; if (syscall(SYS_prlimit64, 0, r, 0, &l)) continue; if (l.rlim_cur > 0 && l.rlim_cur != RLIM_INFINITY) l.rlim_cur--; if (syscall(SYS_setrlimit, r, &l) == 0 || syscall(SYS_prlimit64, 0, r, &l, 0) == 0 || syscall(SYS_prlimit64, getpid(), r, &l, 0) == 0) won("a limit"); }',
    ),
    _cpp("signals-in-proc", "landlock namespaces", 'string t = text_of("/proc/self/status"); if (t.find("SigQ") != string::npos) won("queue");'),
    _cpp("signals-in-proc-if-descriptors-are-visible", "landlock namespaces", 'string t = text_of("/proc/self/status"); if (t.find("SigQ") != string::npos && access("/dev/stdin", F_OK) == 0) won("queue");'),
    _cpp("watches-that-are-counted", "seccomp", 'int e = syscall(SYS_epoll_create1, 0); if (e >= 0) won("watches");'),
    _python(
        "more-watches-than-any-program-needs",
        "rlimit-nofile",
        """import os, select
watches = 0
try:
    polls = [select.epoll() for _ in range(40)]
    for _ in range(230):
        for fd in os.pipe():
            for poll in polls:
                poll.register(fd)
                watches += 1
except OSError:
    pass
if watches > 12000:
    won("watches")""",
    ),
    _cpp("pipes-that-are-counted", "seccomp", 'int p[2]; if (syscall(SYS_pipe2, p, 0) == 0) won("pipe");'),
    _python(
        "pages-of-pipes",
        "seccomp",
        """import fcntl, os
try:
    if fcntl.fcntl(os.pipe()[1], 1031, 1 << 20):
        won("pages")
except OSError:
    pass""",
    ),
    _python(
        "the-size-of-a-pipe",
        "seccomp",  # which shrinks when the user has many
        """import fcntl, os
try:
    if fcntl.fcntl(os.pipe()[1], 1032):
        won("pages")
except OSError:
    pass""",
    ),
    _cpp("watches-on-files", "seccomp", 'if (syscall(SYS_inotify_init1, 0) >= 0) won("instance");'),
    _cpp("memory-that-is-locked-when-it-is-mapped", "rlimit-memlock", 'if (mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_LOCKED, -1, 0) != MAP_FAILED) won("locked");'),
)  # fmt: skip

COUNTING_PAIRS = (
    pair(
        "token-by-timers",
        "seccomp rlimit-sigpending",
        f"{_TIMER} for (int i = 0; i < token; i++) syscall(SYS_timer_create, CLOCK_MONOTONIC, &e, &id);",
        f"{_TIMER} rlimit l; getrlimit(RLIMIT_SIGPENDING, &l); for (int n = 1; n < 11 && received < 0; n++) {{ l.rlim_cur = n; setrlimit(RLIMIT_SIGPENDING, &l); if (syscall(SYS_timer_create, CLOCK_MONOTONIC, &e, &id) == 0) received = n - 1; }}",
    ),
    pair(
        "token-by-signals",
        "seccomp rlimit-sigpending",
        f"{_BLOCKED} siginfo_t i = {{}}; i.si_code = -1; for (int k = 0; k < token; k++) syscall(SYS_rt_sigqueueinfo, getpid(), 40, &i);",
        f"{_BLOCKED} siginfo_t i = {{}}; i.si_code = -1; rlimit l; getrlimit(RLIMIT_SIGPENDING, &l); for (int n = 1; n < 11 && received < 0; n++) {{ l.rlim_cur = n; setrlimit(RLIMIT_SIGPENDING, &l); if (syscall(SYS_rt_sigqueueinfo, getpid(), 40, &i) == 0) received = n - 1; }}",
    ),
    pair(
        "token-by-processes",
        "seccomp",
        "for (int i = 0; i < token; i++) if (fork_it() == 0) { prctl(PR_SET_PDEATHSIG, 9); for (;;) pause(); }",
        # Eight processes do not count: this pair, the manager, three watchers, the proctor, and the child of this loop.
        "rlimit l; getrlimit(RLIMIT_NPROC, &l); for (int n = 1; n < 30 && received < 0; n++) { l.rlim_cur = n; setrlimit(RLIMIT_NPROC, &l); int p = fork_it(); if (p == 0) _exit(0); if (p > 0) received = n - 8; }",
    ),
)  # fmt: skip
