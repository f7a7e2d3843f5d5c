#include "mounts.hpp"

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

namespace mounts {
namespace {

void make_parent_folders(const std::string& path) {
  for (size_t slash = path.find('/', 1); slash != std::string::npos; slash = path.find('/', slash + 1))
    mkdir(path.substr(0, slash).c_str(), 0755);
}

// Attaches a detached mount as a private mount, so that later mounts below the original path do not appear in it.
void attach_detached_mount(const HostPath& path, const std::string& target) {
  constexpr unsigned empty_path_flag = 4;  // MOVE_MOUNT_F_EMPTY_PATH
  if (syscall(sys::nr_move_mount, path.fd.get(), "", AT_FDCWD, target.c_str(), empty_path_flag) != 0 ||
      mount(nullptr, target.c_str(), nullptr, MS_REC | MS_PRIVATE, nullptr) != 0)
    sys::fail_errno("cannot mount " + path.path);
}

}  // namespace

std::string make_fd_path(const sys::Fd& fd) { return "/proc/self/fd/" + std::to_string(fd.get()); }

void bind_mount(const std::string& source, const std::string& target) {
  if (mount(source.c_str(), target.c_str(), nullptr, MS_BIND | MS_REC, nullptr) != 0)
    sys::fail_errno("cannot mount " + source);
}

void make_read_only(const std::string& path) {
  struct {
    uint64_t set, clear, propagation, userns;
  } attributes = {MS_RDONLY | MS_NOSUID, 0, 0, 0};
  if (syscall(sys::nr_mount_setattr, -1, path.c_str(), 0x8000 /* AT_RECURSIVE */, &attributes, sizeof attributes) == 0)
    return;
  // Before 5.12, each bind mount is remounted read-only separately, with the locked flags of its source.
  struct statvfs status;
  unsigned long flags = MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID;
  if (statvfs(path.c_str(), &status) == 0)
    flags |= status.f_flag & (ST_NODEV | ST_NOEXEC | ST_NOATIME | ST_NODIRATIME | ST_RELATIME);
  if (mount(nullptr, path.c_str(), nullptr, flags, nullptr) != 0) sys::fail_errno("cannot make " + path + " read-only");
}

HostPath open_host_path(const std::string& path, bool opens_detached_mount) {
  constexpr unsigned open_tree_clone_flag = 1;  // OPEN_TREE_CLONE
  constexpr unsigned recursive_flag = 0x8000;   // AT_RECURSIVE
  HostPath host_path;
  host_path.path = path;
  char link[4096];
  const ssize_t length = readlink(path.c_str(), link, sizeof link);
  if (length > 0) {
    host_path.link.assign(link, static_cast<size_t>(length));
    return host_path;
  }
  if (opens_detached_mount) {
    host_path.fd = sys::Fd(static_cast<int>(syscall(sys::nr_open_tree, AT_FDCWD, path.c_str(),
        open_tree_clone_flag | O_CLOEXEC | recursive_flag | AT_SYMLINK_NOFOLLOW)));
    host_path.is_detached_mount = host_path.fd.valid();
  } else {
    host_path.fd = sys::Fd(open(path.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
  }
  return host_path;
}

void bind_host_path(const std::string& root, const HostPath& path, bool read_only) {
  const std::string target = root + path.path;
  struct stat status;
  if (!path.link.empty()) {
    make_parent_folders(target);
    static_cast<void>(symlink(path.link.c_str(), target.c_str()) == 0);
    return;
  }
  if (!path.fd.valid() || fstat(path.fd.get(), &status) != 0) return;
  make_parent_folders(target);
  if (S_ISDIR(status.st_mode))
    mkdir(target.c_str(), 0755);
  else
    sys::Fd(open(target.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0444));
  if (path.is_detached_mount)
    attach_detached_mount(path, target);
  else
    bind_mount(make_fd_path(path.fd), target);
  if (read_only) make_read_only(target);
}

}  // namespace mounts
