// Starts a confined program and returns its ending. Each program has a separate sandbox and supervisor. All processes
// of the program are dead before its ending is returned.
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
  int64_t crowded_cpu_us = unlimited;  // CPU limit on a crowded machine; unlimited means the same as `cpu_us`
  // Limit of idle time; see idle_time.hpp. Without a CPU limit, CPU time counts as idle time.
  int64_t wall_us = unlimited;
  int64_t elapsed_us = unlimited;           // limit of elapsed time
  int64_t memory_bytes = unlimited;         // limit of the memory that all processes use together
  int64_t file_size_bytes = unlimited;      // limit of the size of each file that the program writes
  bool truncates_output = false;            // output beyond `file_size_bytes` is lost, and the program continues
  int64_t address_space_bytes = unlimited;  // limit of the address space, far above `memory_bytes`
  int64_t processes = unlimited;
  int64_t threads = unlimited;  // limit of the threads of a submission
  int64_t open_files = 256;
  int64_t disk_bytes = unlimited, disk_entries = unlimited;  // limits of all files in the program's folder together
};

struct Program {
  std::vector<std::string> argv, env;
  int executable = -1;                      // descriptor of the program file; -1 means that argv[0] is a path
  int input = -1, output = -1, error = -1;  // standard descriptors; -1 means /dev/null
  std::vector<int> inherited_fds;           // further descriptors that the program has, with the same numbers
  int argument_fd = -1;                     // a member of `inherited_fds`; its number is the last argument
  // Function that the confined process calls instead of an exec. It does not return.
  void (*entry_point)(const Program&) = nullptr;
  // The program's working folder, relative to the job's folder ("." is the job's folder itself). Empty means none.
  std::string folder;
  bool is_folder_writable = false;
  std::vector<std::string> writable_paths;  // paths in the folder that are writable although the folder is not
  std::string tmp_size;                     // size of the program's /tmp, such as "64m"; empty means no /tmp
  bool sees_proc = false;
  bool sees_own_descriptors = false;  // sees /proc/self/fd and nothing else of /proc
  bool sees_sandbox_proc = false;     // sees all of /proc about the processes of its sandbox
  bool may_use_threads = false;
  int max_processes = 1;  // maximum number of processes that a submission ever starts, including the first
  seccomp::Profile profile = seccomp::Profile::submission;
  // descriptor of a file that the program can write and read again; its size counts as memory
  int counted_file = -1;
  // whether to count the bytes that the program writes, for a submission that talks to a judge's program
  bool counts_written_bytes = false;
  bool is_exclusive = false;  // whether no other job runs; then unconfirmed disk waits are idle time
  // Whether the program creates sandboxes. Landlock forbids all mounts, so such a program is confined by namespaces
  // only, if these are available.
  bool starts_sandboxes = false;
  Limits limits;
  // The idle clock of this program and all programs that run with it. Null means that the program runs alone.
  idle_time::IdleClock* clock = nullptr;
  size_t clock_index = 0;  // index of the program on `clock`
};

inline seccomp::SubmissionPermissions make_seccomp_permissions(const Program& program) {
  return {program.may_use_threads, program.max_processes > 1};
}

inline int64_t find_cpu_limit_us(const Limits& limits, bool is_machine_crowded) {
  return is_machine_crowded && limits.crowded_cpu_us != unlimited ? limits.crowded_cpu_us : limits.cpu_us;
}

enum class KillReason { none, cpu, wall, memory, processes, threads, kill_switch, disk };

struct Ending {
  KillReason kill_reason = KillReason::none;
  int exit_code = 0, signal = 0;  // of the program's first process
  int64_t cpu_us = 0, wall_us = 0, memory_bytes = 0;
  int64_t idle_us = 0;    // time in which no program of the test did anything
  int64_t waited_us = 0;  // time that all its processes waited for a processor or a disk
  // The program was killed by the limit of elapsed time, or because it may have been idle. `kill_reason` is `wall`.
  bool is_stalled = false;
  int64_t written_bytes = 0;            // counted only with `counts_written_bytes`, and only if the kernel counts them
  int process_count = 0;                // number of processes ever started, if the program may start any
  bool is_killed_from_outside = false;  // killed neither by the judge nor by the program itself
  bool is_machine_crowded = false;      // the program waited so long for processors that the crowded CPU limit applies
  std::string failure;  // why the sandbox could not be created; if it is not empty, the other fields are meaningless
};

// A program that was started. The caller must call `wait_for_ending`; otherwise the destructor kills the program.
class RunningProgram {
 public:
  // With `waits_until_all_dead`, the ending is returned only after all processes are dead.
  RunningProgram(pid_t supervisor_pid, sys::Fd report_pipe, bool waits_until_all_dead)
      : supervisor_pid_(supervisor_pid),
        report_pipe_(std::move(report_pipe)),
        waits_until_all_dead_(waits_until_all_dead) {}
  RunningProgram(RunningProgram&& other) noexcept
      : supervisor_pid_(std::exchange(other.supervisor_pid_, -1)),
        report_pipe_(std::move(other.report_pipe_)),
        waits_until_all_dead_(other.waits_until_all_dead_) {}
  RunningProgram(const RunningProgram&) = delete;
  ~RunningProgram();

  int report_fd() const { return report_pipe_.get(); }  // becomes readable when the program has terminated
  // asks the supervisor to kill all processes of the program
  void request_stop();
  Ending wait_for_ending();

 private:
  pid_t supervisor_pid_;
  sys::Fd report_pipe_;
  bool waits_until_all_dead_;
};

RunningProgram start_program(const sandbox::Sandbox& sandbox, const Program& program);

// Forks a supervisor that writes the ending to `report`, and returns its pid. With CLONE_PARENT in `flags` it becomes a
// child of the caller's parent.
pid_t start_supervisor(const sandbox::Sandbox& sandbox, const Program& program, int report_pipe, int flags = 0);

inline Ending run_program(const sandbox::Sandbox& sandbox, const Program& program) {
  return start_program(sandbox, program).wait_for_ending();
}

// Returns the ending with a limit as the kill reason if the usage is above the limit. On a busy machine, the supervisor
// may not have noticed this in time.
Ending mark_exceeded_limit(const Limits& limits, Ending ending);

}  // namespace process
