// The files that a confined program may access, enforced by Landlock.
#pragma once

#include <string>
#include <vector>

#include "sys.hpp"

namespace landlock {

enum class Access {
  read,   // read and list
  run,    // read, list, execute
  write,  // read and write one existing file
  work,   // everything below a folder: create, write, remove, execute
};

// Returns the Landlock ABI of this kernel; 0 if it has none.
int find_abi();

// A set of permissions. It is made before a process starts, and enforced by that process.
class Rules {
 public:
  Rules();  // valid() is false if the kernel has no Landlock

  bool valid() const { return ruleset_.valid(); }
  void permit(int fd, Access access);                 // also for an unlinked file
  void permit_path(const char* path, Access access);  // ignores missing paths
  // Applies the rules to the calling process permanently. Returns an empty string, or the error.
  std::string enforce() const;

 private:
  sys::Fd ruleset_;
  int abi_ = 0;
};

}  // namespace landlock
