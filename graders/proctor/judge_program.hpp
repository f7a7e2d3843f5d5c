// A trusted program of the problem (checker, manager or interactor): its folder, with links to the files of the current
// test, and how it is started.
#pragma once

#include <string>
#include <vector>

#include "checker_result.hpp"
#include "process.hpp"
#include "sandbox.hpp"

namespace judge_program {

constexpr const char* input_name = "input.txt";
constexpr const char* answer_name = "correct_output.txt";
constexpr const char* output_name = "user_output.txt";
constexpr const char* feedback_name = "feedback/";
constexpr const char* manager_output_name = "output.txt";

// One trusted program of the problem. It may be started many times.
class JudgeProgram {
 public:
  // Opens the program, which must happen before anything untrusted runs. `argv` is a file of the job or a program of
  // the system, and its arguments. The script of an interpreter is a file of the job, and is copied into the folder.
  // Failures use `name`.
  JudgeProgram(std::string name, const std::vector<std::string>& argv, const process::Limits& limits);

  // Makes the folder. Called once the proctor has entered the sandbox.
  void make_folder(const sandbox::Sandbox& sandbox, const std::string& folder, bool has_feedback_folder);

  // Points the links in the folder to the files of a test. A negative number leaves a link unchanged. The program must
  // be able to reopen the files.
  void link_test_files(int input_fd, int answer_fd, int output_fd);

  // Returns the program with these arguments, followed by the plan's arguments. The standard descriptors are not set
  // yet.
  process::Program make_program(const std::vector<std::string>& arguments) const;

  // Reads the feedback folder into `output`, and empties the folder unless `keeps_files` is set.
  void collect_feedback(checker_result::CheckerOutput& output, bool keeps_files = false) const;
  void clear_feedback() const;

  // Returns the input of the next pass, read-only, and removes it from the feedback folder. Invalid if there is none.
  sys::Fd take_next_pass_input() const;

  // Makes an empty file in the folder that the program may write, and returns it open for reading.
  sys::Fd make_output_file() const;

  const std::string& name() const { return name_; }
  const sandbox::Sandbox& sandbox() const { return *sandbox_; }

 private:
  void copy_script() const;

  std::string name_, folder_;
  std::vector<std::string> argv_;
  process::Limits limits_;
  bool has_feedback_folder_ = false;
  sys::Fd executable_;
  std::vector<sys::Fd> script_files_;  // the interpreter's script, opened before it was unlinked
  // descriptors to which the links in the folder refer; every test reuses their numbers
  sys::Fd link_target_fds_[3];
  const sandbox::Sandbox* sandbox_ = nullptr;
};

}  // namespace judge_program
