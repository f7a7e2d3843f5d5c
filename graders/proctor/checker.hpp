// Scores an output with a built-in comparison or with a problem's own checker program.
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

// Descriptors of the files that a checker reads.
struct CheckerFiles {
  int input, answer, output;
};

// The checker of a problem. It judges outputs in turn.
class Checker {
 public:
  // Opens the checker's program. Must be called before anything untrusted runs.
  explicit Checker(const plan::Checker& description);

  void make_folder(const sandbox::Sandbox& sandbox);
  bool is_program() const { return program_ != nullptr; }

  // Returns the checker's result for an output. `arguments` are the test's, and follow the checker's own arguments.
  // Fails (sys::Failure) if the checker does not produce a result. If the checker fails twice on the output but accepts
  // the reference answer, the output is wrong.
  checker_result::CheckerResult check_output(const CheckerFiles& files, const std::vector<std::string>& arguments);

  // For problems with several passes: `clear_test_feedback` must be called before a test, and `take_next_pass_input`
  // after each pass. The feedback folder stays for all passes of a test. An invalid descriptor means that the pass was
  // the last.
  void clear_test_feedback();
  sys::Fd take_next_pass_input() { return std::move(next_input_); }

 private:
  bool matches_answer(const CheckerFiles& files, const std::vector<std::string>& arguments) const;
  checker_result::CheckerResult check_with_program(
      const CheckerFiles& files, const std::vector<std::string>& arguments);
  // Runs the checker's program. `has_extra_cpu_time` raises its CPU limit, because programs need more CPU time on a
  // busy machine.
  checker_result::CheckerOutput run_program(
      const CheckerFiles& files, const std::vector<std::string>& arguments, bool has_extra_cpu_time = false);
  // Returns whether a failure of the checker may be the fault of the output, not of the checker or the machine.
  bool is_output_to_blame(const sys::Failure& failure, const checker_result::CheckerOutput& output) const;
  // Returns whether the checker accepts the reference answer of a test.
  bool accepts_answer(const CheckerFiles& files, const std::vector<std::string>& arguments);

  plan::Checker description_;
  compare::Comparison comparison_;  // null if the checker is a program
  std::unique_ptr<judge_program::JudgeProgram> program_;
  // Cached results of `accepts_answer`, by the descriptors of a test's input and answer. Tests without an answer share
  // an empty answer.
  std::map<std::pair<int, int>, bool> acceptance_by_files_;
  sys::Fd next_input_;
};

}  // namespace checker
