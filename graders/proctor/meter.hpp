// What running processes have used so far, read from /proc.
#pragma once

#include <cstdint>
#include <sys/types.h>
#include <vector>

namespace meter {

struct Usage {
  int64_t cpu_us = 0;
  int64_t memory = 0;  // page tables, swap and huge pages included: reading memory that was never written costs nothing else
  int64_t processes = 0;  // threads are as many of them, as RLIMIT_NPROC counts
  pid_t largest = 0;  // the process that holds most memory
};

// One process; `pid` as the /proc behind `proc` counts. Its CPU time comes from its clock, by its pid here.
Usage of_process(int proc, pid_t pid_there, pid_t pid_here);

// How long a process was ready to run and had no processor: the longest wait of any of its threads. 0 where the kernel does not tell.
int64_t waited_us(int proc, pid_t pid);

// How many bytes a process has written, whereto ever. 0 where the kernel does not tell.
int64_t written(int proc, pid_t pid);

// How many threads a process has, 0 when it is gone.
int64_t threads_of(int proc, pid_t pid);

// All descendants of the calling process, whose own pid there is `self`. Counts CPU time in ticks of 10 ms.
Usage of_descendants(int proc, pid_t self);

struct Contents {
  int64_t bytes = 0, names = 0;
};

// What lies in a folder and below it. Ends early when there are more names than `most`. What lies below a hundred folders is not looked
// for: each of them costs a descriptor.
Contents contents_of(int folder, int64_t most);

// Their pids as the /proc behind `proc` counts them.
std::vector<pid_t> descendants(int proc, pid_t self);

}  // namespace meter
