// The clock of a test: how long its programs have all been idle at the same time. Time in which a program waits for a
// busy machine, or for a partner that computes, is not idle time.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace idle_time {

constexpr size_t max_members = 128;  // Maximum number of programs in one test.

// The clock of one test, in memory that the supervisors of the test's programs share. Each supervisor reports what its
// own program did, and reads what all programs did.
class Clock {
 public:
  explicit Clock(size_t programs);
  Clock(const Clock&) = delete;
  ~Clock();

  // Makes processes that are forked from now on have no access to the clock.
  void exclude_from_forks() const;

  // Start and end of a member. Each member has one supervisor. `wall_us` is its maximum idle time; negative means
  // unlimited.
  void start_member(size_t member, int64_t now_us, int64_t wall_us);
  void end_member(size_t member);

  // Reports how long the member's processes have computed and waited, in total, up to `now`. `unconfirmed_us` is the
  // part of it that only the kernel's process state shows, such as a wait for a disk on which no disk worked.
  void report(size_t member, int64_t now, int64_t busy_us, int64_t unconfirmed_us);

  // Returns the time since the last member started; 0 if some member has not started.
  int64_t elapsed_us(int64_t now) const;

  // Returns whether a member may soon reach its maximum idle time. From then on all supervisors must report.
  bool needs_reports(int64_t now) const;

  // Makes all supervisors report from now on.
  void request_supervisor_reports() { page_->are_reports_requested = true; }

  // Returns a member's idle time by its last report, relative to an arbitrary start; nullopt if it has not reported
  // since `since`.
  std::optional<int64_t> reported_idle_us(size_t member, int64_t since) const;

  // Returns how long all members have been idle, by their reports up to `now`. It is never too long.
  int64_t idle_us(size_t member, int64_t now) const;

  // Returns the total time in which the members may have waited or may have been idle.
  int64_t unconfirmed_us() const;

 private:
  struct Member {
    std::atomic<int64_t> wall_us, started_us, reported_at_us, busy_us, unconfirmed_us;
    std::atomic<bool> ended;
  };
  struct Page {
    Member members[max_members];
    std::atomic<bool> are_reports_requested;
  };

  Page* page_;
  size_t member_count_;
};

// Time in which a program could run but did not, and for which the kernel has no counter: a hypervisor took the
// processor away (steal time), or threads that waited for a processor ended between two looks. It is counted if the
// program is ready at two looks and neither computed nor waited in between.
class StolenTime {
 public:
  // `active_us` is the total time that the program has computed and waited so far.
  void observe(int64_t now, int64_t active_us, bool is_ready);
  int64_t total_us() const { return total_us_; }

 private:
  int64_t observed_at_ = 0, active_us_ = 0, total_us_ = 0;
  bool was_ready_ = false;
};

// Time that a program spent in the state of processes that wait for a disk (D). A program can also enter this state on
// purpose, so the time counts as confirmed only if a disk worked for the program.
class DiskWait {
 public:
  // `disk_work` is any number that changes when a disk works for the program. It is needed while the program is
  // blocked, and once afterwards.
  void observe(int64_t now, bool is_blocked, int64_t disk_work);
  bool is_blocked() const { return is_blocked_; }
  int64_t total_us() const { return confirmed_us_ + unconfirmed_us_ + current_us_; }
  int64_t unconfirmed_us() const {
    return unconfirmed_us_ + (has_disk_work_ ? 0 : current_us_);
  }  // no disk has worked in the current wait

 private:
  int64_t observed_at_ = 0, disk_work_ = 0, current_us_ = 0, confirmed_us_ = 0, unconfirmed_us_ = 0;
  bool is_blocked_ = false, has_disk_work_ = false;
};

// Returns whether a program waited so long for processors, compared to its CPU limit, that the machine is crowded. Then
// cores and caches are shared, and the same work takes more CPU time. Sleep and disk waits do not count.
bool is_machine_crowded(int64_t cpu_limit_us, int64_t waited_us);

// What a supervisor sees at one look at its program.
struct Observation {
  int64_t now;
  int64_t computed_us, waited_us;  // total of all its processes; `waited_us` is for processors
  bool is_ready, is_blocked;       // is runnable; is in the state of processes that wait for a disk
  int64_t disk_work;
};

// How long a program may be idle, and how long it may run. Negative means unlimited.
struct TimeRules {
  int64_t max_idle_us, max_elapsed_us;
  bool cpu_time_is_idle;  // if the program has no CPU limit
  bool is_trusted;        // its disk waits need no confirmation
  bool is_exclusive;      // no other job runs, so unconfirmed disk waits are idle time
};

// The time rules for one program. All values are passed in; it reads no clock itself.
class TimeAccount {
 public:
  // `stalled`: the maximum total time has passed, or unconfirmed waits make up more than half of the maximum idle time.
  // Shorter ones are attributed to the machine, because a sleeping program next to a busy disk is blocked at times,
  // too.
  enum class End { none, idled, stalled };

  TimeAccount(Clock& clock, size_t member, const TimeRules& patience)
      : clock_(clock), member_(member), rules_(patience) {}

  void start(int64_t now);

  // Adds time that the supervisor slept on purpose. While it did not, it computed, waited for a processor or was
  // stopped with all others, and this time is not idle time of the program.
  void add_sleep(int64_t us) { slept_us_ += us; }

  // Returns whether the looks must be exact from now on.
  bool needs_reports(int64_t now) const { return clock_.needs_reports(now); }

  // Returns whether the next look needs `disk_work`.
  bool needs_disk_work(bool is_blocked) const { return !rules_.is_trusted && (is_blocked || disk_wait_.is_blocked()); }
  void observe(const Observation& observation);
  End end(int64_t now) const;

  // Records the final values after the program has ended.
  void finish(int64_t now, int64_t computed_us, int64_t waited_us) { report(now, computed_us, waited_us); }
  int64_t idle_us(int64_t now) const {
    return clock_.idle_us(member_, now) + (rules_.is_exclusive ? clock_.unconfirmed_us() : 0);
  }
  // for a disk, or taken by a hypervisor
  int64_t waited_us() const { return disk_wait_.total_us() + stolen_time_.total_us(); }

 private:
  void report(int64_t now, int64_t computed_us, int64_t waited_us);

  Clock& clock_;
  const size_t member_;
  const TimeRules rules_;
  StolenTime stolen_time_;
  DiskWait disk_wait_;
  int64_t started_us_ = 0, slept_us_ = 0;
};

}  // namespace idle_time
