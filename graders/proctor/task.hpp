// A task type: how a test of a submission is judged. run_command.cpp looks it up by its name in the plan.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "checker.hpp"
#include "judge_program.hpp"
#include "files.hpp"
#include "plan.hpp"
#include "streams.hpp"
#include "verdict.hpp"
#include "fork_server.hpp"

namespace task {

// The job's files that are opened before any untrusted program runs.
struct OpenFiles {
  std::map<std::string, sys::Fd> test_files;  // inputs, answers and submitted files, by their names in the plan
  // the submission's program file; invalid if argv[0] is a program of the system
  sys::Fd executable;
  sys::Fd empty_file = files::make_memory_file("empty");  // replaces a missing answer
  int find_fd(const std::string& name) const { return test_files.at(name).get(); }
};

// The folder below the job's folder that holds the files that the submission may see.
constexpr const char* submission_folder = "own";

// The objects with which a task type judges tests.
struct TaskContext {
  const plan::Plan& plan;
  const sandbox::Sandbox& sandbox;
  const OpenFiles& files;
  checker::Checker& checker;
  streams::SubmissionStreams& streams;
  judge_program::JudgeProgram* manager;  // the manager or interactor; null if the plan has none
  fork_server::ForkServer* fork_server;  // null if each test starts a program
};

class Task {
 public:
  explicit Task(const TaskContext& context)
      : plan_(context.plan),
        sandbox_(context.sandbox),
        files_(context.files),
        checker_(context.checker),
        streams_(context.streams),
        manager_(context.manager),
        fork_server_(context.fork_server) {}
  virtual ~Task() = default;
  Task(const Task&) = delete;

  // Judges a test. Fails (sys::Failure) if the judge cannot determine a result.
  virtual verdict::Verdict judge(const plan::Test& test) = 0;

 protected:
  // Returns the submission's program, without its standard descriptors.
  process::Program make_submission_program() const;

  // Runs a program while no other program of the test runs.
  process::Ending run_single_program(const process::Program& program) const;

  // Returns the limits that decide the verdict of a submission.
  const process::Limits& choose_verdict_limits() const;

  // Judges a test in all its passes. `judge_pass` judges a pass on an input, and stores the input of the next pass, if
  // any. The limits apply to each pass, so the largest usage of a pass is reported.
  verdict::Verdict judge_all_passes(
      int input_fd, const std::function<verdict::Verdict(int, sys::Fd&)>& judge_pass) const;

  // Moves the position of an input to its start, and returns the input.
  static int rewind_input_fd(int input_fd);

  // Sets a copy of an input as the program's standard input. The caller must hold the returned descriptor until the
  // program has started.
  sys::Fd set_standard_input(int input_fd, process::Program& program) const;

  // Returns the answer of a test, or an empty file.
  int find_answer_fd(const plan::Test& test) const;

  // Returns the result of a manager or interactor. If it failed, the submission may have caused that: the failure is
  // marked as provoked, and the client decides by running an honest program.
  checker_result::CheckerResult read_judge_program_result(
      const std::string& kind, const checker_result::CheckerOutput& program_output) const;

  // Runs the submission alone and checks its output. `checker_mode` is an argument for the checker of a task that
  // accepts programs and files.
  verdict::Verdict run_and_check(const process::Program& program, const plan::Test& test, int input_fd, int output_fd,
      int error_fd, const char* checker_mode = nullptr) const;

  // Has the checker judge an output, and stores its result in `verdict`.
  void check_output(
      verdict::Verdict& verdict, const plan::Test& test, int output_fd, const char* checker_mode = nullptr) const {
    check_output(verdict, test, files_.find_fd(test.input), output_fd, checker_mode);
  }
  void check_output(
      verdict::Verdict& verdict, const plan::Test& test, int input_fd, int output_fd, const char* checker_mode) const;

  // Adds the output and the error text to the verdict, if the plan asks for it.
  void add_output_excerpts(verdict::Verdict& verdict, int output_fd, int error_fd) const;

  const plan::Plan& plan_;
  const sandbox::Sandbox& sandbox_;
  const OpenFiles& files_;
  checker::Checker& checker_;
  streams::SubmissionStreams& streams_;
  judge_program::JudgeProgram* manager_;
  fork_server::ForkServer* fork_server_;
};

// Returns the last line that a program wrote to standard error, without locations: an uncaught exception is named
// there.
std::string summarize_error(int error_fd);

// Fails because a signal that neither the judge nor the program sent has killed the program.
[[noreturn]] void fail_because_killed_from_outside();

// Returns why a program stopped, under the plan's limits. A limit has precedence over exit code and signal.
// `written_bytes` is the size of its largest output.
verdict::EndReason find_end_reason(const process::Ending& ending, const process::Limits& limits, int64_t written_bytes);

std::unique_ptr<Task> make_batch_task(const TaskContext&);
std::unique_ptr<Task> make_output_only_task(const TaskContext&);
std::unique_ptr<Task> make_batch_and_output_task(const TaskContext&);
std::unique_ptr<Task> make_function_task(const TaskContext&);
std::unique_ptr<Task> make_two_steps_task(const TaskContext&);
std::unique_ptr<Task> make_communication_task(const TaskContext&);
std::unique_ptr<Task> make_interactive_task(const TaskContext&);

}  // namespace task
