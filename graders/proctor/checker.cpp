#include "checker.hpp"

#include <cmath>
#include <cstdlib>
#include <fcntl.h>
#include <sys/stat.h>

#include "compare.hpp"
#include "files.hpp"
#include "text.hpp"

namespace checker {
namespace {

constexpr const char* folder = "check";
constexpr const char* names[3] = {"input.txt", "correct_output.txt", "user_output.txt"};
constexpr size_t longest_text = 1 << 16;
constexpr int64_t largest_file = 64LL << 20;

constexpr const char* correct = "Output is correct";
constexpr const char* partial = "Output is partially correct";
constexpr const char* wrong = "Output isn't correct";

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

bool is_decimal(const std::string& word) {
  size_t at = 0, digits = 0;
  const auto run_of_digits = [&] {
    const size_t from = at;
    while (at < word.size() && word[at] >= '0' && word[at] <= '9') ++at;
    return at - from;
  };
  if (at < word.size() && (word[at] == '+' || word[at] == '-')) ++at;
  digits = run_of_digits();
  if (at < word.size() && word[at] == '.') ++at, digits += run_of_digits();
  if (digits == 0) return false;
  if (at < word.size() && (word[at] == 'e' || word[at] == 'E')) {
    ++at;
    if (at < word.size() && (word[at] == '+' || word[at] == '-')) ++at;
    if (run_of_digits() == 0) return false;
  }
  return at == word.size();
}

void refuse_bad_end(const process::Outcome& outcome) {
  if (!outcome.failure.empty()) sys::fail("the checker: " + outcome.failure);
  switch (outcome.killed) {
    case process::Killed::cpu: sys::fail("the checker ran out of CPU time");
    case process::Killed::wall: sys::fail("the checker ran out of time");
    case process::Killed::memory: sys::fail("the checker ran out of memory");
    case process::Killed::processes: sys::fail("the checker started too many processes");
    case process::Killed::leash: sys::fail("the checker was stopped");
    case process::Killed::no: break;
  }
  if (outcome.signal) sys::fail("the checker was killed by signal " + std::to_string(outcome.signal));
}

Checked by_cms(const process::Outcome& outcome, const std::string& said, const std::string& told) {
  if (outcome.code != 0) sys::fail("the checker exited with code " + std::to_string(outcome.code) + ": " + text::first_line(told));
  return {read_score(text::first_line(said)), translated(trimmed(text::first_line(told)))};
}

// The number behind the word `points`, with which testlib begins its message.
double points(const std::string& told) {
  const std::string rest = trimmed(told.compare(0, 6, "points") == 0 ? told.substr(6) : told);
  return read_score(rest.substr(0, rest.find_first_of(" \t\r\n")));
}

Checked by_testlib(const process::Outcome& outcome, const std::string& told) {
  const std::string message = trimmed(text::first_line(told));
  switch (outcome.code) {
    case 0: return {1, message};
    case 1: case 2: case 4: case 8: return {0, message};
    case 7: return {points(told), message};
    case 3: sys::fail("the checker reports a failure of its own: " + message);
    default: sys::fail("the checker exited with code " + std::to_string(outcome.code) + ": " + message);
  }
}

}  // namespace

double read_score(const std::string& line) {
  const std::string word = trimmed(line);
  const double score = is_decimal(word) ? std::strtod(word.c_str(), nullptr) : -1;
  if (!(score >= 0 && score <= 1)) sys::fail("the checker printed no score between 0 and 1 but \"" + text::printable(word, 80) + "\"");
  return score;
}

Checker::Checker(const plan::Checker& description) : description_(description) {
  const bool external = description.kind == "cms" || description.kind == "testlib";
  if (!external && description.kind != "white-diff" && description.kind != "stripped") sys::fail("checker.kind: there is no " + description.kind);
  if (!external) return;
  if (description.argv.empty()) sys::fail("checker.argv: a program expected");
  program_ = files::open_secret(plan::file_name(description.argv[0], "checker.argv"));
  if (description_.limits.file_size == process::unlimited) description_.limits.file_size = largest_file;
}

void Checker::settle(const room::Room& room) {
  room_ = &room;
  if (!is_program()) return;
  if (mkdir(folder, 0755) != 0 && errno != EEXIST) sys::fail_errno("cannot make the checker's folder");
  for (int i = 0; i < 3; ++i) {
    places_[i] = sys::Fd(open("/dev/null", O_RDONLY | O_CLOEXEC));
    const std::string link = std::string(folder) + "/" + names[i];
    if (symlink(("/proc/self/fd/" + std::to_string(places_[i].get())).c_str(), link.c_str()) != 0) sys::fail_errno("cannot link " + link);
  }
}

Checked Checker::check(int input, int answer, int output) const {
  if (is_program()) return run(input, answer, output);
  const bool equal = description_.kind == "stripped" ? compare::stripped(output, answer) : compare::white_diff(output, answer);
  return {equal ? 1.0 : 0.0, equal ? correct : wrong};
}

Checked Checker::run(int input, int answer, int output) const {
  const int shown[3] = {input, answer, output};
  const sys::Fd said = files::memory("said"), told = files::memory("told");
  process::Program program;
  program.argv = {description_.argv[0], names[0], names[1], names[2]};
  program.argv.insert(program.argv.end(), description_.argv.begin() + 1, description_.argv.end());
  program.env = {"PATH=/usr/bin:/bin"};
  program.file = program_.get();
  program.output = said.get();
  program.error = told.get();
  for (int i = 0; i < 3; ++i) {
    if (dup3(shown[i], places_[i].get(), O_CLOEXEC) < 0) sys::fail_errno("cannot hand a file to the checker");
    program.inherited.push_back(places_[i].get());
  }
  program.folder = folder;
  program.tmp_size = "64m";
  program.proc = true;
  program.threads = true;
  program.profile = seccomp::Profile::tool;
  program.limits = description_.limits;
  program.limits.processes = 64;
  const process::Outcome outcome = process::run(*room_, program);
  refuse_bad_end(outcome);
  const std::string words = files::read_text(told.get(), longest_text);
  return description_.kind == "cms" ? by_cms(outcome, files::read_text(said.get(), longest_text), words) : by_testlib(outcome, words);
}

}  // namespace checker
