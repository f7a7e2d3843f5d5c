#include "checker.hpp"

#include <cstdlib>

#include "compare.hpp"
#include "files.hpp"

namespace checker {
namespace {

// Returns the files that a kind of checker gets as arguments, in order. An ICPC validator reads the output from its
// standard input.
std::vector<std::string> list_default_arguments(const std::string& kind) {
  if (kind == "testlib" || kind == "exit-code")
    return {judge_program::input_name, judge_program::output_name, judge_program::answer_name};
  if (kind == "icpc") return {judge_program::input_name, judge_program::answer_name, judge_program::feedback_name};
  return {judge_program::input_name, judge_program::answer_name, judge_program::output_name};
}

// Applies a test's own flags, in the syntax of the ICPC package format.
void apply_icpc_flags(compare::TokenRules& rules, const std::vector<std::string>& arguments) {
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string& flag = arguments[i];
    if (flag == "case_sensitive")
      rules.case_sensitive = true;
    else if (flag == "space_change_sensitive")
      rules.space_sensitive = true;
    else if (i + 1 < arguments.size()) {
      const long double tolerance = std::strtold(arguments[++i].c_str(), nullptr);
      if (flag != "float_relative_tolerance") rules.absolute_tolerance = tolerance;
      if (flag != "float_absolute_tolerance") rules.relative_tolerance = tolerance;
    }
  }
}

}  // namespace

Checker::Checker(const plan::Checker& description)
    : description_(description), comparison_(compare::find_comparison(description.kind)) {
  if (checker_result::is_known_kind(description.kind))
    program_ = std::make_unique<judge_program::JudgeProgram>("the checker", description.argv, description.limits);
  else if (!comparison_)
    sys::fail("checker.kind: unknown kind " + description.kind);
}

void Checker::make_folder(const sandbox::Sandbox& sandbox) {
  if (program_) program_->make_folder(sandbox, "check", description_.kind == "icpc");
}

void Checker::clear_test_feedback() {
  if (program_) program_->clear_feedback();
}

checker_result::CheckerResult Checker::check_output(
    const CheckerFiles& files, const std::vector<std::string>& arguments) {
  if (program_) return check_with_program(files, arguments);
  const bool is_equal = matches_answer(files, arguments);
  return {is_equal ? 1.0 : 0.0, is_equal ? checker_result::correct_message : checker_result::wrong_message};
}

bool Checker::matches_answer(const CheckerFiles& files, const std::vector<std::string>& arguments) const {
  compare::TokenRules rules = {description_.case_sensitive, description_.space_sensitive,
      description_.absolute_tolerance, description_.relative_tolerance};
  apply_icpc_flags(rules, arguments);
  return comparison_(files.output, files.answer, rules);
}

// Runs the checker's program on an output. Checkers often fail on malformed outputs. If such a failure were the judge's
// fault, a program could avoid being scored. So the output is wrong if the checker accepts the
// reference answer.
checker_result::CheckerResult Checker::check_with_program(
    const CheckerFiles& files, const std::vector<std::string>& arguments) {
  const checker_result::CheckerOutput output = run_program(files, arguments);
  try {
    return checker_result::read_result(description_.kind, output);
  } catch (sys::Failure& failure) {
    if (!is_output_to_blame(failure, output)) throw;
    // With several passes, the result for the reference answer would depend on files that other passes left.
    const bool has_several_passes = description_.max_passes > 1 && description_.kind == "icpc";
    failure.is_provoked = has_several_passes || !accepts_answer(files, arguments);
    if (failure.is_provoked) throw;
    const checker_result::CheckerOutput second_output = run_program(files, arguments, true);
    try {
      // the first failure was due to a busy machine
      return checker_result::read_result(description_.kind, second_output);
    } catch (const sys::Failure& second_failure) {
      if (!is_output_to_blame(second_failure, second_output)) throw;
      const char* const accepted_case =
          description_.failure_means_wrong ? "judges others" : "accepts the reference answer";
      return {
          0, std::string(checker_result::wrong_message) + ": " + second_failure.message + ", but it " + accepted_case};
    }
  }
}

bool Checker::is_output_to_blame(const sys::Failure& failure, const checker_result::CheckerOutput& output) const {
  const bool can_be_caused =
      !failure.is_problem_fault && !output.ending.is_stalled && checker_result::may_be_caused_by_submission(output);
  return can_be_caused && program_->sandbox().layers.is_enabled("blame");
}

bool Checker::accepts_answer(const CheckerFiles& files, const std::vector<std::string>& arguments) {
  const std::pair<int, int> test = {files.input, files.answer};
  const auto cached = acceptance_by_files_.find(test);
  if (cached != acceptance_by_files_.end()) return cached->second;
  bool is_accepted = false;
  try {
    const checker_result::CheckerOutput output = run_program({files.input, files.answer, files.answer}, arguments);
    is_accepted = checker_result::read_result(description_.kind, output).score > 0 || description_.failure_means_wrong;
  } catch (const sys::Failure&) {
    is_accepted = false;  // the checker fails even on the reference answer
  }
  return acceptance_by_files_[test] = is_accepted;
}

checker_result::CheckerOutput Checker::run_program(
    const CheckerFiles& files, const std::vector<std::string>& test_arguments, bool has_extra_cpu_time) {
  const sys::Fd standard_output = ::files::make_memory_file("said"), standard_error = ::files::make_memory_file("told");
  program_->link_test_files(files.input, files.answer, files.output);
  const std::vector<std::string>& arguments = description_.arguments;
  process::Program program =
      program_->make_program(arguments.empty() ? list_default_arguments(description_.kind) : arguments);
  program.argv.insert(program.argv.end(), test_arguments.begin(), test_arguments.end());
  if (has_extra_cpu_time && program.limits.cpu_us != process::unlimited)
    program.limits.cpu_us = program.limits.cpu_us * 8 / 5;
  program.output = standard_output.get();
  program.error = standard_error.get();
  if (description_.kind == "icpc") {
    if (lseek(files.output, 0, SEEK_SET) != 0) sys::fail_errno("cannot rewind the output");
    program.input = files.output;
  }
  checker_result::CheckerOutput output;
  output.program_name = program_->name();
  output.full_score = description_.full_score;
  output.ending = process::mark_exceeded_limit(program.limits, process::run_program(program_->sandbox(), program));
  output.standard_output = ::files::read_up_to(standard_output.get(), checker_result::max_output_bytes);
  output.standard_error = ::files::read_up_to(standard_error.get(), checker_result::max_output_bytes);
  const bool has_passes = description_.max_passes > 1;
  if (has_passes) next_input_ = program_->take_next_pass_input();
  program_->collect_feedback(output, has_passes);
  if (next_input_.valid() && output.ending.exit_code != 42)
    sys::fail(output.program_name + " asks for another pass but rejects this one");
  return output;
}

}  // namespace checker
