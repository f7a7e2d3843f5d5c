#include "seccomp.hpp"

#include <algorithm>
#include <cstddef>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/futex.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <vector>

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
constexpr uint32_t audit_arch = AUDIT_ARCH_X86_64;
constexpr unsigned x32_bit = 0x40000000;
constexpr unsigned nr_rseq = 334;
#elif defined(__aarch64__)
constexpr uint32_t audit_arch = AUDIT_ARCH_AARCH64;
constexpr unsigned x32_bit = 0;
constexpr unsigned nr_rseq = 293;
#else
#error "the system calls of this architecture are not known here"
#endif

constexpr uint32_t answer(int error) { return SECCOMP_RET_ERRNO | static_cast<uint32_t>(error); }
constexpr uint32_t allowed = SECCOMP_RET_ALLOW;

// Calls newer than this are answered with ENOSYS, so that a libc which tries them falls back to what it used before.
constexpr unsigned newest_known = 424;
constexpr unsigned nr_clone3 = 435;

// What any program needs to compute, read and write. No call in here can name another process, create a file,
// change one's attributes, or talk to anything.
const std::vector<unsigned> common = {
    SYS_read, SYS_write, SYS_readv, SYS_writev, SYS_pread64, SYS_pwrite64, SYS_preadv, SYS_pwritev,
    SYS_lseek, SYS_close, SYS_fstat, SYS_newfstatat, SYS_statx, SYS_faccessat, SYS_readlinkat, SYS_getcwd,
    SYS_getdents64, SYS_statfs, SYS_fstatfs, SYS_chdir, SYS_fchdir, SYS_mprotect, SYS_munmap, SYS_mremap, SYS_madvise, SYS_brk,
    SYS_msync, SYS_mincore, SYS_rt_sigaction, SYS_rt_sigprocmask, SYS_rt_sigreturn, SYS_sigaltstack, SYS_rt_sigpending,
    SYS_rt_sigtimedwait, SYS_rt_sigsuspend, SYS_nanosleep,
    SYS_gettimeofday, SYS_times, SYS_getrusage, SYS_getrlimit, SYS_setrlimit, SYS_dup, SYS_dup3, SYS_pipe2, SYS_pselect6,
    SYS_ppoll, SYS_epoll_create1, SYS_epoll_ctl, SYS_epoll_pwait, SYS_eventfd2, SYS_timerfd_create, SYS_timerfd_settime,
    SYS_timerfd_gettime, SYS_getitimer, SYS_setitimer, SYS_timer_settime, SYS_timer_gettime, SYS_timer_delete,
    SYS_timer_getoverrun, SYS_getpid, SYS_getppid, SYS_gettid, SYS_getuid, SYS_geteuid, SYS_getgid, SYS_getegid, SYS_getresuid,
    SYS_getresgid, SYS_getgroups, SYS_getpgid, SYS_getsid, SYS_uname, SYS_sysinfo, SYS_getcpu, SYS_sched_yield,
    SYS_sched_getaffinity, SYS_sched_getparam, SYS_sched_getscheduler, SYS_sched_get_priority_max, SYS_sched_get_priority_min,
    SYS_set_tid_address, SYS_set_robust_list, SYS_membarrier, SYS_getrandom, SYS_exit, SYS_exit_group,
    SYS_restart_syscall, SYS_execve, SYS_execveat, SYS_wait4, SYS_waitid, SYS_ftruncate, SYS_fallocate, SYS_fsync, SYS_fdatasync, SYS_fadvise64,
    SYS_umask, SYS_sendfile, SYS_copy_file_range, SYS_readahead, SYS_sync_file_range, SYS_capget,
    nr_rseq,
    sys::nr_close_range,
    439,  // faccessat2
    449,  // futex_waitv
#if defined(__x86_64__)
    SYS_stat, SYS_lstat, SYS_access, SYS_readlink, SYS_getdents, SYS_dup2, SYS_pipe, SYS_select, SYS_poll,
    SYS_epoll_create, SYS_epoll_wait, SYS_eventfd, SYS_alarm, SYS_pause, SYS_time, SYS_getpgrp, SYS_arch_prctl,
#endif
};

// Processes and files of one's own.
const std::vector<unsigned> tools = {
    SYS_splice, SYS_tee,  // of which nobody counts the bytes
    SYS_mmap, SYS_clock_nanosleep, SYS_clock_gettime, SYS_clock_getres, SYS_timer_create, SYS_futex, SYS_flock, SYS_preadv2, SYS_pwritev2,
    SYS_kill, SYS_tkill, SYS_tgkill, SYS_rt_sigqueueinfo, SYS_rt_tgsigqueueinfo, SYS_setpgid, SYS_setsid, SYS_mkdirat, SYS_unlinkat,
    SYS_renameat2, SYS_linkat, SYS_symlinkat, SYS_fchmod, SYS_fchmodat, SYS_utimensat, SYS_mknodat, SYS_socketpair,
    SYS_prlimit64, SYS_fcntl, SYS_ioctl, SYS_prctl, SYS_mlock, SYS_munlock, SYS_inotify_init1, SYS_inotify_add_watch, SYS_inotify_rm_watch,
    SYS_renameat, SYS_getpriority, SYS_getxattr, SYS_lgetxattr, SYS_fgetxattr, SYS_listxattr, SYS_llistxattr, SYS_flistxattr, SYS_recvmsg, SYS_sendmsg, SYS_recvfrom, SYS_sendto, SYS_shutdown, SYS_signalfd4, SYS_getpeername, SYS_getsockname,
#if defined(__x86_64__)
    SYS_fork, SYS_vfork, SYS_mkdir, SYS_rmdir, SYS_unlink, SYS_rename, SYS_link, SYS_symlink, SYS_chmod, SYS_utime, SYS_utimes, SYS_mknod,
    SYS_inotify_init,
#endif
};

// What a proctor needs to build boxes within a box.
const std::vector<unsigned> stages = {
    SYS_seccomp, SYS_capset, SYS_setresuid, SYS_setresgid, SYS_setuid, SYS_setgid, SYS_setgroups, SYS_memfd_create, SYS_fchown, SYS_fchownat,
    sys::nr_landlock_create_ruleset, sys::nr_landlock_add_rule, sys::nr_landlock_restrict_self,
#if defined(__x86_64__)
    SYS_chown,
#endif
};

const std::vector<unsigned> nesting = {SYS_clone, SYS_unshare, SYS_mount, SYS_umount2, SYS_pivot_root, sys::nr_mount_setattr};

using Program = std::vector<sock_filter>;

sock_filter statement(unsigned code, uint32_t value) { return {static_cast<uint16_t>(code), 0, 0, value}; }
sock_filter jump(unsigned code, uint32_t value, size_t yes, size_t no) {
  return {static_cast<uint16_t>(code), static_cast<uint8_t>(yes), static_cast<uint8_t>(no), value};
}
sock_filter give(uint32_t verdict) { return statement(BPF_RET | BPF_K, verdict); }
sock_filter load_argument(unsigned index) {
  return statement(BPF_LD | BPF_W | BPF_ABS, static_cast<uint32_t>(offsetof(seccomp_data, args) + 8 * index));  // low half: little-endian
}

// Allowed when the argument is one of the values, refused with `error` otherwise.
Program one_of(unsigned argument, const std::vector<uint32_t>& values, int error) {
  Program program = {load_argument(argument)};
  for (size_t i = 0; i < values.size(); ++i) program.push_back(jump(BPF_JMP | BPF_JEQ | BPF_K, values[i], values.size() - i, 0));
  program.push_back(give(answer(error)));
  program.push_back(give(allowed));
  return program;
}

// Allowed when all of the bits are set, or none of them is.
Program bits(unsigned argument, uint32_t mask, bool wanted, int error) {
  const uint32_t yes = wanted ? allowed : answer(error), no = wanted ? answer(error) : allowed;
  return {load_argument(argument), jump(BPF_JMP | BPF_JSET | BPF_K, mask, 0, 1), give(yes), give(no)};
}

// Who opens a file for reading can empty it with a flag, and Landlock asks no more than whether it may be read before ABI 3. For
// the same reason truncate() is in no list: only what is open for writing is cut.
Program not_emptied_by_reading(unsigned argument) {
  return {load_argument(argument), statement(BPF_ALU | BPF_AND | BPF_K, O_TRUNC | O_ACCMODE), jump(BPF_JMP | BPF_JEQ | BPF_K, O_TRUNC | O_RDONLY, 0, 1),
          give(answer(EACCES)), give(allowed)};
}

constexpr uint32_t new_namespaces = CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET;

// A thread of the same process and nothing more.
Program thread_only() {
  return {load_argument(0), jump(BPF_JMP | BPF_JSET | BPF_K, CLONE_THREAD, 0, 1), jump(BPF_JMP | BPF_JSET | BPF_K, new_namespaces, 0, 1),
          give(answer(EAGAIN)), give(allowed)};
}

// Waking is for threads of the same process, whose locks are private. Other futexes are found by the file that they lie in: by
// one of the system's two programs could talk. Waiting on such a one wakes nobody, and joining a thread does it.
Program private_futex() {
  Program program = {load_argument(1), jump(BPF_JMP | BPF_JSET | BPF_K, FUTEX_PRIVATE_FLAG, 0, 1), give(allowed)};
  const Program waiting = one_of(1, {FUTEX_WAIT, FUTEX_WAIT_BITSET, FUTEX_WAIT_BITSET | FUTEX_CLOCK_REALTIME}, EINVAL);
  program.insert(program.end(), waiting.begin(), waiting.end());
  return program;
}

// Shared memory that belongs to no file stays when MADV_DONTNEED takes it out of the resident set: nobody would count it.
Program counted_memory() {
  return {load_argument(3), jump(BPF_JMP | BPF_JSET | BPF_K, MAP_ANONYMOUS, 0, 2), jump(BPF_JMP | BPF_JSET | BPF_K, MAP_SHARED, 0, 1),
          give(answer(EPERM)), give(allowed)};
}

// A clock may be that of a process, which its number names: how long another one has worked is a word that it can say. Those of
// threads the kernel shows to their own process only.
Program own_clock(pid_t self) {
  const auto clock = [](pid_t pid, uint32_t kind) { return ~static_cast<uint32_t>(pid) << 3 | kind; };
  Program program = {load_argument(0), jump(BPF_JMP | BPF_JGE | BPF_K, 0x80000000U, 1, 0), give(allowed), jump(BPF_JMP | BPF_JSET | BPF_K, 4, 0, 1), give(allowed)};
  const Program own = one_of(0, {clock(0, 0), clock(0, 1), clock(0, 2), clock(self, 0), clock(self, 1), clock(self, 2)}, EINVAL);
  program.insert(program.end(), own.begin(), own.end());
  return program;
}

// What is decided about one call: a verdict, or a piece of program that looks at the arguments.
struct Rule {
  unsigned call;
  Program decide;
};

void allow(std::vector<Rule>& rules, const std::vector<unsigned>& calls) {
  for (const unsigned call : calls) rules.push_back({call, {give(allowed)}});
}

void add_submission(std::vector<Rule>& rules, bool threads, pid_t self) {
  const auto own = static_cast<uint32_t>(self);
  // A signal that may go to nobody else is what abort() and assert() need.
  for (const unsigned call : {SYS_kill, SYS_tgkill, SYS_tkill, SYS_rt_sigqueueinfo, SYS_rt_tgsigqueueinfo}) rules.push_back({static_cast<unsigned>(call), one_of(0, {own}, EPERM)});
  rules.push_back({SYS_prlimit64, one_of(0, {0, own}, EPERM)});
  rules.push_back({SYS_futex, private_futex()});
  rules.push_back({SYS_mmap, counted_memory()});
  for (const unsigned call : {SYS_clock_gettime, SYS_clock_getres, SYS_clock_nanosleep, SYS_timer_create}) rules.push_back({call, own_clock(self)});
  // Without flags, one of which tells what others have read already.
  for (const unsigned call : {SYS_preadv2, SYS_pwritev2}) rules.push_back({call, one_of(5, {0}, EOPNOTSUPP)});
  // Leases, seals and the owner of signals reach beyond the process. So do locks: whoever may read a file sees those of others.
  rules.push_back({SYS_fcntl, one_of(1, {F_DUPFD, F_DUPFD_CLOEXEC, F_GETFD, F_SETFD, F_GETFL, F_SETFL, F_GETPIPE_SZ}, EPERM)});
  rules.push_back({SYS_ioctl, one_of(1, {TCGETS, FIONREAD, FIONBIO, FIOCLEX, FIONCLEX, TIOCGWINSZ}, ENOTTY)});
  rules.push_back({SYS_prctl, one_of(0, {PR_SET_NAME, PR_GET_NAME, PR_GET_DUMPABLE, PR_CAPBSET_READ, PR_SET_VMA}, EPERM)});
  if (threads) {
    rules.push_back({SYS_clone, thread_only()});
    // Two ends in one process, and no call to hand one on: Java's channels want a pair before they read any file.
    rules.push_back({SYS_socketpair, one_of(0, {AF_UNIX}, EPERM)});
    rules.push_back({SYS_mlock, {give(allowed)}});
    rules.push_back({SYS_munlock, {give(allowed)}});
  }
}

std::vector<Rule> rules_of(Profile profile, bool threads, pid_t self) {
  std::vector<Rule> rules;
  allow(rules, common);
  rules.push_back({SYS_openat, not_emptied_by_reading(2)});
#if defined(__x86_64__)
  rules.push_back({SYS_open, not_emptied_by_reading(1)});
#endif
  if (profile == Profile::submission) {
    add_submission(rules, threads, self);
    return rules;
  }
  allow(rules, tools);
  if (profile != Profile::tool) allow(rules, stages);
  if (profile == Profile::stage)
    allow(rules, nesting);
  else
    rules.push_back({SYS_clone, bits(0, new_namespaces, false, EPERM)});
  return rules;
}

// The rules as a binary search over ranges of calls that share an answer: the kernel translates the program each time it is
// installed and then runs it once for every call in its table, so its length and depth are paid for with every program started.
class Tree {
 public:
  explicit Tree(std::vector<Rule> rules) {
    std::sort(rules.begin(), rules.end(), [](const Rule& a, const Rule& b) { return a.call < b.call; });
    unsigned next = 0;
    for (Rule& rule : rules) {
      refuse(next, rule.call);
      add(rule.call, std::move(rule.decide));
      next = rule.call + 1;
    }
    refuse(next, newest_known + 1);
    add(std::max(next, newest_known), {give(answer(ENOSYS))});
  }

  Program build() const {
    Program program = {
        statement(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, arch)),
        jump(BPF_JMP | BPF_JEQ | BPF_K, audit_arch, 1, 0),
        give(SECCOMP_RET_KILL_PROCESS),
        statement(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
    };
    if (x32_bit) {
      program.push_back(jump(BPF_JMP | BPF_JGE | BPF_K, x32_bit, 0, 1));
      program.push_back(give(SECCOMP_RET_KILL_PROCESS));
    }
    const Program tree = search(0, ranges_.size());
    program.insert(program.end(), tree.begin(), tree.end());
    return program;
  }

 private:
  // From a call up to the next range's first one.
  struct Range {
    unsigned from;
    Program decide;
  };

  static bool same(const Program& a, const Program& b) {
    return a.size() == 1 && b.size() == 1 && a[0].code == b[0].code && a[0].k == b[0].k;
  }

  void add(unsigned from, Program decide) {
    if (ranges_.empty() || !same(ranges_.back().decide, decide)) ranges_.push_back({from, std::move(decide)});
  }

  // The calls that no rule names: refused where they are known, not there where they are newer than this program.
  void refuse(unsigned from, unsigned to) {
    if (from < to && from < newest_known) add(from, {give(answer(EPERM))});
    if (from < to && to > newest_known) add(std::max(from, newest_known), {give(answer(ENOSYS))});
  }

  Program search(size_t from, size_t to) const {
    if (to - from == 1) return ranges_[from].decide;
    const size_t middle = from + (to - from) / 2;
    const Program low = search(from, middle), high = search(middle, to);
    Program program;
    if (low.size() <= 255) {
      program.push_back(jump(BPF_JMP | BPF_JGE | BPF_K, ranges_[middle].from, low.size(), 0));
    } else {  // a conditional jump reaches 255 instructions; an unconditional one reaches all
      program.push_back(jump(BPF_JMP | BPF_JGE | BPF_K, ranges_[middle].from, 0, 1));
      program.push_back(statement(BPF_JMP | BPF_JA, static_cast<uint32_t>(low.size())));
    }
    program.insert(program.end(), low.begin(), low.end());
    program.insert(program.end(), high.begin(), high.end());
    return program;
  }

  std::vector<Range> ranges_;
};

}  // namespace

std::string install(Profile profile, bool threads, pid_t self) {
  std::vector<Rule> rules = rules_of(profile, threads, self);
  // clone3 hides its flags behind a pointer, so no filter can judge it; libc falls back to clone.
  rules.push_back({nr_clone3, {give(answer(ENOSYS))}});
  Program program = Tree(std::move(rules)).build();
  const sock_fprog filter = {static_cast<unsigned short>(program.size()), program.data()};
  if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0) return sys::reason("seccomp");
  return "";
}

bool available() {
  // A null filter is refused with EFAULT where filters exist, with EINVAL where they do not.
  return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, nullptr) != 0 && errno == EFAULT;
}

}  // namespace seccomp
