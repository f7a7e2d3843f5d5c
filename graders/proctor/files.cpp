#include "files.hpp"

#include <algorithm>
#include <cstdlib>
#include <dirent.h>
#include <fcntl.h>
#include <map>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <vector>

namespace files {
namespace {

constexpr const char* fd_folder = "/proc/self/fd/";

// Returns the inherited descriptor that a link names; -1 for any other file.
int read_linked_fd(const std::string& link_path) {
  char link[64] = {};
  const ssize_t length = readlink(link_path.c_str(), link, sizeof link - 1);
  const size_t prefix_length = std::strlen(fd_folder);
  if (length <= static_cast<ssize_t>(prefix_length) || std::strncmp(link, fd_folder, prefix_length) != 0) return -1;
  return std::atoi(link + prefix_length);
}

// Returns all open descriptors, or nothing if /proc is not visible.
std::vector<int> list_open_descriptors() {
  std::vector<int> fds;
  DIR* folder = opendir("/proc/self/fd");
  if (!folder) return fds;
  while (const dirent* entry = readdir(folder)) fds.push_back(std::atoi(entry->d_name));
  closedir(folder);
  return fds;
}

constexpr size_t max_bundle_bytes = 64 << 20;

// Returns the contents of a bundle's unopened files, by name.
std::map<std::string, std::string>& get_unopened_bundle_files() {
  static std::map<std::string, std::string> contents;
  return contents;
}

sys::Fd make_memory_file_with_content(const char* name, const std::string& content) {
  sys::Fd fd = files::make_memory_file(name);
  size_t written = 0;
  while (written < content.size()) {
    const ssize_t length =
        pwrite(fd.get(), content.data() + written, content.size() - written, static_cast<off_t>(written));
    if (length <= 0) sys::fail_errno("cannot write a memory file");
    written += static_cast<size_t>(length);
  }
  return fd;
}

constexpr mode_t mode_write_only = 0200, mode_read_only = 0400;

sys::Fd reopen_with_mode(int fd, int flags, mode_t mode) {
  sys::Fd reopened(open((fd_folder + std::to_string(fd)).c_str(), flags | O_CLOEXEC));
  if (!reopened.valid() || fchmod(fd, mode) != 0) sys::fail_errno("cannot prepare a memory file");
  return reopened;
}

}  // namespace

sys::Fd open_job_file(const std::string& name, bool unlinks_file) {
  const auto bundled = get_unopened_bundle_files().find(name);
  if (bundled != get_unopened_bundle_files().end()) {
    sys::Fd fd = make_memory_file_with_content("bundled", bundled->second);
    get_unopened_bundle_files().erase(bundled);
    return fd;
  }
  const int inherited_fd = read_linked_fd(name);
  if (inherited_fd >= 3) {
    // Each link is read once: this object owns its descriptor, and the link is removed like other files.
    if (fcntl(inherited_fd, F_GETFD) < 0 || unlink(name.c_str()) != 0) sys::fail_errno("cannot open " + name);
    return sys::Fd(inherited_fd);
  }
  sys::Fd fd(open(name.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!fd.valid()) sys::fail_errno("cannot open " + name);
  if (unlinks_file && unlink(name.c_str()) != 0) sys::fail_errno("cannot hide " + name);
  return fd;
}

std::string load_bundle_and_find_plan(const std::string& bundle_path) {
  get_unopened_bundle_files().clear();
  const std::string bundle = read_all(open_job_file(bundle_path).get(), max_bundle_bytes);
  std::vector<std::pair<std::string, size_t>> entries;  // names and sizes
  size_t offset = 0;
  for (size_t end; (end = bundle.find('\0', offset)) != offset; offset = end + 1) {
    const size_t space = bundle.find(' ', offset);
    if (end == std::string::npos || space > end) sys::fail("the bundle is incomplete");
    entries.emplace_back(bundle.substr(space + 1, end - space - 1), std::strtoull(&bundle[offset], nullptr, 10));
  }
  ++offset;
  for (const auto& [name, size] : entries) {
    if (size > bundle.size() - offset) sys::fail("the bundle is incomplete");
    get_unopened_bundle_files()[name] = bundle.substr(offset, size);
    offset += size;
  }
  if (entries.empty()) sys::fail("the bundle is empty");
  return entries.front().first;
}

std::string read_up_to(int fd, size_t max_bytes) {
  std::string text(std::min<size_t>(max_bytes, static_cast<size_t>(std::max<int64_t>(read_size_bytes(fd), 0))), '\0');
  size_t length = 0;
  while (length < text.size()) {
    const ssize_t count = pread(fd, &text[length], text.size() - length, static_cast<off_t>(length));
    if (count <= 0) break;
    length += static_cast<size_t>(count);
  }
  text.resize(length);
  return text;
}

std::string read_all(int fd, size_t max_bytes) {
  if (read_size_bytes(fd) > static_cast<int64_t>(max_bytes))
    sys::fail("the file is larger than " + std::to_string(max_bytes) + " bytes");
  return read_up_to(fd, max_bytes);
}

std::string read_tail(int fd, size_t max_bytes) {
  const int64_t total = read_size_bytes(fd), start = std::max<int64_t>(0, total - static_cast<int64_t>(max_bytes));
  std::string text(static_cast<size_t>(total - start), '\0');
  const ssize_t length = pread(fd, &text[0], text.size(), start);
  text.resize(length > 0 ? static_cast<size_t>(length) : 0);
  return text;
}

sys::Fd make_memory_file(const char* name) {
  sys::Fd fd(memfd_create(name, MFD_CLOEXEC));
  if (!fd.valid()) sys::fail_errno("cannot prepare a memory file");
  return fd;
}

sys::Fd reopen_write_only(int fd, bool changes_mode) {
  return reopen_with_mode(fd, O_WRONLY, changes_mode ? mode_write_only : 0700);
}

sys::Fd reopen_read_only(int fd) { return reopen_with_mode(fd, O_RDONLY, mode_read_only); }

void make_readable(int fd) {
  struct stat status;
  if (fstat(fd, &status) == 0 && (status.st_mode & 0777) == mode_write_only) fchmod(fd, mode_read_only);
}

int64_t read_size_bytes(int fd) {
  struct stat status;
  if (fstat(fd, &status) != 0) sys::fail_errno("cannot read the size of a file");
  return status.st_size;
}

void reset_file_times(int fd) {
  const timespec epoch[2] = {};
  if (futimens(fd, epoch) != 0) sys::fail_errno("cannot set the time of a file");
}

void empty_file(int fd) {
  if (ftruncate(fd, 0) != 0 || lseek(fd, 0, SEEK_SET) != 0) sys::fail_errno("cannot empty a file");
  reset_file_times(fd);
}

bool was_never_written(int fd) {
  struct stat status;
  if (fstat(fd, &status) != 0) sys::fail_errno("cannot read the time of a file");
  return status.st_mtim.tv_sec == 0 && status.st_mtim.tv_nsec == 0;
}

int64_t count_allocated_bytes(int fd) {
  struct stat status;
  return fstat(fd, &status) == 0 ? status.st_blocks * 512LL : 0;
}

void copy_content(int source_fd, int target_fd) {
  off_t offset = 0;
  const int64_t total = read_size_bytes(source_fd);
  while (offset < total)
    if (sendfile(target_fd, source_fd, &offset, static_cast<size_t>(total - offset)) <= 0)
      sys::fail_errno("cannot copy a file");
}

sys::Fd copy_to_unnamed_file(const sys::Fd& fd) {
  constexpr const char* name = "nameless";
  {
    const sys::Fd target(open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0755));
    if (!target.valid()) sys::fail_errno("cannot copy the submission");
    copy_content(fd.get(), target.get());
  }
  sys::Fd copy_fd(open(name, O_RDONLY | O_CLOEXEC));
  if (!copy_fd.valid() || unlink(name) != 0) sys::fail_errno("cannot copy the submission");
  return copy_fd;
}

sys::Fd make_reopenable(sys::Fd fd) {
  const sys::Fd reopened(open((fd_folder + std::to_string(fd.get())).c_str(), O_RDONLY | O_CLOEXEC));
  if (reopened.valid()) return fd;
  sys::Fd copy_fd = make_memory_file("copy");
  copy_content(fd.get(), copy_fd.get());
  return copy_fd;
}

void remove_folder_content(const std::string& folder, const std::function<bool(const std::string&)>& keeps_entry) {
  DIR* listing = opendir(folder.c_str());
  if (!listing) sys::fail_errno("cannot list " + folder);
  std::vector<std::string> names;
  while (const dirent* entry = readdir(listing)) names.push_back(entry->d_name);
  closedir(listing);
  for (const std::string& name : names) {
    if (name == "." || name == ".." || keeps_entry(name)) continue;
    const std::string path = folder + "/" + name;
    if (unlink(path.c_str()) == 0) continue;
    if (errno != EISDIR && errno != EPERM) sys::fail_errno("cannot remove " + path);
    remove_folder_content(path);
    if (rmdir(path.c_str()) != 0) sys::fail_errno("cannot remove " + path);
  }
}

void mark_all_close_on_exec() {
  if (syscall(sys::nr_close_range, 3, ~0U, 4 /* CLOSE_RANGE_CLOEXEC, since 5.11 */) == 0) return;
  const std::vector<int> fds = list_open_descriptors();
  if (fds.empty()) sys::fail_errno("cannot list /proc/self/fd");
  for (const int fd : fds)
    if (fd >= 3) fcntl(fd, F_SETFD, FD_CLOEXEC);
}

void close_fd_range(unsigned first, unsigned last) {
  if (syscall(sys::nr_close_range, first, last, 0) == 0) return;
  // For kernels before 5.9. If /proc is not visible, a program is about to start, and its exec closes them.
  for (const int fd : list_open_descriptors())
    if (static_cast<unsigned>(fd) >= first && static_cast<unsigned>(fd) <= last) close(fd);
}

}  // namespace files
