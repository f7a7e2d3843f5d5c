// The result of a checker, a manager or an interactor, read from the program's output.
#pragma once

#include <optional>
#include <string>

#include "process.hpp"

namespace checker_result {

// The result of a checker, manager or interactor.
struct CheckerResult {
  double score = 0;
  std::string feedback;
  bool is_fraction = false;  // the score is a fraction of the test's points, not a number of points
};

// The output of a checker, manager or interactor, and how it terminated.
struct CheckerOutput {
  std::string program_name;  // how failures name the program, such as "the checker"
  process::Ending ending;
  std::string standard_output, standard_error;
  // Files of the feedback folder: score.txt, score_multiplier.txt and judgemessage.txt. The first two are optional.
  std::optional<std::string> score_file, multiplier_file;
  std::string judge_message;
  double full_score = 1;  // the number in score.txt that means full marks
};

constexpr size_t max_output_bytes = 1 << 16;  // Maximum number of bytes that are read of each output.

// Returns the result by the rules of a kind: cms, testlib, exit-code, icpc or codeforces. Fails (sys::Failure) if the
// output has no result by these rules.
CheckerResult read_result(const std::string& kind, const CheckerOutput& output);

// Returns whether a failure of a checker, manager or interactor may have been caused by the output that it judged. A
// failure of the sandbox or of the machine is not.
bool may_be_caused_by_submission(const CheckerOutput& output);

// Returns whether `kind` is a supported kind of checker.
bool is_known_kind(const std::string& kind);

extern const char* const correct_message;
extern const char* const wrong_message;

}  // namespace checker_result
