// From an output to a score: the comparisons that are built in, and checkers that a problem brings.
#pragma once

#include "plan.hpp"
#include "room.hpp"
#include "sys.hpp"

namespace checker {

struct Checked {
  double score = 0;
  std::string feedback;
};

// One problem's checker, ready to look at one output after the other.
class Checker {
 public:
  // Opens the checker's program before anything untrusted runs.
  explicit Checker(const plan::Checker& description);

  // Makes the folder in which a checker finds its files. Called once the proctor is in its room.
  void settle(const room::Room& room);

  bool is_program() const { return program_.valid(); }

  // Fails (sys::Failure) when the checker does not say what the output is worth.
  Checked check(int input, int answer, int output) const;

 private:
  Checked run(int input, int answer, int output) const;

  plan::Checker description_;
  sys::Fd program_;
  sys::Fd places_[3];  // the same three numbers for every test, so that the links to them are made once
  const room::Room* room_ = nullptr;
};

// The score on the first line of a checker's output: a finite decimal in [0, 1] and nothing else; fails otherwise.
double read_score(const std::string& line);

}  // namespace checker
