// The clock of a test: how long its programs have all been idle at the same time. Time in which a program waits for a
// busy machine, or for a partner that computes, is not idle time.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace idle_time {

constexpr size_t max_programs = 128;  // Maximum number of programs in a test.

// The idle clock of a test, in memory that the supervisors of the test's programs share. Each supervisor reports the
// activity of its program, and reads the activity of all programs. A program is identified by its index on the clock.
class IdleClock {
 public:
  explicit IdleClock(size_t program_count);
  IdleClock(const IdleClock&) = delete;
  ~IdleClock();

  // Hides the clock from processes that are forked from now on.
  void hide_from_child_processes() const;

  // Records the start and the end of a program. A negative `max_idle_us` means unlimited.
  void mark_program_started(size_t program_index, int64_t started_us, int64_t max_idle_us);
  void mark_program_ended(size_t program_index);

  // Reports how long the program's processes have computed and waited, in total, up to `now`.
  // `unconfirmed_disk_wait_us` is the part of it that only the kernel's process state shows, such as a wait for a disk
  // during which no disk worked.
  void report_program_times(size_t program_index, int64_t now, int64_t busy_us, int64_t unconfirmed_disk_wait_us);

  // Returns the time since the last program started, or 0 if some program has not started.
  int64_t elapsed_us(int64_t now) const;

  // Returns whether a program may soon reach its maximum idle time. From then on all supervisors must report.
  bool needs_supervisor_reports(int64_t now) const;

  // Makes all supervisors report from now on.
  void request_supervisor_reports() { shared_memory_->are_reports_requested = true; }

  // Returns a program's idle time by its supervisor's last report, relative to an arbitrary start; nullopt if the
  // report is older than `since_us`.
  std::optional<int64_t> find_reported_idle_us(size_t program_index, int64_t since_us) const;

  // Returns how long all programs have been idle, by their reports up to `now`. The result is never too long.
  int64_t idle_us(size_t program_index, int64_t now) const;

  // Returns the total time in which the programs may have waited or may have been idle.
  int64_t unconfirmed_disk_wait_us() const;

 private:
  struct ProgramRecord {
    std::atomic<int64_t> max_idle_us, started_us, reported_at_us, busy_us, unconfirmed_disk_wait_us;
    std::atomic<bool> has_ended;
  };
  struct SharedClockMemory {
    ProgramRecord programs[max_programs];
    std::atomic<bool> are_reports_requested;
  };

  SharedClockMemory* shared_memory_;
  size_t program_count_;
};

// Time in which a program could run but did not, and for which the kernel has no counter: a hypervisor withdrew the
// processor (steal time), or threads that waited for a processor exited between two checks. It is counted if
// the program is runnable at two checks and neither computed nor waited in between.
class StealTimeCounter {
 public:
  // `active_us` is the total time that the program has computed and waited so far.
  void record_measurement(int64_t now, int64_t active_us, bool is_runnable);
  int64_t total_us() const { return total_us_; }

 private:
  int64_t measured_at_ = 0, active_us_ = 0, total_us_ = 0;
  bool was_runnable_ = false;
};

// Time that a program spent in the state of processes that wait for a disk (D). A program can also enter this state on
// purpose, so the time counts as confirmed only if a disk worked for the program.
class DiskWaitCounter {
 public:
  // `disk_activity` is any number that changes when a disk works for the program. It is needed while the program is
  // blocked, and once afterwards.
  void record_measurement(int64_t now, bool is_blocked, int64_t disk_activity);
  bool is_blocked() const { return is_blocked_; }
  int64_t total_us() const { return confirmed_us_ + unconfirmed_disk_wait_us_ + current_us_; }
  int64_t unconfirmed_disk_wait_us() const {
    return unconfirmed_disk_wait_us_ + (has_disk_activity_ ? 0 : current_us_);
  }  // no disk has worked in the current wait

 private:
  int64_t measured_at_ = 0, disk_activity_ = 0, current_us_ = 0, confirmed_us_ = 0, unconfirmed_disk_wait_us_ = 0;
  bool is_blocked_ = false, has_disk_activity_ = false;
};

// Returns whether a program waited so long for processors, compared to its CPU limit, that the machine is crowded. Then
// cores and caches are shared, and the same work needs more CPU time. Sleep and disk waits do not count.
bool is_machine_crowded(int64_t cpu_limit_us, int64_t cpu_wait_us);

// The values that a supervisor measures at a single check of its program.
struct ProgramMeasurement {
  int64_t now;
  // total times of all processes of the program; `cpu_wait_us` is the time without a processor
  int64_t cpu_us, cpu_wait_us;
  // whether a process is runnable, and whether a process is in the state of waiting for a disk (D)
  bool is_runnable, is_blocked;
  int64_t disk_activity;
};

// How long a program may be idle, and how long it may run. Negative means unlimited.
struct IdleTimeRules {
  int64_t max_idle_us, max_elapsed_us;
  bool cpu_time_is_idle;  // true if the program's CPU time is unlimited
  bool is_trusted;        // true if the program's disk waits need no confirmation
  bool is_exclusive;      // true if no other job runs; then unconfirmed disk waits are idle time
};

// The time rules for a program. All values are passed in; it reads no clock itself.
class ProgramTimeTracker {
 public:
  // `idled`: the programs were idle for longer than permitted. `stalled`: the maximum total time has passed, or
  // unconfirmed waits make up more than half of the maximum idle time. Shorter waits are attributed to the machine,
  // because even a sleeping program is blocked at times if the disk is busy.
  enum class Outcome { none, idled, stalled };

  ProgramTimeTracker(IdleClock& clock, size_t clock_index, const IdleTimeRules& rules)
      : clock_(clock), clock_index_(clock_index), rules_(rules) {}

  void start_measuring(int64_t now);

  // Adds time that the supervisor slept on purpose. While it did not, it computed, waited for a processor or was
  // stopped with all other processes, and this time is not idle time of the program.
  void add_supervisor_sleep(int64_t us) { slept_us_ += us; }

  // Returns whether the supervisor must measure exactly and report times to the clock from now on.
  bool needs_supervisor_reports(int64_t now) const { return clock_.needs_supervisor_reports(now); }

  // Returns whether the supervisor must read the program's disk activity for the next measurement.
  bool must_read_disk_activity(bool is_blocked) const {
    return !rules_.is_trusted && (is_blocked || disk_wait_.is_blocked());
  }
  void record_measurement(const ProgramMeasurement& measurement);
  Outcome find_outcome(int64_t now) const;

  // Records the final values after the program has terminated.
  void record_final_times(int64_t now, int64_t cpu_us, int64_t cpu_wait_us) {
    report_times_to_clock(now, cpu_us, cpu_wait_us);
  }
  int64_t idle_us(int64_t now) const {
    return clock_.idle_us(clock_index_, now) + (rules_.is_exclusive ? clock_.unconfirmed_disk_wait_us() : 0);
  }
  // Returns the time that the program waited for a disk, and the time that a hypervisor withdrew its processor.
  int64_t disk_and_steal_wait_us() const { return disk_wait_.total_us() + steal_time_.total_us(); }

 private:
  void report_times_to_clock(int64_t now, int64_t cpu_us, int64_t cpu_wait_us);

  IdleClock& clock_;
  const size_t clock_index_;
  const IdleTimeRules rules_;
  StealTimeCounter steal_time_;
  DiskWaitCounter disk_wait_;
  int64_t started_us_ = 0, slept_us_ = 0;
};

}  // namespace idle_time
