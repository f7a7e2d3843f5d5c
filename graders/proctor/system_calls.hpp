// The table of system calls: which profile may use which call, under which condition, and why.
#pragma once

#include <string>
#include <vector>

namespace system_calls {

// Profiles, as bits. A submission with threads has a separate profile, with calls that only runtimes need. A submission
// that may fork, because its package ships a runner that forks, has two more.
constexpr unsigned single = 1, threaded = 2, tool = 4, stage = 8, flat_stage = 16, forking = 32, forking_threaded = 64;
constexpr unsigned all_forking = forking | forking_threaded, all_threaded = threaded | forking_threaded,
                   non_forking = single | threaded, submission = non_forking | all_forking, stages = stage | flat_stage,
                   trusted = tool | stages, all_profiles = submission | trusted;

// Conditions under which a call is allowed. seccomp.cpp turns them into filter programs.
enum class Condition {
  none,
  no_effect,    // succeeds without an effect
  unavailable,  // fails with ENOSYS; libc has a fallback
  // kill: the first argument is the caller's own pid (0 would be a group); SIGKILL, the second, kills it like a
  // forbidden call, so that any other SIGKILL came from outside
  signal_to_own_process,
  signal_to_own_thread,  // tgkill: the same condition, with a thread id between the two arguments
  self_or_enosys,        // allowed on the caller; ENOSYS for other processes, like on an old kernel
  self_or_zero,          // allowed on the caller; 0 for any other pid
  own_clock,             // a global clock, or a clock of the caller
  no_truncating_open,    // open: a file opened for reading is not truncated
  no_truncating_openat,
  setrlimit_per_process,  // setrlimit: only limits that are counted per process
  prlimit_of_caller,      // prlimit64: only on the caller; sets only limits that the kernel counts per process
  private_futex,
  private_or_waiting_futex,  // private, or waiting on a futex that is not private
  countable_memory,          // mmap: no shared memory without a file, no huge pages
  own_page_advice,           // madvise: only advice that does not affect other processes that share a file
  no_flags,                  // preadv2, pwritev2: without flags
  shared_descriptor_table,   // close_range: without CLOSE_RANGE_UNSHARE
  plain_fcntl,
  plain_ioctl,
  plain_prctl,
  only_threads,               // clone: starts a thread
  only_forks,                 // clone: starts a process as libc's fork does
  threads_or_forks,           // clone: starts a thread, or a process as libc's fork does
  any_signal_except_sigchld,  // rt_sigaction: the handling of SIGCHLD does not change
  own_barrier,                // membarrier: only for the caller's threads
  no_namespaces,              // clone: creates no namespaces
  unix_socket_pair,           // socketpair: of the family AF_UNIX
  plain_send_and_receive,     // sendto, recvfrom: without flags and address
};

// A system call by number and name.
struct SystemCall {
  unsigned number;
  const char* name;
};

// Permits some system calls to some profiles, under a condition.
struct SystemCallRule {
  unsigned profiles;
  Condition condition;
  std::vector<SystemCall> calls;
  const char* reason;
};

// Returns all rules. A call is in at most one rule of each profile. A call in no rule fails with EPERM.
const std::vector<SystemCallRule>& list_system_call_rules();

// Returns the table as Markdown.
std::string format_system_call_table();

}  // namespace system_calls
