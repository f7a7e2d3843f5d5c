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
struct Opened {
  std::map<std::string, sys::Fd> secrets;  // inputs and answers by their names in the plan
  sys::Fd program;                         // the submission; invalid where argv[0] is a program of the system
  sys::Fd empty = files::memory("empty");  // in the place of an answer that there is none of
  int of(const std::string& name) const { return secrets.at(name).get(); }
};

// The folder, below the job's, that holds what the submission may see.
constexpr const char* own_folder = "own";

// What a task type is made of.
struct Parts {
  const plan::Plan& plan;
  const sandbox::Room& room;
  const Opened& opened;
  checker::Checker& checker;
  streams::Streams& streams;
  judge_program::Desk* manager;         // null where the plan has none
  fork_server::Interpreter* waiting;  // null where each test starts a program
};

class Task {
 public:
  explicit Task(const Parts& parts)
      : plan_(parts.plan), room_(parts.room), opened_(parts.opened), checker_(parts.checker), streams_(parts.streams),
          manager_(parts.manager), waiting_(parts.waiting) {}
  virtual ~Task() = default;
  Task(const Task&) = delete;

  // Fails (sys::Failure) when the judge cannot say.
  virtual verdict::Verdict judge(const plan::Test& test) = 0;

 protected:
  // The submission as every task type starts it, still without its descriptors.
  process::Program submission() const;

  // Runs it alone.
  process::Outcome run(const process::Program& program) const;

  // What the end of a submission is judged by.
  const process::Limits& judged_limits() const;

  // A test in all its passes: `play` plays one on an input, and takes the next one's input if there is one. Each pass
  // has the limits for itself, so the longest one is told.
  verdict::Verdict in_passes(int input, const std::function<verdict::Verdict(int, sys::Fd&)>& play) const;

  // An input to be read from its start, by one program only.
  static int rewound(int input);

  // Makes a copy of an input the submission's standard input. Gives back what must live until it is started.
  sys::Fd hand_input(int input, process::Program& program) const;

  // The answer of a test, or an empty file.
  int answer_of(const plan::Test& test) const;

  // What a manager or an interactor said. One that fails may have broken on what the submission said to it: the failure
  // tells, and who asked for the test decides with an honest program in the submission's place.
  checker_result::Opinion heard(const std::string& kind, const checker_result::Statement& statement) const;

  // Runs the submission alone, and judges the output that it completed. `mode`: what the checker is told where a task
  // takes programs and files.
  verdict::Verdict play_alone(const process::Program& program, const plan::Test& test, int input, int output, int error,
      const char* mode = nullptr) const;

  // Lets the checker judge an output that a submission completed.
  void check(verdict::Verdict& verdict, const plan::Test& test, int output, const char* mode = nullptr) const {
    check(verdict, test, opened_.of(test.input), output, mode);
  }
  void check(verdict::Verdict& verdict, const plan::Test& test, int input, int output, const char* mode) const;

  // Lets the line repeat what the submission wrote, where the plan asks for it.
  void show(verdict::Verdict& verdict, int output, int error) const;

  const plan::Plan& plan_;
  const sandbox::Room& room_;
  const Opened& opened_;
  checker::Checker& checker_;
  streams::Streams& streams_;
  judge_program::Desk* manager_;
  fork_server::Interpreter* waiting_;
};

// The last line that a program wrote before it failed, but for where it did: an uncaught exception names itself there.
std::string last_words(int error);

// Of a program that ended by a signal, and neither the judge nor itself sent it.
[[noreturn]] void fail_of_outside();

// What an outcome means under the plan's limits. A limit wins over exit code and signal; `written` is the largest
// output.
verdict::End end_of(const process::Outcome& outcome, const process::Limits& limits, int64_t written);

std::unique_ptr<Task> make_batch(const Parts&);
std::unique_ptr<Task> make_output_only(const Parts&);
std::unique_ptr<Task> make_batch_and_output(const Parts&);
std::unique_ptr<Task> make_function(const Parts&);
std::unique_ptr<Task> make_two_steps(const Parts&);
std::unique_ptr<Task> make_communication(const Parts&);
std::unique_ptr<Task> make_interactive(const Parts&);

}  // namespace task
