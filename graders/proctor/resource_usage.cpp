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

// Returns the first bytes of a file below /proc; empty if the process is gone.
std::string read_proc_file(int proc, const std::string& path) {
  const sys::Fd fd(openat(proc, path.c_str(), O_RDONLY | O_CLOEXEC));
  char buffer[4096];
  const ssize_t length = fd.valid() ? read(fd.get(), buffer, sizeof buffer) : 0;
  return length > 0 ? std::string(buffer, static_cast<size_t>(length)) : "";
}

int64_t read_resident_bytes(int proc, const std::string& folder) {
  const std::string statm = read_proc_file(proc, folder + "/statm");
  long long total = 0, pages = 0;
  if (std::sscanf(statm.c_str(), "%lld %lld", &total, &pages) != 2) return 0;
  return pages * sysconf(_SC_PAGESIZE);
}

std::vector<std::string> list_thread_folders(int proc, pid_t pid) {
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

// Returns the number after a label; 0 if the label is missing.
int64_t parse_number_after(const std::string& text, const char* label) {
  const size_t position = text.find(label);
  return position == std::string::npos ? 0 : std::strtoll(text.c_str() + position + std::strlen(label), nullptr, 10);
}

// Returns the memory that is not in the resident set. Page tables: a process may have far more of them than of memory,
// because all pages that were only read are one page. Swapped pages and huge pages.
int64_t extra_memory_bytes(const std::string& status) {
  int64_t kilobytes = 0;
  for (const char* field : {"\nVmPTE:", "\nVmSwap:", "\nHugetlbPages:"}) kilobytes += parse_number_after(status, field);
  return kilobytes * 1024;
}

std::string read_status_file(int proc, pid_t pid) { return read_proc_file(proc, std::to_string(pid) + "/status"); }

// If the first thread of a process has ended, its folder shows no memory, although the other threads still use it.
int64_t resident_bytes(int proc, pid_t pid) {
  const int64_t process_bytes = read_resident_bytes(proc, std::to_string(pid));
  if (process_bytes > 0) return process_bytes;
  int64_t max_bytes = 0;
  for (const std::string& task : list_thread_folders(proc, pid))
    max_bytes = std::max(max_bytes, read_resident_bytes(proc, task));
  return max_bytes;
}

// Returns the fields of a process or thread from its state on, which follow its name; empty if it is gone.
std::string read_stat_fields(int proc, const std::string& folder) {
  const std::string stat = read_proc_file(proc, folder + "/stat");
  const size_t name_end = stat.rfind(')');  // the name may contain anything, brackets too
  return name_end == std::string::npos ? "" : stat.substr(name_end + 1);
}

char read_thread_state(int proc, const std::string& thread) {
  const std::string fields = read_stat_fields(proc, thread);
  return fields.size() > 1 ? fields[1] : 0;
}

struct SchedulerTimes {
  int64_t ran_us = 0, waited_us = 0;
};

// Returns the times of one thread, by its folder.
SchedulerTimes read_scheduler_times(int proc, const std::string& task) {
  long long ran = 0, waited = 0;
  if (std::sscanf(read_proc_file(proc, task + "/schedstat").c_str(), "%lld %lld", &ran, &waited) != 2) return {};
  return {ran / 1000, waited / 1000};
}

struct ProcessStat {
  int64_t cpu_us = 0;  // its own and that of children it has waited for
  int64_t threads = 0;
  char state = 0;
};

ProcessStat read_process_stat(int proc, pid_t pid) {
  unsigned long long user = 0, system = 0, children_user = 0, children_system = 0;
  long long threads = 0;
  char state = 0;
  const int field_count = std::sscanf(read_stat_fields(proc, std::to_string(pid)).c_str(),
      " %c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu %llu %llu %*d %*d %lld", &state, &user, &system,
      &children_user, &children_system, &threads);
  if (field_count != 6) return {};
  const unsigned long long ticks = user + system + children_user + children_system;
  return {
      static_cast<int64_t>(ticks * 1000000 / static_cast<unsigned long long>(sysconf(_SC_CLK_TCK))), threads, state};
}

// Returns the states of all threads. A process's own state is that of its first thread, which may only wait for the
// others.
std::string read_thread_states(int proc, pid_t pid, const ProcessStat& work) {
  std::string states(1, work.state);
  if (work.threads > 1)
    for (const std::string& task : list_thread_folders(proc, pid)) states += read_thread_state(proc, task);
  return states;
}

void add_descendants(int proc, pid_t parent, std::vector<pid_t>& pids) {
  std::vector<pid_t> children;
  for (const std::string& task : list_thread_folders(proc, parent)) {
    const std::string line = read_proc_file(proc, task + "/children");
    const char* position = line.c_str();
    char* end = nullptr;
    for (long pid = std::strtol(position, &end, 10); end != position;
        position = end, pid = std::strtol(position, &end, 10))
      children.push_back(static_cast<pid_t>(pid));
  }
  for (const pid_t child : children) {
    pids.push_back(child);
    add_descendants(proc, child, pids);
  }
}

constexpr int max_depth = 100;

// Returns false if there are more than `max_entries`.
bool add_contents(int folder, int depth, int64_t max_entries, FolderContents& contents) {
  DIR* listing = fdopendir(folder);
  if (!listing) return close(folder), true;
  bool is_complete = true;
  while (const dirent* entry = is_complete ? readdir(listing) : nullptr) {
    struct stat status;
    if (std::strcmp(entry->d_name, ".") == 0 || std::strcmp(entry->d_name, "..") == 0) continue;
    if (fstatat(dirfd(listing), entry->d_name, &status, AT_SYMLINK_NOFOLLOW) != 0) continue;
    contents.bytes += status.st_blocks * 512LL;
    is_complete = ++contents.entries <= max_entries;
    if (!is_complete || !S_ISDIR(status.st_mode) || depth == max_depth) continue;
    const int subfolder = openat(dirfd(listing), entry->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (subfolder >= 0) is_complete = add_contents(subfolder, depth + 1, max_entries, contents);
  }
  closedir(listing);
  return is_complete;
}

// Returns the time of a clock, in microseconds; 0 if there is no such clock.
int64_t clock_us(clockid_t clock) {
  timespec time;
  return clock_gettime(clock, &time) == 0 ? time.tv_sec * 1000000LL + time.tv_nsec / 1000 : 0;
}

}  // namespace

FolderContents count_folder_contents(int folder, int64_t max_entries) {
  FolderContents contents;
  const int listing = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (listing >= 0) add_contents(listing, 0, max_entries, contents);
  return contents;
}

int64_t tick_time_us(pid_t pid) {
  constexpr unsigned all_kinds = 7, of_ticks = 0;  // user and system time
  clockid_t clock;
  if (clock_getcpuclockid(pid, &clock) != 0) return 0;
  return clock_us(static_cast<clockid_t>((static_cast<unsigned>(clock) & ~all_kinds) | of_ticks));
}

Usage measure_process(int proc, pid_t pid_there, pid_t pid_here) {
  Usage usage;
  clockid_t clock;
  if (clock_getcpuclockid(pid_here, &clock) == 0) usage.cpu_us = clock_us(clock);
  const std::string status = read_status_file(proc, pid_there);
  usage.memory_bytes = resident_bytes(proc, pid_there) + extra_memory_bytes(status);
  usage.is_at_disk = status.find("\nState:\tD") != std::string::npos;
  usage.is_ready = status.find("\nState:\tR") != std::string::npos;
  usage.task_count = 1;
  usage.largest_pid = pid_there;
  return usage;
}

void CpuWaits::observe(int proc, const std::vector<std::string>& threads, int64_t now, bool includes_current) {
  std::map<std::string, Thread> observed;
  pending_us_ = 0, is_ready_ = false;
  for (const std::string& name : threads) {
    const SchedulerTimes schedule = read_scheduler_times(proc, name);
    const auto last_seen = threads_.find(name);
    // If it waited longer at the last look, it is another thread with the same number.
    const bool is_known = last_seen != threads_.end() && last_seen->second.waited_us <= schedule.waited_us;
    const bool has_not_moved =
        is_known && last_seen->second.ran_us == schedule.ran_us && last_seen->second.waited_us == schedule.waited_us;
    const Thread thread = {schedule.ran_us, schedule.waited_us, has_not_moved ? last_seen->second.moved_at : now};
    ended_us_ += is_known ? thread.waited_us - last_seen->second.waited_us : thread.waited_us;
    const bool is_ready = includes_current && read_thread_state(proc, name) == 'R';
    if (is_ready && has_not_moved) pending_us_ += now - thread.moved_at;
    is_ready_ = is_ready_ || is_ready;
    observed.emplace(name, thread);
  }
  threads_.swap(observed);
}

std::vector<std::string> list_threads(int proc, const std::vector<pid_t>& pids) {
  std::vector<std::string> threads;
  for (const pid_t pid : pids)
    for (std::string& task : list_thread_folders(proc, pid)) threads.push_back(std::move(task));
  return threads;
}

bool is_any_running(int proc, const std::vector<pid_t>& pids) {
  for (const std::string& thread : list_threads(proc, pids))
    if (read_thread_state(proc, thread) == 'R') return true;
  return false;
}

int64_t waited_us(int proc, pid_t pid) { return read_scheduler_times(proc, std::to_string(pid)).waited_us; }

int64_t written_bytes(int proc, pid_t pid) {
  return parse_number_after(read_proc_file(proc, std::to_string(pid) + "/io"), "wchar:");
}

int64_t read_disk_work(int proc, pid_t pid) {
  const std::string io = read_proc_file(proc, std::to_string(pid) + "/io");
  long long faults = 0;
  std::sscanf(read_stat_fields(proc, std::to_string(pid)).c_str(),
      " %*c %*d %*d %*d %*d %*d %*u %*u %*u %lld", &faults);
  return faults + parse_number_after(io, "\nread_bytes:") + parse_number_after(io, "\nwrite_bytes:");
}

int64_t read_thread_count(int proc, pid_t pid) { return read_process_stat(proc, pid).threads; }

std::vector<pid_t> list_descendants(int proc, pid_t self) {
  std::vector<pid_t> pids;
  add_descendants(proc, self, pids);
  return pids;
}

int64_t proportional_memory_bytes(int proc, const std::vector<pid_t>& pids) {
  int64_t bytes = 0;
  for (const pid_t pid : pids) {
    const std::string rollup = read_proc_file(proc, std::to_string(pid) + "/smaps_rollup");
    const int64_t kilobytes = parse_number_after(rollup, "\nPss:") + parse_number_after(rollup, "\nSwapPss:");
    const int64_t tables = parse_number_after(read_status_file(proc, pid), "\nVmPTE:");
    bytes += kilobytes > 0 ? (kilobytes + tables) * 1024
                           : resident_bytes(proc, pid) + extra_memory_bytes(read_status_file(proc, pid));
  }
  return bytes;
}

Usage measure_descendants(int proc, pid_t self) {
  Usage usage;
  int64_t max_memory = -1;
  for (const pid_t pid : list_descendants(proc, self)) {
    const int64_t memory = resident_bytes(proc, pid) + extra_memory_bytes(read_status_file(proc, pid));
    const ProcessStat work = read_process_stat(proc, pid);
    usage.cpu_us += work.cpu_us;
    usage.memory_bytes += memory;
    usage.task_count += work.threads;
    const std::string states = read_thread_states(proc, pid, work);
    usage.is_at_disk = usage.is_at_disk || states.find('D') != std::string::npos;
    usage.is_ready = usage.is_ready || states.find('R') != std::string::npos;
    if (memory > max_memory) max_memory = memory, usage.largest_pid = pid;
  }
  return usage;
}

}  // namespace resource_usage
