// From an output to a score: the comparisons that are built in, and checkers that a problem brings.
#pragma once

#include <map>
#include <memory>

#include "compare.hpp"
#include "desk.hpp"
#include "opinion.hpp"
#include "plan.hpp"
#include "room.hpp"

namespace checker {

// One problem's checker, ready to look at one output after the other.
class Checker {
 public:
  // Opens the checker's program before anything untrusted runs.
  explicit Checker(const plan::Checker& description);

  void settle(const room::Room& room);
  bool is_program() const { return desk_ != nullptr; }

  // `mode`: a further argument for checkers of tasks that take programs and files. Fails (sys::Failure) when the checker does
  // not say what the output is worth, nor what the answer is worth as an output. Where it takes the answer, the output is to blame.
  opinion::Opinion check(int input, int answer, int output, const char* mode = nullptr);

 private:
  bool equal(int output, int answer) const;
  opinion::Opinion believed(int input, int answer, int output, const char* mode);
  opinion::Statement run(int input, int answer, int output, const char* mode);
  bool takes_the_answer(int input, int answer, const char* mode);

  plan::Checker description_;
  compare::Comparison comparison_;  // null for programs
  std::unique_ptr<desk::Desk> desk_;
  std::map<int, bool> takes_answer_;  // by the answer's descriptor
};

}  // namespace checker
