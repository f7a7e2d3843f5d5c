"""Attacks by two processes that must not communicate.

The first process has a token, and the second process gets full marks for it. Each attack is a pair of programs
for Communication, TwoSteps and Interactive: the first sends the token, and the second receives it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from attack import PRELUDE, RE, WA, Win


@dataclass(frozen=True, kw_only=True)
class Pair:
    name: str
    first: str  # uses `token`, a digit, and `mark`
    second: str  # uses `mark`, and sets `received`
    heading: str = "talking"
    language: str = "c++"
    verdicts: tuple[str, ...] = (WA, RE)  # RE: a process may be killed when the manager exits early
    layers: tuple[str, ...]
    win: Win = Win.POINTS


def pair(name: str, layers: str, first: str, second: str, **more: object) -> Pair:
    return Pair(name=name, first=first, second=second, layers=tuple(layers.split()), **more)  # type: ignore[arg-type]


_PLAY = """
static int token = -1, received = -1;
static void ready() { puts("ready"); fflush(stdout); }
static int key() { int k = 4; for (const char* c = mark; *c; c++) k = 31 * k + *c; return k & 0x7fffffff; }
"""
_TELL = """
void play_first(const char* named, const char* marked, int number) {
  strcpy(mark, marked); token = number;
  for (const auto& pair : pairs) if (!strcmp(pair.name, named)) pair.first();
}
int play_second(const char* named, const char* marked, int number) {
  strcpy(mark, marked); received = -1;
  for (const auto& pair : pairs) if (!strcmp(pair.name, named)) { pair.second(); return received; }
  return number;
}
"""
# A process of a Communication task has a number; the only process of an Interactive task has none.
_MAIN = """
#ifndef STEPS
int main(int argc, char** argv) {
  char named[64], marked[64]; int number, rest_of_it;
  if (scanf("%63s %63s %d", named, marked, &number) != 3) return 3;
  if (argc < 2 || argv[1][0] == '1') {
    const int reply = play_second(named, marked, number);
    if (scanf("%d", &rest_of_it) == 1) printf("%d\\n", reply), fflush(stdout);
    return 0;
  }
  play_first(named, marked, number);
  ready();
  while (getchar() != EOF) {}  // it stays as long as there is a manager
}
#endif
"""


def pairs_program(pairs: Sequence[Pair], *, steps: bool = False) -> str:
    functions = "".join(
        f"static void first_{number}() {{ {pair.first} }}\nstatic void second_{number}() {{ {pair.second} }}\n"
        for number, pair in enumerate(pairs)
    )
    rows = ", ".join(f'{{"{pair.name}", first_{n}, second_{n}}}' for n, pair in enumerate(pairs))
    table = f"static const struct {{ const char* name; void (*first)(); void (*second)(); }} pairs[] = {{{rows}}};"
    return ("#define STEPS\n" if steps else "") + PRELUDE + _PLAY + functions + table + _TELL + _MAIN


# Sends the token to the first process, waits until that is ready, and receives the token from the second, to
# which it also sends much output. If nothing is attacked, it sends the token to the second as well. Like most
# managers it does not expect partners that close their pipes.
MANAGER = """#include <cstdio>
#include <cstring>
int main(int argc, char** argv) {
  char name[64], mark[64], line[64]; int token, reply = -1;
  if (scanf("%63s %63s %d", name, mark, &token) != 3 || argc < 5) return 3;
  FILE *from[2], *to[2];
  for (int i = 0; i < 2; i++) from[i] = fopen(argv[1 + 2 * i], "r"), to[i] = fopen(argv[2 + 2 * i], "w");
  fprintf(to[0], "%s %s %d\\n", name, mark, token); fflush(to[0]);
  while (fgets(line, sizeof line, from[0]) && strcmp(line, "ready\\n")) {}
  fprintf(to[1], "%s %s %d %0100000d\\n", name, mark, strcmp(name, "behave") ? -1 : token, 0); fflush(to[1]);
  if (fscanf(from[1], "%d", &reply) != 1) reply = -1;
  puts(reply == token ? "1" : "0");
}
"""
INTERACTOR = """#include <cstdio>
#include <cstring>
int main(int, char** argv) {
  char name[64], mark[64]; int token, reply = -1;
  FILE* input = fopen(argv[1], "r");
  if (!input || fscanf(input, "%63s %63s %d", name, mark, &token) != 3) return 3;
  printf("%s %s %d %0100000d\\n", name, mark, strcmp(name, "behave") ? -1 : token, 0); fflush(stdout);
  if (scanf("%d", &reply) != 1) reply = -1;
  return reply == token ? 0 : 1;
}
"""
STEPS = """#include <cstdio>
#include <cstring>
#include <unistd.h>
void play_first(const char*, const char*, int);
int play_second(const char*, const char*, int);
int main(int, char** argv) {
  char name[64], mark[64]; int token;
  const bool first = argv[1][0] == '0';
  FILE* pipe = fopen(argv[2], first ? "w" : "r");
  if (fscanf(first ? stdin : pipe, "%63s %63s %d", name, mark, &token) != 3) return 3;
  if (!first) { usleep(50000); printf("%d\\n", play_second(name, mark, token)); return 0; }
  fprintf(pipe, "%s %s %d\\n", name, mark, strcmp(name, "behave") ? -1 : token); fflush(pipe);
  play_first(name, mark, token);
  usleep(200000);
}
"""
