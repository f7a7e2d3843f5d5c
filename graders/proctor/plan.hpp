// The plan of a run job, as docs/protocol.md describes it.
#pragma once

#include <string>
#include <vector>

#include "process.hpp"

namespace plan {

struct Submission {
  std::vector<std::string> argv, files, env;
  int threads = 1;
  bool proc = false, address_space = false;
};

struct Checker {
  std::string kind;
  std::vector<std::string> argv;
  process::Limits limits;
};

struct Group {
  enum class Rule { zero, threshold, never } rule = Rule::never;
  double threshold = 1;
};

struct Test {
  int64_t index = 0;
  std::string input, answer;  // names of the job's files; an answer may be empty
  std::vector<size_t> groups;
};

struct Plan {
  std::string nonce, task_type, input_file, output_file;
  Submission submission;
  process::Limits limits;
  Checker checker;
  std::vector<Group> groups;
  std::vector<Test> tests;
  room::Layers layers;
  bool allow_unconfined = false;
};

// Both fail (sys::Failure) with the field that is wrong.
Plan parse(const std::string& source);
std::string file_name(const std::string& name, const char* what);  // the name, if it stays inside the job's folder

}  // namespace plan
