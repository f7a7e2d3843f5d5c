// A pre-started interpreter that forks a process for each test. The forked process is confined like a started process.
#pragma once

#include <string>
#include <vector>

#include "plan.hpp"
#include "process.hpp"

namespace fork_server {

// Makes the folder that the interpreter runs its first script in, under the submission's name. Must be called before
// the sandbox is entered.
void make_script_folder(const plan::Plan& plan, const std::string& folder);

// Returns a key of the start values of a plan's interpreter. Plans with equal keys can share a fork server.
std::string make_reuse_key(const plan::Plan& plan);

// A running interpreter and the socket to it.
class ForkServer {
 public:
  // Starts the interpreter with the fork server's `library`. If that fails, `failure` has the reason, and the caller
  // starts programs without it.
  ForkServer(
      const sandbox::Sandbox& sandbox, const plan::Plan& plan, const sys::Fd& library, const std::string& folder);
  ~ForkServer();
  ForkServer(const ForkServer&) = delete;

  const std::string& failure() const { return failure_; }  // why the fork server does not run, or an empty string

  // Forks a process, runs a program of the plan's submission in it, and returns the program's ending.
  process::Ending run_program(const sandbox::Sandbox& sandbox, const process::Program& program);

 private:
  void start_interpreter(
      const sandbox::Sandbox& sandbox, const plan::Plan& plan, const sys::Fd& library, const std::string& folder);
  void stop_interpreter();

  pid_t interpreter_pid_ = -1;
  sys::Fd socket_;
  std::string failure_;
};

}  // namespace fork_server
