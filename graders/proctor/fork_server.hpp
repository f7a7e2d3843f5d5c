// An interpreter that has started already and waits: each test is a process that it forks, confined as one that is
// started.
#pragma once

#include <string>
#include <vector>

#include "plan.hpp"
#include "process.hpp"

namespace fork_server {

// Makes the folder that the interpreter finds its first script in, under the submission's name. Before the room is
// entered.
void make_folder(const plan::Plan& plan, const std::string& folder);

// Equal where one interpreter can wait for both submissions: by what it is started with, which is the judge's.
std::string reuse_key(const plan::Plan& plan);

class ForkServer {
 public:
  // One that does not come up says why, and programs are started as without it. `library`: what it waits with.
  ForkServer(
      const sandbox::Sandbox& sandbox, const plan::Plan& plan, const sys::Fd& library, const std::string& folder);
  ~ForkServer();
  ForkServer(const ForkServer&) = delete;

  const std::string& failure() const { return failure_; }  // empty: it waits

  // A program that runs alone, of the plan's submission.
  process::Ending run(const sandbox::Sandbox& sandbox, const process::Program& program);

 private:
  void start(
      const sandbox::Sandbox& sandbox, const plan::Plan& plan, const sys::Fd& library, const std::string& folder);
  void end();

  pid_t pid_ = -1;
  sys::Fd socket_;
  std::string failure_;
};

}  // namespace fork_server
