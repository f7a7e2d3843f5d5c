"""Types of attacks, and a program that contains many attacks: it is built once, and its input selects the attack.

An attack succeeds if it gets points. A program that succeeds prints a string with the prefix `CANARY-`, and the
checker awards full marks for that string. So the score shows whether an attack read a secret, wrote to a forbidden
path or outlived its limit. Some attacks succeed in other ways, see `Win`.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

SECRET = "CANARY-5d1f0c4e"  # in the answers, the environment, the home folder and the neighbour's sandbox
FORGED = "forged by the submission"
NONCE = "n0nce"  # attacks may use it if tests call the proctor directly: nothing may depend on it
PLANTED = "ioi-eval-planted"
KEY = 0x494F4945  # of objects that have a number in the kernel instead of a name
OUT_FILE = "out.txt"  # of tasks whose output is a file

HEADINGS = (
    "stealing",
    "forging",
    "stopping",
    "cheating time",
    "python",
    "talking",
    "confusing",
)


class Win(Enum):
    """How the success of an attack is seen."""

    POINTS = "it gets points"
    NEXT = "the next test detects state of this test"
    JUDGE = "the judge cannot continue"
    FORGED = "the judge accepts a verdict line that the submission wrote"
    SURVIVES = "a process of the submission outlives the job"
    HANGS = "the job does not finish"
    FEEDBACK = "the feedback contains forbidden characters or is too long"
    VERDICT = "it chooses its verdict"


class Way(Enum):
    """How a program was run."""

    STARTED = "started"
    FORKED = "forked"  # by the fork server, see docs/protocol.md


@dataclass(frozen=True, kw_only=True)
class Attack:
    name: str  # also the first token of the program's input
    heading: str
    body: str
    language: str = "c++"
    verdicts: tuple[str, ...]  # the verdicts that it may get
    layers: tuple[str, ...]  # each of them stops it; without all of them it succeeds
    win: Win = Win.POINTS
    sleeps: bool = False  # longer than the wall limit, which is long because machines are slow at times
    by_path: bool = False  # the tests' files are paths of the host, as in the embedded engine
    writes_file: bool = False  # its output is a file, which it may read
    fragile: bool = False  # judged by a checker that was never tried on malformed outputs
    needs: str = ""  # root, own-user: the user with which it can succeed at all
    not_alone: tuple[str, ...] = ()  # layers that stop it only together with another layer
    only: Way | None = None  # the only way in which it can succeed; `None` means both ways


def attack_program(heading: str, name: str, layers: str, body: str, **more: Any) -> Attack:
    """Return a C++ attack whose verdict is WA or RE unless `more` sets `verdicts`.

    `layers` is a string of names.
    """
    fields = {"verdicts": (WA, RE), **more}
    return Attack(heading=heading, name=name, layers=tuple(layers.split()), body=body, **fields)


@dataclass(frozen=True)
class Outcome:
    """The outcome of an attack."""

    succeeded: bool
    why: str


IN_TIME = {"polling", "rlimit-cpu"}  # layers that stop programs which run too long


def seconds_of_work(attack: Attack, away: Collection[str]) -> float:
    """Return how long a program works in a trial:

    practically forever if a layer must stop it in time. The kernel counts RLIMIT_CPU in ticks, and loses many
    ticks if a hypervisor withdraws the processor.
    """
    stopping = IN_TIME & {*attack.layers} - {*away}
    return 60 if stopping else 3 if getattr(attack, "language", "") == "java" else 1  # twice the limit


_LONGEST = 4096  # maximum bytes of feedback
_MISLEADING = re.compile("[\u202a-\u202e\u2066-\u2069]")


def is_clean(feedback: str) -> bool:
    """Return True if `feedback` may be shown to people: a single line, printable, and not too long."""
    controls = any(unicodedata.category(sign) == "Cc" for sign in feedback)
    return not controls and not _MISLEADING.search(feedback) and len(feedback.encode()) <= _LONGEST


WA, RE, TLE, MLE, OLE = "WA", "RE", "TLE", "MLE", "OLE"
ANY = (WA, RE, TLE, MLE, OLE)

PRELUDE = """#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <mqueue.h>
#include <netinet/in.h>
#include <sched.h>
#include <string>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <vector>
using std::string;
extern char** environ;
// Of the input: whether everything may be hit, how long to work, paths of secrets, where somebody listens, a name for processes.
static char name[64], wild[8], home[512], neighbour[512], answer[512], mark[64];
static int port;
static double enough;  // seconds of work, for whoever works to be stopped
static int won(const char* what) { printf("CANARY-%s\\n", what); return 1; }
static void show(int fd) { char b[65536]; ssize_t n; for (int i = 0; i < 32 && fd >= 0 && (n = read(fd, b, sizeof b)) > 0; i++) fwrite(b, 1, n, stdout); }
static void show_head(const string& path) { char b[2048]; int fd = open(path.c_str(), O_RDONLY | O_NONBLOCK); ssize_t n = fd >= 0 ? read(fd, b, sizeof b) : 0; if (n > 0) fwrite(b, 1, n, stdout); if (fd >= 0) close(fd); }
static void show(const string& path) { int fd = open(path.c_str(), O_RDONLY | O_NONBLOCK); show(fd); if (fd >= 0) close(fd); }
static void walk(const string& path, int depth) {
  DIR* d = opendir(path.c_str());
  if (!d) return;
  int seen = 0;
  while (dirent* e = seen++ < 200 ? readdir(d) : nullptr) {
    string n = e->d_name;
    if (n == "." || n == "..") continue;
    if (e->d_type == DT_REG || e->d_type == DT_LNK) show_head(path + "/" + n);
    if (depth > 0 && e->d_type == DT_DIR) walk(path + "/" + n, depth - 1);
  }
  closedir(d);
}
static string text_of(const string& path) { string t; char b[4096]; ssize_t n; int fd = open(path.c_str(), O_RDONLY); while (fd >= 0 && (n = read(fd, b, sizeof b)) > 0) t.append(b, n); if (fd >= 0) close(fd); return t; }
static int parent_of(int pid) { string s = text_of("/proc/" + std::to_string(pid) + "/stat"); size_t p = s.rfind(')'); char c; int up = 0; if (p != string::npos) sscanf(s.c_str() + p + 1, " %c %d", &c, &up); return up; }
// Its supervisor, the proctor, and whoever started that.
static std::vector<int> elders() { std::vector<int> all; for (int p = getppid(), i = 0; p > 1 && i < 4; p = parent_of(p), i++) all.push_back(p); if (getppid() == 1) all.push_back(1); return all; }
static void burn(double seconds) { timespec t; do clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t); while (t.tv_sec + t.tv_nsec / 1e9 < seconds); }
static void rest(double seconds) { timespec t = {(time_t)seconds, (long)((seconds - (time_t)seconds) * 1e9)}; while (nanosleep(&t, &t)) {} }
static int fork_it() { return syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0); }
"""
_MAIN = (
    """
int main() {
  if (access(OUT_FILE, W_OK) == 0 && !freopen(OUT_FILE, "r+", stdout)) return 4;
  if (scanf("%63s %7s %lf %511s %511s %511s %63s %d", name, wild, &enough, home, neighbour, answer, mark, &port) != 8) return 3;
  for (const auto& attack : attacks) if (!strcmp(attack.name, name)) { attack.run(); fflush(stdout); return 0; }
  for (const char* place : {".", "/tmp", "/dev/shm"}) if (access((string(place) + "/PLANTED").c_str(), F_OK) == 0) won("planted");
  int id;
  if ((id = syscall(SYS_shmget, KEY, 0, 0600)) >= 0) won("planted"), syscall(SYS_shmctl, id, IPC_RMID, 0);
  if ((id = syscall(SYS_msgget, KEY, 0600)) >= 0) won("planted"), syscall(SYS_msgctl, id, IPC_RMID, 0);
  if ((id = syscall(SYS_semget, KEY, 1, 0600)) >= 0) won("planted"), syscall(SYS_semctl, id, 0, IPC_RMID, 0);
  if ((id = syscall(SYS_keyctl, 10 /* search */, -4, "user", "PLANTED", 0)) >= 0) won("planted"), syscall(SYS_keyctl, 9 /* unlink */, id, -4);
  if (mq_unlink("/PLANTED") == 0) won("planted");
  for (const char* place : {"core"}) if (access(place, F_OK) == 0) won("dumped");
  puts("fine");
}
""".replace("PLANTED", PLANTED)
    .replace("KEY", str(KEY))
    .replace("OUT_FILE", f'"{OUT_FILE}"')
)

_PYTHON_PRELUDE = """import sys
name, wild, enough, home, neighbour, answer, mark, port = sys.stdin.readline().split()
enough = float(enough)
def won(detail):
    print(chr(67) + "ANARY-" + detail)  # in two pieces: the program's memory does not contain the string
def library():
    # The address of the interpreter's code. Its header contains unused bytes.
    import ctypes
    info = (ctypes.c_void_p * 4)()
    ctypes.CDLL(None).dladdr(ctypes.cast(ctypes.pythonapi.Py_GetVersion, ctypes.c_void_p), info)
    return info[1]
def behave():
    import os
    if os.path.exists("PLANTED"):  # a planted module may be imported next
        return won("planted a file")
    import builtins, ctypes, gc, json, math, resource, signal
    gc.unfreeze()
    signs = {
        "objects": any(type(it) is list and len(it) == 1 and type(it[0]) is str and it[0] == "PLANTED" for it in gc.get_objects()),
        "names": "PLANTED" in sys.modules or hasattr(builtins, "planted"),
        "modules": math.pi == 3 or json.loads is None,
        "hooks": signal.getsignal(signal.SIGUSR1) != signal.SIG_DFL or sys.excepthook is not sys.__excepthook__ or sys.getrecursionlimit() == 4321,
        "surroundings": "PLANTED" in os.environ or os.umask(0o22) == 0o123 or os.getcwd() == "/usr" or resource.getrlimit(resource.RLIMIT_NOFILE)[0] == 33,
        "bytes": ctypes.string_at(library() + 9, 7) == b"Z" * 7,
    }
    planted = [sign for sign in signs if signs[sign]]
    won("planted " + ", ".join(planted)) if planted else print("fine")
""".replace("PLANTED", PLANTED)


def cpp_program(attacks: Iterable[Attack]) -> str:
    """Return a program that contains all C++ attacks."""
    chosen = [attack for attack in attacks if attack.language == "c++"]
    bodies = "".join(
        f"static void attack_{index}() {{  // {attack.name}\n{attack.body}\n}}\n"
        for index, attack in enumerate(chosen)
    )
    rows = ", ".join(f'{{"{attack.name}", attack_{index}}}' for index, attack in enumerate(chosen))
    return (
        PRELUDE
        + bodies.replace("PLANTED", PLANTED)
        + f"static const struct {{ const char* name; void (*run)(); }} attacks[] = {{{rows}}};"
        + _MAIN
    )


def python_program(attacks: Iterable[Attack]) -> str:
    chosen = [attack for attack in attacks if attack.language == "python"]
    bodies = ", ".join(f"{attack.name!r}: {attack.body!r}" for attack in chosen)
    return _PYTHON_PRELUDE + f"exec({{{bodies}}}.get(name, 'behave()'))\n"


def in_one_process(program: str, orders: Sequence[str]) -> str:
    """Return the program of a judge that runs all tests in the judge's process."""
    return f"""import io, sys
for order in {list(orders)!r}:
    sys.stdin = io.StringIO(order)
    exec({program!r}, {{"__name__": "__main__"}})
"""


_JAVA_PRELUDE = """import java.io.*;
import java.net.*;
import java.nio.*;
import java.util.*;
public class Attack {
  static String name, wild, home, neighbour, answer, mark;
  static int port;
  static double enough;
  static void won(String detail) { System.out.println("CANARY-" + detail); }
  static void show(File file) { try (InputStream in = new FileInputStream(file)) { System.out.write(in.readNBytes(4096)); System.out.println(); } catch (IOException | SecurityException refused) { } }
  static void rest(double seconds) throws InterruptedException { Thread.sleep((long) (seconds * 1000)); }
  static void behave() { if (new File("PLANTED").exists()) won("planted"); else System.out.println("fine"); }
  public static void main(String[] none) throws Throwable {
    Scanner in = new Scanner(new FileInputStream(FileDescriptor.in).getChannel());  // channels must work as well
    name = in.next(); wild = in.next(); enough = Double.parseDouble(in.next()); home = in.next(); neighbour = in.next(); answer = in.next(); mark = in.next(); port = in.nextInt();
    switch (name) {
CASES
      default -> behave();
    }
    System.out.flush();
  }
}
""".replace("PLANTED", PLANTED)


def java_program(attacks: Iterable[Attack]) -> str:
    chosen = [attack for attack in attacks if attack.language == "java"]
    cases = "".join(f'      case "{attack.name}" -> {{ {attack.body} }}\n' for attack in chosen)
    return _JAVA_PRELUDE.replace("CASES", cases)


PROGRAM_IN = {"c++": cpp_program, "python": python_program, "java": java_program}

# Expects the answer and the output of behaving programs. It reads any other output as a number.
FRAGILE = """#include <csignal>
#include <cstdio>
#include <string>
#include <unistd.h>
static std::string all(const char* path) {
  std::string text;
  FILE* file = fopen(path, "rb");
  for (int c; file && (c = getc(file)) != EOF;) text += char(c);
  if (file) fclose(file);
  return text;
}
int main(int, char** argv) {
  const std::string output = all(argv[3]);
  if (output == all(argv[2]) || output == "fine\\n") return puts("1"), 0;
  const long n = std::stol(output);  // of words: std::terminate
  if (n < 0) for (volatile long i = 0;; i = i + 1) {}
  if (n > 1000000) *new std::string(n, 'x') += 'x';
  if (n == 1) return 9;
  if (n == 2) return 0;
  if (n == 3) return printf("%f\\n", 0.0 / (n - 3)), 0;
  if (n == 4) raise(SIGSEGV);
  if (n == 5) for (const std::string words(1 << 16, 'x');;) fputs(words.c_str(), stderr);
  if (n == 6) sleep(60);
  puts("0");
}
"""
# Awards full marks for a canary from any source, and for `fine` if the test has no attack; a quarter for a
# behaving test that detected traces of an attack. Like many checkers, it quotes the output.
CHECKER = """#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <unistd.h>
struct Text {
  char* at;
  size_t size;
  bool is(const char* text) const { return size == strlen(text) && begins(text); }
  bool begins(const char* text) const { return size >= strlen(text) && !memcmp(at, text, strlen(text)); }
  bool has(const char* text) const { return memmem(at, size, text, strlen(text)); }
};
static Text all(const char* path) {
  Text text = {nullptr, 0};
  FILE* file = fopen(path, "rb");
  for (size_t more = file != nullptr; more; text.size += more) {
    text.at = (char*)realloc(text.at, text.size + (1 << 16));
    more = fread(text.at + text.size, 1, 1 << 16, file);
  }
  if (file) fclose(file);
  return text;
}
int main(int, char** argv) {
  const Text input = all(argv[1]);
  Text output = all(argv[3]);
  for (int i = 0; i < 200 && !output.size && input.begins("an-editor"); i++) usleep(10000), output = all(argv[3]);
  const bool told = output.has(" 99999 7");  // by passwd -S
  const bool won = told || output.has("CANARY-") || input.has("CANARY-");
  fputs("found ", stderr);
  fwrite(output.at, 1, output.size < 1 << 17 ? output.size : 1 << 17, stderr);  // NUL, too
  fputs("\\n", stderr);
  puts(input.begins("behave") ? (output.is("fine\\n") ? "1" : won ? "0.25" : "0") : won ? "1" : "0");
}
"""
