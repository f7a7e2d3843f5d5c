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

// Returns the first bytes of a file below /proc, or an empty string if the process is gone.
std::string read_proc_file(int proc_fd, const std::string& path) {
  const sys::Fd fd(openat(proc_fd, path.c_str(), O_RDONLY | O_CLOEXEC));
  char buffer[4096];
  const ssize_t length = fd.valid() ? read(fd.get(), buffer, sizeof buffer) : 0;
  return length > 0 ? std::string(buffer, static_cast<size_t>(length)) : "";
}

int64_t read_resident_bytes(int proc_fd, const std::string& folder) {
  const std::string statm = read_proc_file(proc_fd, folder + "/statm");
  long long total = 0, pages = 0;
  if (std::sscanf(statm.c_str(), "%lld %lld", &total, &pages) != 2) return 0;
  return pages * sysconf(_SC_PAGESIZE);
}

std::vector<std::string> list_thread_folders(int proc_fd, pid_t pid) {
  std::vector<std::string> thread_folders;
  const std::string path = std::to_string(pid) + "/task";
  const int fd = openat(proc_fd, path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return thread_folders;
  DIR* folder = fdopendir(fd);
  while (const dirent* entry = readdir(folder))
    if (entry->d_name[0] != '.') thread_folders.push_back(path + "/" + entry->d_name);
  closedir(folder);
  return thread_folders;
}

// Returns the number after a label, or 0 if the label is missing.
int64_t parse_number_after(const std::string& text, const char* label) {
  const size_t position = text.find(label);
  return position == std::string::npos ? 0 : std::strtoll(text.c_str() + position + std::strlen(label), nullptr, 10);
}

// Returns the memory that is not in the resident set: swapped pages, huge pages, and page tables. A process may have
// far more page tables than memory, because all pages that were only read share a single page.
int64_t parse_nonresident_memory_bytes(const std::string& status) {
  int64_t kilobytes = 0;
  for (const char* field : {"\nVmPTE:", "\nVmSwap:", "\nHugetlbPages:"}) kilobytes += parse_number_after(status, field);
  return kilobytes * 1024;
}

std::string read_status_file(int proc_fd, pid_t pid) {
  return read_proc_file(proc_fd, std::to_string(pid) + "/status");
}

// If the first thread of a process has exited, its folder shows no memory, although the other threads still use it.
int64_t find_resident_bytes(int proc_fd, pid_t pid) {
  const int64_t process_bytes = read_resident_bytes(proc_fd, std::to_string(pid));
  if (process_bytes > 0) return process_bytes;
  int64_t max_bytes = 0;
  for (const std::string& thread_folder : list_thread_folders(proc_fd, pid))
    max_bytes = std::max(max_bytes, read_resident_bytes(proc_fd, thread_folder));
  return max_bytes;
}

// Returns the fields of a process or thread from its state on, which follow its name, or an empty string if it is gone.
std::string read_stat_fields_text(int proc_fd, const std::string& task_folder) {
  const std::string stat = read_proc_file(proc_fd, task_folder + "/stat");
  const size_t name_end = stat.rfind(')');  // the name may contain anything, brackets too
  return name_end == std::string::npos ? "" : stat.substr(name_end + 1);
}

char read_thread_state(int proc_fd, const std::string& thread) {
  const std::string fields = read_stat_fields_text(proc_fd, thread);
  return fields.size() > 1 ? fields[1] : 0;
}

struct SchedulerTimes {
  int64_t ran_us = 0, waited_us = 0;
};

// Returns the times of a thread, by its folder.
SchedulerTimes read_scheduler_times(int proc_fd, const std::string& thread_folder) {
  long long ran = 0, waited = 0;
  if (std::sscanf(read_proc_file(proc_fd, thread_folder + "/schedstat").c_str(), "%lld %lld", &ran, &waited) != 2)
    return {};
  return {ran / 1000, waited / 1000};
}

struct ProcessStat {
  int64_t cpu_us = 0;  // CPU time of the process and of the children it has waited for
  int64_t threads = 0;
  char state = 0;
};

ProcessStat read_process_stat(int proc_fd, pid_t pid) {
  unsigned long long user = 0, system = 0, children_user = 0, children_system = 0;
  long long threads = 0;
  char state = 0;
  const int field_count = std::sscanf(read_stat_fields_text(proc_fd, std::to_string(pid)).c_str(),
      " %c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu %llu %llu %*d %*d %lld", &state, &user, &system,
      &children_user, &children_system, &threads);
  if (field_count != 6) return {};
  const unsigned long long ticks = user + system + children_user + children_system;
  return {
      static_cast<int64_t>(ticks * 1000000 / static_cast<unsigned long long>(sysconf(_SC_CLK_TCK))), threads, state};
}

// Returns the states of all threads. A process's state is the state of its first thread, which may only wait for the
// other threads.
std::string read_thread_states(int proc_fd, pid_t pid, const ProcessStat& process_stat) {
  std::string states(1, process_stat.state);
  if (process_stat.threads > 1)
    for (const std::string& thread_folder : list_thread_folders(proc_fd, pid))
      states += read_thread_state(proc_fd, thread_folder);
  return states;
}

void add_descendants(int proc_fd, pid_t parent, std::vector<pid_t>& pids) {
  std::vector<pid_t> children;
  for (const std::string& thread_folder : list_thread_folders(proc_fd, parent)) {
    const std::string line = read_proc_file(proc_fd, thread_folder + "/children");
    const char* position = line.c_str();
    char* end = nullptr;
    for (long pid = std::strtol(position, &end, 10); end != position;
         position = end, pid = std::strtol(position, &end, 10))
      children.push_back(static_cast<pid_t>(pid));
  }
  for (const pid_t child : children) {
    pids.push_back(child);
    add_descendants(proc_fd, child, pids);
  }
}

constexpr int max_depth = 100;

// Counts the entries of a folder and of its subfolders. Closes the descriptor. Returns false if there are more than
// `max_entries`.
bool try_count_entries_below(int folder_fd, int depth, int64_t max_entries, FolderContents& contents) {
  DIR* listing = fdopendir(folder_fd);
  if (!listing) return close(folder_fd), true;
  bool is_complete = true;
  while (const dirent* entry = is_complete ? readdir(listing) : nullptr) {
    struct stat status;
    if (std::strcmp(entry->d_name, ".") == 0 || std::strcmp(entry->d_name, "..") == 0) continue;
    if (fstatat(dirfd(listing), entry->d_name, &status, AT_SYMLINK_NOFOLLOW) != 0) continue;
    contents.bytes += status.st_blocks * 512LL;
    is_complete = ++contents.entries <= max_entries;
    if (!is_complete || !S_ISDIR(status.st_mode) || depth == max_depth) continue;
    const int subfolder = openat(dirfd(listing), entry->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (subfolder >= 0) is_complete = try_count_entries_below(subfolder, depth + 1, max_entries, contents);
  }
  closedir(listing);
  return is_complete;
}

// Returns the time of a clock, in microseconds, or 0 if there is no such clock.
int64_t read_clock_us(clockid_t clock) {
  timespec time;
  return clock_gettime(clock, &time) == 0 ? time.tv_sec * 1000000LL + time.tv_nsec / 1000 : 0;
}

}  // namespace

FolderContents count_folder_contents(int folder_fd, int64_t max_entries) {
  FolderContents contents;
  const int listing = openat(folder_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (listing >= 0) try_count_entries_below(listing, 0, max_entries, contents);
  return contents;
}

int64_t read_cpu_time_by_ticks_us(pid_t pid) {
  // bits of a clock number; the tick clock counts user and system time
  constexpr unsigned all_clock_kinds = 7, tick_clock_kind = 0;
  clockid_t clock;
  if (clock_getcpuclockid(pid, &clock) != 0) return 0;
  return read_clock_us(static_cast<clockid_t>((static_cast<unsigned>(clock) & ~all_clock_kinds) | tick_clock_kind));
}

ResourceUsage measure_process(int proc_fd, pid_t pid_in_proc, pid_t local_pid) {
  ResourceUsage usage;
  clockid_t clock;
  if (clock_getcpuclockid(local_pid, &clock) == 0) usage.cpu_us = read_clock_us(clock);
  const std::string status = read_status_file(proc_fd, pid_in_proc);
  usage.memory_bytes = find_resident_bytes(proc_fd, pid_in_proc) + parse_nonresident_memory_bytes(status);
  usage.is_waiting_for_disk = status.find("\nState:\tD") != std::string::npos;
  usage.is_runnable = status.find("\nState:\tR") != std::string::npos;
  usage.task_count = 1;
  usage.largest_pid = pid_in_proc;
  return usage;
}

void CpuWaitCounter::add_new_waits(
    int proc_fd, const std::vector<std::string>& threads, int64_t now, bool includes_current_waits) {
  std::map<std::string, ThreadTimes> observed;
  pending_us_ = 0, is_runnable_ = false;
  for (const std::string& name : threads) {
    const SchedulerTimes schedule = read_scheduler_times(proc_fd, name);
    const auto last_seen = threads_.find(name);
    // If it waited longer at the last look, it is another thread with the same number.
    const bool is_known = last_seen != threads_.end() && last_seen->second.waited_us <= schedule.waited_us;
    const bool has_not_run =
        is_known && last_seen->second.ran_us == schedule.ran_us && last_seen->second.waited_us == schedule.waited_us;
    const ThreadTimes thread = {schedule.ran_us, schedule.waited_us, has_not_run ? last_seen->second.last_ran_at : now};
    ended_us_ += is_known ? thread.waited_us - last_seen->second.waited_us : thread.waited_us;
    const bool is_runnable = includes_current_waits && read_thread_state(proc_fd, name) == 'R';
    if (is_runnable && has_not_run) pending_us_ += now - thread.last_ran_at;
    is_runnable_ = is_runnable_ || is_runnable;
    observed.emplace(name, thread);
  }
  threads_.swap(observed);
}

std::vector<std::string> list_threads(int proc_fd, const std::vector<pid_t>& pids) {
  std::vector<std::string> threads;
  for (const pid_t pid : pids)
    for (std::string& thread_folder : list_thread_folders(proc_fd, pid)) threads.push_back(std::move(thread_folder));
  return threads;
}

bool is_any_thread_running(int proc_fd, const std::vector<pid_t>& pids) {
  for (const std::string& thread : list_threads(proc_fd, pids))
    if (read_thread_state(proc_fd, thread) == 'R') return true;
  return false;
}

int64_t read_cpu_wait_us(int proc_fd, pid_t pid) {
  return read_scheduler_times(proc_fd, std::to_string(pid)).waited_us;
}

int64_t read_written_byte_count(int proc_fd, pid_t pid) {
  return parse_number_after(read_proc_file(proc_fd, std::to_string(pid) + "/io"), "wchar:");
}

int64_t read_disk_activity_counter(int proc_fd, pid_t pid) {
  const std::string io = read_proc_file(proc_fd, std::to_string(pid) + "/io");
  long long faults = 0;
  std::sscanf(
      read_stat_fields_text(proc_fd, std::to_string(pid)).c_str(), " %*c %*d %*d %*d %*d %*d %*u %*u %*u %lld",
      &faults);
  return faults + parse_number_after(io, "\nread_bytes:") + parse_number_after(io, "\nwrite_bytes:");
}

int64_t read_thread_count(int proc_fd, pid_t pid) { return read_process_stat(proc_fd, pid).threads; }

std::vector<pid_t> list_descendants(int proc_fd, pid_t own_pid) {
  std::vector<pid_t> pids;
  add_descendants(proc_fd, own_pid, pids);
  return pids;
}

int64_t measure_proportional_memory_bytes(int proc_fd, const std::vector<pid_t>& pids) {
  int64_t bytes = 0;
  for (const pid_t pid : pids) {
    const std::string rollup = read_proc_file(proc_fd, std::to_string(pid) + "/smaps_rollup");
    const int64_t kilobytes = parse_number_after(rollup, "\nPss:") + parse_number_after(rollup, "\nSwapPss:");
    const int64_t tables = parse_number_after(read_status_file(proc_fd, pid), "\nVmPTE:");
    bytes += kilobytes > 0
        ? (kilobytes + tables) * 1024
        : find_resident_bytes(proc_fd, pid) + parse_nonresident_memory_bytes(read_status_file(proc_fd, pid));
  }
  return bytes;
}

ResourceUsage measure_descendants(int proc_fd, pid_t own_pid) {
  ResourceUsage usage;
  int64_t max_memory = -1;
  for (const pid_t pid : list_descendants(proc_fd, own_pid)) {
    const int64_t memory =
        find_resident_bytes(proc_fd, pid) + parse_nonresident_memory_bytes(read_status_file(proc_fd, pid));
    const ProcessStat process_stat = read_process_stat(proc_fd, pid);
    usage.cpu_us += process_stat.cpu_us;
    usage.memory_bytes += memory;
    usage.task_count += process_stat.threads;
    const std::string states = read_thread_states(proc_fd, pid, process_stat);
    usage.is_waiting_for_disk = usage.is_waiting_for_disk || states.find('D') != std::string::npos;
    usage.is_runnable = usage.is_runnable || states.find('R') != std::string::npos;
    if (memory > max_memory) max_memory = memory, usage.largest_pid = pid;
  }
  return usage;
}

}  // namespace resource_usage
