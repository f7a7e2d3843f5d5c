// The plan of a run job, as docs/protocol.md describes it.
#pragma once

#include <string>
#include <vector>

#include "process.hpp"

namespace plan {

// What an interpreter waits with that forks a process for each test.
struct ForkServerFiles {
  std::string library, script;       // names of the job's files; empty: programs are started
  std::vector<std::string> modules;  // imported beforehand
};

struct Submission {
  std::vector<std::string> argv, files, env;
  int max_threads = 1;
  int max_processes = 1;  // itself and all that it starts; more than one for a package's own runner only
  bool sees_proc = false, sees_own_descriptors = false, limits_address_space = false;
  ForkServerFiles fork_server;
};

struct Checker {
  std::string kind;
  std::vector<std::string> argv;
  process::Limits limits;
  bool case_sensitive = true, space_sensitive = false;  // tokens
  // Tolerances for numbers; negative: numbers are words like others.
  long double absolute = -1, relative = -1;
  double full_score = 1;                                      // icpc: the number in score.txt that is worth everything
  std::vector<std::string> arguments;                       // arguments in the place of its kind's; empty: its kind's
  int max_passes = 1;                                       // icpc: how often a submission may run
  bool failure_means_wrong = false;  // on whatever is written: an output on which it fails is wrong, if not all are so
};

// The program on the other side: a Communication task's manager, an interactor.
struct Manager {
  std::vector<std::string> argv;  // empty: there is none
  std::string kind;               // how it says what the submission is worth, in the words of checkers
  process::Limits limits;
  // Interactive: who is there when the submission runs a second time, on what the interactor wrote: `alone`, or it
  // and the interactor, `together`; empty: it runs once.
  std::string second_run;
  std::vector<std::string> arguments;  // Interactive: arguments in the place of its kind's; empty: its kind's
  double full_score = 1;                // icpc: the number in score.txt that is worth everything
};

struct Group {
  enum class Rule { zero, threshold, never } rule = Rule::never;
  double threshold = 1;
};

struct Test {
  int64_t index = 0;
  std::string input, answer;  // names of the job's files; an answer may be empty
  std::string submitted_output;         // the file that was handed in, where the task takes files; empty: it was not
  bool is_judged_by_file = false;       // BatchAndOutput: judged by the file, handed in or not
  std::vector<std::string> arguments;  // of the checker or the interactor, behind its own
  std::vector<size_t> groups;
};

struct Plan {
  std::string nonce, task_type, input_file, output_file;
  Submission submission;
  process::Limits limits;
  Checker checker;
  Manager manager;
  int processes = 1;
  bool fifo_io = false;
  std::vector<Group> groups;
  std::vector<Test> tests;
  sandbox::Layers layers;
  bool allow_unconfined = false;
  bool is_exclusive = false;  // nothing else of the judge's goes on
  std::vector<std::string> readable_paths;  // folders beyond the system's, for an interpreter that lies there
  size_t max_echo_bytes = 0;  // bytes of a wrong output that its line repeats
  bool shows_all_output = false;  // lines repeat any output, and the error text, of so many bytes
};

// Of a program, whatever it is. Lengths of time are in ms; `largest_file` is the name of that limit.
process::Limits read_limits(const json::Value& value, const char* file_size_field);

// Both fail (sys::Failure) with the field that is wrong.
Plan parse(const std::string& source);
std::string checked_file_name(
    const std::string& name, const char* field_name);  // the name, if it stays inside the job's folder

}  // namespace plan
