"""Attempts to stop the judge, the machine or the clock. An attack that succeeds exits soon."""

from __future__ import annotations

from functools import partial

from attack import ANY, MLE, OLE, RE, TLE, WA, Win, attack_program

_cpp = partial(attack_program, "stopping", verdicts=ANY)
_python = partial(_cpp, language="python")

STOPPING = (
    _cpp(
        "kill-those-above",
        "seccomp landlock namespaces",
        # Signals all processes only if it is sure to fail.
        "if (wild[0] == '1') for (int s : {9, 19, 15, 1, 2}) { kill(-1, s); for (int p = 1; p < 400; p++) if (p != getpid()) { kill(p, s); syscall(SYS_tgkill, p, p, s); syscall(SYS_tkill, p, s); } } auto all = elders(); for (size_t i = all.size(); i-- > 0;) { kill(all[i], 9); syscall(SYS_tgkill, all[i], all[i], 19); }",
        win=Win.JUDGE,
    ),
    _cpp(
        "kill-the-group",
        "seccomp landlock session",
        "kill(0, 9);",
        win=Win.JUDGE,
        verdicts=(WA, RE),
    ),
    _cpp(
        "signals-by-other-roads",
        "seccomp landlock namespaces",
        "for (int p : elders()) { siginfo_t i; memset(&i, 0, sizeof i); i.si_signo = 9; i.si_code = -1; syscall(SYS_rt_sigqueueinfo, p, 9, &i); syscall(424, syscall(434, p, 0), 9, 0, 0); }",
        win=Win.JUDGE,
    ),
    _cpp(
        "limits-of-those-above",
        "seccomp",
        # Changes nothing: it sets the values that it has read.
        'for (int p : elders()) { rlimit old; if (syscall(SYS_prlimit64, p, RLIMIT_NOFILE, 0, &old) == 0 && syscall(SYS_prlimit64, p, RLIMIT_NOFILE, &old, 0) == 0) won("limit"); if (setpriority(PRIO_PROCESS, p, 5) == 0) won("priority"); cpu_set_t m; if (syscall(SYS_sched_getaffinity, p, sizeof m, &m) > 0 && syscall(SYS_sched_setaffinity, p, sizeof m, &m) == 0) won("affinity"); if (syscall(SYS_ioprio_set, 1, p, 0) == 0) won("disk"); }',
    ),
    _cpp(
        "chmod-of-folders",
        "seccomp namespaces",
        'for (const char* p : {".", "check", "own", "t"}) { struct stat s; char b[999]; string path = string(getcwd(b, sizeof b) ? b : ".") + "/" + p; if (p[0] == \'.\') path = b; if (stat(path.c_str(), &s) == 0 && chmod(path.c_str(), 0) == 0) { won("closed"); chmod(path.c_str(), s.st_mode & 07777); } }',
    ),
    _cpp("fork-bomb", "seccomp", 'for (int i = 0; i < (wild[0] == \'1\' ? 100000 : 20); i++) { int p = fork_it(); if (p == 0) { rest(0.5); _exit(0); } if (p > 0 && i == 10) won("children"); }'),
    _cpp("vfork-and-clone3", "seccomp", 'int p = syscall(SYS_vfork); if (p == 0) _exit(0); if (p > 0) won("child");'),
    _cpp(
        "thread-bomb",
        "seccomp",
        'char* stack = (char*)malloc(1 << 16) + (1 << 15); struct R { static int f(void*) { syscall(SYS_exit, 0); return 0; } }; if (clone(R::f, stack, CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM, 0) > 0) won("thread");',
    ),
    # A process that waits like this is in the kernel's state for waiting on a disk.
    _cpp(
        "a-barrier-for-all",
        "seccomp",
        'for (int command : {1, 4, 2}) if (syscall(SYS_membarrier, command, 0) == 0) won("barrier");',
    ),
    _python(
        "a-thread-that-is-waited-for",
        "seccomp",
        """import ctypes
libc = ctypes.CDLL(None)
stack = ctypes.create_string_buffer(1 << 16)
top = ctypes.addressof(stack) + (1 << 16) & ~15
# The flags of a thread, and CLONE_VFORK.
if libc.clone(libc.usleep, ctypes.c_void_p(top), 0x00050F00 | 0x4000, ctypes.c_void_p(1000)) > 0:
    won("waited")""",
    ),
    _python(
        "thread-bomb-in-python",
        "polling",
        """import threading, time
for _ in range(40):
    threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
time.sleep(3)
won("threads")""",
    ),
    _python(
        "forks-in-python",
        "seccomp",
        """import os
for _ in range(20):
    try:
        if os.fork() == 0:
            os._exit(0)
        won("child")
    except OSError:
        pass""",
    ),
    _cpp("memory-file", "seccomp", 'int f = syscall(SYS_memfd_create, "x", 0); if (f >= 0) won("file");'),
    _cpp(
        "touching-memory",
        "polling accounting",
        'for (int i = 0; i < (wild[0] == \'1\' ? 44 : 104); i++) { char* p = (char*)malloc(1 << 20); if (!p) abort(); memset(p, 1, 1 << 20); } rest(3); won("touched");',
        verdicts=(MLE, RE),
    ),
    _cpp(
        "touching-shared-memory",
        "seccomp polling accounting",
        'char* p = (char*)mmap(0, 104ul << 20, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0); if (p == MAP_FAILED) return; memset(p, 1, 104ul << 20); rest(3); won("touched");',
        verdicts=(WA, MLE),
    ),
    _cpp(
        "deep-recursion",
        "polling accounting",
        'struct R { static int f(int n) { volatile char p[16384]; for (int i = 0; i < 16384; i += 4096) p[i] = n; return n == 0 ? p[0] : f(n - 1) + p[8192]; } }; volatile int end = R::f(wild[0] == \'1\' ? 2880 : 6800); (void)end; rest(3); won("deep");',
        verdicts=(MLE, RE),
    ),
    _cpp(
        "reserving-memory",
        "rlimit-as",
        'for (int i = 0; i < 100; i++) if (mmap(0, 1ul << 30, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0) == MAP_FAILED) return; won("reserved");',
        verdicts=(WA,),
    ),
    _cpp(
        "locking-memory",
        "seccomp rlimit-memlock",
        'char* p = (char*)mmap(0, 1 << 16, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0); if (syscall(SYS_mlock, p, 1 << 16) == 0) won("locked");',
        verdicts=(WA,),
    ),
    _cpp(
        "endless-output",
        "rlimit-fsize accounting",
        'won("first"); static char b[1 << 16]; memset(b, \'x\', sizeof b); for (int i = 0; i < 100 || wild[0] == \'1\'; i++) fwrite(b, 1, sizeof b, stdout);',
        verdicts=(OLE,),
    ),
    _cpp(
        "endless-errors",
        "rlimit-fsize accounting",
        'won("first"); fflush(stdout); static char b[1 << 16]; memset(b, \'x\', sizeof b); for (int i = 0; i < 100 || wild[0] == \'1\'; i++) fwrite(b, 1, sizeof b, stderr);',
        verdicts=(OLE,),
    ),
    _cpp(
        "sparse-output",
        "rlimit-fsize accounting",
        'won("first"); fflush(stdout); if (ftruncate(1, 64 << 20) != 0) return; lseek(1, 64 << 20, SEEK_SET); if (write(1, "x", 1) < 0) return;',
        verdicts=(OLE, RE),
    ),
    _cpp(
        "lifting-its-limits",
        "rlimit-fsize accounting",
        'rlimit none = {RLIM_INFINITY, RLIM_INFINITY}; for (int r = 0; r < 16; r++) setrlimit((__rlimit_resource)r, &none); prctl(PR_SET_PDEATHSIG, 0); won("first"); static char b[1 << 16]; for (int i = 0; i < 100; i++) fwrite(b, 1, sizeof b, stdout);',
        verdicts=(OLE,),
    ),
    _cpp(
        "filling-the-disk",
        "landlock namespaces",
        'for (const char* d : {".", "/tmp", "/dev/shm", "/box", "/var/tmp", "/run"}) { string p = string(d) + "/" + mark; int f = open(p.c_str(), O_CREAT | O_WRONLY, 0600); if (f < 0) continue; if (write(f, "full", 4) == 4) won("file"); close(f); unlink(p.c_str()); }',
        verdicts=(WA,),
    ),
    _cpp(
        "ignoring-every-signal",
        "polling accounting rlimit-cpu",
        "for (int s = 1; s < 65; s++) signal(s, SIG_IGN); sigset_t all; sigfillset(&all); sigprocmask(SIG_BLOCK, &all, 0); burn(enough); won(\"burnt\");",
        verdicts=(TLE,),
    ),
    # One call of the interpreter, in which it hears nothing.
    _python(
        "a-power-in-python",
        "polling accounting rlimit-cpu",
        """import time
n = 9
while time.process_time() < enough:
    n ** n ** (n if wild == "1" else 6)
won("worked")""",
    ),
    _cpp("sleeping", "polling accounting", 'rest(wild[0] == \'1\' ? 1e9 : 15); won("slept");', sleeps=True, verdicts=(TLE,)),
    _cpp(
        "stopping-itself",
        "polling",
        'raise(SIGSTOP); for (;;) pause();',
        sleeps=True, verdicts=(TLE, RE),
        win=Win.HANGS,
    ),
    _cpp(
        "a-demon",
        "seccomp reaping namespaces",
        'int ends[2]; if (pipe(ends)) return; if (fork_it() == 0) { setsid(); if (fork_it() == 0) { prctl(PR_SET_PDEATHSIG, 0); prctl(PR_SET_NAME, mark); for (int s = 1; s < 65; s++) signal(s, SIG_IGN); for (int fd = 0; fd < 256; fd++) close(fd); rest(60); } _exit(0); } close(ends[1]); char b; if (read(ends[0], &b, 1) < 0) return; puts("gone");',
        win=Win.SURVIVES,
    ),
    _cpp(
        "many-descriptors",
        "rlimit-nofile",
        'int last = 0; for (int i = 0; i < 2000; i++) { int fd = dup(0); if (fd < 0) break; last = fd; } if (last > 600) won("descriptors");',
        verdicts=(WA, RE),
    ),
    _python(
        "threads-that-sleep-for-ever",
        "polling accounting",
        """import threading, time
for _ in range(3):
    threading.Thread(target=time.sleep, args=(3600 if wild == "1" else 15,)).start()
time.sleep(3600 if wild == "1" else 15)
won("slept")""",
        sleeps=True, verdicts=(TLE,),
    ),
)  # fmt: skip
