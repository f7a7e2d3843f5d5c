#include "files.hpp"

#include <algorithm>
#include <cstdlib>
#include <dirent.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <vector>

namespace files {
namespace {

constexpr const char* descriptors = "/proc/self/fd/";

// The inherited descriptor that a link names; -1 for anything else.
int linked_descriptor(const std::string& name) {
  char link[64] = {};
  const ssize_t length = readlink(name.c_str(), link, sizeof link - 1);
  const size_t prefix = std::strlen(descriptors);
  if (length <= static_cast<ssize_t>(prefix) || std::strncmp(link, descriptors, prefix) != 0) return -1;
  return std::atoi(link + prefix);
}

// Empty where /proc is not to be seen.
std::vector<int> open_descriptors() {
  std::vector<int> found;
  DIR* folder = opendir("/proc/self/fd");
  if (!folder) return found;
  while (const dirent* entry = readdir(folder)) found.push_back(std::atoi(entry->d_name));
  closedir(folder);
  return found;
}

constexpr mode_t to_write = 0200, to_read = 0400;

sys::Fd opened_once_more(int fd, int how, mode_t mode) {
  sys::Fd again(open((descriptors + std::to_string(fd)).c_str(), how | O_CLOEXEC));
  if (!again.valid() || fchmod(fd, mode) != 0) sys::fail_errno("memory file");
  return again;
}

}  // namespace

sys::Fd open_secret(const std::string& name, bool hide) {
  const int inherited = linked_descriptor(name);
  if (inherited >= 3) {
    // A link names its descriptor for one reader: it is taken over, and the name goes as others' do.
    if (fcntl(inherited, F_GETFD) < 0 || unlink(name.c_str()) != 0) sys::fail_errno("cannot open " + name);
    return sys::Fd(inherited);
  }
  sys::Fd fd(open(name.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!fd.valid()) sys::fail_errno("cannot open " + name);
  if (hide && unlink(name.c_str()) != 0) sys::fail_errno("cannot hide " + name);
  return fd;
}

std::string read_text(int fd, size_t most) {
  std::string text(std::min<size_t>(most, static_cast<size_t>(std::max<int64_t>(size(fd), 0))), '\0');
  size_t done = 0;
  while (done < text.size()) {
    const ssize_t length = pread(fd, &text[done], text.size() - done, static_cast<off_t>(done));
    if (length <= 0) break;
    done += static_cast<size_t>(length);
  }
  text.resize(done);
  return text;
}

std::string read_all(int fd, size_t most) {
  if (size(fd) > static_cast<int64_t>(most)) sys::fail("larger than " + std::to_string(most) + " bytes");
  return read_text(fd, most);
}

std::string read_tail(int fd, size_t most) {
  const int64_t total = size(fd), start = std::max<int64_t>(0, total - static_cast<int64_t>(most));
  std::string text(static_cast<size_t>(total - start), '\0');
  const ssize_t length = pread(fd, &text[0], text.size(), start);
  text.resize(length > 0 ? static_cast<size_t>(length) : 0);
  return text;
}

sys::Fd memory(const char* name) {
  sys::Fd fd(memfd_create(name, MFD_CLOEXEC));
  if (!fd.valid()) sys::fail_errno("memory file");
  return fd;
}

sys::Fd write_only(int fd, bool for_good) {
  return opened_once_more(fd, O_WRONLY, for_good ? to_write : 0700);
}

sys::Fd read_only(int fd) { return opened_once_more(fd, O_RDONLY, to_read); }

void give_back(int fd) {
  struct stat status;
  if (fstat(fd, &status) == 0 && (status.st_mode & 0777) == to_write) fchmod(fd, to_read);
}

int64_t size(int fd) {
  struct stat status;
  if (fstat(fd, &status) != 0) sys::fail_errno("size of a file");
  return status.st_size;
}

void reset_times(int fd) {
  const timespec epoch[2] = {};
  if (futimens(fd, epoch) != 0) sys::fail_errno("cannot set the time of a file");
}

void empty(int fd) {
  if (ftruncate(fd, 0) != 0 || lseek(fd, 0, SEEK_SET) != 0) sys::fail_errno("cannot empty a file");
  reset_times(fd);
}

bool is_untouched(int fd) {
  struct stat status;
  if (fstat(fd, &status) != 0) sys::fail_errno("time of a file");
  return status.st_mtim.tv_sec == 0 && status.st_mtim.tv_nsec == 0;
}

int64_t blocks(int fd) {
  struct stat status;
  return fstat(fd, &status) == 0 ? status.st_blocks * 512LL : 0;
}

void copy(int from, int to) {
  off_t at = 0;
  const int64_t total = size(from);
  while (at < total)
    if (sendfile(to, from, &at, static_cast<size_t>(total - at)) <= 0) sys::fail_errno("cannot copy a file");
}

sys::Fd nameless_program(const sys::Fd& fd) {
  constexpr const char* name = "nameless";
  {
    const sys::Fd writing(open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0755));
    if (!writing.valid()) sys::fail_errno("cannot copy the submission");
    copy(fd.get(), writing.get());
  }
  sys::Fd reading(open(name, O_RDONLY | O_CLOEXEC));
  if (!reading.valid() || unlink(name) != 0) sys::fail_errno("cannot copy the submission");
  return reading;
}

sys::Fd reopenable(sys::Fd fd) {
  const sys::Fd again(open((descriptors + std::to_string(fd.get())).c_str(), O_RDONLY | O_CLOEXEC));
  if (again.valid()) return fd;
  sys::Fd twin = memory("copy");
  copy(fd.get(), twin.get());
  return twin;
}

void remove_all(const std::string& folder, const std::function<bool(const std::string&)>& stays) {
  DIR* listed = opendir(folder.c_str());
  if (!listed) sys::fail_errno("cannot look into " + folder);
  std::vector<std::string> names;
  while (const dirent* entry = readdir(listed)) names.push_back(entry->d_name);
  closedir(listed);
  for (const std::string& name : names) {
    if (name == "." || name == ".." || stays(name)) continue;
    const std::string path = folder + "/" + name;
    if (unlink(path.c_str()) == 0) continue;
    if (errno != EISDIR && errno != EPERM) sys::fail_errno("cannot remove " + path);
    remove_all(path);
    if (rmdir(path.c_str()) != 0) sys::fail_errno("cannot remove " + path);
  }
}

void close_all_on_exec() {
  if (syscall(sys::nr_close_range, 3, ~0U, 4 /* CLOSE_RANGE_CLOEXEC, since 5.11 */) == 0) return;
  const std::vector<int> found = open_descriptors();
  if (found.empty()) sys::fail_errno("/proc/self/fd");
  for (const int fd : found)
    if (fd >= 3) fcntl(fd, F_SETFD, FD_CLOEXEC);
}

void close_between(unsigned from, unsigned to) {
  if (syscall(sys::nr_close_range, from, to, 0) == 0) return;
  // Before 5.9. Where /proc is not to be seen, a program is about to start, and that closes them.
  for (const int fd : open_descriptors())
    if (static_cast<unsigned>(fd) >= from && static_cast<unsigned>(fd) <= to) close(fd);
}

}  // namespace files
