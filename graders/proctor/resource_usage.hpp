// The resource usage of running processes so far, read from /proc. `proc_fd` is a descriptor of a /proc.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <sys/types.h>
#include <vector>

namespace resource_usage {

// Resource usage of a process, or of several processes together.
struct ResourceUsage {
  int64_t cpu_us = 0;
  // Memory with page tables, swap and huge pages. Reading memory that was never written uses only page tables.
  int64_t memory_bytes = 0;
  int64_t task_count = 0;            // number of threads of all processes, as RLIMIT_NPROC counts them
  pid_t largest_pid = 0;             // the process with the most memory
  bool is_waiting_for_disk = false;  // a process is in the state of waiting for a disk (D)
  bool is_runnable = false;             // a process is running or runnable
};

// Returns the usage of a process. `pid_in_proc` is its pid in `proc_fd`, `local_pid` in the caller's namespace, for
// its CPU clock.
ResourceUsage measure_process(int proc_fd, pid_t pid_in_proc, pid_t local_pid);

// Returns the CPU time of a process by clock ticks, as RLIMIT_CPU counts it. Works until the process has been
// waited for. `pid` is in the caller's namespace.
int64_t read_cpu_time_by_ticks_us(pid_t pid);

// Counts how long threads were runnable without a processor, in total. Threads that have exited count up to the last
// check. The total is 0 if the kernel does not count such waits.
class CpuWaitCounter {
 public:
  // Adds the waits since the last call. With `includes_current_waits`, unfinished waits count as well, which the kernel
  // counts only when the thread runs again. Needs time for each thread.
  void add_new_waits(int proc_fd, const std::vector<std::string>& threads, int64_t now, bool includes_current_waits);
  int64_t total_us() const { return ended_us_ + pending_us_; }
  // Returns whether a thread was running or runnable at the last call with `includes_current_waits`.
  bool is_any_thread_runnable() const { return is_runnable_; }

 private:
  struct ThreadTimes {
    int64_t ran_us, waited_us;
    int64_t last_ran_at;  // time of the last check at which the thread had run
  };
  std::map<std::string, ThreadTimes> threads_;
  int64_t ended_us_ = 0, pending_us_ = 0;
  bool is_runnable_ = false;
};

// Returns the folders of all threads of processes, relative to /proc.
std::vector<std::string> list_threads(int proc_fd, const std::vector<pid_t>& pids);

// Returns how long the first thread of a process was runnable without a processor, or 0 if the kernel does not count
// it.
int64_t read_cpu_wait_us(int proc_fd, pid_t pid);

// Returns how many bytes a process has written to anything, or 0 if the kernel does not count this.
int64_t read_written_byte_count(int proc_fd, pid_t pid);

// Returns a number that grows when a disk or swap works for a process.
int64_t read_disk_activity_counter(int proc_fd, pid_t pid);

// Returns whether any thread of the processes is running or runnable.
bool is_any_thread_running(int proc_fd, const std::vector<pid_t>& pids);

// Returns how many threads a process has, or 0 if it is gone.
int64_t read_thread_count(int proc_fd, pid_t pid);

// Returns the usage of all descendants of the caller, whose pid in `proc_fd` is `own_pid`. CPU time has a resolution of
// 10 ms.
ResourceUsage measure_descendants(int proc_fd, pid_t own_pid);

// Returns the memory of processes, in bytes. A page that several of them share counts once.
int64_t measure_proportional_memory_bytes(int proc_fd, const std::vector<pid_t>& pids);

// Size and number of all files and folders in a folder.
struct FolderContents {
  int64_t bytes = 0, entries = 0;
};

// Counts the entries in a folder and below it. Stops when there are more than `max_entries`. Ignores entries that are
// more than a hundred folders deep, because each level needs a descriptor.
FolderContents count_folder_contents(int folder_fd, int64_t max_entries);

// Returns the pids of all descendants in `proc_fd`.
std::vector<pid_t> list_descendants(int proc_fd, pid_t own_pid);

}  // namespace resource_usage
