// The watcher of one confined program: its parent, the first process of its pid namespace, the one that measures and
// kills.
#pragma once

#include "process.hpp"

namespace process {

// The body of the supervisor's process: starts the program, watches it, writes a Report and ends.
[[noreturn]] void supervise(const sandbox::Sandbox& sandbox, const Program& program, int report);

// What goes through the report pipe: an Outcome as plain bytes, between two copies of the same program.
struct SupervisorReport {
  KillReason kill_reason;
  int exit_code, signal;
  int64_t cpu_us, wall_us, memory_bytes, idle_us, waited_us, written_bytes;
  int process_count;
  bool is_stalled, is_killed_from_outside, is_crowded;
  char failure[256];
};

}  // namespace process
