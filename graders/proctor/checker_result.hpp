// What a checker, a manager or an interactor said about a submission.
#pragma once

#include <optional>
#include <string>

#include "process.hpp"

namespace checker_result {

struct Opinion {
  double score = 0;
  std::string feedback;
  bool is_part = false;  // of what the test is worth, whatever that is: no number of points
};

// Everything that such a program left behind.
struct Statement {
  std::string who;  // "the checker", "the manager": failures name it
  process::Outcome outcome;
  std::string said, told;           // standard output and standard error
  // Of a feedback folder: score.txt and score_multiplier.txt, where there are such files, and judgemessage.txt.
  std::optional<std::string> score_file, multiplier;
  std::string message;
  double full = 1;                  // the number in score.txt that is worth everything
};

constexpr size_t longest = 1 << 16;  // bytes of what a program says that are read

// By the rules of a kind: cms, testlib, exit-code, icpc, codeforces. Fails (sys::Failure) when nothing can be made of
// it.
Opinion read(const std::string& kind, const Statement& statement);

// Whether a failure of such a program may come of what it was given to judge: it is not the box's, nor the machine's.
bool may_be_provoked(const Statement& statement);

// Whether there are rules for it.
bool is_kind(const std::string& kind);

extern const char* const correct;
extern const char* const wrong;

}  // namespace checker_result
