// Which system calls a confined program may make.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <sys/types.h>

#include "sys.hpp"

namespace seccomp {

enum class Profile {
  submission,  // one process, more if they were granted; threads if it was granted more than one
  tool,        // compilers, checkers: processes and files of their own, no new namespaces, no network
  stage,       // a stage of a job, which may itself start a proctor: namespaces, mounts, further filters
  flat_stage,  // the same where namespaces are not to be had: none may be tried either
};

// Beyond one.
struct Permissions {
  bool may_use_threads, may_fork;
};

// Works the filter out, so that programs started from here on need not.
void prepare_filter(Profile profile, Permissions permissions);

// Installs the filter for the calling process, for good. `self` is its pid as it sees it: the only target that a
// submission's kill may have. no_new_privs must be set. Returns an empty string or what went wrong.
std::string install_filter(Profile profile, Permissions permissions, pid_t self);

// Lets each start of another process by the caller, and by all that come of it, wait for an answer of whoever holds
// the descriptor; with `threads` that of a thread, too. Comes before the other filter, which decides what a start is.
// Invalid, with an errno, where the kernel cannot.
sys::Fd install_start_listener(bool includes_threads);

// The other end: who may start how many.
class StartListener {
 public:
  // `most`: processes in all, whatever became of those before.
  StartListener(sys::Fd listener, int max_processes) : listener_(std::move(listener)), processes_left_(max_processes) {}

  struct StartRequest {
    uint64_t id;
    bool is_thread;  // not a process
  };

  int descriptor() const { return listener_.get(); }
  // Who asks next; nobody where the one is gone.
  std::optional<StartRequest> next_request() const;
  // Lets a thread start, and a process where any is left; else that fails with EAGAIN.
  void answer(const StartRequest& request);
  int granted_processes() const { return granted_processes_; }
  // Asked for again and again, which costs us more than whoever asks.
  bool has_too_many_refusals() const { return refused_processes_ > 16; }

 private:
  sys::Fd listener_;
  int processes_left_, granted_processes_ = 0, refused_processes_ = 0;
};

// Whether this kernel takes filters at all.
bool is_available();

}  // namespace seccomp
