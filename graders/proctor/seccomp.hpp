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
struct Granted {
  bool threads, forks;
};

// Works the filter out, so that programs started from here on need not.
void prepare(Profile profile, Granted granted);

// Installs the filter for the calling process, for good. `self` is its pid as it sees it: the only target that a
// submission's kill may have. no_new_privs must be set. Returns an empty string or what went wrong.
std::string install(Profile profile, Granted granted, pid_t self);

// Lets each start of another process by the caller, and by all that come of it, wait for an answer of whoever holds
// the descriptor; with `threads` that of a thread, too. Comes before the other filter, which decides what a start is.
// Invalid, with an errno, where the kernel cannot.
sys::Fd ask_for_starts(bool threads);

// The other end: who may start how many.
class Starts {
 public:
  // `most`: processes in all, whatever became of those before.
  Starts(sys::Fd asked, int most) : asked_(std::move(asked)), left_(most) {}

  struct Question {
    uint64_t id;
    bool thread;  // not a process
  };

  int descriptor() const { return asked_.get(); }
  // Who asks next; nobody where the one is gone.
  std::optional<Question> next() const;
  // Lets a thread start, and a process where any is left; else that fails with EAGAIN.
  void answer(const Question& question);
  int granted() const { return granted_; }
  // Asked for again and again, which costs us more than whoever asks.
  bool too_many() const { return refused_ > 16; }

 private:
  sys::Fd asked_;
  int left_, granted_ = 0, refused_ = 0;
};

// Whether this kernel takes filters at all.
bool available();

}  // namespace seccomp
