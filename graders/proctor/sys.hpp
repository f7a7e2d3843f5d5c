// What the proctor needs of the kernel, in its own words: the headers of an old distribution (4.19) do not know
// Landlock, open_tree or mount_setattr, and the kernel that runs the binary may well be newer than they are.
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

// A descriptor that closes itself.
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

// "cannot open x: No such file or directory", from errno as it stands.
inline std::string errno_message(const std::string& action) { return action + ": " + std::strerror(errno); }

// Something that only the judge can be blamed for; ends the command with a message.
struct Failure {
  std::string text;
  bool is_provoked = false;  // a submission may have chosen it
  bool is_killed_from_outside = false;   // something was killed, by nobody of the judge's
  bool is_own_fault = false;       // of a program of the problem, whatever the submission said
};

[[noreturn]] inline void fail(std::string text, bool is_killed_from_outside = false, bool is_own_fault = false) {
  throw Failure{std::move(text), false, is_killed_from_outside, is_own_fault};
}
[[noreturn]] inline void fail_errno(const std::string& action) { throw Failure{errno_message(action)}; }

// The one clock of all rules of time. They are given what it shows, so that tests give them what they like.
inline int64_t now_us() {
  timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * 1000000LL + time.tv_nsec / 1000;
}

// What `call` gives, which makes a process. All that a user may have can be taken for a moment, by a crowd that is just
// being ended.
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
