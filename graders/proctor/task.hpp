// A task type: how one test of a submission is played. run_command.cpp knows them by the name in the plan.
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

// Everything that was opened before the first untrusted instruction.
struct OpenFiles {
  std::map<std::string, sys::Fd> test_files;  // inputs and answers by their names in the plan
  sys::Fd executable;                         // the submission; invalid where argv[0] is a program of the system
  sys::Fd empty_file = files::make_memory_file("empty");  // in the place of an answer that there is none of
  int fd_of(const std::string& name) const { return test_files.at(name).get(); }
};

// The folder, below the job's, that holds what the submission may see.
constexpr const char* submission_folder = "own";

// What a task type is made of.
struct TaskContext {
  const plan::Plan& plan;
  const sandbox::Sandbox& sandbox;
  const OpenFiles& files;
  checker::Checker& checker;
  streams::Streams& streams;
  judge_program::JudgeProgram* manager;         // null where the plan has none
  fork_server::ForkServer* fork_server;  // null where each test starts a program
};

class Task {
 public:
  explicit Task(const TaskContext& parts)
      : plan_(parts.plan),
        sandbox_(parts.sandbox),
        files_(parts.files),
        checker_(parts.checker),
        streams_(parts.streams),
        manager_(parts.manager),
        fork_server_(parts.fork_server) {}
  virtual ~Task() = default;
  Task(const Task&) = delete;

  // Fails (sys::Failure) when the judge cannot say.
  virtual verdict::Verdict judge(const plan::Test& test) = 0;

 protected:
  // The submission as every task type starts it, still without its descriptors.
  process::Program submission_program() const;

  // Runs it alone.
  process::Ending run_alone(const process::Program& program) const;

  // What the end of a submission is judged by.
  const process::Limits& judged_limits() const;

  // A test in all its passes: `play` plays one on an input, and takes the next one's input if there is one. Each pass
  // has the limits for itself, so the longest one is told.
  verdict::Verdict judge_in_passes(int input, const std::function<verdict::Verdict(int, sys::Fd&)>& judge_pass) const;

  // An input to be read from its start, by one program only.
  static int rewind_input(int input);

  // Makes a copy of an input the submission's standard input. Gives back what must live until it is started.
  sys::Fd set_standard_input(int input, process::Program& program) const;

  // The answer of a test, or an empty file.
  int answer_fd(const plan::Test& test) const;

  // What a manager or an interactor said. One that fails may have broken on what the submission said to it: the failure
  // tells, and who asked for the test decides with an honest program in the submission's place.
  checker_result::CheckerResult judge_program_result(
      const std::string& kind, const checker_result::CheckerOutput& output) const;

  // Runs the submission alone, and judges the output that it completed. `mode`: what the checker is told where a task
  // takes programs and files.
  verdict::Verdict run_and_check(const process::Program& program, const plan::Test& test, int input, int output,
      int error, const char* mode = nullptr) const;

  // Lets the checker judge an output that a submission completed.
  void check(verdict::Verdict& verdict, const plan::Test& test, int output, const char* mode = nullptr) const {
    check(verdict, test, files_.fd_of(test.input), output, mode);
  }
  void check(verdict::Verdict& verdict, const plan::Test& test, int input, int output, const char* mode) const;

  // Lets the line repeat what the submission wrote, where the plan asks for it.
  void add_shown_output(verdict::Verdict& verdict, int output, int error) const;

  const plan::Plan& plan_;
  const sandbox::Sandbox& sandbox_;
  const OpenFiles& files_;
  checker::Checker& checker_;
  streams::Streams& streams_;
  judge_program::JudgeProgram* manager_;
  fork_server::ForkServer* fork_server_;
};

// The last line that a program wrote before it failed, but for where it did: an uncaught exception names itself there.
std::string error_summary(int error);

// Of a program that ended by a signal, and neither the judge nor itself sent it.
[[noreturn]] void fail_killed_from_outside();

// What an outcome means under the plan's limits. A limit wins over exit code and signal; `written` is the largest
// output.
verdict::EndReason end_reason_of(const process::Ending& ending, const process::Limits& limits, int64_t written_bytes);

std::unique_ptr<Task> make_batch(const TaskContext&);
std::unique_ptr<Task> make_output_only(const TaskContext&);
std::unique_ptr<Task> make_batch_and_output(const TaskContext&);
std::unique_ptr<Task> make_function(const TaskContext&);
std::unique_ptr<Task> make_two_steps(const TaskContext&);
std::unique_ptr<Task> make_communication(const TaskContext&);
std::unique_ptr<Task> make_interactive(const TaskContext&);

}  // namespace task
