#include "process.hpp"

#include <csignal>
#include <fcntl.h>
#include <sched.h>
#include <sys/wait.h>

#include "supervisor.hpp"

namespace process {

Running::~Running() {
  if (supervisor_ < 0) return;
  kill(supervisor_, SIGKILL);
  waitpid(supervisor_, nullptr, 0);
}

void Running::stop() { kill(supervisor_, SIGTERM); }

Outcome Running::wait() {
  Report report = {};
  ssize_t length;
  do length = read(report_.get(), &report, sizeof report);
  while (length < 0 && errno == EINTR);
  if (in_order_) waitpid(supervisor_, nullptr, 0);
  supervisor_ = -1;
  Outcome outcome;
  if (length != sizeof report) {
    outcome.outside = true, outcome.failure = "the supervisor died";
    return outcome;
  }
  outcome.killed = report.killed;
  outcome.code = report.code;
  outcome.signal = report.signal;
  outcome.cpu_us = report.cpu_us;
  outcome.wall_us = report.wall_us;
  outcome.memory = report.memory;
  outcome.idle_us = report.idle_us;
  outcome.waited_us = report.waited_us;
  outcome.stalled = report.stalled;
  outcome.outside = report.outside;
  outcome.crowded = report.crowded;
  outcome.written = report.written;
  outcome.processes = report.processes;
  outcome.failure = report.failure;
  return outcome;
}

Outcome held_to(const Limits& limits, Outcome outcome) {
  const auto over = [](int64_t used, int64_t limit) { return limit != unlimited && used > limit; };
  if (outcome.killed != Killed::no) return outcome;
  if (over(outcome.memory, limits.memory)) outcome.killed = Killed::memory;
  else if (over(outcome.cpu_us, cpu_limit(limits, outcome.crowded))) outcome.killed = Killed::cpu;
  return outcome;
}

Running start(const sandbox::Room& room, const Program& program) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) sys::fail_errno("pipe");
  sys::Fd reading(ends[0]), writing(ends[1]);
  const pid_t supervisor = start_supervisor(room, program, writing.get());
  return Running(supervisor, std::move(reading), room.layers.on("order"));
}

pid_t start_supervisor(const sandbox::Room& room, const Program& program, int report, int flags) {
  if (room.seccomp) seccomp::prepare(program.profile, granted(program));
  const int namespaces = !room.pid ? 0 : room.shared.empty() ? CLONE_NEWPID | CLONE_NEWNS : CLONE_NEWPID;
  const long supervisor =
      sys::made([&] { return syscall(SYS_clone, SIGCHLD | namespaces | flags, nullptr, nullptr, nullptr, nullptr); });
  if (supervisor < 0) sys::fail_errno("cannot start a process");
  if (supervisor == 0) supervise(room, program, report);
  return static_cast<pid_t>(supervisor);
}

}  // namespace process
