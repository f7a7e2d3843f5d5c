// The watcher of one confined program: its parent, the first process of its pid namespace, the one that measures and
// kills.
#pragma once

#include "process.hpp"

namespace process {

// The body of the supervisor's process: starts the program, watches it, writes a Report and ends.
[[noreturn]] void supervise(const sandbox::Room& room, const Program& program, int report);

// What goes through the report pipe: an Outcome as plain bytes, between two copies of the same program.
struct Report {
  Killed killed;
  int code, signal;
  int64_t cpu_us, wall_us, memory, idle_us, waited_us, written;
  int processes;
  bool stalled, outside, crowded;
  char failure[256];
};

}  // namespace process
