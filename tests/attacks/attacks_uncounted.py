"""Memory that is not counted, system calls of newer kernels, and clocks of other processes."""

from __future__ import annotations

from attack import attack_program

# System calls that a computing program does not need. A newer libc tries some of them and has fallbacks.
_YOUNGER = ", ".join(
    str(number)
    for number in (
        *(428, 429, 430, 431, 432, 433),  # open_tree, move_mount, fsopen and the like
        *(434, 438, 440, 448),  # pidfd_open, pidfd_getfd, process_madvise, process_mrelease
        *(
            442,
            443,
            444,
            445,
            446,
            447,
            450,
        ),  # mount_setattr, quotactl_fd, Landlock, memfd_secret, memory policy
        *(451, 452, 453, 454, 455, 456),  # cachestat, fchmodat2, map_shadow_stack, three for futexes
        *(457, 458, 459, 460, 461, 462),  # statmount, listmount, three for security modules, mseal
        *(463, 464, 465, 466, 467, 468, 469),  # extended attributes, open_tree_attr, attributes of files
    )
)
# It removes each page from its resident set right after writing, and the data is still there afterwards.
_KEPT = """if (p == MAP_FAILED) return;
const size_t step = 8 << 20, all = 20 * step;
for (size_t at = 0; at < all; at += step) { memset(p + at, 1 + at / step, step); madvise(p + at, step, MADV_DONTNEED); }
for (size_t at = 0; at < all; at += step) if (p[at] != (char)(1 + at / step)) return;
won("twice the limit");"""


MORE = (
    attack_program(
        "stopping",
        "memory-out-of-sight",
        "seccomp",
        f"char* p = (char*)mmap(0, 160 << 20, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);\n{_KEPT}",
    ),
    attack_program(
        "stopping",
        "memory-of-zeroes",
        "landlock namespaces",
        f'char* p = (char*)mmap(0, 160 << 20, PROT_READ | PROT_WRITE, MAP_SHARED, open("/dev/zero", O_RDWR), 0);\n{_KEPT}',
    ),
    attack_program(
        "talking",
        "clocks-of-other-processes",
        "seccomp namespaces",
        'for (int p : elders()) { timespec t; if (p != getpid() && p > 1 && syscall(SYS_clock_gettime, ~p << 3 | 2, &t) == 0) won("watched"); }',
    ),
    attack_program(
        "talking",
        "calls-of-younger-kernels",
        "seccomp",
        f'for (int call : {{{_YOUNGER}}}) if (syscall(call, 0, 0, 0, 0, 0, 0) >= 0 || (errno != ENOSYS && errno != EPERM)) won("heard");',
    ),
    attack_program(
        "stopping",
        "another-personality",
        "seccomp",
        # Address randomisation, dumpability, adoption of orphans, precision of timers.
        'if (syscall(SYS_personality, 0x0040000) >= 0 || prctl(PR_SET_DUMPABLE, 1) == 0 || prctl(PR_SET_CHILD_SUBREAPER, 1) == 0 || prctl(PR_SET_TIMERSLACK, 1) == 0 || prctl(PR_SET_PDEATHSIG, 9) == 0) won("changed");',
    ),
    attack_program(
        "stopping",
        "a-filter-of-its-own",
        "seccomp",
        "char b[64] = {}; if (syscall(SYS_seccomp, 2, 0, b) == 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 || syscall(444, 0, 0, 1) > 0) won(\"filtering\");",
    ),
)  # fmt: skip
