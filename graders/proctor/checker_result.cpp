#include "checker_result.hpp"

#include <algorithm>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "text.hpp"

namespace checker_result {

const char* const correct_message = "Output is correct";
const char* const wrong_message = "Output isn't correct";

namespace {

constexpr int testlib_fail_code = 3;
// Maximum rounding error of points that a checker added up as binary fractions.
constexpr double score_tolerance = 1e-9;
constexpr const char* partial_message = "Output is partially correct";

// Returns the message for a standard message name of CMS. Other messages stay as they are.
std::string expand_cms_message(const std::string& message) {
  if (message == "translate:success") return correct_message;
  if (message == "translate:partial") return partial_message;
  if (message == "translate:wrong") return wrong_message;
  return message;
}

std::string trim(const std::string& raw) {
  const char* blanks = " \t\r\n\v\f";
  const size_t start = raw.find_first_not_of(blanks);
  return start == std::string::npos ? "" : raw.substr(start, raw.find_last_not_of(blanks) - start + 1);
}

std::string find_trimmed_first_line(const std::string& raw) { return trim(text::find_first_line(raw)); }

bool is_decimal(const std::string& word) {
  size_t position = 0;
  const auto skip_digits = [&] {
    const size_t start = position;
    while (position < word.size() && word[position] >= '0' && word[position] <= '9') ++position;
    return position - start;
  };
  const auto skip_one_of = [&](const char* letters) {
    return position < word.size() && std::strchr(letters, word[position]) && ++position;
  };
  skip_one_of("+-");
  size_t digit_count = skip_digits();
  if (skip_one_of(".")) digit_count += skip_digits();
  if (digit_count == 0) return false;
  if (skip_one_of("eE")) {
    skip_one_of("+-");
    if (skip_digits() == 0) return false;
  }
  return position == word.size();
}

// Parses a decimal score in [0, full_score] and scales it to [0, 1]. A higher score is a fault of the checker, because
// the output may be the best output.
double read_score(const CheckerOutput& output, const std::string& raw, double full_score = 1) {
  const std::string word = trim(raw);
  const double value = is_decimal(word) ? std::strtod(word.c_str(), nullptr) / full_score : -1;
  if (!(value >= 0 && value <= 1 + score_tolerance))
    sys::fail(output.program_name + " printed no score between 0 and " +
            (full_score == 1 ? "1" : std::to_string(full_score)) + " but \"" + text::make_printable(word, 80) + "\"",
        false, value > 1 && std::isfinite(value));
  return std::min(value, 1.0);
}

void fail_if_killed(const CheckerOutput& output) {
  const process::Ending& ending = output.ending;
  if (!ending.failure.empty()) sys::fail(output.program_name + ": " + ending.failure, ending.is_killed_from_outside);
  switch (ending.kill_reason) {
    case process::KillReason::cpu: sys::fail(output.program_name + " ran out of CPU time");
    case process::KillReason::wall: sys::fail(output.program_name + " ran out of time");
    case process::KillReason::memory: sys::fail(output.program_name + " ran out of memory");
    case process::KillReason::processes: sys::fail(output.program_name + " started too many processes");
    case process::KillReason::threads: sys::fail(output.program_name + " started too many threads");
    case process::KillReason::disk: sys::fail(output.program_name + " wrote too much");
    case process::KillReason::kill_switch: sys::fail(output.program_name + " was stopped", true);
    case process::KillReason::none: break;
  }
  const bool is_killed_from_outside = ending.signal == SIGKILL || ending.signal == SIGTERM;
  if (ending.signal)
    sys::fail(output.program_name + " was killed by signal " + std::to_string(ending.signal), is_killed_from_outside);
}

[[noreturn]] void fail_with_exit_code(const CheckerOutput& output) {
  sys::fail(output.program_name + " exited with code " + std::to_string(output.ending.exit_code) + ": " +
      trim(text::find_error_line(output.standard_error)));
}

CheckerResult read_cms_result(const CheckerOutput& output) {
  if (output.ending.exit_code != 0) fail_with_exit_code(output);
  return {read_score(output, text::find_first_line(output.standard_output)),
      expand_cms_message(find_trimmed_first_line(output.standard_error))};
}

// Reads the number after `points` at the start of testlib's message, or `partial A/B` on any line.
CheckerResult read_points_result(const CheckerOutput& output, const std::string& message) {
  const std::string& lines = output.standard_error;
  for (size_t position = 0; position < lines.size();
       position = lines.find('\n', position), position += position < lines.size()) {
    long points = 0, max_points = 0;
    const bool is_partial_line = std::sscanf(lines.c_str() + position, "partial %ld/%ld", &points, &max_points) == 2;
    if (is_partial_line && points >= 0 && points <= max_points && max_points > 0)
      return {static_cast<double>(points) / static_cast<double>(max_points), message, true};
  }
  const std::string after_keyword = trim(lines.compare(0, 6, "points") == 0 ? lines.substr(6) : lines);
  return {
      read_score(output, after_keyword.substr(0, after_keyword.find_first_of(" \t\r\n")), output.full_score), message};
}

// Reads testlib's `_pc(N)`: N of 200 points. It is recognized by its message and an exit code of N, or of 50 + N in
// builds with another base. The exit code alone could mean something else.
bool read_testlib_percent(const CheckerOutput& output, const std::string& message, double& score) {
  constexpr const char* prefix = "partially correct (";
  constexpr int max_percent = 200, other_exit_base = 50;
  if (message.compare(0, std::strlen(prefix), prefix) != 0) return false;
  const long percent = std::strtol(message.c_str() + std::strlen(prefix), nullptr, 10);
  if (percent < 0 || percent > max_percent ||
      (output.ending.exit_code != percent && output.ending.exit_code != percent + other_exit_base))
    return false;
  score = static_cast<double>(percent) / max_percent;
  return true;
}

CheckerResult read_testlib_result(const CheckerOutput& output) {
  const std::string message = find_trimmed_first_line(output.standard_error);
  double score = 0;
  if (read_testlib_percent(output, message, score)) return {score, message, true};
  switch (output.ending.exit_code) {
    case 0: return {1, message};
    case 1:
      // Python exits with 1 after an exception as well
      if (message == text::traceback_heading) fail_with_exit_code(output);
      return {0, message};
    case 2:
    case 4:
    case 8: return {0, message};
    case 7: return read_points_result(output, message);
    case testlib_fail_code: sys::fail(output.program_name + " reports a failure of its own: " + message);
    default: fail_with_exit_code(output);
  }
}

CheckerResult read_exit_code_result(const CheckerOutput& output) {
  if (output.ending.exit_code > 1 || find_trimmed_first_line(output.standard_error) == text::traceback_heading)
    fail_with_exit_code(output);
  const bool is_accepted = output.ending.exit_code == 0;
  return {is_accepted ? 1.0 : 0.0, is_accepted ? correct_message : wrong_message};
}

CheckerResult read_icpc_result(const CheckerOutput& output) {
  const std::string message = find_trimmed_first_line(output.judge_message);
  if (output.ending.exit_code == 43) return {0, message.empty() ? wrong_message : message};
  if (output.ending.exit_code != 42) fail_with_exit_code(output);
  if (output.score_file && output.multiplier_file)
    sys::fail(output.program_name + " wrote score.txt and score_multiplier.txt");
  const double value = output.score_file ? read_score(output, *output.score_file, output.full_score)
      : output.multiplier_file           ? read_score(output, *output.multiplier_file)
                                         : 1;
  return {value, message.empty() ? (value < 1 ? partial_message : correct_message) : message,
      output.multiplier_file.has_value()};
}

CheckerResult read_codeforces_result(const CheckerOutput& output) {
  if (output.ending.exit_code != 0) fail_with_exit_code(output);
  const std::string answer = find_trimmed_first_line(output.standard_output);
  const bool is_accepted = answer == "1" || answer == "100";
  if (!is_accepted && !is_decimal(answer))
    sys::fail(output.program_name + " printed no verdict but \"" + text::make_printable(answer, 80) + "\"");
  return {is_accepted ? 1.0 : 0.0, is_accepted ? correct_message : wrong_message};
}

struct CheckerKind {
  const char* name;
  CheckerResult (*read_result)(const CheckerOutput&);
};
constexpr CheckerKind checker_kinds[] = {{"cms", read_cms_result}, {"testlib", read_testlib_result},
    {"exit-code", read_exit_code_result}, {"icpc", read_icpc_result}, {"codeforces", read_codeforces_result}};

}  // namespace

bool is_known_kind(const std::string& kind) {
  for (const CheckerKind& checker_kind : checker_kinds)
    if (kind == checker_kind.name) return true;
  return false;
}

bool may_be_caused_by_submission(const CheckerOutput& output) {
  const process::Ending& ending = output.ending;
  const bool is_stopped_from_outside = ending.kill_reason == process::KillReason::kill_switch ||
      (ending.kill_reason == process::KillReason::none && ending.signal == SIGKILL);
  return ending.failure.empty() && !is_stopped_from_outside;
}

CheckerResult read_result(const std::string& kind, const CheckerOutput& output) {
  fail_if_killed(output);
  for (const CheckerKind& checker_kind : checker_kinds)
    if (kind == checker_kind.name) return checker_kind.read_result(output);
  sys::fail("unknown kind of checker: " + kind);
}

}  // namespace checker_result
