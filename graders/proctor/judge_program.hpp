// Where a checker, a manager or an interactor sits: a folder with links to the files of the test at hand, and the
// starting of a trusted program in it.
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

class JudgeProgram {
 public:
  // `argv`: a job's file or a program of the system, and its arguments; an argument that names a file of the job is
  // copied onto the desk. Opens the program before anything untrusted runs. `who` is how failures call it.
  JudgeProgram(std::string name, const std::vector<std::string>& argv, const process::Limits& limits);

  // Makes the folder. Called once the proctor is in its room.
  void make_folder(const sandbox::Sandbox& sandbox, const std::string& folder, bool has_feedback_folder);

  // Puts the files of a test on the desk; a negative number leaves the last one. They must be open to reopening.
  void link_test_files(int input, int answer, int output);

  // The program with these arguments behind its name, its own behind them; its standard descriptors still to be set.
  process::Program program_with(const std::vector<std::string>& arguments) const;

  // What it left in its feedback folder goes into the statement. Unless it is to find it there again, it goes out of
  // the folder.
  void collect_feedback(checker_result::CheckerOutput& output, bool keeps_files = false) const;
  void clear_feedback() const;

  // The input of another pass, which it may have left there: out of the folder, to be read only. Invalid where there is
  // none.
  sys::Fd take_next_input() const;

  // A file in its folder that it may write, empty, open for reading.
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
  std::vector<sys::Fd> script_files_;  // arguments that are files of the job, opened while they had names
  sys::Fd link_targets_[3];            // the same three numbers for every test, so that the links to them are made once
  const sandbox::Sandbox* sandbox_ = nullptr;
};

}  // namespace judge_program
