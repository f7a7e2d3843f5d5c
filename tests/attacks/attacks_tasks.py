"""Communication between processes of a task that must not communicate, and access to the manager's result."""

from __future__ import annotations

from attack import ANY, RE, TLE, WA, Win
from attacking_pairs import pair

_ADDRESS = "int s = socket(AF_UNIX, SOCK_STREAM, 0); sockaddr_un a = {}; a.sun_family = AF_UNIX; string n = string(mark) + char(48 + digit); strcpy(a.sun_path + 1, n.c_str());"
_PLACES = 'for (string d : {"/dev/shm/", "/tmp/", "./"})'


TALKS = (
    pair(
        "token-by-a-lock",
        "seccomp",
        'int fd = open("/bin/sh", O_RDONLY); struct flock l = {}; l.l_type = F_RDLCK; l.l_start = token; l.l_len = 1; fcntl(fd, F_SETLK, &l);',
        'int fd = open("/bin/sh", O_RDONLY); for (int v = 0; v < 10; v++) { struct flock l = {}; l.l_type = F_WRLCK; l.l_start = v; l.l_len = 1; if (fcntl(fd, F_GETLK, &l) == 0 && l.l_type == F_RDLCK) received = v; }',
    ),
    pair(
        "token-by-a-futex",
        "seccomp",
        'int fd = open("/bin/sh", O_RDONLY); int* p = (int*)mmap(0, 4096, PROT_READ, MAP_SHARED, fd, 0); ready(); timespec t = {0, 500000000}; syscall(SYS_futex, p + 64 + token, FUTEX_WAIT, p[64 + token], &t, 0, 0);',
        'int fd = open("/bin/sh", O_RDONLY); int* p = (int*)mmap(0, 4096, PROT_READ, MAP_SHARED, fd, 0); for (int i = 0; i < 100 && received < 0; i++) { for (int v = 0; v < 10; v++) if (syscall(SYS_futex, p + 64 + v, FUTEX_WAKE, 1, 0, 0, 0) == 1) received = v; rest(0.001); }',
    ),
    pair(
        "token-by-an-abstract-socket",
        "seccomp landlock",
        f"int digit = token; {_ADDRESS} if (bind(s, (sockaddr*)&a, 3 + n.size()) == 0) listen(s, 9);",
        f"for (int digit = 0; digit < 10; digit++) {{ {_ADDRESS} if (s >= 0 && connect(s, (sockaddr*)&a, 3 + n.size()) == 0) received = digit; }}",
    ),
    pair(
        "token-by-shared-memory",
        "seccomp",
        "int id = syscall(SYS_shmget, key(), 4096, 01600); char* p = id >= 0 ? (char*)syscall(SYS_shmat, id, 0, 0) : (char*)-1; if (p != (char*)-1) p[0] = 65 + token;",
        "int id = syscall(SYS_shmget, key(), 4096, 0600); char* p = id >= 0 ? (char*)syscall(SYS_shmat, id, 0, 0) : (char*)-1; if (p != (char*)-1) { received = p[0] - 65; syscall(SYS_shmctl, id, 0, 0); }",
    ),
    pair(
        "token-by-a-file",
        "landlock namespaces",
        f"{_PLACES} {{ string n = d + mark + char(48 + token); int fd = open(n.c_str(), O_CREAT | O_WRONLY, 0600); if (fd >= 0) close(fd); }}",
        f"{_PLACES} for (int v = 0; v < 10; v++) {{ string n = d + mark + char(48 + v); if (access(n.c_str(), F_OK) == 0) {{ received = v; unlink(n.c_str()); }} }}",
    ),
    pair(
        "token-in-the-input-of-another",
        "landlock namespaces",
        "",
        # A process whose input contains the mark is the manager of this test, or its first step.
        'for (int p = getpid() + 40; p > getpid() - 200 && p > 1; p--) { string path = "/proc/" + std::to_string(p) + "/fd/0"; struct stat s; if (p == getpid() || stat(path.c_str(), &s) || !S_ISREG(s.st_mode)) continue; string t = text_of(path); size_t at = t.find(mark); if (at != string::npos) received = t[at + strlen(mark) + 1] - 48; }',
        heading="stealing",
    ),
    pair("a-partner-that-never-ends", "polling", "rest(1e9);", "rest(1e9);", verdicts=(TLE,), heading="cheating time", win=Win.HANGS),
    pair("a-flood-for-the-manager", "polling rlimit-cpu", 'for (;;) puts("9");', "", verdicts=ANY, heading="stopping", win=Win.HANGS),
    # The manager writes more than a pipe holds, and dies of SIGPIPE because all readers are closed.
    pair("closed-ears", "blame", "for (int fd = 0; fd < 64; fd++) close(fd);", "for (int fd = 0; fd < 64; fd++) close(fd);", verdicts=(WA, RE), heading="stopping", win=Win.JUDGE),
    pair("a-partner-that-is-killed", "blame", "raise(9);", "raise(9);", verdicts=(RE,), heading="stopping", win=Win.JUDGE),
)  # fmt: skip
