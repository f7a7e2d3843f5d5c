// The last steps before a program runs: from a copy of the proctor to a process that can do nothing but compute.
#pragma once

#include "process.hpp"

namespace process {

// Becomes the program; `news` is the pipe to the supervisor. Does not return.
[[noreturn]] void become(const room::Room& room, const Program& program, int proc, int news);

// The supervisor's side: waits until the program runs, and returns its pid as the /proc behind `proc` counts it.
// Fails with the step that failed when it could not be started.
pid_t await_start(int news);

// The caller's own pid as the /proc behind `proc` counts it.
pid_t own_pid(int proc);

}  // namespace process
