#include "idle_time.hpp"

#include <algorithm>
#include <sys/mman.h>

#include "sys.hpp"

namespace idle_time {
namespace {

constexpr int64_t near_us = 200 * 1000;
constexpr int64_t crowd = 10;  // a tenth of the limit

}  // namespace

Clock::Clock(size_t programs) : members_(programs) {
  if (programs > most_members) sys::fail("a test has too many programs");
  const int whose = programs > 1 ? MAP_SHARED : MAP_PRIVATE;
  void* const shared = mmap(nullptr, sizeof(Page), PROT_READ | PROT_WRITE, whose | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) sys::fail_errno("memory for a clock");
  page_ = static_cast<Page*>(shared);  // of zeros
}

Clock::~Clock() { munmap(page_, sizeof(Page)); }

void Clock::stay_here() const {
  if (madvise(page_, sizeof(Page), MADV_DONTFORK) != 0) sys::fail_errno("memory of a clock");
}

void Clock::started(size_t member, int64_t now, int64_t wall_us) {
  page_->all[member].wall_us = wall_us;
  page_->all[member].started_us = now;
}

void Clock::ended(size_t member) { page_->all[member].ended = true; }

void Clock::tell(size_t member, int64_t now, int64_t busy_us, int64_t doubtful_us) {
  page_->all[member].doubtful_us = doubtful_us;
  page_->all[member].busy_us = busy_us;  // first: who reads the time has what belongs to it, or more
  page_->all[member].told_us = now;
}

int64_t Clock::elapsed_us(int64_t now) const {
  int64_t last = 0;
  for (size_t i = 0; i < members_; ++i) {
    const Member& member = page_->all[i];
    if (member.started_us == 0 && !member.ended) return 0;
    last = std::max<int64_t>(last, member.started_us);
  }
  return std::max<int64_t>(0, now - last);
}

std::optional<int64_t> Clock::rested_us(size_t member, int64_t since) const {
  const Member& told = page_->all[member];
  const int64_t at = told.told_us;  // first: what it did by then is in the other number, or more
  return at < since ? std::nullopt : std::optional(at - told.busy_us);
}

bool Clock::matters(int64_t now) const {
  if (page_->asked) return true;
  const int64_t elapsed = elapsed_us(now);
  for (size_t i = 0; i < members_; ++i)
    if (page_->all[i].wall_us >= 0 && elapsed + near_us > page_->all[i].wall_us) return true;
  return false;
}

// What somebody has done since telling last is not known, so that time is not counted yet.
int64_t Clock::idle_us(size_t member, int64_t now) const {
  int64_t until = now, busy = 0;
  for (size_t i = 0; i < members_; ++i) {
    const Member& other = page_->all[i];
    if (i != member && !other.ended) until = std::min<int64_t>(until, other.told_us);
    busy += other.busy_us;
  }
  return std::max<int64_t>(0, elapsed_us(until) - busy);
}

int64_t Clock::doubtful_us() const {
  int64_t all = 0;
  for (size_t i = 0; i < members_; ++i) all += page_->all[i].doubtful_us;
  return all;
}

void Blocked::look(int64_t now, bool blocked, int64_t disk_work) {
  worked_ = worked_ || (blocked_ && disk_work != disk_work_);
  if (blocked) spell_us_ += now - looked_at_;
  if (!blocked) {
    (worked_ ? at_disk_us_ : doubtful_us_) += spell_us_;
    spell_us_ = 0, worked_ = false;
  }
  looked_at_ = now, disk_work_ = disk_work, blocked_ = blocked;
}

void Lent::look(int64_t now, int64_t did_us, bool ready) {
  if (ready && ready_) total_us_ += std::max<int64_t>(0, now - looked_at_ - (did_us - did_us_));
  looked_at_ = now, did_us_ = did_us, ready_ = ready;
}

bool is_crowded(int64_t cpu_limit_us, int64_t waited_us) { return crowd * waited_us >= cpu_limit_us; }

void Account::start(int64_t now) {
  started_us_ = now;
  blocked_.look(now, false, 0);
  clock_.started(member_, now, patience_.idle_us);
}

void Account::look(const Look& look) {
  blocked_.look(look.now, look.blocked, look.disk_work);
  if (!clock_.matters(look.now)) return;
  lent_.look(look.now, look.computed_us + look.waited_us, look.ready);
  tell(look.now, look.computed_us, look.waited_us);
}

void Account::tell(int64_t now, int64_t computed_us, int64_t waited_us) {
  const int64_t awake_us = now - started_us_ - slept_us_;
  const int64_t busy_us = (patience_.computing_is_idling ? 0 : computed_us) + waited_us + this->waited_us() + awake_us;
  clock_.tell(member_, now, busy_us, patience_.trusted ? 0 : blocked_.doubtful_us());
}

Account::End Account::end(int64_t now) const {
  const auto over = [](int64_t time, int64_t most) { return most >= 0 && time > most; };
  const int64_t idle = clock_.idle_us(member_, now), doubtful = clock_.doubtful_us();
  if (over(idle, patience_.idle_us)) return End::idled;
  const bool perhaps = over(idle + doubtful, patience_.idle_us), mostly = over(2 * doubtful, patience_.idle_us);
  if (perhaps && patience_.quiet && !mostly) return End::idled;
  return (perhaps && mostly) || over(clock_.elapsed_us(now), patience_.whole_us) ? End::stalled : End::none;
}

}  // namespace idle_time
