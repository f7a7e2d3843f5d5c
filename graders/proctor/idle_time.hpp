// The clock of a test: how long its programs have idled, all of them at once. A machine that is busy with others, and a
// partner that computes, make a test take longer and are nothing that a program could be blamed for.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace idle_time {

constexpr size_t most_members = 128;  // programs of one test

// Lies in memory that the supervisors of a test's programs share: each tells what its own program did, and reads what
// all of them did.
class Clock {
 public:
  explicit Clock(size_t programs);
  Clock(const Clock&) = delete;
  ~Clock();

  // A process that is forked from here on has none of it.
  void stay_here() const;

  // Each member is told of by one supervisor. `wall_us`: how long it may idle; negative: for ever.
  void started(size_t member, int64_t now, int64_t wall_us);
  void ended(size_t member);

  // What the member's processes have computed and waited for from their start to now, all together.
  // `doubtful_us`: for how much of that nothing speaks but that the kernel says so.
  void tell(size_t member, int64_t now, int64_t busy_us, int64_t doubtful_us);

  // Since the last of them started; 0 before that.
  int64_t elapsed_us(int64_t now) const;

  // Whether one of them may soon have idled for as long as it may: from here on everybody has to tell.
  bool matters(int64_t now) const;

  // Everybody has to tell from here on.
  void ask() { page_->asked = true; }

  // By what a member has told since then: how long it has done nothing, counted from any time; nothing where it has not
  // told.
  std::optional<int64_t> rested_us(size_t member, int64_t since) const;

  // How long nobody did anything, by what all of them have told up to now; never too long.
  int64_t idle_us(size_t member, int64_t now) const;

  // What all of them have told that they may have waited for, and may have idled as well.
  int64_t doubtful_us() const;

 private:
  struct Member {
    std::atomic<int64_t> wall_us, started_us, told_us, busy_us, doubtful_us;
    std::atomic<bool> ended;
  };
  struct Page {
    Member all[most_members];
    std::atomic<bool> asked;
  };

  Page* page_;
  size_t members_;
};

// Time that the kernel tells nobody of: of a program that is on a processor, while the machine below lends that
// processor to another machine; and of threads that have waited for one and ended between two looks. Who is ready to
// run at both, and has neither computed nor waited for a processor in between, was kept from it.
class Lent {
 public:
  // `did_us`: what the program has computed and waited for so far.
  void look(int64_t now, int64_t did_us, bool ready);
  int64_t total_us() const { return total_us_; }

 private:
  int64_t looked_at_ = 0, did_us_ = 0, total_us_ = 0;
  bool ready_ = false;
};

// Time in the state of those who wait for a disk. Others are in it, too, and some of them because they like to.
class Blocked {
 public:
  // `disk_work`: any number that changes when a disk works for the program. It counts while the program is blocked, and
  // once after.
  void look(int64_t now, bool blocked, int64_t disk_work);
  bool is() const { return blocked_; }
  int64_t total_us() const { return at_disk_us_ + doubtful_us_ + spell_us_; }
  int64_t doubtful_us() const { return doubtful_us_ + (worked_ ? 0 : spell_us_); }  // no disk has worked meanwhile

 private:
  int64_t looked_at_ = 0, disk_work_ = 0, spell_us_ = 0, at_disk_us_ = 0, doubtful_us_ = 0;
  bool blocked_ = false, worked_ = false;
};

// Whether a program with such a limit of CPU time waited so long for processors that the machine is crowded. Cores and
// caches are shared then, so that the same work takes more CPU time. Who sleeps, or is at a disk, does not wait.
bool is_crowded(int64_t cpu_limit_us, int64_t waited_us);

// What a supervisor sees of its program at one look.
struct Look {
  int64_t now;
  int64_t computed_us, waited_us;  // by all its processes so far; the latter for processors
  bool ready, blocked;             // to run; in the state of those who wait for a disk
  int64_t disk_work;
};

// How long a program may do nothing, and how long it may take. Negative: for ever.
struct Patience {
  int64_t idle_us, whole_us;
  bool computing_is_idling;  // it has no limit of its own
  bool trusted;              // what looks like waiting for a disk is that
  bool quiet;                // nothing else goes on: what only looks like that is idling
};

// The rules of time for one program. They are given all that they go by, and ask no clock themselves.
class Account {
 public:
  // The last: at the end of all patience, or for half of that time only the kernel says that it did not idle. Less is
  // the machine's: who sleeps beside a busy disk is blocked at times, too.
  enum class End { none, idled, stalled };

  Account(Clock& clock, size_t member, const Patience& patience)
      : clock_(clock), member_(member), patience_(patience) {}

  void start(int64_t now);

  // Whoever watches has slept for so long on purpose. When it did not mean to it computed, waited for a processor, or
  // was stopped with all others: a machine that stands still is nobody's idling.
  void slept(int64_t us) { slept_us_ += us; }

  // Whether looks have to be exact from here on.
  bool matters(int64_t now) const { return clock_.matters(now); }

  // Whether the next look needs to know of the disk.
  bool asks_for_disk_work(bool blocked) const { return !patience_.trusted && (blocked || blocked_.is()); }
  void look(const Look& look);
  End end(int64_t now) const;

  // The program is no more.
  void finish(int64_t now, int64_t computed_us, int64_t waited_us) { tell(now, computed_us, waited_us); }
  int64_t idle_us(int64_t now) const {
    return clock_.idle_us(member_, now) + (patience_.quiet ? clock_.doubtful_us() : 0);
  }
  int64_t waited_us() const { return blocked_.total_us() + lent_.total_us(); }  // for a disk, or a machine

 private:
  void tell(int64_t now, int64_t computed_us, int64_t waited_us);

  Clock& clock_;
  const size_t member_;
  const Patience patience_;
  Lent lent_;
  Blocked blocked_;
  int64_t started_us_ = 0, slept_us_ = 0;
};

}  // namespace idle_time
