// From an output to a score: the comparisons that are built in, and checkers that a problem brings.
#pragma once

#include <map>
#include <memory>
#include <utility>

#include "compare.hpp"
#include "judge_program.hpp"
#include "checker_result.hpp"
#include "plan.hpp"
#include "sandbox.hpp"

namespace checker {

// The descriptors of what is looked at.
struct Files {
  int input, answer, output;
};

// One problem's checker, ready to look at one output after the other.
class Checker {
 public:
  // Opens the checker's program before anything untrusted runs.
  explicit Checker(const plan::Checker& description);

  void make_folder(const sandbox::Sandbox& sandbox);
  bool is_program() const { return program_ != nullptr; }

  // `arguments` are the test's, behind the checker's own. Fails (sys::Failure) when the checker does not say what the
  // output is worth. If it says twice that it cannot, and takes the answer as an output, the output is to blame.
  checker_result::CheckerResult check(const Files& files, const std::vector<std::string>& arguments);

  // Where a submission may run again: to be called before a test, and after each of its passes. What is left of one
  // pass in the feedback folder is there in the next. Invalid: that was the last one.
  void begin_test();
  sys::Fd take_next_input() { return std::move(next_input_); }

 private:
  bool matches_answer(const Files& files, const std::vector<std::string>& arguments) const;
  checker_result::CheckerResult check_with_program(const Files& files, const std::vector<std::string>& arguments);
  // `patiently`: with more CPU time, by as much as it takes more beside busy neighbours.
  checker_result::CheckerOutput run(
      const Files& files, const std::vector<std::string>& arguments, bool has_extra_cpu_time = false);
  bool may_blame_output(const sys::Failure& failure, const checker_result::CheckerOutput& output) const;
  bool accepts_answer(const Files& files, const std::vector<std::string>& arguments);

  plan::Checker description_;
  compare::Comparison comparison_;  // null for programs
  std::unique_ptr<judge_program::JudgeProgram> program_;
  // By the descriptors of a test's input and answer. Tests without an answer share an empty one.
  std::map<std::pair<int, int>, bool> accepts_answer_;
  sys::Fd next_input_;
};

}  // namespace checker
