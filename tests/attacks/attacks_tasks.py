"""Attacks where several processes play: how two of them talk who may not, and where the word of a manager can be found.

The first process knows a word, the second one gets full marks for it. Each attack is a pair: what the one does, and how the
other looks for what it did. The same pairs play Communication, TwoSteps and Interactive.
"""

from __future__ import annotations

from dataclasses import dataclass

from attack import ANY, PRELUDE, RE, TLE, WA, Win


@dataclass(frozen=True, kw_only=True)
class Pair:
    name: str
    first: str  # knows `word`, a digit, and `mark`
    second: str  # knows `mark`, and sets `found`
    heading: str = "talking"
    language: str = "c++"
    verdicts: tuple[str, ...] = (WA, RE)  # who is left by a manager that has seen enough may die of it
    layers: tuple[str, ...]
    win: Win = Win.POINTS


_ADDRESS = "int s = socket(AF_UNIX, SOCK_STREAM, 0); sockaddr_un a = {}; a.sun_family = AF_UNIX; string n = string(mark) + char(48 + digit); strcpy(a.sun_path + 1, n.c_str());"
_PLACES = 'for (string d : {"/dev/shm/", "/tmp/", "./"})'


def _pair(name: str, layers: str, first: str, second: str, **more: object) -> Pair:
    return Pair(name=name, first=first, second=second, layers=tuple(layers.split()), **more)  # type: ignore[arg-type]


PAIRS = (
    _pair(
        "word-by-a-lock",
        "seccomp",
        'int fd = open("/bin/sh", O_RDONLY); struct flock l = {}; l.l_type = F_RDLCK; l.l_start = word; l.l_len = 1; fcntl(fd, F_SETLK, &l);',
        'int fd = open("/bin/sh", O_RDONLY); for (int v = 0; v < 10; v++) { struct flock l = {}; l.l_type = F_WRLCK; l.l_start = v; l.l_len = 1; if (fcntl(fd, F_GETLK, &l) == 0 && l.l_type == F_RDLCK) found = v; }',
    ),
    _pair(
        "word-by-a-futex",
        "seccomp",
        'int fd = open("/bin/sh", O_RDONLY); int* p = (int*)mmap(0, 4096, PROT_READ, MAP_SHARED, fd, 0); ready(); timespec t = {0, 500000000}; syscall(SYS_futex, p + 64 + word, FUTEX_WAIT, p[64 + word], &t, 0, 0);',
        'int fd = open("/bin/sh", O_RDONLY); int* p = (int*)mmap(0, 4096, PROT_READ, MAP_SHARED, fd, 0); for (int i = 0; i < 100 && found < 0; i++) { for (int v = 0; v < 10; v++) if (syscall(SYS_futex, p + 64 + v, FUTEX_WAKE, 1, 0, 0, 0) == 1) found = v; rest(0.001); }',
    ),
    _pair(
        "word-by-an-abstract-socket",
        "seccomp landlock",
        f"int digit = word; {_ADDRESS} if (bind(s, (sockaddr*)&a, 3 + n.size()) == 0) listen(s, 9);",
        f"for (int digit = 0; digit < 10; digit++) {{ {_ADDRESS} if (s >= 0 && connect(s, (sockaddr*)&a, 3 + n.size()) == 0) found = digit; }}",
    ),
    _pair(
        "word-by-shared-memory",
        "seccomp",
        "int id = syscall(SYS_shmget, key(), 4096, 01600); char* p = id >= 0 ? (char*)syscall(SYS_shmat, id, 0, 0) : (char*)-1; if (p != (char*)-1) p[0] = 65 + word;",
        "int id = syscall(SYS_shmget, key(), 4096, 0600); char* p = id >= 0 ? (char*)syscall(SYS_shmat, id, 0, 0) : (char*)-1; if (p != (char*)-1) { found = p[0] - 65; syscall(SYS_shmctl, id, 0, 0); }",
    ),
    _pair(
        "word-by-a-file",
        "landlock namespaces",
        f"{_PLACES} {{ string n = d + mark + char(48 + word); int fd = open(n.c_str(), O_CREAT | O_WRONLY, 0600); if (fd >= 0) close(fd); }}",
        f"{_PLACES} for (int v = 0; v < 10; v++) {{ string n = d + mark + char(48 + v); if (access(n.c_str(), F_OK) == 0) {{ found = v; unlink(n.c_str()); }} }}",
    ),
    _pair(
        "word-in-the-input-of-another",
        "landlock namespaces",
        "",
        # Whoever has the mark in what it reads is the manager of this test, or its first step.
        'for (int p = getpid() + 40; p > getpid() - 200 && p > 1; p--) { string path = "/proc/" + std::to_string(p) + "/fd/0"; struct stat s; if (p == getpid() || stat(path.c_str(), &s) || !S_ISREG(s.st_mode)) continue; string t = text_of(path); size_t at = t.find(mark); if (at != string::npos) found = t[at + strlen(mark) + 1] - 48; }',
        heading="stealing",
    ),
    _pair("a-partner-that-never-ends", "polling", "rest(1e9);", "rest(1e9);", verdicts=(TLE,), heading="cheating time", win=Win.HANGS),
    _pair("a-flood-for-the-manager", "polling rlimit-cpu", 'for (;;) puts("9");', "", verdicts=ANY, heading="stopping", win=Win.HANGS),
    # The manager has more to say than a pipe holds, and dies where nobody listens.
    _pair("closed-ears", "blame", "for (int fd = 0; fd < 64; fd++) close(fd);", "for (int fd = 0; fd < 64; fd++) close(fd);", verdicts=(WA, RE), heading="stopping", win=Win.JUDGE),
    _pair("a-partner-that-is-killed", "blame", "raise(9);", "raise(9);", verdicts=(RE,), heading="stopping", win=Win.JUDGE),
)  # fmt: skip

_PLAY = """
static int word = -1, found = -1;
static void ready() { puts("ready"); fflush(stdout); }
static int key() { int k = 4; for (const char* c = mark; *c; c++) k = 31 * k + *c; return k & 0x7fffffff; }
"""
_TELL = """
void play_first(const char* named, const char* marked, int known) {
  strcpy(mark, marked); word = known;
  for (const auto& pair : pairs) if (!strcmp(pair.name, named)) pair.first();
}
int play_second(const char* named, const char* marked, int known) {
  strcpy(mark, marked); found = -1;
  for (const auto& pair : pairs) if (!strcmp(pair.name, named)) { pair.second(); return found; }
  return known;
}
"""
# As a process of a Communication task with its number, as the only one of an Interactive task without.
_MAIN = """
#ifndef STEPS
int main(int argc, char** argv) {
  char named[64], marked[64]; int known, rest_of_it;
  if (scanf("%63s %63s %d", named, marked, &known) != 3) return 3;
  if (argc < 2 || argv[1][0] == '1') {
    const int said = play_second(named, marked, known);
    if (scanf("%d", &rest_of_it) == 1) printf("%d\\n", said), fflush(stdout);
    return 0;
  }
  play_first(named, marked, known);
  ready();
  rest(0.3);
}
#endif
"""


def pairs_program(*, steps: bool = False) -> str:
    functions = "".join(
        f"static void first_{number}() {{ {pair.first} }}\nstatic void second_{number}() {{ {pair.second} }}\n"
        for number, pair in enumerate(PAIRS)
    )
    rows = ", ".join(f'{{"{pair.name}", first_{n}, second_{n}}}' for n, pair in enumerate(PAIRS))
    table = f"static const struct {{ const char* name; void (*first)(); void (*second)(); }} pairs[] = {{{rows}}};"
    return ("#define STEPS\n" if steps else "") + PRELUDE + _PLAY + functions + table + _TELL + _MAIN


# Tells the word to the first, waits until that is ready, and hears it from the second, to whom it has much to say. Only
# where nothing is attacked it tells the word to the second as well. As most managers it is not made for partners that hang up.
MANAGER = """#include <cstdio>
#include <cstring>
int main(int argc, char** argv) {
  char name[64], mark[64], line[64]; int word, said = -1;
  if (scanf("%63s %63s %d", name, mark, &word) != 3 || argc < 5) return 3;
  FILE *from[2], *to[2];
  for (int i = 0; i < 2; i++) from[i] = fopen(argv[1 + 2 * i], "r"), to[i] = fopen(argv[2 + 2 * i], "w");
  fprintf(to[0], "%s %s %d\\n", name, mark, word); fflush(to[0]);
  while (fgets(line, sizeof line, from[0]) && strcmp(line, "ready\\n")) {}
  fprintf(to[1], "%s %s %d %0100000d\\n", name, mark, strcmp(name, "behave") ? -1 : word, 0); fflush(to[1]);
  if (fscanf(from[1], "%d", &said) != 1) said = -1;
  puts(said == word ? "1" : "0");
}
"""
INTERACTOR = """#include <cstdio>
#include <cstring>
int main(int, char** argv) {
  char name[64], mark[64]; int word, said = -1;
  FILE* input = fopen(argv[1], "r");
  if (!input || fscanf(input, "%63s %63s %d", name, mark, &word) != 3) return 3;
  printf("%s %s %d %0100000d\\n", name, mark, strcmp(name, "behave") ? -1 : word, 0); fflush(stdout);
  if (scanf("%d", &said) != 1) said = -1;
  return said == word ? 0 : 1;
}
"""
STEPS = """#include <cstdio>
#include <cstring>
#include <unistd.h>
void play_first(const char*, const char*, int);
int play_second(const char*, const char*, int);
int main(int, char** argv) {
  char name[64], mark[64]; int word;
  const bool first = argv[1][0] == '0';
  FILE* pipe = fopen(argv[2], first ? "w" : "r");
  if (fscanf(first ? stdin : pipe, "%63s %63s %d", name, mark, &word) != 3) return 3;
  if (!first) { usleep(50000); printf("%d\\n", play_second(name, mark, word)); return 0; }
  fprintf(pipe, "%s %s %d\\n", name, mark, strcmp(name, "behave") ? -1 : word); fflush(pipe);
  play_first(name, mark, word);
  usleep(200000);
}
"""
