// Thin wrappers of system calls. The headers of an old distribution (4.19) lack Landlock, open_tree and mount_setattr,
// but the kernel that runs the binary may have them.
#pragma once

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <ctime>
#include <string>
#include <sys/syscall.h>
#include <unistd.h>
#include <utility>

namespace sys {

// Numbers above 423 are the same on all architectures.
constexpr long nr_open_tree = 428;
constexpr long nr_move_mount = 429;
constexpr long nr_close_range = 436;
constexpr long nr_mount_setattr = 442;
constexpr long nr_landlock_create_ruleset = 444;
constexpr long nr_landlock_add_rule = 445;
constexpr long nr_landlock_restrict_self = 446;

// A file descriptor with a single owner. The destructor closes it.
class Fd {
 public:
  Fd() = default;
  explicit Fd(int number) : number_(number) {}
  Fd(Fd&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Fd& operator=(Fd&& other) noexcept {
    if (this != &other) {
      reset();
      number_ = std::exchange(other.number_, -1);
    }
    return *this;
  }
  Fd(const Fd&) = delete;
  Fd& operator=(const Fd&) = delete;
  ~Fd() { reset(); }

  int get() const { return number_; }
  bool valid() const { return number_ >= 0; }
  int release() { return std::exchange(number_, -1); }
  void reset() {
    if (number_ >= 0) ::close(number_);
    number_ = -1;
  }

 private:
  int number_ = -1;
};

// Returns a message like "cannot open x: No such file or directory", from errno.
inline std::string errno_message(const std::string& action) { return action + ": " + std::strerror(errno); }

// A failure of the judge, never of a submission. It terminates the command with a message.
struct Failure {
  std::string message;
  bool is_provoked = false;             // whether a submission may have caused the failure
  bool is_killed_from_outside = false;  // whether a program was killed, but not by the judge
  bool is_problem_fault = false;        // whether a program of the problem is at fault for any submission
};

[[noreturn]] inline void fail(std::string message, bool is_killed_from_outside = false, bool is_problem_fault = false) {
  throw Failure{std::move(message), false, is_killed_from_outside, is_problem_fault};
}
[[noreturn]] inline void fail_errno(const std::string& action) { throw Failure{errno_message(action)}; }

// Returns the monotonic time in microseconds. All time rules use this clock. They receive the time as a parameter, so
// that tests can pass any time.
inline int64_t now_us() {
  timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * 1000000LL + time.tv_nsec / 1000;
}

// Starts a process with `call` and returns its result. Retries on EAGAIN, because processes that are just being killed
// may use up the user's process limit for a moment.
template <typename Call>
long retry_while_eagain(Call call) {
  constexpr timespec pause = {0, 10 * 1000 * 1000};
  for (int attempts = 2000;; --attempts) {
    const long pid = call();
    if (pid >= 0 || errno != EAGAIN || attempts == 0) return pid;
    nanosleep(&pause, nullptr);
  }
}

}  // namespace sys
