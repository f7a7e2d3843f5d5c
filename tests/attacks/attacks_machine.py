"""State of the machine that a program changes and another program reads."""

from __future__ import annotations

from functools import partial

from attack import attack_program
from attacking_pairs import pair
from attacks_java import in_java

_cpp = partial(attack_program, "talking")

# Files that are rarely in memory, in the same order for every process. `fault` returns whether the first page had to be read.
_COLD = """struct Cold {
  std::vector<string> names;
  Cold() {
    dirent** all; int n = scandir("/usr/bin", &all, 0, alphasort);
    for (int i = 0; i < n && names.size() < 120; i++) { struct stat s; string p = string("/usr/bin/") + all[i]->d_name; if (lstat(p.c_str(), &s) == 0 && S_ISREG(s.st_mode) && s.st_size > 30000) names.push_back(p); }
  }
  static bool fault(const string& p) {
    int fd = open(p.c_str(), O_RDONLY); volatile char* m = (char*)mmap(0, 4096, PROT_READ, MAP_SHARED, fd, 0); rusage a, b;
    getrusage(RUSAGE_SELF, &a); char c = m[0]; (void)c; getrusage(RUSAGE_SELF, &b); munmap((void*)m, 4096); close(fd); return b.ru_majflt > a.ru_majflt;
  }
  static void forget(const string& p) { int fd = open(p.c_str(), O_RDONLY); syscall(SYS_fadvise64, fd, 0, 0, POSIX_FADV_DONTNEED); close(fd); }
} cold;"""
_A_FILE = 'int fd = open("/usr/bin/env", O_RDONLY); char* p = (char*)mmap(0, 4096, PROT_READ, MAP_SHARED, fd, 0); char c = *(volatile char*)p; (void)c;'
_IN_PROC = ", ".join(
    f'"/proc/{name}"'
    for name in (
        "loadavg", "stat", "meminfo", "vmstat", "uptime", "locks", "interrupts", "zoneinfo", "buddyinfo", "pressure/cpu", "net/unix",
        "sys/fs/inode-nr", "sys/fs/file-nr", "sys/fs/dentry-state", "sys/kernel/random/entropy_avail", "sys/kernel/ns_last_pid",
    )
)  # fmt: skip

MACHINE = (
    _cpp("free-memory-and-load", "seccomp", 'char b[256]; if (syscall(SYS_sysinfo, b) == 0) won("load, memory, processes");'),
    _cpp("free-space-of-a-file-system", "seccomp", 'char b[256]; if (syscall(SYS_statfs, "/usr", b) == 0 || syscall(SYS_fstatfs, 0, b) == 0) won("room");'),
    _cpp("huge-pages-that-are-left", "seccomp", 'if (mmap(0, 2 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, -1, 0) != MAP_FAILED || errno == ENOMEM) won("asked");'),
    _cpp("pages-that-are-forgotten", "seccomp", f'{_COLD} int n = 0; for (const string& p : cold.names) {{ Cold::fault(p); Cold::forget(p); n += Cold::fault(p); }} if (n > 20) won("forgotten");'),
    _cpp("pages-that-are-in-memory", "seccomp", f'{_A_FILE} unsigned char in = 0; if (syscall(SYS_mincore, p, 4096, &in) == 0) won("in memory");'),
    _cpp("pages-that-are-read-ahead", "seccomp", f'{_COLD} int n = 0; for (const string& p : cold.names) {{ Cold::forget(p); int fd = open(p.c_str(), O_RDONLY); syscall(SYS_readahead, fd, 0, 4096); rest(0.001); close(fd); n += !Cold::fault(p); Cold::forget(p); n -= !Cold::fault(p); }} if (n > 10) won("read");'),
    _cpp("pages-that-turn-cold", "seccomp", f'{_A_FILE} for (int advice : {{20, 21}}) if (madvise(p, 4096, advice) == 0) won("cold");'),
    _cpp("pages-that-are-merged", "seccomp", 'char* p = (char*)mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0); if (madvise(p, 4096, 12) == 0) won("merged");'),
    _cpp("files-that-are-written-back", "seccomp", 'if (syscall(SYS_sync_file_range, open("/usr/bin/env", O_RDONLY), 0, 0, 2) == 0 || syscall(SYS_syncfs, 0) == 0) won("written");'),
    _cpp("other-processes-exist", "seccomp", 'char b[128]; if (getpgid(getppid()) >= 0 || getsid(getppid()) >= 0 || syscall(SYS_sched_getaffinity, getppid(), sizeof b, b) > 0 || sched_getscheduler(getppid()) >= 0) won("there");'),
    _cpp("capabilities-of-other-processes", "seccomp", 'unsigned h[2] = {0x20080522, (unsigned)getppid()}, d[6]; if (syscall(SYS_capget, h, d) == 0) won("there");'),
    _cpp("numbers-of-inodes", "seccomp", 'int p[4] = {-1, -1, -1, -1}; syscall(SYS_pipe2, p, 0); p[2] = syscall(SYS_eventfd2, 0, 0); p[3] = syscall(SYS_timerfd_create, CLOCK_MONOTONIC, 0); struct stat s; for (int fd : p) if (fd >= 0 && fstat(fd, &s) == 0 && s.st_ino) won("number");'),
    _cpp("state-of-the-machine-in-proc", "landlock namespaces", f'for (const char* n : {{{_IN_PROC}}}) if (text_of(n).size()) won(n);'),
    _cpp("state-of-the-machine-in-sys", "landlock namespaces", 'for (const char* n : {"/sys/devices/system/cpu/online", "/sys/kernel/mm/ksm/pages_sharing", "/sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq", "/sys/block/vda/stat", "/sys/devices/system/node/node0/vmstat"}) if (text_of(n).size()) won(n);'),
    _cpp("entropy-that-is-left", "seccomp landlock", 'int bits; if (ioctl(open("/dev/urandom", O_RDONLY), 0x80045200, &bits) == 0) won("bits");'),
    _cpp("watching-a-folder", "seccomp", 'signal(SIGIO, SIG_IGN); if (fcntl(open("/usr/bin", O_RDONLY), F_NOTIFY, DN_ACCESS | DN_MULTISHOT) == 0) won("watching");'),
    in_java(
        "talking",
        "state-of-the-machine-in-java",
        "landlock namespaces",
        f'for (String name : new String[] {{{_IN_PROC}}}) try (InputStream file = new FileInputStream(name)) {{ if (file.read() >= 0) won(name); }} catch (IOException refused) {{ }}',
    ),
    in_java(
        "talking",
        "sockets-of-other-processes-in-java",
        "landlock namespaces",
        # The list contains the program's socket pairs. It contains other programs' sockets only without a network namespace.
        'for (String name : new String[] {"unix", "sockstat", "dev"}) try (Scanner lines = new Scanner(new File("/proc/self/net/" + name))) { while (lines.hasNextLine()) if (lines.nextLine().contains(mark)) won(name); } catch (IOException refused) { }',
    ),
)  # fmt: skip

MACHINE_PAIRS = (
    pair("token-by-a-lock-of-a-whole-file", "seccomp", 'static const char* all[] = {"/bin/sh", "/bin/ls", "/bin/cp", "/bin/mv", "/bin/rm", "/bin/ln", "/bin/dd", "/bin/df", "/bin/cat", "/bin/tar"}; flock(open(all[token], O_RDONLY), LOCK_EX);',
          'static const char* all[] = {"/bin/sh", "/bin/ls", "/bin/cp", "/bin/mv", "/bin/rm", "/bin/ln", "/bin/dd", "/bin/df", "/bin/cat", "/bin/tar"}; for (int v = 0; v < 10; v++) if (flock(open(all[v], O_RDONLY), LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK) received = v;'),
    pair("token-by-a-lock-of-a-description", "seccomp", 'int fd = open("/bin/sh", O_RDONLY); struct flock l = {}; l.l_type = F_RDLCK; l.l_start = token; l.l_len = 1; fcntl(fd, 37, &l);',
          'int fd = open("/bin/sh", O_RDONLY); for (int v = 0; v < 10; v++) { struct flock l = {}; l.l_type = F_WRLCK; l.l_start = v; l.l_len = 1; if (fcntl(fd, 36, &l) == 0 && l.l_type == F_RDLCK) received = v; }'),
    # Many files for each digit, because some files are in use. The forgotten files give the digit.
    pair("token-by-forgotten-pages", "seccomp", f'{_COLD} for (const string& p : cold.names) Cold::fault(p); for (size_t i = token; i < cold.names.size(); i += 10) Cold::forget(cold.names[i]);',
          f'{_COLD} int n[10] = {{}}, all = 0; for (size_t i = 0; i < cold.names.size(); i++) if (Cold::fault(cold.names[i])) n[i % 10]++, all++; for (int v = 0; v < 10; v++) if (n[v] >= 5 && all - n[v] <= n[v] / 2) received = v;'),
)  # fmt: skip
