// The one table of system calls: which profile may make which, under which condition, and why.
#pragma once

#include <string>
#include <vector>

namespace system_calls {

// Whose line it is. A submission's threads are a profile of their own: what only runtimes need, a program without
// threads has not.
// that may fork, whose package ships what forks, are two more.
constexpr unsigned single = 1, threaded = 2, tool = 4, stage = 8, flat_stage = 16, forking = 32, forking_threaded = 64;
constexpr unsigned all_forking = forking | forking_threaded, all_threaded = threaded | forking_threaded,
                   non_forking = single | threaded, submission = non_forking | all_forking, stages = stage | flat_stage,
                   trusted = tool | stages, all_profiles = submission | trusted;

// What is looked at before a call is allowed. seccomp.cpp makes programs of them.
enum class Condition {
  none,
  no_effect,      // answered with success, and not made
  unavailable,         // answered with ENOSYS: libc does without
  signal_to_own_process,       // the first argument is the caller, by its number: 0 is a group for kill; SIGKILL, the
                     // second, ends it as a call that is not allowed, so that one that came is somebody else's
  signal_to_own_thread,        // the same, where a thread stands between
  self_or_enosys,    // the caller; ENOSYS for others, which libc takes for a kernel that cannot tell
  self_or_zero,      // the caller; of others 0, whether they are there or not
  own_clock,         // a clock of all, or the caller's
  no_truncating_open,  // open: nothing is emptied that is opened for reading
  no_truncating_openat,
  per_process_limits,   // setrlimit: what counts per process
  own_per_process_limits,        // prlimit64: of the caller; set only what counts per process
  private_futex,
  private_or_waiting_futex,     // the same, and waiting for what is not private
  counted_memory,    // mmap: no shared memory without a file, no huge pages
  own_page_advice,            // madvise: on one's own pages, not on who else has a file in memory
  no_flags,          // preadv2, pwritev2
  shared_descriptors,  // close_range: of all threads
  plain_fcntl,
  plain_ioctl,
  plain_prctl,
  only_threads,      // clone
  only_forks,        // clone
  threads_or_forks,  // clone
  not_sigchld,   // rt_sigaction: what comes of a child's end stays
  own_barrier,       // membarrier: of the caller's own threads
  no_namespaces,     // clone
  unix_socket_pair,         // socketpair
  like_read_and_write,        // sendto, recvfrom: as write and read
};

struct Call {
  unsigned number;
  const char* name;
};

struct Rule {
  unsigned profiles;
  Condition condition;
  std::vector<Call> calls;
  const char* reason;
};

// A call stands in at most one line of each profile. What stands in none is refused: EPERM.
const std::vector<Rule>& rules();

// The table as Markdown.
std::string markdown_table();

}  // namespace system_calls
