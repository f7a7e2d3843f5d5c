#include "idle_time.hpp"

#include <algorithm>
#include <sys/mman.h>

#include "sys.hpp"

namespace idle_time {
namespace {

constexpr int64_t report_margin_us = 200 * 1000;
constexpr int64_t crowded_fraction = 10;  // A program is crowded if it waited for a tenth of its CPU limit.

}  // namespace

Clock::Clock(size_t programs) : member_count_(programs) {
  if (programs > max_members) sys::fail("a test has too many programs");
  const int sharing = programs > 1 ? MAP_SHARED : MAP_PRIVATE;
  void* const memory = mmap(nullptr, sizeof(Page), PROT_READ | PROT_WRITE, sharing | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) sys::fail_errno("cannot map memory for a clock");
  page_ = static_cast<Page*>(memory);  // zeroed by mmap
}

Clock::~Clock() { munmap(page_, sizeof(Page)); }

void Clock::exclude_from_forks() const {
  if (madvise(page_, sizeof(Page), MADV_DONTFORK) != 0) sys::fail_errno("cannot exclude a clock from forks");
}

void Clock::start_member(size_t member, int64_t now_us, int64_t wall_us) {
  page_->members[member].wall_us = wall_us;
  page_->members[member].started_us = now_us;
}

void Clock::end_member(size_t member) { page_->members[member].ended = true; }

void Clock::report(size_t member, int64_t now, int64_t busy_us, int64_t unconfirmed_us) {
  page_->members[member].unconfirmed_us = unconfirmed_us;
  // Written before the time, so that a reader of the time gets at least the values up to it.
  page_->members[member].busy_us = busy_us;
  page_->members[member].reported_at_us = now;
}

int64_t Clock::elapsed_us(int64_t now) const {
  int64_t last_start = 0;
  for (size_t i = 0; i < member_count_; ++i) {
    const Member& member = page_->members[i];
    if (member.started_us == 0 && !member.ended) return 0;
    last_start = std::max<int64_t>(last_start, member.started_us);
  }
  return std::max<int64_t>(0, now - last_start);
}

std::optional<int64_t> Clock::reported_idle_us(size_t member, int64_t since) const {
  const Member& reporter = page_->members[member];
  // Read before the value, so that the value covers at least the time up to it.
  const int64_t reported_at = reporter.reported_at_us;
  return reported_at < since ? std::nullopt : std::optional(reported_at - reporter.busy_us);
}

bool Clock::needs_reports(int64_t now) const {
  if (page_->are_reports_requested) return true;
  const int64_t elapsed = elapsed_us(now);
  for (size_t i = 0; i < member_count_; ++i)
    if (page_->members[i].wall_us >= 0 && elapsed + report_margin_us > page_->members[i].wall_us) return true;
  return false;
}

// What a member has done since its last report is unknown, so that time is not counted yet.
int64_t Clock::idle_us(size_t member, int64_t now) const {
  int64_t reported_until = now, busy_us = 0;
  for (size_t i = 0; i < member_count_; ++i) {
    const Member& other = page_->members[i];
    if (i != member && !other.ended) reported_until = std::min<int64_t>(reported_until, other.reported_at_us);
    busy_us += other.busy_us;
  }
  return std::max<int64_t>(0, elapsed_us(reported_until) - busy_us);
}

int64_t Clock::unconfirmed_us() const {
  int64_t total_us = 0;
  for (size_t i = 0; i < member_count_; ++i) total_us += page_->members[i].unconfirmed_us;
  return total_us;
}

void DiskWait::observe(int64_t now, bool is_blocked, int64_t disk_work) {
  has_disk_work_ = has_disk_work_ || (is_blocked_ && disk_work != disk_work_);
  if (is_blocked) current_us_ += now - observed_at_;
  if (!is_blocked) {
    (has_disk_work_ ? confirmed_us_ : unconfirmed_us_) += current_us_;
    current_us_ = 0, has_disk_work_ = false;
  }
  observed_at_ = now, disk_work_ = disk_work, is_blocked_ = is_blocked;
}

void StolenTime::observe(int64_t now, int64_t active_us, bool is_ready) {
  if (is_ready && was_ready_) total_us_ += std::max<int64_t>(0, now - observed_at_ - (active_us - active_us_));
  observed_at_ = now, active_us_ = active_us, was_ready_ = is_ready;
}

bool is_machine_crowded(int64_t cpu_limit_us, int64_t waited_us) { return crowded_fraction * waited_us >= cpu_limit_us; }

void TimeAccount::start(int64_t now) {
  started_us_ = now;
  disk_wait_.observe(now, false, 0);
  clock_.start_member(member_, now, rules_.max_idle_us);
}

void TimeAccount::observe(const Observation& observation) {
  disk_wait_.observe(observation.now, observation.is_blocked, observation.disk_work);
  if (!clock_.needs_reports(observation.now)) return;
  stolen_time_.observe(observation.now, observation.computed_us + observation.waited_us, observation.is_ready);
  report(observation.now, observation.computed_us, observation.waited_us);
}

void TimeAccount::report(int64_t now, int64_t computed_us, int64_t waited_us) {
  const int64_t awake_us = now - started_us_ - slept_us_;
  const int64_t busy_us = (rules_.cpu_time_is_idle ? 0 : computed_us) + waited_us + this->waited_us() + awake_us;
  clock_.report(member_, now, busy_us, rules_.is_trusted ? 0 : disk_wait_.unconfirmed_us());
}

TimeAccount::End TimeAccount::end(int64_t now) const {
  const auto over = [](int64_t time, int64_t limit) { return limit >= 0 && time > limit; };
  const int64_t idle_us = clock_.idle_us(member_, now), unconfirmed_us = clock_.unconfirmed_us();
  if (over(idle_us, rules_.max_idle_us)) return End::idled;
  const bool may_have_idled = over(idle_us + unconfirmed_us, rules_.max_idle_us),
             is_mostly_unconfirmed = over(2 * unconfirmed_us, rules_.max_idle_us);
  if (may_have_idled && rules_.is_exclusive && !is_mostly_unconfirmed) return End::idled;
  return (may_have_idled && is_mostly_unconfirmed) || over(clock_.elapsed_us(now), rules_.max_elapsed_us) ? End::stalled
                                                                                                          : End::none;
}

}  // namespace idle_time
