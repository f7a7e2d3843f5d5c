// Which system calls a confined program may make.
#pragma once

#include <string>
#include <sys/types.h>

namespace seccomp {

enum class Profile {
  submission,  // one process; threads if it was granted more than one
  tool,        // compilers, checkers: processes and files of their own, no new namespaces, no network
  stage,       // a stage of a job, which may itself start a proctor: namespaces, mounts, further filters
  flat_stage,  // the same where namespaces are not to be had: none may be tried either
};

// Works the filter out, so that programs started from here on need not.
void prepare(Profile profile, bool threads);

// Installs the filter for the calling process, for good. `self` is its pid as it sees it: the only target that a
// submission's kill may have. no_new_privs must be set. Returns an empty string or what went wrong.
std::string install(Profile profile, bool threads, pid_t self);

// Whether this kernel takes filters at all.
bool available();

}  // namespace seccomp
