// The files that a confined program may access, enforced by Landlock.
#pragma once

#include <string>
#include <vector>

#include "sys.hpp"

namespace landlock {

enum class Access {
  read,    // read files and list folders
  run,     // read, list and execute
  write,   // read and write an existing file
  modify,  // create, write, remove and execute everything below a folder
};

// Returns the Landlock ABI of this kernel, or 0 if it does not support Landlock.
int find_abi();

// The files that a process may access. The ruleset is created before the process starts, and the process enforces it on
// itself.
class Ruleset {
 public:
  Ruleset();  // valid() is false if the kernel does not support Landlock

  bool valid() const { return ruleset_fd_.valid(); }
  void permit_fd(int fd, Access access);              // permits access to an open file, even if it is unlinked
  void permit_path(const char* path, Access access);  // permits access to a path, unless it is missing
  // Applies the rules to the calling process permanently. Returns an empty string, or the error.
  std::string enforce_or_explain() const;

 private:
  sys::Fd ruleset_fd_;
  int abi_ = 0;
};

}  // namespace landlock
