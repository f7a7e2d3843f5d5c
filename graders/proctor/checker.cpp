#include "checker.hpp"

#include "compare.hpp"
#include "files.hpp"

namespace checker {
namespace {


// Which files a kind of checker is told of, in its order. An ICPC validator reads the output on its standard input.
std::vector<std::string> arguments(const std::string& kind) {
  if (kind == "testlib") return {desk::input_name, desk::output_name, desk::answer_name};
  if (kind == "icpc") return {desk::input_name, desk::answer_name, desk::feedback_name};
  return {desk::input_name, desk::answer_name, desk::output_name};
}

bool is_built_in(const std::string& kind) {
  for (const char* known : {"white-diff", "stripped", "exact", "tokens", "lines", "json", "json-wrapped"})
    if (kind == known) return true;
  return false;
}

}  // namespace

Checker::Checker(const plan::Checker& description) : description_(description) {
  if (opinion::is_kind(description.kind))
    desk_ = std::make_unique<desk::Desk>("the checker", description.argv, description.limits);
  else if (!is_built_in(description.kind))
    sys::fail("checker.kind: there is no " + description.kind);
}

void Checker::settle(const room::Room& room) {
  if (desk_) desk_->settle(room, "check", description_.kind == "icpc");
}

opinion::Opinion Checker::check(int input, int answer, int output, const char* mode) {
  if (desk_) return run(input, answer, output, mode);
  const bool same = equal(output, answer);
  return {same ? 1.0 : 0.0, same ? opinion::correct : opinion::wrong};
}

bool Checker::equal(int output, int answer) const {
  const std::string& kind = description_.kind;
  if (kind == "stripped") return compare::stripped(output, answer);
  if (kind == "exact") return compare::exact(output, answer);
  if (kind == "lines") return compare::lines(output, answer);
  if (kind == "json" || kind == "json-wrapped") return compare::json(output, answer, kind == "json-wrapped");
  if (kind == "tokens")
    return compare::tokens(output, answer, {description_.case_sensitive, description_.space_sensitive, description_.absolute, description_.relative});
  return compare::white_diff(output, answer);
}

opinion::Opinion Checker::run(int input, int answer, int output, const char* mode) {
  const sys::Fd said = files::memory("said"), told = files::memory("told");
  desk_->lay(input, answer, output);
  process::Program program = desk_->program(arguments(description_.kind));
  if (mode) program.argv.push_back(mode);
  program.output = said.get();
  program.error = told.get();
  if (description_.kind == "icpc") {
    if (lseek(output, 0, SEEK_SET) != 0) sys::fail_errno("cannot rewind the output");
    program.input = output;
  }
  opinion::Statement statement;
  statement.who = desk_->who();
  statement.full = description_.full;
  statement.outcome = process::run(desk_->room(), program);
  statement.said = files::read_text(said.get(), opinion::longest);
  statement.told = files::read_text(told.get(), opinion::longest);
  desk_->collect_feedback(statement);
  return opinion::read(description_.kind, statement);
}

}  // namespace checker
