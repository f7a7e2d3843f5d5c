// The clock of a test: how long its programs have idled, all of them at once. A machine that is busy with others, and a
// partner that computes, make a test take longer and are nothing that a program could be blamed for.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace idle_time {

constexpr size_t max_members = 128;  // programs of one test

// Lies in memory that the supervisors of a test's programs share: each tells what its own program did, and reads what
// all of them did.
class Clock {
 public:
  explicit Clock(size_t programs);
  Clock(const Clock&) = delete;
  ~Clock();

  // A process that is forked from here on has none of it.
  void exclude_from_forks() const;

  // Each member is told of by one supervisor. `wall_us`: how long it may idle; negative: for ever.
  void member_started(size_t member, int64_t now_us, int64_t wall_us);
  void member_ended(size_t member);

  // What the member's processes have computed and waited for from their start to now, all together.
  // `doubtful_us`: for how much of that nothing speaks but that the kernel says so.
  void report(size_t member, int64_t now, int64_t busy_us, int64_t unconfirmed_us);

  // Since the last of them started; 0 before that.
  int64_t elapsed_us(int64_t now) const;

  // Whether one of them may soon have idled for as long as it may: from here on everybody has to tell.
  bool needs_reports(int64_t now) const;

  // Everybody has to tell from here on.
  void request_reports() { page_->reports_requested = true; }

  // By what a member has told since then: how long it has done nothing, counted from any time; nothing where it has not
  // told.
  std::optional<int64_t> reported_idle_us(size_t member, int64_t since) const;

  // How long nobody did anything, by what all of them have told up to now; never too long.
  int64_t idle_us(size_t member, int64_t now) const;

  // What all of them have told that they may have waited for, and may have idled as well.
  int64_t unconfirmed_us() const;

 private:
  struct Member {
    std::atomic<int64_t> wall_us, started_us, reported_at_us, busy_us, unconfirmed_us;
    std::atomic<bool> ended;
  };
  struct Page {
    Member members[max_members];
    std::atomic<bool> reports_requested;
  };

  Page* page_;
  size_t member_count_;
};

// Time that the kernel tells nobody of: of a program that is on a processor, while the machine below lends that
// processor to another machine; and of threads that have waited for one and ended between two looks. Who is ready to
// run at both, and has neither computed nor waited for a processor in between, was kept from it.
class StolenTime {
 public:
  // `did_us`: what the program has computed and waited for so far.
  void observe(int64_t now, int64_t active_us, bool is_ready);
  int64_t total_us() const { return total_us_; }

 private:
  int64_t observed_at_ = 0, active_us_ = 0, total_us_ = 0;
  bool was_ready_ = false;
};

// Time in the state of those who wait for a disk. Others are in it, too, and some of them because they like to.
class DiskWait {
 public:
  // `disk_work`: any number that changes when a disk works for the program. It counts while the program is blocked, and
  // once after.
  void observe(int64_t now, bool is_blocked, int64_t disk_work);
  bool is_blocked() const { return is_blocked_; }
  int64_t total_us() const { return confirmed_us_ + unconfirmed_us_ + current_us_; }
  int64_t unconfirmed_us() const {
    return unconfirmed_us_ + (has_disk_work_ ? 0 : current_us_);
  }  // no disk has worked meanwhile

 private:
  int64_t observed_at_ = 0, disk_work_ = 0, current_us_ = 0, confirmed_us_ = 0, unconfirmed_us_ = 0;
  bool is_blocked_ = false, has_disk_work_ = false;
};

// Whether a program with such a limit of CPU time waited so long for processors that the machine is crowded. Cores and
// caches are shared then, so that the same work takes more CPU time. Who sleeps, or is at a disk, does not wait.
bool is_crowded(int64_t cpu_limit_us, int64_t waited_us);

// What a supervisor sees of its program at one look.
struct Observation {
  int64_t now;
  int64_t computed_us, waited_us;  // by all its processes so far; the latter for processors
  bool is_ready, is_blocked;             // to run; in the state of those who wait for a disk
  int64_t disk_work;
};

// How long a program may do nothing, and how long it may take. Negative: for ever.
struct TimeRules {
  int64_t max_idle_us, max_elapsed_us;
  bool cpu_time_is_idle;  // it has no limit of its own
  bool is_trusted;              // what looks like waiting for a disk is that
  bool is_exclusive;                // nothing else goes on: what only looks like that is idling
};

// The rules of time for one program. They are given all that they go by, and ask no clock themselves.
class TimeAccount {
 public:
  // The last: at the end of all patience, or for half of that time only the kernel says that it did not idle. Less is
  // the machine's: who sleeps beside a busy disk is blocked at times, too.
  enum class End { none, idled, stalled };

  TimeAccount(Clock& clock, size_t member, const TimeRules& patience)
      : clock_(clock), member_(member), rules_(patience) {}

  void start(int64_t now);

  // Whoever watches has slept for so long on purpose. When it did not mean to it computed, waited for a processor, or
  // was stopped with all others: a machine that stands still is nobody's idling.
  void add_sleep(int64_t us) { slept_us_ += us; }

  // Whether looks have to be exact from here on.
  bool needs_reports(int64_t now) const { return clock_.needs_reports(now); }

  // Whether the next look needs to know of the disk.
  bool needs_disk_work(bool is_blocked) const { return !rules_.is_trusted && (is_blocked || disk_wait_.is_blocked()); }
  void observe(const Observation& observation);
  End end(int64_t now) const;

  // The program is no more.
  void finish(int64_t now, int64_t computed_us, int64_t waited_us) { report(now, computed_us, waited_us); }
  int64_t idle_us(int64_t now) const {
    return clock_.idle_us(member_, now) + (rules_.is_exclusive ? clock_.unconfirmed_us() : 0);
  }
  int64_t waited_us() const { return disk_wait_.total_us() + stolen_time_.total_us(); }  // for a disk, or a machine

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
