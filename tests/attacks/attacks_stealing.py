"""Attempts to read secrets:

answers, environments, home folders, other sandboxes, memory of other processes.
"""

from __future__ import annotations

from functools import partial

from attack import ANY, Way, attack_program

_cpp = partial(attack_program, "stealing")
_python = partial(attack_program, "stealing", language="python")

STEALING = (
    _cpp(
        "answer-by-its-names",
        "unlinking landlock namespaces",
        'for (const char* p : {"correct_output.txt", "0.out", "t/0.out", "../0.out", "../t/0.out", "/box/t/0.out", "/job/t/0.out", "check/correct_output.txt", "/job/check/correct_output.txt", "plan.json", "../plan.json", "/job/plan.json"}) show(p);',
    ),
    _cpp("answer-by-its-path", "landlock namespaces", "show(answer);"),
    _cpp(
        "size-of-the-answer",
        "copies namespaces",
        # The path of the program or of its input leads to the files next to it: how long is the answer?
        'char b[4096]; struct stat s; for (const char* p : {"/proc/self/fd/0", "/proc/self/exe"}) { ssize_t n = readlink(p, b, sizeof b - 1); if (n < 3 || b[0] != \'/\') continue; string path(b, n); for (string other : {path.substr(0, path.rfind(\'.\')) + ".out", path.substr(0, path.rfind(\'/\')) + "/answer", path.substr(0, path.rfind(\'/\')) + "/0.out"}) if (other != path && stat(other.c_str(), &s) == 0) won("size"); }',
        by_path=True,
    ),
    _cpp(
        "name-of-its-input",
        "copies",
        'struct stat s; char b[4096] = {}; readlink("/proc/self/fd/0", b, sizeof b - 1); if (fstat(0, &s) == 0 && (s.st_nlink > 0 || s.st_mtime != 0 || (b[0] && strncmp(b, "/memfd:input", 12)))) won("a name");',
        by_path=True,
    ),
    _cpp(
        "creation-time-of-a-file",
        "seccomp",
        'char b[256]; if (syscall(SYS_statx, 0, "", AT_EMPTY_PATH, 0x7fff, b) == 0) won("statx");',
    ),
    _cpp(
        "folders-around",
        "landlock namespaces",
        'for (const char* p : {".", "..", "../..", "/", "/job", "/box", "/tmp", "/dev/shm", "/home", "/root", "/var", "/mnt", "/run", "/opt", "/srv"}) walk(p, 1); walk(string(neighbour).substr(0, string(neighbour).rfind(\'/\')), 0); if (opendir("/") && opendir("/tmp") && opendir("/var")) won("listed");',
    ),
    _cpp("home-folder", "landlock namespaces", "show(home);"),
    _cpp("sandbox-of-the-neighbour", "landlock namespaces uid", "show(neighbour);", needs="root"),
    _cpp("environment", "environment", "for (char** e = environ; *e; e++) puts(*e);"),
    _cpp(
        "environment-of-other-processes",
        "dumpable landlock namespaces",
        'for (int p : elders()) show("/proc/" + std::to_string(p) + "/environ");',
    ),
    _cpp(
        "inherited-descriptors",
        "descriptors",
        "for (int fd = 3; fd < 256; fd++) { struct stat s; char b[2048]; ssize_t n = fstat(fd, &s) == 0 && S_ISREG(s.st_mode) ? pread(fd, b, sizeof b, 0) : 0; if (n > 0) fwrite(b, 1, n, stdout); }",
    ),
    _cpp(
        "own-descriptors-by-name",
        "descriptors landlock namespaces",
        'for (int fd = 3; fd < 256; fd++) { struct stat s; string p = "/proc/self/fd/" + std::to_string(fd); if (stat(p.c_str(), &s) == 0 && S_ISREG(s.st_mode)) show_head(p); }',
    ),
    _cpp(
        "descriptors-of-other-processes",
        "dumpable landlock namespaces",
        'for (int p : elders()) for (int fd = 0; fd < 99; fd++) { struct stat s; string path = "/proc/" + std::to_string(p) + "/fd/" + std::to_string(fd); if (stat(path.c_str(), &s) == 0 && S_ISREG(s.st_mode)) show_head(path); }',
    ),
    _cpp(
        "folders-of-other-processes",
        "dumpable landlock namespaces",
        'for (int p : elders()) { string own = "/proc/" + std::to_string(p); for (string f : {"/cwd/answer", "/cwd/check/correct_output.txt", "/cwd/t/0.out"}) show(own + f); show(own + "/root" + home); walk(own + "/cwd", 0); }',
    ),
    _cpp(
        "memory-through-proc",
        "dumpable landlock namespaces",
        'for (int p : elders()) { int fd = open(("/proc/" + std::to_string(p) + "/mem").c_str(), O_RDONLY); char b[64]; if (fd >= 0 && pread(fd, b, sizeof b, 0x400000) > 0) won("memory"); if (open(("/proc/" + std::to_string(p) + "/maps").c_str(), O_RDONLY) >= 0 && text_of("/proc/" + std::to_string(p) + "/maps").size()) won("maps"); }',
    ),
    _cpp(
        "memory-by-a-call",
        "seccomp dumpable landlock namespaces",
        "for (int p : elders()) { char b[64]; iovec own = {b, sizeof b}, theirs = {(void*)0x400000, sizeof b}; if (syscall(SYS_process_vm_readv, p, &own, 1, &theirs, 1, 0) > 0) won(\"memory\"); }",
    ),
    _cpp(
        "ptrace",
        "seccomp dumpable landlock namespaces",
        'for (int p : elders()) if (ptrace(PTRACE_SEIZE, p, 0, 0) == 0) { won("attached"); ptrace(PTRACE_DETACH, p, 0, 0); }',
    ),
    _cpp(
        "descriptors-by-a-call",
        "seccomp dumpable landlock namespaces",
        "for (int p : elders()) { long handle = syscall(434, p, 0); for (int n = 0; handle >= 0 && n < 99; n++) { int fd = syscall(438, handle, n, 0); struct stat s; char b[2048]; ssize_t got = fd >= 0 && fstat(fd, &s) == 0 && S_ISREG(s.st_mode) ? pread(fd, b, sizeof b, 0) : 0; if (got > 0) fwrite(b, 1, got, stdout); } }",
    ),
    _cpp(
        "open-by-handle",
        "seccomp privileges uid namespaces",
        'struct { unsigned bytes; int type; unsigned char f[128]; } h = {128, 0, {}}; int id, m = open("/usr", O_RDONLY); if (m < 0) return; if (syscall(SYS_name_to_handle_at, AT_FDCWD, "/usr", &h, &id, 0) != 0) { h.bytes = 8; h.type = 1; h.f[0] = 2; } if (syscall(SYS_open_by_handle_at, m, &h, O_RDONLY | O_DIRECTORY) >= 0) won("handle");',
        needs="root",
    ),
    _cpp(
        "chroot",
        "seccomp privileges uid namespaces",
        'if (chroot("/usr") == 0) won("root");',
        needs="root",
    ),
    _cpp(
        "mounts",
        "seccomp privileges uid landlock namespaces",
        # In a new, private mount namespace: the machine is not changed.
        'if (syscall(SYS_unshare, 0x20000) == 0 && syscall(SYS_mount, "none", "/", 0, MS_REC | MS_PRIVATE, 0) == 0 && syscall(SYS_mount, "none", "/usr", "tmpfs", 0, 0) == 0) won("mounted");',
        needs="root",
    ),
    _cpp("namespace-of-its-own", "seccomp", 'if (syscall(SYS_unshare, 0x10000000) == 0) won("namespace");'),
    _cpp(
        "users-and-hosts",
        "landlock namespaces",
        'for (const char* p : {"/etc/passwd", "/etc/group", "/etc/hostname", "/etc/hosts"}) if (text_of(p).size()) won(p);',
    ),
    _cpp(
        "files-that-only-root-may-read",
        "landlock namespaces uid",
        'if (text_of("/etc/shadow").size()) won("shadow");',
        needs="root",
    ),
    _cpp(
        "programs-that-become-root",
        "privileges landlock namespaces seccomp",
        # This set-uid program prints the age of the user's password, which is in a file that only root may read.
        'execl("/usr/bin/passwd", "passwd", "-S", nullptr);',
        not_alone=("seccomp",),  # without no_new_privs the filter cannot be installed, so no program starts
    ),
    _python(
        "all-files-by-python",
        "landlock namespaces",
        """import os
folders, size = 300, 1 << 18  # bytes: an output over the limit scores 0
for base in (os.path.dirname(home), os.path.dirname(neighbour), ".", "..", "/job", "/box", "/dev/shm", "/tmp"):
    for folder, _, names in os.walk(base):
        folders -= 1
        for file in names[:50]:
            try:
                with open(os.open(os.path.join(folder, file), os.O_RDONLY | os.O_NONBLOCK), "rb") as f:
                    size -= sys.stdout.buffer.write(f.read(1024))
            except OSError:
                pass
        if folders < 0 or size < 0:
            break""",
        verdicts=ANY,
    ),
    _python(
        "descriptors-in-python",
        "descriptors rlimit-nofile",  # if inherited descriptors use up the limit, Python does not start
        """import os
for fd in range(3, 300):
    try:
        sys.stdout.buffer.write(os.pread(fd, 4096, 0))
    except OSError:
        pass""",
        only=Way.STARTED,  # the fork server has no secret open
    ),
    _python(
        "name-of-its-input-in-python",
        "copies",
        """import os
status = os.fstat(0)
if status.st_nlink or status.st_mtime:
    won("a name")""",
        by_path=True,
    ),
    _python(
        "environment-in-python",
        "environment",
        "import os\nprint(dict(os.environ))\nprint(open('/proc/self/environ').read() if os.access('/proc/self/environ', 4) else '')",
    ),
)  # fmt: skip
