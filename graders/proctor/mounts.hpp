// What programs see of the host's files: mounts at the same paths, below another root.
#pragma once

#include <string>

#include "sys.hpp"

namespace mounts {

// A file, folder or link of the host that programs see at its own path.
struct HostPath {
  std::string path;
  std::string link;      // where a link leads; empty: it is none
  sys::Fd fd;            // of a file or folder; invalid: it is not there, or may not be reached
  bool is_tree = false;  // `fd` is a mount of its own that is attached nowhere yet
};

// Opens it as it is now, whatever is mounted over it later.
HostPath open_host_path(const std::string& path, bool is_tree = false);

// Shows it at the same path below `root`; passes over what is not there.
void bind_host_path(const std::string& root, const HostPath& path, bool read_only);

// Not called bind: an older library declares std::bind here, and takes the call for its own.
void bind_mount(const std::string& source, const std::string& target);

void make_read_only(const std::string& path);

std::string path_of_fd(const sys::Fd& fd);

}  // namespace mounts
