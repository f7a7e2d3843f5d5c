#include "process.hpp"

#include <csignal>
#include <fcntl.h>
#include <sched.h>
#include <sys/wait.h>

#include "supervisor.hpp"

namespace process {

RunningProgram::~RunningProgram() {
  if (supervisor_pid_ < 0) return;
  kill(supervisor_pid_, SIGKILL);
  waitpid(supervisor_pid_, nullptr, 0);
}

void RunningProgram::request_stop() { kill(supervisor_pid_, SIGTERM); }

Ending RunningProgram::wait_for_ending() {
  SupervisorReport report = {};
  ssize_t length;
  do length = read(report_pipe_.get(), &report, sizeof report);
  while (length < 0 && errno == EINTR);
  if (waits_until_all_dead_) waitpid(supervisor_pid_, nullptr, 0);
  supervisor_pid_ = -1;
  Ending ending;
  if (length != sizeof report) {
    ending.is_killed_from_outside = true, ending.failure = "the supervisor died";
    return ending;
  }
  ending.kill_reason = report.kill_reason;
  ending.exit_code = report.exit_code;
  ending.signal = report.signal;
  ending.cpu_us = report.cpu_us;
  ending.wall_us = report.wall_us;
  ending.memory_bytes = report.memory_bytes;
  ending.idle_us = report.idle_us;
  ending.waited_us = report.waited_us;
  ending.is_stalled = report.is_stalled;
  ending.is_killed_from_outside = report.is_killed_from_outside;
  ending.is_machine_crowded = report.is_machine_crowded;
  ending.written_bytes = report.written_bytes;
  ending.process_count = report.process_count;
  ending.failure = report.failure;
  return ending;
}

Ending mark_exceeded_limit(const Limits& limits, Ending ending) {
  const auto is_over = [](int64_t used, int64_t limit) { return limit != unlimited && used > limit; };
  if (ending.kill_reason != KillReason::none) return ending;
  if (is_over(ending.memory_bytes, limits.memory_bytes))
    ending.kill_reason = KillReason::memory;
  else if (is_over(ending.cpu_us, find_cpu_limit_us(limits, ending.is_machine_crowded)))
    ending.kill_reason = KillReason::cpu;
  return ending;
}

RunningProgram start_program(const sandbox::Sandbox& sandbox, const Program& program) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) sys::fail_errno("cannot make a pipe");
  sys::Fd read_end(ends[0]), write_end(ends[1]);
  const pid_t supervisor = start_supervisor(sandbox, program, write_end.get());
  return RunningProgram(supervisor, std::move(read_end), sandbox.layers.is_enabled("order"));
}

pid_t start_supervisor(const sandbox::Sandbox& sandbox, const Program& program, int report_pipe, int flags) {
  if (sandbox.has_seccomp) seccomp::prepare_filter(program.profile, make_seccomp_permissions(program));
  const int namespaces = !sandbox.has_pid_namespace ? 0
      : sandbox.shared_folder.empty()               ? CLONE_NEWPID | CLONE_NEWNS
                                                    : CLONE_NEWPID;
  const long supervisor = sys::retry_while_eagain(
      [&] { return syscall(SYS_clone, SIGCHLD | namespaces | flags, nullptr, nullptr, nullptr, nullptr); });
  if (supervisor < 0) sys::fail_errno("cannot start a process");
  if (supervisor == 0) supervise_and_exit(sandbox, program, report_pipe);
  return static_cast<pid_t>(supervisor);
}

}  // namespace process
