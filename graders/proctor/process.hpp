// Starts a confined program and returns how it ended. Each program has its own sandbox and supervisor. It is dead, with
// all its processes, before its ending is known.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "idle_time.hpp"
#include "sandbox.hpp"
#include "seccomp.hpp"
#include "sys.hpp"

namespace process {

constexpr int64_t unlimited = -1;

struct Limits {
  int64_t cpu_us = unlimited;
  int64_t crowded_cpu_us = unlimited;  // the limit on a crowded machine; unlimited: the same as `cpu_us`
  // Limit of idle time; see idle_time.hpp. Without a CPU limit, CPU time counts as idle time, too.
  int64_t wall_us = unlimited;
  int64_t hard_us = unlimited;              // limit of elapsed time
  int64_t memory_bytes = unlimited;         // bytes touched by all processes together
  int64_t file_size_bytes = unlimited;      // of any file that it writes, its standard output included
  bool truncates_output = false;            // what it writes beyond `file_size_bytes` is lost, and it is not killed
  int64_t address_space_bytes = unlimited;  // a second limit, far above `memory_bytes`
  int64_t processes = unlimited;
  int64_t threads = unlimited;  // of a submission
  int64_t open_files = 256;
  int64_t disk_bytes = unlimited, disk_entries = unlimited;  // of everything in its folder
};

struct Program {
  std::vector<std::string> argv, env;
  int executable = -1;                      // descriptor of the program file; -1: argv[0] is a path
  int input = -1, output = -1, error = -1;  // -1 means /dev/null
  std::vector<int> inherited_fds;           // further descriptors, with the same numbers in the program
  int argument_fd = -1;                     // one of `inherited_fds`, whose number becomes the last argument
  // Called in the confined process instead of an exec. Does not return.
  void (*entry_point)(const Program&) = nullptr;
  // Its working folder, relative to the job's folder ("." is the job's folder itself). Empty means none.
  std::string folder;
  bool is_folder_writable = false;
  std::vector<std::string> writable_paths;  // paths in the folder that are writable although the folder is not
  std::string tmp_size;                     // size of its own /tmp, such as "64m"; empty: none
  bool sees_proc = false;
  bool sees_own_descriptors = false;  // only /proc/self/fd
  bool sees_sandbox_proc = false;     // all of /proc about the processes of its sandbox
  bool may_use_threads = false;
  int max_processes = 1;  // of a submission, itself included, over its whole life
  seccomp::Profile profile = seccomp::Profile::submission;
  int counted_file = -1;              // a file that it can write and read again, which therefore counts as memory
  bool counts_written_bytes = false;  // for a submission that talks to a judge's program
  bool is_exclusive = false;          // no other job runs: unconfirmed disk waits are idle time
  // Whether it makes sandboxes itself. Landlock forbids all mounts, so it is confined by namespaces only, if there are
  // any.
  bool starts_sandboxes = false;
  Limits limits;
  // The clock of all programs that run together with it. Null means that it runs alone.
  idle_time::Clock* clock = nullptr;
  size_t clock_member = 0;  // index on that clock
};

inline seccomp::Permissions seccomp_permissions(const Program& program) {
  return {program.may_use_threads, program.max_processes > 1};
}

inline int64_t cpu_limit_us(const Limits& limits, bool is_machine_crowded) {
  return is_machine_crowded && limits.crowded_cpu_us != unlimited ? limits.crowded_cpu_us : limits.cpu_us;
}

enum class KillReason { none, cpu, wall, memory, processes, threads, kill_switch, disk };

struct Ending {
  KillReason kill_reason = KillReason::none;
  int exit_code = 0, signal = 0;  // of the program's first process
  int64_t cpu_us = 0, wall_us = 0, memory_bytes = 0;
  int64_t idle_us = 0;    // time in which no program of the test did anything
  int64_t waited_us = 0;  // by all its processes, for a processor or a disk
  // killed by the limit of elapsed time, or because it may have been idle; its reason is `wall`
  bool is_stalled = false;
  int64_t written_bytes = 0;            // only with `counts_written_bytes`; 0 if the kernel does not count them
  int process_count = 0;                // ever started; only if it may start processes
  bool is_killed_from_outside = false;  // not by the judge and not by the program itself
  bool is_machine_crowded = false;              // it waited so long for processors that the crowded CPU limit applies
  std::string failure;  // not empty if the sandbox could not be made; then the other fields mean nothing
};

// A started program. The caller must wait for its ending; the destructor kills the program.
class RunningProgram {
 public:
  // With `waits_for_supervisor`, the ending is returned only after all processes are dead.
  RunningProgram(pid_t supervisor, sys::Fd report, bool waits_for_supervisor)
      : supervisor_(supervisor), report_(std::move(report)), waits_for_supervisor_(waits_for_supervisor) {}
  RunningProgram(RunningProgram&& other) noexcept
      : supervisor_(std::exchange(other.supervisor_, -1)),
        report_(std::move(other.report_)),
        waits_for_supervisor_(other.waits_for_supervisor_) {}
  RunningProgram(const RunningProgram&) = delete;
  ~RunningProgram();

  int report_fd() const { return report_.get(); }  // readable when the ending is there
  void stop();                                     // asks the supervisor to kill all processes
  Ending wait();

 private:
  pid_t supervisor_;
  sys::Fd report_;
  bool waits_for_supervisor_;
};

RunningProgram start(const sandbox::Sandbox& sandbox, const Program& program);

// Forks a supervisor that writes the ending to `report`, and returns its pid. With CLONE_PARENT in `flags` it becomes a
// child of the caller's parent.
pid_t start_supervisor(const sandbox::Sandbox& sandbox, const Program& program, int report, int flags = 0);

inline Ending run(const sandbox::Sandbox& sandbox, const Program& program) { return start(sandbox, program).wait(); }

// Returns the ending with the limit as the reason if usage is above it, even if no look noticed that in time, as on a
// busy machine.
Ending apply_limits(const Limits& limits, Ending ending);

}  // namespace process
