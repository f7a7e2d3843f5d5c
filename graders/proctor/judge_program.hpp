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
constexpr const char* written_name = "output.txt";

class Desk {
 public:
  // `argv`: a job's file or a program of the system, and its arguments; an argument that names a file of the job is
  // copied onto the desk. Opens the program before anything untrusted runs. `who` is how failures call it.
  Desk(std::string who, const std::vector<std::string>& argv, const process::Limits& limits);

  // Makes the folder. Called once the proctor is in its room.
  void settle(const sandbox::Room& room, const std::string& folder, bool with_feedback);

  // Puts the files of a test on the desk; a negative number leaves the last one. They must be open to reopening.
  void lay(int input, int answer, int output);

  // The program with these arguments behind its name, its own behind them; its standard descriptors still to be set.
  process::Program program(const std::vector<std::string>& arguments) const;

  // What it left in its feedback folder goes into the statement. Unless it is to find it there again, it goes out of
  // the folder.
  void collect_feedback(checker_result::Statement& statement, bool leave = false) const;
  void clear_feedback() const;

  // The input of another pass, which it may have left there: out of the folder, to be read only. Invalid where there is
  // none.
  sys::Fd take_next_pass() const;

  // A file in its folder that it may write, empty, open for reading.
  sys::Fd fresh_output() const;

  const std::string& who() const { return who_; }
  const sandbox::Room& room() const { return *room_; }

 private:
  void copy_arguments() const;

  std::string who_, folder_;
  std::vector<std::string> argv_;
  process::Limits limits_;
  bool with_feedback_ = false;
  sys::Fd program_;
  std::vector<sys::Fd> copied_;  // arguments that are files of the job, opened while they had names
  sys::Fd places_[3];            // the same three numbers for every test, so that the links to them are made once
  const sandbox::Room* room_ = nullptr;
};

}  // namespace judge_program
