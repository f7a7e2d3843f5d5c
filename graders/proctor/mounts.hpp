// Files of the host that programs see: mounts at the same paths, below another root.
#pragma once

#include <string>

#include "sys.hpp"

namespace mounts {

// A file, folder or link of the host that programs see at the same path.
struct HostPath {
  std::string path;
  std::string link;                // target of a link, or an empty string if the path is not a link
  sys::Fd fd;                      // descriptor of a file or folder; invalid if the path is missing or not accessible
  bool is_detached_mount = false;  // whether `fd` is a detached mount
};

// Opens a path of the host. Later mounts over the path do not change the result.
HostPath open_host_path(const std::string& path, bool opens_detached_mount = false);

// Mounts a path of the host at the same path below `root`. Missing paths are ignored.
void bind_host_path(const std::string& root, const HostPath& path, bool read_only);

// Bind-mounts `source`. It is not called `bind`, because old libraries declare std::bind, which would be called
// instead.
void bind_mount(const std::string& source, const std::string& target);

// Makes a mount and all mounts below it read-only.
void make_read_only(const std::string& path);

// Returns the path of an open descriptor below /proc/self/fd.
std::string make_fd_path(const sys::Fd& fd);

}  // namespace mounts
