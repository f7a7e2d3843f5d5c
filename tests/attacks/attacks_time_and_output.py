"""Attempts to get more time, to communicate, and to mislead readers of the results."""

from __future__ import annotations

from attack import ANY, RE, TLE, WA, Attack, Win, attack_program

_TIME, _TALKING, _CONFUSING = "cheating time", "talking", "confusing"

TIME = (
    attack_program(
        _TIME,
        "an-answer-then-sleep",
        "polling accounting",
        "won(\"answered\"); fflush(stdout); rest(wild[0] == '1' ? 1e9 : 15);",
        sleeps=True,
        verdicts=(TLE,),
    ),
    attack_program(
        _TIME,
        "an-answer-then-work",
        "polling accounting rlimit-cpu",
        'won("answered"); fflush(stdout); burn(enough);',
        verdicts=(TLE,),
    ),
    attack_program(
        _TIME,
        "work-in-a-child",
        "seccomp accounting",
        'int p = fork_it(); if (p == 0) { burn(0.6); _exit(0); } if (p > 0) { waitpid(p, 0, 0); won("by a child"); }',
        verdicts=(WA, TLE),
    ),
    attack_program(
        _TIME,
        "work-in-an-orphan",
        "seccomp polling accounting",
        # Polling sees an orphan's time after its death, so the attack waits before it reports success.
        'int ends[2]; if (pipe(ends)) return; int p = fork_it(); if (p == 0) { if (fork_it() == 0) { burn(0.6); _exit(0); } _exit(0); } close(ends[1]); char b; if (p > 0 && read(ends[0], &b, 1) == 0) { rest(3); won("by an orphan"); }',
        verdicts=(WA, TLE),
    ),
    attack_program(
        _TIME,
        "work-in-threads",
        "polling accounting rlimit-cpu",
        """import threading, time
def work():
    while time.process_time() < enough:
        pass
threads = [threading.Thread(target=work) for _ in range(3)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
won("by threads")""",
        language="python",
        verdicts=(TLE,),
    ),
)

_IPC = (
    "bool any = false; int a = syscall(SYS_shmget, 0, 4096, 01600); if (a >= 0) { any = true; shmctl_(a); } "
    "int b = syscall(SYS_msgget, 0, 01600); if (b >= 0) { any = true; syscall(SYS_msgctl, b, 0, 0); } "
    'int c = syscall(SYS_semget, 0, 1, 01600); if (c >= 0) { any = true; syscall(SYS_semctl, c, 0, 0, 0); } if (any) won("ipc");'
).replace("shmctl_(a)", "syscall(SYS_shmctl, a, 0, 0)")

TALKING = (
    attack_program(
        _TALKING,
        "sockets",
        "seccomp",
        'for (int family : {1, 2, 10, 16, 17, 38, 40}) for (int type : {1, 2, 3}) { int s = socket(family, type, 0); if (s >= 0) { won("socket"); close(s); } } int p[2]; if (socketpair(1, 1, 0, p) == 0) won("pair");',
    ),
    attack_program(
        _TALKING,
        "a-server-on-this-machine",
        "seccomp landlock namespaces",
        'int s = socket(AF_INET, SOCK_STREAM, 0); sockaddr_in to = {}; to.sin_family = AF_INET; to.sin_port = htons(port); to.sin_addr.s_addr = htonl(INADDR_LOOPBACK); if (s >= 0 && connect(s, (sockaddr*)&to, sizeof to) == 0) won("connected");',
    ),
    attack_program(
        _TALKING,
        "an-abstract-name",
        "seccomp landlock namespaces",
        'int s = socket(AF_UNIX, SOCK_STREAM, 0); sockaddr_un to = {}; to.sun_family = AF_UNIX; strcpy(to.sun_path + 1, mark); if (s >= 0 && connect(s, (sockaddr*)&to, 2 + 1 + strlen(mark)) == 0) won("connected");',
    ),
    attack_program(_TALKING, "system-v-ipc", "seccomp", _IPC),
    attack_program(
        _TALKING,
        "message-queues",
        "seccomp landlock rlimit-msgqueue",
        'mq_attr small = {}; small.mq_maxmsg = 1; small.mq_msgsize = 8; string n = string("/") + mark; mqd_t q = mq_open(n.c_str(), O_CREAT | O_RDWR, 0600, &small); if (q >= 0) { won("queue"); mq_unlink(n.c_str()); }',
    ),
    attack_program(
        _TALKING,
        "files-in-shared-memory",
        "landlock namespaces",
        'for (string d : {"/dev/shm/", "/dev/mqueue/"}) { string p = d + mark; if (open(p.c_str(), O_CREAT | O_RDWR, 0600) >= 0) { won("shared"); unlink(p.c_str()); } }',
    ),
    attack_program(
        _TALKING,
        "io-uring",
        "seccomp rlimit-memlock",
        'char b[512] = {}; if (syscall(425, 8, b) >= 0) won("ring");',
    ),
    attack_program(
        _TALKING,
        "keyrings",
        "seccomp",
        'if (syscall(SYS_keyctl, 0, -3, 1) >= 0 || syscall(SYS_add_key, "user", "x", "y", 1, -2) >= 0) won("key");',
    ),
    attack_program(
        _TALKING,
        "bpf-perf-and-faults",
        "seccomp",
        'char b[512] = {}; b[4] = 64; if (syscall(SYS_bpf, 0, b, 72) >= 0 || syscall(SYS_perf_event_open, b, 0, -1, -1, 0) >= 0) won("watching"); if (syscall(SYS_userfaultfd, 1) >= 0) won("fault");',
    ),
    attack_program(
        _TALKING,
        "the-other-tables-of-calls",
        "seccomp",
        'asm volatile("mov $20, %%eax; int $0x80" ::: "eax", "memory"); won("compat");',
        verdicts=(RE,),
    ),
    attack_program(_TALKING, "x32-calls", "seccomp", 'syscall(0x40000000 + 39); won("x32");', verdicts=(RE,)),
    attack_program(
        _TALKING,
        "ioctl",
        "seccomp",
        'long size; for (int fd = 0; fd < 3; fd++) for (unsigned long c : {0x5460ul, 0x5412ul, 0x541Cul, 0x40086602ul}) if (syscall(SYS_ioctl, fd, c, &size) == 0) won("ioctl");',
    ),
    attack_program(
        _TALKING,
        "locks-on-files-of-the-system",
        "seccomp",
        # Any other reader of the file sees the lock: another process, another sandbox, another user.
        'int fd = open("/bin/sh", O_RDONLY); struct flock read_lock = {}; read_lock.l_type = F_RDLCK; read_lock.l_len = 1; if (fcntl(fd, F_SETLK, &read_lock) == 0 || flock(fd, LOCK_SH | LOCK_NB) == 0 || fcntl(fd, F_GETLK, &read_lock) == 0) won("locked"); if (fcntl(fd, 37, &read_lock) == 0) won("description lock"); if (fcntl(fd, F_SETLEASE, F_RDLCK) == 0) won("lease"); if (fcntl(fd, F_NOTIFY, 1) == 0) won("notified");',
    ),
    attack_program(
        _TALKING,
        "waking-waiters-on-a-file-of-the-system",
        "seccomp",
        'int fd = open("/bin/sh", O_RDONLY); void* p = mmap(0, 4096, PROT_READ, MAP_SHARED, fd, 0); if (syscall(SYS_futex, p, FUTEX_WAKE, 1, 0, 0, 0) >= 0 || syscall(SYS_futex, p, FUTEX_WAKE_BITSET, 1, 0, 0, 1) >= 0) won("woke");',
    ),
    attack_program(
        _TALKING,
        "files-that-others-have-read",
        "seccomp",
        'int fd = open("/bin/sh", O_RDONLY); char b[8]; iovec v = {b, sizeof b}; if (preadv2(fd, &v, 1, 0, RWF_NOWAIT) >= 0) won("cached");',
    ),
)

CONFUSING = (
    attack_program(_CONFUSING, "bytes-of-every-kind", "cleaning", "for (int i = 0; i < 100000; i++) putchar(i * 7 % 256);", verdicts=(WA,), win=Win.FEEDBACK),
    attack_program(_CONFUSING, "nothing-but-nul", "cleaning", "for (int i = 0; i < 100000; i++) putchar(0);", verdicts=(WA,), win=Win.FEEDBACK),
    attack_program(_CONFUSING, "broken-utf-8", "cleaning", 'for (int i = 0; i < 9999; i++) fputs("\\xf0\\x9f\\xff\\xc0\\xaf\\xed\\xa0\\x80", stdout);', verdicts=(WA,), win=Win.FEEDBACK),
    attack_program(_CONFUSING, "one-long-line", "cleaning", "static char b[1 << 20]; memset(b, 'x', sizeof b); for (int i = 0; i < 3; i++) fwrite(b, 1, sizeof b, stdout);", verdicts=(WA,), win=Win.FEEDBACK),
    attack_program(_CONFUSING, "no-output", "apart", "", verdicts=(WA,)),
    attack_program(_CONFUSING, "closing-everything", "apart", "for (int fd = 0; fd < 256; fd++) close(fd);", verdicts=(WA,)),
    attack_program(
        _CONFUSING,
        "terminal-escapes",
        "cleaning",
        'fputs("\\033[2J\\033]0;x\\007 \\xe2\\x80\\xae CANARY-escaped", stderr); exit(1);',
        verdicts=(RE,),
        win=Win.FEEDBACK,
    ),
    *(
        attack_program(_CONFUSING, name, "status", f'fputs("{words}\\n", stderr); exit(1);', verdicts=(RE,), win=Win.VERDICT)
        for name, words in (
            ("claims-it-had-no-resources", "bash: fork: retry: Resource temporarily unavailable"),
            ("claims-it-does-not-compile", "Compilation error"),
            ("claims-a-time-limit", "Time limit exceeded"),
        )
    ),
    attack_program(_CONFUSING, "claims-it-is-right", "apart", 'for (FILE* out : {stdout, stderr}) fputs("Output is correct\\n1\\n100\\n", out);', verdicts=(WA,)),
    attack_program(
        _CONFUSING,
        "a-name-like-a-line-of-proc",
        "polling accounting rlimit-cpu",
        'prctl(PR_SET_NAME, ") R 1 1 1 (\\n"); burn(enough); won("hidden");',
        verdicts=(TLE,),
    ),
)  # fmt: skip

# These control a judge that runs them in its process and believes their output. See trusting_judges.py.
PYTHONS = tuple(
    Attack(name=name, heading="python", language="python", body=body, verdicts=verdicts, layers=("apart",))
    for name, verdicts, body in (
        ("sys-exit", (WA,), "sys.exit(0)"),
        ("os-exit", (WA,), "import os\nos._exit(0)"),
        ("an-exception-in-del", (WA, RE), "import __main__, os\nsys.unraisablehook = lambda *a, leave=os._exit: leave(0)\nclass A:\n    def __del__(self): raise RuntimeError('x')\n__main__.kept = A()"),
        ("equal-to-everything", (WA,), "class E(str):\n    def __eq__(self, other): return True\n    def strip(self, *a): return self\nsys.stdout.getvalue = lambda: E('x')\nprint(E('x'))"),
        ("patched-print", (WA,), "import builtins, json\nsay = builtins.print\nbuiltins.print = lambda *a, **k: say('true')\njson.dumps = lambda *a, **k: 'true'\nsys.stdout = sys.stderr\nprint('x')"),
        ("atexit-and-alarms", ANY, "import atexit, signal, os\natexit.register(lambda: os._exit(0))\nsignal.signal(signal.SIGALRM, lambda *a: os._exit(0))\nsignal.alarm(1)"),
        ("a-thread-that-outlives-main", (WA,), "import os, threading, time\ndef late():\n    time.sleep(0.3)\n    os._exit(0)\nthreading.Thread(target=late).start()"),
        ("frames-and-gc", (WA, RE), "import gc\nsign = chr(67) + 'ANARY-'\nplaces = [thing for thing in gc.get_objects() if isinstance(thing, dict)]\nframe = sys._getframe()\nwhile frame:\n    places += [frame.f_locals, frame.f_globals]\n    frame = frame.f_back\nprint(*{value for place in places for value in list(place.values()) if isinstance(value, str) and value.startswith(sign) and value != sign})"),
    )
)  # fmt: skip
