// What a checker, a manager or an interactor said about a submission.
#pragma once

#include <optional>
#include <string>

#include "process.hpp"

namespace checker_result {

struct CheckerResult {
  double score = 0;
  std::string feedback;
  bool is_fraction = false;  // of what the test is worth, whatever that is: no number of points
};

// Everything that such a program left behind.
struct CheckerOutput {
  std::string program_name;  // "the checker", "the manager": failures name it
  process::Ending ending;
  std::string standard_output, standard_error;           // standard output and standard error
  // Of a feedback folder: score.txt and score_multiplier.txt, where there are such files, and judgemessage.txt.
  std::optional<std::string> score_file, multiplier_file;
  std::string judge_message;
  double full_score = 1;                  // the number in score.txt that is worth everything
};

constexpr size_t max_output_bytes = 1 << 16;  // bytes of what a program says that are read

// By the rules of a kind: cms, testlib, exit-code, icpc, codeforces. Fails (sys::Failure) when nothing can be made of
// it.
CheckerResult read_result(const std::string& kind, const CheckerOutput& output);

// Whether a failure of such a program may come of what it was given to judge: it is not the box's, nor the machine's.
bool may_be_provoked(const CheckerOutput& output);

// Whether there are rules for it.
bool is_kind(const std::string& kind);

extern const char* const correct_message;
extern const char* const wrong_message;

}  // namespace checker_result
