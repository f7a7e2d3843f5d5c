// The supervisor of a confined program. It is the program's parent and the first process of its pid namespace; it
// measures the program and kills it.
#pragma once

#include "process.hpp"

namespace process {

// Starts the program, supervises it, writes a SupervisorReport to `report` and exits.
[[noreturn]] void supervise_and_exit(const sandbox::Sandbox& sandbox, const Program& program, int report_pipe);

// The fields of an `Ending` as plain bytes, sent through the report pipe between two copies of the same program.
struct SupervisorReport {
  KillReason kill_reason;
  int exit_code, signal;
  int64_t cpu_us, wall_us, memory_bytes, idle_us, waited_us, written_bytes;
  int process_count;
  bool is_stalled, is_killed_from_outside, is_machine_crowded;
  char failure[256];
};

}  // namespace process
