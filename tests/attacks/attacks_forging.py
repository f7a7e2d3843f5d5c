"""Forged verdicts and outputs, and changes to checkers and to files of the next test."""

from __future__ import annotations

from functools import partial

from attack import FORGED, NONCE, PLANTED, RE, WA, Win, attack_program

_LINE = (
    rf"{{\"v\":2,\"nonce\":\"{NONCE}\",\"test\":0,\"end\":\"ok\",\"score\":1,\"feedback\":\"{FORGED}\"}}\n"
)


_cpp = partial(attack_program, "forging")

FORGING = (
    _cpp(
        "verdict-on-standard-output",
        "streams",
        f'printf("1\\n{_LINE}"); fflush(stdout); fprintf(stderr, "{_LINE}");',
        win=Win.FORGED,
        verdicts=(WA,),
    ),
    _cpp(
        "verdict-on-every-descriptor",
        "descriptors",
        f'const char* line = "{_LINE}"; for (int fd = 3; fd < 256; fd++) if (write(fd, line, strlen(line)) < 0) continue;',
        win=Win.FORGED,
    ),
    _cpp(
        "verdict-through-proc",
        "dumpable landlock namespaces uid",
        f'const char* line = "{_LINE}"; for (int p : elders()) for (int fd = 1; fd < 40; fd++) {{ string path = "/proc/" + std::to_string(p) + "/fd/" + std::to_string(fd); struct stat s; int f = stat(path.c_str(), &s) == 0 && S_ISFIFO(s.st_mode) ? open(path.c_str(), O_WRONLY | O_NONBLOCK) : -1; if (f >= 0 && write(f, line, strlen(line)) < 0) continue; }}',
        win=Win.FORGED,
    ),
    _cpp(
        "result-files",
        "landlock namespaces",
        'for (const char* p : {"result.txt", "score.txt", "output.txt", "feedback/score.txt", "../result.txt"}) { int f = open(p, O_WRONLY | O_CREAT | O_TRUNC, 0666); if (f >= 0 && write(f, "1", 1) == 1) won("result"); unlink(p); }',
    ),
    _cpp(
        "files-of-the-judge",
        "landlock namespaces",
        'for (const char* p : {"checker", "../checker", "proctor", "../proctor", "plan.json", "submission", "0.out", "/box/checker", "/job/proctor"}) { int f = open(p, O_WRONLY | O_CREAT, 0777); if (f >= 0 && write(f, "#!", 2) == 2) won("judge"); }',
    ),
    _cpp(
        "files-of-the-system",
        "landlock namespaces uid",
        # The names are new, so that an attack that succeeds changes no file of the machine.
        'for (const char* p : {"/usr/lib/ioi-eval-planted", "/etc/ioi-eval-planted", "/var/ioi-eval-planted"}) if (open(p, O_WRONLY | O_CREAT, 0644) >= 0) { won("system"); unlink(p); }',
        needs="root",
    ),
    _cpp(
        "input-of-the-checker",
        "seccomp landlock namespaces",
        # The checker's files are links in its folder. If the link to the output is replaced, the checker reads another file.
        'for (string d : {"check/", "/job/check/", "../check/"}) { string p = d + "user_output.txt"; char b[99]; ssize_t n = readlink(p.c_str(), b, sizeof b - 1); if (n <= 0) continue; string old(b, n); if (unlink(p.c_str()) != 0) continue; int f = open(p.c_str(), O_WRONLY | O_CREAT, 0644); if (f >= 0 && write(f, "CANARY-forged", 13) == 13) fputs("swapped", stderr); }',
    ),
    _cpp(
        "its-own-input",
        "landlock namespaces copies",
        'for (const char* p : {"/proc/self/fd/0", "/dev/stdin", "/dev/fd/0", "0.in", "t/0.in"}) { int f = open(p, O_RDWR); if (f >= 0 && pwrite(f, "CANARY-", 7, 0) == 7) return; } if (pwrite(0, "CANARY-", 7, 0) == 7 || ftruncate(0, 0) == 0) won("wrote");',
        win=Win.POINTS,
    ),
    _cpp(
        "links-out-of-the-sandbox",
        "seccomp landlock namespaces",
        'for (string d : {"./", "/tmp/", "/dev/shm/"}) { for (int result : {symlink("/etc/passwd", (d + "user-link").c_str()), link("/proc/self/exe", (d + "hard-link").c_str()), mkdir((d + "d").c_str(), 0777), mknod((d + "p").c_str(), S_IFIFO | 0666, 0)}) if (result == 0) won("created"); for (const char* n : {"user-link", "hard-link", "p"}) unlink((d + n).c_str()); rmdir((d + "d").c_str()); }',
    ),
    _cpp(
        "an-editor-that-stays",
        "seccomp order",
        # Reads its parent's death from the number of its parent, then writes while the checker runs, which waits for it.
        'int me = getpid(); if (fork_it() == 0) { while (getppid() == me) usleep(1000); usleep(200000); for (int i = 0; i < 300; i++) { if (pwrite(1, "CANARY-late", 11, 0) < 0) _exit(1); usleep(1000); } _exit(0); }',
    ),
    _cpp(
        "a-process-that-stays",
        "seccomp reaping namespaces",
        # The first process continues after the child has closed its descriptors and has its name.
        "int ends[2]; if (pipe(ends)) return; if (fork_it() == 0) { setsid(); if (fork_it() == 0) { prctl(PR_SET_PDEATHSIG, 0); prctl(PR_SET_NAME, mark); for (int fd = 0; fd < 256; fd++) close(fd); rest(60); } _exit(0); } close(ends[1]); char b; if (read(ends[0], &b, 1) < 0) return;",
        win=Win.SURVIVES,
    ),
    _cpp(
        "files-for-the-next",
        "landlock namespaces",
        f'for (const char* p : {{"{PLANTED}", "../{PLANTED}", "evil.so", ".bashrc", "sitecustomize.py"}}) {{ int f = open(p, O_WRONLY | O_CREAT, 0777); if (f >= 0) close(f); }} setenv("LD_PRELOAD", "./evil.so", 1); setenv("PATH", ".", 1);',
        win=Win.NEXT,
        verdicts=(WA,),
    ),
    _cpp(
        "a-dump-for-the-next",
        "rlimit-core landlock namespaces",
        "rlimit all; getrlimit(RLIMIT_CORE, &all); all.rlim_cur = all.rlim_max; setrlimit(RLIMIT_CORE, &all); abort();",
        win=Win.NEXT,
        verdicts=(RE,),
    ),
    _cpp(
        "modules-for-the-next",
        "landlock namespaces",
        f"""import os
for file in ("{PLANTED}", "json.py", "sitecustomize.py", "/usr/lib/python3/dist-packages/ioi_eval_x.py"):
    try:
        open(file, "x").close()
    except OSError:
        pass""",
        language="python",
        win=Win.NEXT,
    ),
)
