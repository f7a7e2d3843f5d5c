// The last steps before a program runs: from a copy of the proctor to a process that can do nothing but compute.
#pragma once

#include "process.hpp"

namespace process {

// Shows the caller, and all that it forks, what programs see that share their mounts: their folder, and neither the
// job's nor /proc.
void arrange_shared_mounts(const sandbox::Sandbox& sandbox);

// Whether each thread is asked for. Else a crowd that grew between two looks would take the threads of others, as the
// kernel counts all that a user runs, but in a user namespace of its own; and ended ones would crowd on a busy machine.
bool asks_before_threads(const sandbox::Sandbox& sandbox, const Program& program);

// Becomes the program; `news` is the pipe to the supervisor. `starts`: the socket that leads there, where the program
// asks for what it starts. Does not return.
[[noreturn]] void confine_and_exec(
    const sandbox::Sandbox& sandbox, const Program& program, int proc_fd, int start_pipe, int listener_socket);

// What the supervisor hears of a program that is about to run.
struct StartMessage {
  pid_t pid_in_proc;         // its pid as the supervisor's /proc counts it
  int64_t started_us;  // by sys::now_us
};

// The supervisor's side: waits until the program runs. Fails with the step that failed when it could not be started.
StartMessage wait_for_start(int start_pipe);

// The supervisor's side of `starts`, once the program runs; invalid where nothing came.
sys::Fd receive_listener(int socket);

// Closes all but the standard descriptors and those kept. Before a program starts everything else is marked
// close-on-exec already; this is the second lock.
void close_all_except(std::vector<int> kept_fds);

// The caller's own pid as the /proc behind `proc` counts it.
pid_t own_pid_in(int proc_fd);

}  // namespace process
