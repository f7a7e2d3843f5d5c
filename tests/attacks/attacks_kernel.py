"""Communication by side effects in the kernel: wake-ups, flushes, and programs that the kernel starts."""

from __future__ import annotations

from functools import partial

from attack import TLE, attack_program
from attacking_pairs import pair
from attacks_java import in_java

_cpp = partial(attack_program, "talking")

# A process that waits for a disk yields its processor, and getrusage counts how often.
_WAITED = 'rusage a, b; getrusage(RUSAGE_SELF, &a); for (int i = 0; i < 40; i++) { FLUSH; } getrusage(RUSAGE_SELF, &b); if (b.ru_nvcsw - a.ru_nvcsw > 20) won("flushed");'
_FILE = 'int fd = open("/usr/bin/env", O_RDONLY);'
_PAGE = '{ int fd = open("/bin/sh", O_RDONLY); page = (int*)mmap(0, 4096, PROT_READ, MAP_SHARED, fd, 0); close(fd); }'
# Words of a file that are 0: every process finds the same words.
_ZEROS = f"int* page; {_PAGE} std::vector<int*> zeros; for (int i = 0; i < 1024 && zeros.size() < 10; i++) if (page[i] == 0) zeros.push_back(page + i);"
_WAITERS = "struct { unsigned long value, address; unsigned flags, none; } all[10] = {}; for (size_t i = 0; i < zeros.size(); i++) all[i].address = (unsigned long)zeros[i], all[i].flags = 2;"
_SOON = "timespec t; clock_gettime(CLOCK_MONOTONIC, &t); t.tv_nsec += 1000000; if (t.tv_nsec > 999999999) t.tv_sec++, t.tv_nsec -= 1000000000;"

KERNEL = (
    _cpp("flushes-of-a-disk", "seccomp", f"{_FILE} {_WAITED.replace('FLUSH', 'fsync(fd)')}"),
    _cpp("flushes-of-data", "seccomp", f"{_FILE} {_WAITED.replace('FLUSH', 'fdatasync(fd)')}"),
    _cpp(
        "a-list-that-wakes-others",
        "seccomp",
        'static struct { void* next; long offset; void* pending; } list; list.next = &list; if (syscall(SYS_set_robust_list, &list, sizeof list) == 0) won("list");',
    ),
    _cpp(
        "waiting-at-a-word-of-a-file",
        "seccomp",
        f'{_ZEROS} timespec t = {{0, 1000000}}; if (syscall(SYS_futex, zeros[0], FUTEX_WAIT, 0, &t, 0, 0) == -1 && errno == ETIMEDOUT) won("waited");',
    ),
    _cpp(
        "waiting-at-a-word-by-a-mask",
        "seccomp",
        f'{_ZEROS} {_SOON} if (syscall(SYS_futex, zeros[0], FUTEX_WAIT_BITSET, 0, &t, 0, -1) == -1 && errno == ETIMEDOUT) won("waited");',
    ),
    _cpp(
        "waiting-at-many-words-of-a-file",
        "seccomp",
        f'{_ZEROS} {_WAITERS} {_SOON} if (syscall(449, all, 10, 0, &t, CLOCK_MONOTONIC) == -1 && errno == ETIMEDOUT) won("waited");',
    ),
    attack_program(
        "cheating time",
        "burns-as-another-program",
        "polling accounting",
        # 0.6 s in all by the clock of the kernel's own limit, which leaves it 2 s: a number of turns lasts longer on a slow machine.
        'burn(0.1); fflush(stdout); itimerval t = {{0, 0}, {0, 500000}}; setitimer(ITIMER_PROF, &t, nullptr); execl("/bin/sh", "sh", "-c", "trap \'echo CANARY-time; exit\' PROF; while :; do :; done", (char*)0);',
        verdicts=(TLE,),
    ),
    in_java(
        "stopping",
        "making-its-output-readable-in-java",
        "seccomp",
        'try { java.nio.file.Path out = java.nio.file.Path.of("/proc/self/fd/1"); java.nio.file.Files.setPosixFilePermissions(out, java.nio.file.attribute.PosixFilePermissions.fromString("rwx------")); System.out.println("kept"); System.out.flush(); try (InputStream file = new FileInputStream("/proc/self/fd/1")) { if (file.read() == \'k\') won("uncharged memory"); } } catch (IOException | SecurityException refused) { }',
    ),
)  # fmt: skip

KERNEL_PAIRS = (
    # A robust list names a futex word. When a program exits, the kernel wakes a process that waits on that word.
    pair(
        "token-by-the-end-of-a-program",
        "seccomp",
        f"{_ZEROS} static struct {{ void* next; long offset; void* pending; }} list; list.next = &list; list.pending = zeros[token]; syscall(SYS_set_robust_list, &list, sizeof list); ready(); rest(0.5); execl(\"/bin/true\", \"true\", (char*)0);",
        f"{_ZEROS} {_WAITERS} timespec t; clock_gettime(CLOCK_MONOTONIC, &t); t.tv_sec += 4; received = syscall(449, all, 10, 0, &t, CLOCK_MONOTONIC);",
    ),
)  # fmt: skip
