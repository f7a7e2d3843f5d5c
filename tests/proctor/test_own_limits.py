"""Resource limits that a submission may set for itself. Limits that are counted per user are refused."""

from __future__ import annotations

from harness import Bench

# Prints the limits that could be set, with the names of Python's `resource`.
SETS = """#include <cstdio>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>
int main() {
  const struct { const char* name; int number; } all[] = {{"AS", RLIMIT_AS}, {"CORE", RLIMIT_CORE}, {"CPU", RLIMIT_CPU}, {"DATA", RLIMIT_DATA},
    {"FSIZE", RLIMIT_FSIZE}, {"MEMLOCK", RLIMIT_MEMLOCK}, {"MSGQUEUE", RLIMIT_MSGQUEUE}, {"NOFILE", RLIMIT_NOFILE}, {"NPROC", RLIMIT_NPROC},
    {"SIGPENDING", RLIMIT_SIGPENDING}, {"STACK", RLIMIT_STACK}};
  for (const auto& limit : all) {
    rlimit current;
    if (getrlimit((__rlimit_resource)limit.number, &current) != 0 || syscall(SYS_prlimit64, getpid(), limit.number, nullptr, &current) != 0) return 1;
    const bool by_libc = setrlimit((__rlimit_resource)limit.number, &current) == 0, by_call = syscall(SYS_setrlimit, limit.number, &current) == 0;
    if (by_libc != by_call) return 2;
    if (by_libc) printf("%s ", limit.name);
  }
}
"""
IN_PYTHON = """import resource
for name in ("AS", "CORE", "CPU", "DATA", "FSIZE", "NOFILE", "STACK"):
    limit = getattr(resource, "RLIMIT_" + name)
    soft, hard = resource.getrlimit(limit)
    resource.setrlimit(limit, (soft if hard == resource.RLIM_INFINITY else hard, hard))
for name in ("NPROC", "SIGPENDING"):
    try:
        resource.setrlimit(getattr(resource, "RLIMIT_" + name), (1, 1))
    except (OSError, ValueError):
        print(name)
"""
ADVICE = """#include <fcntl.h>
#include <initializer_list>
#include <sys/mman.h>
int main() {
  char* p = (char*)mmap(nullptr, 1 << 16, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  for (int advice : {MADV_NORMAL, MADV_SEQUENTIAL, MADV_WILLNEED, MADV_FREE, MADV_DONTNEED})
    if (madvise(p, 1 << 16, advice) != 0) return 1;
  return posix_fadvise(0, 0, 0, POSIX_FADV_SEQUENTIAL);  // heard, if not followed
}
"""


def test_cpp_program_can_set_its_memory_and_file_limits(bench: Bench) -> None:
    line = bench.one(SETS, answer="AS CORE CPU DATA FSIZE NOFILE STACK")
    assert (line.end, line.score) == ("ok", 1), line


def test_python_program_can_set_its_memory_and_file_limits(bench: Bench) -> None:
    line = bench.one(IN_PYTHON, answer="NPROC\nSIGPENDING", language="python")
    assert (line.end, line.score) == ("ok", 1), line


def test_madvise_with_harmless_advice_succeeds(bench: Bench) -> None:
    assert bench.one(ADVICE, answer="").end == "ok"
