#include "idle_time.hpp"

#include <algorithm>
#include <sys/mman.h>

#include "sys.hpp"

namespace idle_time {
namespace {

constexpr int64_t report_margin_us = 200 * 1000;
constexpr int64_t crowded_fraction = 10;  // A program is crowded if it waited for a tenth of its CPU limit.

}  // namespace

IdleClock::IdleClock(size_t program_count) : program_count_(program_count) {
  if (program_count > max_programs) sys::fail("a test has too many programs");
  const int map_type = program_count > 1 ? MAP_SHARED : MAP_PRIVATE;
  void* const memory =
      mmap(nullptr, sizeof(SharedClockMemory), PROT_READ | PROT_WRITE, map_type | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) sys::fail_errno("cannot map memory for a clock");
  shared_memory_ = static_cast<SharedClockMemory*>(memory);  // zeroed by mmap
}

IdleClock::~IdleClock() { munmap(shared_memory_, sizeof(SharedClockMemory)); }

void IdleClock::hide_from_child_processes() const {
  if (madvise(shared_memory_, sizeof(SharedClockMemory), MADV_DONTFORK) != 0)
    sys::fail_errno("cannot exclude a clock from forks");
}

void IdleClock::mark_program_started(size_t program_index, int64_t started_us, int64_t max_idle_us) {
  shared_memory_->programs[program_index].max_idle_us = max_idle_us;
  shared_memory_->programs[program_index].started_us = started_us;
}

void IdleClock::mark_program_ended(size_t program_index) { shared_memory_->programs[program_index].has_ended = true; }

void IdleClock::report_program_times(
    size_t program_index, int64_t now, int64_t busy_us, int64_t unconfirmed_disk_wait_us) {
  shared_memory_->programs[program_index].unconfirmed_disk_wait_us = unconfirmed_disk_wait_us;
  // Written before the time, so that a reader of the time gets values that are at least as recent.
  shared_memory_->programs[program_index].busy_us = busy_us;
  shared_memory_->programs[program_index].reported_at_us = now;
}

int64_t IdleClock::elapsed_us(int64_t now) const {
  int64_t last_start = 0;
  for (size_t i = 0; i < program_count_; ++i) {
    const ProgramRecord& record = shared_memory_->programs[i];
    if (record.started_us == 0 && !record.has_ended) return 0;
    last_start = std::max<int64_t>(last_start, record.started_us);
  }
  return std::max<int64_t>(0, now - last_start);
}

std::optional<int64_t> IdleClock::find_reported_idle_us(size_t program_index, int64_t since_us) const {
  const ProgramRecord& record = shared_memory_->programs[program_index];
  // Read before the value, so that the value is at least as recent as this time.
  const int64_t reported_at = record.reported_at_us;
  return reported_at < since_us ? std::nullopt : std::optional(reported_at - record.busy_us);
}

bool IdleClock::needs_supervisor_reports(int64_t now) const {
  if (shared_memory_->are_reports_requested) return true;
  const int64_t elapsed = elapsed_us(now);
  for (size_t i = 0; i < program_count_; ++i)
    if (shared_memory_->programs[i].max_idle_us >= 0 &&
        elapsed + report_margin_us > shared_memory_->programs[i].max_idle_us)
      return true;
  return false;
}

// The activity of a program since its last report is unknown, so that time is not counted yet.
int64_t IdleClock::idle_us(size_t program_index, int64_t now) const {
  int64_t reported_until = now, busy_us = 0;
  for (size_t i = 0; i < program_count_; ++i) {
    const ProgramRecord& record = shared_memory_->programs[i];
    if (i != program_index && !record.has_ended)
      reported_until = std::min<int64_t>(reported_until, record.reported_at_us);
    busy_us += record.busy_us;
  }
  return std::max<int64_t>(0, elapsed_us(reported_until) - busy_us);
}

int64_t IdleClock::unconfirmed_disk_wait_us() const {
  int64_t total_us = 0;
  for (size_t i = 0; i < program_count_; ++i) total_us += shared_memory_->programs[i].unconfirmed_disk_wait_us;
  return total_us;
}

void DiskWaitCounter::record_measurement(int64_t now, bool is_blocked, int64_t disk_activity) {
  has_disk_activity_ = has_disk_activity_ || (is_blocked_ && disk_activity != disk_activity_);
  if (is_blocked) current_us_ += now - measured_at_;
  if (!is_blocked) {
    (has_disk_activity_ ? confirmed_us_ : unconfirmed_disk_wait_us_) += current_us_;
    current_us_ = 0, has_disk_activity_ = false;
  }
  measured_at_ = now, disk_activity_ = disk_activity, is_blocked_ = is_blocked;
}

void StealTimeCounter::record_measurement(int64_t now, int64_t active_us, bool is_runnable) {
  if (is_runnable && was_runnable_) total_us_ += std::max<int64_t>(0, now - measured_at_ - (active_us - active_us_));
  measured_at_ = now, active_us_ = active_us, was_runnable_ = is_runnable;
}

bool is_machine_crowded(int64_t cpu_limit_us, int64_t cpu_wait_us) {
  return crowded_fraction * cpu_wait_us >= cpu_limit_us;
}

void ProgramTimeTracker::start_measuring(int64_t now) {
  started_us_ = now;
  disk_wait_.record_measurement(now, false, 0);
  clock_.mark_program_started(clock_index_, now, rules_.max_idle_us);
}

void ProgramTimeTracker::record_measurement(const ProgramMeasurement& measurement) {
  disk_wait_.record_measurement(measurement.now, measurement.is_blocked, measurement.disk_activity);
  if (!clock_.needs_supervisor_reports(measurement.now)) return;
  steal_time_.record_measurement(
      measurement.now, measurement.cpu_us + measurement.cpu_wait_us, measurement.is_runnable);
  report_times_to_clock(measurement.now, measurement.cpu_us, measurement.cpu_wait_us);
}

void ProgramTimeTracker::report_times_to_clock(int64_t now, int64_t cpu_us, int64_t cpu_wait_us) {
  const int64_t awake_us = now - started_us_ - slept_us_;
  const int64_t busy_us = (rules_.cpu_time_is_idle ? 0 : cpu_us) + cpu_wait_us + disk_and_steal_wait_us() + awake_us;
  clock_.report_program_times(
      clock_index_, now, busy_us, rules_.is_trusted ? 0 : disk_wait_.unconfirmed_disk_wait_us());
}

ProgramTimeTracker::Outcome ProgramTimeTracker::find_outcome(int64_t now) const {
  const auto is_over = [](int64_t time, int64_t limit) { return limit >= 0 && time > limit; };
  const int64_t idle_us = clock_.idle_us(clock_index_, now),
                unconfirmed_disk_wait_us = clock_.unconfirmed_disk_wait_us();
  if (is_over(idle_us, rules_.max_idle_us)) return Outcome::idled;
  const bool may_have_idled = is_over(idle_us + unconfirmed_disk_wait_us, rules_.max_idle_us),
             is_mostly_unconfirmed = is_over(2 * unconfirmed_disk_wait_us, rules_.max_idle_us);
  if (may_have_idled && rules_.is_exclusive && !is_mostly_unconfirmed) return Outcome::idled;
  return (may_have_idled && is_mostly_unconfirmed) || is_over(clock_.elapsed_us(now), rules_.max_elapsed_us)
      ? Outcome::stalled
      : Outcome::none;
}

}  // namespace idle_time
