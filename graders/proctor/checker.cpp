#include "checker.hpp"

#include <cstdlib>

#include "compare.hpp"
#include "files.hpp"

namespace checker {
namespace {

// Which files a kind of checker is told of, in its order. An ICPC validator reads the output on its standard input.
std::vector<std::string> arguments(const std::string& kind) {
  if (kind == "testlib" || kind == "exit-code")
    return {judge_program::input_name, judge_program::output_name, judge_program::answer_name};
  if (kind == "icpc") return {judge_program::input_name, judge_program::answer_name, judge_program::feedback_name};
  return {judge_program::input_name, judge_program::answer_name, judge_program::output_name};
}

// A test's own rules for words, in the flags of the ICPC's format.
void change(compare::Tokens& rules, const std::vector<std::string>& arguments) {
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string& flag = arguments[i];
    if (flag == "case_sensitive") rules.case_sensitive = true;
    else if (flag == "space_change_sensitive") rules.space_sensitive = true;
    else if (i + 1 < arguments.size()) {
      const long double tolerance = std::strtold(arguments[++i].c_str(), nullptr);
      if (flag != "float_relative_tolerance") rules.absolute = tolerance;
      if (flag != "float_absolute_tolerance") rules.relative = tolerance;
    }
  }
}

}  // namespace

Checker::Checker(const plan::Checker& description)
    : description_(description), comparison_(compare::named(description.kind)) {
  if (checker_result::is_kind(description.kind))
    desk_ = std::make_unique<judge_program::Desk>("the checker", description.argv, description.limits);
  else if (!comparison_)
    sys::fail("checker.kind: there is no " + description.kind);
}

void Checker::settle(const sandbox::Room& room) {
  if (desk_) desk_->settle(room, "check", description_.kind == "icpc");
}

void Checker::begin() {
  if (desk_) desk_->clear_feedback();
}

checker_result::Opinion Checker::check(const Files& files, const std::vector<std::string>& arguments) {
  if (desk_) return believed(files, arguments);
  const bool same = equal(files, arguments);
  return {same ? 1.0 : 0.0, same ? checker_result::correct : checker_result::wrong};
}

bool Checker::equal(const Files& files, const std::vector<std::string>& arguments) const {
  compare::Tokens rules =
      {description_.case_sensitive, description_.space_sensitive, description_.absolute, description_.relative};
  change(rules, arguments);
  return comparison_(files.output, files.answer, rules);
}

// Many a checker was never tried on nonsense, and calls what it cannot read its own failure. If that made it the
// judge's, a program could choose not to be scored.
checker_result::Opinion Checker::believed(const Files& files, const std::vector<std::string>& arguments) {
  const checker_result::Statement statement = run(files, arguments);
  try {
    return checker_result::read(description_.kind, statement);
  } catch (sys::Failure& failure) {
    if (!is_of_the_output(failure, statement)) throw;
    // In several passes, what it made of the answer would depend on what it left of others.
    const bool in_passes = description_.passes > 1 && description_.kind == "icpc";
    failure.provoked = in_passes || !takes_the_answer(files, arguments);
    if (failure.provoked) throw;
    const checker_result::Statement again = run(files, arguments, true);
    try {
      return checker_result::read(description_.kind, again);  // the machine was busy
    } catch (const sys::Failure& second) {
      if (!is_of_the_output(second, again)) throw;
      const char* const does = description_.decides ? "judges others" : "accepts the reference answer";
      return {0, std::string(checker_result::wrong) + ": " + second.text + ", but it " + does};
    }
  }
}

bool Checker::is_of_the_output(const sys::Failure& failure, const checker_result::Statement& statement) const {
  const bool may_be = !failure.own && !statement.outcome.stalled && checker_result::may_be_provoked(statement);
  return may_be && desk_->room().layers.on("blame");
}

bool Checker::takes_the_answer(const Files& files, const std::vector<std::string>& arguments) {
  const std::pair<int, int> test = {files.input, files.answer};
  const auto known = takes_answer_.find(test);
  if (known != takes_answer_.end()) return known->second;
  bool taken = false;
  try {
    const checker_result::Statement statement = run({files.input, files.answer, files.answer}, arguments);
    taken = checker_result::read(description_.kind, statement).score > 0 || description_.decides;
  } catch (const sys::Failure&) {
    taken = false;  // it fails on everything
  }
  return takes_answer_[test] = taken;
}

checker_result::Statement Checker::run(const Files& files, const std::vector<std::string>& further, bool patiently) {
  const sys::Fd said = ::files::memory("said"), told = ::files::memory("told");
  desk_->lay(files.input, files.answer, files.output);
  const std::vector<std::string>& given = description_.given;
  process::Program program = desk_->program(given.empty() ? arguments(description_.kind) : given);
  program.argv.insert(program.argv.end(), further.begin(), further.end());
  if (patiently && program.limits.cpu_us != process::unlimited) program.limits.cpu_us = program.limits.cpu_us * 8 / 5;
  program.output = said.get();
  program.error = told.get();
  if (description_.kind == "icpc") {
    if (lseek(files.output, 0, SEEK_SET) != 0) sys::fail_errno("cannot rewind the output");
    program.input = files.output;
  }
  checker_result::Statement statement;
  statement.who = desk_->who();
  statement.full = description_.full;
  statement.outcome = process::held_to(program.limits, process::run(desk_->room(), program));
  statement.said = ::files::read_text(said.get(), checker_result::longest);
  statement.told = ::files::read_text(told.get(), checker_result::longest);
  const bool again = description_.passes > 1;
  if (again) next_pass_ = desk_->take_next_pass();
  desk_->collect_feedback(statement, again);
  if (next_pass_.valid() && statement.outcome.code != 42)
    sys::fail(statement.who + " asks for another pass, and rejects this one");
  return statement;
}

}  // namespace checker
