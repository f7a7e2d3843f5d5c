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
constexpr uint32_t audit_arch = AUDIT_ARCH_X86_64;
constexpr unsigned x32_bit = 0x40000000;
#else
constexpr uint32_t audit_arch = AUDIT_ARCH_AARCH64;
constexpr unsigned x32_bit = 0;
#endif

constexpr uint32_t answer(int error) { return SECCOMP_RET_ERRNO | static_cast<uint32_t>(error); }
constexpr uint32_t allowed = SECCOMP_RET_ALLOW;

// Calls newer than this are answered with ENOSYS, so that a libc which tries them falls back to what it used before.
constexpr unsigned newest_known = 424;

using Program = std::vector<sock_filter>;

sock_filter statement(unsigned code, uint32_t value) { return {static_cast<uint16_t>(code), 0, 0, value}; }
sock_filter jump(unsigned code, uint32_t value, size_t yes, size_t no) {
  return {static_cast<uint16_t>(code), static_cast<uint8_t>(yes), static_cast<uint8_t>(no), value};
}
sock_filter give(uint32_t verdict) { return statement(BPF_RET | BPF_K, verdict); }
sock_filter load_argument(unsigned index) {
  // Low half: little-endian.
  return statement(BPF_LD | BPF_W | BPF_ABS, static_cast<uint32_t>(offsetof(seccomp_data, args) + 8 * index));
}
sock_filter load_high_half(unsigned index) {
  return statement(BPF_LD | BPF_W | BPF_ABS, static_cast<uint32_t>(offsetof(seccomp_data, args) + 8 * index + 4));
}

// Allowed when the argument is one of the values, refused with `error` otherwise.
Program one_of(unsigned argument, const std::vector<uint32_t>& values, int error) {
  Program program = {load_argument(argument)};
  for (size_t i = 0; i < values.size(); ++i)
    program.push_back(jump(BPF_JMP | BPF_JEQ | BPF_K, values[i], values.size() - i, 0));
  program.push_back(give(answer(error)));
  program.push_back(give(allowed));
  return program;
}

// Allowed when all of the bits are set, or none of them is.
Program bits(unsigned argument, uint32_t mask, bool wanted, int error) {
  const uint32_t yes = wanted ? allowed : answer(error), no = wanted ? answer(error) : allowed;
  return {load_argument(argument), jump(BPF_JMP | BPF_JSET | BPF_K, mask, 0, 1), give(yes), give(no)};
}

// Who opens a file for reading can empty it with a flag, and Landlock asks no more than whether it may be read before
// ABI 3. For the same reason truncate() is in no list: only what is open for writing is cut.
Program not_emptied_by_reading(unsigned argument) {
  return {load_argument(argument), statement(BPF_ALU | BPF_AND | BPF_K, O_TRUNC | O_ACCMODE),
      jump(BPF_JMP | BPF_JEQ | BPF_K, O_TRUNC | O_RDONLY, 0, 1),
          give(answer(EACCES)), give(allowed)};
}

// A signal that the caller sends itself. By SIGKILL it ends as by a call that is not allowed, so that it is known who
// sent one that came.
Program one_of_its_own(uint32_t self, unsigned number) {
  return {load_argument(0), jump(BPF_JMP | BPF_JEQ | BPF_K, self, 1, 0), give(answer(EPERM)), load_argument(number),
      jump(BPF_JMP | BPF_JEQ | BPF_K, SIGKILL, 0, 1), give(SECCOMP_RET_KILL_PROCESS), give(allowed)};
}

constexpr uint32_t new_namespaces =
    CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET;

// A thread of the same process and nothing more, which nobody waits for. Its descriptors are those of the process: what
// is in pipes and sockets is in no resident set, and their number bounds it.
Program thread_only() {
  constexpr uint32_t wanted = CLONE_THREAD | CLONE_FILES;
  return {load_argument(0), statement(BPF_ALU | BPF_AND | BPF_K, wanted | new_namespaces | CLONE_VFORK),
      jump(BPF_JMP | BPF_JEQ | BPF_K, wanted, 0, 1), give(allowed), give(answer(EAGAIN))};
}

// What libc's fork asks for.
const std::vector<uint32_t> plain_forks = {SIGCHLD, SIGCHLD | CLONE_CHILD_SETTID | CLONE_CHILD_CLEARTID};

Program threads_or_forks() {
  Program program = {load_argument(0), jump(BPF_JMP | BPF_JSET | BPF_K, CLONE_THREAD, 1, 0)};
  const Program forks = one_of(0, plain_forks, EPERM), threads = thread_only();
  program.push_back(statement(BPF_JMP | BPF_JA, static_cast<uint32_t>(threads.size())));
  program.insert(program.end(), threads.begin(), threads.end());
  program.insert(program.end(), forks.begin(), forks.end());
  return program;
}

// Who lets its children's ends be ignored has none to wait for: what they used would be in nobody's account.
Program not_of_children() {
  return {load_argument(0), jump(BPF_JMP | BPF_JEQ | BPF_K, SIGCHLD, 0, 1), give(answer(EPERM)), give(allowed)};
}

// Of membarrier: to ask what there is, and what stays among the caller's own threads. Their names are younger than the
// headers.
const std::vector<uint32_t> own_barriers = {0 /* QUERY */, 1 << 3 /* PRIVATE_EXPEDITED */, 1 << 4 /* to register it */,
                                            1 << 5 /* PRIVATE_EXPEDITED_SYNC_CORE */, 1 << 6 /* to register it */,
                                            1 << 7 /* PRIVATE_EXPEDITED_RSEQ */, 1 << 8 /* to register it */,
                                            1 << 9 /* GET_REGISTRATIONS */};

// Threads of one process wake each other by locks that are private. Other futexes are found by the file that they lie
// in: by one of the system's two programs could talk, and the kernel itself wakes who waits there when a thread ends.
// So only who has threads may wait: joining one is waiting for that.
Program joining_futex() {
  Program program = {load_argument(1), jump(BPF_JMP | BPF_JSET | BPF_K, FUTEX_PRIVATE_FLAG, 0, 1), give(allowed)};
  const Program waiting = one_of(1, {FUTEX_WAIT, FUTEX_WAIT_BITSET, FUTEX_WAIT_BITSET | FUTEX_CLOCK_REALTIME}, EINVAL);
  program.insert(program.end(), waiting.begin(), waiting.end());
  return program;
}

// Shared memory that belongs to no file stays when MADV_DONTNEED takes it out of the resident set: nobody would count
// it. How many huge pages are left all processes of the machine can tell each other.
Program counted_memory() {
  return {load_argument(3), jump(BPF_JMP | BPF_JSET | BPF_K, MAP_HUGETLB, 2, 0),
      jump(BPF_JMP | BPF_JSET | BPF_K, MAP_ANONYMOUS, 0, 2),
          jump(BPF_JMP | BPF_JSET | BPF_K, MAP_SHARED, 0, 1), give(answer(EPERM)), give(allowed)};
}

// The kernel counts these for each process. What it counts for each user (processes, signals to come, locked memory,
// message queues) tells of the user's other processes: who lowers its limit finds where the count stands.
const std::vector<uint32_t> limits_of_a_process =
    {RLIMIT_FSIZE, RLIMIT_DATA, RLIMIT_STACK, RLIMIT_CORE, RLIMIT_RSS, RLIMIT_NOFILE, RLIMIT_AS};

// By the limit on CPU time a program could have itself killed as somebody else would kill it.
Program limits_without_cpu(unsigned argument) {
  Program program = {load_argument(argument), jump(BPF_JMP | BPF_JEQ | BPF_K, RLIMIT_CPU, 0, 1), give(answer(0))};
  const Program others = one_of(argument, limits_of_a_process, EPERM);
  program.insert(program.end(), others.begin(), others.end());
  return program;
}

// Of sendto and recvfrom what write and read do as well: no flags, no address.
Program as_written() {
  return {load_argument(3), jump(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 5), load_argument(4),
      jump(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 3), load_high_half(4), jump(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 1),
      give(allowed), give(answer(EPERM))};
}

// Its own limits may be asked for, where there is no new one: a null pointer.
Program own_limits(pid_t self) {
  Program program = {load_argument(0), jump(BPF_JMP | BPF_JEQ | BPF_K, 0, 2, 0),
      jump(BPF_JMP | BPF_JEQ | BPF_K, static_cast<uint32_t>(self), 1, 0), give(answer(EPERM)),
                     load_argument(2), jump(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 3), load_high_half(2),
                     jump(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 1), give(allowed)};
  const Program setting = limits_without_cpu(1);
  program.insert(program.end(), setting.begin(), setting.end());
  return program;
}

// Of madvise: what stays among the caller's own pages. A kernel that does not know the others says EINVAL, too.
const std::vector<uint32_t> own_pages =
    {MADV_NORMAL, MADV_RANDOM, MADV_SEQUENTIAL, MADV_WILLNEED, MADV_DONTNEED, MADV_FREE, MADV_HUGEPAGE, MADV_NOHUGEPAGE,
                                         MADV_DONTDUMP, MADV_DODUMP, MADV_DONTFORK, MADV_DOFORK, 22 /* POPULATE_READ */,
                                         23 /* POPULATE_WRITE */};

// A clock may be that of a process, which its number names: how long another one has worked is a word that it can say.
// Those of threads the kernel shows to their own process only.
uint32_t clock_of(pid_t pid, uint32_t kind) { return ~static_cast<uint32_t>(pid) << 3 | kind; }

Program own_clock(pid_t self) {
  Program program = {load_argument(0), jump(BPF_JMP | BPF_JGE | BPF_K, 0x80000000U, 1, 0), give(allowed),
      jump(BPF_JMP | BPF_JSET | BPF_K, 4, 0, 1), give(allowed)};
  const Program own = one_of(0,
      {clock_of(0, 0), clock_of(0, 1), clock_of(0, 2), clock_of(self, 0), clock_of(self, 1), clock_of(self, 2)},
          EINVAL);
  program.insert(program.end(), own.begin(), own.end());
  return program;
}

Program decide(system_calls::Check check, pid_t self) {
  using system_calls::Check;
  const auto own = static_cast<uint32_t>(self);
  switch (check) {
    case Check::none: return {give(allowed)};
    case Check::not_followed: return {give(answer(0))};
    case Check::not_there: return {give(answer(ENOSYS))};
    case Check::own_process: return one_of_its_own(own, 1);
    case Check::own_thread: return one_of_its_own(own, 2);
    case Check::own_or_unknown: return one_of(0, {0, own}, ENOSYS);
    case Check::own_or_usual: return one_of(0, {0, own}, 0);
    case Check::own_clock: return own_clock(self);
    case Check::no_emptying_open: return not_emptied_by_reading(1);
    case Check::no_emptying_openat: return not_emptied_by_reading(2);
    case Check::harmless_limits: return limits_without_cpu(0);
    case Check::own_limits: return own_limits(self);
    case Check::private_futex: return bits(1, FUTEX_PRIVATE_FLAG, true, EINVAL);
    case Check::joining_futex: return joining_futex();
    case Check::counted_memory: return counted_memory();
    case Check::advice: return one_of(2, own_pages, EINVAL);
    case Check::no_flags: return one_of(5, {0}, EOPNOTSUPP);
    case Check::same_descriptors: return one_of(2, {0, 1 << 2 /* CLOSE_RANGE_CLOEXEC */}, EINVAL);
    case Check::plain_fcntl: return one_of(1, {F_DUPFD, F_DUPFD_CLOEXEC, F_GETFD, F_SETFD, F_GETFL, F_SETFL}, EPERM);
    case Check::plain_ioctl: return one_of(1, {TCGETS, FIONREAD, FIONBIO, FIOCLEX, FIONCLEX, TIOCGWINSZ}, ENOTTY);
    case Check::plain_prctl: return one_of(0, {PR_SET_NAME, PR_GET_NAME, PR_GET_DUMPABLE, PR_CAPBSET_READ, PR_SET_VMA},
        EPERM);
    case Check::only_threads: return thread_only();
    case Check::only_forks: return one_of(0, plain_forks, EPERM);
    case Check::threads_or_forks: return threads_or_forks();
    case Check::not_of_children: return not_of_children();
    case Check::own_barrier: return one_of(0, own_barriers, EINVAL);
    case Check::no_namespaces: return bits(0, new_namespaces, false, EPERM);
    case Check::unix_pair: return one_of(0, {AF_UNIX}, EPERM);
    case Check::as_written: return as_written();
  }
  return {give(answer(EPERM))};
}

// What is decided about one call: a verdict, or a piece of program that looks at the arguments.
struct Rule {
  unsigned call;
  Program decide;
};

unsigned who(Profile profile, Granted granted) {
  switch (profile) {
    case Profile::submission:
      if (granted.forks) return granted.threads ? system_calls::forking_threads : system_calls::forking;
      return granted.threads ? system_calls::threaded : system_calls::lone;
    case Profile::tool: return system_calls::tool;
    case Profile::stage: return system_calls::stage;
    case Profile::flat_stage: return system_calls::flat_stage;
  }
  return 0;
}

std::vector<Rule> rules_of(unsigned who, pid_t self) {
  std::vector<Rule> rules;
  for (const system_calls::Line& line : system_calls::table())
    if (line.who & who)
      for (const system_calls::Call& call : line.calls) rules.push_back({call.number, decide(line.check, self)});
  return rules;
}

// The rules as a binary search over ranges of calls that share an answer: the kernel translates the program each time
// it is installed and then runs it once for every call in its table, so its length and depth are paid for with every
// program started.
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

// Stands for the caller in a draft: no process has such a number.
constexpr pid_t somebody = 0x0ca11e40;

// Worked out once for all programs of a kind.
const Program& draft(unsigned who) {
  static std::map<unsigned, Program> drafts;
  const auto [at, fresh] = drafts.try_emplace(who);
  if (fresh) at->second = Tree(rules_of(who, somebody)).build();
  return at->second;
}

// Puts the caller in: itself, and its clocks.
void name(Program& program, pid_t self) {
  for (sock_filter& each : program) {
    if (each.code != (BPF_JMP | BPF_JEQ | BPF_K)) continue;
    if (each.k == static_cast<uint32_t>(somebody)) each.k = static_cast<uint32_t>(self);
    const uint32_t kind = each.k & 7;
    if (each.k == clock_of(somebody, kind)) each.k = clock_of(self, kind);
  }
}

}  // namespace

void prepare(Profile profile, Granted granted) { draft(who(profile, granted)); }

std::string install(Profile profile, Granted granted, pid_t self) {
  Program program = draft(who(profile, granted));
  name(program, self);
  const sock_fprog filter = {static_cast<unsigned short>(program.size()), program.data()};
  if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0) return sys::reason("seccomp");
  return "";
}

// Headers that know filters may not know these, which came with 5.0, 5.5 and 5.19.
namespace {

constexpr unsigned with_listener = 1 << 3;
constexpr unsigned undisturbed = 1 << 5;  // by signals while it waits for the answer
constexpr uint32_t ask = 0x7fc00000U;
constexpr uint32_t go_on = 1;

struct Asked {
  uint64_t id;
  uint32_t pid, flags;
  seccomp_data call;
};

struct Answer {
  uint64_t id;
  int64_t value;
  int32_t error;
  uint32_t flags;
};

constexpr unsigned long receive = _IOWR('!', 0, Asked), send = _IOWR('!', 1, Answer),
    take_turns = _IOW('!', 4, uint64_t);

}  // namespace

sys::Fd ask_for_starts(bool threads) {
  Program program = {load_argument(0), jump(BPF_JMP | BPF_JSET | BPF_K, CLONE_THREAD, 0, 1),
      give(threads ? ask : allowed), give(ask)};
  const Program number = {statement(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr))};
#if defined(__x86_64__)
  const Program which = {jump(BPF_JMP | BPF_JEQ | BPF_K, SYS_fork, 0, 1), give(ask),
      jump(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 1, 0), give(allowed)};
#else
  const Program which = {jump(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 1, 0), give(allowed)};
#endif
  program.insert(program.begin(), which.begin(), which.end());
  program.insert(program.begin(), number.begin(), number.end());
  const sock_fprog filter = {static_cast<unsigned short>(program.size()), program.data()};
  const auto install = [&](unsigned flags) {
    return sys::Fd(static_cast<int>(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &filter)));
  };
  sys::Fd asked = install(with_listener | undisturbed);
  if (!asked.valid() && errno == EINVAL) asked = install(with_listener);
  // Who asks and who answers take turns: on one processor each is woken sooner. From 6.6 on.
  if (asked.valid()) ioctl(asked.get(), take_turns, 1UL);
  return asked;
}

std::optional<Starts::Question> Starts::next() const {
  alignas(Asked) char room[512] = {};  // younger kernels may say more
  const auto& asked = *reinterpret_cast<const Asked*>(room);
  if (ioctl(asked_.get(), receive, room) != 0) return std::nullopt;
  return Question{asked.id, asked.call.nr == SYS_clone && (asked.call.args[0] & CLONE_THREAD)};
}

void Starts::answer(const Question& question) {
  const bool granted = question.thread || left_ > 0;
  Answer answer = {question.id, 0, granted ? 0 : -EAGAIN, granted ? go_on : 0};
  if (ioctl(asked_.get(), send, &answer) != 0) {
    if (errno == ENOENT) return;  // who asked is gone
    sys::fail_errno("processes cannot be counted (Linux 5.5 and newer ask for each)");
  }
  if (!question.thread) granted ? (--left_, ++granted_) : ++refused_;
}

bool available() {
  // A null filter is refused with EFAULT where filters exist, with EINVAL where they do not.
  return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, nullptr) != 0 && errno == EFAULT;
}

}  // namespace seccomp
