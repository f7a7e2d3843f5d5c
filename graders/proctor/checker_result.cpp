#include "checker_result.hpp"

#include <algorithm>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "text.hpp"

namespace checker_result {

const char* const correct = "Output is correct";
const char* const wrong = "Output isn't correct";

namespace {

constexpr int fail_of_testlib = 3;
constexpr double slack = 1e-9;  // what binary fractions leave, as of points that were added up
constexpr const char* partial = "Output is partially correct";

// The contest system's standard texts, which checkers name instead of spelling them.
std::string translated(const std::string& said) {
  if (said == "translate:success") return correct;
  if (said == "translate:partial") return partial;
  if (said == "translate:wrong") return wrong;
  return said;
}

std::string trimmed(const std::string& raw) {
  const char* blanks = " \t\r\n\v\f";
  const size_t from = raw.find_first_not_of(blanks);
  return from == std::string::npos ? "" : raw.substr(from, raw.find_last_not_of(blanks) - from + 1);
}

std::string first_line(const std::string& raw) { return trimmed(text::first_line(raw)); }

bool is_decimal(const std::string& word) {
  size_t at = 0;
  const auto digits = [&] {
    const size_t from = at;
    while (at < word.size() && word[at] >= '0' && word[at] <= '9') ++at;
    return at - from;
  };
  const auto one_of = [&](const char* some) { return at < word.size() && std::strchr(some, word[at]) && ++at; };
  one_of("+-");
  size_t found = digits();
  if (one_of(".")) found += digits();
  if (found == 0) return false;
  if (one_of("eE")) {
    one_of("+-");
    if (digits() == 0) return false;
  }
  return at == word.size();
}

// A finite decimal in [0, full] and nothing else. More than full marks are not the output's fault: it may be the best.
double score(const Statement& statement, const std::string& raw, double full = 1) {
  const std::string word = trimmed(raw);
  const double value = is_decimal(word) ? std::strtod(word.c_str(), nullptr) / full : -1;
  if (!(value >= 0 && value <= 1 + slack))
    sys::fail(statement.who + " printed no score between 0 and " + (full == 1 ? "1" : std::to_string(full)) +
        " but \"" + text::printable(word, 80) + "\"", false, value > 1 && std::isfinite(value));
  return std::min(value, 1.0);
}

void refuse_bad_end(const Statement& statement) {
  const process::Outcome& outcome = statement.outcome;
  if (!outcome.failure.empty()) sys::fail(statement.who + ": " + outcome.failure, outcome.outside);
  switch (outcome.killed) {
    case process::Killed::cpu: sys::fail(statement.who + " ran out of CPU time");
    case process::Killed::wall: sys::fail(statement.who + " ran out of time");
    case process::Killed::memory: sys::fail(statement.who + " ran out of memory");
    case process::Killed::processes: sys::fail(statement.who + " started too many processes");
    case process::Killed::threads: sys::fail(statement.who + " started too many threads");
    case process::Killed::disk: sys::fail(statement.who + " wrote too much");
    case process::Killed::leash: sys::fail(statement.who + " was stopped", true);
    case process::Killed::no: break;
  }
  const bool outside = outcome.signal == SIGKILL || outcome.signal == SIGTERM;
  if (outcome.signal) sys::fail(statement.who + " was killed by signal " + std::to_string(outcome.signal), outside);
}

[[noreturn]] void refuse_code(const Statement& statement) {
  sys::fail(statement.who + " exited with code " + std::to_string(statement.outcome.code) + ": " +
      trimmed(text::error_line(statement.told)));
}

Opinion by_cms(const Statement& statement) {
  if (statement.outcome.code != 0) refuse_code(statement);
  return {score(statement, text::first_line(statement.said)), translated(first_line(statement.told))};
}

// The number behind the word `points`, with which testlib begins its message; or `partial A/B` on any line.
Opinion points(const Statement& statement, const std::string& message) {
  const std::string& told = statement.told;
  for (size_t at = 0; at < told.size(); at = told.find('\n', at), at += at < told.size()) {
    long part = 0, whole = 0;
    const bool says = std::sscanf(told.c_str() + at, "partial %ld/%ld", &part, &whole) == 2;
    if (says && part >= 0 && part <= whole && whole > 0)
      return {static_cast<double>(part) / static_cast<double>(whole), message, true};
  }
  const std::string rest = trimmed(told.compare(0, 6, "points") == 0 ? told.substr(6) : told);
  return {score(statement, rest.substr(0, rest.find_first_of(" \t\r\n")), statement.full), message};
}

// `_pc(N)` is N of 200, told by the message's beginning and by an exit code of N or, with another base, 50 + N. The
// code alone would be one of the others.
bool is_part(const Statement& statement, const std::string& message, double& part) {
  constexpr const char* begins = "partially correct (";
  constexpr int whole = 200, other_base = 50;
  if (message.compare(0, std::strlen(begins), begins) != 0) return false;
  const long said = std::strtol(message.c_str() + std::strlen(begins), nullptr, 10);
  if (said < 0 || said > whole || (statement.outcome.code != said && statement.outcome.code != said + other_base))
    return false;
  part = static_cast<double>(said) / whole;
  return true;
}

Opinion by_testlib(const Statement& statement) {
  const std::string message = first_line(statement.told);
  double part = 0;
  if (is_part(statement, message, part)) return {part, message, true};
  switch (statement.outcome.code) {
    case 0: return {1, message};
    case 1:
      if (message == text::traceback) refuse_code(statement);  // Python's code for a program that broke, too
      return {0, message};
    case 2: case 4: case 8: return {0, message};
    case 7: return points(statement, message);
    case fail_of_testlib: sys::fail(statement.who + " reports a failure of its own: " + message);
    default: refuse_code(statement);
  }
}

Opinion by_exit_code(const Statement& statement) {
  if (statement.outcome.code > 1 || first_line(statement.told) == text::traceback) refuse_code(statement);
  const bool passed = statement.outcome.code == 0;
  return {passed ? 1.0 : 0.0, passed ? correct : wrong};
}

Opinion by_icpc(const Statement& statement) {
  const std::string message = first_line(statement.message);
  if (statement.outcome.code == 43) return {0, message.empty() ? wrong : message};
  if (statement.outcome.code != 42) refuse_code(statement);
  if (statement.score_file && statement.multiplier)
    sys::fail(statement.who + " wrote score.txt and score_multiplier.txt");
  const double value = statement.score_file   ? score(statement, *statement.score_file, statement.full)
                       : statement.multiplier ? score(statement, *statement.multiplier)
                                              : 1;
  return {value, message.empty() ? (value < 1 ? partial : correct) : message, statement.multiplier.has_value()};
}

Opinion by_codeforces(const Statement& statement) {
  if (statement.outcome.code != 0) refuse_code(statement);
  const std::string answer = first_line(statement.said);
  const bool passed = answer == "1" || answer == "100";
  if (!passed && !is_decimal(answer))
    sys::fail(statement.who + " printed no verdict but \"" + text::printable(answer, 80) + "\"");
  return {passed ? 1.0 : 0.0, passed ? correct : wrong};
}

struct Rules {
  const char* kind;
  Opinion (*read)(const Statement&);
};
constexpr Rules all_rules[] =
    {{"cms", by_cms}, {"testlib", by_testlib}, {"exit-code", by_exit_code}, {"icpc", by_icpc},
        {"codeforces", by_codeforces}};

}  // namespace

bool is_kind(const std::string& kind) {
  for (const Rules& rules : all_rules)
    if (kind == rules.kind) return true;
  return false;
}

bool may_be_provoked(const Statement& statement) {
  const process::Outcome& outcome = statement.outcome;
  const bool stopped = outcome.killed == process::Killed::leash ||
      (outcome.killed == process::Killed::no && outcome.signal == SIGKILL);
  return outcome.failure.empty() && !stopped;
}

Opinion read(const std::string& kind, const Statement& statement) {
  refuse_bad_end(statement);
  for (const Rules& rules : all_rules)
    if (kind == rules.kind) return rules.read(statement);
  sys::fail("there is no kind of checker called " + kind);
}

}  // namespace checker_result
