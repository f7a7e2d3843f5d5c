// Which files a confined program may touch, enforced by Landlock.
#pragma once

#include <string>
#include <vector>

#include "sys.hpp"

namespace landlock {

enum class Access {
  read,         // read and list
  run,          // read, list, execute
  write,        // read and write one existing file
  work,         // everything below a folder: create, write, remove, execute
};

// The ABI that this kernel offers; 0 where there is none.
int abi();

// A set of permissions; made before a process is started, put in force by that process.
class Rules {
 public:
  Rules();  // valid() is false where the kernel has no Landlock

  bool valid() const { return ruleset_.valid(); }
  void permit(int fd, Access access);                      // what the descriptor refers to; an unlinked file too
  void permit_path(const char* path, Access access);       // passes over paths that are not there
  // For the calling process, for good; empty or what went wrong.
  std::string enforce() const;

 private:
  sys::Fd ruleset_;
  int abi_ = 0;
};

}  // namespace landlock
