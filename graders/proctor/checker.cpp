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

}  // namespace

Checker::Checker(const plan::Checker& description) : description_(description), comparison_(compare::named(description.kind)) {
  if (opinion::is_kind(description.kind))
    desk_ = std::make_unique<desk::Desk>("the checker", description.argv, description.limits);
  else if (!comparison_)
    sys::fail("checker.kind: there is no " + description.kind);
}

void Checker::settle(const room::Room& room) {
  if (desk_) desk_->settle(room, "check", description_.kind == "icpc");
}

opinion::Opinion Checker::check(int input, int answer, int output, const char* mode) {
  if (desk_) return believed(input, answer, output, mode);
  const bool same = equal(output, answer);
  return {same ? 1.0 : 0.0, same ? opinion::correct : opinion::wrong};
}

bool Checker::equal(int output, int answer) const {
  return comparison_(output, answer, {description_.case_sensitive, description_.space_sensitive, description_.absolute, description_.relative});
}

// Many a checker was never tried on nonsense. If that made its failure the judge's, a program could choose not to be scored.
opinion::Opinion Checker::believed(int input, int answer, int output, const char* mode) {
  const opinion::Statement statement = run(input, answer, output, mode);
  try {
    return opinion::read(description_.kind, statement);
  } catch (const sys::Failure& failure) {
    const bool provoked = opinion::may_be_provoked(description_.kind, statement) && desk_->room().layers.on("blame") && takes_the_answer(input, answer, mode);
    // A machine that was busy is not busy twice.
    if (!provoked || (statement.outcome.killed == process::Killed::wall && run(input, answer, output, mode).outcome.killed != process::Killed::wall)) throw;
    return {0, std::string(opinion::wrong) + ": " + failure.text + ", but it accepts the reference answer"};
  }
}

bool Checker::takes_the_answer(int input, int answer, const char* mode) {
  const auto known = takes_answer_.find(answer);
  if (known != takes_answer_.end()) return known->second;
  bool taken = false;
  try {
    taken = opinion::read(description_.kind, run(input, answer, answer, mode)).score > 0;
  } catch (const sys::Failure&) {
    taken = false;  // it fails on everything
  }
  return takes_answer_[answer] = taken;
}

opinion::Statement Checker::run(int input, int answer, int output, const char* mode) {
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
  return statement;
}

}  // namespace checker
