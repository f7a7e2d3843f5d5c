// What running processes have used so far, read from /proc.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <sys/types.h>
#include <vector>

namespace resource_usage {

struct Usage {
  int64_t cpu_us = 0;
  // Page tables, swap and huge pages included: reading memory that was never written costs nothing else.
  int64_t memory_bytes = 0;
  int64_t task_count = 0;  // threads are as many of them, as RLIMIT_NPROC counts
  pid_t largest_pid = 0;  // the process that holds most memory
  bool is_at_disk = false;  // one of them waits for a disk just now
  bool is_ready = false;    // one of them is on a processor, or could be
};

// One process; `pid` as the /proc behind `proc` counts. Its CPU time comes from its clock, by its pid here.
Usage of_process(int proc, pid_t pid_there, pid_t pid_here);

// What a process has used by the ticks at which it was on a processor, which is what RLIMIT_CPU counts; of one that has
// ended, too, until somebody has waited for it. `pid` as it is here.
int64_t tick_time_us(pid_t pid);

// How long threads were ready to run and had no processor, all together; those that have ended as far as they were
// seen. 0 where the kernel does not tell.
class CpuWaits {
 public:
  // What has come to it since the last call, which is made at `time`. `now`: whether who waits at this moment counts as
  // well, which the kernel tells of a thread only when it runs again. Takes as long as there are threads.
  void observe(int proc, const std::vector<std::string>& threads, int64_t now, bool includes_current);
  int64_t total_us() const { return ended_us_ + pending_us_; }
  // Whether one of them was on a processor, or could be; known where `now` was.
  bool is_ready() const { return is_ready_; }

 private:
  struct Thread {
    int64_t ran_us, waited_us;
    int64_t moved_at;  // when it was last seen to have run
  };
  std::map<std::string, Thread> seen_;
  int64_t ended_us_ = 0, pending_us_ = 0;
  bool is_ready_ = false;
};

// The folders of all threads of processes, below /proc.
std::vector<std::string> threads_of(int proc, const std::vector<pid_t>& pids);

// How long the first thread of a process was ready to run and had no processor. 0 where the kernel does not tell.
int64_t waited_us(int proc, pid_t pid);

// How many bytes a process has written, whereto ever. 0 where the kernel does not tell.
int64_t written_bytes(int proc, pid_t pid);

// A number that grows when a disk works for a process, or swap does.
int64_t disk_work(int proc, pid_t pid);

// Whether any thread of processes computes, or could.
bool any_is_running(int proc, const std::vector<pid_t>& pids);

// How many threads a process has, 0 when it is gone.
int64_t thread_count(int proc, pid_t pid);

// All descendants of the calling process, whose own pid there is `self`. Counts CPU time in ticks of 10 ms.
Usage of_descendants(int proc, pid_t self);

// The memory of processes, where each page counts once that several of them share.
int64_t proportional_memory_bytes(int proc, const std::vector<pid_t>& pids);

struct FolderContents {
  int64_t bytes = 0, entries = 0;
};

// What lies in a folder and below it. Ends early when there are more names than `most`. What lies below a hundred
// folders is not looked for: each of them costs a descriptor.
FolderContents folder_contents(int folder, int64_t max_entries);

// Their pids as the /proc behind `proc` counts them.
std::vector<pid_t> descendants(int proc, pid_t self);

}  // namespace resource_usage
