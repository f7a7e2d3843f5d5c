// One confined program: started in its own box, watched by a supervisor of its own, measured, and dead with all that it
// started before its outcome is known.
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
  int64_t crowded_cpu_us = unlimited;  // the same on a crowded machine; unlimited: `cpu_us` there, too
  // Of idling: see idle_time.hpp. Without a limit of CPU time, what it computes counts as well.
  int64_t wall_us = unlimited;
  int64_t hard_us = unlimited;        // of time that passes, whatever it does
  int64_t memory_bytes = unlimited;         // bytes touched, all processes together
  int64_t file_size_bytes = unlimited;      // of any file that it writes, its standard output included
  bool truncates_output = false;                  // what it writes beyond that is lost, and it goes on
  int64_t address_space_bytes = unlimited;  // a backstop, far above what may be touched
  int64_t processes = unlimited;
  int64_t threads = unlimited;        // of a submission, which is one process
  int64_t open_files = 256;
  int64_t disk_bytes = unlimited, disk_entries = unlimited;  // of all that lies in its folder
};

struct Program {
  std::vector<std::string> argv, env;
  int executable = -1;                       // started by descriptor; otherwise argv[0] is a path
  int input = -1, output = -1, error = -1;  // -1: /dev/null
  std::vector<int> inherited_fds;          // further descriptors that it gets, under their own numbers
  int argument_fd = -1;                       // one more of them, whose number is its last argument
  // What the confined process goes on with where nothing is to be started; never returns.
  void (*entry_point)(const Program&) = nullptr;
  // Its working folder, a path below the job's folder ("." is the job's folder itself); empty: none.
  std::string folder;
  bool is_folder_writable = false;
  std::vector<std::string> writable_paths;   // files and folders in it that may be written although the folder may not
  std::string tmp_size;                // of a /tmp of its own, such as "64m"; empty: none
  bool sees_proc = false;                   // sees /proc
  bool sees_own_descriptors = false;                // sees of it what its descriptors are opened by
  bool sees_sandbox_proc = false;            // all that stands there of the box's own processes
  bool may_use_threads = false;
  int max_processes = 1;                   // of a submission, itself and all that it ever starts
  seccomp::Profile profile = seccomp::Profile::submission;
  int counted_file = -1;  // a file that it can write and read again: what it holds there is memory, too
  bool counts_written_bytes = false;                  // to who judges it: what it wrote is counted
  bool is_exclusive = false;                  // nothing else goes on: what only looks like waiting for a disk is idling
  // Will build boxes of its own: Landlock forbids all mounts, so only namespaces hold it where there are any.
  bool starts_sandboxes = false;
  Limits limits;
  // Of the programs that run together with it, itself one of them; null: it runs alone.
  idle_time::Clock* clock = nullptr;
  size_t clock_member = 0;                   // of that clock
};

inline seccomp::Permissions seccomp_permissions(const Program& program) {
  return {program.may_use_threads, program.max_processes > 1};
}

inline int64_t cpu_limit_us(const Limits& limits, bool is_crowded) {
  return is_crowded && limits.crowded_cpu_us != unlimited ? limits.crowded_cpu_us : limits.cpu_us;
}

enum class KillReason { none, cpu, wall, memory, processes, threads, kill_switch, disk };

struct Ending {
  KillReason kill_reason = KillReason::none;
  int exit_code = 0, signal = 0;  // of the program itself
  int64_t cpu_us = 0, wall_us = 0, memory_bytes = 0;
  int64_t idle_us = 0;    // of the time that passed: nobody who ran together with it did anything
  int64_t waited_us = 0;  // all its processes, for a processor or a disk
  bool is_stalled = false;   // killed, which is told as `wall`, at the hard stop, or because it may have idled
  int64_t written_bytes = 0;  // bytes, of one that talks; 0 where the kernel does not count them
  int process_count = 0;      // that there ever were, where it may start some
  bool is_killed_from_outside = false;  // killed by somebody who is neither the judge nor the program
  bool is_crowded = false;  // it waited for processors so long that the limit for a crowded machine holds
  std::string failure;   // not empty: the box could not be made, nothing else here counts
};

// A started program. Its outcome must be waited for; destroying it kills it.
class RunningProgram {
 public:
  // `in_order`: its outcome is known when all of it is dead, and not before.
  RunningProgram(pid_t supervisor, sys::Fd report, bool waits_for_supervisor)
      : supervisor_(supervisor), report_(std::move(report)), waits_for_supervisor_(waits_for_supervisor) {}
  RunningProgram(RunningProgram&& other) noexcept
      : supervisor_(std::exchange(other.supervisor_, -1)), report_(std::move(other.report_)),
          waits_for_supervisor_(other.waits_for_supervisor_) {}
  RunningProgram(const RunningProgram&) = delete;
  ~RunningProgram();

  int report_fd() const { return report_.get(); }  // readable when the outcome is there
  void stop();                                  // asks the supervisor to kill everything
  Ending wait();

 private:
  pid_t supervisor_;
  sys::Fd report_;
  bool waits_for_supervisor_;
};

RunningProgram start(const sandbox::Sandbox& sandbox, const Program& program);

// The pid of a supervisor that tells the outcome to `report`. With CLONE_PARENT among the flags it is the child of our
// own parent.
pid_t start_supervisor(const sandbox::Sandbox& sandbox, const Program& program, int report, int flags = 0);

inline Ending run(const sandbox::Sandbox& sandbox, const Program& program) { return start(sandbox, program).wait(); }

// An end over a limit is one at that limit, also where no look came in time: on a busy machine they come late.
Ending with_limits_applied(const Limits& limits, Ending ending);

}  // namespace process
