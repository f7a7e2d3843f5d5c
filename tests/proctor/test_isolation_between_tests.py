"""A submission can distinguish tests only by their input."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest
from harness import EVERYTHING, LANDLOCK_ALONE, LIMITS, NAMESPACES_ALONE, PYTHON, Bench
from support.proctor_protocol import PlanChecker, PlanLimits, PlanManager, PlanSubmission

from ioi_eval.store.resources import graders_folder

NEVER = "\0"  # an answer that no output equals, so that reports quote every output
SECRET = "secret-name"  # name of the tests' folder
TESTS = 4

# Prints all properties of its open files and of itself, except the time when an inode last changed: that is a time which
# every program may read.
PROBE = r"""#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fcntl.h>
#include <string>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
using std::string;
extern char** environ;
static FILE* out;
// Without addresses, and the numbers of mounts: the next one that is free on the machine.
static void show(const string& path) {
  FILE* file = fopen(path.c_str(), "r");
  char line[4096];
  while (file && fgets(line, sizeof line, file)) {
    const bool maps = path == "/proc/self/maps", mounts = path == "/proc/self/mountinfo";
    if (strncmp(line, "mnt_id", 6) != 0 && (!maps || strchr(line, '/'))) fprintf(out, "%s: %s", path.c_str(), maps ? strchr(line, ' ') : mounts ? strstr(line, " /") : line);
  }
  if (file) fclose(file);
}
static void link(const string& path) {
  char link[4096] = {};
  if (readlink(path.c_str(), link, sizeof link - 1) > 0) fprintf(out, "%s leads to %s\n", path.c_str(), link);
}
static void attributes(const char* name, int fd, const char* path, int flags) {
  struct stat s;
  if (fstatat(fd, path, &s, flags) != 0) return;
  fprintf(out, "%s: device %lx number %lu mode %o links %lu owner %u %u size %ld blocks %ld of %ld", name, s.st_dev, s.st_ino, s.st_mode, s.st_nlink, s.st_uid, s.st_gid, s.st_size, s.st_blocks, s.st_blksize);
  fprintf(out, " written %ld.%09ld", s.st_mtim.tv_sec, s.st_mtim.tv_nsec);
  alignas(8) unsigned char x[256] = {};
  if (syscall(SYS_statx, fd, path, flags, 0x7fff, x) == 0) fprintf(out, " made %lld.%09u mount %llu", *(long long*)(x + 0x50), *(unsigned*)(x + 0x58), *(unsigned long long*)(x + 0x90));
  struct { unsigned bytes; int type; unsigned char id[128]; } handle = {128, 0, {}};
  int mount = 0;
  if (syscall(SYS_name_to_handle_at, fd, path, &handle, &mount, flags) == 0) fprintf(out, " handle on %d", mount);
  fputs("\n", out);
}
int main(int argc, char** argv) {
  static char buffer[1 << 18], folder[4096];
  // Of two steps the first one writes to the pipe, and the second one copies that before its own words.
  const bool steps = argc == 3 && strlen(argv[1]) == 1, files = argc == 3 && !steps;
  const char* to = steps && argv[1][0] == '0' || files ? argv[2] : getenv("OUT");
  out = to ? fopen(to, "r+") : stdout;
  if (!out) out = fopen(to, "w");  // a pipe
  setvbuf(out, buffer, _IOFBF, sizeof buffer);
  for (int i = 0; i < argc; i++) fprintf(out, "argument %s\n", argv[i]);
  for (char** e = environ; *e; e++) fprintf(out, "environment %s\n", *e);
  fprintf(out, "started as %s in %s by %d %d\n", (char*)getauxval(AT_EXECFN), getcwd(folder, sizeof folder), getuid(), getgid());
  void* mapped = mmap(nullptr, 4096, PROT_READ, MAP_SHARED, 0, 0);
  for (int fd = 0; fd < 1024; fd++) {
    if (fcntl(fd, F_GETFD) < 0 || fd == fileno(out) && fd > 2) continue;
    const string number = std::to_string(fd);
    attributes(number.c_str(), fd, "", AT_EMPTY_PATH);
    fprintf(out, "%d: at %ld flags %x\n", fd, lseek(fd, 0, SEEK_CUR), fcntl(fd, F_GETFL));
    link("/proc/self/fd/" + number);
    show("/proc/self/fdinfo/" + number);
  }
  fputs(mapped == MAP_FAILED ? "not mapped\n" : "mapped\n", out);
  for (const char* name : {"maps", "mountinfo", "cgroup", "environ", "cmdline"}) show(string("/proc/self/") + name);
  link("/proc/self/exe"), link("/proc/self/cwd"), link("/proc/self/root");
  for (const char* path : {".", "input.txt", "out.txt"}) attributes(path, AT_FDCWD, path, 0);
  FILE* before = steps && argv[1][0] == '1' ? fopen(argv[2], "r") : nullptr;
  for (int c; before && (c = getc(before)) != EOF;) putc(c, out);
  fputs("end\n", out);
}
"""

PROBE_IN_PYTHON = r"""
import ctypes, os, sys
def probe(*arguments):
    libc, lines = ctypes.CDLL(None, use_errno=True), [repr((sys.argv, dict(os.environ), os.getcwd()))]
    for fd in range(256):
        try: s = os.fstat(fd)
        except OSError: continue
        lines.append(f"{fd}: {s[:7]} {s.st_mtime_ns} {s.st_blocks} {s.st_blksize} {s.st_rdev}")
        x = ctypes.create_string_buffer(256)
        if libc.syscall(332, fd, b"", 0x1000, 0x7fff, x) == 0: lines.append(f"statx {x.raw.hex()}")
        for path in (f"/proc/self/fd/{fd}", f"/proc/self/fdinfo/{fd}"):
            try: lines.append(f"{path} leads to {os.readlink(path)}")
            except OSError: pass
    return "\n".join(lines)
"""
# Copies the output of each process of the submission up to the line `end`.
HANDING_ON = r"""#include <cstdio>
#include <cstring>
int main(int argc, char** argv) {
  char line[4096];
  FILE* out = argc == 4 && strstr(argv[2], "output") ? fopen(argv[2], "w") : stdout;
  for (int i = 1; i == 1 || (out == stdout && i < argc); i += 2) {
    FILE* from = out == stdout ? fopen(argv[i], "r") : stdin;
    while (fgets(line, sizeof line, from) && strcmp(line, "end\n")) fputs(line, out);
  }
}
"""
WRONG = '#include <cstdio>\nint main(){puts("0");}'
MANAGER = PlanManager(argv=("manager",), limits=PlanLimits(cpu_ms=5000, wall_ms=60_000, memory=1 << 30))
JUDGED_BY_PROGRAMS = {
    "manager_source": HANDING_ON,
    "checker_source": WRONG,
    "checker": PlanChecker(kind="cms", argv=("checker",), limits=MANAGER.limits),
}
IN_FILES = PlanSubmission(argv=("submission",), env={"OUT": "out.txt"}, address_space=True)
WAYS: dict[str, dict[str, Any]] = {
    "started": {},
    "with proc": {"submission": PlanSubmission(argv=("submission",), proc=True)},
    "with streams": {"submission": PlanSubmission(argv=("submission",), streams=True)},
    "files": {"submission": IN_FILES, "input_file": "input.txt", "output_file": "out.txt"},
    "files, with proc": {"submission": msgspec.structs.replace(IN_FILES, proc=True), "input_file": "input.txt", "output_file": "out.txt"},
    "two steps": {"task_type": "TwoSteps"},
    "communication": {"task_type": "Communication", "manager": MANAGER, **JUDGED_BY_PROGRAMS},
    "communication of three": {"task_type": "Communication", "manager": MANAGER, "processes": 3, **JUDGED_BY_PROGRAMS},
    "communication by names": {"task_type": "Communication", "manager": MANAGER, "user_io": "fifo_io", **JUDGED_BY_PROGRAMS},
    "interactive": {"task_type": "Interactive", "manager": msgspec.structs.replace(MANAGER, kind="testlib"), **JUDGED_BY_PROGRAMS},
}  # fmt: skip


def probed(bench: Bench, source: str, folder: Path, **plan: Any) -> list[str]:
    """Return the output of a program on several tests, whose inputs have equal lengths."""
    where = bench.workshop / f"{SECRET}-{folder.name}-{folder.parent.name}"
    where.mkdir()
    where.chmod(0o755)
    tests = [(f"[{index}]\n", NEVER) for index in range(TESTS)]
    result = bench.judge(source, tests, by_path=where, **{"echo": 1 << 16, "limits": LIMITS, **plan})
    assert result.lines[-1].done and all(result.tests[index].output for index in range(TESTS)), result
    return [str(result.tests[index].output) for index in range(TESTS)]


def check_alike(texts: Sequence[str]) -> None:
    for index, output in enumerate(texts):
        assert "\n0: " in output
        assert set(output.splitlines()) ^ set(texts[0].splitlines()) == set()
        assert output == texts[0]
        assert SECRET not in output and f"{index}.in" not in output


@pytest.mark.parametrize("way", WAYS)
def test_program_sees_equal_surroundings_on_all_tests(bench: Bench, tmp_path: Path, way: str) -> None:
    check_alike(probed(bench, PROBE, tmp_path, **WAYS[way]))


FUNCTION = PlanSubmission(argv=(PYTHON, "harness.py", "submission.py", "probe"), files=("harness.py", "submission.py"), threads=4)  # fmt: skip


@pytest.mark.parametrize(
    ("layers", "forked"),
    [(EVERYTHING, True), (EVERYTHING, False), (NAMESPACES_ALONE, True), (LANDLOCK_ALONE, False)],
)
@pytest.mark.parametrize("kind", ["program", "program with streams", "function"])
def test_python_sees_equal_surroundings_on_all_tests(
    layers: Sequence[str],
    forked: bool,
    kind: str,
    workshop: Path,
    proctor: Path,
    library: bytes,
    tmp_path: Path,
) -> None:
    bench = Bench(
        workshop=workshop,
        proctor=proctor,
        compiled=lambda _: Path(),
        layers=layers,
        waiting=library if forked else None,
    )
    harness = (graders_folder() / "python" / "harness.py").read_bytes()
    source = PROBE_IN_PYTHON
    if kind == "function":
        plan: dict[str, Any] = {"task_type": "Function", "submission": FUNCTION}
    else:
        source += "print(probe())\n"
        submission = PlanSubmission(argv=(PYTHON, "submission.py"), files=("submission.py",), threads=4)
        plan = {"submission": msgspec.structs.replace(submission, streams=kind != "program")}
    outputs = probed(bench, source, tmp_path, language="python", extra={"harness.py": harness}, **plan)
    if kind == "function":
        outputs = [json.loads(output) for output in outputs]
    check_alike(outputs)


def test_control_groups_of_the_machine_are_hidden(bench: Bench) -> None:
    """In `/proc` a program can read only the control group that is the root of its namespace."""
    source = '#include <cstdio>\nint main(){FILE* f=fopen("/proc/self/cgroup","r"); for(int c; f && (c=getc(f))!=EOF;) putchar(c); puts("end");}'
    line = bench.one(
        source, answer=NEVER, submission=PlanSubmission(argv=("submission",), proc=True), echo=1 << 16
    )
    groups = (line.output or "").splitlines()
    assert groups.pop() == "end" and all(group.endswith(":/") for group in groups), line


READING = r"""#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
int main(int, char** argv) {
  char word[9] = {}, *mapped;
  struct stat s;
  fstat(0, &s);
  mapped = (char*)mmap(nullptr, s.st_size, PROT_READ, MAP_PRIVATE, 0, 0);
  printf("%d %ld %.5s", S_ISREG(s.st_mode), (long)s.st_size, mapped);
  printf(" %ld", (long)read(0, word, 2)), lseek(0, 1, SEEK_SET), read(0, word, 4), printf(" %s", word);
  printf(" %zd", pread(0, word, 5, 0)), printf(" %ld", (long)lseek(0, 0, SEEK_CUR));
  lseek(0, 0, SEEK_SET), freopen("/dev/stdin", "r", stdin), scanf("%8s", word), printf(" %s", word);
  printf(" %d %d", open("/dev/stdin", O_WRONLY) < 0, open("/dev/stdin", O_RDWR) < 0);
  printf(" %d\n", mmap(nullptr, 1, PROT_WRITE, MAP_SHARED, 0, 0) == MAP_FAILED && ftruncate(0, 0) != 0 && write(0, "x", 1) < 0);
}
"""


def test_standard_input_of_a_test_is_a_regular_file(bench: Bench) -> None:
    tests = [(f"word{index}", f"1 5 word{index} 2 ord{index} 5 5 word{index} 1 1 1") for index in range(3)]
    submission = PlanSubmission(argv=("submission",), streams=True)
    result = bench.judge(READING, tests, submission=submission, show=True)
    assert [result.tests[index].score for index in range(3)] == [1] * 3, result


def test_bytes_of_longer_earlier_input_are_not_readable_in_later_test(bench: Bench) -> None:
    """The rest of the last memory page of the input is zero too."""
    source = r"""#include <cstdio>
#include <sys/mman.h>
#include <sys/stat.h>
int main() {
  struct stat s;
  if (fstat(0, &s) == 0 && s.st_size % 4096) {
    const char* all = (const char*)mmap(nullptr, s.st_size, PROT_READ, MAP_SHARED, 0, 0);
    for (long at = s.st_size; at % 4096; at++) if (all[at]) puts("more");
  }
  for (int c; (c = getchar()) != EOF;) putchar(c), putc(c, stderr);
}
"""
    inputs = [
        "long" * 5000,
        "short",
        "",
        "a little longer",
        "as long",
        "as  not",
        "long" * 1025,
        "pages" * 1024,
    ]
    result = bench.judge(
        source, [(content, content) for content in inputs], checker=PlanChecker(kind="exact")
    )
    assert [result.tests[index].score for index in range(len(inputs))] == [1] * len(inputs), result
    copying = r"""#include <cstdio>
int main() {
  FILE *in = fopen("input.txt", "r"), *out = fopen("out.txt", "r+");
  for (int c; (c = getc(in)) != EOF;) putc(c, out);
  fputs("!", out);
}
"""
    with_files = {"input_file": "input.txt", "output_file": "out.txt", "checker": PlanChecker(kind="exact")}
    result = bench.judge(copying, [(content, f"{content}!") for content in inputs], **with_files)
    assert [result.tests[index].score for index in range(len(inputs))] == [1] * len(inputs), result


def test_test_without_output_is_judged_by_empty_output(bench: Bench) -> None:
    result = bench.judge("int main(){}", [("1", ""), ("2", "2"), ("3", "")])
    assert [result.tests[index].score for index in range(3)] == [1, 0, 1], result
    assert result.tests[1].feedback == "Output isn't correct"


def test_output_file_of_earlier_test_is_removed(bench: Bench) -> None:
    source = '#include <cstdio>\nint main(){int n; scanf("%d",&n); if(n==1) fputs("1",fopen("out.txt","w")); if(n==3) fopen("out.txt","w");}'
    result = bench.judge(source, [(f"{n}", f"{n}") for n in (1, 2, 3)], output_file="out.txt")
    assert [result.tests[index].score for index in range(3)] == [1, 0, 0], result
    feedback = [result.tests[index].feedback for index in (1, 2)]
    assert feedback == ["The program wrote no file out.txt", "Output isn't correct"]


def test_failed_input_copy_is_a_judge_failure(bench: Bench, tmp_path: Path) -> None:
    where = bench.workshop / tmp_path.parent.name
    where.mkdir(exist_ok=True)
    where.chmod(0o755)
    spec = {"limits": {"file_size": 2 << 20}}
    tests = [("1", "ok"), ("2" * (3 << 20), "ok"), ("3", "ok")]
    result = bench.judge('#include <cstdio>\nint main(){puts("ok");}', tests, by_path=where, spec=spec)
    assert [result.tests[index].score for index in (0, 2)] == [1, 1], result
    assert "cannot copy a file: File too large" in (result.tests[1].failure or ""), result
    assert not result.tests[1].provoked
