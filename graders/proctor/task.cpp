#include "task.hpp"

#include <algorithm>
#include <csignal>
#include <cstring>

namespace task {
namespace {

// As in CMS. Epoll watches and pages of pipes are counted per user; with so few descriptors, no process comes near
// those limits.
constexpr int64_t max_open_files = 64;

}  // namespace

process::Program Task::make_submission_program() const {
  process::Program program;
  program.argv = plan_.submission.argv;
  program.env = plan_.submission.env;
  program.executable = files_.executable.valid() ? files_.executable.get() : -1;
  program.sees_proc = plan_.submission.sees_proc;
  program.sees_own_descriptors = plan_.submission.sees_own_descriptors;
  program.may_use_threads = plan_.submission.max_threads > 1;
  program.is_exclusive = plan_.is_exclusive;
  program.max_processes = plan_.submission.max_processes;
  program.limits = plan_.limits;
  program.limits.open_files = max_open_files;
  if (program.may_use_threads) program.limits.threads = plan_.submission.max_threads;
  // A second safeguard: each start needs permission anyway.
  if (program.max_processes > 1)
    program.limits.processes =
        program.max_processes + (program.may_use_threads ? 2 * plan_.submission.max_threads + 8 : 0);
  // The program may write a byte more than the limit, so that an exceeded limit is detected.
  if (plan_.limits.file_size_bytes != process::unlimited)
    program.limits.file_size_bytes = plan_.limits.file_size_bytes + 1;
  if (!plan_.submission.files.empty()) program.folder = submission_folder;
  return program;
}

process::Ending Task::run_single_program(const process::Program& program) const {
  const process::Ending ending =
      fork_server_ ? fork_server_->run_program(sandbox_, program) : process::run_program(sandbox_, program);
  if (!ending.failure.empty()) sys::fail(ending.failure, ending.is_killed_from_outside);
  return ending;
}

const process::Limits& Task::choose_verdict_limits() const {
  static const process::Limits no_limits;
  return sandbox_.layers.is_enabled("accounting") ? plan_.limits : no_limits;
}

checker_result::CheckerResult Task::read_judge_program_result(
    const std::string& kind, const checker_result::CheckerOutput& program_output) const {
  try {
    return checker_result::read_result(kind, program_output);
  } catch (sys::Failure& failure) {
    failure.is_provoked = sandbox_.layers.is_enabled("blame") && !failure.is_problem_fault &&
        checker_result::may_be_caused_by_submission(program_output);
    throw;
  }
}

verdict::Verdict Task::judge_all_passes(
    int input_fd, const std::function<verdict::Verdict(int, sys::Fd&)>& judge_pass) const {
  sys::Fd current_input;
  process::Ending last_ending;
  for (int pass = 1; pass <= plan_.checker.max_passes; ++pass) {
    sys::Fd next_input;
    verdict::Verdict verdict = judge_pass(pass == 1 ? input_fd : current_input.get(), next_input);
    process::Ending& ending = verdict.ending;
    ending.cpu_us = std::max(ending.cpu_us, last_ending.cpu_us);
    ending.wall_us = std::max(ending.wall_us, last_ending.wall_us);
    ending.memory_bytes = std::max(ending.memory_bytes, last_ending.memory_bytes);
    ending.waited_us += last_ending.waited_us;
    if (verdict.end_reason != verdict::EndReason::ok || !next_input.valid()) return verdict;
    current_input = std::move(next_input);
    last_ending = ending;
  }
  sys::fail("the checker asked for more than " + std::to_string(plan_.checker.max_passes) + " passes");
}

int Task::rewind_input_fd(int input_fd) {
  if (lseek(input_fd, 0, SEEK_SET) != 0) sys::fail_errno("cannot rewind the input");
  return input_fd;
}

// A copy, because the file itself would reveal its name, inode number and times, and by its path the sizes of its
// neighbours. And a program could reopen a file for writing that only its mode protects.
sys::Fd Task::set_standard_input(int input_fd, process::Program& program) const {
  sys::Fd input_copy = sandbox_.layers.is_enabled("copies") ? streams_.copy_input(input_fd) : sys::Fd();
  program.input = input_copy.valid() ? input_copy.get() : rewind_input_fd(input_fd);
  return input_copy;
}

int Task::find_answer_fd(const plan::Test& test) const {
  return test.answer.empty() ? files_.empty_file.get() : files_.find_fd(test.answer);
}

verdict::Verdict Task::run_and_check(const process::Program& program, const plan::Test& test, int input_fd,
    int output_fd, int error_fd, const char* checker_mode) const {
  verdict::Verdict verdict;
  verdict.ending = run_single_program(program);
  verdict.end_reason = find_end_reason(verdict.ending, choose_verdict_limits(),
      std::max(files::read_size_bytes(output_fd), files::read_size_bytes(error_fd)));
  if (verdict.end_reason == verdict::EndReason::signal && verdict.ending.is_killed_from_outside)
    fail_because_killed_from_outside();
  if (verdict.end_reason != verdict::EndReason::ok)
    verdict.feedback = summarize_error(error_fd);
  else if (!plan_.output_file.empty() && files::was_never_written(output_fd) && files::read_size_bytes(output_fd) == 0)
    verdict.feedback = "The program wrote no file " + plan_.output_file;
  else
    check_output(verdict, test, input_fd, output_fd, checker_mode);
  add_output_excerpts(verdict, output_fd, error_fd);
  return verdict;
}

void Task::check_output(
    verdict::Verdict& verdict, const plan::Test& test, int input_fd, int output_fd, const char* checker_mode) const {
  files::make_readable(output_fd);
  std::vector<std::string> arguments = test.arguments;
  if (checker_mode) arguments.push_back(checker_mode);
  const checker_result::CheckerResult result =
      checker_.check_output({input_fd, find_answer_fd(test), output_fd}, arguments);
  verdict.score = result.score;
  verdict.is_fraction = result.is_fraction;
  verdict.feedback = result.feedback;
  if (plan_.max_shown_output_bytes > 0 && result.score < 1)
    verdict.output = files::read_up_to(output_fd, plan_.max_shown_output_bytes);
}

void Task::add_output_excerpts(verdict::Verdict& verdict, int output_fd, int error_fd) const {
  if (!plan_.shows_all_output) return;
  verdict.output = files::read_up_to(output_fd, plan_.max_shown_output_bytes);
  verdict.error = files::read_up_to(error_fd, plan_.max_shown_output_bytes);
}

namespace {

// Returns the length of an error message without the locations and objects that Go, Haskell, Node and the C++ library
// print after it. Node prints the fields of an error in braces, after its stack.
size_t find_error_text_end(const std::string& text) {
  size_t end = text.size();
  for (const char* mark : {"\n\ngoroutine ", "\nCallStack (from HasCallStack):", "\nRequire stack:\n",
           "\n\nObjects involved in the operation:"})
    end = std::min(end, text.find(mark));
  for (size_t position = text.find("\n    at "); position < end; position = text.find("\n    at ", position + 1)) {
    const size_t stop = text.find('\n', position + 1);
    if (stop != std::string::npos && text[stop - 1] == '{') return position;
  }
  return end;
}

// Returns whether a line, printed after the error message by Java, C#, Node, Rust or Pascal, is about the location or
// about how to learn more.
bool is_location_line(const std::string& line) {
  const size_t start = line.find_first_not_of(" \t\r");
  if (start == std::string::npos) return true;
  const auto starts_with = [&](const char* prefix) { return line.compare(start, std::strlen(prefix), prefix) == 0; };
  if (start > 0 && (starts_with("at ") || starts_with("... ") || starts_with("--- End of ") || starts_with("$0")))
    return true;
  return starts_with("Node.js v") || starts_with("(Use `node --trace-") ||
      starts_with("note: run with `RUST_BACKTRACE");
}

}  // namespace

std::string summarize_error(int error_fd) {
  constexpr size_t max_bytes = 500, tail_bytes = 16 << 10;
  std::string tail = files::read_tail(error_fd, tail_bytes);
  tail.resize(find_error_text_end(tail));
  std::string summary;
  for (size_t end = tail.size(); end > 0;) {
    const size_t begin = tail.rfind('\n', end - 1) + 1;  // 0 if there is none
    const std::string line = tail.substr(begin, end - begin);
    if (summary.empty()) summary = line;
    if (!is_location_line(line)) {
      summary = line;
      break;
    }
    end = begin > 0 ? begin - 1 : 0;
  }
  while (!summary.empty() && summary.back() == '\r') summary.pop_back();
  return summary.size() > max_bytes ? summary.substr(summary.size() - max_bytes) : summary;
}

void fail_because_killed_from_outside() { sys::fail("the program was killed from outside, not by a limit", true); }

verdict::EndReason find_end_reason(
    const process::Ending& ending, const process::Limits& limits, int64_t written_bytes) {
  using process::KillReason;
  const auto is_over = [](int64_t used, int64_t limit) { return limit != process::unlimited && used > limit; };
  if (ending.kill_reason == KillReason::memory || is_over(ending.memory_bytes, limits.memory_bytes))
    return verdict::EndReason::memory;
  if (ending.kill_reason == KillReason::cpu ||
      is_over(ending.cpu_us, process::find_cpu_limit_us(limits, ending.is_machine_crowded)))
    return verdict::EndReason::cpu;
  if (ending.kill_reason == KillReason::wall || is_over(ending.idle_us, limits.wall_us))
    return verdict::EndReason::wall;
  if (ending.kill_reason == KillReason::threads || ending.kill_reason == KillReason::processes)
    return verdict::EndReason::threads;
  // SIGXFSZ: a write far beyond the end of a file leaves the file as short as it was.
  if (ending.kill_reason == KillReason::disk || ending.signal == SIGXFSZ ||
      is_over(written_bytes, limits.file_size_bytes))
    return verdict::EndReason::output;
  if (ending.signal != 0) return verdict::EndReason::signal;
  return ending.exit_code != 0 ? verdict::EndReason::exit : verdict::EndReason::ok;
}

}  // namespace task
