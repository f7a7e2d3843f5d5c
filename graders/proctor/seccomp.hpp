// Filters of the system calls of confined programs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <sys/types.h>

#include "sys.hpp"

namespace seccomp {

enum class Profile {
  submission,  // a single process and thread, unless more are permitted
  tool,        // compilers, checkers: processes and files, but no new namespaces and no network
  stage,       // a stage of a job, which may start a proctor itself: namespaces, mounts, further filters
  flat_stage,  // a stage if namespaces are not available; it must not try to create them
};

// Whether a submission may have several threads, and several processes.
struct SubmissionPermissions {
  bool may_use_threads, may_fork;
};

// Builds and caches a filter, so that programs started from now on need not build it.
void prepare_filter(Profile profile, SubmissionPermissions permissions);

// Installs the filter for the calling process permanently. Returns an empty string, or the error. `own_pid` is its pid
// in its namespace, the only target that a submission's kill may have. no_new_privs must be set.
std::string install_filter_or_explain(Profile profile, SubmissionPermissions permissions, pid_t own_pid);

// Installs a filter that makes each process start by the caller and its descendants wait for an answer through the
// returned descriptor; with `includes_threads`, thread starts as well. Must be installed before the other filter, which
// decides which calls are starts at all. Invalid, with errno set, if the kernel does not support it.
sys::Fd install_process_start_listener(bool includes_threads);

// The supervisor's side of the listener. It decides whether the program may start another process or thread.
class ProcessStartListener {
 public:
  // `max_processes` is the total number of processes, including processes that have exited.
  ProcessStartListener(sys::Fd listener, int max_processes)
      : listener_(std::move(listener)), processes_left_(max_processes) {}

  struct StartRequest {
    uint64_t id;
    bool is_thread;  // true for a thread, false for a process
  };

  int fd() const { return listener_.get(); }
  // Returns the next request; nullopt if the process that asked is gone.
  std::optional<StartRequest> receive_request() const;
  // Permits a thread always, and a process if the limit is not reached. Otherwise the program's call fails with EAGAIN.
  void answer_request(const StartRequest& request);
  int started_process_count() const { return started_process_count_; }
  // Returns whether the program must be killed, because it continues to ask after refusals, which costs CPU time of the
  // supervisor.
  bool has_too_many_refused_processes() const { return refused_processes_ > 16; }

 private:
  sys::Fd listener_;
  int processes_left_, started_process_count_ = 0, refused_processes_ = 0;
};

// Returns whether this kernel supports filters.
bool are_filters_available();

}  // namespace seccomp
