// A bound on processes that holds at every moment, where no namespace counts them: the kernel asks us before it makes each new one.
#pragma once

#include <cstdint>
#include <sys/types.h>
#include <vector>

#include "sys.hpp"

namespace births {

// Whether the kernel asks (since 5.6), and us.
bool available();

// In the program-to-be: from now on whoever wants a new process or thread waits until it is granted or refused. Sends the
// descriptor of the questions through `channel`; nothing where it is not to be had, and then polling alone bounds the program.
void ask(int channel);

// Who answers.
class Registry {
 public:
  explicit Registry(int64_t most) : most_(most) {}

  // Takes the descriptor that ask() has sent.
  void open(int channel);

  // Readable when somebody asks. -1 where nobody does, or where all that may be are there: then who asks waits for the next look().
  int questions() const { return full_ ? -1 : questions_.get(); }
  int descriptor() const { return questions_.get(); }

  // Answers one question. `self` as in meter::descendants.
  void answer(int proc, pid_t self);

  // Some may have ended, so there may be place again.
  void look() { full_ = false; }

  // Nobody will ask any more.
  void close() { questions_.reset(); }

 private:
  struct Granted {
    pid_t to;
    int64_t at_us;
  };

  int64_t place(int proc, pid_t self);
  void grant(pid_t asked);

  int64_t most_, left_ = 0;
  bool full_ = false;
  sys::Fd questions_;
  std::vector<Granted> granted_;  // not to be seen yet, perhaps: an entry for whoever was granted one lately
};

}  // namespace births
