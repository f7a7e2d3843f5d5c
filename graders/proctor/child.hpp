// The last steps before a program runs: from a copy of the proctor to a process that can do nothing but compute.
#pragma once

#include "process.hpp"

namespace process {

// Shows the caller, and all that it forks, what programs see that share their mounts: their folder, and neither the
// job's nor /proc.
void arrange_shared_mounts(const sandbox::Room& room);

// Whether each thread is asked for. Else a crowd that grew between two looks would take the threads of others, as the
// kernel counts all that a user runs, but in a user namespace of its own; and ended ones would crowd on a busy machine.
bool asks_for_threads(const sandbox::Room& room, const Program& program);

// Becomes the program; `news` is the pipe to the supervisor. `starts`: the socket that leads there, where the program
// asks for what it starts. Does not return.
[[noreturn]] void become(const sandbox::Room& room, const Program& program, int proc, int news, int starts);

// What the supervisor hears of a program that is about to run.
struct News {
  pid_t there;         // its pid as the supervisor's /proc counts it
  int64_t started_us;  // by sys::now_us
};

// The supervisor's side: waits until the program runs. Fails with the step that failed when it could not be started.
News await_start(int news);

// The supervisor's side of `starts`, once the program runs; invalid where nothing came.
sys::Fd take_starts(int socket);

// Closes all but the standard descriptors and those kept. Before a program starts everything else is marked
// close-on-exec already; this is the second lock.
void close_others(std::vector<int> kept);

// The caller's own pid as the /proc behind `proc` counts it.
pid_t own_pid(int proc);

}  // namespace process
