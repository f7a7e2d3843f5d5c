#include "resource_usage.hpp"

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

namespace resource_usage {
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

// The number behind a word; 0 where it is not there.
int64_t counted(const std::string& text, const char* word) {
  const size_t at = text.find(word);
  return at == std::string::npos ? 0 : std::strtoll(text.c_str() + at + std::strlen(word), nullptr, 10);
}

// What is no part of the resident set. Page tables: a process may have far more of them than of memory, because all
// pages that were only ever read are one and the same. What it has sent to swap, and huge pages.
int64_t beside_resident(const std::string& status) {
  int64_t kilobytes = 0;
  for (const char* field : {"\nVmPTE:", "\nVmSwap:", "\nHugetlbPages:"}) kilobytes += counted(status, field);
  return kilobytes * 1024;
}

std::string status_of(int proc, pid_t pid) { return read_small(proc, std::to_string(pid) + "/status"); }

// A process whose first thread has ended shows no memory, though the other threads still use it.
int64_t resident(int proc, pid_t pid) {
  const int64_t shown = resident_of(proc, std::to_string(pid));
  if (shown > 0) return shown;
  int64_t most = 0;
  for (const std::string& task : tasks_of(proc, pid)) most = std::max(most, resident_of(proc, task));
  return most;
}

// The fields of a process or a thread that come after its name, from its state on; empty when it is gone.
std::string stat_fields(int proc, const std::string& folder) {
  const std::string stat = read_small(proc, folder + "/stat");
  const size_t name_end = stat.rfind(')');  // the name may hold anything, brackets too
  return name_end == std::string::npos ? "" : stat.substr(name_end + 1);
}

char state_of(int proc, const std::string& thread) {
  const std::string fields = stat_fields(proc, thread);
  return fields.size() > 1 ? fields[1] : 0;
}

struct Schedule {
  int64_t ran_us = 0, waited_us = 0;
};

// Of one thread, by its folder.
Schedule schedule_of(int proc, const std::string& task) {
  long long ran = 0, waited = 0;
  if (std::sscanf(read_small(proc, task + "/schedstat").c_str(), "%lld %lld", &ran, &waited) != 2) return {};
  return {ran / 1000, waited / 1000};
}

struct Work {
  int64_t cpu_us = 0;  // its own time and that of the children it has waited for
  int64_t threads = 0;
  char state = 0;
};

Work work_of(int proc, pid_t pid) {
  unsigned long long user = 0, system = 0, children_user = 0, children_system = 0;
  long long threads = 0;
  char state = 0;
  const int found = std::sscanf(stat_fields(proc, std::to_string(pid)).c_str(),
      " %c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu %llu %llu %*d %*d %lld", &state, &user, &system,
          &children_user, &children_system, &threads);
  if (found != 6) return {};
  const unsigned long long ticks = user + system + children_user + children_system;
  return {static_cast<int64_t>(ticks * 1000000 / static_cast<unsigned long long>(sysconf(_SC_CLK_TCK))), threads,
      state};
}

// Of all threads. A process' own state is that of its first one, which may only wait for the others.
std::string states_of(int proc, pid_t pid, const Work& work) {
  std::string states(1, work.state);
  if (work.threads > 1)
    for (const std::string& task : tasks_of(proc, pid)) states += state_of(proc, task);
  return states;
}

void collect(int proc, pid_t parent, std::vector<pid_t>& found) {
  std::vector<pid_t> children;
  for (const std::string& task : tasks_of(proc, parent)) {
    const std::string line = read_small(proc, task + "/children");
    const char* at = line.c_str();
    char* end = nullptr;
    for (long pid = std::strtol(at, &end, 10); end != at; at = end, pid = std::strtol(at, &end, 10))
      children.push_back(static_cast<pid_t>(pid));
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

// In microseconds; 0 where there is no such clock.
int64_t shown_by(clockid_t clock) {
  timespec time;
  return clock_gettime(clock, &time) == 0 ? time.tv_sec * 1000000LL + time.tv_nsec / 1000 : 0;
}

}  // namespace

Contents contents_of(int folder, int64_t most) {
  Contents found;
  const int listed = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (listed >= 0) add_contents(listed, 0, most, found);
  return found;
}

int64_t ticks_us(pid_t pid) {
  constexpr unsigned all_kinds = 7, of_ticks = 0;  // user and system
  clockid_t clock;
  if (clock_getcpuclockid(pid, &clock) != 0) return 0;
  return shown_by(static_cast<clockid_t>((static_cast<unsigned>(clock) & ~all_kinds) | of_ticks));
}

Usage of_process(int proc, pid_t pid_there, pid_t pid_here) {
  Usage usage;
  clockid_t clock;
  if (clock_getcpuclockid(pid_here, &clock) == 0) usage.cpu_us = shown_by(clock);
  const std::string status = status_of(proc, pid_there);
  usage.memory = resident(proc, pid_there) + beside_resident(status);
  usage.at_disk = status.find("\nState:\tD") != std::string::npos;
  usage.ready = status.find("\nState:\tR") != std::string::npos;
  usage.processes = 1;
  usage.largest = pid_there;
  return usage;
}

void Waits::note(int proc, const std::vector<std::string>& threads, int64_t time, bool now) {
  std::map<std::string, Thread> found;
  pending_us_ = 0, ready_ = false;
  for (const std::string& name : threads) {
    const Schedule schedule = schedule_of(proc, name);
    const auto at = seen_.find(name);
    // Else it is another one with its number.
    const bool known = at != seen_.end() && at->second.waited_us <= schedule.waited_us;
    const bool still = known && at->second.ran_us == schedule.ran_us && at->second.waited_us == schedule.waited_us;
    const Thread thread = {schedule.ran_us, schedule.waited_us, still ? at->second.moved_at : time};
    ended_us_ += known ? thread.waited_us - at->second.waited_us : thread.waited_us;
    const bool ready = now && state_of(proc, name) == 'R';
    if (ready && still) pending_us_ += time - thread.moved_at;
    ready_ = ready_ || ready;
    found.emplace(name, thread);
  }
  seen_.swap(found);
}

std::vector<std::string> threads_in(int proc, const std::vector<pid_t>& pids) {
  std::vector<std::string> threads;
  for (const pid_t pid : pids)
    for (std::string& task : tasks_of(proc, pid)) threads.push_back(std::move(task));
  return threads;
}

bool any_moves(int proc, const std::vector<pid_t>& pids) {
  for (const std::string& thread : threads_in(proc, pids))
    if (state_of(proc, thread) == 'R') return true;
  return false;
}

int64_t waited_us(int proc, pid_t pid) { return schedule_of(proc, std::to_string(pid)).waited_us; }

int64_t written(int proc, pid_t pid) { return counted(read_small(proc, std::to_string(pid) + "/io"), "wchar:"); }

int64_t disk_work(int proc, pid_t pid) {
  const std::string io = read_small(proc, std::to_string(pid) + "/io");
  long long faults = 0;
  std::sscanf(stat_fields(proc, std::to_string(pid)).c_str(), " %*c %*d %*d %*d %*d %*d %*u %*u %*u %lld", &faults);
  return faults + counted(io, "\nread_bytes:") + counted(io, "\nwrite_bytes:");
}

int64_t threads_of(int proc, pid_t pid) { return work_of(proc, pid).threads; }

std::vector<pid_t> descendants(int proc, pid_t self) {
  std::vector<pid_t> found;
  collect(proc, self, found);
  return found;
}

int64_t shared_once(int proc, const std::vector<pid_t>& pids) {
  int64_t bytes = 0;
  for (const pid_t pid : pids) {
    const std::string rollup = read_small(proc, std::to_string(pid) + "/smaps_rollup");
    const int64_t kilobytes = counted(rollup, "\nPss:") + counted(rollup, "\nSwapPss:");
    const int64_t tables = counted(status_of(proc, pid), "\nVmPTE:");
    bytes += kilobytes > 0 ? (kilobytes + tables) * 1024 : resident(proc, pid) + beside_resident(status_of(proc, pid));
  }
  return bytes;
}

Usage of_descendants(int proc, pid_t self) {
  Usage usage;
  int64_t most = -1;
  for (const pid_t pid : descendants(proc, self)) {
    const int64_t memory = resident(proc, pid) + beside_resident(status_of(proc, pid));
    const Work work = work_of(proc, pid);
    usage.cpu_us += work.cpu_us;
    usage.memory += memory;
    usage.processes += work.threads;
    const std::string states = states_of(proc, pid, work);
    usage.at_disk = usage.at_disk || states.find('D') != std::string::npos;
    usage.ready = usage.ready || states.find('R') != std::string::npos;
    if (memory > most) most = memory, usage.largest = pid;
  }
  return usage;
}

}  // namespace resource_usage
