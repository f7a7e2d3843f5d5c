// A task type: how one test of a submission is played. One file each; run.cpp knows them by the name in the plan.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "checker.hpp"
#include "plan.hpp"
#include "verdict.hpp"

namespace task {

// Everything that was opened before the first untrusted instruction.
struct Opened {
  std::map<std::string, sys::Fd> secrets;  // inputs and answers by their names in the plan
  sys::Fd program;                         // the submission; invalid where argv[0] is a program of the system
  int of(const std::string& name) const { return secrets.at(name).get(); }
};

// The folder, below the job's, that holds what the submission may see.
constexpr const char* own_folder = "own";

class Task {
 public:
  Task(const plan::Plan& plan, const room::Room& room, const Opened& opened, const checker::Checker& checker)
      : plan_(plan), room_(room), opened_(opened), checker_(checker) {}
  virtual ~Task() = default;
  Task(const Task&) = delete;

  // Fails (sys::Failure) when the judge cannot say.
  virtual verdict::Verdict judge(const plan::Test& test) = 0;

 protected:
  // The submission as every task type starts it, still without its descriptors.
  process::Program submission() const;

  const plan::Plan& plan_;
  const room::Room& room_;
  const Opened& opened_;
  const checker::Checker& checker_;
};

// What an outcome means under the plan's limits. A limit wins over exit code and signal; `written` is the largest output.
verdict::End end_of(const process::Outcome& outcome, const process::Limits& limits, int64_t written);

std::unique_ptr<Task> make_batch(const plan::Plan&, const room::Room&, const Opened&, const checker::Checker&);

}  // namespace task
