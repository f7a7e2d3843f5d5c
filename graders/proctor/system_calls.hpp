// The one table of system calls: which profile may make which, under which condition, and why.
#pragma once

#include <string>
#include <vector>

namespace system_calls {

// Whose line it is. A submission's threads are a profile of their own: what only runtimes need, a program without
// threads has not.
// that may fork, whose package ships what forks, are two more.
constexpr unsigned lone = 1, threaded = 2, tool = 4, stage = 8, flat_stage = 16, forking = 32, forking_threads = 64;
constexpr unsigned forks = forking | forking_threads, threads = threaded | forking_threads, alone = lone | threaded,
    submission = alone | forks, stages = stage | flat_stage, ours = tool | stages, everybody = submission | ours;

// What is looked at before a call is allowed. seccomp.cpp makes programs of them.
enum class Check {
  none,
  not_followed,      // answered with success, and not made
  not_there,         // answered with ENOSYS: libc does without
  own_process,       // the first argument is the caller, by its number: 0 is a group for kill; SIGKILL, the
                     // second, ends it as a call that is not allowed, so that one that came is somebody else's
  own_thread,        // the same, where a thread stands between
  own_or_unknown,    // the caller; ENOSYS for others, which libc takes for a kernel that cannot tell
  own_or_usual,      // the caller; of others 0, whether they are there or not
  own_clock,         // a clock of all, or the caller's
  no_emptying_open,  // open: nothing is emptied that is opened for reading
  no_emptying_openat,
  harmless_limits,   // setrlimit: what counts per process
  own_limits,        // prlimit64: of the caller; set only what counts per process
  private_futex,
  joining_futex,     // the same, and waiting for what is not private
  counted_memory,    // mmap: no shared memory without a file, no huge pages
  advice,            // madvise: on one's own pages, not on who else has a file in memory
  no_flags,          // preadv2, pwritev2
  same_descriptors,  // close_range: of all threads
  plain_fcntl,
  plain_ioctl,
  plain_prctl,
  only_threads,      // clone
  only_forks,        // clone
  threads_or_forks,  // clone
  not_of_children,   // rt_sigaction: what comes of a child's end stays
  own_barrier,       // membarrier: of the caller's own threads
  no_namespaces,     // clone
  unix_pair,         // socketpair
  as_written,        // sendto, recvfrom: as write and read
};

struct Call {
  unsigned number;
  const char* name;
};

struct Line {
  unsigned who;
  Check check;
  std::vector<Call> calls;
  const char* reason;
};

// A call stands in at most one line of each profile. What stands in none is refused: EPERM.
const std::vector<Line>& table();

// The table as Markdown.
std::string described();

}  // namespace system_calls
