#include "seccomp.hpp"

#include <algorithm>
#include <csignal>
#include <cstddef>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/futex.h>
#include <linux/seccomp.h>
#include <map>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <vector>

#include "system_calls.hpp"
#include "sys.hpp"

#ifndef SECCOMP_RET_KILL_PROCESS
#define SECCOMP_RET_KILL_PROCESS 0x80000000U
#endif
#ifndef PR_SET_VMA
#define PR_SET_VMA 0x53564d41
#endif

namespace seccomp {
namespace {

#if defined(__x86_64__)
constexpr uint32_t audit_architecture = AUDIT_ARCH_X86_64;
constexpr unsigned x32_bit = 0x40000000;
#else
constexpr uint32_t audit_architecture = AUDIT_ARCH_AARCH64;
constexpr unsigned x32_bit = 0;
#endif

constexpr uint32_t errno_action(int error) { return SECCOMP_RET_ERRNO | static_cast<uint32_t>(error); }
constexpr uint32_t allow_action = SECCOMP_RET_ALLOW;

// Calls newer than this fail with ENOSYS, so that a libc that tries them falls back to older calls.
constexpr unsigned last_known_call = 424;

// Instructions of a seccomp filter, or of a part of a filter.
using FilterProgram = std::vector<sock_filter>;

sock_filter instruction(unsigned code, uint32_t value) { return {static_cast<uint16_t>(code), 0, 0, value}; }
// Returns a conditional jump that skips `skip_if_true` or `skip_if_false` instructions.
sock_filter jump_if(unsigned code, uint32_t value, size_t skip_if_true, size_t skip_if_false) {
  return {static_cast<uint16_t>(code), static_cast<uint8_t>(skip_if_true), static_cast<uint8_t>(skip_if_false), value};
}
sock_filter return_action(uint32_t action) { return instruction(BPF_RET | BPF_K, action); }
sock_filter load_argument_low_half(unsigned index) {
  // Loads the low half of the argument; the machine is little-endian.
  return instruction(BPF_LD | BPF_W | BPF_ABS, static_cast<uint32_t>(offsetof(seccomp_data, args) + 8 * index));
}
sock_filter load_argument_high_half(unsigned index) {
  return instruction(BPF_LD | BPF_W | BPF_ABS, static_cast<uint32_t>(offsetof(seccomp_data, args) + 8 * index + 4));
}

// Allows the call if the argument is in `values`. Otherwise it fails with `error`.
FilterProgram allow_argument_values(unsigned argument, const std::vector<uint32_t>& values, int error) {
  FilterProgram program = {load_argument_low_half(argument)};
  for (size_t i = 0; i < values.size(); ++i)
    program.push_back(jump_if(BPF_JMP | BPF_JEQ | BPF_K, values[i], values.size() - i, 0));
  program.push_back(return_action(errno_action(error)));
  program.push_back(return_action(allow_action));
  return program;
}

// With `must_be_set`, allows the call if any bit of the mask is set; otherwise, if no bit is set. Else it fails with
// `error`.
FilterProgram allow_argument_bits(unsigned argument, uint32_t mask, bool must_be_set, int error) {
  const uint32_t action_if_set = must_be_set ? allow_action : errno_action(error),
                 action_if_clear = must_be_set ? errno_action(error) : allow_action;
  return {load_argument_low_half(argument), jump_if(BPF_JMP | BPF_JSET | BPF_K, mask, 0, 1),
      return_action(action_if_set), return_action(action_if_clear)};
}

// Refuses to truncate a file that is opened for reading: before ABI 3, Landlock permits that to a process that may read
// the file. For the same reason, truncate() is in no rule.
FilterProgram refuse_truncating_read_only_open(unsigned argument) {
  return {load_argument_low_half(argument), instruction(BPF_ALU | BPF_AND | BPF_K, O_TRUNC | O_ACCMODE),
      jump_if(BPF_JMP | BPF_JEQ | BPF_K, O_TRUNC | O_RDONLY, 0, 1), return_action(errno_action(EACCES)),
      return_action(allow_action)};
}

// Allows signals to the caller itself. SIGKILL kills it like a forbidden call, so that any other SIGKILL must come from
// outside.
FilterProgram allow_signal_to_self(uint32_t own_pid, unsigned signal_argument) {
  return {load_argument_low_half(0), jump_if(BPF_JMP | BPF_JEQ | BPF_K, own_pid, 1, 0),
      return_action(errno_action(EPERM)), load_argument_low_half(signal_argument),
      jump_if(BPF_JMP | BPF_JEQ | BPF_K, SIGKILL, 0, 1), return_action(SECCOMP_RET_KILL_PROCESS),
      return_action(allow_action)};
}

constexpr uint32_t new_namespaces =
    CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET;

// Allows only threads of the same process, without CLONE_VFORK. They share its descriptors, whose number bounds the
// memory in pipes and sockets, because that is in no resident set.
FilterProgram allow_thread_creation() {
  constexpr uint32_t required_flags = CLONE_THREAD | CLONE_FILES;
  return {load_argument_low_half(0),
      instruction(BPF_ALU | BPF_AND | BPF_K, required_flags | new_namespaces | CLONE_VFORK),
      jump_if(BPF_JMP | BPF_JEQ | BPF_K, required_flags, 0, 1), return_action(allow_action),
      return_action(errno_action(EAGAIN))};
}

// The flags with which libc's fork calls clone.
const std::vector<uint32_t> fork_flag_values = {SIGCHLD, SIGCHLD | CLONE_CHILD_SETTID | CLONE_CHILD_CLEARTID};

FilterProgram allow_thread_creation_or_fork() {
  FilterProgram program = {load_argument_low_half(0), jump_if(BPF_JMP | BPF_JSET | BPF_K, CLONE_THREAD, 1, 0)};
  const FilterProgram forks = allow_argument_values(0, fork_flag_values, EPERM), threads = allow_thread_creation();
  program.push_back(instruction(BPF_JMP | BPF_JA, static_cast<uint32_t>(threads.size())));
  program.insert(program.end(), threads.begin(), threads.end());
  program.insert(program.end(), forks.begin(), forks.end());
  return program;
}

// Forbids to change SIGCHLD's disposition: with SIG_IGN, the kernel reaps children and their usage is not counted.
FilterProgram build_sigchld_disposition_filter() {
  return {load_argument_low_half(0), jump_if(BPF_JMP | BPF_JEQ | BPF_K, SIGCHLD, 0, 1),
      return_action(errno_action(EPERM)), return_action(allow_action)};
}

// Commands of membarrier: to query, and those for the caller's own threads. The headers do not have their names yet.
const std::vector<uint32_t> own_barrier_commands = {0 /* QUERY */, 1 << 3 /* PRIVATE_EXPEDITED */,
    1 << 4 /* to register it */, 1 << 5 /* PRIVATE_EXPEDITED_SYNC_CORE */, 1 << 6 /* to register it */,
    1 << 7 /* PRIVATE_EXPEDITED_RSEQ */, 1 << 8 /* to register it */, 1 << 9 /* GET_REGISTRATIONS */};

// Threads of a process use private futexes. Other futexes are identified by their file, so two programs could
// communicate through a futex in a system file. Waiting on them is allowed for programs with threads, because the
// kernel wakes a thread that joins another through such a futex.
FilterProgram allow_private_or_waiting_futex() {
  FilterProgram program = {load_argument_low_half(1), jump_if(BPF_JMP | BPF_JSET | BPF_K, FUTEX_PRIVATE_FLAG, 0, 1),
      return_action(allow_action)};
  const FilterProgram waiting_calls =
      allow_argument_values(1, {FUTEX_WAIT, FUTEX_WAIT_BITSET, FUTEX_WAIT_BITSET | FUTEX_CLOCK_REALTIME}, EINVAL);
  program.insert(program.end(), waiting_calls.begin(), waiting_calls.end());
  return program;
}

// Refuses shared memory without a file: MADV_DONTNEED removes it from the resident set but does not free it, so that no
// limit counts it. Refuses huge pages: their number is visible to all processes of the machine.
FilterProgram build_countable_memory_filter() {
  return {load_argument_low_half(3), jump_if(BPF_JMP | BPF_JSET | BPF_K, MAP_HUGETLB, 2, 0),
      jump_if(BPF_JMP | BPF_JSET | BPF_K, MAP_ANONYMOUS, 0, 2), jump_if(BPF_JMP | BPF_JSET | BPF_K, MAP_SHARED, 0, 1),
      return_action(errno_action(EPERM)), return_action(allow_action)};
}

// Limits that the kernel counts per process. Those that it counts per user (processes, pending signals, locked memory,
// message queues) would reveal the usage of the user's other processes.
const std::vector<uint32_t> per_process_limits = {
    RLIMIT_FSIZE, RLIMIT_DATA, RLIMIT_STACK, RLIMIT_CORE, RLIMIT_RSS, RLIMIT_NOFILE, RLIMIT_AS};

// Allows setting the limits that the kernel counts per process. Setting RLIMIT_CPU has no effect, because a program
// could use it to have itself killed as if from outside.
FilterProgram allow_per_process_limits(unsigned argument) {
  FilterProgram program = {load_argument_low_half(argument), jump_if(BPF_JMP | BPF_JEQ | BPF_K, RLIMIT_CPU, 0, 1),
      return_action(errno_action(0))};
  const FilterProgram other_limits = allow_argument_values(argument, per_process_limits, EPERM);
  program.insert(program.end(), other_limits.begin(), other_limits.end());
  return program;
}

// Allows sendto and recvfrom without flags and address, which do the same as write and read.
FilterProgram allow_sending_without_address() {
  return {load_argument_low_half(3), jump_if(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 5), load_argument_low_half(4),
      jump_if(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 3), load_argument_high_half(4),
      jump_if(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 1), return_action(allow_action), return_action(errno_action(EPERM))};
}

// Allows prlimit64 on the caller itself: reading any limit (with a null pointer as the new limit), and setting the
// limits that the kernel counts per process.
FilterProgram allow_prlimit_of_caller(pid_t own_pid) {
  FilterProgram program = {load_argument_low_half(0), jump_if(BPF_JMP | BPF_JEQ | BPF_K, 0, 2, 0),
      jump_if(BPF_JMP | BPF_JEQ | BPF_K, static_cast<uint32_t>(own_pid), 1, 0), return_action(errno_action(EPERM)),
      load_argument_low_half(2), jump_if(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 3), load_argument_high_half(2),
      jump_if(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 1), return_action(allow_action)};
  const FilterProgram setting_limits = allow_per_process_limits(1);
  program.insert(program.end(), setting_limits.begin(), setting_limits.end());
  return program;
}

// Values of madvise that affect only the caller's pages. For other values the call returns EINVAL, like an old kernel.
const std::vector<uint32_t> own_page_advice_values = {MADV_NORMAL, MADV_RANDOM, MADV_SEQUENTIAL, MADV_WILLNEED,
    MADV_DONTNEED, MADV_FREE, MADV_HUGEPAGE, MADV_NOHUGEPAGE, MADV_DONTDUMP, MADV_DODUMP, MADV_DONTFORK, MADV_DOFORK,
    22 /* POPULATE_READ */, 23 /* POPULATE_WRITE */};

// Returns the number of a process's CPU clock. The clock of another process would show how long that has computed, and
// so is a channel. Clocks of threads are visible only in their process.
uint32_t make_clock_id(pid_t pid, uint32_t kind) { return ~static_cast<uint32_t>(pid) << 3 | kind; }

FilterProgram allow_own_clock(pid_t own_pid) {
  FilterProgram program = {load_argument_low_half(0), jump_if(BPF_JMP | BPF_JGE | BPF_K, 0x80000000U, 1, 0),
      return_action(allow_action), jump_if(BPF_JMP | BPF_JSET | BPF_K, 4, 0, 1), return_action(allow_action)};
  const FilterProgram own_clocks = allow_argument_values(0,
      {make_clock_id(0, 0), make_clock_id(0, 1), make_clock_id(0, 2), make_clock_id(own_pid, 0),
          make_clock_id(own_pid, 1), make_clock_id(own_pid, 2)},
      EINVAL);
  program.insert(program.end(), own_clocks.begin(), own_clocks.end());
  return program;
}

FilterProgram build_condition_filter(system_calls::Condition condition, pid_t own_pid) {
  using system_calls::Condition;
  const auto own_pid_bits = static_cast<uint32_t>(own_pid);
  switch (condition) {
    case Condition::none: return {return_action(allow_action)};
    case Condition::no_effect: return {return_action(errno_action(0))};
    case Condition::unavailable: return {return_action(errno_action(ENOSYS))};
    case Condition::signal_to_own_process: return allow_signal_to_self(own_pid_bits, 1);
    case Condition::signal_to_own_thread: return allow_signal_to_self(own_pid_bits, 2);
    case Condition::self_or_enosys: return allow_argument_values(0, {0, own_pid_bits}, ENOSYS);
    case Condition::self_or_zero: return allow_argument_values(0, {0, own_pid_bits}, 0);
    case Condition::own_clock: return allow_own_clock(own_pid);
    case Condition::no_truncating_open: return refuse_truncating_read_only_open(1);
    case Condition::no_truncating_openat: return refuse_truncating_read_only_open(2);
    case Condition::setrlimit_per_process: return allow_per_process_limits(0);
    case Condition::prlimit_of_caller: return allow_prlimit_of_caller(own_pid);
    case Condition::private_futex: return allow_argument_bits(1, FUTEX_PRIVATE_FLAG, true, EINVAL);
    case Condition::private_or_waiting_futex: return allow_private_or_waiting_futex();
    case Condition::countable_memory: return build_countable_memory_filter();
    case Condition::own_page_advice: return allow_argument_values(2, own_page_advice_values, EINVAL);
    case Condition::no_flags: return allow_argument_values(5, {0}, EOPNOTSUPP);
    case Condition::shared_descriptor_table:
      return allow_argument_values(2, {0, 1 << 2 /* CLOSE_RANGE_CLOEXEC */}, EINVAL);
    case Condition::plain_fcntl:
      return allow_argument_values(1, {F_DUPFD, F_DUPFD_CLOEXEC, F_GETFD, F_SETFD, F_GETFL, F_SETFL}, EPERM);
    case Condition::plain_ioctl:
      return allow_argument_values(1, {TCGETS, FIONREAD, FIONBIO, FIOCLEX, FIONCLEX, TIOCGWINSZ}, ENOTTY);
    case Condition::plain_prctl:
      return allow_argument_values(0, {PR_SET_NAME, PR_GET_NAME, PR_GET_DUMPABLE, PR_CAPBSET_READ, PR_SET_VMA}, EPERM);
    case Condition::only_threads: return allow_thread_creation();
    case Condition::only_forks: return allow_argument_values(0, fork_flag_values, EPERM);
    case Condition::threads_or_forks: return allow_thread_creation_or_fork();
    case Condition::any_signal_except_sigchld: return build_sigchld_disposition_filter();
    case Condition::own_barrier: return allow_argument_values(0, own_barrier_commands, EINVAL);
    case Condition::no_namespaces: return allow_argument_bits(0, new_namespaces, false, EPERM);
    case Condition::unix_socket_pair: return allow_argument_values(0, {AF_UNIX}, EPERM);
    case Condition::plain_send_and_receive: return allow_sending_without_address();
  }
  return {return_action(errno_action(EPERM))};
}

// One system call and the filter program that decides about it: a single action, or checks of its arguments.
struct SystemCallFilter {
  unsigned call;
  FilterProgram program;
};

// Returns the bit of a profile in `SystemCallRule::profiles`.
unsigned find_rule_profile_bit(Profile profile, SubmissionPermissions permissions) {
  switch (profile) {
    case Profile::submission:
      if (permissions.may_fork)
        return permissions.may_use_threads ? system_calls::forking_threaded : system_calls::forking;
      return permissions.may_use_threads ? system_calls::threaded : system_calls::single;
    case Profile::tool: return system_calls::tool;
    case Profile::stage: return system_calls::stage;
    case Profile::flat_stage: return system_calls::flat_stage;
  }
  return 0;
}

std::vector<SystemCallFilter> list_profile_filters(unsigned profile_bit, pid_t own_pid) {
  std::vector<SystemCallFilter> filters;
  for (const system_calls::SystemCallRule& rule : system_calls::list_system_call_rules())
    if (rule.profiles & profile_bit)
      for (const system_calls::SystemCall& call : rule.calls)
        filters.push_back({call.number, build_condition_filter(rule.condition, own_pid)});
  return filters;
}

// The filters of all calls as a binary search over ranges of calls with the same action. The kernel compiles the filter
// each time it is installed, and runs it once for each call number, so every started program pays for its length and
// depth.
class SystemCallFilterTree {
 public:
  explicit SystemCallFilterTree(std::vector<SystemCallFilter> filters) {
    std::sort(filters.begin(), filters.end(),
        [](const SystemCallFilter& a, const SystemCallFilter& b) { return a.call < b.call; });
    unsigned next = 0;
    for (SystemCallFilter& filter : filters) {
      add_refused_range(next, filter.call);
      add_system_call_range(filter.call, std::move(filter.program));
      next = filter.call + 1;
    }
    add_refused_range(next, last_known_call + 1);
    add_system_call_range(std::max(next, last_known_call), {return_action(errno_action(ENOSYS))});
  }

  FilterProgram build_filter() const {
    FilterProgram program = {
        instruction(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, arch)),
        jump_if(BPF_JMP | BPF_JEQ | BPF_K, audit_architecture, 1, 0),
        return_action(SECCOMP_RET_KILL_PROCESS),
        instruction(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
    };
    if (x32_bit) {
      program.push_back(jump_if(BPF_JMP | BPF_JGE | BPF_K, x32_bit, 0, 1));
      program.push_back(return_action(SECCOMP_RET_KILL_PROCESS));
    }
    const FilterProgram tree = build_subtree_filter(0, ranges_.size());
    program.insert(program.end(), tree.begin(), tree.end());
    return program;
  }

 private:
  // All calls up to the first call of the next range.
  struct SystemCallRange {
    unsigned first_call;
    FilterProgram program;
  };

  static bool is_same_single_action(const FilterProgram& a, const FilterProgram& b) {
    return a.size() == 1 && b.size() == 1 && a[0].code == b[0].code && a[0].k == b[0].k;
  }

  void add_system_call_range(unsigned first_call, FilterProgram program) {
    if (ranges_.empty() || !is_same_single_action(ranges_.back().program, program))
      ranges_.push_back({first_call, std::move(program)});
  }

  // Adds the calls that no rule names: forbidden up to `last_known_call`, ENOSYS if they are newer.
  void add_refused_range(unsigned first_call, unsigned end_call) {
    if (first_call < end_call && first_call < last_known_call)
      add_system_call_range(first_call, {return_action(errno_action(EPERM))});
    if (first_call < end_call && end_call > last_known_call)
      add_system_call_range(std::max(first_call, last_known_call), {return_action(errno_action(ENOSYS))});
  }

  FilterProgram build_subtree_filter(size_t first_range, size_t end_range) const {
    if (end_range - first_range == 1) return ranges_[first_range].program;
    const size_t middle = first_range + (end_range - first_range) / 2;
    const FilterProgram low = build_subtree_filter(first_range, middle),
                        high = build_subtree_filter(middle, end_range);
    FilterProgram program;
    if (low.size() <= 255) {
      program.push_back(jump_if(BPF_JMP | BPF_JGE | BPF_K, ranges_[middle].first_call, low.size(), 0));
    } else {  // a conditional jump reaches only 255 instructions
      program.push_back(jump_if(BPF_JMP | BPF_JGE | BPF_K, ranges_[middle].first_call, 0, 1));
      program.push_back(instruction(BPF_JMP | BPF_JA, static_cast<uint32_t>(low.size())));
    }
    program.insert(program.end(), low.begin(), low.end());
    program.insert(program.end(), high.begin(), high.end());
    return program;
  }

  std::vector<SystemCallRange> ranges_;
};

// Placeholder for the caller's pid in a cached filter. No process has this pid.
constexpr pid_t placeholder_pid = 0x0ca11e40;

// Returns the filter of a profile, with `placeholder_pid`; it is built once.
const FilterProgram& get_cached_filter(unsigned profile_bit) {
  static std::map<unsigned, FilterProgram> cached_filters;
  const auto [entry, is_new] = cached_filters.try_emplace(profile_bit);
  if (is_new) entry->second = SystemCallFilterTree(list_profile_filters(profile_bit, placeholder_pid)).build_filter();
  return entry->second;
}

// Replaces `placeholder_pid` in a filter by the caller's pid, including the numbers of its clocks.
void replace_placeholder_pid(FilterProgram& program, pid_t own_pid) {
  for (sock_filter& instruction : program) {
    if (instruction.code != (BPF_JMP | BPF_JEQ | BPF_K)) continue;
    if (instruction.k == static_cast<uint32_t>(placeholder_pid)) instruction.k = static_cast<uint32_t>(own_pid);
    const uint32_t clock_kind = instruction.k & 7;
    if (instruction.k == make_clock_id(placeholder_pid, clock_kind)) instruction.k = make_clock_id(own_pid, clock_kind);
  }
}

}  // namespace

void prepare_filter(Profile profile, SubmissionPermissions permissions) {
  get_cached_filter(find_rule_profile_bit(profile, permissions));
}

std::string install_filter_or_explain(Profile profile, SubmissionPermissions permissions, pid_t own_pid) {
  FilterProgram program = get_cached_filter(find_rule_profile_bit(profile, permissions));
  replace_placeholder_pid(program, own_pid);
  const sock_fprog filter = {static_cast<unsigned short>(program.size()), program.data()};
  if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0) return sys::errno_message("seccomp");
  return "";
}

// Constants and structures that headers may lack; they came with Linux 5.0, 5.5 and 5.19.
namespace {

constexpr unsigned flag_new_listener = 1 << 3;
constexpr unsigned flag_wait_killable = 1 << 5;  // only fatal signals interrupt the wait for an answer
constexpr uint32_t notify_action = 0x7fc00000U;
constexpr uint32_t flag_continue = 1;

struct SeccompNotification {
  uint64_t id;
  uint32_t pid, flags;
  seccomp_data data;
};

struct SeccompResponse {
  uint64_t id;
  int64_t value;
  int32_t error;
  uint32_t flags;
};

constexpr unsigned long ioctl_receive = _IOWR('!', 0, SeccompNotification), ioctl_send = _IOWR('!', 1, SeccompResponse),
                        ioctl_set_flags = _IOW('!', 4, uint64_t);

}  // namespace

sys::Fd install_process_start_listener(bool includes_threads) {
  FilterProgram program = {load_argument_low_half(0), jump_if(BPF_JMP | BPF_JSET | BPF_K, CLONE_THREAD, 0, 1),
      return_action(includes_threads ? notify_action : allow_action), return_action(notify_action)};
  const FilterProgram load_call = {instruction(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr))};
#if defined(__x86_64__)
  const FilterProgram call_test = {jump_if(BPF_JMP | BPF_JEQ | BPF_K, SYS_fork, 0, 1), return_action(notify_action),
      jump_if(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 1, 0), return_action(allow_action)};
#else
  const FilterProgram call_test = {jump_if(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 1, 0), return_action(allow_action)};
#endif
  program.insert(program.begin(), call_test.begin(), call_test.end());
  program.insert(program.begin(), load_call.begin(), load_call.end());
  const sock_fprog filter = {static_cast<unsigned short>(program.size()), program.data()};
  const auto install = [&](unsigned flags) {
    return sys::Fd(static_cast<int>(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &filter)));
  };
  sys::Fd listener = install(flag_new_listener | flag_wait_killable);
  if (!listener.valid() && errno == EINVAL) listener = install(flag_new_listener);
  // SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP (since 6.6): if both sides share a processor, they are woken sooner.
  if (listener.valid()) ioctl(listener.get(), ioctl_set_flags, 1UL);
  return listener;
}

std::optional<ProcessStartListener::StartRequest> ProcessStartListener::receive_request() const {
  alignas(SeccompNotification) char buffer[512] = {};  // newer kernels may return longer notifications
  const auto& notification = *reinterpret_cast<const SeccompNotification*>(buffer);
  if (ioctl(listener_.get(), ioctl_receive, buffer) != 0) return std::nullopt;
  return StartRequest{
      notification.id, notification.data.nr == SYS_clone && (notification.data.args[0] & CLONE_THREAD)};
}

void ProcessStartListener::answer_request(const StartRequest& request) {
  const bool is_granted = request.is_thread || processes_left_ > 0;
  SeccompResponse answer = {request.id, 0, is_granted ? 0 : -EAGAIN, is_granted ? flag_continue : 0};
  if (ioctl(listener_.get(), ioctl_send, &answer) != 0) {
    if (errno == ENOENT) return;  // the process that asked is gone
    sys::fail_errno("processes cannot be counted (Linux 5.5 and newer ask for each)");
  }
  if (!request.is_thread) is_granted ? (--processes_left_, ++started_process_count_) : ++refused_processes_;
}

bool are_filters_available() {
  // A null filter fails with EFAULT if filters exist, and with EINVAL if they do not.
  return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, nullptr) != 0 && errno == EFAULT;
}

}  // namespace seccomp
