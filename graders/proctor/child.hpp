// The steps between the fork and the exec of a program: a copy of the proctor confines itself and becomes the program.
#pragma once

#include "process.hpp"

namespace process {

// Sets up the mounts of a fork server, which all its forked processes share: the submission's folder is visible, the
// job's folder and /proc are not.
void set_up_shared_mounts(const sandbox::Sandbox& sandbox);

// Returns whether a program must get permission for each new thread. Without that, many threads started between two
// checks could use up the per-user limit, which counts all of a user's tasks outside of a user namespace. And on a busy
// machine, threads that are about to exit would count as too many.
bool needs_thread_permission(const sandbox::Sandbox& sandbox, const Program& program);

// Confines the calling process and executes the program. Does not return.
// `start_pipe` leads to the supervisor. `listener_socket` sends the seccomp listener to the supervisor, if the program
// must ask before it starts processes or threads.
[[noreturn]] void confine_and_exec(
    const sandbox::Sandbox& sandbox, const Program& program, int proc_fd, int start_pipe, int listener_socket);

// Message that the child sends to its supervisor right before the program starts.
struct StartMessage {
  pid_t pid_in_proc;   // the child's pid in the supervisor's /proc
  int64_t started_us;  // time of the start, by sys::now_us
};

// Waits in the supervisor until the program runs, and returns the child's message. Fails with the step that failed if
// the program could not be started.
StartMessage wait_for_start_message(int start_pipe);

// Returns the seccomp listener that the child sent; invalid if it sent none. Called in the supervisor after
// `wait_for_start_message`.
sys::Fd receive_seccomp_listener(int socket);

// Closes all descriptors except the standard descriptors and `kept_fds`. It is a second safeguard: before a program
// starts, all other descriptors are marked close-on-exec.
void close_all_except(std::vector<int> kept_fds);

// Returns the caller's pid in the /proc that `proc_fd` refers to.
pid_t find_own_pid(int proc_fd);

}  // namespace process
