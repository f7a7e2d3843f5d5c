"""A minimal testlib.h for tests, and programs that include it."""

from __future__ import annotations

from pathlib import Path

import pytest

from ioi_eval.problems.package import find_testlib

without_system_testlib = pytest.mark.skipif(
    find_testlib() is not None, reason="the compilers' folders have a testlib.h"
)

HEADER = r"""#pragma once
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
enum TResult { _ok = 0, _wa = 1, _pe = 2, _fail = 3 };
[[noreturn]] inline void quitf(TResult result, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  std::vfprintf(stderr, format, arguments);
  va_end(arguments);
  std::exit(result);
}
struct InStream {
  std::FILE* stream = nullptr;
  bool from_submission = false;
  long long readLong() {
    long long value;
    if (std::fscanf(stream, "%lld", &value) != 1) quitf(from_submission ? _pe : _fail, "no number");
    return value;
  }
};
inline InStream inf, ouf, ans;
inline InStream opened(const char* path) { return {std::fopen(path, "r"), false}; }
inline void registerTestlibCmd(int, char** argv) {
  inf = opened(argv[1]), ouf = opened(argv[2]), ans = opened(argv[3]);
  ouf.from_submission = true;
}
inline void registerInteraction(int, char** argv) {
  inf = opened(argv[1]), ouf = {stdin, true};
}
"""
# Accepts any number above the sum.
ABOVE = """#include "testlib.h"
int main(int argc, char **argv) {
  registerTestlibCmd(argc, argv);
  long long sum = inf.readLong() + inf.readLong();
  if (ouf.readLong() > sum) quitf(_ok, "above");
  quitf(_wa, "not above");
}
"""
# A number that the interactor finds by halving the range.
HIDDEN = """#include "testlib.h"
int main(int argc, char **argv) {
  registerInteraction(argc, argv);
  long long hidden = inf.readLong();
  for (int asked = 0; asked < 8; ++asked) {
    long long guess = ouf.readLong();
    std::puts(guess < hidden ? "<" : guess > hidden ? ">" : "=");
    std::fflush(stdout);
    if (guess == hidden) quitf(_ok, "found");
  }
  quitf(_wa, "asked too often");
}
"""
HALVES = """low, high, reply = 0, 100, ""
while reply != "=":
    middle = (low + high) // 2
    print(middle, flush=True)
    reply = input()
    low, high = (middle + 1, high) if reply == "<" else (low, middle - 1)
"""


def write_header(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "testlib.h").write_text(HEADER)
    return folder
