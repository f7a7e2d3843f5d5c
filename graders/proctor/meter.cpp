#include "meter.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <string>
#include <unistd.h>

#include "sys.hpp"

namespace meter {
namespace {

// The first bytes of a file below /proc; empty when the process is gone.
std::string read_small(int proc, const std::string& path) {
  const sys::Fd fd(openat(proc, path.c_str(), O_RDONLY | O_CLOEXEC));
  char buffer[4096];
  const ssize_t length = fd.valid() ? read(fd.get(), buffer, sizeof buffer) : 0;
  return length > 0 ? std::string(buffer, static_cast<size_t>(length)) : "";
}

int64_t resident_of(int proc, const std::string& folder) {
  const std::string statm = read_small(proc, folder + "/statm");
  long long total = 0, pages = 0;
  if (std::sscanf(statm.c_str(), "%lld %lld", &total, &pages) != 2) return 0;
  return pages * sysconf(_SC_PAGESIZE);
}

std::vector<std::string> tasks_of(int proc, pid_t pid) {
  std::vector<std::string> tasks;
  const std::string path = std::to_string(pid) + "/task";
  const int fd = openat(proc, path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return tasks;
  DIR* folder = fdopendir(fd);
  while (const dirent* entry = readdir(folder))
    if (entry->d_name[0] != '.') tasks.push_back(path + "/" + entry->d_name);
  closedir(folder);
  return tasks;
}

// What is no part of the resident set. Page tables: a process may have far more of them than of memory, because all pages that were
// only ever read are one and the same. What it has sent to swap, and huge pages.
int64_t beside_resident(int proc, pid_t pid) {
  const std::string status = read_small(proc, std::to_string(pid) + "/status");
  int64_t kilobytes = 0;
  for (const char* field : {"\nVmPTE:", "\nVmSwap:", "\nHugetlbPages:"}) {
    const size_t at = status.find(field);
    if (at != std::string::npos) kilobytes += std::strtoll(status.c_str() + at + std::strlen(field), nullptr, 10);
  }
  return kilobytes * 1024;
}

// A process whose first thread has ended shows no memory, though the other threads still use it.
int64_t resident(int proc, pid_t pid) {
  const int64_t shown = resident_of(proc, std::to_string(pid));
  if (shown > 0) return shown;
  int64_t most = 0;
  for (const std::string& task : tasks_of(proc, pid)) most = std::max(most, resident_of(proc, task));
  return most;
}

// The fields of a process that come after its name, from its state on; empty when it is gone.
std::string stat_fields(int proc, pid_t pid) {
  const std::string stat = read_small(proc, std::to_string(pid) + "/stat");
  const size_t name_end = stat.rfind(')');  // the name may hold anything, brackets too
  return name_end == std::string::npos ? "" : stat.substr(name_end + 1);
}

struct Work {
  int64_t cpu_us = 0;  // its own time and that of the children it has waited for
  int64_t threads = 0;
};

Work work_of(int proc, pid_t pid) {
  unsigned long long user = 0, system = 0, children_user = 0, children_system = 0;
  long long threads = 0;
  const int found = std::sscanf(stat_fields(proc, pid).c_str(), " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu %llu %llu %*d %*d %lld", &user, &system, &children_user, &children_system, &threads);
  if (found != 5) return {};
  const unsigned long long ticks = user + system + children_user + children_system;
  return {static_cast<int64_t>(ticks * 1000000 / static_cast<unsigned long long>(sysconf(_SC_CLK_TCK))), threads};
}

void collect(int proc, pid_t parent, std::vector<pid_t>& found) {
  std::vector<pid_t> children;
  for (const std::string& task : tasks_of(proc, parent)) {
    const std::string line = read_small(proc, task + "/children");
    const char* at = line.c_str();
    char* end = nullptr;
    for (long pid = std::strtol(at, &end, 10); end != at; at = end, pid = std::strtol(at, &end, 10)) children.push_back(static_cast<pid_t>(pid));
  }
  for (const pid_t child : children) {
    found.push_back(child);
    collect(proc, child, found);
  }
}

constexpr int deepest = 100;

// False when there are more names than `most`.
bool add_contents(int folder, int depth, int64_t most, Contents& found) {
  DIR* listing = fdopendir(folder);
  if (!listing) return close(folder), true;
  bool all = true;
  while (const dirent* entry = all ? readdir(listing) : nullptr) {
    struct stat status;
    if (std::strcmp(entry->d_name, ".") == 0 || std::strcmp(entry->d_name, "..") == 0) continue;
    if (fstatat(dirfd(listing), entry->d_name, &status, AT_SYMLINK_NOFOLLOW) != 0) continue;
    found.bytes += status.st_blocks * 512LL;
    all = ++found.names <= most;
    if (!all || !S_ISDIR(status.st_mode) || depth == deepest) continue;
    const int inner = openat(dirfd(listing), entry->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (inner >= 0) all = add_contents(inner, depth + 1, most, found);
  }
  closedir(listing);
  return all;
}

}  // namespace

Contents contents_of(int folder, int64_t most) {
  Contents found;
  const int listed = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (listed >= 0) add_contents(listed, 0, most, found);
  return found;
}

Usage of_process(int proc, pid_t pid_there, pid_t pid_here) {
  Usage usage;
  clockid_t clock;
  timespec time;
  if (clock_getcpuclockid(pid_here, &clock) == 0 && clock_gettime(clock, &time) == 0)
    usage.cpu_us = time.tv_sec * 1000000LL + time.tv_nsec / 1000;
  usage.memory = resident(proc, pid_there) + beside_resident(proc, pid_there);
  usage.processes = 1;
  usage.largest = pid_there;
  return usage;
}

int64_t waited_us(int proc, pid_t pid) {
  int64_t longest = 0;
  for (const std::string& task : tasks_of(proc, pid)) {
    long long ran = 0, waited = 0;
    if (std::sscanf(read_small(proc, task + "/schedstat").c_str(), "%lld %lld", &ran, &waited) == 2) longest = std::max<int64_t>(longest, waited / 1000);
  }
  return longest;
}

int64_t written(int proc, pid_t pid) {
  const std::string io = read_small(proc, std::to_string(pid) + "/io");
  const size_t at = io.find("wchar:");
  return at == std::string::npos ? 0 : std::strtoll(io.c_str() + at + 6, nullptr, 10);
}

int64_t threads_of(int proc, pid_t pid) { return work_of(proc, pid).threads; }

std::vector<pid_t> descendants(int proc, pid_t self) {
  std::vector<pid_t> found;
  collect(proc, self, found);
  return found;
}

Usage of_descendants(int proc, pid_t self) {
  Usage usage;
  int64_t most = -1;
  for (const pid_t pid : descendants(proc, self)) {
    const int64_t memory = resident(proc, pid) + beside_resident(proc, pid);
    const Work work = work_of(proc, pid);
    usage.cpu_us += work.cpu_us;
    usage.memory += memory;
    usage.processes += work.threads;
    if (memory > most) most = memory, usage.largest = pid;
  }
  return usage;
}

}  // namespace meter
